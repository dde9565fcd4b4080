/* What the graph and the matrix show: ranks, or, where they are too many to be seen, blocks of them: stages, hosts, or
 * neighbours in order. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "scene/comm_view.h"

void units_free(comm_units *u)
{
    free(u->items);
    free(u->ranks);
    free(u->of_rank);
    free(u->links);
    free(u->widest);
    memset(u, 0, sizeof *u);
}

/* ------------------------------------------------------------------ which */

static bool is_shown(const comm_sums *r, uint32_t rank)
{
    return !r->query.only_group || r->ranks[rank].n > 0;
}

static uint32_t block_of(const scene *s, uint32_t rank)
{
    return s->tree.grouped ? s->tree.rank_group[rank] : NO_ID;
}

static bool same_host(const scene *s, uint32_t a, uint32_t b)
{
    return strcmp(s->model->ranks[a].host, s->model->ranks[b].host) == 0;
}

typedef struct shown {
    uint32_t n, n_hosts, n_blocks; /* ranks; runs of one host inside of a block; blocks of the row tree */
} shown;

static shown count_shown(const scene *s, const comm_sums *r)
{
    shown k = {0};
    uint32_t last = NO_ID;
    for (size_t i = 0; i < s->model->n_ranks; i++) {
        uint32_t rank = s->tree.group_ranks[i];
        if (is_shown(r, rank)) {
            bool new_block = last == NO_ID || block_of(s, rank) != block_of(s, last);
            k.n++;
            k.n_blocks += new_block;
            k.n_hosts += new_block || !same_host(s, rank, last);
            last = rank;
        }
    }
    return k;
}

/* The finest that fits: ranks, hosts, blocks of the row tree, or neighbours in equal numbers. */
static unit_cut choose_cut(const scene *s, const shown *k, uint32_t limit)
{
    if (k->n <= limit) {
        return CUT_RANKS;
    }
    if (s->has_hosts && k->n_hosts > 1 && k->n_hosts <= limit) {
        return CUT_HOSTS;
    }
    return s->tree.grouped && k->n_blocks > 1 && k->n_blocks <= limit ? CUT_GROUPS : CUT_EVEN;
}

/* Ranks in the order of the row tree, cut into units. */
static void cut(const scene *s, comm_units *u, const comm_sums *r, uint32_t limit)
{
    shown all = count_shown(s, r);
    uint32_t n = all.n;
    u->cut = choose_cut(s, &all, limit);
    u->are_blocks = u->cut != CUT_RANKS;
    uint32_t each = (n + limit - 1) / limit;
    u->items = mem_calloc(n + 1, sizeof *u->items);
    u->ranks = mem_alloc((n + 1) * sizeof *u->ranks);
    u->of_rank = mem_alloc((s->model->n_ranks + 1) * sizeof *u->of_rank);
    uint32_t at = 0;
    for (size_t i = 0; i < s->model->n_ranks; i++) {
        uint32_t rank = s->tree.group_ranks[i];
        u->of_rank[rank] = NO_ID;
        if (!is_shown(r, rank)) {
            continue;
        }
        const unit *last = u->n > 0 ? &u->items[u->n - 1] : NULL;
        bool new_block = !last || last->block != block_of(s, rank);
        bool opens = !last || u->cut == CUT_RANKS || (u->cut == CUT_GROUPS && new_block) ||
                     (u->cut == CUT_HOSTS && (new_block || !same_host(s, rank, u->ranks[at - 1]))) ||
                     (u->cut == CUT_EVEN && last->n >= each);
        if (opens) {
            u->items[u->n++] = (unit){.first = at, .block = block_of(s, rank)};
        }
        unit *k = &u->items[u->n - 1];
        k->n++;
        k->transfer_ns += r->ranks[rank].transfer_ns;
        k->wait_ns += r->ranks[rank].wait_ns;
        k->n_operations += r->ranks[rank].n;
        k->n_last += r->ranks[rank].n_last;
        u->of_rank[rank] = u->n - 1;
        u->ranks[at++] = rank;
    }
}

static void find_extremes(comm_units *u)
{
    u->least_share = u->least_time = INFINITY;
    u->most_share = u->most_time = 0;
    for (uint32_t i = 0; i < u->n; i++) {
        const unit *k = &u->items[i];
        double time = (double)(k->transfer_ns + k->wait_ns);
        if (time <= 0) {
            continue;
        }
        double share = (double)k->transfer_ns / time;
        u->least_share = fmin(u->least_share, share);
        u->most_share = fmax(u->most_share, share);
        u->least_time = fmin(u->least_time, time);
        u->most_time = fmax(u->most_time, time);
    }
}

/* ------------------------------------------------------------------ links */

double unit_link_value(const unit_link *k, comm_measure m)
{
    double bytes = k->bytes[0] + k->bytes[1];
    int64_t known = k->known_ns[0] + k->known_ns[1];
    switch (m) {
    case COMM_TIME:
        return (double)(k->time_ns[0] + k->time_ns[1]);
    case COMM_BYTES:
        return bytes;
    default:
        return known > 0 ? bytes / (double)known * 1e9 : 0;
    }
}

link_kind unit_link_kind(const unit_link *k)
{
    return k->time_ns[LINK_P2P] >= k->time_ns[LINK_RING] && k->n[LINK_P2P] > 0 ? LINK_P2P : LINK_RING;
}

static int by_ends(const void *pa, const void *pb)
{
    const unit_link *a = pa;
    const unit_link *b = pb;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return a->to < b->to ? -1 : a->to > b->to;
}

static void add_link(unit_link *to, const comm_link *k, const comm_link_sum *sum, uint32_t id)
{
    int kind = k->kind;
    to->link[kind] = to->n_links[kind] == 0 ? id : NO_ID;
    to->n_links[kind]++;
    to->n[kind] += sum->n;
    to->time_ns[kind] += sum->time_ns;
    to->bytes[kind] += sum->bytes;
    to->known_ns[kind] += sum->bandwidth > 0 ? (int64_t)(sum->bytes / sum->bandwidth * 1e9 + 0.5) : 0;
    to->crosses_hosts = to->crosses_hosts || k->crosses_hosts;
}

static void gather_links(comm_units *u, const comm_model *m, const comm_sums *r)
{
    map64 places = {0};
    size_t cap = 0;
    for (size_t i = 0; i < m->n_links; i++) {
        const comm_link *k = &m->links[i];
        uint32_t from = u->of_rank[k->from];
        uint32_t to = u->of_rank[k->to];
        if (r->links[i].n == 0 || from == NO_ID || to == NO_ID) {
            continue;
        }
        uint64_t *place = map64_put(&places, (uint64_t)from << 32 | to);
        if (*place == 0) {
            VEC_PUSH(u->links, u->n_links, cap, ((unit_link){.from = from, .to = to, .link = {NO_ID, NO_ID}}));
            *place = u->n_links;
        }
        add_link(&u->links[*place - 1], k, &r->links[i], (uint32_t)i);
    }
    map64_deinit(&places);
    if (u->n_links > 0) {
        qsort(u->links, u->n_links, sizeof *u->links, by_ends);
    }
}

typedef struct weighed {
    double bytes, time;
    uint32_t id;
} weighed;

static int by_weight(const void *pa, const void *pb)
{
    const weighed *a = pa;
    const weighed *b = pb;
    if (a->bytes != b->bytes) {
        return a->bytes > b->bytes ? -1 : 1;
    }
    if (a->time != b->time) {
        return a->time > b->time ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static void order_links(comm_units *u)
{
    weighed *w = mem_alloc((u->n_links + 1) * sizeof *w);
    u->widest = mem_alloc((u->n_links + 1) * sizeof *u->widest);
    for (size_t i = 0; i < u->n_links; i++) {
        const unit_link *k = &u->links[i];
        w[i] = (weighed){unit_link_value(k, COMM_BYTES), unit_link_value(k, COMM_TIME), (uint32_t)i};
        for (int m = 0; m < COMM_MEASURES; m++) {
            u->most[m] = fmax(u->most[m], unit_link_value(k, (comm_measure)m));
        }
    }
    if (u->n_links > 0) {
        qsort(w, u->n_links, sizeof *w, by_weight);
    }
    for (size_t i = 0; i < u->n_links; i++) {
        u->widest[i] = w[i].id;
    }
    free(w);
}

const unit_link *unit_link_find(const comm_units *u, uint32_t from, uint32_t to)
{
    unit_link key = {.from = from, .to = to};
    return u->n_links > 0 ? bsearch(&key, u->links, u->n_links, sizeof key, by_ends) : NULL;
}

void units_update(scene *s, comm_units *u, uint32_t limit)
{
    const comm_view *c = s->comm_layout;
    if (u->made && u->serial == c->sums->serial && u->limit == limit && u->grouping == s->v.grouping &&
        u->order == s->v.order) {
        return;
    }
    units_free(u);
    u->made = true;
    u->serial = c->sums->serial;
    u->limit = limit;
    u->grouping = s->v.grouping;
    u->order = s->v.order;
    cut(s, u, c->sums, limit > 0 ? limit : 1);
    find_extremes(u);
    gather_links(u, c->model, c->sums);
    order_links(u);
}

/* ------------------------------------------------------------------ names */

void unit_name(const scene *s, const comm_units *u, uint32_t i, char *out, size_t cap)
{
    const unit *k = &u->items[i];
    const trace_rank *first = &s->model->ranks[u->ranks[k->first]];
    const trace_rank *last = &s->model->ranks[u->ranks[k->first + k->n - 1]];
    if (!u->are_blocks) {
        (void)snprintf(out, cap, "%s", first->label);
    } else if (u->cut == CUT_GROUPS) {
        (void)snprintf(out, cap, "%s", s->tree.groups[k->block].name);
    } else if (u->cut == CUT_HOSTS) {
        (void)snprintf(out, cap, "%s, ranks %lld\xE2\x80\x93%lld", first->host, (long long)first->rank,
                       (long long)last->rank);
    } else {
        (void)snprintf(out, cap, "ranks %lld\xE2\x80\x93%lld", (long long)first->rank, (long long)last->rank);
    }
}

void unit_short_name(const scene *s, const comm_units *u, uint32_t i, char *out, size_t cap)
{
    const unit *k = &u->items[i];
    const trace_rank *first = &s->model->ranks[u->ranks[k->first]];
    if (u->cut == CUT_GROUPS || u->cut == CUT_HOSTS) {
        const char *name = u->cut == CUT_HOSTS ? first->host : s->tree.groups[k->block].name;
        size_t n = strlen(name);
        size_t digits = n;
        while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
            digits--;
        }
        (void)snprintf(out, cap, "%s", digits < n ? name + digits : name);
        return;
    }
    (void)snprintf(out, cap, "%lld", (long long)first->rank);
}
