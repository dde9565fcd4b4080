/*
 * Contract: the picture is a function of the view and of what the cache holds, whatever the number of threads that make
 * it: frames of one thread and of 2, 3 and 8 threads are the same draw list, cell by cell, while data loads block by
 * block, while the picture moves and rows are put off, from events and from tiles, with stage rows and rows thinner
 * than a pixel.
 */
#include "cm.h"

#include "help/stage.h"

#ifdef __SANITIZE_THREAD__ /* tens of times as slow; two groups of ranks all the same */
enum { RANKS = 72, PER_RANK = 120, STAGES = 4, SCENES = 4 };
#else
enum { RANKS = 160, PER_RANK = 600, STAGES = 4, SCENES = 4 };
#endif

static void make(small_run *r)
{
    prng p;
    prng_seed(&p, 11);
    small_init(r);
    (void)small_name(r, "a", CLASS_FORWARD, KIND_COMPUTE);
    (void)small_name(r, "b", CLASS_BACKWARD, KIND_COMPUTE);
    for (uint32_t k = 0; k < RANKS; k++) {
        (void)small_rank(r, (int32_t)(k * STAGES / RANKS), "host");
        for (uint32_t lane = 0; lane < 2; lane++) {
            uint32_t track = small_lane(r, KIND_COMPUTE, lane ? "stream 8" : "stream 7", 1);
            int64_t t = 0;
            for (uint32_t i = 0; i < PER_RANK; i++) {
                int64_t length = 200 + (int64_t)prng_below(&p, 1000);
                uint32_t name = (uint32_t)prng_below(&p, 2);
                uint8_t severity = prng_below(&p, 200) == 0 ? 8 : 0;
                small_put(r, (small_event){track, t, length, name, i, (uint8_t)(name ? CLASS_BACKWARD : CLASS_FORWARD),
                                           severity, NULL});
                t += length + (int64_t)prng_below(&p, 900);
            }
        }
    }
}

typedef struct frames {
    stage at[SCENES];
    size_t n_compared;
} frames;

static void open_all(frames *f, int height)
{
    static const unsigned threads[SCENES] = {1, 2, 3, 8};
    for (int i = 0; i < SCENES; i++) {
        small_run r; /* each scene reads a file of its own */
        make(&r);
        assert_int_equal(stage_open(&f->at[i], &r, 700, height), MAREY_OK);
        f->at[i].scene->team.n_threads = threads[i];
        f->at[i].scene->events_a_frame = 20000;
        small_free(&r);
    }
    f->n_compared = 0;
}

static void compare_frames(frames *f)
{
    const draw_list *one = &f->at[0].list;
    for (int i = 0; i < SCENES; i++) {
        assert_int_equal(stage_frame(&f->at[i]), MAREY_OK);
        const draw_list *l = &f->at[i].list;
        assert_int_equal(l->n_cells, one->n_cells);
        assert_memory_equal(l->cells, one->cells, one->n_cells * sizeof *one->cells);
        assert_int_equal(l->n_strips, one->n_strips);
        assert_int_equal(l->n_quads, one->n_quads);
        assert_int_equal(l->n_tris, one->n_tris);
        assert_int_equal(f->at[i].frame.complete, f->at[0].frame.complete);
        assert_int_equal(f->at[i].frame.n_wanted, f->at[0].frame.n_wanted);
        assert_int_equal(f->at[i].scene->rasters.n_put_off, f->at[0].scene->rasters.n_put_off);
    }
    f->n_compared++;
}

static void close_all(frames *f)
{
    for (int i = 0; i < SCENES; i++) {
        stage_close(&f->at[i]);
    }
}

/* Frames of one view while its data comes in piece by piece, until it is whole. */
static void load_and_compare(frames *f)
{
    for (int k = 0; k < 400; k++) {
        compare_frames(f);
        if (f->at[0].frame.complete) {
            return;
        }
        for (int i = 0; i < SCENES; i++) {
            (void)cache_step(f->at[i].cache);
        }
    }
    fail_msg("never complete");
}

static void zoom_in(frames *f, double budget, int64_t now_ns)
{
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < SCENES; i++) {
            f->at[i].scene->event_budget = budget;
            f->at[i].in.now_ns = now_ns;
            if (k > 0) {
                view_zoom(&f->at[i].view, 2.3, 0.3);
            }
        }
        compare_frames(f); /* the first frame of a new view: much is stood in for */
        load_and_compare(f);
    }
}

static void with(int height, double budget, int64_t now_ns)
{
    static frames f;
    open_all(&f, height);
    zoom_in(&f, budget, now_ns);
    assert_true(f.n_compared >= 10);
    close_all(&f);
}

static void from_events(void **state)
{
    (void)state;
    with(600, 1e9, 0);
}

static void from_events_while_it_moves(void **state)
{
    (void)state;
    with(500, 1e9, 1);
}

static void from_tiles(void **state)
{
    (void)state;
    with(600, 0, 1);
}

static void in_rows_thinner_than_a_pixel(void **state)
{
    (void)state;
    with(260, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_events),
        cmocka_unit_test(from_events_while_it_moves),
        cmocka_unit_test(from_tiles),
        cmocka_unit_test(in_rows_thinner_than_a_pixel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
