/*
 * The computational graph of a simulated run, as a training framework would dump it: MindSpore's merged parallel graph
 * (readers/graph_ms_merged.c), with the operators of one training step of every pipeline stage in the order in which
 * they run, their modules, sharding over the tensor-parallel group, sends and receives, gradient aggregation.
 *
 * Operators have the names of the host's events ("aten::linear"; of backward ones what autograd evaluates), modules
 * those of the annotations ("ParallelTransformerLayer_3"), so that a viewer can tell which event is which operator
 * (scene/graph_join.h). An operator stands for its runs in all micro-batches.
 */
#ifndef MAREY_SYNTH_GRAPH_H
#define MAREY_SYNTH_GRAPH_H

#include "base/diag.h"
#include "base/text.h"
#include "synth/plan.h"

/** One JSON object, appended. */
void synth_graph_json(strbuf *out, const plan *pl);
/** Errors: IO. */
marey_status synth_graph_write(const plan *pl, const char *path, diag *d);

#endif
