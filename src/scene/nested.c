/*
 * Nested bands of stage and host rows: one instance over all ranks of the group, as the extents of its starts and its
 * ends. From the first start to the last end somebody is in it; from the mean start to the mean end, a typical rank;
 * from the last start to the first end, all of them. What runs inside lies on top, as strips (grouprow.c).
 */
#include <stdlib.h>
#include <string.h>

#include "scene/marey.h"

enum { NESTED_INSTANCES = 20000, OUTER_ALPHA = 102, INNER_ALPHA = 242 };

/* A row of thousands of ranks is told by its strips alone: first and last of that many instances say little more. */
static bool is_affordable(const scene *s)
{
    size_t ranks = 0;
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        ranks += row->kind == ROW_GROUP ? s->tree.groups[row->id].n : 0;
    }
    return ranks > 0 && ranks <= 512;
}

size_t nested_from(const instance_list *l, nested_band **out, size_t n, size_t *cap)
{
    for (size_t i = 0; i < l->n;) {
        const instance *first = &l->items[i];
        nested_band b = {.row = first->row, .klass = first->e.klass, .key = first->key, .n_merged = 1};
        b.x[NESTED_START_MIN] = b.x[NESTED_END_MIN] = INFINITY;
        b.x[NESTED_START_MAX] = b.x[NESTED_END_MAX] = -INFINITY;
        for (; i < l->n && l->items[i].key == first->key && l->items[i].row == first->row; i++) {
            const instance *k = &l->items[i];
            b.x[NESTED_START_MIN] = fmin(b.x[NESTED_START_MIN], k->x0);
            b.x[NESTED_START_MAX] = fmax(b.x[NESTED_START_MAX], k->x0);
            b.x[NESTED_END_MIN] = fmin(b.x[NESTED_END_MIN], k->x1);
            b.x[NESTED_END_MAX] = fmax(b.x[NESTED_END_MAX], k->x1);
            b.x[NESTED_START_MEAN] += k->x0;
            b.x[NESTED_END_MEAN] += k->x1;
            b.n++;
        }
        b.x[NESTED_START_MEAN] /= b.n;
        b.x[NESTED_END_MEAN] /= b.n;
        b.busy_px = b.x[NESTED_END_MEAN] - b.x[NESTED_START_MEAN];
        VEC_PUSH(*out, n, *cap, b);
    }
    return n;
}

static int by_row(const void *pa, const void *pb)
{
    const nested_band *a = pa;
    const nested_band *b = pb;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->klass != b->klass) {
        return a->klass < b->klass ? -1 : 1;
    }
    double x = a->x[NESTED_START_MIN];
    double y = b->x[NESTED_START_MIN];
    return x < y ? -1 : x > y;
}

/* Three edges of the one's end against those of the other's start. */
static bool follows(const nested_band *a, const nested_band *b, double tolerance)
{
    for (int k = 0; k < 3; k++) {
        if (fabs(b->x[NESTED_START_MIN + k] - a->x[NESTED_END_MIN + k]) > tolerance) {
            return false;
        }
    }
    return a->row == b->row && a->klass == b->klass;
}

size_t nested_merge(nested_band *v, size_t n, double tolerance)
{
    size_t kept = 0;
    if (n > 0) {
        qsort(v, n, sizeof *v, by_row);
    }
    for (size_t i = 0; i < n; i++) {
        nested_band *last = kept > 0 ? &v[kept - 1] : NULL;
        if (!last || !follows(last, &v[i], tolerance)) {
            v[kept++] = v[i];
            continue;
        }
        for (int k = NESTED_END_MIN; k <= NESTED_END_MAX; k++) {
            last->x[k] = fmax(last->x[k], v[i].x[k]);
        }
        last->n = last->n < v[i].n ? last->n : v[i].n;
        last->n_merged += v[i].n_merged;
        last->busy_px += v[i].busy_px;
    }
    return kept;
}

static void draw_part(scene *s, rect strip, double x0, double x1, rgba c)
{
    x0 = fmax(x0, (double)s->m.plot.x - 2);
    x1 = fmin(x1, (double)(s->m.plot.x + s->m.plot.w) + 2);
    if (x1 - x0 >= 0.5) {
        draw_rect(s->l, LAYER_GROUND, (rect){(float)x0, strip.y, (float)(x1 - x0), strip.h}, c);
    }
}

/* No moment has all ranks in it: a fill would paint time in which most of them do something else. A line says from
 * where to where they do it. */
static void draw_scattered(scene *s, const nested_band *b, rect strip, rgba c)
{
    float h = fmaxf(1, px(s, 1.5));
    rect line = {strip.x, floorf(strip.y + (strip.h - h) / 2), strip.w, h};
    draw_part(s, line, b->x[NESTED_START_MIN], b->x[NESTED_END_MAX], c);
}

/* Over each other the outer two come to 40 % and 64 %; where all ranks are in it, a frame of full strength at the
 * row's floor says so: what runs there is told by the strips. */
static void draw_nested(scene *s, const nested_band *b, double strength)
{
    rect strip = row_strip_rect(s, &s->tree.rows[s->first_visible + b->row]);
    rgba c = s->t->data[b->klass % PALETTE_SIZE];
    rgba pale = rgba_with_alpha(c, (uint8_t)(OUTER_ALPHA * strength));
    if (b->x[NESTED_START_MAX] > b->x[NESTED_END_MIN]) {
        draw_scattered(s, b, strip, pale);
        return;
    }
    draw_part(s, strip, b->x[NESTED_START_MIN], b->x[NESTED_END_MAX], pale);
    draw_part(s, strip, b->x[NESTED_START_MEAN], b->x[NESTED_END_MEAN], pale);
    float floor_h = fmaxf(1, px(s, 2));
    rect floor_at = {strip.x, strip.y + strip.h - floor_h, strip.w, floor_h};
    rgba full = rgba_with_alpha(c, (uint8_t)(INNER_ALPHA * strength));
    draw_part(s, floor_at, b->x[NESTED_START_MAX], b->x[NESTED_END_MIN], full);
}

bool nested_collect(scene *s, marey_level level, instance_list *l)
{
    l->n = 0;
    if (!is_affordable(s)) {
        return false;
    }
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        const rank_group *g = row->kind == ROW_GROUP ? &s->tree.groups[row->id] : NULL;
        for (uint32_t k = 0; g && k < g->n; k++) {
            marey_collect_rank(s, l, (uint32_t)(i - s->first_visible), s->tree.group_ranks[g->first + k], row->id,
                               level);
            if (l->n > NESTED_INSTANCES) {
                return false;
            }
        }
    }
    return true;
}

void nested_draw(scene *s, marey_cache *m, marey_level level, double strength)
{
    m->n_nested = 0;
    if ((level != MAREY_PHASES && level != MAREY_STEPS) || !nested_collect(s, level, &m->of_groups)) {
        return;
    }
    bands_sort(&m->of_groups);
    m->n_nested = nested_from(&m->of_groups, &m->nested, 0, &m->cap_nested);
    m->n_nested = nested_merge(m->nested, m->n_nested, 1);
    for (size_t i = 0; level == MAREY_PHASES && i < m->n_nested; i++) {
        draw_nested(s, &m->nested[i], strength);
    }
}

const nested_band *nested_at(const scene *s, size_t row, double x)
{
    const marey_cache *m = s->v.layout == LAYOUT_MAREY ? s->marey : NULL;
    const nested_band *best = NULL;
    for (size_t i = 0; m && i < m->n_nested; i++) {
        const nested_band *b = &m->nested[i];
        bool holds = b->row == row - s->first_visible && x >= b->x[NESTED_START_MIN] && x < b->x[NESTED_END_MAX];
        if (holds && (!best || b->x[NESTED_START_MIN] > best->x[NESTED_START_MIN])) {
            best = b;
        }
    }
    return best;
}
