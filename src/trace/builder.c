#include "trace/builder.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/mem.h"
#include "trace/model.h"

enum { ARGS_BYTES = 2 * 1024 * 1024, NAME_SLOTS_FIRST = 1024 };

void trace_builder_init(trace_builder *b)
{
    memset(b, 0, sizeof *b);
    b->facts.format = "chrome";
    b->facts.rank = -1;
    b->facts.world_size = -1;
    b->facts.stage = b->facts.dp = b->facts.tp = b->facts.ep = -1;
    b->facts.backend = NO_ID;
    b->facts.host = NO_ID;
    b->facts.device_name = NO_ID;
    b->at = DIAG_NO_OFFSET;
}

static void free_chunk(trace_chunk *c)
{
    free(c->rows);
    free(c->args);
    memset(c, 0, sizeof *c);
}

void trace_builder_deinit(trace_builder *b)
{
    free_chunk(&b->chunk);
    intern_deinit(&b->strings);
    intern_deinit(&b->thread_keys);
    intern_deinit(&b->process_keys);
    map64_deinit(&b->name_keys);
    arena_deinit(&b->mem);
    free(b->threads);
    free(b->names);
    free(b->collectives);
    free(b->flows);
    free(b->samples);
    free(b->name_slots);
    free(b->names_seen);
    free(b->odd);
    free(b->facts.groups_json);
    trace_side_deinit(&b->side);
    memset(b, 0, sizeof *b);
}

/* ---- threads ---- */

uint32_t trace_builder_process(trace_builder *b, const char *pid, size_t n)
{
    uint32_t id = intern_put(&b->process_keys, pid, n);
    b->n_processes = (uint32_t)b->process_keys.n;
    return id;
}

static uint32_t make_thread(trace_builder *b, const char *pid, size_t n_pid, const char *tid, size_t n_tid)
{
    /* The key is the process's number, then the tid's bytes: no text of the two can be mistaken for another pair. */
    uint32_t process = trace_builder_process(b, pid, n_pid);
    strbuf key = {0};
    strbuf_add(&key, (const char *)&process, sizeof process);
    strbuf_add(&key, tid, n_tid);
    uint32_t id = intern_put(&b->thread_keys, key.s, key.n);
    strbuf_deinit(&key);
    if (id == b->n_threads) {
        trace_thread_in t = {.pid = arena_strndup(&b->mem, pid, n_pid),
                             .tid = arena_strndup(&b->mem, tid, n_tid),
                             .pid_id = process,
                             .name = NO_ID,
                             .process_name = NO_ID,
                             .labels = NO_ID,
                             .sort_index = INT64_MIN,
                             .process_sort_index = INT64_MIN,
                             .at = b->at};
        VEC_PUSH(b->threads, b->n_threads, b->cap_threads, t);
    }
    return id;
}

/* Two to four threads take turns in most inputs: a small direct-mapped cache by the last bytes of the tid. */
uint32_t trace_builder_thread(trace_builder *b, const char *pid, size_t n_pid, const char *tid, size_t n_tid)
{
    unsigned mix = (unsigned)(n_tid * 5 + n_pid);
    mix += n_tid ? (unsigned char)tid[n_tid - 1] * 3U + (unsigned char)tid[n_tid / 2] * 7U : 0;
    mix += n_pid ? (unsigned char)pid[n_pid - 1] * 11U : 0;
    trace_thread_cache *c = &b->thread_cache[mix % TRACE_THREAD_CACHE];
    if (c->pid && c->n_pid == n_pid && c->n_tid == n_tid && memcmp(c->pid, pid, n_pid) == 0 &&
        memcmp(c->tid, tid, n_tid) == 0) {
        return c->id;
    }
    uint32_t id = make_thread(b, pid, n_pid, tid, n_tid);
    *c = (trace_thread_cache){b->threads[id].pid, b->threads[id].tid, n_pid, n_tid, id};
    return id;
}

/* ---- strings and names ---- */

/* Plain printable ASCII without a backslash needs no decoding. */
static bool is_plain(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c >= 0x7F || c == '\\') {
            return false;
        }
    }
    return true;
}

uint32_t trace_builder_string(trace_builder *b, const char *s, size_t n)
{
    size_t before = b->strings.n;
    uint32_t id = intern_put(&b->strings, s, n);
    if (b->strings.n > before && !is_plain(s, n)) {
        VEC_PUSH(b->odd, b->n_odd, b->cap_odd, ((trace_odd_string){id, b->at}));
    }
    return id;
}

uint32_t trace_builder_name(trace_builder *b, uint32_t text, uint32_t source)
{
    uint64_t *place = map64_put(&b->name_keys, (uint64_t)source << 32 | text);
    if (*place == 0) {
        trace_name_in name = {.text = text, .source = source};
        VEC_PUSH(b->names, b->n_names, b->cap_names, name);
        *place = b->n_names;
    }
    return (uint32_t)(*place - 1);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide p = (wide)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Names are short, so that a call costs more than the comparison. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
    if (n < 16) {
        return trace_name_first(a, n) == trace_name_first(b, n) && trace_name_last(a, n) == trace_name_last(b, n);
    }
    uint64_t differ = (trace_name_word(a + n - 16) ^ trace_name_word(b + n - 16)) |
                      (trace_name_word(a + n - 8) ^ trace_name_word(b + n - 8));
    for (size_t i = 0; i + 16 < n; i += 16) {
        differ |= (trace_name_word(a + i) ^ trace_name_word(b + i)) |
                  (trace_name_word(a + i + 8) ^ trace_name_word(b + i + 8));
    }
    return differ == 0;
}

/* Hash of a name and its source. Long names are read in 32-byte steps with two independent products, and their last
 * bytes by loads that overlap, so that no length costs a call. */
static uint64_t name_hash(uint64_t seed, const char *s, size_t n, uint32_t source)
{
    uint64_t h = seed ^ (n * 0x9E3779B97F4A7C15U) ^ ((uint64_t)source << 32 | source);
    if (n < 16) {
        return fold(trace_name_first(s, n) ^ 0xA0761D6478BD642FU, trace_name_last(s, n) ^ h);
    }
    uint64_t g = h ^ 0x8EBC6AF09C88C6E3U;
    const char *end = s + n;
    for (; end - s > 32; s += 32) {
        h = fold(trace_name_word(s) ^ 0xA0761D6478BD642FU, trace_name_word(s + 8) ^ h);
        g = fold(trace_name_word(s + 16) ^ 0xE7037ED1A0B428DBU, trace_name_word(s + 24) ^ g);
    }
    const char *first = end - s >= 16 ? s : end - 16;
    h = fold(trace_name_word(first) ^ 0xA0761D6478BD642FU, trace_name_word(first + 8) ^ h);
    g = fold(trace_name_word(end - 16) ^ 0xE7037ED1A0B428DBU, trace_name_word(end - 8) ^ g);
    return fold(h ^ 0x589965CC75374CC3U, g);
}

static void grow_names(trace_builder *b)
{
    size_t cap = b->cap_name_slots ? b->cap_name_slots * 2 : NAME_SLOTS_FIRST;
    trace_name_slot *slots = mem_calloc(cap, sizeof *slots);
    for (size_t i = 0; i < b->cap_name_slots; i++) {
        trace_name_slot s = b->name_slots[i];
        if (s.text) {
            size_t k = s.hash & (cap - 1);
            while (slots[k].text) {
                k = (k + 1) & (cap - 1);
            }
            slots[k] = s;
        }
    }
    free(b->name_slots);
    b->name_slots = slots;
    b->cap_name_slots = cap;
}

/* By its hash. */
static const trace_name_slot *find_name(trace_builder *b, const char *s, size_t n, uint32_t source)
{
    if (b->n_name_slots * 2 >= b->cap_name_slots) {
        grow_names(b);
        b->name_seed = b->name_seed ? b->name_seed : hash_bytes("names", 5) | 1;
    }
    uint64_t hash = name_hash(b->name_seed, s, n, source);
    size_t i = hash & (b->cap_name_slots - 1);
    for (; b->name_slots[i].text; i = (i + 1) & (b->cap_name_slots - 1)) {
        const trace_name_slot *slot = &b->name_slots[i];
        if (slot->hash == hash && slot->len == n && b->names[slot->id].source == source &&
            same_bytes(slot->text, s, n)) {
            return slot;
        }
    }
    uint32_t text = trace_builder_string(b, s, n);
    uint32_t id = trace_builder_name(b, text, source);
    b->name_slots[i] = (trace_name_slot){hash, b->strings.text[text], (uint32_t)n, id};
    b->n_name_slots++;
    return &b->name_slots[i];
}

#ifdef __SSE2__
static inline __m128i name_load(const char *s)
{
    return _mm_loadu_si128((const __m128i *)(const void *)s);
}
#endif

/* Of names of the same n > 16 bytes, whose first and last 8 are known to be the same. */
static inline bool same_inside(const char *a, const char *b, size_t n)
{
#ifdef __SSE2__
    __m128i same = _mm_cmpeq_epi8(name_load(a + n - 16), name_load(b + n - 16));
    for (size_t i = 8; i + 16 < n; i += 16) {
        same = _mm_and_si128(same, _mm_cmpeq_epi8(name_load(a + i), name_load(b + i)));
    }
    return _mm_movemask_epi8(same) == 0xFFFF;
#else
    uint64_t differ = 0;
    for (size_t i = 8; i + 16 < n; i += 16) {
        differ |= (trace_name_word(a + i) ^ trace_name_word(b + i)) |
                  (trace_name_word(a + i + 8) ^ trace_name_word(b + i + 8));
    }
    differ |= trace_name_word(a + n - 16) ^ trace_name_word(b + n - 16);
    return differ == 0;
#endif
}

/* A name that did not come lately takes the place of one that did. Apart, so that the others cost few registers. */
static __attribute__((noinline)) uint32_t name_again(trace_builder *b, const char *s, size_t n, uint32_t source)
{
    if (!b->names_seen) {
        b->names_seen = mem_calloc(TRACE_NAMES_SEEN, sizeof *b->names_seen);
    }
    uint64_t first = trace_name_first(s, n);
    uint64_t last = trace_name_last(s, n);
    const trace_name_slot *slot = find_name(b, s, n, source);
    b->names_seen[trace_name_mix(s, n, first, last) >> 53] =
        (trace_name_seen){first, last, slot->text, (uint32_t)n, source, slot->id};
    return slot->id;
}

/* Most names came lately: those are told by their ends, and by the rest only where that is so. */
uint32_t trace_builder_name_raw(trace_builder *b, const char *s, size_t n, uint32_t source)
{
    if (b->names_seen) {
        uint64_t first = trace_name_first(s, n);
        uint64_t last = trace_name_last(s, n);
        const trace_name_seen *seen = &b->names_seen[trace_name_mix(s, n, first, last) >> 53];
        uint64_t differ = (seen->first ^ first) | (seen->last ^ last) | (seen->len ^ n) | (seen->source ^ source);
        if (differ == 0 && seen->text && (n <= 16 || same_inside(seen->text, s, n))) {
            return seen->id;
        }
    }
    return name_again(b, s, n, source);
}

/* ---- rows ---- */

static void make_chunk(trace_chunk *c)
{
    c->rows = mem_alloc_large(TRACE_CHUNK_EVENTS * sizeof *c->rows);
    c->args = mem_alloc_large(ARGS_BYTES);
    c->cap_args = ARGS_BYTES;
}

static marey_status flush(trace_builder *b)
{
    marey_status status = b->flush && b->chunk.n > 0 ? b->flush(b->flush_ctx, &b->chunk) : MAREY_OK;
    b->chunk.n = 0;
    b->chunk.n_args = 0;
    return status;
}

marey_status trace_builder_room(trace_builder *b, size_t n_args)
{
    trace_chunk *c = &b->chunk;
    if (!c->rows) {
        make_chunk(c);
    }
    marey_status status = MAREY_OK;
    if (c->n == TRACE_CHUNK_EVENTS || (c->n > 0 && c->n_args + n_args > ARGS_BYTES)) {
        status = flush(b);
        if (!c->rows) {
            make_chunk(c);
        }
    }
    if (c->n_args + n_args > c->cap_args) {
        size_t cap = c->cap_args * 2;
        cap = cap < c->n_args + n_args ? c->n_args + n_args : cap;
        c->args = mem_realloc_array(c->args, cap, 1);
        c->cap_args = cap;
    }
    return status;
}

/* Room that the event's arguments need in the chunk. *is_taken: the builder's taker has taken them apart. */
static size_t args_room(trace_builder *b, const trace_event_in *e, bool *is_taken)
{
    if (!e->args || e->args_len == 0 || !b->taker) {
        return e->args ? e->args_len : 0;
    }
    *is_taken =
        arg_taker_followed(b->taker, e->args, e->args_len) || arg_taker_take(b->taker, e->name, e->args, e->args_len);
    size_t most = *is_taken ? arg_taker_record_most(b->taker) : sizeof(uint32_t) + e->args_len;
    return most + ARG_RECORD_PAD_BYTES;
}

/* @return how many bytes they are */
static size_t put_args(const trace_builder *b, const trace_event_in *e, char *out, bool is_taken)
{
    if (is_taken) {
        return arg_taker_record(b->taker, out);
    }
    if (b->taker) {
        arg_record_text(out, e->args, e->args_len);
        return sizeof(uint32_t) + e->args_len;
    }
    memcpy(out, e->args, e->args_len);
    return e->args_len;
}

marey_status trace_builder_event(trace_builder *b, const trace_event_in *e)
{
    trace_chunk *c = &b->chunk;
    bool is_taken = false;
    size_t n_args = args_room(b, e, &is_taken);
    marey_status status = MAREY_OK;
    if (c->n == TRACE_CHUNK_EVENTS || c->n_args + n_args > c->cap_args || !c->rows) {
        status = trace_builder_room(b, n_args);
    }
    n_args = n_args ? put_args(b, e, c->args + c->n_args, is_taken) : 0;
    trace_builder_put_row(b, e, n_args);
    return status;
}

void trace_builder_collective(trace_builder *b, const trace_collective_in *c)
{
    VEC_PUSH(b->collectives, b->n_collectives, b->cap_collectives, *c);
}

void trace_builder_flow(trace_builder *b, const trace_flow_in *f)
{
    VEC_PUSH(b->flows, b->n_flows, b->cap_flows, *f);
}

void trace_builder_sample(trace_builder *b, const trace_sample_in *s)
{
    VEC_PUSH(b->samples, b->n_samples, b->cap_samples, *s);
}

/* ---- the end ---- */

static const char *decoded(trace_builder *b, const char *raw, size_t n, trace_decode_fn decode, void *ctx, strbuf *out)
{
    strbuf_clear(out);
    decode(ctx, raw, n, out);
    return arena_strndup(&b->mem, strbuf_str(out), out->n);
}

marey_status trace_builder_finish(trace_builder *b, trace_decode_fn decode, void *ctx)
{
    marey_status status = flush(b);
    strbuf out = {0};
    for (size_t k = 0; decode && k < b->n_odd; k++) {
        uint32_t i = b->odd[k].id;
        b->at = b->odd[k].at;
        b->strings.text[i] = decoded(b, b->strings.text[i], b->strings.len[i], decode, ctx, &out);
        b->strings.len[i] = (uint32_t)out.n;
    }
    for (size_t i = 0; decode && i < b->n_threads; i++) {
        trace_thread_in *t = &b->threads[i];
        b->at = t->at;
        if (!is_plain(t->pid, strlen(t->pid))) {
            t->pid = decoded(b, t->pid, strlen(t->pid), decode, ctx, &out);
        }
        if (!is_plain(t->tid, strlen(t->tid))) {
            t->tid = decoded(b, t->tid, strlen(t->tid), decode, ctx, &out);
        }
    }
    strbuf_deinit(&out);
    memset(b->thread_cache, 0, sizeof b->thread_cache);
    free_chunk(&b->chunk);
    return status;
}
