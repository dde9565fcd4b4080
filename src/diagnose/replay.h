/*
 * The run played again with something changed: what would a step have taken without this rank's excess, this pause,
 * this link's delay?
 *
 * Every communication keeps what it waited for: its own rank's work since the communication before it, its stream, and
 * the other members of its collective or transfer. Times are moved, not estimated: with nothing changed every event
 * ends where it was recorded, so the answer is the change's own effect, waiting of others and next slowest included.
 * Compute waited for a communication if a twentieth of it or more ran while nothing computed. Method: replay of a
 * dependency graph, as in Zhu et al., Daydream (USENIX ATC 2020) and Hu et al., dPRO (MLSys 2022).
 *
 * Internal to the room. Memory: 40 bytes a communication; a replay is one pass over them. Thread: one at a time.
 */
#ifndef MAREY_DIAGNOSE_REPLAY_H
#define MAREY_DIAGNOSE_REPLAY_H

#include "diagnose/diagnose.h"

typedef struct replay replay;

/* All arrays [n_ranks * n_steps]; NULL: as recorded. */
typedef struct replay_change {
    const float *compute; /* compute takes this many times as long */
    const float *idle;    /* gaps without communication likewise */
    uint32_t a, b;        /* transfers between these ranks take `transfer` times as long; NO_ID: none */
    uint32_t group;       /* collectives of this communicator take `transfer` times as long; NO_ID: none */
    double transfer;
} replay_change;

/** After instances_find() and transfers_find(). NULL where the run has no communication to replay. */
replay *replay_create(const diagnosis *g);
void replay_destroy(replay **r);
/** How much sooner the run ends, ns; negative: later. */
int64_t replay_run(replay *r, const replay_change *change);

#endif
