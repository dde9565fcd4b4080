#include "app/graph_find.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static bool holds(const char *s, const char *text)
{
    return strcasestr(s, text) != NULL;
}

static bool push(graph_found *f, uint32_t id, graph_found_by by)
{
    if (f->n >= GRAPH_FIND_MAX) {
        f->is_cut = true;
        return false;
    }
    VEC_PUSH(f->items, f->n, f->cap, ((graph_found_hit){id, (uint8_t)by}));
    return true;
}

static bool has_shape(const graph *g, uint32_t node, const uint8_t *hit)
{
    for (uint32_t i = g->out_first[node]; i < g->out_first[node + 1]; i++) {
        if (hit[graph_out_type(g, i)]) {
            return true;
        }
    }
    return false;
}

static bool has_attribute(const graph *g, uint32_t node, const uint8_t *hit)
{
    graph_rows rows = graph_attrs_of(g, node);
    for (uint32_t i = rows.first; i < rows.end; i++) {
        if (hit[g->attr_key[i]] || hit[g->attr_value[i]]) {
            return true;
        }
    }
    return graph_sharding_of(g, node) != 0 && hit[graph_sharding_of(g, node)];
}

static void find_nodes(const graph *g, graph_found_by by, const uint8_t *hit, uint8_t *taken, cancel_flag *cancel,
                       graph_found *out)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if ((i & 4095) == 0 && is_cancelled(cancel)) {
            return;
        }
        if (taken[i]) {
            continue;
        }
        bool is = by == FOUND_NAME       ? hit[g->node_name[i]]
                  : by == FOUND_OPERATOR ? hit[g->node_op[i]]
                  : by == FOUND_SHAPE    ? has_shape(g, i, hit)
                                         : has_attribute(g, i, hit);
        if (is) {
            taken[i] = 1;
            if (!push(out, i, by)) {
                return;
            }
        }
    }
}

void graph_find(const graph *g, const char *text, cancel_flag *cancel, graph_found *out)
{
    out->n = 0;
    out->is_cut = false;
    if (!text[0]) {
        return;
    }
    uint8_t *hit = mem_calloc(g->n_strings + 1, 1);
    uint8_t *taken = mem_calloc(g->n_nodes + 1, 1);
    for (uint32_t i = 1; i < g->n_strings && !((i & 4095) == 0 && is_cancelled(cancel)); i++) {
        hit[i] = holds(graph_string(g, i), text);
    }
    for (uint32_t i = 1; i < g->n_scopes; i++) {
        if (hit[g->scope_name[i]] && !push(out, i, FOUND_SCOPE)) {
            break;
        }
    }
    for (int by = FOUND_NAME; by <= FOUND_ATTRIBUTE; by++) {
        find_nodes(g, (graph_found_by)by, hit, taken, cancel, out);
    }
    free(hit);
    free(taken);
}

void graph_found_free(graph_found *f)
{
    free(f->items);
    memset(f, 0, sizeof *f);
}
