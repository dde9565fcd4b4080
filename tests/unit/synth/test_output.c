/*
 * Contract: the same parameters and seed give the same bytes, another seed others; the Kineto file, read by the reader
 * as any other, and the direct way give the same events, thread by thread to the nanosecond, the same collectives,
 * facts and flows; a folder that holds something else is left alone; after a cancel nothing is left behind.
 */
#include "cm.h"

#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "help_run.h"
#include "readers/reader.h"
#include "synth/direct.h"
#include "synth/kineto.h"
#include "synth/truth.h"
#include "trace/builder.h"

#define EXPECTED_HASH UINT64_C(0x1b8fff5905207bbb)

static char folder[256];

static int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/marey-synth-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void in_folder(char *out, size_t cap, const char *name)
{
    (void)snprintf(out, cap, "%s/%s", folder, name);
}

static strbuf rank_bytes(const synth_params *params, int rank)
{
    synth_params p = *params;
    solution s;
    char path[512];
    in_folder(path, sizeof path, "rank.json");
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    assert_int_equal(solve(&s, &p, NULL), MAREY_OK);
    assert_int_equal(kineto_write_rank(&s, rank, path, NULL, NULL), MAREY_OK);
    strbuf b = {0};
    size_t n;
    assert_int_equal(file_read_all(path, 1U << 28, &b.s, &n, NULL), MAREY_OK);
    b.n = n;
    assert_int_equal(unlink(path), 0);
    solution_deinit(&s);
    return b;
}

static void same_seed_same_bytes(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    p.noise = 0.02;
    p.clock_offset_max_ns = 1000000;
    p.clock_jitter_max_ns = 1000000;
    strbuf a = rank_bytes(&p, 9);
    strbuf b = rank_bytes(&p, 9);
    p.seed++;
    strbuf c = rank_bytes(&p, 9);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.s, b.s, a.n);
    assert_false(a.n == c.n && memcmp(a.s, c.s, a.n) == 0);
    /* A stranger's machine must get these bytes too: FNV-1a of one rank, written down once. */
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < a.n; i++) {
        h = (h ^ (unsigned char)a.s[i]) * UINT64_C(0x100000001b3);
    }
    print_message("rank 9: %zu bytes, hash %016llx\n", a.n, (unsigned long long)h);
    assert_true(h == EXPECTED_HASH);
    strbuf_deinit(&a);
    strbuf_deinit(&b);
    strbuf_deinit(&c);
}

typedef struct thread_sum {
    const char *pid, *tid;
    uint64_t n;
    int64_t sum_ns, first_ns, last_ns;
    uint64_t mixed; /* of starts, durations and links, whatever their order */
} thread_sum;

typedef struct read_rank {
    trace_builder b;
    diag d;
    thread_sum threads[64];
} read_rank;

static marey_status sum_chunk(void *ctx, trace_chunk *c)
{
    read_rank *r = ctx;
    for (size_t i = 0; i < c->n; i++) {
        const trace_row *e = &c->rows[i];
        thread_sum *t = &r->threads[e->thread];
        bool first = t->n++ == 0;
        t->sum_ns += e->dur_ns;
        t->first_ns = first || e->start_ns < t->first_ns ? e->start_ns : t->first_ns;
        int64_t end = e->start_ns + e->dur_ns;
        t->last_ns = first || end > t->last_ns ? end : t->last_ns;
        t->mixed += hash_u64((uint64_t)e->start_ns * 31 + (uint64_t)e->dur_ns * 7 + e->link * 3);
    }
    c->n = 0;
    c->n_args = 0;
    return MAREY_OK;
}

static void begin_read(read_rank *r)
{
    memset(r, 0, sizeof *r);
    trace_builder_init(&r->b);
    diag_init(&r->d);
    r->b.diag = &r->d;
    r->b.file = diag_file(&r->d, "rank");
    r->b.path = "rank";
    r->b.flush = sum_chunk;
    r->b.flush_ctx = r;
}

static void end_read(read_rank *r)
{
    trace_builder_deinit(&r->b);
    diag_deinit(&r->d);
}

static const thread_sum *sum_of(const read_rank *r, const char *pid, const char *tid)
{
    for (size_t i = 0; i < r->b.n_threads; i++) {
        if (strcmp(r->b.threads[i].pid, pid) == 0 && strcmp(r->b.threads[i].tid, tid) == 0) {
            return &r->threads[i];
        }
    }
    return NULL;
}

static const char *text_of(const trace_builder *b, uint32_t id)
{
    return id < b->strings.n ? b->strings.text[id] : "";
}

static void compare_facts(const trace_builder *a, const trace_builder *b)
{
    assert_int_equal(a->facts.rank, b->facts.rank);
    assert_int_equal(a->facts.world_size, b->facts.world_size);
    assert_int_equal(a->facts.base_epoch_ns, b->facts.base_epoch_ns);
    assert_int_equal(a->facts.stage, b->facts.stage);
    assert_int_equal(a->facts.dp, b->facts.dp);
    assert_int_equal(a->facts.tp, b->facts.tp);
    assert_true(a->facts.is_kineto && b->facts.is_kineto);
    assert_string_equal(text_of(a, a->facts.host), text_of(b, b->facts.host));
    assert_string_equal(text_of(a, a->facts.device_name), text_of(b, b->facts.device_name));
    assert_string_equal(text_of(a, a->facts.backend), text_of(b, b->facts.backend));
    assert_string_equal(a->facts.groups_json, b->facts.groups_json);
}

static void compare_collectives(const trace_builder *a, const trace_builder *b)
{
    assert_int_equal(a->n_collectives, b->n_collectives);
    for (size_t i = 0; i < a->n_collectives; i++) {
        const trace_collective_in *x = &a->collectives[i];
        const trace_collective_in *y = &b->collectives[i];
        assert_int_equal(x->event, y->event);
        assert_string_equal(text_of(a, x->what), text_of(b, y->what));
        assert_string_equal(text_of(a, x->group), text_of(b, y->group));
        assert_string_equal(text_of(a, x->group_desc), text_of(b, y->group_desc));
        assert_string_equal(text_of(a, x->group_ranks), text_of(b, y->group_ranks));
        assert_string_equal(text_of(a, x->dtype), text_of(b, y->dtype));
        assert_int_equal(x->in_elements, y->in_elements);
        assert_int_equal(x->out_elements, y->out_elements);
        assert_int_equal(x->group_size, y->group_size);
        assert_int_equal(x->seq, y->seq);
    }
}

static void compare_threads(const read_rank *json, const read_rank *direct)
{
    size_t with_events = 0;
    for (size_t i = 0; i < direct->b.n_threads; i++) {
        const trace_thread_in *t = &direct->b.threads[i];
        const thread_sum *x = sum_of(json, t->pid, t->tid);
        const thread_sum *y = &direct->threads[i];
        assert_non_null(x);
        assert_int_equal(x->n, y->n);
        assert_int_equal(x->sum_ns, y->sum_ns);
        assert_int_equal(x->first_ns, y->first_ns);
        assert_int_equal(x->last_ns, y->last_ns);
        assert_true(x->mixed == y->mixed);
        with_events += y->n > 0;
    }
    assert_true(with_events >= 10);
}

static void both_ways_agree(void **state)
{
    (void)state;
    synth_params p = small_params(2);
    char path[512];
    in_folder(path, sizeof path, "rank5.pt.trace.json");
    p.noise = 0.02;
    p.recompute = true;
    p.clock_offset_max_ns = INT64_C(12000000000);
    p.clock_drift_max_ppm = 50;
    solution s;
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    assert_int_equal(solve(&s, &p, NULL), MAREY_OK);
    assert_int_equal(kineto_write_rank(&s, 5, path, NULL, NULL), MAREY_OK);
    read_rank json;
    read_rank direct;
    begin_read(&json);
    begin_read(&direct);
    direct_source source = {.s = &s, .rank = 5};
    assert_int_equal(reader_read_file(path, &json.b, NULL), MAREY_OK);
    assert_int_equal(direct_read(&source, "rank 5", &direct.b, NULL), MAREY_OK);
    assert_int_equal(json.d.n_losses, 0);
    assert_int_equal(json.b.n_events, direct.b.n_events);
    assert_int_equal(json.b.n_flows, direct.b.n_flows);
    assert_int_equal(json.b.n_ac2g_flows, direct.b.n_ac2g_flows);
    compare_threads(&json, &direct);
    compare_collectives(&json.b, &direct.b);
    compare_facts(&json.b, &direct.b);
    end_read(&json);
    end_read(&direct);
    solution_deinit(&s);
    assert_int_equal(unlink(path), 0);
}

static void folder_is_guarded(void **state)
{
    (void)state;
    synth_params p = small_params(1);
    char out[512];
    char foreign[600];
    diag d;
    diag_init(&d);
    in_folder(out, sizeof out, "run");
    (void)snprintf(foreign, sizeof foreign, "%s/notes.txt", out);
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    assert_int_equal(synth_write_kineto(&p, out, NULL, &d), MAREY_OK);
    arena names = {0};
    char **paths = NULL;
    size_t n = 0;
    assert_int_equal(file_list(out, &names, &paths, &n, NULL), MAREY_OK);
    assert_int_equal(n, 17); /* sixteen ranks and the truth */
    free((void *)paths);
    arena_deinit(&names);
    assert_int_equal(file_write_all(foreign, "x", 1, NULL), MAREY_OK);
    assert_int_equal(synth_write_kineto(&p, out, NULL, &d), MAREY_ARG);
    assert_true(file_exists(foreign));
    assert_int_equal(unlink(foreign), 0);
    /* A cancelled run takes its files with it. */
    cancel_flag cancel;
    atomic_init(&cancel.set, true);
    assert_int_equal(synth_write_kineto(&p, out, &cancel, &d), MAREY_CANCELLED);
    assert_int_equal(rmdir(out), 0);
    in_folder(out, sizeof out, "no/such/place");
    assert_int_equal(synth_write_kineto(&p, out, NULL, &d), MAREY_IO);
    diag_deinit(&d);
}

static void truth_names_faults(void **state)
{
    (void)state;
    synth_params p = small_params(3);
    add_fault(&p, "slow-rank:5,1.6@1..9");
    add_fault(&p, "imbalance:3,1.5");
    add_fault(&p, "slow-link:0-4,0.25");
    solution s;
    strbuf b = {0};
    assert_int_equal(synth_check(&p, NULL), MAREY_OK);
    assert_int_equal(solve(&s, &p, NULL), MAREY_OK);
    truth_json(&b, &s);
    assert_non_null(
        strstr(b.s, "{\"kind\":\"slow-rank\",\"ranks\":[5],\"factor\":1.6,\"has_effect\":true,\"steps\":[1,2]}"));
    assert_non_null(strstr(b.s, "{\"kind\":\"stage-imbalance\",\"ranks\":[12,13,14,15],\"stage\":3,\"factor\":1.5,"));
    assert_non_null(strstr(b.s, "{\"kind\":\"slow-link\",\"ranks\":[0,4],\"links\":[[0,4]],\"factor\":0.25,"));
    assert_non_null(strstr(b.s, "{\"schema\":1,\"seed\":1,"));
    strbuf_deinit(&b);
    solution_deinit(&s);
}

static void measured_size_is_exact(void **state)
{
    (void)state;
    synth_params p = small_params(2);
    synth_size size;
    kept_run k;
    keep_run(&k, &p);
    uint64_t n = 0;
    for (int r = 0; r < p.ranks; r++) {
        n += k.ranks[r].n;
    }
    assert_int_equal(synth_measure(&p, &size, NULL), MAREY_OK);
    assert_int_equal(size.n_events, n);
    assert_int_equal(size.duration_ns, k.s.end_ns);
    free_run(&k);
    assert_int_equal(synth_fit_events(&p, n / 16 * 2, NULL), MAREY_OK);
    assert_int_equal(synth_measure(&p, &size, NULL), MAREY_OK);
    assert_in_range(size.n_events, n * 2 * 9 / 10, n * 2 * 11 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_bytes),   cmocka_unit_test(both_ways_agree),
        cmocka_unit_test(folder_is_guarded),      cmocka_unit_test(truth_names_faults),
        cmocka_unit_test(measured_size_is_exact),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
