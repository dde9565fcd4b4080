/* Instances, transfers, links and votes out of what was collected. Internal to the room; tests use it too. */
#ifndef MAREY_DIAGNOSE_INSTANCES_H
#define MAREY_DIAGNOSE_INSTANCES_H

#include "diagnose/diagnose.h"

/** Times of one collective's members. */
coll_instance coll_measure(const comm_event *members, size_t first, uint32_t n);
/** Fills instances and votes, and the cells' waits. */
void instances_find(diagnosis *g);
/** Fills transfers, links and violations, and the cells' waits. */
void transfers_find(diagnosis *g);

#endif
