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
    /* what it stands for; 0 instances: itself alone */
    uint32_t n;
    double busy_px;            /* mean over both rows of the time inside it: less than its width where it has gaps */
    int64_t least_ns, most_ns; /* durations of its instances */
    double sum_ns;
} band;

/* One instance, or several that follow each other, over all ranks of a group: px. */
typedef enum nested_edge {
    NESTED_START_MIN,
    NESTED_START_MEAN,
    NESTED_START_MAX,
    NESTED_END_MIN,
    NESTED_END_MEAN,
    NESTED_END_MAX,
    NESTED_EDGES
} nested_edge;
typedef struct nested_band {
    uint64_t key;
    uint32_t row; /* from the first visible row */
    uint8_t klass;
    uint32_t n;        /* ranks that have it; the fewest of those merged */
    uint32_t n_merged; /* instances */
    double x[NESTED_EDGES];
    double busy_px; /* of those merged, mean start to mean end: less than the extent where there are gaps */
} nested_band;

typedef struct marey_cache {
    marey_level level, before;
    int64_t since_ns;
    double strength; /* of `level`, 0 to 1, while the one before fades */
    bool drawn;
    instance_list list;
    band *bands;
    size_t n_bands, cap_bands;
    instance_list of_groups;
    nested_band *nested;
    size_t n_nested, cap_nested;
} marey_cache;

/** The event of the band at a point of the last frame, drawn last first; UINT64_MAX: none. */
uint64_t bands_at(const scene *s, double x, double y);
bool is_band_row(const scene *s, const scene_row *row);

/** Adds what one rank does at this level (steps or phases) to a list, as row `ordinal`. */
void marey_collect_rank(scene *s, instance_list *to, uint32_t ordinal, uint32_t rank, uint32_t group,
                        marey_level level);

/* nested.c */
/** One band each (key, row) of a list sorted by them, appended from place n. @return how many there are then */
size_t nested_from(const instance_list *l, nested_band **out, size_t n, size_t *cap);
/** Sorts by row, class and time; neighbours whose three edges touch within the tolerance become one. @return how many
 * are left */
size_t nested_merge(nested_band *v, size_t n, double tolerance_px);
/** What the ranks of all groups on screen do at this level. @return false when that is too much */
bool nested_collect(scene *s, marey_level level, instance_list *l);
void nested_draw(scene *s, marey_cache *m, marey_level level, double strength);
/** The band at a point of a group's row; NULL: none. */
const nested_band *nested_at(const scene *s, size_t row, double x);

/** The band at a point of the last frame, drawn last first; NULL: none. */
const band *band_at(const scene *s, double x, double y);

/* bands.c. The list is sorted by (key, row) on the way. */
void bands_draw(scene *s, marey_cache *m, double strength);
void bands_sort(instance_list *l);
/** Marks the members that leave median +- 5 MAD of their peers by start, end or duration. @return how many */
size_t bands_find_outliers(scene *s, instance_list *l);
void bands_match(const scene *s, const instance_list *l, marey_cache *m);
/** Neighbours of one class whose edges are within `tolerance_px` become one; outliers stay. */
void bands_merge(marey_cache *m, double tolerance_px);

#endif
