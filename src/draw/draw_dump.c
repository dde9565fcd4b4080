/* The draw list as text, and the check of its invariants. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/draw_list.h"

static const char *const layer_names[LAYER_COUNT] = {"ground", "data", "marks", "panels", "overlay", "top"};

/* The shortest decimal that reads back as the same float: exact, and a whole number of pixels stays whole. */
static void put_float(strbuf *out, float v)
{
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v) {
            break;
        }
    }
    strbuf_printf(out, " %s", strcmp(text, "-0") == 0 ? "0" : text);
}

static void put_floats(strbuf *out, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_float(out, v[i]);
    }
}

static void put_colour(strbuf *out, rgba c)
{
    strbuf_printf(out, " #%02x%02x%02x%02x", c.r, c.g, c.b, c.a);
}

static void put_head(strbuf *out, const char *kind, uint8_t layer, uint16_t clip)
{
    strbuf_printf(out, "%s %s clip %u", kind, layer < LAYER_COUNT ? layer_names[layer] : "?", clip);
}

static void dump_quads(const draw_list *l, uint8_t layer, strbuf *out)
{
    for (size_t i = 0; i < l->n_quads; i++) {
        const draw_quad *q = &l->quads[i];
        if (q->layer != layer) {
            continue;
        }
        put_head(out, "quad", layer, q->clip);
        put_floats(out, (const float[]){q->r.x, q->r.y, q->r.w, q->r.h}, 4);
        put_colour(out, q->fill);
        if (q->radius != 0) {
            strbuf_puts(out, " radius");
            put_float(out, q->radius);
        }
        if (q->border_width != 0) {
            strbuf_puts(out, " border");
            put_float(out, q->border_width);
            put_colour(out, q->border);
        }
        strbuf_puts(out, "\n");
    }
}

/* Equal neighbours are written once with their number: a strip has as many cells as the screen has columns. */
static void put_cells(strbuf *out, const draw_cell *cells, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t same = 1;
        while (i + same < n && memcmp(&cells[i], &cells[i + same], sizeof cells[i]) == 0) {
            same++;
        }
        draw_cell c = cells[i];
        if (c.klass == CELL_EMPTY) {
            strbuf_printf(out, " %zu*-", same);
        } else {
            strbuf_printf(out, " %zu*%u/%u", same, c.klass, c.occupancy);
        }
        if (c.flags) {
            strbuf_printf(out, "f%u", c.flags);
        }
        if (c.alpha != 255) {
            strbuf_printf(out, "a%u", c.alpha);
        }
        i += same;
    }
}

static bool has_cells(const draw_list *l, const draw_strip *s)
{
    return s->first_cell <= l->n_cells && s->n_cells <= l->n_cells - s->first_cell;
}

static void dump_strips(const draw_list *l, uint8_t layer, strbuf *out)
{
    for (size_t i = 0; i < l->n_strips; i++) {
        const draw_strip *s = &l->strips[i];
        if (s->layer != layer) {
            continue;
        }
        put_head(out, "strip", layer, s->clip);
        put_floats(out, (const float[]){s->r.x, s->r.y, s->r.w, s->r.h}, 4);
        strbuf_puts(out, s->full_height ? " full :" : " :");
        if (has_cells(l, s)) {
            put_cells(out, l->cells + s->first_cell, s->n_cells);
        }
        strbuf_puts(out, "\n");
    }
}

static void dump_bands(const draw_list *l, uint8_t layer, strbuf *out)
{
    for (size_t i = 0; i < l->n_bands; i++) {
        const draw_band *b = &l->bands[i];
        if (b->layer != layer) {
            continue;
        }
        put_head(out, "band", layer, b->clip);
        put_floats(out, (const float[]){b->y_top, b->y_bottom, b->x0, b->x1, b->x2, b->x3}, 6);
        put_colour(out, b->fill);
        strbuf_puts(out, "\n");
    }
}

static void dump_lines(const draw_list *l, uint8_t layer, strbuf *out)
{
    for (size_t i = 0; i < l->n_lines; i++) {
        const draw_line *line = &l->lines[i];
        if (line->layer != layer) {
            continue;
        }
        put_head(out, "line", layer, line->clip);
        put_floats(out, (const float[]){line->x0, line->y0, line->x1, line->y1, line->width}, 5);
        put_colour(out, line->colour);
        if (line->dash != 0) {
            strbuf_puts(out, " dash");
            put_float(out, line->dash);
        }
        strbuf_puts(out, "\n");
    }
}

static void dump_tris(const draw_list *l, uint8_t layer, strbuf *out)
{
    for (size_t i = 0; i < l->n_tris; i++) {
        const draw_tri *t = &l->tris[i];
        if (t->layer != layer) {
            continue;
        }
        put_head(out, "tri", layer, t->clip);
        put_floats(out, (const float[]){t->x[0], t->y[0], t->x[1], t->y[1], t->x[2], t->y[2]}, 6);
        put_colour(out, t->fill);
        strbuf_puts(out, "\n");
    }
}

static void dump_runs(const draw_list *l, uint8_t layer, strbuf *out)
{
    for (size_t i = 0; i < l->n_runs; i++) {
        const draw_run *r = &l->runs[i];
        if (r->layer != layer) {
            continue;
        }
        put_head(out, "text", layer, r->clip);
        strbuf_printf(out, " face %u size", r->face);
        put_float(out, r->size);
        strbuf_puts(out, " at");
        put_floats(out, (const float[]){r->x, r->y, r->width}, 3);
        put_colour(out, r->colour);
        strbuf_printf(out, " glyphs %u \"%s\"\n", r->n_glyphs, r->text < l->text.n ? l->text.s + r->text : "");
    }
}

void draw_list_dump(const draw_list *l, strbuf *out)
{
    strbuf_puts(out, "frame");
    put_floats(out, (const float[]){l->width, l->height, l->scale}, 3);
    strbuf_printf(out, " %s", l->theme ? l->theme->name : "-");
    put_colour(out, l->clear);
    strbuf_puts(out, "\n");
    for (size_t i = 1; i < l->n_clips; i++) {
        strbuf_printf(out, "clip %zu", i);
        put_floats(out, (const float[]){l->clips[i].x, l->clips[i].y, l->clips[i].w, l->clips[i].h}, 4);
        strbuf_puts(out, "\n");
    }
    for (uint8_t layer = 0; layer < (uint8_t)LAYER_COUNT; layer++) {
        dump_quads(l, layer, out);
        dump_strips(l, layer, out);
        dump_bands(l, layer, out);
        dump_lines(l, layer, out);
        dump_tris(l, layer, out);
        dump_runs(l, layer, out);
    }
}

static bool all_finite(const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) {
            return false;
        }
    }
    return true;
}

static bool finite_rect(rect r)
{
    return all_finite((const float[]){r.x, r.y, r.w, r.h}, 4);
}

static bool placed(const draw_list *l, uint16_t clip, uint8_t layer)
{
    return clip < l->n_clips && layer < LAYER_COUNT;
}

static const char *check_clips(const draw_list *l)
{
    for (size_t i = 0; i < l->n_clips; i++) {
        rect r = l->clips[i];
        if (!finite_rect(r) || r.w < 0 || r.h < 0) {
            return "a clip is not a finite rectangle";
        }
        if (r.w > 0 && r.h > 0 && (r.x < 0 || r.y < 0 || r.x + r.w > l->width || r.y + r.h > l->height)) {
            return "a clip reaches beyond the frame";
        }
    }
    return l->n_clip_stack == 1 ? NULL : "a clip was pushed and not popped";
}

static const char *check_quads(const draw_list *l)
{
    for (size_t i = 0; i < l->n_quads; i++) {
        const draw_quad *q = &l->quads[i];
        if (!placed(l, q->clip, q->layer)) {
            return "a quad's clip or layer is out of range";
        }
        if (!finite_rect(q->r) || !isfinite(q->radius) || !isfinite(q->border_width)) {
            return "a quad is not finite";
        }
        if (q->r.w < 0 || q->r.h < 0 || q->radius < 0 || q->border_width < 0) {
            return "a quad has a negative size";
        }
    }
    return NULL;
}

static const char *check_strips(const draw_list *l)
{
    for (size_t i = 0; i < l->n_strips; i++) {
        const draw_strip *s = &l->strips[i];
        if (!placed(l, s->clip, s->layer)) {
            return "a strip's clip or layer is out of range";
        }
        if (!finite_rect(s->r)) {
            return "a strip is not finite";
        }
        if (!has_cells(l, s) || s->r.w != (float)s->n_cells) {
            return "a strip's cells are not inside the list";
        }
        for (size_t k = 0; k < s->n_cells; k++) {
            draw_cell c = l->cells[s->first_cell + k];
            if (c.klass != CELL_EMPTY && (c.klass >= PALETTE_SIZE || c.occupancy == 0)) {
                return "a cell has no class of the palette or no occupancy";
            }
        }
    }
    return NULL;
}

static const char *check_bands(const draw_list *l)
{
    for (size_t i = 0; i < l->n_bands; i++) {
        const draw_band *b = &l->bands[i];
        if (!placed(l, b->clip, b->layer)) {
            return "a band's clip or layer is out of range";
        }
        if (!all_finite((const float[]){b->y_top, b->y_bottom, b->x0, b->x1, b->x2, b->x3}, 6)) {
            return "a band is not finite";
        }
        if (b->y_bottom < b->y_top || b->x1 < b->x0 || b->x3 < b->x2) {
            return "a band's edges are crossed";
        }
    }
    return NULL;
}

static const char *check_lines(const draw_list *l)
{
    for (size_t i = 0; i < l->n_lines; i++) {
        const draw_line *line = &l->lines[i];
        if (!placed(l, line->clip, line->layer)) {
            return "a line's clip or layer is out of range";
        }
        if (!all_finite((const float[]){line->x0, line->y0, line->x1, line->y1, line->width, line->dash}, 6)) {
            return "a line is not finite";
        }
    }
    for (size_t i = 0; i < l->n_tris; i++) {
        const draw_tri *t = &l->tris[i];
        if (!placed(l, t->clip, t->layer)) {
            return "a triangle's clip or layer is out of range";
        }
        if (!all_finite(t->x, 3) || !all_finite(t->y, 3)) {
            return "a triangle is not finite";
        }
    }
    return NULL;
}

static const char *check_runs(const draw_list *l)
{
    for (size_t i = 0; i < l->n_runs; i++) {
        const draw_run *r = &l->runs[i];
        if (!placed(l, r->clip, r->layer)) {
            return "a run's clip or layer is out of range";
        }
        if (r->first_glyph > l->n_glyphs || r->n_glyphs > l->n_glyphs - r->first_glyph || r->text >= l->text.n) {
            return "a run's glyphs or text are not inside the list";
        }
        if (!all_finite((const float[]){r->x, r->y, r->width, r->size}, 4)) {
            return "a run is not finite";
        }
    }
    for (size_t i = 0; i < l->n_glyphs; i++) {
        if (!isfinite(l->glyphs[i].x) || !isfinite(l->glyphs[i].y)) {
            return "a glyph is not finite";
        }
    }
    return NULL;
}

const char *draw_list_check(const draw_list *l)
{
    static const char *(*const checks[])(const draw_list *) = {check_clips, check_quads, check_strips,
                                                               check_bands, check_lines, check_runs};
    if (!(l->width > 0) || !(l->height > 0) || !(l->scale > 0) || !l->theme) {
        return "the frame has no size or no theme";
    }
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const char *breach = checks[i](l);
        if (breach) {
            return breach;
        }
    }
    return NULL;
}
