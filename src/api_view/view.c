/* The call of include/marey that draws. */
#include "api/message.h"
#include "app/picture.h"

#include <marey/view.h> /* last: it takes marey_status from above */

static marey_status check(const picture *p, diag *d)
{
    enum { MOST = 16384 };
    bool size_ok = p->width_px > 0 && p->width_px <= MOST && p->height_px > 0 && p->height_px <= MOST;
    if (!size_ok || !(p->scale >= 0.25 && p->scale <= 8)) {
        return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET, "a picture has 1 to %d pixels a side, at scale 0.25 to 8",
                          MOST);
    }
    return MAREY_OK;
}

marey_status marey_view_render(const char *path, const char *png, const marey_view_options *options, char *message,
                               size_t cap)
{
    const marey_view_options none = {0};
    const marey_view_options *o = options ? options : &none;
    picture p = {.look = SESSION_LOOK_DEFAULT,
                 .file = path,
                 .out = png,
                 .width_px = o->width_px ? o->width_px : 1920,
                 .height_px = o->height_px ? o->height_px : 1080,
                 .scale = o->scale != 0 ? o->scale : 1};
    p.look.panels = PANELS_AUTO;
    p.look.layout = (int)o->layout; /* in the order of view_layout */
    p.look.theme = o->light ? THEME_LIGHT : THEME_DARK;
    if (o->t1_ns > o->t0_ns) {
        p.look.time_ns[0] = o->t0_ns;
        p.look.time_ns[1] = o->t1_ns;
    }
    diag d;
    diag_init(&d);
    marey_status status = check(&p, &d);
    status = status == MAREY_OK ? picture_write(&p, &d) : status;
    return api_tell(status, &d, message, cap);
}
