/* marey graph: a computational graph simplified, laid out and counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/graph_answer.h"
#include "app/input.h"
#include "app/program.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "convert/convert.h"
#include "readers/graph_reader.h"
#include "store/store.h"

typedef struct graph_job {
    graph_request request;
    bool json, quiet, no_infer_scopes;
    int strictness, direction;
} graph_job;

/** For --off: a word, or several by comma. */
static const char *switch_off(void *ctx, const char *text)
{
    plan_options *o = ctx;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        bool known = false;
        for (unsigned i = 0; i < GRAPH_STEP_COUNT; i++) {
            const char *name = graph_step_name((graph_step)i);
            if (strlen(name) == n && memcmp(name, p, n) == 0) {
                o->steps[i] = false;
                known = true;
            }
        }
        if (!known) {
            return "parameters, bookkeeping, chains, cycles, prune or stack";
        }
        p += n + (p[n] == ',');
    }
    return NULL;
}

static marey_status read_stored(const char *file, graph *g, diag *d)
{
    store_file *f = NULL;
    marey_status status = store_open(&f, file, d);
    if (status == MAREY_OK) {
        status = store_read_graph(f, g, d);
    }
    store_close(&f);
    return status;
}

typedef struct graph_files {
    char **paths;
    size_t n, cap;
    arena names;
} graph_files;

/* The files of a folder that make one graph together, the stages of a pipeline; other graphs in folders are found by
 * the converter. */
static bool list_parts(const char *folder, graph_files *f)
{
    size_t before = f->n;
    bool parts = convert_list_graphs(folder, &f->names, &f->paths, &f->n, &f->cap, NULL) == MAREY_OK;
    for (size_t i = before; i < f->n && parts; i++) {
        parts = graph_is_part_file(f->paths[i]);
    }
    return parts;
}

static bool list_graphs(const arg_operands *paths, graph_files *f)
{
    for (size_t i = 0; i < paths->n; i++) {
        const char *path = paths->items[i];
        if (file_is_dir(path) ? !list_parts(path, f) : input_is_hdf5(path) || graph_sniff_file(path) <= 0) {
            return false;
        }
        if (!file_is_dir(path)) {
            VEC_PUSH(f->paths, f->n, f->cap, arena_strndup(&f->names, path, strlen(path)));
        }
    }
    return true;
}

/* Graph files as they are; a marey file; anything else by way of the converter. */
static marey_status read_graph(const arg_operands *paths, const graph_job *job, graph *g, diag *d)
{
    graph_files files = {0};
    if (list_graphs(paths, &files)) {
        graph_finish_options options = {.infer_scopes = !job->no_infer_scopes, .cancel = &program_cancel};
        marey_status status = graph_read_files((const char *const *)files.paths, files.n, &options, g, d);
        free((void *)files.paths);
        arena_deinit(&files.names);
        return status;
    }
    free((void *)files.paths);
    arena_deinit(&files.names);
    char *file = NULL;
    marey_status status = input_resolve(paths->items, paths->n, job->quiet, &file, d);
    if (status == MAREY_OK) {
        status = read_stored(file, g, d);
    }
    free(file);
    return status;
}

static int run(const graph_job *job, const arg_operands *paths)
{
    diag d;
    diag_init(&d);
    graph g = {0};
    graph_answer a = {.g = &g, .losses = &d};
    program_catch_interrupt();
    int64_t began_ns = clock_now_ns();
    marey_status status = read_graph(paths, job, &g, &d);
    a.read_s = (double)(clock_now_ns() - began_ns) * 1e-9;
    if (status == MAREY_OK) {
        status = graph_answer_make(&a, &job->request, &d);
    }
    if (status == MAREY_OK && job->json) {
        graph_answer_print_json(&a);
    } else if (status == MAREY_OK) {
        graph_answer_print(&a);
    }
    if (status == MAREY_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        status = diag_error(&d, MAREY_IO, NULL, DIAG_NO_OFFSET, "The answer could not be written to standard output.");
    }
    program_print_messages(&d, job->quiet);
    graph_answer_deinit(&a);
    graph_deinit(&g);
    diag_deinit(&d);
    return program_exit_code(status);
}

int cmd_graph(int argc, char **argv)
{
    graph_job job = {.strictness = STRICT_STRUCTURAL};
    graph_request *r = &job.request;
    plan_options_init(&r->plan);
    const arg_option options[] = {
        {"--json", 0, ARG_FLAG, NULL, "one JSON object", &job.json, NULL},
        {"--expand", 0, ARG_COUNT, "N", "open N modules at random beyond the first view", &r->expand, NULL},
        {"--seed", 0, ARG_COUNT, "S", "which ones (0)", &r->seed, NULL},
        {"--expand-all", 0, ARG_FLAG, NULL, "open everything", &r->expand_all, NULL},
        {"--off", 0, ARG_EACH, "STEP",
         "leave out parameters, bookkeeping, chains, cycles, prune or stack; several by comma", &r->plan, switch_off},
        {"--strictness", 0, ARG_CHOICE, "exact|shape-free|structural|loose",
         "how alike stacked modules must be (structural)", &job.strictness, NULL},
        {"--no-infer-scopes", 0, ARG_FLAG, NULL, "leave a graph that states no modules without any",
         &job.no_infer_scopes, NULL},
        {"--direction", 0, ARG_CHOICE, "right|down", "which way the layers run (right)", &job.direction, NULL},
        {"--table", 0, ARG_FLAG, NULL, "also the visible elements after each technique: first view, and all open",
         &r->table, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &job.quiet, NULL},
    };
    const arg_command command = {"graph",
                                 "FILE...",
                                 "A model's computational graph, simplified and laid out: what each technique did, "
                                 "which parts are equal, and how\n"
                                 "every edge of the input is shown.",
                                 options,
                                 sizeof options / sizeof *options,
                                 1,
                                 ARGS_UNLIMITED,
                                 "FILE is a graph (ONNX, TensorFlow, MindSpore, HLO, MLIR, ExecutionTrace, Chakra, "
                                 "DOT, Model Explorer), or a run "
                                 "that\nwas converted with one; several files of MindSpore, or a folder of them, are "
                                 "the pipeline stages of one graph. `marey render --layout graph` draws it."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    r->plan.strictness = (graph_strictness)job.strictness;
    r->direction = (layout_direction)job.direction;
    return run(&job, &paths);
}
