/*
 * Contract (design: "what the picture promises", 1 to 5 and 8), for random runs, windows, widths and offsets:
 *   from events: a column of a row is inked if and only if an event of the row meets its half-open range (a zero-length
 * event inks one column); its occupancy is the union of busy time to 1/255; its class is the one with the most time, by
 * union (ties: the lowest); several events and a severity are flagged; from tiles: the finished picture inks the same
 * columns and shows the same classes; while it moves, no column that an event meets is empty, and an inked one without
 * any lies next to one by less than one bin; occupancy differs by no more than what the partial bins at the column's
 * two edges hold; the same range at another width inks the same events; a nanosecond keeps its place at the end of a
 * run of 48 hours;
 *   the row of a group, closed, too, inks what any of the ranks that it stands for does, also when the same view is
 * grouped another way.
 */
#include "cm.h"

#include <math.h>

#include "help/ns.h"
#include "help/stage.h"
#include "help_brute.h"

typedef struct deviation {
    size_t columns, wrong_ink, wrong_class, missing_ink;
    double worst_busy, worst_ink_ns;
} deviation;

static void tracks_of(const stage *g, const scene_row *row, uint32_t *tracks, uint32_t *n)
{
    uint32_t one = 0;
    const uint32_t *t = row_tracks(g->scene, row, n, &one);
    memcpy(tracks, t, *n * sizeof *tracks);
}

static void check_exact_row(const small_run *r, const stage *g, const scene_row *row, deviation *d)
{
    uint32_t tracks[16];
    uint32_t n = 0;
    tracks_of(g, row, tracks, &n);
    const time_grid *grid = &g->scene->src.grid;
    const row_raster *cells = stage_raster(g, row);
    assert_non_null(cells);
    assert_int_equal(cells->n, grid->n);
    brute_column *truth = mem_calloc(grid->n, sizeof *truth);
    brute_columns(r, tracks, n, grid, truth);
    for (uint32_t i = 0; i < grid->n; i++) {
        double margin;
        uint8_t klass = brute_class(&truth[i], &margin);
        const draw_cell *c = &cells->cells[i];
        assert_int_equal(c->klass != CELL_EMPTY, truth[i].count > 0);
        if (truth[i].count == 0) {
            continue;
        }
        d->columns++;
        double wanted = fmin(255, fmax(1, truth[i].busy * 255));
        assert_true(fabs(c->occupancy - wanted) <= 1.0);
        assert_int_equal((c->flags & CELL_MORE) != 0, truth[i].count > 1);
        assert_int_equal((c->flags & CELL_SEVERE) != 0, truth[i].severity > 0);
        assert_int_equal(c->flags & CELL_COARSE, 0);
        if (margin > 1e-4) {
            assert_int_equal(c->klass, klass);
        }
    }
    free(truth);
}

static void random_window(prng *p, view *v, int64_t run)
{
    double width = (double)run * pow(10, -5 * prng_unit(p));
    width = fmax(width, 200);
    double at = ((double)run * 1.1 - width) * prng_unit(p) - 0.05 * (double)run;
    v->t0 = moment_about(at);
    v->t1 = moment_about(at + width);
}

static void events_are_drawn_exactly(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 11);
    deviation d = {0};
    for (int k = 0; k < 12; k++) {
        small_run r;
        stage g;
        brute_random_run(&r, &p, 1 + (uint32_t)prng_below(&p, 5), 20 + (uint32_t)prng_below(&p, 400),
                         50 + (int64_t)prng_below(&p, 5000));
        assert_int_equal(stage_open(&g, &r, 300 + (int)prng_below(&p, 900), 900), MAREY_OK);
        for (int w = 0; w < 12; w++) {
            random_window(&p, &g.view, r.m.duration_ns);
            scene_open_all(g.scene, (int)prng_below(&p, 4));
            g.in.width_px = 300 + (int)prng_below(&p, 900);
            assert_true(stage_settle(&g) > 0);
            assert_null(draw_list_check(&g.list));
            for (size_t i = g.scene->first_visible; i < g.scene->end_visible; i++) {
                if (g.scene->tree.rows[i].kind != ROW_GROUP) {
                    check_exact_row(&r, &g, &g.scene->tree.rows[i], &d);
                }
            }
        }
        stage_close(&g);
        small_free(&r);
    }
    print_message("from events: %zu inked columns, all exact\n", d.columns);
    assert_true(d.columns > 20000);
}

/* Widest bin that a row of this frame was drawn with. */
static int64_t bin_of(const stage *g, const scene_row *row)
{
    uint32_t group = g->scene->rank_events_group[row->rank];
    const group_source *src = &g->scene->src.groups[(size_t)group * LOD_R + (row->kind == ROW_RANK ? R_RANK : R_TRACK)];
    return src->made && src->mode == SOURCE_TILES ? src->map->bin_ns : 0;
}

static void check_tile_row(const small_run *r, const stage *g, const scene_row *row, deviation *d)
{
    uint32_t tracks[16];
    uint32_t n = 0;
    tracks_of(g, row, tracks, &n);
    const time_grid *grid = &g->scene->src.grid;
    const row_raster *cells = stage_raster(g, row);
    double bin = (double)bin_of(g, row);
    assert_true(bin > 0);
    brute_column *truth = mem_calloc(grid->n, sizeof *truth);
    brute_columns(r, tracks, n, grid, truth);
    for (uint32_t i = 0; i < grid->n; i++) {
        const draw_cell *c = &cells->cells[i];
        double margin;
        uint8_t klass = brute_class(&truth[i], &margin);
        bool inked = c->klass != CELL_EMPTY;
        d->missing_ink += truth[i].count > 0 && !inked;
        d->columns += truth[i].count > 0;
        if (inked && truth[i].count == 0) {
            d->wrong_ink++;
            double begin = ns_of(grid->t0);
            assert_true(brute_any(r, tracks, n, begin + time_edge(grid, i) - bin,
                                  begin + time_edge(grid, (int64_t)i + 1) + bin));
        }
        if (inked && truth[i].count > 0) {
            double off = fabs(c->occupancy / 255.0 - truth[i].busy);
            d->worst_busy = fmax(d->worst_busy, off);
            assert_true(off <= 2 * fmin(bin * grid->inverse, 1) + 0.03);
            d->wrong_class += margin > 1e-9 && c->klass != klass;
            if (truth[i].severity > 0) {
                assert_true(c->flags & CELL_SEVERE);
            }
        }
    }
    free(truth);
}

static void check_tile_rows(const small_run *r, const stage *g, deviation *d)
{
    for (size_t i = g->scene->first_visible; i < g->scene->end_visible; i++) {
        if (g->scene->tree.rows[i].kind != ROW_GROUP) {
            check_tile_row(r, g, &g->scene->tree.rows[i], d);
        }
    }
}

static draw_cell *copy_cells(const stage *g)
{
    draw_cell *cells = mem_alloc(g->list.n_cells * sizeof *cells);
    memcpy(cells, g->list.cells, g->list.n_cells * sizeof *cells);
    return cells;
}

/* A view of tiles: as it is while it moves; in a window that rests, frame by frame; and as a picture, which must be the
 * same as what the window ends with. */
static void settle_tiles(const small_run *r, stage *g, deviation *done, deviation *moving)
{
    size_t most = g->scene->refine_blocks;
    g->scene->refine_blocks = 0;
    assert_true(stage_settle(g) > 0);
    check_tile_rows(r, g, moving);
    assert_true(g->frame.has_coarse_edges || g->frame.has_coarse_classes || moving->columns > 0);
    g->scene->refine_blocks = most;
    g->in.now_ns = 1;
    int frames = 0;
    do {
        assert_int_equal(stage_frame(g), MAREY_OK);
        (void)cache_settle(g->cache);
    } while (!g->frame.complete && ++frames < 1000);
    assert_true(g->frame.complete && !g->frame.is_refining);
    assert_true(!g->frame.has_coarse_edges && !g->frame.has_coarse_classes);
    draw_cell *at_rest = copy_cells(g);
    size_t n = g->list.n_cells;
    g->in.now_ns = 0;
    g->view.t0 = moment_shift(g->view.t0, 1); /* elsewhere and back: all is made anew */
    assert_true(stage_settle(g) > 0);
    g->view.t0 = moment_shift(g->view.t0, -1);
    assert_true(stage_settle(g) > 0);
    check_tile_rows(r, g, done);
    assert_int_equal(g->list.n_cells, n);
    assert_memory_equal(g->list.cells, at_rest, n * sizeof *at_rest);
    free(at_rest);
}

static void tiles_cover_every_event(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 12);
    deviation d = {0};
    deviation moving = {0};
    for (int k = 0; k < 12; k++) {
        small_run r;
        stage g;
        brute_random_run(&r, &p, 8, k % 4 == 0 ? 9000 : 6000, 1000);
        assert_int_equal(stage_open(&g, &r, 900, 900), MAREY_OK);
        g.scene->event_budget = 0;
        scene_open_all(g.scene, k % 3); /* ranks, lanes, tracks */
        for (int w = 0; w < 4; w++) {
            g.in.width_px = 300 + (int)prng_below(&p, 500);
            double width = (double)r.m.duration_ns * (0.3 + 0.7 * prng_unit(&p));
            g.view.t0 = moment_about(((double)r.m.duration_ns - width) * prng_unit(&p));
            g.view.t1 = moment_about(ns_of(g.view.t0) + width);
            settle_tiles(&r, &g, &d, &moving);
        }
        stage_close(&g);
        small_free(&r);
    }
    print_message(
        "from tiles: %zu columns with events, %zu inked ones without (%.2f %%), %zu of another class (%.2f %%), "
        "occupancy off by at most %.3f\n",
        d.columns, d.wrong_ink, 100.0 * (double)d.wrong_ink / (double)d.columns, d.wrong_class,
        100.0 * (double)d.wrong_class / (double)d.columns, d.worst_busy);
    print_message("while it moves: %zu inked ones without (%.2f %%), %zu of another class (%.2f %%)\n",
                  moving.wrong_ink, 100.0 * (double)moving.wrong_ink / (double)moving.columns, moving.wrong_class,
                  100.0 * (double)moving.wrong_class / (double)moving.columns);
    assert_int_equal(d.missing_ink, 0);
    assert_int_equal(d.wrong_ink, 0);
    assert_int_equal(moving.missing_ink, 0);
    assert_true(moving.wrong_ink > 0 && moving.wrong_ink * 20 < moving.columns);
    assert_int_equal(d.wrong_class, 0);
    assert_true(moving.wrong_class > 0 && moving.wrong_class * 20 < moving.columns);
}

/* A stage's row against the rows of its ranks, which are held against brute force above. */
static void stage_rows_hide_no_idle_rank(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 14);
    small_run r;
    stage g;
    brute_random_run(&r, &p, 6, 200, 1000);
    for (uint32_t k = 0; k < r.m.n_ranks; k++) {
        r.m.ranks[k].stage = (int32_t)k / 3;
    }
    assert_int_equal(stage_open(&g, &r, 900, 900), MAREY_OK);
    for (int w = 0; w < 10; w++) {
        random_window(&p, &g.view, r.m.duration_ns);
        scene_open_all(g.scene, 1);
        assert_true(stage_settle(&g) > 0);
        const scene_row *rows = g.scene->tree.rows;
        for (size_t group = 0; group < 8; group += 4) {
            assert_int_equal(rows[group].kind, ROW_GROUP);
            const row_raster *all = stage_raster(&g, &rows[group]);
            for (uint32_t i = 0; i < all->n; i++) {
                int most = 0;
                int least = 255;
                int sum = 0;
                for (size_t k = 1; k <= 3; k++) {
                    const draw_cell *c = &stage_raster(&g, &rows[group + k])->cells[i];
                    int share = c->klass == CELL_EMPTY ? 0 : c->occupancy;
                    most = share > most ? share : most;
                    least = share < least ? share : least;
                    sum += share;
                }
                assert_int_equal(all->cells[i].klass != CELL_EMPTY, most > 0);
                assert_int_equal(most > 0 ? all->cells[i].occupancy : 0, most);
                assert_int_equal(all->least[i].klass != CELL_EMPTY, least > 0);
                assert_int_equal(least > 0 ? all->least[i].occupancy : 0, least);
                assert_true(most == 0 || fabs(all->mean[i].occupancy - fmax(1, sum / 3.0)) <= 0.51);
            }
        }
    }
    stage_close(&g);
    small_free(&r);
}

/* Columns of a closed group's row that some rank's event meets, by brute force over the ranks. */
static void check_closed_group(const small_run *r, const stage *g, size_t group, size_t *columns)
{
    const row_raster *all = stage_raster(g, &g->scene->tree.rows[group]);
    const time_grid *grid = &g->scene->src.grid;
    brute_column *truth = mem_calloc(grid->n, sizeof *truth);
    bool *any = mem_calloc(grid->n, sizeof *any);
    for (uint32_t k = 0; k < g->scene->tree.groups[group].n; k++) {
        uint32_t rank = g->scene->tree.group_ranks[g->scene->tree.groups[group].first + k];
        uint32_t first = g->scene->rank_first_track[rank];
        brute_columns(r, g->scene->device_tracks + first, g->scene->rank_first_track[rank + 1] - first, grid, truth);
        for (uint32_t i = 0; i < grid->n; i++) {
            any[i] = any[i] || truth[i].count > 0;
        }
    }
    for (uint32_t i = 0; i < grid->n; i++) {
        assert_int_equal(all->cells[i].klass != CELL_EMPTY, any[i]);
        *columns += any[i];
    }
    free(truth);
    free(any);
}

/* Nothing asks for the ranks of a closed stage or host but its own row. In a window that rests, and in which the same
 * view is grouped another way, it is exact for the ranks that it stands for now. */
static void closed_group_rows_settle(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 16);
    small_run r;
    stage g;
    size_t columns = 0;
    brute_random_run(&r, &p, 6, 6000, 1000);
    for (uint32_t k = 0; k < r.m.n_ranks; k++) {
        r.m.ranks[k].stage = (int32_t)k / 3;
        r.m.ranks[k].host = k % 2 ? "odd" : "even";
    }
    assert_int_equal(stage_open(&g, &r, 900, 900), MAREY_OK);
    g.scene->event_budget = 0;
    for (int w = 0; w < 24; w++) {
        if (w % 2 == 0) { /* every other time the view stays */
            double width = (double)r.m.duration_ns * (0.3 + 0.7 * prng_unit(&p));
            g.view.t0 = moment_about(((double)r.m.duration_ns - width) * prng_unit(&p));
            g.view.t1 = moment_about(ns_of(g.view.t0) + width);
        }
        g.view.grouping = (w + w / 2) % 2 ? GROUP_BY_HOST : GROUP_BY_STAGE;
        scene_open_all(g.scene, 0);
        g.in.now_ns = w + 1;
        int frames = 0;
        do {
            assert_int_equal(stage_frame(&g), MAREY_OK);
            (void)cache_settle(g.cache);
        } while (!g.frame.complete && ++frames < 1000);
        assert_true(g.frame.complete && !g.frame.is_refining && !g.frame.has_coarse_edges);
        for (size_t group = 0; group < 2; group++) {
            check_closed_group(&r, &g, group, &columns);
        }
    }
    assert_true(columns > 1000);
    stage_close(&g);
    small_free(&r);
}

/* The same from rows of eight ranks: what any does is never missed, and what all do never claimed too much. */
static void rows_of_eight_hide_no_idle_rank(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 15);
    small_run r;
    stage g;
    brute_random_run(&r, &p, 16, 4000, 1000);
    for (uint32_t k = 0; k < r.m.n_ranks; k++) {
        r.m.ranks[k].stage = (int32_t)k / 8;
    }
    assert_int_equal(stage_open(&g, &r, 700, 900), MAREY_OK);
    g.scene->event_budget = 0;
    g.scene->many_ranks = 0;
    scene_open_all(g.scene, 0);
    g.view.t1 = moment_about(0.8 * (double)r.m.duration_ns);
    assert_true(stage_settle(&g) > 0);
    double bin = 0;
    for (size_t row = 0; row < 2; row++) {
        const group_source *src = &g.scene->src.groups[R_EIGHT];
        bin = src->made && src->mode == SOURCE_TILES ? (double)src->map->bin_ns : bin;
        const row_raster *all = stage_raster(&g, &g.scene->tree.rows[row]);
        const time_grid *grid = &g.scene->src.grid;
        brute_column *truth[8];
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t rank = g.scene->tree.group_ranks[g.scene->tree.groups[row].first + k];
            uint32_t first = g.scene->rank_first_track[rank];
            truth[k] = mem_calloc(grid->n, sizeof *truth[k]);
            brute_columns(&r, g.scene->device_tracks + first, g.scene->rank_first_track[rank + 1] - first, grid,
                          truth[k]);
        }
        for (uint32_t i = 0; i < all->n; i++) {
            double least = 1;
            double mean = 0;
            bool any = false;
            for (uint32_t k = 0; k < 8; k++) {
                any = any || truth[k][i].count > 0;
                least = fmin(least, truth[k][i].busy);
                mean += truth[k][i].busy / 8;
            }
            double shown = all->least[i].klass == CELL_EMPTY ? 0 : all->least[i].occupancy / 255.0;
            double slack = 0.03 + 2 * fmin(1, bin * grid->inverse);
            assert_true(!any || all->cells[i].klass != CELL_EMPTY);
            assert_true(shown <= least + slack);
            assert_true(!any || fabs(all->mean[i].occupancy / 255.0 - mean) <= slack);
        }
        for (uint32_t k = 0; k < 8; k++) {
            free(truth[k]);
        }
    }
    assert_true(bin > 0);
    stage_close(&g);
    small_free(&r);
}

/* A long event alone: at every width and offset it inks exactly the columns that it meets, and no other. */
static void a_range_inks_the_same_at_any_width(void **state)
{
    (void)state;
    prng p;
    prng_seed(&p, 13);
    small_run r;
    stage g;
    brute_random_run(&r, &p, 1, 60, 2000);
    assert_int_equal(stage_open(&g, &r, 900, 600), MAREY_OK);
    for (int k = 0; k < 60; k++) {
        g.in.width_px = 260 + (int)prng_below(&p, 3000);
        g.view.t0 = moment_about(prng_unit(&p) * 100 - 50);
        g.view.t1 = moment_about((double)r.m.duration_ns * 0.8 + prng_unit(&p) * 100);
        assert_true(stage_settle(&g) > 0);
        const scene_row *row = &g.scene->tree.rows[0];
        const row_raster *cells = stage_raster(&g, row);
        uint32_t tracks[16];
        uint32_t n = 0;
        tracks_of(&g, row, tracks, &n);
        for (size_t i = 0; i < r.n; i++) {
            const small_event *e = &r.events[i];
            bool of_row = n > 0 && (e->track == tracks[0] || (n > 1 && e->track == tracks[1]));
            int64_t a = column_of(&g.scene->src.grid, e->start_ns);
            if (of_row && a >= 0 && a < (int64_t)cells->n) {
                assert_int_not_equal(cells->cells[a].klass, CELL_EMPTY);
            }
        }
    }
    stage_close(&g);
    small_free(&r);
}

static void a_nanosecond_keeps_its_place(void **state)
{
    (void)state;
    const int64_t end = INT64_C(48) * 3600 * 1000000000;
    small_run r;
    stage g;
    small_init(&r);
    (void)small_name(&r, "kernel", CLASS_MATMUL, KIND_COMPUTE);
    (void)small_rank(&r, -1, "");
    uint32_t track = small_lane(&r, KIND_COMPUTE, "stream", 1);
    for (int64_t i = 0; i < 50; i++) {
        small_put(&r, (small_event){track, end - 1000 + 2 * i, 1, 0, (uint32_t)i, CLASS_MATMUL, 0, NULL});
    }
    r.m.duration_ns = end;
    assert_int_equal(stage_open(&g, &r, 1400, 600), MAREY_OK);
    for (int shift = 0; shift < 20; shift++) {
        g.view.t0 = moment_about((double)(end - 1000) + shift);
        g.view.t1 = moment_about(ns_of(g.view.t0) + 40);
        assert_true(stage_settle(&g) > 0);
        const row_raster *cells = stage_raster(&g, &g.scene->tree.rows[0]);
        for (uint32_t i = 0; i < cells->n; i++) {
            double middle = (i + 0.5) * g.scene->src.grid.step_ns + shift;
            if (fabs(middle - round(middle)) > 0.05) { /* away from the edges of events */
                bool inside_one = (int64_t)floor(middle) % 2 == 0 && floor(middle) < 100;
                assert_int_equal(cells->cells[i].klass != CELL_EMPTY, inside_one);
            }
        }
    }
    stage_close(&g);
    small_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_drawn_exactly),     cmocka_unit_test(tiles_cover_every_event),
        cmocka_unit_test(stage_rows_hide_no_idle_rank), cmocka_unit_test(rows_of_eight_hide_no_idle_rank),
        cmocka_unit_test(closed_group_rows_settle),     cmocka_unit_test(a_range_inks_the_same_at_any_width),
        cmocka_unit_test(a_nanosecond_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
