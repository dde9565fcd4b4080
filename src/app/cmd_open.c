/* `marey [open] PATH...`: the window. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/args.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/look.h"
#include "app/program.h"
#include "app/window.h"
#include "base/file.h"
#include "base/text.h"

/* GTK's setting, which GNOME and others write when the user turns animations off. */
static bool settings_say_no_motion(const char *dir, const char *version)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s/gtk-%s/settings.ini", dir, version);
    char *text = NULL;
    size_t n = 0;
    bool off = false;
    if (file_exists(path.s) && file_read_all(path.s, 1 << 20, &text, &n, NULL) == MAREY_OK) {
        off = strstr(text, "gtk-enable-animations=0") || strstr(text, "gtk-enable-animations=false");
    }
    free(text);
    strbuf_deinit(&path);
    return off;
}

static bool desktop_wants_no_motion(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    strbuf dir = {0};
    if (config && config[0]) {
        strbuf_puts(&dir, config);
    } else if (home) {
        strbuf_printf(&dir, "%s/.config", home);
    }
    bool off = settings_say_no_motion(strbuf_str(&dir), "3.0") || settings_say_no_motion(strbuf_str(&dir), "4.0");
    strbuf_deinit(&dir);
    return off;
}

static int open_paths(const arg_operands *paths, window_options *o, bool quiet)
{
    diag d;
    diag_init(&d);
    char *file = NULL;
    marey_status status = input_resolve(paths->items, paths->n, quiet, &file, &d);
    if (status == MAREY_OK) {
        o->reduced_motion = o->reduced_motion || desktop_wants_no_motion();
        status = window_run(file, o, &d);
    }
    program_print_messages(&d, quiet);
    diag_deinit(&d);
    free(file);
    return program_exit_code(status);
}

int cmd_open(int argc, char **argv)
{
    window_options o = {.look = SESSION_LOOK_DEFAULT};
    bool quiet = false;
    o.look.panels = PANELS_ON;
    const arg_option options[] = {
        {"--size", 0, ARG_SIZE, "WxH", "size of the window (most of the display)", o.size, NULL},
        {"--scale", 0, ARG_REAL, "S", "pixels per design pixel (the display's own)", &o.scale, NULL},
        LOOK_OPTIONS(o.look),
        GRAPH_OPTIONS(o.look.graph),
        {"--reduced-motion", 0, ARG_FLAG, NULL, "no animated zoom, no fades", &o.reduced_motion, NULL},
        {"--frames-log", 0, ARG_TEXT, "FILE", "write one JSON object a frame: when, how long, what range",
         &o.frames_log, NULL},
        {"--quiet", 'q', ARG_FLAG, NULL, "only errors on standard error", &quiet, NULL},
    };
    const arg_command command = {"open",
                                 "PATH...",
                                 "Show a run in a window. `marey PATH...` is the same.",
                                 options,
                                 sizeof options / sizeof *options,
                                 1,
                                 ARGS_UNLIMITED,
                                 "PATH is a file that `marey convert` wrote, or profiler files and folders, which are "
                                 "converted first, into a file\n"
                                 "in the cache folder ($XDG_CACHE_HOME/marey) that is found there the next time.\n"
                                 "In the window, ? shows the keys; so does `marey help keys`."};
    arg_operands paths;
    arg_result parsed = args_parse(&command, argc, argv, &paths);
    if (parsed != ARGS_OK) {
        return parsed == ARGS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    if (o.scale != 0 && !(o.scale >= 0.25 && o.scale <= 8)) {
        (void)fputs("marey open: --scale wants a number from 0.25 to 8.\n", stderr);
        return EXIT_USAGE;
    }
    return look_check("open", &o.look) ? open_paths(&paths, &o, quiet) : EXIT_USAGE;
}
