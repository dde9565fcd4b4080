#include "diagnose/topology.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { PAIR_TOLERANCE_NS = 100000 };

typedef enum axis { AXIS_NONE, AXIS_STAGE, AXIS_DP, AXIS_TP, AXIS_EP } axis;

typedef struct rank_finder {
    map64 index; /* number of the rank -> index + 1 */
} rank_finder;

static uint32_t find_rank(const rank_finder *f, int64_t number)
{
    const uint64_t *v = map64_get(&f->index, (uint64_t)number);
    return v ? (uint32_t)(*v - 1) : NO_ID;
}

/* ------------------------------------------------------------------ what a communicator is for */

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = text; *p; p++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)p[i]) == word[i]) {
            i++;
        }
        bool begins = p == text || !isalnum((unsigned char)p[-1]);
        if (i == n && begins && (n > 2 || !isalnum((unsigned char)p[n]))) {
            return true;
        }
    }
    return false;
}

static axis axis_by_text(const char *text)
{
    static const struct {
        const char *word;
        axis axis;
    } words[] = {{"expert", AXIS_EP},        {"ep", AXIS_EP}, {"pipeline", AXIS_STAGE},    {"pp", AXIS_STAGE},
                 {"tensor", AXIS_TP},        {"tp", AXIS_TP}, {"model_parallel", AXIS_TP}, {"mp", AXIS_TP},
                 {"data_parallel", AXIS_DP}, {"dp", AXIS_DP}};
    if (has_word(text, "embedding") || has_word(text, "context")) {
        return AXIS_NONE; /* made of several axes, or of one that has no place here */
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has_word(text, words[i].word)) {
            return words[i].axis;
        }
    }
    return AXIS_NONE;
}

/* The distance between neighbours where it is the same for all; 0: it is not. */
static int64_t stride_of(const trace_group *g)
{
    int64_t stride = g->n_ranks > 1 ? g->ranks[1] - g->ranks[0] : 0;
    for (uint32_t i = 2; i < g->n_ranks; i++) {
        if (g->ranks[i] - g->ranks[i - 1] != stride) {
            return 0;
        }
    }
    return stride;
}

typedef struct traffic {
    bool *p2p, *collective; /* [n_groups] */
} traffic;

static traffic traffic_of(const trace_model *m, const comm_event *e, size_t n_collective, size_t n)
{
    traffic t = {mem_calloc(m->n_groups + 1, sizeof(bool)), mem_calloc(m->n_groups + 1, sizeof(bool))};
    for (size_t i = 0; i < n; i++) {
        if (e[i].group < m->n_groups) {
            *(i < n_collective ? &t.collective[e[i].group] : &t.p2p[e[i].group]) = true;
        }
    }
    return t;
}

/* Communicators without a telling name: by traffic, then by how closely their ranks follow each other. */
static axis axis_by_shape(const trace_model *m, const traffic *t, size_t g)
{
    const trace_group *me = &m->groups[g];
    int64_t stride = stride_of(me);
    if (t->p2p[g]) {
        return AXIS_STAGE;
    }
    if (!t->collective[g] || stride == 0) {
        return AXIS_NONE;
    }
    bool is_widest = true;
    bool is_closest = true;
    for (size_t k = 0; k < m->n_groups; k++) {
        int64_t other = t->collective[k] && !t->p2p[k] ? stride_of(&m->groups[k]) : 0;
        bool is_world = m->groups[k].n_ranks >= m->n_ranks;
        if (k != g && other > 0 && !is_world) {
            is_closest = is_closest && (other >= stride);
            is_widest = is_widest && (other <= stride);
        }
    }
    return stride == 1 && is_closest && !is_widest ? AXIS_TP : AXIS_DP;
}

static bool *places_stated(const trace_model *m)
{
    bool *stated = mem_calloc(5, sizeof *stated);
    for (size_t i = 0; i < m->n_ranks; i++) {
        stated[AXIS_STAGE] |= m->ranks[i].stage >= 0;
        stated[AXIS_DP] |= m->ranks[i].dp >= 0;
        stated[AXIS_TP] |= m->ranks[i].tp >= 0;
        stated[AXIS_EP] |= m->ranks[i].ep >= 0;
    }
    return stated;
}

static void put_place(trace_rank *r, axis a, int32_t place)
{
    switch (a) {
    case AXIS_STAGE:
        r->inferred |= r->stage < 0 ? INFERRED_STAGE : 0;
        r->stage = r->stage < 0 ? place : r->stage;
        return;
    case AXIS_DP:
        r->inferred |= r->dp < 0 ? INFERRED_DP : 0;
        r->dp = r->dp < 0 ? place : r->dp;
        return;
    case AXIS_TP:
        r->inferred |= r->tp < 0 ? INFERRED_TP : 0;
        r->tp = r->tp < 0 ? place : r->tp;
        return;
    case AXIS_EP:
        r->inferred |= r->ep < 0 ? INFERRED_EP : 0;
        r->ep = r->ep < 0 ? place : r->ep;
        return;
    default:
        return;
    }
}

static void place_group(trace_model *m, const rank_finder *f, const trace_group *g, axis a)
{
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        uint32_t rank = find_rank(f, g->ranks[i]);
        if (rank != NO_ID) {
            put_place(&m->ranks[rank], a, (int32_t)i);
        }
    }
}

/* ------------------------------------------------------------------ stages along the chain of transfers */

typedef struct chain_link {
    uint32_t from, to; /* ranks; the first message between them went this way */
    int64_t first_ns;
} chain_link;

static int by_ranks(const void *pa, const void *pb)
{
    const chain_link *a = pa;
    const chain_link *b = pb;
    uint64_t x = (uint64_t)(a->from < a->to ? a->from : a->to) << 32 | (a->from < a->to ? a->to : a->from);
    uint64_t y = (uint64_t)(b->from < b->to ? b->from : b->to) << 32 | (b->from < b->to ? b->to : b->from);
    if (x != y) {
        return x < y ? -1 : 1;
    }
    return a->first_ns < b->first_ns ? -1 : a->first_ns > b->first_ns;
}

static chain_link *collect_links(const comm_event *e, size_t n_collective, size_t n, size_t *n_links)
{
    size_t n_pairs;
    comm_pair *pairs = comm_pair_up(e, n_collective, n, PAIR_TOLERANCE_NS, &n_pairs);
    chain_link *l = mem_alloc((n_pairs + 1) * sizeof *l);
    for (size_t i = 0; i < n_pairs; i++) {
        l[i] = (chain_link){e[pairs[i].send].rank, e[pairs[i].receive].rank, e[pairs[i].send].end_ns};
    }
    free(pairs);
    qsort(l, n_pairs, sizeof *l, by_ranks);
    *n_links = 0;
    for (size_t i = 0; i < n_pairs; i++) {
        const chain_link *last = *n_links ? &l[*n_links - 1] : NULL;
        bool again = last && ((last->from == l[i].from && last->to == l[i].to) ||
                              (last->from == l[i].to && last->to == l[i].from));
        if (!again) {
            l[(*n_links)++] = l[i];
        }
    }
    return l;
}

/* Longest distance along first messages from a rank that got none first. A ring would go on for ever: bounded. */
static void place_chain(trace_model *m, const chain_link *l, size_t n)
{
    int32_t *depth = mem_alloc((m->n_ranks + 1) * sizeof *depth);
    for (size_t i = 0; i < m->n_ranks; i++) {
        depth[i] = -1;
    }
    for (size_t i = 0; i < n; i++) {
        depth[l[i].from] = depth[l[i].from] < 0 ? 0 : depth[l[i].from];
        depth[l[i].to] = 1;
    }
    bool moved = true;
    size_t round = 0;
    for (; moved && round <= m->n_ranks; round++) {
        moved = false;
        for (size_t i = 0; i < n; i++) {
            if (depth[l[i].to] < depth[l[i].from] + 1) {
                depth[l[i].to] = depth[l[i].from] + 1;
                moved = true;
            }
        }
    }
    for (size_t i = 0; i < m->n_ranks && !moved; i++) {
        if (depth[i] >= 0) {
            put_place(&m->ranks[i], AXIS_STAGE, depth[i]);
        }
    }
    free(depth);
}

void topology_infer(trace_model *m, const comm_event *events, size_t n_collective, size_t n)
{
    bool *stated = places_stated(m);
    rank_finder f = {0};
    for (size_t i = 0; i < m->n_ranks; i++) {
        *map64_put(&f.index, (uint64_t)m->ranks[i].rank) = i + 1;
    }
    if (!stated[AXIS_STAGE] && n > n_collective) {
        size_t n_links;
        chain_link *l = collect_links(events, n_collective, n, &n_links);
        place_chain(m, l, n_links);
        free(l);
    }
    traffic t = traffic_of(m, events, n_collective, n);
    for (size_t g = 0; g < m->n_groups; g++) {
        axis a = axis_by_text(m->groups[g].description);
        a = a ? a : axis_by_text(m->groups[g].name);
        bool is_world = m->groups[g].n_ranks >= m->n_ranks && m->n_ranks > 1;
        a = a || is_world ? a : axis_by_shape(m, &t, g);
        if (a != AXIS_NONE && !stated[a] && m->groups[g].n_ranks > 1) {
            place_group(m, &f, &m->groups[g], a);
        }
    }
    free(t.p2p);
    free(t.collective);
    free(stated);
    map64_deinit(&f.index);
}
