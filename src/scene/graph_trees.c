/* Children and lines of large modules as trees of boxes, so that a frame walks only what it shows. Entries are sorted
 * along a Z curve; four neighbours make a box, four boxes the next. */
#include <stdlib.h>
#include <string.h>

#include "scene/graph_view.h"

/* ------------------------------------------------------------------ sorting along the curve */

static uint32_t spread(uint32_t v)
{
    v &= 0xFFFF;
    v = (v | (v << 8)) & 0x00FF00FF;
    v = (v | (v << 4)) & 0x0F0F0F0F;
    v = (v | (v << 2)) & 0x33333333;
    return (v | (v << 1)) & 0x55555555;
}

static uint32_t curve_place(const index_box *b, const index_box *all)
{
    double w = fmax((double)(all->x1 - all->x0), 1);
    double h = fmax((double)(all->y1 - all->y0), 1);
    double side = fmax(w, h);
    double x = (0.5 * (double)(b->x0 + b->x1) - (double)all->x0) / side;
    double y = (0.5 * (double)(b->y0 + b->y1) - (double)all->y0) / side;
    return spread((uint32_t)(fmin(fmax(x, 0), 1) * 65535)) | spread((uint32_t)(fmin(fmax(y, 0), 1) * 65535)) << 1;
}

/* By the upper half of the keys, four passes of eight bits. */
static void sort_keys(uint64_t *keys, uint64_t *spare, size_t n)
{
    for (unsigned shift = 32; shift < 64; shift += 8) {
        size_t count[257] = {0};
        for (size_t i = 0; i < n; i++) {
            count[((keys[i] >> shift) & 255) + 1]++;
        }
        for (size_t b = 0; b < 256; b++) {
            count[b + 1] += count[b];
        }
        for (size_t i = 0; i < n; i++) {
            spare[count[(keys[i] >> shift) & 255]++] = keys[i];
        }
        uint64_t *t = keys;
        keys = spare;
        spare = t;
    }
}

/* ------------------------------------------------------------------ boxes */

static void grow(index_box *b, const index_box *by)
{
    b->x0 = fminf(b->x0, by->x0);
    b->y0 = fminf(b->y0, by->y0);
    b->x1 = fmaxf(b->x1, by->x1);
    b->y1 = fmaxf(b->y1, by->y1);
}

static const index_box nothing = {1e30F, 1e30F, -1e30F, -1e30F};

/* What the boxes of one tree are made of. */
typedef struct entries {
    const graph_plan *plan;
    const visible *v;
    const graph_layout *l;
    uint32_t module, first, n;
    bool are_lines;
} entries;

static index_box entry_box(const entries *e, uint32_t place)
{
    index_box b = nothing;
    if (e->are_lines) {
        const layout_route *r = &e->l->routes[place];
        for (uint32_t i = 0; i < r->n_points; i++) {
            const layout_point *q = &e->l->points[r->first_point + i];
            grow(&b, &(index_box){q->x, q->y, q->x, q->y});
        }
        return b;
    }
    const layout_box *m = &e->l->boxes[e->module];
    const layout_box *c = &e->l->boxes[place];
    float x = (float)(c->x - m->x);
    float y = (float)(c->y - m->y);
    return (index_box){x, y, x + c->w, y + c->h};
}

static uint8_t entry_class(const entries *e, uint32_t place)
{
    uint32_t item = e->are_lines ? e->v->lines[place].from : place;
    return e->plan->elements[e->v->items[item].element].klass;
}

/* The class that most of them have; ties: the lowest. */
static uint8_t most_of(const uint8_t *klass, size_t n)
{
    uint8_t best = 0;
    unsigned most = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned count = 0;
        for (size_t k = 0; k < n; k++) {
            count += klass[k] == klass[i];
        }
        if (count > most || (count == most && klass[i] < best)) {
            most = count;
            best = klass[i];
        }
    }
    return best;
}

static float area_of(const index_box *b)
{
    return fmaxf(b->x1 - b->x0, 0) * fmaxf(b->y1 - b->y0, 0);
}

static void push_box(graph_trees *x, index_box b, uint8_t klass, float inked)
{
    float area = area_of(&b);
    VEC_RESERVE(x->cover, x->cap_cover, x->n_boxes + 1);
    x->cover[x->n_boxes] = (uint8_t)(area > 0 ? 255 * fminf(inked / area, 1) : 255);
    VEC_RESERVE(x->boxes, x->cap_boxes, x->n_boxes + 1);
    VEC_RESERVE(x->klass, x->cap_klass, x->n_boxes + 1);
    x->boxes[x->n_boxes] = b;
    x->klass[x->n_boxes++] = klass;
}

static void make_lowest(graph_trees *x, const entries *e, const uint32_t *order)
{
    for (uint32_t i = 0; i < e->n; i += INDEX_FAN) {
        uint32_t n = e->n - i < INDEX_FAN ? e->n - i : INDEX_FAN;
        index_box b = nothing;
        uint8_t classes[INDEX_FAN];
        float inked = 0;
        for (uint32_t k = 0; k < n; k++) {
            index_box c = entry_box(e, order[i + k]);
            inked += area_of(&c);
            grow(&b, &c);
            classes[k] = entry_class(e, order[i + k]);
        }
        push_box(x, b, most_of(classes, n), inked);
    }
}

static void make_levels(graph_trees *x, size_t first, size_t n)
{
    while (n > 1) {
        size_t next = x->n_boxes;
        for (size_t i = 0; i < n; i += INDEX_FAN) {
            size_t few = n - i < INDEX_FAN ? n - i : INDEX_FAN;
            index_box b = nothing;
            float inked = 0;
            for (size_t k = 0; k < few; k++) {
                const index_box *c = &x->boxes[first + i + k];
                inked += area_of(c) * (float)x->cover[first + i + k] / 255;
                grow(&b, c);
            }
            push_box(x, b, most_of(&x->klass[first + i], few), inked);
        }
        first = next;
        n = x->n_boxes - next;
    }
}

static void make_tree(graph_trees *x, index_trees *trees, const entries *e, uint64_t *keys)
{
    if (e->n <= INDEX_FEW) {
        return;
    }
    index_box all = nothing;
    for (uint32_t i = 0; i < e->n; i++) {
        index_box b = entry_box(e, e->first + i);
        grow(&all, &b);
    }
    for (uint32_t i = 0; i < e->n; i++) {
        index_box b = entry_box(e, e->first + i);
        keys[i] = (uint64_t)curve_place(&b, &all) << 32 | i;
    }
    sort_keys(keys, keys + e->n, e->n);
    index_tree t = {e->module, (uint32_t)x->n_boxes, (uint32_t)x->n_order, e->n};
    VEC_RESERVE(x->order, x->cap_order, x->n_order + e->n);
    for (uint32_t i = 0; i < e->n; i++) {
        x->order[x->n_order++] = e->first + (uint32_t)keys[i];
    }
    make_lowest(x, e, x->order + t.first);
    make_levels(x, t.first_box, x->n_boxes - t.first_box);
    VEC_PUSH(trees->items, trees->n, trees->cap, t);
}

/* The first of the lines, from `from` on, that is in no module before the next. */
static uint32_t end_of_lines(const visible *v, uint32_t from, uint32_t module)
{
    while (from < v->n_lines && v->lines[from].module == module) {
        from++;
    }
    return from;
}

static size_t most_entries(const visible *v)
{
    uint32_t most = 1;
    for (uint32_t i = 0, line = 0; i < v->n_items; i++) {
        uint32_t end = end_of_lines(v, line, i);
        most = v->items[i].n_children > most ? v->items[i].n_children : most;
        most = end - line > most ? end - line : most;
        line = end;
    }
    return most;
}

void graph_trees_make(graph_trees *x, const graph_plan *p, const visible *v, const graph_layout *l)
{
    memset(x, 0, sizeof *x);
    uint64_t *keys = mem_alloc(2 * most_entries(v) * sizeof *keys);
    for (uint32_t i = 0, line = 0; i < v->n_items; i++) {
        const visible_item *m = &v->items[i];
        uint32_t end = end_of_lines(v, line, i);
        entries e = {p, v, l, i, m->first_child, m->n_children, false};
        make_tree(x, &x->children, &e, keys);
        e = (entries){p, v, l, i, line, end - line, true};
        make_tree(x, &x->lines, &e, keys);
        line = end;
    }
    free(keys);
}

void graph_trees_free(graph_trees *x)
{
    free(x->children.items);
    free(x->lines.items);
    free(x->order);
    free(x->boxes);
    free(x->klass);
    free(x->cover);
    memset(x, 0, sizeof *x);
}

/* ------------------------------------------------------------------ finding */

const index_tree *graph_tree_of(const index_trees *t, uint32_t module)
{
    size_t lo = 0;
    size_t hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        lo = t->items[mid].module < module ? mid + 1 : lo;
        hi = t->items[mid].module < module ? hi : mid;
    }
    return lo < t->n && t->items[lo].module == module ? &t->items[lo] : NULL;
}

/* The first line of `module` or of one behind it. */
static uint32_t first_line(const visible *v, uint32_t module)
{
    size_t lo = 0;
    size_t hi = v->n_lines;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        lo = v->lines[mid].module < module ? mid + 1 : lo;
        hi = v->lines[mid].module < module ? hi : mid;
    }
    return (uint32_t)lo;
}

graph_rows graph_lines_in(const visible *v, uint32_t module)
{
    return (graph_rows){first_line(v, module), first_line(v, module + 1)};
}

static uint32_t first_stub(const visible *v, uint32_t item)
{
    size_t lo = 0;
    size_t hi = v->n_stubs;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        lo = v->stubs[mid].item < item ? mid + 1 : lo;
        hi = v->stubs[mid].item < item ? hi : mid;
    }
    return (uint32_t)lo;
}

graph_rows graph_stubs_at(const visible *v, uint32_t item)
{
    return (graph_rows){first_stub(v, item), first_stub(v, item + 1)};
}

/* ------------------------------------------------------------------ walking */

static bool meets(const index_box *a, const index_box *b)
{
    return a->x0 <= b->x1 && b->x0 <= a->x1 && a->y0 <= b->y1 && b->y0 <= a->y1;
}

/* Where each level of a tree begins. @return how many levels */
static unsigned levels_of(const index_tree *t, uint32_t first[INDEX_LEVELS], uint32_t n[INDEX_LEVELS])
{
    unsigned levels = 0;
    uint32_t at = t->first_box;
    for (uint32_t count = (t->n + INDEX_FAN - 1) / INDEX_FAN;; count = (count + INDEX_FAN - 1) / INDEX_FAN) {
        first[levels] = at;
        n[levels++] = count;
        at += count;
        if (count <= 1) {
            return levels;
        }
    }
}

typedef struct walk_step {
    uint8_t level;
    uint32_t i;
} walk_step;

void graph_trees_visit(const graph_trees *x, const index_tree *t, const index_visit *how)
{
    uint32_t first[INDEX_LEVELS];
    uint32_t n[INDEX_LEVELS];
    walk_step stack[INDEX_LEVELS * INDEX_FAN];
    unsigned levels = levels_of(t, first, n);
    size_t depth = 0;
    stack[depth++] = (walk_step){(uint8_t)(levels - 1), 0};
    while (depth > 0) {
        walk_step w = stack[--depth];
        const index_box *b = &x->boxes[first[w.level] + w.i];
        if (!meets(b, &how->seen)) {
            continue;
        }
        if (fmaxf(b->x1 - b->x0, b->y1 - b->y0) <= how->blob_size) {
            how->blob(how->ctx, b, x->klass[first[w.level] + w.i], x->cover[first[w.level] + w.i]);
            continue;
        }
        uint32_t from = w.i * INDEX_FAN;
        uint32_t end = from + INDEX_FAN;
        if (w.level == 0) {
            for (uint32_t k = from; k < end && k < t->n; k++) {
                how->entry(how->ctx, x->order[t->first + k]);
            }
        } else {
            uint32_t most = n[w.level - 1];
            for (uint32_t k = (end < most ? end : most); k-- > from;) {
                stack[depth++] = (walk_step){(uint8_t)(w.level - 1), k};
            }
        }
    }
}
