/* Which elements are on the page. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/visible_build.h"

static void push_opened(vis_build *b, uint32_t element)
{
    VEC_PUSH(b->opened, b->n_opened, b->cap_opened, element);
}

static uint32_t push_item(visible *v, size_t *cap, uint32_t element, uint32_t parent)
{
    VEC_PUSH(v->items, v->n_items, *cap, ((visible_item){element, parent, 0, 0}));
    v->item_of[element] = (uint32_t)(v->n_items - 1);
    return (uint32_t)(v->n_items - 1);
}

/* Breadth first, so that the children of an item are consecutive and come after all of its level. */
static marey_status build_items(vis_build *b)
{
    visible *v = b->v;
    size_t n = b->p->n_elements;
    size_t cap = 0;
    v->item_of = mem_alloc((n + 1) * sizeof *v->item_of);
    memset(v->item_of, 0xff, n * sizeof *v->item_of);
    (void)push_item(v, &cap, 0, 0);
    for (size_t i = 0; i < v->n_items; i++) {
        if (build_stops(b, i)) {
            return MAREY_CANCELLED;
        }
        shown_children c = state_children(b->s, b->p, v->items[i].element);
        v->items[i].first_child = (uint32_t)v->n_items;
        v->items[i].n_children = c.n;
        v->n_expanded += i > 0 && c.n > 0;
        if (c.n > 0) {
            uint32_t around = b->p->elements[c.first].parent;
            push_opened(b, v->items[i].element);
            if (around != v->items[i].element) { /* the member that a stack shows */
                push_opened(b, around);
            }
        }
        for (uint32_t k = 0; k < c.n; k++) {
            (void)push_item(v, &cap, c.first + k, (uint32_t)i);
            if (build_stops(b, k + 1)) {
                return MAREY_CANCELLED;
            }
        }
    }
    v->n_shown = v->n_items - 1;
    return MAREY_OK;
}

/* First node inside each element, in the order of the input: that of execution. */
static uint32_t *first_nodes(const vis_build *b)
{
    const graph_plan *p = b->p;
    uint32_t *first = mem_alloc((p->n_elements + 1) * sizeof *first);
    memset(first, 0xff, p->n_elements * sizeof *first);
    for (size_t e = p->n_elements; e-- > 0 && !build_stops(b, e);) { /* children come after parents */
        const plan_element *x = &p->elements[e];
        first[e] = x->kind == ELEMENT_LEAF && x->node < first[e] ? x->node : first[e];
        first[x->parent] = first[e] < first[x->parent] ? first[e] : first[x->parent];
    }
    return first;
}

/* What stands on a page without frames. */
typedef struct standing {
    uint32_t *element, *first_node; /* first_node: of what has none, as many as there are nodes */
    size_t n, cap_element, cap_first;
} standing;

static void find_standing(vis_build *b, standing *all)
{
    const graph_plan *p = b->p;
    uint32_t n_nodes = (uint32_t)p->g->n_nodes;
    uint32_t *first = first_nodes(b);
    uint32_t *open = NULL;
    size_t n_open = 0;
    size_t cap_open = 0;
    VEC_PUSH(open, n_open, cap_open, 0);
    while (n_open > 0 && !is_cancelled(b->cancel)) {
        uint32_t around = open[--n_open];
        shown_children c = state_children(b->s, p, around);
        push_opened(b, around);
        for (uint32_t e = c.first; e < c.first + c.n && !build_stops(b, e); e++) {
            bool stack = p->elements[e].kind == ELEMENT_STACK && !state_is_dissolved(b->s, p, e);
            if (state_is_open(b->s, p, e) && !stack) {
                VEC_PUSH(open, n_open, cap_open, e);
                b->v->n_expanded++;
            } else {
                size_t n = all->n;
                VEC_PUSH(all->first_node, n, all->cap_first, first[e] < n_nodes ? first[e] : n_nodes);
                VEC_PUSH(all->element, all->n, all->cap_element, e);
            }
        }
    }
    free(open);
    free(first);
}

/* By the first node; those of one node by element. */
static uint32_t *order_standing(const vis_build *b, const standing *all)
{
    size_t n_nodes = b->p->g->n_nodes + 1;
    size_t most = n_nodes > b->p->n_elements ? n_nodes : b->p->n_elements;
    uint32_t *order = mem_alloc((all->n + 1) * sizeof *order);
    uint32_t *scratch = mem_alloc((all->n + 1) * sizeof *scratch);
    uint32_t *count = mem_alloc((most + 2) * sizeof *count);
    for (size_t i = 0; i < all->n; i++) {
        order[i] = (uint32_t)i;
    }
    visible_sort(b, order, scratch, all->n, all->element, count, b->p->n_elements);
    visible_sort(b, order, scratch, all->n, all->first_node, count, n_nodes);
    free(scratch);
    free(count);
    return order;
}

/* Without frames: what is closed, and open stacks, right in the root. */
static marey_status build_flat_items(vis_build *b)
{
    visible *v = b->v;
    standing all = {0};
    size_t cap_items = 0;
    find_standing(b, &all);
    uint32_t *order = is_cancelled(b->cancel) ? NULL : order_standing(b, &all);
    v->item_of = mem_alloc((b->p->n_elements + 1) * sizeof *v->item_of);
    memset(v->item_of, 0xff, b->p->n_elements * sizeof *v->item_of);
    (void)push_item(v, &cap_items, 0, 0);
    v->items[0].first_child = 1;
    v->items[0].n_children = (uint32_t)all.n;
    for (size_t i = 0; order && i < all.n && !build_stops(b, i); i++) {
        uint32_t item = push_item(v, &cap_items, all.element[order[i]], 0);
        v->items[item].first_child = (uint32_t)all.n + 1;
    }
    v->n_shown = all.n;
    free(all.element);
    free(all.first_node);
    free(order);
    return is_cancelled(b->cancel) ? MAREY_CANCELLED : MAREY_OK;
}

uint32_t *visible_show(const visible *v, const graph_plan *p)
{
    uint32_t *show = mem_alloc((p->n_elements + 1) * sizeof *show);
    for (size_t e = 0; e < p->n_elements; e++) { /* parents come first */
        uint32_t item = v->item_of[e];
        show[e] = item != GRAPH_NONE ? item : show[p->elements[e].parent];
    }
    return show;
}

uint32_t *visible_depth(const visible *v)
{
    uint32_t *depth = mem_calloc(v->n_items + 1, sizeof *depth);
    for (size_t i = 1; i < v->n_items; i++) {
        depth[i] = depth[v->items[i].parent] + 1;
    }
    return depth;
}

bool visible_is_revealed(const visible *v, const graph_state *s, uint32_t from, uint32_t to)
{
    uint32_t a = v->items[from].element;
    uint32_t b = v->items[to].element;
    return a == s->revealed || b == s->revealed || ((s->open[a] | s->open[b]) & STATE_REVEALED);
}

static void way_push(way *w, uint32_t at, uint32_t from, uint32_t to)
{
    if (at >= w->cap) {
        w->cap = 2 * at + 16;
        w->segment = mem_realloc_array(w->segment, w->cap, sizeof *w->segment);
    }
    w->segment[at][0] = from;
    w->segment[at][1] = to;
}

void way_find(way *w, const visible *v, const uint32_t *depth, uint32_t from, uint32_t to)
{
    const visible_item *it = v->items;
    uint32_t a = from;
    uint32_t c = to;
    while (a != c) {
        bool up_a = depth[a] >= depth[c];
        bool up_c = depth[c] >= depth[a];
        a = up_a ? it[a].parent : a;
        c = up_c ? it[c].parent : c;
    }
    w->n_across = a != from && a != to;
    w->n_up = depth[from] - depth[a] - w->n_across * (a != from);
    w->n_down = depth[to] - depth[a] - w->n_across * (a != to);
    uint32_t x = from;
    for (uint32_t i = 0; i < w->n_up; i++, x = it[x].parent) {
        way_push(w, i, x, it[x].parent);
    }
    uint32_t y = to;
    for (uint32_t i = way_length(w); i-- > w->n_up + w->n_across; y = it[y].parent) {
        way_push(w, i, it[y].parent, y);
    }
    if (w->n_across) {
        way_push(w, w->n_up, x, y);
    }
}

marey_status visible_create(visible **out, const graph_plan *p, const graph_state *s, cancel_flag *cancel)
{
    vis_build b = {.p = p, .s = s, .cancel = cancel};
    marey_status status = MAREY_OK;
    b.v = mem_calloc(1, sizeof *b.v);
    *out = NULL;
    visible_edges *own = p->edges ? NULL : visible_edges_create(p, cancel);
    b.edges = p->edges ? p->edges : own;
    if (!b.edges) {
        status = MAREY_CANCELLED;
        goto fail;
    }
    MAREY_TRY(s->flat ? build_flat_items(&b) : build_items(&b));
    b.depth = visible_depth(b.v);
    MAREY_TRY(build_bundles(&b));
    MAREY_TRY(build_lines(&b));
    MAREY_TRY(build_back(&b));
    MAREY_TRY(build_cuts(&b));
    MAREY_TRY(build_result(&b));
    *out = b.v;
    b.v = NULL;
fail:
    visible_edges_destroy(&own);
    free(b.opened);
    free(b.splits);
    free(b.depth);
    free(b.bundles);
    free(b.first_segment);
    free(b.segment_line);
    free(b.line_first);
    free(b.w.segment);
    visible_destroy(&b.v);
    return status;
}

void visible_destroy(visible **v)
{
    if (*v) {
        free((*v)->items);
        free((*v)->item_of);
        free((*v)->lines);
        free((*v)->stubs);
        free(*v);
        *v = NULL;
    }
}
