#include "app/picture.h"

#include <stdlib.h>

#include "app/opening.h"
#include "base/mem.h"
#include "render/render.h"

static marey_status write_frame(session *s, headless *h, renderer *r, const char *path, diag *d)
{
    int w = s->input.width_px;
    int ht = s->input.height_px;
    marey_status status = renderer_draw(r, &s->list, s->text, NULL, d);
    if (status != MAREY_OK) {
        return status;
    }
    uint8_t *pixels = mem_alloc((size_t)w * (size_t)ht * 4);
    status = headless_read(h, pixels, d);
    if (status == MAREY_OK) {
        status = png_write(path, pixels, w, ht, d);
    }
    free(pixels);
    return status;
}

/* A picture of nothing would be taken for one of an idle run. */
static marey_status check_rows(const picture *p, const session *s, diag *d)
{
    bool has_rows = s->view.layout == LAYOUT_TIMELINE || s->view.layout == LAYOUT_MAREY;
    if (p->look.rows && has_rows && s->frame.n_rows == 0) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "No row is named \"%s\".", p->look.rows);
    }
    return MAREY_OK;
}

marey_status picture_write(const picture *p, diag *d)
{
    headless *h = NULL;
    renderer *r = NULL;
    session *s = NULL;
    session_options options = {.look = p->look};
    scene_input input = {
        .width_px = p->width_px, .height_px = p->height_px, .scale = p->scale, .cursor_x = -1, .cursor_y = -1};
    opening o;
    opening_begin(&o, p->file, &options, &input);
    marey_status status = headless_create(&h, p->width_px, p->height_px, d);
    if (status == MAREY_OK) {
        status = renderer_create(&r, headless_get_proc(), d);
    }
    marey_status opened = opening_end(&o, &s, d);
    MAREY_TRY(opened != MAREY_OK ? opened : status);
    MAREY_TRY(session_build_complete(s, d));
    MAREY_TRY(check_rows(p, s, d));
    MAREY_TRY(write_frame(s, h, r, p->out, d));
fail:
    renderer_destroy(&r);
    headless_destroy(&h);
    session_close(&s);
    return status;
}
