#include "app/steps.h"

static const double MARGIN = 0.01; /* of the step, before and after it */

static size_t current_step(const session *s, const scene_step **steps, size_t *n)
{
    *n = scene_steps(s->scene, steps);
    if (s->view.steps_mode != STEPS_RUN && s->view.step < *n) {
        return s->view.step;
    }
    return scene_step_at(s->scene, view_middle(&s->view).ns);
}

static void go_to(session *s, const scene_step *step, double length_ns, int64_t now_ns)
{
    double margin = MARGIN * length_ns;
    moment start = moment_at(step->start_ns);
    session_go(s, moment_plus(start, -margin), moment_plus(start, length_ns + margin), now_ns);
}

/* The scale is that of the longest, so that all of them are seen whole. */
static double longest_of(const scene_step *steps, size_t first, size_t n)
{
    double most = 0;
    for (size_t i = first; i < first + n; i++) {
        double length = (double)(steps[i].end_ns - steps[i].start_ns);
        most = length > most ? length : most;
    }
    return most;
}

static void show_columns(session *s, const scene_step *steps, size_t n, size_t place, int64_t now_ns)
{
    size_t columns = s->view.n_columns < n ? s->view.n_columns : n;
    size_t first = place + columns <= n ? place : n - columns;
    s->view.steps_mode = STEPS_COLUMNS;
    s->view.step = (uint32_t)first;
    go_to(s, &steps[first], longest_of(steps, first, columns), now_ns);
}

void steps_show(session *s, size_t place, int64_t now_ns)
{
    const scene_step *steps;
    size_t n = scene_steps(s->scene, &steps);
    if (place >= n) {
        return;
    }
    if (s->view.steps_mode == STEPS_COLUMNS) {
        show_columns(s, steps, n, place, now_ns);
        return;
    }
    if (s->view.steps_mode == STEPS_OVERLAID) {
        s->view.step = (uint32_t)place;
        go_to(s, &steps[place], longest_of(steps, 0, n), now_ns);
        return;
    }
    s->view.steps_mode = STEPS_ONE;
    s->view.step = (uint32_t)place;
    go_to(s, &steps[place], longest_of(steps, place, 1), now_ns);
}

void steps_move(session *s, int direction, int64_t now_ns)
{
    const scene_step *steps;
    size_t n;
    size_t at = current_step(s, &steps, &n);
    bool at_end = direction < 0 ? at == 0 : at + 1 >= n;
    if (at < n) {
        steps_show(s, at_end ? at : direction < 0 ? at - 1 : at + 1, now_ns);
    }
}

void steps_one(session *s, int64_t now_ns)
{
    const scene_step *steps;
    size_t n;
    size_t at = current_step(s, &steps, &n);
    s->view.steps_mode = at < n ? STEPS_ONE : STEPS_RUN;
    steps_show(s, at, now_ns);
}

void steps_columns(session *s, int64_t now_ns)
{
    const scene_step *steps;
    size_t n;
    size_t at = current_step(s, &steps, &n);
    if (s->view.steps_mode == STEPS_COLUMNS) {
        s->view.n_columns = s->view.n_columns >= 6 ? 2 : s->view.n_columns < 4 ? s->view.n_columns + 1 : 6;
    }
    if (n >= 2 && at < n) {
        show_columns(s, steps, n, at, now_ns);
    }
}

void steps_overlaid(session *s, int64_t now_ns)
{
    const scene_step *steps;
    size_t n;
    size_t at = current_step(s, &steps, &n);
    if (n >= 2 && at < n) {
        s->view.steps_mode = STEPS_OVERLAID;
        steps_show(s, at, now_ns);
    }
}

void steps_run(session *s, int64_t now_ns)
{
    s->view.steps_mode = STEPS_RUN;
    session_go(s, moment_at(0), moment_at(s->duration_ns), now_ns);
}

void steps_look(session *s, view_steps mode, uint64_t number)
{
    const scene_step *steps;
    size_t n = scene_steps(s->scene, &steps);
    size_t place = 0;
    bool is_asked = mode != STEPS_RUN || number != UINT64_MAX;
    while (place < n && (uint64_t)steps[place].index != number) {
        place++;
    }
    s->view.steps_mode = mode;
    if (is_asked) {
        steps_show(s, place < n ? place : 0, 0);
    }
}
