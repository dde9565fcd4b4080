/* What the name of a profiler's file says. Private to the readers' room. */
#ifndef MAREY_READERS_RUN_NAMES_H
#define MAREY_READERS_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/run.h"

enum { RUN_MAX_NUMBERS = 6 };

typedef struct run_name {
    run_role role;
    run_format format;
    bool neutral;      /* several formats write such a file: it does not decide the format */
    int64_t rank;      /* -1 */
    int64_t device;    /* -1 */
    int64_t iteration; /* -1 */
    int64_t number;    /* first number behind the stem; -1 */
    size_t root;       /* bytes of the path that name the folder of the run (without fixed sub-folders) */
} run_name;

/** Role RUN_TRACE for anything that is no known name. */
run_name run_name_parse(const char *path);
/** `ascend_cluster_analyse_{mode}_{stages}_{size}_{rank}.csv`. @return false when the name has no such numbers */
bool run_name_grid(const char *path, int64_t *stages, int64_t *size, int64_t *rank);

#endif
