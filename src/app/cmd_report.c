/* marey report: the diagnosis, in words and numbers. The JSON's form is a contract: see docs/cli.md. */
#include <stdio.h>
#include <stdlib.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/program.h"
#include "app/report.h"
#include "store/store.h"

typedef struct report_job {
    bool json, quiet;
    uint64_t jobs;
} report_job;

static marey_status answer(const report_job *job, store_file *f, diag *d)
{
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

static int run(const report_job *job, const arg_operands *paths)
{
    diag d;
    diag_init(&d);
    char *file = NULL;
    store_file *f = NULL;
    marey_status status = input_resolve(paths->items, paths->n, job->quiet, &file, &d);
    if (status == MAREY_OK) {
        status = store_open(&f, file, &d);
    }
    if (status == MAREY_OK) {
        status = answer(job, f, &d);
    }
    if (status == MAREY_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        status = diag_error(&d, MAREY_IO, NULL, DIAG_NO_OFFSET, "The answer could not be written to standard output.");
    }
    program_print_messages(&d, job->quiet);
    store_close(&f);
    diag_deinit(&d);
    free(file);
    return program_exit_code(status);
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
    return run(&job, &paths);
}
