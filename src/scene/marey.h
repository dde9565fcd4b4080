/* What marey.c (which instances, which level) and bands.c (matching, merging, drawing) share. */
#ifndef MAREY_SCENE_MAREY_H
#define MAREY_SCENE_MAREY_H

#include "scene/internal.h"

enum { BAND_ALPHA = 97, OUTLIER_ALPHA = 165, MAX_BANDS = 4000, WAIT_ALPHA = 107 };

typedef struct instance {
    uint64_t key;
    uint32_t row; /* from the first visible row */
    bool outlier;
    double x0, x1; /* px */
    ev e;
} instance;

typedef struct instance_list {
    instance *items;
    size_t n, cap;
} instance_list;

/* Joins the row `pair` and the next one. */
typedef struct band {
    uint32_t pair;
    uint8_t klass;
    bool outlier;
    double x0, x1, x2, x3;
    uint64_t event_row; /* of the upper instance */
} band;

typedef struct marey_cache {
    marey_level level, before;
    int64_t since_ns;
    double strength; /* of `level`, 0 to 1, while the one before fades */
    bool drawn;
    instance_list list;
    band *bands;
    size_t n_bands, cap_bands;
} marey_cache;

/** The event of the band at a point of the last frame, drawn last first; UINT64_MAX: none. */
uint64_t bands_at(const scene *s, double x, double y);
bool is_band_row(const scene *s, const scene_row *row);

/* bands.c. The list is sorted by (key, row) on the way. */
void bands_draw(scene *s, marey_cache *m, double strength);
void bands_sort(instance_list *l);
/** Marks the members that leave median +- 5 MAD of their peers by start, end or duration. @return how many */
size_t bands_find_outliers(scene *s, instance_list *l);
void bands_match(const scene *s, const instance_list *l, marey_cache *m);
/** Neighbours of one class whose edges are within `tolerance_px` become one; outliers stay. */
void bands_merge(marey_cache *m, double tolerance_px);

#endif
