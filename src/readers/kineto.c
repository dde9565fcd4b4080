/* PyTorch's profiler: facts at the top of the file, ids and collectives in the arguments. */
#include <stdlib.h>
#include <string.h>

#include "parse/decns.h"
#include "readers/chrome.h"

bool kineto_wants(jspan key)
{
    static const char *const wanted[] = {"deviceProperties", "distributedInfo", "INFO", "WARNING", "ERROR"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (jspan_is(key, wanted[i])) {
            return true;
        }
    }
    return false;
}

static int64_t integer(jspan value, int64_t otherwise)
{
    int64_t v = 0;
    bool text = value.kind == JKIND_SCALAR || value.kind == JKIND_STRING;
    return text && decns_parse_i64(value.s, value.n, &v) ? v : otherwise;
}

static void take_distributed(chrome_reader *c, jspan info)
{
    trace_facts *f = &c->b->facts;
    f->rank = integer(jspan_member(info, "rank"), f->rank);
    f->world_size = integer(jspan_member(info, "world_size"), f->world_size);
    f->stage = integer(jspan_member(info, "stage"), f->stage);
    f->dp = integer(jspan_member(info, "dp"), f->dp);
    f->tp = integer(jspan_member(info, "tp"), f->tp);
    f->ep = integer(jspan_member(info, "ep"), f->ep);
    f->rank = f->rank < 0 ? -1 : f->rank;
    f->world_size = f->world_size < 1 ? -1 : f->world_size;
    jspan backend = jspan_member(info, "backend");
    if (backend.kind == JKIND_STRING) {
        f->backend = chrome_string(c, backend);
    }
    jspan groups = jspan_member(info, "pg_config");
    if (groups.kind == JKIND_ARRAY) {
        free(f->groups_json);
        f->groups_json = mem_strndup(groups.s, groups.n);
    }
}

static void take_device(chrome_reader *c, jspan devices)
{
    jspan key;
    jspan device;
    for (jiter it = jiter_begin(devices); jiter_next(&it, &key, &device);) {
        jspan name = jspan_member(device, "name");
        if (name.kind == JKIND_STRING && name.n > 0) {
            c->b->facts.device_name = chrome_string(c, name);
            return;
        }
    }
}

/* The profiler's own messages. Only one kind matters here: that it lost events. */
static void take_messages(chrome_reader *c, jspan messages)
{
    static const char lost[] = "dropped";
    jspan key;
    jspan text;
    for (jiter it = jiter_begin(messages); jiter_next(&it, &key, &text);) {
        if (text.kind == JKIND_STRING && memmem(text.s, text.n, lost, sizeof lost - 1)) {
            chrome_lose(c, MAREY_LOSS_PROFILER_DROPPED, c->meta_offset, NULL);
        }
    }
}

void kineto_meta(chrome_reader *c, jspan key, jspan value)
{
    trace_facts *f = &c->b->facts;
    if (jspan_is(key, "schemaVersion")) {
        int64_t version = integer(value, 0);
        f->schema_version = version > 0 && version < UINT32_MAX ? (uint32_t)version : 0;
        f->is_kineto |= f->schema_version > 0;
    } else if (jspan_is(key, "deviceProperties")) {
        f->is_kineto = true;
        take_device(c, value);
    } else if (jspan_is(key, "distributedInfo")) {
        f->is_kineto = true;
        take_distributed(c, value);
    } else if (jspan_is(key, "baseTimeNanoseconds")) {
        int64_t base = integer(value, 0);
        f->base_epoch_ns = base > 0 ? base : 0;
    } else if (jspan_is(key, "host_name") && value.kind == JKIND_STRING && value.n > 0) {
        f->host = chrome_string(c, value);
    } else if (value.kind == JKIND_ARRAY) {
        take_messages(c, value);
    }
}

static uint64_t unsigned_arg(jspan value)
{
    uint64_t v = 0;
    return value.kind != JKIND_NONE && decns_parse_u64_padded(value.s, value.n, &v) ? v : 0;
}

uint64_t kineto_correlation(chrome_reader *c, const jevent *e)
{
    if (!(e->args_seen >> JARG_CORRELATION & 1)) {
        return 0;
    }
    uint64_t id = unsigned_arg(e->arg[JARG_CORRELATION]);
    c->n_correlated += id != 0;
    return id;
}

static uint32_t string_arg(chrome_reader *c, const jevent *e, jarg arg)
{
    jspan value = jevent_arg(e, arg);
    return value.n > 0 ? chrome_string(c, value) : NO_ID;
}

static int64_t integer_arg(const jevent *e, jarg arg)
{
    int64_t v = integer(jevent_arg(e, arg), -1);
    return v < 0 ? -1 : v;
}

void kineto_collective(chrome_reader *c, const jevent *e)
{
    const uint32_t group = 1U << JARG_GROUP | 1U << JARG_GROUP_SIZE | 1U << JARG_GROUP_RANKS;
    const uint32_t elements = 1U << JARG_IN_ELEMENTS | 1U << JARG_OUT_ELEMENTS;
    bool named = e->args_seen >> JARG_COLLECTIVE & 1;
    if (!named && !((e->args_seen & group) && (e->args_seen & elements))) {
        return;
    }
    trace_collective_in in = {.event = c->b->n_events - 1,
                              .what = string_arg(c, e, JARG_COLLECTIVE),
                              .group = string_arg(c, e, JARG_GROUP),
                              .group_desc = string_arg(c, e, JARG_GROUP_DESC),
                              .group_ranks = string_arg(c, e, JARG_GROUP_RANKS),
                              .dtype = string_arg(c, e, JARG_DTYPE),
                              .in_elements = integer_arg(e, JARG_IN_ELEMENTS),
                              .out_elements = integer_arg(e, JARG_OUT_ELEMENTS),
                              .group_size = integer_arg(e, JARG_GROUP_SIZE),
                              .seq = integer_arg(e, JARG_SEQ)};
    trace_builder_collective(c->b, &in);
}

void kineto_finish(chrome_reader *c)
{
    static const char *const sources[] = {"cpu_op",   "kernel", "cuda_runtime", "gpu_memcpy",
                                          "Operator", "Kernel", "Runtime"};
    trace_facts *f = &c->b->facts;
    for (size_t i = 0; i < sizeof sources / sizeof *sources && !f->is_kineto; i++) {
        uint32_t id = 0;
        f->is_kineto = intern_find(&c->b->strings, sources[i], strlen(sources[i]), &id);
    }
    f->format = f->is_kineto ? "kineto" : "chrome";
}
