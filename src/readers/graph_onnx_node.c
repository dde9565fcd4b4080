/* ONNX: one node, and the frames of its bodies. */
#include <string.h>

#include "readers/graph_onnx.h"

/* ---- what the node is ---- */

static void scan_property(const pb_reader *outer, const pb_field *entry, onnx_node *node)
{
    static const char name_scopes[] = "pkg.torch.onnx.name_scopes";
    static const char classes[] = "pkg.torch.onnx.class_hierarchy";
    static const char namespace[] = "namespace";
    pb_reader r;
    pb_field f;
    const char *key = "";
    const char *value = "";
    size_t n = 0;
    size_t m = 0;
    pb_enter(&r, outer, entry);
    while (pb_next(&r, &f)) {
        if (f.number == 1) {
            onnx_string(&f, &key, &n);
        } else if (f.number == 2) {
            onnx_string(&f, &value, &m);
        }
    }
#define IS(text) (n == sizeof(text) - 1 && memcmp(key, text, n) == 0)
    if (IS(name_scopes)) {
        node->name_scopes = value;
        node->n_name_scopes = m;
    } else if (IS(classes)) {
        node->class_hierarchy = value;
        node->n_class_hierarchy = m;
    } else if (IS(namespace)) {
        node->namespace = value;
        node->n_namespace = m;
    }
#undef IS
}

static void scan_node(onnx_reader *r, const pb_reader *outer, const pb_field *message, onnx_node *node)
{
    pb_reader at;
    pb_field f;
    *node = (onnx_node){.message = *message, .name = "", .op = "", .domain = "", .overload = "", .first_output = ""};
    pb_enter(&at, outer, message);
    while (pb_next(&at, &f)) {
        switch (f.number) {
        case 1:
            node->n_inputs++;
            break;
        case 2:
            if (!node->n_first_output) {
                onnx_string(&f, &node->first_output, &node->n_first_output);
            }
            break;
        case 3:
            onnx_string(&f, &node->name, &node->n_name);
            break;
        case 4:
            onnx_string(&f, &node->op, &node->n_op);
            break;
        case 7:
            onnx_string(&f, &node->domain, &node->n_domain);
            break;
        case 8:
            onnx_string(&f, &node->overload, &node->n_overload);
            break;
        case 9:
            scan_property(&at, &f, node);
            break;
        default:
            break;
        }
    }
    if (at.is_broken) {
        onnx_broken(r, &at);
    }
}

static bool is_op(const onnx_node *node, const char *op)
{
    return node->n_op == strlen(op) && memcmp(node->op, op, node->n_op) == 0;
}

/* "MatMul", "com.microsoft::FusedMatMul". */
static uint32_t push_node(onnx_reader *r, const onnx_node *node, uint32_t scope)
{
    graph_node_in in = {.name = node->name, .n_name = node->n_name, .op = node->op, .n_op = node->n_op};
    bool own = node->n_domain && !(node->n_domain == 7 && memcmp(node->domain, "ai.onnx", 7) == 0);
    if (own || !node->n_op) {
        strbuf_clear(&r->key);
        onnx_put(&r->key, node->domain, own ? node->n_domain : 0);
        strbuf_puts(&r->key, own ? "::" : "");
        onnx_put(&r->key, node->op, node->n_op);
        strbuf_puts(&r->key, node->n_op ? "" : "?");
        in.op = r->key.s;
        in.n_op = r->key.n;
    }
    in.scope = scope;
    in.key = -1;
    in.stage = -1;
    in.role = is_op(node, "Constant") && !own ? GRAPH_CONSTANT : GRAPH_OPERATOR;
    return graph_builder_node(r->b, &in);
}

/* ---- inputs and outputs ---- */

static void take_input(onnx_reader *r, onnx_frame *frame, const pb_field *f, uint32_t id, uint32_t slot, uint32_t scope)
{
    const char *name = (const char *)f->data;
    if (f->wire != PB_BYTES || !f->size) {
        return; /* an optional input that is not given */
    }
    graph_builder_use(r->b, frame->space, name, f->size, id, slot, 0, f->offset);
    onnx_value *v = frame->data.n ? onnx_set_find(&frame->data, name, f->size) : NULL;
    if (v && v->node != id) {
        onnx_share_scope(r, v, scope);
    }
}

/* The tensor that a Constant holds says what its output is. */
static uint64_t constant_type(onnx_reader *r, const pb_reader *outer, const onnx_node *node)
{
    pb_reader at;
    pb_field f;
    uint64_t bytes = 0;
    pb_enter(&at, outer, &node->message);
    while (pb_next(&at, &f)) {
        pb_reader in;
        pb_field a;
        if (f.number != 5) {
            continue;
        }
        pb_enter(&in, &at, &f);
        while (pb_next(&in, &a)) {
            if (a.number == 5 && a.wire == PB_BYTES) {
                strbuf_clear(&r->text);
                bytes = onnx_tensor_text(&in, &a, &r->text, NULL);
            }
        }
    }
    return bytes;
}

static void take_output(onnx_reader *r, onnx_frame *frame, const onnx_node *node, const pb_field *f, uint32_t id,
                        uint32_t slot, bool is_placed)
{
    const char *name = f->wire == PB_BYTES && f->size ? (const char *)f->data : "";
    size_t n = f->wire == PB_BYTES ? f->size : 0;
    if (n) {
        graph_builder_define(r->b, frame->space, name, n, id, slot);
    }
    const onnx_value *v = n && frame->types.n ? onnx_set_find(&frame->types, name, n) : NULL;
    uint64_t bytes = 0;
    strbuf_clear(&r->text);
    if (v && v->type) {
        bytes = onnx_type_text(&r->model, v->type, v->n_type, &r->text);
    } else if (is_op(node, "Constant")) {
        bytes = constant_type(r, &r->model, node);
    }
    graph_builder_output(r->b, id, strbuf_str(&r->text), r->text.n, bytes);
    if (n && !is_placed && is_op(node, "Constant") && !onnx_set_find(&frame->data, name, n)) {
        onnx_set_add(&frame->data, name, n)->node = id; /* lies where its users lie */
    }
}

/* ---- attributes ---- */

static void take_attribute(onnx_reader *r, const pb_reader *outer, const pb_field *attribute, uint32_t id)
{
    pb_reader at;
    pb_field f;
    const char *name = "";
    size_t n = 0;
    size_t first = r->n_bodies;
    pb_enter(&at, outer, attribute);
    while (pb_next(&at, &f)) {
        if (f.number == 1) {
            onnx_string(&f, &name, &n);
        } else if ((f.number == 6 || f.number == 11) && f.wire == PB_BYTES) {
            VEC_PUSH(r->bodies, r->n_bodies, r->cap_bodies, ((onnx_body){.graph = f}));
        }
    }
    for (size_t i = first; i < r->n_bodies; i++) {
        r->bodies[i].name = name;
        r->bodies[i].n_name = n;
    }
    if (first == r->n_bodies) {
        strbuf_clear(&r->text);
        onnx_attribute_text(outer, attribute, &r->text);
        graph_builder_attr(r->b, id, name, n, strbuf_str(&r->text), r->text.n);
    }
}

static void take_property(onnx_reader *r, const pb_reader *outer, const pb_field *entry, uint32_t id)
{
    pb_reader at;
    pb_field f;
    const char *key = "";
    const char *value = "";
    size_t n = 0;
    size_t m = 0;
    pb_enter(&at, outer, entry);
    while (pb_next(&at, &f)) {
        if (f.number == 1) {
            onnx_string(&f, &key, &n);
        } else if (f.number == 2) {
            onnx_string(&f, &value, &m);
        }
    }
    graph_builder_attr(r->b, id, key, n, value, m);
}

static void take_fields(onnx_reader *r, onnx_frame *frame, const onnx_node *node, uint32_t id, uint32_t scope)
{
    pb_reader at;
    pb_field f;
    uint32_t n_in = 0;
    uint32_t n_out = 0;
    pb_enter(&at, &r->model, &node->message);
    while (pb_next(&at, &f)) {
        switch (f.number) {
        case 1:
            take_input(r, frame, &f, id, n_in++, scope);
            break;
        case 2:
            take_output(r, frame, node, &f, id, n_out++, scope != frame->scope);
            break;
        case 5:
            take_attribute(r, &at, &f, id);
            break;
        case 6:
            if (f.wire == PB_BYTES && f.size) {
                graph_builder_attr(r->b, id, "doc", 3, (const char *)f.data, f.size);
            }
            break;
        case 9:
            take_property(r, &at, &f, id);
            break;
        default:
            break;
        }
    }
}

/* ---- bodies ---- */

/* The last part of the name, or the operator type. */
static void put_label(strbuf *out, const onnx_node *node)
{
    const char *slash = node->n_name ? memrchr(node->name, '/', node->n_name) : NULL;
    size_t skip = slash ? (size_t)(slash + 1 - node->name) : 0;
    if (node->n_name > skip) {
        strbuf_add(out, node->name + skip, node->n_name - skip);
    } else {
        onnx_put(out, node->op, node->n_op);
    }
}

static void push_call(onnx_reader *r, const onnx_frame *frame, const onnx_node *node, uint32_t id, uint32_t scope,
                      uint32_t function)
{
    onnx_function *called = &r->functions[function];
    if (called->active) {
        diag_lose(r->in->diag, MAREY_LOSS_LIMIT, r->in->file, node->message.offset, 1,
                  "functions that call themselves");
        return;
    }
    r->cloned_bytes += called->message.size;
    if (r->n_cloned >= ONNX_CLONED_NODES_MAX || r->cloned_bytes > ONNX_CLONED_BYTES_MAX) {
        diag_lose(r->in->diag, MAREY_LOSS_LIMIT, r->in->file, node->message.offset, 1,
                  "calls beyond a million nodes of functions");
        return;
    }
    strbuf_clear(&r->key);
    put_label(&r->key, node);
    uint32_t body = graph_builder_new_scope(r->b, scope, strbuf_str(&r->key), r->key.n, GRAPH_SCOPE_BODY);
    graph_builder_scope_class(r->b, body, node->op, node->n_op);
    onnx_note_scope(r, body, scope);
    onnx_frame inner = {.kind = ONNX_FUNCTION,
                        .message = called->message,
                        .scope = body,
                        .space = graph_builder_space(r->b, GRAPH_NONE),
                        .outer_space = frame->space,
                        .call = id,
                        .n_call_inputs = node->n_inputs,
                        .call_message = node->message,
                        .function = function,
                        .prefix = node->name,
                        .n_prefix = node->n_name};
    if (onnx_push_frame(r, &inner)) {
        called->active = true;
        graph_builder_body(r->b, id, body);
    }
}

/* Scopes in the order of the bodies; frames the other way round, so that the first is read first. */
static void push_bodies(onnx_reader *r, const onnx_frame *frame, const onnx_node *node, uint32_t id, uint32_t scope)
{
    size_t n = r->n_bodies;
    size_t base = r->n_frames;
    for (size_t i = 0; i < n; i++) {
        const onnx_body *b = &r->bodies[i];
        strbuf_clear(&r->key);
        put_label(&r->key, node);
        if (n > 1) {
            strbuf_puts(&r->key, " ");
            onnx_put(&r->key, b->name, b->n_name);
        }
        onnx_frame inner = {.kind = ONNX_GRAPH,
                            .message = b->graph,
                            .outer_space = frame->space,
                            .call = id,
                            .n_call_inputs = node->n_inputs,
                            .call_message = node->message,
                            .skip_inputs = is_op(node, "Loop") ? 1 : 0,
                            .function = GRAPH_NONE,
                            .prefix = node->name,
                            .n_prefix = node->n_name};
        inner.scope = graph_builder_new_scope(r->b, scope, strbuf_str(&r->key), r->key.n, GRAPH_SCOPE_BODY);
        inner.space = graph_builder_space(r->b, frame->space);
        onnx_note_scope(r, inner.scope, scope);
        if (i == 0) {
            graph_builder_body(r->b, id, inner.scope);
        }
        if (!onnx_push_frame(r, &inner)) {
            break;
        }
    }
    for (size_t a = base, z = r->n_frames; a + 1 < z; a++) {
        onnx_frame swap = r->frames[a];
        r->frames[a] = r->frames[--z];
        r->frames[z] = swap;
    }
    r->n_bodies = 0;
}

/* Names of nodes are optional, but one name is one node's. Both stay: their edges go by the names of values. */
static void count_same_name(onnx_reader *r, const onnx_node *node)
{
    const onnx_frame *frame = &r->frames[r->n_frames - 1];
    if (node->n_name == 0 || frame->kind != ONNX_GRAPH) {
        return;
    }
    uint64_t key = hash_u64(hash_bytes(node->name, node->n_name) + frame->space);
    if (onnx_names_meet(&r->node_names, key)) {
        diag_lose(r->in->diag, MAREY_LOSS_DUPLICATE_NAME, r->in->file, node->message.offset, 1, NULL);
    }
}

void onnx_take_node(onnx_reader *r, const pb_field *message)
{
    size_t top = r->n_frames - 1;
    onnx_node node;
    scan_node(r, &r->model, message, &node);
    uint32_t scope = onnx_scope(r, &r->frames[top], &node);
    uint32_t id = push_node(r, &node, scope);
    if (id == GRAPH_NONE) {
        return;
    }
    count_same_name(r, &node);
    r->n_bodies = 0;
    take_fields(r, &r->frames[top], &node, id, scope);
    onnx_frame frame = r->frames[top]; /* a copy: the stack may move */
    uint32_t function = r->n_functions ? onnx_find_function(r, &node) : GRAPH_NONE;
    if (function != GRAPH_NONE) {
        push_call(r, &frame, &node, id, scope, function);
    } else if (r->n_bodies) {
        push_bodies(r, &frame, &node, id, scope);
    }
    r->n_cloned += r->n_open_calls > 0;
}
