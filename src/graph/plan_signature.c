/*
 * Signatures of modules: Weisfeiler-Leman colours on each module's quotient graph, bottom-up. A leaf starts with what
 * its operator is, a module with its own signature; an arc counts with its slots and with the colours of the leaves at
 * its ends. Three rounds: what they miss, the mapping finds. The signature is a sum, so the order of children does not
 * matter. No seed: the same graph has the same signatures everywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_same.h"
#include "graph/plan_work.h"

enum { WL_ROUNDS = 3 };

typedef struct label_work {
    const graph *g;
    graph_strictness level;
    uint64_t *hash;  /* [n_strings] of texts; 0: not made yet */
    uint8_t *naming; /* [n_strings] of keys: 1 tells of the operator, 2 of the instance */
} label_work;

static uint64_t hash_text(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325U;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3U;
    }
    return mix64(h, n) | 1;
}

static uint64_t hash_string(label_work *l, uint32_t id)
{
    if (l->hash[id] == 0) {
        const char *s = graph_string(l->g, id);
        l->hash[id] = hash_text(s, strlen(s));
    }
    return l->hash[id];
}

static uint64_t label_of(label_work *l, uint32_t node)
{
    const graph *g = l->g;
    uint64_t h = mix64(hash_string(l, g->node_op[node]), data_inputs(g, node));
    if (l->level >= STRICT_STRUCTURAL) {
        return h;
    }
    bool exact = l->level == STRICT_EXACT;
    graph_rows attrs = graph_attrs_of(g, node);
    for (uint32_t i = attrs.first; i < attrs.end; i++) {
        uint32_t key = g->attr_key[i];
        if (l->naming[key] == 0) {
            l->naming[key] = attr_names_instance(graph_string(g, key)) ? 2 : 1;
        }
        h = mix64(h, hash_string(l, key));
        h = exact && l->naming[key] == 1 ? mix64(h, hash_string(l, g->attr_value[i])) : h;
    }
    for (uint32_t i = g->out_first[node]; i < g->out_first[node + 1]; i++) {
        uint32_t id = graph_out_type(g, i);
        const char *type = graph_string(g, id);
        h = mix64(h, exact ? hash_string(l, id) : hash_text(type, type_without_shape(type)));
    }
    return exact ? mix64(h, hash_string(l, graph_sharding_of(g, node))) : h;
}

void plan_labels(plan_work *w)
{
    const graph *g = w->g;
    label_work l = {g, w->o.strictness < STRICT_STRUCTURAL ? w->o.strictness : STRICT_STRUCTURAL,
                    mem_calloc(g->n_strings + 1, sizeof *l.hash), mem_calloc(g->n_strings + 1, 1)};
    w->label = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->label);
    for (uint32_t i = 0; i < w->n_leaves && !plan_stop(w, i); i++) {
        w->label[i] = label_of(&l, w->leaf_node[i]);
    }
    free(l.hash);
    free(l.naming);
}

/* Types of producers as a multiset, of consumers as a set (how many there are is not the operator's doing). */
static void label_kin(plan_work *w)
{
    uint64_t *in = mem_calloc((size_t)w->n_leaves + 1, sizeof *in);
    uint64_t *out = mem_calloc((size_t)w->n_leaves + 1, sizeof *out);
    for (size_t i = 0; i < w->n_edges && !plan_stop(w, i); i++) {
        uint32_t from = w->edge_from[i], to = w->edge_to[i];
        if (!edge_is_control(w->edge_label[i])) {
            in[to] += mix64(w->label[from], 1);
            out[from] |= (uint64_t)1 << (mix64(w->label[to], 2) & 63);
        }
    }
    for (size_t i = 0; i < w->n_leaves && !plan_stop(w, i); i++) {
        in[i] = mix64(in[i], out[i]);
    }
    free(out);
    w->kin = in;
}

typedef struct wl_work {
    uint64_t *colour, *sum; /* by place among the children */
    size_t cap;
    uint64_t *arc;
    size_t cap_arcs;
} wl_work;

static uint64_t end_colour(const plan_work *w, uint32_t leaf, uint32_t module)
{
    uint32_t t = w->leaf_tree[leaf];
    return w->tree[t].parent == module ? 0 : w->colour[t];
}

static void refine(const plan_work *w, const tree_inner *p, wl_work *s, size_t n)
{
    memset(s->sum, 0, n * sizeof *s->sum);
    for (uint32_t i = p->arc_lo; i < p->arc_hi; i++) {
        uint32_t a = w->tree[w->arc_from[i]].local, b = w->tree[w->arc_to[i]].local;
        uint64_t label = s->arc[i - p->arc_lo];
        if (plan_stop(w, i)) {
            return;
        }
        s->sum[b] += mix64(s->colour[a], label);
        s->sum[a] += mix64(s->colour[b], ~label);
    }
    for (size_t i = 0; i < n; i++) {
        s->colour[i] = mix64(s->colour[i], s->sum[i]);
    }
}

static void sign_module(plan_work *w, uint32_t module, wl_work *s)
{
    const tree_inner *p = plan_inner(w, module);
    size_t n = p->n_children, m = p->arc_hi - p->arc_lo, k = 0;
    VEC_RESERVE(s->arc, s->cap_arcs, m);
    if (n > s->cap) {
        s->cap = n * 2;
        s->colour = mem_realloc_array(s->colour, s->cap, sizeof *s->colour);
        s->sum = mem_realloc_array(s->sum, s->cap, sizeof *s->sum);
    }
    for (uint32_t t = p->first_child; t != GRAPH_NONE; t = w->tree[t].next) {
        w->tree[t].local = (uint32_t)k;
        s->colour[k++] = w->tree[t].kind == ELEMENT_LEAF ? w->label[w->tree[t].leaf] : plan_sign(w, t)[0];
    }
    for (uint32_t i = p->arc_lo; i < p->arc_hi; i++) {
        uint32_t e = w->perm[i];
        if (plan_stop(w, i)) {
            return;
        }
        uint64_t ends = mix64(end_colour(w, w->edge_from[e], module), end_colour(w, w->edge_to[e], module));
        s->arc[i - p->arc_lo] = mix64(w->edge_label[e], ends);
    }
    for (int round = 0; round < WL_ROUNDS && n > 1 && m > 0 && !is_cancelled(w->o.cancel); round++) {
        refine(w, p, s, n);
    }
    uint64_t called = w->called ? w->called[module] : 0, sign[2] = {n ^ called, ~(uint64_t)n ^ called};
    k = 0;
    for (uint32_t t = p->first_child; t != GRAPH_NONE; t = w->tree[t].next, k++) {
        w->colour[t] = s->colour[k];
        sign[0] += mix64(s->colour[k], 3);
        sign[1] += mix64(s->colour[k], 4);
    }
    w->sign[w->tree[module].inner][0] = mix64(sign[0], 5);
    w->sign[w->tree[module].inner][1] = mix64(sign[1], 6);
}

/* Multisets of types, up from the leaves. */
static void sign_loosely(plan_work *w)
{
    const graph *g = w->g;
    w->loose = mem_calloc(w->n_tree + 1, sizeof *w->loose);
    for (size_t t = w->n_tree; t-- > 1;) {
        const tree_node *n = &w->tree[t];
        if (n->kind == ELEMENT_LEAF) {
            uint32_t node = w->leaf_node[n->leaf];
            bool forward = g->node_phase[node] <= GRAPH_FORWARD;
            w->loose[t][0] = forward ? mix64(w->label[n->leaf], 7) : 0;
            w->loose[t][1] = mix64(w->label[n->leaf], 8);
        }
        if (n->kind != TREE_DEAD) {
            w->loose[n->parent][0] += w->loose[t][0];
            w->loose[n->parent][1] += w->loose[t][1];
        }
    }
}

marey_status plan_signatures(plan_work *w)
{
    label_kin(w);
    w->colour = mem_calloc(w->n_tree + 1, sizeof *w->colour);
    w->sign = mem_calloc(w->n_inner, sizeof *w->sign);
    w->called = w->n_calls > 0 ? mem_calloc(w->n_tree + 1, sizeof *w->called) : NULL;
    for (size_t i = 0; i < w->n_calls; i++) {
        uint32_t t = plan_call_tree(w, w->calls[i]);
        w->called[t] += mix64(w->g->node_op[w->calls[i]], 9);
        if (w->tree[t].kind == ELEMENT_LEAF) {
            w->label[w->tree[t].leaf] = mix64(w->label[w->tree[t].leaf], w->called[t]);
        }
    }
    wl_work s = {0};
    marey_status status = is_cancelled(w->o.cancel) ? MAREY_CANCELLED : MAREY_OK;
    for (uint32_t t = (uint32_t)w->n_tree; t-- > 0 && status == MAREY_OK;) {
        if (w->tree[t].kind == ELEMENT_MODULE || w->tree[t].kind == ELEMENT_ROOT) {
            sign_module(w, t, &s);
            status = plan_stop(w, plan_inner(w, t)->n_children > 1000 ? 0 : t) ? MAREY_CANCELLED : MAREY_OK;
        }
    }
    if (w->o.strictness == STRICT_LOOSE) {
        sign_loosely(w);
    }
    free(s.colour);
    free(s.sum);
    free(s.arc);
    free(w->edge_to); /* the arcs say it from here on */
    w->edge_to = NULL;
    return status;
}
