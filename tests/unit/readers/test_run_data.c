/*
 * Real runs, where they are at hand: every interval that the readers give, its exact start, duration and name, equals
 * what expect_run.py works out from the same files by other means; counts that are known are met.
 */
#include "help_run.h"

#include "base/text.h"
#include "trace/model.h"

static char shared[512];

typedef struct line_list {
    char **at;
    size_t n, cap;
} line_list;

static void add_line(line_list *l, const char *text)
{
    VEC_PUSH(l->at, l->n, l->cap, strdup(text));
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void lines_sort(line_list *l)
{
    if (l->n) {
        qsort((void *)l->at, l->n, sizeof *l->at, compare_lines);
    }
}

static void lines_free(line_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->at[i]);
    }
    free((void *)l->at);
}

/* What the script says to "command path...", paths below the shared data. */
static line_list expected(const char *command, const char *paths)
{
    const char *source = getenv("MAREY_SOURCE_DIR");
    strbuf b = {0};
    line_list l = {0};
    strbuf_printf(&b, "cd '%s/data' && python3 '%s/tests/unit/readers/expect_run.py' %s %s", shared,
                  source ? source : ".", command, paths);
    FILE *f = popen(b.s, "r");
    assert_non_null(f);
    char text[1024];
    while (fgets(text, sizeof text, f)) {
        text[strcspn(text, "\n")] = '\0';
        add_line(&l, text);
    }
    assert_int_equal(pclose(f), 0);
    strbuf_deinit(&b);
    lines_sort(&l);
    return l;
}

static void same(line_list a, line_list b)
{
    lines_sort(&a);
    lines_sort(&b);
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        assert_string_equal(a.at[i], b.at[i]);
    }
    assert_int_equal(a.n, b.n);
    assert_true(a.n > 0);
    lines_free(&a);
    lines_free(&b);
}

typedef bool (*keep_fn)(const seen_run *s, size_t i);

static line_list found(const seen_run *s, keep_fn keep, bool process, bool names)
{
    line_list l = {0};
    for (size_t i = 0; i < s->n; i++) {
        if (keep(s, i)) {
            char text[1024];
            (void)snprintf(text, sizeof text, "%lld %lld %s%s%s", (long long)s->events[i].start_ns,
                           (long long)s->events[i].dur_ns, process ? seen_process(s, i) : "", process ? " " : "",
                           names ? seen_name(s, i) : "*");
            add_line(&l, text);
        }
    }
    return l;
}

static bool any(const seen_run *s, size_t i)
{
    (void)s;
    (void)i;
    return true;
}

static bool is_kernel(const seen_run *s, size_t i)
{
    return strcmp(seen_source(s, i), "kernel") == 0;
}

static bool is_operator(const seen_run *s, size_t i)
{
    return strcmp(seen_source(s, i), "cpu_op") == 0;
}

static bool is_collective(const seen_run *s, size_t i)
{
    return strcmp(seen_source(s, i), "hccl") == 0;
}

static run_source *group(const char *folder, arena *mem, size_t *n)
{
    char path[700];
    (void)snprintf(path, sizeof path, "%s/data/%s", shared, folder);
    return folder_group(path, mem, n);
}

static bool absent(void)
{
    return shared_dir(shared, sizeof shared) == NULL;
}

/* ---- the Marey data of ResNet, 2 stages x 2 devices ---- */

typedef struct bounds {
    int64_t st_min, st_max, ed_min, ed_max;
    int n;
} bounds;

/* Per stage and operator the first and last start and end over its devices, from the events alone. */
static line_list stage_lines(const seen_run *s)
{
    intern keys = {0};
    bounds *all = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (size_t i = 0; i < s->n; i++) {
        const seen_event *e = &s->events[i];
        const trace_place_in *p = trace_side_find_place(&s->b.side, s->b.threads[e->thread].pid_id);
        char key[300];
        int len = snprintf(key, sizeof key, "stage%d %s", (int)p->stage, seen_name(s, i));
        uint32_t id = intern_put(&keys, key, (size_t)len);
        if (id == n) {
            bounds fresh = {INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0};
            VEC_PUSH(all, n, cap, fresh);
        }
        int64_t end = e->start_ns + e->dur_ns;
        bounds *b = &all[id];
        b->st_min = e->start_ns < b->st_min ? e->start_ns : b->st_min;
        b->st_max = e->start_ns > b->st_max ? e->start_ns : b->st_max;
        b->ed_min = end < b->ed_min ? end : b->ed_min;
        b->ed_max = end > b->ed_max ? end : b->ed_max;
        b->n++;
    }
    line_list l = {0};
    for (size_t i = 0; i < n; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "%s %lld %lld %lld %lld %d", keys.text[i], (long long)all[i].st_min,
                       (long long)all[i].st_max, (long long)all[i].ed_min, (long long)all[i].ed_max, all[i].n);
        add_line(&l, text);
    }
    free(all);
    intern_deinit(&keys);
    return l;
}

/* Operators whose starts differ by more than 1 ms within a stage have a stray among them; those within 0.1 ms have
 * none. */
static void check_strays(const seen_run *s)
{
    size_t n_wide = 0;
    for (size_t i = 0; i < s->n; i++) {
        const seen_event *e = &s->events[i];
        const trace_place_in *p = trace_side_find_place(&s->b.side, s->b.threads[e->thread].pid_id);
        for (size_t k = i + 1; k < s->n; k++) {
            const seen_event *o = &s->events[k];
            const trace_place_in *q = trace_side_find_place(&s->b.side, s->b.threads[o->thread].pid_id);
            if (o->name != e->name || p->stage != q->stage) {
                continue;
            }
            int64_t apart = llabs(o->start_ns - e->start_ns);
            int strays =
                ((e->flags & EVENT_SEVERITY) == SEVERITY_STRAY) + ((o->flags & EVENT_SEVERITY) == SEVERITY_STRAY);
            assert_true(apart < 1000000 || strays == 1);
            assert_true(apart > 100000 || strays == 0);
            n_wide += apart > 1000000;
        }
    }
    assert_true(n_wide > 20);
}

static size_t count_of_thread(const seen_run *s, size_t thread)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += s->events[i].thread == thread;
    }
    return n;
}

static void marey_resnet(void **state)
{
    (void)state;
    if (absent()) {
        skip();
    }
    arena mem = {0};
    size_t n = 0;
    seen_run s;
    run_source *src = group("mindspore/marey-resnet-2x2", &mem, &n);
    assert_int_equal(n, 1);
    run_see(src, &s);
    assert_int_equal(s.status, MAREY_OK);
    static const size_t counts[] = {2934, 2934, 3754, 3759};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(count_of_thread(&s, i), counts[i]);
        assert_int_equal(s.b.side.places[i].stage, (int64_t)i / 2);
    }
    same(found(&s, any, true, true), expected("export", "mindspore/marey-resnet-2x2/ascend_marey_timeline_1.json.gz"));
    same(stage_lines(&s), expected("stages", "mindspore/marey-resnet-2x2/ascend_marey_timeline_1.json.gz"));
    check_strays(&s);
    /* minT lies 8.7 s before the first operator: the extent is the operators' own */
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < s.n; i++) {
        first_ns = s.events[i].start_ns < first_ns ? s.events[i].start_ns : first_ns;
    }
    assert_true(first_ns == INT64_C(182984905620));
    assert_int_equal(s.d.n_losses, 0);
    seen_free(&s);
    arena_deinit(&mem);
}

/* ---- torch_npu ---- */

static line_list names_of(const seen_run *s, keep_fn keep)
{
    line_list l = {0};
    for (size_t i = 0; i < s->n; i++) {
        if (keep(s, i)) {
            add_line(&l, seen_name(s, i));
        }
    }
    return l;
}

static void torch_npu(void **state)
{
    (void)state;
    if (absent()) {
        skip();
    }
    for (int level = 0; level < 2; level++) {
        arena mem = {0};
        size_t n_text = 0;
        size_t n_db = 0;
        char folder[64];
        char path[128];
        (void)snprintf(folder, sizeof folder, "ascend-torch/level%d-text", level);
        run_source *text = group(folder, &mem, &n_text);
        (void)snprintf(folder, sizeof folder, "ascend-torch/level%d-db", level);
        run_source *db = group(folder, &mem, &n_db);
        assert_int_equal(n_text, 2);
        assert_int_equal(n_db, 2);
        for (int rank = 0; rank < 2; rank++) {
            seen_run a;
            seen_run b;
            run_see(&text[rank], &a);
            run_see(&db[rank], &b);
            assert_true(a.b.facts.rank == rank && b.b.facts.rank == rank);
            assert_true(a.d.n_losses == 0 && b.d.n_losses == 0);
            (void)snprintf(path, sizeof path, "ascend-torch/level%d-text/rank%d_trace_view.json.gz", level, rank);
            same(found(&a, is_kernel, false, true), expected("kernels", path));
            same(found(&a, is_operator, false, true), expected("operators", path));
            same(found(&a, any, false, false), expected("every", path));
            (void)snprintf(path, sizeof path, "ascend-torch/level%d-db/rank%d_ascend_pytorch_profiler_%d.db.gz", level,
                           rank, rank);
            same(found(&b, is_kernel, false, true), expected("db_kernels", path));
            same(found(&b, is_operator, false, true), expected("db_operators", path));
            /* Two runs of one program: the same kernels and operators, at other times. */
            same(names_of(&a, is_kernel), names_of(&b, is_kernel));
            same(names_of(&a, is_operator), names_of(&b, is_operator));
            assert_int_equal(seen_count(&a, "kernel"), 187);
            assert_int_equal(seen_count(&a, "hccl"), seen_count(&b, "hccl"));
            assert_int_equal(a.b.n_collectives, 4);
            assert_int_equal(b.b.n_collectives, 4);
            seen_free(&a);
            seen_free(&b);
        }
        arena_deinit(&mem);
    }
}

/* ---- MindSpore ---- */

static void cluster(void **state)
{
    (void)state;
    if (absent()) {
        skip();
    }
    arena mem = {0};
    size_t n = 0;
    run_source *src = group("mindspore/cluster-4", &mem, &n);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        seen_run s;
        char path[128];
        run_see(&src[i], &s);
        assert_int_equal(s.status, MAREY_OK);
        assert_int_equal(s.b.facts.rank, (int64_t)i);
        assert_int_equal(s.b.facts.stage, (int64_t)i / 2);
        assert_int_equal(s.b.facts.world_size, 4);
        (void)snprintf(path, sizeof path, "mindspore/cluster-4/step_trace_raw_%zu_detail_time.csv.gz", i);
        same(found(&s, is_collective, false, true), expected("step_ops", path));
        assert_int_equal(s.b.n_collectives, seen_count(&s, "hccl"));
        assert_int_equal(seen_metrics(&s, METRIC_STEP_TIME), 6);
        assert_int_equal(seen_metrics(&s, METRIC_FLOPS), 1);
        assert_int_equal(s.d.n_losses, 0);
        seen_free(&s);
    }
    arena_deinit(&mem);
}

static void iterations(void **state)
{
    (void)state;
    if (absent()) {
        skip();
    }
    arena mem = {0};
    size_t n = 0;
    run_source *src = group("mindspore/msprof-2x5", &mem, &n);
    assert_int_equal(n, 2);
    int64_t ends[2][5];
    for (size_t i = 0; i < n; i++) {
        seen_run s;
        char paths[400];
        size_t k = 0;
        run_see(&src[i], &s);
        for (int it = 1; it <= 5; it++) {
            k += (size_t)snprintf(paths + k, sizeof paths - k, "mindspore/msprof-2x5/device%zu_msprof_iter%d.json.gz ",
                                  i, it);
        }
        same(found(&s, any, false, false), expected("every", paths));
        size_t n_ends = 0;
        for (size_t e = 0; e < s.n; e++) {
            if (is_collective(&s, e)) {
                ends[i][n_ends++] = s.events[e].start_ns + s.events[e].dur_ns;
            }
        }
        assert_int_equal(n_ends, 5); /* the one AllReduce of each iteration */
        seen_free(&s);
    }
    for (int it = 0; it < 5; it++) {
        assert_true(llabs(ends[0][it] - ends[1][it]) <= 88000);
    }
    arena_deinit(&mem);
}

static void timeline(void **state)
{
    (void)state;
    if (absent()) {
        skip();
    }
    arena mem = {0};
    size_t n = 0;
    seen_run s;
    run_source *src = group("mindspore/run1", &mem, &n);
    assert_int_equal(n, 1);
    run_see(src, &s);
    assert_int_equal(s.status, MAREY_OK);
    assert_int_equal(seen_count(&s, "hccl"), 3542);
    assert_int_equal(s.n - seen_count(&s, "user_annotation"), 6359);
    assert_true(s.b.facts.base_epoch_ns == INT64_C(438068415920));
    size_t step = seen_find(&s, "ProfilerStep#1");
    assert_true(s.events[step].start_ns + s.b.facts.base_epoch_ns == INT64_C(438068505470));
    seen_free(&s);
    arena_deinit(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marey_resnet), cmocka_unit_test(torch_npu), cmocka_unit_test(cluster),
        cmocka_unit_test(iterations),   cmocka_unit_test(timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
