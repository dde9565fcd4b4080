/* `marey grid`: the exact numbers behind the picture. The JSON's form is a contract: see docs/cli.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/answer.h"
#include "app/args.h"
#include "app/commands.h"
#include "app/program.h"
#include "app/rows.h"
#include "base/text.h"
#include "store/query.h"
#include "store/store.h"

typedef struct grid_job {
    int64_t time_ns[2];
    uint64_t n_bins;
    const char *rows;
    bool json;
    bool quiet;
} grid_job;

/* ---- JSON ---- */

static void json_i64s(json_out *j, const char *key, const int64_t *v, uint64_t n)
{
    json_key(j, key);
    json_begin(j, '[');
    for (uint64_t i = 0; i < n; i++) {
        json_int(j, v[i]);
    }
    json_end(j, ']');
}

static void json_shares(json_out *j, const query_result *r, uint64_t n_bins, size_t n_categories)
{
    json_key(j, "share_ns");
    json_begin(j, '[');
    for (uint64_t i = 0; i < n_bins; i++) {
        json_begin(j, '[');
        for (size_t k = 0; k < n_categories; k++) {
            json_int(j, r->share_ns[i * n_categories + k]);
        }
        json_end(j, ']');
    }
    json_end(j, ']');
}

static void json_row(json_out *j, const named_row *row, const query_result *r, uint64_t n_bins, size_t n_categories)
{
    json_begin(j, '{');
    json_kstr(j, "row", row->name);
    json_key(j, "lane");
    row->lane == NO_ID ? json_null(j) : json_uint(j, row->lane);
    json_key(j, "rank");
    row->rank < 0 ? json_null(j) : json_int(j, row->rank);
    json_i64s(j, "busy_ns", r->busy_ns, n_bins);
    json_key(j, "count");
    json_begin(j, '[');
    for (uint64_t i = 0; i < n_bins; i++) {
        json_uint(j, r->count[i]);
    }
    json_end(j, ']');
    json_key(j, "category"); /* -1: nothing in the bin */
    json_begin(j, '[');
    for (uint64_t i = 0; i < n_bins; i++) {
        json_int(j, r->dominant[i] == NO_ID ? -1 : (int64_t)r->dominant[i]);
    }
    json_end(j, ']');
    json_i64s(j, "longest_ns", r->longest_ns, n_bins);
    json_key(j, "longest_event");
    json_begin(j, '[');
    for (uint64_t i = 0; i < n_bins; i++) {
        json_int(j, r->longest_row[i] == UINT64_MAX ? -1 : (int64_t)r->longest_row[i]);
    }
    json_end(j, ']');
    json_shares(j, r, n_bins, n_categories);
    json_end(j, '}');
}

static void print_json(const trace_model *m, const query_grid *q, const row_list *rows, const query_result *results)
{
    json_out j = {.file = stdout};
    int64_t time[2] = {q->t0_ns, q->t1_ns};
    json_begin(&j, '{');
    json_kint(&j, "schema", 1);
    json_i64s(&j, "time", time, 2);
    json_kuint(&j, "bins", q->n_bins);
    json_key(&j, "categories");
    json_begin(&j, '[');
    for (size_t i = 0; i < m->n_categories; i++) {
        json_str(&j, m->categories[i].name);
    }
    json_end(&j, ']');
    json_key(&j, "rows");
    json_begin(&j, '[');
    for (size_t i = 0; i < rows->n; i++) {
        json_row(&j, &rows->items[i], &results[i], q->n_bins, m->n_categories);
    }
    json_end(&j, ']');
    json_end(&j, '}');
}

/* ---- for people ---- */

/* Do bins begin so close to each other, so late, that four digits would not tell them apart? */
static bool needs_all_digits(const query_grid *q)
{
    return q->t1_ns / 1000 >= (q->t1_ns - q->t0_ns) / (int64_t)q->n_bins;
}

/* printf() counts bytes: what of a text is not the first byte of a character is added to the width. */
static int width_for(const char *text, int columns)
{
    for (; *text; text++) {
        columns += ((unsigned char)*text & 0xC0) == 0x80;
    }
    return columns;
}

static void print_line(const trace_model *m, const query_grid *q, const query_result *r, uint64_t bin)
{
    __extension__ typedef __int128 wide; /* bin * width does not fit 64 bits */
    int64_t width = q->t1_ns - q->t0_ns;
    int64_t t0 = q->t0_ns + (int64_t)((wide)bin * width / (wide)q->n_bins);
    int64_t t1 = q->t0_ns + (int64_t)(((wide)bin + 1) * width / (wide)q->n_bins);
    char start[48];
    char busy[48];
    char longest[48] = "";
    if (needs_all_digits(q)) {
        time_format_exact(t0, start, sizeof start);
    } else {
        time_format(t0, start, sizeof start);
    }
    int columns = needs_all_digits(q) ? 22 : 12;
    time_format(r->busy_ns[bin], busy, sizeof busy);
    if (r->longest_ns[bin] >= 0) {
        time_format(r->longest_ns[bin], longest, sizeof longest);
    }
    const char *category = r->dominant[bin] == NO_ID ? "" : m->categories[r->dominant[bin]].name;
    double percent = t1 > t0 ? 100.0 * (double)r->busy_ns[bin] / (double)(t1 - t0) : 0;
    (void)printf("  %*s %*s %6.1f %% %10" PRIu64 "  %-18s %*s\n", width_for(start, columns), start, width_for(busy, 12),
                 busy, percent, r->count[bin], category, width_for(longest, 12), longest);
}

static void print_table(const trace_model *m, const query_grid *q, const row_list *rows, const query_result *results)
{
    for (size_t i = 0; i < rows->n; i++) {
        (void)printf("%s%s\n", i ? "\n" : "", rows->items[i].name);
        (void)printf("  %*s %12s %8s %10s  %-18s %12s\n", needs_all_digits(q) ? 22 : 12, "from", "busy, union", "busy",
                     "events", "mostly", "longest");
        for (uint64_t bin = 0; bin < q->n_bins; bin++) {
            print_line(m, q, &results[i], bin);
        }
    }
}

/* ---- the command ---- */

static marey_status answer(const void *ctx, store_file *f, diag *d)
{
    const grid_job *job = ctx;
    const trace_model *m = store_model(f);
    row_list rows = {0};
    query_row *unions = NULL;
    query_result *results = NULL;
    marey_status status = MAREY_OK;
    MAREY_TRY(rows_find(&rows, m, job->rows, d));
    unions = mem_calloc(rows.n + 1, sizeof *unions);
    results = mem_calloc(rows.n + 1, sizeof *results);
    for (size_t i = 0; i < rows.n; i++) {
        unions[i] = rows.items[i].row;
    }
    query_grid q = {
        .t0_ns = job->time_ns[0] == INT64_MIN ? 0 : job->time_ns[0],
        .t1_ns = job->time_ns[1] == INT64_MAX ? m->duration_ns : job->time_ns[1],
        .n_bins = job->n_bins,
        .key = KEY_CATEGORY,
        .rows = unions,
        .n_rows = rows.n,
        .cancel = &program_cancel,
    };
    if (q.t1_ns <= q.t0_ns) {
        char end[48];
        time_format(m->duration_ns, end, sizeof end);
        MAREY_TRY(diag_error(d, MAREY_RANGE, store_path(f), DIAG_NO_OFFSET,
                             "Nothing lies in this range: the run lasts %s.", end));
    }
    program_catch_interrupt();
    MAREY_TRY(store_query(f, &q, results, d));
    if (job->json) {
        print_json(m, &q, &rows, results);
    } else {
        print_table(m, &q, &rows, results);
    }
    query_free(results, rows.n);
fail:
    free(results);
    free(unions);
    rows_deinit(&rows);
    return status;
}

static bool check(const grid_job *job)
{
    if (job->n_bins < 1 || job->n_bins > 1U << 24) {
        (void)fputs("marey grid: --bins wants a number from 1 to 16777216.\n", stderr);
        return false;
    }
    if (job->time_ns[1] <= job->time_ns[0]) {
        (void)fputs("marey grid: --time wants a range A..B whose end lies after its start.\n", stderr);
        return false;
    }
    return true;
}

int cmd_grid(int argc, char **argv)
{
    grid_job job = {.time_ns = {INT64_MIN, INT64_MAX}, .n_bins = 100, .rows = "all"};
    const arg_option options[] = {
        {"--time", 0, ARG_RANGE, "A..B", "from the run's start: 12.5ms..3s; either side may be missing (the whole run)",
         job.time_ns, NULL},
        {"--bins", 0, ARG_COUNT, "N", "bins across the range (100)", &job.n_bins, NULL},
        {"--rows", 0, ARG_TEXT, "ROWS", "rows: lane:ID, rank:ID, stage:ID, all, or a pattern; several by comma (all)",
         &job.rows, NULL},
        {"--json", 0, ARG_FLAG, NULL, "one JSON object", &job.json, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &job.quiet, NULL},
    };
    const arg_command command = {"grid",
                                 "FILE",
                                 "The exact numbers behind a picture: for rows x time bins the busy time (union of "
                                 "intervals), the number of events, the\n"
                                 "category with most time, the longest event and each category's share.",
                                 options,
                                 sizeof options / sizeof *options,
                                 1,
                                 ARGS_UNLIMITED,
                                 "Bin k covers [A + k(B-A)/N, A + (k+1)(B-A)/N), bounds rounded down to ns. An event "
                                 "counts in every bin that it meets.\n"
                                 "rank:ID is the union of the rank's device lanes. Patterns: \"rank*\" means ranks, "
                                 "\"rank 3/*\" the lanes of one."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    return check(&job) ? program_answer(paths.items, paths.n, job.quiet, answer, &job) : EXIT_USAGE;
}
