/*
 * The communication layout from the inside: a graph of devices, a matrix of links, the communicators, and the
 * operations of one of them.
 *
 *   comm_work.c     the numbers, worked out on a thread of its own      -> comm_model, comm_sums
 *   comm_units.c    ranks, or blocks of them where they are too many    -> comm_units
 *   comm_graph.c, comm_matrix.c, comm_table.c, comm_list.c, comm_tip.c  draw list, areas that can be hit
 *   comm_view.c     the frame; comm_keys.c: keys and clicks
 */
#ifndef MAREY_SCENE_COMM_VIEW_H
#define MAREY_SCENE_COMM_VIEW_H

#include "diagnose/comm_model.h"
#include "scene/internal.h"
#include "scene/tip.h"

/* ------------------------------------------------------------------ numbers */

typedef struct comm_work comm_work;

/** @param given  the run's diagnosis, which outlives the work and never changes; NULL: what it takes is read here */
comm_work *comm_work_create(store_file *f, const diagnosis *given);
void comm_work_destroy(comm_work **w); /* cancels what is under way */
void comm_work_set_wake(comm_work *w, void (*wake)(void *ctx), void *ctx);
/** The newest numbers; NULL: none yet. *is_due: others are on their way. Pointers live until the next call. `wanted`
 * may differ from the query of what is returned. Thread: the drawing thread. */
const comm_sums *comm_work_ask(comm_work *w, const comm_query *wanted, const comm_model **model, bool *is_due);
/** Wait until nothing is under way. @return true when something was */
bool comm_work_settle(comm_work *w);
/** The run could not be read: why; NULL: it could. */
const char *comm_work_error(comm_work *w);

/* ------------------------------------------------------------------ units */

/* Traffic from unit to unit, by kind of link. */
typedef struct unit_link {
    uint32_t from, to;
    bool crosses_hosts;
    uint32_t link[2]; /* of the model, by link_kind; NO_ID: none, or several (n_links says) */
    uint32_t n_links[2];
    uint64_t n[2]; /* operations */
    int64_t time_ns[2];
    int64_t known_ns[2]; /* of it, with bytes */
    double bytes[2];
} unit_link;

typedef struct unit {
    uint32_t first, n; /* into comm_units.ranks */
    uint32_t block;    /* group of the row tree; NO_ID */
    int64_t transfer_ns, wait_ns;
    uint64_t n_operations, n_last;
} unit;

typedef enum unit_cut { CUT_RANKS, CUT_HOSTS, CUT_GROUPS, CUT_EVEN } unit_cut;

typedef struct comm_units {
    unit_cut cut;
    bool made, are_blocks; /* not ranks */
    unit *items;
    uint32_t n;
    uint32_t *ranks;   /* rank indices in order */
    uint32_t *of_rank; /* [n_ranks] unit, NO_ID: not shown */
    unit_link *links;  /* by (from, to) */
    size_t n_links;
    uint32_t *widest; /* links, most bytes (then time) first */
    double most[COMM_MEASURES];
    double least_share, most_share; /* of communication in communication + wait, over units */
    double least_time, most_time;   /* communication + wait, ns, > 0 */
    /* what they were made from */
    uint64_t serial;
    uint32_t limit;
    view_grouping grouping;
    view_order order;
} comm_units;

typedef struct comm_area {
    rect r;
    comm_hit hit;
} comm_area;

/* Where the matrix lies, for picking. */
typedef struct matrix_place {
    rect r;
    float cell;
    uint32_t n;
} matrix_place;

typedef struct list_place {
    rect r;      /* of the rows */
    float row_h; /* px */
    size_t n;
} list_place;

struct comm_view {
    comm_work *work;
    const comm_model *model;
    const comm_sums *sums; /* NULL: none yet */
    comm_units graph, matrix;
    matrix_place matrix_at;
    list_place lists[2]; /* PANE_LIST, PANE_GROUPS */
    comm_area *areas;
    size_t n_areas, cap_areas;
    comm_hit hover;              /* under the pointer, by the areas of the frame before */
    uint32_t selected_operation; /* that holds the selected event; NO_ID */
};
typedef struct comm_view comm_view;

void units_update(scene *s, comm_units *u, uint32_t limit); /* at most `limit` units, else blocks */
void units_free(comm_units *u);
const unit_link *unit_link_find(const comm_units *u, uint32_t from, uint32_t to);
double unit_link_value(const unit_link *k, comm_measure m); /* of both kinds */
/** The kind that has more of the time. */
link_kind unit_link_kind(const unit_link *k);
/** "rank 12", "stage 3", "ranks 0-15". */
void unit_name(const scene *s, const comm_units *u, uint32_t i, char *out, size_t cap);
/** The same for narrow places: "12". */
void unit_short_name(const scene *s, const comm_units *u, uint32_t i, char *out, size_t cap);

/* ------------------------------------------------------------------ drawing */

void comm_area_add(scene *s, rect r, comm_hit hit);
bool comm_is_hovered(const scene *s, comm_hit_kind kind, uint32_t a);
rgba mix_colours(rgba a, rgba b, double part);
rgba link_colour(const scene *s, link_kind kind);
/** A panel's heading. @return the panel without it */
rect comm_heading(scene *s, rect r, const char *title, const char *remark);
void comm_graph_draw(scene *s, rect r);
void comm_matrix_draw(scene *s, rect r);
void comm_groups_draw(scene *s, rect r);
void comm_list_draw(scene *s, rect r);
void comm_tip_draw(scene *s);

/* comm_table.c: rows of text under a heading, as many as are seen. */
typedef struct table_column {
    const char *title;
    double width_dp; /* 0: takes what is left */
    text_align align;
    int sort; /* comm_sort; -1: none */
} table_column;
typedef struct table_place {
    rect head, rows;
    float row_h;
    double scroll_px; /* device px, clamped */
    size_t first, end;
    rect columns[16]; /* x and w */
} table_place;
table_place table_begin(scene *s, rect r, const table_column *columns, size_t n_columns, size_t n_rows,
                        double scroll_dp);
rect table_cell(const table_place *t, size_t row, size_t column);
void table_text(scene *s, const table_place *t, size_t row, size_t column, text_align align, rgba c, const char *text);
/** The row's ground where it is under the pointer, chosen or has the keys. */
void table_row_ground(scene *s, const table_place *t, size_t row, bool chosen, bool hovered, bool focused);

/* Quantities as text; "\xE2\x80\x93" where unknown. */
void bandwidth_text(double bytes_per_s, char *out, size_t cap);
void bytes_text(double bytes, char *out, size_t cap);
void measure_text(comm_measure m, double value, char *out, size_t cap);
const char *measure_name(comm_measure m);

#endif
