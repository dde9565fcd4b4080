/* A block of events on its way into the file. Thread: one that puts its events in, then those of its jobs. */
#ifndef MAREY_STORE_WRITER_BLOCK_H
#define MAREY_STORE_WRITER_BLOCK_H

#include "store/writer.h"

/* Its columns and its arguments, each a job of its own. The events are ordered by track, then by start. */
typedef struct block_job {
    store_writer *w;
    atomic_uint n_left; /* of the two; the last one gives the memory back */
    uint32_t block, n;
    int64_t start_ns[BLOCK_EVENTS];
    uint32_t dur_ns[BLOCK_EVENTS];
    uint32_t name[BLOCK_EVENTS];
    uint8_t klass[BLOCK_EVENTS];
    uint8_t flags[BLOCK_EVENTS];
    uint32_t instance[BLOCK_EVENTS];
    text_room *args;      /* what was copied of their records */
    const char **args_at; /* in block order; NULL: there are none */
    uint32_t *args_len;
} block_job;

/** Pack and write it; the memory is given back then. */
void block_job_start(block_job *j);

#endif
