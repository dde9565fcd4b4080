#include "app/panels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/panels_internal.h"
#include "base/clock.h"
#include "base/mem.h"

enum { INSPECTOR_DP = 360, STRIP_DP = 138, SEARCH_DP = 420, MIN_WIDTH_DP = 1100, MIN_HEIGHT_DP = 640, WORKERS = 3 };

static const int64_t PROGRESS_NS = 200000000; /* how often the diagnosis tells how far it is */

const ui_text_style TEXT_TITLE = {FACE_SANS_MEDIUM, 13, UI_PLAIN, TEXT_LEFT};
const ui_text_style TEXT_BODY = {FACE_SANS, 12, UI_PLAIN, TEXT_LEFT};
const ui_text_style TEXT_SMALL = {FACE_SANS, 11.5F, UI_DIM, TEXT_LEFT};
const ui_text_style TEXT_NUMBER = {FACE_SANS, 12.5F, UI_PLAIN, TEXT_RIGHT};

panels *panels_create(session *s)
{
    panels *p = mem_calloc(1, sizeof *p);
    p->session = s;
    p->ui = ui_create(s->text);
    p->pool = pool_create(WORKERS);
    work *all[] = {&p->diagnosing, &p->summing, &p->comparing, &p->stepping, &p->flying, &p->finding, &p->spanning};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        work_init(all[i], p->pool, s->wake, s->wake_ctx);
    }
    p->show_inspector = true;
    p->show_strip = true;
    p->chosen = NO_FINDING;
    p->to_rank = NO_ID;
    p->selected_row = UINT64_MAX;
    p->spans_of = NO_ID;
    p->collective = SIZE_MAX;
    p->rank_marks = mem_calloc(store_model(s->file)->n_ranks + 1, 1);
    return p;
}

/* ---- the ends of jobs ---- */

void free_diagnosis(void *job)
{
    diagnosis_job *j = job;
    if (j->status == MAREY_OK) {
        diagnose_free(&j->g);
    }
    free(j);
}

void free_strip(void *job)
{
    strip_job *j = job;
    free(j->windows);
    free(j->ranks);
    free(j);
}

void free_peers(void *job)
{
    peers_deinit(&((peers_job *)job)->found);
    free(job);
}

void free_over_steps(void *job)
{
    over_steps_deinit(&((over_steps_job *)job)->found);
    free(job);
}

bool take_done(work *w, void **out, void (*destroy)(void *job))
{
    bool was_cancelled = false;
    void *job = work_take(w, &was_cancelled);
    if (job && was_cancelled) {
        destroy(job);
        job = NULL;
    }
    if (job) {
        if (*out) {
            destroy(*out);
        }
        *out = job;
    }
    return job != NULL;
}

static void drop(work *w, void *shown, void (*destroy)(void *job))
{
    bool was_cancelled = false;
    void *job = work_take(w, &was_cancelled);
    if (job) {
        destroy(job);
    }
    if (shown) {
        destroy(shown);
    }
}

void panels_leave_graph(panels *p)
{
    if (p && (work_is_busy(&p->finding) || work_is_busy(&p->spanning))) {
        work_cancel(&p->finding);
        work_cancel(&p->spanning);
        pool_wait(p->pool);
    }
}

void panels_destroy(panels **pp)
{
    panels *p = *pp;
    if (!p) {
        return;
    }
    work_cancel(&p->diagnosing);
    work_cancel(&p->summing);
    work_cancel(&p->comparing);
    work_cancel(&p->stepping);
    work_cancel(&p->flying);
    work_cancel(&p->finding);
    work_cancel(&p->spanning);
    pool_destroy(&p->pool);
    drop(&p->diagnosing, p->diagnosed, free_diagnosis);
    drop(&p->summing, p->strip, free_strip);
    drop(&p->comparing, p->peers, free_peers);
    drop(&p->stepping, p->over_steps, free_over_steps);
    drop(&p->flying, NULL, free);
    drop(&p->finding, p->graph_found, free_graph_find);
    drop(&p->spanning, p->run_spans, free_run_spans);
    ui_destroy(&p->ui);
    free(p->hits.items);
    free(p->rank_marks);
    strbuf_deinit(&p->arguments);
    free(p);
    *pp = NULL;
}

bool panels_are_complete(const panels *p)
{
    return p->strip_due_ns == 0 && !work_is_busy(&p->diagnosing) && !work_is_busy(&p->summing) &&
           !work_is_busy(&p->comparing) && !work_is_busy(&p->stepping) && !work_is_busy(&p->flying) &&
           !work_is_busy(&p->finding) && !work_is_busy(&p->spanning);
}

void panels_settle(panels *p)
{
    pool_wait(p->pool);
}

int64_t panels_deadline_ns(const panels *p)
{
    int64_t toast = p ? ui_deadline_ns(p->ui) : 0;
    int64_t strip = p ? p->strip_due_ns : 0;
    int64_t progress = p ? p->progress_due_ns : 0;
    int64_t due = 0;
    const int64_t all[] = {toast, strip, progress};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        due = all[i] > 0 && (due == 0 || all[i] < due) ? all[i] : due;
    }
    return due;
}

/* ---- going places ---- */

/* The whole run as it is; a part with a little of what is around it. */
void panels_fly(panels *p, int64_t t0_ns, int64_t t1_ns)
{
    bool whole = t0_ns <= 0 && t1_ns >= p->session->duration_ns;
    double margin = whole ? 0 : 0.02 * (double)(t1_ns - t0_ns);
    session_go(p->session, moment_plus(moment_at(t0_ns), -margin), moment_plus(moment_at(t1_ns), margin),
               p->session->reduced_motion ? 0 : clock_now_ns());
}

void panels_go_to_rank(panels *p, uint32_t rank)
{
    scene_reveal_rank(p->session->scene, rank);
    p->to_rank = rank;
    p->to_rank_tries = 3; /* frames: the row comes with the next one */
    p->session->is_dirty = true;
}

/* The row of the wanted rank comes to the middle of the plot, once it is there. */
static void scroll_to_rank(panels *p)
{
    session *s = p->session;
    double y = 0;
    double h = 0;
    if (p->to_rank == NO_ID) {
        return;
    }
    if (scene_rank_place(s->scene, p->to_rank, &y, &h)) {
        double shown = (double)s->frame.plot.h / s->input.scale;
        bool is_inside = y >= s->view.scroll_px && y + h <= s->view.scroll_px + shown;
        if (!is_inside) {
            s->view.scroll_px = fmax(0, y + h / 2 - shown / 2); /* session_build clamps it */
            s->is_dirty = true;
        }
        p->to_rank = NO_ID;
    } else if (--p->to_rank_tries <= 0) {
        p->to_rank = NO_ID; /* hidden by a pattern */
    } else {
        s->is_dirty = true;
    }
}

void panels_short_name(const char *name, char *out, size_t cap)
{
    const char *from = strncmp(name, "void ", 5) == 0 ? name + 5 : name;
    const char *anonymous = strstr(from, "(anonymous namespace)::");
    size_t n = strcspn(from, "<(");
    if (anonymous == from + n) {
        from = anonymous + strlen("(anonymous namespace)::");
        n = strcspn(from, "<(");
    }
    (void)snprintf(out, cap, "%.*s", n > 3 ? (int)n : (int)strlen(from), from);
}

/* ---- frames ---- */

static bool has_room(const session *s, double width_dp, double height_dp)
{
    return s->input.width_px >= width_dp * s->input.scale && s->input.height_px >= height_dp * s->input.scale;
}

void panels_prepare(panels *p, session *s)
{
    if (!p->diagnosis_started) {
        findings_start(p);
    }
    findings_take(p);
    scene_input *in = &s->input;
    bool layout = s->view.layout != LAYOUT_COMMUNICATION;
    in->right_dp = layout && p->show_inspector && has_room(s, MIN_WIDTH_DP, 0) ? INSPECTOR_DP : 0;
    bool strip = layout && p->session->view.layout != LAYOUT_GRAPH;
    in->bottom_dp = strip && p->show_strip && has_room(s, 0, MIN_HEIGHT_DP) ? STRIP_DP : 0;
    in->search_dp = SEARCH_DP;
    in->rank_marks = p->g ? p->rank_marks : NULL;
    in->diagnosis = p->g;
    in->diagnosis_is_due = work_is_busy(&p->diagnosing);
    in->note = p->note[0] ? p->note : NULL;
}

static void inspector_show(panels *p, rect r)
{
    const theme *t = theme_get(p->session->view.theme);
    ui_style side = {.axis = UI_ROW, .fill = t->panel, .flags = UI_OPAQUE | UI_CLIP};
    (void)ui_root(p->ui, "inspector", r, LAYER_PANELS, &side);
    ui_style rule = {.w = UI_SIZE_PX(1), .h = UI_SIZE_FILL, .fill = t->line};
    (void)ui_push(p->ui, "rule", NULL, &rule);
    ui_pop(p->ui);
    (void)ui_scroll_area(p->ui, "content");
    ui_style column = {.w = UI_SIZE_FILL, .h = UI_SIZE_CHILDREN, .pad_x = 18, .pad_y = 8, .gap = 0};
    (void)ui_push(p->ui, "column", "column", &column);
    if (p->session->view.layout == LAYOUT_GRAPH) {
        graph_inspector_show(p);
    } else {
        findings_show(p);
        ui_space(p->ui, 8);
        selected_show(p);
        ui_space(p->ui, 8);
        legend_show(p);
    }
    ui_pop(p->ui);
    ui_pop(p->ui);
    ui_pop(p->ui);
}

void panels_build(panels *p, session *s)
{
    ui_frame f = {.width_px = (float)s->input.width_px,
                  .height_px = (float)s->input.height_px,
                  .scale = (float)s->input.scale,
                  .now_ns = s->input.now_ns,
                  .theme = s->view.theme};
    scroll_to_rank(p);
    selected_update(p);
    strip_update(p);
    search_update(p);
    ui_begin(p->ui, &s->list, &f);
    if (s->frame.below.w > 0 && s->frame.below.h > 0) {
        strip_show(p, s->frame.below);
    }
    if (s->frame.side.w > 0) {
        inspector_show(p, s->frame.side);
    }
    if (s->frame.search.w > 0) {
        if (s->view.layout == LAYOUT_GRAPH) {
            graph_search_show(p, s->frame.search);
        } else {
            search_show(p, s->frame.search);
        }
    }
    ui_end(p->ui);
    p->progress_due_ns = work_is_busy(&p->diagnosing) ? clock_now_ns() + PROGRESS_NS : 0;
    s->is_dirty = s->is_dirty || ui_is_restless(p->ui);
    s->frame.complete = s->frame.complete && panels_are_complete(p);
}

/* ---- input ---- */

bool panels_event(panels *p, const ui_event *e)
{
    if (!p) {
        return false;
    }
    bool tabs = e->kind == UI_EVENT_KEY && p->session->view.layout == LAYOUT_COMMUNICATION && !ui_has_focus(p->ui);
    bool took = !tabs && ui_handle(p->ui, e); /* that layout has a Tab of its own */
    if (took || ui_is_restless(p->ui)) {
        p->session->is_dirty = true;
    }
    return took;
}

bool panels_cover(const panels *p, double x, double y)
{
    return p && ui_covers(p->ui, x, y);
}

void panels_toggle_inspector(panels *p)
{
    p->show_inspector = !p->show_inspector;
    p->session->is_dirty = true;
}

void panels_toggle_strip(panels *p)
{
    p->show_strip = !p->show_strip;
    p->session->is_dirty = true;
}

void panels_search(panels *p)
{
    p->focus_search = true;
    p->session->is_dirty = true;
}

void panels_dump(const panels *p, strbuf *out)
{
    ui_tree_dump(p->ui, out);
}
