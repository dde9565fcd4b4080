/*
 * Where each rank sits in the parallel grid, from its communicators, where nobody states it.
 *
 * A communicator is a pipeline, tensor or data parallel one by its description or name
 * ("PIPELINE_MODEL_PARALLEL_GROUP", "tp"); else by its traffic: sends and receives make a pipeline; of the others the
 * one whose ranks follow each other most closely is tensor parallel. A rank's index is its place among the
 * communicator's ranks; pipeline stages follow the chain of transfers, beginning where the first message came from.
 * What is found is marked INFERRED_*.
 *
 * Thread: the model's owner.
 */
#ifndef MAREY_DIAGNOSE_TOPOLOGY_H
#define MAREY_DIAGNOSE_TOPOLOGY_H

#include "diagnose/comm.h"

/** @param events  as comm_match() sorted them, aligned; `rank` is an index into m->ranks */
void topology_infer(trace_model *m, const comm_event *events, size_t n_collective, size_t n);

#endif
