#include "app/comm_actions.h"

#include "app/select.h"

static const double WHEEL_SCROLL_PX = 66; /* three rows */

static void go(session *s, const comm_target *to, int64_t now_ns)
{
    s->view.layout = LAYOUT_MAREY;
    s->view.comm.has_left = true;
    session_goal(s, &s->view.comm.left_t0, &s->view.comm.left_t1);
    if (to->event_row != UINT64_MAX) {
        select_event(s, to->event_row);
    }
    session_go(s, to->t0, to->t1, now_ns);
}

void comm_return(session *s, int64_t now_ns)
{
    bool was_away = s->view.layout != LAYOUT_COMMUNICATION && s->view.comm.has_left;
    s->view.layout = LAYOUT_COMMUNICATION;
    s->view.comm.has_left = false;
    s->is_dirty = true;
    if (was_away) {
        session_go(s, s->view.comm.left_t0, s->view.comm.left_t1, now_ns);
    }
}

static void press(session *s, comm_key key)
{
    s->is_dirty = scene_comm_key(s->scene, &s->view, key) || s->is_dirty;
}

#define KEY_ACTION(name, key)                                                                                          \
    static void name(session *s, int64_t now_ns)                                                                       \
    {                                                                                                                  \
        (void)now_ns;                                                                                                  \
        press(s, key);                                                                                                 \
    }

KEY_ACTION(up, COMM_UP)
KEY_ACTION(down, COMM_DOWN)
KEY_ACTION(left, COMM_LEFT)
KEY_ACTION(right, COMM_RIGHT)
KEY_ACTION(page_up, COMM_PAGE_UP)
KEY_ACTION(page_down, COMM_PAGE_DOWN)
KEY_ACTION(next_pane, COMM_NEXT_PANE)
KEY_ACTION(next_measure, COMM_NEXT_MEASURE)
KEY_ACTION(next_sort, COMM_NEXT_SORT)
KEY_ACTION(reverse, COMM_REVERSE)
KEY_ACTION(only, COMM_ONLY)

static void open_in_marey(session *s, int64_t now_ns)
{
    comm_target to;
    if (scene_comm_open(s->scene, &s->view, &to)) {
        go(s, &to, now_ns);
    }
}

const action COMM_ACTIONS[] = {
    {"comm-up", "Up", NULL, up},
    {"comm-down", "Down", NULL, down},
    {"comm-left", "Left", NULL, left},
    {"comm-right", "Right", NULL, right},
    {"comm-page-up", "Page up", NULL, page_up},
    {"comm-page-down", "Page down", NULL, page_down},
    {"comm-next-pane", "Tab", "operations, groups, matrix", next_pane},
    {"comm-open", "Enter", "see it in the Marey view", open_in_marey},
    {"comm-measure", "B", "time, bytes, bandwidth", next_measure},
    {"comm-sort", "U", "sort by the next column", next_sort},
    {"comm-reverse", "V", "turn the order round", reverse},
    {"comm-only", "G", "all, or the chosen group", only},
};
const size_t N_COMM_ACTIONS = sizeof COMM_ACTIONS / sizeof *COMM_ACTIONS;

const action *comm_action_by_key(const session *s, const char *key)
{
    bool sideways = s->view.comm.pane == PANE_MATRIX;
    for (size_t i = 0; i < N_COMM_ACTIONS && s->view.layout == LAYOUT_COMMUNICATION && !s->view.show_help; i++) {
        const action *a = &COMM_ACTIONS[i];
        if (action_has_key(a, key)) {
            return (a->run == left || a->run == right) && !sideways ? NULL : a; /* the lists leave them to time */
        }
    }
    return NULL;
}

void comm_click(session *s, const comm_hit *hit, int64_t now_ns)
{
    comm_target to;
    s->is_dirty = true;
    if (scene_comm_click(s->scene, &s->view, hit, &to)) {
        go(s, &to, now_ns);
    }
}

bool comm_wheel(session *s, double notches)
{
    bool scrolled =
        scene_comm_scroll(s->scene, &s->view, s->input.cursor_x, s->input.cursor_y, -WHEEL_SCROLL_PX * notches);
    s->is_dirty = s->is_dirty || scrolled;
    return scrolled;
}
