/*
 * MindSpore graphs: dumps of the intermediate representation (anf_ir: a model or a bare graph) and the parallel graph
 * of the profiler, as bytes and as JSON; JSON becomes bytes first. The merged parallel JSON is graph_ms_merged.c.
 *
 * Nodes come in execution order. Their names are numbers; parameters and constants are implied nodes. The root of the
 * scope tells the phase; what the scope's last part has behind '-' is the class of the cell.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/decns.h"
#include "readers/graph_ms.h"

typedef enum ms_kind { MS_NONE, MS_BARE, MS_MODEL_KIND, MS_PARALLEL_KIND, MS_MINDIR } ms_kind;

void ms_lose(const ms_reader *r, marey_loss loss, uint64_t offset)
{
    diag_lose(r->in->diag, loss, r->in->file, r->has_offsets ? offset : DIAG_NO_OFFSET, 1, NULL);
}

static void broken(ms_reader *r, const pb_reader *at)
{
    bool cut = at->end == r->in->data + r->in->size;
    if (!cut || !r->is_cut) {
        ms_lose(r, cut ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, at->broken_at);
    }
    r->is_cut = r->is_cut || cut;
}

/* ---- telling ---- */

/* NodeProto: inputs are messages {name#1, type#2}; name, op_type and scope are text; it has an operator. */
static bool looks_like_node(const pb_reader *outer, const pb_field *f)
{
    pb_reader at;
    pb_reader in;
    pb_field g;
    pb_field h;
    bool has_op = false;
    pb_enter(&at, outer, f);
    while (pb_next(&at, &g)) {
        bool text = (g.number >= 2 && g.number <= 4) || g.number >= 8;
        if (g.number > 10 || (text && !pb_is_plain_text(&g)) || (g.number == 1 && g.wire != PB_BYTES)) {
            return false;
        }
        pb_enter(&in, &at, &g);
        while (g.number == 1 && pb_next(&in, &h)) {
            if (h.number > 2 || (h.number == 1 && !pb_is_plain_text(&h)) || (h.number == 2 && h.wire != PB_VARINT)) {
                return false;
            }
        }
        if (g.number == 1 && in.is_broken) {
            return false;
        }
        has_op = has_op || (g.number == 3 && g.size);
    }
    return has_op && (!at.is_broken || at.end == outer->end);
}

static bool looks_like_graph(const pb_reader *outer, const pb_field *f)
{
    pb_reader at;
    pb_field g;
    pb_enter(&at, outer, f);
    for (int n = 0; n < 3; n++) {
        if (!pb_next(&at, &g)) {
            return n > 0;
        }
        if (g.number != 1 || !looks_like_node(&at, &g)) {
            return n > 0 && g.number > 1 && g.number <= 5 && g.wire == PB_BYTES;
        }
    }
    return true;
}

/* ModelProto has its graph in field 4, ProfilingParallel in field 3 behind its config. */
static ms_kind binary_kind(const graph_input *in)
{
    pb_reader r;
    pb_field f;
    pb_field whole = {.wire = PB_BYTES, .data = in->data, .size = in->size};
    bool config = false;
    bool text_version = false;
    pb_open(&r, in->data, in->size);
    if (looks_like_graph(&r, &whole)) {
        return MS_BARE;
    }
    for (int n = 0; n < 8 && (pb_next(&r, &f) || pb_cut(&r, &f)); n++) {
        if (f.number == 4 && f.wire == PB_BYTES && looks_like_graph(&r, &f)) {
            return MS_MODEL_KIND;
        }
        if (f.number == 3 && f.wire == PB_BYTES && config && looks_like_graph(&r, &f)) {
            return MS_PARALLEL_KIND;
        }
        text_version = text_version || (f.number == 1 && f.size && pb_is_plain_text(&f));
        if (f.number == 2 && text_version && f.size == 9 && memcmp(f.data, "MindSpore", 9) == 0) {
            return MS_MINDIR;
        }
        config = config || (f.number == 2 && f.wire == PB_BYTES && pb_looks_like(f.data, f.size, 4, 4));
        if (r.is_broken || f.number > 14) {
            break;
        }
    }
    return MS_NONE;
}

static int sniff(const graph_input *in)
{
    if (graph_head_byte(in) == '{') {
        bool merged = graph_head_has(in, "\"op_nodes\"") && graph_head_has(in, "\"rank_ids\"");
        bool parallel = graph_head_has(in, "\"stageDevices\"") || graph_head_has(in, "\"parallelType\"");
        bool graph_json =
            graph_head_has(in, "\"opType\"") && (graph_head_has(in, "\"node\"") || graph_head_has(in, "\"fullName\""));
        return merged || parallel || graph_json ? 2 : 0;
    }
    return binary_kind(in) != MS_NONE ? 2 : 0;
}

/* ---- scopes and operators ---- */

/* Each part of "Default/network-LeNet/conv1-Conv2d": the class is behind the last '-'. */
static uint32_t make_scope(ms_reader *r, const char *path, size_t n)
{
    uint32_t scope = 0;
    unsigned depth = 0;
    for (size_t i = 0; i < n;) {
        const char *slash = memchr(path + i, '/', n - i);
        size_t len = slash ? (size_t)(slash - (path + i)) : n - i;
        if (len && depth++ == 64) {
            ms_lose(r, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET);
            break;
        }
        if (len) {
            scope = graph_builder_scope(r->b, scope, path + i, len, 0);
            const char *dash = memrchr(path + i, '-', len);
            size_t skip = dash ? (size_t)(dash + 1 - (path + i)) : len;
            if (skip < len) {
                graph_builder_scope_class(r->b, scope, path + i + skip, len - skip);
            }
        }
        i += len + 1;
    }
    return scope;
}

static uint32_t scope_of(ms_reader *r, const char *path, size_t n)
{
    uint32_t index = intern_put(&r->paths, path, n);
    if (index == r->n_scopes) {
        VEC_PUSH(r->scope_of, r->n_scopes, r->cap_scopes, make_scope(r, path, n));
    }
    return r->scope_of[index];
}

static bool begins(const char *s, size_t n, const char *with)
{
    size_t m = strlen(with);
    return n >= m && memcmp(s, with, m) == 0;
}

static graph_phase phase_of(const char *scope, size_t n)
{
    if (begins(scope, n, "Gradients")) {
        return GRAPH_BACKWARD;
    }
    if (begins(scope, n, "recompute_")) {
        return GRAPH_RECOMPUTE;
    }
    bool optimizer = begins(scope, n, "Default/optimizer-") || begins(scope, n, "optimizer-");
    return optimizer ? GRAPH_OPTIMIZER : begins(scope, n, "Default") ? GRAPH_FORWARD : GRAPH_PHASE_NONE;
}

/* "grad_mirror", "redistribution" in instance names; "GradientAggregation", "Redistribution" in merged files. */
static uint8_t instance_flags(const char *s, size_t n)
{
    if (!s || !n) {
        return 0;
    }
    bool mirror = memmem(s, n, "grad_mirror", 11) || memmem(s, n, "GradientAggregation", 19);
    bool moved = memmem(s, n, "redistribution", 14) || memmem(s, n, "Redistribution", 14);
    return (uint8_t)((mirror ? GRAPH_GRADIENT_AGGREGATION : 0) | (moved ? GRAPH_REDISTRIBUTION : 0));
}

uint32_t ms_push_operator(ms_reader *r, const ms_operator *o)
{
    int64_t key = -1;
    graph_node_in in = {.name = o->n_full_name ? o->full_name : o->id,
                        .n_name = o->n_full_name ? o->n_full_name : o->n_id,
                        .op = o->n_op ? o->op : "?",
                        .n_op = o->n_op ? o->n_op : 1,
                        .scope = o->n_scope ? scope_of(r, o->scope, o->n_scope) : 0,
                        .key = decns_parse_i64(o->id, o->n_id, &key) ? key : -1,
                        .stage = o->stage,
                        .phase = phase_of(o->scope, o->n_scope),
                        .flags = instance_flags(o->instance, o->n_instance)};
    uint32_t id = graph_builder_node(r->b, &in);
    if (o->n_instance) {
        graph_builder_attr(r->b, id, "instance", 8, o->instance, o->n_instance);
    }
    return id;
}

uint32_t ms_push_data(ms_reader *r, const char *name, size_t n, graph_role role, int32_t stage)
{
    graph_node_in in = {.name = name,
                        .n_name = n,
                        .op = graph_role_name(role),
                        .n_op = strlen(graph_role_name(role)),
                        .key = -1,
                        .stage = stage,
                        .role = role,
                        .flags = GRAPH_IMPLIED};
    return graph_builder_node(r->b, &in);
}

/* ---- bytes ---- */

static void span(const pb_field *f, const char **s, size_t *n)
{
    if (f->wire == PB_BYTES && f->size) {
        *s = (const char *)f->data;
        *n = f->size;
    }
}

/* {name#1, type#2} or {key#1, value#2}. */
static void pair_of(const pb_reader *outer, const pb_field *message, const char **name, size_t *n, pb_field *second)
{
    pb_reader at;
    pb_field f;
    *name = "";
    *n = 0;
    *second = (pb_field){0};
    pb_enter(&at, outer, message);
    while (pb_next(&at, &f)) {
        if (f.number == 1) {
            span(&f, name, n);
        } else if (f.number == 2) {
            *second = f;
        }
    }
}

typedef struct ms_frame {
    pb_reader at;
    uint32_t space;
    int32_t stage;
} ms_frame;

static void scan_operator(const pb_reader *outer, const pb_field *message, ms_operator *o)
{
    pb_reader at;
    pb_field f;
    pb_enter(&at, outer, message);
    while (pb_next(&at, &f)) {
        switch (f.number) {
        case 2:
            span(&f, &o->id, &o->n_id);
            break;
        case 3:
            span(&f, &o->op, &o->n_op);
            break;
        case 4:
            span(&f, &o->scope, &o->n_scope);
            break;
        case 8:
            span(&f, &o->full_name, &o->n_full_name);
            break;
        case 10:
            span(&f, &o->instance, &o->n_instance);
            break;
        default:
            break;
        }
    }
}

/* The value of a Send's or Receive's attribute, kept for the pairing. */
static void note_transfer(ms_transfer *t, const char *name, size_t n, const strbuf *value)
{
    int64_t v = 0;
    bool number = decns_parse_i64(strbuf_str(value), value->n, &v);
    if (number && n == 6 && memcmp(name, "sr_tag", 6) == 0) {
        t->tag = v;
    } else if (number && n == 9 && memcmp(name, "dest_rank", 9) == 0 && t->is_send) {
        t->peer = v;
    } else if (number && n == 8 && memcmp(name, "src_rank", 8) == 0 && !t->is_send) {
        t->peer = v;
    } else if (n == 5 && memcmp(name, "group", 5) == 0 && value->n) {
        t->group = hash_bytes(value->s, value->n);
    }
}

static void take_attribute(ms_reader *r, const pb_reader *outer, const pb_field *attribute, uint32_t id, ms_transfer *t,
                           bool *generated)
{
    const char *name;
    size_t n;
    pb_field value;
    pair_of(outer, attribute, &name, &n, &value);
    strbuf_clear(&r->text);
    ms_value_text(outer, &value, &r->text);
    graph_builder_attr(r->b, id, name, n, strbuf_str(&r->text), r->text.n);
    note_transfer(t, name, n, &r->text);
    bool gen = n == 12 && memcmp(name, "gen_strategy", 12) == 0;
    if (gen || (n == 11 && memcmp(name, "in_strategy", 11) == 0 && !*generated)) {
        ms_sharding_text(strbuf_str(&r->text), r->text.n, &r->sharding);
        if (r->sharding.n) {
            graph_builder_sharding(r->b, id, r->sharding.s, r->sharding.n);
            *generated = gen;
        }
    }
}

static void take_input(ms_reader *r, const ms_frame *frame, const pb_reader *outer, const pb_field *input, uint32_t id,
                       uint32_t slot)
{
    const char *name;
    size_t n;
    pb_field type;
    pair_of(outer, input, &name, &n, &type);
    if (n) {
        bool control = type.wire == PB_VARINT && type.value == 1;
        graph_builder_use(r->b, frame->space, name, n, id, slot, control ? GRAPH_CONTROL : 0,
                          r->has_offsets ? input->offset : DIAG_NO_OFFSET);
    }
}

static void take_node(ms_reader *r, const ms_frame *frame, const pb_field *message)
{
    pb_reader at;
    pb_field f;
    uint32_t slot = 0;
    bool generated = false;
    ms_operator o = {.id = "", .op = "", .scope = "", .full_name = "", .instance = "", .stage = frame->stage};
    scan_operator(&frame->at, message, &o);
    uint32_t id = ms_push_operator(r, &o);
    ms_transfer t = {.node = id, .stage = frame->stage, .peer = -1, .tag = -1};
    t.is_send = o.n_op == 4 && memcmp(o.op, "Send", 4) == 0;
    graph_builder_define(r->b, frame->space, o.id, o.n_id, id, 0);
    pb_enter(&at, &frame->at, message);
    while (pb_next(&at, &f)) {
        if (f.number == 1 && f.wire == PB_BYTES) {
            take_input(r, frame, &at, &f, id, slot++);
        } else if (f.number == 5 && f.wire == PB_BYTES) {
            take_attribute(r, &at, &f, id, &t, &generated);
        } else if (f.number == 6 && f.wire == PB_BYTES) {
            ms_push_outputs(r, &at, &f, id);
        } else if (f.number == 9 && f.wire == PB_BYTES && f.size) {
            graph_builder_attr(r->b, id, "source", 6, (const char *)f.data, f.size);
        }
    }
    if (at.is_broken) {
        broken(r, &at);
    }
    if (t.is_send || (o.n_op == 7 && memcmp(o.op, "Receive", 7) == 0)) {
        VEC_PUSH(r->transfers, r->n_transfers, r->cap_transfers, t);
    }
}

/* A parameter#3 or output#4 {name#1, type#2}, a const_val#5 {key#1, value#2}. */
static void take_data(ms_reader *r, const ms_frame *frame, const pb_field *f)
{
    const char *name;
    size_t n;
    pb_field second;
    pair_of(&frame->at, f, &name, &n, &second);
    graph_role role = f->number == 3 ? GRAPH_PARAMETER : f->number == 4 ? GRAPH_OUTPUT : GRAPH_CONSTANT;
    uint32_t id = ms_push_data(r, name, n, role, frame->stage);
    if (role == GRAPH_OUTPUT) {
        graph_builder_use(r->b, frame->space, name, n, id, 0, GRAPH_IMPLIED,
                          r->has_offsets ? f->offset : DIAG_NO_OFFSET);
        return;
    }
    graph_builder_define(r->b, frame->space, name, n, id, 0);
    if (role == GRAPH_CONSTANT) {
        strbuf_clear(&r->text);
        ms_value_text(&frame->at, &second, &r->text);
        graph_builder_attr(r->b, id, "value", 5, strbuf_str(&r->text), r->text.n);
    } else if (second.wire == PB_BYTES && second.number) {
        ms_push_outputs(r, &frame->at, &second, id);
    }
}

static marey_status read_graph(ms_reader *r, const pb_reader *outer, const pb_field *message, const char *format,
                               int32_t stage)
{
    ms_frame frame = {.space = graph_builder_space(r->b, GRAPH_NONE), .stage = stage};
    pb_field f;
    const char *name = "";
    size_t n = 0;
    pb_enter(&frame.at, outer, message);
    for (uint64_t steps = 0; pb_next(&frame.at, &f); steps++) {
        if ((steps & 0xFFF) == 0 && is_cancelled(r->in->cancel)) {
            return MAREY_CANCELLED;
        }
        if (f.number == 1 && f.wire == PB_BYTES) {
            take_node(r, &frame, &f);
        } else if (f.number == 2) {
            span(&f, &name, &n);
        } else if (f.number >= 3 && f.number <= 5 && f.wire == PB_BYTES) {
            take_data(r, &frame, &f);
        }
    }
    if (frame.at.is_broken) {
        broken(r, &frame.at);
    }
    strbuf_clear(&r->text);
    strbuf_add(&r->text, name, n);
    graph_builder_facts(r->b, format, strbuf_str(&r->text), "MindSpore");
    return MAREY_OK;
}

/* Config {rank_id#1, stage_id#2, parallel_type#3, stage_devices#4 {dim#1 {size#1}}}: the ranks of one stage each. */
static int32_t read_config(ms_reader *r, const pb_reader *outer, const pb_field *config)
{
    pb_reader at;
    pb_field f;
    int32_t stage = 0;
    size_t n_lists = 0;
    pb_enter(&at, outer, config);
    while (pb_next(&at, &f)) {
        if (f.number == 2 && f.wire == PB_VARINT && f.value < INT16_MAX) {
            stage = (int32_t)f.value;
        }
        if (f.number != 4 || f.wire != PB_BYTES) {
            continue;
        }
        pb_reader in;
        pb_field dim;
        ms_stage s = {.stage = (int32_t)n_lists++, .first_rank = r->n_ranks};
        pb_enter(&in, &at, &f);
        while (pb_next(&in, &dim)) {
            pb_reader inner;
            pb_field size;
            uint64_t rank = 0; /* 0 is what is not written */
            pb_enter(&inner, &in, &dim);
            while (pb_next(&inner, &size)) {
                rank = size.number == 1 ? size.value : rank;
            }
            VEC_PUSH(r->ranks, r->n_ranks, r->cap_ranks, (uint32_t)rank);
        }
        s.n_ranks = r->n_ranks - s.first_rank;
        VEC_PUSH(r->stages, r->n_stages, r->cap_stages, s);
    }
    /* A file that lists one group of devices lists that of its own stage. */
    if (r->n_stages == 1) {
        r->stages[0].stage = stage;
    }
    return stage;
}

/* The stage that the file is of, by a number that no other file's has. */
static int32_t own_stage(ms_reader *r, int32_t stated)
{
    for (size_t i = 0; i < r->n_stages; i++) {
        ms_stage *s = &r->stages[i];
        if (s->stage == stated) {
            s->stage = ms_stage_number(r, stated, r->ranks + s->first_rank, s->n_ranks);
            s->is_read = true;
            return s->stage;
        }
    }
    int32_t stage = ms_stage_number(r, stated, NULL, 0);
    ms_stage s = {.stage = stage, .first_rank = r->n_ranks, .is_read = true};
    VEC_PUSH(r->stages, r->n_stages, r->cap_stages, s);
    return stage;
}

static void push_stage(ms_reader *r, int32_t stage)
{
    for (size_t i = 0; i < r->n_stages; i++) {
        if (r->stages[i].stage == stage) {
            graph_builder_stage(r->b, stage, r->ranks + r->stages[i].first_rank, r->stages[i].n_ranks);
        }
    }
}

static marey_status read_wire(ms_reader *r, const void *data, size_t size, ms_kind kind)
{
    pb_reader at;
    pb_field f;
    pb_field whole = {.wire = PB_BYTES, .data = data, .size = size};
    int32_t stage = -1;
    bool found = false;
    marey_status status = MAREY_OK;
    pb_open(&at, data, size);
    if (r->in->parts && ms_came_before(r)) {
        return MAREY_OK;
    }
    if (kind != MS_PARALLEL_KIND && r->in->parts) {
        stage = own_stage(r, -1); /* the format says nothing of stages: each file is one */
    }
    if (kind == MS_BARE) {
        status = read_graph(r, &at, &whole, "mindspore", stage);
        ms_end_file(r);
        return status;
    }
    for (pb_reader first = at; kind == MS_PARALLEL_KIND && pb_next(&first, &f);) {
        if (f.number == 2 && f.wire == PB_BYTES) {
            stage = own_stage(r, read_config(r, &first, &f));
            push_stage(r, stage);
        }
    }
    for (bool more = true; more && status == MAREY_OK;) {
        more = pb_next(&at, &f);
        if (!more && !pb_cut(&at, &f)) {
            break;
        }
        if (f.number == (kind == MS_PARALLEL_KIND ? 3U : 4U) && f.wire == PB_BYTES && !found) {
            found = true;
            if (r->in->parts && stage < 0) {
                return MAREY_OK; /* another file has it */
            }
            status = read_graph(r, &at, &f, kind == MS_PARALLEL_KIND ? "mindspore-parallel" : "mindspore", stage);
        }
    }
    if (at.is_broken) {
        broken(r, &at);
    }
    if (status == MAREY_OK && !found) {
        status = diag_error(r->in->diag, MAREY_FORMAT, r->in->path, r->in->size, "The model ends before its graph.");
    }
    if (status == MAREY_OK) {
        ms_end_file(r);
    }
    return status;
}

/* ---- JSON ---- */

static marey_status read_json(ms_reader *r)
{
    const graph_input *in = r->in;
    jdoc *d = NULL;
    strbuf wire = {0};
    marey_status status = jdoc_parse((const char *)in->data, in->size, in->path, in->diag, &d);
    if (status != MAREY_OK) {
        return status;
    }
    if (d->truncated) {
        ms_lose(r, MAREY_LOSS_TRUNCATED, d->truncated_at);
    }
    bool merged = jdoc_is(d, jdoc_member(d, 0, "graphs"), JDOC_OBJECT);
    bool parallel = jdoc_member(d, 0, "config") != JDOC_NONE;
    bool model = !parallel && jdoc_member(d, 0, "graph") != JDOC_NONE;
    if (merged) {
        status = ms_read_merged(r, d);
    } else {
        r->has_offsets = false;
        pbjson_to_wire(d, 0, parallel ? &MS_PARALLEL : model ? &MS_MODEL : &MS_GRAPH, &wire);
        status = read_wire(r, strbuf_str(&wire), wire.n, parallel ? MS_PARALLEL_KIND : model ? MS_MODEL_KIND : MS_BARE);
    }
    strbuf_deinit(&wire);
    jdoc_destroy(&d);
    return status;
}

static marey_status read_model(const graph_input *in, graph_builder *b)
{
    ms_reader r = {.in = in, .b = b, .has_offsets = true};
    marey_status status = MAREY_OK;
    ms_kind kind = graph_head_byte(in) == '{' ? MS_NONE : binary_kind(in);
    if (kind == MS_NONE) {
        status = read_json(&r);
    } else if (kind == MS_MINDIR) {
        status = diag_error(in->diag, MAREY_UNSUPPORTED, in->path, 0,
                            "This is a MindIR model, which marey does not read; dump the graph as .pb (save_graphs) or "
                            "export it as ONNX.");
    } else {
        status = read_wire(&r, in->data, in->size, kind);
    }
    intern_deinit(&r.paths);
    free(r.transfers);
    free(r.stages);
    free(r.ranks);
    free(r.scope_of);
    strbuf_deinit(&r.text);
    strbuf_deinit(&r.sharding);
    return status;
}

const graph_format GRAPH_MINDSPORE = {.name = "mindspore", .sniff = sniff, .read = read_model};
