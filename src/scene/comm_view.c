/* One frame of the communication layout. */
#include "scene/comm_view.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ small things */

rgba mix_colours(rgba a, rgba b, double part)
{
    double p = fmin(fmax(part, 0), 1);
    return (rgba){(uint8_t)lround(a.r + p * (b.r - a.r)), (uint8_t)lround(a.g + p * (b.g - a.g)),
                  (uint8_t)lround(a.b + p * (b.b - a.b)), 255};
}

rgba link_colour(const scene *s, link_kind kind)
{
    return s->t->data[kind == LINK_P2P ? CLASS_SEND : CLASS_COLLECTIVE];
}

void comm_area_add(scene *s, rect r, comm_hit hit)
{
    comm_view *c = s->comm_layout;
    VEC_PUSH(c->areas, c->n_areas, c->cap_areas, ((comm_area){r, hit}));
}

bool comm_is_hovered(const scene *s, comm_hit_kind kind, uint32_t a)
{
    const comm_hit *h = &s->comm_layout->hover;
    return h->kind == kind && h->a == a;
}

rect comm_heading(scene *s, rect r, const char *title, const char *remark)
{
    rect line = {r.x, r.y, r.w, px(s, 24)};
    float w = put_text(s, LAYER_MARKS, FACE_SANS_MEDIUM, 12.5, line, TEXT_LEFT, s->t->text, title);
    rect rest = {r.x + w + px(s, 10), r.y, r.w - w - px(s, 10), line.h};
    if (width_of(s, FACE_SANS, 11.5, remark) <= rest.w) {
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11.5, rest, TEXT_LEFT, s->t->dim, remark);
    }
    return (rect){r.x, r.y + line.h, r.w, fmaxf(r.h - line.h, 0)};
}

/* ------------------------------------------------------------------ quantities */

static void unknown(char *out, size_t cap)
{
    (void)snprintf(out, cap, "\xE2\x80\x93");
}

void bandwidth_text(double v, char *out, size_t cap)
{
    static const char *const units[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
    if (!(v > 0)) {
        unknown(out, cap);
        return;
    }
    int k = 0;
    while (v >= 999.5 && k < 4) {
        v /= 1000;
        k++;
    }
    (void)snprintf(out, cap, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[k]);
}

void bytes_text(double bytes, char *out, size_t cap)
{
    if (!(bytes >= 0)) {
        unknown(out, cap);
    } else {
        bytes_format((uint64_t)(bytes + 0.5), out, cap);
    }
}

void measure_text(comm_measure m, double value, char *out, size_t cap)
{
    if (m == COMM_TIME) {
        time_format((int64_t)(value + 0.5), out, cap);
    } else if (m == COMM_BYTES) {
        bytes_text(value > 0 ? value : -1, out, cap); /* unknown sizes add up to 0 */
    } else {
        bandwidth_text(value, out, cap);
    }
}

const char *measure_name(comm_measure m)
{
    static const char *const names[] = {"transfer time", "bytes", "bandwidth"};
    return names[m];
}

/* ------------------------------------------------------------------ the frame */

/* Which operation holds the selected event: the events of a rank in one lane don't overlap. */
static uint32_t find_selected_operation(scene *s, const comm_view *c)
{
    if (!s->has_selected || s->selected.track >= s->model->n_tracks) {
        return NO_ID;
    }
    uint32_t lane = s->model->tracks[s->selected.track].lane;
    uint32_t rank = s->model->lanes[lane].rank;
    for (size_t i = 0; i < c->sums->n_order; i++) {
        const comm_operation *o = &c->model->operations[c->sums->order[i]];
        bool may = s->selected.start_ns >= o->start_ns && s->selected.start_ns <= o->start_ns + o->skew_ns;
        for (uint32_t k = 0; may && k < o->n; k++) {
            const comm_event *e = comm_member(c->model, o, k);
            if (e->rank == rank && e->lane == lane && e->start_ns == s->selected.start_ns) {
                return c->sums->order[i];
            }
        }
    }
    return NO_ID;
}

static uint32_t group_of_model(const comm_model *m, uint32_t id)
{
    for (uint32_t i = 0; id != NO_ID && i < m->n_groups; i++) {
        if (m->groups[i].id == id) {
            return i;
        }
    }
    return COMM_BUSIEST;
}

static uint32_t group_of_link(const comm_model *m, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < m->n_links; i++) {
        const comm_link *k = &m->links[i];
        bool either = (k->from == from && k->to == to) || (k->from == to && k->to == from);
        if (either && k->n > 0) {
            return m->operations[m->items[k->first].operation].group;
        }
    }
    return COMM_BUSIEST;
}

/* While none is chosen here: that of the event that is selected, or of the link that a finding names. */
static uint32_t wanted_group(scene *s, const comm_view *c)
{
    const view_comm *v = &s->v.comm;
    if (v->group > 0) {
        return v->group - 1;
    }
    uint32_t found = COMM_BUSIEST;
    if (c->model && s->has_selected) {
        bool pending = false;
        found = group_of_model(c->model, communicator_of(s, s->selected.row, &pending));
    }
    if (c->model && found == COMM_BUSIEST && v->hint[0] > 0 && v->hint[1] > 0) {
        found = group_of_link(c->model, v->hint[0] - 1, v->hint[1] - 1);
    }
    return found;
}

/* A diagnosis that is there, or on its way, is not worked out twice. */
static bool has_work(scene *s, comm_view *c)
{
    const diagnosis *g = s->in.diagnosis ? s->in.diagnosis : scene_diagnosis(s);
    if (!c->work && (g || !s->in.diagnosis_is_due)) {
        c->work = comm_work_create(s->file, g);
        comm_work_set_wake(c->work, s->wake, s->wake_ctx);
    }
    return c->work != NULL;
}

void comm_prepare(scene *s)
{
    if (!s->comm_layout) {
        s->comm_layout = mem_calloc(1, sizeof *s->comm_layout);
    }
    comm_view *c = s->comm_layout;
    s->frame.plot = s->frame.labels = (rect){0, 0, 0, 0}; /* nothing to pan or to scroll as rows */
    if (!has_work(s, c)) {
        s->frame.complete = false;
        s->src.n_wanted++;
        return;
    }
    comm_query q = {.t0_ns = moment_floor(s->v.t0),
                    .t1_ns = moment_ceil(s->v.t1),
                    .group = wanted_group(s, c),
                    .only_group = s->v.comm.only_group,
                    .sort = s->v.comm.sort,
                    .descending = s->v.comm.descending};
    bool is_due;
    c->sums = comm_work_ask(c->work, &q, &c->model, &is_due);
    if (is_due) {
        s->frame.complete = false;
        s->src.n_wanted++;
    }
    c->selected_operation = c->sums ? find_selected_operation(s, c) : NO_ID;
}

enum { LIST_HEAD_DP = 66, LIST_ROW_DP = 22 };

typedef struct comm_panels {
    rect graph, matrix, groups, list;
} comm_panels;

/* A narrow or low window keeps the list and the matrix. */
static comm_panels place_panels(const scene *s)
{
    float gap = px(s, 24);
    float top = s->m.axis.y + px(s, 2);
    float right_edge = s->m.plot.x + s->m.plot.w; /* panels may stand beside and below */
    float bottom = s->m.plot.y + s->m.plot.h;
    rect all = {s->m.pad, top, right_edge - s->m.pad, bottom - top - px(s, 4)};
    float upper = floorf(all.h * 0.56F);
    /* Few operations leave the room to what is above them. */
    float list = px(s, LIST_HEAD_DP) + px(s, LIST_ROW_DP) * (float)fmax(2, (double)s->comm_layout->sums->n_order);
    bool are_many = s->model->n_ranks > 8; /* few devices need no more */
    upper = are_many ? fmaxf(upper, fminf(all.h - list, floorf(all.h * 0.84F))) : upper;
    bool wide = all.w >= px(s, 1100);
    comm_panels p = {0};
    float square = fminf(upper, floorf((all.w - 2 * gap) * (wide ? 0.33F : 0.5F)));
    float rest = all.w - square - gap;
    p.matrix = (rect){all.x + all.w - rest, all.y, square, upper};
    if (wide) {
        float width = floorf(fmaxf((all.w - square - 2 * gap) * 0.46F, 0));
        p.graph = (rect){all.x, all.y, width, upper};
        p.matrix.x = all.x + width + gap;
    } else {
        p.matrix.x = all.x;
    }
    float right = p.matrix.x + square + gap;
    p.groups = (rect){right, all.y, all.x + all.w - right, upper};
    p.list = (rect){all.x, all.y + upper + px(s, 12), all.w, all.h - upper - px(s, 12)};
    return p;
}

static void draw_message(scene *s, const char *text)
{
    rect r = {0, s->m.axis.y, s->m.plot.x + s->m.plot.w, s->m.plot.y + s->m.plot.h - s->m.axis.y};
    (void)put_text(s, LAYER_MARKS, FACE_SANS, 13, r, TEXT_CENTRE, s->t->dim, text);
}

static void update_hover(scene *s, comm_view *c)
{
    scene_pick p = comm_pick(s, s->in.cursor_x, s->in.cursor_y, (scene_pick){0});
    c->hover = s->v.show_help || s->in.cursor_x < 0 ? (comm_hit){0} : p.comm;
}

/* A rule between the parts, so that no frame is needed around them. */
static void draw_rules(scene *s, const comm_panels *p)
{
    float y = p->list.y - px(s, 7);
    draw_hline(s->l, LAYER_GROUND, p->list.x, p->list.x + p->list.w, y, s->t->line);
}

void comm_draw(scene *s)
{
    comm_view *c = s->comm_layout;
    update_hover(s, c); /* by where things lay in the last frame */
    c->matrix_at.n = 0;
    if (!c->sums) {
        const char *error = c->work ? comm_work_error(c->work) : NULL;
        c->n_areas = 0;
        draw_message(s, error ? error : "Matching communication across ranks\xE2\x80\xA6");
        return;
    }
    c->n_areas = 0;
    if (c->model->n_operations == 0) {
        draw_message(s, "No communication is recorded in this run.");
        return;
    }
    comm_panels p = place_panels(s);
    if (p.list.w < px(s, 120) || p.list.h < px(s, 40)) {
        return; /* no room for anything */
    }
    draw_rules(s, &p);
    if (p.graph.w > 0) {
        comm_graph_draw(s, p.graph);
    }
    comm_matrix_draw(s, p.matrix);
    comm_groups_draw(s, p.groups);
    comm_list_draw(s, p.list);
    comm_tip_draw(s);
}

scene_pick comm_pick(const scene *s, double x, double y, scene_pick p)
{
    const comm_view *c = s->comm_layout;
    p.comm = (comm_hit){0};
    for (size_t i = c ? c->n_areas : 0; i-- > 0;) { /* the last drawn lies on top */
        if (inside(c->areas[i].r, x, y)) {
            p.comm = c->areas[i].hit;
            break;
        }
    }
    const matrix_place *m = c ? &c->matrix_at : NULL;
    if (p.comm.kind == HIT_NONE && m && m->n > 0 && inside(m->r, x, y)) {
        uint32_t row = (uint32_t)((y - (double)m->r.y) / (double)m->cell);
        uint32_t column = (uint32_t)((x - (double)m->r.x) / (double)m->cell);
        if (row < m->n && column < m->n) {
            p.comm = (comm_hit){HIT_CELL, row, column};
        }
    }
    p.kind = p.comm.kind == HIT_NONE ? PICK_NONE : PICK_COMM;
    return p;
}

void comm_status(const scene *s, char *out, size_t cap)
{
    const comm_view *c = s->comm_layout;
    out[0] = '\0';
    if (!c || !c->sums) {
        return;
    }
    const comm_sums *r = c->sums;
    char collectives[32];
    char transfers[32];
    char unmatched[32];
    uint64_t unpaired = c->model->g->n_unpaired;
    count_format(r->n - r->n_p2p, collectives, sizeof collectives);
    count_format(r->n_p2p, transfers, sizeof transfers);
    count_format(r->n_unmatched, unmatched, sizeof unmatched);
    int n =
        snprintf(out, cap, "%s collectives (%s unmatched) \xC2\xB7 %s transfers", collectives, unmatched, transfers);
    char text[32];
    if (unpaired > 0 && n > 0 && (size_t)n < cap) {
        count_format(unpaired, text, sizeof text);
        n += snprintf(out + n, cap - (size_t)n, " (%s sends or receives without partner in the run)", text);
    }
    if (c->model->n_links_left_out > 0 && n > 0 && (size_t)n < cap) {
        count_format(c->model->n_links_left_out, text, sizeof text);
        (void)snprintf(out + n, cap - (size_t)n, " \xC2\xB7 %s hops of too many links left out", text);
    }
}

void comm_view_free(comm_view **pc)
{
    comm_view *c = *pc;
    if (c) {
        comm_work_destroy(&c->work);
        units_free(&c->graph);
        units_free(&c->matrix);
        free(c->areas);
        free(c);
        *pc = NULL;
    }
}

void scene_set_wake(scene *s, void (*wake)(void *ctx), void *ctx)
{
    s->wake = wake;
    s->wake_ctx = ctx;
    if (s->comm_layout && s->comm_layout->work) {
        comm_work_set_wake(s->comm_layout->work, wake, ctx);
    }
    heat_set_wake(s);
    lines_set_wake(s);
}

bool scene_settle(scene *s)
{
    bool was = s->comm_layout && s->comm_layout->work && comm_work_settle(s->comm_layout->work);
    was = lines_settle(s) || was;
    was = graph_settle(s) || was;
    return heat_settle(s) || was;
}
