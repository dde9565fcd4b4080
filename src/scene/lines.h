/* Lines of memory and FLOP/s inside the rows of devices (Marey layout). From inside the scene only. */
#ifndef MAREY_SCENE_LINES_H
#define MAREY_SCENE_LINES_H

#include "scene/internal.h"
#include "scene/line_data.h"
#include "scene/tip.h"

typedef struct line_view {
    line_data *data;
    bool is_shown;          /* in this frame */
    double top[LINE_KINDS]; /* what the rows' height stands for: the most of all rows shown; 0: none has a line */
    bool too_many;          /* of a row shown */
} line_view;

/** Before the rows are drawn: which lines there are, and their scale. */
void lines_prepare(scene *s);
/** On the rows of the plot (or column) at hand. */
void lines_draw(scene *s);
/** What holds at the pixel column under the pointer. @return how many lines it added */
int lines_add_tip(scene *s, tip *t, const scene_row *row, uint32_t column);
/** "memory line to 31.2 GiB": for the status line; empty where none is shown. */
void lines_status(const scene *s, char *out, size_t cap);
void lines_free(line_view **v);

#endif
