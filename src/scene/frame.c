/* The bar above, the status line below, the help page. What has no room is left out by priority, never cut or covered.
 */
#include <string.h>

#include "scene/graph_scene.h"
#include "scene/lines.h"
#include "scene/overlay.h"
#include "scene/step_map.h"

enum { MAX_FACTS = 6 };

typedef struct facts {
    char text[MAX_FACTS][192];
    int n; /* most important first */
} facts;

static void add_fact(facts *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_fact(facts *f, const char *format, ...)
{
    if (f->n < MAX_FACTS) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(f->text[f->n++], sizeof f->text[0], format, args);
        va_end(args);
    }
}

/* The facts that fit, joined by dots. */
static void join_facts(scene *s, const facts *f, double size, float room, char *out, size_t cap)
{
    out[0] = '\0';
    for (int n = f->n; n > 0; n--) {
        size_t at = 0;
        for (int i = 0; i < n; i++) {
            int wrote = snprintf(out + at, cap - at, "%s%s", i ? " \xC2\xB7 " : "", f->text[i]);
            at += wrote > 0 && (size_t)wrote < cap - at ? (size_t)wrote : 0;
        }
        if (width_of(s, FACE_SANS, size, out) <= room) {
            return;
        }
    }
    out[0] = '\0';
}

static void clock_fact(const scene *s, facts *f)
{
    int64_t worst = -1;
    for (size_t i = 0; i < s->model->n_ranks; i++) {
        const trace_rank *r = &s->model->ranks[i];
        if (r->clock_matched > 0 && r->clock_residual_ns > worst) {
            worst = r->clock_residual_ns;
        }
    }
    if (worst >= 0) {
        char text[48];
        time_format(worst, text, sizeof text);
        add_fact(f, "clocks \xC2\xB1%s", text);
    }
}

bool ranks_are_processes(const scene *s)
{
    bool all = s->model->n_ranks > 0;
    for (size_t i = 0; i < s->model->n_ranks && all; i++) {
        all = strncmp(s->model->ranks[i].label, "rank ", 5) != 0;
    }
    return all;
}

static facts run_facts(const scene *s)
{
    facts f = {0};
    if (s->v.layout == LAYOUT_GRAPH) {
        char line[192];
        graph_facts(s, line, sizeof line);
        add_fact(&f, "%s", line);
        return f;
    }
    char count[48];
    size_t n = s->model->n_ranks;
    if (ranks_are_processes(s)) {
        add_fact(&f, "%zu process%s", n, n == 1 ? "" : "es");
    } else {
        add_fact(&f, "%zu rank%s", n, n == 1 ? "" : "s");
    }
    count_format_short(s->model->n_events, count, sizeof count);
    if (s->tree.grouped && s->v.grouping == GROUP_BY_STAGE) {
        size_t g = s->tree.n_groups;
        bool even = g > 0 && n % g == 0;
        for (size_t i = 0; i < g; i++) {
            even = even && s->tree.groups[i].n == n / g;
        }
        if (even) {
            add_fact(&f, "%zu stages \xC3\x97 %zu", g, n / g);
        } else {
            add_fact(&f, "%zu stages", g);
        }
    }
    add_fact(&f, "%s event%s", count, s->model->n_events == 1 ? "" : "s");
    clock_fact(s, &f);
    return f;
}

/* One of the layouts: the shown one on a raised ground. @return its left edge */
static float draw_switch(scene *s, float right, const char *text, const char *command, bool on)
{
    float w = ceilf(width_of(s, on ? FACE_SANS_MEDIUM : FACE_SANS, 12.5, text)) + px(s, 28);
    rect r = {right - w, s->m.bar.y + px(s, 8), w, s->m.bar.h - px(s, 16)};
    bool hovered = inside(r, s->in.cursor_x, s->in.cursor_y);
    if (on) {
        draw_round(s->l, LAYER_PANELS, r, px(s, 5), s->t->raised, fmaxf(1, px(s, 1)), s->t->line);
    }
    rgba c = on || hovered ? s->t->text : s->t->dim;
    (void)put_text(s, LAYER_PANELS, on ? FACE_SANS_MEDIUM : FACE_SANS, 12.5, r, TEXT_CENTRE, c, text);
    add_command(s, r, command);
    return r.x;
}

static float draw_switches(scene *s)
{
    float right = s->m.bar.w - s->m.pad;
    rect help = {right - px(s, 28), s->m.bar.y + px(s, 8), px(s, 28), s->m.bar.h - px(s, 16)};
    bool hovered = inside(help, s->in.cursor_x, s->in.cursor_y);
    (void)put_text(s, LAYER_PANELS, FACE_SANS_MEDIUM, 13, help, TEXT_CENTRE, hovered ? s->t->text : s->t->dim, "?");
    add_command(s, help, "help");
    right = help.x - px(s, 12);
    bool communication = s->v.layout == LAYOUT_COMMUNICATION;
    const char *name = s->m.bar.w >= px(s, 720) ? "Communication" : "Links";
    bool in_graph = s->v.layout == LAYOUT_GRAPH;
    if (in_graph && s->model->n_ranks == 0) { /* there is nothing else */
        return draw_switch(s, right, "Graph", "layout-graph", true);
    }
    right = draw_switch(s, right, name, "layout-communication", communication) - px(s, 4);
    if (in_graph || scene_has_graph(s)) {
        right = draw_switch(s, right, "Graph", "layout-graph", in_graph) - px(s, 4);
    }
    const scene_step *steps;
    bool in_steps = s->v.layout == LAYOUT_STEPS;
    if (in_steps || (scene_steps(s, &steps) > 1 && s->m.bar.w >= px(s, 900))) {
        right = draw_switch(s, right, "Steps", in_steps ? "layout-marey" : "layout-steps", in_steps) - px(s, 4);
    }
    right = draw_switch(s, right, "Marey", "layout-marey", s->v.layout == LAYOUT_MAREY) - px(s, 4);
    return draw_switch(s, right, "Timeline", "layout-timeline", s->v.layout == LAYOUT_TIMELINE);
}

/* The place of the search field, at the end of `room`. A field that would be too short for words is left out.
 * @return what it takes */
static float keep_search(scene *s, rect room)
{
    float w = fminf(px(s, s->in.search_dp), room.w - px(s, 24));
    if (s->in.search_dp <= 0 || w < px(s, 140)) {
        return 0;
    }
    s->frame.search = (rect){floorf(room.x + room.w - w), room.y + px(s, 8), floorf(w), room.h - px(s, 16)};
    return w + px(s, 16);
}

void draw_bar(scene *s)
{
    rect bar = s->m.bar;
    draw_rect(s->l, LAYER_PANELS, bar, s->t->panel);
    draw_hline(s->l, LAYER_PANELS, 0, bar.w, bar.h - 1, s->t->line);
    float end = draw_switches(s) - px(s, 16);
    rect r = {s->m.pad, bar.y, end - s->m.pad, bar.h};
    float used = put_text(s, LAYER_PANELS, FACE_SANS_BOLD, 15, r, TEXT_LEFT, s->t->text, "marey");
    r.x += used + px(s, 20);
    r.w = end - r.x;
    used = put_text(s, LAYER_PANELS, FACE_SANS_MEDIUM, 13, r, TEXT_LEFT, s->t->text, s->model->name);
    r.x += used + px(s, 16);
    r.w = end - r.x;
    r.w -= keep_search(s, r);
    facts f = run_facts(s);
    char line[512];
    join_facts(s, &f, 12, r.w, line, sizeof line);
    (void)put_text(s, LAYER_PANELS, FACE_SANS, 12, r, TEXT_LEFT, s->t->dim, line);
}

/* ------------------------------------------------------------------ status */

static uint64_t count_losses(const trace_model *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n_losses; i++) {
        n += m->losses[i].count;
    }
    return n;
}

static facts status_right(const scene *s)
{
    facts f = {0};
    char count[48];
    if (s->frame.complete) {
        add_fact(&f, "complete");
    } else if (s->frame.is_refining && s->frame.n_wanted == 0) {
        add_fact(&f, "refining");
    } else {
        add_fact(&f, "loading %zu", s->frame.n_wanted);
    }
    if (s->in.note) {
        add_fact(&f, "%s", s->in.note);
    }
    uint64_t losses = count_losses(s->model);
    if (losses > 0) {
        count_format(losses, count, sizeof count);
        add_fact(&f, "%s %s", count, losses == 1 ? "loss" : "losses");
    }
    if (s->in.frame_ms > 0) {
        add_fact(&f, "%.1f ms", s->in.frame_ms);
    }
    return f;
}

static void add_step_fact(const scene *s, facts *f)
{
    const scene_step *steps;
    size_t n = scene_steps(s, &steps);
    if (s->v.steps_mode != STEPS_RUN && s->v.step < n) { /* with a little of its neighbours at the edges */
        size_t last = s->v.step + s->n_columns <= n ? s->v.step + s->n_columns - 1 : n - 1;
        if (s->n_columns > 1) {
            add_fact(f, "steps %lld\xE2\x80\x93%lld side by side", (long long)steps[last + 1 - s->n_columns].index,
                     (long long)steps[last].index);
        } else {
            add_fact(f, "step %lld", (long long)steps[s->v.step].index);
        }
        return;
    }
    int32_t a = step_at(s, 0, s->v.t0.ns + 1);
    int32_t b = step_at(s, 0, s->v.t1.ns - 1);
    if (a < 0 || b < 0) {
        return;
    }
    long long first = (long long)s->model->steps[a].index;
    long long last = (long long)s->model->steps[b].index;
    if (first == last) {
        add_fact(f, "step %lld", first);
    } else {
        add_fact(f, "steps %lld\xE2\x80\x93%lld", first, last);
    }
}

static facts status_left(const scene *s)
{
    facts f = {0};
    if (s->v.layout == LAYOUT_GRAPH) {
        char left[160];
        char middle[256];
        graph_status(s, left, sizeof left, middle, sizeof middle);
        add_fact(&f, "%s", left);
        return f;
    }
    char a[64];
    char b[64];
    double resolution = fmax(view_span_ns(&s->v) / 1000, 1);
    double size = fmax(fabs((double)s->v.t0.ns), fabs((double)s->v.t1.ns));
    moment_label(s->v.t0, size, resolution, a, sizeof a);
    moment_label(s->v.t1, size, resolution, b, sizeof b);
    add_fact(&f, "%s \xE2\x80\x93 %s", a, b);
    if (overview_span_of(s).is_part) {
        time_format(s->model->duration_ns, a, sizeof a);
        add_fact(&f, "most events; 0 shows all %s", a);
    }
    if (s->model->n_steps > 0 && s->model->n_ranks > 0) {
        add_step_fact(s, &f);
    }
    return f;
}

static facts status_middle(const scene *s)
{
    facts f = {0};
    if (s->v.layout == LAYOUT_GRAPH) {
        char left[160];
        char middle[256];
        graph_status(s, left, sizeof left, middle, sizeof middle);
        add_fact(&f, "%s", middle);
        return f;
    }
    char text[64];
    char bands[48];
    if (s->v.layout == LAYOUT_COMMUNICATION) {
        char line[192];
        comm_status(s, line, sizeof line);
        add_fact(&f, "%s", line);
        return f;
    }
    time_label(s->src.grid.step_ns, fmax(s->src.grid.step_ns / 100, 0.001), text, sizeof text);
    add_fact(&f, "1 px = %s", text);
    char map[96];
    step_layout_status(s, map, sizeof map);
    if (map[0]) {
        add_fact(&f, "%s", map);
        return f;
    }
    add_fact(&f, "from %s", s->frame.source);
    if (s->frame.has_coarse_edges || s->frame.has_coarse_classes) {
        add_fact(&f, "some %s approximate, exact when zoomed in",
                 !s->frame.has_coarse_classes ? "edges"
                 : s->frame.has_coarse_edges  ? "edges and colours"
                                              : "colours");
    }
    if (s->v.layout == LAYOUT_MAREY) {
        count_format(s->frame.n_bands, bands, sizeof bands);
        add_fact(&f, "%s band%s, %zu outlier%s kept", bands, s->frame.n_bands == 1 ? "" : "s", s->frame.n_outliers,
                 s->frame.n_outliers == 1 ? "" : "s");
        if (!s->src.events) {
            add_fact(&f, "zoom in for waits and names");
        }
        char steps[128];
        overlay_status(s, steps, sizeof steps);
        if (steps[0]) {
            add_fact(&f, "%s", steps);
        }
        char lines[128];
        lines_status(s, lines, sizeof lines);
        if (lines[0]) {
            add_fact(&f, "%s", lines);
        }
    }
    return f;
}

void draw_status(scene *s)
{
    rect bar = s->m.status;
    char line[512];
    draw_rect(s->l, LAYER_PANELS, bar, s->t->panel);
    draw_hline(s->l, LAYER_PANELS, 0, bar.w, bar.y, s->t->line);
    rect r = {s->m.pad, bar.y + 1, bar.w - 2 * s->m.pad, bar.h - 1};
    float gap = px(s, 20);
    facts right = status_right(s);
    join_facts(s, &right, 11.5, r.w, line, sizeof line);
    float used = put_text(s, LAYER_PANELS, FACE_SANS, 11.5, r, TEXT_RIGHT, s->t->dim, line);
    r.w -= used + gap;
    facts left = status_left(s);
    join_facts(s, &left, 11.5, r.w, line, sizeof line);
    used = put_text(s, LAYER_PANELS, FACE_SANS, 11.5, r, TEXT_LEFT, s->t->dim, line);
    float x = fmaxf(r.x + used + gap, s->m.plot.x);
    r.w = r.x + r.w - x;
    r.x = x;
    facts middle = status_middle(s);
    join_facts(s, &middle, 11.5, r.w, line, sizeof line);
    (void)put_text(s, LAYER_PANELS, FACE_SANS, 11.5, r, TEXT_LEFT, s->t->dim, line);
}
