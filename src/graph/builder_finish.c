/* The builder: names are joined, edges sorted, rows put by their nodes. */
#include <stdlib.h>
#include <string.h>

#include "graph/builder_internal.h"
#include "graph/hierarchy.h"

static bool stop(cancel_flag *cancel, size_t i)
{
    return (i & 0xFFFF) == 0 && is_cancelled(cancel);
}

/* The nearest definition that the space sees: its own, then those around it. */
static bool find_value(const graph_builder *b, const pushed_use *u, uint32_t *node, uint16_t *slot)
{
    const pushed_value *v = &b->value[u->value];
    if (v->node == GRAPH_NONE) {
        return false;
    }
    for (uint32_t s = u->space; s != GRAPH_NONE; s = s < b->n_spaces ? b->spaces[s].parent : GRAPH_NONE) {
        if (!v->several) {
            if (v->space == s) {
                *node = v->node;
                *slot = v->slot;
                return true;
            }
            continue;
        }
        const uint64_t *place = map64_get(&b->shadows, (uint64_t)s << 32 | u->value);
        if (place) {
            *node = (uint32_t)((*place - 1) >> 16);
            *slot = (uint16_t)(*place - 1);
            return true;
        }
    }
    return false;
}

static void lose_use(graph_builder *b, const pushed_use *u, bool first)
{
    uint64_t offset = (uint64_t)u->offset_high << 32 | u->offset_low;
    offset = offset == BUILDER_OFFSET_MAX ? DIAG_NO_OFFSET : offset;
    builder_lose(b, MAREY_LOSS_DANGLING, offset, 1);
    if (first && b->d) {
        const char *value = b->values.text + b->values.at[u->value];
        diag_note(b->d, NULL, offset, "nothing makes the value \"%.200s\", which an operator takes", value);
    }
}

/* Uses that found their value become edges in their own memory: a use is the larger of the two.
 * @return how many; SIZE_MAX: cancelled */
static size_t resolve_uses(graph_builder *b, cancel_flag *cancel)
{
    _Static_assert(sizeof(pushed_edge) <= sizeof(pushed_use), "an edge takes the place of its use");
    unsigned char *joined = (unsigned char *)b->uses;
    size_t n = 0;
    bool first = true;
    for (size_t i = 0; i < b->n_uses; i++) {
        const pushed_use u = b->uses[i];
        if (stop(cancel, i)) {
            return SIZE_MAX;
        }
        pushed_edge e = {0, u.node, 0, u.slot, u.flags};
        if (u.node < b->g.n_nodes && find_value(b, &u, &e.from, &e.from_slot)) {
            memcpy(joined + n++ * sizeof e, &e, sizeof e);
        } else {
            lose_use(b, &u, first);
            first = false;
        }
    }
    return n;
}

marey_status builder_join(graph_builder *b, cancel_flag *cancel)
{
    size_t n = resolve_uses(b, cancel);
    if (n == SIZE_MAX) {
        return MAREY_CANCELLED;
    }
    text_table_deinit(&b->values);
    free(b->value);
    b->value = NULL;
    map64_deinit(&b->shadows);
    if (b->n_edges == 0) {
        free(b->edges);
        b->edges = mem_realloc_array(b->uses, n ? n : 1, sizeof *b->edges);
    } else if (n > 0) {
        b->edges = mem_realloc_array(b->edges, b->n_edges + n, sizeof *b->edges);
        memcpy(b->edges + b->n_edges, b->uses, n * sizeof *b->edges);
        free(b->uses);
    } else {
        free(b->uses);
    }
    b->n_edges += n;
    b->cap_edges = b->n_edges;
    b->uses = NULL;
    b->n_uses = b->cap_uses = 0;
    return MAREY_OK;
}

/* Edges whose ends do not exist go; an edge that touches an implied node is implied itself. */
static void settle_edges(graph_builder *b)
{
    const graph *g = &b->g;
    size_t n = 0, dangling = 0, loops = 0;
    for (size_t i = 0; i < b->n_edges; i++) {
        pushed_edge e = b->edges[i];
        if (e.from >= g->n_nodes || e.to >= g->n_nodes) {
            dangling++;
            continue;
        }
        e.flags |= (uint8_t)((g->node_flags[e.from] | g->node_flags[e.to]) & GRAPH_IMPLIED);
        e.flags |= (uint8_t)(e.flags & GRAPH_P2P ? GRAPH_IMPLIED : 0);
        loops += e.from == e.to;
        b->edges[n++] = e;
    }
    b->n_edges = n;
    builder_lose(b, MAREY_LOSS_DANGLING, DIAG_NO_OFFSET, dangling);
    builder_lose(b, MAREY_LOSS_SELF_LOOP, DIAG_NO_OFFSET, loops);
}

typedef struct slot_key {
    uint16_t slot;
    uint32_t order;
} slot_key;

static int by_slot(const void *a, const void *b)
{
    const slot_key *x = a, *y = b;
    if (x->slot != y->slot) {
        return x->slot < y->slot ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Edges of one node by slot; stable. They come in that order nearly always. */
static void sort_slots(pushed_edge *e, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) {
        sorted = e[i - 1].to_slot <= e[i].to_slot;
    }
    if (sorted) {
        return;
    }
    slot_key *keys = mem_alloc(n * sizeof *keys);
    pushed_edge *copy = mem_alloc(n * sizeof *copy);
    memcpy(copy, e, n * sizeof *e);
    for (size_t i = 0; i < n; i++) {
        keys[i] = (slot_key){e[i].to_slot, (uint32_t)i};
    }
    qsort(keys, n, sizeof *keys, by_slot);
    for (size_t i = 0; i < n; i++) {
        e[i] = copy[keys[i].order];
    }
    free(keys);
    free(copy);
}

/* Edges into each node together, in the order of pushing: a counting sort. */
static pushed_edge *group_edges(graph_builder *b)
{
    graph *g = &b->g;
    g->in_first = mem_calloc(g->n_nodes + 2, sizeof *g->in_first);
    for (size_t i = 0; i < b->n_edges; i++) {
        g->in_first[b->edges[i].to + 2]++;
    }
    for (size_t i = 2; i < g->n_nodes + 2; i++) {
        g->in_first[i] += g->in_first[i - 1];
    }
    pushed_edge *grouped = mem_alloc((b->n_edges ? b->n_edges : 1) * sizeof *grouped);
    for (size_t i = 0; i < b->n_edges; i++) {
        grouped[g->in_first[b->edges[i].to + 1]++] = b->edges[i];
    }
    free(b->edges);
    b->edges = NULL;
    b->cap_edges = 0;
    return grouped;
}

static void index_from(graph *g)
{
    g->from_first = mem_calloc(g->n_nodes + 2, sizeof *g->from_first);
    g->from_edge = mem_alloc((g->n_edges ? g->n_edges : 1) * sizeof *g->from_edge);
    for (size_t i = 0; i < g->n_edges; i++) {
        g->from_first[g->edge_from[i] + 2]++;
    }
    for (size_t i = 2; i < g->n_nodes + 2; i++) {
        g->from_first[i] += g->from_first[i - 1];
    }
    for (size_t i = 0; i < g->n_edges; i++) {
        g->from_edge[g->from_first[g->edge_from[i] + 1]++] = (uint32_t)i;
    }
}

marey_status builder_sort_edges(graph_builder *b, cancel_flag *cancel)
{
    graph *g = &b->g;
    settle_edges(b);
    g->n_edges = b->n_edges;
    pushed_edge *e = group_edges(b);
    for (size_t i = 0; i < g->n_nodes; i++) {
        size_t first = g->in_first[i], n = g->in_first[i + 1] - first;
        if (n > 1) {
            sort_slots(e + first, n);
        }
        if (stop(cancel, i)) {
            free(e);
            return MAREY_CANCELLED;
        }
    }
    size_t m = g->n_edges ? g->n_edges : 1;
    g->edge_from = mem_alloc(m * sizeof *g->edge_from);
    g->edge_to = mem_alloc(m * sizeof *g->edge_to);
    g->edge_from_slot = mem_alloc(m * sizeof *g->edge_from_slot);
    g->edge_to_slot = mem_alloc(m * sizeof *g->edge_to_slot);
    g->edge_flags = mem_alloc(m);
    for (size_t i = 0; i < g->n_edges; i++) {
        g->edge_from[i] = e[i].from;
        g->edge_to[i] = e[i].to;
        g->edge_from_slot[i] = e[i].from_slot;
        g->edge_to_slot[i] = e[i].to_slot;
        g->edge_flags[i] = e[i].flags;
        bool implied = e[i].flags & GRAPH_IMPLIED;
        g->n_implied_edges += implied;
        g->n_control_edges += !implied && (e[i].flags & GRAPH_CONTROL);
    }
    free(e);
    index_from(g);
    return MAREY_OK;
}

/* Rows by node, in the order of pushing within it. `node`: of the first row, `step` bytes before that of the next.
 * @return first: [n_nodes + 1] */
static uint32_t *place_rows(size_t n_nodes, const void *node, size_t step, size_t n, uint32_t *order)
{
#define NODE(i) (*(const uint32_t *)(const void *)((const unsigned char *)node + (i)*step))
    uint32_t *first = mem_calloc(n_nodes + 2, sizeof *first);
    for (size_t i = 0; i < n; i++) {
        first[NODE(i) + 2]++;
    }
    for (size_t i = 2; i < n_nodes + 2; i++) {
        first[i] += first[i - 1];
    }
    for (size_t i = 0; i < n; i++) {
        order[first[NODE(i) + 1]++] = (uint32_t)i;
    }
#undef NODE
    return first;
}

static void place_outs(graph_builder *b)
{
    graph *g = &b->g;
    g->out_tensor = mem_alloc((b->n_outs + 1) * sizeof *g->out_tensor);
    g->n_outs = b->n_outs;
    g->out_first = place_rows(g->n_nodes, b->outs, sizeof *b->outs, b->n_outs, g->out_tensor);
    for (size_t i = 0; i < g->n_outs; i++) {
        g->out_tensor[i] = b->outs[g->out_tensor[i]].tensor;
    }
    g->tensors = tensor_table_take(&b->tensors, &g->n_tensors);
    free(b->outs);
    b->outs = NULL;
    b->n_outs = b->cap_outs = 0;
}

static void place_attrs(graph_builder *b)
{
    graph *g = &b->g;
    if (b->n_attrs == 0) {
        return;
    }
    uint32_t *order = mem_alloc((b->n_attrs + 1) * sizeof *order);
    g->n_attrs = b->n_attrs;
    g->attr_first = place_rows(g->n_nodes, b->attrs, sizeof *b->attrs, b->n_attrs, order);
    g->attr_key = mem_alloc((g->n_attrs + 1) * sizeof *g->attr_key);
    g->attr_value = mem_alloc((g->n_attrs + 1) * sizeof *g->attr_value);
    for (size_t i = 0; i < g->n_attrs; i++) {
        g->attr_key[i] = b->attrs[order[i]].key;
        g->attr_value[i] = b->attrs[order[i]].value;
    }
    free(order);
    free(b->attrs);
    b->attrs = NULL;
    b->n_attrs = b->cap_attrs = 0;
}

static int by_stage(const void *a, const void *b)
{
    const graph_stage *x = a, *y = b;
    return x->stage < y->stage ? -1 : x->stage > y->stage;
}

/* Stages ascending, whatever order they came in. */
static void sort_stages(graph *g)
{
    if (g->n_stages < 2) {
        return;
    }
    graph_stage *sorted = mem_alloc(g->n_stages * sizeof *sorted);
    memcpy(sorted, g->stages, g->n_stages * sizeof *sorted);
    qsort(sorted, g->n_stages, sizeof *sorted, by_stage);
    int16_t *place = mem_alloc(g->n_stages * sizeof *place);
    for (size_t i = 0; i < g->n_stages; i++) {
        const graph_stage *s = bsearch(&g->stages[i], sorted, g->n_stages, sizeof *sorted, by_stage);
        place[i] = (int16_t)(s - sorted);
    }
    for (size_t i = 0; i < g->n_nodes && g->node_stage; i++) {
        g->node_stage[i] = g->node_stage[i] < 0 ? (int16_t)-1 : place[g->node_stage[i]];
    }
    free(place);
    free(g->stages);
    g->stages = sorted;
}

#define SHRINK(column, n) (column) = (column) ? mem_realloc_array((column), (n), sizeof *(column)) : NULL

static void shrink(graph *g)
{
    SHRINK(g->node_name, g->n_nodes);
    SHRINK(g->node_op, g->n_nodes);
    SHRINK(g->node_scope, g->n_nodes);
    SHRINK(g->node_body, g->n_nodes);
    SHRINK(g->node_sharding, g->n_nodes);
    SHRINK(g->node_key, g->n_nodes);
    SHRINK(g->node_stage, g->n_nodes);
    SHRINK(g->node_role, g->n_nodes);
    SHRINK(g->node_phase, g->n_nodes);
    SHRINK(g->node_class, g->n_nodes);
    SHRINK(g->node_flags, g->n_nodes);
    SHRINK(g->scope_parent, g->n_scopes);
    SHRINK(g->scope_name, g->n_scopes);
    SHRINK(g->scope_class, g->n_scopes);
    SHRINK(g->scope_flags, g->n_scopes);
}

static void take_strings(graph_builder *b)
{
    graph *g = &b->g;
    text_table_seal(&b->strings);
    g->text = b->strings.text;
    g->n_text = b->strings.n_text;
    g->string_at = b->strings.at;
    g->n_strings = b->strings.n;
    memset(&b->strings, 0, sizeof b->strings);
}

/* What only pushing needs. */
static void drop_tables(graph_builder *b)
{
    map64_deinit(&b->scope_ids);
    map64_deinit(&b->scope_copies);
    map64_deinit(&b->stage_places);
    free(b->op_class);
    b->op_class = NULL;
    b->cap_op_class = 0;
}

marey_status graph_builder_finish(graph_builder *b, const graph_finish_options *options, graph *out)
{
    graph *g = &b->g;
    cancel_flag *cancel = options ? options->cancel : NULL;
    memset(out, 0, sizeof *out);
    if (g->n_nodes == 0) {
        return diag_error(b->d, MAREY_FORMAT, NULL, DIAG_NO_OFFSET, "the graph has not one node");
    }
    drop_tables(b);
    marey_status status;
    MAREY_TRY(builder_join(b, cancel));
    MAREY_TRY(builder_sort_edges(b, cancel));
    place_outs(b);
    place_attrs(b);
    sort_stages(g);
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->n_implied_nodes += (g->node_flags[i] & GRAPH_IMPLIED) != 0;
    }
    if (options && options->infer_scopes) {
        MAREY_TRY(hierarchy_infer(g, &b->strings, cancel));
    }
    shrink(g);
    take_strings(b);
    *out = *g;
    memset(g, 0, sizeof *g);
    mem_give_back();
    return MAREY_OK;
fail:
    return status;
}
