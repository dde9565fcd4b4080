/* When two operators are the same, at each level of strictness. Internal to plan*.c. */
#ifndef MAREY_GRAPH_PLAN_SAME_H
#define MAREY_GRAPH_PLAN_SAME_H

#include "graph/plan.h"

/** Does an attribute only name the instance (op_name, source_line, ...), so that it never tells two apart? */
bool attr_names_instance(const char *key);
/** Bytes of a type before its shape: "f32[8,4]" 3. */
size_t type_without_shape(const char *type);
/** Edges into a node that carry data, folded and implied ones included. */
uint32_t data_inputs(const graph *g, uint32_t node);
/** STRUCTURAL: type and number of inputs; SHAPE_FREE: and attributes' names, and outputs' types; EXACT: all. */
bool same_operator(const graph *g, uint32_t a, uint32_t b, graph_strictness level);

#endif
