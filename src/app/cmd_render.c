/* `marey render`: the window's picture without a window. */
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/look.h"
#include "app/picture.h"
#include "app/program.h"

typedef struct render_job {
    session_look look;
    const char *out;
    int size[2];
    double scale;
    bool quiet;
    char *file;
} render_job;

static bool check(const render_job *job)
{
    size_t n = job->out ? strlen(job->out) : 0;
    const char *wrong = NULL;
    if (!job->out) {
        wrong = "-o OUT.png is missing";
    } else if (n < 5 || strcmp(job->out + n - 4, ".png") != 0) {
        wrong = "the picture's name must end in .png";
    } else if (!(job->scale >= 0.25 && job->scale <= 8)) {
        wrong = "--scale wants a number from 0.25 to 8";
    }
    if (wrong) {
        (void)fprintf(stderr, "marey render: %s.\n", wrong);
    }
    return wrong == NULL && look_check("render", &job->look);
}

int cmd_render(int argc, char **argv)
{
    render_job job = {.look = SESSION_LOOK_DEFAULT, .size = {1920, 1080}, .scale = 1};
    job.look.panels = PANELS_AUTO;
    const arg_option options[] = {
        {"--output", 'o', ARG_TEXT, "OUT.png", "the picture to write", &job.out, NULL},
        {"--size", 0, ARG_SIZE, "WxH", "pixels of the picture (1920x1080)", job.size, NULL},
        {"--scale", 0, ARG_REAL, "S", "pixels per design pixel: 2 for a high-resolution display (1)", &job.scale, NULL},
        LOOK_OPTIONS(job.look),
        GRAPH_OPTIONS(job.look.graph),
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &job.quiet, NULL},
    };
    const arg_command command = {
        "render",
        "PATH... -o OUT.png",
        "Draw a picture of a run without a window; what the window shows, pixel for pixel.",
        options,
        sizeof options / sizeof *options,
        1,
        ARGS_UNLIMITED,
        "PATH is a file that `marey convert` wrote, or profiler files and folders, which are converted first.\n"
        "The picture is drawn when all of its data is in, so it never depends on timing."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (!check(&job)) {
        return EXIT_USAGE;
    }
    diag d;
    diag_init(&d);
    marey_status status = input_resolve(paths.items, paths.n, job.quiet, &job.file, &d);
    if (status == MAREY_OK) {
        picture p = {job.look, job.file, job.out, job.size[0], job.size[1], job.scale};
        status = picture_write(&p, &d);
    }
    program_print_messages(&d, job.quiet);
    diag_deinit(&d);
    free(job.file);
    return program_exit_code(status);
}
