/* marey convert: profiler files and folders to one HDF5 file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/program.h"
#include "app/progress.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/convert.h"

enum { MAX_GRAPHS = 256 };

typedef struct convert_job {
    const char *out, *rules, *topology;
    const char *graphs[MAX_GRAPHS];
    size_t n_graphs;
    uint64_t jobs, memory_mib;
    bool strict, force, quiet, no_align, no_infer_scopes;
} convert_job;

/* Next to the first input: run/rank0.json.gz -> run/rank0.h5, run/ -> run.h5. */
static char *default_out(const char *path)
{
    static const char *const endings[] = {".gz",    ".zst",  ".zip", ".json", ".trace", ".pt", ".onnx", ".pb",
                                          ".pbtxt", ".meta", ".hlo", ".mlir", ".dot",   ".gv", ".et"};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    for (bool cut = true; cut;) {
        cut = false;
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            size_t ending = strlen(endings[i]);
            if (n > ending + 1 && path[n - ending - 1] != '/' &&
                strncasecmp(path + n - ending, endings[i], ending) == 0) {
                n -= ending;
                cut = true;
            }
        }
    }
    strbuf out = {0};
    strbuf_add(&out, path, n);
    strbuf_puts(&out, ".h5");
    return out.s;
}

static void print_events(const convert_summary *s, const char *out, const char *in, const char *took, const char *size)
{
    char events[48];
    char rate[32];
    double seconds = s->seconds > 1e-3 ? s->seconds : 1e-3;
    count_format(s->n_events, events, sizeof events);
    count_format_short((uint64_t)((double)s->n_events / seconds), rate, sizeof rate);
    (void)fprintf(stderr, "%s: %s %s of %llu %s from %llu %s (%s) in %s, %s/s; %s\n", out, events,
                  s->n_events == 1 ? "event" : "events", (unsigned long long)s->n_ranks,
                  s->n_ranks == 1 ? "rank" : "ranks", (unsigned long long)s->n_inputs,
                  s->n_inputs == 1 ? "file" : "files", in, took, rate, size);
}

static void print_summary(const convert_summary *s, const char *out)
{
    char events[48];
    char in[32];
    char size[32];
    char took[32];
    bytes_format(s->bytes_in, in, sizeof in);
    bytes_format(s->bytes_out, size, sizeof size);
    time_format((int64_t)(s->seconds * 1e9), took, sizeof took);
    if (s->n_events == 0 && s->n_ranks == 0) { /* nothing ran */
        (void)fprintf(stderr, "%s: a computational graph, from %s in %s; %s\n", out, in, took, size);
    } else {
        print_events(s, out, in, took, size);
    }
    if (s->n_losses > 0) {
        count_format(s->n_losses, events, sizeof events);
        (void)fprintf(stderr, "%s %s dropped or repaired: `marey info %s` tells which\n", events,
                      s->n_losses == 1 ? "record was" : "records were", out);
    }
}

static const char *add_graph(void *ctx, const char *text)
{
    convert_job *job = ctx;
    if (job->n_graphs == MAX_GRAPHS) {
        return "at most 256 files; a folder may hold more";
    }
    job->graphs[job->n_graphs++] = text;
    return NULL;
}

static marey_status convert(const convert_job *job, const arg_operands *paths, convert_options *options,
                            convert_summary *summary, diag *d)
{
    arena names = {0};
    char **graphs = NULL;
    size_t n = 0;
    size_t cap = 0;
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < job->n_graphs && status == MAREY_OK; i++) {
        status = convert_list_graphs(job->graphs[i], &names, &graphs, &n, &cap, d);
    }
    options->graph_paths = (const char *const *)graphs;
    options->n_graphs = n;
    if (status == MAREY_OK) {
        status = convert_paths(paths->items, paths->n, options, summary, d);
    }
    free((void *)graphs);
    arena_deinit(&names);
    return status;
}

static int run(const convert_job *job, const arg_operands *paths)
{
    char *guess = job->out ? NULL : default_out(paths->items[0]);
    const char *out = job->out ? job->out : guess;
    diag d;
    diag_init(&d);
    progress_line line;
    progress_begin(&line, job->quiet);
    convert_options options = {.out = out,
                               .jobs = (unsigned)job->jobs,
                               .force = job->force,
                               .strict = job->strict,
                               .rules_path = job->rules,
                               .no_align = job->no_align,
                               .topology_path = job->topology,
                               .no_infer_scopes = job->no_infer_scopes,
                               .memory_bytes = job->memory_mib << 20,
                               .progress = progress_report,
                               .progress_ctx = &line,
                               .cancel = &program_cancel};
    convert_summary summary = {0};
    program_catch_interrupt();
    marey_status status = convert(job, paths, &options, &summary, &d);
    progress_end(&line);
    program_print_messages(&d, job->quiet);
    if (status == MAREY_OK && !job->quiet) {
        print_summary(&summary, out);
    }
    diag_deinit(&d);
    free(guess);
    return program_exit_code(status);
}

int cmd_convert(int argc, char **argv)
{
    convert_job job = {0};
    const arg_option options[] = {
        {"--out", 'o', ARG_TEXT, "OUT.h5", "where to write (next to the input, with .h5)", &job.out, NULL},
        {"--jobs", 'j', ARG_COUNT, "N", "threads (one per core)", &job.jobs, NULL},
        {"--strict", 0, ARG_FLAG, NULL, "a record that would be dropped or repaired is an error", &job.strict, NULL},
        {"--force", 'f', ARG_FLAG, NULL, "replace a file at OUT that marey did not write", &job.force, NULL},
        {"--rules", 0, ARG_TEXT, "FILE", "category rules that come before the built-in ones", &job.rules, NULL},
        {"--topology", 0, ARG_TEXT, "FILE", "places of ranks, lines such as \"rank 0 host=a stage=0 dp=0 tp=1\"",
         &job.topology, NULL},
        {"--graph", 0, ARG_EACH, "FILE",
         "the model's computational graph, to be joined to the run; a folder, or several times: stages", &job,
         add_graph},
        {"--no-infer-scopes", 0, ARG_FLAG, NULL, "leave a graph that states no modules without any",
         &job.no_infer_scopes, NULL},
        {"--no-align", 0, ARG_FLAG, NULL, "leave the hosts' clocks as they are", &job.no_align, NULL},
        {"--memory", 0, ARG_COUNT, "MIB", "memory for events before they go to a scratch file (128)", &job.memory_mib,
         NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &job.quiet, NULL},
    };
    const arg_command command = {
        "convert",
        "IN... -o OUT.h5",
        "Converts profiler output (PyTorch, Chrome trace JSON, MindSpore, Ascend; also .gz, .zst, .zip) and "
        "computational\n"
        "graphs (ONNX, TensorFlow, MindSpore, HLO, MLIR, ExecutionTrace, Chakra, DOT, Model Explorer) into one HDF5 "
        "file.\n"
        "Folders are read with all that lies below; a file is one rank, or in plain Chrome traces\n"
        "each process is one.",
        options,
        sizeof options / sizeof *options,
        1,
        ARGS_UNLIMITED,
        "The file appears at OUT when it is complete; an earlier marey file there is replaced. "
        "Ctrl-C leaves nothing behind."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (job.jobs > 1024 || job.memory_mib > (1U << 20)) {
        (void)fputs("marey convert: --jobs goes up to 1024, --memory to 1048576 MiB.\n", stderr);
        return EXIT_USAGE;
    }
    return run(&job, &paths);
}
