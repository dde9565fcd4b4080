/*
 * Several steps over each other (Marey layout): the chosen step as ever, and above each strip, in a lane of its own,
 * one nested band per instance over all steps, aligned at their starts. Instances that leave the others are told one by
 * one. From inside the scene only.
 */
#ifndef MAREY_SCENE_OVERLAY_H
#define MAREY_SCENE_OVERLAY_H

#include "scene/marey.h"
#include "scene/tip.h"

enum { OVERLAY_STEPS = 64 /* at most: those around the chosen one */ };

typedef struct overlay_view {
    uint64_t stamp;       /* of what the rest was made from; 0: nothing yet */
    size_t first, end;    /* steps: places of scene_steps() */
    bool has_operators;   /* else phases only: the operators of so many steps are too many */
    instance_list normal; /* of the list: what is no outlier */
    instance_list list;   /* times aligned to the chosen step; e.instance: place of the step; sorted by (key, row) */
    nested_band *nested;
    size_t n_nested, cap_nested;
    uint32_t deviating[OVERLAY_STEPS]; /* outliers of each step, from `first` */
    size_t n_outliers;
} overlay_view;

/** Height of the lane above a row's strip, device px; 0: the row has none. */
float overlay_lane(const scene *s, const scene_row *row);
/** Where bands and their labels are drawn: the plot, or the chosen step's part of it. */
rect overlay_clip(const scene *s);
/** After the bands, whose level says what is shown. */
void overlay_draw(scene *s);
/** Of the lane under the pointer. @return false where there is nothing to tell */
bool overlay_describe(scene *s, tip *t, const scene_row *row);
/** "over steps 0–9, step 5 deviates 128 times": for the status line. */
void overlay_status(const scene *s, char *out, size_t cap);
void overlay_free(overlay_view **v);

#endif
