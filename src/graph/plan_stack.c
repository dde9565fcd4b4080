/*
 * Step six of a plan: equal siblings become stacks, bottom-up. Candidates are children of one signature (modules) or of
 * one operator type (leaves). A stack may not be left and entered again, else its box would lie on a cycle: candidates
 * are parted by the re-entries on the way to them, d(v) = max over producers u of d(u) + [v is a candidate, u is not],
 * from 0 at the first. Within a part, what is joined by arcs is a series; the rest stands in parallel: modules that
 * share a neighbour, or five and more; operators with the same types around them.
 */
#include "graph/plan_stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/plan_order.h"

static uint32_t root_of(uint32_t *joined, uint32_t v)
{
    while (joined[v] != v) {
        joined[v] = joined[joined[v]];
        v = joined[v];
    }
    return v;
}

static void join(uint32_t *joined, uint32_t a, uint32_t b)
{
    a = root_of(joined, a);
    b = root_of(joined, b);
    joined[a > b ? a : b] = a > b ? b : a;
}

static void reserve(stack_work *s, size_t n, size_t m)
{
    if (n > s->cap_n) {
        s->cap_n = n * 2;
        uint32_t **columns[] = {&s->stack_of,  &s->place, &s->by_place, &s->in_first,
                                &s->out_first, &s->mark,  &s->joined};
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            *columns[i] = mem_realloc_array(*columns[i], s->cap_n + 2, sizeof **columns[i]);
        }
        s->reentry = mem_realloc_array(s->reentry, s->cap_n + 2, sizeof *s->reentry);
    }
    if (m > s->cap_m) {
        s->cap_m = m * 2;
        s->in_from = mem_realloc_array(s->in_from, s->cap_m, sizeof *s->in_from);
        s->out_to = mem_realloc_array(s->out_to, s->cap_m, sizeof *s->out_to);
    }
}

static void index_arcs(stack_work *s, const order_arc *arcs, size_t m)
{
    memset(s->in_first, 0, (s->n + 2) * sizeof *s->in_first);
    memset(s->out_first, 0, (s->n + 2) * sizeof *s->out_first);
    for (size_t i = 0; i < m; i++) {
        s->in_first[arcs[i].to + 2]++;
        s->out_first[arcs[i].from + 2]++;
    }
    for (size_t i = 2; i < s->n + 2; i++) {
        s->in_first[i] += s->in_first[i - 1];
        s->out_first[i] += s->out_first[i - 1];
    }
    for (size_t i = 0; i < m; i++) {
        s->in_from[s->in_first[arcs[i].to + 1]++] = arcs[i].from;
        s->out_to[s->out_first[arcs[i].from + 1]++] = arcs[i].to;
    }
}

/* Arcs between the children, both ways, and a topological order. */
static void prepare(stack_work *s)
{
    plan_work *w = s->w;
    const tree_inner *p = plan_inner(w, s->module);
    size_t m = p->arc_hi - p->arc_lo;
    order_arc *arcs = mem_alloc((m + 1) * sizeof *arcs);
    for (size_t i = 0; i < m; i++) {
        bool control = edge_is_control(w->edge_label[w->perm[p->arc_lo + i]]);
        arcs[i] = (order_arc){w->tree[w->arc_from[p->arc_lo + i]].local, w->tree[w->arc_to[p->arc_lo + i]].local,
                              control ? 1 : 64};
    }
    reserve(s, s->n, m);
    (void)order_children(s->n, arcs, m, s->place, NULL, w->o.cancel);
    index_arcs(s, arcs, m);
    free(arcs);
    for (uint32_t i = 0; i < s->n; i++) {
        s->by_place[s->place[i]] = i;
        s->stack_of[i] = GRAPH_NONE;
        s->mark[i] = 0;
    }
    s->n_marks = 0;
    s->budget = 64 * ((uint64_t)s->n + m) + 100000;
}

typedef struct candidate {
    uint32_t part, place, local, set;
} candidate;

static int by_part(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->part != y->part) {
        return x->part < y->part ? -1 : 1;
    }
    if (x->set != y->set) {
        return x->set < y->set ? -1 : 1;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

/* They mostly come in order. */
static void sort_candidates(candidate *c, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) {
        sorted = by_part(&c[i - 1], &c[i]) < 0;
    }
    if (!sorted) {
        qsort(c, n, sizeof *c, by_part);
    }
}

/* Re-entries on the way to each candidate, over the window between the first and the last of them.
 * @return false: the module's budget is spent */
static bool part_candidates(stack_work *s, candidate *c, size_t n)
{
    uint32_t lo = UINT32_MAX, hi = 0, mark = ++s->n_marks;
    for (size_t i = 0; i < n; i++) {
        lo = c[i].place < lo ? c[i].place : lo;
        hi = c[i].place > hi ? c[i].place : hi;
        s->mark[c[i].local] = mark;
    }
    for (uint32_t at = lo; at <= hi; at++) {
        if (plan_stop(s->w, at)) {
            return false;
        }
        uint32_t v = s->by_place[at];
        bool inside = s->mark[v] == mark;
        int32_t d = -1;
        for (uint32_t k = s->in_first[v]; k < s->in_first[v + 1]; k++) {
            uint32_t u = s->in_from[k];
            if (s->place[u] >= lo && s->place[u] < at && s->reentry[u] >= 0) {
                int32_t e = s->reentry[u] + (inside && s->mark[u] != mark);
                d = e > d ? e : d;
            }
        }
        s->reentry[v] = inside && d < 0 ? 0 : d;
        uint64_t work = 1 + s->in_first[v + 1] - s->in_first[v];
        if (work > s->budget) {
            return false;
        }
        s->budget -= work;
    }
    for (size_t i = 0; i < n; i++) {
        c[i].part = (uint32_t)s->reentry[c[i].local];
    }
    return true;
}

/* Sets of candidates of one part: joined by arcs, or else by what they share. */
static void join_by_arcs(stack_work *s, const candidate *c, size_t n)
{
    uint32_t mark = ++s->n_marks;
    for (size_t i = 0; i < n; i++) {
        s->mark[c[i].local] = mark;
        s->joined[c[i].local] = c[i].local;
    }
    for (size_t i = 0; i < n; i++) {
        for (uint32_t k = s->in_first[c[i].local]; k < s->in_first[c[i].local + 1]; k++) {
            if (s->mark[s->in_from[k]] == mark) {
                join(s->joined, s->in_from[k], c[i].local);
            }
        }
    }
}

typedef struct shared_neighbour {
    uint32_t neighbour, local;
} shared_neighbour;

static int by_neighbour(const void *a, const void *b)
{
    const shared_neighbour *x = a, *y = b;
    if (x->neighbour != y->neighbour) {
        return x->neighbour < y->neighbour ? -1 : 1;
    }
    return x->local < y->local ? -1 : x->local > y->local;
}

static void join_by_neighbours(stack_work *s, const candidate *c, size_t n)
{
    shared_neighbour *shared = NULL;
    size_t m = 0, cap = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = c[i].local;
        for (uint32_t k = s->in_first[v]; k < s->in_first[v + 1]; k++) {
            VEC_PUSH(shared, m, cap, ((shared_neighbour){s->in_from[k] * 2, v}));
        }
        for (uint32_t k = s->out_first[v]; k < s->out_first[v + 1]; k++) {
            VEC_PUSH(shared, m, cap, ((shared_neighbour){s->out_to[k] * 2 + 1, v}));
        }
    }
    if (m > 0) {
        qsort(shared, m, sizeof *shared, by_neighbour);
    }
    for (size_t i = 1; i < m; i++) {
        if (shared[i].neighbour == shared[i - 1].neighbour) {
            join(s->joined, shared[i - 1].local, shared[i].local);
        }
    }
    free(shared);
}

static int by_local(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Stacks each set that is large enough. @return candidates that are in none, moved to the front */
static size_t stack_sets(stack_work *s, candidate *c, size_t n, size_t least, stack_form form)
{
    for (size_t i = 0; i < n; i++) {
        c[i].set = root_of(s->joined, c[i].local);
    }
    sort_candidates(c, n);
    uint32_t *members = mem_alloc((n + 1) * sizeof *members);
    size_t left = 0;
    for (size_t i = 0, end; i < n; i = end) {
        size_t k = 0;
        for (end = i; end < n && c[end].set == c[i].set && c[end].part == c[i].part; end++) {
            members[k++] = c[end].local;
        }
        if (k >= least) {
            if (form == STACK_PARALLEL) { /* no order but that of the input */
                qsort(members, k, sizeof *members, by_local);
            }
            stack_family(s, members, k, least, form);
        } else if (k == 1) { /* a short series is not in parallel */
            c[left++] = c[i];
        }
    }
    free(members);
    return left;
}

/* One part: series first, what is left in parallel. */
static void stack_part(stack_work *s, candidate *c, size_t n, bool leaves)
{
    size_t least = leaves ? PLAN_MIN_LEAVES : PLAN_MIN_MODULES;
    join_by_arcs(s, c, n);
    n = stack_sets(s, c, n, least, STACK_SERIES);
    if (leaves || n < PLAN_MIN_MODULES) {
        return;
    }
    join_by_neighbours(s, c, n);
    n = stack_sets(s, c, n, least, STACK_PARALLEL);
    if (n >= PLAN_MIN_LEAVES) {
        for (size_t i = 0; i < n; i++) {
            s->joined[c[i].local] = c[0].local;
        }
        (void)stack_sets(s, c, n, PLAN_MIN_LEAVES, STACK_PARALLEL);
    }
}

/* Operators of one type with the same types around them, none of which feeds another. */
static void stack_kin(stack_work *s, candidate *c, size_t n)
{
    join_by_arcs(s, c, n);
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = c[i].local;
        bool alone = s->joined[v] == v;
        for (uint32_t k = s->in_first[v]; k < s->in_first[v + 1] && alone; k++) {
            alone = s->mark[s->in_from[k]] != s->n_marks;
        }
        for (uint32_t k = s->out_first[v]; k < s->out_first[v + 1] && alone; k++) {
            alone = s->mark[s->out_to[k]] != s->n_marks;
        }
        if (alone) {
            c[left++] = c[i];
        }
    }
    for (size_t i = 0; i < left; i++) {
        s->joined[c[i].local] = c[0].local;
    }
    (void)stack_sets(s, c, left, PLAN_MIN_LEAVES, STACK_PARALLEL);
}

static int by_key(const void *a, const void *b)
{
    const stack_key *x = a, *y = b;
    for (int i = 0; i < 2; i++) {
        if (x->key[i] != y->key[i]) {
            return x->key[i] < y->key[i] ? -1 : 1;
        }
    }
    return x->local < y->local ? -1 : x->local > y->local;
}

enum { KEY_BUCKETS = 4096 };

static uint32_t bucket_of(const stack_key *k)
{
    return (uint32_t)(mix64(k->key[0], k->key[1]) >> 52);
}

/* Equal keys together, within them by place. Many keys are dealt into buckets first, so that a large sort can be
 * cancelled and what is sorted already is left alone. */
static void sort_keys(stack_work *s)
{
    size_t n = s->n_keys;
    if (n <= KEY_BUCKETS) {
        if (n > 1) {
            qsort(s->keys, n, sizeof *s->keys, by_key);
        }
        return;
    }
    uint32_t *first = mem_calloc(KEY_BUCKETS + 2, sizeof *first);
    stack_key *copy = mem_alloc(n * sizeof *copy);
    memcpy(copy, s->keys, n * sizeof *copy);
    for (size_t i = 0; i < n; i++) {
        first[bucket_of(&copy[i]) + 2]++;
    }
    for (size_t b = 2; b < KEY_BUCKETS + 2; b++) {
        first[b] += first[b - 1];
    }
    for (size_t i = 0; i < n; i++) {
        s->keys[first[bucket_of(&copy[i]) + 1]++] = copy[i];
    }
    for (size_t b = 0; b < KEY_BUCKETS && !is_cancelled(s->w->o.cancel); b++) {
        bool sorted = true;
        for (uint32_t i = first[b] + 1; i < first[b + 1] && sorted; i++) {
            sorted = by_key(&s->keys[i - 1], &s->keys[i]) < 0;
        }
        if (!sorted) {
            qsort(s->keys + first[b], first[b + 1] - first[b], sizeof *s->keys, by_key);
        }
    }
    free(first);
    free(copy);
}

typedef enum key_kind { KEY_MODULES, KEY_LEAVES, KEY_KIN } key_kind;

/* Pipeline stages run on other devices: what belongs to different ones is never one stack. */
static uint64_t stage_key(const plan_work *w, uint32_t t)
{
    if (w->g->n_stages < 2 || plan_size(w, t) == 0) {
        return 0;
    }
    int stage = graph_stage_of(w->g, w->leaf_node[w->at[w->tree[t].lo]]);
    return stage < 0 ? 0 : mix64((uint64_t)stage, 9);
}

static void collect_keys(stack_work *s, key_kind kind)
{
    const plan_work *w = s->w;
    s->n_keys = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t t = s->child[i];
        stack_key k = {{0, 0}, i};
        bool leaf = w->tree[t].kind == ELEMENT_LEAF;
        if (leaf != (kind != KEY_MODULES) || (kind == KEY_KIN && s->stack_of[i] != GRAPH_NONE)) {
            continue;
        }
        if (leaf) {
            k.key[0] = w->label[w->tree[t].leaf];
            k.key[1] = kind == KEY_KIN ? w->kin[w->tree[t].leaf] : 0;
        } else if (w->o.strictness == STRICT_LOOSE) {
            k.key[0] = w->loose[t][0] ? w->loose[t][0] : w->loose[t][1];
        } else {
            k.key[0] = plan_sign(w, t)[0];
            k.key[1] = plan_sign(w, t)[1];
        }
        k.key[1] ^= stage_key(w, t);
        VEC_PUSH(s->keys, s->n_keys, s->cap_keys, k);
    }
    sort_keys(s);
}

static size_t same_key(const stack_work *s, size_t i)
{
    size_t end = i + 1;
    while (end < s->n_keys && memcmp(s->keys[end].key, s->keys[i].key, sizeof s->keys[i].key) == 0) {
        end++;
    }
    return end;
}

static void stack_group(stack_work *s, size_t first, size_t end, key_kind kind)
{
    size_t n = end - first;
    candidate *c = mem_alloc(n * sizeof *c);
    for (size_t i = 0; i < n; i++) {
        uint32_t local = s->keys[first + i].local;
        c[i] = (candidate){0, s->place[local], local, 0};
    }
    if (part_candidates(s, c, n)) {
        sort_candidates(c, n);
        for (size_t i = 0, stop; i < n; i = stop) {
            for (stop = i; stop < n && c[stop].part == c[i].part;) {
                stop++;
            }
            if (kind == KEY_KIN) {
                stack_kin(s, c + i, stop - i);
            } else {
                stack_part(s, c + i, stop - i, kind == KEY_LEAVES);
            }
        }
    }
    free(c);
}

/* The child list again, with each stack in the place of its first member. */
static void relink(stack_work *s)
{
    plan_work *w = s->w;
    uint32_t module = s->module, last = GRAPH_NONE;
    plan_inner(w, module)->first_child = GRAPH_NONE;
    plan_inner(w, module)->n_children = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t t = s->stack_of[i] == GRAPH_NONE ? s->child[i] : s->stack_of[i];
        if (w->tree[t].kind == ELEMENT_STACK && plan_inner(w, t)->n_children > 0) {
            continue;
        }
        if (w->tree[t].kind == ELEMENT_STACK) {
            const plan_family *f = &w->p->families[plan_inner(w, t)->family];
            uint32_t before = GRAPH_NONE;
            for (uint32_t k = 0; k < f->n_members; k++) {
                uint32_t member = w->p->members[f->first_member + k];
                w->tree[member].parent = t;
                w->tree[member].next = GRAPH_NONE;
                if (before == GRAPH_NONE) {
                    plan_inner(w, t)->first_child = member;
                } else {
                    w->tree[before].next = member;
                }
                before = member;
            }
            plan_inner(w, t)->n_children = f->n_members;
        }
        w->tree[t].next = GRAPH_NONE;
        if (last == GRAPH_NONE) {
            plan_inner(w, module)->first_child = t;
        } else {
            w->tree[last].next = t;
        }
        last = t;
        plan_inner(w, module)->n_children++;
    }
}

static void stack_module(stack_work *s, uint32_t module)
{
    plan_work *w = s->w;
    s->module = module;
    s->n = 0;
    for (uint32_t t = plan_inner(w, module)->first_child; t != GRAPH_NONE; t = w->tree[t].next) {
        w->tree[t].local = (uint32_t)s->n;
        VEC_PUSH(s->child, s->n, s->cap_child, t);
    }
    bool prepared = false;
    size_t before = s->n_stacked;
    for (key_kind kind = KEY_MODULES; kind <= KEY_KIN; kind++) {
        collect_keys(s, kind);
        size_t least = kind == KEY_MODULES ? PLAN_MIN_MODULES : PLAN_MIN_LEAVES;
        for (size_t i = 0, end; i < s->n_keys && !is_cancelled(w->o.cancel); i = end) {
            end = same_key(s, i);
            if (end - i < least) {
                continue;
            }
            if (!prepared) {
                prepare(s);
                prepared = true;
            }
            stack_group(s, i, end, kind);
        }
        if (!prepared && kind == KEY_LEAVES) {
            return; /* kin are of one type, too */
        }
    }
    if (s->n_stacked > before) {
        relink(s);
    }
}

marey_status plan_stack(plan_work *w)
{
    w->p->steps[STEP_STACK].on = w->o.steps[STEP_STACK];
    if (!w->o.steps[STEP_STACK]) {
        return MAREY_OK;
    }
    marey_status status = plan_signatures(w);
    w->where = mem_alloc(((size_t)w->n_leaves + 1) * sizeof *w->where);
    for (uint32_t i = 0; i < w->n_leaves; i++) {
        w->where[w->at[i]] = i;
    }
    stack_work s = {.w = w};
    for (uint32_t t = (uint32_t)w->n_tree; t-- > 0 && status == MAREY_OK;) {
        if ((w->tree[t].kind == ELEMENT_MODULE || w->tree[t].kind == ELEMENT_ROOT) &&
            plan_inner(w, t)->n_children > 1) {
            stack_module(&s, t);
            status = is_cancelled(w->o.cancel) ? MAREY_CANCELLED : MAREY_OK;
        }
    }
    w->p->steps[STEP_STACK].n_done = s.n_stacked;
    void *owned[] = {s.child,  s.stack_of, s.place,   s.by_place, s.in_first, s.in_from, s.out_first,
                     s.out_to, s.mark,     s.reentry, s.joined,   s.keys,     s.order};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    return status;
}
