/* Datasets of the file being written. */
#include <errno.h>
#include <stdio.h>
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

/* Rows per chunk of a table. HDF5 always inflates whole chunks, so that small tables get small ones. `n`: rows of its
 * first write, which is all of them where there are fewer than SMALL_ROWS and no more pieces. */
static hsize_t table_chunk(schema_id id, uint64_t n)
{
    enum { SMALL_ROWS = 4096, STEP = 64 };
    if (comes_in_pieces(id)) {
        return SMALL_ROWS;
    }
    return n < SMALL_ROWS ? (n / STEP + 1) * STEP : TABLE_CHUNK;
}

/* Elements per chunk as HDF5 wants them; tiles have four dimensions. @return number of dimensions */
static int chunk_shape(schema_id id, uint64_t n, hsize_t chunk[4])
{
    if (id >= S_CELLS_TRACK && id <= S_CELLS_EIGHT) {
        unsigned r = (unsigned)(id - S_CELLS_TRACK);
        chunk[0] = 1;
        chunk[1] = LOD_PLANES;
        chunk[2] = TILE_ROWS[r];
        chunk[3] = TILE_BINS[r];
        return 4;
    }
    bool is_events = id >= S_EVENT_START && id <= S_EVENT_INSTANCE;
    chunk[0] = id == S_ARGS_DATA ? ARGS_CHUNK : is_events ? BLOCK_EVENTS : table_chunk(id, n);
    chunk[1] = SCHEMA[id].width;
    return SCHEMA[id].width > 1 ? 2 : 1;
}

static hid_t creation_list(schema_id id, const hsize_t *chunk, int n_dims)
{
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    bool ok = p >= 0 && H5Pset_chunk(p, n_dims, chunk) >= 0 && H5Pset_attr_phase_change(p, 8, 6) >= 0;
    ok = ok && (schema_type_size(SCHEMA[id].type) == 1 || H5Pset_shuffle(p) >= 0);
    ok = ok && H5Pset_deflate(p, 1) >= 0 && H5Pset_fill_time(p, H5D_FILL_TIME_IFSET) >= 0;
    if (!ok && p >= 0) {
        (void)H5Pclose(p);
        p = -1;
    }
    return p;
}

/* Under the HDF5 lock. */
static bool create(store_writer *w, schema_id id, uint64_t n)
{
    const schema_entry *e = &SCHEMA[id];
    hsize_t chunk[4];
    hsize_t size[4];
    hsize_t most[4];
    int n_dims = chunk_shape(id, n, chunk);
    for (int i = 0; i < n_dims; i++) {
        size[i] = i == 0 ? 0 : chunk[i];
        most[i] = i == 0 ? H5S_UNLIMITED : chunk[i];
    }
    hid_t space = H5Screate_simple(n_dims, size, most);
    hid_t create_list = creation_list(id, chunk, n_dims);
    hid_t link_list = H5Pcreate(H5P_LINK_CREATE);
    hid_t d = -1;
    if (space >= 0 && create_list >= 0 && link_list >= 0 && H5Pset_create_intermediate_group(link_list, 1) >= 0) {
        d = H5Dcreate2(w->file, e->path, h5_type(e->type), space, link_list, create_list, H5P_DEFAULT);
    }
    bool ok = d >= 0 && h5_put_text(d, "unit", e->unit) && h5_put_text(d, "meaning", e->meaning);
    (void)H5Pclose(link_list);
    (void)H5Pclose(create_list);
    (void)H5Sclose(space);
    if (ok) {
        w->out[id].id = d;
    } else if (d >= 0) {
        (void)H5Dclose(d);
    }
    return ok;
}

/* Under the HDF5 lock. Rows of a tile dataset are tiles. */
static bool grow_to(store_writer *w, schema_id id, uint64_t n)
{
    out_dataset *o = &w->out[id];
    if (o->id == 0 && !create(w, id, n)) {
        return false;
    }
    if (n <= o->n) {
        return true;
    }
    hsize_t size[4];
    (void)chunk_shape(id, n, size);
    size[0] = n;
    if (H5Dset_extent(o->id, size) < 0) {
        return false;
    }
    o->n = n;
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

static bool append(store_writer *w, schema_id id, const void *data, uint64_t n)
{
    uint64_t first = w->out[id].n;
    if (!grow_to(w, id, first + n)) {
        return false;
    }
    if (n == 0) {
        return true;
    }
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

static bool describe_parts(store_writer *w)
{
    for (size_t i = 0; i < SCHEMA_N_PARTS; i++) {
        hid_t g = H5Gopen2(w->file, SCHEMA_PARTS[i].path, H5P_DEFAULT);
        bool ok = g >= 0 && h5_put_text(g, "meaning", SCHEMA_PARTS[i].meaning) && h5_put_text(g, "unit", "");
        if (g >= 0) {
            (void)H5Gclose(g);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

marey_status out_finish(store_writer *w)
{
    h5_enter();
    marey_status status = MAREY_OK;
    for (unsigned id = 0; id < SCHEMA_COUNT && status == MAREY_OK; id++) {
        if (!grow_to(w, (schema_id)id, 0)) {
            status = out_failed(w, (schema_id)id);
        }
    }
    if (status == MAREY_OK && !describe_parts(w)) {
        status = out_failed(w, 0);
    }
    h5_leave();
    return status;
}

uint32_t writer_string(store_writer *w, const char *s)
{
    (void)pthread_mutex_lock(&w->lock);
    uint32_t id = intern_put(&w->strings, s, strlen(s));
    (void)pthread_mutex_unlock(&w->lock);
    return id;
}
