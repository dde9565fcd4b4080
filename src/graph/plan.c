#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "graph/plan_work.h"
#include "graph/visible_edges.h"

void plan_options_init(plan_options *o)
{
    *o = (plan_options){.strictness = STRICT_STRUCTURAL};
    for (int i = 0; i < GRAPH_STEP_COUNT; i++) {
        o->steps[i] = true;
    }
}

void graph_plan_destroy(graph_plan **pp)
{
    graph_plan *p = *pp;
    if (!p) {
        return;
    }
    free(p->text);
    free(p->elements);
    free(p->element_of);
    free(p->calls);
    free(p->families);
    free(p->members);
    free(p->map);
    free(p->back_arcs);
    visible_edges_destroy(&p->edges);
    free(p);
    *pp = NULL;
}

static void work_deinit(plan_work *w)
{
    void *owned[] = {w->into,   w->folded,   w->ordinal, w->leaf_of,  w->leaf_node, w->leaf_tree,   w->calls,
                     w->called, w->at,       w->tree,    w->in_first, w->edge_from, w->edge_to,     w->edge_label,
                     w->perm,   w->arc_from, w->arc_to,  w->rank,     w->ranked,    w->label,       w->kin,
                     w->colour, w->sign,     w->loose,   w->where,    w->inner,     w->labels.text, w->labels.recent};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    strbuf_deinit(&w->scratch);
}

#define DROP(array) (free(array), (array) = NULL)

/* Each step leaves only what later ones ask for: the largest are made at last. */
static void drop_folding(plan_work *w)
{
    DROP(w->into);
    DROP(w->ordinal);
}

static void drop_ranks(plan_work *w)
{
    DROP(w->rank);
    DROP(w->ranked);
    mem_give_back();
}

static void drop_signatures(plan_work *w)
{
    DROP(w->folded);
    DROP(w->at);
    DROP(w->label);
    DROP(w->kin);
    DROP(w->colour);
    DROP(w->called);
    DROP(w->sign);
    DROP(w->loose);
    DROP(w->where);
    mem_give_back();
}

static void drop_edges(plan_work *w)
{
    DROP(w->in_first);
    DROP(w->edge_from);
    DROP(w->edge_to);
    DROP(w->edge_label);
    DROP(w->perm);
    DROP(w->arc_from);
    DROP(w->arc_to);
    mem_give_back();
}

#define SHRINK(column, n) (column) = mem_realloc_array((column), (n) ? (n) : 1, sizeof *(column))

static void shrink(graph_plan *p)
{
    SHRINK(p->families, p->n_families);
    SHRINK(p->members, p->n_members);
    SHRINK(p->map, p->n_map);
    SHRINK(p->back_arcs, p->n_back_arcs);
}

marey_status graph_plan_create(graph_plan **out, const graph *g, const plan_options *options, diag *d)
{
    int64_t start = clock_now_ns();
    graph_plan *p = mem_calloc(1, sizeof *p);
    plan_work w = {.g = g, .o = *options, .p = p};
    p->g = g;
    p->options = *options;
    p->options.cancel = NULL; /* the flag may not live as long */
    *out = NULL;
    marey_status status;
    MAREY_TRY(plan_fold(&w));
    MAREY_TRY(plan_tree(&w));
    MAREY_TRY(plan_fold_edges(&w));
    drop_folding(&w);
    plan_labels(&w);
    MAREY_TRY(plan_cycles(&w));
    drop_ranks(&w);
    MAREY_TRY(plan_stack(&w));
    drop_signatures(&w);
    MAREY_TRY(plan_back_arcs(&w));
    drop_edges(&w);
    MAREY_TRY(plan_freeze(&w));
    work_deinit(&w);
    w = (plan_work){.g = g};
    shrink(p);
    mem_give_back();
    p->edges = visible_edges_create(p, options->cancel);
    if (!p->edges) {
        status = MAREY_CANCELLED;
        goto fail;
    }
    p->seconds = (double)(clock_now_ns() - start) / 1e9;
    *out = p;
    return MAREY_OK;
fail:
    work_deinit(&w);
    graph_plan_destroy(&p);
    (void)d;
    return status;
}
