#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/run.h"
#include "trace/model.h"

enum {
    BUFFERS_BYTES = 64 << 20,
    BUFFER_MAX_ROWS = 2048,
    BUFFER_MIN_ROWS = 128,
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
        free(m->cursors[i].buffer);
        free(m->cursors[i].args);
    }
    free(m->cursors);
    free(m->heap);
    run_merge_init(m, false);
}

void run_merge_add(run_merge *m, run_set *set, uint32_t source, run_clock clock, const void *clock_ctx)
{
    for (size_t i = 0; i < set->n_chains; i++) {
        run_cursor c = {
            .set = set, .source = source, .segment = set->chains[i].head, .clock = clock, .clock_ctx = clock_ctx};
        VEC_PUSH(m->cursors, m->n_cursors, m->cap_cursors, c);
    }
}

static marey_status flush(const run_merge *m, run_cursor *c, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    if (!m->write_back || g->rows || c->buffer_n == 0) {
        return MAREY_OK;
    }
    return scratch_write(c->set->scratch, c->buffer, c->buffer_n * sizeof *c->buffer,
                         g->rows_at + c->buffer_first * sizeof *c->buffer, d);
}

/* Makes row `i` of the cursor's segment its current one. */
static marey_status load(const run_merge *m, run_cursor *c, uint32_t i, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    if (g->rows) {
        c->row = &g->rows[i];
        c->end = g->rows + g->n;
        return MAREY_OK;
    }
    if (!c->buffer) {
        c->buffer_cap = m->buffer_rows;
        c->buffer = mem_alloc(c->buffer_cap * sizeof *c->buffer);
    }
    uint32_t left = g->n - i;
    c->buffer_first = i;
    c->buffer_n = left < c->buffer_cap ? left : c->buffer_cap;
    c->row = c->buffer;
    c->end = c->buffer + c->buffer_n;
    return scratch_read(c->set->scratch, c->buffer, c->buffer_n * sizeof *c->buffer, g->rows_at + i * sizeof *c->buffer,
                        d);
}

/* Behind the last row in memory; *end at the chain's end. */
static marey_status load_next(const run_merge *m, run_cursor *c, bool *end, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    uint32_t i = g->rows ? g->n : c->buffer_first + c->buffer_n;
    marey_status status = flush(m, c, d);
    if (status != MAREY_OK) {
        return status;
    }
    if (i == g->n) {
        c->args_n = 0;
        c->buffer_n = 0;
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

static void find_rival(run_merge *m)
{
    m->rival_ns = INT64_MAX;
    for (size_t i = 1; i < m->n_heap && i <= 2; i++) {
        m->rival_ns = m->heap[i].key_ns < m->rival_ns ? m->heap[i].key_ns : m->rival_ns;
    }
}

marey_status run_merge_start(run_merge *m, diag *d)
{
    size_t n = m->n_cursors ? m->n_cursors : 1;
    size_t rows = BUFFERS_BYTES / n / sizeof(run_row);
    rows = rows > BUFFER_MAX_ROWS ? BUFFER_MAX_ROWS : rows;
    m->buffer_rows = (uint32_t)(rows < BUFFER_MIN_ROWS ? BUFFER_MIN_ROWS : rows);
    m->heap = mem_realloc_array(m->heap, n, sizeof *m->heap);
    m->n_heap = m->n_cursors;
    for (size_t i = 0; i < m->n_cursors; i++) {
        marey_status status = load(m, &m->cursors[i], 0, d);
        if (status != MAREY_OK) {
            return status;
        }
        run_cursor_set_key(&m->cursors[i]);
        m->heap[i] = (run_place){m->cursors[i].key_ns, (uint32_t)i};
    }
    for (size_t i = m->n_heap / 2; i-- > 0;) {
        sift_down(m, i);
    }
    find_rival(m);
    return MAREY_OK;
}

marey_status run_merge_turn(run_merge *m, diag *d)
{
    run_cursor *c = &m->cursors[m->heap[0].cursor];
    if (c->row == c->end) {
        bool end = false;
        marey_status status = load_next(m, c, &end, d);
        if (status != MAREY_OK) {
            return status;
        }
        if (end) {
            m->heap[0] = m->heap[--m->n_heap];
        } else {
            run_cursor_set_key(c);
        }
    }
    if (m->n_heap > 0) {
        m->heap[0].key_ns = m->cursors[m->heap[0].cursor].key_ns;
        sift_down(m, 0);
    }
    find_rival(m);
    return MAREY_OK;
}

marey_status run_cursor_args(run_cursor *c, const char **args, diag *d)
{
    const run_segment *g = &c->set->segments[c->segment];
    const run_row *r = c->row;
    if (r->args_len == 0) {
        *args = NULL;
        return MAREY_OK;
    }
    if (g->rows) {
        *args = g->args + r->args_at;
        return MAREY_OK;
    }
    uint64_t at = r->args_at;
    if (at < c->args_first || at + r->args_len > c->args_first + c->args_n || c->args_n == 0) {
        size_t window = c->buffer_cap >= BUFFER_MAX_ROWS ? ARGS_WINDOW : ARGS_MIN;
        size_t want = r->args_len > window ? r->args_len : window;
        want = want < g->args_bytes - at ? want : (size_t)(g->args_bytes - at);
        if (want > c->args_cap) {
            free(c->args);
            c->args = mem_alloc(want);
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
