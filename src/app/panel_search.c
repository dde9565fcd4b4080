/* The search field and its hits: ranks, operators, collectives. Enter flies to the rank's row, or to the next event. */
#include <stdlib.h>
#include <string.h>

#include "app/panels_internal.h"
#include "app/select.h"
#include "base/clock.h"
#include "base/mem.h"

enum { ROW_DP = 28, SHOWN_ROWS = 12 };

static void fly(void *job, cancel_flag *cancel)
{
    fly_job *j = job;
    j->row = find_event(j->file, j->name, j->from_ns, cancel);
}

/* From behind the selected event, if it is of this name: Enter again goes to the next one. */
static void start_flying(panels *p, uint32_t name)
{
    if (work_is_busy(&p->flying)) {
        work_cancel(&p->flying); /* the wish comes again with the next key */
        return;
    }
    fly_job *j = mem_calloc(1, sizeof *j);
    j->file = p->session->file;
    j->name = name;
    bool again = p->has_selected && p->selected.name == name;
    j->from_ns = again ? p->selected.start_ns + 1 : p->session->view.t0.ns;
    j->from_ns = j->from_ns > 0 ? j->from_ns : 0;
    work_start(&p->flying, fly, j);
}

void search_update(panels *p)
{
    void *done = NULL;
    session *s = p->session;
    if (!take_done(&p->flying, &done, free)) {
        return;
    }
    const fly_job *j = done;
    store_event_info e;
    if (j->row != UINT64_MAX && store_read_event(s->file, j->row, &e, NULL) == MAREY_OK) {
        const trace_model *m = store_model(s->file);
        const trace_lane *lane = &m->lanes[m->tracks[e.track].lane];
        s->view.show_cpu = s->view.show_cpu || !kind_is_device(lane->kind); /* or its row would not be there */
        select_event(s, j->row);
        select_fit_event(s, j->row, s->reduced_motion ? 0 : clock_now_ns());
        panels_go_to_rank(p, lane->rank);
    } else {
        ui_toast(p->ui, "No event of this name was found in reach.", clock_now_ns());
        s->is_dirty = true;
    }
    free(done);
}

static void open_hit(panels *p, size_t i)
{
    const find_hit *h = &p->hits.items[i];
    if (h->kind == FIND_RANK) {
        panels_go_to_rank(p, h->id);
    } else {
        start_flying(p, h->id);
    }
}

static void hit_row(panels *p, ui_list *l, uint64_t i)
{
    const trace_model *m = store_model(p->session->file);
    const theme *t = theme_get(p->session->view.theme);
    const find_hit *h = &p->hits.items[i];
    bool is_rank = h->kind == FIND_RANK;
    uint32_t category = is_rank ? 0 : m->names[h->id].category;
    bool known = !is_rank && category < m->n_categories;
    (void)ui_list_row(p->ui, l, i);
    ui_style swatch = {.w = UI_SIZE_PX(8),
                       .h = UI_SIZE_PX(8),
                       .fill = known ? t->data[m->categories[category].klass] : (rgba){0, 0, 0, 0},
                       .radius = 2};
    (void)ui_push(p->ui, "swatch", NULL, &swatch);
    ui_pop(p->ui);
    char name[256];
    panels_short_name(is_rank ? m->ranks[h->id].label : m->names[h->id].text, name, sizeof name);
    ui_label_fill(p->ui, name, (ui_text_style){is_rank ? FACE_SANS : FACE_MONO, 12, UI_PLAIN, TEXT_LEFT});
    ui_label(p->ui, is_rank ? m->ranks[h->id].host : known ? m->categories[category].name : "", TEXT_SMALL);
    ui_pop(p->ui);
}

static void show_hits(panels *p, rect field, const ui_field *f)
{
    const theme *t = theme_get(p->session->view.theme);
    float s = ui_scale(p->ui);
    size_t rows = p->hits.n < SHOWN_ROWS ? p->hits.n : SHOWN_ROWS;
    float h = (float)(rows * ROW_DP + 12) * s;
    rect r = {field.x, field.y + field.h + 4 * s, field.w, h};
    ui_style style = {.pad_x = 6, .pad_y = 6, .fill = t->raised, .border = t->line, .radius = 6, .flags = UI_OPAQUE};
    (void)ui_root(p->ui, "hits", r, LAYER_OVERLAY, &style);
    ui_list l = ui_list_begin(p->ui, "list", p->hits.n, ROW_DP);
    if (f->moves != 0) { /* the arrows belong to the list while the field has the focus */
        int64_t to = (l.cursor == UI_NO_ROW ? (f->moves > 0 ? -1 : 0) : (int64_t)l.cursor) + f->moves;
        to = to < 0 ? 0 : to;
        ui_list_move(p->ui, &l, (uint64_t)to < l.n ? (uint64_t)to : l.n - 1);
    }
    for (uint64_t i = l.first; i < l.end; i++) {
        hit_row(p, &l, i);
    }
    if (f->entered) {
        l.activated = l.cursor != UI_NO_ROW ? l.cursor : 0;
    }
    ui_list_end(p->ui, &l);
    ui_pop(p->ui);
    if (l.activated != UI_NO_ROW && l.activated < p->hits.n) {
        open_hit(p, l.activated);
    }
}

void search_show(panels *p, rect r)
{
    char count[64] = "";
    char number[48];
    if (p->searched[0]) {
        count_format(p->hits.n, number, sizeof number);
        (void)snprintf(count, sizeof count, "%s hit%s", number, p->hits.n == 1 ? "" : "s");
    }
    ui_style bar = {.flags = UI_OPAQUE};
    (void)ui_root(p->ui, "search", r, LAYER_PANELS, &bar);
    ui_field f = ui_search_field(p->ui, "field", "Search operators, ranks, collectives", count[0] ? count : NULL, "/");
    ui_pop(p->ui);
    if (p->focus_search) {
        ui_focus(p->ui, f.box);
        p->focus_search = false;
        p->session->is_dirty = true;
    }
    if (strcmp(f.text, p->searched) != 0) {
        (void)snprintf(p->searched, sizeof p->searched, "%s", f.text);
        find_names(store_model(p->session->file), p->searched, &p->hits);
        p->session->is_dirty = true; /* the count */
    }
    p->search_open = f.focused || (p->search_open && !f.left && ui_has_focus(p->ui));
    if (p->search_open && p->searched[0] && p->hits.n > 0) {
        show_hits(p, r, &f);
    }
}
