/* When the last member of a collective arrived, over all its members, whether they are on screen or not: by the run's
 * diagnosis, which has matched them. From inside the scene only. */
#ifndef MAREY_SCENE_ARRIVALS_H
#define MAREY_SCENE_ARRIVALS_H

#include "scene/internal.h"

struct diagnosis;

/* Instances of one communicator and operation stand together, in the order of their numbers. */
typedef struct arrival_run {
    uint32_t group, peers, what; /* as in comm_event */
    size_t first, end;           /* into diagnosis.instances */
} arrival_run;

typedef struct arrivals {
    const struct diagnosis *g;
    arrival_run *runs;
    size_t n, cap;
} arrivals;

/** Anew for another diagnosis, which outlives this; NULL: none is known. Cost: one look at each instance. */
void arrivals_update(arrivals *a, const struct diagnosis *g);
void arrivals_deinit(arrivals *a);
/** @param group  of model.groups; NO_ID: unknown, then only members of the rank's own peer group (stage) count.
 *  @return false where the diagnosis knows no such member */
bool arrivals_latest(const scene *s, const arrivals *a, uint32_t rank, int64_t start_ns, uint32_t group,
                     int64_t *latest_ns);

#endif
