/* TensorFlow: the nodes of a GraphDef or of a function, their edges, and the functions that they call. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "readers/graph_tf.h"

enum { GRAPH_NODE = 1, GRAPH_LIBRARY = 2, FUNCTION_SIGNATURE = 1, FUNCTION_NODE = 3, FUNCTION_RET = 4 };

static tf_span member_text(const pb_reader *outer, const pb_field *message, uint32_t number)
{
    pb_reader at;
    pb_field f;
    tf_span s = {"", 0};
    pb_enter(&at, outer, message);
    while (pb_next(&at, &f)) {
        if (f.number == number) {
            s = tf_text(&f);
        }
    }
    return s;
}

/* ---- names ---- */

/* The paths that hold this node, from the longest to the first that is known. */
static void note_scopes(tf_reader *r, tf_span name)
{
    size_t ends[TF_SCOPE_DEPTH];
    size_t n = 0;
    for (size_t i = 1; i < name.n && n < TF_SCOPE_DEPTH; i++) {
        if (name.s[i] == '/') {
            ends[n++] = i;
        }
    }
    for (size_t before = r->scopes.n; n > 0; before = r->scopes.n) {
        (void)intern_put(&r->scopes, name.s, ends[--n]);
        if (r->scopes.n == before) {
            return;
        }
    }
}

static void note_name(tf_reader *r, tf_span name, uint32_t id, uint64_t offset)
{
    uint32_t index = intern_put(&r->names, name.s, name.n);
    if (index < r->n_ids) {
        tf_lose(r, MAREY_LOSS_DUPLICATE_NAME, offset, NULL);
        return;
    }
    VEC_PUSH(r->ids, r->n_ids, r->cap_ids, id);
    note_scopes(r, name);
}

static void forget_frame(tf_reader *r)
{
    intern_deinit(&r->names);
    intern_deinit(&r->scopes);
    memset(&r->names, 0, sizeof r->names);
    memset(&r->scopes, 0, sizeof r->scopes);
    r->n_ids = 0;
}

/* ---- inputs ---- */

typedef struct tf_input {
    tf_span name;
    uint32_t slot;
    bool control;
} tf_input;

/* "name", "name:2", "^name"; inside functions "node:out:2". */
static tf_input parse_input(const pb_field *f)
{
    tf_input in = {.name = tf_text(f)};
    if (in.name.n && in.name.s[0] == '^') {
        in.control = true;
        in.name.s++;
        in.name.n--;
    }
    const char *colon = memchr(in.name.s, ':', in.name.n);
    size_t n = colon ? (size_t)(colon - in.name.s) : in.name.n;
    size_t at = in.name.n;
    uint64_t slot = 0;
    for (uint64_t unit = 1; at > n && in.name.s[at - 1] >= '0' && in.name.s[at - 1] <= '9' && unit < 100000;
         unit *= 10) {
        slot += unit * (uint64_t)(in.name.s[--at] - '0');
    }
    in.slot = colon && at < in.name.n && in.name.s[at - 1] == ':' ? (uint32_t)slot : 0;
    in.name.n = n;
    return in;
}

static bool find_source(const tf_reader *r, const tf_input *in, tf_source *out)
{
    uint32_t index = 0;
    if (!r->names.n || !intern_find(&r->names, in->name.s, in->name.n, &index)) {
        return false;
    }
    *out = (tf_source){r->ids[index], in->slot};
    return true;
}

static void push_edges(tf_reader *r, uint32_t id)
{
    for (size_t i = 0; i < r->n_inputs; i++) {
        tf_input in = parse_input(&r->inputs[i]);
        tf_source from;
        if (find_source(r, &in, &from)) {
            graph_builder_edge(r->b, from.node, from.slot, id, (uint32_t)i, in.control ? GRAPH_CONTROL : 0);
        } else {
            tf_lose(r, MAREY_LOSS_DANGLING, r->inputs[i].offset, NULL);
        }
    }
}

/* ---- one node ---- */

/* NodeDef {name#1, op#2, input#3, device#4, attr#5 {key#1, value#2}}. */
static void scan_node(tf_reader *r, const pb_field *message)
{
    pb_reader at;
    pb_field f;
    r->name = r->op = r->device = (tf_span){"", 0};
    r->n_attrs = 0;
    r->n_inputs = 0;
    pb_enter(&at, &r->wire, message);
    while (pb_next(&at, &f)) {
        if (f.number == 1) {
            r->name = tf_text(&f);
        } else if (f.number == 2) {
            r->op = tf_text(&f);
        } else if (f.number == 3 && f.wire == PB_BYTES) {
            VEC_PUSH(r->inputs, r->n_inputs, r->cap_inputs, f);
        } else if (f.number == 4) {
            r->device = tf_text(&f);
        } else if (f.number == 5) {
            tf_attr a = {.key = {"", 0}};
            pb_reader in;
            pb_field g;
            pb_enter(&in, &at, &f);
            while (pb_next(&in, &g)) {
                if (g.number == 1) {
                    a.key = tf_text(&g);
                } else if (g.number == 2 && g.wire == PB_BYTES) {
                    a.value = g;
                }
            }
            VEC_PUSH(r->attrs, r->n_attrs, r->cap_attrs, a);
        }
    }
    if (at.is_broken) {
        tf_broken(r, &at);
    }
}

static graph_role role_of(tf_span op)
{
    static const struct {
        const char *op;
        graph_role role;
    } roles[] = {{"Const", GRAPH_CONSTANT},
                 {"Placeholder", GRAPH_INPUT},
                 {"_Arg", GRAPH_INPUT},
                 {"PlaceholderV2", GRAPH_INPUT},
                 {"_Retval", GRAPH_OUTPUT},
                 {"Variable", GRAPH_PARAMETER},
                 {"VariableV2", GRAPH_PARAMETER},
                 {"VarHandleOp", GRAPH_PARAMETER},
                 {"_VarHandlesOp", GRAPH_PARAMETER},
                 {"AutoReloadVariable", GRAPH_PARAMETER}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (tf_is(op, roles[i].op)) {
            return roles[i].role;
        }
    }
    return GRAPH_OPERATOR;
}

/* Scopes that the gradient functions make: "gradients", "gradients_1", "gradient_tape". */
static graph_phase phase_of(tf_span name)
{
    for (size_t i = 0; i < name.n;) {
        const char *slash = memchr(name.s + i, '/', name.n - i);
        size_t len = slash ? (size_t)(slash - (name.s + i)) : name.n - i;
        if (slash && ((len >= 9 && memcmp(name.s + i, "gradients", 9) == 0 && (len == 9 || name.s[i + 9] == '_')) ||
                      (len == 13 && memcmp(name.s + i, "gradient_tape", 13) == 0))) {
            return GRAPH_BACKWARD;
        }
        i += len + 1;
    }
    return GRAPH_PHASE_NONE;
}

/* A node that has the name of a scope lies in it. */
static uint32_t scope_of(tf_reader *r, uint32_t base)
{
    uint32_t id = 0;
    size_t n = r->name.n;
    if (!r->scopes.n || !intern_find(&r->scopes, r->name.s, n, &id)) {
        const char *slash = n ? memrchr(r->name.s, '/', n) : NULL;
        n = slash ? (size_t)(slash - r->name.s) : 0;
    }
    return n ? graph_builder_path(r->b, base, r->name.s, n, '/') : base;
}

static uint32_t push_node(tf_reader *r, uint32_t scope)
{
    graph_node_in in = {.name = r->name.s,
                        .n_name = r->name.n,
                        .op = r->op.n ? r->op.s : "?",
                        .n_op = r->op.n ? r->op.n : 1,
                        .scope = scope,
                        .key = -1,
                        .stage = -1,
                        .role = role_of(r->op),
                        .phase = phase_of(r->name)};
    uint32_t id = graph_builder_node(r->b, &in);
    tf_push_outputs(r, id);
    if (r->device.n) {
        graph_builder_attr(r->b, id, "device", 6, r->device.s, r->device.n);
    }
    for (size_t i = 0; i < r->n_attrs; i++) {
        if (!tf_is(r->attrs[i].key, "_output_shapes")) {
            strbuf_clear(&r->text);
            tf_attr_text(r, &r->attrs[i].value, &r->text);
            graph_builder_attr(r->b, id, r->attrs[i].key.s, r->attrs[i].key.n, strbuf_str(&r->text), r->text.n);
        }
    }
    return id;
}

/* ---- calls ---- */

/* Of which input of the node is the first argument made? -1: it is not known. */
static int first_argument(const tf_reader *r, bool by_name)
{
    static const struct {
        const char *op;
        int skip;
    } known[] = {{"PartitionedCall", 0},
                 {"StatefulPartitionedCall", 0},
                 {"While", 0},
                 {"StatelessWhile", 0},
                 {"If", 1},
                 {"StatelessIf", 1},
                 {"Case", 1},
                 {"StatelessCase", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (tf_is(r->op, known[i].op)) {
            return known[i].skip;
        }
    }
    return by_name ? 0 : -1;
}

static bool may_call(tf_reader *r, const tf_call *caller, uint32_t function, uint64_t offset)
{
    uint32_t depth = 0;
    for (uint32_t up = caller->chain; up != GRAPH_NONE; up = r->chain[up].up, depth++) {
        if (r->chain[up].function == function) {
            tf_lose(r, MAREY_LOSS_LIMIT, offset, "functions that call themselves");
            return false;
        }
    }
    if (depth >= TF_DEPTH_MAX) {
        tf_lose(r, MAREY_LOSS_LIMIT, offset, "calls nested deeper than 200");
        return false;
    }
    return true;
}

static void push_call(tf_reader *r, const tf_call *caller, uint32_t function, uint32_t id, uint32_t scope, tf_span key,
                      int skip)
{
    const char *slash = r->name.n ? memrchr(r->name.s, '/', r->name.n) : NULL;
    size_t at = slash ? (size_t)(slash + 1 - r->name.s) : 0;
    tf_span label = r->name.n > at ? (tf_span){r->name.s + at, r->name.n - at} : r->op;
    strbuf_clear(&r->text);
    strbuf_add(&r->text, label.s, label.n);
    if (key.n) {
        strbuf_add(&r->text, " ", 1);
        strbuf_add(&r->text, key.s, key.n);
    }
    tf_call call = {.is_function = true,
                    .message = r->functions[function],
                    .function = function,
                    .chain = (uint32_t)r->n_chain,
                    .node = id,
                    .n_node_inputs = (uint32_t)r->n_inputs,
                    .first_arg = r->n_args};
    VEC_PUSH(r->chain, r->n_chain, r->cap_chain, ((tf_link){.function = function, .up = caller->chain}));
    call.scope = graph_builder_new_scope(r->b, scope, r->text.s, r->text.n, GRAPH_SCOPE_BODY);
    const char *name = r->function_names.text[function];
    graph_builder_scope_class(r->b, call.scope, name, r->function_names.len[function]);
    for (size_t i = skip < 0 ? r->n_inputs : (size_t)skip; i < r->n_inputs; i++) {
        tf_input in = parse_input(&r->inputs[i]);
        tf_source from = {GRAPH_NONE, 0};
        (void)find_source(r, &in, &from);
        if (!in.control) {
            VEC_PUSH(r->args, r->n_args, r->cap_args, from);
        }
    }
    call.n_args = r->n_args - call.first_arg;
    r->called[function] = 1;
    VEC_PUSH(r->calls, r->n_calls, r->cap_calls, call);
}

/* Functions of the library that the node names: its operator, or in attributes. */
static void push_calls(tf_reader *r, const tf_call *caller, uint32_t id, uint32_t scope, uint64_t offset)
{
    uint32_t function = 0;
    size_t n = 0;
    uint32_t first = GRAPH_NONE;
    bool by_op = intern_find(&r->function_names, r->op.s, r->op.n, &function);
    size_t before = r->n_calls;
    if (by_op && may_call(r, caller, function, offset)) {
        push_call(r, caller, function, id, scope, (tf_span){"", 0}, 0);
        first = r->calls[before].scope;
    }
    for (size_t i = 0; i < r->n_attrs && !by_op; i++) {
        tf_span name;
        for (size_t k = 0; (name = tf_attr_function(r, &r->attrs[i].value, k)).n; k++) {
            if (k == TF_BRANCHES_MAX) {
                tf_lose(r, MAREY_LOSS_LIMIT, offset, "functions named by one attribute");
                break;
            }
            if (intern_find(&r->function_names, name.s, name.n, &function) && may_call(r, caller, function, offset)) {
                tf_span none = {"", 0};
                push_call(r, caller, function, id, scope, tf_is(r->attrs[i].key, "f") ? none : r->attrs[i].key,
                          first_argument(r, false));
                first = n++ ? first : r->calls[before].scope;
            }
        }
    }
    if (first != GRAPH_NONE) {
        graph_builder_body(r->b, id, first);
    }
}

/* ---- frames ---- */

static uint32_t push_implied(tf_reader *r, tf_span name, graph_role role, uint32_t scope)
{
    graph_node_in in = {.name = name.s,
                        .n_name = name.n,
                        .op = graph_role_name(role),
                        .n_op = strlen(graph_role_name(role)),
                        .scope = scope,
                        .key = -1,
                        .stage = -1,
                        .role = role,
                        .flags = GRAPH_IMPLIED};
    return graph_builder_node(r->b, &in);
}

/* OpDef {name#1, input_arg#2 {name#1, type#3}, output_arg#3}. */
static void take_arguments(tf_reader *r, const tf_call *call, const pb_field *signature)
{
    pb_reader at;
    pb_field f;
    size_t k = 0;
    pb_enter(&at, &r->wire, signature);
    while (pb_next(&at, &f)) {
        if (f.number != 2 || f.wire != PB_BYTES) {
            continue;
        }
        tf_span name = member_text(&at, &f, 1);
        graph_dtype type = tf_arg_type(r, &f);
        uint32_t id = push_implied(r, name, GRAPH_INPUT, call->scope);
        note_name(r, name, id, f.offset);
        if (type.name) {
            graph_builder_output(r->b, id, type.name, strlen(type.name), 0);
        }
        const tf_source *from = k < call->n_args ? &r->args[call->first_arg + k] : NULL;
        if (from && from->node != GRAPH_NONE) {
            graph_builder_edge(r->b, from->node, from->slot, id, 0, GRAPH_IMPLIED);
        }
        k++;
    }
}

/* ret#4 {key#1: output argument, value#2: "node:out:0"}. */
static void take_result(tf_reader *r, const tf_call *call, const pb_field *entry, uint32_t k)
{
    pb_reader at;
    pb_field f;
    pb_field value = {0};
    pb_enter(&at, &r->wire, entry);
    while (pb_next(&at, &f)) {
        value = f.number == 2 ? f : value;
    }
    uint32_t id = push_implied(r, member_text(&r->wire, entry, 1), GRAPH_OUTPUT, call->scope);
    tf_input in = parse_input(&value);
    tf_source from;
    if (find_source(r, &in, &from)) {
        graph_builder_edge(r->b, from.node, from.slot, id, 0, GRAPH_IMPLIED);
    } else {
        tf_lose(r, MAREY_LOSS_DANGLING, entry->offset, NULL);
    }
    if (call->node != GRAPH_NONE) {
        graph_builder_edge(r->b, id, 0, call->node, call->n_node_inputs + k, GRAPH_IMPLIED);
    }
}

/* Arguments first, then all nodes by name with the ids that they will have. */
static void take_names(tf_reader *r, const tf_call *call)
{
    pb_reader at;
    pb_field f;
    uint32_t number = call->is_function ? FUNCTION_NODE : GRAPH_NODE;
    pb_enter(&at, &r->wire, &call->message);
    while (call->is_function && pb_next(&at, &f)) {
        if (f.number == FUNCTION_SIGNATURE && f.wire == PB_BYTES) {
            take_arguments(r, call, &f);
        }
    }
    uint32_t id = (uint32_t)graph_builder_n_nodes(r->b);
    pb_enter(&at, &r->wire, &call->message);
    while (pb_next(&at, &f)) {
        if (f.number == number && f.wire == PB_BYTES) {
            note_name(r, member_text(&at, &f, 1), id++, f.offset);
        }
    }
    if (at.is_broken) {
        tf_broken(r, &at);
    }
}

static marey_status read_frame(tf_reader *r, const tf_call *call)
{
    pb_reader at;
    pb_field f;
    uint32_t number = call->is_function ? FUNCTION_NODE : GRAPH_NODE;
    uint64_t steps = 0;
    uint32_t n_results = 0;
    take_names(r, call);
    r->n_args = call->first_arg;
    pb_enter(&at, &r->wire, &call->message);
    while (pb_next(&at, &f)) {
        if ((++steps & 0xFFF) == 0 && is_cancelled(r->in->cancel)) {
            return MAREY_CANCELLED;
        }
        if (f.number == number && f.wire == PB_BYTES) {
            scan_node(r, &f);
            uint32_t scope = scope_of(r, call->scope);
            uint32_t id = push_node(r, scope);
            push_edges(r, id);
            r->n_cloned += call->is_function;
            if (r->n_functions) {
                push_calls(r, call, id, scope, f.offset);
            }
        }
    }
    pb_enter(&at, &r->wire, &call->message);
    while (call->is_function && pb_next(&at, &f)) {
        if (f.number == FUNCTION_RET && f.wire == PB_BYTES) {
            take_result(r, call, &f, n_results++);
        }
    }
    forget_frame(r);
    return MAREY_OK;
}

/* FunctionDefLibrary {function#1 {signature#1 {name#1}}}. */
static void take_library(tf_reader *r, const pb_field *library)
{
    pb_reader at;
    pb_field f;
    pb_enter(&at, &r->wire, library);
    while (pb_next(&at, &f)) {
        pb_reader in;
        pb_field g;
        tf_span name = {"", 0};
        if (f.number != 1 || f.wire != PB_BYTES) {
            continue;
        }
        pb_enter(&in, &at, &f);
        while (pb_next(&in, &g)) {
            name = g.number == FUNCTION_SIGNATURE ? member_text(&in, &g, 1) : name;
        }
        if (intern_put(&r->function_names, name.s, name.n) < r->n_functions) {
            tf_lose(r, MAREY_LOSS_DUPLICATE_NAME, f.offset, NULL);
        } else {
            VEC_PUSH(r->functions, r->n_functions, r->cap_functions, f);
        }
    }
    if (at.is_broken) {
        tf_broken(r, &at);
    }
}

static marey_status read_calls(tf_reader *r)
{
    marey_status status = MAREY_OK;
    while (r->n_calls && status == MAREY_OK) {
        tf_call call = r->calls[--r->n_calls];
        r->cloned_bytes += call.is_function ? call.message.size : 0;
        bool enough = r->n_cloned >= TF_CLONED_NODES_MAX || r->cloned_bytes > TF_CLONED_BYTES_MAX;
        if (enough && call.is_function) {
            tf_lose(r, MAREY_LOSS_LIMIT, call.message.offset, "calls beyond a million nodes of functions");
            r->n_args = call.first_arg;
            continue;
        }
        status = read_frame(r, &call);
    }
    return status;
}

/* Functions that nobody calls (gradients, what saves and restores) lie in a module of their own; those of a library
 * without a graph, at the top. */
static marey_status read_uncalled(tf_reader *r)
{
    marey_status status = MAREY_OK;
    bool beside = graph_builder_n_nodes(r->b) > r->first_node;
    uint32_t parent = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->n_functions && status == MAREY_OK; i++) {
        if (r->called[i]) {
            continue;
        }
        tf_call call = {.is_function = true,
                        .message = r->functions[i],
                        .function = (uint32_t)i,
                        .chain = (uint32_t)r->n_chain,
                        .node = GRAPH_NONE};
        parent = n++ == 0 && beside ? graph_builder_new_scope(r->b, 0, "not called", 10, 0) : parent;
        VEC_PUSH(r->chain, r->n_chain, r->cap_chain, ((tf_link){.function = (uint32_t)i, .up = GRAPH_NONE}));
        call.scope =
            graph_builder_scope(r->b, parent, r->function_names.text[i], r->function_names.len[i], GRAPH_SCOPE_BODY);
        VEC_PUSH(r->calls, r->n_calls, r->cap_calls, call);
        status = read_calls(r);
    }
    if (n && beside) {
        diag_note(r->in->diag, r->in->path, DIAG_NO_OFFSET,
                  "%zu of %zu functions in the library are called by no node; they lie in the module \"not called\".",
                  n, r->n_functions);
    }
    return status;
}

marey_status tf_read_graph(tf_reader *r, const pb_field *graph_def)
{
    pb_reader at;
    pb_field f;
    marey_status status = MAREY_OK;
    r->first_node = graph_builder_n_nodes(r->b);
    pb_enter(&at, &r->wire, graph_def);
    for (bool more = true; more;) {
        more = pb_next(&at, &f);
        if ((more || pb_cut(&at, &f)) && f.number == GRAPH_LIBRARY && f.wire == PB_BYTES) {
            take_library(r, &f);
        }
    }
    tf_call graph_call = {.message = *graph_def, .function = GRAPH_NONE, .chain = GRAPH_NONE, .node = GRAPH_NONE};
    VEC_PUSH(r->calls, r->n_calls, r->cap_calls, graph_call);
    r->called = mem_calloc(r->n_functions + 1, 1);
    status = read_calls(r);
    return status == MAREY_OK ? read_uncalled(r) : status;
}

void tf_deinit(tf_reader *r)
{
    forget_frame(r);
    intern_deinit(&r->function_names);
    free(r->functions);
    free(r->called);
    free(r->calls);
    free(r->chain);
    free(r->args);
    free(r->ids);
    free(r->attrs);
    free(r->inputs);
    free(r->types);
    strbuf_deinit(&r->text);
}
