/* Columns of blocks and cells of tiles: raw chunks by their hints, inflated outside the HDF5 lock. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/reader.h"

enum { MISSES_TO_STOP = 8, GAP_BYTES = 128 << 10 };

read_bench *read_bench_take(store_file *f)
{
    (void)pthread_mutex_lock(&f->lock);
    read_bench *b = f->benches;
    if (b) {
        f->benches = b->next;
    }
    (void)pthread_mutex_unlock(&f->lock);
    if (!b) {
        b = mem_calloc(1, sizeof *b);
        b->words = mem_alloc(BLOCK_EVENTS * sizeof *b->words);
    }
    return b;
}

void read_bench_give(store_file *f, read_bench *b)
{
    (void)pthread_mutex_lock(&f->lock);
    b->next = f->benches;
    f->benches = b;
    (void)pthread_mutex_unlock(&f->lock);
}

/* ------------------------------------------------------------------ one chunk */

static size_t chunk_bytes(const chunk_at *c)
{
    return c->n * schema_type_size(SCHEMA[c->id].type);
}

static bool hint_is_usable(store_file *f, const chunk_at *c)
{
    return c->size > 0 && c->size <= codec_bound(chunk_bytes(c)) && c->addr <= f->file_bytes &&
           c->size <= f->file_bytes - c->addr &&
           atomic_load_explicit(&f->n_misses, memory_order_relaxed) < MISSES_TO_STOP;
}

static bool unpack_raw(store_file *f, read_bench *b, const chunk_at *c, const uint8_t *raw, void *out)
{
    bool ok = codec_crc(raw, c->size) == c->crc &&
              codec_unpack(&b->codec, raw, c->size, c->n, schema_type_size(SCHEMA[c->id].type), out);
    if (!ok) {
        (void)atomic_fetch_add_explicit(&f->n_misses, 1, memory_order_relaxed);
    }
    return ok;
}

static bool read_raw(store_file *f, read_bench *b, uint64_t addr, size_t size)
{
    VEC_RESERVE(b->raw, b->cap_raw, size);
    (void)atomic_fetch_add_explicit(&f->bytes_read, size, memory_order_relaxed);
    return file_pread(f->fd, b->raw, size, addr);
}

static marey_status read_by_library(store_file *f, const chunk_at *c, void *out, diag *d)
{
    bool is_tile = c->id >= S_CELLS_TRACK && c->id <= S_CELLS_EIGHT;
    uint64_t rows = is_tile ? 1 : c->n;
    return in_read(f, c->id, c->index * rows, rows, out, d);
}

marey_status read_chunk(store_file *f, read_bench *b, const chunk_at *c, void *out, diag *d)
{
    if (hint_is_usable(f, c) && read_raw(f, b, c->addr, c->size) && unpack_raw(f, b, c, b->raw, out)) {
        return MAREY_OK;
    }
    return read_by_library(f, c, out, d);
}

/* ------------------------------------------------------------------ blocks */

static chunk_at column_chunk(const store_file *f, uint32_t block, unsigned column)
{
    size_t i = (size_t)block * N_COLUMNS + column;
    return (chunk_at){(schema_id)(S_EVENT_START + column),
                      block,
                      f->blocks.addr[i],
                      f->blocks.size[i],
                      f->blocks.crc[i],
                      BLOCK_EVENTS};
}

/* Where the wanted chunks lie close together, one read gets them all. @return bytes from *addr, or 0 */
static size_t joined_span(store_file *f, const chunk_at *c, unsigned n, uint64_t *addr)
{
    uint64_t lo = UINT64_MAX;
    uint64_t hi = 0;
    uint64_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!hint_is_usable(f, &c[i])) {
            return 0;
        }
        lo = c[i].addr < lo ? c[i].addr : lo;
        hi = c[i].addr + c[i].size > hi ? c[i].addr + c[i].size : hi;
        sum += c[i].size;
    }
    *addr = lo;
    return n > 1 && hi - lo <= sum + GAP_BYTES ? (size_t)(hi - lo) : 0;
}

/* The memory that a column is decoded into; durations come as 32 bits first. */
static void *column_memory(store_columns *c, read_bench *b, unsigned column)
{
    void *const memory[N_COLUMNS] = {c->start_ns, b->words, c->name, c->klass, c->flags, c->instance};
    return memory[column];
}

static void reserve_columns(store_columns *c, uint32_t columns)
{
    void **const memory[N_COLUMNS] = {(void **)&c->start_ns, (void **)&c->dur_ns, (void **)&c->name,
                                      (void **)&c->klass,    (void **)&c->flags,  (void **)&c->instance};
    static const size_t sizes[N_COLUMNS] = {8, 8, 4, 1, 1, 4};
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        if ((columns >> i & 1) != 0 && !*memory[i]) {
            *memory[i] = mem_alloc(BLOCK_EVENTS * sizes[i]);
        }
    }
}

static size_t first_long(const store_file *f, uint64_t row)
{
    size_t lo = 0;
    size_t hi = f->n_long;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (f->long_row[mid] < row) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Durations from 32 bits; the long ones from their table. @return false when one is missing there */
static bool widen_durations(const store_file *f, uint32_t block, const uint32_t *words, store_columns *c)
{
    uint64_t first_row = (uint64_t)block * BLOCK_EVENTS;
    bool has_long = false;
    for (uint32_t i = 0; i < c->n; i++) {
        c->dur_ns[i] = words[i];
        has_long = has_long || words[i] == UINT32_MAX;
    }
    if (!has_long) {
        return true;
    }
    size_t k = first_long(f, first_row);
    for (uint32_t i = 0; i < c->n; i++) {
        if (words[i] != UINT32_MAX) {
            continue;
        }
        while (k < f->n_long && f->long_row[k] < first_row + i) {
            k++;
        }
        if (k >= f->n_long || f->long_row[k] != first_row + i) {
            return false;
        }
        c->dur_ns[i] = f->long_dur[k];
    }
    return true;
}

/* Values that others index or add without a look. */
static marey_status check_values(const store_file *f, uint32_t block, const store_columns *c, uint32_t columns, diag *d)
{
    uint64_t bad = 0;
    int64_t t0 = f->blocks.t0[block];
    int64_t t1 = f->blocks.t1[block];
    for (uint32_t i = 0; (columns & COL_START) && i < c->n; i++) {
        bad |= (uint64_t)(c->start_ns[i] < t0) | (uint64_t)(c->start_ns[i] >= t1);
    }
    if (bad) {
        return damaged(f, d, S_EVENT_START, "holds a time outside of its block");
    }
    for (uint32_t i = 0; (columns & COL_START) && (columns & COL_DUR) && i < c->n; i++) {
        bad |= (uint64_t)(c->dur_ns[i] < 0) | (uint64_t)(c->dur_ns[i] > INT64_MAX - c->start_ns[i]);
    }
    if (bad) {
        return damaged(f, d, S_EVENT_DUR, "holds a value out of range");
    }
    for (uint32_t i = 0; (columns & COL_NAME) && i < c->n; i++) {
        bad |= (uint64_t)(c->name[i] >= f->model.n_names);
    }
    if (bad) {
        return damaged(f, d, S_EVENT_NAME, "holds a value out of range");
    }
    for (uint32_t i = 0; (columns & COL_CLASS) && i < c->n; i++) {
        bad |= (uint64_t)(c->klass[i] >= CLASS_COUNT);
    }
    return bad ? damaged(f, d, S_EVENT_CLASS, "holds a value out of range") : MAREY_OK;
}

static marey_status decode_columns(store_file *f, read_bench *b, const chunk_at *chunks, unsigned n, store_columns *c,
                                   diag *d)
{
    uint64_t addr = 0;
    size_t span = joined_span(f, chunks, n, &addr);
    bool is_joined = span > 0 && read_raw(f, b, addr, span);
    bool is_missing[N_COLUMNS] = {false};
    for (unsigned i = 0; i < n; i++) {
        unsigned column = (unsigned)(chunks[i].id - S_EVENT_START);
        is_missing[i] =
            !is_joined || !unpack_raw(f, b, &chunks[i], b->raw + (chunks[i].addr - addr), column_memory(c, b, column));
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned column = (unsigned)(chunks[i].id - S_EVENT_START);
        if (is_missing[i]) {
            marey_status status = read_chunk(f, b, &chunks[i], column_memory(c, b, column), d);
            if (status != MAREY_OK) {
                return status;
            }
        }
    }
    return MAREY_OK;
}

marey_status store_read_block(store_file *f, uint32_t block, uint32_t columns, store_columns *c, diag *d)
{
    if (block >= f->n_blocks) {
        return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET, "there is no block %u", block);
    }
    reserve_columns(c, columns);
    c->n = f->blocks.n[block];
    c->have = 0;
    chunk_at chunks[N_COLUMNS];
    unsigned n = 0;
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        if (columns >> i & 1) {
            chunks[n++] = column_chunk(f, block, i);
        }
    }
    read_bench *b = read_bench_take(f);
    marey_status status = decode_columns(f, b, chunks, n, c, d);
    if (status == MAREY_OK && (columns & COL_DUR) && !widen_durations(f, block, b->words, c)) {
        status = damaged(f, d, S_LONG_ROW, "lacks an event");
    }
    read_bench_give(f, b);
    status = status == MAREY_OK ? check_values(f, block, c, columns, d) : status;
    c->have = status == MAREY_OK ? columns & COL_ALL : 0;
    return status;
}

void store_columns_free(store_columns *c)
{
    free(c->start_ns);
    free(c->dur_ns);
    free(c->name);
    free(c->klass);
    free(c->flags);
    free(c->instance);
    *c = (store_columns){0};
}

/* ------------------------------------------------------------------ tiles */

marey_status store_read_tile(store_file *f, uint32_t tile, uint8_t *cells, diag *d)
{
    if (tile >= f->n_tiles) {
        return diag_error(d, MAREY_RANGE, f->path, DIAG_NO_OFFSET, "there is no tile %u", tile);
    }
    const tile_columns *t = &f->tiles;
    chunk_at c = {(schema_id)(S_CELLS_TRACK + t->r[tile]), t->index[tile], t->addr[tile], t->size[tile], t->crc[tile],
                  (size_t)TILE_CELLS * LOD_PLANES};
    read_bench *b = read_bench_take(f);
    marey_status status = read_chunk(f, b, &c, cells, d);
    read_bench_give(f, b);
    return status;
}
