/*
 * Inside the room: routes of one component. Layers stand in rows (one, unless the component is wrapped). Before each
 * layer is a gap; behind the last layer of a row a margin; below each row a channel. Wires in gaps and margins run
 * across the flow (their `wire_at` is a u), wires in channels along it (a v).
 */
#ifndef MAREY_GRAPH_LAYERED_ROUTE_H
#define MAREY_GRAPH_LAYERED_ROUTE_H

#include "graph/layered.h"
#include "graph/layered_tracks.h"

#define STRAIGHT 0.5F /* px: links that differ by less are drawn straight */

typedef struct router {
    layered *g;
    uint32_t n_rows;
    uint32_t *row_first, *row_of;   /* [n_rows + 1] layers; [n_layers] */
    float *row_lo, *row_hi, *row_v; /* [n_rows] extent of v; what is added to v */
    float *layer_u, *layer_end;     /* [n_layers] */
    wire *wires;
    float *wire_at, *ends;
    size_t n_wires, cap_wires, cap_wire_at, n_ends, cap_ends;
    uint32_t *out_wire, *start_wire, *row_wire; /* [n_links] in the gap or at the row's end; at the next row's start;
                                                   in the channel between. Links that leave at one place share them */
    uint32_t *outer_wire, *source_channel;      /* [n_real] of a vertex's outer lines */
    uint32_t *target_wire, *target_channel;     /* [n_lines] of an outer line */
    float *target_v, *margin_u;                 /* [n_lines], [n_real] */
    uint32_t *outer_sources, n_outer_sources;
    uint8_t *use;            /* [n_links] USE_*, of wrapped components */
    bool has_entry, has_exit; /* lines of ports beside the rows: */
    float port_u, exit_u;    /* where those run */
    float indent, su, sv;
} router;

enum { USE_THROUGH = 1, USE_ENTRY = 2, USE_ROW = 4 };

void router_init(router *r, layered *g);
/** Cut into rows: sets n_rows, row_first, row_of. */
void router_rows(router *r, float wrap_aspect);
/** Sets link_loose by the rows. @return whether any is */
bool router_loosen(router *r);
/** Whether a line goes from the in-port beside the rows to a later one; to the out-port beside later rows. */
bool router_enters_side(const router *r, const layered_line *l);
bool router_leaves_side(const router *r, const layered_line *l);
/** Where a vertex begins. */
float router_u(const router *r, uint32_t x);
bool router_run(router *r); /* false: cancelled */
void router_deinit(router *r);

#endif
