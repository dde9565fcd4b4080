/*
 * Contract: text looks as the expected pictures do, in both themes: Latin at the sizes of the interface, Chinese and
 * mixed text on one baseline, tabular figures under each other, mono names without ligatures, ellipses in the middle,
 * labels on data in a colour that can be read, clipped text cut at the clip.
 */
#include "cm.h"

#include "golden/golden.h"

typedef struct page {
    golden *g;
    draw_list *l;
    const theme *t;
    float y;
} page;

static void put(page *p, text_face face, float size, rgba colour, const char *s)
{
    text_put(p->g->text, p->l, LAYER_MARKS, face, size, 10, p->y, TEXT_LEFT, colour, s, strlen(s));
    p->y += size + 6;
}

static void fill_latin(page *p)
{
    static const float sizes[] = {10.5F, 11, 12, 13, 15, 18};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        put(p, FACE_SANS, sizes[i], p->t->text, "Rank 21 computes 25 % slower \xc2\xb7 36.9 \xe2\x80\x93 46.1 ms");
    }
    put(p, FACE_SANS, 12, p->t->dim,
        "stage 5 \xc2\xb7 every step since 108, d\xc3\xa9j\xc3\xa0 vu, na\xc3\xafve, e\xcc\x81");
    put(p, FACE_SANS, 12, p->t->faint, "node2-gpu5");
    put(p, FACE_SANS_MEDIUM, 13, p->t->text, "Stage 5 holds the pipeline");
    put(p, FACE_SANS_BOLD, 13, p->t->text, "Backward \xc2\xb7 micro-batch 5");
    put(p, FACE_MONO, 11, p->t->dim, "PanguAlpha/blocks.25-29/MatMul-bwd -> != <= ffi");
}

static void fill_chinese(page *p)
{
    put(p, FACE_SANS, 11, p->t->text,
        "\xe5\x8f\x8d\xe5\x90\x91\xe4\xbc\xa0\xe6\x92\xad "
        "\xe6\xb5\x81\xe6\xb0\xb4\xe7\xba\xbf\xe5\xb9\xb6\xe8\xa1\x8c");
    put(p, FACE_SANS, 13, p->t->text,
        "\xe7\x9b\x98\xe5\x8f\xa4\xe5\xa4\xa7\xe6\xa8\xa1\xe5\x9e\x8b AllReduce \xe9\x80\x9a\xe4\xbf\xa1 25 %");
    put(p, FACE_SANS_BOLD, 15, p->t->text, "Stage 5 \xe9\x98\xbb\xe5\xa1\x9e: \xe7\xad\x89\xe5\xbe\x85 24 ms");
    put(p, FACE_MONO, 12, p->t->dim, "blocks.0/\xe6\xb3\xa8\xe6\x84\x8f\xe5\x8a\x9b/MatMul");
    put(p, FACE_SANS, 13, p->t->dim, "broken: \xff\xed\xa0\x80 end");
}

static void fill_fit(page *p)
{
    static const char name[] = "PanguAlpha/transformer/blocks.25-29/attention/MatMul-bwd";
    static const char mixed[] = "\xe7\x9b\x98\xe5\x8f\xa4\xe5\xa4\xa7\xe6\xa8\xa1\xe5\x9e\x8b/transformer/"
                                "\xe5\x8f\x8d\xe5\x90\x91\xe4\xbc\xa0\xe6\x92\xad";
    for (float width = 400; width > 20; width *= 0.72F) {
        draw_rect(p->l, LAYER_GROUND, (rect){10, p->y - 10, (float)(int)width, 13}, p->t->row);
        text_put_fit(p->g->text, p->l, LAYER_MARKS, FACE_MONO, 11, 10, p->y, TEXT_LEFT, (float)(int)width, p->t->text,
                     name, sizeof name - 1);
        text_put_fit(p->g->text, p->l, LAYER_MARKS, FACE_SANS, 12, 430, p->y, TEXT_RIGHT, (float)(int)(width / 4),
                     p->t->dim, mixed, sizeof mixed - 1);
        p->y += 17;
    }
}

static void fill_numbers(page *p)
{
    static const char *const numbers[] = {"1\xe2\x80\x89"
                                          "111.11 ms",
                                          "28\xe2\x80\x89"
                                          "640.127 ms",
                                          "4.00 ms", "+71 ms"};
    for (size_t i = 0; i < 4; i++) {
        text_put(p->g->text, p->l, LAYER_MARKS, FACE_SANS, 12, 150, p->y, TEXT_RIGHT, p->t->text, numbers[i],
                 strlen(numbers[i]));
        p->y += 16;
    }
    for (int i = 0; i < 14; i++) {
        rect r = {170 + 36 * (float)(i % 7), 8 + 22 * (float)(i / 7), 34, 18};
        draw_round(p->l, LAYER_DATA, r, 2, p->t->data[i], 0, p->t->line);
        text_put(p->g->text, p->l, LAYER_MARKS, FACE_SANS_MEDIUM, 11, r.x + 17,
                 text_baseline(p->g->text, FACE_SANS_MEDIUM, 11, r.y, r.h), TEXT_CENTRE,
                 theme_label_colour(p->t, p->t->data[i]), "B11", 3);
    }
    draw_push_clip(p->l, (rect){200, 60, 60, 9});
    text_put(p->g->text, p->l, LAYER_OVERLAY, FACE_SANS, 13, 180, 70, TEXT_LEFT, p->t->accent, "clipped on all sides",
             20);
    draw_pop_clip(p->l);
}

static void for_both_themes(golden *g, const char *what, float width, float height, void (*fill)(page *p))
{
    draw_list l = {0};
    golden_need_fonts(g);
    for (theme_id id = 0; id < THEME_COUNT; id++) {
        char name[64];
        draw_list_begin(&l, width, height, 1, theme_get(id));
        page p = {g, &l, l.theme, 18};
        fill(&p);
        (void)snprintf(name, sizeof name, "%s-%s", what, l.theme->name);
        golden_check(g, name, &l);
    }
    draw_list_deinit(&l);
}

static void latin(void **state)
{
    for_both_themes(*state, "text-latin", 460, 220, fill_latin);
}

static void chinese(void **state)
{
    for_both_themes(*state, "text-chinese", 320, 110, fill_chinese);
}

static void fit(void **state)
{
    for_both_themes(*state, "text-fit", 440, 170, fill_fit);
}

static void numbers(void **state)
{
    for_both_themes(*state, "text-numbers", 430, 80, fill_numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latin),
        cmocka_unit_test(chinese),
        cmocka_unit_test(fit),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
