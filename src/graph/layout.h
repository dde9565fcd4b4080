/*
 * Layered layout of what is visible: per open module, bottom-up; each open module becomes a box of fixed size in its
 * parent. Layers by longest path and network simplex; long lines as trunks; order by barycenter and median sweeps from
 * the order of the input, best kept by counted crossings; coordinates by Brandes and Koepf; lines end on the sides of
 * boxes near to what they lead to; orthogonal routes in tracks.
 * Modules that come out long and thin are wrapped. docs/graph.md tells each step with its source.
 *
 * Deterministic: the same visible graph and sizes give the same layout, whatever was open before. A module whose
 * inside is unchanged is taken from the cache. Unit: design px at zoom 1, x right, y down. Thread: one at a time
 * (a worker); results are read-only. Iterative, cancellable between modules and inside long passes.
 */
#ifndef MAREY_GRAPH_LAYOUT_H
#define MAREY_GRAPH_LAYOUT_H

#include "graph/visible.h"

typedef enum layout_direction { LAYOUT_RIGHT, LAYOUT_DOWN } layout_direction;
typedef enum layout_routing { ROUTE_ORTHOGONAL, ROUTE_SMOOTH } layout_routing;

typedef struct layout_options {
    layout_direction direction;
    layout_routing routing;
    double wrap_aspect; /* a module longer than this times its height is wrapped; 0: never. 3.5 is usual */
    /* Size of a closed element or leaf, px: by its label's width. NULL: from the label's length. */
    void (*size)(void *ctx, const graph_plan *p, uint32_t element, float *w, float *h);
    /* How much at the beginning and the end of its side, across the flow, lines keep off: px. NULL: nothing. */
    void (*inset)(void *ctx, const graph_plan *p, uint32_t element, float *before, float *after);
    void *size_ctx; /* of both */
    bool by_stage; /* the parallel strategy: one lane per pipeline stage, operators in order of execution, blocks cut at
                      Send and Receive and placed by dependency; only where the graph has stages */
    cancel_flag *cancel; /* may be NULL */
} layout_options;
void layout_options_init(layout_options *o);

typedef struct layout_box {
    double x, y; /* absolute */
    float w, h;
} layout_box;

typedef struct layout_point {
    float x, y; /* relative to the top left of the line's module (its layout_box) */
} layout_point;

/* Points of a line: a polyline of axis-parallel segments (ROUTE_ORTHOGONAL; the drawing rounds corners), or the control
 * points of cubic pieces (ROUTE_SMOOTH: 3k + 1 points). */
typedef struct layout_route {
    uint32_t first_point, n_points;
} layout_route;

/* A lane of layout_options.by_stage. */
typedef struct layout_lane {
    int32_t stage;
    double y, h;
} layout_lane;

typedef struct graph_layout {
    layout_box *boxes;    /* [visible.n_items] */
    layout_route *routes; /* [visible.n_lines] */
    layout_point *points;
    size_t n_points;
    layout_lane *lanes;
    size_t n_lanes;
    uint64_t n_crossings;  /* of routes inside modules: counted between layers */
    double edge_length_px; /* sum over lines */
    double width, height;  /* of the root */
    double seconds;
    size_t n_cached; /* modules taken from the cache */
} graph_layout;

/* Finished insides of modules, by (module, what is open inside, sizes, options). Bounded; belongs to one plan. */
typedef struct layout_cache layout_cache;
layout_cache *layout_cache_create(size_t max_bytes);
void layout_cache_destroy(layout_cache **c);

/** `cache` may be NULL. Errors: CANCELLED. */
marey_status graph_layout_create(graph_layout **out, const graph_plan *p, const visible *v, const layout_options *o,
                                 layout_cache *cache);
void graph_layout_destroy(graph_layout **l);
/* LAYOUT_CORNER: the radius with which a drawing rounds the corners of orthogonal routes. */
enum { LAYOUT_CORNER = 10, LAYOUT_PAD = 16, LAYOUT_TITLE = 28, LAYOUT_GAP = 24, LAYOUT_LAYER_GAP = 40 };
/** @return NULL, or a sentence: no NaN, children inside their parent, siblings do not overlap, routes begin and end at
 *  their boxes' sides */
const char *graph_layout_check(const graph_layout *l, const visible *v);

#endif
