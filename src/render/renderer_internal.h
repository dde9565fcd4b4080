/* For tests: a renderer on a device that is given, e.g. the null one. */
#ifndef MAREY_RENDER_RENDERER_INTERNAL_H
#define MAREY_RENDER_RENDERER_INTERNAL_H

#include "gpu/gpu.h"
#include "render/render.h"

/** Takes `g`, also on failure. */
marey_status renderer_create_on(renderer **out, gpu *g, diag *d);
gpu *renderer_gpu(renderer *r);

#endif
