/* What Ascend's profilers mean by their words; shared by the text and the SQLite reader. Private to the readers' room.
 */
#ifndef MAREY_READERS_ASCEND_H
#define MAREY_READERS_ASCEND_H

#include "readers/run_read.h"

/*
 * Sources (the input's categories) of events that have none of their own. assets/categories.rules gives them a meaning.
 *
 *   kernel            an operator on the device's cores
 *   gpu_memcpy        a copy
 *   hccl              a collective or transfer as a whole
 *   hccl_task         a piece of it on one plane: its time is the collective's, not work of its own
 *   ascend_task       waiting, recording, notifying, pieces of collectives on the device's streams: no work of its own
 *   cann_runtime      a call of the runtime on the CPU
 *   overlap_analysis  the profiler's own sums drawn as intervals: they repeat other intervals' time
 */
typedef enum ascend_kind {
    ASCEND_KERNEL,
    ASCEND_COPY,
    ASCEND_COLLECTIVE,
    ASCEND_COLLECTIVE_TASK,
    ASCEND_TASK,
    ASCEND_API,
    ASCEND_OVERLAP,
    ASCEND_OTHER
} ascend_kind;

const char *ascend_source(ascend_kind k); /* NULL for ASCEND_OTHER */

/** What a task on a stream is, by its type ("AI_CORE", "EVENT_WAIT_SQE", "MEMCPY_ASYNC", "Notify Wait"). */
ascend_kind ascend_task_kind(const char *type, size_t n);
bool ascend_is_overlap(const char *name, size_t n);

/** "FP32" -> "Float", as PyTorch names element types; the same text where there is no other name. */
const char *ascend_dtype(const char *dtype, size_t n, size_t *n_out);

/** A collective by its name "hcom_allReduce__586_0_1": what it does ("allreduce"), digits of its group, ordinal. */
typedef struct ascend_collective {
    char what[24];      /* "" when the name is none */
    const char *digits; /* of the group, inside the name */
    size_t n_digits;
    int64_t seq; /* -1 */
} ascend_collective;

ascend_collective ascend_collective_parse(const char *name, size_t n);
/** Record it for the event that is pushed next. `group` may be NO_ID: taken from communication.json or the name. */
void ascend_push_collective(run_reader *r, const char *name, size_t n, uint32_t group, const char *dtype,
                            size_t n_dtype, int64_t count);

/* Process numbers as the profiler makes them up from the host's pid, what the process shows, and the device. */
enum { ASCEND_PID_CANN = 7, ASCEND_PID_HARDWARE = 13, ASCEND_PID_HCCL = 15, ASCEND_PID_OVERLAP = 23 };
void ascend_pid(uint64_t host_pid, unsigned index, int64_t device, char *out, size_t cap);

#endif
