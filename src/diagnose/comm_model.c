#include "diagnose/comm_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

const comm_event *comm_member(const comm_model *m, const comm_operation *o, uint32_t i)
{
    uint32_t at = o->op != OP_SEND ? o->first + i : i == 0 ? o->first : o->second;
    return &m->g->data.comm[at];
}

double comm_algorithm_bandwidth(const comm_operation *o)
{
    return o->bytes >= 0 && o->transfer_ns > 0 ? (double)o->bytes / (double)o->transfer_ns * 1e9 : -1;
}

double comm_bus_bandwidth(const comm_operation *o)
{
    double plain = comm_algorithm_bandwidth(o);
    return plain < 0 ? plain : plain * comm_bus_factor((comm_op)o->op, o->n);
}

double comm_link_bytes(const comm_operation *o, link_kind kind)
{
    if (o->bytes < 0) {
        return -1;
    }
    return (double)o->bytes * (kind == LINK_RING ? comm_bus_factor((comm_op)o->op, o->n) : 1);
}

void comm_group_name(const comm_model *m, uint32_t group, char *out, size_t cap)
{
    const comm_group *k = &m->groups[group];
    const trace_model *t = m->g->model;
    if (k->id >= t->n_groups) {
        (void)snprintf(out, cap, "no communicator named");
        return;
    }
    const trace_group *g = &t->groups[k->id];
    bool described = g->description && g->description[0] && strcmp(g->description, "undefined") != 0;
    (void)snprintf(out, cap, "%s", described ? g->description : g->name);
}

void comm_group_ranks(const comm_model *m, uint32_t group, char *out, size_t cap)
{
    const comm_group *k = &m->groups[group];
    out[0] = '\0';
    const trace_group *g = k->id < m->g->model->n_groups ? &m->g->model->groups[k->id] : NULL;
    if (!g || g->n_ranks == 0 || g->n_ranks < k->n_ranks) {
        return;
    }
    const int64_t *r = g->ranks;
    bool even = g->n_ranks > 2;
    for (uint32_t i = 2; i < g->n_ranks; i++) {
        even = even && r[i] - r[i - 1] == r[1] - r[0];
    }
    long long first = (long long)r[0];
    long long last = (long long)r[g->n_ranks - 1];
    if (g->n_ranks == 1) {
        (void)snprintf(out, cap, "%lld", first);
    } else if (g->n_ranks == 2) {
        (void)snprintf(out, cap, "%lld, %lld", first, last);
    } else if (even && r[1] - r[0] == 1) {
        (void)snprintf(out, cap, "%lld\xE2\x80\x93%lld", first, last);
    } else {
        (void)snprintf(out, cap, "%lld, %lld \xE2\x80\xA6 %lld", first, (long long)r[1], last);
    }
}

/* ------------------------------------------------------------------ operations */

static void add_collectives(comm_model *m)
{
    const diagnosis *g = m->g;
    for (size_t i = 0; i < g->n_instances; i++) {
        const coll_instance *c = &g->instances[i];
        const comm_event *e = &g->data.comm[c->first];
        comm_operation o = {.start_ns = c->start_ns,
                            .end_ns = c->end_ns,
                            .transfer_ns = c->n > 1 ? c->transfer_ns : -1,
                            .wait_ns = c->wait_ns,
                            .skew_ns = c->skew_ns,
                            .spread_ns = c->spread_ns,
                            .bytes = c->bytes,
                            .first = (uint32_t)c->first,
                            .n = c->n,
                            .group = e->group,
                            .last_rank = c->last_rank,
                            .step = c->step,
                            .op = e->op};
        m->operations[m->n_operations++] = o;
    }
}

static void add_transfers(comm_model *m)
{
    const diagnosis *g = m->g;
    for (size_t i = 0; i < g->n_transfers; i++) {
        const p2p_transfer *t = &g->transfers[i];
        const comm_event *s = &g->data.comm[t->send];
        const comm_event *r = &g->data.comm[t->receive];
        bool sender_last = s->start_ns > r->start_ns;
        int64_t begin = sender_last ? r->start_ns : s->start_ns;
        int64_t end = s->end_ns > r->end_ns ? s->end_ns : r->end_ns;
        comm_operation o = {.start_ns = begin,
                            .end_ns = end,
                            .transfer_ns = t->link_ns,
                            .wait_ns = s->end_ns - s->start_ns + r->end_ns - r->start_ns - 2 * t->link_ns,
                            .skew_ns = llabs(s->start_ns - r->start_ns),
                            .spread_ns = llabs(s->end_ns - r->end_ns),
                            .bytes = s->bytes >= 0 ? s->bytes : r->bytes,
                            .first = t->send,
                            .second = t->receive,
                            .n = 2,
                            .group = s->group,
                            .last_rank = sender_last ? s->rank : r->rank,
                            .step = t->step,
                            .op = OP_SEND};
        m->operations[m->n_operations++] = o;
    }
}

static int by_start(const void *pa, const void *pb)
{
    const comm_operation *a = pa;
    const comm_operation *b = pb;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return a->first < b->first ? -1 : a->first > b->first;
}

/* ------------------------------------------------------------------ communicators */

static uint32_t seen_ranks(const comm_model *m, uint32_t group, uint8_t *seen, uint8_t mark)
{
    uint32_t n = 0;
    for (size_t i = 0; i < m->n_operations; i++) {
        const comm_operation *o = &m->operations[i];
        for (uint32_t k = 0; o->group == group && k < o->n; k++) {
            uint8_t *at = &seen[comm_member(m, o, k)->rank];
            n += *at != mark;
            *at = mark;
        }
    }
    return n;
}

/* Dense numbers for the communicators that are used, in order of first use. */
static void number_groups(comm_model *m)
{
    map64 dense = {0};
    size_t cap = 0;
    for (size_t i = 0; i < m->n_operations; i++) {
        uint32_t id = m->operations[i].group < m->g->model->n_groups ? m->operations[i].group : NO_ID;
        uint64_t *at = map64_put(&dense, id);
        if (*at == 0) {
            VEC_PUSH(m->groups, m->n_groups, cap, ((comm_group){.id = id}));
            *at = m->n_groups;
        }
        comm_group *k = &m->groups[*at - 1];
        m->operations[i].group = (uint32_t)(*at - 1);
        k->n_ranks = m->operations[i].n > k->n_ranks ? m->operations[i].n : k->n_ranks;
        k->n++;
    }
    map64_deinit(&dense);
}

static void list_groups(comm_model *m)
{
    uint32_t first = 0;
    m->by_group = mem_alloc((m->n_operations + 1) * sizeof *m->by_group);
    uint8_t *seen = mem_calloc(m->g->data.n_ranks + 1, 1);
    for (size_t k = 0; k < m->n_groups; k++) {
        comm_group *g = &m->groups[k];
        g->first = first;
        first += g->n;
        g->n = 0;
        uint32_t stated = g->id == NO_ID ? 0 : m->g->model->groups[g->id].n_ranks;
        if (stated == 0) {
            g->n_ranks = seen_ranks(m, (uint32_t)k, memset(seen, 0, m->g->data.n_ranks), 1);
        } else if (stated > g->n_ranks) { /* profilers cut long lists of ranks short */
            g->n_ranks = stated;
        }
    }
    free(seen);
    for (size_t i = 0; i < m->n_operations; i++) {
        comm_group *g = &m->groups[m->operations[i].group];
        m->by_group[g->first + g->n++] = (uint32_t)i;
    }
}

/* ------------------------------------------------------------------ links */

typedef struct raw_item {
    uint64_t key; /* from, to, kind */
    comm_item item;
} raw_item;

typedef struct item_list {
    raw_item *items;
    size_t n, cap;
} item_list;

static void add_item(const comm_model *m, item_list *l, const comm_operation *o, uint32_t a, uint32_t b, link_kind kind)
{
    const comm_event *from = comm_member(m, o, a);
    const comm_event *to = comm_member(m, o, b);
    uint32_t event = (uint32_t)(from - m->g->data.comm);
    raw_item r = {(uint64_t)from->rank << 33 | (uint64_t)to->rank << 1 | kind, {(uint32_t)(o - m->operations), event}};
    VEC_PUSH(l->items, l->n, l->cap, r);
}

static int by_key(const void *pa, const void *pb)
{
    const raw_item *a = pa;
    const raw_item *b = pb;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->item.operation < b->item.operation ? -1 : a->item.operation > b->item.operation;
}

static void gather_items(const comm_model *m, item_list *l)
{
    for (size_t i = 0; i < m->n_operations; i++) {
        const comm_operation *o = &m->operations[i];
        if (o->op == OP_SEND) {
            add_item(m, l, o, 0, 1, LINK_P2P);
            continue;
        }
        for (uint32_t k = 0; k < o->n && o->n > 1; k++) {
            add_item(m, l, o, k, k + 1 < o->n ? k + 1 : 0, LINK_RING);
        }
    }
}

static bool crosses_hosts(const trace_model *t, uint32_t a, uint32_t b)
{
    return strcmp(t->ranks[a].host, t->ranks[b].host) != 0;
}

static void make_links(comm_model *m, const item_list *l)
{
    size_t cap = 0;
    m->items = mem_alloc((l->n + 1) * sizeof *m->items);
    for (size_t i = 0; i < l->n; i++) {
        uint64_t key = l->items[i].key;
        bool is_new = i == 0 || key != l->items[i - 1].key;
        if (is_new && m->n_links >= COMM_MAX_LINKS) {
            m->n_links_left_out += l->n - i;
            return;
        }
        if (is_new) {
            comm_link k = {.from = (uint32_t)(key >> 33),
                           .to = (uint32_t)(key >> 1),
                           .kind = (uint8_t)(key & 1),
                           .first = (uint32_t)m->n_items};
            k.crosses_hosts = crosses_hosts(m->g->model, k.from, k.to);
            VEC_PUSH(m->links, m->n_links, cap, k);
        }
        m->links[m->n_links - 1].n++;
        m->items[m->n_items++] = l->items[i].item;
    }
}

marey_status comm_model_make(comm_model *m, const diagnosis *g, cancel_flag *cancel)
{
    *m = (comm_model){.g = g};
    m->operations = mem_alloc((g->n_instances + g->n_transfers + 1) * sizeof *m->operations);
    add_collectives(m);
    add_transfers(m);
    if (m->n_operations > 0) {
        qsort(m->operations, m->n_operations, sizeof *m->operations, by_start);
    }
    number_groups(m);
    list_groups(m);
    if (is_cancelled(cancel)) {
        return MAREY_CANCELLED;
    }
    item_list l = {0};
    gather_items(m, &l);
    if (l.n > 0) {
        qsort(l.items, l.n, sizeof *l.items, by_key);
    }
    make_links(m, &l);
    free(l.items);
    return is_cancelled(cancel) ? MAREY_CANCELLED : MAREY_OK;
}

void comm_model_free(comm_model *m)
{
    free(m->operations);
    free(m->links);
    free(m->items);
    free(m->groups);
    free(m->by_group);
    *m = (comm_model){0};
}
