/* One frame: rows, sources, rasters, then every part of the window in turn. */
#include "scene/scene.h"

#include <stdlib.h>
#include <string.h>

#include "scene/heat.h"
#include "scene/internal.h"
#include "scene/lines.h"
#include "scene/marey.h"
#include "scene/overlay.h"
#include "scene/step_map.h"
#include "scene/steps.h"

marey_status scene_create(scene **out, store_file *file, cache *c, text_ctx *t, diag *d)
{
    *out = NULL;
    const trace_model *m = file ? store_model(file) : NULL;
    if (!m || !c || !t) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "A scene needs an open file, a cache and fonts.");
    }
    scene *s = mem_calloc(1, sizeof *s);
    s->file = file;
    s->cache = c;
    s->text = t;
    s->model = m;
    s->event_budget = 400000;
    s->events_a_frame = 100000;
    s->refine_blocks = 1024;
    s->many_ranks = 2048;
    s->scratch.chunk_size = (size_t)1 << 20;
    facts_init(s);
    steps_init(s);
    tree_init(s);
    view_init(&s->v, m->duration_ns);
    *out = s;
    return MAREY_OK;
}

void scene_destroy(scene **ps)
{
    scene *s = *ps;
    if (!s) {
        return;
    }
    marey_free(&s->marey);
    comm_free(&s->comm);
    comm_view_free(&s->comm_layout);
    graph_view_free(&s->graph);
    heat_free(&s->heat);
    lines_free(&s->lines);
    overlay_free(&s->overlay);
    steps_deinit(s);
    step_map_free(&s->step_map);
    rasters_deinit(&s->rasters);
    team_deinit(&s->team);
    overview_deinit(&s->overview);
    tree_deinit(s);
    facts_deinit(s);
    arena_deinit(&s->scratch);
    free(s);
    *ps = NULL;
}

static void begin(scene *s, const view *v, const scene_input *in, draw_list *l, diag *d)
{
    s->v = *v;
    s->in = *in;
    s->l = l;
    s->d = d;
    s->t = theme_get(v->theme);
    s->frame = (scene_frame){.complete = true, .source = "events"};
    s->n_commands = 0;
    s->n_frames++;
    arena_reset(&s->scratch);
    double scale = in->scale > 0 ? in->scale : 1;
    draw_list_begin(l, (float)in->width_px, (float)in->height_px, (float)scale, s->t);
    l->clear = s->t->ground;
}

/* Marks of the selection need the key of what is selected before its row is drawn. */
static void key_of_selected(scene *s)
{
    find_selected(s);
    s->selected_key = 0;
    if (s->has_selected && s->selected.track < s->model->n_tracks) {
        const trace_lane *lane = &s->model->lanes[s->model->tracks[s->selected.track].lane];
        ev e = {.start_ns = s->selected.start_ns, .name = s->selected.name, .instance = s->selected.instance};
        bool pending = false;
        bool collective = s->selected.klass == CLASS_COLLECTIVE;
        uint32_t communicator = collective ? communicator_of(s, s->selected.row, &pending) : NO_ID;
        s->selected_key = instance_key(s, &e, lane->rank, s->tree.rank_group[lane->rank], communicator);
    }
}

static void draw_data(scene *s)
{
    if (s->v.layout == LAYOUT_STEPS) {
        step_layout_draw(s);
        return;
    }
    draw_rows(s);
    if (s->v.layout == LAYOUT_MAREY) {
        marey_draw(s);
        overlay_draw(s);
        lines_draw(s);
    }
    draw_marks(s);
    heat_draw_marks(s);
    draw_selection(s);
}

/* The layout without rows. */
static void draw_communication(scene *s)
{
    comm_prepare(s);
    draw_overview(s);
    comm_draw(s);
    draw_bar(s);
    s->frame.n_wanted = s->src.n_wanted;
    draw_status(s);
    draw_help(s);
}

static void draw_plot(scene *s)
{
    draw_axis(s);
    draw_data(s);
}

static void draw_all(scene *s, bool in_columns)
{
    if (in_columns) {
        columns_draw(s, draw_plot);
    } else {
        draw_plot(s);
    }
    draw_overview(s);
    draw_labels(s);
    heat_draw(s);
    draw_bar(s);
    uint32_t wanted = s->src.n_wanted;
    columns_enter_at(s, s->in.cursor_x);
    hover_update(s);
    if (!heat_draw_tip(s) && !step_layout_tip(s)) {
        draw_hover(s);
    }
    source_describe(s);
    s->frame.is_fading = s->frame.is_fading || s->rasters.n_put_off > 0 || s->frame.is_refining;
    s->frame.complete = s->frame.complete && !s->frame.is_refining;
    columns_leave(s);
    s->frame.n_wanted = in_columns ? wanted : s->src.n_wanted;
    draw_status(s);
    draw_help(s);
}

marey_status scene_build(scene *s, const view *v, const scene_input *in, draw_list *l, scene_frame *frame, diag *d)
{
    if (in->width_px < 1 || in->height_px < 1 || moment_compare(v->t0, v->t1) >= 0) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "A frame needs a size and a range of time.");
    }
    columns_begin(s);
    begin(s, v, in, l, d);
    text_frame(s->text);
    cache_begin_frame(s->cache);
    if (s->v.layout == LAYOUT_GRAPH) {
        layout_frame(s);
        marey_status status = graph_draw(s);
        cache_end_frame(s->cache);
        *frame = s->frame;
        return status;
    }
    marey_status status = graph_beside(s);
    if (status != MAREY_OK) {
        cache_end_frame(s->cache);
        return status;
    }
    heat_prepare(s);
    layout_frame(s);
    tree_update(s);
    place_rows(s);
    lines_prepare(s);
    bool in_columns = columns_prepare(s);
    heat_sum_up(s);
    sources_begin(s);
    rasters_begin(s);
    comm_begin(s);
    key_of_selected(s);
    if (s->v.layout == LAYOUT_COMMUNICATION) {
        draw_communication(s);
    } else {
        draw_all(s, in_columns);
    }
    cache_end_frame(s->cache);
    *frame = s->frame;
    return MAREY_OK;
}
