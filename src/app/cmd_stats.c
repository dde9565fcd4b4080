/* marey stats: exact statistics of a time range. The JSON's form is a contract: see docs/cli.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/answer.h"
#include "app/args.h"
#include "app/commands.h"
#include "app/program.h"
#include "app/report.h"
#include "app/rows.h"
#include "diagnose/stats.h"

enum { SHOWN_NAMES = 40 };

typedef struct stats_job {
    int64_t time_ns[2];
    const char *rows;
    bool json, quiet;
} stats_job;

typedef struct stats_answer {
    const trace_model *m;
    int64_t t0_ns, t1_ns;
    range_stats names;
    uint32_t *ranks;
    rank_step *steps;
    size_t n_ranks;
} stats_answer;

static int by_id(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa;
    uint32_t b = *(const uint32_t *)pb;
    return a < b ? -1 : a > b;
}

/* All tracks of the rows, each once, and the ranks that they belong to. */
static uint32_t *unite(const trace_model *m, const row_list *rows, stats_answer *a, size_t *n_tracks)
{
    uint32_t *tracks = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (size_t i = 0; i < rows->n; i++) {
        for (size_t k = 0; k < rows->items[i].row.n_tracks; k++) {
            VEC_PUSH(tracks, n, cap, rows->items[i].row.tracks[k]);
        }
    }
    if (n > 0) {
        qsort(tracks, n, sizeof *tracks, by_id);
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || tracks[kept - 1] != tracks[i]) {
            tracks[kept++] = tracks[i];
        }
    }
    a->ranks = mem_alloc((m->n_ranks + 1) * sizeof *a->ranks);
    for (size_t i = 0; i < kept; i++) { /* tracks ascend with ranks */
        uint32_t rank = m->lanes[m->tracks[tracks[i]].lane].rank;
        if (a->n_ranks == 0 || a->ranks[a->n_ranks - 1] != rank) {
            a->ranks[a->n_ranks++] = rank;
        }
    }
    *n_tracks = kept;
    return tracks;
}

static void print_json(const stats_answer *a)
{
    json_out j = {.file = stdout};
    json_begin(&j, '{');
    json_kint(&j, "schema", 1);
    json_key(&j, "time");
    json_begin(&j, '[');
    json_int(&j, a->t0_ns);
    json_int(&j, a->t1_ns);
    json_end(&j, ']');
    json_key(&j, "total");
    json_begin(&j, '{');
    json_kuint(&j, "count", a->names.count);
    json_kint(&j, "union_ns", a->names.union_ns);
    json_kint(&j, "sum_ns", a->names.sum_ns);
    json_end(&j, '}');
    json_key(&j, "names");
    json_begin(&j, '[');
    for (size_t i = 0; i < a->names.n_names; i++) {
        const name_stats *s = &a->names.names[i];
        json_begin(&j, '{');
        json_kstr(&j, "name", a->m->names[s->name].text);
        json_kstr(&j, "category", a->m->categories[a->m->names[s->name].category].name);
        json_kuint(&j, "count", s->count);
        json_kint(&j, "union_ns", s->union_ns);
        json_kint(&j, "sum_ns", s->sum_ns);
        json_kreal(&j, "mean_ns", s->mean_ns);
        json_kint(&j, "p50_ns", s->p50_ns);
        json_kint(&j, "p99_ns", s->p99_ns);
        json_kint(&j, "max_ns", s->max_ns);
        json_kreal(&j, "sigma_ns", s->sigma_ns);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_key(&j, "breakdown");
    json_begin(&j, '[');
    for (size_t i = 0; i < a->n_ranks; i++) {
        json_begin(&j, '{');
        json_kint(&j, "rank", a->m->ranks[a->ranks[i]].rank);
        report_put_breakdown(&j, &a->steps[i]);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    (void)putchar('\n');
}

static void print_time(int64_t ns)
{
    char text[48];
    time_format(ns, text, sizeof text);
    (void)printf(" %12s", text);
}

static void print_table(const stats_answer *a)
{
    (void)printf("%10s %12s %12s %12s %12s %12s %12s  %s\n", "events", "union", "sum", "mean", "p50", "p99", "max",
                 "name");
    for (size_t i = 0; i < a->names.n_names && i < SHOWN_NAMES; i++) {
        const name_stats *s = &a->names.names[i];
        (void)printf("%10" PRIu64, s->count);
        print_time(s->union_ns);
        print_time(s->sum_ns);
        print_time((int64_t)s->mean_ns);
        print_time(s->p50_ns);
        print_time(s->p99_ns);
        print_time(s->max_ns);
        (void)printf("  %.60s\n", a->m->names[s->name].text);
    }
    if (a->names.n_names > SHOWN_NAMES) {
        (void)printf("%10s and %zu more names\n", "", a->names.n_names - SHOWN_NAMES);
    }
    (void)printf("%10" PRIu64, a->names.count);
    print_time(a->names.union_ns);
    print_time(a->names.sum_ns);
    (void)printf("  all\n\n%12s %12s %12s %12s %12s  %s\n", "compute", "exposed comm", "overlapped", "copy", "idle",
                 "rank");
    for (size_t i = 0; i < a->n_ranks && i < SHOWN_NAMES; i++) {
        breakdown b = breakdown_of(&a->steps[i]);
        print_time(b.compute_ns);
        print_time(b.exposed_communication_ns);
        print_time(b.overlapped_ns);
        print_time(b.copy_ns);
        print_time(b.idle_ns);
        (void)printf("  %s\n", a->m->ranks[a->ranks[i]].label);
    }
}

static marey_status answer(const void *ctx, store_file *f, diag *d)
{
    const stats_job *job = ctx;
    row_list rows = {0};
    uint32_t *tracks = NULL;
    size_t n_tracks = 0;
    stats_answer a = {.m = store_model(f)};
    a.t0_ns = job->time_ns[0] == INT64_MIN ? 0 : job->time_ns[0];
    a.t1_ns = job->time_ns[1] == INT64_MAX ? a.m->duration_ns : job->time_ns[1];
    marey_status status = MAREY_OK;
    MAREY_TRY(rows_find(&rows, a.m, job->rows, d));
    tracks = unite(a.m, &rows, &a, &n_tracks);
    a.steps = mem_calloc(a.n_ranks + 1, sizeof *a.steps);
    program_catch_interrupt();
    MAREY_TRY(stats_names(f, &(query_row){tracks, n_tracks}, a.t0_ns, a.t1_ns, &program_cancel, &a.names, d));
    MAREY_TRY(stats_breakdown(f, a.ranks, a.n_ranks, a.t0_ns, a.t1_ns, &program_cancel, a.steps, d));
    if (job->json) {
        print_json(&a);
    } else {
        print_table(&a);
    }
fail:
    range_stats_free(&a.names);
    free(tracks);
    free(a.ranks);
    free(a.steps);
    rows_deinit(&rows);
    return status;
}

int cmd_stats(int argc, char **argv)
{
    stats_job job = {.time_ns = {INT64_MIN, INT64_MAX}, .rows = "all"};
    const arg_option options[] = {
        {"--time", 0, ARG_RANGE, "A..B", "from the run's start: 12.5ms..3s; either side may be missing (the whole run)",
         job.time_ns, NULL},
        {"--rows", 0, ARG_TEXT, "ROWS", "rows: lane:ID, rank:ID, stage:ID, all, or a pattern; several by comma (all)",
         &job.rows, NULL},
        {"--json", 0, ARG_FLAG, NULL, "one JSON object", &job.json, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &job.quiet, NULL},
    };
    const arg_command command = {
        "stats",
        "FILE",
        "What ran in a time range: for each name its events, the union and the sum of their time inside the range, "
        "mean,\nmedian, 99th percentile and longest of their whole durations; and where the time of each rank went.",
        options,
        sizeof options / sizeof *options,
        1,
        ARGS_UNLIMITED,
        "A union counts every instant once, over all the rows that were asked for. Exposed communication is what no "
        "compute of\nthe rank hides; copy is what neither hides; idle is the rest."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (job.time_ns[1] <= job.time_ns[0]) {
        (void)fputs("marey stats: --time wants a range A..B whose end lies after its start.\n", stderr);
        return EXIT_USAGE;
    }
    return program_answer(paths.items, paths.n, job.quiet, answer, &job);
}
