/* Datasets of the file being written. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/writer.h"

/* Tables that come piece by piece: one group after the other, or as the caller likes. */
static bool comes_in_pieces(schema_id id)
{
    switch (id) {
    case S_TRACKS_TRACK:
    case S_TRACKS_N:
    case S_GROUP_FIRST_BLOCK:
    case S_GROUP_BLOCKS:
    case S_COMM_FIRST:
    case S_MEMBER_RANK:
    case S_SAMPLE_TS:
    case S_SAMPLE_VALUE:
        return true;
    default:
        if (id >= S_METRIC_KIND && id <= S_METRIC_TAG) {
            return true;
        }
        return id >= S_CARRY_ROW && id <= S_CARRY_FLAGS;
    }
}

/* How a dataset lies in the file: growing chunk by chunk; whole, as one chunk; or so small that the object's header
 * holds it. Only the first costs an index, and most tables of most runs are small. Without rows it is chunked, too,
 * which h5repack wants. */
typedef enum layout { GROWING, WHOLE, IN_HEADER, EMPTY } layout;

enum { HEADER_BYTES = 1024, HELD_ROWS = TABLE_CHUNK, EMPTY_CHUNK = 64 };

/* Elements per chunk as HDF5 wants them; tiles have four dimensions. `n`: rows, where the dataset is one chunk, else 0.
 * @return number of dimensions */
static int chunk_shape(schema_id id, uint64_t n, hsize_t chunk[4])
{
    enum { PIECES_CHUNK = 4096 };
    if (id >= S_CELLS_TRACK && id <= S_CELLS_EIGHT) {
        unsigned r = (unsigned)(id - S_CELLS_TRACK);
        chunk[0] = 1;
        chunk[1] = LOD_PLANES;
        chunk[2] = TILE_ROWS[r];
        chunk[3] = TILE_BINS[r];
        return 4;
    }
    bool is_events = id >= S_EVENT_START && id <= S_EVENT_INSTANCE;
    chunk[0] = id == S_ARGS_DATA     ? ARGS_CHUNK
               : is_events           ? BLOCK_EVENTS
               : n > 0               ? n
               : comes_in_pieces(id) ? PIECES_CHUNK
                                     : TABLE_CHUNK;
    chunk[1] = SCHEMA[id].width;
    return SCHEMA[id].width > 1 ? 2 : 1;
}

/* Grows by chunks that are packed elsewhere. */
static bool comes_in_chunks(schema_id id)
{
    return (id >= S_CELLS_TRACK && id <= S_CELLS_EIGHT) || id == S_ARGS_DATA ||
           (id >= S_EVENT_START && id <= S_EVENT_INSTANCE);
}

static size_t row_bytes(schema_id id)
{
    return schema_type_size(SCHEMA[id].type) * SCHEMA[id].width;
}

static hid_t creation_list(schema_id id, layout l, const hsize_t *chunk, int n_dims)
{
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    bool ok = p >= 0 && H5Pset_attr_phase_change(p, 8, 6) >= 0 && H5Pset_obj_track_times(p, false) >= 0;
    if (l == IN_HEADER) {
        ok = ok && H5Pset_layout(p, H5D_COMPACT) >= 0;
    } else if (l == EMPTY) {
        ok = ok && H5Pset_chunk(p, n_dims, chunk) >= 0;
    } else {
        ok = ok && H5Pset_chunk(p, n_dims, chunk) >= 0;
        ok = ok && (schema_type_size(SCHEMA[id].type) == 1 || H5Pset_shuffle(p) >= 0);
        ok = ok && H5Pset_deflate(p, 1) >= 0 && H5Pset_fill_time(p, H5D_FILL_TIME_IFSET) >= 0;
    }
    if (!ok && p >= 0) {
        (void)H5Pclose(p);
        p = -1;
    }
    return p;
}

/* Is one list good for all datasets that lie so? */
static bool is_shared(schema_id id, layout l)
{
    return l == IN_HEADER || (l == EMPTY && SCHEMA[id].width == 1);
}

static hid_t take_list(store_writer *w, schema_id id, layout l, const hsize_t *chunk, int n_dims)
{
    if (!is_shared(id, l)) {
        return creation_list(id, l, chunk, n_dims);
    }
    hid_t *list = l == EMPTY ? &w->empty_list : &w->header_list;
    if (*list == 0) {
        *list = creation_list(id, l, chunk, n_dims);
    }
    return *list;
}

/* Under the HDF5 lock. `n`: rows, of a dataset that doesn't grow. */
static bool create(store_writer *w, schema_id id, layout l, uint64_t n)
{
    const schema_entry *e = &SCHEMA[id];
    hsize_t chunk[4];
    hsize_t size[4] = {0};
    hsize_t most[4] = {0};
    int n_dims = chunk_shape(id, l == GROWING ? 0 : l == EMPTY ? EMPTY_CHUNK : n, chunk);
    bool grows = l == GROWING || l == EMPTY;
    for (int i = 0; i < n_dims; i++) {
        size[i] = i > 0 ? chunk[i] : grows ? 0 : n;
        most[i] = i > 0 || !grows ? size[i] : H5S_UNLIMITED;
    }
    hid_t space = H5Screate_simple(n_dims, size, most);
    hid_t list = take_list(w, id, l, chunk, n_dims);
    hid_t d = -1;
    if (space >= 0 && list >= 0) {
        d = H5Dcreate2(w->file, e->path, h5_type(e->type), space, H5P_DEFAULT, list, H5P_DEFAULT);
    }
    bool ok =
        d >= 0 && h5_texts_put(&w->texts, d, "unit", e->unit) && h5_texts_put(&w->texts, d, "meaning", e->meaning);
    if (!is_shared(id, l) && list >= 0) {
        (void)H5Pclose(list);
    }
    (void)H5Sclose(space);
    if (ok) {
        w->out[id].id = d;
        w->out[id].n_made = size[0];
    } else if (d >= 0) {
        (void)H5Dclose(d);
    }
    return ok;
}

/* Under the HDF5 lock. Rows of a tile dataset are tiles. */
static bool grow_to(store_writer *w, schema_id id, uint64_t n)
{
    out_dataset *o = &w->out[id];
    if (o->id == 0 && !create(w, id, GROWING, 0)) {
        return false;
    }
    if (n <= o->n_made) {
        return true;
    }
    hsize_t size[4];
    (void)chunk_shape(id, 0, size);
    size[0] = n;
    if (H5Dset_extent(o->id, size) < 0) {
        return false;
    }
    o->n_made = n;
    return true;
}

/* The driver's error tells more than the library's. Under the HDF5 lock. */
static marey_status out_failed(store_writer *w, schema_id id)
{
    char what[256];
    if (w->record.error != 0) {
        (void)snprintf(what, sizeof what, "cannot be written: %s", strerror(w->record.error));
    } else {
        (void)snprintf(what, sizeof what, "%s cannot be written", SCHEMA[id].path);
    }
    return writer_fail(w, MAREY_IO, what);
}

/* Under the HDF5 lock, rows [first, first + n) of a dataset that is large enough. */
static bool write_rows(store_writer *w, schema_id id, const void *data, uint64_t first, uint64_t n)
{
    hsize_t at[2] = {first, 0};
    hsize_t count[2] = {n, SCHEMA[id].width};
    hid_t memory = H5Screate_simple(SCHEMA[id].width > 1 ? 2 : 1, count, NULL);
    hid_t space = H5Dget_space(w->out[id].id);
    bool ok = H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, count, NULL) >= 0 &&
              H5Dwrite(w->out[id].id, h5_type(SCHEMA[id].type), memory, space, H5P_DEFAULT, data) >= 0;
    (void)H5Sclose(space);
    (void)H5Sclose(memory);
    return ok;
}

/* Rows are held until the dataset ends, as long as they are few: only then is it known how they lie best. */
static bool append(store_writer *w, schema_id id, const void *data, uint64_t n)
{
    out_dataset *o = &w->out[id];
    const size_t bytes = row_bytes(id);
    if (n == 0) {
        return true;
    }
    if (o->id == 0 && n <= HELD_ROWS - (o->n < HELD_ROWS ? o->n : HELD_ROWS)) {
        VEC_RESERVE(o->held, o->cap_held, (o->n + n) * bytes);
        memcpy(o->held + o->n * bytes, data, n * bytes);
        o->n += n;
        return true;
    }
    bool ok = true;
    if (o->held) {
        ok = grow_to(w, id, o->n) && write_rows(w, id, o->held, 0, o->n);
        free(o->held);
        o->held = NULL;
        o->cap_held = 0;
    }
    ok = ok && grow_to(w, id, o->n + n) && write_rows(w, id, data, o->n, n);
    o->n += n;
    return ok;
}

marey_status out_append(store_writer *w, schema_id id, const void *data, uint64_t n)
{
    h5_enter();
    bool ok = append(w, id, data, n) && w->record.error == 0;
    marey_status status = ok ? MAREY_OK : out_failed(w, id);
    h5_leave();
    return status;
}

marey_status out_chunk(store_writer *w, schema_id id, codec *c, uint64_t index, const void *data, size_t n,
                       chunk_hint *hint)
{
    size_t length = codec_pack(c, data, n, schema_type_size(SCHEMA[id].type));
    hint->size = (uint32_t)length;
    hint->crc = codec_crc(c->packed, length);
    hsize_t chunk[4];
    hsize_t at[4] = {0};
    h5_enter();
    (void)chunk_shape(id, 0, chunk);
    at[0] = index * chunk[0];
    w->record.n_raw = 0;
    bool ok = grow_to(w, id, at[0] + chunk[0]) &&
              H5Dwrite_chunk(w->out[id].id, H5P_DEFAULT, 0, at, length, c->packed) >= 0 && w->record.error == 0;
    bool is_known = ok && w->record.n_raw == 1 && w->record.raw_size == length;
    hint->addr = is_known ? w->record.raw_addr : UINT64_MAX;
    marey_status status = ok ? MAREY_OK : out_failed(w, id);
    h5_leave();
    return status;
}

/* Links stay in the groups' headers: a heap and a tree for each group of more than eight datasets cost more than all of
 * their links. */
bool out_set_links(hid_t list)
{
    enum { MOST_LINKS = 64, NAME_BYTES = 14 };
    return H5Pset_link_phase_change(list, MOST_LINKS, MOST_LINKS - 4) >= 0 &&
           H5Pset_est_link_info(list, 8, NAME_BYTES) >= 0;
}

bool out_create_parts(store_writer *w)
{
    hid_t list = H5Pcreate(H5P_GROUP_CREATE);
    bool ok = list >= 0 && out_set_links(list);
    for (size_t i = 0; i < SCHEMA_N_PARTS && ok; i++) {
        hid_t g = H5Gcreate2(w->file, SCHEMA_PARTS[i].path, H5P_DEFAULT, list, H5P_DEFAULT);
        ok = g >= 0 && h5_texts_put(&w->texts, g, "meaning", SCHEMA_PARTS[i].meaning) &&
             h5_texts_put(&w->texts, g, "unit", "");
        if (g >= 0) {
            (void)H5Gclose(g);
        }
    }
    if (list >= 0) {
        (void)H5Pclose(list);
    }
    return ok;
}

/* What is held becomes a dataset. Under the HDF5 lock. */
static bool settle(store_writer *w, schema_id id, codec *c)
{
    out_dataset *o = &w->out[id];
    if (o->id > 0) {
        return true;
    }
    if (comes_in_chunks(id)) {
        return create(w, id, GROWING, 0);
    }
    if (o->n == 0) {
        return create(w, id, EMPTY, 0);
    }
    if (o->n * row_bytes(id) <= HEADER_BYTES) {
        return create(w, id, IN_HEADER, o->n) && write_rows(w, id, o->held, 0, o->n);
    }
    const hsize_t at[2] = {0};
    size_t length = codec_pack(c, o->held, o->n * SCHEMA[id].width, schema_type_size(SCHEMA[id].type));
    return create(w, id, WHOLE, o->n) && H5Dwrite_chunk(o->id, H5P_DEFAULT, 0, at, length, c->packed) >= 0;
}

marey_status out_finish(store_writer *w)
{
    bench *b = bench_take(w);
    h5_enter();
    marey_status status = MAREY_OK;
    for (unsigned id = 0; id < SCHEMA_COUNT && status == MAREY_OK; id++) {
        if (!settle(w, (schema_id)id, &b->codec)) {
            status = out_failed(w, (schema_id)id);
        }
    }
    h5_leave();
    bench_give(w, b);
    return status;
}

void out_deinit(store_writer *w)
{
    h5_enter();
    for (unsigned id = 0; id < SCHEMA_COUNT; id++) {
        free(w->out[id].held);
    }
    if (w->header_list > 0) {
        (void)H5Pclose(w->header_list);
    }
    if (w->empty_list > 0) {
        (void)H5Pclose(w->empty_list);
    }
    h5_texts_deinit(&w->texts);
    h5_leave();
}

uint32_t writer_string(store_writer *w, const char *s)
{
    (void)pthread_mutex_lock(&w->lock);
    uint32_t id = intern_put(&w->strings, s, strlen(s));
    (void)pthread_mutex_unlock(&w->lock);
    return id;
}
