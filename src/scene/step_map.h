/* Steps as numbers, in the overview strip and as a layout of its own. From inside the scene only. */
#ifndef MAREY_SCENE_STEP_MAP_H
#define MAREY_SCENE_STEP_MAP_H

#include "scene/heat.h"

enum { HEAT_LEVELS = 5 };

typedef enum step_measure { STEP_TIME, STEP_EXPOSED, STEP_WAIT, STEP_COMPUTE, STEP_MEASURES } step_measure;

typedef struct step_span {
    double low, high; /* ns, of the ramp's ends */
} step_span;

typedef struct step_map {
    uint64_t serial; /* of the diagnosis that the rest is from */
    step_span spans[STEP_MEASURES];
} step_map;

/** ns; NaN: the rank lacks the step. Wait is a sum over calls, the others are unions. */
double step_value(const diagnosis *g, size_t rank, size_t step, step_measure m);
step_span step_span_of(const diagnosis *g, step_measure m);
/** The palette's class for a value. */
uint8_t step_level(step_span k, double value);
const char *step_measure_name(step_measure m);
/** @return false when the view shows shares of time there */
bool step_overview_draw(scene *s, rect bars);
void step_layout_draw(scene *s);
/** What the colours of the layout mean, in the axis. @return its place; no width: none */
rect step_layout_key(scene *s, bool draws);
/** Which of the measures it shows, in words; "" in other layouts. */
void step_layout_status(const scene *s, char *out, size_t cap);
/** @return true when the pointer is over the map */
bool step_layout_tip(scene *s);
void step_map_free(step_map **k);

#endif
