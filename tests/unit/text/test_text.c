/*
 * Contract: a run's glyphs stand where their advances put them and the advances sum to its width; digits are tabular in
 * every sans face; mono text has no ligatures; Chinese falls back to a font that has it; invalid UTF-8, control
 * characters and very long names are drawn, not refused; a name that does not fit is cut in the middle between
 * clusters, and what is put is never wider than allowed; glyphs lie in the atlas without touching each other; without
 * any font there is an error, with a damaged one another font serves.
 */
#include "cm.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "temporary_dir.h"
#include "text/text.h"

typedef struct fixture {
    text_ctx *text;
    draw_list list;
    diag diag;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    diag_init(&f->diag);
    assert_int_equal(text_create(&f->text, &f->diag), MAREY_OK);
    draw_list_begin(&f->list, 4000, 1000, 1, theme_get(THEME_DARK));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    draw_list_deinit(&f->list);
    text_destroy(&f->text);
    assert_null(f->text);
    diag_deinit(&f->diag);
    free(f);
    return 0;
}

static float put(fixture *f, text_face face, float size, const char *s)
{
    return text_put(f->text, &f->list, LAYER_MARKS, face, size, 100, 50, TEXT_LEFT, f->list.theme->text, s, strlen(s));
}

static float put_fit(fixture *f, const char *s, size_t n, float max_width)
{
    return text_put_fit(f->text, &f->list, LAYER_MARKS, FACE_MONO, 12, 100, 50, TEXT_LEFT, max_width,
                        f->list.theme->text, s, n);
}

static const draw_run *last_run(const fixture *f)
{
    assert_true(f->list.n_runs > 0);
    return &f->list.runs[f->list.n_runs - 1];
}

static const char *last_text(const fixture *f)
{
    return f->list.text.s + last_run(f)->text;
}

static void assert_close(float a, float b, float tolerance)
{
    if (!(fabsf(a - b) <= tolerance)) {
        fail_msg("%g is not %g", (double)a, (double)b);
    }
}

static void positions_sum_to_the_advance(void **state)
{
    fixture *f = *state;
    static const char word[] = "MatMul_bwd";
    float sum = 0;
    float width = put(f, FACE_MONO, 12.5F, word);
    const draw_run *r = last_run(f);
    assert_int_equal(r->n_glyphs, sizeof word - 1);
    for (uint32_t i = 0; i < r->n_glyphs; i++) {
        assert_close(f->list.glyphs[r->first_glyph + i].x, 100 + sum, 0.126F); /* pens stand on quarters of a pixel */
        sum += text_width(f->text, FACE_MONO, 12.5F, word + i, 1);
    }
    assert_close(sum, width, 0.01F);
    assert_close(width, text_width(f->text, FACE_MONO, 12.5F, word, sizeof word - 1), 0);
    assert_close(r->width, width, 0);
    assert_string_equal(last_text(f), word);
}

static void width_grows_with_size(void **state)
{
    fixture *f = *state;
    float one = text_width(f->text, FACE_SANS, 10, "Stage 5", 7);
    assert_close(text_width(f->text, FACE_SANS, 20, "Stage 5", 7), 2 * one, 0.001F);
    assert_close(text_width(f->text, FACE_SANS, 10, "", 0), 0, 0);
    assert_close(text_width(f->text, FACE_SANS, NAN, "a", 1), text_width(f->text, FACE_SANS, 1, "a", 1), 0);
    assert_true(text_line_height(f->text, FACE_SANS, 12) > text_ascent(f->text, FACE_SANS, 12));
    assert_true(text_ascent(f->text, FACE_SANS, 12) > 8);
}

static void digits_are_tabular(void **state)
{
    fixture *f = *state;
    for (text_face face = FACE_SANS; face < FACE_COUNT; face++) {
        float zero = text_width(f->text, face, 12, "0", 1);
        for (char c = '1'; c <= '9'; c++) {
            assert_close(text_width(f->text, face, 12, &c, 1), zero, 0.02F); /* Inter's own differ by 3 of 2816 units */
        }
        assert_close(text_width(f->text, face, 12, "1111111111", 10), text_width(f->text, face, 12, "4768023595", 10),
                     0.1F);
    }
}

static void names_have_no_ligatures(void **state)
{
    fixture *f = *state;
    static const char *const words[] = {"->", "!=", "<=", "ffi", "::", "***"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        put(f, FACE_MONO, 12, words[i]);
        uint32_t n = last_run(f)->n_glyphs;
        assert_int_equal(n, strlen(words[i]));
        /* The same glyphs as of the letters alone: equal keys, because mono pens of 12.8 px wide text differ only in x.
         */
        put(f, FACE_MONO, 10, (char[]){words[i][0], 0});
        uint32_t alone = f->list.glyphs[last_run(f)->first_glyph].glyph;
        put(f, FACE_MONO, 10, words[i]);
        assert_int_equal(f->list.glyphs[last_run(f)->first_glyph].glyph, alone);
    }
}

static void alignment(void **state)
{
    fixture *f = *state;
    const rgba c = f->list.theme->text;
    float w = text_width(f->text, FACE_SANS, 12, "12.4 MAD", 8);
    text_put(f->text, &f->list, LAYER_MARKS, FACE_SANS, 12, 300, 50.4F, TEXT_RIGHT, c, "12.4 MAD", 8);
    assert_close(last_run(f)->x, 300 - w, 0.001F);
    assert_close(last_run(f)->y, 50, 0);
    text_put(f->text, &f->list, LAYER_MARKS, FACE_SANS, 12, 300, 50, TEXT_CENTRE, c, "12.4 MAD", 8);
    assert_close(last_run(f)->x, 300 - w / 2, 0.001F);
    size_t before = f->list.n_runs;
    assert_close(text_put(f->text, &f->list, LAYER_MARKS, FACE_SANS, 12, NAN, 50, TEXT_LEFT, c, "a", 1), 0, 0);
    assert_int_equal(f->list.n_runs, before);
    float baseline = text_baseline(f->text, FACE_SANS, 12, 40, 20);
    assert_close(baseline, roundf(baseline), 0);
    assert_true(baseline > 50 && baseline < 58);
}

static bool has_ink(fixture *f, uint32_t key)
{
    text_glyph g = text_atlas_glyph(f->text, key);
    return g.w > 0 && g.h > 0;
}

static void chinese_falls_back(void **state)
{
    fixture *f = *state;
    float width = put(f, FACE_SANS, 14, "通信 wait");
    const draw_run *r = last_run(f);
    assert_int_equal(r->n_glyphs, 7);
    uint32_t first = f->list.glyphs[r->first_glyph].glyph;
    uint32_t second = f->list.glyphs[r->first_glyph + 1].glyph;
    put(f, FACE_SANS, 14, "\xf4\x80\x80\x80"); /* a private character that no font has: the box */
    uint32_t box = f->list.glyphs[last_run(f)->first_glyph].glyph;
    if (first == box) {
        print_message("skipped: no font of this machine has Chinese\n");
        skip();
    }
    assert_int_not_equal(first, second);
    assert_true(has_ink(f, first) && has_ink(f, second));
    assert_close(text_width(f->text, FACE_SANS, 14, "通信", 6), 28, 3); /* full-width characters */
    assert_true(width > 28);
}

static void damaged_strings(void **state)
{
    fixture *f = *state;
    float replacement = text_width(f->text, FACE_SANS, 12, "\xef\xbf\xbd", 3);
    assert_true(replacement > 0);
    assert_close(text_width(f->text, FACE_SANS, 12, "\xff", 1), replacement, 0.001F);
    assert_close(text_width(f->text, FACE_SANS, 12, "\xed\xa0\x80", 3), 3 * replacement, 0.01F); /* a lone surrogate */
    assert_close(text_width(f->text, FACE_SANS, 12, "\xe4\xb8", 2), 2 * replacement, 0.01F);     /* cut short */
    assert_close(text_width(f->text, FACE_SANS, 12, "\n", 1), text_width(f->text, FACE_SANS, 12, " ", 1), 0.001F);
    assert_true(put(f, FACE_SANS, 12, "a\xc0\x80z \xf8 e\xcc\x81 \xf0\x9f\x98\x80 \xd7\xa9\xd7\x9c") > 0);
    assert_null(draw_list_check(&f->list));
}

static void marks_stay_with_their_letter(void **state)
{
    fixture *f = *state;
    float plain = text_width(f->text, FACE_SANS, 12, "e", 1);
    assert_close(text_width(f->text, FACE_SANS, 12, "e\xcc\x81", 3), plain, 0.5F);
}

/* Every way to cut a name with accents, Chinese and plain letters in it. */
static void cuts_between_clusters(void **state)
{
    fixture *f = *state;
    static const char name[] = "Pangu\xcc\x88"
                               "Alpha/\xe5\xb1\x82.25-29/e\xcc\x81tude/MatMul-bwd";
    size_t n = sizeof name - 1;
    float whole = text_width(f->text, FACE_MONO, 12, name, n);
    int n_cut = 0;
    for (float max = 1; max < whole + 20; max += 1.7F) {
        size_t before = f->list.n_runs;
        float w = put_fit(f, name, n, max);
        assert_true(w <= max + 0.001F);
        if (f->list.n_runs == before) {
            assert_close(w, 0, 0);
            assert_true(max < 5 * 7.3F);
            continue;
        }
        const char *got = last_text(f);
        const char *dots = strstr(got, "\xe2\x80\xa6");
        if (!dots) {
            assert_string_equal(got, name);
            assert_true(max >= whole);
            continue;
        }
        n_cut++;
        size_t head = (size_t)(dots - got);
        size_t tail = strlen(dots + 3);
        assert_int_equal(strncmp(got, name, head), 0);
        assert_string_equal(dots + 3, name + n - tail);
        assert_true(((unsigned char)name[head] & 0xc0) != 0x80 && (unsigned char)name[head] != 0xcc);
        assert_true((unsigned char)name[n - tail] != 0xcc);
        assert_true(w > max - 2 * 12.5F); /* the room is used: another cluster would not fit */
    }
    assert_true(n_cut > 50);
}

static void long_names(void **state)
{
    fixture *f = *state;
    char *name = malloc(70000);
    assert_non_null(name);
    for (int i = 0; i < 70000; i++) {
        name[i] = (char)('a' + i % 26);
    }
    assert_true(text_width(f->text, FACE_MONO, 12, name, 2000) > 2000 * 7);
    assert_true(put_fit(f, name, 2000, 200) > 180);
    assert_int_equal(strncmp(last_text(f), "abcdef", 6), 0);
    assert_int_equal(name[1999], last_text(f)[strlen(last_text(f)) - 1]);
    assert_true(put_fit(f, name, 70000, 200) > 180);
    assert_true(strstr(last_text(f), "\xe2\x80\xa6") != NULL);
    assert_true(put_fit(f, name, 70000, 1e9F) > 1000);
    assert_true(strstr(last_text(f), "\xe2\x80\xa6") != NULL); /* shortened whatever the room */
    text_put(f->text, &f->list, LAYER_MARKS, FACE_MONO, 12, 0, 0, TEXT_LEFT, f->list.theme->text, name, 70000);
    assert_int_equal(last_run(f)->n_glyphs, 65536);
    assert_null(draw_list_check(&f->list));
    free(name);
}

static void nothing_fits(void **state)
{
    fixture *f = *state;
    assert_close(put_fit(f, "AllReduce", 9, 20), 0, 0);
    assert_close(put_fit(f, "AllReduce", 9, 0), 0, 0);
    assert_close(put_fit(f, "AllReduce", 9, NAN), 0, 0);
    assert_close(put_fit(f, "", 0, 100), 0, 0);
    assert_int_equal(f->list.n_runs, 0);
    assert_true(put_fit(f, "ab", 2, 100) > 0); /* a short name needs no ellipsis */
}

static bool apart(const text_glyph *a, const text_glyph *b)
{
    return a->page != b->page || a->x + a->w < b->x || b->x + b->w < a->x || a->y + a->h < b->y || b->y + b->h < a->y;
}

static void glyphs_do_not_touch(void **state)
{
    fixture *f = *state;
    enum { MOST = 3000 };
    text_glyph *seen = calloc(MOST, sizeof *seen);
    assert_non_null(seen);
    size_t n = 0;
    for (float size = 9; size < 60; size += 3.25F) {
        put(f, FACE_SANS, size, "The quick brown fox jumps over 0123456789 @&%#");
    }
    for (size_t i = 0; i < f->list.n_glyphs && n < MOST; i++) {
        text_glyph g = text_atlas_glyph(f->text, f->list.glyphs[i].glyph);
        bool known = g.w == 0;
        for (size_t k = 0; k < n && !known; k++) {
            known = seen[k].page == g.page && seen[k].x == g.x && seen[k].y == g.y;
            assert_true(known || apart(&seen[k], &g));
        }
        if (!known) {
            seen[n++] = g;
        }
    }
    assert_true(n > 300);
    for (size_t i = 0; i < n; i++) {
        assert_true(seen[i].x + seen[i].w <= 1024 && seen[i].y + seen[i].h <= 1024);
    }
    free(seen);
}

/* So many large glyphs that all pages fill up: some are missing for a frame, all are there in the next. */
static void full_atlas_starts_anew(void **state)
{
    fixture *f = *state;
    for (int size = 200; size < 512; size++) {
        put(f, FACE_SANS, (float)size, "@W");
    }
    uint32_t last = f->list.glyphs[f->list.n_glyphs - 1].glyph;
    for (size_t i = 0; i < f->list.n_glyphs; i++) {
        text_atlas_glyph(f->text, f->list.glyphs[i].glyph);
    }
    assert_false(has_ink(f, last));
    uint32_t generation = text_take_page(f->text, 0).generation;
    text_frame(f->text);
    assert_true(has_ink(f, last));
    text_page page = text_take_page(f->text, 0);
    assert_int_not_equal(page.generation, generation);
    assert_true(page.dirty_y0 == 0 && page.dirty_y1 == page.size);
    assert_true(text_take_page(f->text, 0).dirty_y1 == 0);
    assert_int_equal(text_atlas_glyph(f->text, UINT32_MAX).w, 0);
}

static void equal_runs_are_equal(void **state)
{
    fixture *f = *state;
    put(f, FACE_SANS, 13, "Backward");
    put(f, FACE_SANS, 13, "Backward");
    const draw_run *a = &f->list.runs[0];
    const draw_run *b = &f->list.runs[1];
    assert_memory_equal(f->list.glyphs + a->first_glyph, f->list.glyphs + b->first_glyph,
                        a->n_glyphs * sizeof(draw_glyph));
}

/* ---- fonts that are not there ---- */

/* A folder of fonts of our own, with a configuration that knows no other. */
static void use_fonts(const char *dir, const char *font, const char *bytes, size_t n)
{
    char path[512];
    char config[1024];
    (void)mkdir(dir, 0755);
    (void)snprintf(path, sizeof path, "%s/%s", dir, font);
    if (bytes) {
        assert_int_equal(file_write_all(path, bytes, n, NULL), MAREY_OK);
    }
    (void)snprintf(config, sizeof config,
                   "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">"
                   "<fontconfig><dir>%s</dir><cachedir>%s/cache</cachedir></fontconfig>",
                   dir, dir);
    (void)snprintf(path, sizeof path, "%s/fonts.conf", dir);
    assert_int_equal(file_write_all(path, config, strlen(config), NULL), MAREY_OK);
    assert_int_equal(setenv("FONTCONFIG_FILE", path, 1), 0);
}

static void no_font_is_an_error(void **state)
{
    (void)state;
    char dir[256];
    temporary_dir(dir, sizeof dir);
    use_fonts(dir, "none", NULL, 0);
    diag d;
    diag_init(&d);
    text_ctx *t = NULL;
    assert_int_equal(text_create(&t, &d), MAREY_FONT);
    assert_null(t);
    assert_true(d.n_messages > 0);
    diag_deinit(&d);
    assert_int_equal(unsetenv("FONTCONFIG_FILE"), 0);
    remove_dir(dir);
}

/* Cut a font at many places: either it still serves, or there is an error; never a crash. */
static void damaged_font(void **state)
{
    (void)state;
    static const char mono[] = "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf";
    char *bytes = NULL;
    size_t n = 0;
    if (file_read_all(mono, 1 << 22, &bytes, &n, NULL) != MAREY_OK) {
        print_message("skipped: JetBrains Mono is not installed\n");
        skip();
    }
    for (int i = 0; i <= 12; i++) {
        char dir[256];
        temporary_dir(dir, sizeof dir);
        use_fonts(dir, "damaged.ttf", bytes, i == 12 ? n : 300 + n / 13 * (size_t)i);
        text_ctx *t = NULL;
        marey_status status = text_create(&t, NULL);
        assert_true(status == MAREY_OK || status == MAREY_FONT);
        assert_true(i < 12 || status == MAREY_OK);
        draw_list l = {0};
        draw_list_begin(&l, 100, 100, 1, theme_get(THEME_DARK));
        if (t) {
            text_put(t, &l, LAYER_MARKS, FACE_SANS_BOLD, 12, 0, 20, TEXT_LEFT, l.clear, "Rank 21 \xe5\xb1\x82", 11);
            for (size_t k = 0; k < l.n_glyphs; k++) {
                text_atlas_glyph(t, l.glyphs[k].glyph);
            }
        }
        draw_list_deinit(&l);
        text_destroy(&t);
        remove_dir(dir);
    }
    free(bytes);
    assert_int_equal(unsetenv("FONTCONFIG_FILE"), 0);
}

#define WITH_FONTS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FONTS(positions_sum_to_the_advance),
        WITH_FONTS(width_grows_with_size),
        WITH_FONTS(digits_are_tabular),
        WITH_FONTS(names_have_no_ligatures),
        WITH_FONTS(alignment),
        WITH_FONTS(chinese_falls_back),
        WITH_FONTS(damaged_strings),
        WITH_FONTS(marks_stay_with_their_letter),
        WITH_FONTS(cuts_between_clusters),
        WITH_FONTS(long_names),
        WITH_FONTS(nothing_fits),
        WITH_FONTS(glyphs_do_not_touch),
        WITH_FONTS(full_atlas_starts_anew),
        WITH_FONTS(equal_runs_are_equal),
        cmocka_unit_test(no_font_is_an_error),
        cmocka_unit_test(damaged_font),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
