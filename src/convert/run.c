#include "convert/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/run_sort.h"
#include "trace/model.h"

enum { BOUNCE_BYTES = 256 * 1024 };

void run_set_init(run_set *s, scratch *sc)
{
    memset(s, 0, sizeof *s);
    s->scratch = sc;
}

static void free_pieces(run_set *s, run_piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(pieces[i].rows);
        free(pieces[i].args);
        scratch_release(s->scratch, pieces[i].booked);
    }
    free(pieces);
}

void run_set_deinit(run_set *s)
{
    for (size_t i = 0; i < s->n_segments; i++) {
        free_pieces(s, s->segments[i].pieces, s->segments[i].n_pieces);
        free(s->segments[i].places);
    }
    free_pieces(s, s->open, s->n_open);
    free(s->keys);
    free(s->spare);
    free(s->segments);
    free(s->chains);
    run_set_init(s, s->scratch);
}

bool run_row_before(const run_row *a, const run_row *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->dur_ns > b->dur_ns;
}

/* Appends the segment to the chain that ends closest before it, or begins a chain. */
static void link_segment(run_set *s, const run_segment *g)
{
    uint32_t index = (uint32_t)s->n_segments;
    VEC_PUSH(s->segments, s->n_segments, s->cap_segments, *g);
    run_chain *best = NULL;
    for (size_t i = 0; i < s->n_chains; i++) {
        run_chain *c = &s->chains[i];
        const run_row *last = &s->segments[c->tail].last;
        if (run_row_before(&g->first, last)) {
            continue;
        }
        if (!best || run_row_before(&s->segments[best->tail].last, last)) {
            best = c;
        }
    }
    if (best) {
        s->segments[best->tail].next = index;
        best->tail = index;
    } else {
        VEC_PUSH(s->chains, s->n_chains, s->cap_chains, ((run_chain){index, index}));
    }
}

/* ------------------------------------------------------------------ pieces in memory */

/* The open pieces become a segment. Segments are made in the order of input: a merge relies on it for equal rows. */
static void close_segment(run_set *s)
{
    if (s->n_open == 0) {
        return;
    }
    run_segment g = {.next = NO_ID, .pieces = s->open, .n_pieces = (uint32_t)s->n_open};
    for (size_t i = 0; i < s->n_open; i++) {
        g.n += s->open[i].n;
    }
    g.places = mem_alloc(g.n * sizeof *g.places);
    uint64_t *keys = mem_alloc(2 * (size_t)g.n * sizeof *keys);
    run_sort(g.pieces, g.n_pieces, g.n, g.places, keys);
    free(keys);
    g.first = g.pieces[g.places[0] / RUN_ROWS].rows[g.places[0] % RUN_ROWS];
    g.last = g.pieces[g.places[g.n - 1] / RUN_ROWS].rows[g.places[g.n - 1] % RUN_ROWS];
    s->open = NULL;
    s->n_open = s->cap_open = 0;
    link_segment(s, &g);
}

/* A room that is mostly empty goes back. */
static bool keeps_args(const run_args *a)
{
    return a->n > a->cap / 2;
}

static void keep(run_set *s, run_row **rows, const run_piece *in, run_args *args)
{
    run_piece p = *in;
    if (p.n > RUN_ROWS / 2) {
        *rows = NULL;
    } else {
        p.rows = mem_alloc(p.n * sizeof *p.rows);
        memcpy(p.rows, *rows, p.n * sizeof *p.rows);
    }
    if (keeps_args(args)) {
        p.args = args->text;
        args->text = NULL;
    } else if (args->n > 0) {
        p.args = mem_alloc(args->n + ARG_RECORD_PAD_BYTES);
        memcpy(p.args, args->text, args->n);
    }
    VEC_PUSH(s->open, s->n_open, s->cap_open, p);
    if (s->n_open == RUN_PIECES) {
        close_segment(s);
    }
}

void run_set_seal(run_set *s)
{
    close_segment(s);
    free(s->keys);
    free(s->spare);
    s->keys = NULL;
    s->spare = NULL;
}

/* ------------------------------------------------------------------ pieces in the scratch file */

/* Writes the arguments in the order of the rows, so that they come back as one stream. */
static marey_status spill_args(run_set *s, run_segment *g, run_row *rows, const char *args, diag *d)
{
    char *bounce = mem_alloc(BOUNCE_BYTES);
    size_t n = 0;
    uint64_t at = 0;
    marey_status status = MAREY_OK;
    for (uint32_t i = 0; i < g->n && status == MAREY_OK; i++) {
        const char *from = args + rows[i].args_at;
        size_t left = rows[i].args_len;
        rows[i].args_at = (uint32_t)(at + n);
        while (left > 0 && status == MAREY_OK) {
            size_t part = left < BOUNCE_BYTES - n ? left : BOUNCE_BYTES - n;
            memcpy(bounce + n, from, part);
            n += part;
            from += part;
            left -= part;
            if (n == BOUNCE_BYTES) {
                status = scratch_write(s->scratch, bounce, n, g->args_at + at, d);
                at += n;
                n = 0;
            }
        }
    }
    if (status == MAREY_OK && n > 0) {
        status = scratch_write(s->scratch, bounce, n, g->args_at + at, d);
    }
    free(bounce);
    return status;
}

/* The piece's rows in order, in the spare room. */
static run_row *sort_piece(run_set *s, const run_piece *p)
{
    if (!s->keys) {
        s->keys = mem_alloc(2 * RUN_ROWS * sizeof *s->keys + RUN_ROWS * sizeof(uint32_t));
        s->spare = mem_alloc(RUN_ROWS * sizeof *s->spare);
    }
    uint32_t *places = (uint32_t *)(s->keys + 2 * RUN_ROWS);
    run_sort(p, 1, p->n, places, s->keys);
    for (uint32_t i = 0; i < p->n; i++) {
        s->spare[i] = p->rows[places[i]];
        s->spare[i].order = (uint16_t)places[i];
    }
    return s->spare;
}

static marey_status spill(run_set *s, const run_piece *p, const char *args, diag *d)
{
    run_row *rows = sort_piece(s, p);
    run_segment g = {.base = p->base, .n = p->n, .next = NO_ID, .first = rows[0], .last = rows[p->n - 1]};
    for (uint32_t i = 0; i < g.n; i++) {
        g.args_bytes += rows[i].args_len;
    }
    g.rows_at = scratch_reserve(s->scratch, g.n * sizeof *rows + g.args_bytes);
    g.args_at = g.rows_at + g.n * sizeof *rows;
    marey_status status = args ? spill_args(s, &g, rows, args, d) : MAREY_OK;
    if (status == MAREY_OK) {
        status = scratch_write(s->scratch, rows, g.n * sizeof *rows, g.rows_at, d);
    }
    close_segment(s);
    link_segment(s, &g);
    return status;
}

marey_status run_set_add(run_set *s, run_row **rows, size_t n, run_args *args, diag *d)
{
    if (n == 0) {
        return MAREY_OK;
    }
    MAREY_ASSERT(n <= RUN_ROWS);
    run_piece p = {.rows = *rows, .base = s->n_rows, .n = (uint32_t)n};
    p.booked = n * (sizeof **rows + sizeof(uint32_t)) + (keeps_args(args) ? args->cap : args->n);
    s->n_rows += n;
    if (scratch_claim(s->scratch, p.booked)) {
        keep(s, rows, &p, args);
        return MAREY_OK;
    }
    return spill(s, &p, args->text, d);
}
