/* Sorts one piece of rows by (start, longer first, order of input). */
#ifndef MAREY_CONVERT_RUN_SORT_H
#define MAREY_CONVERT_RUN_SORT_H

#include "convert/run.h"

/** @param out   [n] the rows in order, `order` set to the place in `rows`; n <= RUN_ROWS
 *  @param keys  room for 2 * n numbers */
void run_sort(const run_row *rows, size_t n, run_row *out, uint64_t *keys);

#endif
