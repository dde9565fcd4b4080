/* The communicators, and the operations of the chosen one: who came when, how long data moved, how long who waited. */
#include <stdlib.h>
#include <string.h>

#include "scene/comm_view.h"

static rect list_clip(const scene *s, const table_place *t)
{
    return (rect){t->rows.x - px(s, 5), t->rows.y, t->rows.w + px(s, 5), t->rows.h};
}

static void remember_list(scene *s, comm_pane pane, const table_place *t, size_t n)
{
    s->comm_layout->lists[pane == PANE_LIST ? 0 : 1] = (list_place){t->rows, t->row_h, n};
    comm_area_add(s, t->rows, (comm_hit){HIT_LIST, pane, 0});
}

static void add_row_area(scene *s, const table_place *t, size_t row, comm_hit hit)
{
    rect r = table_cell(t, row, 0);
    float y0 = fmaxf(r.y, t->rows.y);
    float y1 = fminf(r.y + r.h, t->rows.y + t->rows.h);
    if (y1 > y0) {
        comm_area_add(s, (rect){t->rows.x, y0, t->rows.w, y1 - y0}, hit);
    }
}

/* ------------------------------------------------------------------ communicators */

enum { G_NAME, G_RANKS, G_COUNT, G_BYTES, G_TRANSFER, G_WAIT, G_BUS, G_COLUMNS };

static const table_column group_columns[G_COLUMNS] = {
    {"communicator", 0, TEXT_LEFT, -1}, {"ranks", 48, TEXT_RIGHT, -1},    {"count", 64, TEXT_RIGHT, -1},
    {"bytes", 78, TEXT_RIGHT, -1},      {"transfer", 76, TEXT_RIGHT, -1}, {"wait", 76, TEXT_RIGHT, -1},
    {"bus", 80, TEXT_RIGHT, -1},
};

/* Many share a description: their ranks tell them apart. */
static void draw_group_name(scene *s, const table_place *t, size_t row, uint32_t id, rgba tone)
{
    const comm_view *c = s->comm_layout;
    char name[128];
    char ranks[64];
    comm_group_name(c->model, id, name, sizeof name);
    comm_group_ranks(c->model, id, ranks, sizeof ranks);
    rect r = table_cell(t, row, G_NAME);
    float w = fminf(width_of(s, FACE_SANS, 11.5, ranks) + px(s, 16), r.w * 0.4F);
    w = ranks[0] ? w : px(s, 10);
    rect left = {r.x, r.y, r.w - w, r.h};
    rect right = {r.x + r.w - w, r.y, w - px(s, 6), r.h};
    size_t n = strlen(name);
    size_t tail = strlen("_GROUP");
    if (n > tail && strcmp(name + n - tail, "_GROUP") == 0 && width_of(s, FACE_SANS, 11.5, name) > left.w) {
        name[n - tail] = '\0'; /* says the least */
    }
    if (text_fits_in(s, r, t->rows)) {
        (void)put_text_start(s, LAYER_MARKS, FACE_SANS, 11.5, left, TEXT_LEFT, tone, name);
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11.5, right, TEXT_RIGHT, s->t->dim, ranks);
    }
}

static void draw_group_row(scene *s, const table_place *t, size_t row)
{
    const comm_view *c = s->comm_layout;
    uint32_t id = c->sums->group_order[row];
    const comm_group_sum *g = &c->sums->groups[id];
    char text[128];
    rgba tone = g->n > 0 ? s->t->text : s->t->faint;
    bool focused = s->v.comm.pane == PANE_GROUPS;
    table_row_ground(s, t, row, id == c->sums->group, comm_is_hovered(s, HIT_GROUP, id), focused);
    draw_group_name(s, t, row, id, tone);
    count_format(c->model->groups[id].n_ranks, text, sizeof text);
    table_text(s, t, row, G_RANKS, TEXT_RIGHT, s->t->dim, text);
    count_format_short(g->n, text, sizeof text);
    table_text(s, t, row, G_COUNT, TEXT_RIGHT, s->t->dim, text);
    bytes_text(g->bytes > 0 ? g->bytes : -1, text, sizeof text);
    table_text(s, t, row, G_BYTES, TEXT_RIGHT, s->t->dim, text);
    time_format(g->transfer_ns, text, sizeof text);
    table_text(s, t, row, G_TRANSFER, TEXT_RIGHT, tone, text);
    time_format(g->wait_ns, text, sizeof text);
    table_text(s, t, row, G_WAIT, TEXT_RIGHT, tone, text);
    bandwidth_text(g->bus, text, sizeof text);
    table_text(s, t, row, G_BUS, TEXT_RIGHT, s->t->dim, text);
    add_row_area(s, t, row, (comm_hit){HIT_GROUP, id, 0});
}

/* What names and ranks of the first communicators take, up to a limit. Design px. */
static double names_need(scene *s)
{
    enum { LOOK_AT = 64 };
    const comm_view *c = s->comm_layout;
    double most = 0;
    for (size_t i = 0; i < c->model->n_groups && i < LOOK_AT; i++) {
        char name[128];
        char ranks[64];
        comm_group_name(c->model, c->sums->group_order[i], name, sizeof name);
        comm_group_ranks(c->model, c->sums->group_order[i], ranks, sizeof ranks);
        float w = width_of(s, FACE_SANS, 11.5, name) + width_of(s, FACE_SANS, 11.5, ranks);
        most = fmax(most, (double)(w / s->m.s) + 26);
    }
    return fmin(fmax(most, 130), 190);
}

/* A narrow panel keeps the numbers that decide: names take what is left. */
static size_t fitting_columns(scene *s, float w, table_column *columns)
{
    memcpy(columns, group_columns, sizeof group_columns);
    static const int drop[] = {G_BUS, G_COUNT, G_BYTES, G_RANKS};
    double need = names_need(s);
    for (size_t i = 1; i < G_COLUMNS; i++) {
        need += columns[i].width_dp;
    }
    for (size_t i = 0; i < sizeof drop / sizeof *drop && px(s, need) > w; i++) {
        need -= columns[drop[i]].width_dp;
        columns[drop[i]].width_dp = 0.01; /* no room: its texts are not put */
        columns[drop[i]].title = "";
    }
    return G_COLUMNS;
}

/* While nobody has chosen one, the one that is listed is in sight. Design px. */
static double groups_scroll(scene *s, rect body, const table_column *columns, size_t n)
{
    const comm_view *c = s->comm_layout;
    table_place t = table_begin(s, body, columns, n, c->model->n_groups, s->v.comm.groups_scroll_px);
    size_t at = 0;
    while (at < c->model->n_groups && c->sums->group_order[at] != c->sums->group) {
        at++;
    }
    bool in_sight = at + 1 < t.end || at >= c->model->n_groups;
    if (s->v.comm.group > 0 || s->v.comm.groups_scroll_px > 0 || in_sight) {
        return s->v.comm.groups_scroll_px;
    }
    return ((double)at - 2) * (double)(t.row_h / s->m.s);
}

void comm_groups_draw(scene *s, rect r)
{
    const comm_view *c = s->comm_layout;
    char remark[96];
    (void)snprintf(remark, sizeof remark, "%zu, most rank time first", c->model->n_groups);
    rect body = comm_heading(s, r, "Communicators", remark);
    table_column columns[G_COLUMNS];
    size_t n = fitting_columns(s, r.w, columns);
    table_place t = table_begin(s, body, columns, n, c->model->n_groups, groups_scroll(s, body, columns, n));
    remember_list(s, PANE_GROUPS, &t, c->model->n_groups);
    draw_push_clip(s->l, list_clip(s, &t));
    for (size_t i = t.first; i < t.end; i++) {
        draw_group_row(s, &t, i);
    }
    draw_pop_clip(s->l);
}

/* ------------------------------------------------------------------ operations */

enum {
    O_START,
    O_STEP,
    O_WHAT,
    O_BYTES,
    O_TRANSFER,
    O_WAIT,
    O_SKEW,
    O_SPREAD,
    O_ALGORITHM,
    O_BUS,
    O_LAST,
    O_CHART,
    O_COLUMNS
};

static const table_column operation_columns[O_COLUMNS] = {
    {"start", 104, TEXT_RIGHT, SORT_START},         {"step", 52, TEXT_RIGHT, -1},
    {"operation", 112, TEXT_LEFT, SORT_OPERATION},  {"bytes", 82, TEXT_RIGHT, SORT_BYTES},
    {"transfer", 84, TEXT_RIGHT, SORT_TRANSFER},    {"wait, all ranks", 108, TEXT_RIGHT, SORT_WAIT},
    {"start skew", 86, TEXT_RIGHT, SORT_SKEW},      {"end spread", 86, TEXT_RIGHT, SORT_SPREAD},
    {"algorithm", 86, TEXT_RIGHT, SORT_ALGORITHM},  {"bus", 82, TEXT_RIGHT, SORT_BUS},
    {"last to arrive", 108, TEXT_RIGHT, SORT_LAST}, {"arrivals", 0, TEXT_LEFT, -1},
};

static void operation_times(scene *s, const table_place *t, size_t row, const comm_operation *o)
{
    char text[64];
    const struct {
        int column;
        int64_t ns;
    } times[] = {{O_TRANSFER, o->transfer_ns}, {O_WAIT, o->wait_ns}, {O_SKEW, o->skew_ns}, {O_SPREAD, o->spread_ns}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (o->transfer_ns < 0) {
            (void)snprintf(text, sizeof text, i == 0 ? "unmatched" : "\xE2\x80\x93");
        } else {
            time_format(times[i].ns, text, sizeof text);
        }
        table_text(s, t, row, (size_t)times[i].column, TEXT_RIGHT, i < 2 ? s->t->text : s->t->dim, text);
    }
    bandwidth_text(comm_algorithm_bandwidth(o), text, sizeof text);
    table_text(s, t, row, O_ALGORITHM, TEXT_RIGHT, s->t->dim, text);
    bandwidth_text(comm_bus_bandwidth(o), text, sizeof text);
    table_text(s, t, row, O_BUS, TEXT_RIGHT, s->t->dim, text);
}

static void operation_texts(scene *s, const table_place *t, size_t row, const comm_operation *o)
{
    const comm_view *c = s->comm_layout;
    char text[128];
    moment_label(moment_at(o->start_ns), (double)o->start_ns, 1000, text, sizeof text);
    table_text(s, t, row, O_START, TEXT_RIGHT, s->t->dim, text);
    if (o->step != NO_STEP && c->model->g->data.has_steps) {
        (void)snprintf(text, sizeof text, "%lld", (long long)c->model->g->data.step_index[o->step]);
        table_text(s, t, row, O_STEP, TEXT_RIGHT, s->t->dim, text);
    }
    if (o->op == OP_SEND) {
        const trace_rank *from = &s->model->ranks[comm_member(c->model, o, 0)->rank];
        const trace_rank *to = &s->model->ranks[comm_member(c->model, o, 1)->rank];
        (void)snprintf(text, sizeof text, "send %lld \xE2\x86\x92 %lld", (long long)from->rank, (long long)to->rank);
    } else {
        (void)snprintf(text, sizeof text, "%s", comm_op_name((comm_op)o->op));
    }
    table_text(s, t, row, O_WHAT, TEXT_LEFT, s->t->text, text);
    bytes_text((double)o->bytes, text, sizeof text);
    table_text(s, t, row, O_BYTES, TEXT_RIGHT, s->t->dim, text);
    operation_times(s, t, row, o);
    if (o->n > 1 && o->skew_ns > 0) {
        table_text(s, t, row, O_LAST, TEXT_RIGHT, s->t->text, s->model->ranks[o->last_rank].label);
    }
}

/* One pixel column each: waiting is pale, the transfer at its end is full. */
static void draw_extent(scene *s, rect bar, const comm_operation *o, double px_per_ns, uint8_t klass)
{
    size_t n = (size_t)fmax(1, round((double)(o->end_ns - o->start_ns) * px_per_ns));
    n = n < (size_t)bar.w ? n : (size_t)bar.w;
    size_t full = o->transfer_ns < 0 ? 0 : (size_t)fmax(1, round((double)o->transfer_ns * px_per_ns));
    draw_cell *cells = draw_add_strip(s->l, LAYER_DATA, bar, n, false);
    for (size_t i = 0; i < n; i++) {
        cells[i] = (draw_cell){klass, 255, 0, i + full >= n ? 255 : 107};
    }
}

/* When each rank came: a tick each while they are few, else a column's height tells how many. */
static void draw_arrivals(scene *s, rect r, const comm_operation *o, double px_per_ns)
{
    const comm_view *c = s->comm_layout;
    enum { TICKS = 16 };
    size_t width = (size_t)r.w;
    if (width == 0) {
        return;
    }
    uint16_t *count = arena_alloc(&s->scratch, width * sizeof *count);
    memset(count, 0, width * sizeof *count);
    uint16_t most = 1;
    for (uint32_t i = 0; i < o->n; i++) {
        double x = (double)(comm_member(c->model, o, i)->start_ns - o->start_ns) * px_per_ns;
        size_t at = x < (double)(width - 1) ? (size_t)fmax(x, 0) : width - 1;
        count[at] = (uint16_t)(count[at] + (count[at] < UINT16_MAX));
        most = count[at] > most ? count[at] : most;
    }
    if (o->n <= TICKS) {
        for (size_t i = 0; i < width; i++) {
            if (count[i]) {
                draw_vline(s->l, LAYER_MARKS, r.x + (float)i, r.y, r.y + r.h, s->t->text);
            }
        }
        return;
    }
    draw_cell *cells = draw_add_strip(s->l, LAYER_DATA, r, width, false);
    for (size_t i = 0; i < width; i++) {
        if (count[i]) {
            cells[i] = (draw_cell){CLASS_OTHER, (uint8_t)fmax(40, 255.0 * count[i] / most), 0, 255};
        }
    }
}

static void draw_chart(scene *s, const table_place *t, size_t row, const comm_operation *o, double px_per_ns)
{
    rect r = table_cell(t, row, O_CHART);
    if (r.w < px(s, 24)) {
        return;
    }
    rect ticks = {r.x, r.y + px(s, 3), floorf(r.w), px(s, 8)};
    rect bar = {r.x, r.y + px(s, 13), floorf(r.w), px(s, 5)};
    draw_extent(s, bar, o, px_per_ns, o->op == OP_SEND ? CLASS_SEND : CLASS_COLLECTIVE);
    if (o->n > 1) {
        draw_arrivals(s, ticks, o, px_per_ns);
    }
}

/* One scale for all rows that are seen, so that they can be compared. */
static int64_t widest_extent(const comm_view *c, const table_place *t)
{
    int64_t most = 1;
    for (size_t i = t->first; i < t->end; i++) {
        const comm_operation *o = &c->model->operations[c->sums->order[i]];
        most = o->end_ns - o->start_ns > most ? o->end_ns - o->start_ns : most;
    }
    return most;
}

static void draw_operation_row(scene *s, const table_place *t, size_t row, double px_per_ns)
{
    const comm_view *c = s->comm_layout;
    uint32_t id = c->sums->order[row];
    const comm_operation *o = &c->model->operations[id];
    bool chosen = s->v.comm.operation == id + 1;
    bool focused = s->v.comm.pane == PANE_LIST;
    table_row_ground(s, t, row, chosen, comm_is_hovered(s, HIT_OPERATION, id), focused);
    if (id == c->selected_operation) {
        rect r = table_cell(t, row, 0);
        draw_rect(s->l, LAYER_MARKS, (rect){r.x - px(s, 4), r.y + px(s, 3), px(s, 2), r.h - px(s, 6)}, s->t->selection);
    }
    operation_texts(s, t, row, o);
    draw_chart(s, t, row, o, px_per_ns);
    add_row_area(s, t, row, (comm_hit){HIT_OPERATION, id, 0});
}

static void list_title(const scene *s, char *title, size_t title_cap, char *remark, size_t cap)
{
    const comm_view *c = s->comm_layout;
    const comm_sums *r = c->sums;
    char count[32];
    comm_group_name(c->model, r->group, title, title_cap);
    count_format(r->n_order, count, sizeof count);
    (void)snprintf(remark, cap, "%s operation%s of %u ranks \xC2\xB7 Enter or a click: see it in the Marey view", count,
                   r->n_order == 1 ? "" : "s", c->model->groups[r->group].n_ranks);
}

void comm_list_draw(scene *s, rect r)
{
    const comm_view *c = s->comm_layout;
    char title[128];
    char remark[192];
    list_title(s, title, sizeof title, remark, sizeof remark);
    rect body = comm_heading(s, r, title, remark);
    size_t n = c->sums->n_order;
    table_column columns[O_COLUMNS];
    memcpy(columns, operation_columns, sizeof columns);
    table_place t = table_begin(s, body, columns, O_COLUMNS, n, s->v.comm.list_scroll_px);
    double scale = fmax((double)t.columns[O_CHART].w - 1, 1) / (double)widest_extent(c, &t);
    remember_list(s, PANE_LIST, &t, n);
    rect chart = t.columns[O_CHART];
    if (n > 0 && chart.w > px(s, 200)) {
        char text[64];
        char width[48];
        time_format(widest_extent(c, &t), width, sizeof width);
        (void)snprintf(text, sizeof text, "all %s wide", width);
        rect head = {chart.x, t.head.y, chart.w - px(s, 10), t.head.h};
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11, head, TEXT_RIGHT, s->t->dim, text);
    }
    draw_push_clip(s->l, list_clip(s, &t));
    for (size_t i = t.first; i < t.end; i++) {
        draw_operation_row(s, &t, i, scale);
    }
    draw_pop_clip(s->l);
    if (n == 0) {
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 12, t.rows, TEXT_CENTRE, s->t->dim,
                       "It does nothing in the time that is shown.");
    }
}
