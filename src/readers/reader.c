#include "readers/reader.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "parse/ahead.h"
#include "parse/jstream.h"
#include "parse/source.h"
#include "readers/chrome.h"
#include "readers/chrome_parts.h"
#include "readers/head.h"

enum {
    LEAD_BYTES = 32 * 1024,
    AHEAD_MIN_BYTES = 512 * 1024,
    AHEAD_MIN_PLAIN_BYTES = 8 << 20,
    HELD_BYTES = 32 << 20, /* of a text that lies open: so much may stay in memory, */
    HELD_STEP = 4 << 20,   /* and so much where threads give it back beside each other */
    PARTS_MIN_BYTES = 128 * 1024,
    PARTS_MIN_PLAIN_BYTES = 1 << 20,
    PARTS_MANY = 64,       /* parts that an input is cut into, where it is large enough */
    PARTS_FAILURES_MAX = 4 /* ends of parts before that of the text, before it goes on without them */
};

/* ---- one pass over one stream ---- */

/* What is read: a file by path, or bytes in memory. */
typedef struct input {
    const char *path;
    const void *memory; /* NULL: a file */
    size_t size;
    source_options options;
} input;

typedef struct pass {
    source *source;
    ahead *ahead; /* NULL: the source is read on this thread */
    char *head;
    size_t n_head, at_head;
    strbuf rest; /* text that was read and is to be walked first, from at_rest on */
    size_t at_rest;
    bool may_part;                 /* the walk may be left, to go on in parts */
    bool has_left;                 /* it was, at `rest` */
    bool reads_at;                 /* the source is read where one likes: what was read is what was walked */
    uint64_t held_from;            /* offset of what is walked where it lies, */
    atomic_uint_fast64_t held_to;  /* and so far it is not wanted any more */
    atomic_uint_fast64_t bytes_in; /* of the source: others than who reads it look */
    chrome_reader *reader;
    const reader_progress *progress;
    bool cancelled;
    const reader_tuning *tuning;
    const char *path;
    diag told; /* the source's; its file 0 is the builder's */
} pass;

static marey_status open_input(const input *in, source **s)
{
    return in->memory ? source_open_memory(in->memory, in->size, in->path, &in->options, s)
                      : source_open(in->path, &in->options, s);
}

static size_t copy_some(const char *from, size_t n, size_t *at, void *dst, size_t cap)
{
    n = n - *at < cap ? n - *at : cap;
    memcpy(dst, from + *at, n);
    *at += n;
    return n;
}

static size_t read_some(void *ctx, void *dst, size_t cap)
{
    pass *p = ctx;
    size_t limit = p->tuning && p->tuning->read_bytes && p->tuning->read_bytes < cap ? p->tuning->read_bytes : cap;
    if (p->at_rest < p->rest.n) {
        return copy_some(p->rest.s, p->rest.n, &p->at_rest, dst, limit);
    }
    if (p->at_head < p->n_head) {
        return copy_some(p->head, p->n_head, &p->at_head, dst, limit);
    }
    if (p->ahead) {
        return ahead_read(p->ahead, dst, limit);
    }
    size_t got = source_read(p->source, dst, limit);
    atomic_store_explicit(&p->bytes_in, source_bytes_in(p->source), memory_order_relaxed);
    return got;
}

_Static_assert((int)AHEAD_FRONT_BYTES >= (int)JSTREAM_FRONT_BYTES && (int)AHEAD_PAD_BYTES >= (int)JWALK_PAD_BYTES,
               "the walker writes around the text that it takes");

static size_t take_some(void *ctx, char **text)
{
    pass *p = ctx;
    return ahead_take(p->ahead, text);
}

static bool read_at(void *ctx, void *dst, size_t cap, uint64_t offset, size_t *got)
{
    const pass *p = ctx;
    return source_read_at(p->source, dst, cap, offset, got);
}

/* As chrome_text.look. */
static bool look(void *ctx, size_t at, size_t n)
{
    const pass *p = ctx;
    return source_look(p->source, at, n);
}

/* As jstream_options.look; what lies far behind takes no memory any more. */
static bool look_ahead(void *ctx, size_t at, size_t n)
{
    pass *p = ctx;
    uint64_t offset = p->held_from + at;
    if (offset - p->held_to >= HELD_BYTES) {
        source_look_away(p->source, p->held_to, (size_t)(offset - p->held_to));
        atomic_store(&p->held_to, offset);
    }
    return source_look(p->source, offset, n);
}

/* As chrome_text.look_away. */
static void look_behind(void *ctx, size_t at, size_t n)
{
    pass *p = ctx;
    uint64_t from = atomic_load(&p->held_to);
    uint64_t to = at + n;
    if (to > from && to - from >= HELD_STEP && atomic_compare_exchange_strong(&p->held_to, &from, to)) {
        source_look_away(p->source, from, (size_t)(to - from));
    }
}

/* As jstream_options.leave_memory. */
static void leave_memory(void *ctx, size_t at)
{
    pass *p = ctx;
    source_let_go(p->source);
    source_seek(p->source, p->held_from + at);
    p->at_head = p->n_head;
    p->reads_at = false;
}

static bool report(void *ctx)
{
    pass *p = ctx;
    const reader_progress *r = p->progress;
    if (r && r->report) {
        uint64_t bytes_in = p->reads_at ? p->reader->walk.offset
                            : p->ahead  ? ahead_bytes_in(p->ahead)
                                        : atomic_load_explicit(&p->bytes_in, memory_order_relaxed);
        r->report(r->ctx, bytes_in, source_bytes_total(p->source), p->reader->b->n_events);
    }
    p->cancelled = r && is_cancelled(r->cancel);
    return !p->cancelled;
}

static void read_head(pass *p)
{
    p->n_head = 0;
    p->at_head = 0;
    size_t got = 1;
    while (p->n_head < HEAD_BYTES && got > 0) {
        got = source_read(p->source, p->head + p->n_head, HEAD_BYTES - p->n_head);
        p->n_head += got;
    }
}

/* The source may be on another thread, so it has a diag of its own; what it says is taken over when it is back. */
static void take_losses(pass *p)
{
    trace_builder *b = p->reader->b;
    if (b->diag) {
        diag_merge(b->diag, &p->told);
    }
    diag_deinit(&p->told);
    diag_init(&p->told);
    (void)diag_file(&p->told, b->diag && b->file < b->diag->n_files ? b->diag->files[b->file] : p->path);
}

static unsigned threads_of(const pass *p)
{
    unsigned n = p->progress ? p->progress->threads : 0;
    return n > 0 ? n : thread_cores();
}

/* Worth a thread: a large input, and a core to spare. */
static bool wants_thread(const pass *p, uint64_t least_packed, uint64_t least_plain)
{
    bool large = source_bytes_total(p->source) >= (source_is_packed(p->source) ? least_packed : least_plain);
    return large && threads_of(p) > 1 && thread_cores() > 1;
}

static bool wants_parts(const pass *p)
{
    return !p->reader->hook &&
           (p->tuning ? p->tuning->threads > 1 : wants_thread(p, PARTS_MIN_BYTES, PARTS_MIN_PLAIN_BYTES));
}

/* What is not packed must be larger, as it is only copied. */
static bool wants_ahead(const pass *p)
{
    return p->tuning ? p->tuning->ahead : wants_thread(p, AHEAD_MIN_BYTES, AHEAD_MIN_PLAIN_BYTES);
}

static size_t part_bytes(const pass *p)
{
    if (p->tuning && p->tuning->part_bytes) {
        return p->tuning->part_bytes;
    }
    uint64_t n = source_bytes_total(p->source) / PARTS_MANY;
    n = n < CHROME_PART_BYTES ? CHROME_PART_BYTES : n;
    return n < CHROME_PART_BYTES_MAX ? (size_t)n : CHROME_PART_BYTES_MAX;
}

/* As jstream_options.leave. */
static bool leave(void *ctx, const char *text, size_t n)
{
    pass *p = ctx;
    p->has_left = p->may_part && chrome_parts_can_begin(p->reader, text, n);
    if (p->has_left) {
        strbuf rest = {0};
        strbuf_add(&rest, text, n);
        if (p->at_rest < p->rest.n) {
            strbuf_add(&rest, p->rest.s + p->at_rest, p->rest.n - p->at_rest);
        }
        strbuf_deinit(&p->rest);
        p->rest = rest;
        p->at_rest = 0;
    }
    return p->has_left;
}

/* From where the walk was left, in parts. */
static marey_status walk_parts(pass *p, const jstream_options *o, bool *is_over)
{
    p->reads_at = source_is_open_text(p->source) && !(p->tuning && p->tuning->in_turn);
    size_t n_held = 0;
    atomic_store(&p->held_to, p->reader->walk.offset);
    const char *held = p->reads_at ? source_hold_text(p->source, &n_held) : NULL;
    jstream_options walk = *o;
    walk.window_bytes = p->tuning ? p->tuning->window_bytes : 2 * CHROME_PART_BYTES; /* most parts are one window */
    chrome_parts_options parts = {.text = {.read = read_some,
                                           .read_at = p->reads_at ? read_at : NULL,
                                           .held = held,
                                           .held_bytes = n_held,
                                           .look = look,
                                           .look_away = look_behind,
                                           .ctx = p},
                                  .progress = o->progress,
                                  .workers = p->progress ? p->progress->workers : NULL,
                                  .walk = &walk,
                                  .n_threads = p->tuning ? p->tuning->threads : threads_of(p),
                                  .part_bytes = part_bytes(p),
                                  .n_parts = p->tuning ? p->tuning->n_parts : NULL};
    strbuf begin = p->rest;
    p->rest = (strbuf){0};
    strbuf left = {0};
    marey_status status = chrome_parts_run(p->reader, &parts, begin.s, begin.n, &left, is_over);
    strbuf_deinit(&begin);
    strbuf_deinit(&p->rest);
    p->rest = left;
    p->at_rest = 0;
    p->has_left = false;
    if (p->reads_at) {
        p->at_head = p->n_head;
        source_let_go(p->source);
        source_seek(p->source, p->reader->walk.offset);
        p->reads_at = false;
    }
    return status;
}

static marey_status walk_all(pass *p, jstream_options *o)
{
    bool is_over = false;
    unsigned n_failures = 0;
    marey_status status = MAREY_OK;
    while (status == MAREY_OK && !is_over) {
        p->may_part = o->leave && n_failures < PARTS_FAILURES_MAX;
        status = jstream_run(&p->reader->walk, o);
        is_over = !p->has_left;
        if (status == MAREY_OK && p->has_left) {
            status = walk_parts(p, o, &is_over);
            n_failures++;
        }
    }
    strbuf_deinit(&p->rest);
    p->at_rest = 0;
    return status;
}

static marey_status walk(pass *p)
{
    jstream_options o = {.read = read_some, .progress = report, .ctx = p};
    bool in_parts = wants_parts(p);
    size_t n = 0;
    const char *text = source_text(p->source, &n);
    uint64_t from = p->reader->walk.offset;
    bool in_place = !in_parts && !(p->tuning && (p->tuning->read_bytes || p->tuning->eager));
    bool is_held = in_place && !text && (text = source_hold_text(p->source, &n)) != NULL;
    if (in_place && text && from <= n) {
        o.memory = text + from;
        o.memory_bytes = n - (size_t)from;
    }
    if (is_held && o.memory) {
        o.look = look_ahead;
        o.leave_memory = leave_memory;
        p->held_from = from;
        atomic_store(&p->held_to, from);
        p->reads_at = true;
    } else if (is_held) {
        source_let_go(p->source); /* the file is shorter than it was */
    }
    o.leave = in_parts ? leave : NULL;
    o.window_bytes = in_parts ? LEAD_BYTES : 0;
    if (p->tuning) {
        o.window_bytes = p->tuning->window_bytes ? p->tuning->window_bytes : o.window_bytes;
        o.eager = p->tuning->eager;
        o.by_tokens = p->tuning->by_tokens;
        o.bits = p->tuning->bits;
    }
    p->ahead = !o.memory && !in_parts && wants_ahead(p) ? ahead_start(p->source) : NULL;
    if (p->ahead && !(p->tuning && (p->tuning->read_bytes || p->tuning->eager))) {
        o.take = take_some;
        o.first_bytes = p->n_head - p->at_head;
    }
    p->has_left = false;
    marey_status status = walk_all(p, &o);
    p->reader->hints |= p->reader->meta_hints;
    ahead_stop(&p->ahead);
    take_losses(p);
    return status == MAREY_OK ? source_status(p->source) : status;
}

static bool skip_bytes(pass *p, uint64_t n)
{
    while (n > 0) {
        size_t got = source_read(p->source, p->head, n < HEAD_BYTES ? (size_t)n : HEAD_BYTES);
        if (got == 0) {
            return false;
        }
        n -= got;
    }
    return true;
}

/* Losses of the source come again with every pass over it: they go to a diag that nobody reads. */
static marey_status pass_again(const input *in, pass *p, const char *member, uint64_t from)
{
    diag mute = {0};
    input quiet = *in;
    quiet.options.diag = &mute;
    strbuf path = {0};
    strbuf_puts(&path, in->path);
    if (member && !strstr(in->path, "!/")) {
        strbuf_printf(&path, "!/%s", member);
        quiet.path = path.s;
    }
    source *first = p->source;
    marey_status status = open_input(&quiet, &p->source);
    if (status == MAREY_OK) {
        p->n_head = 0;
        p->at_head = 0;
        chrome_restart_walk(p->reader, true, from);
        status = skip_bytes(p, from) ? walk(p) : MAREY_OK;
        source_close(&p->source);
    } else {
        status = MAREY_OK; /* what was read in the first pass is all there is */
    }
    p->source = first;
    strbuf_deinit(&path);
    diag_deinit(&mute);
    return status;
}

static bool found_something(const trace_builder *b)
{
    return b->n_events > 0 || b->n_samples > 0 || b->n_flows > 0;
}

/* Was it counted already that this input is cut, or that its unpacking went wrong? Once is enough. */
static bool known_to_be_cut(const trace_builder *b)
{
    for (size_t i = 0; b->diag && i < b->diag->n_losses; i++) {
        const diag_loss *l = &b->diag->losses[i];
        bool unpacking = l->loss == MAREY_LOSS_DAMAGED && l->detail && strcmp(l->detail, "compressed data") == 0;
        if (l->file == b->file && (l->loss == MAREY_LOSS_TRUNCATED || unpacking)) {
            return true;
        }
    }
    return false;
}

static void finish_walk(chrome_reader *c, bool cut)
{
    diag *d = c->walk.diag;
    c->walk.diag = cut ? NULL : d;
    jwalk_finish(&c->walk);
    c->walk.diag = d;
}

/* One stream, with a second pass where the first one lost its way around the list of events. */
static marey_status read_stream(const input *in, pass *p, const char *member, head_kind kind)
{
    chrome_reader *c = p->reader;
    bool lost = kind != HEAD_JSON;
    chrome_restart_walk(c, lost, 0);
    marey_status status = walk(p);
    if (status != MAREY_OK) {
        return status;
    }
    bool cut = known_to_be_cut(c->b);
    finish_walk(c, cut);
    uint64_t n_walked = c->walk.n_events;
    uint64_t open_from = c->walk.rescan_from;
    uint64_t from = n_walked == 0 ? 0 : open_from;
    if (lost || from == UINT64_MAX || c->walk.saw & JWALK_SAW_ARRAY_OF_ARRAYS) {
        if (kind == HEAD_TEXT && n_walked > 0) {
            chrome_lose(c, MAREY_LOSS_DAMAGED, 0, NULL);
        }
        return MAREY_OK;
    }
    status = pass_again(in, p, member, from);
    if (c->walk.n_events > 0) {
        chrome_lose(c, MAREY_LOSS_DAMAGED, open_from == UINT64_MAX ? 0 : open_from, NULL);
    } else if (open_from != UINT64_MAX && !cut) {
        chrome_lose(c, MAREY_LOSS_TRUNCATED, open_from, NULL);
    }
    return status;
}

/* ---- a file ---- */

static marey_status refuse(const input *in, const trace_builder *b, const char *what)
{
    diag_lose(b->diag, MAREY_LOSS_NOT_A_TRACE, b->file, 0, 1, NULL);
    return diag_error(b->diag, MAREY_UNSUPPORTED, in->path, DIAG_NO_OFFSET, "%s", what);
}

static const char *name_what_it_is(const chrome_reader *c, head_kind kind)
{
    if (kind == HEAD_PAGE) {
        return "is an HTML page without a trace in plain JSON";
    }
    if (kind == HEAD_TEXT) {
        return "is text that is neither a trace nor a graph that marey knows";
    }
    if (c->walk.saw & JWALK_SAW_ARRAY_OF_ARRAYS) {
        return "is a list of arrays (such as a memory timeline), not a trace";
    }
    if (c->hints & CHROME_HINT_CLOUD_TRACE) {
        return "is a Google Cloud Trace, which marey does not read";
    }
    if (c->hints & CHROME_HINT_NODES) {
        return c->hints & CHROME_HINT_SCHEMA ? "is an execution trace (a graph of operators), not a trace of time"
                                             : "is a graph, not a trace of time";
    }
    if (c->hints & CHROME_HINT_OTEL) {
        return "is an OpenTelemetry trace, which marey does not read";
    }
    if (c->hints & CHROME_HINT_SPEEDSCOPE) {
        return "is a speedscope profile, which marey does not read";
    }
    return "is JSON that is neither a trace nor a graph that marey knows";
}

/* What was counted most in this input, of what takes a record away. */
static const diag_loss *greatest_loss(const trace_builder *b)
{
    const diag_loss *most = NULL;
    for (size_t i = 0; b->diag && i < b->diag->n_losses; i++) {
        const diag_loss *l = &b->diag->losses[i];
        bool counts = l->loss == MAREY_LOSS_MISSING_TIME || l->loss == MAREY_LOSS_TIME_OVERFLOW ||
                      l->loss == MAREY_LOSS_UNMATCHED_END || l->loss == MAREY_LOSS_UNKNOWN_PHASE ||
                      l->loss == MAREY_LOSS_ASYNC_UNMATCHED || l->loss == MAREY_LOSS_EVENT_TOO_LARGE ||
                      l->loss == MAREY_LOSS_BAD_NUMBER || l->loss == MAREY_LOSS_TRUNCATED;
        if (counts && l->file == b->file && (!most || l->count > most->count)) {
            most = l;
        }
    }
    return most;
}

/* A trace that leaves nothing to show: why, where that is known. */
static marey_status refuse_without_events(const input *in, const trace_builder *b)
{
    const diag_loss *why = greatest_loss(b);
    if (!why) {
        return diag_error(b->diag, MAREY_FORMAT, in->path, DIAG_NO_OFFSET, "is a trace without events");
    }
    char count[48];
    char detail[64] = "";
    count_format(why->count, count, sizeof count);
    if (why->detail) {
        (void)snprintf(detail, sizeof detail, " \"%s\"", why->detail);
    }
    return diag_error(b->diag, MAREY_FORMAT, in->path, why->first_offset,
                      "is a trace without events that can be shown: %s x %s%s (%s)", count, marey_loss_code(why->loss),
                      detail, marey_loss_text(why->loss));
}

/* Nothing came out of the input: because there is nothing, or because it could not be unpacked? */
static const char *name_emptiness(const trace_builder *b)
{
    for (size_t i = 0; b->diag && i < b->diag->n_losses; i++) {
        const diag_loss *l = &b->diag->losses[i];
        if (l->file == b->file && l->loss == MAREY_LOSS_TRUNCATED) {
            return "is cut: it ends inside the head of its compressed data";
        }
        if (l->file == b->file && l->loss == MAREY_LOSS_DAMAGED) {
            return "is damaged: nothing of its compressed data can be unpacked";
        }
    }
    return "is empty";
}

/* An empty, cut or damaged file may have been a trace: what was in it is lost. */
static marey_status refuse_broken(const input *in, const trace_builder *b, const char *what)
{
    diag_lose(b->diag, MAREY_LOSS_NO_EVENTS, b->file, 0, 1, NULL);
    return diag_error(b->diag, MAREY_FORMAT, in->path, DIAG_NO_OFFSET, "%s", what);
}

static marey_status judge_result(const input *in, const chrome_reader *c, head first)
{
    const trace_builder *b = c->b;
    if (found_something(b)) {
        return MAREY_OK;
    }
    if (first.kind == HEAD_EMPTY) {
        return refuse_broken(in, b, name_emptiness(b));
    }
    if (first.kind == HEAD_OTHER) {
        return refuse(in, b, first.what);
    }
    bool list = c->walk.saw & JWALK_SAW_TRACE_EVENTS || (c->walk.saw & JWALK_SAW_EVENT_ARRAY && c->walk.n_events > 0);
    if (!list && first.is_cut) {
        return refuse_broken(in, b, "is JSON that is cut before its first event");
    }
    if (!list && c->n_processes == 0 && b->n_threads == 0) {
        return refuse(in, b, name_what_it_is(c, first.kind));
    }
    diag_lose(b->diag, MAREY_LOSS_NO_EVENTS, b->file, 0, 1, NULL);
    return refuse_without_events(in, b);
}

/* All members of the source, one after another. *first: of the member that matters for a refusal. */
static marey_status read_members(const input *in, pass *p, head *first)
{
    bool more = true;
    *first = (head){.kind = HEAD_EMPTY};
    while (more) {
        read_head(p);
        head h = head_judge(p->head, p->n_head);
        bool useful = h.kind == HEAD_JSON || h.kind == HEAD_PAGE || h.kind == HEAD_TEXT;
        *first = first->kind == HEAD_JSON || h.kind == HEAD_EMPTY ? *first : h;
        if (useful) {
            const char *member = source_n_members(p->source) > 0 ? source_current_member(p->source) : NULL;
            marey_status status = read_stream(in, p, member, h.kind);
            if (status != MAREY_OK) {
                return status;
            }
        }
        more = source_next_member(p->source);
    }
    return source_status(p->source);
}

marey_status chrome_read_into(chrome_reader *c, const char *path, const reader_progress *progress)
{
    input in = {.path = path};
    pass p = {.reader = c, .progress = progress, .path = path, .head = mem_alloc(HEAD_BYTES)};
    head first;
    take_losses(&p);
    in.options.diag = &p.told;
    marey_status status = open_input(&in, &p.source);
    if (status == MAREY_OK) {
        status = read_members(&in, &p, &first);
    }
    source_close(&p.source);
    take_losses(&p);
    diag_deinit(&p.told);
    free(p.head);
    return status;
}

static marey_status read_input(input *in, trace_builder *b, const reader_progress *progress,
                               const reader_tuning *tuning)
{
    chrome_reader *c = mem_alloc(sizeof *c);
    chrome_init(c, b);
    pass p = {.reader = c, .progress = progress, .tuning = tuning, .path = in->path, .head = mem_alloc(HEAD_BYTES)};
    take_losses(&p);
    in->options.diag = &p.told;
    in->options.file = 0;
    marey_status status = open_input(in, &p.source);
    if (status == MAREY_OK) {
        head first;
        status = read_members(in, &p, &first);
        if (status == MAREY_OK) {
            (void)report(&p);
            status = chrome_finish(c);
            take_losses(&p);
        }
        if (b->diag) {
            diag_sort(b->diag); /* parts of a stream count some of them later than the whole does */
        }
        status = status == MAREY_OK ? judge_result(in, c, first) : status;
    } else if (b->diag) {
        diag_lose(b->diag, MAREY_LOSS_UNREADABLE, b->file, 0, 1, NULL);
    }
    if (status == MAREY_CANCELLED && p.cancelled) {
        (void)diag_error(b->diag, status, in->path, DIAG_NO_OFFSET, "cancelled");
    }
    source_close(&p.source);
    take_losses(&p);
    diag_deinit(&p.told);
    chrome_deinit(c);
    free(p.head);
    free(c);
    return status;
}

marey_status reader_read_file(const char *path, trace_builder *b, const reader_progress *progress)
{
    input in = {.path = path};
    return read_input(&in, b, progress, NULL);
}

marey_status reader_read_memory(const void *data, size_t size, const char *name, trace_builder *b,
                                const reader_tuning *tuning)
{
    input in = {.path = name, .memory = data, .size = size};
    if (tuning && tuning->zlib) {
        in.options.inflate = SOURCE_INFLATE_ZLIB;
    }
    return read_input(&in, b, NULL, tuning);
}

/* ---- folders and archives ---- */

static int sniff_source(source *s)
{
    pass p = {.source = s, .head = mem_alloc(HEAD_BYTES)};
    read_head(&p);
    head h = head_judge(p.head, p.n_head);
    int answer = 0;
    if (h.kind != HEAD_EMPTY && h.kind != HEAD_OTHER) {
        bool sure = head_has(p.head, p.n_head, "\"traceEvents\"") || head_has(p.head, p.n_head, "\"ph\"");
        answer = sure ? 2 : 0;
        bool kineto =
            head_has(p.head, p.n_head, "\"schemaVersion\"") && head_has(p.head, p.n_head, "\"deviceProperties\"");
        answer = !sure && h.kind == HEAD_JSON && (kineto || p.n_head == HEAD_BYTES) ? 1 : answer;
        const char *start = memchr(p.head, '[', p.n_head);
        bool arrays = start && memchr(p.head, '{', (size_t)(start - p.head)) == NULL && start + 1 < p.head + p.n_head &&
                      start[1] == '[';
        answer = arrays ? 0 : answer;
    }
    free(p.head);
    return answer;
}

/* Is it called like a trace? */
static bool has_trace_name(const char *path)
{
    static const char *const parts[] = {".json", ".trace"};
    const char *base = path_base(path);
    bool yes = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        yes |= strcasestr(base, parts[i]) != NULL;
    }
    return yes;
}

/* Called like a trace, but empty, cut right at the beginning, or damaged so that it can't be unpacked. */
static bool is_broken(source *s, const char *name, diag *told)
{
    pass p = {.source = s, .head = mem_alloc(HEAD_BYTES)};
    size_t before = told->n_losses;
    read_head(&p);
    head h = head_judge(p.head, p.n_head);
    bool yes = has_trace_name(name) && (h.kind == HEAD_EMPTY || h.is_cut || told->n_losses > before);
    free(p.head);
    return yes;
}

bool reader_is_broken_file(const char *path)
{
    source *s = NULL;
    diag told;
    diag_init(&told);
    source_options options = {.diag = &told};
    bool failed = source_open(path, &options, &s) != MAREY_OK;
    bool yes = failed ? has_trace_name(path) : is_broken(s, path, &told);
    while (!failed && !yes && source_next_member(s)) {
        yes = is_broken(s, source_current_member(s), &told);
    }
    source_close(&s);
    diag_deinit(&told);
    return yes;
}

int reader_sniff_file(const char *path)
{
    source *s = NULL;
    source_options quiet = {0};
    if (source_open(path, &quiet, &s) != MAREY_OK) {
        return 0;
    }
    int answer = sniff_source(s);
    while (answer < 2 && source_next_member(s)) {
        int member = sniff_source(s);
        answer = member > answer ? member : answer;
    }
    source_close(&s);
    return answer;
}

marey_status reader_list_inputs(const char *path, arena *names, char ***paths, size_t *n, size_t *cap)
{
    source *s = NULL;
    source_options quiet = {0};
    size_t before = *n;
    if (source_open(path, &quiet, &s) == MAREY_OK && source_n_members(s) > 1) {
        bool more = true;
        while (more) {
            strbuf b = {0};
            strbuf_printf(&b, "%s!/%s", path, source_current_member(s));
            if (sniff_source(s) > 0 || reader_is_broken_file(b.s)) {
                VEC_PUSH(*paths, *n, *cap, arena_strndup(names, b.s, b.n));
            }
            strbuf_deinit(&b);
            more = source_next_member(s);
        }
    }
    source_close(&s);
    if (*n == before) {
        VEC_PUSH(*paths, *n, *cap, arena_strndup(names, path, strlen(path)));
    }
    return MAREY_OK;
}
