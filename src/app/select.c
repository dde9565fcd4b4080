#include "app/select.h"

void select_event(session *s, uint64_t event_row)
{
    s->view.selected_row = event_row;
    s->is_dirty = true;
}

void select_nothing(session *s)
{
    s->view.selected_row = UINT64_MAX;
    s->view.selection_t0_ns = 0;
    s->view.selection_t1_ns = 0;
    s->is_dirty = true;
}

static bool read_event(session *s, uint64_t row, store_event_info *e)
{
    return row != UINT64_MAX && store_read_event(s->file, row, e, NULL) == MAREY_OK;
}

/* ---- fitting ---- */

static void fit_event(session *s, const store_event_info *e, int64_t now_ns)
{
    double dur = (double)(e->dur_ns > 20 ? e->dur_ns : 20);
    moment start = moment_at(e->start_ns);
    session_go(s, moment_plus(start, -0.5 * dur), moment_plus(start, 1.5 * dur), now_ns);
}

void select_fit_event(session *s, uint64_t event_row, int64_t now_ns)
{
    store_event_info e;
    if (read_event(s, event_row, &e)) {
        fit_event(s, &e, now_ns);
    }
}

void select_fit(session *s, int64_t now_ns)
{
    moment t0;
    moment t1;
    if (s->view.selection_t1_ns > s->view.selection_t0_ns) {
        session_go(s, moment_at(s->view.selection_t0_ns), moment_at(s->view.selection_t1_ns), now_ns);
    } else if (s->view.selected_row != UINT64_MAX) {
        select_fit_event(s, s->view.selected_row, now_ns);
    } else if (s->input.cursor_x >= 0) {
        select_fit_event(s, scene_pick_at(s->scene, s->input.cursor_x, s->input.cursor_y).event_row, now_ns);
    } else if (scene_fit_range(s->scene, &s->view, &t0, &t1)) {
        session_go(s, t0, t1, now_ns);
    }
}

/* ---- the neighbours of an event on its track ---- */

/* The events of `track` in one block: rows [*first, *first + *n). */
static bool track_in_block(const store_block_info *b, uint32_t track, uint64_t *first, uint64_t *n)
{
    uint32_t low = 0;
    uint32_t high = b->n_tracks;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b->tracks[middle] < track) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == b->n_tracks || b->tracks[low] != track) {
        return false;
    }
    *first = b->first_row + b->offsets[low];
    *n = b->offsets[low + 1] - b->offsets[low];
    return *n > 0;
}

/* Inside a block, a track's events are neighbours in the file; else the next block of the group that has the track. */
static uint64_t neighbour_row(store_file *f, const store_event_info *e, int direction)
{
    uint32_t block = (uint32_t)(e->row / BLOCK_EVENTS);
    store_block_info b = store_block(f, block);
    uint64_t first = 0;
    uint64_t n = 0;
    if (!track_in_block(&b, e->track, &first, &n)) {
        return UINT64_MAX;
    }
    if (direction > 0 ? e->row + 1 < first + n : e->row > first) {
        return direction > 0 ? e->row + 1 : e->row - 1;
    }
    store_group_info g = store_group_at(f, b.group);
    uint32_t at = 0;
    while (at < g.n_blocks && g.blocks[at] != block) {
        at++;
    }
    for (int64_t i = (int64_t)at + direction; i >= 0 && i < (int64_t)g.n_blocks; i += direction) {
        store_block_info other = store_block(f, g.blocks[i]);
        if (track_in_block(&other, e->track, &first, &n)) {
            return direction > 0 ? first : first + n - 1;
        }
    }
    return UINT64_MAX;
}

/* Keep the scale while the event fits; move only when it is not well inside. */
static void bring_into_view(session *s, const store_event_info *e, int64_t now_ns)
{
    moment t0;
    moment t1;
    session_goal(s, &t0, &t1);
    double span = moment_minus(t1, t0);
    double dur = (double)e->dur_ns;
    moment start = moment_at(e->start_ns);
    double from_left = moment_minus(start, t0);
    if (dur > 0.8 * span) {
        fit_event(s, e, now_ns);
    } else if (from_left < 0.05 * span || from_left + dur > 0.95 * span) {
        moment middle = moment_plus(start, 0.5 * dur);
        session_go(s, moment_plus(middle, -0.5 * span), moment_plus(middle, 0.5 * span), now_ns);
    }
}

void select_neighbour(session *s, int direction, int64_t now_ns)
{
    store_event_info e;
    if (!read_event(s, s->view.selected_row, &e)) {
        return;
    }
    uint64_t row = neighbour_row(s->file, &e, direction);
    if (read_event(s, row, &e)) {
        select_event(s, row);
        bring_into_view(s, &e, now_ns);
    }
}

/* ---- rows ---- */

void select_toggle_row(session *s)
{
    if (s->input.cursor_x < 0) {
        return;
    }
    scene_pick p = scene_pick_at(s->scene, s->input.cursor_x, s->input.cursor_y);
    bool on_row = p.kind == PICK_EVENT || p.kind == PICK_CELL || p.kind == PICK_ROW || p.kind == PICK_ARROW;
    if (on_row && scene_toggle_row(s->scene, p.row)) {
        s->is_dirty = true;
    }
}
