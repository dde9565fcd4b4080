/* "In the run": what is chosen in the graph, where it ran in one step on the ranks of its stage. A small picture beside
 * the graph; a click on it leads to the Marey view.
 *
 * The step and the stage are those of its longest event. Spans are looked for on a thread of their own, once a choice.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/graph_actions.h"
#include "app/panels_internal.h"
#include "base/mem.h"
#include "scene/graph_join.h"
#include "store/query.h"

enum { MAX_SPANS = 40000, MAX_LINES = 8, LINE_DP = 12, LABEL_DP = 52 };

/* ------------------------------------------------------------------ looking */

typedef struct search {
    const trace_model *m;
    const rank_window *windows;
    run_spans_job *job;
    cancel_flag *cancel;
} search;

static bool visit(void *ctx, const store_event_info *e)
{
    search *s = ctx;
    run_spans_job *k = s->job;
    uint32_t node = graph_join_node(k->join, e->row, e->name);
    uint32_t rank = s->m->lanes[s->m->tracks[e->track].lane].rank;
    bool inside = e->start_ns >= s->windows[rank].t0_ns && e->start_ns < s->windows[rank].t1_ns;
    if (inside && node < k->join->n_nodes && (k->nodes[node >> 3] >> (node & 7) & 1)) {
        run_span q = {rank, e->klass, e->start_ns, e->start_ns + e->dur_ns};
        VEC_PUSH(k->spans, k->n, k->cap, q);
        k->t0_ns = k->n == 1 || q.start_ns < k->t0_ns ? q.start_ns : k->t0_ns;
        k->t1_ns = k->n == 1 || q.end_ns > k->t1_ns ? q.end_ns : k->t1_ns;
    }
    k->is_cut = k->n >= MAX_SPANS;
    return !k->is_cut && !is_cancelled(s->cancel);
}

static void look(void *job, cancel_flag *cancel)
{
    run_spans_job *k = job;
    const trace_model *m = store_model(k->file);
    rank_window *w = mem_calloc(m->n_ranks + 1, sizeof *w);
    size_t n = 0;
    uint32_t *tracks = peers_tracks(m, &k->event, true, w, &n);
    rank_window all = peers_range(m, w);
    diag d;
    diag_init(&d);
    k->is_cut = rank_time_count(k->file, w) > PEERS_MAX_EVENTS;
    if (n > 0 && all.t1_ns > all.t0_ns && !k->is_cut) {
        search s = {m, w, k, cancel};
        query_row row = {tracks, n};
        (void)store_visit(k->file, &row, all.t0_ns, all.t1_ns, visit, &s, &d);
    }
    diag_deinit(&d);
    free(tracks);
    free(w);
}

void free_run_spans(void *job)
{
    run_spans_job *k = job;
    free(k->nodes);
    free(k->spans);
    free(k);
}

static void update(panels *p, const scene_graph *g)
{
    void *done = p->run_spans;
    (void)take_done(&p->spanning, &done, free_run_spans);
    p->run_spans = done;
    uint64_t row = scene_graph_row(p->session->scene);
    bool known = p->spans_of == g->selected && p->spans_plan == g->plan_serial;
    if (known || work_is_busy(&p->spanning)) {
        if (!known) {
            work_cancel(&p->spanning);
        }
        return;
    }
    p->spans_of = g->selected;
    p->spans_plan = g->plan_serial;
    if (p->run_spans) {
        free_run_spans(p->run_spans);
        p->run_spans = NULL;
    }
    run_spans_job *k = mem_calloc(1, sizeof *k);
    k->file = p->session->file;
    k->join = g->join;
    k->nodes = mem_calloc(g->join->n_nodes / 8 + 1, 1);
    bool has_event = row != UINT64_MAX && store_read_event(k->file, row, &k->event, NULL) == MAREY_OK;
    if (!has_event || scene_graph_chosen_nodes(p->session->scene, k->nodes) == 0) {
        free_run_spans(k);
        return;
    }
    work_start(&p->spanning, look, k);
}

/* ------------------------------------------------------------------ showing */

typedef struct run_picture {
    run_span *spans; /* `rank` is the line */
    size_t n;
    size_t n_lines;
    char labels[MAX_LINES][24];
    int64_t t0_ns, t1_ns;
    bool hovered;
} run_picture;

static void paint_run(ui *u, draw_list *l, rect r, void *ctx)
{
    const run_picture *k = ctx;
    const theme *t = ui_theme(u);
    float scale = ui_scale(u);
    float line = floorf(LINE_DP * scale);
    float label = floorf(LABEL_DP * scale);
    rect field = {r.x + label, r.y, r.w - label, r.h};
    draw_rect(l, ui_layer(u), field, k->hovered ? t->raised : t->ground);
    double ns = (double)(k->t1_ns > k->t0_ns ? k->t1_ns - k->t0_ns : 1);
    for (size_t i = 0; i < k->n_lines; i++) {
        rect at = {r.x, r.y + floorf(2 * scale) + line * (float)i, label - floorf(6 * scale), line};
        (void)ui_put(u, ui_layer(u), FACE_SANS, 10, at, TEXT_LEFT, t->dim, k->labels[i]);
    }
    float inner = field.w - floorf(8 * scale);
    for (size_t i = 0; i < 2 * k->n; i++) { /* computing on top of what it may hide */
        const run_span *q = &k->spans[i % k->n];
        bool computes = q->klass != CLASS_COLLECTIVE && q->klass != CLASS_SEND && q->klass != CLASS_RECEIVE;
        if (computes != (i >= k->n)) {
            continue;
        }
        float x0 = field.x + floorf(4 * scale) + floorf((float)((double)(q->start_ns - k->t0_ns) / ns) * inner);
        float x1 = field.x + floorf(4 * scale) + floorf((float)((double)(q->end_ns - k->t0_ns) / ns) * inner);
        float y = r.y + floorf(2 * scale) + line * (float)q->rank + floorf(2 * scale);
        rect box = {x0, y, fmaxf(1, x1 - x0), line - floorf(4 * scale)};
        draw_rect(l, ui_layer(u), box, t->data[q->klass < CLASS_COUNT ? q->klass : CLASS_OTHER]);
    }
}

/* The ranks with spans, those about that of the longest event where there are too many. @return the first of them */
static uint32_t choose_lines(const run_spans_job *k, const trace_model *m, uint32_t *lines, size_t *n)
{
    size_t have = 0;
    size_t own = 0;
    uint8_t *has = mem_calloc(m->n_ranks + 1, 1);
    uint32_t rank = m->lanes[m->tracks[k->event.track].lane].rank;
    for (size_t i = 0; i < k->n; i++) {
        has[k->spans[i].rank] = 1;
    }
    for (uint32_t r = 0; r < m->n_ranks; r++) {
        own = r == rank ? have : own;
        have += has[r];
    }
    size_t first = have <= MAX_LINES || own < MAX_LINES / 2 ? 0 : own - MAX_LINES / 2;
    first = have > MAX_LINES && first + MAX_LINES > have ? have - MAX_LINES : first;
    size_t at = 0;
    *n = 0;
    for (uint32_t r = 0; r < m->n_ranks; r++) {
        bool chosen = has[r] && at >= first && *n < MAX_LINES;
        at += has[r];
        if (chosen) {
            lines[(*n)++] = r;
        }
    }
    free(has);
    return (uint32_t)have;
}

static run_picture *make_picture(panels *p, uint32_t *n_ranks)
{
    const run_spans_job *k = p->run_spans;
    const trace_model *m = store_model(p->session->file);
    run_picture *out = ui_memory(p->ui, sizeof *out);
    memset(out, 0, sizeof *out);
    uint32_t lines[MAX_LINES];
    *n_ranks = choose_lines(k, m, lines, &out->n_lines);
    out->t0_ns = k->t0_ns;
    out->t1_ns = k->t1_ns;
    out->spans = ui_memory(p->ui, (k->n + 1) * sizeof *out->spans);
    for (size_t i = 0; i < out->n_lines; i++) {
        (void)snprintf(out->labels[i], sizeof out->labels[i], "%.23s", m->ranks[lines[i]].label);
    }
    for (size_t i = 0; i < k->n; i++) {
        for (uint32_t line = 0; line < out->n_lines; line++) {
            if (lines[line] == k->spans[i].rank) {
                out->spans[out->n] = k->spans[i];
                out->spans[out->n++].rank = line;
            }
        }
    }
    return out;
}

static void show_ends(panels *p, const run_spans_job *k, const run_picture *r, uint32_t n_ranks)
{
    char text[128];
    char from[48];
    char wide[48];
    time_format(k->t0_ns, from, sizeof from);
    time_format(k->t1_ns - k->t0_ns, wide, sizeof wide);
    ui_style line = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(18), .axis = UI_ROW};
    (void)ui_push(p->ui, "ends", "ends", &line);
    if (r->n_lines < n_ranks) {
        (void)snprintf(text, sizeof text, "%zu of %u ranks", r->n_lines, n_ranks);
        ui_label(p->ui, text, TEXT_SMALL);
    }
    ui_spring(p->ui);
    (void)snprintf(text, sizeof text, "from %s, %s wide%s", from, wide, k->is_cut ? ", cut" : "");
    ui_label(p->ui, text, TEXT_SMALL);
    ui_pop(p->ui);
}

static bool show_picture(panels *p)
{
    const run_spans_job *k = p->run_spans;
    uint32_t n_ranks = 0;
    run_picture *r = make_picture(p, &n_ranks);
    ui_style s = {.w = UI_SIZE_FILL,
                  .h = UI_SIZE_PX((float)(LINE_DP * r->n_lines + 4)),
                  .flags = UI_CLICK | UI_FOCUS | UI_HOVER};
    ui_box_id box = ui_push(p->ui, "picture", "run", &s);
    ui_describe(p->ui, box, "where it ran; opens the Marey view");
    ui_signal sig = ui_signal_of(p->ui, box);
    r->hovered = sig.hovered;
    ui_set_paint(p->ui, box, paint_run, r);
    ui_pop(p->ui);
    show_ends(p, k, r, n_ranks);
    return sig.clicked;
}

void graph_run_show(panels *p, const scene_graph *g)
{
    const trace_model *m = store_model(p->session->file);
    if (!g->join || scene_graph_row(p->session->scene) == UINT64_MAX) {
        return;
    }
    update(p, g);
    char step[48] = "";
    bool go = false;
    int64_t index = p->run_spans ? peers_step(m, &p->run_spans->event) : -1;
    if (index >= 0) {
        (void)snprintf(step, sizeof step, "step %lld", (long long)index);
    }
    ui_space(p->ui, 6);
    ui_section(p->ui, "In the run", step);
    if (p->run_spans && p->run_spans->n > 0) {
        go = show_picture(p);
        ui_space(p->ui, 4);
    }
    if (ui_button(p->ui, "show in marey", "Show in Marey").clicked || go) {
        graph_show_in_marey(p->session, p->session->reduced_motion ? 0 : p->session->input.now_ns);
    }
}
