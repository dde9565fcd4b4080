/*
 * Contract of tabs, sparklines and paragraphs (ui/ui.h): of tabs one is shown, a click or a key on another changes it
 * once; a sparkline spans from the least to the largest of its values, loses no peak however many values share a pixel,
 * and draws nothing of what is no number; a paragraph breaks between words, and inside a long name only behind what
 * joins its parts.
 */
#include "help_stand.h"

static const char *const NAMES[] = {"over ranks", "over steps", "neither"};

static bool show_tabs(stand *s, size_t *chosen)
{
    stand_begin(s);
    ui_style column = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL};
    (void)ui_root(s->u, "root", (rect){0, 0, 400, 200}, LAYER_PANELS, &column);
    bool changed = ui_tabs(s->u, "tabs", NAMES, 3, chosen);
    ui_pop(s->u);
    stand_end(s);
    return changed;
}

static void test_tabs(void **state)
{
    stand *s = *state;
    size_t chosen = 0;
    assert_false(show_tabs(s, &chosen));
    rect r = stand_rect(s, "tab", "over steps");
    assert_true(stand_rect(s, "tab shown", "over ranks").x < r.x);
    (void)stand_click(s, (double)(r.x + r.w / 2), (double)(r.y + r.h / 2));
    assert_true(show_tabs(s, &chosen));
    assert_int_equal(chosen, 1);
    assert_false(show_tabs(s, &chosen)); /* once */
    assert_true(stand_rect(s, "tab shown", "over steps").w > 0);
    r = stand_rect(s, "tab shown", "over steps");
    (void)stand_click(s, (double)(r.x + r.w / 2), (double)(r.y + r.h / 2));
    assert_false(show_tabs(s, &chosen)); /* it is shown already */
    (void)stand_key(s, "Tab");           /* from the one that was clicked on */
    (void)show_tabs(s, &chosen);
    (void)stand_key(s, "Enter");
    (void)show_tabs(s, &chosen);
    assert_int_equal(chosen, 2);
}

static rect show_spark(stand *s, const double *v, size_t n, float width)
{
    static const rgba colour = {1, 2, 3, 255};
    stand_begin(s);
    ui_style column = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL};
    (void)ui_root(s->u, "root", (rect){10, 20, width, 200}, LAYER_PANELS, &column);
    ui_sparkline(s->u, "spark", v, n, colour, 40);
    ui_pop(s->u);
    stand_end(s);
    return stand_rect(s, "sparkline", NULL);
}

/* Extent of what is drawn. */
static void extent_of(const stand *s, float *low, float *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < s->l.n_lines; i++) {
        const draw_line *l = &s->l.lines[i];
        *low = fminf(*low, fminf(l->y0, l->y1));
        *high = fmaxf(*high, fmaxf(l->y0, l->y1));
    }
    for (size_t i = 0; i < s->l.n_quads; i++) {
        const draw_quad *q = &s->l.quads[i];
        bool is_it = q->fill.r == 1 && q->fill.g == 2 && q->fill.b == 3;
        *low = is_it ? fminf(*low, q->r.y) : *low;
        *high = is_it ? fmaxf(*high, q->r.y + q->r.h) : *high;
    }
}

static void test_sparkline(void **state)
{
    stand *s = *state;
    const double few[] = {5, 1, 3, 9, 4};
    float low;
    float high;
    rect r = show_spark(s, few, 5, 300);
    extent_of(s, &low, &high);
    assert_true(fabsf(low - (r.y + 1)) <= 1 && fabsf(high - (r.y + r.h - 1)) <= 1);
    assert_int_equal(s->l.n_lines, 4);
    double many[20000];
    for (size_t i = 0; i < 20000; i++) {
        many[i] = 10;
    }
    many[12345] = 100; /* a peak and a dip, one value each of about 70 that share a column */
    many[777] = 0;
    r = show_spark(s, many, 20000, 300);
    extent_of(s, &low, &high);
    assert_true(fabsf(low - (r.y + 1)) <= 1 && fabsf(high - (r.y + r.h - 1)) <= 1);
    assert_true(s->l.n_lines + s->l.n_quads <= 700);
    const double odd[] = {(double)NAN, (double)INFINITY};
    (void)show_spark(s, odd, 2, 300);
    assert_int_equal(s->l.n_lines, 0);
    (void)show_spark(s, few, 1, 300); /* one value is no line, and no crash */
}

static size_t lines_of(stand *s, const char *text, char out[8][256])
{
    stand_begin(s);
    ui_style column = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL};
    (void)ui_root(s->u, "root", (rect){0, 0, 400, 400}, LAYER_PANELS, &column);
    ui_paragraph(s->u, text, 284, (ui_text_style){FACE_SANS, 11.5F, UI_DIM, TEXT_LEFT});
    ui_pop(s->u);
    stand_end(s);
    size_t n = 0;
    for (size_t i = 0; i < s->u->n && n < 8; i++) {
        if (strcmp(s->u->boxes[i].role, "label") == 0) {
            (void)snprintf(out[n++], 256, "%s", s->u->boxes[i].text);
        }
    }
    return n;
}

static void test_paragraphs(void **state)
{
    stand *s = *state;
    char lines[8][256];
    size_t n = lines_of(s, "Rank 5 computes slower than its peers in every step of the run.", lines);
    assert_int_equal(n, 2);
    const char *name = "most of it in ampere_fp16_s16816gemm_fp16_256x128_ldg8_f2f_stages_32x3_nt here";
    n = lines_of(s, name, lines);
    assert_true(n >= 2);
    strbuf all = {0};
    for (size_t i = 0; i < n; i++) {
        char last = lines[i][strlen(lines[i]) - 1];
        bool joins = i + 1 < n && last == '_';
        strbuf_printf(&all, "%s%s", lines[i], joins || i + 1 == n ? "" : " ");
        assert_true(text_width(s->text, FACE_SANS, 11.5F, lines[i], strlen(lines[i])) <= 284);
    }
    assert_string_equal(strbuf_str(&all), name);             /* nothing is lost */
    assert_true(strlen(lines[0]) > strlen("most of it in")); /* the line before the name is not left half empty */
    strbuf_deinit(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tabs, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_sparkline, stand_up, stand_down),
        cmocka_unit_test_setup_teardown(test_paragraphs, stand_up, stand_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
