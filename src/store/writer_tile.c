/* Tiles of the pyramid: their cells are made and packed by jobs. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/writer.h"

typedef struct tile_job {
    store_writer *w;
    size_t tile;
    uint8_t r;
    uint64_t index;
    tile_records records; /* the bytes follow */
    uint8_t bytes[];
} tile_job;

static marey_status write_tile(const tile_job *j, bench *b, chunk_hint *hint)
{
    tile_map map;
    if (!b->cells) {
        b->cells = mem_calloc(LOD_PLANES, TILE_CELLS);
    }
    pyramid_paint(j->r, &j->records, b->cells, &map);
    marey_status status =
        out_tile_chunk(j->w, (schema_id)(S_CELLS_TRACK + j->r), &b->codec, j->index, &map, b->cells, hint);
    pyramid_wipe(&map, b->cells);
    return status;
}

static void run_tile(void *ctx)
{
    tile_job *j = ctx;
    store_writer *w = j->w;
    bench *b = bench_take(w);
    chunk_hint hint;
    if (write_tile(j, b, &hint) == MAREY_OK) {
        (void)pthread_mutex_lock(&w->lock);
        w->tiles[j->tile].hint = hint;
        (void)pthread_mutex_unlock(&w->lock);
    }
    bench_give(w, b);
    free(j);
    writer_job_done(w, JOB_TILE);
}

marey_status writer_take_tile(void *ctx, const tile_key *key, uint64_t n_cols, const tile_records *records,
                              uint64_t n_events)
{
    store_writer *w = ctx;
    out_tile t = {.key = *key, .n_cols = records ? 0 : n_cols, .n_events = n_events};
    (void)pthread_mutex_lock(&w->lock);
    if (records) {
        t.index = w->n_cells[key->r]++;
    }
    size_t tile = w->n_tiles;
    VEC_PUSH(w->tiles, w->n_tiles, w->cap_tiles, t);
    marey_status status = w->failed;
    (void)pthread_mutex_unlock(&w->lock);
    if (records && status == MAREY_OK) {
        tile_job *j = mem_alloc(sizeof *j + records->n);
        *j = (tile_job){.w = w, .tile = tile, .r = key->r, .index = t.index, .records = {j->bytes, records->n}};
        memcpy(j->bytes, records->bytes, records->n);
        writer_run(w, JOB_TILE, run_tile, j);
    }
    return status;
}
