/* What `marey info` prints for people. Thread: the main thread. */
#ifndef MAREY_APP_INFO_H
#define MAREY_APP_INFO_H

#include <stddef.h>

#include "store/store.h"

/** To standard output. */
void info_print(store_file *f);

/** Steps of the run: those of several ranks with one number are one. */
size_t info_distinct_steps(const trace_model *m);

#endif
