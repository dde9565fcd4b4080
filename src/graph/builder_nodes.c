/* The builder: nodes, what belongs to them, and edges as they are pushed. */
#include <string.h>

#include "graph/builder_internal.h"

/* Columns that no node needed yet stay away. */
static void *grow_column(void *column, size_t cap, size_t size)
{
    return column ? mem_realloc_array(column, cap, size) : NULL;
}

static void grow_nodes(graph_builder *b)
{
    graph *g = &b->g;
    size_t cap = b->cap_nodes ? b->cap_nodes + b->cap_nodes / 2 : 1024;
    g->node_name = mem_realloc_array(g->node_name, cap, sizeof *g->node_name);
    g->node_op = mem_realloc_array(g->node_op, cap, sizeof *g->node_op);
    g->node_scope = mem_realloc_array(g->node_scope, cap, sizeof *g->node_scope);
    g->node_role = mem_realloc_array(g->node_role, cap, sizeof *g->node_role);
    g->node_phase = mem_realloc_array(g->node_phase, cap, sizeof *g->node_phase);
    g->node_class = mem_realloc_array(g->node_class, cap, sizeof *g->node_class);
    g->node_flags = mem_realloc_array(g->node_flags, cap, sizeof *g->node_flags);
    g->node_body = grow_column(g->node_body, cap, sizeof *g->node_body);
    g->node_sharding = grow_column(g->node_sharding, cap, sizeof *g->node_sharding);
    g->node_key = grow_column(g->node_key, cap, sizeof *g->node_key);
    g->node_stage = grow_column(g->node_stage, cap, sizeof *g->node_stage);
    b->cap_nodes = cap;
}

/* A column that no node needed yet; `none`: what fills the bytes of those that have no value. */
static void *make_column(const graph_builder *b, size_t size, int none)
{
    void *column = mem_realloc_array(NULL, b->cap_nodes, size);
    memset(column, none, b->cap_nodes * size);
    return column;
}

static void set_body(graph_builder *b, size_t node, uint32_t scope)
{
    graph *g = &b->g;
    if (!g->node_body && scope != GRAPH_NONE) {
        g->node_body = make_column(b, sizeof *g->node_body, 0xFF);
    }
    if (g->node_body) {
        g->node_body[node] = scope;
    }
}

static void set_sharding(graph_builder *b, size_t node, uint32_t text)
{
    graph *g = &b->g;
    if (!g->node_sharding && text != 0) {
        g->node_sharding = make_column(b, sizeof *g->node_sharding, 0);
    }
    if (g->node_sharding) {
        g->node_sharding[node] = text;
    }
}

static void set_key(graph_builder *b, size_t node, int64_t key)
{
    graph *g = &b->g;
    if (!g->node_key && key != -1) {
        g->node_key = make_column(b, sizeof *g->node_key, 0xFF);
    }
    if (g->node_key) {
        g->node_key[node] = key;
    }
}

static void set_stage(graph_builder *b, size_t node, int16_t place)
{
    graph *g = &b->g;
    if (!g->node_stage && place >= 0) {
        g->node_stage = make_column(b, sizeof *g->node_stage, 0xFF);
    }
    if (g->node_stage) {
        g->node_stage[node] = place;
    }
}

static uint8_t class_of(graph_builder *b, uint32_t op, graph_role role)
{
    if (role != GRAPH_OPERATOR) {
        return GRAPH_CLASS_DATA;
    }
    if (op >= b->cap_op_class) {
        size_t old = b->cap_op_class;
        VEC_RESERVE(b->op_class, b->cap_op_class, (size_t)op + 1);
        memset(b->op_class + old, 0, b->cap_op_class - old);
    }
    if (b->op_class[op] == 0) {
        b->op_class[op] = (uint8_t)(graph_class_of(b->strings.text + b->strings.at[op]) + 1);
    }
    return (uint8_t)(b->op_class[op] - 1);
}

/* Place of a stage, told or not; -1: none, or more than fit. */
static int16_t stage_place(graph_builder *b, int32_t stage)
{
    graph *g = &b->g;
    uint64_t *place = map64_put(&b->stage_places, (uint32_t)stage);
    if (*place) {
        return (int16_t)(*place - 1);
    }
    if (g->n_stages >= INT16_MAX) {
        (void)map64_remove(&b->stage_places, (uint32_t)stage);
        builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        return -1;
    }
    *place = g->n_stages + 1;
    VEC_PUSH(g->stages, g->n_stages, b->cap_stages, ((graph_stage){.stage = stage}));
    return (int16_t)(g->n_stages - 1);
}

void graph_builder_stage(graph_builder *b, int32_t stage, const uint32_t *ranks, size_t n)
{
    graph *g = &b->g;
    int16_t place = stage < 0 ? -1 : stage_place(b, stage);
    if (place < 0 || n == 0 || g->n_stage_ranks + n > UINT32_MAX) {
        return;
    }
    g->stages[place].first_rank = (uint32_t)g->n_stage_ranks;
    g->stages[place].n_ranks = (uint32_t)n;
    VEC_RESERVE(g->stage_ranks, b->cap_stage_ranks, g->n_stage_ranks + n);
    memcpy(g->stage_ranks + g->n_stage_ranks, ranks, n * sizeof *ranks);
    g->n_stage_ranks += n;
}

uint32_t graph_builder_node(graph_builder *b, const graph_node_in *n)
{
    graph *g = &b->g;
    if (g->n_nodes >= BUILDER_MAX_ROWS) {
        builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        return GRAPH_NONE;
    }
    if (g->n_nodes == b->cap_nodes) {
        grow_nodes(b);
    }
    size_t i = g->n_nodes++;
    g->node_name[i] = builder_name(b, n->name, n->n_name);
    g->node_op[i] = graph_builder_string(b, n->op, n->n_op);
    g->node_scope[i] = builder_scope(b, n->scope);
    set_body(b, i, GRAPH_NONE);
    set_sharding(b, i, 0);
    set_key(b, i, n->key);
    set_stage(b, i, n->stage < 0 ? -1 : stage_place(b, n->stage));
    g->node_role[i] = (uint8_t)n->role;
    g->node_phase[i] = (uint8_t)n->phase;
    g->node_class[i] = class_of(b, g->node_op[i], n->role);
    g->node_flags[i] = n->flags;
    return (uint32_t)i;
}

static bool has_node(const graph_builder *b, uint32_t node)
{
    return node < b->g.n_nodes;
}

void graph_builder_output(graph_builder *b, uint32_t node, const char *type, size_t n, uint64_t bytes)
{
    if (!has_node(b, node)) {
        return;
    }
    if (b->n_outs >= BUILDER_MAX_ROWS) {
        builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        return;
    }
    pushed_out r = {node, tensor_table_put(&b->tensors, graph_builder_string(b, type, n), bytes)};
    VEC_PUSH(b->outs, b->n_outs, b->cap_outs, r);
}

void graph_builder_attr(graph_builder *b, uint32_t node, const char *key, size_t n_key, const char *value, size_t n)
{
    if (!has_node(b, node)) {
        return;
    }
    if (b->n_attrs >= BUILDER_MAX_ROWS) {
        builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        return;
    }
    pushed_attr r = {node, graph_builder_string(b, key, n_key), 0};
    if (n <= BUILDER_MAX_VALUE) {
        r.value = graph_builder_string(b, value, n);
    } else {
        size_t keep = BUILDER_MAX_VALUE - 64;
        while (keep > 0 && ((unsigned char)value[keep] & 0xC0) == 0x80) {
            keep--;
        }
        strbuf cut = {0};
        strbuf_add(&cut, value, keep);
        strbuf_printf(&cut, " ... (%zu bytes)", n);
        r.value = graph_builder_string(b, cut.s, cut.n);
        strbuf_deinit(&cut);
    }
    VEC_PUSH(b->attrs, b->n_attrs, b->cap_attrs, r);
}

void graph_builder_sharding(graph_builder *b, uint32_t node, const char *text, size_t n)
{
    if (has_node(b, node)) {
        set_sharding(b, node, graph_builder_string(b, text, n));
    }
}

void graph_builder_body(graph_builder *b, uint32_t node, uint32_t scope)
{
    if (has_node(b, node) && scope < b->g.n_scopes) {
        set_body(b, node, scope);
        b->g.node_flags[node] |= GRAPH_CALL;
    }
}

void graph_builder_move(graph_builder *b, uint32_t node, uint32_t scope)
{
    if (has_node(b, node) && scope < b->g.n_scopes) {
        b->g.node_scope[node] = builder_scope(b, scope);
    }
}

void graph_builder_phase(graph_builder *b, uint32_t node, graph_phase phase)
{
    if (has_node(b, node)) {
        b->g.node_phase[node] = (uint8_t)phase;
    }
}

void graph_builder_flag(graph_builder *b, uint32_t node, uint8_t flags)
{
    if (has_node(b, node)) {
        b->g.node_flags[node] |= flags;
    }
}

size_t graph_builder_n_nodes(const graph_builder *b)
{
    return b->g.n_nodes;
}

static uint16_t saturate(uint32_t slot)
{
    return slot > UINT16_MAX ? UINT16_MAX : (uint16_t)slot;
}

void graph_builder_edge(graph_builder *b, uint32_t from, uint32_t from_slot, uint32_t to, uint32_t to_slot,
                        uint8_t flags)
{
    if (b->n_edges + b->n_uses >= BUILDER_MAX_ROWS) {
        builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        return;
    }
    pushed_edge e = {from, to, saturate(from_slot), saturate(to_slot), flags};
    VEC_PUSH(b->edges, b->n_edges, b->cap_edges, e);
}

uint32_t graph_builder_space(graph_builder *b, uint32_t parent)
{
    builder_space s = {parent < b->n_spaces ? parent : GRAPH_NONE, 0};
    if (s.parent != GRAPH_NONE) {
        s.depth = b->spaces[s.parent].depth + 1;
        if (s.depth >= BUILDER_SPACE_DEPTH) {
            s.parent = b->spaces[s.parent].parent;
            s.depth--;
            builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        }
    }
    VEC_PUSH(b->spaces, b->n_spaces, b->cap_spaces, s);
    return (uint32_t)(b->n_spaces - 1);
}

static uint32_t value_id(graph_builder *b, const char *name, size_t n)
{
    bool is_new;
    uint32_t id = text_table_put(&b->values, name, n, &is_new);
    if (id != UINT32_MAX && is_new) {
        VEC_RESERVE(b->value, b->cap_value, (size_t)id + 1);
        b->value[id] = (pushed_value){.node = GRAPH_NONE};
    }
    return id;
}

void graph_builder_define(graph_builder *b, uint32_t space, const char *name, size_t n, uint32_t node, uint32_t slot)
{
    uint32_t id = value_id(b, name, n);
    if (id == UINT32_MAX || !has_node(b, node)) {
        builder_lose(b, MAREY_LOSS_DANGLING, DIAG_NO_OFFSET, 1);
        return;
    }
    pushed_value *v = &b->value[id];
    if (v->node == GRAPH_NONE) {
        *v = (pushed_value){node, space, saturate(slot), false};
        return;
    }
    if (!v->several) {
        v->several = true;
        *map64_put(&b->shadows, (uint64_t)v->space << 32 | id) = ((uint64_t)v->node << 16 | v->slot) + 1;
    }
    uint64_t *place = map64_put(&b->shadows, (uint64_t)space << 32 | id);
    if (*place) {
        builder_lose(b, MAREY_LOSS_DUPLICATE_NAME, DIAG_NO_OFFSET, 1);
        return;
    }
    *place = ((uint64_t)node << 16 | saturate(slot)) + 1;
}

void graph_builder_use(graph_builder *b, uint32_t space, const char *name, size_t n, uint32_t node, uint32_t slot,
                       uint8_t flags, uint64_t offset)
{
    uint32_t id = value_id(b, name, n);
    if (id == UINT32_MAX || b->n_edges + b->n_uses >= BUILDER_MAX_ROWS) {
        builder_lose(b, MAREY_LOSS_LIMIT, offset, 1);
        return;
    }
    offset = offset < BUILDER_OFFSET_MAX ? offset : BUILDER_OFFSET_MAX;
    pushed_use u = {id, space, node, (uint32_t)offset, saturate(slot), (uint8_t)(offset >> 32), flags};
    VEC_PUSH(b->uses, b->n_uses, b->cap_uses, u);
}
