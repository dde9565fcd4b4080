#include "readers/chrome.h"

#include <stdlib.h>
#include <string.h>

#include "parse/decns.h"

/* ---- pieces ---- */

void chrome_lose(chrome_reader *c, marey_loss loss, uint64_t offset, const char *detail)
{
    diag_lose(c->b->diag, loss, c->b->file, offset, 1, detail);
}

static bool is_text(jspan s)
{
    return s.kind == JKIND_STRING || s.kind == JKIND_SCALAR;
}

/* At most 64 KiB of it, and no broken character at the cut. */
static jspan cut_name(chrome_reader *c, const jevent *e, jspan s)
{
    if (s.n <= CHROME_NAME_BYTES_MAX) {
        return s;
    }
    chrome_lose(c, MAREY_LOSS_NAME_TRUNCATED, e->offset, NULL);
    s.n = CHROME_NAME_BYTES_MAX;
    while (s.n > 0 && ((unsigned char)s.s[s.n] & 0xC0) == 0x80) {
        s.n--;
    }
    return s;
}

uint32_t chrome_string(chrome_reader *c, jspan s)
{
    uint32_t n = s.n < CHROME_NAME_BYTES_MAX ? s.n : CHROME_NAME_BYTES_MAX;
    return is_text(s) ? trace_builder_string(c->b, s.s, n) : NO_ID;
}

static uint32_t source_id(chrome_reader *c, const jevent *e)
{
    jspan cat = jevent_field(e, JKEY_CAT);
    if (!is_text(cat) || cat.n == 0) {
        return NO_ID;
    }
    if (cat.n > sizeof c->sources->text) {
        return chrome_string(c, cat);
    }
    unsigned mix = cat.n * 5 + (unsigned char)cat.s[cat.n - 1] + (unsigned char)cat.s[cat.n / 2] * 7U;
    chrome_source *s = &c->sources[mix % CHROME_SOURCE_CACHE];
    if (s->n != cat.n || memcmp(s->text, cat.s, cat.n) != 0) {
        s->id = chrome_string(c, cat);
        s->n = (uint8_t)cat.n;
        memcpy(s->text, cat.s, cat.n);
    }
    return s->id;
}

static uint32_t name_id(chrome_reader *c, const jevent *e)
{
    jspan name = jevent_field(e, JKEY_NAME);
    name = is_text(name) ? cut_name(c, e, name) : (jspan){"", 0, JKIND_STRING};
    return trace_builder_name_raw(c->b, name.s, name.n, source_id(c, e));
}

static jspan text_field(const jevent *e, jkey key)
{
    jspan s = jevent_field(e, key);
    s = is_text(s) ? s : (jspan){"", 0, JKIND_STRING};
    s.n = s.n < CHROME_NAME_BYTES_MAX ? s.n : CHROME_NAME_BYTES_MAX;
    return s;
}

static uint32_t thread_id(chrome_reader *c, const jevent *e)
{
    jspan pid = text_field(e, JKEY_PID);
    jspan tid = text_field(e, JKEY_TID);
    return trace_builder_thread(c->b, pid.s, pid.n, tid.s, tid.n);
}

/* The thread where asynchronous operations of the event's category go. */
static uint32_t async_thread(chrome_reader *c, const jevent *e)
{
    jspan pid = text_field(e, JKEY_PID);
    jspan cat = text_field(e, JKEY_CAT);
    strbuf tid = {0};
    strbuf_puts(&tid, "async:");
    strbuf_add(&tid, cat.s, cat.n);
    uint32_t id = trace_builder_thread(c->b, pid.s, pid.n, tid.s, tid.n);
    strbuf_deinit(&tid);
    return id;
}

/* A time field in ns. @return what it is worth; counts what is wrong with it */
static decns_result time_field(chrome_reader *c, const jevent *e, jkey key, int64_t *ns)
{
    jspan s = jevent_field(e, key);
    if (s.kind == JKIND_NONE) {
        return DECNS_BAD;
    }
    if (e->times >> key & 1) {
        *ns = e->time_ns[key - JKEY_TS];
        return DECNS_OK;
    }
    decns_result result = is_text(s) ? decns_parse_us_padded(s.s, s.n, ns) : DECNS_BAD;
    if (result == DECNS_OK && s.kind == JKIND_STRING && !c->times_are_text) {
        chrome_lose(c, MAREY_LOSS_QUOTED_NUMBER, e->offset, NULL);
    } else if (result == DECNS_BAD) {
        chrome_lose(c, MAREY_LOSS_BAD_NUMBER, e->offset, NULL);
    } else if (result == DECNS_OVERFLOW) {
        chrome_lose(c, MAREY_LOSS_TIME_OVERFLOW, e->offset, NULL);
    }
    return result;
}

static bool start_time(chrome_reader *c, const jevent *e, int64_t *ns)
{
    decns_result result = time_field(c, e, JKEY_TS, ns);
    if (result == DECNS_BAD) {
        chrome_lose(c, MAREY_LOSS_MISSING_TIME, e->offset, NULL);
    }
    return result == DECNS_OK;
}

static inline void take_args(const jevent *e, trace_event_in *in)
{
    jspan args = jevent_field(e, JKEY_ARGS);
    if (args.kind == JKIND_OBJECT && args.n > 2) {
        in->args = args.s;
        in->args_len = args.n;
    }
}

static inline marey_status push_whole(chrome_reader *c, const jevent *e, trace_event_in in)
{
    marey_status status = trace_builder_event_followed(c->b, &in);
    if (!c->args_known) {
        chrome_args_learn(c, e);
    }
    if (e->args_seen) {
        kineto_collective(c, e);
    }
    return status;
}

static marey_status push_named(chrome_reader *c, const jevent *e, trace_event_in *in)
{
    take_args(e, in);
    in->correlation = kineto_correlation(c, e);
    if (c->hook && !c->hook(c->hook_ctx, e, in)) {
        return MAREY_OK;
    }
    return push_whole(c, e, *in);
}

static marey_status push(chrome_reader *c, const jevent *e, trace_event_in *in)
{
    in->thread = thread_id(c, e);
    in->name = name_id(c, e);
    return push_named(c, e, in);
}

/* ---- flows ---- */

/* FNV-1a: the same id for the same text in every run. */
static uint64_t text_hash(uint64_t h, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (unsigned char)s[i]) * 0x100000001B3U;
    }
    return h;
}

static const uint64_t hash_basis = 0xCBF29CE484222325U;

/* The number that an id states, or a hash of its text; `id2` may be local to the process. */
static uint64_t event_id(const jevent *e, jkey key)
{
    jspan id = jevent_field(e, key);
    jspan id2 = jevent_field(e, JKEY_ID2);
    uint64_t h = hash_basis;
    if (key == JKEY_ID && id.kind == JKIND_NONE && id2.kind == JKIND_OBJECT) {
        jspan local = jspan_member(id2, "local");
        if (local.kind != JKIND_NONE) {
            jspan pid = text_field(e, JKEY_PID);
            return text_hash(text_hash(h, pid.s, pid.n) + 1, local.s, local.n);
        }
        id = jspan_member(id2, "global");
    }
    uint64_t value = 0;
    if (is_text(id) && decns_parse_u64(id.s, id.n, &value)) {
        return value;
    }
    return text_hash(h, id.s, id.n);
}

static bool is_launch_flow(jspan cat)
{
    return cat.n == 4 && memcmp(cat.s, "ac2g", 4) == 0;
}

static void add_flow(chrome_reader *c, const jevent *e, trace_flow_phase phase, jkey id, bool binds)
{
    jspan kind = text_field(e, JKEY_CAT);
    trace_flow_in flow = {.phase = (uint8_t)phase, .binds_enclosing = binds};
    if (is_launch_flow(kind)) {
        if (c->n_correlated > 0) {
            c->b->n_ac2g_flows++;
            return;
        }
        if (c->notes) {
            c->notes->n_early_flows++;
            return;
        }
        c->ac2g = chrome_string(c, kind);
    }
    if (!start_time(c, e, &flow.ts_ns)) {
        return;
    }
    kind = kind.n > 0 ? kind : text_field(e, JKEY_NAME);
    flow.kind = chrome_string(c, kind);
    flow.id = event_id(e, id);
    flow.thread = thread_id(c, e);
    trace_builder_flow(c->b, &flow);
}

static void on_flow(chrome_reader *c, const jevent *e, trace_flow_phase phase)
{
    jspan bp = jevent_field(e, JKEY_BP);
    add_flow(c, e, phase, JKEY_ID, phase != FLOW_END || jspan_is(bp, "e"));
}

/* Flows of the second kind: a slice says itself that it begins or ends one. */
static void on_bind_id(chrome_reader *c, const jevent *e)
{
    jspan in = jevent_field(e, JKEY_FLOW_IN);
    jspan out = jevent_field(e, JKEY_FLOW_OUT);
    bool into = in.kind != JKIND_NONE && !jspan_is(in, "false");
    bool out_of = out.kind != JKIND_NONE && !jspan_is(out, "false");
    if (into) {
        add_flow(c, e, out_of ? FLOW_STEP : FLOW_END, JKEY_BIND_ID, true);
    } else if (out_of) {
        add_flow(c, e, FLOW_START, JKEY_BIND_ID, true);
    }
}

/* ---- intervals and instants ---- */

static marey_status on_complete(chrome_reader *c, const jevent *e)
{
    trace_event_in in = {0};
    if (!start_time(c, e, &in.start_ns)) {
        return MAREY_OK;
    }
    decns_result result = time_field(c, e, JKEY_DUR, &in.dur_ns);
    int64_t end = 0;
    if (result == DECNS_BAD) {
        chrome_lose(c, MAREY_LOSS_MISSING_DURATION, e->offset, NULL);
    } else if (result == DECNS_OK && in.dur_ns < 0) {
        chrome_lose(c, MAREY_LOSS_NEGATIVE_DURATION, e->offset, NULL);
        in.dur_ns = 0;
        in.flags = EVENT_REPAIRED | SEVERITY_LOST;
    } else if (result == DECNS_OK && __builtin_add_overflow(in.start_ns, in.dur_ns, &end)) {
        chrome_lose(c, MAREY_LOSS_TIME_OVERFLOW, e->offset, NULL);
        result = DECNS_OVERFLOW;
    }
    if (result != DECNS_OK) {
        in.dur_ns = 0;
        in.flags = EVENT_UNFINISHED | EVENT_REPAIRED | SEVERITY_LOST;
    }
    if (e->seen >> JKEY_BIND_ID & 1) {
        on_bind_id(c, e);
    }
    return push(c, e, &in);
}

/* The id that all events of that like have, found for the first of them. */
static inline uint32_t shared_id(chrome_reader *c, const jevent *e, uint32_t *id,
                                 uint32_t (*find)(chrome_reader *c, const jevent *e))
{
    return *id != NO_ID ? *id : (*id = find(c, e));
}

/* Times that are there, if nothing is wrong with them. */
static bool plain_times(const jevent *e, int64_t ns[2])
{
    jspan ts = e->field[JKEY_TS];
    jspan dur = e->field[JKEY_DUR];
    return ts.kind == JKIND_SCALAR && dur.kind == JKIND_SCALAR &&
           decns_parse_us_padded(ts.s, ts.n, &ns[0]) == DECNS_OK &&
           decns_parse_us_padded(dur.s, dur.n, &ns[1]) == DECNS_OK;
}

/* As on_complete(), where nothing is wrong with the event. */
static marey_status on_plain(chrome_reader *c, const jevent *e, chrome_like *like)
{
    const uint32_t both = 1U << JKEY_TS | 1U << JKEY_DUR;
    jspan name = e->field[JKEY_NAME];
    int64_t ns[2] = {e->time_ns[0], e->time_ns[1]};
    if ((e->times & both) != both && !plain_times(e, ns)) {
        return on_complete(c, e);
    }
    int64_t start = ns[0];
    int64_t dur = ns[1];
    int64_t end;
    bool usual = is_text(name) && name.n <= CHROME_NAME_BYTES_MAX && !c->hook && dur >= 0 &&
                 !__builtin_add_overflow(start, dur, &end);
    if (!usual) {
        return on_complete(c, e);
    }
    uint32_t thread = shared_id(c, e, &like->thread, thread_id);
    uint32_t source = shared_id(c, e, &like->source, source_id);
    uint32_t id = trace_builder_name_raw(c->b, name.s, name.n, source);
    trace_event_in in = {.start_ns = start, .dur_ns = dur, .thread = thread, .name = id};
    take_args(e, &in);
    in.correlation = e->args_seen ? kineto_correlation(c, e) : 0;
    return push_whole(c, e, in);
}

static marey_status on_instant(chrome_reader *c, const jevent *e)
{
    trace_event_in in = {.flags = EVENT_INSTANT};
    return start_time(c, e, &in.start_ns) ? push(c, e, &in) : MAREY_OK;
}

static void fill_half(chrome_reader *c, const jevent *e, pair_half *h)
{
    jspan args = jevent_field(e, JKEY_ARGS);
    jspan name = jevent_field(e, JKEY_NAME);
    h->offset = e->offset;
    if (args.kind == JKIND_OBJECT && args.n > 2) {
        h->args = (char *)(uintptr_t)args.s; /* borrowed: pairs copies what it keeps */
        h->args_len = args.n;
    }
    h->text = NO_ID;
    if (h->begin) {
        h->name = name_id(c, e);
        h->text = c->b->names[h->name].text;
        h->correlation = kineto_correlation(c, e);
    } else if (is_text(name)) {
        name = cut_name(c, e, name);
        h->text = trace_builder_string(c->b, name.s, name.n);
    }
}

marey_status chrome_take_half(chrome_reader *c, const chrome_half *h)
{
    return h->is_async ? pairs_add_async(&c->pairs, h->key, &h->half) : pairs_add(&c->pairs, &h->half);
}

static marey_status add_half(chrome_reader *c, const chrome_half *h)
{
    chrome_notes *n = c->notes;
    if (!n) {
        return chrome_take_half(c, h);
    }
    VEC_PUSH(n->halves, n->n_halves, n->cap_halves, *h);
    return MAREY_OK;
}

static marey_status on_half(chrome_reader *c, const jevent *e, bool begin)
{
    chrome_half h = {.half.begin = begin, .row = c->b->n_events};
    if (!start_time(c, e, &h.half.ts_ns)) {
        return MAREY_OK;
    }
    fill_half(c, e, &h.half);
    h.half.thread = thread_id(c, e);
    if (begin && (e->seen >> JKEY_BIND_ID & 1)) {
        on_bind_id(c, e);
    }
    return add_half(c, &h);
}

static marey_status on_async(chrome_reader *c, const jevent *e, bool begin, bool by_name)
{
    chrome_half h = {.half.begin = begin, .row = c->b->n_events, .is_async = true};
    if (!start_time(c, e, &h.half.ts_ns)) {
        return MAREY_OK;
    }
    fill_half(c, e, &h.half);
    h.half.thread = async_thread(c, e);
    jspan cat = text_field(e, JKEY_CAT);
    jspan more = text_field(e, by_name ? JKEY_NAME : JKEY_SCOPE);
    uint64_t key = text_hash(hash_basis + by_name, cat.s, cat.n);
    key = text_hash(key + 1, more.s, more.n);
    h.key = hash_u64(key ^ hash_u64(event_id(e, JKEY_ID) + 1));
    return add_half(c, &h);
}

static marey_status on_async_instant(chrome_reader *c, const jevent *e)
{
    trace_event_in in = {.flags = EVENT_INSTANT};
    if (!start_time(c, e, &in.start_ns)) {
        return MAREY_OK;
    }
    in.thread = async_thread(c, e);
    in.name = name_id(c, e);
    take_args(e, &in);
    return trace_builder_event(c->b, &in);
}

/* The arguments of both halves as one object; of a member in both, the end's counts, as it comes last. */
static void join_args(const pair_half *begin, const pair_half *end, strbuf *out)
{
    strbuf_add(out, begin->args, begin->args_len - 1);
    strbuf_puts(out, ",");
    strbuf_add(out, end->args + 1, end->args_len - 1);
}

static marey_status on_pair(void *ctx, const pair_half *begin, const pair_half *end)
{
    chrome_reader *c = ctx;
    trace_event_in in = {.start_ns = begin->ts_ns,
                         .thread = begin->thread,
                         .name = begin->name,
                         .correlation = begin->correlation,
                         .args = begin->args,
                         .args_len = begin->args_len};
    strbuf joined = {0};
    if (!end) {
        in.flags = EVENT_UNFINISHED | SEVERITY_LOST;
    } else {
        if (__builtin_sub_overflow(end->ts_ns, begin->ts_ns, &in.dur_ns) || in.dur_ns < 0) {
            chrome_lose(c, MAREY_LOSS_TIME_OVERFLOW, begin->offset, NULL);
            in.flags = EVENT_UNFINISHED | EVENT_REPAIRED | SEVERITY_LOST;
            in.dur_ns = 0;
        }
        bool same = end->args && begin->args && end->args_len == begin->args_len &&
                    memcmp(end->args, begin->args, end->args_len) == 0;
        if (end->args && begin->args && !same) {
            join_args(begin, end, &joined);
            in.args = joined.s;
            in.args_len = (uint32_t)joined.n;
        } else if (end->args && !same) {
            in.args = end->args;
            in.args_len = end->args_len;
        }
    }
    marey_status status = trace_builder_event(c->b, &in);
    strbuf_deinit(&joined);
    return status;
}

/* ---- counters and metadata ---- */

static uint32_t counter_id(chrome_reader *c, const jevent *e, jspan series, strbuf *text)
{
    jspan name = text_field(e, JKEY_NAME);
    jspan id = text_field(e, JKEY_ID);
    strbuf_clear(text);
    strbuf_add(text, name.s, name.n);
    if (id.n > 0) {
        strbuf_puts(text, "[");
        strbuf_add(text, id.s, id.n);
        strbuf_puts(text, "]");
    }
    strbuf_puts(text, "/");
    strbuf_add(text, series.s, series.n);
    return trace_builder_string(c->b, text->s, text->n < CHROME_NAME_BYTES_MAX ? text->n : CHROME_NAME_BYTES_MAX);
}

static void on_counter(chrome_reader *c, const jevent *e)
{
    trace_sample_in sample = {0};
    if (!start_time(c, e, &sample.ts_ns)) {
        return;
    }
    sample.thread = thread_id(c, e);
    strbuf text = {0};
    jspan key;
    jspan value;
    for (jiter it = jiter_begin(jevent_field(e, JKEY_ARGS)); jiter_next(&it, &key, &value);) {
        if (key.kind != JKIND_STRING || !is_text(value) || !decns_parse_double(value.s, value.n, &sample.value)) {
            chrome_lose(c, MAREY_LOSS_BAD_NUMBER, e->offset, NULL);
            continue;
        }
        sample.counter = counter_id(c, e, key, &text);
        trace_builder_sample(c->b, &sample);
    }
    strbuf_deinit(&text);
}

static chrome_process *process_at(chrome_reader *c, uint32_t id)
{
    while (c->n_processes <= id) {
        chrome_process p = {NO_ID, NO_ID, INT64_MIN};
        VEC_PUSH(c->processes, c->n_processes, c->cap_processes, p);
    }
    return &c->processes[id];
}

static uint32_t process_id(chrome_reader *c, const jevent *e)
{
    jspan pid = text_field(e, JKEY_PID);
    return trace_builder_process(c->b, pid.s, pid.n);
}

void chrome_process_name(chrome_reader *c, uint32_t process, uint32_t name)
{
    process_at(c, process)->name = name;
}

void chrome_process_default(chrome_reader *c, uint32_t process, uint32_t name)
{
    chrome_process *p = process_at(c, process);
    p->name = p->name == NO_ID ? name : p->name;
}

static void set_string(chrome_reader *c, const chrome_naming *n, uint32_t *place)
{
    if (*place != NO_ID && *place != n->text) {
        chrome_lose(c, MAREY_LOSS_DUPLICATE_META, n->offset, NULL);
    }
    *place = n->text;
}

static void set_index(chrome_reader *c, const chrome_naming *n, int64_t *place)
{
    if (*place != INT64_MIN && *place != n->index) {
        chrome_lose(c, MAREY_LOSS_DUPLICATE_META, n->offset, NULL);
    }
    *place = n->index;
}

void chrome_take_naming(chrome_reader *c, const chrome_naming *n)
{
    switch (n->what) {
    case NAMING_PROCESS_NAME:
        set_string(c, n, &process_at(c, n->id)->name);
        return;
    case NAMING_PROCESS_LABELS:
        set_string(c, n, &process_at(c, n->id)->labels);
        return;
    case NAMING_PROCESS_INDEX:
        set_index(c, n, &process_at(c, n->id)->sort_index);
        return;
    case NAMING_THREAD_NAME:
        set_string(c, n, &c->b->threads[n->id].name);
        return;
    case NAMING_THREAD_INDEX:
    default:
        set_index(c, n, &c->b->threads[n->id].sort_index);
        return;
    }
}

static void on_metadata(chrome_reader *c, const jevent *e)
{
    static const struct {
        const char *event, *member;
        chrome_naming_what what;
        bool is_process, is_index;
    } kinds[] = {{"process_name", "name", NAMING_PROCESS_NAME, true, false},
                 {"process_labels", "labels", NAMING_PROCESS_LABELS, true, false},
                 {"process_sort_index", "sort_index", NAMING_PROCESS_INDEX, true, true},
                 {"thread_name", "name", NAMING_THREAD_NAME, false, false},
                 {"thread_sort_index", "sort_index", NAMING_THREAD_INDEX, false, true}};
    const unsigned n_kinds = sizeof kinds / sizeof *kinds;
    jspan name = text_field(e, JKEY_NAME);
    unsigned k = 0;
    while (k < n_kinds && !jspan_is(name, kinds[k].event)) {
        k++;
    }
    if (k == n_kinds) {
        return;
    }
    chrome_naming n = {.what = kinds[k].what, .offset = e->offset};
    n.id = kinds[k].is_process ? process_id(c, e) : thread_id(c, e);
    if (kinds[k].is_process) {
        (void)process_at(c, n.id);
    }
    jspan value = jspan_member(jevent_field(e, JKEY_ARGS), kinds[k].member);
    if (!is_text(value) || (kinds[k].is_index && !decns_parse_i64(value.s, value.n, &n.index))) {
        return;
    }
    n.text = kinds[k].is_index ? NO_ID : chrome_string(c, value);
    if (c->notes) {
        VEC_PUSH(c->notes->namings, c->notes->n_namings, c->notes->cap_namings, n);
    } else {
        chrome_take_naming(c, &n);
    }
}

/* ---- the walker's callbacks ---- */

static marey_status on_unknown(chrome_reader *c, const jevent *e, char phase)
{
    char detail[] = {phase, '\0'};
    bool printable = phase > 0x20 && phase < 0x7F && phase != '"' && phase != '\\';
    chrome_lose(c, MAREY_LOSS_UNKNOWN_PHASE, e->offset, printable ? detail : "other");
    return MAREY_OK;
}

/* An interval with a name and both times, which binds no flow: by what events of one jevent.like share. */
static bool is_plain(const jevent *e)
{
    const uint32_t wanted = 1U << JKEY_PH | 1U << JKEY_NAME | 1U << JKEY_TS | 1U << JKEY_DUR;
    jspan ph = jevent_field(e, JKEY_PH);
    return ph.kind == JKIND_STRING && jspan_is(ph, "X") && (e->seen & wanted) == wanted &&
           !(e->seen >> JKEY_BIND_ID & 1);
}

static bool is_launch(const jevent *e)
{
    jspan ph = jevent_field(e, JKEY_PH);
    return ph.kind == JKIND_STRING && ph.n == 1 && memchr("stf", ph.s[0], 3) && is_launch_flow(text_field(e, JKEY_CAT));
}

marey_status chrome_event(void *ctx, const jevent *e)
{
    chrome_reader *c = ctx;
    jspan ph = jevent_field(e, JKEY_PH);
    trace_builder_mark(c->b, e->offset);
    c->b->at = e->offset;
    if (c->b->taker && !(e->seen >> JKEY_ARGS & 1)) {
        arg_taker_forget(c->b->taker);
    }
    if (e->like) {
        chrome_like *like = &c->likes[e->like % CHROME_LIKES];
        if (like->like != e->like) {
            *like = (chrome_like){e->like, NO_ID, NO_ID, is_plain(e), is_launch(e)};
        }
        if (like->is_plain) {
            return on_plain(c, e, like);
        }
        if (like->is_launch && c->n_correlated > 0) {
            c->b->n_ac2g_flows++; /* as add_flow() does */
            return MAREY_OK;
        }
    }
    switch (ph.kind == JKIND_STRING && ph.n == 1 ? ph.s[0] : '\0') {
    case 'X':
        return on_complete(c, e);
    case 'B':
    case 'E':
        return on_half(c, e, ph.s[0] == 'B');
    case 'i':
    case 'I':
    case 'R':
    case 'P':
        return on_instant(c, e);
    case 'b':
    case 'e':
        return on_async(c, e, ph.s[0] == 'b', false);
    case 'S':
    case 'F':
        return on_async(c, e, ph.s[0] == 'S', true);
    case 'n':
    case 'T':
    case 'p':
        return on_async_instant(c, e);
    case 's':
        on_flow(c, e, FLOW_START);
        return MAREY_OK;
    case 't':
        on_flow(c, e, FLOW_STEP);
        return MAREY_OK;
    case 'f':
        on_flow(c, e, FLOW_END);
        return MAREY_OK;
    case 'C':
        on_counter(c, e);
        return MAREY_OK;
    case 'M':
        on_metadata(c, e);
        return MAREY_OK;
    default:
        return on_unknown(c, e, ph.n == 1 ? ph.s[0] : '\0');
    }
}

static bool on_want(void *ctx, jspan key)
{
    static const struct {
        const char *key;
        unsigned hint;
    } hints[] = {{"spans", CHROME_HINT_CLOUD_TRACE}, {"nodes", CHROME_HINT_NODES}, {"resourceSpans", CHROME_HINT_OTEL}};
    chrome_reader *c = ctx;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        c->hints |= jspan_is(key, hints[i].key) ? hints[i].hint : 0;
    }
    return kineto_wants(key);
}

void chrome_take_top(chrome_reader *c, const chrome_top *t)
{
    c->meta_hints |= jspan_is(t->key, "schema") ? CHROME_HINT_SCHEMA : 0;
    bool speedscope = jspan_is(t->key, "$schema") && t->value.kind == JKIND_STRING &&
                      memmem(t->value.s, t->value.n, "speedscope", 10);
    c->meta_hints |= speedscope ? CHROME_HINT_SPEEDSCOPE : 0;
    c->meta_offset = t->offset;
    c->b->at = t->at;
    kineto_meta(c, t->key, t->value);
}

static void on_meta(void *ctx, jspan key, jspan value)
{
    chrome_reader *c = ctx;
    chrome_top t = {key, value, c->walk.meta_offset, c->b->at};
    if (c->notes) {
        VEC_PUSH(c->notes->tops, c->notes->n_tops, c->notes->cap_tops, t);
    } else {
        chrome_take_top(c, &t);
    }
}

/* ---- life ---- */

void chrome_init(chrome_reader *c, trace_builder *b)
{
    memset(c, 0, sizeof *c);
    c->b = b;
    c->ac2g = NO_ID;
    c->pairs = (pairs){.emit = on_pair, .ctx = c, .diag = b->diag, .file = b->file};
    jwalk_ops ops = {.event = chrome_event, .args = chrome_args_follow, .want = on_want, .meta = on_meta};
    jwalk_init(&c->walk, &ops, c, b->diag, b->file);
}

void chrome_restart_walk(chrome_reader *c, bool lost, uint64_t offset)
{
    jwalk *w = &c->walk;
    jwalk_ops ops = w->ops;
    unsigned saw = w->saw;
    jwalk_init(w, &ops, c, c->b->diag, c->b->file);
    memset(c->likes, 0, sizeof c->likes);
    w->saw = saw;
    w->offset = offset;
    if (lost) {
        jwalk_start_lost(w);
    }
}

void chrome_deinit(chrome_reader *c)
{
    pairs_deinit(&c->pairs);
    free(c->processes);
    free(c->shapes);
    free(c->shape_args);
    c->processes = NULL;
    c->shapes = NULL;
    c->shape_args = NULL;
}

/* Launch flows that came before the first correlation. */
static void drop_launch_flows(chrome_reader *c)
{
    trace_builder *b = c->b;
    if (c->n_correlated == 0 || c->ac2g == NO_ID) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < b->n_flows; i++) {
        if (b->flows[i].kind == c->ac2g) {
            b->n_ac2g_flows++;
        } else {
            b->flows[kept++] = b->flows[i];
        }
    }
    b->n_flows = kept;
}

static void name_processes(chrome_reader *c)
{
    for (size_t i = 0; i < c->b->n_threads; i++) {
        trace_thread_in *t = &c->b->threads[i];
        if (t->pid_id < c->n_processes) {
            const chrome_process *p = &c->processes[t->pid_id];
            t->process_name = p->name;
            t->labels = p->labels;
            t->process_sort_index = p->sort_index;
        }
    }
}

static void decode(void *ctx, const char *raw, size_t n, strbuf *out)
{
    chrome_reader *c = ctx;
    jtext_counts counts = {0};
    jtext_decode(raw, n, out, &counts);
    diag_lose(c->b->diag, MAREY_LOSS_BAD_UTF8, c->b->file, c->b->at, counts.bad_utf8, NULL);
    diag_lose(c->b->diag, MAREY_LOSS_CONTROL_BYTE, c->b->file, c->b->at, counts.control_bytes, NULL);
}

marey_status chrome_finish(chrome_reader *c)
{
    if (c->b->taker) {
        arg_taker_forget(c->b->taker);
    }
    marey_status status = pairs_finish(&c->pairs);
    drop_launch_flows(c);
    name_processes(c);
    kineto_finish(c);
    marey_status finished = trace_builder_finish(c->b, decode, c);
    return status != MAREY_OK ? status : finished;
}
