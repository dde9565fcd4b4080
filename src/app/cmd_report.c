/* marey report: the diagnosis, in words and numbers. The JSON's form is a contract: see docs/cli.md. */
#include <stdio.h>
#include <stdlib.h>

#include "app/answer.h"
#include "app/args.h"
#include "app/commands.h"
#include "app/program.h"
#include "app/report.h"
#include "store/store.h"

typedef struct report_job {
    bool json, quiet;
    uint64_t jobs;
} report_job;

static marey_status answer(const void *ctx, store_file *f, diag *d)
{
    const report_job *job = ctx;
    diagnosis g;
    diagnose_options options = {.jobs = (unsigned)job->jobs, .cancel = &program_cancel};
    program_catch_interrupt();
    marey_status status = diagnose_run(f, &options, &g, d);
    if (status != MAREY_OK) {
        return status;
    }
    if (job->json) {
        json_out j = {.file = stdout};
        report_json(&j, &g);
        (void)putchar('\n');
    } else {
        report_print(&g, store_path(f));
    }
    diagnose_free(&g);
    return MAREY_OK;
}

int cmd_report(int argc, char **argv)
{
    report_job job = {0};
    const arg_option options[] = {
        {"--json", 0, ARG_FLAG, NULL, "one JSON object", &job.json, NULL},
        {"--jobs", 'j', ARG_COUNT, "N", "threads (one per core)", &job.jobs, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &job.quiet, NULL},
    };
    const arg_command command = {
        "report",
        "FILE",
        "Why the steps are as long as they are: where the time of each rank goes, slow ranks and links, pauses, late "
        "launches,\nstages out of balance, the pipeline's bubble, steps that stand out; and what the run would take "
        "without them.",
        options,
        sizeof options / sizeof *options,
        1,
        ARGS_UNLIMITED,
        "Severity follows from the share of the step time that a finding costs: over 0.30 something is wrong. Formulas "
        "and\nthresholds are in docs/diagnosis.md."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (job.jobs > 1024) {
        (void)fputs("marey report: --jobs goes up to 1024.\n", stderr);
        return EXIT_USAGE;
    }
    return program_answer(paths.items, paths.n, job.quiet, answer, &job);
}
