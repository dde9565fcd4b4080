/*
 * Begin and end halves joined to intervals, per *lane* (a thread, or one asynchronous id).
 *
 * While a lane's halves come in order of time, a stack pairs them as they come. A lane that turns out to be out of
 * order is collected from there on, sorted and paired at the end. An end takes the nearest open begin of its name, else
 * the top. Memory: open and collected halves only, at most PAIRS_HALVES_MAX; beyond that halves are dropped and counted
 * (LIMIT). Owner: the reader. Thread: one at a time.
 */
#ifndef MAREY_READERS_PAIRS_H
#define MAREY_READERS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/hash.h"
#include "base/status.h"

enum { PAIRS_HALVES_MAX = 8 * 1024 * 1024 };
#define PAIRS_ARGS_MAX ((size_t)512 * 1024 * 1024)

typedef struct pair_half {
    int64_t ts_ns;
    uint64_t order;  /* of arrival */
    uint64_t offset; /* in the input */
    uint64_t correlation;
    char *args; /* owned, raw "{...}"; NULL */
    uint32_t args_len;
    uint32_t thread; /* where the interval goes */
    uint32_t name;   /* builder's name id; of a begin */
    uint32_t text;   /* string id of the name; NO_ID: an end without a name */
    bool begin;
} pair_half;

/* `end` is NULL for a begin that stays open. */
typedef marey_status (*pairs_emit_fn)(void *ctx, const pair_half *begin, const pair_half *end);

typedef struct pair_lane {
    pair_half *open;
    pair_half *late; /* ends without a begin so far; everything, once out of order */
    size_t n_open, cap_open, n_late, cap_late;
    int64_t last_ns;
    bool any, disordered, async;
} pair_lane;

typedef struct pairs {
    pairs_emit_fn emit;
    void *ctx;
    diag *diag;
    uint32_t file;
    pair_lane *lanes;
    size_t n_lanes, cap_lanes;
    size_t *idle; /* lanes of finished asynchronous operations */
    size_t n_idle, cap_idle;
    map64 threads; /* thread -> lane + 1 */
    map64 asyncs;  /* key -> lane + 1 */
    size_t n_halves;
    size_t args_bytes;
    uint64_t n_seen;
} pairs;

/** A half of a thread's stack. `half->args` is borrowed and copied where needed. */
marey_status pairs_add(pairs *p, const pair_half *half);
/** A half of the asynchronous operation `key`. */
marey_status pairs_add_async(pairs *p, uint64_t key, const pair_half *half);
/** Pair what was collected; begins that stay open are emitted as such. */
marey_status pairs_finish(pairs *p);
void pairs_deinit(pairs *p);

#endif
