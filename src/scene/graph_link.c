/* From events to operators and back. What is chosen in the graph stands for its events, and for those of the same
 * operator in the other members of its stack. */
#include <stdlib.h>
#include <string.h>

#include "scene/graph_view.h"

bool scene_graph_select_event(scene *s, uint64_t row)
{
    graph_view *g = s->graph;
    const graph_join *j = g && g->now ? graph_work_join(g->work) : NULL;
    store_event_info e;
    if (!j || store_read_event(s->file, row, &e, NULL) != MAREY_OK) {
        return false;
    }
    uint32_t node = graph_join_node(j, row, e.name);
    uint32_t element = node < j->n_nodes ? g->now->of->plan->element_of[node] : GRAPH_NONE;
    if (element == GRAPH_NONE) {
        return false;
    }
    scene_graph_select(s, element, false);
    return true;
}

static uint64_t longest_row(const graph_plan *p, const graph_join *j, uint32_t chosen)
{
    uint64_t row = UINT64_MAX;
    int64_t longest = -1;
    for (uint32_t node = 0; node < p->g->n_nodes; node++) {
        const node_time *t = &j->times[node];
        uint32_t e = p->element_of[node];
        if (t->n == 0 || t->max_ns <= longest || e == GRAPH_NONE) {
            continue;
        }
        if (e == chosen || chosen == 0 || plan_child_towards(p, chosen, e) != GRAPH_NONE) {
            longest = t->max_ns;
            row = t->max_row;
        }
    }
    return row;
}

uint64_t scene_graph_row(const scene *s)
{
    graph_view *g = s->graph;
    const graph_join *j = g && g->now ? graph_work_join(g->work) : NULL;
    if (!j || g->selected == GRAPH_NONE) {
        return UINT64_MAX;
    }
    if (g->row_of != g->selected || g->row_plan != g->now->of->serial) { /* asked for in every frame */
        g->row_of = g->selected;
        g->row_plan = g->now->of->serial;
        g->row = longest_row(g->now->of->plan, j, g->selected);
    }
    return g->row;
}

void scene_graph_linked(scene *s, uint64_t row)
{
    if (s->graph) {
        s->graph->linked_row = row;
    }
}

/* ------------------------------------------------------------------ what stands out elsewhere */

static void set_bit(uint8_t *bits, uint32_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1U << (i & 7));
}

/* The chosen element and its counterparts, as bits. */
static void mark_chosen(graph_view *g)
{
    enum { MOST = 65536 };
    const graph_plan *p = g->now->of->plan;
    if (g->marks_of == g->selected && g->marks_plan == g->now->of->serial) {
        return;
    }
    g->marks_of = g->selected;
    g->marks_plan = g->now->of->serial;
    g->marks = mem_realloc_array(g->marks, p->n_elements / 8 + 1, 1);
    memset(g->marks, 0, p->n_elements / 8 + 1);
    set_bit(g->marks, g->selected);
    uint32_t stack = scene_graph_stack(p, g->selected);
    if (stack == GRAPH_NONE || p->elements[g->selected].kind != ELEMENT_LEAF) {
        return;
    }
    uint32_t *others = mem_alloc(MOST * sizeof *others);
    size_t n = scene_graph_counterparts(p, stack, g->selected, others, MOST);
    for (size_t i = 0; i < n; i++) {
        set_bit(g->marks, others[i]);
    }
    free(others);
}

/* In what is marked, or inside of it. */
static bool is_marked(const graph_view *g, uint32_t node)
{
    const graph_plan *p = g->now->of->plan;
    uint32_t e = p->element_of[node];
    while (e < p->n_elements && e != 0) { /* the root stands for nothing */
        if (g->marks[e >> 3] >> (e & 7) & 1) {
            return true;
        }
        e = p->elements[e].parent;
    }
    return false;
}

size_t scene_graph_chosen_nodes(scene *s, uint8_t *bits)
{
    graph_view *g = s->graph;
    const graph_join *j = g && g->now && g->selected != GRAPH_NONE ? graph_work_join(g->work) : NULL;
    size_t n = 0;
    if (!j) {
        return 0;
    }
    mark_chosen(g);
    for (uint32_t node = 0; node < j->n_nodes; node++) {
        if (j->times[node].n > 0 && is_marked(g, node)) {
            set_bit(bits, node);
            n++;
        }
    }
    return n;
}

bool graph_holds_event(scene *s, uint64_t row, uint32_t name)
{
    graph_view *g = s->graph;
    const graph_join *j = g && g->now && g->selected != GRAPH_NONE ? graph_work_join(g->work) : NULL;
    uint32_t node = j ? graph_join_node(j, row, name) : GRAPH_NONE;
    if (!j || node >= j->n_nodes) {
        return false;
    }
    mark_chosen(g);
    return is_marked(g, node);
}
