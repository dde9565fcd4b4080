/* Devices as nodes in the blocks of the row tree, links as arcs: how much a device communicates and how much of that is
 * waiting, and where its data goes. */
#include <stdlib.h>
#include <string.h>

#include "scene/comm_arcs.h"
#include "scene/comm_view.h"

enum { MAX_ARCS = 400, LEGEND_DP = 20 };

typedef struct graph_plan {
    float pitch;   /* px between nodes */
    float pitch_y; /* downwards: the same, or more where there is room */
    uint32_t n_blocks, block_columns, member_columns, member_rows;
    uint32_t *first; /* [n_blocks + 1] units */
} graph_plan;

static float plan_pitch(const graph_plan *p, rect r, float title)
{
    float rows = (float)((p->n_blocks + p->block_columns - 1) / p->block_columns);
    float w = (float)p->block_columns * ((float)p->member_columns + 0.5F);
    float h = rows * ((float)p->member_rows + 0.25F);
    return fminf(r.w / w, fmaxf(r.h - rows * title, 1) / h);
}

/* Blocks of neighbours in the row tree. */
static void find_blocks(scene *s, const comm_units *u, graph_plan *p)
{
    p->first = arena_alloc(&s->scratch, (u->n + 2) * sizeof *p->first);
    for (uint32_t i = 0; i < u->n; i++) {
        if (i == 0 || (u->cut <= CUT_HOSTS && u->items[i].block != u->items[i - 1].block)) {
            p->first[p->n_blocks++] = i;
        }
    }
    p->first[p->n_blocks] = u->n;
}

/* Blocks as columns, one beside the other, so that what goes from stage to stage goes from left to right. @return
 * false where that would squeeze the nodes */
static bool plan_columns(const graph_plan *best, graph_plan *p, uint32_t most, rect r, float title)
{
    p->block_columns = p->n_blocks;
    p->member_columns = 1;
    p->member_rows = most;
    p->pitch = plan_pitch(p, r, title);
    return p->n_blocks > 1 && most > 1 && p->pitch >= 0.72F * best->pitch;
}

/* The arrangement that leaves most room between the nodes. */
static graph_plan make_plan(scene *s, const comm_units *u, rect r, float title)
{
    graph_plan p = {0};
    find_blocks(s, u, &p);
    uint32_t most = 1;
    for (uint32_t i = 0; i < p.n_blocks; i++) {
        uint32_t n = p.first[i + 1] - p.first[i];
        most = n > most ? n : most;
    }
    graph_plan best = p;
    best.pitch = -1;
    uint32_t wide = (uint32_t)ceil(sqrt(most)); /* near to a square, in which neighbours in a ring stand close */
    uint32_t widest = p.n_blocks == 1 ? most < 2 * wide ? most : 2 * wide : wide + (most > 4);
    for (p.block_columns = 1; p.block_columns <= p.n_blocks && p.block_columns <= 64; p.block_columns++) {
        for (p.member_columns = wide > 2 ? wide - 1 : wide; p.member_columns <= widest; p.member_columns++) {
            p.member_rows = (most + p.member_columns - 1) / p.member_columns;
            p.pitch = plan_pitch(&p, r, title);
            best = p.pitch > best.pitch * 1.02F ? p : best;
        }
    }
    graph_plan columns = p;
    best = plan_columns(&best, &columns, most, r, title) ? columns : best;
    best.pitch = fminf(best.pitch, px(s, 92));
    float rows = (float)((best.n_blocks + best.block_columns - 1) / best.block_columns);
    float room = (r.h - rows * title) / (rows * ((float)best.member_rows + 0.25F));
    best.pitch_y = fminf(fmaxf(room, best.pitch), 1.6F * best.pitch);
    return best;
}

static double radius_share(const comm_units *u, const unit *k)
{
    double time = (double)(k->transfer_ns + k->wait_ns);
    if (time <= 0) {
        return 0;
    }
    double range = log(u->most_time) - log(u->least_time);
    return range > 1e-9 ? (log(time) - log(u->least_time)) / range : 1;
}

static void place_block(scene *s, const comm_units *u, const graph_plan *p, uint32_t block, rect r, float title,
                        node_place *nodes)
{
    float block_w = p->pitch * ((float)p->member_columns + 0.5F);
    float block_h = p->pitch_y * ((float)p->member_rows + 0.25F) + title;
    float rows = (float)((p->n_blocks + p->block_columns - 1) / p->block_columns);
    float x = r.x + fmaxf((r.w - block_w * (float)p->block_columns) / 2, 0);
    float y = r.y + fmaxf((r.h - block_h * rows) / 2, 0);
    x += block_w * (float)(block % p->block_columns) + p->pitch * 0.25F;
    y += block_h * (float)(block / p->block_columns);
    float title_w = block_w - p->pitch * 0.1F;
    if (title > 0 && title_w >= px(s, 40)) {
        char name[96] = "";
        uint32_t group = u->items[p->first[block]].block;
        if (group < s->tree.n_groups && u->cut <= CUT_HOSTS) {
            (void)snprintf(name, sizeof name, "%s", s->tree.groups[group].name);
        }
        rect box = {x + (p->pitch * (float)p->member_columns - title_w) / 2, y, title_w, title};
        (void)put_text(s, LAYER_MARKS, FACE_SANS, 10.5, box, TEXT_CENTRE, s->t->dim, name);
    }
    for (uint32_t i = p->first[block]; i < p->first[block + 1]; i++) {
        uint32_t k = i - p->first[block];
        uint32_t row = k / p->member_columns;
        uint32_t column = k % p->member_columns;
        column = row % 2 == 1 ? p->member_columns - 1 - column : column; /* as the ox ploughs: neighbours stay close */
        nodes[i].x = x + p->pitch * ((float)column + 0.5F);
        nodes[i].y = y + title + p->pitch_y * ((float)row + 0.5F);
        float least = fminf(px(s, 9), 0.26F * p->pitch); /* with room for a number */
        nodes[i].radius = fmaxf(p->pitch * (float)(0.15 + 0.19 * radius_share(u, &u->items[i])), least);
    }
}

/* ------------------------------------------------------------------ arcs */

static float arc_width(const scene *s, const comm_units *u, const unit_link *k)
{
    double bytes = unit_link_value(k, COMM_BYTES);
    double most = u->most[COMM_BYTES];
    if (!(bytes > 0) || !(most > 1)) {
        return fmaxf(1, px(s, 1));
    }
    return (float)((0.8 + 3.4 * fmax(0, 1 + log(bytes / most) / log(1e4))) * (double)s->m.s);
}

static bool touches_hover(const scene *s, const unit_link *k)
{
    const comm_hit *h = &s->comm_layout->hover;
    return h->kind == HIT_NODE && (k->from == h->a || k->to == h->a);
}

/* The nodes of the block that holds both, or all of them. */
static comm_span ends_of(const graph_plan *p, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        if (a >= p->first[i] && a < p->first[i + 1] && b >= p->first[i] && b < p->first[i + 1]) {
            return (comm_span){p->first[i], p->first[i + 1]};
        }
    }
    return (comm_span){0, p->first[p->n_blocks]};
}

static void draw_arcs(scene *s, const comm_units *u, const node_place *nodes, const graph_plan *p)
{
    unsigned n_around = 0;
    bool any_hover = s->comm_layout->hover.kind == HIT_NODE;
    size_t n = u->n_links < MAX_ARCS ? u->n_links : MAX_ARCS;
    float slim = fminf(fmaxf(p->pitch / px(s, 44), 0.4F), 1);
    for (size_t i = n; i-- > 0;) { /* the widest on top */
        const unit_link *k = &u->links[u->widest[i]];
        if (k->from == k->to) {
            continue; /* inside of a block */
        }
        double strength = (k->crosses_hosts ? 0.9 : 0.42) * (n > 150 ? 0.7 : 1);
        if (any_hover) {
            strength = touches_hover(s, k) ? 1 : 0.15;
        }
        comm_arc a = {.from = k->from,
                      .to = k->to,
                      .width = arc_width(s, u, k) * slim,
                      .colour = rgba_with_alpha(link_colour(s, unit_link_kind(k)), (uint8_t)(255 * strength)),
                      .has_head = p->pitch >= px(s, 22)};
        bool closes = unit_link_kind(k) == LINK_RING && k->from > k->to;
        if (!closes || !comm_arc_around(s, &a, nodes, p->pitch, ends_of(p, k->from, k->to), &n_around)) {
            comm_arc_draw(s, &a, nodes);
        }
    }
}

/* ------------------------------------------------------------------ nodes */

/* Little waiting is dark or full, much is pale: who waits little may be whom all wait for. */
static rgba node_colour(const scene *s, const comm_units *u, const unit *k)
{
    double time = (double)(k->transfer_ns + k->wait_ns);
    if (time <= 0) {
        return s->t->line;
    }
    double range = u->most_share - u->least_share;
    double share = (double)k->transfer_ns / time;
    double part = range > 1e-9 ? (share - u->least_share) / range : 1;
    rgba full = s->t->data[CLASS_COLLECTIVE];
    return mix_colours(mix_colours(s->t->ground, full, 0.28), full, part);
}

static void draw_node(scene *s, const comm_units *u, uint32_t i, const node_place *p)
{
    const comm_hit *h = &s->comm_layout->hover;
    bool in_cell = h->kind == HIT_CELL && s->comm_layout->matrix.n == u->n && (h->a == i || h->b == i);
    bool hovered = comm_is_hovered(s, HIT_NODE, i) || in_cell;
    float radius = fmaxf(p->radius, 1);
    rect r = {p->x - radius, p->y - radius, 2 * radius, 2 * radius};
    rgba fill = node_colour(s, u, &u->items[i]);
    rgba border = hovered ? s->t->accent : s->t->ground;
    draw_round(s->l, LAYER_DATA, r, radius, s->t->ground, 0, s->t->ground); /* arcs end behind it */
    draw_round(s->l, LAYER_MARKS, r, radius, fill, fmaxf(1, px(s, hovered ? 2 : 1)), border);
    char name[64];
    unit_short_name(s, u, i, name, sizeof name);
    if (width_of(s, FACE_SANS_MEDIUM, 10.5, name) < 1.7F * radius && radius >= px(s, 7)) {
        /* Marks are drawn before texts of the same layer. */
        (void)put_text(s, LAYER_MARKS, FACE_SANS_MEDIUM, 10.5, r, TEXT_CENTRE, theme_label_colour(s->t, fill), name);
    }
    float reach = fmaxf(radius, px(s, 5));
    comm_area_add(s, (rect){p->x - reach, p->y - reach, 2 * reach, 2 * reach}, (comm_hit){HIT_NODE, i, 0});
}

/* ------------------------------------------------------------------ legend */

static float legend_line(scene *s, float x, rect r, rgba c, const char *text)
{
    float y = r.y + floorf(r.h / 2);
    if (x + px(s, 22) + width_of(s, FACE_SANS, 11, text) > r.x + r.w) {
        return r.x + r.w;
    }
    draw_segment(s->l, LAYER_MARKS, x, y, x + px(s, 16), y, fmaxf(2, px(s, 2.5)), c);
    rect box = {x + px(s, 22), r.y, r.x + r.w - x - px(s, 22), r.h};
    return x + px(s, 22) + put_text(s, LAYER_MARKS, FACE_SANS, 11, box, TEXT_LEFT, s->t->dim, text) + px(s, 14);
}

static void draw_legend(scene *s, rect r)
{
    float x = r.x;
    x = legend_line(s, x, r, link_colour(s, LINK_P2P), "send \xE2\x86\x92 receive");
    x = legend_line(s, x, r, link_colour(s, LINK_RING), "collective, as a ring");
    x = legend_line(s, x, r, rgba_with_alpha(s->t->dim, 107), "one host");
    (void)legend_line(s, x, r, s->t->dim, "between hosts");
}

void comm_graph_draw(scene *s, rect r)
{
    comm_view *c = s->comm_layout;
    float title = px(s, 16);
    rect legend = {r.x, r.y + r.h - px(s, LEGEND_DP), r.w, px(s, LEGEND_DP)};
    uint32_t limit = (uint32_t)fmax((double)(r.w * r.h) / pow(15.0 * (double)s->m.s, 2), 16);
    units_update(s, &c->graph, limit < 600 ? limit : 600);
    comm_units *u = &c->graph;
    char remark[128];
    int n = snprintf(remark, sizeof remark, "size: communication + wait \xC2\xB7 full colour: waits little");
    if (u->n_links > MAX_ARCS && n > 0 && (size_t)n < sizeof remark) {
        (void)snprintf(remark + n, sizeof remark - (size_t)n, " \xC2\xB7 %d widest of %zu links", MAX_ARCS, u->n_links);
    }
    rect body = comm_heading(s, r, "Devices", remark);
    body.h -= legend.h;
    if (u->n == 0 || body.h < px(s, 40)) {
        return;
    }
    graph_plan p = make_plan(s, u, body, title);
    node_place *nodes = arena_alloc(&s->scratch, u->n * sizeof *nodes);
    draw_push_clip(s->l, (rect){r.x, r.y, r.w, r.h});
    for (uint32_t i = 0; i < p.n_blocks; i++) {
        place_block(s, u, &p, i, body, title, nodes);
    }
    draw_arcs(s, u, nodes, &p);
    for (uint32_t i = 0; i < u->n; i++) {
        draw_node(s, u, i, &nodes[i]);
    }
    draw_legend(s, legend);
    draw_pop_clip(s->l);
}
