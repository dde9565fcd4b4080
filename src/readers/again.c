#include "readers/again.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse/jstream.h"
#include "parse/source.h"
#include "readers/run_read.h"

enum { SKIP_BYTES = 256 * 1024, WINDOW_BYTES = 32 * 1024, ARGS_BYTES = 64 * 1024 };

/* The reader, and who is told. */
typedef struct again {
    chrome_reader json; /* first: the walker's context */
    pairs_emit_fn emit; /* of the reader's pairs */
    again_fn fn;
    void *ctx;
    uint64_t n_told; /* events */
    bool is_enough;
} again;

/* What the builder gathers beside events is not kept. */
static marey_status tell(again *a, uint64_t offset)
{
    trace_builder *b = a->json.b;
    again_record r = {.offset = offset,
                      .event = a->n_told,
                      .n_events = b->n_events - a->n_told,
                      .start_ns = b->chunk.n > 0 ? b->chunk.rows[b->chunk.n - 1].start_ns : 0,
                      .flows = b->flows,
                      .n_flows = b->n_flows,
                      .builder = b};
    a->is_enough = (r.n_events > 0 || r.n_flows > 0 || b->n_samples > 0) && !a->fn(a->ctx, &r);
    a->n_told = b->n_events;
    b->n_flows = b->n_samples = b->n_collectives = 0;
    return a->is_enough ? MAREY_CANCELLED : MAREY_OK;
}

static marey_status on_event(void *ctx, const jevent *e)
{
    again *a = ctx;
    a->n_told = a->json.b->n_events; /* what came from elsewhere has no place */
    marey_status status = chrome_event(&a->json, e);
    return status == MAREY_OK ? tell(a, e->offset) : status;
}

static marey_status on_pair(void *ctx, const pair_half *begin, const pair_half *end)
{
    again *a = ctx;
    a->n_told = a->json.b->n_events;
    marey_status status = a->emit(&a->json, begin, end);
    return status == MAREY_OK ? tell(a, begin->offset) : status;
}

/* ------------------------------------------------------------------ from within */

typedef struct tail {
    source *source; /* packed: it is unpacked up to there once more */
    int fd;         /* of a plain file */
    cancel_flag *cancel;
} tail;

static size_t read_tail(void *ctx, void *dst, size_t cap)
{
    tail *t = ctx;
    if (t->source) {
        return source_read(t->source, dst, cap);
    }
    ssize_t got = 0;
    do {
        got = read(t->fd, dst, cap);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

static bool may_go_on(void *ctx)
{
    tail *t = ctx;
    return !is_cancelled(t->cancel);
}

static bool skip(tail *t, const char *path, uint64_t n)
{
    if (!source_is_packed(t->source)) {
        source_close(&t->source);
        t->fd = open(path, O_RDONLY | O_CLOEXEC);
        return t->fd >= 0 && lseek(t->fd, (off_t)n, SEEK_SET) >= 0;
    }
    char *unused = mem_alloc(SKIP_BYTES);
    for (size_t got = 1; n > 0 && got > 0 && may_go_on(t); n -= got) {
        got = source_read(t->source, unused, n < SKIP_BYTES ? (size_t)n : SKIP_BYTES);
    }
    free(unused);
    return n == 0;
}

static marey_status read_from(again *a, const char *path, uint64_t from, cancel_flag *cancel)
{
    tail t = {.fd = -1, .cancel = cancel};
    source_options quiet = {0};
    marey_status status = source_open(path, &quiet, &t.source);
    if (status == MAREY_OK && skip(&t, path, from)) {
        jstream_options o = {.read = read_tail, .progress = may_go_on, .ctx = &t, .window_bytes = WINDOW_BYTES};
        chrome_restart_walk(&a->json, true, from);
        status = jstream_run(&a->json.walk, &o);
    }
    source_close(&t.source);
    if (t.fd >= 0) {
        (void)close(t.fd);
    }
    return status;
}

/* ------------------------------------------------------------------ all of it */

static marey_status read_all(again *a, const run_source *run, bool is_plain, const reader_progress *progress)
{
    if (!is_plain) {
        return run_read_into(run, a->json.b, &a->json, progress);
    }
    marey_status status = chrome_read_into(&a->json, run->files[0].path, progress);
    return status == MAREY_OK ? chrome_finish(&a->json) : status;
}

/* A file, or a member of an archive that is one. */
static bool is_regular(const char *path)
{
    const char *member = strstr(path, "!/");
    char *archive = member ? mem_strndup(path, (size_t)(member - path)) : mem_strdup(path);
    struct stat st;
    bool yes = stat(archive, &st) == 0 && S_ISREG(st.st_mode);
    free(archive);
    return yes;
}

marey_status again_read(const run_source *s, uint64_t from, again_fn fn, void *ctx, cancel_flag *cancel)
{
    run_file file;
    run_source run;
    if (s->n_files != 1 || !is_regular(s->files[0].path)) {
        return MAREY_UNSUPPORTED;
    }
    bool is_plain = !run_find_format(s, &run, &file);
    if (from > 0 && !is_plain) {
        return MAREY_UNSUPPORTED;
    }
    diag unheard; /* all of it was said the first time */
    diag_init(&unheard);
    trace_builder b;
    trace_builder_init(&b);
    b.diag = &unheard;
    b.file = diag_file(&unheard, s->label);
    b.path = s->label;
    /* Mostly a few events are looked at: huge pages would only be cleared. */
    b.chunk.rows = mem_alloc(TRACE_CHUNK_EVENTS * sizeof *b.chunk.rows);
    b.chunk.args = mem_alloc(ARGS_BYTES);
    b.chunk.cap_args = ARGS_BYTES;
    again *a = mem_calloc(1, sizeof *a);
    a->fn = fn;
    a->ctx = ctx;
    chrome_init(&a->json, &b);
    a->json.walk.ops.event = on_event;
    a->emit = a->json.pairs.emit;
    a->json.pairs.emit = on_pair;
    reader_progress progress = {.cancel = cancel, .threads = 1};
    marey_status status =
        from > 0 ? read_from(a, run.files[0].path, from, cancel) : read_all(a, &run, is_plain, &progress);
    status = a->is_enough || status == MAREY_FORMAT ? MAREY_OK : status;
    chrome_deinit(&a->json);
    free(a);
    trace_builder_deinit(&b);
    diag_deinit(&unheard);
    return status;
}
