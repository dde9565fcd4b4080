#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/run.h"
#include "trace/model.h"

enum {
    WINDOWS_BYTES = 64 << 20,
    WINDOW_MAX_ROWS = 2048,
    WINDOW_MIN_ROWS = 128,
    ARGS_WINDOW = 64 * 1024,
    ARGS_MIN = 8192
};

void run_merge_init(run_merge *m, bool write_back)
{
    memset(m, 0, sizeof *m);
    m->write_back = write_back;
}

void run_merge_deinit(run_merge *m)
{
    for (size_t i = 0; i < m->n_cursors; i++) {
        free(m->cursors[i].window.rows);
        free(m->cursors[i].args);
    }
    free(m->cursors);
    free(m->in_order);
    free(m->heap);
    run_merge_init(m, false);
}

void run_merge_add(run_merge *m, run_set *set, uint32_t source, run_clock clock, const void *clock_ctx,
                   int64_t shift_ns)
{
    MAREY_ASSERT(set->n_open == 0);
    for (size_t i = 0; i < set->n_chains; i++) {
        run_cursor c = {.set = set,
                        .source = source,
                        .segment = set->chains[i].head,
                        .clock = clock,
                        .clock_ctx = clock_ctx,
                        .shift_ns = shift_ns};
        VEC_PUSH(m->cursors, m->n_cursors, m->cap_cursors, c);
    }
}

static marey_status flush(const run_merge *m, run_cursor *c, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    const run_piece *w = &c->window;
    if (!m->write_back || g->places || w->n == 0) {
        return MAREY_OK;
    }
    return scratch_write(c->set->scratch, w->rows, w->n * sizeof *w->rows, g->rows_at + c->window_at * sizeof *w->rows,
                         d);
}

static marey_status load_window(run_merge *m, run_cursor *c, uint32_t i, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    run_piece *w = &c->window;
    if (!w->rows) {
        c->window_cap = m->window_rows;
        w->rows = mem_alloc(c->window_cap * sizeof *w->rows);
    }
    uint32_t left = g->n - i;
    w->n = left < c->window_cap ? left : c->window_cap;
    w->base = g->base;
    c->window_at = i;
    c->pieces = w;
    c->at = m->in_order;
    c->end = c->at + w->n;
    return scratch_read(c->set->scratch, w->rows, w->n * sizeof *w->rows, g->rows_at + i * sizeof *w->rows, d);
}

/* Makes row `i` of the cursor's segment its current one. */
static marey_status load(run_merge *m, run_cursor *c, uint32_t i, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    marey_status status = MAREY_OK;
    if (g->places) {
        c->pieces = g->pieces;
        c->at = g->places + i;
        c->end = g->places + g->n;
    } else {
        status = load_window(m, c, i, d);
    }
    if (status == MAREY_OK) {
        run_cursor_look(c);
        c->key_ns = run_cursor_key(c);
    }
    return status;
}

/* Behind the last row in memory; *end at the chain's end. */
static marey_status load_next(run_merge *m, run_cursor *c, bool *end, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    uint32_t i = g->places ? g->n : c->window_at + c->window.n;
    marey_status status = flush(m, c, d);
    if (status != MAREY_OK) {
        return status;
    }
    if (i == g->n) {
        c->args_n = 0;
        c->window.n = 0;
        *end = g->next == NO_ID;
        if (*end) {
            return MAREY_OK;
        }
        c->segment = g->next;
        i = 0;
    }
    return load(m, c, i, d);
}

/* Of equal keys: the longer, then the order of input. */
static bool wins_tie(const run_merge *m, uint32_t a, uint32_t b)
{
    const run_cursor *ca = &m->cursors[a];
    const run_cursor *cb = &m->cursors[b];
    if (ca->row->dur_ns != cb->row->dur_ns) {
        return ca->row->dur_ns > cb->row->dur_ns;
    }
    if (ca->source != cb->source) {
        return ca->source < cb->source;
    }
    return run_cursor_order(ca) < run_cursor_order(cb);
}

static inline bool before(const run_merge *m, run_place a, run_place b)
{
    return a.key_ns != b.key_ns ? a.key_ns < b.key_ns : wins_tie(m, a.cursor, b.cursor);
}

static void sift_down(run_merge *m, size_t i)
{
    run_place moving = m->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= m->n_heap) {
            break;
        }
        if (child + 1 < m->n_heap && before(m, m->heap[child + 1], m->heap[child])) {
            child++;
        }
        if (!before(m, m->heap[child], moving)) {
            break;
        }
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = moving;
}

static void find_top(run_merge *m)
{
    m->top = m->n_heap ? &m->cursors[m->heap[0].cursor] : NULL;
    m->rival_ns = INT64_MAX;
    for (size_t i = 1; i < m->n_heap && i <= 2; i++) {
        m->rival_ns = m->heap[i].key_ns < m->rival_ns ? m->heap[i].key_ns : m->rival_ns;
    }
}

static void choose_windows(run_merge *m)
{
    size_t rows = WINDOWS_BYTES / (m->n_cursors ? m->n_cursors : 1) / sizeof(run_row);
    rows = rows > WINDOW_MAX_ROWS ? WINDOW_MAX_ROWS : rows;
    m->window_rows = (uint32_t)(rows < WINDOW_MIN_ROWS ? WINDOW_MIN_ROWS : rows);
    m->in_order = mem_alloc(m->window_rows * sizeof *m->in_order);
    for (uint32_t i = 0; i < m->window_rows; i++) {
        m->in_order[i] = i;
    }
}

marey_status run_merge_start(run_merge *m, diag *d)
{
    choose_windows(m);
    m->heap = mem_realloc_array(m->heap, m->n_cursors ? m->n_cursors : 1, sizeof *m->heap);
    m->n_heap = m->n_cursors;
    for (size_t i = 0; i < m->n_cursors; i++) {
        marey_status status = load(m, &m->cursors[i], 0, d);
        if (status != MAREY_OK) {
            return status;
        }
        m->heap[i] = (run_place){m->cursors[i].key_ns, (uint32_t)i};
    }
    for (size_t i = m->n_heap / 2; i-- > 0;) {
        sift_down(m, i);
    }
    find_top(m);
    return MAREY_OK;
}

marey_status run_merge_turn(run_merge *m, diag *d)
{
    run_cursor *c = m->top;
    if (c->at == c->end) {
        bool end = false;
        marey_status status = load_next(m, c, &end, d);
        if (status != MAREY_OK) {
            return status;
        }
        if (end) {
            m->heap[0] = m->heap[--m->n_heap];
        }
    }
    if (m->n_heap > 0) {
        m->heap[0].key_ns = m->cursors[m->heap[0].cursor].key_ns;
        sift_down(m, 0);
    }
    find_top(m);
    return MAREY_OK;
}

marey_status run_cursor_read_args(run_cursor *c, const char **args, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    const run_row *r = c->row;
    uint64_t at = r->args_at;
    if (at < c->args_first || at + r->args_len > c->args_first + c->args_n || c->args_n == 0) {
        size_t window = c->window_cap >= WINDOW_MAX_ROWS ? ARGS_WINDOW : ARGS_MIN;
        size_t want = r->args_len > window ? r->args_len : window;
        want = want < g->args_bytes - at ? want : (size_t)(g->args_bytes - at);
        if (want > c->args_cap) {
            free(c->args);
            c->args = mem_alloc(want + ARG_RECORD_PAD_BYTES);
            c->args_cap = want;
        }
        c->args_first = at;
        c->args_n = want;
        marey_status status = scratch_read(c->set->scratch, c->args, want, g->args_at + at, d);
        if (status != MAREY_OK) {
            return status;
        }
    }
    *args = c->args + (at - c->args_first);
    return MAREY_OK;
}
