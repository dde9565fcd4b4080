/* Steps of the run, and the columns of several side by side. From inside the scene only. */
#ifndef MAREY_SCENE_STEPS_H
#define MAREY_SCENE_STEPS_H

#include "scene/internal.h"

enum { MAX_COLUMNS = 8 };

/* What one column has of its own; of the one that is entered, the scene holds it. */
typedef struct column_state {
    raster_store rasters;
    struct marey_cache *marey;
    frame_sources src; /* of the last frame */
    uint32_t *row_cells;
    rect plot;
    moment t0, t1;
    int64_t origin_ns; /* the step's start: the axis counts from it */
    int64_t index;
} column_state;

typedef struct steps_state {
    scene_step *items; /* by start */
    size_t n;
    column_state columns[MAX_COLUMNS];
    uint32_t at; /* the column that is entered */
    rect whole_plot;
    moment whole_t0, whole_t1;
} steps_state;

/** Steps of all ranks by number, ascending by start; the caller frees them. */
size_t steps_of_model(const trace_model *m, scene_step **out);
void steps_init(scene *s);
void steps_deinit(scene *s);
/** A frame begins: back to the first column's state. */
void columns_begin(scene *s);
/** @return whether the frame shows columns */
bool columns_prepare(scene *s);
/** What stands at the left of the axis of a column, or of the plot that shows one step over others; w = 0: nothing. */
rect step_heading(scene *s, char *text, size_t cap);
void columns_draw(scene *s, void (*draw)(scene *s));
/** The scene's plot and view are those of the column at x, until columns_leave(). Nothing without columns. */
void columns_enter_at(scene *s, double x);
void columns_leave(scene *s);

#endif
