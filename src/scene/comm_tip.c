/* Exact numbers of what the pointer rests on, and the formulas they follow. */
#include <stdlib.h>
#include <string.h>

#include "scene/comm_view.h"

static void add_time(tip *t, const char *name, int64_t ns)
{
    char text[64];
    time_format_exact(ns, text, sizeof text);
    (void)tip_add(t, name, "%s", text);
}

static void add_bytes(tip *t, const char *name, double bytes)
{
    char exact[48];
    char text[48];
    count_format((uint64_t)(bytes + 0.5), exact, sizeof exact);
    bytes_text(bytes, text, sizeof text);
    (void)tip_add(t, name, "%s B (%s)", exact, text);
}

/* ------------------------------------------------------------------ operations */

typedef struct arrival {
    int64_t lag_ns;
    uint32_t rank;
} arrival;

static int by_lag(const void *pa, const void *pb)
{
    const arrival *a = pa;
    const arrival *b = pb;
    if (a->lag_ns != b->lag_ns) {
        return a->lag_ns < b->lag_ns ? -1 : 1;
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The first and the last to arrive, in order. */
static void add_arrivals(scene *s, tip *t, const comm_operation *o)
{
    const comm_view *c = s->comm_layout;
    arrival *a = arena_alloc(&s->scratch, (o->n + 1) * sizeof *a);
    for (uint32_t i = 0; i < o->n; i++) {
        const comm_event *e = comm_member(c->model, o, i);
        a[i] = (arrival){e->start_ns - o->start_ns, e->rank};
    }
    qsort(a, o->n, sizeof *a, by_lag);
    enum { SHOWN = 3 };
    for (uint32_t i = 0; i < o->n; i++) {
        if (i >= SHOWN && i + SHOWN < o->n) {
            if (i == SHOWN) {
                (void)tip_add(t, "", "%u more between", o->n - 2 * SHOWN);
            }
            continue;
        }
        char lag[64];
        time_format_exact(a[i].lag_ns, lag, sizeof lag);
        const char *name = i == 0 ? "arrival order" : i + 1 == o->n ? "last to arrive" : "";
        (void)tip_add(t, name[0] ? name : " ", "%s  +%s", s->model->ranks[a[i].rank].label, lag);
    }
}

static void add_bandwidths(tip *t, const comm_operation *o)
{
    char text[48];
    double factor = comm_bus_factor((comm_op)o->op, o->n);
    bandwidth_text(comm_algorithm_bandwidth(o), text, sizeof text);
    (void)tip_add(t, "algorithm bandwidth", "%s = bytes / transfer", text);
    bandwidth_text(comm_bus_bandwidth(o), text, sizeof text);
    (void)tip_add(t, "bus bandwidth", "%s = algorithm \xC3\x97 %.4g", text, factor);
}

static void describe_operation(scene *s, tip *t, uint32_t id)
{
    const comm_view *c = s->comm_layout;
    const comm_operation *o = &c->model->operations[id];
    char name[96];
    comm_group_name(c->model, o->group, name, sizeof name);
    const char *what = o->op == OP_SEND ? "send \xE2\x86\x92 receive" : comm_op_name((comm_op)o->op);
    (void)snprintf(t->title, sizeof t->title, "%s", what);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%s \xC2\xB7 %u ranks", name, o->n);
    t->klass = o->op == OP_SEND ? CLASS_SEND : CLASS_COLLECTIVE;
    add_time(t, "start", o->start_ns);
    add_time(t, "end", o->end_ns);
    if (o->bytes >= 0) {
        add_bytes(t, "bytes", (double)o->bytes);
    }
    if (o->transfer_ns < 0) {
        (void)tip_add(t, "transfer", "unknown: no other rank's part was matched");
        return;
    }
    char text[64];
    time_format_exact(o->transfer_ns, text, sizeof text);
    (void)tip_add(t, "transfer", "%s = min duration over ranks", text);
    time_format_exact(o->wait_ns, text, sizeof text);
    (void)tip_add(t, "wait, all ranks", "%s = \xCE\xA3 (duration \xE2\x88\x92 transfer)", text);
    add_time(t, "start skew", o->skew_ns);
    add_time(t, "end spread", o->spread_ns);
    if (o->bytes >= 0) {
        add_bandwidths(t, o);
    }
    add_arrivals(s, t, o);
}

/* ------------------------------------------------------------------ links */

static void describe_kind(scene *s, tip *t, const unit_link *k, link_kind kind)
{
    if (k->n[kind] == 0) {
        return;
    }
    char count[32];
    char text[64];
    count_format(k->n[kind], count, sizeof count);
    tip_line *line = tip_add(t, kind == LINK_P2P ? "send \xE2\x86\x92 receive" : "collectives as a ring", "%s", count);
    line->klass = kind == LINK_P2P ? CLASS_SEND : CLASS_COLLECTIVE;
    (void)s;
    time_format_exact(k->time_ns[kind], text, sizeof text);
    (void)tip_add(t, "transfer time", "%s", text);
    if (k->known_ns[kind] > 0) {
        add_bytes(t, kind == LINK_P2P ? "bytes" : "bytes \xC3\x97 bus factor", k->bytes[kind]);
        bandwidth_text(k->bytes[kind] / (double)k->known_ns[kind] * 1e9, text, sizeof text);
        (void)tip_add(t, "bandwidth", "%s = bytes / transfer time", text);
    }
}

static void describe_box(scene *s, tip *t, const unit_link *k)
{
    const comm_view *c = s->comm_layout;
    uint32_t link = k->link[unit_link_kind(k)];
    comm_measure m = (comm_measure)s->v.comm.measure;
    const comm_box *b = link == NO_ID ? NULL : &c->sums->links[link].box[m];
    if (!b || b->n < 2) {
        return;
    }
    char a[48];
    char d[48];
    char e[48];
    measure_text(m, b->q1, a, sizeof a);
    measure_text(m, b->median, d, sizeof d);
    measure_text(m, b->q3, e, sizeof e);
    (void)tip_add(t, "one operation", "%s: quartiles %s \xC2\xB7 %s \xC2\xB7 %s", measure_name(m), a, d, e);
    measure_text(m, b->min, a, sizeof a);
    measure_text(m, b->max, d, sizeof d);
    (void)tip_add(t, "outliers", "%u of %u beyond 1.5 IQR \xC2\xB7 least %s, most %s", b->n_outliers, b->n, a, d);
}

static void describe_cell(scene *s, tip *t, uint32_t from, uint32_t to)
{
    const comm_units *u = &s->comm_layout->matrix;
    char a[64];
    char b[64];
    if (from >= u->n || to >= u->n) {
        return;
    }
    unit_name(s, u, from, a, sizeof a);
    unit_name(s, u, to, b, sizeof b);
    (void)snprintf(t->title, sizeof t->title, "%s \xE2\x86\x92 %s", a, b);
    const unit_link *k = unit_link_find(u, from, to);
    if (!k) {
        (void)snprintf(t->subtitle, sizeof t->subtitle, "no data in the time that is shown");
        return;
    }
    if (from == to && u->are_blocks) {
        (void)snprintf(t->subtitle, sizeof t->subtitle, "inside of the block");
    } else {
        (void)snprintf(t->subtitle, sizeof t->subtitle, k->crosses_hosts ? "between hosts" : "LOCAL: on one host");
    }
    describe_kind(s, t, k, LINK_P2P);
    describe_kind(s, t, k, LINK_RING);
    describe_box(s, t, k);
}

static void describe_outlier(scene *s, tip *t, const comm_hit *h)
{
    const comm_view *c = s->comm_layout;
    if (h->a >= c->model->n_items || h->b >= c->model->n_links) {
        return;
    }
    const comm_link *k = &c->model->links[h->b];
    describe_operation(s, t, c->model->items[h->a].operation);
    char place[TIP_LINE_CAP];
    (void)snprintf(place, sizeof place, "outlier of %s \xE2\x86\x92 %s \xC2\xB7 click: see it in the Marey view",
                   s->model->ranks[k->from].label, s->model->ranks[k->to].label);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%s", place);
}

/* ------------------------------------------------------------------ devices and communicators */

static void describe_node(scene *s, tip *t, uint32_t i)
{
    const comm_units *u = &s->comm_layout->graph;
    if (i >= u->n) {
        return;
    }
    const unit *k = &u->items[i];
    unit_name(s, u, i, t->title, sizeof t->title);
    const trace_rank *r = &s->model->ranks[u->ranks[k->first]];
    if (u->are_blocks) {
        (void)snprintf(t->subtitle, sizeof t->subtitle, "%u ranks, summed up", k->n);
    } else if (r->stage >= 0) {
        (void)snprintf(t->subtitle, sizeof t->subtitle, "%s \xC2\xB7 stage %d", r->host, r->stage);
    } else {
        (void)snprintf(t->subtitle, sizeof t->subtitle, "%s", r->host);
    }
    char text[64];
    count_format(k->n_operations, text, sizeof text);
    (void)tip_add(t, "operations", "%s", text);
    time_format_exact(k->transfer_ns, text, sizeof text);
    (void)tip_add(t, "communication", "%s = \xCE\xA3 transfer", text);
    time_format_exact(k->wait_ns, text, sizeof text);
    (void)tip_add(t, "wait", "%s = \xCE\xA3 (duration \xE2\x88\x92 transfer)", text);
    double time = (double)(k->transfer_ns + k->wait_ns);
    if (time > 0) {
        (void)tip_add(t, "share", "%.1f %% = communication / (communication + wait)",
                      100 * (double)k->transfer_ns / time);
    }
    count_format(k->n_last, text, sizeof text);
    (void)tip_add(t, "arrived last", "%s times, in collectives of 3 ranks or more", text);
}

static void describe_group(scene *s, tip *t, uint32_t id)
{
    const comm_view *c = s->comm_layout;
    if (id >= c->model->n_groups) {
        return;
    }
    const comm_group *k = &c->model->groups[id];
    const comm_group_sum *g = &c->sums->groups[id];
    comm_group_name(c->model, id, t->title, sizeof t->title);
    if (k->id < s->model->n_groups) {
        (void)snprintf(t->subtitle, sizeof t->subtitle, "communicator %s \xC2\xB7 %u ranks",
                       s->model->groups[k->id].name, k->n_ranks);
    }
    char text[64];
    char unmatched[32];
    count_format(g->n, text, sizeof text);
    count_format(g->n_unmatched, unmatched, sizeof unmatched);
    (void)tip_add(t, "operations", "%s, %s unmatched", text, unmatched);
    if (g->bytes > 0) {
        add_bytes(t, "bytes", g->bytes);
    }
    time_format_exact(g->transfer_ns, text, sizeof text);
    (void)tip_add(t, "transfer", "%s, once per operation", text);
    time_format_exact(g->wait_ns, text, sizeof text);
    (void)tip_add(t, "wait", "%s, of all ranks", text);
    bandwidth_text(g->bus, text, sizeof text);
    (void)tip_add(t, "bus bandwidth", "%s = \xCE\xA3 bytes \xC3\x97 bus factor / \xCE\xA3 transfer", text);
}

void comm_tip_draw(scene *s)
{
    const comm_hit *h = &s->comm_layout->hover;
    tip *t = arena_alloc(&s->scratch, sizeof *t);
    memset(t, 0, sizeof *t);
    t->klass = CELL_EMPTY;
    switch (h->kind) {
    case HIT_NODE:
        describe_node(s, t, h->a);
        break;
    case HIT_CELL:
        describe_cell(s, t, h->a, h->b);
        break;
    case HIT_OUTLIER:
        describe_outlier(s, t, h);
        break;
    case HIT_OPERATION:
        if (h->a < s->comm_layout->model->n_operations) {
            describe_operation(s, t, h->a);
        }
        break;
    case HIT_GROUP:
        describe_group(s, t, h->a);
        break;
    default:
        break;
    }
    if (t->title[0]) {
        tip_draw(s, t);
    }
}
