/*
 * Rows named on the command line: `lane:ID`, `rank:ID`, `stage:ID`, `all`, or a pattern on row names; several by comma.
 * Row names: "all", "stage 2", a rank's label ("rank 16"), a lane's name below its rank ("rank 16/stream 7"). A
 * pattern's
 * * and ? never match the slash, so "rank*" means ranks and a lane's pattern has a slash. Case does not matter.
 *
 * A rank's row is the union of its device lanes (compute, communication, copies), of its CPU lanes where it has no
 * device; a stage's and "all" are the union over their ranks.
 */
#ifndef MAREY_APP_ROWS_H
#define MAREY_APP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/mem.h"
#include "store/query.h"
#include "trace/model.h"

typedef struct named_row {
    const char *name; /* in the list's arena */
    uint32_t lane;    /* NO_ID: not one lane */
    int64_t rank;     /* its number; -1: not of one rank */
    query_row row;
} named_row;

typedef struct row_list {
    arena mem;
    named_row *items;
    size_t n, cap;
} row_list;

/** Append what `spec` names, in the order of the spec. Errors: ARG (nothing of that name, with the reason). */
marey_status rows_find(row_list *l, const trace_model *m, const char *spec, diag *d);
void rows_deinit(row_list *l);

#endif
