/* What the pointer rests on, in exact numbers. Where they would take too many blocks to read, the pyramid's, and so
 * said. */
#include <stdlib.h>
#include <string.h>

#include "scene/lines.h"
#include "scene/overlay.h"
#include "scene/tip.h"

enum { TIP_SHARES = 5, ARG_LINES = 6, FULL_NAME = 72 }; /* bytes */

tip_line *tip_add(tip *t, const char *name, const char *format, ...)
{
    static tip_line spare;
    tip_line *line = t->n < TIP_MAX_LINES ? &t->lines[t->n++] : &spare;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line->value, sizeof line->value, format, args);
    va_end(args);
    (void)snprintf(line->name, sizeof line->name, "%s", name);
    line->klass = CELL_EMPTY;
    return line;
}

static void add_time(tip *t, const char *name, int64_t ns)
{
    char text[64];
    time_format_exact(ns, text, sizeof text);
    (void)tip_add(t, name, "%s", text);
}

/* ------------------------------------------------------------------ one event */

static void copy_part(char *out, size_t cap, const char *s, size_t n)
{
    size_t len = n < cap - 4 ? n : cap - 4;
    while (len > 0 && len < n && ((unsigned char)s[len] & 0xC0) == 0x80) {
        len--; /* not inside a character */
    }
    memcpy(out, s, len);
    out[len] = '\0';
    if (len < n) {
        memcpy(out + len, "\xE2\x80\xA6", 4);
    }
}

/* End of the JSON value at s[i]: strings and brackets are skipped as wholes. */
static size_t value_end(const char *s, size_t n, size_t i)
{
    int depth = 0;
    for (; i < n; i++) {
        char c = s[i];
        if (c == '"') {
            for (i++; i < n && s[i] != '"'; i++) {
                i += s[i] == '\\';
            }
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']' || c == ',') && depth == 0) {
            return i;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return n;
}

/* The first arguments, one a line. The text is the input's own JSON. */
static void add_arguments(tip *t, const char *s, size_t n)
{
    size_t i = n > 0 && s[0] == '{' ? 1 : n;
    for (int shown = 0; i < n && s[i] != '}'; shown++) {
        while (i < n && (s[i] == ' ' || s[i] == ',' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r')) {
            i++;
        }
        size_t key = i + 1;
        size_t key_end = key;
        while (key_end < n && s[key_end] != '"') {
            key_end += 1U + (s[key_end] == '\\');
        }
        if (i >= n || s[i] != '"' || key_end >= n) {
            return;
        }
        i = key_end + 1;
        while (i < n && (s[i] == ':' || s[i] == ' ')) {
            i++;
        }
        size_t end = value_end(s, n, i);
        if (shown == ARG_LINES) {
            (void)tip_add(t, "", "a click shows all in the inspector");
            return;
        }
        char name[40];
        char value[90];
        bool quoted = end > i + 1 && s[i] == '"';
        copy_part(name, sizeof name, s + key, key_end - key);
        copy_part(value, sizeof value, s + i + quoted, end - i - 2U * quoted);
        (void)tip_add(t, name, "%s", value);
        i = end;
    }
}

static void add_collective(scene *s, tip *t, uint64_t row)
{
    store_collective c;
    const char *what = "";
    const char *dtype = "";
    bool found = false;
    if (store_read_collective(s->file, row, &c, &what, &dtype, &found, NULL) != MAREY_OK || !found) {
        return;
    }
    char bytes[48] = "";
    if (c.bytes >= 0) {
        bytes_format((uint64_t)c.bytes, bytes, sizeof bytes);
    }
    (void)tip_add(t, "collective", "%s%s%s%s%s", what, bytes[0] ? " \xC2\xB7 " : "", bytes,
                  dtype && dtype[0] ? " \xC2\xB7 " : "", dtype ? dtype : "");
    if (c.group < s->model->n_groups) {
        (void)tip_add(t, "group", "%s \xC2\xB7 %u ranks", s->model->groups[c.group].name,
                      s->model->groups[c.group].n_ranks);
    }
}

static void add_place(scene *s, tip *t, const ev *e)
{
    const trace_lane *lane = &s->model->lanes[s->model->tracks[e->track].lane];
    (void)tip_add(t, "on", "%s \xC2\xB7 %s", s->model->ranks[lane->rank].label, lane->name);
    int32_t step = step_at(s, lane->rank, e->start_ns);
    if (step >= 0) {
        (void)tip_add(t, "instance", "step %lld, occurrence %u", (long long)s->model->steps[step].index, e->instance);
    }
    if (e->flags & EVENT_UNFINISHED) {
        (void)tip_add(t, "lost", "no end in the input: drawn to the end of the recording");
    }
    if (e->flags & EVENT_REPAIRED) {
        (void)tip_add(t, "repaired", "a time of it was repaired");
    }
    if ((e->flags & EVENT_SEVERITY) >= SEVERITY_ERROR) {
        (void)tip_add(t, "severity", "%d of 15", e->flags & EVENT_SEVERITY);
    }
}

/* Where the title is shorter. */
static void add_full_name(tip *t, const char *name)
{
    size_t n = strlen(name);
    if (strcmp(t->title, name) == 0) {
        return;
    }
    size_t most = n < FULL_NAME ? n : FULL_NAME;
    while (most < n && most > 0 && ((unsigned char)name[most] & 0xC0) == 0x80) {
        most--;
    }
    (void)tip_add(t, "in full", "%.*s%s", (int)most, name, most < n ? "\xE2\x80\xA6" : "");
}

static void describe_event(scene *s, tip *t, const ev *e)
{
    const trace_model *m = s->model;
    const trace_name *name = &m->names[e->name];
    short_name(name->text, t->title, sizeof t->title);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%s \xC2\xB7 %s", trace_class_name((trace_class)e->klass),
                   name->category < m->n_categories ? m->categories[name->category].name : "");
    t->klass = e->klass;
    add_time(t, "start", e->start_ns);
    if (e->flags & EVENT_INSTANT) {
        (void)tip_add(t, "duration", "a point in time");
    } else {
        add_time(t, "duration", e->end_ns - e->start_ns);
    }
    add_place(s, t, e);
    add_full_name(t, name->text);
    add_collective(s, t, e->row);
    strbuf args = {0};
    if (store_read_args(s->file, e->row, &args, NULL) == MAREY_OK) {
        add_arguments(t, strbuf_str(&args), args.n);
    }
    strbuf_deinit(&args);
}

/* ------------------------------------------------------------------ several events in one column */

typedef struct column_numbers {
    event_window w;
    double length_ns; /* of the column */
    uint64_t count;
    int64_t longest_ns, busy_end, busy_ns;
    int64_t *share_ns, *share_end; /* by category */
    const trace_model *m;
} column_numbers;

static int64_t add_union(int64_t *end, int64_t a, int64_t b)
{
    a = a > *end ? a : *end;
    *end = b > *end ? b : *end;
    return b > a ? b - a : 0;
}

static bool visit_column(void *ctx, const ev *e)
{
    column_numbers *k = ctx;
    int64_t a = e->start_ns > k->w.ceil_ns ? e->start_ns : k->w.ceil_ns;
    int64_t b = e->end_ns < k->w.end_ns ? e->end_ns : k->w.end_ns;
    k->count++;
    k->longest_ns = e->end_ns - e->start_ns > k->longest_ns ? e->end_ns - e->start_ns : k->longest_ns;
    k->busy_ns += add_union(&k->busy_end, a, b);
    uint32_t category = k->m->names[e->name].category;
    if (category < k->m->n_categories) {
        k->share_ns[category] += add_union(&k->share_end[category], a, b);
    }
    return true;
}

static void add_shares(tip *t, const column_numbers *k)
{
    for (int shown = 0; shown < TIP_SHARES; shown++) {
        size_t best = 0;
        for (size_t i = 1; i < k->m->n_categories; i++) {
            best = k->share_ns[i] > k->share_ns[best] ? i : best;
        }
        if (k->m->n_categories == 0 || k->share_ns[best] <= 0) {
            return;
        }
        char text[48];
        time_format(k->share_ns[best], text, sizeof text);
        tip_line *line = tip_add(t, k->m->categories[best].name, "%s \xC2\xB7 %.1f %%", text,
                                 100 * (double)k->share_ns[best] / k->length_ns);
        line->klass = (uint8_t)k->m->categories[best].klass;
        k->share_ns[best] = 0;
    }
}

static bool describe_exactly(scene *s, tip *t, const scene_row *row, uint32_t column)
{
    uint32_t n = 0;
    uint32_t one = 0;
    const uint32_t *tracks = row_tracks(s, row, &n, &one);
    bool pending;
    event_window w = window_of_columns(&s->src.grid, column, (int64_t)column + 1);
    block_span *span = n > 0 ? column_span(s, group_of_events(s, tracks[0]), w, &pending) : NULL;
    if (!span) {
        return false;
    }
    size_t categories = s->model->n_categories + 1;
    column_numbers k = {.w = w, .length_ns = s->src.grid.step_ns, .m = s->model, .busy_end = INT64_MIN};
    k.share_ns = arena_alloc(&s->scratch, categories * sizeof *k.share_ns);
    k.share_end = arena_alloc(&s->scratch, categories * sizeof *k.share_end);
    for (size_t i = 0; i < categories; i++) {
        k.share_ns[i] = 0;
        k.share_end[i] = INT64_MIN;
    }
    visit_events(s, span, tracks, n, w, visit_column, &k);
    char count[48];
    char text[48];
    count_format(k.count, count, sizeof count);
    (void)snprintf(t->title, sizeof t->title, "%s event%s", count, k.count == 1 ? "" : "s");
    time_format(k.busy_ns, text, sizeof text);
    (void)tip_add(t, "busy (union)", "%s \xC2\xB7 %.1f %%", text, 100 * (double)k.busy_ns / k.length_ns);
    add_time(t, "longest", k.longest_ns);
    add_shares(t, &k);
    return true;
}

/* From the planes of the tiles behind the column: counts of starts, codes instead of values. */
typedef struct plane_numbers {
    uint64_t count;
    int64_t longest_ns;
    double share[CLASS_COUNT], busy, weight;
} plane_numbers;

static void add_planes(plane_numbers *k, const tile_slot *tile, size_t cell, double weight)
{
    k->count += lod_count_value(tile->planes[(size_t)PLANE_COUNT * TILE_CELLS + cell]);
    uint8_t longest = tile->planes[(size_t)PLANE_LONGEST * TILE_CELLS + cell];
    int64_t ns = tile->cells[cell].busy > 0 ? lod_dur_value(longest) : 0;
    k->longest_ns = ns > k->longest_ns ? ns : k->longest_ns;
    k->busy += weight * tile->planes[(size_t)PLANE_BUSY * TILE_CELLS + cell] / 255.0;
    k->weight += weight;
    for (size_t p = 0; p < CLASS_COUNT; p++) {
        k->share[p] += weight * tile->planes[p * TILE_CELLS + cell] / 255.0;
    }
}

static bool sum_planes(scene *s, const scene_row *row, uint32_t column, plane_numbers *k)
{
    uint32_t group = s->rank_events_group[row->rank];
    uint8_t r = row->kind == ROW_RANK ? R_RANK : R_TRACK;
    group_source *g = source_of(s, group, r);
    if (!g || g->mode != SOURCE_TILES) {
        return false;
    }
    uint32_t n = 0;
    uint32_t one = 0;
    const uint32_t *tracks = row_tracks(s, row, &n, &one);
    uint32_t tile_row =
        r == R_RANK ? row->rank - store_group_at(s->file, group).first_rank : s->model->tracks[tracks[0]].row;
    bin_range b = g->map->ranges[column];
    for (uint32_t i = b.first; i <= last_bin(b); i++) {
        int64_t bin = g->map->first_bin + (int64_t)i;
        uint64_t col = (uint64_t)bin / TILE_BINS[r] - (uint64_t)g->first_col;
        if (bin < 0 || col >= g->n_cols || tile_row / TILE_ROWS[r] >= g->n_row_blocks) {
            continue;
        }
        const tile_slot *slot = slot_of(s, g, tile_row / TILE_ROWS[r], (uint32_t)col);
        if (slot->state == SLOT_READY && slot->planes) {
            size_t cell = (size_t)(tile_row % TILE_ROWS[r]) * TILE_BINS[r] + (size_t)((uint64_t)bin % TILE_BINS[r]);
            double weight = i == b.first ? b.first_weight : i == last_bin(b) ? b.last_weight : g->map->middle_weight;
            add_planes(k, slot, cell, weight / 256);
        }
    }
    return k->weight > 0;
}

static void describe_roughly(scene *s, tip *t, const scene_row *row, uint32_t column, double span_ns)
{
    plane_numbers k = {0};
    if (!sum_planes(s, row, column, &k)) {
        (void)snprintf(t->title, sizeof t->title, "several events");
        return;
    }
    char text[48];
    count_format_short(k.count, text, sizeof text);
    (void)snprintf(t->title, sizeof t->title, "about %s events", text);
    time_format((int64_t)(k.busy * span_ns), text, sizeof text);
    (void)tip_add(t, "busy (union)", "about %s \xC2\xB7 %.1f %%", text, 100 * k.busy);
    time_format(k.longest_ns, text, sizeof text);
    (void)tip_add(t, "longest", "at most %s", text);
    for (int shown = 0; shown < TIP_SHARES; shown++) {
        uint8_t best = 0;
        for (uint8_t c = 1; c < CLASS_COUNT; c++) {
            best = k.share[c] > k.share[best] ? c : best;
        }
        if (k.share[best] <= 0) {
            return;
        }
        tip_line *line = tip_add(t, trace_class_name((trace_class)best), "about %.1f %%", 100 * k.share[best]);
        line->klass = best;
        k.share[best] = 0;
    }
}

static void describe_column(scene *s, tip *t, const scene_row *row, uint32_t column)
{
    double length = s->src.grid.step_ns;
    moment begin = grid_moment(&s->src.grid, column);
    t->klass = CELL_EMPTY;
    if (!describe_exactly(s, t, row, column)) {
        describe_roughly(s, t, row, column, length);
    }
    char a[64];
    char width[64];
    moment_label(begin, (double)begin.ns, length, a, sizeof a);
    time_label(length, fmax(length / 100, 0.001), width, sizeof width);
    char where[96] = "";
    if (row->kind == ROW_RANK && row->id < s->model->n_ranks) {
        (void)snprintf(where, sizeof where, "%.80s \xC2\xB7 ", s->model->ranks[row->id].label);
    } else if (row->kind == ROW_LANE && row->id < s->model->n_lanes) {
        (void)snprintf(where, sizeof where, "%.80s \xC2\xB7 ", s->model->lanes[row->id].name);
    }
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%sone pixel column: %s from %s", where, width, a);
}

/* ------------------------------------------------------------------ groups */

/* How many of the group's ranks run in the column, and how many all through it. */
static void add_running(scene *s, tip *t, const rank_group *g, uint32_t column)
{
    enum { WHOLE = 243 };
    uint32_t some = 0;
    uint32_t whole = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t rank = s->tree.group_ranks[g->first + i];
        scene_row one = {.kind = ROW_RANK, .id = rank, .rank = rank, .group = s->tree.rank_group[rank]};
        const draw_cell *c = &raster_row(s, &one)->cells[column];
        some += c->klass != CELL_EMPTY;
        whole += c->klass != CELL_EMPTY && c->occupancy >= WHOLE;
    }
    (void)tip_add(t, "running", "%u of %u ranks, %u of them all the time", some, g->n, whole);
}

static void add_edge(tip *t, const char *name, const scene *s, const nested_band *b, nested_edge first)
{
    char text[2][64];
    double mean = b->x[first + 1] - b->x[first];
    double last = b->x[first + 2] - b->x[first];
    time_format((int64_t)(mean * s->src.grid.step_ns), text[0], sizeof text[0]);
    time_format((int64_t)(last * s->src.grid.step_ns), text[1], sizeof text[1]);
    (void)tip_add(t, name, "the mean %s, the last %s after the first", text[0], text[1]);
}

static void add_nested(tip *t, const scene *s, const rank_group *g, const nested_band *b)
{
    (void)tip_add(t, "in it", "%u of %u ranks", b->n, g->n);
    if (b->n_merged > 1) {
        double extent = b->x[NESTED_END_MEAN] - b->x[NESTED_START_MEAN];
        (void)tip_add(t, "merged", "%u instances, %.0f %% of the time in one", b->n_merged,
                      extent > 0 ? fmin(100, 100 * b->busy_px / extent) : 100);
    }
    add_edge(t, "starts", s, b, NESTED_START_MIN);
    add_edge(t, "ends", s, b, NESTED_END_MIN);
}

/* Between rows: what the band joins. */
static bool describe_band(scene *s, tip *t)
{
    const band *b =
        inside(s->m.plot, s->in.cursor_x, s->in.cursor_y) ? band_at(s, s->in.cursor_x, s->in.cursor_y) : NULL;
    store_event_info e;
    if (!b || store_read_event(s->file, b->event_row, &e, NULL) != MAREY_OK) {
        return false;
    }
    char text[3][64];
    t->klass = b->klass;
    (void)snprintf(t->title, sizeof t->title, "%s", s->model->names[e.name].text);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "joins two neighbouring ranks%s",
                   b->outlier ? " \xC2\xB7 beyond 5 MAD of its peers" : "");
    if (b->n > 1) {
        double width = 0.5 * (b->x1 - b->x0 + b->x3 - b->x2);
        (void)tip_add(t, "merged", "%u instances of the class, the first is named", b->n);
        (void)tip_add(t, "occupancy", "%.0f %%", width > 0 ? fmin(100, 100 * b->busy_px / width) : 100);
    }
    time_format(b->least_ns, text[0], sizeof text[0]);
    time_format((int64_t)(b->sum_ns / (b->n > 0 ? b->n : 1)), text[1], sizeof text[1]);
    time_format(b->most_ns, text[2], sizeof text[2]);
    (void)tip_add(t, "duration", "%s to %s, mean %s", text[0], text[2], text[1]);
    return true;
}

static void describe_group(scene *s, tip *t, const scene_row *row, uint32_t column)
{
    const row_raster *r = raster_group(s, row);
    const rank_group *g = &s->tree.groups[row->id];
    (void)snprintf(t->title, sizeof t->title, "%s", g->name);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%u ranks in one pixel column", g->n);
    t->klass = r->cells[column].klass;
    double idle = 0;
    (void)tip_add(t, "busiest rank", "%.0f %%", r->cells[column].occupancy / 2.55);
    (void)tip_add(t, "mean", "%.0f %%", r->mean[column].occupancy / 2.55);
    idle = r->least[column].klass == CELL_EMPTY ? 0 : r->least[column].occupancy / 2.55;
    (void)tip_add(t, "least busy rank", "%.0f %%", idle);
    if (s->model->n_ranks <= s->many_ranks) {
        add_running(s, t, g, column);
    }
    const nested_band *b = nested_at(s, (size_t)(row - s->tree.rows), s->in.cursor_x);
    if (b) {
        add_nested(t, s, g, b);
    }
}

static void describe_counter(scene *s, tip *t, const scene_row *row)
{
    const trace_counter *c = &s->model->counters[row->id];
    (void)snprintf(t->title, sizeof t->title, "%s", c->name);
    t->klass = CELL_EMPTY;
    (void)tip_add(t, "lowest", "%g", c->min);
    (void)tip_add(t, "highest", "%g", c->max);
}

/* ------------------------------------------------------------------ drawing */

static void tip_size(scene *s, const tip *t, float *w, float *h, float *names)
{
    float most = fmaxf(width_of(s, FACE_SANS_MEDIUM, 13, t->title), width_of(s, FACE_SANS, 11.5, t->subtitle));
    most += t->klass == CELL_EMPTY ? 0 : px(s, 16);
    *names = 0;
    for (int i = 0; i < t->n; i++) {
        float name = width_of(s, FACE_SANS, 11.5, t->lines[i].name) + (t->lines[i].klass == CELL_EMPTY ? 0 : px(s, 14));
        *names = fmaxf(*names, name);
    }
    *names += *names > 0 ? px(s, 16) : 0;
    for (int i = 0; i < t->n; i++) {
        most = fmaxf(most, *names + width_of(s, FACE_SANS, 11.5, t->lines[i].value));
    }
    float room = s->m.frame.w - px(s, 16);
    *w = ceilf(fminf(fminf(most + px(s, 26), px(s, 460)), room));
    *h = px(s, 16) + px(s, 20) + (t->subtitle[0] ? px(s, 18) : 0) + (t->n > 0 ? px(s, 6) : 0) + px(s, 18) * (float)t->n;
}

/* Beside the pointer, on the side that has room. */
static rect tip_place(const scene *s, float w, float h)
{
    float x = (float)floor(s->in.cursor_x) + px(s, 14);
    float y = (float)floor(s->in.cursor_y) + px(s, 16);
    if (x + w > s->m.frame.w - px(s, 8)) {
        x = (float)floor(s->in.cursor_x) - px(s, 14) - w;
    }
    if (y + h > s->m.frame.h - px(s, 8)) {
        y = (float)floor(s->in.cursor_y) - px(s, 12) - h;
    }
    x = fmaxf(px(s, 8), fminf(x, s->m.frame.w - w - px(s, 8)));
    y = fmaxf(px(s, 8), fminf(y, s->m.frame.h - h - px(s, 8)));
    return (rect){x, y, w, h};
}

static void draw_swatch(scene *s, float x, float y, float h, uint8_t klass)
{
    float size = px(s, 8);
    rect r = {x, floorf(y + (h - size) / 2), size, size};
    draw_round(s->l, LAYER_TOP, r, px(s, 2), s->t->data[klass % PALETTE_SIZE], 0, (rgba){0, 0, 0, 0});
}

static void draw_tip_lines(scene *s, const tip *t, rect r, float y, float names)
{
    float line = px(s, 18);
    float pad = px(s, 12);
    for (int i = 0; i < t->n; i++, y += line) {
        const tip_line *k = &t->lines[i];
        float x = r.x + pad;
        if (k->klass != CELL_EMPTY) {
            draw_swatch(s, x, y, line, k->klass);
            x += px(s, 14);
        }
        (void)put_text(s, LAYER_TOP, FACE_SANS, 11.5, (rect){x, y, names, line}, TEXT_LEFT, s->t->dim, k->name);
        rect value = {r.x + pad + names, y, r.w - 2 * pad - names, line};
        (void)put_text(s, LAYER_TOP, FACE_SANS, 11.5, value, TEXT_LEFT, s->t->text, k->value);
    }
}

void tip_draw(scene *s, const tip *t)
{
    float w;
    float h;
    float names;
    tip_size(s, t, &w, &h, &names);
    rect r = tip_place(s, w, h);
    draw_round(s->l, LAYER_OVERLAY, r, px(s, 5), s->t->raised, fmaxf(1, px(s, 1)), s->t->line);
    float pad = px(s, 12);
    float y = r.y + px(s, 8);
    float x = r.x + pad;
    if (t->klass != CELL_EMPTY) {
        draw_swatch(s, x, y, px(s, 20), t->klass);
        x += px(s, 16);
    }
    rect title = {x, y, r.x + r.w - pad - x, px(s, 20)};
    (void)put_text(s, LAYER_TOP, FACE_SANS_MEDIUM, 13, title, TEXT_LEFT, s->t->text, t->title);
    y += px(s, 20);
    if (t->subtitle[0]) {
        (void)put_text(s, LAYER_TOP, FACE_SANS, 11.5, (rect){x, y, title.w, px(s, 18)}, TEXT_LEFT, s->t->dim,
                       t->subtitle);
        y += px(s, 18);
    }
    draw_tip_lines(s, t, r, y + px(s, 6), names);
}

void draw_hover(scene *s)
{
    const hover_state *h = &s->hover;
    if (!h->valid || s->v.show_help) {
        return;
    }
    tip *t = arena_alloc(&s->scratch, sizeof *t);
    memset(t, 0, sizeof *t);
    const scene_row *row = &s->tree.rows[h->row];
    uint32_t column = (uint32_t)((double)h->x - (double)s->m.plot.x);
    rect strip = row_strip_rect(s, row);
    bool on_strip = h->y >= strip.y && h->y < strip.y + strip.h;
    if (row->kind == ROW_RANK && !on_strip && (overlay_describe(s, t, row) || describe_band(s, t))) {
        tip_draw(s, t);
        return;
    }
    if (row->kind == ROW_COUNTER) {
        describe_counter(s, t, row);
    } else if (row->kind == ROW_GROUP) {
        if (raster_group(s, row)->cells[column].klass == CELL_EMPTY) {
            return;
        }
        describe_group(s, t, row, column);
    } else if (h->has_event && (h->n_events == 1 || event_is_wide(s, &h->event))) {
        describe_event(s, t, &h->event);
    } else if (h->in_column) {
        describe_column(s, t, row, column);
    } else if (row->kind == ROW_RANK) {
        (void)snprintf(t->title, sizeof t->title, "%s", s->model->ranks[row->id].label);
        t->klass = CELL_EMPTY;
    } else {
        return;
    }
    if (lines_add_tip(s, t, row, column) > 0 || h->in_column || row->kind != ROW_RANK) {
        tip_draw(s, t);
    }
}
