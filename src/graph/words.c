/* Words for the enums of the graph room. */
#include "graph/model.h"
#include "graph/plan.h"

const char *graph_role_name(graph_role r)
{
    static const char *const names[GRAPH_ROLE_COUNT] = {"operator", "parameter", "constant", "input", "output"};
    return r < GRAPH_ROLE_COUNT ? names[r] : "";
}

const char *graph_phase_name(graph_phase p)
{
    static const char *const names[GRAPH_PHASE_COUNT] = {"", "forward", "backward", "recompute", "optimizer"};
    return p < GRAPH_PHASE_COUNT ? names[p] : "";
}

const char *graph_class_name(graph_class c)
{
    static const char *const names[GRAPH_CLASS_COUNT] = {
        "other",       "matmul",    "convolution", "attention",    "normalization", "activation",
        "elementwise", "reduction", "layout",      "embedding",    "recurrent",     "optimizer",
        "collective",  "send",      "receive",     "control flow", "bookkeeping",   "data"};
    return c < GRAPH_CLASS_COUNT ? names[c] : "";
}

const char *graph_step_name(graph_step s)
{
    static const char *const names[GRAPH_STEP_COUNT] = {"parameters", "bookkeeping", "chains",
                                                        "cycles",     "prune",       "stack"};
    return s < GRAPH_STEP_COUNT ? names[s] : "";
}

const char *graph_strictness_name(graph_strictness s)
{
    static const char *const names[GRAPH_STRICTNESS_COUNT] = {"exact", "shape-free", "structural", "loose"};
    return s < GRAPH_STRICTNESS_COUNT ? names[s] : "";
}
