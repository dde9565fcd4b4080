/*
 * Pictures as tests: a draw list is drawn without a window and compared with tests/golden/expected/NAME.png.
 *
 * The expected pictures are of Mesa's software renderer with the fonts of Debian's packages; other processors round
 * otherwise, so that 3 of 255 on any pixel, and anything on 0.02 % of the pixels, is no difference. On a difference the
 * actual picture, one that shows where they differ, and report.html lie in BUILD/golden. `tools/golden --accept` takes
 * the actual pictures as expected (MAREY_GOLDEN_ACCEPT=1 does it for one program).
 */
#ifndef MAREY_TESTS_GOLDEN_H
#define MAREY_TESTS_GOLDEN_H

#include <stdbool.h>

#include "render/render.h"

typedef struct golden {
    headless *headless;
    renderer *renderer;
    text_ctx *text;
    diag diag;
    char dir[1024];    /* BUILD/golden */
    char source[1024]; /* the repository */
    bool has_fonts;    /* the packages' fonts are there, so that text is the same everywhere */
} golden;

/** For cmocka's group setup and teardown; the state is the golden. Ends the program with 77 (skipped) where there is no
 *  OpenGL without a window, or another renderer than the one that the pictures are of. */
int golden_set_up(void **state);
int golden_tear_down(void **state);

/** Draw, compare, fail the test on a difference. Frames up to 1920 x 1080. */
void golden_check(golden *g, const char *name, const draw_list *l);

/** Skip the test where the fonts are missing. */
void golden_need_fonts(const golden *g);

#endif
