/*
 * Contract: the draw list keeps what is pushed, with the clip that holds at that moment; clips nest by intersection and
 * stay inside the frame; its dump has one exact line per item, back to front; a breach of an invariant is found and
 * named; a list is as good as new after draw_list_begin.
 */
#include "cm.h"

#include <math.h>

#include "draw/draw_list.h"

static const rgba red = {255, 0, 0, 255};

static draw_list begin(void)
{
    draw_list l = {0};
    draw_list_begin(&l, 100, 50, 1, theme_get(THEME_DARK));
    return l;
}

static void assert_dump(const draw_list *l, const char *expected)
{
    strbuf out = {0};
    draw_list_dump(l, &out);
    assert_string_equal(strbuf_str(&out), expected);
    strbuf_deinit(&out);
}

static void fill_all_kinds(draw_list *l)
{
    draw_rect(l, LAYER_PANELS, (rect){0, 0, 100, 10}, red);
    draw_push_clip(l, (rect){10, 10, 200, 20});
    draw_round(l, LAYER_DATA, (rect){12, 12, 8.5F, 4}, 2, red, 1.5F, (rgba){0, 255, 0, 128});
    draw_cell *cells = draw_add_strip(l, LAYER_DATA, (rect){10, 20, 0, 6}, 5, false);
    cells[1] = (draw_cell){3, 255, 0, 255};
    cells[2] = cells[1];
    cells[3] = (draw_cell){4, 1, CELL_EDGE | CELL_MORE, 107};
    draw_add_band(l, LAYER_DATA, (draw_band){26, 30, 10, 20, 11, 23, red, 99, 99});
    draw_pop_clip(l);
    draw_hline(l, LAYER_GROUND, 0, 100, 9.7F, red);
    draw_vline(l, LAYER_OVERLAY, 33.2F, 0, 50, red);
    draw_dashed(l, LAYER_MARKS, 0, 0, 7, 3, 1, 4, red);
    draw_triangle(l, LAYER_MARKS, (float[]){1, 2, 3}, (float[]){4, 5, 6}, red);
    draw_glyph g[2] = {{7, 40, 45}, {8, 46.25F, 45}};
    draw_add_run(l, LAYER_TOP,
                 (draw_run){.n_glyphs = 2, .x = 40, .y = 45, .width = 12.5F, .size = 11, .face = 3, .colour = red}, g,
                 "ab", 2);
}

static void dumps(void **state)
{
    (void)state;
    draw_list l = begin();
    fill_all_kinds(&l);
    assert_null(draw_list_check(&l));
    assert_dump(&l, "frame 100 50 1 dark #0f1216ff\n"
                    "clip 1 10 10 90 20\n"
                    "line ground clip 0 0 9.5 100 9.5 1 #ff0000ff\n"
                    "quad data clip 1 12 12 8.5 4 #ff0000ff radius 2 border 1.5 #00ff0080\n"
                    "strip data clip 1 10 20 5 6 : 1*- 2*3/255 1*4/1f3a107 1*-\n"
                    "band data clip 1 26 30 10 20 11 23 #ff0000ff\n"
                    "line marks clip 0 0 0 7 3 1 #ff0000ff dash 4\n"
                    "tri marks clip 0 1 4 2 5 3 6 #ff0000ff\n"
                    "quad panels clip 0 0 0 100 10 #ff0000ff\n"
                    "line overlay clip 0 33.5 0 33.5 50 1 #ff0000ff\n"
                    "text top clip 0 face 3 size 11 at 40 45 12.5 #ff0000ff glyphs 2 \"ab\"\n");
    assert_int_equal(draw_list_primitives(&l), 2 + 1 + 1 + 3 + 1 + 2);
    draw_list_deinit(&l);
}

static void begins_anew(void **state)
{
    (void)state;
    draw_list l = begin();
    fill_all_kinds(&l);
    draw_list_begin(&l, 20, 20, 2, theme_get(THEME_LIGHT));
    assert_null(draw_list_check(&l));
    assert_int_equal(draw_list_primitives(&l), 0);
    assert_dump(&l, "frame 20 20 2 light #ffffffff\n");
    draw_list_deinit(&l);
}

static void numbers_are_exact(void **state)
{
    (void)state;
    draw_list l = begin();
    draw_rect(&l, LAYER_DATA, (rect){0.1F, 1.0F / 3, 16777216, -0.0F}, red);
    assert_dump(&l, "frame 100 50 1 dark #0f1216ff\n"
                    "quad data clip 0 0.1 0.33333334 16777216 0 #ff0000ff\n");
    draw_list_deinit(&l);
}

static void clips_nest(void **state)
{
    (void)state;
    draw_list l = begin();
    draw_push_clip(&l, (rect){10, 10, 50, 30});
    draw_push_clip(&l, (rect){-5, 20, 30, 100});
    draw_rect(&l, LAYER_DATA, (rect){0, 0, 1, 1}, red);
    draw_push_clip(&l, (rect){80, 0, 10, 10}); /* nothing is left */
    draw_rect(&l, LAYER_DATA, (rect){0, 0, 1, 1}, red);
    draw_pop_clip(&l);
    draw_rect(&l, LAYER_DATA, (rect){0, 0, 1, 1}, red);
    draw_pop_clip(&l);
    draw_pop_clip(&l);
    draw_rect(&l, LAYER_DATA, (rect){0, 0, 1, 1}, red);
    rect inner = l.clips[l.quads[0].clip];
    rect none = l.clips[l.quads[1].clip];
    assert_true(inner.x == 10 && inner.y == 20 && inner.w == 15 && inner.h == 20);
    assert_true(none.w == 0);
    assert_int_equal(l.quads[2].clip, l.quads[0].clip);
    assert_int_equal(l.quads[3].clip, 0);
    assert_null(draw_list_check(&l));
    draw_list_deinit(&l);
}

/* A clip for each of very many rows: equal ones are shared, and too many of them are no crash. */
static void many_clips(void **state)
{
    (void)state;
    draw_list l = begin();
    for (int i = 0; i < 70000; i++) {
        draw_push_clip(&l, (rect){0, 0, 10, 10});
        draw_pop_clip(&l);
    }
    assert_int_equal(l.n_clips, 2);
    for (int i = 0; i < 70000; i++) {
        draw_push_clip(&l, (rect){0, 0, 10, (float)(i % 49) + 0.5F + (float)i / 140000});
        draw_rect(&l, LAYER_DATA, (rect){0, 0, 1, 1}, red);
        draw_pop_clip(&l);
    }
    assert_int_equal(l.n_clips, UINT16_MAX);
    assert_null(draw_list_check(&l));
    draw_list_deinit(&l);
}

static void deep_clips(void **state)
{
    (void)state;
    draw_list l = begin();
    for (int i = 1; i <= 31; i++) {
        draw_push_clip(&l, (rect){(float)i, 0, 100, 100});
    }
    assert_true(l.clips[l.clip_stack[31]].x == 31);
    assert_string_equal(draw_list_check(&l), "a clip was pushed and not popped");
    for (int i = 1; i <= 31; i++) {
        draw_pop_clip(&l);
    }
    assert_null(draw_list_check(&l));
    draw_list_deinit(&l);
}

static void finds_breaches(void **state)
{
    (void)state;
    draw_list l = begin();
    fill_all_kinds(&l);
    l.quads[0].r.w = NAN;
    assert_string_equal(draw_list_check(&l), "a quad is not finite");
    l.quads[0].r.w = -1;
    assert_string_equal(draw_list_check(&l), "a quad has a negative size");
    l.quads[0].r.w = 1;
    l.quads[0].clip = 7;
    assert_string_equal(draw_list_check(&l), "a quad's clip or layer is out of range");
    l.quads[0].clip = 0;
    l.strips[0].first_cell = 1;
    assert_string_equal(draw_list_check(&l), "a strip's cells are not inside the list");
    l.strips[0].first_cell = UINT32_MAX;
    assert_string_equal(draw_list_check(&l), "a strip's cells are not inside the list");
    l.strips[0].first_cell = 0;
    l.cells[1].occupancy = 0;
    assert_string_equal(draw_list_check(&l), "a cell has no class of the palette or no occupancy");
    l.cells[1].occupancy = 255;
    l.bands[0].x1 = 5;
    assert_string_equal(draw_list_check(&l), "a band's edges are crossed");
    l.bands[0].x1 = 20;
    l.lines[2].x1 = INFINITY;
    assert_string_equal(draw_list_check(&l), "a line is not finite");
    l.lines[2].x1 = 7;
    l.tris[0].y[1] = NAN;
    assert_string_equal(draw_list_check(&l), "a triangle is not finite");
    l.tris[0].y[1] = 5;
    l.runs[0].n_glyphs = 3;
    assert_string_equal(draw_list_check(&l), "a run's glyphs or text are not inside the list");
    l.runs[0].n_glyphs = 2;
    l.runs[0].layer = LAYER_COUNT;
    assert_string_equal(draw_list_check(&l), "a run's clip or layer is out of range");
    l.runs[0].layer = LAYER_TOP;
    assert_null(draw_list_check(&l));
    draw_list_deinit(&l);
}

static void strips_are_empty_at_first(void **state)
{
    (void)state;
    draw_list l = begin();
    draw_cell *none = draw_add_strip(&l, LAYER_DATA, (rect){0, 0, 9, 4}, 0, false);
    assert_non_null(none);
    draw_cell *cells = draw_add_strip(&l, LAYER_DATA, (rect){0, 0, 9, 4}, 3, true);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cells[i].klass, CELL_EMPTY);
        assert_int_equal(cells[i].occupancy, 0);
    }
    assert_true(l.strips[1].r.w == 3);
    assert_null(draw_list_check(&l));
    draw_list_deinit(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dumps),
        cmocka_unit_test(begins_anew),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(clips_nest),
        cmocka_unit_test(many_clips),
        cmocka_unit_test(deep_clips),
        cmocka_unit_test(finds_breaches),
        cmocka_unit_test(strips_are_empty_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
