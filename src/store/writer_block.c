#include "store/writer_block.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static marey_status write_args(block_job *j, bench *b)
{
    store_writer *w = j->w;
    if (!b->args) {
        b->args = args_encoder_create(&w->shapes);
    }
    args_encoder_begin(b->args);
    args_encoder_add(b->args, j->args_at, j->args_len, j->n);
    strbuf_clear(&b->stream);
    args_encoder_end(b->args, &b->stream);
    size_t n_bytes = b->stream.n;
    size_t n_chunks = (n_bytes + ARGS_CHUNK - 1) / ARGS_CHUNK;
    (void)pthread_mutex_lock(&w->lock);
    uint64_t first = w->n_args_hints;
    for (size_t i = 0; i < n_chunks; i++) {
        VEC_PUSH(w->args_hints, w->n_args_hints, w->cap_args_hints, (chunk_hint){0});
    }
    w->blocks[j->block].args_first = first;
    w->blocks[j->block].args_bytes = n_bytes;
    (void)pthread_mutex_unlock(&w->lock);
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < n_chunks && status == MAREY_OK; i++) {
        chunk_hint hint;
        size_t n = n_bytes - i * ARGS_CHUNK < ARGS_CHUNK ? n_bytes - i * ARGS_CHUNK : ARGS_CHUNK;
        status = out_chunk(w, S_ARGS_DATA, &b->codec, first + i, b->stream.s + i * ARGS_CHUNK, n, ARGS_CHUNK, &hint);
        (void)pthread_mutex_lock(&w->lock);
        w->args_hints[first + i] = hint;
        (void)pthread_mutex_unlock(&w->lock);
    }
    return status;
}

static void block_job_done(block_job *j)
{
    store_writer *w = j->w;
    if (atomic_fetch_sub(&j->n_left, 1) == 1) {
        room_give(w, j->args);
        free((void *)j->args_at);
        free(j->args_len);
        spare_give(w, &w->spare_blocks, j);
    }
    writer_job_done(w, JOB_BLOCK);
}

static void run_args(void *ctx)
{
    block_job *j = ctx;
    bench *b = bench_take(j->w);
    (void)write_args(j, b);
    bench_give(j->w, b);
    block_job_done(j);
}

static void run_columns(void *ctx)
{
    block_job *j = ctx;
    store_writer *w = j->w;
    bench *b = bench_take(w);
    const void *columns[N_COLUMNS] = {j->start_ns, j->dur_ns, j->name, j->klass, j->flags, j->instance};
    chunk_hint hints[N_COLUMNS];
    marey_status status = MAREY_OK;
    for (unsigned i = 0; i < N_COLUMNS && status == MAREY_OK; i++) {
        status = out_chunk(w, (schema_id)(S_EVENT_START + i), &b->codec, j->block, columns[i], j->n, BLOCK_EVENTS,
                           &hints[i]);
    }
    if (status == MAREY_OK) {
        (void)pthread_mutex_lock(&w->lock);
        memcpy(w->blocks[j->block].hints, hints, sizeof hints);
        (void)pthread_mutex_unlock(&w->lock);
    }
    bench_give(w, b);
    block_job_done(j);
}

void block_job_start(block_job *j)
{
    store_writer *w = j->w;
    bool has_args = j->args_at != NULL;
    atomic_init(&j->n_left, has_args ? 2 : 1);
    writer_run(w, JOB_BLOCK, run_columns, j);
    if (has_args) {
        writer_run(w, JOB_BLOCK, run_args, j);
    }
}
