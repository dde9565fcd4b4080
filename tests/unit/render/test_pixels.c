/*
 * Contract: cells become premultiplied colours that differ by at most 1 of 255 from what draw_list.h says (class
 * colour, alpha, 1/4 + 3/4 of the occupancy where that dims, paler when coarse or an edge, full when selected, other
 * colours when severe, nothing when empty); one layer over another is "over" to 1 of 255 where the bars reach. The
 * way for wide processors gives the plain way's bytes, at every length.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cm.h"
#include "render/pixels.h"

static void random_colours(prng *r, rgba colours[PIXEL_COLOURS])
{
    for (int i = 0; i < PIXEL_COLOURS; i++) {
        uint64_t v = prng_next(r);
        memcpy(&colours[i], &v, sizeof colours[i]);
        colours[i].a = 255;
    }
}

static draw_cell random_cell(prng *r)
{
    uint64_t kind = prng_below(r, 10);
    draw_cell c = {(uint8_t)prng_below(r, kind == 0 ? 256 : 14), (uint8_t)(1 + prng_below(r, 255)), 0, 255};
    c.flags = kind == 1 ? (uint8_t)prng_below(r, 32) : 0;
    c.alpha = kind == 2 ? (uint8_t)prng_below(r, 256) : 255;
    return kind == 3 ? (draw_cell){CELL_EMPTY, 0, 0, 255} : c;
}

static void colour_of(const rgba *colours, draw_cell c, bool dims, double out[4])
{
    double alpha = c.flags & CELL_SELECTED ? 1 : c.alpha / 255.0;
    alpha *= c.flags & CELL_EDGE ? 0.45 : 1;
    alpha *= c.flags & CELL_COARSE ? 0.7 : 1;
    alpha *= dims ? 0.25 + 0.75 * c.occupancy / 255 : 1;
    bool inked = c.klass < PALETTE_SIZE && c.occupancy > 0;
    const rgba *k = &colours[(c.klass % PALETTE_SIZE) + (c.flags & CELL_SEVERE ? PALETTE_SIZE : 0)];
    const double channels[4] = {k->b, k->g, k->r, 255};
    for (int i = 0; i < 4; i++) {
        out[i] = inked ? channels[i] * alpha : 0;
    }
}

static void cells_become_their_colours(void **state)
{
    (void)state;
    enum { N = 20000 };
    rgba colours[PIXEL_COLOURS];
    prng r;
    prng_seed(&r, 3);
    random_colours(&r, colours);
    pixel_palette p = pixel_palette_make(colours);
    for (int i = 0; i < N; i++) {
        draw_cell c = random_cell(&r);
        bool dims = i % 2 != 0;
        uint8_t got[4];
        double want[4];
        pixels_from_cells(&p, &c, 1, dims, (uint32_t *)(void *)got);
        colour_of(colours, c, dims, want);
        for (int k = 0; k < 4; k++) {
            assert_true(fabs(got[k] - want[k]) <= 1.5);
            assert_true(got[k] <= got[3]); /* premultiplied */
        }
    }
}

static void layers_lie_over_each_other(void **state)
{
    (void)state;
    prng r;
    prng_seed(&r, 4);
    for (int i = 0; i < 20000; i++) {
        uint8_t alpha = (uint8_t)prng_below(&r, 256);
        uint8_t below[4] = {9, 90, 180, 200};
        uint8_t colour[4] = {(uint8_t)(alpha / 3), (uint8_t)(alpha / 2), alpha, alpha};
        uint8_t out[4];
        memcpy(out, below, sizeof out);
        draw_cell c = {3, (uint8_t)prng_below(&r, 256), 0, 255};
        uint8_t exceed = (uint8_t)prng_below(&r, 256);
        pixels_lay_over((const uint32_t *)(const void *)colour, &c, 1, exceed, (uint32_t *)(void *)out);
        for (int k = 0; k < 4; k++) {
            double over = colour[k] + below[k] * (255.0 - alpha) / 255;
            assert_true(fabs(out[k] - (c.occupancy > exceed ? over : below[k])) <= 0.51);
        }
    }
}

static void both_ways_are_the_same(void **state)
{
    (void)state;
    enum { MOST = 70 };
    draw_cell cells[MOST];
    uint32_t wide[MOST + 1], plain[MOST + 1];
    uint32_t lower_wide[MOST + 1], lower_plain[MOST + 1];
    rgba colours[PIXEL_COLOURS];
    prng r;
    prng_seed(&r, 5);
    random_colours(&r, colours);
    pixel_palette p = pixel_palette_make(colours);
    for (int round = 0; round < 2000; round++) {
        size_t n = prng_below(&r, MOST + 1);
        for (size_t i = 0; i < n; i++) {
            cells[i] = random_cell(&r);
            lower_wide[i] = lower_plain[i] = 0x40302010;
        }
        wide[n] = plain[n] = lower_wide[n] = lower_plain[n] = 0xABCDEF01; /* nothing is written behind the end */
        uint8_t exceed = (uint8_t)prng_below(&r, 255);
        pixels_from_cells(&p, cells, n, round % 2, wide);
        pixels_from_cells_plain(&p, cells, n, round % 2, plain);
        pixels_lay_over(wide, cells, n, exceed, lower_wide);
        pixels_lay_over_plain(plain, cells, n, exceed, lower_plain);
        assert_memory_equal(wide, plain, (n + 1) * sizeof *wide);
        assert_memory_equal(lower_wide, lower_plain, (n + 1) * sizeof *lower_wide);
        assert_true(wide[n] == 0xABCDEF01 && lower_wide[n] == 0xABCDEF01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_become_their_colours),
        cmocka_unit_test(layers_lie_over_each_other),
        cmocka_unit_test(both_ways_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
