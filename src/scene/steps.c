/* The steps of the run over all ranks, and several of them side by side: each a plot of its own with the same rows and
 * scale, aligned at its start. */
#include "scene/steps.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_COLUMN_DP = 140, COLUMN_GAP_DP = 12 };

/* ------------------------------------------------------------------ the run's steps */

static int by_index(const void *pa, const void *pb)
{
    const scene_step *a = pa;
    const scene_step *b = pb;
    if (a->index != b->index) {
        return a->index < b->index ? -1 : 1;
    }
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_start(const void *pa, const void *pb)
{
    const scene_step *a = pa;
    const scene_step *b = pb;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* On the device, where it is known when that worked on the step. */
static scene_step extent_of(const trace_step *t)
{
    bool device = t->device_end_ns > t->device_start_ns;
    return (scene_step){t->index, device ? t->device_start_ns : t->start_ns, device ? t->device_end_ns : t->end_ns};
}

size_t steps_of_model(const trace_model *m, scene_step **out)
{
    scene_step *v = mem_alloc((m->n_steps + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < m->n_steps; i++) {
        v[i] = extent_of(&m->steps[i]);
    }
    if (m->n_steps > 1) {
        qsort(v, m->n_steps, sizeof *v, by_index);
    }
    for (size_t i = 0; i < m->n_steps; i++) {
        if (v[i].end_ns <= v[i].start_ns) {
            continue;
        }
        if (n > 0 && v[n - 1].index == v[i].index) {
            v[n - 1].end_ns = v[i].end_ns > v[n - 1].end_ns ? v[i].end_ns : v[n - 1].end_ns;
        } else {
            v[n++] = v[i];
        }
    }
    if (n > 1) {
        qsort(v, n, sizeof *v, by_start);
    }
    *out = v;
    return n;
}

size_t scene_steps(const scene *s, const scene_step **steps)
{
    *steps = s->steps->items;
    return s->steps->n;
}

size_t scene_step_at(const scene *s, int64_t t_ns)
{
    const steps_state *k = s->steps;
    size_t best = SIZE_MAX;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < k->n; i++) {
        int64_t before = k->items[i].start_ns - t_ns;
        int64_t after = t_ns - k->items[i].end_ns;
        int64_t away = before > 0 ? before : after > 0 ? after : 0;
        if (away < least) {
            least = away;
            best = i;
        }
    }
    return best;
}

void steps_init(scene *s)
{
    s->steps = mem_calloc(1, sizeof *s->steps);
    s->steps->n = steps_of_model(s->model, &s->steps->items);
    s->n_columns = 1;
}

void steps_deinit(scene *s)
{
    steps_state *k = s->steps;
    for (uint32_t i = 0; k && i < MAX_COLUMNS; i++) {
        if (i != k->at) { /* that one's are the scene's */
            rasters_deinit(&k->columns[i].rasters);
            marey_free(&k->columns[i].marey);
        }
    }
    if (k) {
        free(k->items);
        free(k);
    }
    s->steps = NULL;
}

/* ------------------------------------------------------------------ columns */

static uint32_t count_columns(const scene *s)
{
    const steps_state *k = s->steps;
    if (s->v.steps_mode != STEPS_COLUMNS || k->n < 2 || s->v.layout == LAYOUT_COMMUNICATION) {
        return 1;
    }
    size_t wanted = s->v.n_columns < 2 ? 2 : s->v.n_columns;
    size_t room = (size_t)fmax(1, (double)(s->m.plot.w / px(s, LEAST_COLUMN_DP)));
    size_t n = wanted < room ? wanted : room;
    n = n < k->n ? n : k->n;
    return (uint32_t)(n < MAX_COLUMNS ? n : MAX_COLUMNS);
}

/* What belongs to the plot that is being drawn. */
static void keep(scene *s, column_state *c)
{
    c->rasters = s->rasters;
    c->marey = s->marey;
    c->src = s->src;
    c->row_cells = s->row_cells;
}

static void enter(scene *s, uint32_t column)
{
    steps_state *k = s->steps;
    keep(s, &k->columns[k->at]);
    const column_state *c = &k->columns[column];
    k->at = column;
    s->rasters = c->rasters;
    s->marey = c->marey;
    s->src = c->src;
    s->row_cells = c->row_cells;
    s->column = column;
    s->m.plot = c->plot;
    s->m.axis.x = c->plot.x;
    s->m.axis.w = c->plot.w;
    s->v.t0 = c->t0;
    s->v.t1 = c->t1;
    s->origin_ns = c->origin_ns;
}

static void place_columns(scene *s, uint32_t n)
{
    steps_state *k = s->steps;
    size_t first = s->v.step + n <= k->n ? s->v.step : k->n - n;
    float gap = px(s, COLUMN_GAP_DP);
    float w = floorf((s->m.plot.w - gap * (float)(n - 1)) / (float)n);
    for (uint32_t i = 0; i < n; i++) {
        column_state *c = &k->columns[i];
        int64_t shift = k->items[first + i].start_ns - k->items[first].start_ns;
        c->plot = (rect){s->m.plot.x + (w + gap) * (float)i, s->m.plot.y, w, s->m.plot.h};
        c->t0 = moment_shift(s->v.t0, shift);
        c->t1 = moment_shift(s->v.t1, shift);
        c->origin_ns = k->items[first + i].start_ns;
        c->index = k->items[first + i].index;
    }
}

void columns_begin(scene *s)
{
    steps_state *k = s->steps;
    if (k->at != 0) {
        enter(s, 0);
    }
    s->origin_ns = 0;
    s->column = 0;
    s->n_columns = 1;
}

/* @pre the layout is made, and no column but the first is entered */
bool columns_prepare(scene *s)
{
    steps_state *k = s->steps;
    s->n_columns = count_columns(s);
    s->frame.n_columns = s->n_columns;
    s->frame.column_w = s->m.plot.w;
    if (s->v.steps_mode == STEPS_OVERLAID && s->v.step < k->n) {
        s->origin_ns = k->items[s->v.step].start_ns;
    }
    if (s->n_columns == 1) {
        return false;
    }
    k->whole_plot = s->m.plot;
    k->whole_t0 = s->v.t0;
    k->whole_t1 = s->v.t1;
    place_columns(s, s->n_columns);
    s->frame.column_w = k->columns[0].plot.w + px(s, COLUMN_GAP_DP);
    keep(s, &k->columns[0]);
    enter(s, 0);
    return true;
}

rect step_heading(scene *s, char *text, size_t cap)
{
    const steps_state *k = s->steps;
    bool overlaid = s->v.steps_mode == STEPS_OVERLAID && s->v.step < k->n;
    rect none = {0, 0, 0, 0};
    if (s->n_columns < 2 && !overlaid) {
        return none;
    }
    int64_t index = s->n_columns > 1 ? k->columns[s->column].index : k->items[s->v.step].index;
    (void)snprintf(text, cap, "step %lld", (long long)index);
    float w = ceilf(width_of(s, FACE_SANS_MEDIUM, 11, text)) + px(s, 12);
    rect r = {s->m.axis.x, s->m.axis.y + px(s, 4), w, s->m.axis.h - px(s, 8)};
    return w < s->m.axis.w ? r : none;
}

void columns_draw(scene *s, void (*draw)(scene *s))
{
    uint32_t wanted = 0;
    size_t bands = 0;
    size_t outliers = 0;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        enter(s, i);
        sources_begin(s);
        rasters_begin(s);
        draw(s);
        wanted += s->src.n_wanted;
        bands += s->frame.n_bands;
        outliers += s->frame.n_outliers;
    }
    s->frame.n_bands = bands;
    s->frame.n_outliers = outliers;
    columns_leave(s);
    s->src.n_wanted = wanted;
}

void columns_leave(scene *s)
{
    const steps_state *k = s->steps;
    if (s->n_columns > 1) {
        s->m.plot = k->whole_plot;
        s->m.axis.x = k->whole_plot.x;
        s->m.axis.w = k->whole_plot.w;
        s->v.t0 = k->whole_t0;
        s->v.t1 = k->whole_t1;
    }
}

void columns_enter_at(scene *s, double x)
{
    if (s->n_columns < 2) {
        return;
    }
    uint32_t at = 0;
    while (at + 1 < s->n_columns && x >= (double)s->steps->columns[at + 1].plot.x) {
        at++;
    }
    enter(s, at);
}
