#include "render/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const size_t item_sizes[PACK_COUNT] = {
    [PACK_FLAT] = sizeof(pack_flat),   [PACK_ROUND] = sizeof(pack_round),   [PACK_STRIP] = sizeof(pack_strip),
    [PACK_BAND] = sizeof(pack_band),   [PACK_LINE] = sizeof(pack_line),     [PACK_TRI] = sizeof(pack_tri),
    [PACK_GLYPH] = sizeof(pack_glyph), [PACK_PIXELS] = sizeof(pack_pixels),
};

size_t pack_item_size(pack_kind kind)
{
    return item_sizes[kind];
}

void pack_deinit(pack *p)
{
    for (int i = 0; i < PACK_COUNT; i++) {
        free(p->arrays[i].items);
    }
    free(p->rows);
    free(p->cells);
    free(p->pixels);
    free(p->bar_colours);
    memset(p, 0, sizeof *p);
}

/* ---- arrays and batches ---- */

static void *push(pack *p, pack_kind kind)
{
    pack_array *a = &p->arrays[kind];
    if (a->n == a->cap) {
        a->cap = a->cap ? a->cap * 2 : 256;
        a->items = mem_realloc_array(a->items, a->cap, item_sizes[kind]);
    }
    return (char *)a->items + a->n++ * item_sizes[kind];
}

/* The batch that instances of `kind` join now: the open one, or a new one. */
static pack_batch *batch_of(pack *p, pack_kind kind)
{
    pack_batch *last = p->n_batches > 0 ? &p->batches[p->n_batches - 1] : NULL;
    if (last && last->kind == kind && last->first + last->n == p->arrays[kind].n) {
        return last;
    }
    MAREY_ASSERT(p->n_batches < PACK_MAX_BATCHES);
    p->batches[p->n_batches] = (pack_batch){.kind = kind, .first = (uint32_t)p->arrays[kind].n};
    return &p->batches[p->n_batches++];
}

static void *add(pack *p, pack_kind kind, bool blend)
{
    pack_batch *b = batch_of(p, kind);
    b->n++;
    b->blend = b->blend || blend;
    return push(p, kind);
}

/* ---- boxes ---- */

static int16_t whole(float v)
{
    float r = floorf(v + 0.5F);
    return (int16_t)(r > 32767 ? 32767 : (r > -32768 ? r : -32768));
}

static int16_t low(int16_t a, int16_t b)
{
    return a < b ? a : b;
}

static int16_t high(int16_t a, int16_t b)
{
    return a > b ? a : b;
}

static pack_box box_between(float x0, float y0, float x1, float y1)
{
    return (pack_box){whole(x0), whole(y0), whole(x1), whole(y1)};
}

static pack_box cut_box(pack_box a, pack_box b)
{
    return (pack_box){high(a.x0, b.x0), high(a.y0, b.y0), low(a.x1, b.x1), low(a.y1, b.y1)};
}

static bool is_empty(pack_box b)
{
    return b.x0 >= b.x1 || b.y0 >= b.y1;
}

static pack_box clip_box(const draw_list *l, uint16_t clip)
{
    if (clip >= l->n_clips) {
        return (pack_box){0, 0, 0, 0};
    }
    rect r = l->clips[clip];
    return box_between(r.x, r.y, r.x + r.w, r.y + r.h);
}

/* The sum of finite numbers is finite, and of anything else it is not (but for an overflow, which may go too). */
static bool finite_rect(rect r)
{
    return isfinite(r.x + r.y + r.w + r.h);
}

/* ---- quads ---- */

static bool is_whole(float v)
{
    return fabsf(v - floorf(v + 0.5F)) < 1.0F / 512;
}

static bool is_flat(const draw_quad *q)
{
    bool square = q->radius < 0.25F && (q->border_width <= 0 || q->border.a == 0);
    return square && is_whole(q->r.x) && is_whole(q->r.y) && is_whole(q->r.x + q->r.w) && is_whole(q->r.y + q->r.h);
}

static bool is_visible(const draw_quad *q)
{
    bool has_border = q->border_width > 0 && q->border.a > 0;
    return finite_rect(q->r) && isfinite(q->radius + q->border_width) && (q->fill.a > 0 || has_border);
}

static void add_flat(pack *p, const draw_list *l, const draw_quad *q)
{
    pack_box box = box_between(q->r.x, q->r.y, q->r.x + q->r.w, q->r.y + q->r.h);
    box = cut_box(box, clip_box(l, q->clip));
    if (!is_empty(box)) {
        *(pack_flat *)add(p, PACK_FLAT, q->fill.a < 255) = (pack_flat){box, q->fill};
    }
}

static void add_round(pack *p, const draw_list *l, const draw_quad *q)
{
    pack_box box = box_between(floorf(q->r.x), floorf(q->r.y), ceilf(q->r.x + q->r.w), ceilf(q->r.y + q->r.h));
    box = cut_box(box, clip_box(l, q->clip));
    if (is_empty(box) || q->r.w <= 0 || q->r.h <= 0) {
        return;
    }
    pack_round r = {.box = box, .half_w = q->r.w / 2, .half_h = q->r.h / 2, .fill = q->fill, .border = q->border};
    r.centre_x = q->r.x + r.half_w;
    r.centre_y = q->r.y + r.half_h;
    r.radius = fmaxf(fminf(q->radius, fminf(r.half_w, r.half_h)), 0);
    r.border_width = q->border.a > 0 || q->border_width <= 0 ? fmaxf(q->border_width, 0) : 0;
    *(pack_round *)add(p, PACK_ROUND, true) = r;
}

/*
 * Most quads are plain rectangles on whole pixels, which cost next to nothing to fill; the others need a distance per
 * pixel. A layer usually begins with its surfaces and ends with plain marks: these two stretches are drawn plainly,
 * what lies between them by the general program, so that the order holds with at most three draw calls.
 */
static void pack_quads(pack *p, const draw_list *l, uint8_t layer)
{
    size_t first = l->n_quads;
    size_t last = 0;
    for (size_t i = 0; i < l->n_quads; i++) {
        if (l->quads[i].layer == layer && !is_flat(&l->quads[i])) {
            first = first < i ? first : i;
            last = i;
        }
    }
    for (size_t i = 0; i < l->n_quads; i++) {
        const draw_quad *q = &l->quads[i];
        if (q->layer != layer || !is_visible(q)) {
            continue;
        }
        if (i < first || i > last) {
            add_flat(p, l, q);
        } else {
            add_round(p, l, q);
        }
    }
}

/* ---- strips, bands, triangles ---- */

/* A strip on whole pixels, cut to its clip. */
typedef struct placed_strip {
    pack_box box;
    int16_t x, top, floor;
    const draw_cell *cells;
    uint32_t n_cells;
} placed_strip;

enum { FIELD_MAX_GAP = 3 };

static bool place_strip(const draw_list *l, const draw_strip *s, placed_strip *out)
{
    bool inside = s->first_cell <= l->n_cells && s->n_cells <= l->n_cells - s->first_cell;
    bool small = l->n_cells < (size_t)PACK_CELL_COLUMNS * PACK_CELL_ROWS;
    if (!inside || !small || !finite_rect(s->r)) {
        return false;
    }
    out->x = whole(s->r.x);
    out->top = whole(s->r.y);
    out->floor = high(whole(s->r.y + s->r.h), (int16_t)(out->top + 1));
    out->cells = l->cells + s->first_cell;
    out->n_cells = s->n_cells;
    pack_box box = box_between(out->x, out->top, out->x + (float)s->n_cells, out->floor);
    out->box = cut_box(box, clip_box(l, s->clip));
    return !is_empty(out->box);
}

/* The lowest bar: of one pixel by one, what is rare would be taken for dust. */
static int least_bar(int height)
{
    return height >= 24 ? 3 : height >= 12 ? 2 : 1;
}

/*
 * A bar of the whole height times o / 255, rounded and at least the least one, reaches the pixel that is `above` pixels
 * from the floor when o exceeds this.
 */
static uint32_t occupancy_to_exceed(int above, int height)
{
    return above < least_bar(height) ? 0 : (uint32_t)((2 * above + 1) * 255 - 1) / (uint32_t)(2 * height);
}

static void push_row(pack *p, uint32_t cell, uint32_t exceed)
{
    VEC_PUSH(p->rows, p->n_rows, p->cap_rows, cell << 8 | exceed);
}

/* Copied, so that only the cells that are drawn from travel. @return where they lie */
static uint32_t push_cells(pack *p, const placed_strip *s)
{
    uint32_t first = (uint32_t)p->n_cells;
    VEC_RESERVE(p->cells, p->cap_cells, p->n_cells + s->n_cells);
    memcpy(p->cells + first, s->cells, s->n_cells * sizeof *s->cells);
    p->n_cells += s->n_cells;
    return first;
}

/* The instance that a strip may join: of the same columns, right above it and no more than a few pixels away. */
static pack_strip *field_for(pack *p, const placed_strip *s)
{
    const pack_batch *last = p->n_batches > 0 ? &p->batches[p->n_batches - 1] : NULL;
    pack_array *a = &p->arrays[PACK_STRIP];
    if (!last || last->kind != PACK_STRIP || a->n == 0) {
        return NULL;
    }
    pack_strip *f = (pack_strip *)a->items + a->n - 1;
    int gap = s->box.y0 - f->box.y1;
    bool same = f->x == s->x && f->box.x0 == s->box.x0 && f->box.x1 == s->box.x1;
    return same && gap >= 0 && gap <= FIELD_MAX_GAP ? f : NULL;
}

static void add_bars(pack *p, const placed_strip *s)
{
    pack_strip *f = field_for(p, s);
    uint32_t first = push_cells(p, s);
    if (f) {
        for (int y = f->box.y1; y < s->box.y0; y++) {
            push_row(p, first, PACK_NEVER_INKED);
        }
        f->box.y1 = s->box.y1;
    } else {
        *(pack_strip *)add(p, PACK_STRIP, true) = (pack_strip){s->box, s->x, s->box.y0, (float)p->n_rows, 0};
    }
    for (int y = s->box.y0; y < s->box.y1; y++) {
        push_row(p, first, occupancy_to_exceed(s->floor - 1 - y, s->floor - s->top));
    }
}

/* ---- strips as pixels ---- */

/* The instance of texels on pixels that rows from `box.y0` on continue; NULL: none. */
static pack_pixels *area_for(pack *p, pack_box box)
{
    pack_array *a = &p->arrays[PACK_PIXELS];
    const pack_batch *last = p->n_batches > 0 ? &p->batches[p->n_batches - 1] : NULL;
    if (!last || last->kind != PACK_PIXELS || a->n == 0) {
        return NULL;
    }
    pack_pixels *f = (pack_pixels *)a->items + a->n - 1;
    bool is_area = f->y1 - f->y0 == (float)(f->box.y1 - f->box.y0);
    return is_area && f->box.x0 == box.x0 && f->box.x1 == box.x1 && f->box.y1 == box.y0 ? f : NULL;
}

/* `n` more rows of texels. */
static uint32_t *push_pixel_rows(pack *p, size_t n)
{
    size_t wanted = (p->n_pixel_rows + n) * p->pixel_columns;
    if (wanted > p->cap_pixels) {
        size_t cap = 2 * wanted;
        uint32_t *pixels = mem_alloc_large(cap * sizeof *pixels);
        if (p->n_pixel_rows > 0) {
            memcpy(pixels, p->pixels, p->n_pixel_rows * p->pixel_columns * sizeof *pixels);
        }
        free(p->pixels);
        p->pixels = pixels;
        p->cap_pixels = cap;
    }
    p->n_pixel_rows += n;
    return p->pixels + (p->n_pixel_rows - n) * p->pixel_columns;
}

/* The newest rows of texels, pixel by pixel on `box`. */
static void add_area(pack *p, pack_box box)
{
    int height = box.y1 - box.y0;
    float row = (float)p->n_pixel_rows - (float)height;
    pack_pixels *f = area_for(p, box);
    if (f) {
        f->box.y1 = box.y1;
        f->y1 += (float)height;
    } else {
        float width = (float)(box.x1 - box.x0);
        *(pack_pixels *)add(p, PACK_PIXELS, true) = (pack_pixels){box, 0, row, width, row + (float)height};
    }
}

static void add_dimmed(pack *p, const placed_strip *s)
{
    size_t n = (size_t)(s->box.x1 - s->box.x0);
    pixels_from_cells(&p->palette, s->cells + (s->box.x0 - s->x), n, true, push_pixel_rows(p, 1));
    if (s->box.y1 - s->box.y0 == 1) {
        add_area(p, s->box);
    } else { /* the middle of one row of texels, all over its height */
        float row = (float)p->n_pixel_rows - 0.5F;
        *(pack_pixels *)add(p, PACK_PIXELS, true) = (pack_pixels){s->box, 0, row, (float)n, row};
    }
}

/* Strips of bars that lie over each other, as they would blend. */
static void add_stack(pack *p, const placed_strip *strips, size_t n_strips)
{
    pack_box box = strips[0].box;
    size_t n = (size_t)(box.x1 - box.x0);
    size_t height = (size_t)(box.y1 - box.y0);
    uint32_t *rows = push_pixel_rows(p, height);
    memset(rows, 0, height * p->pixel_columns * sizeof *rows);
    VEC_RESERVE(p->bar_colours, p->cap_bar_colours, n);
    for (size_t k = 0; k < n_strips; k++) {
        const placed_strip *s = &strips[k];
        const draw_cell *cells = s->cells + (box.x0 - s->x);
        pixels_from_cells(&p->palette, cells, n, false, p->bar_colours);
        for (size_t y = 0; y < height; y++) {
            uint32_t exceed = occupancy_to_exceed(s->floor - 1 - (box.y0 + (int)y), s->floor - s->top);
            pixels_lay_over(p->bar_colours, cells, n, (uint8_t)exceed, rows + y * p->pixel_columns);
        }
    }
    add_area(p, box);
}

/* ---- which way a strip goes ---- */

enum { MAX_STACK = 32 };

static bool same_place(const placed_strip *a, const placed_strip *b)
{
    return memcmp(&a->box, &b->box, sizeof a->box) == 0 && a->x == b->x && a->top == b->top && a->floor == b->floor;
}

/* The strips of bars of a layer that lie over each other, from the i-th on. @return the one after them */
static size_t take_stack(const draw_list *l, uint8_t layer, size_t i, placed_strip stack[MAX_STACK], size_t *n)
{
    *n = 0;
    for (; i < l->n_strips && *n < MAX_STACK; i++) {
        const draw_strip *s = &l->strips[i];
        if (s->layer != layer || s->full_height || !place_strip(l, s, &stack[*n])) {
            continue;
        }
        if (*n > 0 && !same_place(&stack[0], &stack[*n])) {
            break;
        }
        ++*n;
    }
    return i;
}

/* Do strips of bars become pixels, where `rows` are taken already? */
static bool become_pixels(const placed_strip *first, size_t n, size_t rows)
{
    size_t height = (size_t)(first->box.y1 - first->box.y0);
    return (n > 1 || height <= PACK_LOW_BARS) && rows + height <= PACK_PIXEL_ROWS;
}

/* Tall bars first, for they are the ground of what is low, if anything. */
static void pack_bars(pack *p, const draw_list *l, uint8_t layer, bool as_pixels)
{
    placed_strip stack[MAX_STACK];
    size_t n;
    size_t rows = p->n_pixel_rows; /* counted here, so that both ways decide alike */
    for (size_t i = 0; i < l->n_strips;) {
        i = take_stack(l, layer, i, stack, &n);
        bool pixels = n > 0 && become_pixels(stack, n, rows);
        rows += pixels ? (size_t)(stack[0].box.y1 - stack[0].box.y0) : 0;
        if (pixels && as_pixels) {
            add_stack(p, stack, n);
        }
        for (size_t k = 0; !pixels && !as_pixels && k < n; k++) {
            add_bars(p, &stack[k]);
        }
    }
}

static void pack_dimmed(pack *p, const draw_list *l, uint8_t layer)
{
    for (size_t i = 0; i < l->n_strips; i++) {
        placed_strip s;
        if (l->strips[i].layer == layer && l->strips[i].full_height && place_strip(l, &l->strips[i], &s)) {
            add_dimmed(p, &s);
        }
    }
}

/* A third of the way to the colour of severity: the class can still be told. */
static rgba toward(rgba c, rgba to)
{
    return (rgba){(uint8_t)((2 * c.r + to.r) / 3), (uint8_t)((2 * c.g + to.g) / 3), (uint8_t)((2 * c.b + to.b) / 3),
                  255};
}

static void find_colours(pack *p, const theme *t)
{
    if (p->theme != t && t) {
        for (int i = 0; i < PALETTE_SIZE; i++) {
            p->colours[i] = t->data[i];
            p->colours[PALETTE_SIZE + i] = toward(t->data[i], t->severity);
        }
        p->palette = pixel_palette_make(p->colours);
        p->theme = t;
    }
}

/* As wide as the widest strip that is seen. */
static size_t pixel_columns_for(const draw_list *l)
{
    size_t widest = 1;
    for (size_t i = 0; i < l->n_strips; i++) {
        placed_strip s;
        if (place_strip(l, &l->strips[i], &s)) {
            size_t width = (size_t)(s.box.x1 - s.box.x0);
            widest = width > widest ? width : widest;
        }
    }
    return widest;
}

static void pack_bands(pack *p, const draw_list *l, uint8_t layer)
{
    for (size_t i = 0; i < l->n_bands; i++) {
        const draw_band *b = &l->bands[i];
        bool finite = isfinite(b->y_top + b->y_bottom + b->x0 + b->x1 + b->x2 + b->x3);
        if (b->layer != layer || b->fill.a == 0 || !finite || b->y_bottom <= b->y_top) {
            continue;
        }
        pack_box clip = clip_box(l, b->clip);
        pack_box around =
            box_between(fminf(b->x0, b->x2) - 2, floorf(b->y_top), fmaxf(b->x1, b->x3) + 2, ceilf(b->y_bottom));
        if (!is_empty(cut_box(around, clip))) {
            *(pack_band *)add(p, PACK_BAND, true) =
                (pack_band){b->y_top, b->y_bottom, b->x0, b->x1, b->x2, b->x3, b->fill, clip};
        }
    }
}

static float least(const float v[3])
{
    return fminf(fminf(v[0], v[1]), v[2]);
}

static float most(const float v[3])
{
    return fmaxf(fmaxf(v[0], v[1]), v[2]);
}

static void pack_tris(pack *p, const draw_list *l, uint8_t layer)
{
    for (size_t i = 0; i < l->n_tris; i++) {
        const draw_tri *t = &l->tris[i];
        const float *x = t->x;
        const float *y = t->y;
        if (t->layer != layer || t->fill.a == 0 || !isfinite(x[0] + x[1] + x[2] + y[0] + y[1] + y[2])) {
            continue;
        }
        pack_box box = box_between(floorf(least(x)), floorf(least(y)), ceilf(most(x)), ceilf(most(y)));
        box = cut_box(box, clip_box(l, t->clip));
        float area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
        int b = area > 0 ? 1 : 2; /* the shader wants them clockwise on the screen */
        if (!is_empty(box) && area != 0) {
            *(pack_tri *)add(p, PACK_TRI, true) = (pack_tri){box, x[0], y[0], x[b], y[b], x[3 - b], y[3 - b], t->fill};
        }
    }
}

/* ---- lines ---- */

static bool is_axis_line(const draw_line *line)
{
    bool axis = line->x0 == line->x1 || line->y0 == line->y1;
    return axis && line->width >= 1 && is_whole(line->width);
}

/* An axis-parallel line of whole width covers whole pixels: its box. */
static pack_box line_box(const draw_line *line)
{
    float w = floorf(line->width + 0.5F);
    if (line->x0 == line->x1) {
        float x = floorf(line->x0 - w / 2 + 0.5F);
        return box_between(x, fminf(line->y0, line->y1), x + w, fmaxf(line->y0, line->y1));
    }
    float y = floorf(line->y0 - w / 2 + 0.5F);
    return box_between(fminf(line->x0, line->x1), y, fmaxf(line->x0, line->x1), y + w);
}

/* The same line with its ends and its middle where the box says. */
static draw_line snap_line(const draw_line *line)
{
    draw_line out = *line;
    pack_box box = line_box(line);
    bool upright = line->x0 == line->x1;
    bool forward = line->x0 <= line->x1 && line->y0 <= line->y1;
    float x0 = upright ? (box.x0 + box.x1) / 2.0F : box.x0;
    float x1 = upright ? x0 : box.x1;
    float y0 = upright ? box.y0 : (box.y0 + box.y1) / 2.0F;
    float y1 = upright ? box.y1 : y0;
    out.x0 = forward ? x0 : x1;
    out.x1 = forward ? x1 : x0;
    out.y0 = forward ? y0 : y1;
    out.y1 = forward ? y1 : y0;
    return out;
}

static void add_general_line(pack *p, const draw_list *l, const draw_line *line)
{
    draw_line n = is_axis_line(line) ? snap_line(line) : *line;
    pack_box clip = clip_box(l, line->clip);
    float margin = n.width / 2 + 1;
    pack_box around = box_between(fminf(n.x0, n.x1) - margin, fminf(n.y0, n.y1) - margin, fmaxf(n.x0, n.x1) + margin,
                                  fmaxf(n.y0, n.y1) + margin);
    if (!is_empty(cut_box(around, clip))) {
        *(pack_line *)add(p, PACK_LINE, true) =
            (pack_line){n.x0, n.y0, n.x1, n.y1, n.width, fmaxf(n.dash, 0), n.colour, clip};
    }
}

static void add_flat_line(pack *p, const draw_list *l, const draw_line *line)
{
    pack_box box = cut_box(line_box(line), clip_box(l, line->clip));
    if (!is_empty(box)) {
        *(pack_flat *)add(p, PACK_FLAT, line->colour.a < 255) = (pack_flat){box, line->colour};
    }
}

/* As with quads: plain ones first by the plain program, from the first other one on all by the general program. */
static void pack_lines(pack *p, const draw_list *l, uint8_t layer)
{
    bool general = false;
    for (size_t i = 0; i < l->n_lines; i++) {
        const draw_line *line = &l->lines[i];
        bool finite = isfinite(line->x0 + line->y0 + line->x1 + line->y1 + line->width + line->dash);
        if (line->layer != layer || line->colour.a == 0 || !finite || line->width <= 0) {
            continue;
        }
        general = general || line->dash > 0 || !is_axis_line(line);
        if (general) {
            add_general_line(p, l, line);
        } else {
            add_flat_line(p, l, line);
        }
    }
}

/* ---- glyphs ---- */

static void add_glyph(pack *p, pack_box clip, const draw_glyph *g, text_glyph at, rgba colour)
{
    float x = floorf(g->x) + at.left;
    float y = g->y - at.top;
    pack_box whole_box = box_between(x, y, x + at.w, y + at.h);
    pack_box box = cut_box(whole_box, clip);
    if (is_empty(box)) {
        return;
    }
    pack_glyph out = {.box = box, .page = at.page, .colour = colour};
    out.x = (uint16_t)(at.x + (box.x0 - whole_box.x0));
    out.y = (uint16_t)(at.y + (box.y0 - whole_box.y0));
    *(pack_glyph *)add(p, PACK_GLYPH, true) = out;
}

static void pack_glyphs(pack *p, const draw_list *l, text_ctx *t, uint8_t layer)
{
    for (size_t i = 0; i < l->n_runs; i++) {
        const draw_run *r = &l->runs[i];
        bool inside = r->first_glyph <= l->n_glyphs && r->n_glyphs <= l->n_glyphs - r->first_glyph;
        if (r->layer != layer || r->colour.a == 0 || !inside) {
            continue;
        }
        pack_box clip = clip_box(l, r->clip);
        const draw_glyph *g = l->glyphs + r->first_glyph;
        for (uint32_t k = 0; k < r->n_glyphs && !is_empty(clip); k++) {
            text_glyph at = text_atlas_glyph(t, g[k].glyph);
            if (at.w > 0 && isfinite(g[k].x + g[k].y)) {
                add_glyph(p, clip, &g[k], at, r->colour);
            }
        }
    }
}

void pack_build(pack *p, const draw_list *l, text_ctx *t)
{
    p->n_batches = 0;
    p->n_rows = 0;
    p->n_cells = 0;
    find_colours(p, l->theme);
    p->n_pixel_rows = 0;
    p->pixel_columns = pixel_columns_for(l);
    for (int i = 0; i < PACK_COUNT; i++) {
        p->arrays[i].n = 0;
    }
    for (uint8_t layer = 0; layer < (uint8_t)LAYER_COUNT; layer++) {
        pack_quads(p, l, layer);
        pack_bars(p, l, layer, false);
        pack_bars(p, l, layer, true);
        pack_dimmed(p, l, layer);
        pack_bands(p, l, layer);
        pack_lines(p, l, layer);
        pack_tris(p, l, layer);
        if (t) {
            pack_glyphs(p, l, t, layer);
        }
    }
}
