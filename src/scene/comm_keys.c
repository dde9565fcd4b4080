/* What keys and clicks do in the communication layout. They change the view only; the next frame follows from it. */
#include <string.h>

#include "scene/comm_view.h"
#include "store/query.h"

/* ------------------------------------------------------------------ lists */

static size_t place_in(const uint32_t *list, size_t n, uint32_t id, size_t otherwise)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == id) {
            return i;
        }
    }
    return otherwise;
}

/* Scroll as little as shows the row. */
static double scroll_to(const scene *s, const list_place *l, size_t row, double scroll_dp)
{
    double scale = (double)s->m.s;
    double top = (double)l->row_h * (double)row / scale;
    double bottom = top + (double)l->row_h / scale;
    double shown = (double)l->r.h / scale;
    double out = scroll_dp > top ? top : scroll_dp;
    return bottom - out > shown ? bottom - shown : out;
}

static size_t moved(size_t at, size_t n, int by)
{
    if (at == SIZE_MAX) {
        return by > 0 ? 0 : n - 1;
    }
    if (by < 0) {
        return at >= (size_t)-by ? at - (size_t)-by : 0;
    }
    return at + (size_t)by < n ? at + (size_t)by : n - 1;
}

static bool move_in_list(const scene *s, view *v, int by)
{
    const comm_view *c = s->comm_layout;
    size_t n = c->sums->n_order;
    if (n == 0) {
        return true;
    }
    uint32_t id = v->comm.operation > 0 ? v->comm.operation - 1 : NO_ID;
    size_t at = moved(place_in(c->sums->order, n, id, SIZE_MAX), n, by);
    v->comm.operation = c->sums->order[at] + 1;
    v->comm.list_scroll_px = scroll_to(s, &c->lists[0], at, v->comm.list_scroll_px);
    return true;
}

static void choose_group(view *v, uint32_t id)
{
    v->comm.group = id + 1;
    v->comm.operation = 0;
    v->comm.list_scroll_px = 0;
}

static bool move_in_groups(const scene *s, view *v, int by)
{
    const comm_view *c = s->comm_layout;
    size_t n = c->model->n_groups;
    if (n == 0) {
        return true;
    }
    size_t at = moved(place_in(c->sums->group_order, n, c->sums->group, SIZE_MAX), n, by);
    choose_group(v, c->sums->group_order[at]);
    v->comm.groups_scroll_px = scroll_to(s, &c->lists[1], at, v->comm.groups_scroll_px);
    return true;
}

static uint32_t stepped(uint32_t at, uint32_t n, int by)
{
    if (at == 0 || n == 0) {
        return n > 0 ? 1 : 0;
    }
    int64_t to = (int64_t)at + by;
    return to < 1 ? 1 : to > (int64_t)n ? n : (uint32_t)to;
}

static bool move_in_matrix(const scene *s, view *v, int rows, int columns)
{
    uint32_t n = s->comm_layout->matrix.n;
    v->comm.from = stepped(v->comm.from, n, rows);
    v->comm.to = stepped(v->comm.to, n, columns);
    return true;
}

/* ------------------------------------------------------------------ keys */

static int page_of(const scene *s, comm_pane pane)
{
    const list_place *l = &s->comm_layout->lists[pane == PANE_LIST ? 0 : 1];
    int rows = l->row_h > 0 ? (int)(l->r.h / l->row_h) - 1 : 1;
    return rows > 1 ? rows : 1;
}

static bool move(const scene *s, view *v, comm_key key)
{
    comm_pane pane = (comm_pane)v->comm.pane;
    bool sideways = key == COMM_LEFT || key == COMM_RIGHT;
    if (sideways && pane != PANE_MATRIX) {
        return false;
    }
    bool page = key == COMM_PAGE_UP || key == COMM_PAGE_DOWN;
    int by = key == COMM_UP || key == COMM_LEFT || key == COMM_PAGE_UP ? -1 : 1;
    if (pane == PANE_MATRIX) {
        by *= page ? 8 : 1;
        return move_in_matrix(s, v, sideways ? 0 : by, sideways ? by : 0);
    }
    by *= page ? page_of(s, pane) : 1;
    return pane == PANE_LIST ? move_in_list(s, v, by) : move_in_groups(s, v, by);
}

static void set_sort(view *v, uint8_t sort)
{
    v->comm.descending = sort != SORT_START && sort != SORT_OPERATION && sort != SORT_LAST;
    v->comm.sort = sort;
    v->comm.list_scroll_px = 0;
}

bool scene_comm_key(const scene *s, view *v, comm_key key)
{
    if (v->layout != LAYOUT_COMMUNICATION || !s->comm_layout || !s->comm_layout->sums) {
        return false;
    }
    switch (key) {
    case COMM_NEXT_PANE:
        v->comm.pane = (uint8_t)((v->comm.pane + 1) % COMM_PANES);
        return true;
    case COMM_NEXT_MEASURE:
        v->comm.measure = (uint8_t)((v->comm.measure + 1) % COMM_MEASURES);
        return true;
    case COMM_NEXT_SORT:
        set_sort(v, (uint8_t)((v->comm.sort + 1) % COMM_SORTS));
        return true;
    case COMM_REVERSE:
        v->comm.descending = !v->comm.descending;
        v->comm.list_scroll_px = 0;
        return true;
    case COMM_ONLY:
        v->comm.only_group = !v->comm.only_group;
        v->comm.from = v->comm.to = 0;
        return true;
    default:
        return move(s, v, key);
    }
}

/* ------------------------------------------------------------------ where things lead */

typedef struct wanted_event {
    int64_t start_ns, end_ns;
    uint64_t row;
} wanted_event;

static bool visit_wanted(void *ctx, const store_event_info *e)
{
    wanted_event *w = ctx;
    bool same = e->start_ns == w->start_ns && e->start_ns + e->dur_ns == w->end_ns;
    w->row = same ? e->row : w->row;
    return !same;
}

/* The row of an event in the file: communication is kept without. */
static uint64_t row_of_event(scene *s, const comm_event *e)
{
    if (e->lane >= s->model->n_lanes) {
        return UINT64_MAX;
    }
    const trace_lane *l = &s->model->lanes[e->lane];
    uint32_t *tracks = arena_alloc(&s->scratch, (l->n_tracks + 1) * sizeof *tracks);
    for (uint32_t i = 0; i < l->n_tracks; i++) {
        tracks[i] = l->first_track + i;
    }
    wanted_event w = {e->start_ns, e->end_ns, UINT64_MAX};
    query_row row = {tracks, l->n_tracks};
    (void)store_visit(s->file, &row, e->start_ns, e->start_ns + 1, visit_wanted, &w, NULL);
    return w.row;
}

/* The one that came last is selected: the others waited for it. */
static bool lead_to_operation(scene *s, uint32_t id, uint32_t event, comm_target *go)
{
    const comm_view *c = s->comm_layout;
    if (id >= c->model->n_operations) {
        return false;
    }
    const comm_operation *o = &c->model->operations[id];
    const comm_event *e = event == NO_ID ? comm_member(c->model, o, 0) : &c->model->g->data.comm[event];
    for (uint32_t i = 0; i < o->n && event == NO_ID; i++) {
        const comm_event *k = comm_member(c->model, o, i);
        e = k->rank == o->last_rank ? k : e;
    }
    double width = fmax((double)(o->end_ns - o->start_ns), 20);
    *go = (comm_target){row_of_event(s, e), moment_plus(moment_at(o->start_ns), -width),
                        moment_plus(moment_at(o->end_ns), width)};
    return true;
}

static bool lead_to_cell(scene *s, uint32_t from, uint32_t to, comm_target *go)
{
    const comm_view *c = s->comm_layout;
    const unit_link *k = unit_link_find(&c->matrix, from, to);
    uint32_t link = k ? k->link[unit_link_kind(k)] : NO_ID;
    if (link == NO_ID) {
        return false;
    }
    const comm_box *b = &c->sums->links[link].box[s->v.comm.measure];
    uint32_t item = b->n_kept > 0 ? c->sums->outliers[b->first].item : NO_ID;
    int64_t longest = -1;
    const comm_link *l = &c->model->links[link];
    for (uint32_t i = l->first; b->n_kept == 0 && i < l->first + l->n; i++) {
        const comm_operation *o = &c->model->operations[c->model->items[i].operation];
        bool counts = o->start_ns >= c->sums->query.t0_ns && o->start_ns < c->sums->query.t1_ns;
        if (counts && o->transfer_ns > longest) {
            longest = o->transfer_ns;
            item = i;
        }
    }
    if (item == NO_ID) {
        return false;
    }
    return lead_to_operation(s, c->model->items[item].operation, c->model->items[item].event, go);
}

bool scene_comm_open(scene *s, const view *v, comm_target *go)
{
    if (v->layout != LAYOUT_COMMUNICATION || !s->comm_layout || !s->comm_layout->sums) {
        return false;
    }
    if (v->comm.pane == PANE_MATRIX) {
        return v->comm.from > 0 && v->comm.to > 0 && lead_to_cell(s, v->comm.from - 1, v->comm.to - 1, go);
    }
    return v->comm.operation > 0 && lead_to_operation(s, v->comm.operation - 1, NO_ID, go);
}

/* A rank's busiest communicator is not asked for: a click on a device goes through its row of the matrix. */
static void choose_node(const scene *s, view *v, uint32_t node)
{
    const comm_view *c = s->comm_layout;
    if (node < c->graph.n) {
        uint32_t rank = c->graph.ranks[c->graph.items[node].first];
        uint32_t at = c->matrix.made ? c->matrix.of_rank[rank] : NO_ID;
        v->comm.from = at == NO_ID ? 0 : at + 1;
        v->comm.to = at == NO_ID ? 0 : at + 1;
        v->comm.pane = PANE_MATRIX;
    }
}

static bool click_item(scene *s, view *v, const comm_hit *hit, comm_target *go)
{
    const comm_view *c = s->comm_layout;
    if (hit->kind == HIT_OPERATION) {
        v->comm.pane = PANE_LIST;
        v->comm.operation = hit->a + 1;
        return lead_to_operation(s, hit->a, NO_ID, go);
    }
    if (hit->a >= c->model->n_items) {
        return false;
    }
    const comm_item *item = &c->model->items[hit->a];
    v->comm.operation = item->operation + 1;
    return lead_to_operation(s, item->operation, item->event, go);
}

bool scene_comm_click(scene *s, view *v, const comm_hit *hit, comm_target *go)
{
    if (!s->comm_layout || !s->comm_layout->sums) {
        return false;
    }
    switch (hit->kind) {
    case HIT_GROUP:
        choose_group(v, hit->a);
        v->comm.pane = PANE_GROUPS;
        return false;
    case HIT_SORT:
        if (v->comm.sort == hit->a) {
            (void)scene_comm_key(s, v, COMM_REVERSE);
        } else {
            set_sort(v, (uint8_t)hit->a);
        }
        return false;
    case HIT_MEASURE:
        v->comm.measure = (uint8_t)(hit->a % COMM_MEASURES);
        return false;
    case HIT_ONLY:
        if (v->comm.only_group != (hit->a != 0)) {
            (void)scene_comm_key(s, v, COMM_ONLY);
        }
        return false;
    case HIT_NODE:
        choose_node(s, v, hit->a);
        return false;
    case HIT_CELL:
        v->comm.from = hit->a + 1;
        v->comm.to = hit->b + 1;
        v->comm.pane = PANE_MATRIX;
        return false;
    case HIT_OPERATION:
    case HIT_OUTLIER:
        return click_item(s, v, hit, go);
    case HIT_LIST:
        v->comm.pane = (uint8_t)(hit->a % COMM_PANES);
        return false;
    default:
        return false;
    }
}

bool scene_comm_scroll(const scene *s, view *v, double x, double y, double by_px)
{
    const comm_view *c = s->comm_layout;
    if (v->layout != LAYOUT_COMMUNICATION || !c || !c->sums) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        const list_place *l = &c->lists[i];
        if (inside(l->r, x, y)) {
            double *scroll = i == 0 ? &v->comm.list_scroll_px : &v->comm.groups_scroll_px;
            double most = ((double)l->row_h * (double)l->n - (double)l->r.h) / (double)s->m.s;
            *scroll = fmin(fmax(*scroll + by_px, 0), fmax(most, 0));
            return true;
        }
    }
    return false;
}
