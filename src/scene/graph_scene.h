/*
 * The graph layout, as the app sees it: what keys, clicks and panels ask of it and do to it.
 *
 * Plan, visible elements and layout are worked out on a thread of their own (graph_work.c); until the new picture is
 * there, the old one stays. What is open and what is chosen belong to the scene; camera and options to the view
 * (view.graph). Elements are ids of the shown plan and hold until another plan comes (scene_graph.plan_serial).
 *
 * Thread: the drawing thread.
 */
#ifndef MAREY_SCENE_GRAPH_SCENE_H
#define MAREY_SCENE_GRAPH_SCENE_H

#include "graph/layout.h"
#include "scene/graph_join.h"
#include "scene/scene.h"

/* How a graph is shown first; what the options of `render` and `bench` say. */
typedef struct graph_first {
    uint64_t expand; /* so many modules more are opened, by the seed */
    uint64_t seed;
    int all;            /* GRAPH_OPEN_* */
    const char *select; /* name or path of an operator or module to be chosen; NULL; must live until it is shown */
} graph_first;
enum { GRAPH_OPEN_DEFAULT, GRAPH_OPEN_EXEMPLARS, GRAPH_OPEN_ALL };

/* What is known of an element. Times are sums over its operators, each the mean of its events over ranks and steps. */
typedef struct graph_measure {
    float time_ns; /* 0: nothing measured */
    float bytes;   /* of what it puts out */
    float flops;
} graph_measure;

/* A picture's parts; all of it read-only, until the next frame. */
typedef struct scene_graph {
    const graph *g;
    const graph_plan *plan;
    const visible *v;
    const graph_layout *layout;
    const graph_state *state;      /* as wished for: the picture may be on its way */
    const graph_join *join;        /* NULL: no run, or nothing of it was found in the graph */
    const graph_measure *measures; /* [plan.n_elements] */
    uint32_t selected;             /* element; GRAPH_NONE */
    uint32_t path_to;              /* likewise: the other end of the shown paths */
    float most[GRAPH_COLOURS];     /* of what is shown: what the ramp of colours ends at */
    size_t n_on_path;              /* operators on them */
    uint64_t plan_serial;
    bool is_due; /* another picture is on its way */
} scene_graph;

bool scene_has_graph(const scene *s);
/** Before the first frame of the graph layout. */
void scene_graph_show_first(scene *s, const graph_first *f);
/** A graph that is not in the file, before the first frame; it outlives the scene. For tests. */
void scene_give_graph(scene *s, const graph *g);
/** @return false while nothing is there */
bool scene_graph_get(const scene *s, scene_graph *out);

/* Keys. What they mean without a selection is said beside them. */
typedef enum graph_command {
    GRAPH_DO_TOGGLE,   /* open or close; of what lies under the pointer */
    GRAPH_DO_CLOSE,    /* the module around; itself becomes what is chosen */
    GRAPH_DO_DISSOLVE, /* a stack: all members; again: one */
    GRAPH_DO_UNDO,
    GRAPH_DO_REDO,
    GRAPH_DO_OPEN_ALL, /* stacks at their exemplar */
    GRAPH_DO_CLOSE_ALL,
    GRAPH_DO_MEMBER_NEXT,
    GRAPH_DO_MEMBER_PREVIOUS,
    GRAPH_DO_CONSUMER, /* the first element */
    GRAPH_DO_PRODUCER,
    GRAPH_DO_SIBLING_NEXT,
    GRAPH_DO_SIBLING_PREVIOUS,
    GRAPH_DO_STUBS,  /* draw the chosen one's stubs as lines, or not */
    GRAPH_DO_NOTHING /* choose nothing */
} graph_command;
/** @return false when it means nothing now */
bool scene_graph_do(scene *s, const view *v, graph_command c);
/** Choose an element, opening what hides it; the camera goes there. GRAPH_NONE: nothing. */
void scene_graph_select(scene *s, uint32_t element, bool go);
/** The leaf that shows a node. */
void scene_graph_select_node(scene *s, uint32_t node);
/** The node of an event, chosen without moving; @return false when the graph has none */
bool scene_graph_select_event(scene *s, uint64_t row);
/** A click: chooses; with Shift, the other end of paths; the second of a double click opens or closes. */
void scene_graph_click(scene *s, const view *v, const graph_hit *hit, bool shift, bool twice);

/** The event that stands for what is chosen: its longest. UINT64_MAX: none. */
uint64_t scene_graph_row(const scene *s);
/** The operators of what is chosen, and the same ones in the other members of its stack, as bits by node.
 *  @param bits  [n_nodes / 8 + 1], zeroed. @return how many that the run has events of */
size_t scene_graph_chosen_nodes(scene *s, uint8_t *bits);
/** What graph_first.select names is chosen, and the run has it; said once. */
bool scene_graph_found_first(scene *s);
/** The run's selection came from here: it leads nowhere. */
void scene_graph_linked(scene *s, uint64_t row);

/** The stack that holds an element, or is it; GRAPH_NONE. */
uint32_t scene_graph_stack(const graph_plan *p, uint32_t element);
/** The same operator in each member of the stack; at most cap. @return how many */
size_t scene_graph_counterparts(const graph_plan *p, uint32_t stack, uint32_t leaf, uint32_t *out, size_t cap);
rgba scene_graph_class_colour(const theme *t, uint8_t klass);

/* The camera. */
/** The camera that shows all, or an element with what is around it. @return false when there is no picture */
bool scene_graph_fit(const scene *s, uint32_t element, graph_camera *to);
/** Around a device pixel. */
graph_camera scene_graph_zoom(const scene *s, graph_camera from, double factor, double x_px, double y_px);
/** A wish of the scene's own (to what was chosen by search or keys), once. */
bool scene_graph_wants_go(scene *s, graph_camera *to);
/** The point of the layout under a device pixel of the minimap. @return false when it lies elsewhere */
bool scene_graph_minimap_at(const scene *s, double x_px, double y_px, double *x, double *y);

#endif
