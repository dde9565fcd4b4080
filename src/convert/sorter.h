/*
 * An external sort of small records: what hangs on events (links, flows, counter samples) is joined by sorting, so that
 * memory stays bounded whatever its number.
 * Thread: one at a time.
 */
#ifndef MAREY_CONVERT_SORTER_H
#define MAREY_CONVERT_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "convert/scratch.h"

typedef struct sort_record {
    uint64_t k0, k1; /* order: k0, then k1, then order of input */
    uint64_t v;
} sort_record;

typedef struct sort_run {
    uint64_t at; /* in the scratch file */
    uint64_t n;
    /* reading */
    sort_record *buffer;
    uint64_t next; /* record to load next */
    size_t i, n_buffer;
} sort_run;

typedef struct sorter {
    scratch *scratch;
    size_t limit; /* records kept in memory */
    sort_record *records, *spare;
    size_t n, cap;
    sort_run *runs;
    size_t n_runs, cap_runs;
    uint32_t *heap;
    size_t n_heap;
    size_t i; /* of records, where there are no runs */
    uint64_t n_total;
} sorter;

void sorter_init(sorter *s, scratch *sc, size_t limit);
void sorter_deinit(sorter *s);
/* The same where there is no room at hand. */
marey_status sorter_push_apart(sorter *s, const sort_record *r, diag *d);
static inline marey_status sorter_push(sorter *s, uint64_t k0, uint64_t k1, uint64_t v, diag *d)
{
    if (s->n == s->cap || s->n >= s->limit) {
        return sorter_push_apart(s, &(sort_record){k0, k1, v}, d);
    }
    s->n_total++;
    s->records[s->n++] = (sort_record){k0, k1, v};
    return MAREY_OK;
}
/** No more pushes; reading begins. */
marey_status sorter_finish(sorter *s, diag *d);
/* The same where any are in the scratch file. */
marey_status sorter_next_merged(sorter *s, sort_record *r, bool *more, diag *d);
/** The next record in order. @return false in *more at the end */
static inline marey_status sorter_next(sorter *s, sort_record *r, bool *more, diag *d)
{
    if (s->n_runs > 0) {
        return sorter_next_merged(s, r, more, d);
    }
    *more = s->i < s->n;
    if (*more) {
        *r = s->records[s->i++];
    }
    return MAREY_OK;
}

/** A signed time as a key. */
static inline uint64_t sorter_key(int64_t t)
{
    return (uint64_t)t ^ (UINT64_C(1) << 63);
}
static inline int64_t sorter_time(uint64_t key)
{
    return (int64_t)(key ^ (UINT64_C(1) << 63));
}

#endif
