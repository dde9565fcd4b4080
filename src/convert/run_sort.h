/* Sorts rows by (start, longer first, order of input), by their places. */
#ifndef MAREY_CONVERT_RUN_SORT_H
#define MAREY_CONVERT_RUN_SORT_H

#include "convert/run.h"

/** The places of all rows of the pieces, in ascending order.
 *  @param n       of all pieces together; > 0
 *  @param places  [n] out: piece * RUN_ROWS + row
 *  @param keys    room for 2 * n numbers */
void run_sort(const run_piece *pieces, uint32_t n_pieces, size_t n, uint32_t *places, uint64_t *keys);

#endif
