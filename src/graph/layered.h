/*
 * Inside the room: the layered method for one module. Coordinates: u along the flow, v across it; the driver
 * (layout.c) turns them to x and y. Vertices are children first, then the module's in-port, its out-port, then dummies.
 *
 * Long lines are trunks: all long lines of one end share one chain of dummy vertices, so dummies grow with the ends'
 * reach and not with lines times layers. In small modules lines have chains of their own where that crosses less. Lines
 * that would still make too many dummies, and lines that run back from or to open modules, are *outer*: they go round
 * through the channel below their row. Lines that run back between closed boxes are *turned*: laid out the other way.
 */
#ifndef MAREY_GRAPH_LAYERED_H
#define MAREY_GRAPH_LAYERED_H

#include "graph/layout.h"

enum { TRACK_GAP = 10, TRACK_MARGIN = 14, DUMMY_GAP = 12 };

/* What a module's inside depends on, and nothing else does. */
typedef struct module_in {
    uint32_t n; /* children; in-port is vertex n, out-port n + 1 */
    const float *su, *sv;
    const float *in_at, *out_at; /* offset of ports from the side's start; < 0: lines spread about the middle (in), the
                                    middle (out) */
    const float (*inset)[2]; /* where no line ends: at the beginning of the side, at its end */
    uint32_t n_lines;
    const uint32_t *from, *to; /* vertices */
    const uint8_t *flags;      /* LINE_BACK, LINE_REVEALED */
    float pad_u0, pad_u1, pad_v0, pad_v1;
    float title_u; /* along the flow, behind the in-port: kept free of wires */
    float wrap_aspect;
} module_in;

typedef struct module_out {
    float *u, *v;          /* [n] start of children */
    uint32_t *first_point; /* [n_lines + 1] */
    layout_point *points;  /* x is u, y is v */
    size_t n_points, cap_points;
    float su, sv, in_at, out_at;
    uint64_t n_crossings;
    double length;
} module_out;

/** Errors: CANCELLED (out is freed). */
marey_status layered_module(const module_in *in, module_out *out, cancel_flag *cancel);
void module_out_deinit(module_out *o);

enum { OUTER_NONE, OUTER_BACK, OUTER_JUMP };

typedef struct layered_line {
    uint32_t from, to;
    uint32_t id;   /* in module_in */
    uint8_t outer; /* OUTER_* */
    bool merged;   /* its dummies are the target's chain, not the source's */
    bool own;      /* its dummies are a chain of its own */
    bool turned;   /* runs back between two closed boxes: from, to are its target and its source */
    uint32_t base; /* its dummy at layer k is base + k (modulo 2^32) */
} layered_line;

/* Of a component, once it is routed: its box, and where its ports are. */
typedef struct component_size {
    float su, sv, in_at, out_at;
} component_size;

/* One weakly connected component while it is laid out. */
typedef struct layered {
    const module_in *in;
    cancel_flag *cancel;
    uint32_t n_real, n;         /* without, with dummies */
    uint32_t *id;               /* [n_real] vertex in module_in */
    uint32_t in_port, out_port; /* GRAPH_NONE */
    layered_line *lines;
    uint32_t n_lines;
    uint32_t *line_first, *line_of;       /* [n_real + 1] lines out of a vertex: line_of[line_first[i]] .. */
    uint32_t *line_in_first, *line_in_of; /* likewise into it */
    float *su, *sv, *out, *in_at;         /* [n] */
    uint32_t *layer, *pos;                /* [n] */
    uint32_t n_layers;
    uint32_t *layer_first, *order; /* [n_layers + 1], [n] */
    /* Links join neighbouring layers. */
    uint32_t n_links;
    uint32_t *link_from, *link_to; /* ascending by (from, to) */
    float *link_out, *link_in;     /* offsets of the ends at source and target */
    float *link_lo, *link_hi;      /* how far the end at the target may lie above (< 0), below the one at the source so that
                                      ends can slide together */
    uint8_t *link_loose;           /* across the end of a row, or of no line: asks for no place */
    uint8_t *link_turned;          /* of a turned line: two boxes may be joined both ways */
    uint32_t *down_first;          /* [n + 1] links out of a vertex */
    uint32_t *up_first, *up_link;  /* [n + 1], [n_links] */
    float *v;                      /* [n] start */
    uint64_t n_crossings;
} layered;

marey_status layered_rank(layered *g);  /* layer of real vertices; which lines are outer */
void layered_simplex(layered *g);       /* from feasible layers to those with the shortest lines; of small graphs */
marey_status layered_links(layered *g); /* dummies, links, order of the input */
marey_status layered_order(layered *g); /* order, n_crossings */
void layered_unlink(layered *g);        /* undoes layered_links() */
marey_status layered_place(layered *g); /* v, ends of links; again once link_loose is known */
void layered_refine(layered *g);        /* shorter links */
void layered_slide_ends(layered *g);    /* link_out, link_in, out: nearer to what they lead to */
void layered_index_lines(layered *g);   /* line_of, line_in_of; after lines were turned */
void layered_ends(layered *g);          /* link_out, link_in in the order of what they lead to */
/** The link between two vertices of neighbouring layers that are linked. */
uint32_t layered_link(const layered *g, uint32_t from, uint32_t to, bool turned);
/** Places the children (out->u, out->v) and appends the points of the component's lines, in the order of its lines,
 * each with its number of points in n_points[]. */
marey_status layered_route(layered *g, module_out *out, uint32_t *n_points, component_size *size);
void layered_deinit(layered *g);

/** The part of a closed box's side where lines may end. */
static inline float layered_side_from(const layered *g, uint32_t x)
{
    return g->id[x] < g->in->n ? g->in->inset[g->id[x]][0] : 0;
}
static inline float layered_side_to(const layered *g, uint32_t x)
{
    return g->sv[x] - (g->id[x] < g->in->n ? g->in->inset[g->id[x]][1] : 0);
}
static inline float layered_side_middle(const layered *g, uint32_t x)
{
    return (layered_side_from(g, x) + layered_side_to(g, x)) / 2;
}
/** Dummy of a line at a layer strictly between its ends, or its end at that layer. */
static inline uint32_t layered_at(const layered *g, const layered_line *l, uint32_t layer)
{
    if (layer <= g->layer[l->from]) {
        return l->from;
    }
    if (layer >= g->layer[l->to]) {
        return l->to;
    }
    return l->base + layer;
}
/** Least distance across the flow between two neighbours. */
static inline float layered_distance(const layered *g, uint32_t a, uint32_t b)
{
    int dummies = (a >= g->n_real) + (b >= g->n_real);
    return dummies == 2 ? DUMMY_GAP : dummies == 1 ? (DUMMY_GAP + LAYOUT_GAP) / 2.0F : LAYOUT_GAP;
}
static inline float layered_out_v(const layered *g, uint32_t x)
{
    return g->v[x] + g->out[x];
}

#endif
