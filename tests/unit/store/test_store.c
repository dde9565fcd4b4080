/*
 * Contract: the model and what hangs on events come back as written; wrong calls are refused with a sentence;
 * docs/format.md is what the schema prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "help/store_run.h"

static run_params small(void)
{
    return (run_params){
        .seed = 11, .n_ranks = 2, .n_device_tracks = 2, .n_cpu_tracks = 1, .n_events = 300, .unit_ns = 1000};
}

static store_writer *open_writer(run *r, const char *path, diag *d)
{
    store_writer *w = NULL;
    store_options o = {.on_row = run_note_row, .on_row_ctx = r};
    assert_int_equal(store_writer_create(&w, path, &o, d), MAREY_OK);
    return w;
}

static void add_model_extras(run *r)
{
    trace_model *m = &r->model;
    static int64_t members[] = {0, 1};
    trace_step s = {1, 3, "ProfilerStep#3", 5, 10, 6, 9};
    trace_group g = {"pg 0", "tensor parallel", members, 2};
    trace_counter c = {"memory/allocated", 1, NO_ID, 1, 3, -1.5, 2.5};
    trace_input in = {"/data/rank0.json", "kineto", 1234, 99, 0};
    trace_loss l = {MAREY_LOSS_OVERLAP, 5, 0, 77, "detail"};
    VEC_PUSH(m->steps, m->n_steps, m->cap_steps, s);
    VEC_PUSH(m->groups, m->n_groups, m->cap_groups, g);
    VEC_PUSH(m->counters, m->n_counters, m->cap_counters, c);
    VEC_PUSH(m->inputs, m->n_inputs, m->cap_inputs, in);
    VEC_PUSH(m->losses, m->n_losses, m->cap_losses, l);
    m->ranks[1].clock_drift_ppm = 1.25;
    m->ranks[1].clock_offset_ns = -5;
    m->n_links = 3;
    m->n_collectives = 2;
    m->n_samples = 4;
}

static void check_model(const trace_model *a, const trace_model *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->start_epoch_ns, b->start_epoch_ns);
    assert_int_equal(a->duration_ns, b->duration_ns);
    assert_int_equal(a->view_end_ns, b->view_end_ns);
    assert_int_equal(a->n_ranks, b->n_ranks);
    assert_int_equal(a->n_tracks, b->n_tracks);
    for (size_t i = 0; i < a->n_lanes; i++) {
        assert_string_equal(a->lanes[i].name, b->lanes[i].name);
        assert_int_equal(a->lanes[i].kind, b->lanes[i].kind);
        assert_int_equal(a->lanes[i].busy_ns, b->lanes[i].busy_ns);
        assert_int_equal(a->lanes[i].first_track, b->lanes[i].first_track);
    }
    for (size_t i = 0; i < a->n_names; i++) {
        assert_string_equal(a->names[i].text, b->names[i].text);
        assert_int_equal(a->names[i].source, b->names[i].source);
    }
    assert_true(a->ranks[1].clock_drift_ppm == b->ranks[1].clock_drift_ppm);
    assert_int_equal(b->ranks[1].clock_offset_ns, -5);
    assert_string_equal(b->steps[0].name, "ProfilerStep#3");
    assert_int_equal(b->steps[0].device_end_ns, 9);
    assert_int_equal(b->groups[0].n_ranks, 2);
    assert_int_equal(b->groups[0].ranks[1], 1);
    assert_int_equal(b->counters[0].thread, NO_ID);
    assert_true(b->counters[0].max == 2.5);
    assert_int_equal(b->inputs[0].bytes, 1234);
    assert_int_equal(b->losses[0].code, MAREY_LOSS_OVERLAP);
    assert_string_equal(b->losses[0].detail, "detail");
    assert_string_equal(b->categories[1].name, "all_reduce");
    assert_string_equal(b->sources[0], "kernel");
}

static void check_side(store_file *f)
{
    store_link l[4];
    size_t n = 0;
    assert_int_equal(store_read_links(f, 5, l, 4, &n, NULL), MAREY_OK);
    assert_int_equal(n, 3);
    assert_int_equal(l[0].to_row, 6);
    assert_int_equal(l[1].to_row, 9);
    assert_int_equal(l[2].from_row, 1);
    assert_int_equal(l[2].kind, 2);
    assert_int_equal(store_read_links(f, 5, l, 1, &n, NULL), MAREY_OK);
    assert_int_equal(n, 1);
    assert_int_equal(store_read_links(f, 77, l, 4, &n, NULL), MAREY_OK);
    assert_int_equal(n, 0);
    store_collective c;
    const char *what = NULL;
    const char *dtype = NULL;
    bool found = true;
    assert_int_equal(store_read_collective(f, 8, &c, &what, &dtype, &found, NULL), MAREY_OK);
    assert_false(found);
    assert_int_equal(store_read_collective(f, 7, &c, &what, &dtype, &found, NULL), MAREY_OK);
    assert_true(found);
    assert_string_equal(what, "allreduce");
    assert_string_equal(dtype, "");
    assert_int_equal(c.bytes, 4096);
    store_collective all[2];
    assert_int_equal(store_read_collectives(f, 0, 2, all, NULL), MAREY_OK);
    assert_int_equal(all[0].row, 7);
    assert_string_equal(store_string(f, all[1].dtype), "bf16");
    store_sample *s = NULL;
    assert_int_equal(store_read_samples(f, 0, &s, &n, NULL), MAREY_OK);
    assert_int_equal(n, 3);
    assert_int_equal(s[2].ts_ns, 40);
    assert_true(s[0].value == 0.5);
    free(s);
}

/* Two calls with strings of their own; 5000 rows more than one batch of the writer and the reader. */
enum { MANY_METRICS = 5000 };

static void put_metrics(store_writer *w, diag *d)
{
    const char *first[] = {"MatMul", "SDMA"};
    store_metric m[] = {
        {.value = 0.5,
         .rank = 3,
         .a = -1,
         .b = -1,
         .step = 7,
         .time_ns = 12,
         .name = 0,
         .tag = NO_ID,
         .kind = METRIC_FLOPS_UTILIZATION,
         .flags = METRIC_MEAN},
        {.value = 2e9,
         .rank = -1,
         .a = 1,
         .b = 70000,
         .step = -1,
         .time_ns = -1,
         .name = NO_ID,
         .tag = 1,
         .kind = METRIC_LINK_BANDWIDTH,
         .flags = METRIC_LOCAL_LINK},
    };
    assert_int_equal(store_writer_metrics(w, m, 2, first, 2, d), MAREY_OK);
    const char *second[] = {"", "Add"};
    store_metric *many = mem_calloc(MANY_METRICS, sizeof *many);
    for (int i = 0; i < MANY_METRICS; i++) {
        many[i] = (store_metric){.value = i,
                                 .rank = i,
                                 .a = -1,
                                 .b = -1,
                                 .step = -1,
                                 .time_ns = i,
                                 .name = 1,
                                 .tag = NO_ID,
                                 .kind = i % 2 ? METRIC_OP_TIME : METRIC_OP_COUNT};
    }
    assert_int_equal(store_writer_metrics(w, many, MANY_METRICS, second, 2, d), MAREY_OK);
    m[0].value = 1.0 / 0.0;
    assert_int_equal(store_writer_metrics(w, m, 1, first, 2, NULL), MAREY_ARG);
    m[1].tag = 2;
    assert_int_equal(store_writer_metrics(w, m + 1, 1, first, 2, NULL), MAREY_ARG);
    m[1].tag = 1;
    m[1].kind = METRIC_KIND_COUNT;
    assert_int_equal(store_writer_metrics(w, m + 1, 1, first, 2, NULL), MAREY_ARG);
    free(many);
}

static void check_metrics(store_file *f)
{
    store_metric *m = NULL;
    size_t n = 0;
    assert_int_equal(store_model(f)->n_metrics, MANY_METRICS + 2);
    assert_int_equal(store_read_metrics(f, METRIC_KIND_COUNT, &m, &n, NULL), MAREY_OK);
    assert_int_equal(n, MANY_METRICS + 2);
    assert_true(m[0].value == 0.5 && m[0].rank == 3 && m[0].step == 7 && m[0].time_ns == 12);
    assert_int_equal(m[0].flags, METRIC_MEAN);
    assert_string_equal(store_string(f, m[0].name), "MatMul");
    assert_string_equal(store_string(f, m[0].tag), "");
    assert_true(m[1].a == 1 && m[1].b == 70000 && m[1].rank == -1 && m[1].time_ns == -1);
    assert_string_equal(store_string(f, m[1].tag), "SDMA");
    free(m);
    assert_int_equal(store_read_metrics(f, METRIC_OP_TIME, &m, &n, NULL), MAREY_OK);
    assert_int_equal(n, MANY_METRICS / 2);
    for (size_t i = 0; i < n; i++) {
        assert_true(m[i].kind == METRIC_OP_TIME && m[i].rank == (int64_t)(2 * i + 1) &&
                    m[i].value == (double)m[i].rank);
        assert_string_equal(store_string(f, m[i].name), "Add");
    }
    free(m);
    assert_int_equal(store_read_metrics(f, METRIC_FLOPS, &m, &n, NULL), MAREY_OK);
    assert_int_equal(n, 0);
    free(m);
}

static void test_model_and_side(void **state)
{
    (void)state;
    run r;
    diag d;
    diag_init(&d);
    run_params p = small();
    run_make(&r, &p);
    add_model_extras(&r);
    const char *path = run_path("side");
    store_writer *w = open_writer(&r, path, &d);
    assert_int_equal(run_write_groups(&r, w, &d), MAREY_OK);
    store_link links[] = {{5, 6, 0}, {5, 9, 1}, {1, 5, 2}};
    assert_int_equal(store_writer_links(w, links, 2, &d), MAREY_OK);
    assert_int_equal(store_writer_links(w, links + 2, 1, &d), MAREY_OK);
    const char *strings[] = {"allreduce", "bf16"};
    store_collective c[] = {
        {.row = 12, .group = 0, .what = 0, .dtype = 1, .bytes = 8, .seq = 1},
        {.row = 7, .group = NO_ID, .what = 0, .dtype = NO_ID, .bytes = 4096, .seq = -1},
    };
    assert_int_equal(store_writer_collectives(w, c, 2, strings, 2, &d), MAREY_OK);
    store_sample s[] = {{10, 0}, {20, 0.5}, {30, 1}, {40, 1.5}};
    assert_int_equal(store_writer_samples(w, s, 2, &d), MAREY_OK);
    assert_int_equal(store_writer_samples(w, s + 2, 2, &d), MAREY_OK);
    put_metrics(w, &d);
    r.model.n_metrics = MANY_METRICS + 2;
    assert_int_equal(store_writer_finish(w, &r.model, &d), MAREY_OK);
    assert_int_equal(store_writer_finish(w, &r.model, NULL), MAREY_STATE);
    store_writer_destroy(&w);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, &d), MAREY_OK);
    check_model(&r.model, store_model(f));
    check_side(f);
    check_metrics(f);
    store_sizes sizes = store_file_sizes(f);
    assert_true(sizes.events > 0 && sizes.pyramid > 0 && sizes.names > 0);
    assert_int_equal(sizes.file,
                     sizes.events + sizes.pyramid + sizes.names + sizes.arguments + sizes.graph + sizes.other);
    assert_true(store_bytes_read(f) > 0);
    store_event_info e;
    assert_int_equal(store_read_event(f, UINT64_MAX, &e, NULL), MAREY_RANGE);
    assert_int_equal(store_read_event(f, r.n, &e, NULL), MAREY_RANGE); /* padding */
    assert_int_equal(d.n_messages, 0);
    store_close(&f);
    assert_null(f);
    (void)unlink(path);
    diag_deinit(&d);
    run_free(&r);
}

/* Links that come sorted, and collectives, in several calls. */
static void test_side_in_pieces(void **state)
{
    (void)state;
    run r;
    run_params p = small();
    run_make(&r, &p);
    r.model.n_links = 3;
    r.model.n_collectives = 3;
    const char *path = run_path("pieces");
    store_writer *w = open_writer(&r, path, NULL);
    assert_int_equal(run_write_groups(&r, w, NULL), MAREY_OK);
    store_link forth[] = {{1, 5, 2}, {5, 6, 0}, {5, 9, 1}};
    store_link back[] = {{1, 5, 2}, {5, 6, 0}, {5, 9, 1}};
    assert_int_equal(store_writer_sorted_links(w, LINKS_BY_CAUSE, forth, 2, NULL), MAREY_OK);
    assert_int_equal(store_writer_sorted_links(w, LINKS_BY_EFFECT, back, 3, NULL), MAREY_OK);
    assert_int_equal(store_writer_sorted_links(w, LINKS_BY_CAUSE, forth, 1, NULL), MAREY_ARG); /* goes back */
    assert_int_equal(store_writer_sorted_links(w, LINKS_BY_CAUSE, forth + 2, 1, NULL), MAREY_OK);
    assert_int_equal(store_writer_links(w, forth, 1, NULL), MAREY_STATE);
    const char *strings[] = {"allreduce", "bf16"};
    store_collective c[] = {
        {.row = 7, .group = NO_ID, .what = 0, .dtype = NO_ID, .bytes = 4096, .seq = -1},
        {.row = 12, .group = NO_ID, .what = 0, .dtype = 1, .bytes = 8, .seq = 1},
        {.row = 11, .group = NO_ID, .what = 1, .dtype = 0, .bytes = 9, .seq = 1},
        {.row = 13, .group = NO_ID, .what = 1, .dtype = 0, .bytes = 10, .seq = 1},
    };
    assert_int_equal(store_writer_collectives(w, c, 2, strings, 2, NULL), MAREY_OK);
    assert_int_equal(store_writer_collectives(w, c + 2, 2, strings, 2, NULL), MAREY_ARG); /* 11 after 12 */
    assert_int_equal(store_writer_collectives(w, c + 3, 1, strings, 2, NULL), MAREY_OK);
    assert_int_equal(store_writer_finish(w, &r.model, NULL), MAREY_OK);
    store_writer_destroy(&w);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
    store_link l[4];
    size_t n = 0;
    assert_int_equal(store_read_links(f, 5, l, 4, &n, NULL), MAREY_OK);
    assert_int_equal(n, 3);
    assert_int_equal(l[1].to_row, 9);
    assert_int_equal(l[2].from_row, 1);
    store_collective all[3];
    assert_int_equal(store_read_collectives(f, 0, 3, all, NULL), MAREY_OK);
    assert_int_equal(all[2].bytes, 10);
    assert_string_equal(store_string(f, all[1].dtype), "bf16");
    assert_string_equal(store_string(f, all[2].dtype), "allreduce");
    store_close(&f);
    (void)unlink(path);
    run_free(&r);
}

static void test_wrong_events(void **state)
{
    (void)state;
    diag d;
    diag_init(&d);
    const char *path = run_path("wrong");
    store_writer *w = NULL;
    assert_int_equal(store_writer_create(&w, path, NULL, &d), MAREY_OK);
    store_group_params params = {GROUP_EVENTS, 0, 2, 1000, 10, 100};
    store_group *g = NULL;
    assert_int_equal(store_group_begin(w, &g, &params, &d), MAREY_OK);
    store_event good = {.start_ns = 100, .dur_ns = 50, .track = 4, .rank_row = 1};
    assert_int_equal(store_group_put(g, &good, 0, &d), MAREY_OK);
    store_event e = good;
    e.start_ns = 140;
    assert_int_equal(store_group_put(g, &e, 0, &d), MAREY_ARG); /* overlaps */
    e = good;
    e.start_ns = 90;
    assert_int_equal(store_group_put(g, &e, 1, &d), MAREY_ARG); /* too early */
    e = good;
    e.start_ns = 200;
    e.track = 5;
    assert_int_equal(store_group_put(g, &e, 0, &d), MAREY_ARG); /* another track on this row */
    e = good;
    e.dur_ns = -1;
    assert_int_equal(store_group_put(g, &e, 0, &d), MAREY_ARG);
    e.dur_ns = INT64_MAX;
    assert_int_equal(store_group_put(g, &e, 0, &d), MAREY_ARG);
    e = good;
    e.start_ns = 300;
    e.klass = CLASS_COUNT;
    assert_int_equal(store_group_put(g, &e, 0, &d), MAREY_ARG);
    e.klass = 0;
    e.rank_row = 2;
    assert_int_equal(store_group_put(g, &e, 0, &d), MAREY_ARG);
    assert_int_equal(d.n_messages, 7);
    assert_int_equal(store_group_end(&g, &d), MAREY_OK);
    store_writer_destroy(&w);
    assert_false(file_exists(path));
    diag_deinit(&d);
}

static void test_tile_states(void **state)
{
    (void)state;
    run r;
    run_params p = {.seed = 5, .n_ranks = 64, .n_device_tracks = 2, .n_events = 1500, .unit_ns = 5000};
    run_make(&r, &p);
    const char *path = run_path("tiles");
    assert_int_equal(run_write(&r, path, NULL), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
    uint8_t *cells = mem_alloc((size_t)TILE_CELLS * LOD_PLANES);
    store_group_info g = store_group_at(f, 0);
    assert_int_equal(g.n_rows[R_TRACK], 128);
    assert_int_equal(g.n_rows[R_RANK], 64);
    assert_int_equal(g.n_rows[R_EIGHT], 8);
    for (uint32_t t = 0; t < store_n_tiles(f); t++) {
        tile_key k = store_tile_key(f, t);
        uint32_t found = NO_ID;
        assert_int_equal(store_tile_find(f, &k, &found), TILE_STORED);
        assert_int_equal(found, t);
        assert_int_equal(store_read_tile(f, t, cells, NULL), MAREY_OK);
        bool is_empty = true;
        for (size_t i = 0; i < TILE_CELLS; i++) {
            is_empty = is_empty && cells[(size_t)PLANE_BUSY * TILE_CELLS + i] == 0;
        }
        assert_false(is_empty);
    }
    for (unsigned level = 0; level < g.n_levels[R_TRACK]; level++) {
        bool is_top = level + 1 == g.n_levels[R_TRACK];
        tile_key k = {R_TRACK, (uint8_t)level, 0, 1, 0};
        uint32_t tile;
        tile_state s = store_tile_find(f, &k, &tile);
        assert_true(is_top ? s == TILE_STORED : s != TILE_EMPTY);
        k.row_block = 2; /* there is none */
        assert_int_equal(store_tile_find(f, &k, &tile), TILE_EMPTY);
        k = (tile_key){R_TRACK, (uint8_t)level, 0, 1, (uint64_t)1 << 40};
        assert_int_equal(store_tile_find(f, &k, &tile), TILE_EMPTY);
    }
    assert_int_equal(store_read_tile(f, (uint32_t)store_n_tiles(f), cells, NULL), MAREY_RANGE);
    free(cells);
    store_close(&f);
    (void)unlink(path);
    run_free(&r);
}

static void test_empty_run(void **state)
{
    (void)state;
    run r;
    run_params p = {.seed = 5, .n_ranks = 0};
    run_make(&r, &p);
    const char *path = run_path("empty");
    assert_int_equal(run_write(&r, path, NULL), MAREY_OK);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, path, NULL), MAREY_OK);
    assert_int_equal(store_n_blocks(f), 0);
    query_row row = {NULL, 0};
    query_result res = {0};
    query_grid q = {0, 10, 5, KEY_CLASS, &row, 1, NULL};
    assert_int_equal(store_query(f, &q, &res, NULL), MAREY_OK);
    assert_int_equal(res.count[0], 0);
    assert_int_equal(res.dominant[4], NO_ID);
    query_free(&res, 1);
    q.t1_ns = 0;
    assert_int_equal(store_query(f, &q, &res, NULL), MAREY_RANGE);
    q.t1_ns = 10;
    q.n_bins = ((uint64_t)1 << 24) + 1;
    assert_int_equal(store_query(f, &q, &res, NULL), MAREY_RANGE);
    store_close(&f);
    (void)unlink(path);
    run_free(&r);
}

static void test_format_page(void **state)
{
    (void)state;
    const char *source = getenv("MAREY_SOURCE_DIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/docs/format.md", source ? source : ".");
    char *wanted = NULL;
    size_t n_wanted = 0;
    if (file_read_all(path, 1 << 20, &wanted, &n_wanted, NULL) != MAREY_OK) {
        skip();
    }
    char *printed = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&printed, &n);
    store_schema_print(out);
    (void)fclose(out);
    /* `marey info --schema > docs/format.md` brings it up to date. */
    assert_string_equal(printed, wanted);
    free(printed);
    free(wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_and_side), cmocka_unit_test(test_side_in_pieces),
        cmocka_unit_test(test_wrong_events),   cmocka_unit_test(test_tile_states),
        cmocka_unit_test(test_empty_run),      cmocka_unit_test(test_format_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
