/* What lies on the ways from one operator to another: what the one reaches, and the other is reached from. */
#include <stdlib.h>
#include <string.h>

#include "scene/graph_view.h"

static bool has_bit(const uint8_t *bits, uint32_t i)
{
    return (bits[i >> 3] >> (i & 7) & 1) != 0;
}

static void set_bit(uint8_t *bits, uint32_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | 1U << (i & 7));
}

/* Breadth first along the edges, or against them; only through `inside` where it is given. */
static void reach(const graph *g, uint32_t from, bool forward, const uint8_t *inside, uint8_t *seen, uint32_t *queue,
                  cancel_flag *cancel)
{
    size_t head = 0;
    size_t n = 0;
    queue[n++] = from;
    set_bit(seen, from);
    while (head < n && ((head & 4095) != 0 || !is_cancelled(cancel))) {
        uint32_t v = queue[head++];
        uint32_t first = forward ? g->from_first[v] : g->in_first[v];
        uint32_t end = forward ? g->from_first[v + 1] : g->in_first[v + 1];
        for (uint32_t i = first; i < end; i++) {
            uint32_t edge = forward ? g->from_edge[i] : i;
            uint32_t next = forward ? g->edge_to[edge] : g->edge_from[edge];
            if (!has_bit(seen, next) && (!inside || has_bit(inside, next))) {
                set_bit(seen, next);
                queue[n++] = next;
            }
        }
    }
}

size_t graph_between(const graph *g, uint32_t from, uint32_t to, uint8_t *on, cancel_flag *cancel)
{
    size_t bytes = g->n_nodes / 8 + 1;
    memset(on, 0, bytes);
    if (from >= g->n_nodes || to >= g->n_nodes) {
        return 0;
    }
    uint8_t *reached = mem_calloc(bytes, 1);
    uint32_t *queue = mem_alloc((g->n_nodes + 1) * sizeof *queue);
    reach(g, from, true, NULL, reached, queue, cancel);
    size_t n = 0;
    if (has_bit(reached, to)) {
        reach(g, to, false, reached, on, queue, cancel);
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            n += has_bit(on, i);
        }
    }
    free(queue);
    free(reached);
    return n;
}
