/* Inside the room: wires in one gap share tracks. A wire is a piece across the gap's flow, between lo and hi; its lines
 * come in from the side of track 0 at `before` and leave on the far side at `after`. */
#ifndef MAREY_GRAPH_LAYERED_TRACKS_H
#define MAREY_GRAPH_LAYERED_TRACKS_H

#include <stddef.h>
#include <stdint.h>

typedef struct wire {
    float lo, hi;
    uint32_t before, n_before, after, n_after; /* into ends[] */
    uint32_t track;
} wire;

/** Sets track of each wire: wires that overlap get different ones; few wires in the order with fewest crossings, many
 * by the left-edge rule. @return how many tracks */
uint32_t assign_tracks(wire *w, size_t n, const float *ends);

#endif
