/* What the pointer rests on: an operator's shapes and attributes, what a module holds, who is behind a port. */
#include <string.h>

#include "scene/graph_view.h"

enum { TIP_ATTRIBUTES = 6, TIP_PEERS = 10, TIP_OUTPUTS = 3 };

void graph_short_text(const char *s, char *out, size_t cap, size_t most)
{
    size_t n = strlen(s);
    if (n <= most) {
        (void)snprintf(out, cap, "%s", s);
        return;
    }
    while (most > 0 && ((unsigned char)s[most] & 0xC0) == 0x80) {
        most--; /* not inside a character */
    }
    (void)snprintf(out, cap, "%.*s\xE2\x80\xA6", (int)most, s);
}

void graph_short_path(const char *s, char *out, size_t cap, size_t most)
{
    size_t n = strlen(s);
    if (n <= most) {
        (void)snprintf(out, cap, "%s", s);
        return;
    }
    const char *tail = s + (n - most);
    const char *slash = strchr(tail, '/');
    while (!slash && ((unsigned char)*tail & 0xC0) == 0x80) {
        tail++; /* not inside a character */
    }
    (void)snprintf(out, cap, "\xE2\x80\xA6%s", slash ? slash : tail);
}

static void add_node(tip *t, const graph *g, uint32_t node)
{
    char text[TIP_LINE_CAP];
    (void)tip_add(t, "operator", "%s", graph_string(g, g->node_op[node]));
    uint32_t first = g->out_first[node];
    uint32_t n = g->out_first[node + 1] - first;
    for (uint32_t i = 0; i < n && i < TIP_OUTPUTS; i++) {
        graph_short_text(graph_string(g, graph_out_type(g, first + i)), text, sizeof text, 60);
        (void)tip_add(t, i == 0 ? "puts out" : "", "%s", text);
    }
    if (n > TIP_OUTPUTS) {
        (void)tip_add(t, "", "%u more", n - TIP_OUTPUTS);
    }
    if (graph_sharding_of(g, node) != 0) {
        (void)tip_add(t, "sharding", "%s", graph_string(g, graph_sharding_of(g, node)));
    }
    uint32_t a = graph_attrs_of(g, node).first;
    uint32_t attrs = graph_attrs_of(g, node).end - a;
    for (uint32_t i = 0; i < attrs && i < TIP_ATTRIBUTES; i++) {
        graph_short_text(graph_string(g, g->attr_value[a + i]), text, sizeof text, 60);
        char key[48];
        graph_short_text(graph_string(g, g->attr_key[a + i]), key, sizeof key, 30);
        (void)tip_add(t, key, "%s", text);
    }
    if (attrs > TIP_ATTRIBUTES) {
        (void)tip_add(t, "", "%u more attributes in the inspector", attrs - TIP_ATTRIBUTES);
    }
}

static void add_measured(const scene *s, tip *t, const graph_view *g, uint32_t element)
{
    const graph_join *j = graph_work_join(g->work);
    float ns = g->now->of->measures[element].time_ns;
    char text[64];
    if (!j || ns <= 0) {
        return;
    }
    (void)s;
    time_format((int64_t)ns, text, sizeof text);
    if (j->step_ns > 0) {
        (void)tip_add(t, "time in a step", "%s \xC2\xB7 %.1f %% (sum, mean over ranks)", text,
                      100 * (double)ns / j->step_ns);
    } else {
        (void)tip_add(t, "time in a step", "%s (sum, mean over ranks)", text);
    }
}

static void describe_element(const scene *s, tip *t, const graph_view *g, uint32_t element)
{
    const graph_plan *p = g->now->of->plan;
    const plan_element *e = &p->elements[element];
    strbuf path = {0};
    plan_path(p, element, &path);
    graph_short_text(plan_label(p, element), t->title, sizeof t->title, 60);
    size_t most = 78;
    const char *tail = strbuf_str(&path);
    if (path.n > most) { /* the end of a path tells most */
        tail += path.n - most;
        while (((unsigned char)*tail & 0xC0) == 0x80) {
            tail++;
        }
        (void)snprintf(t->subtitle, sizeof t->subtitle, "\xE2\x80\xA6%s", tail);
    } else if (strchr(tail, '/')) {
        (void)snprintf(t->subtitle, sizeof t->subtitle, "%s", tail);
    }
    strbuf_deinit(&path);
    if (e->kind == ELEMENT_LEAF && e->node < p->g->n_nodes) {
        add_node(t, p->g, e->node);
    } else {
        char count[48];
        count_format(e->n_nodes, count, sizeof count);
        (void)tip_add(t, "operators", "%s", count);
        if (e->family < p->n_families && e->kind == ELEMENT_STACK) {
            const plan_family *f = &p->families[e->family];
            (void)tip_add(t, "members", "%u, %s, %s", f->n_members, graph_strictness_name((graph_strictness)f->level),
                          f->form == STACK_SERIES ? "one after the other" : "beside each other");
        }
    }
    add_measured(s, t, g, element);
}

static void describe_stub(tip *t, const graph_view *g, const graph_hit *h)
{
    const visible *v = g->now->v;
    const graph_plan *p = g->now->of->plan;
    if (h->stub >= v->n_stubs) {
        return;
    }
    const visible_stub *first = &v->stubs[h->stub];
    char text[TIP_LINE_CAP];
    uint32_t n = 0;
    for (size_t i = h->stub; i < v->n_stubs; i++) {
        const visible_stub *k = &v->stubs[i];
        if (k->item != first->item || k->is_input != first->is_input) {
            break;
        }
        if (n++ < TIP_PEERS) {
            strbuf path = {0};
            plan_path(p, k->peer, &path);
            graph_short_text(strbuf_str(&path), text, sizeof text, 70);
            char size[48];
            bytes_format(k->bytes, size, sizeof size);
            (void)tip_add(t, "", "%s \xC2\xB7 %u edge%s%s%s", text, k->n_edges, k->n_edges == 1 ? "" : "s",
                          k->bytes > 0 ? " \xC2\xB7 " : "", k->bytes > 0 ? size : "");
            strbuf_deinit(&path);
        }
    }
    if (n > TIP_PEERS) {
        (void)tip_add(t, "", "%u more", n - TIP_PEERS);
    }
    (void)snprintf(t->title, sizeof t->title, "%s %u", first->is_input ? "Comes from" : "Goes to", n);
    (void)snprintf(t->subtitle, sizeof t->subtitle, "not drawn as lines \xC2\xB7 click: draw them");
}

/* A switch tells what it does, and what that came to. */
static void describe_switch(tip *t, const graph_view *g, uint32_t step)
{
    static const char *const what[GRAPH_STEP_COUNT] = {
        "parameters and constants lie inside their consumers", "operators that compute nothing are bypassed",
        "a module that holds one thing only is one with it",   "modules that are left and entered again are split",
        "far edges end in ports that name the other end",      "isomorphic modules stand behind each other"};
    const plan_step_count *c = &g->now->of->plan->steps[step];
    (void)snprintf(t->title, sizeof t->title, "%s", graph_step_name((graph_step)step));
    (void)snprintf(t->subtitle, sizeof t->subtitle, "%s", what[step]);
    (void)tip_add(t, "now", "%s \xC2\xB7 click, or key %u", c->on ? "on" : "off", step + 1);
}

void graph_tip_draw(scene *s, graph_view *g)
{
    tip t = {.klass = CELL_EMPTY};
    const graph_hit *h = &g->hover;
    if (s->in.cursor_x < 0) {
        return;
    }
    if (h->kind == GRAPH_HIT_ITEM || h->kind == GRAPH_HIT_TITLE) {
        describe_element(s, &t, g, h->element);
    } else if (h->kind == GRAPH_HIT_STUB) {
        describe_stub(&t, g, h);
    } else if (h->kind == GRAPH_HIT_SWITCH && h->element < GRAPH_STEP_COUNT) {
        describe_switch(&t, g, h->element);
    } else {
        return;
    }
    tip_draw(s, &t);
}
