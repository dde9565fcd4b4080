/*
 * Memory and FLOP/s of a rank over time, as far as the input states them; made on a thread of its own, rank by rank as
 * they are asked for.
 *
 * Memory: the rank's counter of memory (line_counter). FLOP/s: what the input states of an operator holds while that
 * operator runs on the device: its rate, else its amount over the event's duration; of those that run side by side,
 * the sum. Nothing is made up where the input states nothing.
 *
 * Owner: the scene. Thread: all functions but the wake on the drawing thread.
 */
#ifndef MAREY_SCENE_LINE_DATA_H
#define MAREY_SCENE_LINE_DATA_H

#include "scene/series.h"
#include "store/store.h"

typedef enum line_kind { LINE_MEMORY, LINE_FLOPS, LINE_KINDS } line_kind;

typedef struct rank_lines {
    step_series of[LINE_KINDS]; /* n = 0: nothing is stated. Bytes; FLOP/s */
    const char *memory_name;    /* of the counter */
    bool too_many[LINE_KINDS];  /* more samples than are read: no line */
} rank_lines;

typedef struct line_data line_data;

/* Which tracks a rank's row is the union of: constant while the data lives. */
typedef struct line_tracks {
    const uint32_t *first; /* [n_ranks + 1] into tracks */
    const uint32_t *tracks;
} line_tracks;

/** Does a counter say how much memory is in use? *unit: its value times this is bytes. The input names counters as it
 * likes: those whose name holds "memory", in bytes unless the name ends in a unit; and HBM or DDR in KB. */
bool line_counter_is_memory(const char *name, double *unit);

/** Starts nothing yet. */
line_data *line_data_create(store_file *f, line_tracks tracks);
void line_data_destroy(line_data **d); /* cancels what is under way */
/** Called when something is there, on the worker's thread. */
void line_data_set_wake(line_data *d, void (*wake)(void *ctx), void *ctx);
/** A frame begins: what the frames since the last but one asked for stays, other ranks may go. */
void line_data_frame(line_data *d);
/** The lines of a rank; NULL: not there yet (*is_due). Good until the next line_data_frame(). */
const rank_lines *line_data_get(line_data *d, uint32_t rank, bool *is_due);
/** Wait for what was asked for. @return true when something was under way */
bool line_data_settle(line_data *d);

#endif
