/*
 * What the search field finds: ranks by label, number or host, operators and collectives by a part of their name or of
 * their category's. Letters' case does not matter (ASCII). And the first event of a name from a time on.
 *
 * Thread: any. Owner: the caller (free items).
 */
#ifndef MAREY_APP_FIND_NAMES_H
#define MAREY_APP_FIND_NAMES_H

#include "base/thread.h"
#include "store/store.h"

typedef enum find_kind { FIND_RANK, FIND_NAME } find_kind;

typedef struct find_hit {
    find_kind kind;
    uint32_t id; /* rank index, or name */
} find_hit;

enum { FIND_MAX_HITS = 100000 };

typedef struct find_hits {
    find_hit *items; /* ranks first, then names: of work on the device before others, and those that begin with the
                        text before those that hold it */
    size_t n, cap;
} find_hits;

/** An empty text finds nothing. */
void find_names(const trace_model *m, const char *text, find_hits *out);

#define FIND_MAX_EVENTS UINT64_C(40000000) /* looked through for one event */

/**
 * The earliest event of this name that starts at or after `from_ns`; where there is none, the earliest of all.
 * @return UINT64_MAX: none within FIND_MAX_EVENTS, or cancelled
 */
uint64_t find_event(store_file *f, uint32_t name, int64_t from_ns, cancel_flag *cancel);

#endif
