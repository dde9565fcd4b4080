/*
 * Contract: quads, borders, hairlines, strips, bands, lines and triangles look as the expected pictures do, in both
 * themes: edges on whole pixels are sharp, hairlines are one pixel, the theme's colours come out exactly, clips cut,
 * and layers cover each other in their order.
 */
#include "cm.h"

#include "golden/golden.h"

static void begin(draw_list *l, theme_id id, float width, float height)
{
    draw_list_begin(l, width, height, 1, theme_get(id));
}

static void check(golden *g, const char *what, draw_list *l)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s-%s", what, l->theme->name);
    golden_check(g, name, l);
}

static void for_both_themes(golden *g, const char *what, float width, float height,
                            void (*fill)(draw_list *l, const theme *t))
{
    draw_list l = {0};
    for (theme_id id = 0; id < THEME_COUNT; id++) {
        begin(&l, id, width, height);
        fill(&l, l.theme);
        check(g, what, &l);
    }
    draw_list_deinit(&l);
}

/* ---- quads ---- */

static void fill_quads(draw_list *l, const theme *t)
{
    draw_rect(l, LAYER_GROUND, (rect){0, 0, 320, 44}, t->panel);
    draw_hline(l, LAYER_GROUND, 0, 320, 44, t->line);
    draw_rect(l, LAYER_GROUND, (rect){0, 60, 320, 24}, t->row);
    for (int i = 0; i < 14; i++) {
        draw_round(l, LAYER_DATA, (rect){8 + 22 * (float)i, 10, 18, 14}, 2, t->data[i], 0, t->line);
    }
    for (int i = 0; i < 5; i++) {
        draw_round(l, LAYER_DATA, (rect){8 + 22 * (float)i, 64, 18, 14}, 2, t->heat[i], 0, t->line);
        draw_vline(l, LAYER_GROUND, 140 + 20 * (float)i, 46, 100, t->hairline);
    }
    draw_round(l, LAYER_PANELS, (rect){10, 100, 140, 50}, 6, t->raised, 1, t->line);
    draw_round(l, LAYER_PANELS, (rect){160, 100, 140, 50}, 6, t->raised, 1, t->accent);
    draw_round(l, LAYER_PANELS, (rect){10, 160, 40, 30}, 2, t->data[1], 1.5F, t->selection);
    draw_round(l, LAYER_PANELS, (rect){60, 160, 40, 30}, 4, (rgba){0, 0, 0, 0}, 1.5F, t->selection);
    draw_round(l, LAYER_PANELS, (rect){110, 160, 30, 30}, 15, t->severity, 0, t->line);
    draw_round(l, LAYER_PANELS, (rect){150.5F, 160.25F, 30, 30.5F}, 0, t->data[3], 0, t->line); /* between pixels */
    draw_round(l, LAYER_PANELS, (rect){190, 160, 3, 30}, 1.5F, t->severity, 0, t->line);
    draw_rect(l, LAYER_OVERLAY, (rect){200, 80, 60, 100}, rgba_with_alpha(t->accent, 40));
    draw_push_clip(l, (rect){270, 155, 30, 25});
    draw_round(l, LAYER_OVERLAY, (rect){262, 160, 60, 40}, 8, t->data[6], 2, t->selection);
    draw_pop_clip(l);
}

static void quads(void **state)
{
    for_both_themes(*state, "quads", 320, 200, fill_quads);
}

/* ---- strips ---- */

static draw_cell cell_at(int i, int kind)
{
    draw_cell c = {(uint8_t)((i / 20) % 14), 255, (uint8_t)(i % 20 == 0 ? CELL_EDGE : 0), 255};
    c.occupancy = (uint8_t)(kind == 0 ? 255 : 1 + (i % 20) * 13);
    if (kind == 2) {
        c.alpha = 107;
    } else if (kind == 3) {
        c.flags |= CELL_COARSE;
    } else if (kind == 4) {
        c.flags |= i % 20 > 10 ? CELL_SEVERE : 0;
    } else if (kind == 5) {
        c.alpha = 60;
        c.flags |= i % 40 < 20 ? CELL_SELECTED : 0;
    }
    return c;
}

static void add_row(draw_list *l, float y, float h, int kind, bool full_height)
{
    draw_cell *cells = draw_add_strip(l, LAYER_DATA, (rect){10, y, 0, h}, 300, full_height);
    for (int i = 0; i < 300; i++) {
        cells[i] = i % 60 >= 50 ? cells[i] : cell_at(i, kind);
    }
}

static void fill_strips(draw_list *l, const theme *t)
{
    for (int i = 0; i < 6; i++) {
        draw_rect(l, LAYER_GROUND, (rect){0, 6 + 26 * (float)i, 320, 20}, t->row);
        add_row(l, 6 + 26 * (float)i, 20, i, false);
    }
    add_row(l, 164, 8, 1, true);
    for (int i = 0; i < 8; i++) {
        add_row(l, 180 + 2 * (float)i, 1, 1, true);
        add_row(l, 200 + (float)i, 1, i % 2, true);
    }
    draw_push_clip(l, (rect){50, 213, 100, 6});
    add_row(l, 210, 12, 1, false);
    draw_pop_clip(l);
}

static void strips(void **state)
{
    for_both_themes(*state, "strips", 320, 224, fill_strips);
}

/* ---- bands ---- */

static void fill_bands(draw_list *l, const theme *t)
{
    for (int i = 0; i < 8; i++) {
        float x = 8 + 38 * (float)i;
        float to = x + (float)(i * i) / 2;
        rgba c = t->data[i];
        draw_rect(l, LAYER_DATA, (rect){x, 10, 22, 16}, rgba_with_alpha(c, 242));
        draw_rect(l, LAYER_DATA, (rect){to, 38, 26, 16}, rgba_with_alpha(c, 242));
        draw_add_band(l, LAYER_DATA, (draw_band){26, 38, x, x + 22, to, to + 26, rgba_with_alpha(c, 97), 0, 0});
        draw_add_band(
            l, LAYER_DATA,
            (draw_band){64, 100, x, x + 0.2F, x + (float)(i * i) * 4, x + (float)(i * i) * 4 + 0.3F, c, 0, 0});
    }
    draw_add_band(l, LAYER_DATA, (draw_band){104, 124, 20, 20, 10, 60, t->data[0], 0, 0}); /* from a point */
    draw_add_band(l, LAYER_DATA, (draw_band){104.5F, 123.5F, 80, 120, 100.25F, 110.75F, t->data[1], 0, 0});
    draw_push_clip(l, (rect){140, 108, 100, 10});
    draw_add_band(l, LAYER_DATA, (draw_band){100, 124, 120, 160, 200, 280, t->data[6], 0, 0});
    draw_pop_clip(l);
    draw_add_band(l, LAYER_DATA,
                  (draw_band){104, 124, -4000, -3000, 3000, 3060, rgba_with_alpha(t->data[7], 128), 0, 0});
}

static void bands(void **state)
{
    for_both_themes(*state, "bands", 320, 130, fill_bands);
}

/* ---- lines ---- */

static void fill_lines(draw_list *l, const theme *t)
{
    static const float turn[12][2] = {{1, 0},           {0.866F, 0.5F},  {0.5F, 0.866F},  {0, 1},
                                      {-0.5F, 0.866F},  {-0.866F, 0.5F}, {-1, 0},         {-0.866F, -0.5F},
                                      {-0.5F, -0.866F}, {0, -1},         {0.5F, -0.866F}, {0.866F, -0.5F}};
    for (int i = 0; i < 12; i++) {
        draw_segment(l, LAYER_DATA, 50 + 8 * turn[i][0], 50 + 8 * turn[i][1], 50 + 40 * turn[i][0],
                     50 + 40 * turn[i][1], 1 + (float)(i % 4) / 2, t->accent);
    }
    for (int i = 0; i < 4; i++) {
        float y = 10 + 8 * (float)i;
        draw_segment(l, LAYER_DATA, 110, y, 200, y, 1 + (float)i, t->text);
        draw_segment(l, LAYER_DATA, 210 + 8 * (float)i, 8, 210 + 8 * (float)i, 40, 1 + (float)i, t->text);
    }
    draw_dashed(l, LAYER_DATA, 110, 60.5F, 310, 60.5F, 1, 4, t->dim);
    draw_dashed(l, LAYER_DATA, 110, 70, 310, 90, 2, 6, t->dim);
    draw_dashed(l, LAYER_DATA, 250.5F, 8, 250.5F, 50, 1, 3, t->dim);
    draw_triangle(l, LAYER_MARKS, (float[]){270, 280, 275}, (float[]){10, 10, 18}, t->severity);
    draw_triangle(l, LAYER_MARKS, (float[]){290, 290, 297}, (float[]){9, 19, 14}, t->dim);
    draw_triangle(l, LAYER_MARKS, (float[]){270, 310, 285}, (float[]){25, 38, 50}, rgba_with_alpha(t->data[3], 128));
    draw_push_clip(l, (rect){110, 90, 60, 10});
    draw_segment(l, LAYER_MARKS, 100, 80, 200, 110, 3, t->accent);
    draw_triangle(l, LAYER_MARKS, (float[]){110, 150, 130}, (float[]){80, 80, 120}, t->severity);
    draw_pop_clip(l);
}

static void lines(void **state)
{
    for_both_themes(*state, "lines", 320, 110, fill_lines);
}

/* ---- layers ---- */

/* Each layer covers the one before, whatever the order of pushing; inside one the order of kinds holds. */
static void fill_layers(draw_list *l, const theme *t)
{
    for (int i = LAYER_COUNT - 1; i >= 0; i--) {
        float x = 10 + 20 * (float)i;
        draw_round(l, (draw_layer)i, (rect){x, x / 2, 60, 30}, 4, t->data[i], 1, t->selection);
        draw_add_band(l, (draw_layer)i,
                      (draw_band){x / 2 + 4, x / 2 + 20, x + 4, x + 20, x + 10, x + 26, t->data[i + 6], 0, 0});
        draw_segment(l, (draw_layer)i, x, x / 2 + 30, x + 60, x / 2, 2, t->text);
    }
}

static void layers(void **state)
{
    for_both_themes(*state, "layers", 190, 100, fill_layers);
}

/* ---- exact colours, without a picture ---- */

static void assert_pixel_of(const uint8_t *pixels, int width, int x, int y, rgba c)
{
    const uint8_t *p = pixels + ((size_t)y * (size_t)width + (size_t)x) * 4;
    if (p[0] != c.r || p[1] != c.g || p[2] != c.b || p[3] != 255) {
        fail_msg("pixel %d, %d is %02x%02x%02x, not %02x%02x%02x", x, y, p[0], p[1], p[2], c.r, c.g, c.b);
    }
}

static void assert_pixel(const uint8_t *pixels, int x, int y, rgba c)
{
    assert_pixel_of(pixels, 64, x, y, c);
}

static void colours_are_exact(void **state)
{
    golden *g = *state;
    draw_list l = {0};
    uint8_t *pixels = malloc(64 * 64 * 4);
    assert_non_null(pixels);
    for (theme_id id = 0; id < THEME_COUNT; id++) {
        begin(&l, id, 64, 64);
        const theme *t = l.theme;
        draw_rect(&l, LAYER_GROUND, (rect){0, 0, 10, 10}, t->data[0]);
        draw_round(&l, LAYER_GROUND, (rect){10, 0, 10, 10}, 2, t->data[1], 1, t->accent);
        draw_add_band(&l, LAYER_DATA, (draw_band){10, 20, 0, 10, 0, 10, t->data[6], 0, 0});
        draw_hline(&l, LAYER_DATA, 0, 20, 30, t->line);
        draw_cell *cells = draw_add_strip(&l, LAYER_DATA, (rect){20, 40, 0, 10}, 14, false);
        for (int i = 0; i < 14; i++) {
            cells[i] = (draw_cell){(uint8_t)i, 128, 0, 255};
        }
        assert_int_equal(headless_resize(g->headless, 64, 64, NULL), MAREY_OK);
        assert_int_equal(renderer_draw(g->renderer, &l, NULL, NULL, NULL), MAREY_OK);
        assert_int_equal(headless_read(g->headless, pixels, NULL), MAREY_OK);
        assert_pixel(pixels, 0, 0, t->data[0]);
        assert_pixel(pixels, 9, 9, t->data[0]);
        assert_pixel(pixels, 15, 5, t->data[1]);
        assert_pixel(pixels, 15, 0, t->accent);
        assert_pixel(pixels, 0, 10, t->data[6]);
        assert_pixel(pixels, 9, 19, t->data[6]);
        assert_pixel(pixels, 10, 15, t->ground);
        assert_pixel(pixels, 5, 30, t->line);
        assert_pixel(pixels, 5, 29, t->ground);
        assert_pixel(pixels, 5, 31, t->ground);
        for (int i = 0; i < 14; i++) {
            assert_pixel(pixels, 20 + i, 49, t->data[i]);
            assert_pixel(pixels, 20 + i, 45, t->data[i]);
            assert_pixel(pixels, 20 + i, 44, t->ground);
        }
    }
    free(pixels);
    draw_list_deinit(&l);
}

/* The same list gives the same bytes, whatever was drawn before it. */
static void frames_repeat(void **state)
{
    golden *g = *state;
    enum { SIZE = 320 * 224 * 4 };
    uint8_t *first = malloc(SIZE);
    uint8_t *again = malloc(SIZE);
    assert_true(first && again);
    draw_list l = {0};
    draw_list other = {0};
    begin(&l, THEME_DARK, 320, 224);
    fill_strips(&l, l.theme);
    fill_bands(&l, l.theme);
    begin(&other, THEME_LIGHT, 320, 224);
    fill_quads(&other, other.theme);
    assert_int_equal(headless_resize(g->headless, 320, 224, NULL), MAREY_OK);
    assert_int_equal(renderer_draw(g->renderer, &l, NULL, NULL, NULL), MAREY_OK);
    assert_int_equal(headless_read(g->headless, first, NULL), MAREY_OK);
    assert_int_equal(renderer_draw(g->renderer, &other, NULL, NULL, NULL), MAREY_OK);
    assert_int_equal(renderer_draw(g->renderer, &l, NULL, NULL, NULL), MAREY_OK);
    assert_int_equal(headless_read(g->headless, again, NULL), MAREY_OK);
    assert_memory_equal(first, again, SIZE);
    draw_list_deinit(&l);
    draw_list_deinit(&other);
    free(first);
    free(again);
}

static size_t ink_of_size(golden *g, int width, int height)
{
    draw_list l = {0};
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 4);
    assert_non_null(pixels);
    begin(&l, THEME_DARK, (float)width, (float)height);
    draw_round(&l, LAYER_DATA, (rect){20, 10, 30, 20}, 3, l.theme->data[0], 0, l.theme->line);
    assert_int_equal(headless_resize(g->headless, width, height, NULL), MAREY_OK);
    assert_int_equal(renderer_draw(g->renderer, &l, NULL, NULL, NULL), MAREY_OK);
    assert_int_equal(headless_read(g->headless, pixels, NULL), MAREY_OK);
    size_t n = 0;
    for (int i = 0; i < width * height; i++) {
        n += pixels[i * 4] != l.theme->ground.r;
    }
    assert_pixel_of(pixels, width, 35, 10, l.theme->data[0]);
    draw_list_deinit(&l);
    free(pixels);
    return n;
}

/* One program only, in frames of different sizes after each other: nothing of the last size may be left. */
static void sizes_change(void **state)
{
    size_t first = ink_of_size(*state, 300, 200);
    assert_in_range(first, 590, 600);
    assert_int_equal(ink_of_size(*state, 300, 110), first);
    assert_int_equal(ink_of_size(*state, 64, 64), first);
    assert_int_equal(ink_of_size(*state, 600, 400), first);
    assert_int_equal(ink_of_size(*state, 300, 200), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quads),         cmocka_unit_test(strips),       cmocka_unit_test(bands),
        cmocka_unit_test(lines),         cmocka_unit_test(layers),       cmocka_unit_test(colours_are_exact),
        cmocka_unit_test(frames_repeat), cmocka_unit_test(sizes_change),
    };
    return cmocka_run_group_tests(tests, golden_set_up, golden_tear_down);
}
