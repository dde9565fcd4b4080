/* Families: members verified against the first by a mapping, and the stack that stands for them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_stack.h"

enum { MAX_EXEMPLARS = 8 }; /* different modules under one signature: hardly ever more than one */

/* "layers.0", "layers.31" -> "layers.0-31"; labels without a number that differs: the first. */
static uint32_t stack_label(plan_work *w, const uint32_t *trees, size_t n)
{
    const char *a = w->labels.text + w->tree[trees[0]].label;
    const char *b = w->labels.text + w->tree[trees[n - 1]].label;
    size_t first = 0, end_a = strlen(a), end_b = strlen(b);
    while (a[first] && a[first] == b[first]) {
        first++;
    }
    while (end_a > first && end_b > first && a[end_a - 1] == b[end_b - 1]) {
        end_a--;
        end_b--;
    }
    while (first > 0 && a[first - 1] >= '0' && a[first - 1] <= '9') {
        first--;
    }
    while (a[end_a] >= '0' && a[end_a] <= '9') {
        end_a++;
        end_b++;
    }
    bool numbers = end_a > first && end_b > first;
    for (size_t i = first; i < end_a && numbers; i++) {
        numbers = a[i] >= '0' && a[i] <= '9';
    }
    for (size_t i = first; i < end_b && numbers; i++) {
        numbers = b[i] >= '0' && b[i] <= '9';
    }
    if (!numbers) {
        return w->tree[trees[0]].label;
    }
    strbuf text = {0};
    strbuf_add(&text, a, end_a);
    strbuf_puts(&text, "-");
    strbuf_puts(&text, b + first);
    uint32_t id = plan_add_label(w, text.s, text.n);
    strbuf_deinit(&text);
    return id;
}

static void add_row(plan_work *w, uint32_t member, const uint32_t *order)
{
    graph_plan *p = w->p;
    uint32_t lo = w->tree[member].lo, size = plan_size(w, member);
    VEC_RESERVE(p->map, w->cap_map, (size_t)p->n_map + size);
    for (uint32_t i = 0; i < size; i++) {
        p->map[p->n_map++] = w->at[lo + (order ? order[i] : i)];
    }
}

/* Members that are like `first`, itself in front; their rows are in the map. @return how many */
static size_t verify(stack_work *s, uint32_t first, uint32_t *left, size_t n_left, uint32_t *members,
                     graph_strictness *level)
{
    plan_work *w = s->w;
    uint32_t size = plan_size(w, first);
    VEC_RESERVE(s->order, s->cap_order, size);
    size_t n = 0;
    members[n++] = first;
    add_row(w, first, NULL);
    for (size_t i = 0; i < n_left; i++) {
        if (left[i] != GRAPH_NONE && !is_cancelled(w->o.cancel) && plan_match(w, first, left[i], s->order, level)) {
            members[n++] = left[i];
            add_row(w, left[i], s->order);
            left[i] = GRAPH_NONE;
        }
    }
    return n;
}

static void add_family(stack_work *s, const uint32_t *members, size_t n, uint64_t first_map, graph_strictness level,
                       stack_form form)
{
    plan_work *w = s->w;
    graph_plan *p = w->p;
    uint32_t id = (uint32_t)p->n_families, stack = plan_add_tree(w, s->module, ELEMENT_STACK);
    const tree_node *first = &w->tree[members[0]];
    plan_family f = {.first_member = (uint32_t)p->n_members,
                     .n_members = (uint32_t)n,
                     .size = plan_size(w, members[0]),
                     .first_map = first_map,
                     .stack = stack,
                     .level = (uint8_t)level,
                     .form = (uint8_t)form};
    bool leaf = first->kind == ELEMENT_LEAF;
    f.signature[0] = leaf ? w->label[first->leaf] : plan_sign(w, members[0])[0];
    f.signature[1] = leaf ? mix64(w->label[first->leaf], 9) : plan_sign(w, members[0])[1];
    VEC_PUSH(p->families, p->n_families, w->cap_families, f);
    for (size_t i = 0; i < n; i++) {
        VEC_PUSH(p->members, p->n_members, w->cap_members, members[i]);
        s->stack_of[w->tree[members[i]].local] = stack;
    }
    plan_inner(w, stack)->family = id;
    w->tree[stack].label = stack_label(w, members, n);
    s->n_stacked += n;
}

void stack_family(stack_work *s, const uint32_t *candidates, size_t n, size_t least, stack_form form)
{
    plan_work *w = s->w;
    uint32_t *left = mem_alloc(n * sizeof *left), *members = mem_alloc(n * sizeof *members);
    for (size_t i = 0; i < n; i++) {
        left[i] = s->child[candidates[i]];
    }
    unsigned exemplars = 0;
    for (size_t i = 0; i < n && exemplars < MAX_EXEMPLARS; i++) {
        if (left[i] == GRAPH_NONE) {
            continue;
        }
        exemplars++;
        uint64_t first_map = w->p->n_map;
        graph_strictness level = STRICT_EXACT;
        size_t found = verify(s, left[i], left + i + 1, n - i - 1, members, &level);
        bool loose = w->o.strictness == STRICT_LOOSE && found < n && w->tree[left[i]].kind == ELEMENT_MODULE;
        if (loose && i == 0) { /* wired differently, but of the same operators: one family without a mapping */
            w->p->n_map = first_map;
            for (size_t k = 0; k < n; k++) {
                members[k] = s->child[candidates[k]];
            }
            add_family(s, members, n, UINT64_MAX, STRICT_LOOSE, form);
            break;
        }
        if (found >= least) {
            add_family(s, members, found, first_map, level, form);
        } else {
            w->p->n_map = first_map;
        }
    }
    free(left);
    free(members);
}
