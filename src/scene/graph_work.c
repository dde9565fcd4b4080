/* Pictures of the graph, worked out beside the drawing: the graph is read once, a plan is made for each set of
 * switches, what is visible and its layout for each wish, the newest first; an older one that is under way is given up.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "scene/graph_view.h"

enum { FIRST_ELEMENTS = 40, CACHE_BYTES = 64 << 20, LABEL_LETTERS = 28, GIVE_BACK_ITEMS = 100000 };

/* A wish with what it needs of its own. */
typedef struct order {
    graph_wish wish;
    graph_state state;
    bool has_state;
} order;

/* What was open when a plan was left, and what that became in the next one: whoever turns the switch back finds it as
 * it was. */
typedef struct state_memory {
    uint64_t left, entered; /* serials; 0: none */
    graph_state before, after;
} state_memory;

struct graph_work {
    store_file *file;
    const graph *given;
    graph_first first;
    float widths[128];
    pthread_t thread;
    bool is_started;

    pthread_mutex_t lock;   /* guards all below */
    pthread_cond_t changed; /* a wish came, a picture came, or the end */
    order wanted;
    bool is_asked; /* `wanted` has not been taken up */
    bool is_busy;
    bool is_over;
    graph_picture *fresh; /* done, not taken */
    graph_picture *old;   /* to be freed */
    void (*wake)(void *ctx);
    void *wake_ctx;
    char error[256];

    /* the worker's own, then read only */
    graph own;
    const graph *g;
    graph_join *join;
    plan_box *plan; /* the newest */
    plan_box *past; /* the one before: a switch is often turned back */
    graph_shape past_shape;
    state_memory memory;
    graph_shape shape; /* that it was made for */
    uint64_t n_pictures, n_plans;
    cancel_flag cancel;
};

/* ------------------------------------------------------------------ what pictures share */

plan_box *plan_box_hold(plan_box *b)
{
    if (b) {
        atomic_fetch_add(&b->refs, 1);
    }
    return b;
}

void plan_box_drop(plan_box **pb)
{
    plan_box *b = *pb;
    *pb = NULL;
    if (b && atomic_fetch_sub(&b->refs, 1) == 1) {
        layout_cache_destroy(&b->cache);
        graph_plan_destroy(&b->plan);
        free(b->measures);
        free(b);
    }
}

void graph_picture_free(graph_picture **pp)
{
    graph_picture *p = *pp;
    if (!p) {
        return;
    }
    graph_trees_free(&p->index);
    graph_layout_destroy(&p->l);
    visible_destroy(&p->v);
    graph_state_deinit(&p->state);
    plan_box_drop(&p->of);
    free(p->times);
    free(p->notes);
    free(p->on_path);
    free(p);
    *pp = NULL;
}

static void order_deinit(order *o)
{
    if (o->has_state) {
        graph_state_deinit(&o->state);
        o->has_state = false;
    }
    plan_box_drop(&o->wish.of);
}

/* ------------------------------------------------------------------ sizes of boxes */

typedef struct sizing {
    const graph_work *work;
    bool down;
} sizing;

static float label_width(const graph_work *w, const char *s)
{
    float sum = 0;
    for (int i = 0; s[i] && i < LABEL_LETTERS; i++) {
        unsigned char c = (unsigned char)s[i];
        sum += c < 128 ? w->widths[c] : (c & 0xC0) != 0x80 ? 12.0F : 0;
    }
    return sum;
}

/* Room for the name, the bar of time and, of modules, the line that says how much is inside; beside it for the
 * sharding: above, or at the right where lines come from above. */
static void box_size(void *ctx, const graph_plan *p, uint32_t element, float *w, float *h)
{
    const sizing *z = ctx;
    const graph_work *k = z->work;
    bool leaf = p->elements[element].kind == ELEMENT_LEAF;
    float text = label_width(k, plan_label(p, element));
    *w = ceilf(fmaxf(leaf ? 84 : 124, text + (leaf ? 28 : 44)) / 4) * 4;
    *h = leaf ? 44 : 52;
    size_t cells = graph_sharding_cells(p, element, NULL);
    *w += cells > 0 && z->down ? (float)cells * SHARD_DP + 4 : 0;
    *h += cells > 0 && !z->down ? SHARD_DP + 4 : 0;
}

/* Lines end at the box, not at its sharding. */
static void box_inset(void *ctx, const graph_plan *p, uint32_t element, float *before, float *after)
{
    const sizing *z = ctx;
    size_t cells = graph_sharding_cells(p, element, NULL);
    *before = cells > 0 && !z->down ? SHARD_DP + 4 : 0;
    *after = cells > 0 && z->down ? (float)cells * SHARD_DP + 4 : 0;
}

/* ------------------------------------------------------------------ from plan to plan */

/* Scopes that were open, as bits: 1 open, 2 a stack begins with it that was open, 4 that was dissolved. */
static uint8_t *open_scopes(const graph_plan *p, const graph_state *s)
{
    uint8_t *bits = mem_calloc(p->g->n_scopes + 1, 1);
    for (uint32_t i = 0; i < p->n_elements && i < s->n; i++) {
        const plan_element *e = &p->elements[i];
        unsigned open = s->open[i] & (STATE_OPEN | STATE_DISSOLVED);
        if (open == 0) {
            continue;
        }
        if (e->kind == ELEMENT_STACK && e->n_children > 0) {
            uint32_t scope = p->elements[e->first_child].scope;
            if (scope < p->g->n_scopes) {
                bits[scope] = (uint8_t)(bits[scope] | (open & STATE_DISSOLVED ? 4 : 2));
            }
        } else if (e->scope < p->g->n_scopes) {
            bits[e->scope] |= 1;
        }
    }
    return bits;
}

static void carry_over(graph_state *to, const graph_plan *p, const uint8_t *bits)
{
    for (uint32_t i = 0; i < p->n_elements; i++) {
        const plan_element *e = &p->elements[i];
        to->open[i] = e->kind == ELEMENT_ROOT ? STATE_OPEN : STATE_CLOSED;
        if (e->kind == ELEMENT_MODULE && e->scope < p->g->n_scopes) {
            to->open[i] = bits[e->scope] & 1 ? STATE_OPEN : STATE_CLOSED;
        } else if (e->kind == ELEMENT_STACK && e->n_children > 0) {
            uint32_t scope = p->elements[e->first_child].scope;
            uint8_t b = scope < p->g->n_scopes ? bits[scope] : 0;
            to->open[i] = b & 4 ? STATE_DISSOLVED : b & 2 ? STATE_OPEN : STATE_CLOSED;
        }
    }
}

/* ------------------------------------------------------------------ making a picture */

static void say(graph_work *w, const diag *d, const char *otherwise)
{
    (void)pthread_mutex_lock(&w->lock);
    (void)snprintf(w->error, sizeof w->error, "%s", d->n_messages > 0 ? d->messages[0].text : otherwise);
    (void)pthread_mutex_unlock(&w->lock);
}

static bool read_graph(graph_work *w)
{
    diag d;
    diag_init(&d);
    const graph *g = w->given;
    if (!g && store_read_graph(w->file, &w->own, &d) == MAREY_OK) {
        g = &w->own;
    }
    if (!g || g->n_nodes == 0) {
        say(w, &d, "The graph can't be read.");
    } else {
        graph_join *j = graph_join_make(w->file, g, &w->cancel);
        (void)pthread_mutex_lock(&w->lock);
        w->g = g;
        w->join = j;
        (void)pthread_mutex_unlock(&w->lock);
    }
    diag_deinit(&d);
    return w->g != NULL;
}

static bool same_plan(const graph_shape *a, const graph_shape *b)
{
    return a->steps_off == b->steps_off && a->strictness == b->strictness;
}

static bool make_plan(graph_work *w, const graph_shape *shape)
{
    if (w->plan && same_plan(&w->shape, shape)) {
        return true;
    }
    if (w->past && same_plan(&w->past_shape, shape)) {
        plan_box *swap = w->plan;
        w->plan = w->past;
        w->past = swap;
        w->past_shape = w->shape;
        w->shape = *shape;
        return true;
    }
    plan_options o;
    plan_options_init(&o);
    for (int i = 0; i < GRAPH_STEP_COUNT; i++) {
        o.steps[i] = o.steps[i] && !(shape->steps_off >> i & 1);
    }
    o.strictness = shape->strictness > 0 ? (graph_strictness)(shape->strictness - 1) : o.strictness;
    o.cancel = &w->cancel;
    diag d;
    diag_init(&d);
    graph_plan *p = NULL;
    marey_status status = graph_plan_create(&p, w->g, &o, &d);
    if (status == MAREY_OK) {
        plan_box_drop(&w->past);
        w->past = w->plan;
        w->past_shape = w->shape;
        w->plan = mem_calloc(1, sizeof *w->plan);
        atomic_init(&w->plan->refs, 1);
        w->plan->serial = ++w->n_plans;
        w->plan->plan = p;
        w->plan->cache = layout_cache_create(CACHE_BYTES);
        w->plan->measures = graph_measure_make(p, w->join);
        w->shape = *shape;
    } else if (status != MAREY_CANCELLED) {
        say(w, &d, "The graph can't be simplified.");
    }
    diag_deinit(&d);
    return status == MAREY_OK;
}

static void first_state(const graph_work *w, graph_state *s, const graph_plan *p)
{
    const graph_first *f = &w->first;
    graph_state_init(s, p);
    graph_state_default(s, p, FIRST_ELEMENTS);
    if (f->all != GRAPH_OPEN_DEFAULT) {
        graph_state_expand_all(s, p, f->all == GRAPH_OPEN_EXEMPLARS);
    }
    if (f->expand > 0) {
        (void)graph_state_expand_random(s, p, (size_t)f->expand, f->seed);
    }
}

static bool same_state(const graph_state *a, const graph_state *b)
{
    return a->n == b->n && a->n_families == b->n_families && memcmp(a->open, b->open, a->n) == 0 &&
           memcmp(a->member, b->member, a->n_families * sizeof *a->member) == 0;
}

static void remember(graph_work *w, const order *o, const graph_state *now)
{
    state_memory next = {.left = o->wish.of->serial, .entered = w->plan->serial};
    graph_state_copy(&next.before, &o->state);
    graph_state_copy(&next.after, now);
    graph_state_deinit(&w->memory.before);
    graph_state_deinit(&w->memory.after);
    w->memory = next;
}

static void make_state(graph_work *w, const order *o, graph_state *s)
{
    const graph_plan *p = w->plan->plan;
    if (!o->has_state) {
        first_state(w, s, p);
    } else if (o->wish.of == w->plan) {
        graph_state_copy(s, &o->state);
    } else if (o->wish.of->serial == w->memory.entered && w->plan->serial == w->memory.left &&
               same_state(&o->state, &w->memory.after)) {
        graph_state_copy(s, &w->memory.before);
        remember(w, o, s);
    } else {
        uint8_t *bits = open_scopes(o->wish.of->plan, &o->state);
        graph_state_init(s, p);
        carry_over(s, p, bits);
        free(bits);
        remember(w, o, s);
    }
}

static void mark_paths(graph_work *w, graph_picture *pic, const graph_wish *wish)
{
    if (wish->path_from == GRAPH_NONE || wish->path_to == GRAPH_NONE) {
        return;
    }
    const graph_plan *p = pic->of->plan;
    uint8_t *on = mem_alloc(w->g->n_nodes / 8 + 1);
    pic->on_path = mem_calloc(pic->v->n_items + 1, 1);
    pic->n_on_path = graph_between(w->g, wish->path_from, wish->path_to, on, &w->cancel);
    if (pic->n_on_path == 0) {
        pic->n_on_path = graph_between(w->g, wish->path_to, wish->path_from, on, &w->cancel);
    }
    for (uint32_t node = 0; node < w->g->n_nodes; node++) {
        uint32_t leaf = on[node >> 3] >> (node & 7) & 1 ? p->element_of[node] : GRAPH_NONE;
        uint32_t shown = leaf < p->n_elements ? graph_state_shown_by(&pic->state, p, leaf) : GRAPH_NONE;
        uint32_t item = shown < p->n_elements ? pic->v->item_of[shown] : GRAPH_NONE;
        while (item != GRAPH_NONE && !pic->on_path[item]) {
            pic->on_path[item] = 1;
            item = pic->v->items[item].parent;
        }
    }
    free(on);
}

static marey_status lay_out(graph_work *w, graph_picture *pic, const graph_shape *shape)
{
    layout_options o;
    layout_options_init(&o);
    o.direction = shape->down ? LAYOUT_DOWN : LAYOUT_RIGHT;
    o.routing = shape->smooth ? ROUTE_SMOOTH : ROUTE_ORTHOGONAL;
    o.by_stage = shape->by_stage;
    o.size = box_size;
    o.inset = box_inset;
    sizing z = {w, shape->down};
    o.size_ctx = &z;
    o.cancel = &w->cancel;
    pic->state.flat = o.by_stage && w->g->n_stages > 0;
    if (pic->state.flat) {
        graph_state_part_stages(&pic->state, pic->of->plan);
    }
    marey_status status = visible_create(&pic->v, pic->of->plan, &pic->state, &w->cancel);
    if (status == MAREY_OK) {
        status = graph_layout_create(&pic->l, pic->of->plan, pic->v, &o, pic->of->cache);
    }
    return status;
}

static graph_picture *make_picture(graph_work *w, order *o)
{
    if ((!w->g && !read_graph(w)) || is_cancelled(&w->cancel) || !make_plan(w, &o->wish.shape)) {
        return NULL;
    }
    graph_picture *pic = mem_calloc(1, sizeof *pic);
    pic->of = plan_box_hold(w->plan);
    pic->down = o->wish.shape.down;
    make_state(w, o, &pic->state);
    if (lay_out(w, pic, &o->wish.shape) != MAREY_OK) {
        graph_picture_free(&pic);
        return NULL;
    }
    if (pic->v->n_items > GIVE_BACK_ITEMS) {
        mem_give_back();
    }
    graph_trees_make(&pic->index, w->plan->plan, pic->v, pic->l);
    graph_picture_measure(pic, w->join, &w->cancel);
    graph_picture_describe(pic, &w->cancel);
    mark_paths(w, pic, &o->wish);
    if (is_cancelled(&w->cancel)) {
        graph_picture_free(&pic);
    } else {
        pic->serial = ++w->n_pictures;
    }
    return pic;
}

static void answer(graph_work *w, order *o)
{
    graph_picture *pic = make_picture(w, o);
    order_deinit(o);
    (void)pthread_mutex_lock(&w->lock);
    graph_picture *old = NULL;
    if (pic) {
        old = w->fresh;
        w->fresh = pic;
    }
    w->is_busy = false;
    void (*wake)(void *) = w->wake;
    void *ctx = w->wake_ctx;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    graph_picture_free(&old);
    if (wake) {
        wake(ctx);
    }
}

static void free_pictures(graph_picture *p)
{
    while (p) {
        graph_picture *next = p->next;
        graph_picture_free(&p);
        p = next;
    }
}

static void *work(void *ctx)
{
    graph_work *w = ctx;
    for (;;) {
        (void)pthread_mutex_lock(&w->lock);
        while (!w->is_asked && !w->is_over && !w->old) {
            (void)pthread_cond_wait(&w->changed, &w->lock);
        }
        bool over = w->is_over;
        bool asked = w->is_asked && !over;
        graph_picture *old = w->old;
        w->old = NULL;
        order o = {0};
        if (asked) {
            o = w->wanted;
            w->wanted = (order){0};
            w->is_asked = false;
            w->is_busy = true;
            atomic_store(&w->cancel.set, false);
        }
        (void)pthread_mutex_unlock(&w->lock);
        if (asked) {
            answer(w, &o);
        }
        free_pictures(old);
        if (over) {
            return NULL;
        }
    }
}

/* ------------------------------------------------------------------ from the drawing thread */

graph_work *graph_work_create(store_file *f, const graph *given, const float widths[128], const graph_first *first)
{
    graph_work *w = mem_calloc(1, sizeof *w);
    w->file = f;
    w->given = given;
    w->first = *first;
    memcpy(w->widths, widths, sizeof w->widths);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, NULL);
    return w;
}

void graph_work_destroy(graph_work **pw)
{
    graph_work *w = *pw;
    if (!w) {
        return;
    }
    if (w->is_started) {
        (void)pthread_mutex_lock(&w->lock);
        atomic_store(&w->cancel.set, true);
        w->is_over = true;
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
        (void)pthread_join(w->thread, NULL);
    }
    order_deinit(&w->wanted);
    graph_picture_free(&w->fresh);
    free_pictures(w->old);
    plan_box_drop(&w->plan);
    plan_box_drop(&w->past);
    graph_state_deinit(&w->memory.before);
    graph_state_deinit(&w->memory.after);
    graph_join_free(&w->join);
    graph_deinit(&w->own);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
    free(w);
    *pw = NULL;
}

void graph_work_set_wake(graph_work *w, void (*wake)(void *ctx), void *ctx)
{
    (void)pthread_mutex_lock(&w->lock);
    w->wake = wake;
    w->wake_ctx = ctx;
    (void)pthread_mutex_unlock(&w->lock);
}

void graph_work_ask(graph_work *w, const graph_wish *wish)
{
    order o = {.wish = *wish};
    o.wish.of = plan_box_hold(wish->of);
    o.wish.state = NULL;
    if (wish->state) {
        memset(&o.state, 0, sizeof o.state);
        graph_state_copy(&o.state, wish->state);
        o.has_state = true;
    }
    (void)pthread_mutex_lock(&w->lock);
    order old = w->wanted;
    w->wanted = o;
    w->is_asked = true;
    if (w->is_busy && w->g) { /* while the graph is read, nothing is given up */
        atomic_store(&w->cancel.set, true);
    }
    if (!w->is_started) {
        w->is_started = pthread_create(&w->thread, NULL, work, w) == 0;
        if (!w->is_started) {
            (void)snprintf(w->error, sizeof w->error, "No thread could be started.");
            w->is_asked = false;
        }
    }
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    order_deinit(&old);
}

graph_picture *graph_work_take(graph_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    graph_picture *p = w->fresh;
    w->fresh = NULL;
    (void)pthread_mutex_unlock(&w->lock);
    return p;
}

void graph_work_give_back(graph_work *w, graph_picture **p)
{
    if (*p) {
        (void)pthread_mutex_lock(&w->lock);
        (*p)->next = w->old;
        w->old = *p;
        *p = NULL;
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
    }
}

bool graph_work_is_due(graph_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool due = w->is_asked || w->is_busy || w->fresh;
    (void)pthread_mutex_unlock(&w->lock);
    return due;
}

bool graph_work_settle(graph_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool was = w->is_asked || w->is_busy || w->fresh;
    while (w->is_asked || w->is_busy) {
        (void)pthread_cond_wait(&w->changed, &w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return was;
}

const char *graph_work_error(graph_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bool failed = w->error[0] != '\0'; /* once set, it stays */
    (void)pthread_mutex_unlock(&w->lock);
    return failed ? w->error : NULL;
}

const graph *graph_work_graph(graph_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const graph *g = w->g;
    (void)pthread_mutex_unlock(&w->lock);
    return g;
}

const graph_join *graph_work_join(graph_work *w)
{
    (void)pthread_mutex_lock(&w->lock);
    const graph_join *j = w->join;
    (void)pthread_mutex_unlock(&w->lock);
    return j;
}
