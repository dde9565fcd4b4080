/* Datasets of a file that is read. Shapes and sizes are checked before anything is allocated. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/reader.h"

/* Deflate shrinks at most to 1 : 1032; a dataset that claims more than that is not real. */
enum { MOST_SHRINK = 1040, SLACK_BYTES = 1 << 20 };

marey_status damaged(const store_file *f, diag *d, schema_id id, const char *what)
{
    return diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "damaged: %s %s", SCHEMA[id].path, what);
}

static bool is_cells(schema_id id)
{
    return id >= S_CELLS_TRACK && id <= S_CELLS_EIGHT;
}

static bool has_shape(schema_id id, int n_dims, const hsize_t *size)
{
    if (is_cells(id)) {
        unsigned r = (unsigned)(id - S_CELLS_TRACK);
        return n_dims == 4 && size[1] == LOD_PLANES && size[2] == TILE_ROWS[r] && size[3] == TILE_BINS[r];
    }
    return SCHEMA[id].width == 1 ? n_dims == 1 : n_dims == 2 && size[1] == SCHEMA[id].width;
}

/* Under the HDF5 lock. */
static marey_status open_dataset(store_file *f, schema_id id, diag *d)
{
    if (f->in[id].id > 0) {
        return MAREY_OK;
    }
    char what[160];
    hid_t h = H5Dopen2(f->file, SCHEMA[id].path, H5P_DEFAULT);
    hid_t space = h < 0 ? -1 : H5Dget_space(h);
    hid_t type = h < 0 ? -1 : H5Dget_type(h);
    hsize_t size[H5S_MAX_RANK] = {0};
    int n_dims = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    bool ok = n_dims >= 1 && H5Sget_simple_extent_dims(space, size, NULL) >= 0 && has_shape(id, n_dims, size) &&
              class == (SCHEMA[id].type == TYPE_F64 ? H5T_FLOAT : H5T_INTEGER);
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    if (type >= 0) {
        (void)H5Tclose(type);
    }
    if (!ok) {
        (void)snprintf(what, sizeof what, "damaged: %s is missing or of another kind", SCHEMA[id].path);
        marey_status status = h5_fail(d, MAREY_FORMAT, f->path, what);
        if (h >= 0) {
            (void)H5Dclose(h);
        }
        return status;
    }
    f->in[id] = (in_dataset){h, size[0], n_dims};
    return MAREY_OK;
}

marey_status in_rows(store_file *f, schema_id id, uint64_t *n, diag *d)
{
    h5_enter();
    marey_status status = open_dataset(f, id, d);
    h5_leave();
    *n = f->in[id].n;
    return status;
}

/* Under the HDF5 lock. */
static bool read_rows(store_file *f, schema_id id, uint64_t first, uint64_t n, void *out)
{
    const in_dataset *in = &f->in[id];
    hsize_t at[4] = {first};
    hsize_t count[4] = {n, SCHEMA[id].width};
    if (is_cells(id)) {
        unsigned r = (unsigned)(id - S_CELLS_TRACK);
        count[1] = LOD_PLANES;
        count[2] = TILE_ROWS[r];
        count[3] = TILE_BINS[r];
    }
    hid_t memory = H5Screate_simple(in->n_dims, count, NULL);
    hid_t space = H5Dget_space(in->id);
    bool ok = memory >= 0 && space >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, count, NULL) >= 0 &&
              H5Dread(in->id, h5_type(SCHEMA[id].type), memory, space, H5P_DEFAULT, out) >= 0;
    if (memory >= 0) {
        (void)H5Sclose(memory);
    }
    if (space >= 0) {
        (void)H5Sclose(space);
    }
    return ok;
}

marey_status in_read(store_file *f, schema_id id, uint64_t first, uint64_t n, void *out, diag *d)
{
    if (n == 0) {
        return MAREY_OK;
    }
    char what[160];
    h5_enter();
    marey_status status = open_dataset(f, id, d);
    if (status == MAREY_OK && (first > f->in[id].n || n > f->in[id].n - first)) {
        (void)snprintf(what, sizeof what, "damaged: %s is shorter than the directories say", SCHEMA[id].path);
        status = diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "%s", what);
    } else if (status == MAREY_OK && !read_rows(f, id, first, n, out)) {
        (void)snprintf(what, sizeof what, "damaged: %s cannot be read", SCHEMA[id].path);
        status = h5_fail(d, f->record.error ? MAREY_IO : MAREY_FORMAT, f->path, what);
    }
    h5_leave();
    return status;
}

void *in_alloc(const store_file *f, schema_id id, uint64_t rows)
{
    uint64_t row_bytes = schema_type_size(SCHEMA[id].type) * SCHEMA[id].width;
    uint64_t most = f->file_bytes > UINT64_MAX / MOST_SHRINK ? UINT64_MAX : f->file_bytes * MOST_SHRINK;
    most = most > UINT64_MAX - SLACK_BYTES ? most : most + SLACK_BYTES;
    if (rows > most / row_bytes || rows > SIZE_MAX / 16) {
        return NULL;
    }
    return mem_try_alloc((size_t)(rows * row_bytes) + 8);
}

marey_status in_load(store_file *f, schema_id id, uint64_t rows, void *out_pointer, size_t *n, diag *d)
{
    uint64_t have = 0;
    marey_status status = in_rows(f, id, &have, d);
    if (status != MAREY_OK) {
        return status;
    }
    if (rows != UINT64_MAX && rows != have) {
        return damaged(f, d, id, "has another number of rows than its table");
    }
    void *p = in_alloc(f, id, have);
    if (!p) {
        return damaged(f, d, id, "is larger than the file can hold");
    }
    status = in_read(f, id, 0, have, p, d);
    if (status != MAREY_OK) {
        free(p);
        return status;
    }
    memcpy(out_pointer, &p, sizeof p);
    if (n) {
        *n = (size_t)have;
    }
    return MAREY_OK;
}
