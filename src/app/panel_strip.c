/* Below the plot: where the time of each rank went, in the step in view or in the range in view. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/panels_internal.h"
#include "base/clock.h"
#include "base/mem.h"

enum { MAX_COLUMN_DP = 72 };
static const int64_t STILL_NS = 100000000;

/* ---- what is wanted, and the sums ---- */

static void count_events(strip_job *j)
{
    j->n_events += rank_time_count(j->file, j->windows);
    j->too_many = j->n_events > RANK_TIME_MAX_EVENTS;
}

static void sum_range(strip_job *j, cancel_flag *cancel, diag *d)
{
    rank_windows_of_range(store_model(j->file), j->t0_ns, j->t1_ns, j->windows);
    j->length_ns = j->t1_ns - j->t0_ns;
    count_events(j);
    if (!j->too_many) {
        j->failed = rank_time_sum(j->file, j->windows, j->ranks, cancel, d) != MAREY_OK;
    }
}

static void add_time(rank_time *to, const rank_time *t)
{
    to->busy_ns += t->busy_ns;
    for (int c = 0; c < CLASS_COUNT; c++) {
        to->class_ns[c] += t->class_ns[c];
    }
}

static void sum_steps(strip_job *j, cancel_flag *cancel, diag *d)
{
    const trace_model *m = store_model(j->file);
    rank_time *of_step = mem_calloc(m->n_ranks + 1, sizeof *of_step);
    int64_t *length = mem_calloc(m->n_ranks + 1, sizeof *length);
    for (size_t i = 0; i < j->n_steps && !j->too_many && !j->failed; i++) {
        rank_windows_of_step(m, j->steps[i], j->windows);
        count_events(j);
        j->failed = !j->too_many && rank_time_sum(j->file, j->windows, of_step, cancel, d) != MAREY_OK;
        for (size_t r = 0; r < m->n_ranks; r++) {
            add_time(&j->ranks[r], &of_step[r]);
            length[r] += j->windows[r].t1_ns - j->windows[r].t0_ns;
            j->length_ns = length[r] > j->length_ns ? length[r] : j->length_ns;
        }
    }
    free(of_step);
    free(length);
}

static void sum(void *job, cancel_flag *cancel)
{
    strip_job *j = job;
    const trace_model *m = store_model(j->file);
    diag d;
    diag_init(&d);
    j->windows = mem_calloc(m->n_ranks + 1, sizeof *j->windows);
    j->ranks = mem_calloc(m->n_ranks + 1, sizeof *j->ranks);
    if (j->is_step) {
        sum_steps(j, cancel, &d);
    } else {
        sum_range(j, cancel, &d);
    }
    diag_deinit(&d);
}

/* The step that the whole view lies in, by the first rank that has steps. */
static bool step_in_view(const session *s, int64_t *index)
{
    const trace_model *m = store_model(s->file);
    double slack = 0.05 * view_span_ns(&s->view);
    for (size_t i = 0; i < m->n_steps; i++) {
        const trace_step *t = &m->steps[i];
        bool on_device = t->device_end_ns > t->device_start_ns;
        moment a = moment_at(on_device ? t->device_start_ns : t->start_ns);
        moment b = moment_at(on_device ? t->device_end_ns : t->end_ns);
        if (t->rank == m->steps[0].rank && moment_minus(a, s->view.t0) <= slack &&
            moment_minus(s->view.t1, b) <= slack) {
            *index = t->index;
            return true;
        }
    }
    return false;
}

/* Side by side, all that are shown; one over others, that one. */
static bool wish_steps(const session *s, strip_job *j)
{
    const scene_step *steps;
    size_t n = scene_steps(s->scene, &steps);
    size_t shown = s->view.steps_mode == STEPS_COLUMNS ? s->frame.n_columns : 1;
    bool by_mode = s->view.steps_mode == STEPS_OVERLAID || (s->view.steps_mode == STEPS_COLUMNS && shown > 1);
    if (by_mode && s->view.step < n) {
        size_t first = s->view.step + shown <= n ? s->view.step : n - shown;
        for (size_t i = first; i < first + shown && i < n && j->n_steps < STRIP_STEPS; i++) {
            j->steps[j->n_steps++] = steps[i].index;
        }
    } else if (step_in_view(s, &j->steps[0])) {
        j->n_steps = 1;
    }
    return j->n_steps > 0;
}

static strip_job *wish(const panels *p)
{
    const session *s = p->session;
    const trace_model *m = store_model(s->file);
    strip_job *j = mem_calloc(1, sizeof *j);
    j->file = s->file;
    j->is_step = wish_steps(s, j);
    if (!j->is_step) {
        moment t0;
        moment t1;
        session_goal(s, &t0, &t1);
        j->t0_ns = moment_floor(t0) > 0 ? moment_floor(t0) : 0;
        j->t1_ns = moment_ceil(t1) < m->duration_ns ? moment_ceil(t1) : m->duration_ns;
    }
    return j;
}

static bool is_same(const strip_job *a, const strip_job *b)
{
    return a && a->is_step == b->is_step && a->n_steps == b->n_steps &&
           memcmp(a->steps, b->steps, sizeof a->steps) == 0 && a->t0_ns == b->t0_ns && a->t1_ns == b->t1_ns;
}

static void note_classes(panels *p)
{
    size_t n = store_model(p->session->file)->n_ranks;
    for (size_t r = 0; r < n; r++) {
        for (uint32_t c = 0; c < CLASS_COUNT; c++) {
            p->classes |= p->strip->ranks[r].class_ns[c] > 0 ? 1U << c : 0;
        }
    }
}

/* A hand that drags the view would begin sums in every frame; without a window nobody drags. */
static bool is_still(panels *p, const strip_job *j)
{
    int64_t last = j->n_steps > 0 ? j->steps[j->n_steps - 1] : 0;
    rank_window now = {j->is_step ? j->steps[0] : j->t0_ns, j->is_step ? last : j->t1_ns};
    bool same = now.t0_ns == p->strip_still.t0_ns && now.t1_ns == p->strip_still.t1_ns;
    int64_t clock = clock_now_ns();
    p->strip_still = now;
    bool under_way = work_is_busy(&p->summing) && is_same(p->summing.job, j);
    if (under_way || is_same(p->strip, j) || !p->strip || !p->session->wake) {
        p->strip_due_ns = 0;
        return true;
    }
    if (!same || p->strip_due_ns == 0) {
        p->strip_due_ns = clock + STILL_NS;
    }
    if (clock < p->strip_due_ns) {
        work_cancel(&p->summing);
        return false;
    }
    p->strip_due_ns = 0;
    return true;
}

/* While the view moves nothing is asked for: the sums of its goal come soon enough. */
void strip_update(panels *p)
{
    void *done = p->strip;
    if (take_done(&p->summing, &done, free_strip)) {
        p->strip = done;
        note_classes(p);
    }
    const scene_input *in = &p->session->input;
    bool is_shown = in->right_dp > 0 || in->bottom_dp > 0;
    if (p->session->motion.length_ns > 0 || !is_shown) {
        p->strip_due_ns = 0;
        return;
    }
    strip_job *j = wish(p);
    if (!is_still(p, j)) {
        free_strip(j);
        return;
    }
    if (work_is_busy(&p->summing)) {
        if (!is_same(p->summing.job, j)) {
            work_cancel(&p->summing);
        }
        free_strip(j);
    } else if (is_same(p->strip, j)) {
        free_strip(j);
    } else {
        work_start(&p->summing, sum, j);
    }
}

/* ---- drawing ---- */

typedef struct strip_paint {
    const panels *p;
    size_t hovered; /* rank; SIZE_MAX */
} strip_paint;

/* The ranks of column i of n. */
static void ranks_of_column(size_t n_ranks, size_t n, size_t i, size_t *first, size_t *end)
{
    *first = i * n_ranks / n;
    *end = (i + 1) * n_ranks / n;
}

typedef struct time_column {
    double share[CLASS_COUNT]; /* mean over its ranks */
    double most, least;        /* busy */
    bool marked;
} time_column;

static time_column sum_column(const panels *p, size_t first, size_t end, double length)
{
    time_column c = {.least = 1};
    for (size_t r = first; r < end; r++) {
        const rank_time *t = &p->strip->ranks[r];
        for (int k = 0; k < CLASS_COUNT; k++) {
            c.share[k] += (double)t->class_ns[k] / length / (double)(end - first);
        }
        double busy = (double)t->busy_ns / length;
        c.most = fmax(c.most, busy);
        c.least = fmin(c.least, busy);
        c.marked = c.marked || (p->g && p->rank_marks[r]);
    }
    return c;
}

static void paint_column(ui *u, draw_list *l, rect bar, const time_column *c)
{
    double sum_share = 0;
    float bottom = bar.y + bar.h;
    /* The long classes stand on the ground, as in the legend's order; heights are snapped as sums, so none is lost. */
    for (int k = CLASS_COUNT - 1; k >= 0; k--) {
        int klass = CLASS_COUNT - 1 - k;
        if (c->share[klass] <= 0) {
            continue;
        }
        sum_share += c->share[klass];
        float top = floorf(bar.y + bar.h - (float)fmin(sum_share, 1) * bar.h);
        top = fminf(top, bottom - 1);
        draw_rect(l, ui_layer(u), (rect){bar.x, top, bar.w, bottom - top}, ui_theme(u)->data[klass]);
        bottom = top;
    }
    if (c->marked && bar.w >= 1) {
        float x = bar.x + floorf(bar.w / 2);
        float w = 4 * ui_scale(u);
        draw_triangle(l, ui_layer_top(u), (float[3]){x - w, x + w, x},
                      (float[3]){bottom - w * 2.4F, bottom - w * 2.4F, bottom - w}, ui_theme(u)->severity);
    }
}

static void paint_numbers(ui *u, const panels *p, rect r)
{
    const trace_model *m = store_model(p->session->file);
    size_t step = 1;
    static const size_t nice[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384};
    float room = 34 * ui_scale(u);
    for (size_t i = 0; i < sizeof nice / sizeof *nice; i++) {
        step = nice[i];
        if (r.w / (float)m->n_ranks * (float)step >= room) {
            break;
        }
    }
    for (size_t i = 0; i < m->n_ranks; i += step) {
        char text[24];
        float x = r.x + floorf(r.w * (float)i / (float)m->n_ranks);
        (void)snprintf(text, sizeof text, "%lld", (long long)m->ranks[i].rank);
        rect at = {x, r.y, fminf(room, r.x + r.w - x), r.h};
        (void)ui_put(u, ui_layer_top(u), FACE_SANS, 10.5F, at, TEXT_LEFT, ui_theme(u)->dim, text);
    }
}

static void paint_strip(ui *u, draw_list *l, rect r, void *ctx)
{
    const strip_paint *k = ctx;
    const panels *p = k->p;
    size_t n_ranks = store_model(p->session->file)->n_ranks;
    double length = (double)p->strip->length_ns;
    float s = ui_scale(u);
    float top = r.y + floorf(14 * s);
    rect area = {r.x, top, r.w, floorf(r.h - 14 * s - 20 * s)};
    size_t n = n_ranks < (size_t)area.w ? n_ranks : (size_t)area.w;
    draw_hline(l, ui_layer(u), area.x, area.x + area.w, area.y, ui_theme(u)->hairline);
    draw_hline(l, ui_layer(u), area.x, area.x + area.w, area.y + area.h, ui_theme(u)->line);
    float gap = area.w / (float)(n ? n : 1) >= 6 * s ? fmaxf(1, floorf(2 * s)) : 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        size_t end = 0;
        ranks_of_column(n_ranks, n, i, &first, &end);
        float x0 = area.x + floorf(area.w * (float)i / (float)n);
        float x1 = area.x + floorf(area.w * (float)(i + 1) / (float)n);
        time_column c = sum_column(p, first, end, length);
        rect bar = {x0, area.y, fmaxf(1, x1 - x0 - gap), area.h};
        if (k->hovered >= first && k->hovered < end) {
            draw_rect(l, ui_layer(u), (rect){x0, area.y, x1 - x0, area.h}, rgba_with_alpha(ui_theme(u)->text, 16));
        }
        paint_column(u, l, bar, &c);
        if (end - first > 1 && c.most > c.least) {
            float y = floorf(area.y + area.h - (float)fmin(c.most, 1) * area.h);
            draw_hline(l, ui_layer_top(u), x0, x1, y, ui_theme(u)->dim); /* the busiest rank of the column */
        }
    }
    paint_numbers(u, p, (rect){r.x, r.y + r.h - floorf(20 * s), r.w, floorf(18 * s)});
}

static void title_of(const panels *p, char *title, size_t cap)
{
    const strip_job *j = p->strip;
    if (j && j->n_steps > 1) {
        (void)snprintf(title, cap, "Time in steps %lld\xE2\x80\x93%lld", (long long)j->steps[0],
                       (long long)j->steps[j->n_steps - 1]);
    } else if (j && j->n_steps == 1) {
        (void)snprintf(title, cap, "Time in step %lld", (long long)j->steps[0]);
    } else {
        (void)snprintf(title, cap, "Time in view");
    }
}

/* Which steps a range meets, as a whole or in part. @return false where it meets none */
static bool steps_of_range(const panels *p, char *out, size_t cap)
{
    const strip_job *j = p->strip;
    const scene_step *steps;
    size_t n = scene_steps(p->session->scene, &steps);
    size_t first = SIZE_MAX;
    size_t last = 0;
    for (size_t i = 0; j && !j->is_step && i < n; i++) {
        if (steps[i].start_ns < j->t1_ns && steps[i].end_ns > j->t0_ns) {
            first = first == SIZE_MAX ? i : first;
            last = i;
        }
    }
    if (first == SIZE_MAX) {
        return false;
    }
    if (first == last) {
        (void)snprintf(out, cap, "a part of step %lld", (long long)steps[first].index);
    } else {
        (void)snprintf(out, cap, "steps %lld\xE2\x80\x93%lld", (long long)steps[first].index,
                       (long long)steps[last].index);
    }
    return true;
}

static void show_words(panels *p, float width_px)
{
    float s = ui_scale(p->ui);
    const strip_job *j = p->strip;
    char title[64];
    char text[128];
    char length[48];
    ui_style column = {.w = UI_SIZE_PX(width_px / s), .h = UI_SIZE_FILL, .pad_x = 20, .pad_y = 12, .gap = 2};
    (void)ui_push(p->ui, "words", "words", &column);
    title_of(p, title, sizeof title);
    ui_label_fill(p->ui, title, (ui_text_style){FACE_SANS_BOLD, 12.5F, UI_PLAIN, TEXT_LEFT});
    if (steps_of_range(p, text, sizeof text)) {
        ui_label_fill(p->ui, text, TEXT_SMALL);
    }
    ui_label_fill(p->ui, "union per rank", TEXT_SMALL);
    if (j && !j->too_many) {
        time_format(j->length_ns, length, sizeof length);
        (void)snprintf(text, sizeof text, "full height: %s", length);
        ui_label_fill(p->ui, text, TEXT_SMALL);
    }
    size_t n = store_model(p->session->file)->n_ranks;
    if (j && n > 0 && (float)n > p->session->frame.plot.w) {
        ui_label_fill(p->ui, "mean of neighbours, line: busiest", TEXT_SMALL);
    }
    ui_pop(p->ui);
}

static size_t hovered_rank(const panels *p, ui_box_id box)
{
    size_t n = store_model(p->session->file)->n_ranks;
    ui_signal s = ui_signal_of(p->ui, box);
    return s.hovered && n > 0 ? (size_t)fmin((double)n - 1, fmax(0, floor((double)s.at_x * (double)n))) : SIZE_MAX;
}

/* What a column holds, in words, beside the pointer; a click brings the rank's row into view. */
static void hover(panels *p, ui_box_id box)
{
    const trace_model *m = store_model(p->session->file);
    size_t rank = hovered_rank(p, box);
    if (rank == SIZE_MAX) {
        return;
    }
    const rank_time *t = &p->strip->ranks[rank];
    char text[400];
    char time[48];
    double length = (double)p->strip->length_ns;
    size_t n = (size_t)snprintf(text, sizeof text, "%s: busy %.1f %%", m->ranks[rank].label,
                                100 * (double)t->busy_ns / length);
    for (int c = 0; c < CLASS_COUNT && n < sizeof text; c++) {
        if (t->class_ns[c] > 0) {
            time_format(t->class_ns[c], time, sizeof time);
            n += (size_t)snprintf(text + n, sizeof text - n, " \xC2\xB7 %s %s", trace_class_name((trace_class)c), time);
        }
    }
    ui_tooltip(p->ui, box, text);
    if (ui_signal_of(p->ui, box).clicked) {
        panels_go_to_rank(p, (uint32_t)rank);
    }
}

/* As wide as the plot; few ranks make no walls. px */
static float chart_width(const panels *p)
{
    float most = (float)store_model(p->session->file)->n_ranks * MAX_COLUMN_DP * ui_scale(p->ui);
    return fminf(p->session->frame.plot.w, most);
}

/* Why there is no chart, in a sentence. */
static void show_state(panels *p)
{
    const strip_job *j = p->strip;
    char text[160];
    char count[48];
    if (!j) {
        (void)snprintf(text, sizeof text, "The time of each rank is being summed up.");
    } else if (j->too_many) {
        count_format_short(j->n_events, count, sizeof count);
        (void)snprintf(text, sizeof text, "%s events are in view, too many to sum up; zoom in, or to one step.", count);
    } else if (j->failed) {
        (void)snprintf(text, sizeof text, "The time of each rank could not be read.");
    } else {
        (void)snprintf(text, sizeof text, "Nothing of the run is in view.");
    }
    ui_style column = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL, .pad_y = 12};
    (void)ui_push(p->ui, "words", "state", &column);
    ui_label_fill(p->ui, text, TEXT_SMALL);
    ui_pop(p->ui);
}

static void show_chart(panels *p)
{
    const strip_job *j = p->strip;
    float s = ui_scale(p->ui);
    if (!j || j->too_many || j->failed || j->length_ns <= 0) {
        show_state(p);
        return;
    }
    ui_style chart = {.w = UI_SIZE_PX(chart_width(p) / s), .h = UI_SIZE_FILL, .flags = UI_CLICK};
    ui_box_id box = ui_push(p->ui, "chart", "chart", &chart);
    ui_describe(p->ui, box, j->is_step ? "time per rank in the step" : "time per rank in view");
    strip_paint *k = ui_memory(p->ui, sizeof *k);
    *k = (strip_paint){.p = p, .hovered = hovered_rank(p, box)};
    ui_set_paint(p->ui, box, paint_strip, k);
    ui_pop(p->ui);
    hover(p, box);
}

void strip_show(panels *p, rect r)
{
    const theme *t = theme_get(p->session->view.theme);
    ui_style strip = {.fill = t->panel, .flags = UI_OPAQUE | UI_CLIP};
    (void)ui_root(p->ui, "time per rank", r, LAYER_PANELS, &strip);
    ui_style rule = {.w = UI_SIZE_FILL, .h = UI_SIZE_PX(1), .fill = t->line};
    (void)ui_push(p->ui, "rule", NULL, &rule);
    ui_pop(p->ui);
    ui_style row = {.w = UI_SIZE_FILL, .h = UI_SIZE_FILL, .axis = UI_ROW};
    (void)ui_push(p->ui, "row", NULL, &row);
    show_words(p, p->session->frame.plot.x - r.x);
    show_chart(p);
    ui_pop(p->ui);
    ui_pop(p->ui);
}
