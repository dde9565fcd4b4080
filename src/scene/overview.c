/*
 * The whole run in one strip: how many of all ranks were busy, by class, column by column. Summed once from the level
 * that just suffices (eight ranks a row), then kept.
 */
#include <stdlib.h>
#include <string.h>

#include "scene/step_map.h"
#include "scene/steps.h"

enum { NUMBERS_DP = 14, EVENT_BLOCKS = 8 /* up to which events are summed where the bins are too wide */ };

typedef struct summing {
    scene *s;
    time_grid grid;
    float *sum; /* [n * CLASS_COUNT], in ranks */
    uint8_t *severity;
    bool dry; /* only ask for what is needed */
    bool complete;
} summing;

/* Where a few events lie far from all others, these would be a pixel of the run. */
overview_span overview_span_of(const scene *s)
{
    const trace_model *m = s->model;
    int64_t run = m->duration_ns > 1 ? m->duration_ns : 1;
    int64_t t0 = m->view_start_ns;
    int64_t length = m->view_end_ns - m->view_start_ns;
    bool is_inside = moment_minus(s->v.t0, moment_at(t0)) >= (double)-length &&
                     moment_minus(s->v.t1, moment_at(t0)) <= 2 * (double)length;
    if (length >= 1 && length < run / 100 && is_inside) {
        return (overview_span){t0, length, true};
    }
    return (overview_span){0, run, false};
}

void overview_deinit(overview_sums *o)
{
    free(o->height);
    free(o->severity);
    free(o->sum);
    free(o->done);
    memset(o, 0, sizeof *o);
}

/* The column of a time since the strip begins; what meets it by a hair is judged by the lengths. */
static int64_t column_about(const time_grid *g, double since)
{
    return (int64_t)floor(fmin(fmax(since * g->inverse, -2), (double)g->n + 1));
}

/* Add share `part` of a bin [t0, t0 + bin), since the strip begins, to the columns that it meets. */
static void spread(const summing *k, double t0, double bin, uint8_t klass, float ranks)
{
    int64_t a = column_about(&k->grid, t0);
    int64_t b = column_about(&k->grid, t0 + bin);
    for (int64_t i = a < 0 ? 0 : a; i <= b && i < (int64_t)k->grid.n; i++) {
        double low = fmax(t0, time_edge(&k->grid, i));
        double high = fmin(t0 + bin, time_edge(&k->grid, i + 1));
        if (high > low) {
            k->sum[(size_t)i * CLASS_COUNT + klass] += ranks * (float)((high - low) * k->grid.inverse);
        }
    }
}

static void note_severity(const summing *k, double t0, double bin, uint8_t severity)
{
    int64_t a = severity > 0 ? column_about(&k->grid, t0) : 1;
    int64_t b = severity > 0 ? column_about(&k->grid, t0 + bin) : 0;
    for (int64_t i = a < 0 ? 0 : a; i <= b && i < (int64_t)k->grid.n; i++) {
        if (time_edge(&k->grid, i) < t0 + bin && k->severity[i] < severity) {
            k->severity[i] = severity;
        }
    }
}

static void sum_tile_row(const summing *k, const cache_tile *tile, uint32_t row, int64_t bin_ns, double n_ranks)
{
    uint32_t width = TILE_BINS[tile->key.r];
    double bin = (double)bin_ns;
    double t0 = since_begin(&k->grid, (int64_t)(tile->key.col * width) * bin_ns);
    for (uint32_t i = 0; i < width; i++) {
        size_t at = (size_t)row * width + i;
        if (tile->cells[at].busy == 0) {
            continue;
        }
        double t = t0 + i * bin;
        for (uint8_t p = 0; p < CLASS_COUNT; p++) {
            uint8_t share = tile->planes[(size_t)p * TILE_CELLS + at];
            if (share > 0) {
                spread(k, t, bin, p, (float)(n_ranks * share / 255.0));
            }
        }
        note_severity(k, t, bin, tile->cells[at].severity);
    }
}

static void sum_tile(const summing *k, const cache_tile *tile, const store_group_info *g, int64_t bin_ns)
{
    uint32_t rows = TILE_ROWS[R_EIGHT];
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t first = (tile->key.row_block * rows + r) * 8;
        if (first < g->n_ranks) {
            sum_tile_row(k, tile, r, bin_ns, fmin(8, g->n_ranks - first));
        }
    }
}

/* A stretch that no tile is stored for: the events themselves, rank by rank. */
static void sum_events(summing *k, uint32_t group, const store_group_info *g, int64_t t0, int64_t t1)
{
    scene *s = k->s;
    int64_t a = column_of(&k->grid, t0);
    int64_t b = column_of(&k->grid, t1);
    a = a < 0 ? 0 : a;
    b = b >= (int64_t)k->grid.n ? (int64_t)k->grid.n - 1 : b;
    if (b < a || t1 <= t0) {
        return;
    }
    time_grid grid = grid_make(moment_at(t0), moment_at(t1), (uint32_t)(b - a + 1));
    double begin = since_begin(&k->grid, t0);
    block_span *span = span_between(s, group, window_of_grid(&grid));
    k->complete = k->complete && span->n_missing == 0;
    if (k->dry) {
        return;
    }
    accumulator *acc = &s->rasters.bins;
    for (uint32_t i = 0; i < g->n_ranks && g->first_rank + i < s->model->n_ranks; i++) {
        uint32_t first = s->rank_first_track[g->first_rank + i];
        uint32_t n = s->rank_first_track[g->first_rank + i + 1] - first;
        accumulator_reset(acc, grid.n);
        accumulate_events(&s->scratch, span, s->device_tracks + first, n, &grid, acc, NULL, 0);
        for (uint32_t c = 0; c < grid.n; c++) {
            for (uint32_t classes = acc->columns[c].classes; classes; classes &= classes - 1) {
                uint8_t p = (uint8_t)__builtin_ctz(classes);
                spread(k, begin + time_edge(&grid, c), grid.step_ns, p, share_of(acc, c, p));
            }
            uint8_t *severity = &k->severity[a + (int64_t)c];
            *severity = *severity > acc->columns[c].severity ? *severity : acc->columns[c].severity;
        }
    }
}

static uint32_t overview_level(const store_group_info *g, double column_ns)
{
    uint32_t level = 0;
    while (level + 1 < g->n_levels[R_EIGHT] && (double)lod_bin_ns(g->bin0_ns[R_EIGHT], level + 1) <= column_ns) {
        level++;
    }
    return level;
}

static void sum_group(summing *k, uint32_t group)
{
    scene *s = k->s;
    store_group_info g = store_group_at(s->file, group);
    overview_span strip = s->overview.span;
    int64_t end = strip.t0_ns + strip.length_ns;
    end = end < s->model->duration_ns ? end : s->model->duration_ns;
    bool coarse = (double)g.bin0_ns[R_EIGHT] > k->grid.step_ns && g.n_blocks <= EVENT_BLOCKS;
    if (g.n_levels[R_EIGHT] == 0 || coarse) {
        sum_events(k, group, &g, strip.t0_ns, end);
        return;
    }
    uint32_t level = overview_level(&g, k->grid.step_ns);
    int64_t bin = lod_bin_ns(g.bin0_ns[R_EIGHT], level);
    int64_t span = 0;
    if (__builtin_mul_overflow(bin, (int64_t)TILE_BINS[R_EIGHT], &span)) {
        span = INT64_MAX; /* one tile has all of the run */
    }
    uint32_t n_blocks = (g.n_rows[R_EIGHT] + TILE_ROWS[R_EIGHT] - 1) / TILE_ROWS[R_EIGHT];
    for (int64_t col = strip.t0_ns / span; end > 0 && col <= (end - 1) / span; col++) {
        bool sparse = false;
        for (uint32_t block = 0; block < n_blocks; block++) {
            tile_key key = {R_EIGHT, (uint8_t)level, group, block, (uint64_t)col};
            uint32_t id = 0;
            tile_state state = find_tile(s, &key, &id);
            const cache_tile *tile = state == TILE_STORED ? cache_get_tile(s->cache, id, 0) : NULL;
            if (tile && !k->dry) {
                sum_tile(k, tile, &g, bin);
            } else if (!tile && state == TILE_STORED && !cache_failed(s->cache, true, id)) {
                k->complete = false;
                s->src.n_wanted++;
            }
            sparse = sparse || state == TILE_SPARSE;
        }
        if (sparse) {
            int64_t from = col * span;
            int64_t to = end - from < span ? end : from + span;
            sum_events(k, group, &g, from > strip.t0_ns ? from : strip.t0_ns, to);
        }
    }
}

/* From sums to cumulative heights, 255 = every rank busy. */
static void write_heights(const summing *k, overview_sums *o, double n_ranks)
{
    uint32_t n = k->grid.n;
    o->classes = 0;
    for (uint32_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint32_t p = 0; p < CLASS_COUNT; p++) {
            float v = k->sum[(size_t)i * CLASS_COUNT + p];
            sum += (double)v;
            double height = fmin(255, 255 * sum / n_ranks);
            o->height[(size_t)p * n + i] = v > 0 ? (uint8_t)fmax(1, height + 0.5) : 0;
            o->classes |= (uint16_t)(v > 0 ? 1U << p : 0);
        }
        o->severity[i] = k->severity[i];
    }
}

static void reset_sums(scene *s, overview_sums *o, uint32_t n)
{
    size_t groups = store_n_groups(s->file);
    o->height = mem_realloc_array(o->height, (size_t)n * CLASS_COUNT, 1);
    o->severity = mem_realloc_array(o->severity, n, 1);
    o->sum = mem_realloc_array(o->sum, (size_t)n * CLASS_COUNT, sizeof *o->sum);
    o->done = mem_realloc_array(o->done, groups + 1, 1);
    memset(o->severity, 0, n);
    memset(o->sum, 0, (size_t)n * CLASS_COUNT * sizeof *o->sum);
    memset(o->done, 0, groups + 1);
    o->n = n;
    o->complete = false;
}

/* Each group is added once all of it is there, so that no part of the work is done twice. */
static void update_sums(scene *s, uint32_t n)
{
    overview_sums *o = &s->overview;
    overview_span span = overview_span_of(s);
    bool same = o->n == n && o->span.t0_ns == span.t0_ns && o->span.length_ns == span.length_ns;
    if (same && o->complete) {
        return;
    }
    if (!same) {
        o->span = span;
        reset_sums(s, o, n);
    }
    summing k = {.s = s,
                 .grid = grid_make(moment_at(span.t0_ns), moment_at(span.t0_ns + span.length_ns), n),
                 .sum = o->sum,
                 .severity = o->severity};
    o->complete = true;
    for (uint32_t g = 0; g < store_n_groups(s->file); g++) {
        if (o->done[g] || store_group_at(s->file, g).kind != GROUP_EVENTS) {
            continue;
        }
        k.dry = true;
        k.complete = true;
        sum_group(&k, g);
        o->complete = o->complete && k.complete;
        if (k.complete) {
            k.dry = false;
            sum_group(&k, g);
            o->done[g] = 1;
        }
    }
    write_heights(&k, o, fmax(1, (double)s->model->n_ranks));
}

/* ------------------------------------------------------------------ drawing */

/* Tallest first, so that each class shows between its own height and the one below. */
static void draw_stack(scene *s, rect r)
{
    const overview_sums *o = &s->overview;
    for (int p = CLASS_COUNT - 1; p >= 0; p--) {
        if ((o->classes & (1U << p)) == 0) {
            continue;
        }
        draw_cell *cells = draw_add_strip(s->l, LAYER_DATA, r, o->n, false);
        for (uint32_t i = 0; i < o->n; i++) {
            uint8_t h = o->height[(size_t)p * o->n + i];
            if (h > 0) {
                cells[i] = (draw_cell){(uint8_t)p, h, 0, 255};
            }
        }
    }
}

static double overview_x(const scene *s, moment t)
{
    rect r = s->m.overview;
    overview_span span = overview_span_of(s);
    return (double)r.x + moment_minus(t, moment_at(span.t0_ns)) / (double)span.length_ns * (double)r.w;
}

/* The framed part of the strip: px from the frame's left to its right edge, at least wide enough to be seen. */
typedef struct framed {
    float x0, x1;
} framed;

static framed find_framed(const scene *s)
{
    rect r = s->m.overview;
    float x0 = snap(fmin(fmax(overview_x(s, s->v.t0), (double)r.x), (double)(r.x + r.w)));
    moment last = s->n_columns > 1 ? s->steps->columns[s->n_columns - 1].t1 : s->v.t1;
    float x1 = snap(fmin(fmax(overview_x(s, last), (double)r.x), (double)(r.x + r.w)));
    float least = px(s, 4);
    if (x1 - x0 < least) {
        x0 = fminf(fmaxf(floorf((x0 + x1 - least) / 2), r.x), r.x + r.w - least);
        x1 = x0 + least;
    }
    return (framed){x0, x1};
}

/* Beside an edge of the frame that would cross it, not under it. */
static float clear_of_edges(const scene *s, framed f, float x, float w)
{
    const float edges[] = {f.x0, f.x1};
    float room = px(s, 4);
    for (int i = 0; i < 2; i++) {
        x = x - room < edges[i] && x + w + room > edges[i] ? edges[i] + room : x;
    }
    return x;
}

/* Every n-th number is written where there is no room for all. */
static long long number_stride(scene *s)
{
    uint32_t n = s->rank_first_step[1] - s->rank_first_step[0];
    if (n < 2) {
        return 1;
    }
    const trace_step *first = &s->model->steps[s->rank_steps[s->rank_first_step[0]]];
    const trace_step *last = &s->model->steps[s->rank_steps[s->rank_first_step[1] - 1]];
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)last->index);
    double w = (double)(width_of(s, FACE_SANS_MEDIUM, 10, text) + px(s, 12));
    double length = overview_x(s, moment_at(last->start_ns)) - overview_x(s, moment_at(first->start_ns));
    return length > 0 ? step_stride((n - 1) / length, w) : 1;
}

/* Those in the frame stand out. */
static void draw_step_numbers(scene *s, rect bars, rect numbers)
{
    framed f = find_framed(s);
    float last_line = -1e9F;
    float last_text = -1e9F;
    long long stride = number_stride(s);
    for (uint32_t i = s->rank_first_step[0]; i < s->rank_first_step[1]; i++) {
        const trace_step *step = &s->model->steps[s->rank_steps[i]];
        float x = snap(overview_x(s, moment_at(step->start_ns)));
        if (x - last_line >= px(s, 6)) {
            draw_vline(s->l, LAYER_DATA, x, bars.y, bars.y + bars.h, s->t->ground);
            last_line = x;
        }
        if (step->index % stride != 0) {
            continue;
        }
        char text[32];
        (void)snprintf(text, sizeof text, "%lld", (long long)step->index);
        float w = width_of(s, FACE_SANS_MEDIUM, 10, text);
        float at_x = clear_of_edges(s, f, x + px(s, 3), w);
        if (at_x < last_text || at_x + w > numbers.x + numbers.w) {
            continue;
        }
        bool in_frame = at_x >= f.x0 && at_x + w <= f.x1 && f.x1 - f.x0 < numbers.w / 2;
        rect at = {at_x, numbers.y, w + 1, numbers.h};
        (void)put_text(s, LAYER_PANELS, in_frame ? FACE_SANS_MEDIUM : FACE_SANS, 10, at, TEXT_LEFT,
                       in_frame ? s->t->text : s->t->dim, text);
        last_text = at.x + w + px(s, 8);
    }
}

static void draw_window(scene *s)
{
    rect r = s->m.overview;
    framed f = find_framed(s);
    rgba veil = rgba_with_alpha(s->t->ground, 110);
    draw_rect(s->l, LAYER_MARKS, (rect){r.x, r.y, f.x0 - r.x, r.h}, veil);
    draw_rect(s->l, LAYER_MARKS, (rect){f.x1, r.y, r.x + r.w - f.x1, r.h}, veil);
    rect frame = {f.x0 - 1, r.y, f.x1 - f.x0 + 2, r.h};
    draw_round(s->l, LAYER_PANELS, frame, px(s, 3), rgba_with_alpha(s->t->accent, 18), fmaxf(1, px(s, 1.5)),
               s->t->accent);
}

static void draw_severity(scene *s, rect bars)
{
    float last = -1e9F;
    for (uint32_t i = 0; i < s->overview.n; i++) {
        float x = bars.x + (float)i + 0.5F;
        bool begins = i == 0 || s->overview.severity[i] > s->overview.severity[i - 1];
        if (s->overview.severity[i] < SEVERITY_ERROR || !begins || x - last < px(s, 10)) {
            continue;
        }
        float w = px(s, 3.5);
        float y = bars.y + px(s, 3);
        draw_triangle(s->l, LAYER_PANELS, (float[3]){x - w, x + w, x}, (float[3]){y, y, y + w * 1.4F}, s->t->severity);
        last = x;
    }
}

void draw_overview(scene *s)
{
    rect r = s->m.overview;
    if (r.h <= 0 || r.w < 1 || s->model->n_ranks == 0) {
        return;
    }
    bool steps = s->rank_first_step[1] > s->rank_first_step[0];
    rect bars = {r.x, r.y + px(s, 4), r.w, r.h - px(s, 4) - (steps ? px(s, NUMBERS_DP) : px(s, 4))};
    rect numbers = {r.x, bars.y + bars.h, r.w, r.y + r.h - bars.y - bars.h};
    update_sums(s, (uint32_t)r.w);
    draw_push_clip(s->l, (rect){r.x - 2, r.y - 1, r.w + 4, r.h + 2});
    draw_rect(s->l, LAYER_GROUND, bars, s->t->row);
    bool shares = !step_overview_draw(s, bars);
    if (shares) {
        draw_stack(s, bars);
    }
    if (steps) {
        draw_step_numbers(s, bars, numbers);
    }
    draw_window(s);
    if (shares) {
        draw_severity(s, bars);
    }
    draw_pop_clip(s->l);
    s->frame.complete = s->frame.complete && s->overview.complete;
}
