/* What is open: the first view, expansion, revealing. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "graph/state.h"

void graph_state_init(graph_state *s, const graph_plan *p)
{
    memset(s, 0, sizeof *s);
    s->n = p->n_elements;
    s->n_families = p->n_families;
    s->open = mem_calloc(s->n + 1, sizeof *s->open);
    s->member = mem_calloc(s->n_families + 1, sizeof *s->member);
    s->revealed = GRAPH_NONE;
    if (s->n > 0) {
        s->open[0] = STATE_OPEN;
    }
}

void graph_state_copy(graph_state *to, const graph_state *from)
{
    *to = *from;
    to->open = mem_alloc(from->n + 1);
    memcpy(to->open, from->open, from->n);
    to->member = mem_alloc((from->n_families + 1) * sizeof *to->member);
    memcpy(to->member, from->member, from->n_families * sizeof *to->member);
}

void graph_state_deinit(graph_state *s)
{
    free(s->open);
    free(s->member);
    memset(s, 0, sizeof *s);
}

uint32_t state_member(const graph_state *s, const graph_plan *p, uint32_t stack)
{
    const plan_element *e = &p->elements[stack];
    uint32_t k = e->family < s->n_families ? s->member[e->family] : 0;
    return e->first_child + (k < e->n_children ? k : 0);
}

bool state_is_open(const graph_state *s, const graph_plan *p, uint32_t element)
{
    return element == 0 || (p->elements[element].n_children > 0 && (s->open[element] & (STATE_OPEN | STATE_DISSOLVED)));
}

bool state_is_dissolved(const graph_state *s, const graph_plan *p, uint32_t element)
{
    return p->elements[element].kind == ELEMENT_STACK && (s->open[element] & STATE_DISSOLVED);
}

shown_children state_children(const graph_state *s, const graph_plan *p, uint32_t element)
{
    const plan_element *e = &p->elements[element];
    if (!state_is_open(s, p, element)) {
        return (shown_children){0, 0};
    }
    if (e->kind != ELEMENT_STACK || state_is_dissolved(s, p, element)) {
        return (shown_children){e->first_child, e->n_children};
    }
    uint32_t m = state_member(s, p, element);
    const plan_element *member = &p->elements[m];
    bool spliced = member->kind == ELEMENT_MODULE && member->n_children > 0;
    return spliced ? (shown_children){member->first_child, member->n_children} : (shown_children){m, 1};
}

/* How many children an element would show once opened; 0: opening it shows nothing new. */
static uint32_t gain(const graph_state *s, const graph_plan *p, uint32_t element)
{
    const plan_element *e = &p->elements[element];
    if (e->kind == ELEMENT_STACK && e->n_children > 0) {
        return p->elements[state_member(s, p, element)].n_children;
    }
    return e->n_children;
}

typedef struct frontier {
    uint32_t element, n_leaves;
} frontier;

typedef struct frontiers {
    frontier *at;
    size_t n, cap;
} frontiers;

/* A first view that is being opened. `shown` counts frames as well, `parts` only what is closed. */
typedef struct first_view {
    graph_state *s;
    const graph_plan *p;
    size_t budget, shown, parts;
    frontiers now, next;
} first_view;

enum {
    FIRST_LEAST = 8, /* parts that a first view should have */
    FIRST_MOST = 4,  /* times the budget: what is opened so that there are as many */
    FIRST_ALONE = 25 /* times: what is alone on the page is opened up to here */
};

static int by_leaves(const void *a, const void *b)
{
    const frontier *x = a;
    const frontier *y = b;
    if (x->n_leaves != y->n_leaves) {
        return x->n_leaves > y->n_leaves ? -1 : 1;
    }
    return (x->element > y->element) - (x->element < y->element);
}

static void open_first(first_view *f, uint32_t element)
{
    f->s->open[element] = STATE_OPEN;
    shown_children c = state_children(f->s, f->p, element);
    f->shown += c.n;
    f->parts += c.n;
    f->parts -= element != 0;
    for (uint32_t i = c.first; i < c.first + c.n; i++) {
        if (gain(f->s, f->p, i) > 0) {
            VEC_PUSH(f->next.at, f->next.n, f->next.cap, ((frontier){i, f->p->elements[i].n_leaves}));
        }
    }
}

/* Level by level, the largest first, what fits. What was met and stays closed gathers in `closed`. */
static void open_what_fits(first_view *f, frontiers *closed)
{
    while (f->next.n > 0) {
        frontiers swap = f->now;
        f->now = f->next;
        f->next = swap;
        f->next.n = 0;
        qsort(f->now.at, f->now.n, sizeof *f->now.at, by_leaves);
        for (size_t i = 0; i < f->now.n; i++) {
            uint32_t e = f->now.at[i].element;
            size_t more = gain(f->s, f->p, e);
            bool alone = f->parts == 1 && more <= FIRST_ALONE * f->budget;
            if (alone || f->shown + more <= f->budget) {
                open_first(f, e);
            } else {
                VEC_PUSH(closed->at, closed->n, closed->cap, f->now.at[i]);
            }
        }
    }
}

/* The largest of what stayed closed that may be opened beyond the budget, taken out; GRAPH_NONE. */
static uint32_t take_largest(const first_view *f, frontiers *closed)
{
    size_t best = closed->n;
    for (size_t i = 0; i < closed->n; i++) {
        bool may = gain(f->s, f->p, closed->at[i].element) <= FIRST_MOST * f->budget;
        if (may && (best == closed->n || by_leaves(&closed->at[i], &closed->at[best]) < 0)) {
            best = i;
        }
    }
    if (best == closed->n) {
        return GRAPH_NONE;
    }
    uint32_t element = closed->at[best].element;
    closed->at[best] = closed->at[--closed->n];
    return element;
}

void graph_state_default(graph_state *s, const graph_plan *p, size_t budget)
{
    first_view f = {.s = s, .p = p, .budget = budget};
    frontiers closed = {0};
    memset(s->open, 0, s->n);
    if (s->n == 0) {
        return;
    }
    for (uint32_t e = 0; e != GRAPH_NONE; e = f.parts < FIRST_LEAST ? take_largest(&f, &closed) : GRAPH_NONE) {
        open_first(&f, e);
        open_what_fits(&f, &closed);
    }
    free(f.now.at);
    free(f.next.at);
    free(closed.at);
}

void graph_state_part_stages(graph_state *s, const graph_plan *p)
{
    enum { NOT_YET = -2, SEVERAL = -3 };
    int *stage = mem_alloc((s->n + 1) * sizeof *stage);
    for (size_t i = 0; i < s->n; i++) {
        stage[i] = NOT_YET;
    }
    for (size_t i = s->n; i-- > 1;) { /* children stand behind their parents */
        const plan_element *e = &p->elements[i];
        int own = e->kind == ELEMENT_LEAF ? graph_stage_of(p->g, e->node) : stage[i];
        int *up = &stage[e->parent];
        *up = own < 0 && own != SEVERAL ? *up : *up == NOT_YET || *up == own ? own : SEVERAL;
        if (own == SEVERAL && !state_is_open(s, p, (uint32_t)i)) {
            s->open[i] = STATE_OPEN;
        }
    }
    free(stage);
}

void graph_state_expand_all(graph_state *s, const graph_plan *p, bool exemplars_only)
{
    for (size_t i = 0; i < s->n; i++) {
        bool stack = p->elements[i].kind == ELEMENT_STACK;
        s->open[i] = (uint8_t)(stack && !exemplars_only ? STATE_DISSOLVED : STATE_OPEN);
    }
    memset(s->member, 0, s->n_families * sizeof *s->member);
}

size_t graph_state_expand_random(graph_state *s, const graph_plan *p, size_t n, uint64_t seed)
{
    uint32_t *closed = NULL; /* shown, can be opened */
    uint32_t *open = NULL;   /* shown and open, still to be looked into */
    size_t n_closed = 0;
    size_t cap_closed = 0;
    size_t n_open = 0;
    size_t cap_open = 0;
    size_t done = 0;
    VEC_PUSH(open, n_open, cap_open, 0);
    for (;;) {
        while (n_open > 0) {
            shown_children c = state_children(s, p, open[--n_open]);
            for (uint32_t i = c.first; i < c.first + c.n; i++) {
                if (state_is_open(s, p, i)) {
                    VEC_PUSH(open, n_open, cap_open, i);
                } else if (p->elements[i].n_children > 0) {
                    VEC_PUSH(closed, n_closed, cap_closed, i);
                }
            }
        }
        if (done >= n || n_closed == 0) {
            break;
        }
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        size_t at = (size_t)(hash_u64(seed) % n_closed);
        uint32_t e = closed[at];
        closed[at] = closed[--n_closed];
        bool stack = p->elements[e].kind == ELEMENT_STACK;
        s->open[e] = (uint8_t)(stack && (seed >> 40) % 2 ? STATE_DISSOLVED : STATE_OPEN);
        if (stack && p->elements[e].family < s->n_families) {
            s->member[p->elements[e].family] = (uint32_t)((seed >> 41) % p->elements[e].n_children);
        }
        VEC_PUSH(open, n_open, cap_open, e);
        done++;
    }
    free(closed);
    free(open);
    return done;
}

/* Opens an element, and what is alone inside it. */
static void open_through(graph_state *s, const graph_plan *p, uint32_t element)
{
    for (;;) {
        if (!state_is_open(s, p, element)) {
            s->open[element] = (uint8_t)(s->open[element] | STATE_OPEN);
        }
        shown_children c = state_children(s, p, element);
        if (c.n != 1 || p->elements[c.first].n_children == 0) {
            return;
        }
        element = c.first;
    }
}

void graph_state_reveal(graph_state *s, const graph_plan *p, uint32_t element)
{
    for (uint32_t e = element; e != 0; e = p->elements[e].parent) {
        uint32_t up = p->elements[e].parent;
        const plan_element *a = &p->elements[up];
        if (a->kind == ELEMENT_STACK && !state_is_dissolved(s, p, up) && a->family < s->n_families) {
            s->member[a->family] = e - a->first_child;
        }
        if (!state_is_open(s, p, up)) {
            s->open[up] = (uint8_t)(s->open[up] | STATE_OPEN);
        }
    }
}

void graph_state_toggle(graph_state *s, const graph_plan *p, uint32_t element)
{
    if (element == 0 || element >= s->n || p->elements[element].n_children == 0) {
        return;
    }
    if (state_is_open(s, p, element)) {
        s->open[element] = (uint8_t)(s->open[element] & ~(STATE_OPEN | STATE_DISSOLVED));
    } else {
        open_through(s, p, element);
    }
}

void graph_state_dissolve(graph_state *s, const graph_plan *p, uint32_t stack)
{
    if (stack < s->n && p->elements[stack].kind == ELEMENT_STACK) {
        s->open[stack] = (uint8_t)((s->open[stack] & STATE_REVEALED) | STATE_DISSOLVED);
    }
}

/* An open stack that is not dissolved. */
static bool is_frame(const graph_state *s, const graph_plan *p, uint32_t element)
{
    return p->elements[element].kind == ELEMENT_STACK && state_is_open(s, p, element) &&
           !state_is_dissolved(s, p, element);
}

/* Whether an element is the module whose inside a stack's frame shows: it has no box of its own. */
static bool is_spliced(const graph_state *s, const graph_plan *p, uint32_t element)
{
    uint32_t up = p->elements[element].parent;
    return element != 0 && !s->flat && p->elements[element].kind == ELEMENT_MODULE &&
           p->elements[element].n_children > 0 && is_frame(s, p, up) && state_member(s, p, up) == element;
}

uint32_t graph_state_shown_by(const graph_state *s, const graph_plan *p, uint32_t leaf)
{
    uint32_t shown = leaf;
    for (uint32_t e = leaf; e != 0; e = p->elements[e].parent) {
        uint32_t up = p->elements[e].parent;
        bool hidden_member = is_frame(s, p, up) && (s->flat || state_member(s, p, up) != e);
        bool inside_closed = !state_is_open(s, p, up) && !is_spliced(s, p, up);
        if (hidden_member || inside_closed || (shown == e && is_spliced(s, p, e))) {
            shown = up;
        }
    }
    return shown;
}
