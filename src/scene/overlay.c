#include "scene/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "scene/steps.h"

enum { MAX_INSTANCES = 120000, OUTER_ALPHA = 102, INNER_ALPHA = 242 };
static const double SEEN_PX = 3;       /* operators below are left to the phases */
static const double LANE_ROW_DP = 14;  /* lower rows have no room for a lane */
static const double LANE_SHARE = 0.24; /* of the row */

static bool is_on(const scene *s)
{
    return s->v.layout == LAYOUT_MAREY && s->v.steps_mode == STEPS_OVERLAID && s->steps->n > 1 &&
           s->v.step < s->steps->n;
}

float overlay_lane(const scene *s, const scene_row *row)
{
    if (row->kind != ROW_RANK || row->h < LANE_ROW_DP * (double)s->m.s || !is_on(s)) {
        return 0;
    }
    return snap(row->h * LANE_SHARE);
}

static rect lane_rect(const scene *s, const scene_row *row)
{
    float h = overlay_lane(s, row);
    rect strip = row_strip_rect(s, row);
    return (rect){strip.x, strip.y - h, strip.w, h - 1};
}

/* ------------------------------------------------------------------ gathering */

typedef struct gather {
    scene *s;
    overlay_view *v;
    uint32_t ordinal, rank, place;
    int64_t shift_ns; /* of the step against the chosen one */
    double least_ns;
    bool only_collectives;
} gather;

/* The same name and occurrence in another step is the same instance. */
static bool take(void *ctx, const ev *e)
{
    gather *k = ctx;
    bool wanted = e->klass < CLASS_COUNT && (double)(e->end_ns - e->start_ns) >= k->least_ns &&
                  (!k->only_collectives || e->klass == CLASS_COLLECTIVE);
    if (!wanted) {
        return true;
    }
    /* What begins in the step's margins belongs to its neighbours. */
    int32_t step = step_at(k->s, k->rank, e->start_ns);
    if (step < 0 || k->s->model->steps[step].index != k->s->steps->items[k->place].index) {
        return true;
    }
    instance i = {.row = k->ordinal, .e = *e};
    i.key = hash_u64(hash_u64(e->name + UINT64_C(0x100000001) * e->instance) ^ k->rank) | 1;
    i.e.start_ns -= k->shift_ns;
    i.e.end_ns -= k->shift_ns;
    i.e.instance = k->place;
    i.x0 = x_of(k->s, i.e.start_ns);
    i.x1 = x_of(k->s, i.e.end_ns);
    VEC_PUSH(k->v->list.items, k->v->list.n, k->v->list.cap, i);
    return k->v->list.n < MAX_INSTANCES;
}

static void gather_tracks(gather *k, uint32_t group, const uint32_t *tracks, uint32_t n)
{
    scene *s = k->s;
    if (group == NO_ID || n == 0) {
        return;
    }
    event_window w = window_between(moment_shift(s->v.t0, k->shift_ns), moment_shift(s->v.t1, k->shift_ns));
    block_span *span = span_between(s, group, w);
    s->frame.complete = s->frame.complete && span->n_missing == 0;
    visit_events(s, span, tracks, n, w, take, k);
}

static void gather_lane(gather *k, uint32_t lane, uint32_t group)
{
    if (lane != NO_ID) {
        const trace_lane *l = &k->s->model->lanes[lane];
        uint32_t *tracks = arena_alloc(&k->s->scratch, l->n_tracks * sizeof *tracks + 1);
        for (uint32_t i = 0; i < l->n_tracks; i++) {
            tracks[i] = l->first_track + i;
        }
        gather_tracks(k, group, tracks, l->n_tracks);
    }
}

static void gather_row(gather *k, const scene_row *row, marey_level level)
{
    scene *s = k->s;
    double seen = SEEN_PX * s->src.grid.step_ns;
    k->rank = row->rank;
    bool phases = level != MAREY_OPERATORS && s->phase_lane[row->rank] != NO_ID;
    if (phases) {
        k->least_ns = 0;
        k->only_collectives = false;
        gather_lane(k, s->phase_lane[row->rank], s->rank_phase_group[row->rank]);
    }
    if (k->v->has_operators) {
        k->least_ns = seen;
        k->only_collectives = phases;
        uint32_t first = s->rank_first_track[row->rank];
        gather_tracks(k, s->rank_events_group[row->rank], s->device_tracks + first,
                      s->rank_first_track[row->rank + 1] - first);
    }
}

/* The events of all steps' windows are few enough to be looked at. */
static bool are_few(const scene *s, const overlay_view *v)
{
    double n = 0;
    for (size_t p = v->first; p < v->end; p++) {
        int64_t shift = s->steps->items[p].start_ns - s->steps->items[s->v.step].start_ns;
        event_window w = window_between(moment_shift(s->v.t0, shift), moment_shift(s->v.t1, shift));
        for (uint32_t g = 0; g < store_n_groups(s->file); g++) {
            store_group_info info = store_group_at(s->file, g);
            uint32_t first = 0;
            uint32_t count = 0;
            if (info.kind == GROUP_EVENTS) {
                store_blocks_in(s->file, g, w.floor_ns, w.end_ns, &first, &count);
                n += (double)count * BLOCK_EVENTS;
            }
        }
    }
    return n <= 4 * s->event_budget;
}

/* ------------------------------------------------------------------ when it has to be made anew */

static uint64_t stamp_of(const scene *s, marey_level level)
{
    struct {
        moment t0, t1;
        double x, w;
        uint64_t step, level, first, end;
    } k = {s->v.t0,   s->v.t1,         (double)s->m.plot.x, (double)s->m.plot.w,
           s->v.step, (uint64_t)level, s->first_visible,    s->end_visible};
    uint64_t h = hash_bytes(&k, sizeof k);
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        h = hash_u64(h ^ ((uint64_t)s->tree.rows[i].kind << 32 | s->tree.rows[i].id));
    }
    return h | 1;
}

static void choose_steps(const scene *s, overlay_view *v)
{
    size_t n = s->steps->n;
    size_t at = s->v.step;
    v->first = at > OVERLAY_STEPS / 2 ? at - OVERLAY_STEPS / 2 : 0;
    v->first = n > OVERLAY_STEPS && v->first > n - OVERLAY_STEPS ? n - OVERLAY_STEPS : v->first;
    v->end = v->first + OVERLAY_STEPS < n ? v->first + OVERLAY_STEPS : n;
}

static void count_deviating(overlay_view *v)
{
    memset(v->deviating, 0, sizeof v->deviating);
    for (size_t i = 0; i < v->list.n; i++) {
        const instance *k = &v->list.items[i];
        v->deviating[k->e.instance - v->first] += k->outlier;
    }
}

static void make(scene *s, overlay_view *v, marey_level level)
{
    v->list.n = 0;
    choose_steps(s, v);
    v->has_operators = are_few(s, v);
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        for (size_t p = v->first; overlay_lane(s, row) > 0 && p < v->end; p++) {
            gather k = {.s = s, .v = v, .ordinal = (uint32_t)(i - s->first_visible), .place = (uint32_t)p};
            k.shift_ns = s->steps->items[p].start_ns - s->steps->items[s->v.step].start_ns;
            gather_row(&k, row, level);
        }
    }
    bands_sort(&v->list);
    v->n_outliers = bands_find_outliers(s, &v->list);
    v->normal.n = 0;
    for (size_t i = 0; i < v->list.n; i++) {
        if (!v->list.items[i].outlier) {
            VEC_PUSH(v->normal.items, v->normal.n, v->normal.cap, v->list.items[i]);
        }
    }
    v->n_nested = nested_from(&v->normal, &v->nested, 0, &v->cap_nested);
    v->n_nested = nested_merge(v->nested, v->n_nested, 1);
    count_deviating(v);
}

/* ------------------------------------------------------------------ drawing */

static void draw_part(scene *s, rect lane, double x0, double x1, rgba c)
{
    x0 = fmax(x0, (double)lane.x - 2);
    x1 = fmin(x1, (double)(lane.x + lane.w) + 2);
    if (x1 - x0 >= 0.5) {
        draw_rect(s->l, LAYER_MARKS, (rect){(float)x0, lane.y, (float)(x1 - x0), lane.h}, c);
    }
}

static void draw_spread(scene *s, const nested_band *b)
{
    rect lane = lane_rect(s, &s->tree.rows[s->first_visible + b->row]);
    rgba c = s->t->data[b->klass % PALETTE_SIZE];
    rgba pale = rgba_with_alpha(c, OUTER_ALPHA);
    draw_part(s, lane, b->x[NESTED_START_MIN], b->x[NESTED_END_MAX], pale);
    draw_part(s, lane, b->x[NESTED_START_MEAN], b->x[NESTED_END_MEAN], pale);
    draw_part(s, lane, b->x[NESTED_START_MAX], b->x[NESTED_END_MIN], rgba_with_alpha(c, INNER_ALPHA));
}

/* A line from start to end, with a tick where it begins. */
static void draw_outlier(scene *s, const instance *k)
{
    rect lane = lane_rect(s, &s->tree.rows[s->first_visible + k->row]);
    float h = fmaxf(1, px(s, 1.5));
    draw_part(s, (rect){lane.x, lane.y, lane.w, h}, k->x0, fmax(k->x1, k->x0 + 2), s->t->severity);
    draw_part(s, lane, k->x0, k->x0 + (double)fmaxf(1, px(s, 1)), s->t->severity);
}

rect overlay_clip(const scene *s)
{
    rect p = s->m.plot;
    if (!is_on(s)) {
        return p;
    }
    const scene_step *step = &s->steps->items[s->v.step];
    float x0 = (float)fmin(fmax(floor(x_of(s, step->start_ns)), (double)p.x), (double)(p.x + p.w));
    float x1 = (float)fmin(fmax(ceil(x_of(s, step->end_ns)), (double)p.x), (double)(p.x + p.w));
    return (rect){x0, p.y, x1 - x0, p.h};
}

/* The longest of all steps fits into the plot: what follows the chosen one is there, but stands back. */
static void draw_veil(scene *s)
{
    rect p = s->m.plot;
    rect step = overlay_clip(s);
    rgba veil = rgba_with_alpha(s->t->ground, 200);
    draw_rect(s->l, LAYER_MARKS, (rect){p.x, p.y, step.x - p.x, p.h}, veil);
    draw_rect(s->l, LAYER_MARKS, (rect){step.x + step.w, p.y, p.x + p.w - step.x - step.w, p.h}, veil);
}

void overlay_draw(scene *s)
{
    if (!is_on(s) || !s->marey) {
        return;
    }
    if (!s->overlay) {
        s->overlay = mem_calloc(1, sizeof *s->overlay);
    }
    overlay_view *v = s->overlay;
    uint64_t stamp = stamp_of(s, s->marey->level);
    if (v->stamp != stamp) {
        uint32_t wanted = s->src.n_wanted;
        make(s, v, s->marey->level);
        v->stamp = s->src.n_wanted == wanted ? stamp : 0; /* else once more when the blocks are here */
    }
    draw_push_clip(s->l, s->m.plot);
    draw_veil(s);
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        if (overlay_lane(s, &s->tree.rows[i]) > 0) {
            draw_rect(s->l, LAYER_MARKS, lane_rect(s, &s->tree.rows[i]), s->t->row); /* the bands end here */
        }
    }
    for (size_t i = 0; i < v->n_nested; i++) {
        draw_spread(s, &v->nested[i]);
    }
    for (size_t i = 0; i < v->list.n; i++) {
        if (v->list.items[i].outlier) {
            draw_outlier(s, &v->list.items[i]);
        }
    }
    draw_pop_clip(s->l);
}

/* ------------------------------------------------------------------ in words */

static long long number_of(const scene *s, size_t place)
{
    return (long long)s->steps->items[place].index;
}

static void add_spread(const scene *s, tip *t, const char *name, double from, double to)
{
    char text[64];
    time_format((int64_t)((to - from) * s->src.grid.step_ns), text, sizeof text);
    (void)tip_add(t, name, "%s between the first and the last", text);
}

/* All steps of one instance: those that deviate, each by how much against the mean. */
static void add_deviating(const scene *s, tip *t, const overlay_view *v, size_t from, size_t n)
{
    int64_t begin =
        v->list.items[from].e.start_ns; /* the mean is told from here: of times by themselves it has no ns */
    double start = 0;
    double length = 0;
    for (size_t i = from; i < from + n; i++) {
        start += (double)(v->list.items[i].e.start_ns - begin) / (double)n;
        length += (double)(v->list.items[i].e.end_ns - v->list.items[i].e.start_ns) / (double)n;
    }
    for (size_t i = from; i < from + n && t->n < TIP_MAX_LINES; i++) {
        const instance *k = &v->list.items[i];
        if (!k->outlier) {
            continue;
        }
        char name[40];
        char late[64];
        char longer[64];
        double d_start = (double)(k->e.start_ns - begin) - start;
        double d_length = (double)(k->e.end_ns - k->e.start_ns) - length;
        time_format((int64_t)fabs(d_start), late, sizeof late);
        time_format((int64_t)fabs(d_length), longer, sizeof longer);
        (void)snprintf(name, sizeof name, "step %lld", number_of(s, k->e.instance));
        (void)tip_add(t, name, "%s %s, %s %s", late, d_start < 0 ? "earlier" : "later", longer,
                      d_length < 0 ? "shorter" : "longer");
    }
}

bool overlay_describe(scene *s, tip *t, const scene_row *row)
{
    const overlay_view *v = is_on(s) ? s->overlay : NULL;
    if (!v || overlay_lane(s, row) <= 0 || !inside(lane_rect(s, row), s->in.cursor_x, s->in.cursor_y)) {
        return false;
    }
    uint32_t ordinal = (uint32_t)((size_t)(row - s->tree.rows) - s->first_visible);
    size_t best = SIZE_MAX;
    size_t best_n = 0;
    for (size_t i = 0; i < v->list.n;) { /* the instance whose extent under the pointer began last */
        size_t n = 1;
        double x0 = v->list.items[i].x0;
        double x1 = v->list.items[i].x1;
        for (; i + n < v->list.n && v->list.items[i + n].key == v->list.items[i].key; n++) {
            x0 = fmin(x0, v->list.items[i + n].x0);
            x1 = fmax(x1, v->list.items[i + n].x1);
        }
        bool holds = v->list.items[i].row == ordinal && s->in.cursor_x >= x0 && s->in.cursor_x < x1;
        if (holds && (best == SIZE_MAX || v->list.items[i].x0 > v->list.items[best].x0)) {
            best = i;
            best_n = n;
        }
        i += n;
    }
    if (best == SIZE_MAX) {
        return false;
    }
    const instance *k = &v->list.items[best];
    double edge[4] = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t i = best; i < best + best_n; i++) {
        edge[0] = fmin(edge[0], v->list.items[i].x0);
        edge[1] = fmax(edge[1], v->list.items[i].x0);
        edge[2] = fmin(edge[2], v->list.items[i].x1);
        edge[3] = fmax(edge[3], v->list.items[i].x1);
    }
    t->klass = k->e.klass;
    (void)snprintf(t->title, sizeof t->title, "%s", s->model->names[k->e.name].text);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%s \xC2\xB7 %zu of %zu steps, aligned at their starts",
                   s->model->ranks[row->rank].label, best_n, v->end - v->first);
    add_spread(s, t, "starts", edge[0], edge[1]);
    add_spread(s, t, "ends", edge[2], edge[3]);
    add_deviating(s, t, v, best, best_n);
    return true;
}

void overlay_status(const scene *s, char *out, size_t cap)
{
    const overlay_view *v = is_on(s) ? s->overlay : NULL;
    out[0] = '\0';
    if (!v || v->end == 0) {
        return;
    }
    size_t worst = 0;
    size_t n_steps = 0;
    for (size_t i = 0; i < v->end - v->first; i++) {
        n_steps += v->deviating[i] > 0;
        worst = v->deviating[i] > v->deviating[worst] ? i : worst;
    }
    int n = snprintf(out, cap, "over steps %lld\xE2\x80\x93%lld", number_of(s, v->first), number_of(s, v->end - 1));
    if (n > 0 && (size_t)n < cap && n_steps > 0) {
        (void)snprintf(out + n, cap - (size_t)n, ", %zu deviate%s, most of all step %lld (%u instances)", n_steps,
                       n_steps == 1 ? "s" : "", number_of(s, v->first + worst), v->deviating[worst]);
    }
}

void overlay_free(overlay_view **pv)
{
    if (*pv) {
        free((*pv)->list.items);
        free((*pv)->normal.items);
        free((*pv)->nested);
        free(*pv);
        *pv = NULL;
    }
}
