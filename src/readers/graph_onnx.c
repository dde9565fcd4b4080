/*
 * ONNX models: nodes, nested bodies, local functions. Weights are seen as names, types and sizes: their bytes are never
 * touched.
 *
 * Implied nodes: initializers (parameters), inputs and outputs of graphs. A body of an If, Loop or Scan sees the values
 * around it; its inputs and outputs are implied nodes, tied to what the node takes and to the node, so that data can be
 * followed through it. A local function is read once per call, in a scope of its own.
 *
 * Source: onnx.proto (field numbers).
 */
#include <stdlib.h>
#include <string.h>

#include "readers/graph_onnx.h"

/* ---- telling ---- */

static bool is_text_field(const pb_field *f)
{
    size_t n = f->size < 64 ? f->size : 64;
    for (size_t i = 0; i < n; i++) {
        if (f->data[i] < 0x20) {
            return false;
        }
    }
    return true;
}

/* ModelProto: ir_version#1 is a number, 2, 3, 4 and 6 are text, 7 is the graph. */
static int sniff(const graph_input *in)
{
    pb_reader r;
    pb_field f;
    bool version = false;
    bool is_graph = false;
    pb_open(&r, in->data, graph_head_size(in));
    for (bool more = true; more;) {
        more = pb_next(&r, &f);
        if (!more && !pb_cut(&r, &f)) {
            break;
        }
        bool number = f.number == 1 || f.number == 5;
        bool text = f.number == 2 || f.number == 3 || f.number == 4 || f.number == 6;
        bool other = f.number == 7 || f.number == 8 || f.number == 14 || f.number == 20 || f.number >= 25;
        if (f.wire != (number ? PB_VARINT : PB_BYTES) || !(number || text || other) || f.number > 40 ||
            (text && !is_text_field(&f))) {
            return 0;
        }
        version = version || (f.number == 1 && f.value > 0 && f.value < 1000);
        is_graph = is_graph || (f.number == 7 && (!f.size || pb_looks_like(f.data, f.size, 16, 8)));
    }
    return is_graph ? 2 : version && r.p != (const uint8_t *)in->data ? 1 : 0;
}

/* ---- values ---- */

void onnx_broken(const onnx_reader *r, const pb_reader *at)
{
    bool cut = at->end == r->in->data + r->in->size;
    if (cut && r->is_cut) {
        return; /* the messages around it were told of already */
    }
    diag_lose(r->in->diag, cut ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, r->in->file, at->broken_at, 1, NULL);
}

static void take_value_info(onnx_reader *r, onnx_frame *frame, const pb_field *info)
{
    pb_reader at;
    pb_field f;
    const char *name = "";
    size_t n = 0;
    pb_field type = {0};
    pb_enter(&at, &r->model, info);
    while (pb_next(&at, &f)) {
        if (f.number == 1) {
            onnx_string(&f, &name, &n);
        } else if (f.number == 2 && f.wire == PB_BYTES) {
            type = f;
        }
    }
    if (type.number && n) {
        onnx_value *v = onnx_set_add(&frame->types, name, n);
        v->type = type.data;
        v->n_type = type.size;
    }
}

/* ---- implied nodes ---- */

static uint32_t push_implied(onnx_reader *r, const char *name, size_t n, graph_role role, uint32_t scope)
{
    graph_node_in in = {.name = name,
                        .n_name = n,
                        .op = graph_role_name(role),
                        .n_op = strlen(graph_role_name(role)),
                        .scope = scope,
                        .key = -1,
                        .stage = -1,
                        .role = role,
                        .flags = GRAPH_IMPLIED};
    return graph_builder_node(r->b, &in);
}

static void take_initializer(onnx_reader *r, onnx_frame *frame, const pb_field *tensor)
{
    pb_field name = {0};
    strbuf_clear(&r->text);
    uint64_t bytes = onnx_tensor_text(&r->model, tensor, &r->text, &name);
    if (!name.size) {
        return;
    }
    onnx_value *v = onnx_set_add(&frame->data, (const char *)name.data, name.size);
    v->node = push_implied(r, (const char *)name.data, name.size, GRAPH_PARAMETER, frame->scope);
    graph_builder_define(r->b, frame->space, (const char *)name.data, name.size, v->node, 0);
    graph_builder_output(r->b, v->node, r->text.s, r->text.n, bytes);
}

/* SparseTensorProto {values#1, indices#2, dims#3}: the values carry the name. */
static void take_sparse(onnx_reader *r, onnx_frame *frame, const pb_field *sparse)
{
    pb_reader at;
    pb_field f;
    pb_enter(&at, &r->model, sparse);
    while (pb_next(&at, &f)) {
        if (f.number == 1 && f.wire == PB_BYTES) {
            take_initializer(r, frame, &f);
        }
    }
}

static void take_name(onnx_reader *r, const onnx_frame *frame, const pb_field *f, const char **name, size_t *n)
{
    *name = "";
    *n = 0;
    if (frame->kind == ONNX_FUNCTION) {
        onnx_string(f, name, n);
        return;
    }
    pb_reader at;
    pb_field g;
    pb_enter(&at, &r->model, f);
    while (pb_next(&at, &g)) {
        if (g.number == 1) {
            onnx_string(&g, name, n);
        }
    }
}

/* The k-th input of the node whose body this is, when asked for k = 0, 1, ... */
static bool next_argument(pb_reader *call, pb_field *f)
{
    while (pb_next(call, f)) {
        if (f->number == 1) {
            return true;
        }
    }
    return false;
}

static void take_input(onnx_reader *r, onnx_frame *frame, const pb_field *f, pb_reader *call, bool is_tied)
{
    const char *name = "";
    size_t n = 0;
    pb_field argument = {0};
    bool has = frame->call != GRAPH_NONE && next_argument(call, &argument) && is_tied;
    take_name(r, frame, f, &name, &n);
    if (!n) {
        return;
    }
    if (onnx_set_find(&frame->data, name, n)) {
        return; /* old exporters list every initializer among the inputs */
    }
    uint32_t id = push_implied(r, name, n, GRAPH_INPUT, frame->scope);
    graph_builder_define(r->b, frame->space, name, n, id, 0);
    if (frame->kind == ONNX_GRAPH) {
        take_value_info(r, frame, f);
    }
    const onnx_value *v = onnx_set_find(&frame->types, name, n);
    strbuf_clear(&r->text);
    uint64_t bytes = v && v->type ? onnx_type_text(&r->model, v->type, v->n_type, &r->text) : 0;
    graph_builder_output(r->b, id, strbuf_str(&r->text), r->text.n, bytes);
    if (has && argument.wire == PB_BYTES && argument.size) {
        graph_builder_use(r->b, frame->outer_space, (const char *)argument.data, argument.size, id, 0, GRAPH_IMPLIED,
                          argument.offset);
    }
}

static void take_output(onnx_reader *r, const onnx_frame *frame, const pb_field *f, uint32_t k)
{
    const char *name = "";
    size_t n = 0;
    take_name(r, frame, f, &name, &n);
    if (!n) {
        return;
    }
    uint32_t id = push_implied(r, name, n, GRAPH_OUTPUT, frame->scope);
    graph_builder_use(r->b, frame->space, name, n, id, 0, GRAPH_IMPLIED, f->offset);
    if (frame->call != GRAPH_NONE) {
        graph_builder_edge(r->b, id, 0, frame->call, frame->n_call_inputs + k, GRAPH_IMPLIED);
    }
}

/* ---- frames ---- */

typedef struct field_numbers {
    uint32_t node, input, output, value_info, initializer, sparse;
} field_numbers;

static const field_numbers numbers[] = {[ONNX_GRAPH] = {1, 11, 12, 13, 5, 15}, [ONNX_FUNCTION] = {7, 4, 5, 12, 0, 0}};

bool onnx_push_frame(onnx_reader *r, const onnx_frame *frame)
{
    if (r->n_frames >= ONNX_DEPTH_MAX) {
        diag_lose(r->in->diag, MAREY_LOSS_LIMIT, r->in->file, frame->message.offset, 1,
                  "bodies nested deeper than 200");
        return false;
    }
    VEC_PUSH(r->frames, r->n_frames, r->cap_frames, *frame);
    return true;
}

/* A field was passed: its head was touched, and all of a node but long payloads. Walking through a large file would
 * have all of it in memory beside the graph. */
static void pass(onnx_reader *r, const pb_field *f)
{
    const uint64_t most = 4096;
    r->n_touched += 8 + (f->wire == PB_BYTES && f->size < most ? f->size : most);
    if (r->n_touched >= ONNX_RELEASE_BYTES) {
        graph_release(r->in);
        r->n_touched = 0;
    }
}

/* What is known of the values comes first; then initializers, then inputs, which may be initializers. */
static void begin_frame(onnx_reader *r, onnx_frame *frame)
{
    const field_numbers *k = &numbers[frame->kind];
    pb_reader at;
    pb_reader call = {0};
    pb_field f;
    frame->started = true;
    r->n_open_calls += frame->function != GRAPH_NONE;
    pb_enter(&frame->fields, &r->model, &frame->message);
    at = frame->fields;
    while (pb_next(&at, &f)) {
        pass(r, &f);
        bool typed = f.number == k->value_info || (f.number == k->output && frame->kind == ONNX_GRAPH);
        if (typed && f.wire == PB_BYTES) {
            take_value_info(r, frame, &f);
        } else if (f.number == k->initializer && f.wire == PB_BYTES) {
            take_initializer(r, frame, &f);
        } else if (f.number == k->sparse && f.wire == PB_BYTES) {
            take_sparse(r, frame, &f);
        }
    }
    if (at.is_broken) {
        onnx_broken(r, &at);
        r->is_cut = r->is_cut || at.end == r->in->data + r->in->size;
    }
    pb_enter(&call, &r->model, &frame->call_message);
    at = frame->fields;
    for (uint32_t i = 0; pb_next(&at, &f);) {
        pass(r, &f);
        if (f.number == k->input && f.wire == PB_BYTES) {
            take_input(r, frame, &f, &call, i++ >= frame->skip_inputs);
        }
    }
}

static void end_frame(onnx_reader *r)
{
    onnx_frame frame = r->frames[--r->n_frames];
    const field_numbers *k = &numbers[frame.kind];
    pb_reader at;
    pb_field f;
    uint32_t n = 0;
    pb_enter(&at, &r->model, &frame.message);
    while (pb_next(&at, &f)) {
        pass(r, &f);
        if (f.number == k->output && f.wire == PB_BYTES) {
            take_output(r, &frame, &f, n++);
        }
    }
    for (size_t i = 0; i < frame.data.n; i++) {
        const onnx_value *v = &frame.data.values[i];
        if (v->scope != GRAPH_NONE) {
            graph_builder_move(r->b, v->node, v->scope);
        }
    }
    onnx_set_deinit(&frame.types);
    onnx_set_deinit(&frame.data);
    if (frame.function != GRAPH_NONE) {
        r->functions[frame.function].active = false;
        r->n_open_calls--;
    }
}

static marey_status read_frames(onnx_reader *r)
{
    for (uint64_t steps = 0; r->n_frames; steps++) {
        onnx_frame *frame = &r->frames[r->n_frames - 1];
        pb_field f;
        if ((steps & 0xFFF) == 0 && is_cancelled(r->in->cancel)) {
            return MAREY_CANCELLED;
        }
        if (!frame->started) {
            begin_frame(r, frame);
        }
        if (!pb_next(&frame->fields, &f)) {
            end_frame(r);
        } else if (f.number == numbers[frame->kind].node && f.wire == PB_BYTES) {
            pass(r, &f);
            onnx_take_node(r, &f);
        }
    }
    return MAREY_OK;
}

/* ---- functions ---- */

static uint32_t function_key(onnx_reader *r, const char *domain, size_t n_domain, const char *name, size_t n_name,
                             const char *overload, size_t n_overload, bool make)
{
    bool own = !(n_domain == 7 && memcmp(domain, "ai.onnx", 7) == 0);
    uint32_t id = GRAPH_NONE;
    strbuf_clear(&r->key);
    onnx_put(&r->key, domain, own ? n_domain : 0);
    strbuf_add(&r->key, "", 1);
    onnx_put(&r->key, name, n_name);
    strbuf_add(&r->key, "", 1);
    onnx_put(&r->key, overload, n_overload);
    if (make) {
        return intern_put(&r->function_keys, r->key.s, r->key.n);
    }
    return intern_find(&r->function_keys, r->key.s, r->key.n, &id) ? id : GRAPH_NONE;
}

uint32_t onnx_find_function(onnx_reader *r, const onnx_node *node)
{
    return function_key(r, node->domain, node->n_domain, node->op, node->n_op, node->overload, node->n_overload, false);
}

/* FunctionProto: name#1, domain#10, overload#11. */
static void add_function(onnx_reader *r, const pb_field *message)
{
    pb_reader at;
    pb_field f;
    const char *name = "";
    const char *domain = "";
    const char *overload = "";
    size_t n = 0;
    size_t n_domain = 0;
    size_t n_overload = 0;
    pb_enter(&at, &r->model, message);
    while (pb_next(&at, &f)) {
        if (f.number == 1) {
            onnx_string(&f, &name, &n);
        } else if (f.number == 10) {
            onnx_string(&f, &domain, &n_domain);
        } else if (f.number == 11) {
            onnx_string(&f, &overload, &n_overload);
        }
    }
    uint32_t id = function_key(r, domain, n_domain, name, n, overload, n_overload, true);
    if (id < r->n_functions) {
        diag_lose(r->in->diag, MAREY_LOSS_DUPLICATE_NAME, r->in->file, message->offset, 1, NULL);
        return;
    }
    VEC_PUSH(r->functions, r->n_functions, r->cap_functions, ((onnx_function){.message = *message}));
}

/* ---- the model ---- */

typedef struct onnx_facts {
    const char *producer, *version, *name;
    size_t n_producer, n_version, n_name;
    pb_field graph;
    bool has_graph;
} onnx_facts;

static void push_graph(onnx_reader *r, const pb_field *message, uint32_t scope, uint32_t space)
{
    onnx_frame frame = {.kind = ONNX_GRAPH,
                        .message = *message,
                        .scope = scope,
                        .space = space,
                        .outer_space = GRAPH_NONE,
                        .call = GRAPH_NONE,
                        .function = GRAPH_NONE};
    (void)onnx_push_frame(r, &frame);
}

/* TrainingInfoProto {initialization#1, algorithm#2}: graphs that see the values of the model's. */
static void take_training(onnx_reader *r, const pb_field *info, uint32_t space)
{
    static const char *const names[] = {"", "training initialization", "training algorithm"};
    pb_reader at;
    pb_field f;
    pb_enter(&at, &r->model, info);
    while (pb_next(&at, &f)) {
        if ((f.number == 1 || f.number == 2) && f.wire == PB_BYTES && f.size) {
            uint32_t scope = graph_builder_new_scope(r->b, 0, names[f.number], strlen(names[f.number]), 0);
            push_graph(r, &f, scope, graph_builder_space(r->b, space));
        }
    }
}

static void scan_model(onnx_reader *r, onnx_facts *facts, uint32_t space)
{
    pb_reader at = r->model;
    pb_field f;
    bool more = true;
    while (more) {
        more = pb_next(&at, &f);
        if (!more && !pb_cut(&at, &f)) {
            break;
        }
        if (f.number == 2) {
            onnx_string(&f, &facts->producer, &facts->n_producer);
        } else if (f.number == 3) {
            onnx_string(&f, &facts->version, &facts->n_version);
        } else if (f.number == 7 && f.wire == PB_BYTES) {
            facts->graph = f;
            facts->has_graph = true;
        } else if (f.number == 20) {
            take_training(r, &f, space);
        } else if (f.number == 25 && f.wire == PB_BYTES && more) {
            add_function(r, &f);
        }
    }
    if (at.is_broken) {
        onnx_broken(r, &at);
        r->is_cut = true;
    }
}

static void tell_facts(onnx_reader *r, const onnx_facts *facts)
{
    pb_reader at;
    pb_field f;
    const char *name = "";
    size_t n = 0;
    strbuf producer = {0};
    pb_enter(&at, &r->model, &facts->graph);
    while (pb_next(&at, &f)) {
        pass(r, &f);
        if (f.number == 2) {
            onnx_string(&f, &name, &n);
        }
    }
    onnx_put(&producer, facts->producer, facts->n_producer);
    strbuf_puts(&producer, producer.n && facts->n_version ? " " : "");
    onnx_put(&producer, facts->version, facts->n_version);
    strbuf_clear(&r->text);
    onnx_put(&r->text, name, n);
    graph_builder_facts(r->b, "onnx", strbuf_str(&r->text), strbuf_str(&producer));
    strbuf_deinit(&producer);
}

static void deinit(onnx_reader *r)
{
    for (size_t i = 0; i < r->n_frames; i++) {
        onnx_set_deinit(&r->frames[i].types);
        onnx_set_deinit(&r->frames[i].data);
    }
    strbuf_deinit(&r->last_path);
    intern_deinit(&r->function_keys);
    free(r->scope_parent);
    free(r->scope_depth);
    free(r->frames);
    free(r->functions);
    free(r->bodies);
    free(r->node_names.hashes);
    strbuf_deinit(&r->text);
    strbuf_deinit(&r->key);
    strbuf_deinit(&r->path);
}

static marey_status read_model(const graph_input *in, graph_builder *b)
{
    onnx_reader r = {.in = in, .b = b};
    onnx_facts facts = {.producer = "", .version = "", .name = ""};
    marey_status status = MAREY_OK;
    pb_open(&r.model, in->data, in->size);
    uint32_t space = graph_builder_space(b, GRAPH_NONE);
    scan_model(&r, &facts, space);
    if (!facts.has_graph) {
        status = diag_error(in->diag, MAREY_FORMAT, in->path, in->size,
                            "The ONNX model ends before its graph: nothing can be shown.");
    } else {
        push_graph(&r, &facts.graph, 0, space);
        tell_facts(&r, &facts);
        status = read_frames(&r);
    }
    deinit(&r);
    return status;
}

const graph_format GRAPH_ONNX = {.name = "onnx", .sniff = sniff, .read = read_model};
