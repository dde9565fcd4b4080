#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "diagnose/rules.h"

/*
 * Links: transfers of one pair of ranks against those of other pairs, for the same bytes and the same kind of way
 * (inside a host, between hosts); collectives of one communicator against those of other communicators of its size.
 * Where a communicator has more than two ranks the finding names all neighbours in its ring: which of them is slow
 * cannot be told from the collective's time.
 */

enum { MAX_FINDINGS = 16 };
static const double LINK_NOISE = 0.2; /* over the median of its kind */

/* ------------------------------------------------------------------ transfers */

typedef struct way {
    uint64_t kind; /* bytes and whether hosts are crossed */
    uint32_t a, b; /* ranks, a < b: both directions share the way */
    uint32_t step;
    int64_t ns;
} way;

static int by_kind(const void *pa, const void *pb)
{
    const way *x = pa;
    const way *y = pb;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->a != y->a) {
        return x->a < y->a ? -1 : 1;
    }
    if (x->b != y->b) {
        return x->b < y->b ? -1 : 1;
    }
    return x->step < y->step ? -1 : x->step > y->step;
}

static way *collect_ways(const diagnosis *g)
{
    way *w = mem_alloc((g->n_transfers + 1) * sizeof *w);
    for (size_t i = 0; i < g->n_transfers; i++) {
        const comm_event *s = &g->data.comm[g->transfers[i].send];
        const comm_event *r = &g->data.comm[g->transfers[i].receive];
        bool crosses = strcmp(g->model->ranks[s->rank].host, g->model->ranks[r->rank].host) != 0;
        w[i] = (way){.kind = hash_u64((uint64_t)s->bytes) << 1 | crosses,
                     .a = s->rank < r->rank ? s->rank : r->rank,
                     .b = s->rank < r->rank ? r->rank : s->rank,
                     .step = g->transfers[i].step,
                     .ns = g->transfers[i].link_ns};
    }
    if (g->n_transfers > 0) {
        qsort(w, g->n_transfers, sizeof *w, by_kind);
    }
    return w;
}

static size_t pair_end(const way *w, size_t n, size_t i)
{
    size_t j = i;
    while (j < n && w[j].kind == w[i].kind && w[j].a == w[i].a && w[j].b == w[i].b) {
        j++;
    }
    return j;
}

typedef struct slow_way {
    uint32_t a, b;
    uint32_t n_peers;
    int64_t base_ns, median_ns;
    int64_t bytes;
} slow_way;

typedef struct way_list {
    slow_way *items;
    size_t n, cap;
    excess e;
    size_t cap_rows;
} way_list;

static int64_t *way_row(way_list *l, size_t n_steps, const slow_way *w)
{
    for (size_t i = l->n; i-- > 0;) {
        if (l->items[i].a == w->a && l->items[i].b == w->b) {
            return l->e.ns + i * n_steps;
        }
    }
    VEC_PUSH(l->items, l->n, l->cap, *w);
    VEC_RESERVE(l->e.ns, l->cap_rows, l->n * n_steps);
    memset(l->e.ns + (l->n - 1) * n_steps, 0, n_steps * sizeof *l->e.ns);
    l->e.n_rows = l->n;
    return l->e.ns + (l->n - 1) * n_steps;
}

/* All pairs of one kind: what each transfer takes over the median of the pairs' medians. */
static void judge_kind(const rule_state *s, way_list *l, const way *w, size_t n)
{
    int64_t *medians = mem_alloc((n + 1) * sizeof *medians);
    int64_t *own = mem_alloc((n + 1) * sizeof *own);
    size_t n_pairs = 0;
    for (size_t i = 0, j; i < n; i = j) {
        j = pair_end(w, n, i);
        for (size_t k = i; k < j; k++) {
            own[k - i] = w[k].ns;
        }
        medians[n_pairs++] = lower_median(own, j - i);
    }
    int64_t base = lower_median(medians, n_pairs);
    for (size_t i = 0, j; i < n && n_pairs > 1; i = j) {
        j = pair_end(w, n, i);
        int64_t *row = NULL;
        for (size_t k = i; k < j; k++) {
            own[k - i] = w[k].ns;
            if (w[k].step == NO_STEP || (double)(w[k].ns - base) <= LINK_NOISE * (double)base) {
                continue;
            }
            slow_way slow = {w[i].a, w[i].b, (uint32_t)n_pairs - 1, base, 0, 0};
            row = row ? row : way_row(l, s->g->data.n_steps, &slow);
            row[w[k].step] += w[k].ns - base;
        }
        if (row) {
            l->items[l->n - 1].median_ns = lower_median(own, j - i);
        }
    }
    free(medians);
    free(own);
}

static void add_slow_way(const rule_state *s, const way_list *l, size_t i)
{
    diagnosis *g = s->g;
    const slow_way *w = &l->items[i];
    flagged u = excess_flag(s, &l->e, i);
    if (u.n == 0) {
        return;
    }
    finding *f = finding_add(g, FINDING_SLOW_LINK, severity_of(u.share), "transfer time over the median of like links");
    uint32_t ranks[2] = {w->a, w->b};
    finding_ranks(g, f, ranks, 2);
    f->links = arena_alloc(&g->mem, sizeof *f->links);
    f->links[0][0] = w->a;
    f->links[0][1] = w->b;
    f->n_links = 1;
    finding_steps(f, &u);
    finding_when(g, f);
    double ratio = w->base_ns > 0 ? (double)w->median_ns / (double)w->base_ns : 0;
    finding_number_add(f, "transfer_ns", (double)w->median_ns);
    finding_number_add(f, "peers_transfer_ns", (double)w->base_ns);
    finding_number_add(f, "ratio", ratio);
    finding_number_add(f, "excess_ns", (double)u.mean_ns);
    finding_number_add(f, "share_of_step", u.share);
    finding_number_add(f, "peers", w->n_peers);
    char steps[64];
    char more[32];
    time_format(u.mean_ns, more, sizeof more);
    finding_say(g, f, "Transfers between %s and %s take %.1f times as long as over %u like links%s, %s more per step.",
                rank_name(g, w->a), rank_name(g, w->b), ratio, w->n_peers, steps_phrase(g, &u, steps), more);
    int64_t saved = saved_by_link(s, &u, w->a, w->b, NO_ID, ratio);
    finding_number_add(f, "saved_ns", (double)saved);
    what_if_replayed(g, &u, saved, "the delay between %s and %s", rank_name(g, w->a), rank_name(g, w->b));
}

static void judge_transfers(rule_state *s)
{
    diagnosis *g = s->g;
    way *w = collect_ways(g);
    way_list l = {.e = {.n_steps = g->data.n_steps}};
    for (size_t i = 0, j; i < g->n_transfers; i = j) {
        for (j = i; j < g->n_transfers && w[j].kind == w[i].kind;) {
            j++;
        }
        judge_kind(s, &l, w + i, j - i);
    }
    for (size_t i = 0; i < l.n && i < MAX_FINDINGS * 64; i++) {
        add_slow_way(s, &l, i);
    }
    rules_explain(s, &l.e);
    free(l.items);
    free(l.e.ns);
    free(w);
}

/* The median of each kind into the links, for those who show them. */
static void compare_links(diagnosis *g)
{
    int64_t *v = mem_alloc((g->n_links + 1) * sizeof *v);
    for (size_t i = 0; i < g->n_links; i++) {
        size_t n = 0;
        for (size_t k = 0; k < g->n_links && g->n_links <= 4096; k++) {
            bool alike = g->links[k].crosses_hosts == g->links[i].crosses_hosts &&
                         g->links[k].bytes / (int64_t)g->links[k].n == g->links[i].bytes / (int64_t)g->links[i].n;
            if (alike) {
                v[n++] = g->links[k].median_ns;
            }
        }
        g->links[i].n_peers = n > 0 ? (uint32_t)n - 1 : 0;
        g->links[i].peers_ns = lower_median(v, n);
    }
    free(v);
}

/* ------------------------------------------------------------------ collectives */

typedef struct turn {
    uint64_t kind; /* operation, bytes, members, hosts */
    uint32_t group, step;
    uint32_t instance;
    int64_t ns;
} turn;

static int by_turn(const void *pa, const void *pb)
{
    const turn *x = pa;
    const turn *y = pb;
    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    return x->instance < y->instance ? -1 : x->instance > y->instance;
}

static turn *collect_turns(const diagnosis *g, size_t *n)
{
    turn *t = mem_alloc((g->n_instances + 1) * sizeof *t);
    *n = 0;
    for (size_t i = 0; i < g->n_instances; i++) {
        const coll_instance *c = &g->instances[i];
        const comm_event *e = &g->data.comm[c->first];
        if (c->n < 2 || e->group == NO_ID || c->step == NO_STEP || c->n < g->model->groups[e->group].n_ranks) {
            continue;
        }
        const char *host = g->model->ranks[e->rank].host;
        bool crosses = false;
        for (uint32_t k = 1; k < c->n && !crosses; k++) {
            crosses = strcmp(g->model->ranks[e[k].rank].host, host) != 0;
        }
        uint64_t kind = hash_u64((uint64_t)c->bytes * 31 + e->op) ^ hash_u64((uint64_t)c->n << 1 | crosses);
        t[(*n)++] = (turn){kind, e->group, c->step, (uint32_t)i, c->transfer_ns};
    }
    if (*n > 0) {
        qsort(t, *n, sizeof *t, by_turn);
    }
    return t;
}

static size_t turn_end(const turn *t, size_t n, size_t i)
{
    size_t j = i;
    while (j < n && t[j].kind == t[i].kind && t[j].group == t[i].group) {
        j++;
    }
    return j;
}

/* Which part of a communicator's time no compute hides, over its ranks and steps. */
static double exposed_part(const diagnosis *g, uint32_t group, const uint32_t *index_of_rank, size_t n_index)
{
    const trace_group *c = &g->model->groups[group];
    double exposed = 0;
    double all = 0;
    for (uint32_t i = 0; i < c->n_ranks; i++) {
        if (c->ranks[i] < 0 || (uint64_t)c->ranks[i] >= n_index || index_of_rank[c->ranks[i]] == NO_ID) {
            continue;
        }
        for (size_t k = 0; k < g->data.n_steps; k++) {
            const rank_step *s = collected_cell(&g->data, index_of_rank[c->ranks[i]], k);
            for (unsigned set = 0; set < BUSY_SETS; set++) {
                bool in = set & BUSY_COLLECTIVE;
                all += in ? (double)s->set_ns[set] : 0;
                exposed += in && !(set & BUSY_COMPUTE) ? (double)s->set_ns[set] : 0;
            }
        }
    }
    return all > 0 ? exposed / all : 1;
}

typedef struct group_excess {
    excess e; /* [n_groups] */
    int64_t *base_ns, *median_ns;
    uint32_t *n_peers;
} group_excess;

/* A communicator without peers is measured against itself in other steps. */
static void judge_turns(const rule_state *s, group_excess *x, const turn *t, size_t n)
{
    size_t n_steps = s->g->data.n_steps;
    int64_t *medians = mem_alloc((n + 1) * sizeof *medians);
    int64_t *own = mem_alloc((n + 1) * sizeof *own);
    size_t n_groups = 0;
    for (size_t i = 0, j; i < n; i = j) {
        j = turn_end(t, n, i);
        for (size_t k = i; k < j; k++) {
            own[k - i] = t[k].ns;
        }
        medians[n_groups++] = lower_median(own, j - i);
    }
    int64_t base = lower_median(medians, n_groups);
    for (size_t i = 0, j; i < n; i = j) {
        j = turn_end(t, n, i);
        uint32_t group = t[i].group;
        int64_t most = 0;
        for (size_t k = i; k < j; k++) {
            own[k - i] = t[k].ns;
            if ((double)(t[k].ns - base) > LINK_NOISE * (double)base) {
                x->e.ns[group * n_steps + t[k].step] += t[k].ns - base;
                most += t[k].ns - base;
            }
        }
        if (most > 0 && base > x->base_ns[group]) {
            x->base_ns[group] = base;
            x->median_ns[group] = lower_median(own, j - i);
            x->n_peers[group] = (uint32_t)n_groups - 1;
        }
    }
    free(medians);
    free(own);
}

static void name_ring(diagnosis *g, finding *f, const uint32_t *ranks, size_t n)
{
    size_t n_links = n == 2 ? 1 : n;
    f->links = arena_alloc(&g->mem, (n_links + 1) * sizeof *f->links);
    for (size_t i = 0; i < n_links; i++) {
        f->links[i][0] = ranks[i];
        f->links[i][1] = ranks[(i + 1) % n];
    }
    f->n_links = (uint32_t)n_links;
}

static void add_slow_group(const rule_state *s, const group_excess *x, uint32_t group, const uint32_t *index_of_rank,
                           size_t n_index)
{
    diagnosis *g = s->g;
    flagged u = excess_flag(s, &x->e, group);
    if (u.n == 0) {
        return;
    }
    const trace_group *c = &g->model->groups[group];
    uint32_t *ranks = mem_alloc((c->n_ranks + 1) * sizeof *ranks);
    size_t n = 0;
    for (uint32_t i = 0; i < c->n_ranks; i++) {
        bool known = c->ranks[i] >= 0 && (uint64_t)c->ranks[i] < n_index && index_of_rank[c->ranks[i]] != NO_ID;
        if (known) {
            ranks[n++] = index_of_rank[c->ranks[i]];
        }
    }
    if (n < 2) {
        free(ranks);
        return;
    }
    finding *f = finding_add(g, FINDING_SLOW_LINK, severity_of(u.share),
                             "exposed collective transfer over the median of like communicators");
    finding_ranks(g, f, ranks, n);
    name_ring(g, f, ranks, n);
    finding_steps(f, &u);
    finding_when(g, f);
    double ratio = x->base_ns[group] > 0 ? (double)x->median_ns[group] / (double)x->base_ns[group] : 0;
    finding_number_add(f, "transfer_ns", (double)x->median_ns[group]);
    finding_number_add(f, "peers_transfer_ns", (double)x->base_ns[group]);
    finding_number_add(f, "ratio", ratio);
    finding_number_add(f, "excess_ns", (double)u.mean_ns);
    finding_number_add(f, "share_of_step", u.share);
    finding_number_add(f, "peers", x->n_peers[group]);
    char steps[64];
    char more[32];
    time_format(u.mean_ns, more, sizeof more);
    finding_say(
        g, f,
        n == 2 ? "The collectives of %s and %s take %.1f times as long as in %u like groups%s, %s more per step."
               : "The collectives of the ring from %s to %s take %.1f times as long as in %u like groups%s, %s "
                 "more per step; one of its links is slow.",
        rank_name(g, ranks[0]), rank_name(g, ranks[n - 1]), ratio, x->n_peers[group], steps_phrase(g, &u, steps), more);
    int64_t saved = saved_by_link(s, &u, NO_ID, NO_ID, group, ratio);
    finding_number_add(f, "saved_ns", (double)saved);
    what_if_replayed(g, &u, saved, "the delay in group %s", c->name);
    free(ranks);
}

static uint32_t *index_ranks(const trace_model *m, size_t *n)
{
    const int64_t limit = 1 << 24;
    int64_t last = -1;
    for (size_t i = 0; i < m->n_ranks; i++) {
        last = m->ranks[i].rank > last && m->ranks[i].rank < limit ? m->ranks[i].rank : last;
    }
    *n = (size_t)(last + 1);
    uint32_t *index = mem_alloc((*n + 1) * sizeof *index);
    memset(index, 0xff, (*n + 1) * sizeof *index);
    for (size_t i = 0; i < m->n_ranks; i++) {
        if (m->ranks[i].rank >= 0 && m->ranks[i].rank <= last) {
            index[m->ranks[i].rank] = (uint32_t)i;
        }
    }
    return index;
}

static void judge_collectives(rule_state *s)
{
    diagnosis *g = s->g;
    size_t n_groups = g->model->n_groups;
    size_t n;
    size_t n_index;
    turn *t = collect_turns(g, &n);
    uint32_t *index = index_ranks(g->model, &n_index);
    group_excess x = {excess_make(n_groups, g->data.n_steps), mem_calloc(n_groups + 1, sizeof(int64_t)),
                      mem_calloc(n_groups + 1, sizeof(int64_t)), mem_calloc(n_groups + 1, sizeof(uint32_t))};
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && t[j].kind == t[i].kind;) {
            j++;
        }
        judge_turns(s, &x, t + i, j - i);
    }
    for (uint32_t k = 0; k < n_groups; k++) {
        double part = exposed_part(g, k, index, n_index);
        for (size_t i = 0; i < g->data.n_steps; i++) {
            x.e.ns[k * g->data.n_steps + i] = (int64_t)((double)x.e.ns[k * g->data.n_steps + i] * part);
        }
    }
    for (uint32_t k = 0; k < n_groups; k++) {
        add_slow_group(s, &x, k, index, n_index);
    }
    rules_explain(s, &x.e);
    free(x.e.ns);
    free(x.base_ns);
    free(x.median_ns);
    free(x.n_peers);
    free(index);
    free(t);
}

void rules_link(rule_state *s)
{
    judge_transfers(s);
    judge_collectives(s);
    compare_links(s->g);
}
