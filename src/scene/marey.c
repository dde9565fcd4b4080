/*
 * The Marey layout: which instances the bands join. Detail follows the zoom: steps, then phases, then operators; a
 * level is drawn when what it joins is wide enough to see, and fades into the next.
 *
 * Same instance: same peer group (stage; for a collective its communicator), same step, same name, same occurrence
 * within the step.
 */
#include "scene/marey.h"
#include "scene/overlay.h"

#include <stdlib.h>
#include <string.h>

static const double SEEN_PX = 3;
static const int64_t FADE_NS = 150000000;

uint64_t instance_key(const scene *s, const ev *e, uint32_t rank, uint32_t peer_group, uint32_t communicator)
{
    int32_t step = step_at(s, rank, e->start_ns);
    uint64_t k = hash_u64(e->name + UINT64_C(0x100000001) * e->instance);
    int64_t index = step < 0 ? -1 : s->model->steps[step].index;
    uint64_t peers = communicator == NO_ID ? peer_group : UINT64_C(0x100000000) + communicator;
    return hash_u64(k ^ hash_u64((uint64_t)index * 31 + peers * UINT64_C(0x9E3779B97F4A7C15))) | 1;
}

/* ------------------------------------------------------------------ gathering */

typedef struct collect {
    scene *s;
    instance_list *to;
    uint32_t ordinal, rank, group;
} collect;

static void push_instance(collect *c, const ev *e, uint64_t key)
{
    instance i = {.key = key, .row = c->ordinal, .e = *e};
    i.x0 = x_of(c->s, e->start_ns);
    i.x1 = x_of(c->s, e->end_ns);
    VEC_PUSH(c->to->items, c->to->n, c->to->cap, i);
}

static bool visit_derived(void *ctx, const ev *e)
{
    collect *c = ctx;
    enum { MAX_INSTANCES = 200000 };
    if (c->to->n >= MAX_INSTANCES) {
        return false;
    }
    if (e->klass < CLASS_COUNT) {
        push_instance(c, e, instance_key(c->s, e, c->rank, c->group, NO_ID));
    }
    return true;
}

static void collect_lane(collect *c, uint32_t lane, uint32_t group)
{
    scene *s = c->s;
    if (lane == NO_ID || group == NO_ID) {
        return;
    }
    const trace_lane *l = &s->model->lanes[lane];
    uint32_t *tracks = arena_alloc(&s->scratch, l->n_tracks * sizeof *tracks + 1);
    for (uint32_t i = 0; i < l->n_tracks; i++) {
        tracks[i] = l->first_track + i;
    }
    block_span *span = span_of(s, group);
    s->frame.complete = s->frame.complete && span->n_missing == 0;
    visit_events(s, span, tracks, l->n_tracks, window_of_grid(&s->src.grid), visit_derived, c);
}

/* Collectives are no phases; they stand among them. The narrow one counts too: its rank came last, and the others
 * waited. */
static void collect_collectives(collect *c, const scene_row *row)
{
    const row_raster *r = c->s->src.events ? raster_row(c->s, row) : NULL;
    for (size_t i = 0; r && i < r->n_wide; i++) {
        const wide_event *w = &r->wide[i];
        if (w->e.klass == CLASS_COLLECTIVE) {
            push_instance(c, &w->e, w->key);
        }
    }
}

static void collect_row(collect *c, const scene_row *row, marey_level level)
{
    scene *s = c->s;
    if (level == MAREY_PHASES) {
        collect_lane(c, s->phase_lane[row->rank], s->rank_phase_group[row->rank]);
        collect_collectives(c, row);
    } else if (level == MAREY_STEPS) {
        collect_lane(c, s->step_lane[row->rank], s->rank_step_group[row->rank]);
    } else if (level == MAREY_OPERATORS) {
        const row_raster *r = raster_row(s, row);
        for (size_t i = 0; i < r->n_wide; i++) {
            push_instance(c, &r->wide[i].e, r->wide[i].key);
        }
    }
}

void marey_collect_rank(scene *s, instance_list *to, uint32_t ordinal, uint32_t rank, uint32_t group, marey_level level)
{
    collect c = {s, to, ordinal, rank, group};
    bool steps = level == MAREY_STEPS;
    collect_lane(&c, steps ? s->step_lane[rank] : s->phase_lane[rank],
                 steps ? s->rank_step_group[rank] : s->rank_phase_group[rank]);
}

bool is_band_row(const scene *s, const scene_row *row)
{
    return row->kind == ROW_RANK && row->h >= 8 * (double)s->m.s;
}

static void collect_level(scene *s, marey_level level, instance_list *to)
{
    to->n = 0;
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        if (is_band_row(s, row)) {
            collect c = {s, to, (uint32_t)(i - s->first_visible), row->rank, row->group};
            collect_row(&c, row, level);
        }
    }
}

/* ------------------------------------------------------------------ the level */

/* Is most of what is inked inked by operators that are wide enough? */
static bool operators_are_wide(scene *s)
{
    if (!s->src.events) {
        return false;
    }
    size_t inked = 0;
    double wide = 0;
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        if (!is_band_row(s, &s->tree.rows[i])) {
            continue;
        }
        const row_raster *r = raster_row(s, &s->tree.rows[i]);
        for (uint32_t k = 0; k < r->n; k++) {
            inked += r->cells[k].klass != CELL_EMPTY;
        }
        for (size_t k = 0; k < r->n_wide; k++) {
            double x0 = fmax(x_of(s, r->wide[k].e.start_ns), (double)s->m.plot.x);
            double x1 = fmin(x_of(s, r->wide[k].e.end_ns), (double)(s->m.plot.x + s->m.plot.w));
            wide += x1 - x0 >= SEEN_PX ? x1 - x0 : 0;
        }
    }
    return inked > 0 && wide >= 0.5 * (double)inked;
}

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of the phases; the collectives that stand among them are as narrow as they are. */
static double median_width(scene *s, const instance_list *l)
{
    double *w = arena_alloc(&s->scratch, (l->n + 1) * sizeof *w);
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->items[i].e.klass != CLASS_COLLECTIVE) {
            w[n++] = l->items[i].x1 - l->items[i].x0;
        }
    }
    if (n > 0) {
        qsort(w, n, sizeof *w, by_double);
    }
    return n > 0 ? w[n / 2] : 0;
}

static bool has_band_rows(const scene *s)
{
    for (size_t i = s->first_visible; i < s->end_visible; i++) {
        if (is_band_row(s, &s->tree.rows[i])) {
            return true;
        }
    }
    return false;
}

static marey_level choose_level(scene *s, marey_cache *m)
{
    if (!has_band_rows(s)) { /* all groups are closed: their own bands decide */
        bool phases = nested_collect(s, MAREY_PHASES, &m->of_groups) && m->of_groups.n > 0;
        return phases && median_width(s, &m->of_groups) >= SEEN_PX ? MAREY_PHASES : MAREY_NONE;
    }
    if (operators_are_wide(s)) {
        return MAREY_OPERATORS;
    }
    collect_level(s, MAREY_PHASES, &m->list);
    if (m->list.n > 0 && median_width(s, &m->list) >= SEEN_PX) {
        return MAREY_PHASES;
    }
    bool phases = m->list.n > 0;
    collect_level(s, MAREY_STEPS, &m->list);
    if (m->list.n > 0) {
        return MAREY_STEPS;
    }
    return phases ? MAREY_PHASES : s->src.events ? MAREY_OPERATORS : MAREY_NONE;
}

static void update_fade(scene *s, marey_cache *m, marey_level level)
{
    if (level != m->level) {
        bool animate = s->in.now_ns != 0 && m->drawn;
        m->before = animate ? m->level : level;
        m->since_ns = s->in.now_ns;
        m->level = level;
    }
    m->drawn = true;
    double part = s->in.now_ns == 0 ? 1 : (double)(s->in.now_ns - m->since_ns) / (double)FADE_NS;
    m->strength = m->before == m->level || part >= 1 ? 1 : fmax(part, 0);
    if (m->strength >= 1) {
        m->before = m->level;
    }
    s->frame.is_fading = m->strength < 1;
}

/* ------------------------------------------------------------------ labels of derived blocks */

static void block_label(const scene *s, const ev *e, marey_level level, double room, char *out, size_t cap)
{
    char name[96];
    short_name(s->model->names[e->name].text, name, sizeof name);
    if (level == MAREY_STEPS) {
        (void)snprintf(out, cap, "%s", name);
    } else if (e->klass == CLASS_COLLECTIVE || e->klass == CLASS_OPTIMIZER || room >= 96 * (double)s->m.s) {
        (void)snprintf(out, cap, e->klass == CLASS_FORWARD || e->klass == CLASS_BACKWARD ? "%s %u" : "%s", name,
                       e->instance);
    } else {
        char letter = (char)(name[0] >= 'a' && name[0] <= 'z' ? name[0] - 32 : name[0]);
        (void)snprintf(out, cap, "%c%u", letter, e->instance);
    }
}

/* Where the rank's own strip shows the block's class for the length of a label: a phase may have other work inside it,
 * of which a sixteenth is borne. Not where the strip's shade changes: the text has one colour. < 0: nowhere */
static float clear_place(scene *s, size_t row, uint8_t klass, float x0, float x1, float width)
{
    const row_raster *r = raster_row(s, &s->tree.rows[row]);
    const draw_cell *cells = row_strip_cells(s, row);
    int64_t from = (int64_t)fmaxf(x0 - s->m.plot.x, 0);
    int64_t to = (int64_t)fminf(x1 - s->m.plot.x, (float)r->n);
    int64_t w = (int64_t)ceilf(width);
    int64_t others = 0;
    int64_t same = 0; /* columns of one shade up to here */
    for (int64_t i = from; i < to; i++) {
        others += r->cells[i].klass != klass;
        others -= i - w >= from && r->cells[i - w].klass != klass;
        same = i > from && cells && cells[i].alpha != cells[i - 1].alpha ? 1 : same + 1;
        bool long_enough = i + 1 - w >= from && same >= w;
        if (long_enough && others * 16 <= w && r->cells[i + 1 - w].klass == klass) {
            return s->m.plot.x + (float)(i + 1 - w);
        }
    }
    return -1;
}

static void put_in_block(scene *s, const instance *k, rect box, const char *text)
{
    const draw_cell *cells = row_strip_cells(s, s->first_visible + k->row);
    const draw_cell *under = cells ? &cells[(size_t)(box.x - s->m.plot.x)] : NULL;
    (void)put_text(s, LAYER_MARKS, FACE_SANS_MEDIUM, 11, box, TEXT_LEFT, label_colour_on(s, k->e.klass, under), text);
}

/* In the block from x0 to x1: in full, else by letter and number, else cut. @return whether there was room and the
 * block shows there */
static bool put_block_label(scene *s, const instance *k, marey_level level, rect strip, float x0, float x1)
{
    size_t row = s->first_visible + k->row;
    char text[2][112];
    float pad = fminf(px(s, 6), (x1 - x0) * 0.12F);
    for (int form = 0; form < 2; form++) {
        block_label(s, &k->e, level, form == 0 ? (double)(x1 - x0) : 0, text[form], sizeof text[form]);
        float width = width_of(s, FACE_SANS_MEDIUM, 11, text[form]);
        float at = clear_place(s, row, k->e.klass, x0 + pad, x1 - pad, width);
        if (at >= 0) {
            put_in_block(s, k, (rect){at, strip.y, ceilf(width) + 1, strip.h}, text[form]);
            return true;
        }
    }
    bool has_parts = strpbrk(text[0], "_/.:- ") != NULL; /* else its middle is no place to cut it */
    float room = fminf(width_of(s, FACE_SANS_MEDIUM, 11, text[0]), x1 - x0 - 2 * pad);
    float at = has_parts && room >= px(s, 64) ? clear_place(s, row, k->e.klass, x0 + pad, x1 - pad, room) : -1;
    if (at >= 0) {
        put_in_block(s, k, (rect){at, strip.y, room, strip.h}, text[0]);
    }
    return at >= 0;
}

static void draw_derived_labels(scene *s, const instance_list *l, marey_level level)
{
    float from = 0;
    uint32_t row = UINT32_MAX;
    for (size_t i = 0; i < l->n; i++) {
        const instance *k = &l->items[i];
        rect strip = row_strip_rect(s, &s->tree.rows[s->first_visible + k->row]);
        from = k->row == row ? from : 0;
        row = k->row;
        float x0 = (float)fmax(k->x0, (double)s->m.plot.x);
        float x1 = (float)fmin(k->x1, (double)(s->m.plot.x + s->m.plot.w));
        if (x1 - x0 < px(s, 26) || x0 < from || strip.h < px(s, 12) || !text_fits_in(s, strip, s->m.plot)) {
            continue;
        }
        from = put_block_label(s, k, level, strip, x0, x1) ? x1 : from;
    }
}

/* A derived block is pale where nothing runs inside it: its own rank's strip lies on top. Under a collective, whose
 * waiting part is pale itself, there is the row's ground. */
static void draw_derived_blocks(scene *s, const instance_list *l, double strength, bool collectives)
{
    for (size_t i = 0; i < l->n; i++) {
        const instance *k = &l->items[i];
        rect strip = row_strip_rect(s, &s->tree.rows[s->first_visible + k->row]);
        double x0 = fmax(k->x0, (double)s->m.plot.x - 2);
        double x1 = fmin(k->x1, (double)(s->m.plot.x + s->m.plot.w) + 2);
        if (x1 - x0 < 1 || (k->e.klass == CLASS_COLLECTIVE) != collectives) {
            continue;
        }
        rgba pale = rgba_with_alpha(s->t->data[k->e.klass % PALETTE_SIZE], (uint8_t)(BAND_ALPHA * strength));
        rgba c = collectives ? s->t->row : pale;
        draw_rect(s->l, LAYER_GROUND, (rect){(float)x0, strip.y, (float)(x1 - x0), strip.h}, c);
    }
}

void marey_free(marey_cache **m)
{
    if (*m) {
        free((*m)->list.items);
        free((*m)->bands);
        free((*m)->of_groups.items);
        free((*m)->nested);
        free(*m);
        *m = NULL;
    }
}

static int by_place(const void *pa, const void *pb)
{
    const instance *a = pa;
    const instance *b = pb;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return a->x0 < b->x0 ? -1 : a->x0 > b->x0;
}

/* Along each row, as labels are set. */
static void sort_by_place(instance_list *l)
{
    if (l->n > 1) {
        qsort(l->items, l->n, sizeof *l->items, by_place);
    }
}

static void draw_level(scene *s, marey_cache *m, marey_level level, double strength)
{
    collect_level(s, level, &m->list);
    bool derived = level == MAREY_PHASES || level == MAREY_STEPS;
    nested_draw(s, m, level, strength);
    if (derived && level == MAREY_PHASES) {
        draw_derived_blocks(s, &m->list, strength, false);
        draw_derived_blocks(s, &m->list, strength, true);
    }
    bands_draw(s, m, strength);
    if (derived && strength > 0.5) {
        sort_by_place(&m->list);
        draw_derived_labels(s, &m->list, level); /* after the bands have told which parts only wait */
    }
}

void marey_draw(scene *s)
{
    if (!s->marey) {
        s->marey = mem_calloc(1, sizeof *s->marey);
    }
    marey_cache *m = s->marey;
    update_fade(s, m, choose_level(s, m));
    draw_push_clip(s->l, overlay_clip(s));
    if (m->strength < 1) {
        draw_level(s, m, m->before, 1 - m->strength);
        s->frame.n_bands = 0;
        s->frame.n_outliers = 0;
    }
    draw_level(s, m, m->level, m->strength);
    for (size_t i = s->first_visible; m->level == MAREY_OPERATORS && i < s->end_visible; i++) {
        const scene_row *row = &s->tree.rows[i];
        rect strip = row_strip_rect(s, row);
        if (row->kind != ROW_GROUP && row->kind != ROW_COUNTER && strip.h >= px(s, 11)) {
            draw_wide_labels(s, i);
        }
    }
    draw_pop_clip(s->l);
}
