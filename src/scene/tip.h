/* A tooltip: a title, and lines of a name and an exact value, beside the pointer. */
#ifndef MAREY_SCENE_TIP_H
#define MAREY_SCENE_TIP_H

#include "scene/internal.h"

enum { TIP_MAX_LINES = 18, TIP_LINE_CAP = 160 };

typedef struct tip_line {
    char name[48]; /* "" for a line of its own */
    char value[TIP_LINE_CAP];
    uint8_t klass; /* a swatch before it; CELL_EMPTY: none */
} tip_line;

typedef struct tip {
    char title[TIP_LINE_CAP];
    char subtitle[TIP_LINE_CAP];
    uint8_t klass; /* as in tip_line */
    tip_line lines[TIP_MAX_LINES];
    int n;
} tip;

/** @return the new line, whose swatch may be set; lines beyond TIP_MAX_LINES are not kept */
tip_line *tip_add(tip *t, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** Beside the pointer, on the side that has room. */
void tip_draw(scene *s, const tip *t);

#endif
