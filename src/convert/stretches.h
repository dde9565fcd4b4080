/*
 * Where on a clock many times lie: a few stretches, apart from each other, in order of time. Of times that come in any
 * order, in a few words each.
 * Internal to the room. Thread: the owner's.
 */
#ifndef MAREY_CONVERT_STRETCHES_H
#define MAREY_CONVERT_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_STRETCHES = 64 };

typedef struct time_stretch {
    int64_t first_ns, last_ns;
} time_stretch;

typedef struct stretches {
    time_stretch *items; /* [MAX_STRETCHES]; NULL before the first time */
    uint32_t n;
    uint64_t gap_ns; /* times that are not further apart lie in one; grows when there are too many */
} stretches;

void stretches_put(stretches *s, int64_t t_ns);
void stretches_deinit(stretches *s);

#endif
