#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "diagnose/comm.h"

/* Which send belongs to which receive. */

typedef struct candidate {
    int64_t end_ns;
    uint32_t event;
    uint32_t group;
} candidate;

static int by_group_and_end(const void *pa, const void *pb)
{
    const candidate *a = pa;
    const candidate *b = pb;
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return a->event < b->event ? -1 : a->event > b->event;
}

typedef struct pairing {
    const comm_event *e;
    candidate *sends, *receives;
    size_t n_sends, n_receives;
    int64_t tolerance_ns;
} pairing;

static size_t lower_bound(const candidate *c, size_t n, uint32_t group, int64_t end_ns)
{
    size_t lo = 0;
    size_t hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (c[mid].group < group || (c[mid].group == group && c[mid].end_ns < end_ns)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static bool may_pair(const comm_event *s, const comm_event *r)
{
    return s->rank != r->rank && (s->bytes == r->bytes || s->bytes < 0 || r->bytes < 0);
}

/* The receive that ends nearest to the send; NO_ID when none is near. */
static uint32_t nearest(const pairing *p, const candidate *s)
{
    uint32_t best = NO_ID;
    int64_t best_ns = p->tolerance_ns + 1;
    for (size_t i = lower_bound(p->receives, p->n_receives, s->group, s->end_ns - p->tolerance_ns);
         i < p->n_receives && p->receives[i].group == s->group && p->receives[i].end_ns - s->end_ns <= p->tolerance_ns;
         i++) {
        int64_t apart = llabs(p->receives[i].end_ns - s->end_ns);
        if (apart < best_ns && may_pair(&p->e[s->event], &p->e[p->receives[i].event])) {
            best_ns = apart;
            best = p->receives[i].event;
        }
    }
    return best;
}

/* A vote: this stream's transfers end together with that rank's. */
typedef struct vote {
    uint32_t rank, lane, peer;
    uint32_t n;
} vote;

static int by_stream(const void *pa, const void *pb)
{
    const vote *a = pa;
    const vote *b = pb;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->lane != b->lane) {
        return a->lane < b->lane ? -1 : 1;
    }
    return a->peer < b->peer ? -1 : a->peer > b->peer;
}

/* Peers that got at least a tenth of a stream's votes: what is below is chance. */
static void count_votes(vote *votes, size_t n, map64 *peers)
{
    if (n > 0) {
        qsort(votes, n, sizeof *votes, by_stream);
    }
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && votes[end].rank == votes[i].rank && votes[end].lane == votes[i].lane) {
            end++;
        }
        for (size_t k = i; k < end;) {
            size_t j = k;
            while (j < end && votes[j].peer == votes[k].peer) {
                j++;
            }
            if ((j - k) * 10 >= end - i) {
                *map64_put(peers, (uint64_t)votes[k].rank << 32 | votes[k].peer) = 1;
            }
            k = j;
        }
        i = end;
    }
}

static int by_ends_of_pair(const void *pa, const void *pb)
{
    const comm_pair *a = pa;
    const comm_pair *b = pb;
    return a->send < b->send ? -1 : a->send > b->send;
}

static void gather(pairing *p, size_t first, size_t n)
{
    p->sends = mem_alloc((n - first + 1) * sizeof *p->sends);
    p->receives = mem_alloc((n - first + 1) * sizeof *p->receives);
    for (size_t i = first; i < n; i++) {
        candidate c = {p->e[i].end_ns, (uint32_t)i, p->e[i].group};
        if (p->e[i].op == OP_SEND) {
            p->sends[p->n_sends++] = c;
        } else {
            p->receives[p->n_receives++] = c;
        }
    }
    if (p->n_sends > 0) {
        qsort(p->sends, p->n_sends, sizeof *p->sends, by_group_and_end);
    }
    if (p->n_receives > 0) {
        qsort(p->receives, p->n_receives, sizeof *p->receives, by_group_and_end);
    }
}

/* The nearest receive of a voted peer that no other send has. */
static uint32_t nearest_free(const pairing *p, const candidate *s, const map64 *peers, const bool *taken, size_t base)
{
    uint32_t best = NO_ID;
    int64_t best_ns = p->tolerance_ns + 1;
    const comm_event *from = &p->e[s->event];
    for (size_t i = lower_bound(p->receives, p->n_receives, s->group, s->end_ns - p->tolerance_ns);
         i < p->n_receives && p->receives[i].group == s->group && p->receives[i].end_ns - s->end_ns <= p->tolerance_ns;
         i++) {
        uint32_t r = p->receives[i].event;
        int64_t apart = llabs(p->receives[i].end_ns - s->end_ns);
        if (apart < best_ns && !taken[r - base] && may_pair(from, &p->e[r]) &&
            map64_get(peers, (uint64_t)from->rank << 32 | p->e[r].rank)) {
            best_ns = apart;
            best = r;
        }
    }
    return best;
}

comm_pair *comm_pair_up(const comm_event *events, size_t n_collective, size_t n, int64_t tolerance_ns, size_t *n_pairs)
{
    pairing p = {.e = events, .tolerance_ns = tolerance_ns};
    gather(&p, n_collective, n);
    vote *votes = mem_alloc((p.n_sends + 1) * sizeof *votes);
    size_t n_votes = 0;
    for (size_t i = 0; i < p.n_sends; i++) {
        uint32_t r = nearest(&p, &p.sends[i]);
        if (r != NO_ID) {
            const comm_event *s = &events[p.sends[i].event];
            votes[n_votes++] = (vote){s->rank, s->lane, events[r].rank, 1};
        }
    }
    map64 peers = {0};
    count_votes(votes, n_votes, &peers);
    bool *taken = mem_calloc(n - n_collective + 1, sizeof *taken);
    comm_pair *pairs = mem_alloc((p.n_sends + 1) * sizeof *pairs);
    *n_pairs = 0;
    for (size_t i = 0; i < p.n_sends; i++) {
        uint32_t r = nearest_free(&p, &p.sends[i], &peers, taken, n_collective);
        if (r != NO_ID) {
            taken[r - n_collective] = true;
            pairs[(*n_pairs)++] = (comm_pair){p.sends[i].event, r};
        }
    }
    if (*n_pairs > 0) {
        qsort(pairs, *n_pairs, sizeof *pairs, by_ends_of_pair);
    }
    map64_deinit(&peers);
    free(taken);
    free(votes);
    free(p.sends);
    free(p.receives);
    return pairs;
}
