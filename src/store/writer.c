/* The writer's life: a file without a name, jobs, directories, its name. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/h5.h"
#include "store/vfd.h"
#include "store/writer.h"

enum { MOST_TILES_WAITING = 16 };

/* ------------------------------------------------------------------ jobs */

marey_status writer_fail(store_writer *w, marey_status status, const char *what)
{
    (void)pthread_mutex_lock(&w->lock);
    if (w->failed == MAREY_OK) {
        w->failed = diag_error(&w->diag, status, w->path, DIAG_NO_OFFSET, "%s", what);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return status;
}

marey_status writer_report(store_writer *w, marey_status status, diag *d)
{
    (void)pthread_mutex_lock(&w->lock);
    const char *text = w->diag.n_messages > 0 ? w->diag.messages[0].text : "writing failed";
    status = diag_error(d, w->failed != MAREY_OK ? w->failed : status, w->path, DIAG_NO_OFFSET, "%s", text);
    (void)pthread_mutex_unlock(&w->lock);
    return status;
}

bench *bench_take(store_writer *w)
{
    (void)pthread_mutex_lock(&w->lock);
    bench *b = w->benches;
    if (b) {
        w->benches = b->next;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return b ? b : mem_calloc(1, sizeof *b);
}

void bench_give(store_writer *w, bench *b)
{
    (void)pthread_mutex_lock(&w->lock);
    b->next = w->benches;
    w->benches = b;
    (void)pthread_mutex_unlock(&w->lock);
}

text_room *room_take(store_writer *w, size_t bytes)
{
    text_room *room = NULL;
    if (bytes <= ARGS_ROOM) {
        (void)pthread_mutex_lock(&w->lock);
        room = w->rooms;
        w->rooms = room ? room->next : NULL;
        (void)pthread_mutex_unlock(&w->lock);
    }
    size_t cap = bytes > ARGS_ROOM ? bytes : ARGS_ROOM;
    room = room ? room : mem_alloc(sizeof *room + cap);
    *room = (text_room){.cap = cap};
    return room;
}

static void free_rooms(text_room *room)
{
    while (room) {
        text_room *next = room->next;
        free(room);
        room = next;
    }
}

void room_give(store_writer *w, text_room *room)
{
    while (room) {
        text_room *next = room->next;
        room->next = NULL;
        if (room->cap == ARGS_ROOM) {
            (void)pthread_mutex_lock(&w->lock);
            room->next = w->rooms;
            w->rooms = room;
            (void)pthread_mutex_unlock(&w->lock);
        } else {
            free(room);
        }
        room = next;
    }
}

void *spare_take(store_writer *w, spares *s, size_t bytes)
{
    (void)pthread_mutex_lock(&w->lock);
    void *job = s->n > 0 ? s->jobs[--s->n] : NULL;
    (void)pthread_mutex_unlock(&w->lock);
    return job ? job : mem_alloc(bytes);
}

void spare_give(store_writer *w, spares *s, void *job)
{
    (void)pthread_mutex_lock(&w->lock);
    if (s->n < MOST_SPARE) {
        s->jobs[s->n++] = job;
        job = NULL;
    }
    (void)pthread_mutex_unlock(&w->lock);
    free(job);
}

static void free_spares(spares *s)
{
    while (s->n > 0) {
        free(s->jobs[--s->n]);
    }
}

void writer_run(store_writer *w, job_kind kind, pool_fn fn, void *ctx)
{
    (void)pthread_mutex_lock(&w->lock);
    bool is_here = !w->options.workers || w->n_jobs_of[kind] >= w->max_jobs[kind];
    w->n_jobs_of[kind]++;
    w->n_jobs++;
    (void)pthread_mutex_unlock(&w->lock);
    if (is_here) {
        fn(ctx);
    } else {
        pool_run(w->options.workers, fn, ctx);
    }
}

void writer_job_done(store_writer *w, job_kind kind)
{
    (void)pthread_mutex_lock(&w->lock);
    w->n_jobs_of[kind]--;
    if (--w->n_jobs == 0) {
        (void)pthread_cond_broadcast(&w->done);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

bool writer_help(store_writer *w)
{
    return w->options.workers && pool_help(w->options.workers);
}

static void wait_for_jobs(store_writer *w)
{
    while (writer_help(w)) {
    }
    (void)pthread_mutex_lock(&w->lock);
    while (w->n_jobs > 0) {
        (void)pthread_cond_wait(&w->done, &w->lock);
    }
    (void)pthread_mutex_unlock(&w->lock);
}

/* ------------------------------------------------------------------ create */

static bool is_marey_file(const char *path)
{
    vfd_record record = {0};
    char format[16];
    h5_enter();
    hid_t fapl = vfd_fapl(&record);
    hid_t f = fapl < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, fapl);
    bool ok = f >= 0 && h5_get_text(f, "format", format, sizeof format) && strcmp(format, "marey") == 0;
    if (f >= 0) {
        (void)H5Fclose(f);
    }
    if (fapl >= 0) {
        (void)H5Pclose(fapl);
    }
    h5_leave();
    return ok;
}

static marey_status check_target(const char *path, bool force, diag *d)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return MAREY_OK;
    }
    if (S_ISDIR(st.st_mode)) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "is a folder");
    }
    if (!S_ISREG(st.st_mode)) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "is not a regular file");
    }
    if (!force && !is_marey_file(path)) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET,
                          "exists and was not written by marey; it is replaced only by force");
    }
    return MAREY_OK;
}

marey_status store_writer_create(store_writer **out, const char *path, const store_options *options, diag *d)
{
    *out = NULL;
    marey_status status = check_target(path, options && options->force, d);
    if (status != MAREY_OK) {
        return status;
    }
    store_writer *w = mem_calloc(1, sizeof *w);
    w->path = mem_strdup(path);
    w->options = options ? *options : (store_options){0};
    w->max_jobs[JOB_BLOCK] = 2 * (thread_cores() + 1);
    w->max_jobs[JOB_TILE] = MOST_TILES_WAITING;
    w->max_jobs[JOB_PYRAMID] = UINT_MAX;
    w->max_jobs[JOB_TABLE] = UINT_MAX;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_mutex_init(&w->words, NULL);
    (void)pthread_mutex_init(&w->directory, NULL);
    (void)pthread_mutex_init(&w->tables, NULL);
    (void)pthread_cond_init(&w->done, NULL);
    diag_init(&w->diag);
    arg_shapes_init(&w->shapes);
    (void)intern_put(&w->strings, "", 0);
    if (!file_aside_open(&w->aside, path)) {
        status = diag_error(d, MAREY_IO, w->path, DIAG_NO_OFFSET, "cannot be written: %s", strerror(errno));
        store_writer_destroy(&w);
        return status;
    }
    hdf_begin(&w->file, w->aside.fd);
    *out = w;
    return MAREY_OK;
}

arg_shapes *store_writer_shapes(store_writer *w)
{
    return &w->shapes;
}

/* ------------------------------------------------------------------ destroy */

static void free_benches(bench *b)
{
    while (b) {
        bench *next = b->next;
        codec_deinit(&b->codec);
        args_encoder_destroy(&b->args);
        strbuf_deinit(&b->stream);
        free(b->cells);
        free(b);
        b = next;
    }
}

void store_writer_destroy(store_writer **ww)
{
    store_writer *w = *ww;
    if (!w) {
        return;
    }
    wait_for_jobs(w);
    file_aside_discard(&w->aside);
    hdf_end(&w->file);
    free_benches(w->benches);
    free_spares(&w->spare_blocks);
    out_deinit(w);
    free_rooms(w->rooms);
    for (size_t i = 0; i < w->n_groups; i++) {
        free(w->groups[i].blocks);
    }
    free(w->groups);
    free(w->blocks);
    free(w->tiles);
    free(w->args_hints);
    free(w->longs);
    free(w->links);
    intern_deinit(&w->strings);
    arg_shapes_deinit(&w->shapes);
    diag_deinit(&w->diag);
    (void)pthread_cond_destroy(&w->done);
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_mutex_destroy(&w->words);
    (void)pthread_mutex_destroy(&w->directory);
    (void)pthread_mutex_destroy(&w->tables);
    free(w->path);
    free(w);
    *ww = NULL;
}

/* ------------------------------------------------------------------ directories */

/* Write one column: `value` of row i, as a number of the dataset's size. */
typedef uint64_t (*column_value)(const store_writer *w, size_t i, unsigned k);

static marey_status put_column(store_writer *w, schema_id id, size_t n, column_value value)
{
    enum { BATCH = 4096 };
    uint64_t buffer[BATCH * N_COLUMNS];
    uint8_t *bytes = (uint8_t *)buffer;
    const size_t size = schema_type_size(SCHEMA[id].type);
    const unsigned width = SCHEMA[id].width;
    for (size_t first = 0; first < n; first += BATCH) {
        size_t count = n - first < BATCH ? n - first : BATCH;
        for (size_t i = 0; i < count * width; i++) {
            uint64_t v = value(w, first + i / width, (unsigned)(i % width));
            memcpy(bytes + i * size, &v, size);
        }
        marey_status status = out_append(w, id, bytes, count);
        if (status != MAREY_OK) {
            return status;
        }
    }
    return MAREY_OK;
}

#define VALUE(name, expression)                                                                                        \
    static uint64_t name(const store_writer *w, size_t i, unsigned k)                                                  \
    {                                                                                                                  \
        (void)k;                                                                                                       \
        return (uint64_t)(expression);                                                                                 \
    }
VALUE(block_group, w->blocks[i].group)
VALUE(block_n, w->blocks[i].n)
VALUE(block_t0, w->blocks[i].t0_ns)
VALUE(block_t1, w->blocks[i].t1_ns)
VALUE(block_track_first, w->blocks[i].track_first)
VALUE(block_n_tracks, w->blocks[i].n_tracks)
VALUE(block_args_first, w->blocks[i].args_first)
VALUE(block_args_bytes, w->blocks[i].args_bytes)
VALUE(block_addr, w->blocks[i].hints[k].addr)
VALUE(block_size, w->blocks[i].hints[k].size)
VALUE(block_crc, w->blocks[i].hints[k].crc)
VALUE(args_addr, w->args_hints[i].addr)
VALUE(args_size, w->args_hints[i].size)
VALUE(args_crc, w->args_hints[i].crc)
VALUE(group_kind_of, w->groups[i].params.kind)
VALUE(group_first_rank, w->groups[i].params.first_rank)
VALUE(group_n_ranks, w->groups[i].params.n_ranks)
VALUE(group_n_blocks, w->groups[i].n_blocks)
VALUE(group_first_carry, w->groups[i].first_carry)
VALUE(group_n_carry, w->groups[i].n_carry)
VALUE(group_bin0, w->groups[i].bin0_ns[k])
VALUE(group_n_levels, w->groups[i].n_levels[k])
VALUE(group_n_rows, w->groups[i].n_rows[k])
VALUE(tile_r, w->tiles[i].key.r)
VALUE(tile_level, w->tiles[i].key.level)
VALUE(tile_group, w->tiles[i].key.group)
VALUE(tile_row_block, w->tiles[i].key.row_block)
VALUE(tile_col, w->tiles[i].key.col)
VALUE(tile_index, w->tiles[i].index)
VALUE(tile_n, w->tiles[i].n_events)
VALUE(tile_n_cols, w->tiles[i].n_cols)
VALUE(tile_addr, w->tiles[i].hint.addr)
VALUE(tile_size, w->tiles[i].hint.size)
VALUE(tile_crc, w->tiles[i].hint.crc)
VALUE(long_row, w->longs[i].row)
VALUE(long_dur, w->longs[i].dur_ns)

typedef struct column_source {
    schema_id id;
    column_value value;
} column_source;

static marey_status put_columns(store_writer *w, const column_source *columns, size_t n_columns, size_t n)
{
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < n_columns && status == MAREY_OK; i++) {
        status = put_column(w, columns[i].id, n, columns[i].value);
    }
    return status;
}

#define PUT_COLUMNS(w, columns, n) put_columns(w, columns, sizeof(columns) / sizeof(columns)[0], n)

static int compare_tiles(const void *a, const void *b)
{
    const out_tile *x = a;
    const out_tile *y = b;
#define ORDER(field)                                                                                                   \
    if (x->field != y->field) {                                                                                        \
        return x->field < y->field ? -1 : 1;                                                                           \
    }
    ORDER(key.r)
    ORDER(key.level)
    ORDER(key.group)
    ORDER(key.row_block)
    ORDER(key.col)
#undef ORDER
    return 0;
}

/* Stored tiles first, then the runs of those left out; each sorted as the reader looks them up. */
static marey_status put_tiles(store_writer *w)
{
    static const column_source stored[] = {
        {S_TILE_R, tile_r},         {S_TILE_LEVEL, tile_level},
        {S_TILE_GROUP, tile_group}, {S_TILE_ROW_BLOCK, tile_row_block},
        {S_TILE_COL, tile_col},     {S_TILE_INDEX, tile_index},
        {S_TILE_N, tile_n},         {S_TILE_ADDR, tile_addr},
        {S_TILE_SIZE, tile_size},   {S_TILE_CRC, tile_crc},
    };
    static const column_source sparse[] = {
        {S_SPARSE_R, tile_r},         {S_SPARSE_LEVEL, tile_level},
        {S_SPARSE_GROUP, tile_group}, {S_SPARSE_ROW_BLOCK, tile_row_block},
        {S_SPARSE_COL, tile_col},     {S_SPARSE_N_COLS, tile_n_cols},
        {S_SPARSE_N, tile_n},
    };
    out_tile *all = w->tiles;
    size_t n_all = w->n_tiles;
    size_t n_stored = 0;
    for (size_t i = 0; i < n_all; i++) {
        if (all[i].n_cols == 0) {
            out_tile t = all[n_stored];
            all[n_stored++] = all[i];
            all[i] = t;
        }
    }
    if (n_all > 0) {
        qsort(all, n_stored, sizeof *all, compare_tiles);
        qsort(all + n_stored, n_all - n_stored, sizeof *all, compare_tiles);
    }
    marey_status status = PUT_COLUMNS(w, stored, n_stored);
    if (status == MAREY_OK) {
        w->tiles = all + n_stored;
        status = PUT_COLUMNS(w, sparse, n_all - n_stored);
        w->tiles = all;
    }
    return status;
}

static int compare_longs(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static marey_status put_groups(store_writer *w)
{
    static const column_source columns[] = {
        {S_GROUP_KIND, group_kind_of},      {S_GROUP_FIRST_RANK, group_first_rank},   {S_GROUP_N_RANKS, group_n_ranks},
        {S_GROUP_N_BLOCKS, group_n_blocks}, {S_GROUP_FIRST_CARRY, group_first_carry}, {S_GROUP_N_CARRY, group_n_carry},
        {S_GROUP_BIN0, group_bin0},         {S_GROUP_N_LEVELS, group_n_levels},       {S_GROUP_N_ROWS, group_n_rows},
    };
    marey_status status = PUT_COLUMNS(w, columns, w->n_groups);
    uint64_t first = 0;
    for (size_t i = 0; i < w->n_groups && status == MAREY_OK; i++) {
        status = out_append(w, S_GROUP_FIRST_BLOCK, &first, 1);
        if (status == MAREY_OK) {
            status = out_append(w, S_GROUP_BLOCKS, w->groups[i].blocks, w->groups[i].n_blocks);
        }
        first += w->groups[i].n_blocks;
    }
    return status;
}

/* Arguments were numbered as their jobs came to write them; from here on by block, whoever was first. */
static void order_args(store_writer *w)
{
    const size_t n = w->n_args_hints;
    hdf_chunk *const chunks = w->out[S_ARGS_DATA].chunks;
    chunk_hint *hints = mem_alloc(n * sizeof *hints);
    hdf_chunk *moved = mem_alloc(n * sizeof *moved);
    size_t at = 0;
    for (size_t i = 0; i < w->n_blocks; i++) {
        out_block *b = &w->blocks[i];
        size_t n_chunks = (b->args_bytes + ARGS_CHUNK - 1) / ARGS_CHUNK;
        if (n_chunks > 0) {
            memcpy(hints + at, w->args_hints + b->args_first, n_chunks * sizeof *hints);
            memcpy(moved + at, chunks + b->args_first, n_chunks * sizeof *moved);
            b->args_first = at;
            at += n_chunks;
        }
    }
    MAREY_ASSERT(at == n && n == w->out[S_ARGS_DATA].n_chunks);
    memcpy(w->args_hints, hints, n * sizeof *hints);
    memcpy(chunks, moved, n * sizeof *moved);
    free(hints);
    free(moved);
}

static marey_status put_blocks(store_writer *w)
{
    static const column_source blocks[] = {
        {S_BLOCK_GROUP, block_group},
        {S_BLOCK_N, block_n},
        {S_BLOCK_T0, block_t0},
        {S_BLOCK_T1, block_t1},
        {S_BLOCK_TRACK_FIRST, block_track_first},
        {S_BLOCK_N_TRACKS, block_n_tracks},
        {S_BLOCK_ARGS_FIRST, block_args_first},
        {S_BLOCK_ARGS_BYTES, block_args_bytes},
        {S_BLOCK_ADDR, block_addr},
        {S_BLOCK_SIZE, block_size},
        {S_BLOCK_CRC, block_crc},
    };
    static const column_source args[] = {{S_ARGS_ADDR, args_addr}, {S_ARGS_SIZE, args_size}, {S_ARGS_CRC, args_crc}};
    static const column_source longs[] = {{S_LONG_ROW, long_row}, {S_LONG_DUR, long_dur}};
    if (w->n_args_hints > 0) {
        order_args(w);
    }
    if (w->n_longs > 0) {
        qsort(w->longs, w->n_longs, sizeof *w->longs, compare_longs);
    }
    marey_status status = PUT_COLUMNS(w, blocks, w->n_blocks);
    if (status == MAREY_OK) {
        status = PUT_COLUMNS(w, args, w->n_args_hints);
    }
    return status == MAREY_OK ? PUT_COLUMNS(w, longs, w->n_longs) : status;
}

/* n texts one after the other from `first` on, and where each begins; behind those that were put before. Nobody else
 * puts any of the kind. */
static marey_status put_texts(store_writer *w, schema_id bytes, schema_id start, const intern *t, size_t first,
                              size_t n, size_t with_zero)
{
    uint64_t at = w->out[bytes].n;
    uint64_t *ends = mem_alloc((n + 1) * sizeof *ends);
    ends[0] = at;
    for (size_t i = 0; i < n; i++) {
        ends[i + 1] = ends[i] + t->len[first + i] + with_zero;
    }
    char *all = mem_alloc(ends[n] - at + 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(all + (ends[i] - at), t->text[first + i], t->len[first + i] + with_zero);
    }
    size_t behind = w->out[start].n > 0; /* where the first begins was said as the end of the one before */
    bench *b = bench_take(w);
    marey_status status = out_append_alone(w, &b->codec, bytes, all, ends[n] - at);
    if (status == MAREY_OK) {
        status = out_append_alone(w, &b->codec, start, ends + behind, n + 1 - behind);
    }
    bench_give(w, b);
    free(ends);
    free(all);
    return status;
}

static void run_shapes(void *ctx)
{
    store_writer *w = ctx;
    (void)put_texts(w, S_TEMPLATE_BYTES, S_TEMPLATE_START, &w->shapes.texts, 0, w->n_shapes, 0);
    writer_job_done(w, JOB_TABLE);
}

void store_writer_put_shapes(store_writer *w)
{
    if (w->options.workers && w->n_shapes == 0 && w->shapes.texts.n > 0) {
        w->n_shapes = w->shapes.texts.n;
        writer_run(w, JOB_TABLE, run_shapes, w);
    }
}

static void run_strings(void *ctx)
{
    store_writer *w = ctx;
    (void)put_texts(w, S_STRING_BYTES, S_STRING_START, &w->strings, 0, w->strings.n, 1);
    out_pack_early(w, S_STRING_START);
    out_pack_early(w, S_STRING_BYTES);
    writer_job_done(w, JOB_TABLE);
}

/* What does not hang on the jobs: all of it is known, and is packed beside them. */
static marey_status put_known(store_writer *w, const trace_model *m)
{
    _Static_assert(S_LINK_FROM == S_TEMPLATE_START + 1, "all of /links and what follows is put by the caller's thread");
    marey_status status;
    MAREY_TRY(writer_put_links(w));
    MAREY_TRY(writer_put_model(w, m));
    writer_run(w, JOB_TABLE, run_strings, w);
    for (unsigned id = S_LINK_FROM; id < SCHEMA_COUNT; id++) {
        if (id != S_STRING_BYTES && id != S_STRING_START) {
            out_pack_early(w, (schema_id)id);
        }
    }
fail:
    return status;
}

marey_status store_writer_finish(store_writer *w, const trace_model *m, diag *d)
{
    if (w->aside.fd < 0) {
        return diag_error(d, MAREY_STATE, w->path, DIAG_NO_OFFSET, "is finished already");
    }
    hdf_write_out(&w->file);
    marey_status status = MAREY_OK;
    MAREY_TRY(put_known(w, m));
    wait_for_jobs(w);
    hdf_write_out(&w->file);
    MAREY_TRY(w->failed);
    MAREY_TRY(put_texts(w, S_TEMPLATE_BYTES, S_TEMPLATE_START, &w->shapes.texts, w->n_shapes,
                        w->shapes.texts.n - w->n_shapes, 0));
    MAREY_TRY(put_blocks(w));
    MAREY_TRY(put_groups(w));
    MAREY_TRY(put_tiles(w));
    MAREY_TRY(out_finish(w, m));
    MAREY_TRY(file_aside_commit(&w->aside, &w->diag));
fail:
    wait_for_jobs(w); /* they may have something to say */
    if (d) {
        diag_merge(d, &w->diag);
    }
    diag_deinit(&w->diag);
    diag_init(&w->diag);
    return status;
}
