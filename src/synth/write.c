/* The two outputs as a whole: a folder of Kineto files, or one HDF5 file through the converter. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "synth/direct.h"
#include "synth/emit.h"
#include "synth/graph.h"
#include "synth/kineto.h"
#include "synth/truth.h"

static const char suffix[] = ".pt.trace.json";

static bool is_ours(const char *name)
{
    size_t n = strlen(name);
    size_t digits = strncmp(name, "rank", 4) == 0 ? strspn(name + 4, "0123456789") : 0;
    return strcmp(name, "truth.json") == 0 || strcmp(name, "graph.json") == 0 ||
           (digits > 0 && n > 4 && strcmp(name + 4 + digits, suffix) == 0);
}

/* Remove the files of an earlier run from `dir`, or only count what is not one. */
static size_t sweep(const char *dir, bool remove_ours)
{
    size_t foreign = 0;
    DIR *handle = opendir(dir);
    struct dirent *e;
    while (handle && (e = readdir(handle)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        if (!is_ours(e->d_name)) {
            foreign++;
        } else if (remove_ours) {
            (void)unlinkat(dirfd(handle), e->d_name, 0);
        }
    }
    if (handle) {
        (void)closedir(handle);
    }
    return foreign;
}

static marey_status prepare_folder(const char *out, bool *made, diag *d)
{
    *made = mkdir(out, 0777) == 0;
    if (*made) {
        return MAREY_OK;
    }
    if (errno != EEXIST) {
        return diag_error(d, MAREY_IO, out, DIAG_NO_OFFSET, "the folder cannot be made: %s", strerror(errno));
    }
    if (!file_is_dir(out)) {
        return diag_error(d, MAREY_ARG, out, DIAG_NO_OFFSET, "exists and is no folder");
    }
    if (sweep(out, false) > 0) {
        return diag_error(d, MAREY_ARG, out, DIAG_NO_OFFSET,
                          "holds files that no simulation wrote; choose a new or an empty folder");
    }
    (void)sweep(out, true);
    return MAREY_OK;
}

static char *in_folder(const char *dir, const char *format, int rank)
{
    strbuf b = {0};
    strbuf_printf(&b, "%s/", dir);
    if (rank >= 0) {
        strbuf_printf(&b, "rank%d%s", rank, format);
    } else {
        strbuf_puts(&b, format);
    }
    return b.s;
}

static marey_status write_ranks(const solution *s, const char *out, cancel_flag *cancel, diag *d)
{
    for (int r = 0; r < s->pl.p.ranks; r++) {
        char *path = in_folder(out, suffix, r);
        marey_status status = kineto_write_rank(s, r, path, cancel, d);
        free(path);
        if (status != MAREY_OK) {
            return status;
        }
    }
    char *truth = in_folder(out, "truth.json", -1);
    char *graph = in_folder(out, "graph.json", -1);
    marey_status status = truth_write(s, truth, d);
    if (status == MAREY_OK && s->pl.p.graph) {
        status = synth_graph_write(&s->pl, graph, d);
    }
    free(truth);
    free(graph);
    return status;
}

static marey_status cancelled(marey_status status, diag *d)
{
    return status == MAREY_CANCELLED ? diag_error(d, status, NULL, DIAG_NO_OFFSET, "the simulation was cancelled")
                                     : status;
}

marey_status synth_write_kineto(const synth_params *p, const char *out, cancel_flag *cancel, diag *d)
{
    solution s;
    bool made = false;
    marey_status status = prepare_folder(out, &made, d);
    if (status != MAREY_OK) {
        return status;
    }
    status = solve(&s, p, cancel);
    if (status == MAREY_OK) {
        status = write_ranks(&s, out, cancel, d);
        solution_deinit(&s);
    }
    if (status != MAREY_OK) {
        (void)sweep(out, true);
        if (made) {
            (void)rmdir(out);
        }
    }
    return cancelled(status, d);
}

marey_status synth_write_h5(const synth_params *p, const convert_options *options, convert_summary *summary, diag *d)
{
    solution s;
    marey_status status = solve(&s, p, options->cancel);
    if (status != MAREY_OK) {
        return cancelled(status, d);
    }
    size_t n = (size_t)p->ranks;
    direct_source *ranks = mem_calloc(n, sizeof *ranks);
    convert_source *sources = mem_calloc(n, sizeof *sources);
    for (size_t r = 0; r < n; r++) {
        ranks[r] = (direct_source){.s = &s, .rank = (int)r};
        (void)snprintf(ranks[r].label, sizeof ranks[r].label, "simulated rank %zu", r);
        sources[r] =
            (convert_source){.path = ranks[r].label, .rank_hint = (int64_t)r, .read = direct_read, .ctx = &ranks[r]};
    }
    static const char *const label[] = {"simulated graph"};
    convert_options own = *options;
    strbuf graph = {0};
    if (p->graph) {
        synth_graph_json(&graph, &s.pl);
        own.graph_paths = label;
        own.n_graphs = 1;
        own.graph_data = graph.s;
        own.graph_size = graph.n;
    }
    status = convert_sources(sources, n, &own, summary, d);
    strbuf_deinit(&graph);
    if (status == MAREY_OK) {
        strbuf truth = {0};
        strbuf_printf(&truth, "%s.truth.json", options->out);
        status = truth_write(&s, truth.s, d);
        strbuf_deinit(&truth);
    }
    free(sources);
    free(ranks);
    solution_deinit(&s);
    return status;
}

static marey_status count_event(void *ctx, const synth_event *e)
{
    (void)e;
    ++*(uint64_t *)ctx;
    return MAREY_OK;
}

marey_status synth_measure(const synth_params *p, synth_size *size, diag *d)
{
    solution s;
    *size = (synth_size){0};
    marey_status status = solve(&s, p, NULL);
    synth_sink sink = {.ctx = &size->n_events, .event = count_event};
    for (int r = 0; r < p->ranks && status == MAREY_OK; r++) {
        status = emit_rank(&s, r, &sink);
    }
    size->duration_ns = s.end_ns;
    solution_deinit(&s);
    return cancelled(status, d);
}

/* Events of the run for one detail, judged by one step. */
static marey_status estimate(const synth_params *p, int detail, bool cpu, uint64_t *events, diag *d)
{
    synth_params one = *p;
    synth_size size;
    one.steps = 1;
    one.n_faults = 0;
    one.detail = detail;
    one.cpu = cpu;
    one.dp = one.dp > 2 ? 2 : one.dp;
    one.ranks = one.pp * one.tp * one.dp;
    marey_status status = synth_measure(&one, &size, d);
    *events = size.n_events / (uint64_t)one.ranks * (uint64_t)p->steps;
    return status;
}

marey_status synth_fit_events(synth_params *p, uint64_t events, diag *d)
{
    uint64_t best = UINT64_MAX;
    synth_params chosen = *p;
    for (int cpu = 0; cpu <= (p->cpu ? 1 : 0); cpu++) {
        for (int detail = SYNTH_MIN_DETAIL; detail <= SYNTH_MAX_DETAIL; detail += detail < 16 ? 1 : 4) {
            uint64_t n = 0;
            marey_status status = estimate(p, detail, cpu == 1, &n, d);
            if (status != MAREY_OK) {
                return status;
            }
            uint64_t off = n > events ? n - events : events - n;
            if (off < best) {
                best = off;
                chosen.detail = detail;
                chosen.cpu = cpu == 1;
            }
        }
    }
    *p = chosen;
    return MAREY_OK;
}
