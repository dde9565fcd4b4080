/* The search field over the graph: hits are found in the background; Enter opens what hides one and goes there. */
#include <stdlib.h>
#include <string.h>

#include "app/graph_actions.h"
#include "app/panels_internal.h"
#include "base/mem.h"

enum { ROW_DP = 34, SHOWN_ROWS = 11 };

static void look(void *job, cancel_flag *cancel)
{
    graph_find_job *j = job;
    graph_find(j->g, j->text, cancel, &j->found);
}

void free_graph_find(void *job)
{
    graph_find_job *j = job;
    graph_found_free(&j->found);
    free(j);
}

static void update(panels *p, const char *text)
{
    scene_graph g;
    void *done = p->graph_found;
    if (take_done(&p->finding, &done, free_graph_find)) {
        p->graph_found = done;
        p->session->is_dirty = true;
    }
    bool is_there = scene_graph_get(p->session->scene, &g);
    bool same = p->graph_found && strcmp(p->graph_found->text, text) == 0;
    if (!is_there || same) {
        return;
    }
    if (work_is_busy(&p->finding)) {
        if (strcmp(p->graph_finding, text) != 0) {
            work_cancel(&p->finding); /* the newest wish comes with a later frame */
            p->session->is_dirty = true;
        }
        return;
    }
    graph_find_job *j = mem_calloc(1, sizeof *j);
    j->g = g.g;
    (void)snprintf(j->text, sizeof j->text, "%s", text);
    (void)snprintf(p->graph_finding, sizeof p->graph_finding, "%s", text);
    work_start(&p->finding, look, j);
}

static uint32_t element_of_scope(const graph_plan *p, uint32_t scope)
{
    for (;;) { /* a scope that was joined into another, or has gone: what is around it */
        for (uint32_t i = 0; i < p->n_elements; i++) {
            if (p->elements[i].scope == scope && p->elements[i].kind != ELEMENT_LEAF) {
                return i;
            }
        }
        if (scope == 0) {
            return 0;
        }
        scope = p->g->scope_parent[scope];
    }
}

static void open_hit(panels *p, const scene_graph *g, size_t i)
{
    const graph_found_hit *h = &p->graph_found->found.items[i];
    if (h->by == FOUND_SCOPE) {
        graph_show_element(p->session, element_of_scope(g->plan, h->id));
    } else {
        scene_graph_select_node(p->session->scene, h->id);
        graph_link_selection(p->session);
    }
    p->session->is_dirty = true;
}

static void hit_row(panels *p, ui_list *l, uint64_t i, const graph *g)
{
    const theme *t = theme_get(p->session->view.theme);
    const graph_found_hit *h = &p->graph_found->found.items[i];
    strbuf path = {0};
    bool scope = h->by == FOUND_SCOPE;
    graph_scope_path(g, scope ? g->scope_parent[h->id] : g->node_scope[h->id], &path);
    (void)ui_list_row(p->ui, l, i);
    rgba none = {0, 0, 0, 0};
    ui_style swatch = {.w = UI_SIZE_PX(8),
                       .h = UI_SIZE_PX(8),
                       .fill = scope ? none : scene_graph_class_colour(t, g->node_class[h->id]),
                       .border = scope ? t->dim : none,
                       .radius = 2};
    (void)ui_push(p->ui, "swatch", NULL, &swatch);
    ui_pop(p->ui);
    ui_style words = {.w = UI_SIZE_FILL, .h = UI_SIZE_CHILDREN};
    (void)ui_push(p->ui, "words", NULL, &words);
    const char *name = scope ? graph_string(g, g->scope_name[h->id]) : graph_node_label(g, h->id);
    ui_label_fill(p->ui, name, (ui_text_style){scope ? FACE_SANS : FACE_MONO, 12, UI_PLAIN, TEXT_LEFT});
    ui_label_fill(p->ui, path.n > 0 ? path.s : "at the top", (ui_text_style){FACE_SANS, 10.5F, UI_DIM, TEXT_LEFT});
    ui_pop(p->ui);
    static const char *const by[] = {"module", "", "type", "shape", "attribute"};
    ui_label(p->ui, h->by == FOUND_NAME ? graph_string(g, g->node_op[h->id]) : by[h->by], TEXT_SMALL);
    ui_pop(p->ui);
    strbuf_deinit(&path);
}

static void show_hits(panels *p, rect field, const ui_field *f, const scene_graph *g)
{
    const theme *t = theme_get(p->session->view.theme);
    float s = ui_scale(p->ui);
    size_t n = p->graph_found->found.n;
    size_t rows = n < SHOWN_ROWS ? n : SHOWN_ROWS;
    rect r = {field.x, field.y + field.h + 4 * s, field.w, (float)(rows * ROW_DP + 12) * s};
    ui_style style = {.pad_x = 6, .pad_y = 6, .fill = t->raised, .border = t->line, .radius = 6, .flags = UI_OPAQUE};
    (void)ui_root(p->ui, "graph hits", r, LAYER_OVERLAY, &style);
    ui_list l = ui_list_begin(p->ui, "list", n, ROW_DP);
    if (f->moves != 0) {
        int64_t to = (l.cursor == UI_NO_ROW ? (f->moves > 0 ? -1 : 0) : (int64_t)l.cursor) + f->moves;
        to = to < 0 ? 0 : to;
        ui_list_move(p->ui, &l, (uint64_t)to < l.n ? (uint64_t)to : l.n - 1);
    }
    for (uint64_t i = l.first; i < l.end; i++) {
        hit_row(p, &l, i, g->g);
    }
    if (f->entered) {
        l.activated = l.cursor != UI_NO_ROW ? l.cursor : 0;
    }
    ui_list_end(p->ui, &l);
    ui_pop(p->ui);
    if (l.activated != UI_NO_ROW && l.activated < n) {
        open_hit(p, g, l.activated);
    }
}

void graph_search_show(panels *p, rect r)
{
    char count[64] = "";
    char number[48];
    scene_graph g;
    bool found = p->graph_found && p->graph_found->text[0];
    if (found) {
        count_format(p->graph_found->found.n, number, sizeof number);
        (void)snprintf(count, sizeof count, "%s%s hit%s", number, p->graph_found->found.is_cut ? "+" : "",
                       p->graph_found->found.n == 1 ? "" : "s");
    }
    ui_style bar = {.flags = UI_OPAQUE};
    (void)ui_root(p->ui, "graph search", r, LAYER_PANELS, &bar);
    ui_field f = ui_search_field(p->ui, "field", "Search operators, scopes, shapes", count[0] ? count : NULL, "/");
    ui_pop(p->ui);
    if (p->focus_search) {
        ui_focus(p->ui, f.box);
        p->focus_search = false;
        p->session->is_dirty = true;
    }
    update(p, f.text);
    p->search_open = f.focused || (p->search_open && !f.left && ui_has_focus(p->ui));
    found = p->graph_found && p->graph_found->text[0] && p->graph_found->found.n > 0;
    if (p->search_open && found && scene_graph_get(p->session->scene, &g)) {
        show_hits(p, r, &f, &g);
    }
}
