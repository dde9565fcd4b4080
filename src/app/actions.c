#include "app/actions.h"

#include <string.h>

#include "app/comm_actions.h"
#include "app/graph_actions.h"
#include "app/select.h"
#include "app/steps.h"

static const double ZOOM = 1.6; /* per key press */
static const double PAN = 0.15; /* of what is shown */
static const double ROWS = 1.25;
static const double SCROLL_PX = 60;

static double shown_height_px(const session *s)
{
    return (double)s->frame.plot.h / s->input.scale;
}

static double shown_middle_y(const session *s)
{
    return (double)s->frame.plot.y + 0.5 * (double)s->frame.plot.h;
}

static void zoom_in(session *s, int64_t now_ns)
{
    session_zoom(s, ZOOM, session_cursor_at(s), now_ns);
}

static void zoom_out(session *s, int64_t now_ns)
{
    session_zoom(s, 1 / ZOOM, session_cursor_at(s), now_ns);
}

static void pan_left(session *s, int64_t now_ns)
{
    session_pan(s, -PAN, now_ns);
}

static void pan_right(session *s, int64_t now_ns)
{
    session_pan(s, PAN, now_ns);
}

static void page_left(session *s, int64_t now_ns)
{
    session_pan(s, -0.9, now_ns);
}

static void page_right(session *s, int64_t now_ns)
{
    session_pan(s, 0.9, now_ns);
}

static void scroll_up(session *s, int64_t now_ns)
{
    (void)now_ns;
    session_scroll(s, -SCROLL_PX);
}

static void scroll_down(session *s, int64_t now_ns)
{
    (void)now_ns;
    session_scroll(s, SCROLL_PX);
}

static void page_up(session *s, int64_t now_ns)
{
    (void)now_ns;
    session_scroll(s, -0.9 * shown_height_px(s));
}

static void page_down(session *s, int64_t now_ns)
{
    (void)now_ns;
    session_scroll(s, 0.9 * shown_height_px(s));
}

static void rows_taller(session *s, int64_t now_ns)
{
    (void)now_ns;
    session_zoom_rows(s, ROWS, shown_middle_y(s));
}

static void rows_shorter(session *s, int64_t now_ns)
{
    (void)now_ns;
    session_zoom_rows(s, 1 / ROWS, shown_middle_y(s));
}

static void rows_fit(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.row_px = 0;
    s->view.scroll_px = 0;
    s->is_dirty = true;
}

static void whole_run(session *s, int64_t now_ns)
{
    rows_fit(s, now_ns);
    steps_run(s, now_ns);
}

static void step_next(session *s, int64_t now_ns)
{
    steps_move(s, 1, now_ns);
}

static void step_previous(session *s, int64_t now_ns)
{
    steps_move(s, -1, now_ns);
}

static void heat_cells(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.show_heat = !s->view.show_heat;
    s->is_dirty = true;
}

static void lines(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.lines = (uint8_t)((s->view.lines + 1) % LINES_MODES);
    s->is_dirty = true;
}

static void overview(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.overview = (uint8_t)((s->view.overview + 1) % OVERVIEW_MODES);
    s->is_dirty = true;
}

static void sort_by(session *s, heat_column c)
{
    view_sort_by(&s->view, c);
    s->is_dirty = true;
}

static void sort_busy(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_BUSY);
}

static void sort_compute(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_COMPUTE);
}

static void sort_exposed(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_EXPOSED);
}

static void sort_wait(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_WAIT);
}

static void sort_idle(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_IDLE);
}

static void sort_late(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_LATE);
}

static void sort_flops(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_FLOPS);
}

static void sort_mfu(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_MFU);
}

static void sort_memory(session *s, int64_t now_ns)
{
    (void)now_ns;
    sort_by(s, HEAT_MEMORY);
}

static void set_layout(session *s, view_layout layout)
{
    s->view.layout = layout;
    s->is_dirty = true;
}

static void layout_timeline(session *s, int64_t now_ns)
{
    (void)now_ns;
    set_layout(s, LAYOUT_TIMELINE);
}

static void layout_marey(session *s, int64_t now_ns)
{
    (void)now_ns;
    set_layout(s, LAYOUT_MAREY);
}

static void layout_communication(session *s, int64_t now_ns)
{
    comm_return(s, now_ns);
}

static void layout_graph(session *s, int64_t now_ns)
{
    (void)now_ns;
    set_layout(s, LAYOUT_GRAPH);
}

static void layout_steps(session *s, int64_t now_ns)
{
    set_layout(s, LAYOUT_STEPS);
    steps_run(s, now_ns);
}

static void layout_other(session *s, int64_t now_ns)
{
    (void)now_ns;
    set_layout(s, s->view.layout == LAYOUT_TIMELINE ? LAYOUT_MAREY : LAYOUT_TIMELINE);
}

/* The first key brings all panels; after that, each has its own switch. */
static void inspector(session *s, int64_t now_ns)
{
    (void)now_ns;
    bool had = s->panels_mode == PANELS_ON;
    panels *p = session_panels(s);
    if (had) {
        panels_toggle_inspector(p);
    }
    s->is_dirty = true;
}

static void strip(session *s, int64_t now_ns)
{
    (void)now_ns;
    bool had = s->panels_mode == PANELS_ON;
    panels *p = session_panels(s);
    if (had) {
        panels_toggle_strip(p);
    }
    s->is_dirty = true;
}

static void search(session *s, int64_t now_ns)
{
    (void)now_ns;
    panels_search(session_panels(s));
}

static void theme_other(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.theme = s->view.theme == THEME_DARK ? THEME_LIGHT : THEME_DARK;
    s->is_dirty = true;
}

static void cpu_rows(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->view.show_cpu = !s->view.show_cpu;
    s->is_dirty = true;
}

static void open_all(session *s, int64_t now_ns)
{
    (void)now_ns;
    scene_open_all(s->scene, 2);
    s->is_dirty = true;
}

static void close_all(session *s, int64_t now_ns)
{
    (void)now_ns;
    scene_open_all(s->scene, 0);
    s->is_dirty = true;
}

static void toggle_row(session *s, int64_t now_ns)
{
    (void)now_ns;
    select_toggle_row(s);
}

static void next_event(session *s, int64_t now_ns)
{
    select_neighbour(s, 1, now_ns);
}

static void previous_event(session *s, int64_t now_ns)
{
    select_neighbour(s, -1, now_ns);
}

static void fit_selection(session *s, int64_t now_ns)
{
    select_fit(s, now_ns);
}

static void help(session *s, int64_t now_ns)
{
    (void)now_ns;
    actions_set_help(s->scene, s->view.layout);
    s->view.show_help = !s->view.show_help;
    s->is_dirty = true;
}

/* Out of the innermost thing: the help, then the selection. */
static void escape(session *s, int64_t now_ns)
{
    (void)now_ns;
    if (s->view.show_help) {
        s->view.show_help = false;
    } else {
        select_nothing(s);
    }
    s->is_dirty = true;
}

static void fullscreen(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->toggle_fullscreen = true;
}

static void quit(session *s, int64_t now_ns)
{
    (void)now_ns;
    s->quit = true;
}

const action ACTIONS[] = {
    {"zoom-in", "W, +, =", "zoom in at the pointer", zoom_in},
    {"zoom-out", "S, -", "zoom out", zoom_out},
    {"pan-left", "A, Left", "earlier", pan_left},
    {"pan-right", "D, Right", "later", pan_right},
    {"page-left", "Shift+Left", "a window earlier", page_left},
    {"page-right", "Shift+Right", "a window later", page_right},
    {"scroll-up", "Up", "rows up", scroll_up},
    {"scroll-down", "Down", "rows down", scroll_down},
    {"page-up", "Page up", "a page of rows up", page_up},
    {"page-down", "Page down", "a page of rows down", page_down},
    {"rows-taller", "}", "taller rows", rows_taller},
    {"rows-shorter", "{", "lower rows", rows_shorter},
    {"rows-fit", "\\", "fit all rows", rows_fit},
    {"whole-run", "Z, 0, Home", "the whole run, all rows", whole_run},
    {"step-next", "]", "the next step", step_next},
    {"step-previous", "[", "the step before", step_previous},
    {"step-one", "1", "one step", steps_one},
    {"step-columns", "2", "steps side by side; again: more of them", steps_columns},
    {"step-overlaid", "3", "one step over all others (Marey): what deviates", steps_overlaid},
    {"overview", "O", "strip above: shares, step times, maps of rank x step", overview},
    {"layout-steps", "X", "rank x step as a map", layout_steps},
    {"heat", "K", "cells beside the rows (Marey)", heat_cells},
    {"lines", "Y", "lines in the rows: memory and FLOP/s, either, none", lines},
    {"sort-busy", NULL, NULL, sort_busy},
    {"sort-compute", NULL, NULL, sort_compute},
    {"sort-exposed", NULL, NULL, sort_exposed},
    {"sort-wait", NULL, NULL, sort_wait},
    {"sort-idle", NULL, NULL, sort_idle},
    {"sort-late", NULL, NULL, sort_late},
    {"sort-flops", NULL, NULL, sort_flops},
    {"sort-mfu", NULL, NULL, sort_mfu},
    {"sort-memory", NULL, NULL, sort_memory},
    {"fit-selection", "F", "fit what is selected", fit_selection},
    {"previous-event", "P, <", "the event before", previous_event},
    {"next-event", "N, >", "the next event", next_event},
    {"toggle-row", "Enter, Space", "open or close this row", toggle_row},
    {"open-all", "E", "open all rows", open_all},
    {"close-all", "R", "close all rows", close_all},
    {"cpu-rows", "H", "show or hide CPU threads", cpu_rows},
    {"layout-timeline", "T", "timeline", layout_timeline},
    {"layout-marey", "M", "Marey: bands that join equal work", layout_marey},
    {"layout-communication", "C", "communication: devices, links, groups", layout_communication},
    {"layout-graph", "G", "the model's graph", layout_graph},
    {"layout-other", "V", "the other layout", layout_other},
    {"inspector", "I", "show or hide the inspector", inspector},
    {"strip", "B", "show or hide time per rank", strip},
    {"search", "/", "search operators, ranks, collectives", search},
    {"theme-other", "L", "dark or light", theme_other},
    {"fullscreen", "F11", "full screen", fullscreen},
    {"help", "?, F1", "this help", help},
    {"escape", "Escape", "close the help; select nothing", escape},
    {"quit", "Q, Ctrl+Q", "leave", quit},
};
const size_t N_ACTIONS = sizeof ACTIONS / sizeof *ACTIONS;

/* What the pointer does (pointer.c), for the help only. */
static const char *const GESTURES[][2] = {
    {"Wheel", "zoom at the pointer"},
    {"Wheel on names", "scroll rows"},
    {"Shift+Wheel", "pan"},
    {"Ctrl+Wheel", "row height"},
    {"Drag", "pan in time and rows"},
    {"Shift+Drag", "select a time range"},
    {"Click", "select an event"},
    {"Click on arrow", "open or close the row"},
    {"Double click", "fit the event"},
    {"Overview", "click or drag: go there"},
    {"Tab, Shift+Tab", "walk through the panels; Enter opens"},
};

enum { N_GESTURES = sizeof GESTURES / sizeof *GESTURES, MAX_HELP = 80 };

const action *action_by_name(const char *name)
{
    for (size_t i = 0; i < N_ACTIONS; i++) {
        if (strcmp(ACTIONS[i].name, name) == 0) {
            return &ACTIONS[i];
        }
    }
    return NULL;
}

static bool has_key(const char *keys, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = keys; p;) {
        const char *end = strstr(p, ", ");
        size_t len = end ? (size_t)(end - p) : strlen(p);
        if (len == n && strncmp(p, key, n) == 0) {
            return true;
        }
        p = end ? end + 2 : NULL;
    }
    return false;
}

bool action_has_key(const action *a, const char *key)
{
    return a->keys && has_key(a->keys, key);
}

const action *action_by_key(const char *key)
{
    for (size_t i = 0; i < N_ACTIONS; i++) {
        if (has_key(ACTIONS[i].keys, key)) {
            return &ACTIONS[i];
        }
    }
    return NULL;
}

/* Those of the graph, and what means the same in every layout. */
static size_t collect_graph_help(const char *rows[MAX_HELP][2], bool with_others)
{
    static const char *const others[] = {"layout-timeline", "layout-marey", "layout-communication",
                                         "inspector",       "search",       "theme-other",
                                         "fullscreen",      "help",         "quit"};
    size_t n = 0;
    for (size_t i = 0; i < N_GRAPH_GESTURES; i++, n++) {
        rows[n][0] = GRAPH_GESTURES[i][0];
        rows[n][1] = GRAPH_GESTURES[i][1];
    }
    for (size_t i = 0; i < N_GRAPH_ACTIONS && n < MAX_HELP; i++) {
        if (GRAPH_ACTIONS[i].help) {
            rows[n][0] = GRAPH_ACTIONS[i].keys;
            rows[n++][1] = GRAPH_ACTIONS[i].help;
        }
    }
    for (size_t i = 0; with_others && i < sizeof others / sizeof *others && n < MAX_HELP; i++) {
        const action *a = action_by_name(others[i]);
        if (strcmp(others[i], "layout-marey") != 0) { /* M has another meaning here */
            rows[n][0] = a->keys;
            rows[n++][1] = a->help;
        }
    }
    return n;
}

static size_t collect_help(const char *rows[MAX_HELP][2])
{
    size_t n = 0;
    for (size_t i = 0; i < N_GESTURES; i++, n++) {
        rows[n][0] = GESTURES[i][0];
        rows[n][1] = GESTURES[i][1];
    }
    for (size_t i = 0; i < N_ACTIONS && n < MAX_HELP; i++) {
        if (ACTIONS[i].keys && ACTIONS[i].help) {
            rows[n][0] = ACTIONS[i].keys;
            rows[n++][1] = ACTIONS[i].help;
        }
    }
    for (size_t i = 0; i < N_COMM_ACTIONS && n < MAX_HELP; i++) {
        if (COMM_ACTIONS[i].help) {
            rows[n][0] = COMM_ACTIONS[i].keys;
            rows[n++][1] = COMM_ACTIONS[i].help;
        }
    }
    return n;
}

void actions_set_help(scene *s, view_layout layout)
{
    static const char *rows[MAX_HELP][2]; /* the scene keeps the pointer */
    size_t n = layout == LAYOUT_GRAPH ? collect_graph_help(rows, true) : collect_help(rows);
    scene_set_help(s, (const char *const(*)[2])rows, n);
}

static void print_rows(const char *const (*rows)[2], size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        const char *backslash = strcmp(rows[i][0], "\\") == 0 ? "\\" : ""; /* Markdown wants it twice */
        (void)fprintf(out, "| %s%s | %s |\n", backslash, rows[i][0], rows[i][1]);
    }
}

static void print_markdown(const char *const (*rows)[2], size_t n, const char *const (*own)[2], size_t n_own, FILE *out)
{
    (void)fputs("# Keys and gestures of the window\n\n"
                "Printed by `marey help keys --markdown` from the table that the window uses (src/app/actions.c).\n\n"
                "| key | what it does |\n|---|---|\n",
                out);
    print_rows(rows, n, out);
    (void)fputs("\n## In the graph\n\nThere these go first (src/app/graph_actions.c).\n\n"
                "| key | what it does |\n|---|---|\n",
                out);
    print_rows(own, n_own, out);
}

void actions_print(FILE *out, bool markdown)
{
    const char *rows[MAX_HELP][2];
    size_t n = collect_help(rows);
    const char *own[MAX_HELP][2];
    size_t n_own = collect_graph_help(own, false);
    if (markdown) {
        print_markdown((const char *const(*)[2])rows, n, (const char *const(*)[2])own, n_own, out);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(out, "  %-14s %s\n", rows[i][0], rows[i][1]);
    }
    (void)fputs("\n  In the graph:\n", out);
    for (size_t i = 0; i < n_own; i++) {
        (void)fprintf(out, "  %-14s %s\n", own[i][0], own[i][1]);
    }
}
