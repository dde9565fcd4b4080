/* Time, bytes and FLOPs of elements, and how they spread over the members of a stack. */
#include <stdlib.h>
#include <string.h>

#include "scene/graph_view.h"

static double output_bytes(const graph *g, uint32_t node)
{
    double sum = 0;
    for (uint32_t i = g->out_first[node]; i < g->out_first[node + 1]; i++) {
        sum += (double)graph_out_bytes(g, i);
    }
    return sum;
}

graph_measure *graph_measure_make(const graph_plan *p, const graph_join *j)
{
    const graph *g = p->g;
    graph_measure *m = mem_calloc(p->n_elements + 1, sizeof *m);
    for (uint32_t node = 0; node < g->n_nodes; node++) {
        uint32_t e = p->element_of[node];
        if (e >= p->n_elements) {
            continue;
        }
        m[e].time_ns += j ? (float)graph_join_step_ns(j, node) : 0;
        m[e].flops += j && j->flops ? (float)j->flops[node] : 0;
        m[e].bytes += g->node_role[node] == GRAPH_OPERATOR ? (float)output_bytes(g, node) : 0;
    }
    for (size_t e = p->n_elements; e-- > 1;) { /* parents before children */
        graph_measure *up = &m[p->elements[e].parent];
        up->time_ns += m[e].time_ns;
        up->flops += m[e].flops;
        up->bytes += m[e].bytes;
    }
    return m;
}

size_t graph_sharding_cells(const graph_plan *p, uint32_t element, uint32_t slices[8])
{
    const plan_element *e = &p->elements[element];
    uint32_t own[8];
    uint32_t *to = slices ? slices : own;
    if (e->kind != ELEMENT_LEAF || e->node >= p->g->n_nodes || graph_sharding_of(p->g, e->node) == 0) {
        return 0;
    }
    size_t n = 0;
    for (unsigned slot = 0; slot < 4; slot++) { /* an input that is not cut tells least */
        n = graph_sharding(p->g, e->node, slot, to, 8);
        for (size_t i = 0; i < n; i++) {
            if (to[i] > 1) {
                return n;
            }
        }
    }
    return graph_sharding(p->g, e->node, 0, to, 8);
}

/* ------------------------------------------------------------------ stacks */

uint32_t scene_graph_stack(const graph_plan *p, uint32_t element)
{
    for (uint32_t e = element; e != 0 && e < p->n_elements; e = p->elements[e].parent) {
        if (p->elements[e].kind == ELEMENT_STACK) {
            return e;
        }
    }
    return GRAPH_NONE;
}

size_t scene_graph_counterparts(const graph_plan *p, uint32_t stack, uint32_t leaf, uint32_t *out, size_t cap)
{
    uint32_t family = stack < p->n_elements ? p->elements[stack].family : GRAPH_NONE;
    if (family >= p->n_families || p->families[family].first_map == UINT64_MAX) {
        return 0;
    }
    const plan_family *f = &p->families[family];
    size_t n = 0;
    for (uint32_t m = 0; m < f->n_members && n < cap; m++) {
        out[n] = plan_counterpart(p, family, leaf, m);
        n += out[n] != GRAPH_NONE;
    }
    return n;
}

enum { SPREAD_MEMBERS = 4096, SPREAD_MOST = 4000000 };

static item_time time_of(const graph_picture *pic, uint32_t element, uint32_t *others, size_t *budget)
{
    const graph_plan *p = pic->of->plan;
    const graph_measure *m = pic->of->measures;
    item_time t = {m[element].time_ns, m[element].time_ns, m[element].time_ns};
    uint32_t stack = p->elements[element].kind == ELEMENT_LEAF ? scene_graph_stack(p, element) : GRAPH_NONE;
    if (stack == GRAPH_NONE || t.mean_ns <= 0 || *budget < SPREAD_MEMBERS) {
        return t;
    }
    size_t n = scene_graph_counterparts(p, stack, element, others, SPREAD_MEMBERS);
    *budget -= n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        float v = m[others[i]].time_ns;
        sum += (double)v;
        t.min_ns = fminf(t.min_ns, v);
        t.max_ns = fmaxf(t.max_ns, v);
    }
    t.mean_ns = n > 0 ? (float)(sum / (double)n) : t.mean_ns;
    return t;
}

/* A closed stack is as long as a member of it, or its bar would outgrow all others. */
static float alone(const graph_plan *p, const plan_element *e, float value)
{
    bool stack = e->kind == ELEMENT_STACK && e->family < p->n_families && p->families[e->family].n_members > 0;
    return stack ? value / (float)p->families[e->family].n_members : value;
}

void graph_picture_measure(graph_picture *pic, const graph_join *j, cancel_flag *cancel)
{
    const graph_plan *p = pic->of->plan;
    const visible *v = pic->v;
    uint32_t *others = j ? mem_alloc(SPREAD_MEMBERS * sizeof *others) : NULL;
    size_t budget = SPREAD_MOST;
    pic->times = j ? mem_calloc(v->n_items + 1, sizeof *pic->times) : NULL;
    for (uint32_t i = 1; i < v->n_items; i++) {
        if ((i & 4095) == 0 && is_cancelled(cancel)) {
            break;
        }
        uint32_t e = v->items[i].element;
        const graph_measure *m = &pic->of->measures[e];
        if (j) {
            pic->times[i] = time_of(pic, e, others, &budget);
            float share = alone(p, &p->elements[e], 1);
            pic->times[i].mean_ns *= share;
            pic->times[i].min_ns *= share;
            pic->times[i].max_ns *= share;
        }
        if (v->items[i].n_children == 0) {
            pic->most_ns = fmaxf(pic->most_ns, pic->times ? pic->times[i].mean_ns : 0);
            pic->most[COLOUR_TIME] = pic->most_ns;
            pic->most[COLOUR_MEMORY] = fmaxf(pic->most[COLOUR_MEMORY], alone(p, &p->elements[e], m->bytes));
            pic->most[COLOUR_FLOPS] = fmaxf(pic->most[COLOUR_FLOPS], alone(p, &p->elements[e], m->flops));
        }
    }
    free(others);
}
