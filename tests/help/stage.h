/* A scene over a small run: file, cache on the calling thread, fonts, draw list. Built frame by frame until complete.
 */
#ifndef TESTS_HELP_STAGE_H
#define TESTS_HELP_STAGE_H

#include "help/small_run.h"
#include "scene/internal.h"

typedef struct stage {
    store_file *file;
    cache *cache;
    text_ctx *text;
    scene *scene;
    draw_list list;
    scene_frame frame;
    view view;
    scene_input in;
    diag diag;
} stage;

static inline marey_status stage_open(stage *g, small_run *r, int width, int height)
{
    memset(g, 0, sizeof *g);
    diag_init(&g->diag);
    g->diag.echo = true;
    marey_status status = small_write(r, &g->diag);
    if (status == MAREY_OK) {
        status = store_open(&g->file, r->path, &g->diag);
    }
    if (status == MAREY_OK) {
        cache_source source = cache_store_source(g->file);
        cache_options o = {.n_threads = 0};
        status = cache_create(&g->cache, &source, &o, &g->diag);
    }
    if (status == MAREY_OK) {
        status = text_create(&g->text, &g->diag);
    }
    if (status == MAREY_OK) {
        status = scene_create(&g->scene, g->file, g->cache, g->text, &g->diag);
        view_init(&g->view, r->m.duration_ns);
    }
    g->in = (scene_input){.width_px = width, .height_px = height, .scale = 1, .cursor_x = -1, .cursor_y = -1};
    return status;
}

static inline marey_status stage_frame(stage *g)
{
    return scene_build(g->scene, &g->view, &g->in, &g->list, &g->frame, &g->diag);
}

/* Frames until nothing is missing, loading in between. @return how many frames it took; 0: it never was complete */
static inline int stage_settle(stage *g)
{
    for (int i = 1; i <= 200; i++) {
        if (stage_frame(g) != MAREY_OK) {
            return 0;
        }
        if (g->frame.complete) {
            return i;
        }
        while (cache_step(g->cache)) {
        }
        (void)scene_settle(g->scene);
    }
    return 0;
}

static inline void stage_close(stage *g)
{
    scene_destroy(&g->scene);
    text_destroy(&g->text);
    cache_destroy(&g->cache);
    store_close(&g->file);
    draw_list_deinit(&g->list);
    diag_deinit(&g->diag);
}

/* The raster of a row of the last frame; NULL when it was not drawn. */
static inline const row_raster *stage_raster(const stage *g, const scene_row *row)
{
    const uint64_t *place = map64_get(&g->scene->rasters.by_key, raster_key(row));
    return place ? g->scene->rasters.items[*place - 1] : NULL;
}

#endif
