/* The windows of all ranks' steps. Internal to collect.c and its tests. */
#ifndef MAREY_DIAGNOSE_COLLECT_STEPS_H
#define MAREY_DIAGNOSE_COLLECT_STEPS_H

#include "diagnose/collect.h"

/**
 * Step k of a rank lasts from its first kernel to the first kernel of the rank's next step, where that is step k + 1;
 * else to its own last kernel. A rank without kernels in any step uses the host's times. Without steps in the file the
 * run is one: from the rank's first to its last device event.
 */
void collect_steps(const trace_model *m, collected *out);

#endif
