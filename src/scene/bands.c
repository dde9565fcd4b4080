/*
 * Bands: the same instance on neighbouring rows, joined. Sorting all instances by (key, row) puts the members of one
 * instance next to each other: matching is one pass, and so are the medians that outliers are measured against.
 */
#include <stdlib.h>
#include <string.h>

#include "scene/heat.h"
#include "scene/overlay.h"

static const double MAD_LIMIT = 5;
enum { MIN_PEERS = 4 };

static int by_key(const void *pa, const void *pb)
{
    const instance *a = pa;
    const instance *b = pb;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return a->e.start_ns < b->e.start_ns ? -1 : a->e.start_ns > b->e.start_ns;
}

void bands_sort(instance_list *l)
{
    if (l->n > 0) {
        qsort(l->items, l->n, sizeof *l->items, by_key);
    }
}

/* ------------------------------------------------------------------ outliers */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_of(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static double measure(const instance *i, int which)
{
    return which == 0   ? (double)i->e.start_ns
           : which == 1 ? (double)i->e.end_ns
                        : (double)(i->e.end_ns - i->e.start_ns);
}

/* What can't be seen or means nothing is no deviation: below two pixels; a lag below a quarter of the duration, a
 * duration off by less than a twentieth. */
static void mark_measure(const scene *s, instance *v, size_t n, int which, double *scratch)
{
    for (size_t i = 0; i < n; i++) {
        scratch[i] = measure(&v[i], which);
    }
    double median = median_of(scratch, n);
    for (size_t i = 0; i < n; i++) {
        scratch[i] = fabs(measure(&v[i], which) - median);
    }
    double mad = median_of(scratch, n);
    double duration = measure(&v[0], 2);
    double least = fmax(2 * s->src.grid.step_ns, (which == 2 ? 0.05 : 0.25) * duration);
    double limit = fmax(MAD_LIMIT * mad, least);
    for (size_t i = 0; i < n; i++) {
        v[i].outlier = v[i].outlier || fabs(measure(&v[i], which) - median) > limit;
    }
}

static size_t run_length(const instance_list *l, size_t from)
{
    size_t end = from + 1;
    while (end < l->n && l->items[end].key == l->items[from].key) {
        end++;
    }
    return end - from;
}

size_t bands_find_outliers(scene *s, instance_list *l)
{
    size_t found = 0;
    double *scratch = arena_alloc(&s->scratch, (l->n + 1) * sizeof *scratch);
    for (size_t i = 0; i < l->n;) {
        size_t n = run_length(l, i);
        for (int which = 0; n >= MIN_PEERS && which < 3; which++) {
            mark_measure(s, &l->items[i], n, which, scratch);
        }
        for (size_t k = i; k < i + n; k++) {
            found += l->items[k].outlier;
        }
        i += n;
    }
    return found;
}

/* ------------------------------------------------------------------ matching and merging */

/* Only direct neighbours on screen, of one peer group. */
static bool are_neighbours(const scene *s, uint32_t upper)
{
    const scene_row *a = &s->tree.rows[s->first_visible + upper];
    const scene_row *b = a + 1;
    return s->first_visible + upper + 1 < s->tree.n_rows && b->kind == ROW_RANK && a->kind == ROW_RANK &&
           a->group == b->group;
}

static band make_band(const instance *a, const instance *b)
{
    band k = {a->row, a->e.klass, a->outlier || b->outlier, a->x0, a->x1, b->x0, b->x1, a->e.row, 0, 0, 0, 0, 0};
    int64_t upper = a->e.end_ns - a->e.start_ns;
    int64_t lower = b->e.end_ns - b->e.start_ns;
    k.n = 1;
    k.busy_px = 0.5 * (a->x1 - a->x0 + b->x1 - b->x0);
    k.least_ns = upper < lower ? upper : lower;
    k.most_ns = upper > lower ? upper : lower;
    k.sum_ns = 0.5 * ((double)upper + (double)lower);
    return k;
}

/* `b` ends it now; what it stands for is summed. */
static void extend_band(band *a, const band *b)
{
    a->x1 = fmax(a->x1, b->x1);
    a->x3 = fmax(a->x3, b->x3);
    a->n += b->n;
    a->busy_px += b->busy_px;
    a->sum_ns += b->sum_ns;
    a->least_ns = b->least_ns < a->least_ns ? b->least_ns : a->least_ns;
    a->most_ns = b->most_ns > a->most_ns ? b->most_ns : a->most_ns;
}

void bands_match(const scene *s, const instance_list *l, marey_cache *m)
{
    double left = (double)s->m.plot.x;
    double right = left + (double)s->m.plot.w;
    m->n_bands = 0;
    for (size_t i = 0; i + 1 < l->n; i++) {
        const instance *a = &l->items[i];
        const instance *b = a + 1;
        if (a->key != b->key || b->row != a->row + 1 || !are_neighbours(s, a->row)) {
            continue;
        }
        bool outside = (a->x1 < left && b->x1 < left) || (a->x0 > right && b->x0 > right);
        if (!outside) {
            band k = make_band(a, b);
            VEC_PUSH(m->bands, m->n_bands, m->cap_bands, k);
        }
    }
}

static int by_pair(const void *pa, const void *pb)
{
    const band *a = pa;
    const band *b = pb;
    if (a->outlier != b->outlier) {
        return a->outlier ? 1 : -1;
    }
    if (a->pair != b->pair) {
        return a->pair < b->pair ? -1 : 1;
    }
    if (a->x0 != b->x0) {
        return a->x0 < b->x0 ? -1 : 1;
    }
    return a->x2 < b->x2 ? -1 : a->x2 > b->x2;
}

static bool continues(const band *a, const band *b, double tolerance)
{
    return a->pair == b->pair && fabs(b->x0 - a->x1) <= tolerance && fabs(b->x2 - a->x3) <= tolerance;
}

void bands_merge(marey_cache *m, double tolerance)
{
    size_t last[CLASS_COUNT];
    size_t n = 0;
    for (int k = 0; k < CLASS_COUNT; k++) {
        last[k] = SIZE_MAX;
    }
    if (m->n_bands > 0) {
        qsort(m->bands, m->n_bands, sizeof *m->bands, by_pair);
    }
    for (size_t i = 0; i < m->n_bands; i++) {
        band b = m->bands[i];
        size_t at = b.klass < CLASS_COUNT ? last[b.klass] : SIZE_MAX;
        if (!b.outlier && at != SIZE_MAX && continues(&m->bands[at], &b, tolerance)) {
            extend_band(&m->bands[at], &b);
            continue;
        }
        if (b.klass < CLASS_COUNT && !b.outlier) {
            last[b.klass] = n;
        }
        m->bands[n++] = b;
    }
    m->n_bands = n;
}

/* Too many to draw: the narrowest are told by the strips alone. */
static void bound_count(scene *s, marey_cache *m)
{
    if (m->n_bands <= MAX_BANDS) {
        return;
    }
    double *w = arena_alloc(&s->scratch, m->n_bands * sizeof *w);
    for (size_t i = 0; i < m->n_bands; i++) {
        w[i] = m->bands[i].x1 - m->bands[i].x0 + m->bands[i].x3 - m->bands[i].x2;
    }
    qsort(w, m->n_bands, sizeof *w, by_value);
    double least = w[m->n_bands - MAX_BANDS];
    size_t n = 0;
    for (size_t i = 0; i < m->n_bands && n < MAX_BANDS; i++) {
        double width = m->bands[i].x1 - m->bands[i].x0 + m->bands[i].x3 - m->bands[i].x2;
        if (width >= least) {
            m->bands[n++] = m->bands[i];
        }
    }
    m->n_bands = n;
}

/* ------------------------------------------------------------------ waiting */

static void pale_columns(scene *s, const instance *i, int64_t until_ns, draw_cell *cells)
{
    int64_t a = column_of(&s->src.grid, i->e.start_ns);
    int64_t b = column_of(&s->src.grid, until_ns < i->e.end_ns ? until_ns : i->e.end_ns);
    b = b > (int64_t)s->src.grid.n ? (int64_t)s->src.grid.n : b;
    for (int64_t k = a < 0 ? 0 : a; k < b; k++) {
        if (cells[k].klass == CLASS_COLLECTIVE) {
            cells[k].alpha = WAIT_ALPHA;
        }
    }
}

/* Of a collective's members on screen the one that came last; once the run's diagnosis is there, of all members. */
static int64_t latest_start(scene *s, const instance *v, size_t n)
{
    int64_t latest = INT64_MIN;
    for (size_t k = 0; k < n; k++) {
        latest = v[k].e.start_ns > latest ? v[k].e.start_ns : latest;
    }
    const arrivals *all = s->heat ? &s->heat->arrivals : NULL;
    if (all && all->n > 0) {
        bool pending = false;
        int64_t of_all = latest;
        uint32_t rank = s->tree.rows[s->first_visible + v[0].row].rank;
        uint32_t group = communicator_of(s, v[0].e.row, &pending);
        if (arrivals_latest(s, all, rank, v[0].e.start_ns, group, &of_all)) {
            latest = of_all > latest ? of_all : latest;
        }
    }
    return latest;
}

/* Until the last member arrives nothing moves: that part of a collective is waiting. */
static void draw_waits(scene *s, const instance_list *l)
{
    for (size_t i = 0; i < l->n;) {
        size_t n = run_length(l, i);
        bool collective = l->items[i].e.klass == CLASS_COLLECTIVE;
        int64_t latest = collective ? latest_start(s, &l->items[i], n) : 0;
        for (size_t k = i; collective && k < i + n; k++) {
            const instance *it = &l->items[k];
            draw_cell *cells = it->e.start_ns < latest ? row_strip_cells(s, s->first_visible + it->row) : NULL;
            if (cells) {
                pale_columns(s, it, latest, cells);
            }
        }
        i += n;
    }
}

/* ------------------------------------------------------------------ drawing */

/* Far outside only the slope counts, and floats stay exact enough for it. */
static float bounded(double x)
{
    return (float)fmin(fmax(x, -1e6), 1e6);
}

static void draw_one(scene *s, const band *b, double strength)
{
    const scene_row *upper = &s->tree.rows[s->first_visible + b->pair];
    rect above = row_strip_rect(s, upper);
    rect below = row_strip_rect(s, upper + 1);
    float y0 = above.y + above.h;
    below.y -= overlay_lane(s, upper + 1);
    if (below.y - y0 < 2) {
        return;
    }
    double width = 0.5 * (b->x1 - b->x0 + b->x3 - b->x2);
    double occupancy = b->n > 1 && width > 0 ? fmin(b->busy_px / width, 1) : 1; /* merged time is not busy time */
    uint8_t alpha = (uint8_t)((b->outlier ? OUTLIER_ALPHA : BAND_ALPHA) * strength * occupancy);
    draw_band d = {.y_top = y0, .y_bottom = below.y};
    d.x0 = bounded(b->x0);
    d.x1 = bounded(b->x1);
    d.x2 = bounded(b->x2);
    d.x3 = bounded(b->x3);
    d.fill = rgba_with_alpha(s->t->data[b->klass % PALETTE_SIZE], alpha);
    draw_add_band(s->l, LAYER_DATA, d);
}

void bands_draw(scene *s, marey_cache *m, double strength)
{
    bands_sort(&m->list);
    size_t outliers = bands_find_outliers(s, &m->list);
    bands_match(s, &m->list, m);
    bands_merge(m, 1);
    bound_count(s, m);
    draw_waits(s, &m->list);
    for (size_t i = 0; i < m->n_bands; i++) {
        draw_one(s, &m->bands[i], strength);
    }
    s->frame.n_bands = m->n_bands;
    s->frame.n_outliers = outliers;
}

const band *band_at(const scene *s, double x, double y)
{
    const marey_cache *m = s->v.layout == LAYOUT_MAREY ? s->marey : NULL;
    for (size_t i = m ? m->n_bands : 0; i-- > 0;) {
        const band *b = &m->bands[i];
        if (s->first_visible + b->pair + 1 >= s->tree.n_rows) {
            continue;
        }
        const scene_row *upper = &s->tree.rows[s->first_visible + b->pair];
        rect above = row_strip_rect(s, upper);
        double y0 = (double)(above.y + above.h);
        double y1 = (double)(row_strip_rect(s, upper + 1).y - overlay_lane(s, upper + 1));
        double part = y1 > y0 ? (y - y0) / (y1 - y0) : -1;
        bool in_rows = part >= 0 && part <= 1;
        if (in_rows && x >= b->x0 + (b->x2 - b->x0) * part && x <= b->x1 + (b->x3 - b->x1) * part) {
            return b;
        }
    }
    return NULL;
}

uint64_t bands_at(const scene *s, double x, double y)
{
    const band *b = band_at(s, x, y);
    return b ? b->event_row : UINT64_MAX;
}
