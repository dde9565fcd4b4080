/* Sums of the communication in a window of time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "diagnose/comm_model.h"

static bool counts(const comm_sums *r, const comm_operation *o)
{
    const comm_query *q = &r->query;
    return o->start_ns >= q->t0_ns && o->start_ns < q->t1_ns && (!q->only_group || o->group == r->group);
}

/* ------------------------------------------------------------------ box plots */

static int by_value(const void *pa, const void *pb)
{
    const comm_outlier *a = pa;
    const comm_outlier *b = pb;
    if (a->value != b->value) {
        return a->value < b->value ? -1 : 1;
    }
    return a->item < b->item ? -1 : a->item > b->item;
}

static double quartile(const comm_outlier *v, size_t n, double part)
{
    double at = part * (double)(n - 1);
    size_t low = (size_t)at;
    double rest = at - (double)low;
    return low + 1 < n ? v[low].value + rest * (v[low + 1].value - v[low].value) : v[low].value;
}

static void keep(comm_sums *r, comm_box *b, const comm_outlier *v)
{
    VEC_PUSH(r->outliers, r->n_outliers, r->cap_outliers, *v);
    b->n_kept++;
}

/* `v` is sorted here. The furthest outliers of either side are kept, turn by turn. */
static comm_box make_box(comm_sums *r, comm_outlier *v, size_t n)
{
    comm_box b = {.n = (uint32_t)n, .first = (uint32_t)r->n_outliers};
    if (n == 0) {
        return b;
    }
    qsort(v, n, sizeof *v, by_value);
    b.q1 = quartile(v, n, 0.25);
    b.median = quartile(v, n, 0.5);
    b.q3 = quartile(v, n, 0.75);
    double reach = 1.5 * (b.q3 - b.q1);
    size_t first = 0;
    size_t last = n - 1;
    while (v[first].value < b.q1 - reach) {
        first++;
    }
    while (v[last].value > b.q3 + reach) {
        last--;
    }
    b.low = v[first].value;
    b.high = v[last].value;
    b.min = v[0].value;
    b.max = v[n - 1].value;
    b.n_outliers = (uint32_t)(first + n - 1 - last);
    for (size_t k = 0; b.n_kept < COMM_KEPT_OUTLIERS && (k < first || n - 1 - k > last); k++) {
        if (n - 1 - k > last) {
            keep(r, &b, &v[n - 1 - k]);
        }
        if (k < first && b.n_kept < COMM_KEPT_OUTLIERS) {
            keep(r, &b, &v[k]);
        }
    }
    return b;
}

/* ------------------------------------------------------------------ links */

typedef struct values {
    comm_outlier *v[COMM_MEASURES];
    size_t n[COMM_MEASURES];
} values;

static void add_value(values *s, comm_measure m, double value, size_t item)
{
    s->v[m][s->n[m]++] = (comm_outlier){value, (uint32_t)item};
}

static void sum_link(const comm_model *m, comm_sums *r, size_t link, values *s)
{
    const comm_link *k = &m->links[link];
    comm_link_sum *out = &r->links[link];
    int64_t known_ns = 0;
    memset(s->n, 0, sizeof s->n);
    for (size_t i = k->first; i < (size_t)k->first + k->n; i++) {
        const comm_operation *o = &m->operations[m->items[i].operation];
        if (!counts(r, o)) {
            continue;
        }
        double bytes = comm_link_bytes(o, (link_kind)k->kind);
        out->n++;
        out->time_ns += o->transfer_ns;
        add_value(s, COMM_TIME, (double)o->transfer_ns, i);
        if (bytes >= 0) {
            out->bytes += bytes;
            known_ns += o->transfer_ns;
            add_value(s, COMM_BYTES, bytes, i);
        }
        if (bytes >= 0 && o->transfer_ns > 0) {
            add_value(s, COMM_BANDWIDTH, bytes / (double)o->transfer_ns * 1e9, i);
        }
    }
    out->bandwidth = known_ns > 0 ? out->bytes / (double)known_ns * 1e9 : 0;
    for (int b = 0; b < COMM_MEASURES; b++) {
        out->box[b] = make_box(r, s->v[b], s->n[b]);
        r->most_single[b] = fmax(r->most_single[b], out->box[b].max);
    }
    r->most[COMM_TIME] = fmax(r->most[COMM_TIME], (double)out->time_ns);
    r->most[COMM_BYTES] = fmax(r->most[COMM_BYTES], out->bytes);
    r->most[COMM_BANDWIDTH] = fmax(r->most[COMM_BANDWIDTH], out->bandwidth);
}

static bool sum_links(const comm_model *m, comm_sums *r, cancel_flag *cancel)
{
    size_t most = 0;
    for (size_t i = 0; i < m->n_links; i++) {
        most = m->links[i].n > most ? m->links[i].n : most;
    }
    values s = {0};
    for (int b = 0; b < COMM_MEASURES; b++) {
        s.v[b] = mem_alloc((most + 1) * sizeof *s.v[b]);
    }
    for (size_t i = 0; i < m->n_links && !is_cancelled(cancel); i++) {
        sum_link(m, r, i, &s);
    }
    for (int b = 0; b < COMM_MEASURES; b++) {
        free(s.v[b]);
    }
    return !is_cancelled(cancel);
}

/* ------------------------------------------------------------------ ranks and communicators */

static void sum_group(const comm_model *m, comm_sums *r, size_t group)
{
    comm_group_sum *out = &r->groups[group];
    const comm_group *k = &m->groups[group];
    double bus_bytes = 0;
    int64_t known_ns = 0;
    for (size_t i = k->first; i < (size_t)k->first + k->n; i++) {
        const comm_operation *o = &m->operations[m->by_group[i]];
        if (o->start_ns < r->query.t0_ns || o->start_ns >= r->query.t1_ns) {
            continue;
        }
        out->n++;
        if (o->transfer_ns < 0) {
            out->n_unmatched++;
            continue;
        }
        out->transfer_ns += o->transfer_ns;
        out->wait_ns += o->wait_ns;
        if (o->bytes >= 0) {
            out->bytes += (double)o->bytes;
            bus_bytes += (double)o->bytes * comm_bus_factor((comm_op)o->op, o->n);
            known_ns += o->transfer_ns;
        }
    }
    out->bus = known_ns > 0 ? bus_bytes / (double)known_ns * 1e9 : 0;
}

typedef struct ranked {
    uint32_t id;
    bool greatest_first;
    double value;
    int64_t tie;
} ranked;

static int by_rank(const void *pa, const void *pb)
{
    const ranked *a = pa;
    const ranked *b = pb;
    if (a->value != b->value) {
        return (a->value < b->value) == a->greatest_first ? 1 : -1;
    }
    if (a->tie != b->tie) {
        return a->tie < b->tie ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static void put_in_order(ranked *list, size_t n, uint32_t *out)
{
    if (n > 0) {
        qsort(list, n, sizeof *list, by_rank);
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = list[i].id;
    }
    free(list);
}

static bool spans_stages(const comm_model *m, uint32_t group)
{
    const comm_group *k = &m->groups[group];
    for (size_t i = k->first; i < (size_t)k->first + k->n; i++) {
        const comm_operation *o = &m->operations[m->by_group[i]];
        if (o->op == OP_SEND || o->n < 2) {
            continue; /* to another stage and not waiting for it, or by itself */
        }
        for (uint32_t r = 1; r < o->n; r++) {
            if (m->g->model->ranks[comm_member(m, o, r)->rank].stage !=
                m->g->model->ranks[comm_member(m, o, 0)->rank].stage) {
                return true;
            }
        }
        return false; /* the same ranks every time */
    }
    return false;
}

static uint32_t busiest(const comm_model *m, const comm_sums *r)
{
    for (size_t i = 0; i < m->n_groups; i++) {
        const comm_group_sum *k = &r->groups[r->group_order[i]];
        if (k->transfer_ns + k->wait_ns > 0 && !spans_stages(m, r->group_order[i])) {
            return r->group_order[i];
        }
    }
    return m->n_groups > 0 ? r->group_order[0] : NO_ID;
}

/* Most rank-time first: transfer on all of its ranks, and wait. */
static void order_groups(const comm_model *m, comm_sums *r)
{
    ranked *list = mem_alloc((m->n_groups + 1) * sizeof *list);
    for (size_t i = 0; i < m->n_groups; i++) {
        double time = (double)r->groups[i].transfer_ns * m->groups[i].n_ranks + (double)r->groups[i].wait_ns;
        list[i] = (ranked){(uint32_t)i, true, time, 0};
    }
    put_in_order(list, m->n_groups, r->group_order);
    r->group = r->query.group < m->n_groups ? r->query.group : busiest(m, r);
}

static void sum_ranks(const comm_model *m, comm_sums *r)
{
    for (size_t i = 0; i < m->n_operations; i++) {
        const comm_operation *o = &m->operations[i];
        if (!counts(r, o)) {
            continue;
        }
        r->n++;
        r->n_unmatched += o->transfer_ns < 0;
        r->n_p2p += o->op == OP_SEND;
        for (uint32_t k = 0; k < o->n && o->transfer_ns >= 0; k++) {
            const comm_event *e = comm_member(m, o, k);
            comm_rank_sum *out = &r->ranks[e->rank];
            out->n++;
            out->transfer_ns += o->transfer_ns;
            out->wait_ns += e->end_ns - e->start_ns - o->transfer_ns;
            out->n_last += o->n > 2 && o->op != OP_SEND && e->rank == o->last_rank;
        }
    }
}

/* ------------------------------------------------------------------ the list */

static double sort_value(const comm_operation *o, comm_sort by)
{
    switch (by) {
    case SORT_OPERATION:
        return o->op;
    case SORT_BYTES:
        return (double)o->bytes;
    case SORT_TRANSFER:
        return (double)o->transfer_ns;
    case SORT_WAIT:
        return (double)o->wait_ns;
    case SORT_SKEW:
        return (double)o->skew_ns;
    case SORT_SPREAD:
        return (double)o->spread_ns;
    case SORT_ALGORITHM:
        return comm_algorithm_bandwidth(o);
    case SORT_BUS:
        return comm_bus_bandwidth(o);
    case SORT_LAST:
        return o->last_rank;
    default:
        return (double)o->start_ns;
    }
}

static void list_operations(const comm_model *m, comm_sums *r)
{
    const comm_group *k = r->group == NO_ID ? NULL : &m->groups[r->group];
    size_t n = k ? k->n : 0;
    r->order = mem_alloc((n + 1) * sizeof *r->order);
    ranked *list = mem_alloc((n + 1) * sizeof *list);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = m->by_group[k->first + i];
        const comm_operation *o = &m->operations[id];
        if (o->start_ns >= r->query.t0_ns && o->start_ns < r->query.t1_ns) {
            double value = sort_value(o, (comm_sort)r->query.sort);
            list[r->n_order++] = (ranked){id, r->query.descending, value, o->start_ns};
        }
    }
    put_in_order(list, r->n_order, r->order);
}

comm_sums *comm_sum_up(const comm_model *m, const comm_query *q, cancel_flag *cancel)
{
    comm_sums *r = mem_calloc(1, sizeof *r);
    r->query = *q;
    r->links = mem_calloc(m->n_links + 1, sizeof *r->links);
    r->ranks = mem_calloc(m->g->data.n_ranks + 1, sizeof *r->ranks);
    r->groups = mem_calloc(m->n_groups + 1, sizeof *r->groups);
    r->group_order = mem_calloc(m->n_groups + 1, sizeof *r->group_order);
    for (size_t i = 0; i < m->n_groups; i++) {
        sum_group(m, r, i);
    }
    order_groups(m, r);
    list_operations(m, r);
    sum_ranks(m, r);
    if (!sum_links(m, r, cancel)) {
        comm_sums_free(&r);
    }
    return r;
}

void comm_sums_free(comm_sums **pr)
{
    comm_sums *r = *pr;
    if (r) {
        free(r->links);
        free(r->ranks);
        free(r->groups);
        free(r->group_order);
        free(r->order);
        free(r->outliers);
        free(r);
        *pr = NULL;
    }
}
