/* How many values live across each place of a stretch: where the fewest do, it is cut. */
#include <string.h>

#include "graph/hierarchy_work.h"

enum { HUB_FAN_OUT = 8 };

/* Adds one run's values: from behind the producer to the last consumer. h->cut holds differences meanwhile. */
static void add_run(hierarchy_work *h, uint32_t at, uint32_t n)
{
    const graph *g = h->g;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = h->order[at + i], last = i;
        uint32_t first = g->from_first[v], end = g->from_first[v + 1];
        if (end - first > HUB_FAN_OUT) {
            continue;
        }
        for (uint32_t k = first; k < end; k++) {
            uint32_t place = h->place[g->edge_to[g->from_edge[k]]];
            if (place != GRAPH_NONE && place >= at && place - at < n && place - at > last) {
                last = place - at;
            }
        }
        if (last > i) { /* lives across the places i + 1 .. last */
            h->cut[i + 1]++;
            h->cut[last + 1]--;
        }
    }
}

void hierarchy_cut_profile(hierarchy_work *h, const stretch *s)
{
    memset(h->cut, 0, ((size_t)s->n + 2) * sizeof *h->cut);
    for (uint32_t r = 0; r < s->n_runs; r++) {
        add_run(h, h->starts[s->first_start + r].at, s->n);
    }
    for (uint32_t i = 1; i <= s->n; i++) {
        h->cut[i] += h->cut[i - 1]; /* unsigned differences add up right */
    }
}
