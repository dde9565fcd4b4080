/*
 * Contract, for random bytes, random code points of many scripts and random mixtures of both: nothing crashes; the
 * width that is measured is the width that is put; what is put to a width is never wider, is valid where the input was,
 * and its parts on both sides of the ellipsis are the beginning and the end of the input; the draw list stays sound.
 */
#include "cm.h"

#include <math.h>

#include "base/clock.h"
#include "text/text.h"

enum { N_STRINGS = 3000, MOST = 200 };

static const uint32_t scripts[][2] = {{0x20, 0x7e},       {0xa0, 0x24f},    {0x300, 0x36f},   {0x370, 0x3ff},
                                      {0x400, 0x4ff},     {0x590, 0x5ff},   {0x600, 0x6ff},   {0x900, 0x97f},
                                      {0xe00, 0xe7f},     {0x2000, 0x206f}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3},
                                      {0x1f300, 0x1f64f}, {0xe000, 0xf8ff}, {0xfe00, 0xfe0f}};

static size_t random_string(prng *r, char *out)
{
    size_t n = 0;
    size_t wanted = prng_below(r, 40);
    uint64_t kind = prng_below(r, 3);
    size_t script = prng_below(r, sizeof scripts / sizeof scripts[0]);
    for (size_t i = 0; i < wanted && n < MOST - 4; i++) {
        if (kind == 0 || (kind == 1 && prng_below(r, 8) == 0)) {
            out[n++] = (char)prng_next(r);
            continue;
        }
        script = prng_below(r, 6) == 0 ? prng_below(r, sizeof scripts / sizeof scripts[0]) : script;
        uint32_t span = scripts[script][1] - scripts[script][0] + 1;
        n += utf8_put(scripts[script][0] + (uint32_t)prng_below(r, span), out + n);
    }
    out[n] = '\0';
    return n;
}

static void check_cut(const char *s, size_t n, const draw_list *l)
{
    const char *got = l->text.s + l->runs[l->n_runs - 1].text;
    size_t n_got = l->text.n - 1 - l->runs[l->n_runs - 1].text;
    if (n_got == n && memcmp(got, s, n) == 0) {
        return;
    }
    for (size_t i = 0; i + 3 <= n_got; i++) {
        bool dots = memcmp(got + i, "\xe2\x80\xa6", 3) == 0;
        size_t tail = n_got - i - 3;
        if (dots && i <= n && tail <= n - i && memcmp(got, s, i) == 0 && memcmp(got + i + 3, s + n - tail, tail) == 0) {
            return;
        }
    }
    fail_msg("what was put is not the two ends of the string");
}

static void check_string(text_ctx *t, draw_list *l, prng *r, const char *s, size_t n)
{
    text_face face = (text_face)prng_below(r, FACE_COUNT);
    float size = 8 + (float)prng_below(r, 300) / 16;
    float max_width = (float)prng_below(r, 3000) / 10;
    draw_list_begin(l, 1000, 1000, 1, theme_get(THEME_DARK));
    float width = text_width(t, face, size, s, n);
    assert_true(isfinite(width) && width >= 0);
    float put = text_put(t, l, LAYER_DATA, face, size, 10, 10, TEXT_LEFT, l->clear, s, n);
    assert_true(put == width);
    size_t before = l->n_runs;
    float fit = text_put_fit(t, l, LAYER_DATA, face, size, 10, 10, TEXT_LEFT, max_width, l->clear, s, n);
    assert_true(fit <= max_width + 0.001F);
    if (l->n_runs > before) {
        check_cut(s, n, l);
    }
    for (size_t i = 0; i < l->n_glyphs; i++) {
        text_atlas_glyph(t, l->glyphs[i].glyph);
    }
    const char *breach = draw_list_check(l);
    if (breach) {
        fail_msg("%s", breach);
    }
}

static void random_strings(void **state)
{
    (void)state;
    text_ctx *t = NULL;
    draw_list l = {0};
    char s[MOST + 1];
    assert_int_equal(text_create(&t, NULL), MAREY_OK);
    for (uint64_t seed = 1; seed <= N_STRINGS; seed++) {
        prng r;
        prng_seed(&r, seed);
        size_t n = random_string(&r, s);
        if (seed % 100 == 0) {
            text_frame(t);
        }
        check_string(t, &l, &r, s, n);
    }
    draw_list_deinit(&l);
    text_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_strings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
