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
    {"whole-run", "Z, 0, Home", "the whole run, all rows", whole_run},
    {"fit-selection", "F", "fit what is selected", fit_selection},
    {"scroll-up", "Up", "rows up", scroll_up},
    {"scroll-down", "Down", "rows down", scroll_down},
    {"page-up", "Page up", "a page of rows up", page_up},
    {"page-down", "Page down", "a page of rows down", page_down},
    {"rows-taller", "}", "taller rows", rows_taller},
    {"rows-shorter", "{", "lower rows", rows_shorter},
    {"rows-fit", "\\", "fit all rows", rows_fit},
    {"toggle-row", "Enter, Space", "open or close this row", toggle_row},
    {"open-all", "E", "open all rows", open_all},
    {"close-all", "R", "close all rows", close_all},
    {"cpu-rows", "H", "show or hide CPU threads", cpu_rows},
    {"previous-event", "P, <", "the event before", previous_event},
    {"next-event", "N, >", "the next event", next_event},
    {"search", "/", "search operators, ranks, collectives", search},
    {"escape", "Escape", "close the help; select nothing", escape},
    {"step-next", "]", "the next step", step_next},
    {"step-previous", "[", "the step before", step_previous},
    {"step-one", "1", "one step", steps_one},
    {"step-columns", "2", "steps side by side; again: more of them", steps_columns},
    {"step-overlaid", "3", "one step over all others (Marey)", steps_overlaid},
    {"layout-timeline", "T", "timeline", layout_timeline},
    {"layout-marey", "M", "Marey: bands that join equal work", layout_marey},
    {"layout-communication", "C", "communication: devices, links, groups", layout_communication},
    {"layout-graph", "G", "the model's graph", layout_graph},
    {"layout-steps", "X", "steps: a map of rank x step", layout_steps},
    {"layout-other", "V", "the other layout", layout_other},
    {"overview", "O", "strip above: shares, times, maps", overview},
    {"heat", "K", "cells beside the rows (Marey)", heat_cells},
    {"lines", "Y", "lines of memory and FLOP/s", lines},
    {"inspector", "I", "show or hide the inspector", inspector},
    {"strip", "B", "show or hide time per rank", strip},
    {"theme-other", "L", "dark or light", theme_other},
    {"fullscreen", "F11", "full screen", fullscreen},
    {"help", "?, F1", "this help", help},
    {"quit", "Q, Ctrl+Q", "leave", quit},
    {"sort-busy", NULL, NULL, sort_busy},
    {"sort-compute", NULL, NULL, sort_compute},
    {"sort-exposed", NULL, NULL, sort_exposed},
    {"sort-wait", NULL, NULL, sort_wait},
    {"sort-idle", NULL, NULL, sort_idle},
    {"sort-late", NULL, NULL, sort_late},
    {"sort-flops", NULL, NULL, sort_flops},
    {"sort-mfu", NULL, NULL, sort_mfu},
    {"sort-memory", NULL, NULL, sort_memory},
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

enum { N_GESTURES = sizeof GESTURES / sizeof *GESTURES, MAX_HELP = 96 };

/* What stands above an action in the help. */
static const char *const HEADINGS[][2] = {
    {"zoom-in", "Time"},
    {"scroll-up", "Rows"},
    {"previous-event", "Events"},
    {"step-next", "Steps"},
    {"layout-timeline", "Views"},
    {"overview", "What is shown"},
    {"graph-toggle", "Modules and stacks"},
    {"graph-consumer", "Along the edges"},
    {"graph-zoom-in", "Camera"},
    {"graph-direction", "Drawing"},
    {"graph-parameters", "Simplification"},
    {"graph-in-marey", "The run"},
};

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

typedef struct help_rows {
    const char *items[MAX_HELP][2]; /* keys, and what they do; without keys: a heading */
    size_t n;
} help_rows;

static void add_row(help_rows *h, const char *keys, const char *what)
{
    if (h->n < MAX_HELP) {
        h->items[h->n][0] = keys;
        h->items[h->n++][1] = what;
    }
}

static void add_gestures(help_rows *h, const char *const (*gestures)[2], size_t n)
{
    add_row(h, "", "Pointer");
    for (size_t i = 0; i < n; i++) {
        add_row(h, gestures[i][0], gestures[i][1]);
    }
}

static void add_action(help_rows *h, const action *a)
{
    for (size_t i = 0; i < sizeof HEADINGS / sizeof *HEADINGS; i++) {
        if (strcmp(HEADINGS[i][0], a->name) == 0) {
            add_row(h, "", HEADINGS[i][1]);
        }
    }
    if (a->keys && a->help) {
        add_row(h, a->keys, a->help);
    }
}

/* Those of the graph, and what means the same in every layout. */
static void collect_graph_help(help_rows *h, bool with_others)
{
    static const char *const others[] = {"layout-communication", "inspector", "search", "theme-other",
                                         "fullscreen",           "help",      "quit"};
    add_gestures(h, GRAPH_GESTURES, N_GRAPH_GESTURES);
    for (size_t i = 0; i < N_GRAPH_ACTIONS; i++) {
        add_action(h, &GRAPH_ACTIONS[i]);
    }
    if (with_others) {
        add_action(h, action_by_name("layout-timeline")); /* with its heading */
    }
    for (size_t i = 0; with_others && i < sizeof others / sizeof *others; i++) {
        add_action(h, action_by_name(others[i])); /* M has another meaning here */
    }
}

static void collect_help(help_rows *h)
{
    add_gestures(h, GESTURES, N_GESTURES);
    for (size_t i = 0; i < N_ACTIONS; i++) {
        add_action(h, &ACTIONS[i]);
    }
    add_row(h, "", "In the communication view");
    for (size_t i = 0; i < N_COMM_ACTIONS; i++) {
        add_action(h, &COMM_ACTIONS[i]);
    }
}

void actions_set_help(scene *s, view_layout layout)
{
    static help_rows rows; /* the scene keeps the pointer */
    rows.n = 0;
    if (layout == LAYOUT_GRAPH) {
        collect_graph_help(&rows, true);
    } else {
        collect_help(&rows);
    }
    scene_set_help(s, (const char *const(*)[2])rows.items, rows.n);
}

/* A table for each heading. */
static void print_markdown(const help_rows *h, const char *marks, FILE *out)
{
    for (size_t i = 0; i < h->n; i++) {
        const char *const *row = h->items[i];
        const char *backslash = strcmp(row[0], "\\") == 0 ? "\\" : ""; /* Markdown wants it twice */
        if (row[0][0]) {
            (void)fprintf(out, "| %s%s | %s |\n", backslash, row[0], row[1]);
        } else {
            (void)fprintf(out, "\n%s %s\n\n| key | what it does |\n|---|---|\n", marks, row[1]);
        }
    }
}

static void print_plain(const help_rows *h, FILE *out)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->items[i][0][0]) {
            (void)fprintf(out, "  %-16s %s\n", h->items[i][0], h->items[i][1]);
        } else {
            (void)fprintf(out, "\n%s\n", h->items[i][1]);
        }
    }
}

void actions_print(FILE *out, bool markdown)
{
    help_rows rows = {.n = 0};
    help_rows own = {.n = 0};
    collect_help(&rows);
    collect_graph_help(&own, false);
    if (!markdown) {
        print_plain(&rows, out);
        (void)fputs("\nIN THE GRAPH\n", out);
        print_plain(&own, out);
        return;
    }
    (void)fputs("# Keys and gestures of the window\n\n"
                "Printed by `marey help keys --markdown` from the table that the window uses (src/app/actions.c).\n",
                out);
    print_markdown(&rows, "##", out);
    (void)fputs("\n## In the graph\n\nThere these go first (src/app/graph_actions.c).\n", out);
    print_markdown(&own, "###", out);
}
