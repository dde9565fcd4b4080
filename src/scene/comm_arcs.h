/* Links between the devices of the communication layout, as curves in the picture. Internal to the room. */
#ifndef MAREY_SCENE_COMM_ARCS_H
#define MAREY_SCENE_COMM_ARCS_H

#include "scene/comm_view.h"

typedef struct node_place {
    float x, y, radius; /* px */
} node_place;

/* A link between two of the nodes. */
typedef struct comm_arc {
    uint32_t from, to;
    float width; /* px */
    rgba colour;
    bool has_head;
} comm_arc;

/* Nodes [first, end). */
typedef struct comm_span {
    uint32_t first, end;
} comm_span;

/** A curve bent to its left: the two directions of a pair lie apart. It may pass under other nodes. */
void comm_arc_draw(scene *s, const comm_arc *a, const node_place *nodes);

/**
 * Where that curve would pass under other nodes: a line around the nodes of `around`, which both ends belong to, beside
 * the *n_lines that are there.
 * @return false: it would not, or the ends lie in the midst of others; nothing was drawn
 */
bool comm_arc_around(scene *s, const comm_arc *a, const node_place *nodes, float pitch, comm_span around,
                     unsigned *n_lines);

#endif
