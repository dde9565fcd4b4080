/*
 * Contract: while a picture moves, a frame takes only so many events. The rows that are left show tiles, marked as
 * coarse, the frame says that it is not complete and that it will look different a little later; each frame of the same
 * view finishes more rows, and the view at rest becomes, cell by cell, what a headless picture (now_ns = 0) shows at
 * once. With their tiles at hand, rows that wait leave out no column that has ink.
 */
#include "cm.h"

#include "help/ns.h"
#include "help/stage.h"

enum { RANKS = 160, PER_RANK = 400 };

static void make(small_run *r)
{
    prng p;
    prng_seed(&p, 5);
    small_init(r);
    (void)small_name(r, "a", CLASS_FORWARD, KIND_COMPUTE);
    (void)small_name(r, "b", CLASS_BACKWARD, KIND_COMPUTE);
    for (uint32_t k = 0; k < RANKS; k++) {
        (void)small_rank(r, -1, "host");
        uint32_t track = small_lane(r, KIND_COMPUTE, "stream 7", 1);
        int64_t t = 0;
        for (uint32_t i = 0; i < PER_RANK; i++) {
            int64_t length = 500 + (int64_t)prng_below(&p, 1000);
            uint32_t name = (uint32_t)prng_below(&p, 2);
            small_put(
                r, (small_event){track, t, length, name, i, (uint8_t)(name ? CLASS_BACKWARD : CLASS_FORWARD), 0, NULL});
            t += length + (int64_t)prng_below(&p, 200);
        }
    }
}

static size_t coarse_cells(const draw_cell *cells, size_t n)
{
    size_t coarse = 0;
    for (size_t i = 0; i < n; i++) {
        coarse += (cells[i].flags & CELL_COARSE) != 0;
    }
    return coarse;
}

static void rows_follow_in_later_frames(void **state)
{
    (void)state;
    small_run r;
    stage g;
    make(&r);
    assert_int_equal(stage_open(&g, &r, 900, 500), MAREY_OK);
    g.scene->event_budget = 1e9;
    g.scene->events_a_frame = 10 * PER_RANK;
    look_at_ns(&g.view, 1000, (double)g.scene->model->duration_ns / 2);
    assert_true(stage_settle(&g) > 0); /* now_ns is 0: all of it at once, and the data is in */
    assert_true(g.frame.complete && !g.frame.is_fading);
    size_t n = g.list.n_cells;
    draw_cell *exact = mem_alloc(n * sizeof *exact);
    memcpy(exact, g.list.cells, n * sizeof *exact);
    assert_int_equal(coarse_cells(exact, n), 0);

    g.in.now_ns = 1;
    look_at_ns(&g.view, 0, (double)g.scene->model->duration_ns / 2); /* elsewhere: the rasters are made anew */
    assert_int_equal(stage_frame(&g), MAREY_OK);
    look_at_ns(&g.view, 1000, (double)g.scene->model->duration_ns / 2);
    assert_int_equal(stage_frame(&g), MAREY_OK);
    assert_false(g.frame.complete);
    assert_true(g.frame.is_fading);
    assert_int_equal(g.list.n_cells, n);
    size_t left = coarse_cells(g.list.cells, n);
    assert_true(left > 0 && left < n);

    int frames = 0;
    for (; frames < RANKS && g.frame.is_fading; frames++) {
        (void)cache_settle(g.cache); /* the tiles that stand in */
        assert_int_equal(stage_frame(&g), MAREY_OK);
        size_t now = coarse_cells(g.list.cells, n);
        assert_true(now < left || (now == 0 && left == 0));
        left = now;
        for (size_t i = 0; i < n; i++) {
            assert_true(exact[i].klass == CELL_EMPTY || g.list.cells[i].klass != CELL_EMPTY);
        }
    }
    assert_true(frames > 2);
    assert_true(g.frame.complete);
    assert_memory_equal(g.list.cells, exact, n * sizeof *exact);
    free(exact);
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_in_later_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
