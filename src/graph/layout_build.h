/* Inside the room: what graph_layout_create() has in hand, and the cache of finished modules. */
#ifndef MAREY_GRAPH_LAYOUT_BUILD_H
#define MAREY_GRAPH_LAYOUT_BUILD_H

#include "graph/layered.h"

typedef struct layout_build {
    const graph_plan *p;
    const visible *v;
    const layout_options *o;
    layout_cache *cache, *own_cache;
    graph_layout *l;
    size_t cap_points;
    bool right;            /* the flow runs along x */
    float *in_at, *out_at; /* [n_items] ports of open modules; -1 */
    float (*inset)[2];     /* [n_items] of closed elements */
    uint32_t *line_first;  /* [n_items + 1] */
    /* The module at hand. */
    float *su, *sv, *child_in, *child_out;
    float (*child_inset)[2];
    uint32_t *from, *to;
    uint8_t *flags;
    layout_point *bent; /* scratch: a route before it is made a curve */
    size_t cap_bent;
    size_t cap_su, cap_sv, cap_in, cap_out, cap_inset, cap_from, cap_to, cap_flags;
} layout_build;

typedef struct cache_key {
    uint64_t hash;
    uint32_t n, n_lines;
} cache_key;

void layout_reserve(layout_build *b, uint32_t n, uint32_t n_lines);
/** The points from first_point on are this route's, orthogonal: its length is counted, curves are made of it. */
void layout_finish_route(layout_build *b, layout_route *route);
/** The root by pipeline stages; see layout_lanes.c. */
marey_status layout_lanes(layout_build *b);

/** Of everything that a module's inside depends on. */
void layout_key(const module_in *in, cache_key *key);
/** Valid until the next put. NULL: not there. */
const module_out *layout_cache_get(layout_cache *c, const cache_key *key);
/** Takes *out over (and clears it) where it fits. */
void layout_cache_put(layout_cache *c, const cache_key *key, module_out *out);

#endif
