/*
 * Contract: rows are stages (or hosts), ranks, lanes, tracks, in the order that the view picks; a closed node hides
 * what is below it, toggling opens and closes exactly that; a pattern keeps whole ranks that match and else only
 * matching lanes; with row_px = 0 all rows lie inside the plot, down to less than a pixel a rank; rows never overlap,
 * and a row keeps its place while time is zoomed.
 */
#include "cm.h"

#include "help/stage.h"

static void add_rank(small_run *r, int32_t in_stage, const char *host, int64_t busy_ns)
{
    (void)small_rank(r, in_stage, host);
    uint32_t a = small_lane(r, KIND_COMPUTE, "stream 7", 1);
    uint32_t b = small_lane(r, KIND_CPU, "thread 1 (main)", 3);
    (void)small_lane(r, KIND_STEP, "steps", 1);
    small_put(r, (small_event){a, 100, busy_ns, 0, 0, CLASS_MATMUL, 0, NULL});
    small_put(r, (small_event){b, 50, 5000, 1, 0, CLASS_CPU_OP, 0, NULL});
    small_put(r, (small_event){b + 1, 60, 500, 1, 1, CLASS_CPU_OP, 0, NULL});
    small_put(r, (small_event){b + 2, 70, 50, 1, 2, CLASS_CPU_OP, 0, NULL});
}

static void make(small_run *r, int n_ranks, int stages)
{
    small_init(r);
    (void)small_name(r, "kernel", CLASS_MATMUL, KIND_COMPUTE);
    (void)small_name(r, "op", CLASS_CPU_OP, KIND_CPU);
    for (int i = 0; i < n_ranks; i++) {
        add_rank(r, stages > 0 ? i / (n_ranks / stages) : -1, i % 2 ? "odd" : "even", 1000 + 100 * ((i * 7) % n_ranks));
    }
}

static size_t count(const stage *g, row_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < g->scene->tree.n_rows; i++) {
        n += g->scene->tree.rows[i].kind == kind;
    }
    return n;
}

static const scene_row *row_of(const stage *g, row_kind kind, size_t k)
{
    for (size_t i = 0; i < g->scene->tree.n_rows; i++) {
        if (g->scene->tree.rows[i].kind == kind && k-- == 0) {
            return &g->scene->tree.rows[i];
        }
    }
    return NULL;
}

static void stages_group_ranks(void **state)
{
    (void)state;
    small_run r;
    stage g;
    make(&r, 32, 8);
    assert_int_equal(stage_open(&g, &r, 1200, 900), MAREY_OK);
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(count(&g, ROW_GROUP), 8);
    assert_int_equal(count(&g, ROW_RANK), 32);
    assert_int_equal(count(&g, ROW_LANE), 0);
    assert_int_equal(scene_row_count(g.scene), 40);
    assert_true(scene_toggle_row(g.scene, 0));
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(count(&g, ROW_RANK), 28);
    assert_true(scene_toggle_row(g.scene, 0));
    g.view.grouping = GROUP_BY_HOST;
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(count(&g, ROW_GROUP), 2);
    assert_int_equal(count(&g, ROW_RANK), 32);
    g.view.grouping = GROUP_BY_NONE;
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(scene_row_count(g.scene), 32);
    assert_int_equal(row_of(&g, ROW_RANK, 5)->id, 5);
    g.view.order = ORDER_BUSY;
    assert_true(stage_settle(&g) > 0);
    int64_t before = INT64_MAX;
    for (size_t i = 0; i < 32; i++) {
        int64_t busy = r.m.lanes[r.m.ranks[row_of(&g, ROW_RANK, i)->id].first_lane].busy_ns;
        assert_true(busy <= before);
        before = busy;
    }
    stage_close(&g);
    small_free(&r);
}

static void opening_goes_level_by_level(void **state)
{
    (void)state;
    small_run r;
    stage g;
    make(&r, 16, 4);
    assert_int_equal(stage_open(&g, &r, 1200, 900), MAREY_OK);
    const size_t rows[4] = {4, 20, 52, 84}; /* groups; ranks; two lanes each; two deeper tracks each */
    for (int depth = 0; depth < 4; depth++) {
        scene_open_all(g.scene, depth);
        assert_true(stage_settle(&g) > 0);
        assert_int_equal(scene_row_count(g.scene), rows[depth]);
    }
    g.view.show_cpu = false;
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(count(&g, ROW_LANE), 16);
    assert_int_equal(count(&g, ROW_TRACK), 0);
    assert_false(scene_toggle_row(g.scene, 2)); /* a lane of one track has nothing below */
    assert_false(scene_toggle_row(g.scene, 100000));
    stage_close(&g);
    small_free(&r);
}

static void a_single_rank_opens_itself(void **state)
{
    (void)state;
    small_run r;
    stage g;
    make(&r, 1, 0);
    assert_int_equal(stage_open(&g, &r, 1200, 900), MAREY_OK);
    assert_true(stage_settle(&g) > 0);
    assert_int_equal(count(&g, ROW_LANE), 2);
    assert_int_equal(count(&g, ROW_TRACK), 2);
    stage_close(&g);
    small_free(&r);
}

static void patterns_keep_what_matches(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        size_t ranks, lanes;
    } cases[] = {
        {"rank 1?", 6, 0},    {"rank 3", 1, 0},   {"rank:3, rank:4", 2, 0},
        {"stage:1", 4, 0},    {"*main*", 16, 16}, {"RANK 1*,*stream*", 16, 9},
        {"all", 16, 0},       {"nothing", 0, 0},  {"Stage 2", 4, 0},
        {"lane:0", 1, 1},     {"rank 3/*", 1, 2}, {"rank 1?/stream*", 6, 6},
        {"stream 7/*", 0, 0},
    };
    small_run r;
    stage g;
    make(&r, 16, 4);
    assert_int_equal(stage_open(&g, &r, 1200, 900), MAREY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(g.view.rows_pattern, sizeof g.view.rows_pattern, "%s", cases[i].pattern);
        assert_true(stage_settle(&g) > 0);
        assert_int_equal(count(&g, ROW_RANK), cases[i].ranks);
        assert_int_equal(count(&g, ROW_LANE), cases[i].lanes);
    }
    stage_close(&g);
    small_free(&r);
}

static void globs(void **state)
{
    (void)state;
    assert_true(glob_match("a*b", 3, "axxb"));
    assert_true(glob_match("*", 1, ""));
    assert_true(glob_match("Rank ?", 6, "rank 7"));
    assert_false(glob_match("rank", 4, "rank 7"));
    assert_false(glob_match("a*b*c", 5, "acb"));
    assert_false(glob_match("?", 1, ""));
    char stars[64];
    memset(stars, '*', sizeof stars);
    for (size_t i = 1; i < sizeof stars; i += 2) {
        stars[i] = 'a';
    }
    assert_false(glob_match(stars, sizeof stars, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
}

static void rows_fit_and_never_overlap(void **state)
{
    (void)state;
    static const int ranks[] = {2, 40, 200, 1024, 2500};
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        small_run r;
        stage g;
        make(&r, ranks[k], 2);
        assert_int_equal(stage_open(&g, &r, 900, 700), MAREY_OK);
        g.view.show_cpu = false;
        assert_true(stage_settle(&g) > 0);
        const row_tree *t = &g.scene->tree;
        assert_true(g.frame.content_px <= (double)g.frame.plot.h + 0.01);
        assert_int_equal(g.frame.n_rows_visible, t->n_rows);
        for (size_t i = 1; i < t->n_rows; i++) {
            assert_true(t->rows[i].y >= t->rows[i - 1].y + t->rows[i - 1].h - 1e-9);
        }
        double y = t->rows[t->n_rows / 2].y;
        view_zoom(&g.view, 7, 0.3);
        assert_true(stage_settle(&g) > 0);
        assert_true(t->rows[t->n_rows / 2].y == y);
        g.view.row_px = 24;
        g.view.scroll_px = 1e9;
        assert_true(stage_settle(&g) > 0);
        assert_int_equal(g.scene->end_visible, t->n_rows); /* scrolled to the end, not beyond */
        stage_close(&g);
        small_free(&r);
    }
}

/* A rank that has nothing but counters is a row with theirs below it, also where no rank has an event. */
static void counters_are_rows_of_their_rank(void **state)
{
    (void)state;
    static const store_sample samples[] = {{0, 5}, {400, 7}, {900, 2}};
    for (int with_events = 0; with_events < 2; with_events++) {
        small_run r;
        stage g;
        make(&r, with_events, 0);
        (void)small_rank(&r, -1, "host");
        small_counter(&r, "power/watts", samples, 3);
        small_counter(&r, "memory/used", samples, 3);
        r.m.duration_ns = r.m.view_end_ns = r.m.duration_ns > 901 ? r.m.duration_ns : 901;
        assert_int_equal(stage_open(&g, &r, 800, 600), MAREY_OK);
        assert_true(stage_settle(&g) > 0);
        assert_int_equal(count(&g, ROW_RANK), 1 + with_events);
        assert_int_equal(count(&g, ROW_COUNTER), 2);
        const scene_row *rank = row_of(&g, ROW_RANK, (size_t)with_events);
        assert_true(rank->has_children && rank->is_open);
        assert_true(scene_toggle_row(g.scene, (uint32_t)(rank - g.scene->tree.rows)));
        assert_true(stage_settle(&g) > 0);
        assert_int_equal(count(&g, ROW_COUNTER), 0);
        (void)snprintf(g.view.rows_pattern, sizeof g.view.rows_pattern, "power*");
        assert_true(stage_settle(&g) > 0);
        assert_int_equal(count(&g, ROW_RANK), 1);
        assert_int_equal(count(&g, ROW_COUNTER), 1);
        for (view_layout layout = LAYOUT_TIMELINE; layout <= LAYOUT_COMMUNICATION; layout++) {
            g.view.layout = layout;
            assert_true(stage_settle(&g) > 0);
        }
        stage_close(&g);
        small_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_group_ranks),
        cmocka_unit_test(opening_goes_level_by_level),
        cmocka_unit_test(a_single_rank_opens_itself),
        cmocka_unit_test(patterns_keep_what_matches),
        cmocka_unit_test(globs),
        cmocka_unit_test(rows_fit_and_never_overlap),
        cmocka_unit_test(counters_are_rows_of_their_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
