/*
 * Contract: packing turns a draw list into at most PACK_MAX_BATCHES batches that hold every visible item once, in the
 * list's order within a layer and kind; boxes are whole pixels inside the clip and the frame; items that are not
 * finite, empty or transparent are left out; a strip's rows say for each pixel row which occupancy is inked there,
 * exactly as max(least, round(height * occupancy / 255)) has it: least is 3 px from 24 px on, 2 from 12 on, else 1.
 */
#include "cm.h"

#include <math.h>

#include "base/clock.h"
#include "render/pack.h"

static const rgba red = {255, 0, 0, 255};

static draw_list begin(void)
{
    draw_list l = {0};
    draw_list_begin(&l, 200, 100, 1, theme_get(THEME_DARK));
    return l;
}

static pack packed(const draw_list *l)
{
    pack p = {0};
    pack_build(&p, l, NULL);
    return p;
}

static void plain_quads_stay_plain(void **state)
{
    (void)state;
    draw_list l = begin();
    draw_rect(&l, LAYER_DATA, (rect){0, 0, 10, 10}, red);
    draw_round(&l, LAYER_DATA, (rect){0, 0, 10, 10}, 2, red, 0, red);
    draw_rect(&l, LAYER_DATA, (rect){5, 5, 10, 10}, red);
    draw_rect(&l, LAYER_DATA, (rect){0.5F, 0, 10, 10}, red);
    draw_rect(&l, LAYER_DATA, (rect){1, 1, 3, 3}, rgba_with_alpha(red, 9));
    pack p = packed(&l);
    assert_int_equal(p.n_batches, 3);
    assert_int_equal(p.batches[0].kind, PACK_FLAT);
    assert_false(p.batches[0].blend);
    assert_int_equal(p.batches[1].kind, PACK_ROUND);
    assert_int_equal(p.batches[1].n, 3);
    assert_int_equal(p.batches[2].kind, PACK_FLAT);
    assert_true(p.batches[2].blend);
    assert_int_equal(p.batches[2].first, 1);
    pack_deinit(&p);
    draw_list_deinit(&l);
}

static void bad_items_are_left_out(void **state)
{
    (void)state;
    draw_list l = begin();
    const rgba clear = {1, 2, 3, 0};
    draw_rect(&l, LAYER_DATA, (rect){NAN, 0, 10, 10}, red);
    draw_rect(&l, LAYER_DATA, (rect){0, 0, INFINITY, 10}, red);
    draw_rect(&l, LAYER_DATA, (rect){0, 0, 0, 10}, red);
    draw_rect(&l, LAYER_DATA, (rect){0, 0, -5, 10}, red);
    draw_rect(&l, LAYER_DATA, (rect){0, 0, 10, 10}, clear);
    draw_rect(&l, LAYER_DATA, (rect){300, 0, 10, 10}, red);
    draw_round(&l, LAYER_DATA, (rect){0, 0, 10, 10}, NAN, red, 0, red);
    draw_add_band(&l, LAYER_DATA, (draw_band){10, 10, 0, 5, 0, 5, red, 0, 0});
    draw_add_band(&l, LAYER_DATA, (draw_band){0, NAN, 0, 5, 0, 5, red, 0, 0});
    draw_add_band(&l, LAYER_DATA, (draw_band){0, 10, 900, 905, 900, 905, red, 0, 0});
    draw_segment(&l, LAYER_DATA, 0, 0, NAN, 5, 1, red);
    draw_segment(&l, LAYER_DATA, 0, 0, 9, 5, 0, red);
    draw_segment(&l, LAYER_DATA, 0, 0, 9, 5, 1, clear);
    draw_triangle(&l, LAYER_DATA, (float[]){0, 5, 10}, (float[]){0, 5, 10}, red);
    draw_add_strip(&l, LAYER_DATA, (rect){0, NAN, 0, 5}, 10, false);
    draw_add_strip(&l, LAYER_DATA, (rect){0, 400, 0, 5}, 10, false);
    draw_rect(&l, LAYER_DATA, (rect){-1e30F, -1e30F, 2e30F, 2e30F},
              red); /* far larger than the frame, but a rectangle */
    pack p = packed(&l);
    assert_int_equal(p.n_batches, 1);
    assert_int_equal(p.batches[0].n, 1);
    const pack_round *r = p.arrays[PACK_ROUND].items;
    const pack_flat *f = p.arrays[PACK_FLAT].items;
    pack_box box = p.batches[0].kind == PACK_ROUND ? r->box : f->box;
    assert_true(box.x0 == 0 && box.y0 == 0 && box.x1 == 200 && box.y1 == 100);
    pack_deinit(&p);
    draw_list_deinit(&l);
}

static void lines_lie_on_pixels(void **state)
{
    (void)state;
    draw_list l = begin();
    draw_hline(&l, LAYER_DATA, 3, 20, 7.9F, red);
    draw_vline(&l, LAYER_DATA, 5, 20, 2, red);
    draw_segment(&l, LAYER_DATA, 0, 10, 10, 10, 2, red);
    draw_dashed(&l, LAYER_DATA, 0, 30.5F, 10, 30.5F, 1, 3, red);
    draw_hline(&l, LAYER_DATA, 0, 10, 40, red); /* after a dashed one: by the general program, on the same pixels */
    pack p = packed(&l);
    assert_int_equal(p.n_batches, 2);
    const pack_flat *f = p.arrays[PACK_FLAT].items;
    assert_int_equal(p.batches[0].n, 3);
    assert_memory_equal(&f[0].box, &((pack_box){3, 7, 20, 8}), sizeof f->box);
    assert_memory_equal(&f[1].box, &((pack_box){5, 2, 6, 20}), sizeof f->box);
    assert_memory_equal(&f[2].box, &((pack_box){0, 9, 10, 11}), sizeof f->box);
    const pack_line *line = p.arrays[PACK_LINE].items;
    assert_true(line[1].y0 == 40.5F && line[1].y1 == 40.5F && line[1].x0 == 0 && line[1].x1 == 10);
    pack_deinit(&p);
    draw_list_deinit(&l);
}

static bool inked(const pack *p, const pack_strip *f, int y, int occupancy)
{
    return occupancy > (int)(p->rows[(int)f->first_record + y - (int)f->y] & 255);
}

static void rows_say_what_is_inked(void **state)
{
    (void)state;
    for (int height = PACK_LOW_BARS + 1; height <= 90; height++) {
        draw_list l = begin();
        draw_add_strip(&l, LAYER_DATA, (rect){5, 3, 0, (float)height}, 10, false);
        pack p = packed(&l);
        const pack_strip *f = p.arrays[PACK_STRIP].items;
        assert_int_equal(p.n_rows, height);
        for (int occupancy = 0; occupancy <= 255; occupancy++) {
            int bar = (2 * height * occupancy + 255) / 510; /* rounded */
            int least = height >= 24 ? 3 : height >= 12 ? 2 : 1;
            bar = occupancy == 0 ? 0 : (bar < least ? least : bar);
            for (int above = 0; above < height; above++) {
                assert_int_equal(inked(&p, f, 3 + height - 1 - above, occupancy), above < bar);
            }
        }
        pack_deinit(&p);
        draw_list_deinit(&l);
    }
}

/* Of a strip with one cell of each occupancy, at most 16 px high: the same bars, pixel by pixel. */
static void low_bars_are_pixels(void **state)
{
    (void)state;
    for (int height = 1; height <= PACK_LOW_BARS; height++) {
        draw_list l = begin();
        draw_cell *cells = draw_add_strip(&l, LAYER_DATA, (rect){0, 3, 0, (float)height}, 190, false);
        for (int i = 0; i < 190; i++) {
            cells[i] = (draw_cell){2, (uint8_t)(i + 60), 0, 255};
        }
        pack p = packed(&l);
        assert_int_equal(p.arrays[PACK_STRIP].n, 0);
        assert_int_equal(p.n_pixel_rows, height);
        for (int i = 0; i < 190; i++) {
            int bar = (2 * height * (i + 60) + 255) / 510;
            bar = bar < 1 ? 1 : bar;
            for (int y = 0; y < height; y++) {
                uint32_t texel = p.pixels[(size_t)y * p.pixel_columns + (size_t)i];
                assert_int_equal(texel >> 24, height - 1 - y < bar ? 255 : 0);
            }
        }
        pack_deinit(&p);
        draw_list_deinit(&l);
    }
}

static void bars_over_each_other_are_one_area(void **state)
{
    (void)state;
    draw_list l = begin();
    for (int i = 0; i < 3; i++) {
        draw_cell *cells = draw_add_strip(&l, LAYER_DATA, (rect){20, 10, 0, 40}, 8, false);
        for (int x = 0; x < 8; x++) {
            cells[x] = (draw_cell){(uint8_t)(i + 1), (uint8_t)(255 / (i + 1)), 0, 255};
        }
    }
    pack p = packed(&l);
    const theme *t = l.theme;
    assert_int_equal(p.arrays[PACK_STRIP].n, 0);
    assert_int_equal(p.arrays[PACK_PIXELS].n, 1);
    const pack_pixels *f = p.arrays[PACK_PIXELS].items;
    assert_memory_equal(&f->box, &((pack_box){20, 10, 28, 50}), sizeof f->box);
    assert_true(f->x0 == 0 && f->x1 == 8 && f->y0 == 0 && f->y1 == 40);
    const int rows[3] = {5, 23, 39}; /* the first one's, the second's, the last one's colour lies on top */
    for (int i = 0; i < 3; i++) {
        uint32_t texel = p.pixels[(size_t)rows[i] * p.pixel_columns];
        assert_int_equal(texel & 255, t->data[i + 1].b);
        assert_int_equal(texel >> 16 & 255, t->data[i + 1].r);
    }
    pack_deinit(&p);
    draw_list_deinit(&l);
}

static void low_rows_are_one_area(void **state)
{
    (void)state;
    draw_list l = begin();
    for (int i = 0; i < 20; i++) {
        draw_add_strip(&l, LAYER_DATA, (rect){10, 4 + (float)i, 0, 1}, 50, true);
    }
    draw_add_strip(&l, LAYER_DATA, (rect){10, 25, 0, 1}, 50, true); /* not close */
    draw_add_strip(&l, LAYER_DATA, (rect){11, 26, 0, 1}, 50, true); /* other columns */
    draw_add_strip(&l, LAYER_DATA, (rect){11, 27, 0, 3}, 50, true); /* one row of texels for three */
    draw_push_clip(&l, (rect){15, 70, 200, 24});
    draw_add_strip(&l, LAYER_DATA, (rect){11, 60, 0, 39}, 50, false); /* tall bars, clipped all around */
    draw_pop_clip(&l);
    pack p = packed(&l);
    assert_int_equal(p.n_batches, 2);
    assert_int_equal(p.arrays[PACK_PIXELS].n, 4);
    const pack_pixels *a = p.arrays[PACK_PIXELS].items;
    assert_memory_equal(&a[0].box, &((pack_box){10, 4, 60, 24}), sizeof a->box);
    assert_true(a[0].y0 == 0 && a[0].y1 == 20 && a[1].y0 == 20 && a[1].y1 == 21);
    assert_true(a[3].y0 == 22.5F && a[3].y1 == 22.5F && a[3].x1 == 50);
    const pack_strip *f = p.arrays[PACK_STRIP].items;
    assert_memory_equal(&f->box, &((pack_box){15, 70, 61, 94}), sizeof f->box);
    assert_int_equal(p.n_cells, 50);
    pack_deinit(&p);
    draw_list_deinit(&l);
}

static void push_random_item(draw_list *l, prng *r)
{
    draw_layer layer = (draw_layer)prng_below(r, LAYER_COUNT);
    float x = (float)prng_below(r, 1600) / 8;
    float y = (float)prng_below(r, 800) / 8;
    switch (prng_below(r, 6)) {
    case 0:
        draw_rect(l, layer, (rect){floorf(x), floorf(y), 20, 20}, red);
        break;
    case 1:
        draw_round(l, layer, (rect){x, y, 20, 20}, 3, red, 1, red);
        break;
    case 2:
        draw_add_strip(l, layer, (rect){x, y, 0, 1 + y / 8}, 1 + prng_below(r, 100), prng_below(r, 2) != 0);
        break;
    case 3:
        draw_add_band(l, layer, (draw_band){y, y + 10, x, x + 9, x - 20, x + 30, red, 0, 0});
        break;
    case 4:
        draw_segment(l, layer, x, y, prng_below(r, 2) ? x : x + 9, y + 20, 1, red);
        break;
    default:
        draw_triangle(l, layer, (float[]){x, x + 9, x}, (float[]){y, y, y + 9}, red);
        break;
    }
}

static void check_batches(const pack *p)
{
    size_t seen[PACK_COUNT] = {0};
    assert_true(p->n_batches <= PACK_MAX_BATCHES);
    for (size_t i = 0; i < p->n_batches; i++) {
        const pack_batch *b = &p->batches[i];
        assert_int_equal(b->first, seen[b->kind]); /* every instance once, in order */
        assert_true(b->n > 0);
        seen[b->kind] += b->n;
    }
    for (int k = 0; k < PACK_COUNT; k++) {
        assert_int_equal(seen[k], p->arrays[k].n);
    }
}

static void any_list_is_bounded(void **state)
{
    (void)state;
    pack p = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        prng r;
        prng_seed(&r, seed);
        draw_list l = begin();
        for (int i = 0; i < 300; i++) {
            push_random_item(&l, &r);
        }
        pack_build(&p, &l, NULL);
        check_batches(&p);
        draw_list_deinit(&l);
    }
    pack_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_quads_stay_plain), cmocka_unit_test(bad_items_are_left_out),
        cmocka_unit_test(lines_lie_on_pixels),    cmocka_unit_test(rows_say_what_is_inked),
        cmocka_unit_test(low_bars_are_pixels),    cmocka_unit_test(bars_over_each_other_are_one_area),
        cmocka_unit_test(low_rows_are_one_area),  cmocka_unit_test(any_list_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
