/* Datasets of the file being written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/writer.h"

/* How a dataset lies in the file: chunk by chunk; or so small that the object's header holds it. */
enum { HEADER_BYTES = 1024, EMPTY_CHUNK = 64 };
_Static_assert((int)HEADER_BYTES <= (int)HDF_HEADER_BYTES, "small tables must fit a header");

static bool is_tiles(schema_id id)
{
    return id >= S_CELLS_TRACK && id <= S_CELLS_EIGHT;
}

/* Made of chunks that are packed elsewhere. */
static bool comes_in_chunks(schema_id id)
{
    return is_tiles(id) || id == S_ARGS_DATA || (id >= S_EVENT_START && id <= S_EVENT_INSTANCE);
}

static uint64_t chunk_rows(schema_id id)
{
    bool is_events = id >= S_EVENT_START && id <= S_EVENT_INSTANCE;
    return is_tiles(id) ? 1 : id == S_ARGS_DATA ? ARGS_CHUNK : is_events ? BLOCK_EVENTS : TABLE_CHUNK;
}

static size_t row_bytes(schema_id id)
{
    return schema_type_size(SCHEMA[id].type) * SCHEMA[id].width;
}

static marey_status out_failed(store_writer *w)
{
    char what[256];
    (void)snprintf(what, sizeof what, "cannot be written: %s", strerror(w->file.error));
    return writer_fail(w, MAREY_IO, what);
}

/* With `tables` held. */
static void note_chunk(out_dataset *o, uint64_t index, uint64_t addr, size_t size)
{
    VEC_RESERVE(o->chunks, o->cap_chunks, index + 1);
    for (; o->n_chunks <= index; o->n_chunks++) {
        o->chunks[o->n_chunks] = (hdf_chunk){HDF_NOWHERE, 0};
    }
    o->chunks[index] = (hdf_chunk){addr, (uint32_t)size};
}

/* What is held becomes a chunk of `rows` rows, which may be more. With `tables` held. */
static bool pack_held(store_writer *w, codec *c, schema_id id, uint64_t rows)
{
    out_dataset *o = &w->out[id];
    const size_t bytes = rows * row_bytes(id);
    VEC_RESERVE(o->held, o->cap_held, bytes);
    memset(o->held + o->n_held, 0, bytes - o->n_held);
    size_t length = codec_pack(c, o->held, rows * SCHEMA[id].width, schema_type_size(SCHEMA[id].type));
    uint64_t addr = hdf_put(&w->file, c->packed, length);
    note_chunk(o, o->n_chunks, addr, length);
    o->n_held = 0;
    return addr != HDF_NOWHERE;
}

/* Rows are held until they fill a chunk, or the dataset ends and it is known how they lie best. With `tables` held, or
 * where nobody else knows of the dataset. */
static bool append(store_writer *w, codec *c, schema_id id, const void *data, uint64_t n)
{
    out_dataset *o = &w->out[id];
    const uint8_t *p = data;
    const size_t full = chunk_rows(id) * row_bytes(id);
    size_t bytes = n * row_bytes(id);
    o->n += n;
    while (bytes > 0) {
        if (o->n_held == full && !pack_held(w, c, id, chunk_rows(id))) {
            return false;
        }
        size_t part = bytes < full - o->n_held ? bytes : full - o->n_held;
        VEC_RESERVE(o->held, o->cap_held, o->n_held + part);
        memcpy(o->held + o->n_held, p, part);
        o->n_held += part;
        p += part;
        bytes -= part;
    }
    return true;
}

marey_status out_append(store_writer *w, schema_id id, const void *data, uint64_t n)
{
    (void)pthread_mutex_lock(&w->tables);
    bool ok = append(w, &w->codec, id, data, n) && w->file.error == 0;
    (void)pthread_mutex_unlock(&w->tables);
    return ok ? MAREY_OK : out_failed(w);
}

marey_status out_append_alone(store_writer *w, codec *c, schema_id id, const void *data, uint64_t n)
{
    return append(w, c, id, data, n) && w->file.error == 0 ? MAREY_OK : out_failed(w);
}

/* What is packed becomes the chunk. */
static marey_status put_packed(store_writer *w, schema_id id, const codec *c, size_t length, uint64_t index,
                               chunk_hint *hint)
{
    hint->size = (uint32_t)length;
    hint->crc = codec_crc(c->packed, length);
    hint->addr = hdf_put(&w->file, c->packed, length);
    if (hint->addr == HDF_NOWHERE) {
        return out_failed(w);
    }
    (void)pthread_mutex_lock(&w->tables);
    note_chunk(&w->out[id], index, hint->addr, length);
    (void)pthread_mutex_unlock(&w->tables);
    return MAREY_OK;
}

marey_status out_chunk(store_writer *w, schema_id id, codec *c, uint64_t index, const void *data, size_t n,
                       size_t whole, chunk_hint *hint)
{
    bool is_times = id == S_EVENT_START || id == S_EVENT_DUR;
    size_t length =
        codec_pack_padded(c, data, n, whole, schema_type_size(SCHEMA[id].type), is_times ? CODEC_RUNS : CODEC_REPEATS);
    return put_packed(w, id, c, length, index, hint);
}

marey_status out_tile_chunk(store_writer *w, schema_id id, codec *c, uint64_t index, const tile_map *map,
                            const uint8_t *cells, chunk_hint *hint)
{
    size_t length = codec_pack_pieces(c, cells, (size_t)TILE_CELLS * LOD_PLANES, &map->pieces[0][0], TILE_PIECE);
    return put_packed(w, id, c, length, index, hint);
}

/* ------------------------------------------------------------------ the file's structure */

/* Rows of the dataset, and elements of a chunk of `rows` rows; tiles have four dimensions. */
static void shape(hdf_dataset *d, schema_id id, uint64_t n, uint64_t rows)
{
    d->type = SCHEMA[id].type;
    d->n_dims = SCHEMA[id].width > 1 ? 2 : 1;
    d->chunk[1] = SCHEMA[id].width;
    if (is_tiles(id)) {
        unsigned r = (unsigned)(id - S_CELLS_TRACK);
        d->n_dims = HDF_DIMS;
        d->chunk[1] = LOD_PLANES;
        d->chunk[2] = TILE_ROWS[r];
        d->chunk[3] = TILE_BINS[r];
    }
    memcpy(d->size, d->chunk, sizeof d->size);
    d->size[0] = n;
    d->chunk[0] = rows;
}

/* @return the address of its header */
static uint64_t add_dataset(const store_writer *w, hdf_metadata *m, schema_id id)
{
    const schema_entry *e = &SCHEMA[id];
    const out_dataset *o = &w->out[id];
    const hdf_attribute attributes[] = {{"unit", e->unit, 0}, {"meaning", e->meaning, 0}};
    hdf_dataset d = {.attributes = attributes,
                     .n_attributes = 2,
                     .bytes = o->n_held > 0 ? o->held : NULL,
                     .n_bytes = o->n_held,
                     .chunks = o->chunks,
                     .n_chunks = o->n_chunks};
    if (comes_in_chunks(id)) {
        shape(&d, id, o->n_chunks * chunk_rows(id), chunk_rows(id));
    } else {
        shape(&d, id, o->n, o->n == 0 ? EMPTY_CHUNK : o->n < chunk_rows(id) ? o->n : chunk_rows(id));
    }
    return hdf_add_dataset(m, &d);
}

/* Length of the path up to its last slash. */
static size_t folder_length(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

/* Addresses of all objects while the structure is made. */
typedef struct structure {
    hdf_metadata metadata;
    bool has_graph;
    uint64_t datasets[SCHEMA_COUNT];
    size_t folders[SCHEMA_COUNT]; /* lengths of the paths of the groups that they are in */
    uint64_t *parts;
    size_t *part_folders;
    hdf_link *links; /* of the group at hand */
    size_t n_links, cap_links;
} structure;

/* Tables of a computational graph exist only where there is one. */
static unsigned n_datasets(bool has_graph)
{
    return has_graph ? SCHEMA_COUNT : SCHEMA_FIRST_GRAPH;
}

static bool is_left_out(const structure *s, const char *path)
{
    return !s->has_graph && strncmp(path, "/graph", strlen("/graph")) == 0;
}

static void add_link(structure *s, const char *path, uint64_t addr)
{
    const char *name = strrchr(path, '/') + 1;
    VEC_PUSH(s->links, s->n_links, s->cap_links, ((hdf_link){name, strlen(name), addr}));
}

/* The group of this path, whose members are there already. */
static uint64_t add_group(structure *s, const char *path, const hdf_attribute *attributes, size_t n_attributes)
{
    size_t n = strlen(path);
    s->n_links = 0;
    for (unsigned id = 0; id < n_datasets(s->has_graph); id++) {
        if (s->folders[id] == n && memcmp(SCHEMA[id].path, path, n) == 0) {
            add_link(s, SCHEMA[id].path, s->datasets[id]);
        }
    }
    for (size_t i = 0; i < SCHEMA_N_PARTS; i++) {
        if (s->part_folders[i] == n && memcmp(SCHEMA_PARTS[i].path, path, n) == 0 &&
            !is_left_out(s, SCHEMA_PARTS[i].path)) {
            add_link(s, SCHEMA_PARTS[i].path, s->parts[i]);
        }
    }
    return hdf_add_group(&s->metadata, s->links, s->n_links, attributes, n_attributes);
}

/* Groups from the last to the first: a group's own groups stand behind it in the table. @return the root's address */
static uint64_t add_groups(structure *s, const trace_model *m)
{
    char version[16];
    (void)snprintf(version, sizeof version, "%d.%d", STORE_VERSION_MAJOR, STORE_VERSION_MINOR);
    for (size_t i = SCHEMA_N_PARTS; i-- > 0;) {
        hdf_attribute attributes[2 + WRITER_SCALARS] = {{"meaning", SCHEMA_PARTS[i].meaning, 0}, {"unit", "", 0}};
        size_t n = 2;
        if (is_left_out(s, SCHEMA_PARTS[i].path)) {
            continue;
        }
        if (strcmp(SCHEMA_PARTS[i].path, "/model") == 0) {
            n += writer_scalars(m, attributes + n);
        }
        s->parts[i] = add_group(s, SCHEMA_PARTS[i].path, attributes, n);
    }
    const hdf_attribute root[] = {{"format", "marey", 0}, {"version", version, 0}, {"generator", STORE_GENERATOR, 0}};
    return add_group(s, "", root, 3);
}

/* The datasets that still hold rows, which are to be chunks of their own. */
typedef struct packing {
    store_writer *w;
    schema_id ids[SCHEMA_COUNT];
    size_t n;
} packing;

static void pack_last(store_writer *w, schema_id id)
{
    const out_dataset *o = &w->out[id];
    bench *b = bench_take(w);
    (void)pack_held(w, &b->codec, id, o->n_chunks == 0 ? o->n : chunk_rows(id));
    bench_give(w, b);
}

static void pack_one(void *ctx, size_t i, unsigned worker)
{
    const packing *p = ctx;
    (void)worker;
    pack_last(p->w, p->ids[i]);
}

/* So few rows stay with the dataset's header. */
static bool wants_packing(const out_dataset *o)
{
    bool small = o->n_chunks == 0 && o->n_held <= HEADER_BYTES;
    return !small && o->n_held > 0;
}

/* One dataset that is complete while others are not. */
typedef struct early_pack {
    store_writer *w;
    schema_id id;
} early_pack;

static void run_early(void *ctx)
{
    early_pack *e = ctx;
    store_writer *w = e->w;
    pack_last(w, e->id);
    free(e);
    writer_job_done(w, JOB_TABLE);
}

void out_pack_early(store_writer *w, schema_id id)
{
    if (w->options.workers && wants_packing(&w->out[id])) {
        early_pack *e = mem_alloc(sizeof *e);
        *e = (early_pack){w, id};
        writer_run(w, JOB_TABLE, run_early, e);
    }
}

/* The chunks of all datasets are written first: where the metadata go is known only then. With `tables` held. */
static bool pack_all(store_writer *w)
{
    packing p = {.w = w};
    for (unsigned id = 0; id < n_datasets(w->has_graph); id++) {
        if (wants_packing(&w->out[id])) {
            p.ids[p.n++] = (schema_id)id;
        }
    }
    if (w->file.error == 0) {
        pool_each(w->options.workers, p.n, pack_one, &p);
    }
    return w->file.error == 0;
}

static void begin_structure(structure *s)
{
    enum { USUAL_BYTES = 1 << 17 };
    VEC_RESERVE(s->metadata.bytes.s, s->metadata.bytes.cap, USUAL_BYTES);
    s->parts = mem_alloc(SCHEMA_N_PARTS * sizeof *s->parts);
    s->part_folders = mem_alloc(SCHEMA_N_PARTS * sizeof *s->part_folders);
    for (size_t i = 0; i < SCHEMA_N_PARTS; i++) {
        s->part_folders[i] = folder_length(SCHEMA_PARTS[i].path);
    }
    for (unsigned id = 0; id < n_datasets(s->has_graph); id++) {
        s->folders[id] = folder_length(SCHEMA[id].path);
    }
}

marey_status out_finish(store_writer *w, const trace_model *m)
{
    structure s = {.has_graph = w->has_graph};
    (void)pthread_mutex_lock(&w->tables);
    bool ok = pack_all(w);
    if (w->options.workers && w->options.is_last) {
        pool_dismiss(w->options.workers);
    }
    begin_structure(&s);
    s.metadata.base = w->file.end;
    for (unsigned id = 0; id < n_datasets(s.has_graph) && ok; id++) {
        s.datasets[id] = add_dataset(w, &s.metadata, (schema_id)id);
    }
    ok = ok && hdf_finish(&w->file, &s.metadata, add_groups(&s, m));
    (void)pthread_mutex_unlock(&w->tables);
    strbuf_deinit(&s.metadata.bytes);
    free(s.parts);
    free(s.part_folders);
    free(s.links);
    return ok ? MAREY_OK : out_failed(w);
}

void out_deinit(store_writer *w)
{
    for (unsigned id = 0; id < SCHEMA_COUNT; id++) {
        free(w->out[id].held);
        free(w->out[id].chunks);
    }
    codec_deinit(&w->codec);
}

uint32_t writer_string(store_writer *w, const char *s)
{
    (void)pthread_mutex_lock(&w->words);
    uint32_t id = intern_put(&w->strings, s, strlen(s));
    (void)pthread_mutex_unlock(&w->words);
    return id;
}
