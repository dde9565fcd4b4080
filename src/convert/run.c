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

static void free_segment(run_set *s, run_segment *g)
{
    free(g->rows);
    free(g->args);
    scratch_release(s->scratch, g->booked);
    *g = (run_segment){0};
}

void run_set_seal(run_set *s)
{
    free(s->keys);
    free(s->spare);
    s->keys = NULL;
    s->spare = NULL;
}

void run_set_deinit(run_set *s)
{
    for (size_t i = 0; i < s->n_segments; i++) {
        free_segment(s, &s->segments[i]);
    }
    run_set_seal(s);
    free(s->segments);
    free(s->chains);
    run_set_init(s, s->scratch);
}

bool run_row_before(const run_row *a, const run_row *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->dur_ns > b->dur_ns;
}

/* Appends the segment to the chain that ends closest before it, or begins a chain. */
static void link_segment(run_set *s, uint32_t index)
{
    const run_segment *g = &s->segments[index];
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

static marey_status spill(run_set *s, run_segment *g, run_row *rows, const char *args, diag *d)
{
    uint64_t args_bytes = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        args_bytes += rows[i].args_len;
    }
    g->args_bytes = args_bytes;
    g->rows_at = scratch_reserve(s->scratch, g->n * sizeof *rows + args_bytes);
    g->args_at = g->rows_at + g->n * sizeof *rows;
    marey_status status = args ? spill_args(s, g, rows, args, d) : MAREY_OK;
    if (status == MAREY_OK) {
        status = scratch_write(s->scratch, rows, g->n * sizeof *rows, g->rows_at, d);
    }
    return status;
}

/* The arguments are copied rather than taken: they are few bytes in a large room, which is warm and serves again. */
static void keep(run_segment *g, run_row *rows, const char *args, size_t n_args)
{
    g->rows = rows;
    g->args_bytes = n_args;
    if (n_args > 0) {
        g->args = mem_alloc(n_args);
        memcpy(g->args, args, n_args);
    }
}

marey_status run_set_add(run_set *s, const run_row *rows, size_t n, const char *args, size_t n_args, diag *d)
{
    if (n == 0) {
        return MAREY_OK;
    }
    MAREY_ASSERT(n <= RUN_ROWS);
    if (!s->keys) {
        s->keys = mem_alloc(2 * RUN_ROWS * sizeof *s->keys);
    }
    uint64_t bytes = n * sizeof *rows + n_args;
    bool stays = scratch_claim(s->scratch, bytes);
    if (!stays && !s->spare) {
        s->spare = mem_alloc(RUN_ROWS * sizeof *s->spare);
    }
    run_row *out = stays ? mem_alloc_large(n * sizeof *out) : s->spare;
    run_sort(rows, n, out, s->keys);
    run_segment g = {.base = s->n_rows, .n = (uint32_t)n, .next = NO_ID, .first = out[0], .last = out[n - 1]};
    marey_status status = MAREY_OK;
    if (stays) {
        g.booked = bytes;
        keep(&g, out, args, n_args);
    } else {
        status = spill(s, &g, out, args, d);
    }
    s->n_rows += n;
    VEC_PUSH(s->segments, s->n_segments, s->cap_segments, g);
    link_segment(s, (uint32_t)(s->n_segments - 1));
    return status;
}
