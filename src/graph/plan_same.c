#include "graph/plan_same.h"

#include <string.h>

bool attr_names_instance(const char *key)
{
    static const char *const KEYS[] = {
        "op_name",   "source_file",   "source_line", "stack_frame_id", "name", "full_name",  "fullName",
        "id",        "rf_id",         "seq_id",      "fw_parent",      "tid",  "fw_tid",     "scheduling_name",
        "location",  "instance_name", "namespace",   "node_id",        "loc",  "doc_string", "_class",
        "unique_id", "metadata"};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        if (strcmp(key, KEYS[i]) == 0) {
            return true;
        }
    }
    return strncmp(key, "pkg.torch.onnx.", 15) == 0;
}

size_t type_without_shape(const char *type)
{
    return strcspn(type, "[<{(");
}

uint32_t data_inputs(const graph *g, uint32_t node)
{
    uint32_t n = 0;
    for (uint32_t i = g->in_first[node]; i < g->in_first[node + 1]; i++) {
        n += !(g->edge_flags[i] & GRAPH_CONTROL);
    }
    return n;
}

static bool same_attributes(const graph *g, uint32_t a, uint32_t b, bool values)
{
    graph_rows of_a = graph_attrs_of(g, a), of_b = graph_attrs_of(g, b);
    uint32_t n = of_a.end - of_a.first;
    if (n != of_b.end - of_b.first) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = of_a.first + i, y = of_b.first + i;
        if (g->attr_key[x] != g->attr_key[y]) {
            return false;
        }
        if (values && g->attr_value[x] != g->attr_value[y] && !attr_names_instance(graph_string(g, g->attr_key[x]))) {
            return false;
        }
    }
    return true;
}

static bool same_outputs(const graph *g, uint32_t a, uint32_t b, bool shapes)
{
    uint32_t n = g->out_first[a + 1] - g->out_first[a];
    if (n != g->out_first[b + 1] - g->out_first[b]) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = graph_out_type(g, g->out_first[a] + i), y = graph_out_type(g, g->out_first[b] + i);
        if (x == y) {
            continue;
        }
        const char *s = graph_string(g, x), *t = graph_string(g, y);
        size_t len = type_without_shape(s);
        if (shapes || len != type_without_shape(t) || memcmp(s, t, len) != 0) {
            return false;
        }
    }
    return true;
}

bool same_operator(const graph *g, uint32_t a, uint32_t b, graph_strictness level)
{
    if (g->node_op[a] != g->node_op[b] || data_inputs(g, a) != data_inputs(g, b)) {
        return false;
    }
    if (level >= STRICT_STRUCTURAL) {
        return true;
    }
    bool exact = level == STRICT_EXACT;
    return same_attributes(g, a, b, exact) && same_outputs(g, a, b, exact) &&
           (!exact || graph_sharding_of(g, a) == graph_sharding_of(g, b));
}
