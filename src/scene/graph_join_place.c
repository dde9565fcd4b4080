/*
 * Events that name their operator by where they are: a host event "aten::linear" inside the annotation "nn.Module:
 * ParallelTransformerLayer_3" is the operator of that type in the module of that name, the k-th of its kind the k-th;
 * outside of annotated modules the k-th in its rank's step. The rank's pipeline stage and the phase that annotations
 * say (forward, backward, ...) tell modules of one name apart. What the event launched goes with it.
 *
 * A run has an operator once in each micro-batch: counts go round. Where they come out uneven more often than not
 * (the run did something else than the graph says), nothing of that kind is joined.
 *
 * Here are the graph's side and what comes of it; graph_join_walk.c goes through the events.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "scene/graph_placing.h"
#include "trace/rules.h"

/* ------------------------------------------------------------------ names */

static bool has_digit(const char *s)
{
    for (; *s; s++) {
        if (isdigit((unsigned char)*s)) {
            return true;
        }
    }
    return false;
}

/* "ParallelTransformerLayer_3": the words of profilers before a module's name taken off. */
static const char *module_words(const char *s)
{
    static const char before[] = "nn.Module: ";
    return strncmp(s, before, sizeof before - 1) == 0 ? s + sizeof before - 1 : s;
}

/* "AddmmBackward0" of "autograd::engine::evaluate_function: AddmmBackward0". */
static const char *operator_words(const char *s)
{
    static const char before[] = "autograd::engine::evaluate_function: ";
    return strncmp(s, before, sizeof before - 1) == 0 ? s + sizeof before - 1 : s;
}

static uint32_t find(const intern *t, const char *s)
{
    uint32_t id = 0;
    return intern_find(t, s, strlen(s), &id) ? id : NO_ID;
}

/* Names of annotations that are names of scopes, too. @return is there any? */
static bool find_modules(placing *k, const trace_model *m)
{
    const graph *g = k->w->g;
    intern scopes = {0};
    uint8_t *is_module = mem_calloc(g->n_scopes + 1, 1);
    bool any = false;
    for (size_t i = 1; i < g->n_scopes; i++) {
        const char *s = graph_string(g, g->scope_name[i]);
        if (has_digit(s)) { /* one of many; "attention" may be anything */
            (void)intern_put(&scopes, s, strlen(s));
        }
    }
    for (size_t i = 0; i < m->n_names; i++) {
        bool annotation = m->categories[m->names[i].category].kind == KIND_ANNOTATION;
        uint32_t module = annotation ? find(&scopes, module_words(m->names[i].text)) : NO_ID;
        k->module_of_name[i] = module;
        is_module[module == NO_ID ? g->n_scopes : module] = 1;
        any = any || module != NO_ID;
    }
    for (size_t i = 1; i < g->n_scopes; i++) { /* parents come first */
        uint32_t own = find(&scopes, graph_string(g, g->scope_name[i]));
        k->module_of_scope[i] = own != NO_ID && is_module[own] ? own : k->module_of_scope[g->scope_parent[i]];
    }
    free(is_module);
    intern_deinit(&scopes);
    return any;
}

static void find_operators(placing *k, const trace_model *m)
{
    const graph *g = k->w->g;
    intern ops = {0};
    for (size_t i = 0; i < g->n_nodes; i++) {
        const char *s = graph_string(g, g->node_op[i]);
        k->op_of_node[i] = g->node_role[i] == GRAPH_OPERATOR ? intern_put(&ops, s, strlen(s)) : NO_ID;
    }
    k->n_ops = ops.n;
    k->op_is_send = mem_calloc(ops.n + 1, 1);
    k->op_is_receive = mem_calloc(ops.n + 1, 1);
    for (size_t i = 0; i < ops.n; i++) {
        graph_class klass = graph_class_of(ops.text[i]);
        k->op_is_send[i] = klass == GRAPH_CLASS_SEND;
        k->op_is_receive[i] = klass == GRAPH_CLASS_RECEIVE;
    }
    for (size_t i = 0; i < m->n_names; i++) {
        k->op_of_name[i] = find(&ops, operator_words(m->names[i].text));
    }
    intern_deinit(&ops);
}

static bool find_phases(placing *k, const trace_model *m)
{
    trace_rules *rules = NULL;
    if (trace_rules_create(&rules, NULL, NULL) != MAREY_OK) {
        return false;
    }
    for (size_t i = 0; i < m->n_names; i++) {
        const trace_name *n = &m->names[i];
        trace_meaning t = trace_rules_classify(rules, n->text, n->source == NO_ID ? "" : m->sources[n->source]);
        k->phase_of_name[i] = t.mark == MARK_CHECKPOINT ? GRAPH_RECOMPUTE
                              : t.mark > MARK_OPTIMIZER ? GRAPH_PHASE_NONE
                                                        : (uint8_t)t.mark; /* they count alike */
        k->launches[i] = m->categories[n->category].klass == CLASS_RUNTIME;
    }
    trace_rules_destroy(&rules);
    return true;
}

/* ------------------------------------------------------------------ groups */

static uint64_t key_of(const place_at *at, uint32_t op)
{
    uint64_t key = hash_u64((uint64_t)at->module + 1) ^ ((uint64_t)op << 32 | (uint32_t)(at->stage + 1));
    return hash_u64(key) ^ at->phase;
}

static uint32_t group_at(const placing *k, const place_at *at, uint32_t op)
{
    const uint64_t *place = map64_get(&k->group_of, key_of(at, op));
    return place ? (uint32_t)(*place - 1) : NO_ID;
}

/* Nodes by group, in the graph's order: a list in two passes. */
static void make_groups(placing *k)
{
    const graph *g = k->w->g;
    uint32_t *group = mem_alloc((g->n_nodes + 1) * sizeof *group);
    for (size_t i = 0; i < g->n_nodes; i++) {
        group[i] = NO_ID;
        if (k->op_of_node[i] == NO_ID) {
            continue;
        }
        place_at at = {.module = k->module_of_scope[g->node_scope[i]], .phase = g->node_phase[i]};
        int stage = graph_stage_of(g, (uint32_t)i);
        at.stage = stage < 0 ? -1 : g->stages[stage].stage;
        uint64_t *place = map64_put(&k->group_of, key_of(&at, k->op_of_node[i]));
        if (*place == 0) {
            place_group fresh = {0};
            VEC_PUSH(k->groups, k->n_groups, k->cap_groups, fresh);
            *place = k->n_groups;
        }
        group[i] = (uint32_t)(*place - 1);
        k->groups[group[i]].n++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < k->n_groups; i++) {
        k->groups[i].first = first;
        first += k->groups[i].n;
        k->groups[i].n = 0;
    }
    k->nodes = mem_alloc((first + 1U) * sizeof *k->nodes);
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (group[i] != NO_ID) {
            place_group *to = &k->groups[group[i]];
            k->nodes[to->first + to->n++] = (uint32_t)i;
        }
    }
    free(group);
}

/* What is nearest to what an event says of itself: its phase, what says none, what a step does once; on its stage,
 * or on any. */
uint32_t placing_group(const placing *k, const place_at *at, uint32_t op)
{
    static const uint8_t order[GRAPH_PHASE_COUNT][4] = {
        {GRAPH_PHASE_NONE, GRAPH_OPTIMIZER, GRAPH_FORWARD, GRAPH_BACKWARD},
        {GRAPH_FORWARD, GRAPH_PHASE_NONE, GRAPH_FORWARD, GRAPH_FORWARD},
        {GRAPH_BACKWARD, GRAPH_PHASE_NONE, GRAPH_BACKWARD, GRAPH_BACKWARD},
        {GRAPH_RECOMPUTE, GRAPH_PHASE_NONE, GRAPH_RECOMPUTE, GRAPH_RECOMPUTE},
        {GRAPH_OPTIMIZER, GRAPH_PHASE_NONE, GRAPH_OPTIMIZER, GRAPH_OPTIMIZER},
    };
    place_at try = *at;
    for (int any = 0; any < 2; any++) {
        try.stage = any ? -1 : at->stage;
        for (int i = 0; i < 4; i++) {
            try.phase = order[at->phase][i];
            uint32_t group = group_at(k, &try, op);
            if (group != NO_ID) {
                return group;
            }
        }
    }
    return NO_ID;
}

/* ------------------------------------------------------------------ what comes of it */

static int by_row(const void *pa, const void *pb)
{
    const place_row *a = pa;
    const place_row *b = pb;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

static const place_row *row_of(const placing *k, size_t n, uint64_t row)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (k->rows[middle].row < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && k->rows[low].row == row ? &k->rows[low] : NULL;
}

/* Groups that came out uneven: their last rounds, too. */
static void judge(placing *k)
{
    for (size_t i = 0; i < k->n_counts; i++) {
        place_group *g = &k->groups[k->counts[i].group];
        placing_close(g, k->counts[i].n);
    }
    size_t n = 0;
    for (size_t i = 0; i < k->n_rows; i++) {
        const place_group *g = &k->groups[k->rows[i].group];
        if (g->n_even >= g->n_uneven) {
            k->rows[n++] = k->rows[i];
        }
    }
    k->n_rows = n;
}

static void add_kernels(placing *k)
{
    uint64_t *from = NULL;
    uint64_t *to = NULL;
    size_t count = 0;
    const trace_model *m = store_model(k->w->file);
    size_t n = k->n_rows;
    if (m->n_links > 0 && m->n_links <= PLACING_MAX_ROWS &&
        store_read_launches(k->w->file, &from, &to, &count, NULL) == MAREY_OK) {
        for (size_t i = 0; i < count && !is_cancelled(k->w->cancel); i++) {
            const place_row *launch = row_of(k, n, from[i]);
            if (launch) {
                place_row kernel = {.row = to[i], .node = launch->node, .group = launch->group};
                VEC_PUSH(k->rows, k->n_rows, k->cap_rows, kernel);
            }
        }
    }
    free(from);
    free(to);
}

static void give_rows(placing *k)
{
    graph_join *j = k->w->j;
    qsort(k->rows, k->n_rows, sizeof *k->rows, by_row);
    add_kernels(k);
    qsort(k->rows, k->n_rows, sizeof *k->rows, by_row);
    j->rows = mem_alloc((k->n_rows + 1) * sizeof *j->rows);
    j->row_node = mem_alloc((k->n_rows + 1) * sizeof *j->row_node);
    for (size_t i = 0; i < k->n_rows; i++) {
        const place_row *r = &k->rows[i];
        if (!r->is_call && (j->n_rows == 0 || j->rows[j->n_rows - 1] != r->row)) {
            j->rows[j->n_rows] = r->row;
            j->row_node[j->n_rows++] = r->node;
        }
    }
}

void graph_join_places(joining *w)
{
    const trace_model *m = store_model(w->file);
    placing k = {.w = w};
    k.module_of_name = mem_alloc((m->n_names + 1) * sizeof *k.module_of_name);
    k.op_of_name = mem_alloc((m->n_names + 1) * sizeof *k.op_of_name);
    k.phase_of_name = mem_calloc(m->n_names + 1, 1);
    k.launches = mem_calloc(m->n_names + 1, 1);
    k.module_of_scope = mem_alloc((w->g->n_scopes + 1) * sizeof *k.module_of_scope);
    k.op_of_node = mem_alloc((w->g->n_nodes + 1) * sizeof *k.op_of_node);
    k.module_of_scope[0] = NO_ID;
    if (find_modules(&k, m) && find_phases(&k, m)) {
        find_operators(&k, m);
        make_groups(&k);
        placing_walk(&k);
        judge(&k);
        give_rows(&k);
    }
    free(k.module_of_name);
    free(k.op_of_name);
    free(k.phase_of_name);
    free(k.launches);
    free(k.module_of_scope);
    free(k.op_of_node);
    free(k.op_is_send);
    free(k.op_is_receive);
    free(k.groups);
    free(k.nodes);
    free(k.counts);
    free(k.rows);
    map64_deinit(&k.group_of);
    map64_deinit(&k.count_of);
}
