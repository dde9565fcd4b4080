/*
 * Contract: whatever comes in (one rank a source or many processes, over 64 ranks and under, unsorted, overlapping,
 * without length, with arguments), every event is in the file exactly once, on a thread of its (pid, tid), with its
 * name, start, duration and arguments; tracks don't overlap; a kernel is linked to the launch of its correlation; the
 * model holds together; threads' totals equal brute force. Any number of jobs and any budget of memory give the same.
 */
#include "cm.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "convert/convert.h"
#include "store/store.h"

enum { MAX_EVENTS = 4000, NAMES = 6, SMALL_RUN = 5000, SAMPLE = 997 };

typedef struct fact {
    uint32_t source;
    char pid[12], tid[12], name[24];
    int64_t start_ns, dur_ns;
    uint64_t correlation;
    uint32_t number; /* in the arguments; 0: none */
    uint64_t row;    /* found in the file */
} fact;

typedef struct fake {
    uint32_t index, n_processes, n_events;
    bool is_kineto;
    uint64_t seed;
    int64_t base_ns;
    fact *facts;
    size_t n_facts;
} fake;

static uint32_t put_name(trace_builder *b, const char *name, const char *source)
{
    return trace_builder_name(b, trace_builder_string(b, name, strlen(name)),
                              trace_builder_string(b, source, strlen(source)));
}

/* Kernels, launches and operators at random; all facts are noted on the way. */
static marey_status read_fake(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    static const struct {
        const char *name, *source;
    } names[NAMES] = {{"gemm", "kernel"},     {"ncclAllReduce", "kernel"},   {"cudaLaunchKernel", "cuda_runtime"},
                      {"aten::mm", "cpu_op"}, {"Memcpy HtoD", "gpu_memcpy"}, {"note", "user_annotation"}};
    (void)path;
    (void)progress;
    fake *f = ctx;
    prng r;
    prng_seed(&r, f->seed);
    f->n_facts = 0;
    b->facts.format = f->is_kineto ? "kineto" : "chrome";
    b->facts.is_kineto = f->is_kineto;
    b->facts.base_epoch_ns = f->base_ns;
    for (uint32_t i = 0; i < f->n_events; i++) {
        fact *k = &f->facts[f->n_facts++];
        size_t name = prng_below(&r, NAMES);
        *k = (fact){.source = f->index, .row = UINT64_MAX};
        (void)snprintf(k->pid, sizeof k->pid, "%u", (unsigned)prng_below(&r, f->n_processes));
        (void)snprintf(k->tid, sizeof k->tid, "t%u", (unsigned)prng_below(&r, 4));
        (void)snprintf(k->name, sizeof k->name, "%s", names[name].name);
        k->start_ns = 1000000 - f->base_ns + (int64_t)prng_below(&r, 100000);
        k->dur_ns = prng_below(&r, 5) ? (int64_t)prng_below(&r, 300) : 0;
        k->correlation = name == 0 || name == 2 ? 1 + prng_below(&r, 50) : 0;
        k->number = prng_below(&r, 3) ? (uint32_t)prng_below(&r, 1000000) + 1 : 0;
        char args[64];
        int n = snprintf(args, sizeof args, "{\"n\": %u, \"of\": \"%s\"}", k->number, k->name);
        trace_event_in e = {.start_ns = k->start_ns,
                            .dur_ns = k->dur_ns,
                            .thread = trace_builder_thread(b, k->pid, strlen(k->pid), k->tid, strlen(k->tid)),
                            .name = put_name(b, names[name].name, names[name].source),
                            .correlation = k->correlation,
                            .args = k->number ? args : NULL,
                            .args_len = k->number ? (uint32_t)n : 0};
        marey_status status = trace_builder_event(b, &e);
        if (status != MAREY_OK) {
            return status;
        }
    }
    return trace_builder_finish(b, NULL, NULL);
}

static int compare_facts(const void *pa, const void *pb)
{
    const fact *a = pa;
    const fact *b = pb;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->dur_ns != b->dur_ns) {
        return a->dur_ns < b->dur_ns ? -1 : 1;
    }
    int order = strcmp(a->pid, b->pid);
    order = order ? order : strcmp(a->tid, b->tid);
    order = order ? order : strcmp(a->name, b->name);
    return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

/* All events of the file as facts. */
static size_t read_back(store_file *f, fact *out, size_t cap)
{
    const trace_model *m = store_model(f);
    store_columns c = {0};
    size_t n = 0;
    for (uint32_t b = 0; b < store_n_blocks(f); b++) {
        store_block_info info = store_block(f, b);
        if (store_group_at(f, info.group).kind != GROUP_EVENTS) {
            continue;
        }
        assert_int_equal(store_read_block(f, b, COL_ALL, &c, NULL), MAREY_OK);
        for (uint32_t t = 0; t < info.n_tracks; t++) {
            const trace_lane *l = &m->lanes[m->tracks[info.tracks[t]].lane];
            const trace_rank *rank = &m->ranks[l->rank];
            store_group_info g = store_group_at(f, info.group);
            assert_true(l->rank >= g.first_rank && l->rank < g.first_rank + g.n_ranks);
            assert_true(rank->first_lane <= m->tracks[info.tracks[t]].lane);
            for (uint32_t i = info.offsets[t]; i < info.offsets[t + 1]; i++) {
                assert_true(n < cap);
                fact *k = &out[n++];
                *k = (fact){
                    .start_ns = c.start_ns[i] + m->start_epoch_ns, .dur_ns = c.dur_ns[i], .row = info.first_row + i};
                (void)snprintf(k->pid, sizeof k->pid, "%s", m->threads[l->thread].pid);
                (void)snprintf(k->tid, sizeof k->tid, "%s", m->threads[l->thread].tid);
                (void)snprintf(k->name, sizeof k->name, "%s", m->names[c.name[i]].text);
                assert_true(i == info.offsets[t] || c.start_ns[i] >= c.start_ns[i - 1] + c.dur_ns[i - 1]);
                strbuf args = {0};
                if (cap <= SMALL_RUN || n % SAMPLE == 0) { /* one reading decodes up to a whole block */
                    assert_int_equal(store_read_args(f, k->row, &args, NULL), MAREY_OK);
                }
                if (args.n) {
                    char name[24];
                    assert_int_equal(sscanf(args.s, "{\"n\": %u, \"of\": \"%23[^\"]\"}", &k->number, name), 2);
                    assert_string_equal(name, k->name);
                }
                strbuf_deinit(&args);
            }
        }
    }
    store_columns_free(&c);
    return n;
}

static void check_threads(const trace_model *m, const fact *facts, size_t n)
{
    uint64_t events = 0;
    for (size_t t = 0; t < m->n_threads; t++) {
        events += m->threads[t].n_events;
        if (m->n_inputs > 1) {
            continue; /* equal pids of several sources: totals are compared for one source */
        }
        int64_t busy = 0;
        int64_t sum = 0;
        int64_t until = INT64_MIN;
        for (size_t i = 0; i < n; i++) { /* ascending by start */
            const fact *k = &facts[i];
            if (strcmp(k->pid, m->threads[t].pid) == 0 && strcmp(k->tid, m->threads[t].tid) == 0) {
                int64_t from = k->start_ns > until ? k->start_ns : until;
                int64_t end = k->start_ns + k->dur_ns;
                busy += end > from ? end - from : 0;
                until = end > until ? end : until;
                sum += k->dur_ns;
            }
        }
        assert_true(m->threads[t].busy_ns == busy && m->threads[t].sum_ns == sum);
    }
    assert_int_equal(events, n);
}

/* Links go from a launch to a kernel of the same process. */
static void check_links(store_file *f, const fact *got, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        store_link links[256];
        size_t n_links = 0;
        assert_int_equal(store_read_links(f, got[i].row, links, 256, &n_links, NULL), MAREY_OK);
        for (size_t k = 0; k < n_links && k < 256; k++) {
            uint64_t other = links[k].from_row == got[i].row ? links[k].to_row : links[k].from_row;
            store_event_info e;
            assert_int_equal(store_read_event(f, other, &e, NULL), MAREY_OK);
            const char *name = store_model(f)->names[e.name].text;
            bool launches = strcmp(got[i].name, "cudaLaunchKernel") == 0;
            assert_string_equal(name, launches ? "gemm" : "cudaLaunchKernel");
        }
    }
}

static int compare_times(const void *pa, const void *pb)
{
    const fact *a = pa;
    const fact *b = pb;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->dur_ns != b->dur_ns) {
        return a->dur_ns > b->dur_ns ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Links of one rank: a launch has all kernels of its number, until the number is launched again. */
static uint64_t count_links(const fact *facts, size_t n)
{
    struct {
        uint64_t n_works;
        bool is_launched;
    } now[64] = {0};
    uint64_t links = 0;
    fact *order = calloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        order[i] = facts[i];
        order[i].row = i;
    }
    qsort(order, n, sizeof *order, compare_times);
    for (size_t i = 0; i < n; i++) {
        uint64_t k = order[i].correlation;
        if (k == 0) {
            continue;
        }
        bool launches = strcmp(order[i].name, "cudaLaunchKernel") == 0;
        if (launches && now[k].is_launched) {
            now[k].n_works = 0;
        }
        links += launches ? now[k].n_works : now[k].is_launched;
        now[k].n_works += !launches;
        now[k].is_launched |= launches;
    }
    free(order);
    return links;
}

static void check_run(const char *out, fact *want, size_t n_want, bool one_rank)
{
    diag d;
    diag_init(&d);
    store_file *f = NULL;
    assert_int_equal(store_open(&f, out, &d), MAREY_OK);
    const trace_model *m = store_model(f);
    assert_null(trace_model_check(m));
    assert_int_equal(m->n_events, n_want);
    if (one_rank) {
        assert_int_equal(m->n_links, count_links(want, n_want));
    }
    fact *got = calloc(n_want + 1, sizeof *got);
    size_t n = read_back(f, got, n_want);
    assert_int_equal(n, n_want);
    check_links(f, got, n < 300 ? n : 300);
    for (size_t i = 0; n > SMALL_RUN && i < n; i++) {
        got[i].number = want[i].number = 0; /* only sampled */
    }
    qsort(got, n, sizeof *got, compare_facts);
    qsort(want, n_want, sizeof *want, compare_facts);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(compare_facts(&got[i], &want[i]), 0);
    }
    check_threads(m, want, n_want);
    free(got);
    store_close(&f);
    diag_deinit(&d);
}

static void run_once(const char *out, uint64_t seed, uint32_t n_sources, uint32_t n_processes, uint32_t n_events)
{
    fake *fakes = calloc(n_sources, sizeof *fakes);
    convert_source *sources = calloc(n_sources, sizeof *sources);
    fact *want = calloc((size_t)n_sources * n_events, sizeof *want);
    for (uint32_t i = 0; i < n_sources; i++) {
        fakes[i] = (fake){.index = i,
                          .n_processes = n_processes,
                          .n_events = n_events,
                          .is_kineto = n_processes <= 2,
                          .seed = seed + i,
                          .base_ns = (int64_t)i * 1000,
                          .facts = calloc(n_events, sizeof(fact))};
        sources[i] = (convert_source){.path = "fake", .rank_hint = -1, .read = read_fake, .ctx = &fakes[i]};
    }
    convert_options options = {.out = out, .jobs = 1 + (unsigned)(seed % 3), .memory_bytes = seed % 2 ? 1 : 0};
    diag d;
    diag_init(&d);
    marey_status status = convert_sources(sources, n_sources, &options, NULL, &d);
    assert_string_equal(status == MAREY_OK ? "" : d.n_messages ? d.messages[0].text : "no message", "");
    size_t n = 0;
    for (uint32_t i = 0; i < n_sources; i++) {
        for (size_t k = 0; k < fakes[i].n_facts; k++) {
            want[n] = fakes[i].facts[k];
            want[n++].start_ns += fakes[i].base_ns;
        }
        free(fakes[i].facts);
    }
    check_run(out, want, n, n_sources == 1 && n_processes == 1);
    diag_deinit(&d);
    free(want);
    free(sources);
    free(fakes);
}

static void keeps_everything(void **state)
{
    (void)state;
    char dir[] = "/tmp/marey-convert-XXXXXX";
    assert_non_null(mkdtemp(dir));
    strbuf out = {0};
    strbuf_printf(&out, "%s/run.h5", dir);
    run_once(out.s, 1, 1, 1, MAX_EVENTS);   /* one rank */
    run_once(out.s, 2, 1, 150, MAX_EVENTS); /* a plain trace of 150 processes: three groups from one source */
    run_once(out.s, 3, 70, 1, 200);         /* 70 ranks: two groups */
    run_once(out.s, 4, 3, 40, 1000);        /* several plain traces */
    run_once(out.s, 5, 1, 1, 1);
    run_once(out.s, 6, 5, 2, MAX_EVENTS);
    run_once(out.s, 7, 1, 1, 3 * 65536 + 17); /* several chunks */
    (void)unlink(out.s);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left */
    strbuf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_everything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
