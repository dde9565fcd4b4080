/*
 * The graph layout from the inside.
 *
 *   graph_work.c     plan, what is visible, layout: on a thread of its own      -> graph_picture
 *   graph_join.c     which events of the run are which operator
 *   graph_measure.c  time, bytes and FLOPs of elements; graph_notes.c: words about stacks
 *   graph_trees.c    children and lines of large modules as trees of boxes
 *   graph_collect.c  what of a picture a frame shows, and how finely             -> graph_seen
 *   graph_boxes.c, graph_lines.c, graph_stubs.c, graph_chrome.c, graph_minimap.c, graph_tip.c   draw list
 *   graph_frame.c    the frame; graph_do.c: keys and clicks; graph_link.c: to and from events of the run
 *
 * Lengths of the layout ("world") are design px at zoom 1; of the frame, device px.
 */
#ifndef MAREY_SCENE_GRAPH_VIEW_H
#define MAREY_SCENE_GRAPH_VIEW_H

#include <stdatomic.h>

#include "scene/graph_scene.h"
#include "scene/internal.h"
#include "scene/tip.h"

/* ------------------------------------------------------------------ pictures */

/* Children and lines of modules that have many, as trees of boxes: four to a box, four boxes to the next. */
typedef struct index_box {
    float x0, y0, x1, y1; /* relative to the module */
} index_box;
typedef struct index_tree {
    uint32_t module;    /* item */
    uint32_t first_box; /* into boxes: level after level, the lowest first */
    uint32_t first, n;  /* into order: its entries, neighbours together */
} index_tree;
typedef struct index_trees {
    index_tree *items; /* ascending by module; hardly any module has one */
    size_t n, cap;
} index_trees;
typedef struct graph_trees {
    index_trees children, lines;
    uint32_t *order; /* places of children or lines */
    size_t n_order, cap_order;
    index_box *boxes;
    size_t n_boxes, cap_boxes;
    uint8_t *klass; /* [n_boxes]: most of what is in it */
    uint8_t *cover; /* [n_boxes]: how much of it is, of 255 */
    size_t cap_klass, cap_cover;
} graph_trees;

void graph_trees_make(graph_trees *x, const graph_plan *p, const visible *v, const graph_layout *l);
void graph_trees_free(graph_trees *x);
enum { INDEX_FAN = 4, INDEX_LEVELS = 20, INDEX_FEW = 48 };
/** NULL: its entries are few. */
const index_tree *graph_tree_of(const index_trees *t, uint32_t module);
/** Lines inside a module, stubs at an item: rows of `visible`, which are in that order. */
graph_rows graph_lines_in(const visible *v, uint32_t module);
graph_rows graph_stubs_at(const visible *v, uint32_t item);
/** Visit the entries of a module's tree that meet `seen` (relative to the module). Boxes not larger than `blob` are
 *  given as such. */
typedef struct index_visit {
    void (*entry)(void *ctx, uint32_t place);
    void (*blob)(void *ctx, const index_box *b, uint8_t klass, uint8_t cover);
    void *ctx;
    index_box seen;
    float blob_size;
} index_visit;
void graph_trees_visit(const graph_trees *x, const index_tree *t, const index_visit *how);

/* What belongs to one plan, shared by its pictures. */
typedef struct plan_box {
    atomic_uint refs;
    uint64_t serial;
    graph_plan *plan;
    layout_cache *cache;
    graph_measure *measures;
} plan_box;

/* How an element's time spreads over the members of the stack around it; of a step of one rank. */
typedef struct item_time {
    float mean_ns, min_ns, max_ns;
} item_time;

/* A finished picture; nobody changes it. */
typedef struct graph_picture {
    uint64_t serial;
    plan_box *of;
    graph_state state;
    visible *v;
    graph_layout *l;
    graph_trees index;
    item_time *times;          /* [n_items]; NULL: nothing measured */
    float most_ns;             /* the longest mean of an element that is not open, but the root */
    float most[GRAPH_COLOURS]; /* likewise of each measure */
    uint8_t *on_path;          /* [n_items]; NULL: no paths are shown */
    size_t n_on_path;          /* operators */
    bool down;
    struct stack_note *notes; /* of open stacks, ascending by item */
    size_t n_notes, cap_notes;
    struct graph_picture *next; /* of those that are to be freed */
} graph_picture;

/* "exemplar 0 of 40, all verified", and how a member differs. */
typedef struct stack_note {
    uint32_t item;
    char text[160];
} stack_note;

/* How it is drawn; a change of `plan` makes another plan. */
typedef struct graph_shape {
    uint32_t steps_off;
    uint8_t strictness;
    bool down, smooth, by_stage;
} graph_shape;
typedef struct graph_wish {
    graph_shape shape;
    uint32_t path_from, path_to; /* nodes; GRAPH_NONE */
    const graph_state *state;    /* NULL: as it is shown first */
    plan_box *of;                /* that the state belongs to; NULL */
} graph_wish;

typedef struct graph_work graph_work;
/** @param given  NULL: it is read from the file. `widths`: advance of ASCII signs, design px at LABEL_DP */
graph_work *graph_work_create(store_file *f, const graph *given, const float widths[128], const graph_first *first);
void graph_work_destroy(graph_work **w); /* cancels what is under way */
void graph_work_set_wake(graph_work *w, void (*wake)(void *ctx), void *ctx);
void graph_work_ask(graph_work *w, const graph_wish *wish);
/** The newest picture, if there is one that was not taken; its owner is the caller then. */
graph_picture *graph_work_take(graph_work *w);
/** A picture that nobody needs any more is freed beside the drawing: a large one takes longer than a frame. */
void graph_work_give_back(graph_work *w, graph_picture **p);
bool graph_work_is_due(graph_work *w);
bool graph_work_settle(graph_work *w);
const char *graph_work_error(graph_work *w);
/** Known with the first picture. */
const graph *graph_work_graph(graph_work *w);
const graph_join *graph_work_join(graph_work *w);
void graph_picture_free(graph_picture **p);
plan_box *plan_box_hold(plan_box *b);
void plan_box_drop(plan_box **b);

/* graph_measure.c */
graph_measure *graph_measure_make(const graph_plan *p, const graph_join *j);
void graph_picture_describe(graph_picture *p, cancel_flag *cancel);
/** The note of an open stack; "". */
const char *graph_picture_note(const graph_picture *p, uint32_t item);
void graph_picture_measure(graph_picture *p, const graph_join *j, cancel_flag *cancel);

/** Slices of the first input that is cut, at most 8; none where nothing is stated. `slices` may be NULL. */
size_t graph_sharding_cells(const graph_plan *p, uint32_t element, uint32_t slices[8]);
enum { SHARD_DP = 15 }; /* of a cell, with its gap */

/* graph_reach.c: operators on the ways from one to another, as bits per node. @return how many; 0: no way */
size_t graph_between(const graph *g, uint32_t from, uint32_t to, uint8_t *on, cancel_flag *cancel);

/* ------------------------------------------------------------------ a frame */

typedef enum seen_kind { SEEN_CLOSED, SEEN_OPEN, SEEN_BLOB } seen_kind;
typedef struct seen_item {
    rect r;        /* px, not snapped */
    uint32_t item; /* place; of a blob: of the module around */
    uint8_t kind;
    uint8_t klass; /* of a blob */
    uint8_t cover; /* of a blob: how much of it is inked, of 255 */
    float alpha;   /* while it comes */
} seen_item;

enum { GRAPH_MAX_SEEN = 5000, GRAPH_MAX_LINES = 4000, GRAPH_MAX_UNDO = 64 };
#define LABEL_DP      12.5
#define LEAST_TEXT_PX 6.0 /* design px: below, no labels */

typedef struct undo_entry {
    uint64_t plan_serial;
    graph_state state;
} undo_entry;

typedef struct graph_area {
    rect r;
    graph_hit hit;
} graph_area;

struct graph_view {
    const graph *given;
    graph_first first;
    bool has_first, is_failed;
    graph_work *work;
    graph_picture *now, *before; /* before: while the one passes into the other */
    int64_t passage_ns;          /* when it began; 0: none */
    double shift_x, shift_y;     /* world: from the old picture to the new one */
    graph_state state;           /* wished for */
    plan_box *state_of;          /* that it belongs to */
    graph_shape asked;
    uint32_t asked_from, asked_to;
    bool is_asked, is_changed; /* the wish has to be told */
    bool reveals;              /* the camera follows what was chosen */
    uint32_t anchor;           /* element that keeps its place on screen in the next picture; GRAPH_NONE */
    undo_entry undo[GRAPH_MAX_UNDO], redo[GRAPH_MAX_UNDO];
    size_t n_undo, n_redo;

    uint32_t selected;   /* element of now->of; GRAPH_NONE */
    uint32_t path_to;    /* element; GRAPH_NONE */
    bool wants_go;       /* the camera goes to what is selected once it is visible */
    uint64_t linked_row; /* the run's selected event that was followed last */
    uint64_t row;        /* the longest event of what is chosen, when it was asked for last */
    uint32_t row_of;
    uint64_t row_plan;
    uint8_t *marks;    /* bits per element: what is chosen, and its counterparts */
    uint32_t marks_of; /* element */
    uint64_t marks_plan;
    bool has_looked; /* for what first.select names */
    bool has_told;   /* that it was found */

    /* of the last frame */
    graph_camera at;
    double x0, y0, k; /* px = (world - x0) * k; x0, y0: the plot's top left */
    double passage;   /* 0 to 1; 1: none */
    seen_item *seen;
    size_t n_seen, cap_seen;
    float coarse;
    size_t n_labels;
    const char *detail; /* "labels", "boxes", "density" */
    graph_hit hover;
    uint32_t hover_item; /* place; GRAPH_NONE */
    uint8_t *lit;        /* bits per place: what stands out because of it; of this frame */
    graph_area *areas;
    size_t n_areas, cap_areas;
    rect minimap; /* of the drawing inside it */
    double minimap_k;
    float *placed; /* title chips: x0 y0 x1 y1 */
    size_t n_placed, cap_placed;
};
typedef struct graph_view graph_view;

/* px from world */
static inline float world_x(const scene *s, const graph_view *g, double x)
{
    return s->m.plot.x + (float)((x - g->x0) * g->k);
}
static inline float world_y(const scene *s, const graph_view *g, double y)
{
    return s->m.plot.y + (float)((y - g->y0) * g->k);
}
/** design px per world px */
static inline double zoom_of(const scene *s, const graph_view *g)
{
    return g->k / (double)s->m.s;
}
static inline bool is_dimming(const graph_view *g)
{
    return g->hover_item != GRAPH_NONE || (g->now && g->now->on_path);
}
/** The box itself in the room that the layout gave it: without its sharding. */
rect graph_box_of(const scene *s, const graph_view *g, const seen_item *k);
/** Keep a place for a text that must not meet another one. @return false: it is taken */
bool graph_place(graph_view *g, rect r);
/** Where an item lies now, between two pictures if need be. */
rect graph_item_rect(const scene *s, const graph_view *g, uint32_t item, float *alpha);
void graph_area_add(scene *s, rect r, graph_hit hit);
void graph_collect(scene *s, graph_view *g);
void graph_lanes_draw(scene *s, graph_view *g);
/* graph_do.c */
void graph_remember(graph_view *g); /* the state as it is, before it is changed */
void graph_forget(graph_view *g);
void graph_select_here(graph_view *g, uint32_t element);
void graph_take_over(graph_view *g, const graph_picture *old, const graph_picture *now); /* selection to another plan */
uint32_t graph_find_named(const graph_plan *p, const char *name);
void graph_boxes_draw(scene *s, graph_view *g);
void graph_lines_draw(scene *s, graph_view *g);
void graph_stubs_draw(scene *s, graph_view *g);
void graph_chrome_draw(scene *s, graph_view *g);
void graph_minimap_draw(scene *s, graph_view *g);
void graph_tip_draw(scene *s, graph_view *g);
/** The beginning of `s`, at most `most` bytes, with an ellipsis where it goes on. */
void graph_short_text(const char *s, char *out, size_t cap, size_t most);
/** Its end, from a slash on where there is one. */
void graph_short_path(const char *s, char *out, size_t cap, size_t most);
void graph_find_lit(scene *s, graph_view *g);
/** An item or stub is lit because of what is hovered or on the shown paths. */
bool graph_is_lit(const graph_view *g, uint32_t item);
rgba graph_mix(rgba a, rgba b, double part);
bool graph_is_communication(uint8_t klass);
/** Size in which labels are drawn, design px; 0: not at all. */
double graph_text_dp(const scene *s, const graph_view *g, double dp);
/** The element that holds most of the middle of the plot. */
uint32_t graph_in_view(const scene *s, const graph_view *g);

#endif
