/*
 * Cells of heat beside the rows of the Marey layout, and the marks of findings: what the diagnosis measured of each
 * rank, for the steps in view.
 *
 *   heat.c        which steps, sums, scales, order of ranks, findings by rank      diagnosis -> heat_view
 *   heat_draw.c   cells, headings, marks, tooltips
 *
 * Values are exact: unions of half-open intervals (diagnose/breakdown.h) over whole steps, never over parts of one.
 */
#ifndef MAREY_SCENE_HEAT_H
#define MAREY_SCENE_HEAT_H

#include "diagnose/diagnose.h"
#include "scene/arrivals.h"
#include "scene/insight.h"
#include "scene/internal.h"

/* Which steps a window shows: places in diagnosis.data.step_index. */
typedef struct step_range {
    size_t first, end;
} step_range;

typedef struct heat_scale {
    double low, high;   /* of the ramp's ends; low < high */
    double least, most; /* over all ranks; least > most: no rank has a value */
} heat_scale;

typedef struct heat_view {
    insight *insight;
    const diagnosis *diagnosis;    /* NULL: none yet */
    const stated_metrics *metrics; /* [n_ranks]; NULL: not read yet */
    bool is_shown, is_due;
    uint64_t serial; /* changes with the diagnosis: the order of ranks depends on it */
    bool has[HEAT_COLUMNS];
    uint32_t n_columns;
    heat_column columns[HEAT_COLUMNS];
    /* the sums */
    step_range steps;
    double *values; /* [n_ranks * HEAT_COLUMNS]; NaN: unknown */
    heat_scale scales[HEAT_COLUMNS];
    int64_t *step_start_ns,
        *step_end_ns;  /* [n_steps] extent of each step over all ranks; end <= start: nobody has it */
    arrivals arrivals; /* of collectives: who came last */
    /* Collectives of three ranks or more of one stage: in how many a rank came last, of how many. */
    uint32_t *late_votes, *late_chances; /* [n_ranks] */
    /* the findings to be marked */
    uint32_t *rank_finding;  /* [n_ranks] the most severe one that names the rank; NO_ID */
    uint32_t *stage_finding; /* [n_stages] that names the stage */
    uint32_t n_stages;
} heat_view;

/** Steps whose middle lies in [t0, t1); where there is none, the one that holds its middle, or the nearest. */
step_range heat_steps_in(const int64_t *start_ns, const int64_t *end_ns, size_t n, moment t0, moment t1);
/** One rank's values over these steps; NaN where unknown, and for what is no number of steps. */
void heat_of_rank(const diagnosis *g, size_t rank, step_range steps, double out[HEAT_COLUMNS]);
/** @param n  values, one each `stride` places */
heat_scale heat_scale_of(const double *values, size_t n, size_t stride, bool is_share);
/** 0 to 1 along the ramp. */
double heat_place(const heat_scale *k, double value);
rgba heat_colour(const theme *t, double place);

/** Before the layout of a frame: are cells shown, and which? */
void heat_prepare(scene *s);
/** The sums of the steps in view, once it is known how many of them stand side by side. */
void heat_sum_up(scene *s);
/** Keys that sort ranks by the view's column over the view's sorting window: the smallest first. */
int64_t heat_order_key(const scene *s, uint32_t rank);
/** Changes when the order of ranks has to be made anew; 0: the view sorts by something else. */
uint64_t heat_sorting(const scene *s);
/** Value of a row: of its rank, or the mean over its group's. NaN: none. */
double heat_of_row(const scene *s, const scene_row *row, heat_column c);
/** The finding that a row is marked for; NULL: none. */
const finding *heat_finding(const scene *s, const scene_row *row);
const char *heat_column_name(heat_column c);
void heat_value_text(heat_column c, double value, char *out, size_t cap);
void heat_steps_text(const scene *s, step_range steps, char *out, size_t cap);
void heat_free(heat_view **h);

/* heat_draw.c */
void heat_draw(scene *s);       /* cells and headings, after the labels */
void heat_draw_marks(scene *s); /* of findings, on their ranks' rows */
bool heat_draw_tip(scene *s);   /* @return true when the pointer rests on a cell, a heading or a mark */

#endif
