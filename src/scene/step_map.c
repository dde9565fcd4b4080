/*
 * Steps as numbers: the overview strip as step time per rank with mean exposed communication and mean wait, or as a map
 * of rank x step; and the layout that is this map, with the rows and the time axis of the others. All from the
 * diagnosis: exact, of whole steps.
 */
#include "scene/step_map.h"

#include <stdlib.h>
#include <string.h>

#include "scene/tip.h"

enum { LINE_RANKS = 64, MAX_SEGMENTS = 6000, MAX_STEP_BARS = 600, MAP_LINE_DP = 2 };
static const double LEAST_SPAN = 0.02; /* of the highest value: the ramp never spans less */

/* ------------------------------------------------------------------ values */

const char *step_measure_name(step_measure m)
{
    static const char *const names[STEP_MEASURES] = {"step time", "exposed communication", "wait", "compute"};
    return names[m];
}

double step_value(const diagnosis *g, size_t rank, size_t step, step_measure m)
{
    const rank_step *c = collected_cell(&g->data, rank, step);
    if (c->end_ns <= c->start_ns) {
        return (double)NAN;
    }
    breakdown b = breakdown_of(c);
    switch (m) {
    case STEP_EXPOSED:
        return (double)b.exposed_communication_ns;
    case STEP_WAIT:
        return (double)(c->wait_ns + c->p2p_wait_ns);
    case STEP_COMPUTE:
        return (double)b.compute_ns;
    default:
        return (double)b.step_ns;
    }
}

step_span step_span_of(const diagnosis *g, step_measure m)
{
    step_span k = {.low = INFINITY, .high = -INFINITY};
    for (size_t r = 0; r < g->data.n_ranks; r++) {
        for (size_t i = 0; i < g->data.n_steps; i++) {
            double v = step_value(g, r, i, m);
            k.low = v < k.low ? v : k.low; /* NaN compares false */
            k.high = v > k.high ? v : k.high;
        }
    }
    if (k.low > k.high) {
        return (step_span){0, 1};
    }
    double span = fmax(k.high - k.low, fmax(LEAST_SPAN * k.high, 1));
    k.low = fmax(0, fmin(k.low, k.high - span));
    k.high = k.low + span;
    return k;
}

uint8_t step_level(step_span k, double value)
{
    double place = (value - k.low) / (k.high - k.low);
    int level = (int)floor(fmin(fmax(place, 0), 1) * HEAT_LEVELS);
    return (uint8_t)(PALETTE_HEAT + (level < HEAT_LEVELS ? level : HEAT_LEVELS - 1));
}

static step_map *map_of(scene *s)
{
    if (!s->step_map) {
        s->step_map = mem_calloc(1, sizeof *s->step_map);
    }
    step_map *k = s->step_map;
    const heat_view *h = s->heat;
    if (h && h->diagnosis && k->serial != h->serial) {
        for (int m = 0; m < STEP_MEASURES; m++) {
            k->spans[m] = step_span_of(h->diagnosis, (step_measure)m);
        }
        k->serial = h->serial;
    }
    return k;
}

void step_map_free(step_map **k)
{
    free(*k);
    *k = NULL;
}

/* ------------------------------------------------------------------ the overview: lines and density */

typedef struct chart {
    scene *s;
    const heat_view *h;
    rect r;
    double most_ns;
} chart;

static float chart_x(const chart *c, size_t step)
{
    overview_span span = overview_span_of(c->s);
    double start = (double)(c->h->step_start_ns[step] - span.t0_ns);
    double end = (double)(c->h->step_end_ns[step] - span.t0_ns);
    return c->r.x + (float)(0.5 * (start + end) / (double)span.length_ns) * c->r.w;
}

static float chart_y(const chart *c, double ns)
{
    return c->r.y + c->r.h - (float)(ns / c->most_ns) * (c->r.h - px(c->s, 2));
}

static void draw_series(const chart *c, const double *values, float width, rgba colour)
{
    size_t n = c->h->diagnosis->data.n_steps;
    size_t before = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i])) {
            continue;
        }
        float y = chart_y(c, values[i]);
        float x = chart_x(c, i);
        float x0 = before == SIZE_MAX ? x - px(c->s, 4) : chart_x(c, before);
        float y0 = before == SIZE_MAX ? y : chart_y(c, values[before]);
        draw_segment(c->s->l, LAYER_DATA, x0, y0, x, y, width, colour);
        before = i;
    }
}

static void draw_rank_lines(const chart *c)
{
    const diagnosis *g = c->h->diagnosis;
    size_t n = g->data.n_steps;
    double *values = arena_alloc(&c->s->scratch, (n + 1) * sizeof *values);
    for (int pass = 0; pass < 2; pass++) { /* those that a finding names on top */
        for (size_t r = 0; r < g->data.n_ranks; r++) {
            bool named = c->h->rank_finding[r] != NO_ID;
            if (named != (pass == 1)) {
                continue;
            }
            for (size_t i = 0; i < n; i++) {
                values[i] = step_value(g, r, i, STEP_TIME);
            }
            draw_series(c, values, 1, named ? c->s->t->severity : rgba_with_alpha(c->s->t->dim, 110));
        }
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void draw_quantiles(const chart *c, float x0, float x1, double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    const double ends[2][2] = {{v[0], v[n - 1]}, {v[n / 10], v[n - 1 - n / 10]}};
    for (int k = 0; k < 2; k++) {
        float top = floorf(chart_y(c, ends[k][1]));
        float bottom = ceilf(chart_y(c, ends[k][0]));
        rect r = {x0, top, x1 - x0, fmaxf(bottom - top, 1)};
        draw_rect(c->s->l, LAYER_DATA, r, rgba_with_alpha(c->s->t->dim, k ? 130 : 60));
    }
    draw_hline(c->s->l, LAYER_DATA, x0, x1, floorf(chart_y(c, v[n / 2])), c->s->t->text);
}

/* More ranks than lines can be told apart: least to most, a tenth to nine tenths, median; of several steps where they
 * are many. */
static void draw_density(const chart *c)
{
    const diagnosis *g = c->h->diagnosis;
    size_t n = g->data.n_steps;
    size_t per = (n + MAX_STEP_BARS - 1) / MAX_STEP_BARS;
    double *v = arena_alloc(&c->s->scratch, (g->data.n_ranks * per + 1) * sizeof *v);
    for (size_t i = 0; i < n; i += per) {
        size_t end = i + per < n ? i + per : n;
        size_t count = 0;
        for (size_t k = i; k < end; k++) {
            for (size_t r = 0; r < g->data.n_ranks; r++) {
                double value = step_value(g, r, k, STEP_TIME);
                v[count] = value;
                count += isnan(value) ? 0 : 1;
            }
        }
        overview_span span = overview_span_of(c->s);
        double scale = (double)c->r.w / (double)span.length_ns;
        float x0 = c->r.x + (float)((double)(c->h->step_start_ns[i] - span.t0_ns) * scale);
        float x1 = c->r.x + (float)((double)(c->h->step_end_ns[end - 1] - span.t0_ns) * scale);
        if (count > 0) {
            draw_quantiles(c, snap((double)x0) + 1, fmaxf(snap((double)x1), snap((double)x0) + 2), v, count);
        }
    }
}

static void draw_means(const chart *c)
{
    const diagnosis *g = c->h->diagnosis;
    size_t n = g->data.n_steps;
    double *values = arena_alloc(&c->s->scratch, (n + 1) * sizeof *values);
    static const step_measure which[2] = {STEP_EXPOSED, STEP_WAIT};
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            size_t count = 0;
            for (size_t r = 0; r < g->data.n_ranks; r++) {
                double v = step_value(g, r, i, which[k]);
                sum += isnan(v) ? 0 : v;
                count += isnan(v) ? 0 : 1;
            }
            values[i] = count > 0 ? sum / (double)count : (double)NAN;
        }
        draw_series(c, values, fmaxf(1, px(c->s, 1.5)), c->s->t->data[k ? CLASS_RECEIVE : CLASS_COLLECTIVE]);
    }
}

static float put_key(scene *s, float x, rect r, rgba c, const char *text)
{
    float w = width_of(s, FACE_SANS, 10, text);
    rect swatch = {x, r.y + px(s, 5), px(s, 8), px(s, 3)};
    rect at = {x + px(s, 12), r.y, w + 1, px(s, 13)};
    draw_rect(s->l, LAYER_MARKS, (rect){x - px(s, 2), r.y, w + px(s, 16), px(s, 13)}, rgba_with_alpha(s->t->row, 200));
    draw_rect(s->l, LAYER_PANELS, swatch, c);
    (void)put_text(s, LAYER_PANELS, FACE_SANS, 10, at, TEXT_LEFT, s->t->dim, text);
    return at.x + w + px(s, 12);
}

static void draw_chart(scene *s, rect r)
{
    float key = fminf(px(s, 15), r.h / 2); /* no line runs through its words */
    rect field = {r.x, r.y + key, r.w, r.h - key};
    chart c = {.s = s, .h = s->heat, .r = field, .most_ns = map_of(s)->spans[STEP_TIME].high};
    const collected *data = &c.h->diagnosis->data;
    if (data->n_ranks <= LINE_RANKS && data->n_ranks * data->n_steps <= MAX_SEGMENTS) {
        draw_rank_lines(&c);
    } else {
        draw_density(&c);
    }
    draw_means(&c);
    char text[96];
    char most[48];
    time_format((int64_t)c.most_ns, most, sizeof most);
    bool lines = data->n_ranks <= LINE_RANKS;
    (void)snprintf(text, sizeof text, "step time, %s; full height %s",
                   lines ? "a line a rank" : "least to most of ranks", most);
    float x = put_key(s, r.x + px(s, 6), r, s->t->dim, text);
    x = put_key(s, x, r, s->t->data[CLASS_COLLECTIVE], "exposed communication, mean");
    (void)put_key(s, x, r, s->t->data[CLASS_RECEIVE], "wait, mean");
}

/* ------------------------------------------------------------------ maps */

/* Ranks enter a step one after the other; the columns of a map are straight: each step ends where the next one begins.
 */
static int64_t map_end_ns(const heat_view *h, size_t i)
{
    int64_t end = h->step_end_ns[i];
    bool has_next = i + 1 < h->diagnosis->data.n_steps && h->step_start_ns[i + 1] > h->step_start_ns[i];
    return has_next && h->step_start_ns[i + 1] < end ? h->step_start_ns[i + 1] : end;
}

/* One line of a map over the grid: the highest of its ranks, step by step. */
static void fill_line(const scene *s, draw_cell *cells, const time_grid *g, const uint32_t *ranks, size_t n_ranks,
                      step_measure m)
{
    const heat_view *h = s->heat;
    step_span span = s->step_map->spans[m];
    for (size_t i = 0; i < h->diagnosis->data.n_steps; i++) {
        double a = floor(since_begin(g, h->step_start_ns[i]) / g->step_ns + 0.5);
        double b = floor(since_begin(g, map_end_ns(h, i)) / g->step_ns + 0.5);
        if (h->step_end_ns[i] <= h->step_start_ns[i] || b < 0 || a >= g->n) {
            continue;
        }
        double value = -INFINITY;
        for (size_t r = 0; r < n_ranks; r++) {
            double v = step_value(h->diagnosis, ranks[r], i, m);
            value = v > value ? v : value;
        }
        uint32_t from = (uint32_t)fmax(a, 0);
        uint32_t to = (uint32_t)fmin(fmax(b, a + 1), g->n);
        for (uint32_t k = from; value >= 0 && k < to; k++) {
            uint8_t level = step_level(span, value);
            bool higher = cells[k].klass == CELL_EMPTY || cells[k].klass < level;
            cells[k] = (draw_cell){higher ? level : cells[k].klass, 255, k == from && b - a > 3 ? CELL_EDGE : 0, 255};
        }
    }
}

static void draw_overview_map(scene *s, rect r, step_measure m)
{
    (void)map_of(s);
    size_t n_ranks = s->model->n_ranks;
    uint32_t *ranks = arena_alloc(&s->scratch, (n_ranks + 1) * sizeof *ranks);
    for (uint32_t i = 0; i < n_ranks; i++) {
        ranks[i] = s->tree.group_ranks[i];
    }
    size_t lines = (size_t)(r.h / px(s, MAP_LINE_DP));
    lines = lines < n_ranks ? lines : n_ranks;
    overview_span span = overview_span_of(s);
    time_grid g = grid_make(moment_at(span.t0_ns), moment_at(span.t0_ns + span.length_ns), (uint32_t)r.w);
    for (size_t k = 0; k < lines; k++) {
        size_t first = k * n_ranks / lines;
        size_t end = (k + 1) * n_ranks / lines;
        float y0 = floorf(r.y + r.h * (float)k / (float)lines);
        float y1 = floorf(r.y + r.h * (float)(k + 1) / (float)lines);
        draw_cell *cells = draw_add_strip(s->l, LAYER_DATA, (rect){r.x, y0, r.w, y1 - y0}, (size_t)r.w, true);
        fill_line(s, cells, &g, ranks + first, end - first, m);
    }
    char text[160];
    char ends[2][48];
    time_format((int64_t)s->step_map->spans[m].low, ends[0], sizeof ends[0]);
    time_format((int64_t)s->step_map->spans[m].high, ends[1], sizeof ends[1]);
    (void)snprintf(text, sizeof text, "%s by rank and step, %s to %s%s", step_measure_name(m), ends[0], ends[1],
                   lines < n_ranks ? "; a line shows the highest of its ranks" : "");
    (void)put_key(s, r.x + px(s, 6), r, s->t->heat[HEAT_LEVELS - 1], text);
}

bool step_overview_draw(scene *s, rect r)
{
    const heat_view *h = s->heat;
    if (s->v.overview == OVERVIEW_SHARES) {
        return false;
    }
    if (!h || !h->diagnosis) {
        const char *error = h ? insight_error(h->insight) : NULL;
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11, r, TEXT_CENTRE, s->t->dim,
                       error ? error : "The run is being read for its steps.");
    } else if (s->v.overview == OVERVIEW_STEPS) {
        draw_chart(s, r);
    } else {
        draw_overview_map(s, r, (step_measure)(s->v.overview - OVERVIEW_MAP));
    }
    return true;
}

/* ------------------------------------------------------------------ the layout */

static step_measure layout_measure(const scene *s)
{
    return s->v.overview >= OVERVIEW_MAP ? (step_measure)(s->v.overview - OVERVIEW_MAP) : STEP_TIME;
}

/* What the colours mean, at the end of the axis. @return its place; no width: there is no room for it */
rect step_layout_key(scene *s, bool draws)
{
    const heat_view *h = s->heat;
    rect none = {0, 0, 0, 0};
    if (s->v.layout != LAYOUT_STEPS || !h || !h->diagnosis || h->diagnosis->data.n_steps == 0) {
        return none;
    }
    step_measure m = layout_measure(s);
    step_span span = map_of(s)->spans[m];
    char text[3][64];
    (void)snprintf(text[0], sizeof text[0], "%s", step_measure_name(m));
    time_format((int64_t)span.low, text[1], sizeof text[1]);
    time_format((int64_t)span.high, text[2], sizeof text[2]);
    float w[3];
    for (int i = 0; i < 3; i++) {
        w[i] = ceilf(width_of(s, FACE_SANS, 11, text[i])) + px(s, 8);
    }
    float cell = px(s, 16);
    float all = w[0] + w[1] + w[2] + cell * HEAT_LEVELS + px(s, 8);
    rect r = {s->m.axis.x + s->m.axis.w - all, s->m.axis.y, all, s->m.axis.h};
    if (all > 0.6F * s->m.axis.w) {
        return none;
    }
    if (draws) {
        rect at = {r.x + px(s, 8), r.y, w[0], r.h};
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11, at, TEXT_LEFT, s->t->text, text[0]);
        at = (rect){at.x + w[0], r.y, w[1] - px(s, 6), r.h};
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11, at, TEXT_RIGHT, s->t->dim, text[1]);
        float x = at.x + w[1];
        for (int i = 0; i < HEAT_LEVELS; i++) {
            rect swatch = {x + cell * (float)i, snap((double)(r.y + r.h / 2)) - px(s, 4), cell - px(s, 1), px(s, 9)};
            draw_round(s->l, LAYER_MARKS, swatch, px(s, 2), s->t->heat[i], 0, s->t->heat[i]);
        }
        at = (rect){x + cell * HEAT_LEVELS + px(s, 5), r.y, w[2], r.h};
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 11, at, TEXT_LEFT, s->t->dim, text[2]);
    }
    return r;
}

void step_layout_status(const scene *s, char *out, size_t cap)
{
    out[0] = '\0';
    if (s->v.layout == LAYOUT_STEPS) {
        (void)snprintf(out, cap, "%s of each rank and step, O: others", step_measure_name(layout_measure(s)));
    }
}

static void draw_map_row(scene *s, const scene_row *row, float y, float h)
{
    const rank_group *g = row->kind == ROW_GROUP ? &s->tree.groups[row->id] : NULL;
    const uint32_t *ranks = g ? s->tree.group_ranks + g->first : &row->id;
    rect at = {s->m.plot.x, y, s->m.plot.w, h};
    draw_cell *cells = draw_add_strip(s->l, LAYER_DATA, at, s->src.grid.n, true);
    fill_line(s, cells, &s->src.grid, ranks, g ? g->n : 1, layout_measure(s));
}

/* Rows that share a pixel line share its cells: the highest shows. */
static void draw_thin_map(scene *s, const scene_row *row, double *line, size_t *first_cell)
{
    double y = floor((double)s->m.plot.y + row->y - s->scroll);
    if (y != *line) {
        *first_cell = s->l->n_cells;
        *line = y;
        draw_map_row(s, row, (float)y, 1);
        return;
    }
    fill_line(s, s->l->cells + *first_cell, &s->src.grid, &row->id, 1, layout_measure(s));
}

void step_layout_draw(scene *s)
{
    const heat_view *h = s->heat;
    double line = -1;
    size_t first_cell = 0;
    if (!h || !h->diagnosis) {
        const char *error = h ? insight_error(h->insight) : NULL;
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 12, s->m.plot, TEXT_CENTRE, s->t->dim,
                       error ? error : "The run is being read for its steps.");
        return;
    }
    (void)map_of(s);
    draw_push_clip(s->l, s->m.plot);
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        rect strip = row_strip_rect(s, row);
        if (row->kind == ROW_RANK && row->h < 1.5) {
            draw_thin_map(s, row, &line, &first_cell);
        } else if (row->kind == ROW_RANK || row->kind == ROW_GROUP) {
            draw_map_row(s, row, strip.y, strip.h);
        }
    }
    draw_pop_clip(s->l);
}

static size_t step_under(const scene *s, int64_t t_ns)
{
    const heat_view *h = s->heat;
    for (size_t i = 0; h && h->diagnosis && i < h->diagnosis->data.n_steps; i++) {
        if (t_ns >= h->step_start_ns[i] && t_ns < map_end_ns(h, i)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void add_measures(scene *s, tip *t, const uint32_t *ranks, size_t n, size_t step)
{
    for (int m = 0; m < STEP_MEASURES; m++) {
        double high = -INFINITY;
        double sum = 0;
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            double v = step_value(s->heat->diagnosis, ranks[i], step, (step_measure)m);
            high = v > high ? v : high;
            sum += isnan(v) ? 0 : v;
            count += isnan(v) ? 0 : 1;
        }
        char text[2][48];
        if (count == 0) {
            (void)tip_add(t, step_measure_name((step_measure)m), "lacks the step");
            continue;
        }
        time_format((int64_t)(sum / (double)count), text[0], sizeof text[0]);
        time_format((int64_t)high, text[1], sizeof text[1]);
        if (n > 1) {
            (void)tip_add(t, step_measure_name((step_measure)m), "mean %s, highest %s", text[0], text[1]);
        } else {
            (void)tip_add(t, step_measure_name((step_measure)m), "%s", text[0]);
        }
    }
}

bool step_layout_tip(scene *s)
{
    if (s->v.layout != LAYOUT_STEPS || s->v.show_help || !inside(s->m.plot, s->in.cursor_x, s->in.cursor_y)) {
        return false;
    }
    size_t i = row_at(s, s->in.cursor_y - (double)s->m.plot.y + s->scroll);
    size_t step = step_under(s, moment_under(s, s->in.cursor_x).ns);
    const scene_row *row = i == SIZE_MAX ? NULL : &s->tree.rows[i];
    if (step == SIZE_MAX || !row || (row->kind != ROW_RANK && row->kind != ROW_GROUP)) {
        return true;
    }
    tip *t = arena_alloc(&s->scratch, sizeof *t);
    memset(t, 0, sizeof *t);
    t->klass = CELL_EMPTY;
    const rank_group *g = row->kind == ROW_GROUP ? &s->tree.groups[row->id] : NULL;
    (void)snprintf(t->title, sizeof t->title, "%s \xC2\xB7 step %lld", g ? g->name : s->model->ranks[row->id].label,
                   (long long)s->heat->diagnosis->data.step_index[step]);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "click: this step in the Marey layout");
    add_measures(s, t, g ? s->tree.group_ranks + g->first : &row->id, g ? g->n : 1, step);
    tip_draw(s, t);
    return true;
}
