/* `marey synth`: a simulated training run on a cluster, with faults that are known. */
#include <stdio.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/program.h"
#include "app/progress.h"
#include "base/text.h"
#include "synth/synth.h"

/* What the command line says; -1, 0 or UNSET where it says nothing and the preset counts. */
#define UNSET UINT64_MAX

typedef struct synth_request {
    synth_params p;
    const char *preset;
    uint64_t ranks, steps, first_step, pp, tp, dp, micro_batches, layers, buckets, detail, seed, events_per_rank;
    double noise;
    int format, grad_sync, arguments;
    bool no_cpu, no_graph, recompute, p2p_wait, quiet, force;
    char fault_message[512];
} synth_request;

enum { FORMAT_GUESS, FORMAT_KINETO, FORMAT_H5 };

static const char *add_fault(void *ctx, const char *text)
{
    synth_request *r = ctx;
    if (r->p.n_faults == SYNTH_MAX_FAULTS) {
        return "at most 32 faults";
    }
    diag d;
    diag_init(&d);
    bool ok = synth_parse_fault(text, &r->p.faults[r->p.n_faults], &d) == MAREY_OK;
    r->p.n_faults += ok;
    if (!ok) {
        const char *expected = strstr(d.messages[0].text, "expected ");
        (void)snprintf(r->fault_message, sizeof r->fault_message, "%s", expected ? expected + 9 : d.messages[0].text);
    }
    diag_deinit(&d);
    return ok ? NULL : r->fault_message;
}

static void set_int(int *to, uint64_t value)
{
    if (value != UNSET) {
        *to = value > INT32_MAX ? INT32_MAX : (int)value;
    }
}

/* The preset's values, then what was asked for on top. */
static bool apply(synth_request *r)
{
    synth_params asked = r->p;
    if (!synth_preset(r->preset, &r->p)) {
        (void)fprintf(stderr, "marey synth: There is no preset \"%s\"; there are pangu-13b and resnet50.\n", r->preset);
        return false;
    }
    synth_params *p = &r->p;
    set_int(&p->ranks, r->ranks);
    set_int(&p->steps, r->steps);
    set_int(&p->first_step, r->first_step);
    set_int(&p->pp, r->pp);
    set_int(&p->tp, r->tp);
    set_int(&p->dp, r->dp);
    set_int(&p->micro_batches, r->micro_batches);
    set_int(&p->layers, r->layers);
    set_int(&p->buckets, r->buckets);
    set_int(&p->detail, r->detail);
    p->seed = r->seed == UNSET ? p->seed : r->seed;
    p->noise = r->noise < 0 ? p->noise : r->noise;
    p->grad_sync = r->grad_sync == 0 ? p->grad_sync : r->grad_sync == 1 ? GRAD_ALLREDUCE : GRAD_SHARDED;
    p->arguments = r->arguments == 0 ? p->arguments : (synth_arguments)(r->arguments - 1);
    p->cpu = !r->no_cpu;
    p->graph = !r->no_graph;
    p->recompute = r->recompute;
    p->p2p_wait = r->p2p_wait;
    p->clock_offset_max_ns = asked.clock_offset_max_ns;
    p->clock_jitter_max_ns = asked.clock_jitter_max_ns;
    p->clock_drift_max_ppm = asked.clock_drift_max_ppm;
    p->n_faults = asked.n_faults;
    memcpy(p->faults, asked.faults, sizeof p->faults);
    return true;
}

static bool ends_in_h5(const char *path)
{
    size_t n = strlen(path);
    return (n > 3 && strcmp(path + n - 3, ".h5") == 0) || (n > 5 && strcmp(path + n - 5, ".hdf5") == 0);
}

static int exit_code(marey_status status)
{
    return status == MAREY_OK ? EXIT_DONE : status == MAREY_ARG || status == MAREY_LIMIT ? EXIT_USAGE : EXIT_INPUT;
}

static marey_status write_h5(const synth_request *r, const char *out, diag *d)
{
    progress_line line;
    convert_summary summary = {0};
    progress_begin(&line, r->quiet);
    convert_options options = {.out = out,
                               .force = r->force,
                               .run_name = r->p.preset,
                               .progress = progress_report,
                               .progress_ctx = &line,
                               .cancel = &program_cancel};
    marey_status status = synth_write_h5(&r->p, &options, &summary, d);
    progress_end(&line);
    if (status == MAREY_OK && !r->quiet) {
        char events[48];
        count_format(summary.n_events, events, sizeof events);
        (void)fprintf(stderr, "%s: %s events of %d ranks in %.1f s, and the truth in %s.truth.json\n", out, events,
                      r->p.ranks, summary.seconds, out);
    }
    return status;
}

static int run(synth_request *r, const char *out)
{
    diag d;
    if (!apply(r)) {
        return EXIT_USAGE;
    }
    diag_init(&d);
    marey_status status = synth_check(&r->p, &d);
    if (status == MAREY_OK && r->events_per_rank != UNSET) {
        status = synth_fit_events(&r->p, r->events_per_rank, &d);
    }
    bool h5 = r->format == FORMAT_H5 || (r->format == FORMAT_GUESS && ends_in_h5(out));
    if (status == MAREY_OK) {
        program_catch_interrupt();
        status = h5 ? write_h5(r, out, &d) : synth_write_kineto(&r->p, out, &program_cancel, &d);
    }
    if (status == MAREY_OK && !h5 && !r->quiet) {
        (void)fprintf(stderr, "%s: %d ranks, %d step%s, and the truth in %s/truth.json\n", out, r->p.ranks, r->p.steps,
                      r->p.steps == 1 ? "" : "s", out);
    }
    program_print_messages(&d, r->quiet);
    diag_deinit(&d);
    return exit_code(status);
}

static const char notes[] =
    "FAULT is one of\n"
    "  slow-rank:RANK,FACTOR          its compute takes FACTOR times as long\n"
    "  slow-link:RANK-RANK,FACTOR     the bandwidth between two ranks is FACTOR times as high\n"
    "  stall:RANK[,DURATION]          one pause, such as 200ms\n"
    "  imbalance:STAGE,FACTOR         the stage's compute takes FACTOR times as long\n"
    "  launch-bound:RANK[,FACTOR]     its host takes FACTOR times as long to launch as its kernels run\n"
    "  step-outlier:STEP,FACTOR       all compute in the step takes FACTOR times as long\n"
    "with an optional @STEPS behind it, such as @3..7 (both included) or @5.\n"
    "The truth about what was injected, and about every clock, is written to OUT/truth.json or OUT.truth.json; the\n"
    "model's computational graph, with stages and sharding, to OUT/graph.json or into the HDF5 file.\n";

int cmd_synth(int argc, char **argv)
{
    synth_request r = {.preset = "pangu-13b",
                       .ranks = UNSET,
                       .steps = UNSET,
                       .first_step = UNSET,
                       .pp = UNSET,
                       .tp = UNSET,
                       .dp = UNSET,
                       .micro_batches = UNSET,
                       .layers = UNSET,
                       .buckets = UNSET,
                       .detail = UNSET,
                       .seed = UNSET,
                       .events_per_rank = UNSET,
                       .noise = -1};
    const arg_option options[] = {
        {"--preset", 0, ARG_TEXT, "NAME", "pangu-13b (40 layers, 8 stages) or resnet50 (data parallel)", &r.preset,
         NULL},
        {"--ranks", 0, ARG_COUNT, "N", "devices; 8 share a host", &r.ranks, NULL},
        {"--steps", 0, ARG_COUNT, "N", "training steps (4)", &r.steps, NULL},
        {"--first-step", 0, ARG_COUNT, "N", "number of the first one (0)", &r.first_step, NULL},
        {"--pp", 0, ARG_COUNT, "N", "pipeline stages", &r.pp, NULL},
        {"--tp", 0, ARG_COUNT, "N", "tensor parallel size", &r.tp, NULL},
        {"--dp", 0, ARG_COUNT, "N", "data parallel size; ranks = pp x tp x dp", &r.dp, NULL},
        {"--micro-batches", 0, ARG_COUNT, "N", "per step and pipeline", &r.micro_batches, NULL},
        {"--layers", 0, ARG_COUNT, "N", "of the whole network", &r.layers, NULL},
        {"--buckets", 0, ARG_COUNT, "N", "gradient collectives per stage; 0: one per layer", &r.buckets, NULL},
        {"--grad-sync", 0, ARG_CHOICE, "preset|allreduce|sharded", "how gradients are summed", &r.grad_sync, NULL},
        {"--recompute", 0, ARG_FLAG, NULL, "backward runs forward again first", &r.recompute, NULL},
        {"--p2p-wait", 0, ARG_FLAG, NULL, "receives spin from when they are posted", &r.p2p_wait, NULL},
        {"--seed", 0, ARG_COUNT, "N", "the same seed gives the same bytes (1)", &r.seed, NULL},
        {"--noise", 0, ARG_REAL, "X", "relative deviation of a kernel's duration (0.02)", &r.noise, NULL},
        {"--detail", 0, ARG_COUNT, "N", "kernels per layer and forward pass, 4 to 48", &r.detail, NULL},
        {"--events-per-rank", 0, ARG_COUNT, "N", "choose the detail for about N events", &r.events_per_rank, NULL},
        {"--no-cpu", 0, ARG_FLAG, NULL, "no operators and launches of the host", &r.no_cpu, NULL},
        {"--no-graph", 0, ARG_FLAG, NULL, "no computational graph", &r.no_graph, NULL},
        {"--clock-offset", 0, ARG_TIME, "MAX", "hosts' clocks are off by up to this", &r.p.clock_offset_max_ns, NULL},
        {"--clock-drift-ppm", 0, ARG_REAL, "MAX", "and drift by up to this", &r.p.clock_drift_max_ppm, NULL},
        {"--clock-jitter", 0, ARG_TIME, "MAX", "ranks leave a collective late by up to this", &r.p.clock_jitter_max_ns,
         NULL},
        {"--inject", 0, ARG_EACH, "FAULT", "a fault; may come several times", &r, add_fault},
        {"--format", 0, ARG_CHOICE, "by-name|kineto|h5", "a folder of JSON files, or one HDF5 file", &r.format, NULL},
        {"--arguments", 0, ARG_CHOICE, "preset|none|collectives|all", "what an HDF5 file keeps of them", &r.arguments,
         NULL},
        {"--force", 0, ARG_FLAG, NULL, "replace an HDF5 file that marey did not write", &r.force, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "no progress, no notes", &r.quiet, NULL},
    };
    const arg_command command = {"synth",
                                 "OUT [OPTIONS]",
                                 "Simulate a training run and write it as a profiler would have: OUT is a folder of "
                                 "Kineto JSON files, one per rank, or with a name in .h5 one HDF5 file.",
                                 options,
                                 sizeof options / sizeof *options,
                                 1,
                                 1,
                                 notes};
    arg_operands out;
    switch (args_parse(&command, argc, argv, &out)) {
    case ARGS_HELP:
        return EXIT_DONE;
    case ARGS_WRONG:
        return EXIT_USAGE;
    default:
        return run(&r, out.items[0]);
    }
}
