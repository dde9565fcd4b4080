/*
 * Colours, themes and the classes that data is painted by. All values are sRGB, straight alpha.
 * Source of the values: the design's token table; checked for colour-blind distance by tests/property/draw.
 */
#ifndef MAREY_DRAW_COLOUR_H
#define MAREY_DRAW_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rgba {
    uint8_t r, g, b, a;
} rgba;

/* What an interval is painted by; the same values as `trace_class` (trace/model.h) with room for states. */
enum { PALETTE_SIZE = 32, PALETTE_HEAT = 27 /* the ramp's five colours, for strips of heat */ };

typedef enum theme_id { THEME_DARK, THEME_LIGHT, THEME_COUNT } theme_id;

typedef struct theme {
    theme_id id;
    const char *name;
    rgba ground, panel, raised, row; /* surfaces */
    rgba line, hairline;             /* rules */
    rgba text, dim, faint;           /* three tones of text */
    rgba accent, selection, severity;
    rgba heat[5];                     /* low to high */
    rgba data[PALETTE_SIZE];          /* by trace_class */
    rgba on_data_dark, on_data_light; /* label colours on top of data */
    rgba line_memory, line_flops;     /* lines of values on top of data */
} theme;

const theme *theme_get(theme_id id);
/** By name ("dark", "light"); NULL when there is none. */
const theme *theme_find(const char *name);

rgba rgba_with_alpha(rgba c, uint8_t alpha);
/** Relative luminance (WCAG 2.1), 0 to 1; and the contrast ratio of two opaque colours, 1 to 21. */
double rgba_luminance(rgba c);
double rgba_contrast(rgba a, rgba b);
/** The better of the theme's two label colours on a datum of colour `on`. */
rgba theme_label_colour(const theme *t, rgba on);

#endif
