/*
 * What `marey graph` answers: a computational graph simplified and laid out, in numbers. Thread: the main thread.
 */
#ifndef MAREY_APP_GRAPH_ANSWER_H
#define MAREY_APP_GRAPH_ANSWER_H

#include "base/diag.h"
#include "graph/layout.h"

typedef struct graph_request {
    plan_options plan;
    bool expand_all; /* instead of the first view */
    uint64_t expand; /* modules opened at random beyond the first view */
    uint64_t seed;
    bool table; /* also the visible elements after each technique */
    layout_direction direction;
} graph_request;

/* Visible elements with the first k steps on: k = 0 is the input as it is. */
typedef struct technique_row {
    size_t first_view, expanded; /* elements */
    size_t lines_first, lines_expanded;
} technique_row;

typedef struct graph_answer {
    const graph *g;
    const diag *losses; /* of reading; NULL: from a marey file, in *model_losses */
    graph_plan *plan;
    visible *view;
    graph_layout *layout;
    technique_row table[GRAPH_STEP_COUNT + 1];
    bool has_table;
    double read_s, simplify_s, layout_s;
} graph_answer;

enum { GRAPH_FIRST_VIEW = 40 /* elements of the first view, at most */ };

/** Simplify, choose what is open, lay out. `a->g` and `a->read_s` are set before. Errors: CANCELLED. */
marey_status graph_answer_make(graph_answer *a, const graph_request *request, diag *d);
void graph_answer_deinit(graph_answer *a);
/** To standard output. */
void graph_answer_print(const graph_answer *a);
void graph_answer_print_json(const graph_answer *a);

#endif
