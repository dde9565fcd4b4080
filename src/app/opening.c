#include "app/opening.h"

static void open_session(opening *o)
{
    o->status = session_open(&o->session, o->path, &o->options, &o->diag);
    if (o->status == MAREY_OK) {
        o->session->input = o->input;
        o->status = session_build(o->session, &o->diag);
        o->session->is_dirty = true; /* it was not drawn yet */
    }
}

static void *run(void *arg)
{
    open_session(arg);
    return NULL;
}

void opening_begin(opening *o, const char *path, const session_options *options, const scene_input *input)
{
    *o = (opening){.path = path, .options = *options, .input = *input};
    diag_init(&o->diag);
    o->is_threaded = pthread_create(&o->thread, NULL, run, o) == 0;
    if (!o->is_threaded) {
        open_session(o);
    }
}

marey_status opening_end(opening *o, session **out, diag *d)
{
    if (o->is_threaded) {
        (void)pthread_join(o->thread, NULL);
    }
    if (d) {
        diag_merge(d, &o->diag);
    }
    diag_deinit(&o->diag);
    if (o->status != MAREY_OK) {
        session_close(&o->session);
    }
    *out = o->session;
    return o->status;
}

/* Opaque and see-through ones are different programs for a software renderer. */
static void put_one_of_each(draw_list *l)
{
    const rgba colours[2] = {{40, 40, 40, 255}, {40, 40, 40, 128}};
    for (int i = 0; i < 2; i++) {
        rgba c = colours[i];
        draw_rect(l, LAYER_GROUND, (rect){0, 0, 8, 8}, c);
        draw_round(l, LAYER_PANELS, (rect){0, 0, 8, 8}, 2, c, 1, c);
        draw_add_band(l, LAYER_DATA, (draw_band){.y_top = 0, .y_bottom = 8, .x1 = 4, .x2 = 1, .x3 = 6, .fill = c});
        draw_segment(l, LAYER_MARKS, 0, 0, 8, 8, 1.5F, c);
        draw_dashed(l, LAYER_MARKS, 0, 8, 8, 0, 1, 3, c);
        draw_triangle(l, LAYER_MARKS, (const float[3]){0, 8, 4}, (const float[3]){0, 0, 8}, c);
        draw_cell *cells = draw_add_strip(l, LAYER_DATA, (rect){0, 0, 8, 8}, 8, i == 1);
        cells[0] = (draw_cell){.klass = 0, .occupancy = 128, .alpha = c.a};
    }
}

marey_status opening_warm(renderer *r, diag *d)
{
    draw_list l = {0};
    draw_list_begin(&l, 16, 16, 1, theme_get(THEME_DARK));
    put_one_of_each(&l);
    marey_status status = renderer_draw(r, &l, NULL, NULL, d);
    draw_list_deinit(&l);
    return status;
}
