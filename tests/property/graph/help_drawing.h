/*
 * Drawings of graphs as polylines, and what is measured of them: for the benchmark, which compares drawings of two
 * programs, and for test_drawing.c, which holds the measures against brute force.
 *
 * A contact of two lines is a point or a stretch that they share. They cross there when the one leaves the contact on
 * the other side of the other than it came. Where either begins or ends in the contact there is no crossing: ports and
 * trunks are touched, not crossed. Lines without a common end that lie on top of each other for more than
 * DRAWING_COVER px cannot be told apart: that counts as a crossing, too. One point on the page is one crossing,
 * however many pairs of lines cross there (a trunk that crosses another).
 */
#ifndef MAREY_TEST_HELP_DRAWING_H
#define MAREY_TEST_HELP_DRAWING_H

#include "graph/layout.h"

#define DRAWING_END 1.5 /* px: what is nearer to a line's end is at it */
enum { DRAWING_PIECES = 16, DRAWING_COVER = 2 };

typedef struct drawing {
    layout_point *points;
    size_t *first; /* [n_lines + 1] */
    size_t n, cap, n_lines;
    uint32_t (*ends)[2]; /* [n_lines] what each joins */
} drawing;

/** Lines are filled in order: set first[i], push the points of line i; at last first[n_lines]. */
void drawing_init(drawing *d, size_t n_lines);
void drawing_deinit(drawing *d);
void drawing_push(drawing *d, double x, double y);
/** Control points of cubic pieces, 3k + 1: each as DRAWING_PIECES straight ones. */
void drawing_push_curve(drawing *d, const layout_point *q, size_t n);

typedef struct drawing_score {
    size_t crossings; /* points on the page */
    size_t pairs;     /* pairs of lines, at each contact where they cross */
    double length;    /* px, sum over the lines */
} drawing_score;
void drawing_measure(const drawing *d, drawing_score *s);

#endif
