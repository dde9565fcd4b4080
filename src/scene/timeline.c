/* Rows on the plot: where their strips lie, the labels inside wide events, counters as areas. */
#include <string.h>

#include "scene/overlay.h"

enum { MAX_EVENT_LABELS = 700 };
static const double LABEL_MIN_DP = 26;
static const double LABEL_SIZE_DP = 11;

static const double TALL_ROW_DP = 112;

rect row_strip_rect(const scene *s, const scene_row *row)
{
    double top = (double)s->m.plot.y + row->y - s->scroll;
    double inset = 0;
    double scale = (double)s->m.s;
    if (s->v.layout == LAYOUT_MAREY && row->kind == ROW_RANK && row->h >= 12 * scale) {
        double high = fmax(0, row->h - TALL_ROW_DP * scale); /* of what tall rows have more, bands get most */
        inset = (row->h - high) * (1 - 24.0 / 38) / 2 + high * 0.3;
        inset *= overlay_lane(s, row) > 0 ? 0.4 : 1;
    } else if (row->kind == ROW_TRACK || (row->kind == ROW_LANE && row->is_open)) {
        inset = 0.5 * scale; /* nesting reads as one block */
    } else if (row->h >= 14 * scale) {
        inset = row->h >= 24 * scale ? 3 * scale : 2 * scale;
    } else if (row->h >= 5 * scale) {
        inset = 0.5 * scale;
    }
    float y0 = snap(top + inset) + overlay_lane(s, row);
    float y1 = snap(top + row->h - inset);
    return (rect){s->m.plot.x, y0, s->m.plot.w, fmaxf(1, y1 - y0)};
}

/* ------------------------------------------------------------------ counters */

static const store_sample *samples_of(scene *s, uint32_t counter, size_t *n)
{
    enum { MAX_SAMPLES = 1 << 22 };
    if (!s->samples[counter] && s->model->counters[counter].n_samples <= MAX_SAMPLES) {
        if (store_read_samples(s->file, counter, &s->samples[counter], &s->n_samples[counter], s->d) != MAREY_OK) {
            s->n_samples[counter] = 0;
        }
    }
    *n = s->n_samples[counter];
    return s->samples[counter];
}

/* The first sample at or after t. */
static size_t sample_from(const store_sample *v, size_t n, int64_t t_ns)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (v[middle].ts_ns < t_ns) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

/* A sample holds until the next; a column shows the largest value that held inside it. */
static void fill_counter(const scene *s, const trace_counter *c, const store_sample *v, size_t n, draw_cell *cells)
{
    double low = fmin(0, c->min);
    double range = c->max - low;
    size_t at = sample_from(v, n, edge_floor_ns(&s->src.grid, 0) + 1); /* after the window begins */
    for (uint32_t i = 0; i < s->src.grid.n; i++) {
        double most = at > 0 ? v[at - 1].value : low;
        bool any = at > 0;
        size_t stop = sample_from(v + at, n - at, edge_ceil_ns(&s->src.grid, (int64_t)i + 1)) + at;
        for (; at < stop; at++) {
            most = any ? fmax(most, v[at].value) : v[at].value;
            any = true;
        }
        if (any && range > 0 && (double)c->max >= low) {
            double share = 255 * (most - low) / range;
            cells[i] = (draw_cell){CLASS_OTHER, share < 1 ? 1 : share > 255 ? 255 : (uint8_t)share, 0, 200};
        }
    }
}

void draw_counter_row(scene *s, const scene_row *row)
{
    size_t n = 0;
    rect r = row_strip_rect(s, row);
    draw_rect(s->l, LAYER_GROUND, r, s->t->row);
    const store_sample *v = samples_of(s, row->id, &n);
    if (v && n > 0) {
        draw_cell *cells = draw_add_strip(s->l, LAYER_DATA, r, s->src.grid.n, false);
        fill_counter(s, &s->model->counters[row->id], v, n, cells);
    }
}

/* ------------------------------------------------------------------ labels inside events */

typedef struct label_box {
    float x0, x1;
} label_box;

static bool label_room(const scene *s, const wide_event *w, float from, label_box *out)
{
    double x0 = fmax(x_of(s, w->e.start_ns), (double)s->m.plot.x);
    double x1 = fmin(x_of(s, w->e.end_ns), (double)(s->m.plot.x + s->m.plot.w));
    out->x0 = (float)x0;
    out->x1 = (float)x1;
    return x1 - x0 >= LABEL_MIN_DP * (double)s->m.s && out->x0 >= from;
}

/* What lies under the label is this event, not another of the row that took more of the column. */
static bool owns_columns(const scene *s, const row_raster *r, const wide_event *w, label_box b)
{
    uint32_t middle = (uint32_t)((b.x0 + b.x1) / 2 - s->m.plot.x);
    uint32_t left = (uint32_t)(b.x0 + 3 - s->m.plot.x);
    return middle < r->n && left < r->n && r->cells[middle].klass == w->e.klass && r->cells[left].klass == w->e.klass &&
           r->cells[middle].occupancy > 200;
}

/* NCCL's kernels say what they do behind a prefix, and then reduction, type and algorithm: 0, or where that begins. */
static size_t collective_at(const char *name)
{
    static const char *const prefixes[] = {"ncclDevKernel_", "ncclKernel_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) == 0 && name[n] >= 'A' && name[n] <= 'Z') {
            return n;
        }
    }
    return 0;
}

static const char anonymous[] = "(anonymous namespace)";

/* Where template arguments and parameters begin. */
static size_t call_end(const char *name, size_t from)
{
    size_t end = from + strcspn(name + from, "<(");
    while (strncmp(name + end, anonymous, sizeof anonymous - 1) == 0) {
        end += sizeof anonymous - 1;
        end += strcspn(name + end, "<(");
    }
    return end;
}

/* Only what ends like a call is one: other names stay as they are. Collectives are called by what they do. A namespace
 * without a name is not worth its words. */
void short_name(const char *name, char *out, size_t cap)
{
    size_t n = strlen(name);
    size_t from = strncmp(name, "void ", 5) == 0 ? 5 : 0;
    bool is_call = n > 0 && name[n - 1] == ')';
    size_t end = n;
    if (is_call) {
        end = call_end(name, from);
        end = end == from ? n : end;
        const char *unnamed = strstr(name + from, anonymous);
        if (unnamed && unnamed[sizeof anonymous - 1] == ':' && unnamed + sizeof anonymous + 1 < name + end) {
            from = (size_t)(unnamed - name) + sizeof anonymous + 1; /* from behind its colons on */
        }
    }
    size_t collective = collective_at(name);
    if (collective > 0) {
        from = collective;
        end = from + strcspn(name + from, "_<(");
    }
    size_t len = end - from < cap - 1 ? end - from : cap - 1;
    while (len > 0 && len < end - from && ((unsigned char)name[from + len] & 0xC0) == 0x80) {
        len--;
    }
    memcpy(out, name + from, len);
    out[len] = '\0';
}

/* Cut to a few letters a name says nothing: then the colour alone speaks. */
static bool worth_cutting(scene *s, const char *text, float room)
{
    return room >= px(s, 64) || width_of(s, FACE_SANS, LABEL_SIZE_DP, text) <= room;
}

uint32_t label_end(const draw_cell *cells, uint32_t from, uint32_t to)
{
    uint32_t i = from;
    while (i < to && cells[i].alpha == cells[from].alpha) {
        i++;
    }
    return i;
}

rgba label_colour_on(const scene *s, uint8_t klass, const draw_cell *cell)
{
    return cell && cell->alpha < 200 ? s->t->text : theme_label_colour(s->t, s->t->data[klass % PALETTE_SIZE]);
}

/* Where other work, none, or the beginnings of events show through for more than an eighth of the label, it can't be
 * read. */
static bool can_be_read(const scene *s, const row_raster *r, const wide_event *w, float x, float width)
{
    uint32_t from = (uint32_t)(x - s->m.plot.x);
    uint32_t to = (uint32_t)(x + width - s->m.plot.x);
    uint32_t others = 0;
    for (uint32_t i = from; i < to && i < r->n; i++) {
        const draw_cell *c = &r->cells[i];
        others += c->klass != w->e.klass || c->occupancy < 128 || (c->flags & CELL_EDGE);
    }
    return others * 8 <= to - from;
}

static void draw_event_label(scene *s, const row_raster *r, const wide_event *w, rect box, const draw_cell *cells)
{
    char name[256];
    short_name(s->model->names[w->e.name].text, name, sizeof name);
    float width = fminf(width_of(s, FACE_SANS, LABEL_SIZE_DP, name), box.w);
    uint32_t at = (uint32_t)(box.x - s->m.plot.x);
    if (!can_be_read(s, r, w, box.x, width)) {
        return;
    }
    if (cells) {
        box.w = fminf(box.w, (float)(label_end(cells, at, at + (uint32_t)box.w) - at));
    }
    if (worth_cutting(s, name, box.w)) {
        const draw_cell *under = cells ? &cells[at] : NULL;
        rgba c = label_colour_on(s, w->e.klass, under);
        (void)put_text(s, LAYER_MARKS, FACE_SANS, LABEL_SIZE_DP, box, TEXT_LEFT, c, name);
    }
}

void draw_wide_labels(scene *s, size_t row)
{
    const row_raster *r = raster_row(s, &s->tree.rows[row]);
    rect strip = row_strip_rect(s, &s->tree.rows[row]);
    const draw_cell *cells = row_strip_cells(s, row);
    float from = s->m.plot.x;
    float pad = px(s, 5);
    if (!text_fits_in(s, strip, s->m.plot)) {
        return;
    }
    for (size_t i = 0; i < r->n_wide; i++) {
        const wide_event *w = &r->wide[i];
        label_box b;
        if (label_room(s, w, from, &b) && owns_columns(s, r, w, b)) {
            rect box = {b.x0 + pad, strip.y, b.x1 - b.x0 - 2 * pad, strip.h};
            draw_event_label(s, r, w, box, cells);
            from = b.x1;
        }
    }
}

void draw_all_labels(scene *s)
{
    size_t budget = MAX_EVENT_LABELS;
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        rect strip = row_strip_rect(s, row);
        bool named = row->kind == ROW_RANK || row->kind == ROW_LANE || row->kind == ROW_TRACK;
        if (!named || strip.h < px(s, 11) || budget == 0) {
            continue;
        }
        size_t before = s->l->n_runs;
        draw_wide_labels(s, i);
        size_t used = s->l->n_runs - before;
        budget -= used < budget ? used : budget;
    }
}
