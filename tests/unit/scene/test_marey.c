/*
 * Contract: a band joins the same instance (peer group, step, name, occurrence) on direct neighbours on screen, and
 * ends where a rank lacks it; neighbouring bands of one class whose edges agree within a pixel merge into one; an
 * instance beyond median +- 5 MAD of its peers by start, end or duration stays a band of its own and is counted; a
 * collective waits, pale, until its last member arrives; the level of detail follows the zoom; the number of bands is
 * bounded.
 */
#include "cm.h"

#include "help/stage.h"
#include "scene/marey.h"

enum { MS = 1000000 };

typedef struct lanes {
    uint32_t compute[16], communication[16], phases[16], steps[16];
} lanes;

static void begin(small_run *r, lanes *at, uint32_t n_ranks, int32_t per_stage)
{
    small_init(r);
    (void)small_name(r, "matmul", CLASS_FORWARD, KIND_COMPUTE);             /* 0 */
    (void)small_name(r, "allreduce", CLASS_COLLECTIVE, KIND_COMMUNICATION); /* 1 */
    (void)small_name(r, "forward", CLASS_FORWARD, KIND_PHASE);              /* 2 */
    (void)small_name(r, "backward", CLASS_BACKWARD, KIND_PHASE);            /* 3 */
    for (uint32_t k = 0; k < n_ranks; k++) {
        (void)small_rank(r, (int32_t)k / per_stage, "host");
        at->compute[k] = small_lane(r, KIND_COMPUTE, "stream 7", 1);
        at->communication[k] = small_lane(r, KIND_COMMUNICATION, "stream 20", 1);
        at->phases[k] = small_lane(r, KIND_PHASE, "phases", 1);
        at->steps[k] = small_lane(r, KIND_STEP, "steps", 1);
    }
    r->m.duration_ns = 1000 * MS;
}

static void put(small_run *r, uint32_t track, double start_ms, double ms, uint32_t name, uint32_t occurrence)
{
    uint8_t klass = (uint8_t)r->m.categories[r->m.names[name].category].klass;
    small_put(r, (small_event){track, (int64_t)(start_ms * MS), (int64_t)(ms * MS), name, occurrence, klass, 0, NULL});
}

static void show(stage *g, small_run *r)
{
    assert_int_equal(stage_open(g, r, 1240, 900), MAREY_OK);
    g->view.layout = LAYOUT_MAREY;
    assert_true(stage_settle(g) > 0);
}

static void neighbours_are_joined(void **state)
{
    (void)state;
    small_run r;
    lanes at;
    stage g;
    begin(&r, &at, 8, 4);
    for (uint32_t k = 0; k < 8; k++) {
        put(&r, at.compute[k], 100 + k, 50, 0, 0);
        if (k != 1) {
            put(&r, at.compute[k], 300, 50, 0, 1); /* rank 1 lacks it: its band ends on both sides */
        }
    }
    show(&g, &r);
    /* Two stages of four ranks: 3 + 3 bands of the first instance, 1 + 3 of the second. */
    assert_int_equal(g.frame.n_bands, 10);
    assert_int_equal(g.list.n_bands, 10);
    for (size_t i = 0; i < g.list.n_bands; i++) {
        const draw_band *b = &g.list.bands[i];
        assert_true(b->y_bottom > b->y_top);
        if (b->x0 < (float)x_of(g.scene, 200.0 * MS)) { /* each rank starts a millisecond later than the one above */
            assert_true(fabs((double)(b->x2 - b->x0) - MS * g.scene->src.grid.inverse) < 0.01);
        }
    }
    const draw_band *b = &g.list.bands[0];
    scene_pick at_band =
        scene_pick_at(g.scene, (double)(b->x0 + b->x1 + b->x2 + b->x3) / 4, (double)(b->y_top + b->y_bottom) / 2);
    store_event_info e;
    assert_int_equal(at_band.kind, PICK_BAND);
    assert_int_equal(store_read_event(g.file, at_band.event_row, &e, &g.diag), MAREY_OK);
    assert_true(fabs(x_of(g.scene, e.start_ns) - (double)b->x0) < 0.1);
    assert_true(scene_toggle_row(g.scene, 2)); /* rank 1 opened: its lanes lie between it and rank 2 */
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(g.frame.n_bands, 9);
    stage_close(&g);
    small_free(&r);
}

static void steps_tell_instances_apart(void **state)
{
    (void)state;
    small_run r;
    lanes at;
    stage g;
    begin(&r, &at, 2, 2);
    for (uint32_t k = 0; k < 2; k++) {
        small_step(&r, k, 7, 0, 400 * MS);
        small_step(&r, k, 8, 400 * MS, 900 * MS);
    }
    put(&r, at.compute[0], 100, 50, 0, 0);
    put(&r, at.compute[1], 500, 50, 0, 0); /* the same occurrence, of the next step */
    show(&g, &r);
    assert_int_equal(g.frame.n_bands, 0);
    stage_close(&g);
    small_free(&r);
}

static void equal_neighbours_merge(void **state)
{
    (void)state;
    marey_cache m = {0};
    /* ..., event, instances, busy px, shortest, longest and summed ns */
    band row[] = {
        {0, CLASS_FORWARD, false, 100, 110, 100.5, 110.5, 0, 1, 10, 5, 10, 7},
        {0, CLASS_FORWARD, false, 110.4, 120, 110.5, 120, 0, 1, 9.5, 4, 9, 8},
        {0, CLASS_FORWARD, false, 122, 130, 120, 130, 0, 1, 9, 1, 1, 1},
        {0, CLASS_BACKWARD, false, 130, 140, 130, 140, 0, 1, 10, 1, 1, 1},
        {0, CLASS_FORWARD, true, 140, 150, 160, 170, 0, 1, 10, 1, 1, 1},
        {1, CLASS_FORWARD, false, 120, 130, 120, 130, 0, 1, 10, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        VEC_PUSH(m.bands, m.n_bands, m.cap_bands, row[i]);
    }
    bands_merge(&m, 1);
    /* The first two touch within a pixel at both edges; the third leaves a gap above; classes, outliers, rows stay
     * apart. */
    assert_int_equal(m.n_bands, 5);
    assert_true(m.bands[0].x0 == 100 && m.bands[0].x1 == 120 && m.bands[0].x3 == 120);
    assert_true(m.bands[0].n == 2 && m.bands[0].least_ns == 4 && m.bands[0].most_ns == 10 && m.bands[0].sum_ns == 15);
    assert_true(m.bands[0].busy_px == 19.5);     /* of 19.75: merged time is not busy time */
    assert_true(m.bands[m.n_bands - 1].outlier); /* drawn last */
    free(m.bands);
}

static void what_leaves_its_peers_is_kept(void **state)
{
    (void)state;
    small_run r;
    lanes at;
    stage g;
    begin(&r, &at, 8, 8);
    for (uint32_t k = 0; k < 8; k++) {
        for (uint32_t i = 0; i < 10; i++) {
            double slow = k == 5 && i == 4 ? 1.5 : 1;
            put(&r, at.compute[k], 50 + 80 * i + 0.1 * k, 40 * slow, 0, i);
        }
    }
    show(&g, &r);
    assert_int_equal(g.frame.n_outliers, 1);
    assert_int_equal(g.frame.n_bands, 70);
    uint8_t usual = g.list.bands[0].fill.a;
    size_t strong = 0;
    for (size_t i = 0; i < g.list.n_bands; i++) {
        strong += g.list.bands[i].fill.a > usual;
    }
    assert_int_equal(strong, 2); /* its bands up and down, and they come last */
    assert_true(g.list.bands[g.list.n_bands - 1].fill.a > usual && g.list.bands[g.list.n_bands - 2].fill.a > usual);
    stage_close(&g);
    small_free(&r);
}

static void waiting_is_pale(void **state)
{
    (void)state;
    small_run r;
    lanes at;
    stage g;
    begin(&r, &at, 4, 4);
    for (uint32_t k = 0; k < 4; k++) {
        double late = k == 2 ? 200 : 10.0 * k;
        put(&r, at.communication[k], 100 + late, 500 - late, 1, 0);
    }
    show(&g, &r);
    size_t rows = 0;
    for (size_t i = 0; i < g.scene->tree.n_rows; i++) {
        const scene_row *row = &g.scene->tree.rows[i];
        rect strip = row_strip_rect(g.scene, row);
        for (size_t k = 0; row->kind == ROW_RANK && k < g.list.n_strips; k++) {
            const draw_strip *d = &g.list.strips[k];
            if (d->r.y != strip.y || d->r.h != strip.h) {
                continue;
            }
            rows++;
            const draw_cell *cells = g.list.cells + d->first_cell;
            int64_t waiting = column_of(&g.scene->src.grid, 250.0 * MS);
            int64_t moving = column_of(&g.scene->src.grid, 400.0 * MS);
            if (row->rank != 2) {
                assert_int_equal(cells[waiting].alpha, WAIT_ALPHA);
            }
            assert_int_equal(cells[moving].klass, CLASS_COLLECTIVE);
            assert_int_equal(cells[moving].alpha, 255);
        }
    }
    assert_int_equal(rows, 4);
    stage_close(&g);
    small_free(&r);
}

/* Tiny operators in phases in steps: what the bands join depends on how wide they are. */
static void detail_follows_the_zoom(void **state)
{
    (void)state;
    small_run r;
    lanes at;
    stage g;
    begin(&r, &at, 4, 4);
    r.m.duration_ns = INT64_C(100000) * MS;
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t step = 0; step < 20; step++) {
            double t0 = 5000.0 * step;
            small_step(&r, k, step, (int64_t)(t0 * MS), (int64_t)((t0 + 4900) * MS));
            put(&r, at.steps[k], t0, 4900, 2, 0);
            for (uint32_t p = 0; p < 90; p++) {
                put(&r, at.phases[k], t0 + 50 * p, 45, p % 2 ? 3 : 2, p / 2);
                for (uint32_t i = 0; i < 6; i++) {
                    put(&r, at.compute[k], t0 + 50 * p + 7 * i, 6.5, 0, p * 6 + i);
                }
            }
        }
    }
    show(&g, &r);
    assert_int_equal(g.scene->marey->level, MAREY_STEPS);
    g.view.t0 = moment_about(0);
    g.view.t1 = moment_about(5000.0 * MS);
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(g.scene->marey->level, MAREY_PHASES);
    g.view.t1 = moment_about(500.0 * MS);
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(g.scene->marey->level, MAREY_OPERATORS);
    /* With a clock, the level before fades out first. */
    g.in.now_ns = 1000;
    g.view.t1 = moment_about(5000.0 * MS);
    assert_true(stage_settle(&g) > 0);
    assert_true(g.frame.is_fading);
    g.in.now_ns = INT64_C(400000000);
    assert_true(stage_settle(&g) > 0);
    assert_false(g.frame.is_fading);
    assert_int_equal(g.scene->marey->level, MAREY_PHASES);
    stage_close(&g);
    small_free(&r);
}

static void bands_are_bounded(void **state)
{
    (void)state;
    small_run r;
    lanes at;
    stage g;
    begin(&r, &at, 16, 16);
    for (uint32_t k = 0; k < 16; k++) {
        for (uint32_t i = 0; i < 450; i++) {
            put(&r, at.compute[k], 2.2 * i, 1.1, 0, i); /* gaps: nothing merges */
        }
    }
    assert_int_equal(stage_open(&g, &r, 2600, 1400), MAREY_OK);
    g.view.layout = LAYOUT_MAREY;
    assert_true(stage_settle(&g) > 0);
    assert_true(g.frame.n_bands <= MAX_BANDS);
    assert_true(g.frame.n_bands > MAX_BANDS / 2);
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_joined),  cmocka_unit_test(steps_tell_instances_apart),
        cmocka_unit_test(equal_neighbours_merge), cmocka_unit_test(what_leaves_its_peers_is_kept),
        cmocka_unit_test(waiting_is_pale),        cmocka_unit_test(detail_follows_the_zoom),
        cmocka_unit_test(bands_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
