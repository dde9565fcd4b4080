#include "app/graph_script.h"

#include <math.h>

#include "base/clock.h"

static const double NARROW_ZOOM = 1.2;

marey_status graph_script_choose(graph_script *g, session *s, uint64_t seed, diag *d)
{
    scene_graph k;
    prng r;
    prng_seed(&r, seed);
    if (!scene_graph_get(s->scene, &k) || !scene_graph_fit(s->scene, GRAPH_NONE, &g->wide)) {
        return diag_error(d, MAREY_STATE, store_path(s->file), DIAG_NO_OFFSET, "The file holds no graph to zoom over.");
    }
    size_t item = 0;
    for (int try = 0; try < 64; try++) { /* something small, as far as there is */
        item = prng_below(&r, k.v->n_items);
        if (item > 0 && k.v->items[item].n_children == 0) {
            break;
        }
    }
    const layout_box *b = &k.layout->boxes[item];
    g->narrow = (graph_camera){b->x + (double)b->w / 2, b->y + (double)b->h / 2, NARROW_ZOOM};
    return MAREY_OK;
}

void graph_script_view(const graph_script *g, session *s, uint64_t i, uint64_t n)
{
    double half = fmax((double)(n / 2), 1);
    double way = 1 - fabs((double)i - half) / half; /* 0 at the ends, 1 in the middle */
    double zoom = g->wide.zoom * pow(g->narrow.zoom / g->wide.zoom, way);
    double a = 1 / g->wide.zoom;
    double b = 1 / g->narrow.zoom;
    double part = fabs(b - a) > 1e-9 * a ? (1 / zoom - a) / (b - a) : way;
    s->view.graph.at = (graph_camera){g->wide.x + (g->narrow.x - g->wide.x) * part,
                                      g->wide.y + (g->narrow.y - g->wide.y) * part, zoom};
}
