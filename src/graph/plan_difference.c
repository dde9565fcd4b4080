/* plan_difference(): how a member of a family differs from the first one, in words. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan.h"
#include "graph/plan_same.h"

enum { MOST_TYPES = 3 }; /* operator types that are named */

/* Path of a leaf below its member; the leaf's own label where it is the member. */
static void put_place(const graph_plan *p, uint32_t member, uint32_t leaf, strbuf *out)
{
    uint32_t chain[512];
    size_t n = 0;
    for (uint32_t e = leaf; e != member && n < sizeof chain / sizeof chain[0]; e = p->elements[e].parent) {
        if (p->elements[e].kind != ELEMENT_STACK) {
            chain[n++] = e;
        }
    }
    if (n == 0) {
        strbuf_puts(out, plan_label(p, leaf));
    }
    while (n > 0) {
        strbuf_puts(out, plan_label(p, chain[--n]));
        strbuf_puts(out, n > 0 ? "/" : "");
    }
}

/* The first attribute that differs. */
static bool put_attribute(const graph *g, uint32_t a, uint32_t b, strbuf *out)
{
    graph_rows of_a = graph_attrs_of(g, a), of_b = graph_attrs_of(g, b);
    for (uint32_t i = of_b.first; i < of_b.end; i++) {
        const char *key = graph_string(g, g->attr_key[i]), *value = graph_string(g, g->attr_value[i]);
        const char *first = graph_attr(g, a, key);
        if (attr_names_instance(key) || (first && strcmp(first, value) == 0)) {
            continue;
        }
        if (out && first) {
            strbuf_printf(out, "%s %.80s not %.80s", key, value, first);
        } else if (out) {
            strbuf_printf(out, "has %s %.80s", key, value);
        }
        return true;
    }
    for (uint32_t i = of_a.first; i < of_a.end; i++) {
        const char *key = graph_string(g, g->attr_key[i]);
        if (!attr_names_instance(key) && !graph_attr(g, b, key)) {
            if (out) {
                strbuf_printf(out, "has no %s", key);
            }
            return true;
        }
    }
    return false;
}

/* One difference of two operators that the mapping pairs; `out` may be NULL. */
static bool put_operator(const graph *g, uint32_t a, uint32_t b, strbuf *out)
{
    uint32_t n_a = g->out_first[a + 1] - g->out_first[a], n_b = g->out_first[b + 1] - g->out_first[b];
    for (uint32_t i = 0; i < n_a && i < n_b; i++) {
        uint32_t x = graph_out_type(g, g->out_first[a] + i), y = graph_out_type(g, g->out_first[b] + i);
        if (x != y) {
            if (out) {
                strbuf_printf(out, "shape %.80s not %.80s", graph_string(g, y), graph_string(g, x));
            }
            return true;
        }
    }
    if (n_a != n_b) {
        if (out) {
            strbuf_printf(out, "%u outputs not %u", n_b, n_a);
        }
        return true;
    }
    uint32_t x = graph_sharding_of(g, a), y = graph_sharding_of(g, b);
    if (x != y) {
        if (out) {
            strbuf_printf(out, "sharding %.80s not %.80s", graph_string(g, y), graph_string(g, x));
        }
        return true;
    }
    return put_attribute(g, a, b, out);
}

static void put_mapped(const graph_plan *p, const plan_family *f, uint32_t member, strbuf *out)
{
    const uint32_t *first = p->map + f->first_map, *other = first + (uint64_t)member * f->size;
    size_t n = 0;
    for (uint32_t i = 0; i < f->size; i++) {
        uint32_t a = p->elements[first[i]].node, b = p->elements[other[i]].node;
        if (!put_operator(p->g, a, b, NULL)) {
            continue;
        }
        if (n++ == 0) {
            put_place(p, p->members[f->first_member + member], other[i], out);
            strbuf_puts(out, ": ");
            (void)put_operator(p->g, a, b, out);
        }
    }
    if (n > 1) {
        strbuf_printf(out, "; %zu more", n - 1);
    }
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Operator types of all leaves of an element, ascending: [n_leaves]; the caller frees. */
static uint32_t *types_of(const graph_plan *p, uint32_t element)
{
    uint32_t *types = mem_alloc(((size_t)p->elements[element].n_leaves + 1) * sizeof *types);
    uint32_t *stack = NULL;
    size_t n = 0, n_stack = 0, cap = 0;
    VEC_PUSH(stack, n_stack, cap, element);
    while (n_stack > 0) {
        const plan_element *e = &p->elements[stack[--n_stack]];
        if (e->kind == ELEMENT_LEAF) {
            types[n++] = p->g->node_op[e->node];
        }
        for (uint32_t k = 0; k < e->n_children; k++) {
            VEC_PUSH(stack, n_stack, cap, e->first_child + k);
        }
    }
    qsort(types, n, sizeof *types, by_id);
    free(stack);
    return types;
}

static size_t count_type(const uint32_t *types, size_t n, size_t *i, uint32_t type)
{
    size_t first = *i;
    while (*i < n && types[*i] == type) {
        (*i)++;
    }
    return *i - first;
}

static void put_types(const graph_plan *p, uint32_t first, uint32_t other, strbuf *out)
{
    uint32_t *a = types_of(p, first), *b = types_of(p, other);
    size_t n_a = p->elements[first].n_leaves, n_b = p->elements[other].n_leaves, i = 0, k = 0, n = 0;
    while (i < n_a || k < n_b) {
        uint32_t type = k == n_b || (i < n_a && a[i] < b[k]) ? a[i] : b[k];
        size_t in_a = count_type(a, n_a, &i, type), in_b = count_type(b, n_b, &k, type);
        if (in_a == in_b) {
            continue;
        }
        if (n++ < MOST_TYPES) {
            strbuf_printf(out, "%s%zu %s %s", n > 1 ? ", " : "", in_b > in_a ? in_b - in_a : in_a - in_b,
                          in_b > in_a ? "more" : "fewer", graph_string(p->g, type));
        }
    }
    if (n > MOST_TYPES) {
        strbuf_printf(out, "; %zu more types", n - MOST_TYPES);
    }
    strbuf_puts(out, n == 0 ? "wired differently" : "");
    free(a);
    free(b);
}

void plan_difference(const graph_plan *p, uint32_t family, uint32_t member, strbuf *out)
{
    if (family >= p->n_families || member == 0 || member >= p->families[family].n_members) {
        return;
    }
    const plan_family *f = &p->families[family];
    if (f->first_map != UINT64_MAX) {
        put_mapped(p, f, member, out);
    } else {
        put_types(p, p->members[f->first_member], p->members[f->first_member + member], out);
    }
}
