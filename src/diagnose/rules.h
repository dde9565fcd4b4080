/*
 * The rules' common ground. A rule fills a matrix of excess: by how many ns something was slower than its peers in each
 * step. From it come the steps concerned, the share of the step time, and the severity. Internal to the room.
 */
#ifndef MAREY_DIAGNOSE_RULES_H
#define MAREY_DIAGNOSE_RULES_H

#include "diagnose/diagnose.h"
#include "diagnose/replay.h"

typedef struct excess {
    int64_t *ns; /* [n_rows * n_steps], >= 0 */
    size_t n_rows, n_steps;
} excess;

/* What the rules find on the way and hand to later ones. */
typedef struct rule_state {
    diagnosis *g;
    uint32_t *stage_of;  /* [n_ranks] dense number of the rank's stage; all 0 where stages are unknown */
    int32_t *stage_name; /* [n_stages] */
    uint32_t n_stages;
    uint32_t *n_in_stage; /* [n_stages] */
    bool has_stages;
    int64_t *compute_ns;   /* [n_ranks * n_steps]; -1: the rank lacks the step */
    int64_t *stage_ns;     /* [n_stages * n_steps] lower median of compute over the stage's ranks; -1: nobody */
    int64_t *explained_ns; /* [n_steps] how much of the step's length over other steps has a culprit */
    excess compute, stall, launch, links;
    replay *replay; /* NULL: there is no communication */
} rule_state;

typedef struct flagged {
    uint32_t *steps;
    uint32_t n;
    double share;    /* mean over these steps of excess / step time */
    int64_t mean_ns; /* of the excess */
} flagged;

/** Steps in which the row's excess is a substantial part of its largest. Steps live in g->mem. */
flagged excess_flag(const rule_state *s, const excess *e, size_t row);
excess excess_make(size_t n_rows, size_t n_steps);
/** Add to explained_ns how much of each step's length over other steps the worst row's excess explains. */
void rules_explain(rule_state *s, const excess *e);
/* What the ranks have too much of. */
typedef enum excess_of { EXCESS_COMPUTE, EXCESS_IDLE } excess_of;
/** What a step would be shorter by without a row's excess, mean over its steps: the run is replayed with the excess
 * taken from these ranks. Without communication: the excess over the next row's. */
#define EACH_OWN_ROW SIZE_MAX /* rows are ranks, and each loses its own */
int64_t saved_without(const rule_state *s, const excess *e, size_t row, const flagged *f, excess_of what,
                      const uint32_t *ranks, size_t n);
/** The same with the transfers between two ranks, or the collectives of a communicator (NO_ID: not), as fast as their
 * peers': `ratio` is how many times as long they take. */
int64_t saved_by_link(const rule_state *s, const flagged *f, uint32_t a, uint32_t b, uint32_t group, double ratio);
/** Micro-batches per step, from transfers over one boundary; 0: unknown. */
uint32_t micro_batches(const diagnosis *g);

/** Lower median; reorders. 0 for none. */
int64_t lower_median(int64_t *v, size_t n);

finding *finding_add(diagnosis *g, finding_kind kind, double severity, const char *formula);
void finding_number_add(finding *f, const char *name, double value);
void finding_say(diagnosis *g, finding *f, const char *format, ...) __attribute__((format(printf, 3, 4)));
void finding_ranks(diagnosis *g, finding *f, const uint32_t *ranks, size_t n);
void finding_steps(finding *f, const flagged *s);
/** Where to look: the steps of the first rank, or of all. */
void finding_when(diagnosis *g, finding *f);
/** " in steps 3 to 5", or nothing when these are all steps; `out` has room for 64 bytes. */
const char *steps_phrase(const diagnosis *g, const flagged *f, char *out);
/** As if all of `saved_ns` were on the critical path of the typical step: an upper bound. */
void what_if_bound(diagnosis *g, int64_t saved_ns, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** What saved_without() or saved_by_link() says. Of a fault of some steps the text and the length are of these only:
 * the typical step may be one without it. */
void what_if_replayed(diagnosis *g, const flagged *f, int64_t saved_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
const char *rank_name(const diagnosis *g, uint32_t rank);

/** Everything behind collecting: g->model and g->data are set. */
void diagnose_judge(diagnosis *g);

void rules_rank(rule_state *s);  /* slow ranks, stalls, launch-bound ranks */
void rules_stage(rule_state *s); /* imbalance, bubble */
void rules_link(rule_state *s);  /* slow links, of transfers and of collectives */
void rules_step(rule_state *s);  /* step outliers */
void rules_whole(rule_state *s); /* exposed communication, launch-bound run, clocks, incomplete runs, operators */

#endif
