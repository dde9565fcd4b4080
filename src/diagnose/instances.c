#include "diagnose/instances.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PAIR_TOLERANCE_NS = 200000, MIN_VOTERS = 3 };

double coll_algorithm_bandwidth(const coll_instance *i)
{
    return i->bytes >= 0 && i->transfer_ns > 0 ? (double)i->bytes / (double)i->transfer_ns * 1e9 : -1;
}

double coll_bus_bandwidth(const coll_instance *i, comm_op op)
{
    double plain = coll_algorithm_bandwidth(i);
    return plain < 0 ? plain : plain * comm_bus_factor(op, i->n);
}

coll_instance coll_measure(const comm_event *members, size_t first, uint32_t n)
{
    const comm_event *e = members;
    coll_instance c = {.first = first,
                       .n = n,
                       .step = e[0].step,
                       .last_rank = e[0].rank,
                       .start_ns = e[0].start_ns,
                       .end_ns = e[0].end_ns,
                       .transfer_ns = e[0].end_ns - e[0].start_ns,
                       .bytes = e[0].bytes};
    int64_t last_start = e[0].start_ns;
    int64_t first_end = e[0].end_ns;
    for (uint32_t i = 1; i < n; i++) {
        int64_t duration = e[i].end_ns - e[i].start_ns;
        c.transfer_ns = duration < c.transfer_ns ? duration : c.transfer_ns;
        if (e[i].start_ns < c.start_ns) {
            c.start_ns = e[i].start_ns;
            c.step = e[i].step;
        }
        if (e[i].start_ns > last_start) {
            last_start = e[i].start_ns;
            c.last_rank = e[i].rank;
        }
        c.end_ns = e[i].end_ns > c.end_ns ? e[i].end_ns : c.end_ns;
        first_end = e[i].end_ns < first_end ? e[i].end_ns : first_end;
        c.bytes = e[i].bytes > c.bytes ? e[i].bytes : c.bytes;
    }
    for (uint32_t i = 0; i < n; i++) {
        c.wait_ns += e[i].end_ns - e[i].start_ns - c.transfer_ns;
    }
    c.skew_ns = last_start - c.start_ns;
    c.spread_ns = c.end_ns - first_end;
    c.transfer_ns = n > 1 ? c.transfer_ns : -1;
    return c;
}

static rank_step *cell_of(diagnosis *g, const comm_event *e)
{
    return e->step == NO_STEP ? NULL : collected_cell(&g->data, e->rank, e->step);
}

void instances_find(diagnosis *g)
{
    const comm_matching *m = &g->data.match;
    g->instances = mem_alloc((m->n_instances + 1) * sizeof *g->instances);
    g->n_instances = m->n_instances;
    g->last_votes = mem_calloc(g->data.n_ranks + 1, sizeof *g->last_votes);
    g->vote_chances = mem_calloc(g->data.n_ranks + 1, sizeof *g->vote_chances);
    for (size_t k = 0; k < m->n_instances; k++) {
        const comm_event *e = g->data.comm + m->first[k];
        uint32_t n = (uint32_t)(m->first[k + 1] - m->first[k]);
        coll_instance *c = &g->instances[k];
        *c = coll_measure(e, m->first[k], n);
        for (uint32_t i = 0; i < n && n > 1; i++) {
            rank_step *cell = cell_of(g, &e[i]);
            if (cell) {
                cell->wait_ns += e[i].end_ns - e[i].start_ns - c->transfer_ns;
            }
            g->vote_chances[e[i].rank] += n >= MIN_VOTERS;
        }
        g->last_votes[c->last_rank] += n >= MIN_VOTERS;
    }
}

/* ------------------------------------------------------------------ transfers */

static void note_order(diagnosis *g, p2p_transfer *t, const comm_event *s, const comm_event *r)
{
    if (r->end_ns < s->start_ns) {
        t->is_reversed = true;
        g->n_violations++;
        int64_t by = s->start_ns - r->end_ns;
        g->worst_violation_ns = by > g->worst_violation_ns ? by : g->worst_violation_ns;
    }
}

static int64_t tolerance_of(const diagnosis *g)
{
    int64_t residual = 4 * g->clock_residual_max_ns;
    return residual > PAIR_TOLERANCE_NS ? (residual < 5000000 ? residual : 5000000) : PAIR_TOLERANCE_NS;
}

typedef struct link_sample {
    uint32_t from, to;
    int64_t ns, bytes;
} link_sample;

static int by_link(const void *pa, const void *pb)
{
    const link_sample *a = pa;
    const link_sample *b = pb;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    if (a->to != b->to) {
        return a->to < b->to ? -1 : 1;
    }
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static bool crosses_hosts(const trace_model *m, uint32_t a, uint32_t b)
{
    return strcmp(m->ranks[a].host, m->ranks[b].host) != 0;
}

static void find_links(diagnosis *g)
{
    link_sample *all = mem_alloc((g->n_transfers + 1) * sizeof *all);
    for (size_t i = 0; i < g->n_transfers; i++) {
        const comm_event *s = &g->data.comm[g->transfers[i].send];
        const comm_event *r = &g->data.comm[g->transfers[i].receive];
        all[i] = (link_sample){s->rank, r->rank, g->transfers[i].link_ns, s->bytes};
    }
    if (g->n_transfers > 0) {
        qsort(all, g->n_transfers, sizeof *all, by_link);
    }
    size_t cap = 0;
    for (size_t i = 0; i < g->n_transfers;) {
        rank_link l = {.from = all[i].from, .to = all[i].to};
        size_t j = i;
        for (; j < g->n_transfers && all[j].from == l.from && all[j].to == l.to; j++) {
            l.n++;
            l.sum_ns += all[j].ns;
            l.bytes = all[j].bytes < 0 || l.bytes < 0 ? -1 : l.bytes + all[j].bytes;
        }
        l.median_ns = all[i + (j - i) / 2].ns;
        l.crosses_hosts = crosses_hosts(g->model, l.from, l.to);
        VEC_PUSH(g->links, g->n_links, cap, l);
        i = j;
    }
    free(all);
}

void transfers_find(diagnosis *g)
{
    size_t n;
    comm_pair *pairs = comm_pair_up(g->data.comm, g->data.match.n_collective, g->data.n_comm, tolerance_of(g), &n);
    g->transfers = mem_alloc((n + 1) * sizeof *g->transfers);
    g->n_transfers = n;
    g->n_unpaired = g->data.n_comm - g->data.match.n_collective - 2 * n;
    for (size_t i = 0; i < n; i++) {
        const comm_event *s = &g->data.comm[pairs[i].send];
        const comm_event *r = &g->data.comm[pairs[i].receive];
        int64_t sent = s->end_ns - s->start_ns;
        int64_t received = r->end_ns - r->start_ns;
        int64_t link = sent < received ? sent : received;
        p2p_transfer *t = &g->transfers[i];
        *t = (p2p_transfer){.send = pairs[i].send, .receive = pairs[i].receive, .step = s->step, .link_ns = link};
        note_order(g, t, s, r);
        rank_step *at_sender = cell_of(g, s);
        rank_step *at_receiver = cell_of(g, r);
        if (at_sender) {
            at_sender->p2p_wait_ns += sent - link;
        }
        if (at_receiver) {
            at_receiver->p2p_wait_ns += received - link;
        }
    }
    free(pairs);
    find_links(g);
}
