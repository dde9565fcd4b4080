/* The inspector of the graph: what is chosen, its members and their time, its attributes; and what simplification did.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/graph_actions.h"
#include "app/panels_internal.h"
#include "base/mem.h"

enum { WIDTH_DP = 316, ATTRIBUTES = 12, MAX_MEMBERS = 4096, MAX_BARS = 96, MAX_OUTPUTS = 4 };

/* Members of the stack around what is chosen: the same operator in each of them. */
typedef struct members {
    uint32_t *items;
    size_t n, n_all;
    double sum_ns;
    size_t slowest;
} members;

static const ui_text_style TEXT_NAME = {FACE_SANS_BOLD, 15, UI_PLAIN, TEXT_LEFT};
static const ui_text_style TEXT_PATH = {FACE_MONO, 11, UI_DIM, TEXT_LEFT};

static void pair_time(panels *p, const char *key, double ns)
{
    char text[64];
    time_format((int64_t)(ns + 0.5), text, sizeof text);
    ui_key_value(p->ui, key, text);
}

static void pair_count(panels *p, const char *key, uint64_t n)
{
    char text[48];
    count_format(n, text, sizeof text);
    ui_key_value(p->ui, key, text);
}

/* ------------------------------------------------------------------ members */

static members find_members(const scene_graph *g)
{
    members m = {0};
    uint32_t stack = scene_graph_stack(g->plan, g->selected);
    bool leaf = g->plan->elements[g->selected].kind == ELEMENT_LEAF;
    if (stack == GRAPH_NONE || g->plan->elements[stack].family >= g->plan->n_families) {
        return m;
    }
    const plan_family *f = &g->plan->families[g->plan->elements[stack].family];
    m.items = mem_alloc(MAX_MEMBERS * sizeof *m.items);
    if (leaf) {
        m.n = scene_graph_counterparts(g->plan, stack, g->selected, m.items, MAX_MEMBERS);
    } else if (g->selected == stack) {
        for (uint32_t i = 0; i < f->n_members && m.n < MAX_MEMBERS; i++) {
            m.items[m.n++] = g->plan->members[f->first_member + i];
        }
    }
    m.n_all = m.n < MAX_MEMBERS ? m.n : f->n_members;
    for (size_t i = 0; i < m.n; i++) {
        m.sum_ns += (double)g->measures[m.items[i]].time_ns;
        m.slowest = g->measures[m.items[i]].time_ns > g->measures[m.items[m.slowest]].time_ns ? i : m.slowest;
    }
    return m;
}

static void show_slowest(panels *p, const scene_graph *g, const members *m)
{
    char text[160];
    char time[48];
    uint32_t e = m->items[m->slowest];
    uint32_t node = g->plan->elements[e].node;
    time_format((int64_t)g->measures[e].time_ns, time, sizeof time);
    int n = snprintf(text, sizeof text, "member %zu \xC2\xB7 %s", m->slowest, time);
    if (node < g->join->n_nodes && g->join->times[node].n > 0 && n > 0) {
        const trace_model *t = store_model(p->session->file);
        uint32_t rank = g->join->times[node].max_rank;
        (void)snprintf(text + n, sizeof text - (size_t)n, " on %s", rank < t->n_ranks ? t->ranks[rank].label : "?");
    }
    ui_key_value(p->ui, "slowest", text);
}

static void show_member_bars(panels *p, const scene_graph *g, const members *m)
{
    uint32_t counts[MAX_BARS] = {0};
    bool marked[MAX_BARS] = {0};
    char title[64];
    char last[32];
    if (m->n < 2 || m->sum_ns <= 0) {
        return;
    }
    size_t n = m->n < MAX_BARS ? m->n : MAX_BARS;
    float most = g->measures[m->items[m->slowest]].time_ns;
    double mean = m->sum_ns / (double)m->n;
    for (size_t i = 0; i < m->n; i++) { /* several members to a bar: the longest of them */
        size_t b = i * n / m->n;
        float v = g->measures[m->items[i]].time_ns;
        uint32_t height = (uint32_t)(1e6F * v / most);
        counts[b] = height > counts[b] ? height : counts[b];
        marked[b] = marked[b] || (double)v > 1.25 * mean;
    }
    (void)snprintf(title, sizeof title, "Time over the %s%zu members", m->n < m->n_all ? "first " : "", m->n);
    (void)snprintf(last, sizeof last, "%zu", m->n - 1);
    ui_space(p->ui, 6);
    ui_section(p->ui, title, NULL);
    const theme *t = theme_get(p->session->view.theme);
    ui_histogram h = {counts, marked, n, t->data[CLASS_BACKWARD], "0", last, "time over members"};
    ui_histogram_show(p->ui, "members", &h, 60);
}

/* ------------------------------------------------------------------ what is chosen */

static void show_operator(panels *p, const scene_graph *g, uint32_t node)
{
    const graph *m = g->g;
    ui_key_value(p->ui, "operator", graph_string(m, m->node_op[node]));
    uint32_t first = m->out_first[node];
    uint32_t n = m->out_first[node + 1] - first;
    for (uint32_t i = 0; i < n && i < MAX_OUTPUTS; i++) {
        ui_key_value(p->ui, i == 0 ? "shape" : " ", graph_string(m, graph_out_type(m, first + i)));
    }
    if (n > MAX_OUTPUTS) {
        pair_count(p, "more outputs", n - MAX_OUTPUTS);
    }
    if (graph_sharding_of(m, node) != 0) {
        ui_key_value(p->ui, "sharding", graph_string(m, graph_sharding_of(m, node)));
    }
    int stage = graph_stage_of(m, node);
    if (stage >= 0 && (size_t)stage < m->n_stages) {
        pair_count(p, "pipeline stage", (uint64_t)m->stages[stage].stage);
    }
    if (m->node_phase[node] != GRAPH_PHASE_NONE) {
        ui_key_value(p->ui, "phase", graph_phase_name((graph_phase)m->node_phase[node]));
    }
    size_t folded = plan_folded_nodes(g->plan, g->selected, NULL, 0);
    if (folded > 1) {
        pair_count(p, "folded into it", folded - 1);
    }
}

static void show_module(panels *p, const scene_graph *g)
{
    const plan_element *e = &g->plan->elements[g->selected];
    pair_count(p, "operators", e->n_nodes);
    if (e->n_parts > 0) {
        char text[96];
        (void)snprintf(text, sizeof text, "%u of %u, split where it is left and come back to", e->part, e->n_parts);
        ui_key_value(p->ui, "part", text);
    }
    if (e->scope != GRAPH_NONE && g->g->scope_class[e->scope] != 0) {
        ui_key_value(p->ui, "class", graph_string(g->g, g->g->scope_class[e->scope]));
    }
    if (e->scope != GRAPH_NONE && (g->g->scope_flags[e->scope] & GRAPH_SCOPE_INFERRED)) {
        ui_key_value(p->ui, "scope", "inferred, not stated");
    }
    if (e->kind == ELEMENT_STACK && e->family < g->plan->n_families) {
        const plan_family *f = &g->plan->families[e->family];
        ui_key_value(p->ui, "alike", graph_strictness_name((graph_strictness)f->level));
    }
}

/* Achieved over the time that was measured, and its part of the device's peak where the run states that. */
static void show_flops(panels *p, const scene_graph *g, double ns)
{
    double flops = (double)g->measures[g->selected].flops;
    char text[96];
    if (flops <= 0) {
        return;
    }
    static const char *const units[] = {"", " k", " M", " G", " T", " P"};
    int k = 0;
    while (flops >= 999.5 && k < 5) {
        flops /= 1000;
        k++;
    }
    (void)snprintf(text, sizeof text, "%.3g%s", flops, units[k]);
    ui_key_value(p->ui, "FLOPs", text);
    if (ns > 0) {
        (void)snprintf(text, sizeof text, "%.3g TFLOP/s", (double)g->measures[g->selected].flops / ns / 1000);
        ui_key_value(p->ui, "achieved", text);
    }
}

static void show_measured(panels *p, const scene_graph *g, const members *m)
{
    double ns = (double)g->measures[g->selected].time_ns;
    char text[64];
    bool is_stack = g->plan->elements[g->selected].kind == ELEMENT_STACK;
    if (m->n > 1) {
        pair_count(p, "members", m->n_all);
    }
    if (!g->join || (ns <= 0 && m->sum_ns <= 0)) {
        return;
    }
    if (m->n > 1) {
        pair_time(p, m->n < m->n_all ? "time, mean of the first" : "time, mean of members", m->sum_ns / (double)m->n);
        show_slowest(p, g, m);
    } else {
        pair_time(p, "time in a step, sum", ns);
    }
    if (g->join->step_ns > 0) {
        double all = m->n > 1 && !is_stack ? m->sum_ns : ns;
        (void)snprintf(text, sizeof text, "%.2f %%", 100 * all / g->join->step_ns);
        ui_key_value(p->ui, m->n > 1 ? "share of step, sum of all" : "share of step, sum", text);
    }
    show_flops(p, g, ns);
}

static void show_attributes(panels *p, const scene_graph *g, uint32_t node)
{
    uint32_t first = graph_attrs_of(g->g, node).first;
    uint32_t n = graph_attrs_of(g->g, node).end - first;
    if (n == 0) {
        return;
    }
    if (p->graph_page_of != node) {
        p->graph_page_of = node;
        p->graph_page = 0;
    }
    uint32_t pages = (n + ATTRIBUTES - 1) / ATTRIBUTES;
    p->graph_page = p->graph_page < pages ? p->graph_page : pages - 1;
    char text[64];
    ui_space(p->ui, 6);
    (void)snprintf(text, sizeof text, "%u", n);
    ui_section(p->ui, "Attributes", text);
    for (uint32_t i = p->graph_page * ATTRIBUTES; i < n && i < (p->graph_page + 1) * ATTRIBUTES; i++) {
        ui_key_value(p->ui, graph_string(g->g, g->g->attr_key[first + i]),
                     graph_string(g->g, g->g->attr_value[first + i]));
    }
    if (pages > 1) {
        ui_style line = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(26), .axis = UI_ROW, .gap = 6};
        (void)ui_push(p->ui, "pages", NULL, &line);
        (void)snprintf(text, sizeof text, "page %u of %u", p->graph_page + 1, pages);
        ui_label_fill(p->ui, text, TEXT_SMALL);
        bool back = ui_icon_button(p->ui, "before", UI_ICON_LEFT, "the page before").clicked;
        bool on = ui_icon_button(p->ui, "next", UI_ICON_RIGHT, "the next page").clicked;
        ui_pop(p->ui);
        p->graph_page += on && p->graph_page + 1 < pages;
        p->graph_page -= back && p->graph_page > 0;
        p->session->is_dirty = p->session->is_dirty || on || back;
    }
}

static void show_chosen(panels *p, const scene_graph *g)
{
    const plan_element *e = &g->plan->elements[g->selected];
    strbuf path = {0};
    plan_path(g->plan, g->selected, &path);
    ui_paragraph(p->ui, plan_label(g->plan, g->selected), WIDTH_DP, TEXT_NAME);
    ui_paragraph(p->ui, strbuf_str(&path), WIDTH_DP, TEXT_PATH);
    strbuf_deinit(&path);
    ui_space(p->ui, 4);
    bool leaf = e->kind == ELEMENT_LEAF && e->node < g->g->n_nodes;
    if (leaf) {
        show_operator(p, g, e->node);
    } else {
        show_module(p, g);
    }
    members m = find_members(g);
    show_measured(p, g, &m);
    show_member_bars(p, g, &m);
    graph_run_show(p, g);
    uint32_t node = e->node;
    if (leaf || plan_folded_nodes(g->plan, g->selected, &node, 1) > 0) {
        show_attributes(p, g, node); /* of a module: those of the call that it stands for */
    }
    free(m.items);
}

/* ------------------------------------------------------------------ what simplification did */

static void step_text(const scene_graph *g, graph_step s, char *out, size_t cap)
{
    const plan_step_count *c = &g->plan->steps[s];
    char a[48];
    char b[48];
    if (!c->on) {
        (void)snprintf(out, cap, "off");
    } else if (s == STEP_CYCLES) {
        count_format(c->n_done, a, sizeof a);
        (void)snprintf(out, cap, "%s split or reversed", a);
    } else if (s == STEP_PRUNE) {
        count_format(g->v->n_stubs, a, sizeof a);
        count_format(g->v->n_lines, b, sizeof b);
        (void)snprintf(out, cap, "%s stub%s, %s line%s", a, g->v->n_stubs == 1 ? "" : "s", b,
                       g->v->n_lines == 1 ? "" : "s");
    } else {
        count_format(c->nodes_before, a, sizeof a);
        count_format(c->nodes_after, b, sizeof b);
        (void)snprintf(out, cap, "%s \xE2\x86\x92 %s", a, b);
    }
}

static void show_steps(panels *p, const scene_graph *g)
{
    static const char *const names[GRAPH_STEP_COUNT] = {
        "parameters into consumers", "bookkeeping bypassed", "chains joined", "cycles", "edges pruned", "stacked"};
    char text[128];
    char shown[48];
    ui_section(p->ui, "Simplified", NULL);
    for (int s = 0; s < GRAPH_STEP_COUNT; s++) {
        step_text(g, (graph_step)s, text, sizeof text);
        ui_key_value(p->ui, names[s], text);
    }
    size_t all = g->g->n_nodes - g->g->n_implied_nodes;
    count_format(g->v->n_shown, shown, sizeof shown);
    if (all > 0 && g->v->n_shown < all) {
        (void)snprintf(text, sizeof text, "%s (%.1f %% less)", shown, 100 - 100 * (double)g->v->n_shown / (double)all);
    } else {
        (void)snprintf(text, sizeof text, "%s", shown);
    }
    ui_key_value(p->ui, "shown now", text);
    if (g->g->scopes_inferred) {
        ui_paragraph(p->ui, "Some modules are inferred: the file does not state them.", WIDTH_DP, TEXT_SMALL);
    }
}

static void measure_words(graph_colour c, double v, char *out, size_t cap)
{
    if (c == COLOUR_TIME) {
        time_format((int64_t)v, out, cap);
    } else if (c == COLOUR_MEMORY) {
        bytes_format((uint64_t)v, out, cap);
    } else {
        (void)snprintf(out, cap, "%.3g FLOP", v);
    }
}

/* What the colours of the ramp stand for; they go by the root. */
static void show_ramp(panels *p, const scene_graph *g)
{
    const theme *t = theme_get(p->session->view.theme);
    graph_colour c = (graph_colour)(p->session->view.graph.colour % GRAPH_COLOURS);
    char words[5][48];
    ui_legend_item items[5];
    if (g->most[c] <= 0) {
        ui_paragraph(p->ui, "Nothing of it is known.", WIDTH_DP, TEXT_SMALL);
        return;
    }
    for (int i = 0; i < 5; i++) {
        measure_words(c, (double)g->most[c] * i * i / 16, words[i], sizeof words[i]);
        items[i] = (ui_legend_item){words[i], t->heat[i]};
    }
    ui_legend(p->ui, "ramp", items, 5);
}

/* Lines whose colour no operator in sight explains. @return how many */
static size_t line_items(const scene_graph *g, const theme *t, uint32_t classes, ui_legend_item items[2])
{
    unsigned seen = 0;
    size_t n = 0;
    for (size_t i = 0; i < g->v->n_lines && i < 20000; i++) {
        seen |= g->v->lines[i].flags;
    }
    if ((seen & LINE_COMM) && !(classes >> GRAPH_CLASS_COLLECTIVE & 1)) {
        items[n++] = (ui_legend_item){"line: collective", t->data[CLASS_COLLECTIVE]};
    }
    if ((seen & LINE_P2P) && !(classes >> GRAPH_CLASS_SEND & 1)) {
        items[n++] = (ui_legend_item){"line: send \xE2\x86\x92 receive", t->data[CLASS_SEND]};
    }
    return n;
}

static void show_legend(panels *p, const scene_graph *g)
{
    const theme *t = theme_get(p->session->view.theme);
    ui_legend_item items[GRAPH_CLASS_COUNT + 2];
    uint32_t seen = 0;
    size_t n = 0;
    for (size_t i = 1; i < g->v->n_items && i < 20000; i++) {
        const plan_element *e = &g->plan->elements[g->v->items[i].element];
        seen |= e->kind == ELEMENT_LEAF ? 1U << e->klass : 0;
    }
    for (uint32_t c = 0; c < GRAPH_CLASS_COUNT; c++) {
        if (seen >> c & 1) {
            items[n++] = (ui_legend_item){graph_class_name((graph_class)c), scene_graph_class_colour(t, (uint8_t)c)};
        }
    }
    static const char *const by[GRAPH_COLOURS] = {"operator class", "measured time", "bytes put out", "FLOPs"};
    ui_section(p->ui, "Colours", by[p->session->view.graph.colour % GRAPH_COLOURS]);
    if (p->session->view.graph.colour != COLOUR_CLASS) {
        show_ramp(p, g);
        n = 0;
        seen = 0;
    }
    n += line_items(g, t, seen, items + n);
    if (n > 0) {
        ui_legend(p->ui, "classes", items, n);
    }
}

void graph_inspector_show(panels *p)
{
    scene_graph g;
    ui_section(p->ui, "Selected", NULL);
    if (!scene_graph_get(p->session->scene, &g)) {
        ui_paragraph(p->ui, "The graph is being simplified and laid out.", WIDTH_DP, TEXT_SMALL);
        return;
    }
    if (g.selected == GRAPH_NONE) {
        ui_paragraph(p->ui,
                     "Click an operator or a module to see its shapes, its members and its time. A double click opens.",
                     WIDTH_DP, TEXT_SMALL);
    } else {
        show_chosen(p, &g);
    }
    ui_space(p->ui, 8);
    show_steps(p, &g);
    ui_space(p->ui, 8);
    show_legend(p, &g);
}
