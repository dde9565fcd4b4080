#include "graph/scc.h"

#include <stdlib.h>

#include "base/mem.h"

typedef struct scc_work {
    const uint32_t *first, *to;
    uint32_t *component;
    uint32_t *index; /* order of discovery + 1; 0: not seen */
    uint32_t *low;
    uint32_t *next;  /* arc to look at */
    uint32_t *path;  /* vertices being visited */
    uint32_t *stack; /* seen, without component yet */
    size_t n_path, n_stack, n_seen, n_components, n_steps;
    cancel_flag *cancel;
} scc_work;

static void enter(scc_work *w, uint32_t v)
{
    w->index[v] = w->low[v] = (uint32_t)++w->n_seen;
    w->next[v] = w->first[v];
    w->path[w->n_path++] = v;
    w->stack[w->n_stack++] = v;
}

static void leave(scc_work *w, uint32_t v)
{
    w->n_path--;
    if (w->low[v] == w->index[v]) {
        uint32_t u;
        do {
            u = w->stack[--w->n_stack];
            w->component[u] = (uint32_t)w->n_components;
        } while (u != v);
        w->n_components++;
    }
    if (w->n_path > 0) {
        uint32_t parent = w->path[w->n_path - 1];
        w->low[parent] = w->low[v] < w->low[parent] ? w->low[v] : w->low[parent];
    }
}

/* @return false when cancelled */
static bool walk(scc_work *w, uint32_t root)
{
    enter(w, root);
    while (w->n_path > 0) {
        if ((++w->n_steps & 0xFFFF) == 0 && is_cancelled(w->cancel)) {
            return false;
        }
        uint32_t v = w->path[w->n_path - 1];
        if (w->next[v] == w->first[v + 1]) {
            leave(w, v);
            continue;
        }
        uint32_t u = w->to[w->next[v]++];
        if (w->index[u] == 0) {
            enter(w, u);
        } else if (w->component[u] == UINT32_MAX && w->index[u] < w->low[v]) {
            w->low[v] = w->index[u];
        }
    }
    return true;
}

size_t scc_components(size_t n, const uint32_t *first, const uint32_t *to, uint32_t *component, cancel_flag *cancel)
{
    uint32_t *block = mem_calloc(5 * n + 1, sizeof *block);
    scc_work w = {first, to, component, block, block + n, block + 2 * n, block + 3 * n, block + 4 * n,
                  0,     0,  0,         0,     0,         cancel};
    for (size_t i = 0; i < n; i++) {
        component[i] = UINT32_MAX;
    }
    bool go = true;
    for (size_t i = 0; i < n && go; i++) {
        go = w.index[i] != 0 || walk(&w, (uint32_t)i);
    }
    for (size_t i = 0; i < n && !go; i++) {
        component[i] = (uint32_t)i;
    }
    w.n_components = go ? w.n_components : n;
    free(block);
    return w.n_components;
}
