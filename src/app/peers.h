/*
 * The peers of an event: the same instance of the same operator on the ranks that do the same work (its pipeline stage;
 * everybody where stages are unknown), in the same step. And what they say together: median, spread, the slowest.
 *
 * Times: ns since the run's start; ranks are indices. Thread: any. Owner: the caller (peers_deinit).
 */
#ifndef MAREY_APP_PEERS_H
#define MAREY_APP_PEERS_H

#include "app/rank_time.h"
#include "base/thread.h"
#include "store/store.h"

#define PEERS_MAX_EVENTS UINT64_C(24000000) /* of the step, for all peers: more are not looked through */

typedef struct peer {
    uint32_t rank;
    int64_t start_ns, dur_ns;
} peer;

typedef struct peers {
    peer *items; /* ascending by rank; with the event itself */
    size_t n, cap;
    bool too_many; /* the step holds more events than PEERS_MAX_EVENTS */
    /* from items, by peers_measure */
    int64_t median_ns, mad_ns;
    int64_t min_ns, max_ns;
    uint32_t slowest;         /* rank of max_ns */
    double slowest_mads;      /* (max - median) / mad; 0: no spread */
    int64_t start_lag_p99_ns; /* start less the earliest start */
} peers;

/** Where the peers of an event are looked for: the windows of its step, rank by rank (all of the run, where there are no
 *  steps), and the tracks of its kind of lane on the ranks of its stage.
 *  @param whole_device  of an event on a device: of all lanes there
 *  @param w  [n_ranks + 1]; zeroed for other ranks
 *  @return the tracks, to be freed; *n of them */
uint32_t *peers_tracks(const trace_model *m, const store_event_info *e, bool whole_device, rank_window *w, size_t *n);
/** The number of the step that it lies in; -1: none. */
int64_t peers_step(const trace_model *m, const store_event_info *e);
/** From the earliest to the latest of the windows. */
rank_window peers_range(const trace_model *m, const rank_window *w);
/** Errors: IO, FORMAT, CANCELLED. Cost: one pass over the events of the step on the peers' lanes of the same kind. */
marey_status peers_find(store_file *f, const store_event_info *e, peers *out, cancel_flag *cancel, diag *d);
/** Lower medians; MAD is the median distance from the median. */
void peers_measure(peers *p);
/** Does this duration leave median +- 5 MAD, and by more than 10 us or 5 % of the median? */
bool peers_is_outlier(const peers *p, int64_t dur_ns);
void peers_deinit(peers *p);

#endif
