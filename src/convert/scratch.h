/*
 * Where rows and records go that must wait: in memory within a budget, beyond it in an unnamed scratch file next to the
 * output. One scratch serves all jobs of a conversion.
 * Thread: any, concurrently.
 */
#ifndef MAREY_CONVERT_SCRATCH_H
#define MAREY_CONVERT_SCRATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

typedef struct scratch {
    const char *near; /* the output's path */
    uint64_t budget_bytes;
    _Atomic uint64_t used_bytes; /* of the budget */
    _Atomic uint64_t end;        /* of the file */
    pthread_mutex_t lock;        /* opening */
    atomic_int fd;               /* -1 until the first byte goes there */
} scratch;

void scratch_init(scratch *s, const char *near, uint64_t budget_bytes);
void scratch_deinit(scratch *s);

/** May `bytes` more stay in memory? When true they are booked until scratch_release(). */
bool scratch_claim(scratch *s, uint64_t bytes);
void scratch_release(scratch *s, uint64_t bytes);

/** Reserve room in the file. @return its offset */
uint64_t scratch_reserve(scratch *s, uint64_t bytes);
/** Errors: IO with the reason (a full disk). */
marey_status scratch_write(scratch *s, const void *data, size_t n, uint64_t offset, diag *d);
marey_status scratch_read(scratch *s, void *data, size_t n, uint64_t offset, diag *d);

#endif
