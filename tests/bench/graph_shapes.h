/* Graphs whose one module has as many operators as are asked for, in shapes that make layouts slow each in its way. */
#ifndef MAREY_BENCH_GRAPH_SHAPES_H
#define MAREY_BENCH_GRAPH_SHAPES_H

#include "graph/builder.h"

enum { SHAPE_COUNT = 13 };

const char *shape_name(int shape);
/** A root with "in", the module "m" of `n` operators of that shape, and "out"; sources of the module hear from "in",
 *  its sinks lead to "out". The same graph every time. */
void shape_make(graph *g, int shape, uint32_t n);

/** A transformer of about `operators`: blocks of 100 layers, each with attention and MLP; three hubs feed all layers. No
 *  module has more than some hundred children, but the root and what joins the blocks. */
void shape_blocks(graph *g, uint32_t operators);

#endif
