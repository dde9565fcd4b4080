/* What keys and clicks do to the graph layout: what is open, and what is chosen. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "scene/graph_view.h"

enum { UNDO_BYTES = 64 << 20 };

/* ------------------------------------------------------------------ undo */

static void drop_entries(undo_entry *list, size_t *n, size_t keep)
{
    while (*n > keep) {
        graph_state_deinit(&list[--*n].state);
    }
}

void graph_forget(graph_view *g)
{
    drop_entries(g->undo, &g->n_undo, 0);
    drop_entries(g->redo, &g->n_redo, 0);
}

static void push_entry(graph_view *g, undo_entry *list, size_t *n)
{
    size_t most = UNDO_BYTES / (g->state.n + 1);
    most = most < 4 ? 4 : most > GRAPH_MAX_UNDO ? GRAPH_MAX_UNDO : most;
    if (*n >= most) {
        graph_state_deinit(&list[0].state);
        memmove(&list[0], &list[1], (*n - 1) * sizeof *list);
        --*n;
    }
    undo_entry *e = &list[(*n)++];
    memset(e, 0, sizeof *e);
    e->plan_serial = g->state_of->serial;
    graph_state_copy(&e->state, &g->state);
}

void graph_remember(graph_view *g)
{
    drop_entries(g->redo, &g->n_redo, 0);
    push_entry(g, g->undo, &g->n_undo);
}

static bool go_back(graph_view *g, undo_entry *from, size_t *n_from, undo_entry *to, size_t *n_to)
{
    if (*n_from == 0 || from[*n_from - 1].plan_serial != g->state_of->serial) {
        drop_entries(from, n_from, 0); /* steps of another plan mean nothing here */
        return false;
    }
    push_entry(g, to, n_to);
    graph_state_deinit(&g->state);
    g->state = from[--*n_from].state;
    g->is_changed = true;
    return true;
}

/* ------------------------------------------------------------------ choosing */

void graph_select_here(graph_view *g, uint32_t element)
{
    g->selected = element;
    g->path_to = GRAPH_NONE;
}

void graph_take_over(graph_view *g, const graph_picture *old, const graph_picture *now)
{
    const graph_plan *a = old->of->plan;
    const graph_plan *b = now->of->plan;
    uint32_t was = g->selected;
    graph_select_here(g, GRAPH_NONE);
    g->anchor = GRAPH_NONE;
    graph_forget(g);
    if (was >= a->n_elements) {
        return;
    }
    const plan_element *e = &a->elements[was];
    if (e->kind == ELEMENT_LEAF && e->node < b->g->n_nodes) {
        g->selected = b->element_of[e->node];
    }
    for (uint32_t i = 0; e->scope != GRAPH_NONE && i < b->n_elements && g->selected == GRAPH_NONE; i++) {
        g->selected = b->elements[i].scope == e->scope ? i : GRAPH_NONE;
    }
}

static bool is_shown(const graph_view *g, uint32_t element)
{
    return g->now && element < g->now->of->plan->n_elements && g->now->v->item_of[element] != GRAPH_NONE;
}

void scene_graph_select(scene *s, uint32_t element, bool go)
{
    graph_view *g = s->graph;
    if (!g || !g->now || g->state_of != g->now->of) {
        return;
    }
    graph_select_here(g, element < g->now->of->plan->n_elements ? element : GRAPH_NONE);
    if (g->selected == GRAPH_NONE) {
        return;
    }
    if (!is_shown(g, element)) {
        graph_remember(g);
        graph_state_reveal(&g->state, g->now->of->plan, element);
        g->is_changed = true;
    }
    const plan_element *e = &g->now->of->plan->elements[element];
    const plan_element *around = &g->now->of->plan->elements[e->parent];
    if (e->kind == ELEMENT_MODULE && around->kind == ELEMENT_STACK && !(g->state.open[e->parent] & STATE_DISSOLVED)) {
        g->selected = e->parent; /* whose frame is the member's */
        g->state.open[e->parent] |= STATE_OPEN;
        g->is_changed = true;
    }
    g->wants_go = go;
}

void scene_graph_select_node(scene *s, uint32_t node)
{
    graph_view *g = s->graph;
    if (g && g->now && node < g->now->of->plan->g->n_nodes) {
        const graph *gr = g->now->of->plan->g;
        uint32_t e = g->now->of->plan->element_of[node];
        if (e == GRAPH_NONE && gr->from_first[node] < gr->from_first[node + 1]) { /* a parameter: its first consumer */
            e = g->now->of->plan->element_of[gr->edge_to[gr->from_edge[gr->from_first[node]]]];
        }
        if (e != GRAPH_NONE) {
            scene_graph_select(s, e, true);
        }
    }
}

/* ------------------------------------------------------------------ names */

static bool ends_with_path(const char *path, const char *name)
{
    size_t n = strlen(path);
    size_t k = strlen(name);
    return k <= n && strcasecmp(path + n - k, name) == 0 && (k == n || path[n - k - 1] == '/');
}

/* A path or its end; else a node's name, or a part of a label. */
uint32_t graph_find_named(const graph_plan *p, const char *name)
{
    strbuf path = {0};
    uint32_t found = GRAPH_NONE;
    for (uint32_t i = 1; i < p->n_elements && found == GRAPH_NONE; i++) {
        const char *label = plan_label(p, i);
        const char *last = strrchr(name, '/');
        if (strcasecmp(label, name) == 0 || strstr(name, label) || (last && strcasecmp(label, last + 1) == 0)) {
            strbuf_clear(&path);
            plan_path(p, i, &path);
            found = ends_with_path(strbuf_str(&path), name) ? i : GRAPH_NONE;
        }
    }
    for (uint32_t n = 0; n < p->g->n_nodes && found == GRAPH_NONE; n++) {
        bool is = strcmp(graph_string(p->g, p->g->node_name[n]), name) == 0;
        found = is ? p->element_of[n] : GRAPH_NONE;
    }
    for (uint32_t i = 1; i < p->n_elements && found == GRAPH_NONE; i++) {
        found = strcasestr(plan_label(p, i), name) ? i : GRAPH_NONE;
    }
    strbuf_deinit(&path);
    return found;
}

/* ------------------------------------------------------------------ opening and closing */

static void toggle(graph_view *g, uint32_t element)
{
    const graph_plan *p = g->now->of->plan;
    if (element >= p->n_elements || element == 0 || p->elements[element].kind == ELEMENT_LEAF) {
        return;
    }
    graph_remember(g);
    graph_state_toggle(&g->state, p, element);
    g->anchor = element;
    g->is_changed = true;
    if (g->selected != GRAPH_NONE && g->selected != element &&
        plan_child_towards(p, element, g->selected) != GRAPH_NONE && g->state.open[element] == STATE_CLOSED) {
        graph_select_here(g, element); /* what was chosen is hidden now */
    }
}

static bool set_open(graph_view *g, uint32_t element, uint8_t open)
{
    graph_remember(g);
    g->state.open[element] = open;
    g->anchor = element;
    g->is_changed = true;
    return true;
}

static bool close_around(graph_view *g, uint32_t element)
{
    const graph_plan *p = g->now->of->plan;
    uint32_t e = element;
    while (e != 0 && (p->elements[e].kind == ELEMENT_LEAF || g->state.open[e] == STATE_CLOSED)) {
        e = p->elements[e].parent;
    }
    if (e == 0) {
        return false;
    }
    graph_select_here(g, e);
    return set_open(g, e, STATE_CLOSED);
}

static bool dissolve(graph_view *g, uint32_t element)
{
    const graph_plan *p = g->now->of->plan;
    uint32_t stack = scene_graph_stack(p, element);
    if (stack == GRAPH_NONE) {
        return false;
    }
    bool was = (g->state.open[stack] & STATE_DISSOLVED) != 0;
    graph_select_here(g, stack);
    return set_open(g, stack, was ? STATE_OPEN : STATE_DISSOLVED);
}

/* The same operator of the next member comes in its place. */
static bool step_member(graph_view *g, uint32_t element, int by)
{
    const graph_plan *p = g->now->of->plan;
    uint32_t stack = scene_graph_stack(p, element);
    uint32_t family = stack == GRAPH_NONE ? GRAPH_NONE : p->elements[stack].family;
    if (family >= p->n_families || (g->state.open[stack] & STATE_DISSOLVED)) {
        return false;
    }
    uint32_t n = p->families[family].n_members;
    uint32_t next = (g->state.member[family] + n + (uint32_t)(by < 0 ? n - 1 : 1)) % n;
    graph_remember(g);
    bool leaf = p->elements[element].kind == ELEMENT_LEAF && p->families[family].first_map != UINT64_MAX;
    uint32_t there = leaf ? plan_counterpart(p, family, element, next) : GRAPH_NONE;
    g->state.member[family] = next;
    g->state.open[stack] = STATE_OPEN;
    graph_select_here(g, there != GRAPH_NONE ? there : stack);
    if (there != GRAPH_NONE) {
        graph_state_reveal(&g->state, p, there);
    }
    g->anchor = stack;
    g->is_changed = true;
    return true;
}

static bool open_all(graph_view *g, bool all)
{
    const graph_plan *p = g->now->of->plan;
    graph_remember(g);
    if (all) {
        graph_state_expand_all(&g->state, p, true);
    } else {
        memset(g->state.open, STATE_CLOSED, g->state.n);
        g->state.open[0] = STATE_OPEN;
        if (p->elements[0].n_children == 1) { /* or there would be one box */
            g->state.open[p->elements[0].first_child] = STATE_OPEN;
        }
        graph_select_here(g, GRAPH_NONE);
    }
    g->is_changed = true;
    return true;
}

/* ------------------------------------------------------------------ along edges */

/* The element at the other end of the nearest line: in file order of its places. */
static uint32_t neighbour(const graph_view *g, uint32_t element, bool forward)
{
    const graph_picture *p = g->now;
    uint32_t item = p->v->item_of[element];
    while (item != GRAPH_NONE && item != 0) {
        uint32_t around = p->v->items[item].parent;
        bool leaves = false;
        graph_rows lines = graph_lines_in(p->v, around);
        for (uint32_t i = lines.first; i < lines.end; i++) {
            const visible_line *l = &p->v->lines[i];
            uint32_t here = forward ? l->from : l->to;
            uint32_t there = forward ? l->to : l->from;
            if (here == item && there != around && !(l->flags & LINE_BACK)) {
                return p->v->items[there].element;
            }
            leaves = leaves || (here == item && there == around);
        }
        if (!leaves) {
            break;
        }
        item = around; /* the line goes on outside */
    }
    uint32_t at = p->v->item_of[element];
    graph_rows stubs = at == GRAPH_NONE ? (graph_rows){0, 0} : graph_stubs_at(p->v, at);
    for (uint32_t i = stubs.first; i < stubs.end; i++) {
        if (p->v->stubs[i].is_input != forward) {
            return p->v->stubs[i].peer;
        }
    }
    return GRAPH_NONE;
}

/* Into an open module goes on to its first element in the direction. */
static uint32_t enter(const graph_view *g, uint32_t element, bool forward)
{
    const graph_picture *p = g->now;
    for (uint32_t item = p->v->item_of[element]; item != GRAPH_NONE && p->v->items[item].n_children > 0;) {
        uint32_t next = GRAPH_NONE;
        graph_rows lines = graph_lines_in(p->v, item);
        for (uint32_t i = lines.first; i < lines.end && next == GRAPH_NONE; i++) {
            const visible_line *l = &p->v->lines[i];
            uint32_t side = forward ? l->from : l->to;
            next = side == item ? (forward ? l->to : l->from) : GRAPH_NONE;
        }
        item = next != GRAPH_NONE && next != item ? next : p->v->items[item].first_child;
        element = p->v->items[item].element;
    }
    return element;
}

static uint32_t sibling(const graph_view *g, uint32_t element, int by)
{
    const graph_picture *p = g->now;
    uint32_t item = p->v->item_of[element];
    if (item == GRAPH_NONE || item == 0) {
        return GRAPH_NONE;
    }
    const visible_item *around = &p->v->items[p->v->items[item].parent];
    uint32_t at = item - around->first_child;
    uint32_t n = around->n_children;
    return p->v->items[around->first_child + (at + n + (uint32_t)(by < 0 ? n - 1 : 1)) % n].element;
}

static bool go_to(scene *s, graph_view *g, uint32_t element)
{
    if (element == GRAPH_NONE) {
        return false;
    }
    scene_graph_select(s, element, false);
    g->reveals = true;
    return true;
}

/* ------------------------------------------------------------------ commands */

static bool needs_nothing(scene *s, graph_view *g, graph_command c, bool *done)
{
    *done = true;
    switch (c) {
    case GRAPH_DO_UNDO:
        return go_back(g, g->undo, &g->n_undo, g->redo, &g->n_redo);
    case GRAPH_DO_REDO:
        return go_back(g, g->redo, &g->n_redo, g->undo, &g->n_undo);
    case GRAPH_DO_OPEN_ALL:
        return open_all(g, true);
    case GRAPH_DO_CLOSE_ALL:
        return open_all(g, false);
    case GRAPH_DO_NOTHING:
        scene_graph_select(s, GRAPH_NONE, false);
        return true;
    default:
        *done = false;
        return false;
    }
}

static bool move(scene *s, graph_view *g, graph_command c, uint32_t e)
{
    uint32_t to = GRAPH_NONE;
    if (c == GRAPH_DO_CONSUMER || c == GRAPH_DO_PRODUCER) {
        bool forward = c == GRAPH_DO_CONSUMER;
        to = neighbour(g, e, forward);
        to = to == GRAPH_NONE ? to : is_shown(g, to) ? enter(g, to, forward) : to;
    } else if (c == GRAPH_DO_SIBLING_NEXT || c == GRAPH_DO_SIBLING_PREVIOUS) {
        to = sibling(g, e, c == GRAPH_DO_SIBLING_NEXT ? 1 : -1);
    }
    return go_to(s, g, to);
}

bool scene_graph_do(scene *s, const view *v, graph_command c)
{
    graph_view *g = s->graph;
    (void)v;
    if (!g || !g->now || g->state_of != g->now->of) {
        return false;
    }
    bool done = false;
    bool did = needs_nothing(s, g, c, &done);
    if (done) {
        return did;
    }
    bool moves = c == GRAPH_DO_CONSUMER || c == GRAPH_DO_PRODUCER || c == GRAPH_DO_SIBLING_NEXT ||
                 c == GRAPH_DO_SIBLING_PREVIOUS;
    uint32_t hovered = g->hover_item != GRAPH_NONE ? g->now->v->items[g->hover_item].element : GRAPH_NONE;
    uint32_t e = g->selected != GRAPH_NONE ? g->selected : hovered;
    if (e == GRAPH_NONE && moves) { /* the first one */
        return go_to(s, g, enter(g, 0, true));
    }
    if (e == GRAPH_NONE || !is_shown(g, e)) {
        return false;
    }
    switch (c) {
    case GRAPH_DO_TOGGLE:
        toggle(g, e);
        return true;
    case GRAPH_DO_CLOSE:
        return close_around(g, e);
    case GRAPH_DO_DISSOLVE:
        return dissolve(g, e);
    case GRAPH_DO_MEMBER_NEXT:
        return step_member(g, e, 1);
    case GRAPH_DO_MEMBER_PREVIOUS:
        return step_member(g, e, -1);
    case GRAPH_DO_STUBS:
        return set_open(g, e, g->state.open[e] ^ STATE_REVEALED);
    default:
        return move(s, g, c, e);
    }
}

void scene_graph_click(scene *s, const view *v, const graph_hit *hit, bool shift, bool twice)
{
    graph_view *g = s->graph;
    (void)v;
    if (!g || !g->now || g->state_of != g->now->of) {
        return;
    }
    bool element = hit->kind == GRAPH_HIT_ITEM || hit->kind == GRAPH_HIT_FRAME || hit->kind == GRAPH_HIT_TITLE;
    if (element && twice) {
        toggle(g, hit->element);
    } else if (element && shift && g->selected != GRAPH_NONE && hit->element != g->selected) {
        g->path_to = hit->element;
    } else if (element) {
        graph_select_here(g, hit->element);
    } else if (hit->kind == GRAPH_HIT_STUB) {
        graph_select_here(g, hit->element);
        (void)set_open(g, hit->element, g->state.open[hit->element] ^ STATE_REVEALED);
    } else if (hit->kind == GRAPH_HIT_CRUMB) {
        scene_graph_select(s, hit->element == 0 ? GRAPH_NONE : hit->element, true);
    } else if (hit->kind == GRAPH_HIT_NONE) {
        graph_select_here(g, GRAPH_NONE);
    }
}
