/*
 * PyTorch ExecutionTrace JSON, schema 1.0.1 (inputs as lists, fields beside them) and 1.0.2-chakra / 1.1 (inputs as
 * objects, fields in attrs, ctrl_deps is the parent). The call tree becomes scopes: a node with children lies inside
 * the scope of its name. Data flows between the deepest nodes that state tensors: to a reader from the last that wrote
 * the tensor, or a piece of its storage that overlaps, in the order of the ids, which is the order of the calls'
 * begins. A view (schema "Tensor(a)") passes a tensor on and writes nothing; "Tensor(a!)" and collectives write their
 * inputs.
 *
 * Source: torch/csrc/profiler/standalone/execution_trace_observer.cpp. rf_id is the key: it is Kineto's "External id".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "parse/json_doc.h"
#include "readers/graph_formats.h"
#include "readers/graph_text.h"

enum { SCOPE_DEPTH_MAX = 60, RANGES_LOOKED_AT = 256, ARGS_BYTES = 256, NO_PHASE = 255 };

typedef struct et_node {
    int64_t id, parent_id, rf_id, seq_id, fw_parent, tid;
    uint32_t at, name, schema; /* places in the document; JDOC_NONE */
    uint32_t inputs, outputs, output_types, output_shapes, attrs;
    uint32_t parent;     /* place in nodes; GRAPH_NONE: none */
    uint32_t scope;      /* of what lies in it; GRAPH_NONE: not made yet */
    uint16_t depth;      /* + 1; 0: not known yet */
    uint8_t phase, kind; /* kind: of PyTorch's RecordScope, 1 is backward */
    bool has_children, has_tensors, below_has_tensors;
} et_node;

typedef struct et_range {
    uint64_t begin, end; /* bytes of the storage */
    uint32_t node, slot, next;
} et_range;

typedef struct et_tensor {
    uint32_t at;  /* in the document: [tensor, storage, offset, elements, bytes of one, device] */
    uint32_t arg; /* which argument holds it, itself or in a list */
    int64_t id, storage;
    uint64_t begin, end; /* bytes of the storage */
} et_tensor;

typedef struct et_reader {
    const graph_input *in;
    graph_builder *b;
    jdoc *doc;
    et_node *nodes; /* ascending by id */
    size_t n, cap;
    map64 by_id;    /* id -> place + 1 */
    map64 writer;   /* tensor -> node << 16 | slot, + 1 */
    map64 storages; /* storage -> place of its newest range + 1 */
    et_range *ranges;
    size_t n_ranges, cap_ranges;
    bool any_backward;
    et_tensor *tensors; /* of the list looked at last */
    size_t n_tensors, cap_tensors;
    strbuf text, more;
} et_reader;

static void lose(const et_reader *e, marey_loss loss, uint32_t at)
{
    diag_lose(e->in->diag, loss, e->in->file, e->doc->nodes[at].offset, 1, NULL);
}

/* ---- fields ---- */

static void take_field(et_reader *e, et_node *n, uint32_t key_of, uint32_t value)
{
    static const struct {
        const char *key;
        size_t at;
    } numbers[] = {{"id", offsetof(et_node, id)},
                   {"parent", offsetof(et_node, parent_id)},
                   {"ctrl_deps", offsetof(et_node, parent_id)},
                   {"rf_id", offsetof(et_node, rf_id)},
                   {"seq_id", offsetof(et_node, seq_id)},
                   {"fw_parent", offsetof(et_node, fw_parent)},
                   {"tid", offsetof(et_node, tid)}};
    static const struct {
        const char *key;
        size_t at;
    } places[] = {{"name", offsetof(et_node, name)},
                  {"op_schema", offsetof(et_node, schema)},
                  {"inputs", offsetof(et_node, inputs)},
                  {"outputs", offsetof(et_node, outputs)},
                  {"output_types", offsetof(et_node, output_types)},
                  {"output_shapes", offsetof(et_node, output_shapes)},
                  {"attrs", offsetof(et_node, attrs)}};
    /* A field lies under its own key, or in attrs under the value of "name". */
    bool own = key_of == value;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (own ? jdoc_key_is(e->doc, key_of, numbers[i].key) : jdoc_text_is(e->doc, key_of, numbers[i].key)) {
            (void)jdoc_i64(e->doc, value, (int64_t *)(void *)((char *)n + numbers[i].at));
            return;
        }
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (own ? jdoc_key_is(e->doc, key_of, places[i].key) : jdoc_text_is(e->doc, key_of, places[i].key)) {
            *(uint32_t *)(void *)((char *)n + places[i].at) = value;
            return;
        }
    }
    int64_t kind = 0;
    if ((own ? jdoc_key_is(e->doc, key_of, "scope") : jdoc_text_is(e->doc, key_of, "scope")) &&
        jdoc_i64(e->doc, value, &kind)) {
        n->kind = kind >= 0 && kind < 256 ? (uint8_t)kind : 0;
    }
}

/* {values, shapes, types} of the newer schema, as the older one has them beside each other. */
static void split_io(et_reader *e, et_node *n)
{
    n->inputs = jdoc_is(e->doc, n->inputs, JDOC_OBJECT) ? jdoc_member(e->doc, n->inputs, "values") : n->inputs;
    if (jdoc_is(e->doc, n->outputs, JDOC_OBJECT)) {
        n->output_types = jdoc_member(e->doc, n->outputs, "types");
        n->output_shapes = jdoc_member(e->doc, n->outputs, "shapes");
        n->outputs = jdoc_member(e->doc, n->outputs, "values");
    }
}

static void take_node(et_reader *e, uint32_t at)
{
    et_node n = {.id = -1, .parent_id = -1, .rf_id = -1, .seq_id = -1, .at = at};
    n.name = n.schema = n.inputs = n.outputs = n.output_types = n.output_shapes = n.attrs = JDOC_NONE;
    n.parent = n.scope = GRAPH_NONE;
    for (uint32_t f = jdoc_first(e->doc, at); f != JDOC_NONE; f = e->doc->nodes[f].next) {
        take_field(e, &n, f, f);
    }
    for (uint32_t a = jdoc_first(e->doc, n.attrs); a != JDOC_NONE; a = e->doc->nodes[a].next) {
        uint32_t name = jdoc_member(e->doc, a, "name");
        uint32_t value = jdoc_member(e->doc, a, "value");
        if (name != JDOC_NONE && value != JDOC_NONE) {
            take_field(e, &n, name, value);
        }
    }
    split_io(e, &n);
    if (n.id < 0 || !jdoc_is(e->doc, at, JDOC_OBJECT)) {
        lose(e, MAREY_LOSS_DAMAGED, at);
        return;
    }
    VEC_PUSH(e->nodes, e->n, e->cap, n);
}

static int by_id(const void *a, const void *b)
{
    const et_node *x = a;
    const et_node *y = b;
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->at < y->at ? -1 : x->at > y->at;
}

/* ---- the call tree ---- */

static void find_parents(et_reader *e)
{
    for (size_t i = 0; i < e->n; i++) {
        uint64_t *place = map64_put(&e->by_id, (uint64_t)e->nodes[i].id);
        if (*place) {
            lose(e, MAREY_LOSS_DUPLICATE_NAME, e->nodes[i].at);
        } else {
            *place = i + 1;
        }
    }
    for (size_t i = 0; i < e->n; i++) {
        et_node *n = &e->nodes[i];
        const uint64_t *p =
            n->parent_id == n->id || n->parent_id < 0 ? NULL : map64_get(&e->by_id, (uint64_t)n->parent_id);
        n->parent = p ? (uint32_t)(*p - 1) : GRAPH_NONE;
        if (!p && n->parent_id > 0 && n->parent_id != n->id) {
            lose(e, MAREY_LOSS_DANGLING, n->at);
        }
    }
}

/* Depths, by climbing to what is known. A parent that is its own ancestor is no parent. */
static void find_depths(et_reader *e)
{
    uint32_t *path = mem_alloc((e->n + 1) * sizeof *path);
    for (uint32_t i = 0; i < e->n; i++) {
        size_t n = 0;
        uint32_t at = i;
        while (at != GRAPH_NONE && e->nodes[at].depth == 0) {
            e->nodes[at].depth = UINT16_MAX; /* on the path */
            path[n++] = at;
            at = e->nodes[at].parent;
        }
        if (at != GRAPH_NONE && e->nodes[at].depth == UINT16_MAX) {
            lose(e, MAREY_LOSS_DAMAGED, e->nodes[path[n - 1]].at);
            e->nodes[path[n - 1]].parent = GRAPH_NONE;
            at = GRAPH_NONE;
        }
        unsigned depth = at == GRAPH_NONE ? 0 : e->nodes[at].depth;
        while (n > 0) {
            depth += depth < UINT16_MAX - 1;
            e->nodes[path[--n]].depth = (uint16_t)depth;
        }
    }
    free(path);
}

static bool is_tensor(const et_reader *e, uint32_t v)
{
    return jdoc_is(e->doc, v, JDOC_ARRAY) && e->doc->nodes[v].n_children == 6 &&
           jdoc_is(e->doc, jdoc_at(e->doc, v, 5), JDOC_STRING);
}

static void add_tensor(et_reader *e, uint32_t v, uint32_t arg)
{
    int64_t f[5] = {-1, 0, 0, 0, 0};
    uint32_t at = jdoc_first(e->doc, v);
    for (size_t i = 0; i < 5; i++, at = e->doc->nodes[at].next) {
        (void)jdoc_i64(e->doc, at, &f[i]);
    }
    et_tensor t = {.at = v, .arg = arg, .id = f[0], .storage = f[1]};
    bool sane =
        f[2] >= 0 && f[3] >= 0 && f[4] >= 0 && f[4] <= 1024 && f[2] < INT64_MAX / 4096 && f[3] < INT64_MAX / 4096;
    if (sane) {
        t.begin = (uint64_t)f[2] * (uint64_t)f[4];
        t.end = t.begin + (uint64_t)f[3] * (uint64_t)f[4];
    }
    VEC_PUSH(e->tensors, e->n_tensors, e->cap_tensors, t);
}

/* The tensors of a list of values: themselves, or in lists of tensors. */
static size_t take_tensors(et_reader *e, uint32_t list)
{
    uint32_t arg = 0;
    e->n_tensors = 0;
    for (uint32_t v = jdoc_first(e->doc, list); v != JDOC_NONE; v = e->doc->nodes[v].next, arg++) {
        if (is_tensor(e, v)) {
            add_tensor(e, v, arg);
            continue;
        }
        uint32_t first = jdoc_is(e->doc, v, JDOC_ARRAY) ? jdoc_first(e->doc, v) : JDOC_NONE;
        for (uint32_t k = first; k != JDOC_NONE && is_tensor(e, k); k = e->doc->nodes[k].next) {
            add_tensor(e, k, arg);
        }
    }
    return e->n_tensors;
}

static int by_depth(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return x[0] != y[0] ? (x[0] > y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Which nodes have tensors below them: from the deepest up. */
static void find_leaves(et_reader *e)
{
    uint32_t(*order)[2] = mem_alloc((e->n + 1) * sizeof *order);
    for (uint32_t i = 0; i < e->n; i++) {
        et_node *n = &e->nodes[i];
        n->has_tensors = take_tensors(e, n->inputs) > 0 || take_tensors(e, n->outputs) > 0;
        order[i][0] = n->depth;
        order[i][1] = i;
        if (n->parent != GRAPH_NONE) {
            e->nodes[n->parent].has_children = true;
        }
    }
    qsort(order, e->n, sizeof *order, by_depth);
    for (size_t k = 0; k < e->n; k++) {
        const et_node *n = &e->nodes[order[k][1]];
        if (n->parent != GRAPH_NONE && (n->has_tensors || n->below_has_tensors)) {
            e->nodes[n->parent].below_has_tensors = true;
        }
    }
    free(order);
}

/* ---- phases ---- */

static bool name_says_backward(const char *name)
{
    const char *at = strstr(name, "Backward");
    return strncmp(name, "autograd::engine", 16) == 0 || (at && (at[8] == '\0' || (at[8] >= '0' && at[8] <= '9'))) ||
           strncmp(name, "torch::autograd::Acc", 20) == 0;
}

static void find_phases(et_reader *e)
{
    for (size_t i = 0; i < e->n; i++) {
        et_node *n = &e->nodes[i];
        const char *name = jdoc_text(e->doc, n->name, &e->text);
        if (n->kind == 1 || n->fw_parent > 0 || name_says_backward(name)) {
            n->phase = GRAPH_BACKWARD;
            e->any_backward = true;
        } else if (strncmp(name, "Optimizer.", 10) == 0) {
            n->phase = GRAPH_OPTIMIZER;
        }
    }
}

/* A node's own, or of the nearest call around it that has one; each is settled once. */
static graph_phase phase_of(et_reader *e, uint32_t i)
{
    uint32_t at = i;
    while (at != GRAPH_NONE && e->nodes[at].phase == GRAPH_PHASE_NONE) {
        at = e->nodes[at].parent;
    }
    uint8_t phase = at != GRAPH_NONE ? e->nodes[at].phase : NO_PHASE;
    for (uint32_t k = i; k != at; k = e->nodes[k].parent) {
        e->nodes[k].phase = phase;
    }
    bool forward = e->any_backward && e->nodes[i].seq_id >= 0;
    return phase != NO_PHASE ? (graph_phase)phase : forward ? GRAPH_FORWARD : GRAPH_PHASE_NONE;
}

/* ---- scopes ---- */

/* "[pytorch|profiler|execution_trace|thread]" in words. */
static const char *scope_name(et_reader *e, const et_node *n)
{
    const char *name = jdoc_text(e->doc, n->name, &e->text);
    bool root = strncmp(name, "[pytorch|profiler|", 18) == 0;
    if (root && strstr(name, "|process]")) {
        strbuf_clear(&e->text);
        strbuf_puts(&e->text, "process");
    } else if (root && strstr(name, "|thread]")) {
        strbuf_clear(&e->text);
        strbuf_printf(&e->text, "thread %lld", (long long)n->tid);
    }
    return strbuf_str(&e->text);
}

/* The scope of what lies in a node, made with those around it. What is too deep shares the scope around it. */
static uint32_t scope_in(et_reader *e, uint32_t i)
{
    uint32_t path[SCOPE_DEPTH_MAX + 1];
    size_t n = 0;
    uint32_t at = i;
    while (at != GRAPH_NONE && e->nodes[at].depth > SCOPE_DEPTH_MAX && e->nodes[at].scope == GRAPH_NONE) {
        at = e->nodes[at].parent;
    }
    uint32_t shallow = at;
    while (at != GRAPH_NONE && e->nodes[at].scope == GRAPH_NONE) {
        path[n++] = at;
        at = e->nodes[at].parent;
    }
    uint32_t scope = at == GRAPH_NONE ? 0 : e->nodes[at].scope;
    while (n > 0) {
        et_node *node = &e->nodes[path[--n]];
        const char *name = scope_name(e, node);
        scope = node->scope = graph_builder_new_scope(e->b, scope, name, e->text.n, 0);
    }
    for (uint32_t k = i; k != shallow; k = e->nodes[k].parent) {
        e->nodes[k].scope = scope;
    }
    return scope;
}

/* ---- nodes ---- */

/* "Tensor(c10::Half)" -> "f16" */
static const char *element_word(const char *type)
{
    static const struct {
        const char *type, *word;
    } words[] = {{"float", "f32"},
                 {"double", "f64"},
                 {"c10::Half", "f16"},
                 {"c10::BFloat16", "bf16"},
                 {"long int", "s64"},
                 {"long", "s64"},
                 {"int", "s32"},
                 {"short int", "s16"},
                 {"bool", "pred"},
                 {"signed char", "s8"},
                 {"unsigned char", "u8"},
                 {"c10::Float8_e4m3fn", "f8e4m3fn"},
                 {"c10::complex<float>", "c64"}};
    if (strncmp(type, "Tensor(", 7) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].type);
        if (strncmp(type + 7, words[i].type, n) == 0 && strcmp(type + 7 + n, ")") == 0) {
            return words[i].word;
        }
    }
    return NULL;
}

static void push_outputs(et_reader *e, const et_node *n, uint32_t node)
{
    uint32_t value = jdoc_first(e->doc, n->outputs);
    uint32_t type = jdoc_first(e->doc, n->output_types);
    uint32_t shape = jdoc_first(e->doc, n->output_shapes);
    for (; value != JDOC_NONE; value = e->doc->nodes[value].next) {
        const char *word = element_word(jdoc_text(e->doc, type, &e->text));
        strbuf_clear(&e->more);
        strbuf_puts(&e->more, word ? word : strbuf_str(&e->text));
        if (word && is_tensor(e, value)) {
            strbuf_puts(&e->more, "[");
            for (uint32_t d = jdoc_first(e->doc, shape); d != JDOC_NONE; d = e->doc->nodes[d].next) {
                strbuf_printf(&e->more, "%s%s", e->more.s[e->more.n - 1] == '[' ? "" : ",",
                              jdoc_text(e->doc, d, &e->text));
            }
            strbuf_puts(&e->more, "]");
        }
        e->n_tensors = 0;
        if (is_tensor(e, value)) {
            add_tensor(e, value, 0);
        }
        uint64_t bytes = e->n_tensors ? e->tensors[0].end - e->tensors[0].begin : 0;
        graph_builder_output(e->b, node, e->more.s, e->more.n, bytes);
        type = type == JDOC_NONE ? type : e->doc->nodes[type].next;
        shape = shape == JDOC_NONE ? shape : e->doc->nodes[shape].next;
    }
}

/* Arguments that are no tensors, in order: what tells two calls apart. */
static void push_args(et_reader *e, const et_node *n, uint32_t node)
{
    strbuf_clear(&e->more);
    for (uint32_t v = jdoc_first(e->doc, n->inputs); v != JDOC_NONE && e->more.n < ARGS_BYTES;
         v = e->doc->nodes[v].next) {
        strbuf_puts(&e->more, e->more.n ? ", " : "");
        uint32_t first = jdoc_first(e->doc, v);
        if (is_tensor(e, v) || (first != JDOC_NONE && is_tensor(e, first))) {
            strbuf_puts(&e->more, "tensor");
        } else if (jdoc_is(e->doc, v, JDOC_ARRAY)) {
            strbuf_puts(&e->more, "[");
            for (uint32_t k = first; k != JDOC_NONE && e->more.n < ARGS_BYTES; k = e->doc->nodes[k].next) {
                strbuf_printf(&e->more, "%s%s", k == first ? "" : ",", jdoc_text(e->doc, k, &e->text));
            }
            strbuf_puts(&e->more, "]");
        } else {
            strbuf_puts(&e->more, jdoc_text(e->doc, v, &e->text));
        }
    }
    if (e->more.n) {
        graph_builder_attr(e->b, node, "arguments", 9, e->more.s, e->more.n);
    }
}

static void push_number(et_reader *e, uint32_t node, const char *key, int64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)v);
    graph_builder_attr(e->b, node, key, strlen(key), text, (size_t)n);
}

/* Entries of attrs that are no fields of the tree: process groups, message sizes, kernels. */
static void push_attrs(et_reader *e, const et_node *n, uint32_t node)
{
    static const char *const fields[] = {"rf_id", "fw_parent", "seq_id", "scope", "op_schema", "fw_tid"};
    for (uint32_t a = jdoc_first(e->doc, n->attrs); a != JDOC_NONE; a = e->doc->nodes[a].next) {
        uint32_t name = jdoc_member(e->doc, a, "name");
        bool known = false;
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            known = known || jdoc_text_is(e->doc, name, fields[i]);
        }
        (void)jdoc_text(e->doc, name, &e->more);
        const char *value = jdoc_text(e->doc, jdoc_member(e->doc, a, "value"), &e->text);
        if (!known && e->more.n && e->text.n) {
            graph_builder_attr(e->b, node, e->more.s, e->more.n, value, e->text.n);
        }
    }
    const char *schema = jdoc_text(e->doc, n->schema, &e->text);
    if (e->text.n) {
        graph_builder_attr(e->b, node, "op_schema", 9, schema, e->text.n);
    }
    if (n->seq_id >= 0) {
        push_number(e, node, "seq_id", n->seq_id);
    }
    if (n->fw_parent > 0) {
        push_number(e, node, "fw_parent", n->fw_parent);
    }
}

static void push_node(et_reader *e, uint32_t i)
{
    const et_node *n = &e->nodes[i];
    uint32_t scope = scope_in(e, n->has_children ? i : n->parent);
    const char *name = jdoc_text(e->doc, n->name, &e->text);
    graph_node_in in = {.name = name,
                        .n_name = e->text.n,
                        .op = name,
                        .n_op = e->text.n,
                        .scope = scope,
                        .key = n->rf_id,
                        .stage = -1,
                        .phase = phase_of(e, i),
                        .flags = n->has_children ? GRAPH_CALL : 0};
    uint32_t node = graph_builder_node(e->b, &in);
    if (n->has_children && n->depth <= SCOPE_DEPTH_MAX) {
        graph_builder_body(e->b, node, scope);
    }
    push_outputs(e, n, node);
    push_args(e, n, node);
    push_attrs(e, n, node);
}

/* ---- edges ---- */

static bool overlaps(const et_range *r, const et_tensor *t)
{
    return r->begin < t->end && t->begin < r->end;
}

/* Who wrote what the tensor holds, before now: the later of its own writer and of its storage's. */
static bool find_writer(const et_reader *e, const et_tensor *t, uint32_t *node, uint32_t *slot)
{
    const uint64_t *own = map64_get(&e->writer, (uint64_t)t->id);
    *node = own ? (uint32_t)((*own - 1) >> 16) : GRAPH_NONE;
    *slot = own ? (uint32_t)((*own - 1) & 0xFFFF) : 0;
    const uint64_t *newest = t->storage > 0 ? map64_get(&e->storages, (uint64_t)t->storage) : NULL;
    uint32_t at = newest ? (uint32_t)(*newest - 1) : GRAPH_NONE;
    for (unsigned k = 0; at != GRAPH_NONE && k < RANGES_LOOKED_AT; k++, at = e->ranges[at].next) {
        if (overlaps(&e->ranges[at], t)) {
            if (*node == GRAPH_NONE || e->ranges[at].node > *node) {
                *node = e->ranges[at].node;
                *slot = e->ranges[at].slot;
            }
            break;
        }
    }
    return *node != GRAPH_NONE;
}

static void note_writer(et_reader *e, const et_tensor *t, uint32_t node, uint32_t slot, bool view)
{
    *map64_put(&e->writer, (uint64_t)t->id) = ((uint64_t)node << 16 | (slot < 0xFFFF ? slot : 0xFFFF)) + 1;
    if (view || t->storage <= 0) {
        return;
    }
    uint64_t *newest = map64_put(&e->storages, (uint64_t)t->storage);
    et_range r = {t->begin, t->end, node, slot, *newest ? (uint32_t)(*newest - 1) : GRAPH_NONE};
    *newest = e->n_ranges + 1;
    VEC_PUSH(e->ranges, e->n_ranges, e->cap_ranges, r);
}

static bool is_collective(const char *name)
{
    return strncmp(name, "nccl:", 5) == 0 || strncmp(name, "c10d::", 6) == 0 || strncmp(name, "gloo:", 5) == 0 ||
           strncmp(name, "hccl:", 5) == 0 || strcmp(name, "record_param_comms") == 0;
}

/* Does the schema say that its k-th argument is written ("Tensor(a!) self")? */
static bool writes_arg(const char *schema, uint32_t k)
{
    const char *p = strchr(schema, '(');
    size_t depth = 0;
    for (p = p ? p + 1 : schema + strlen(schema); *p && !(*p == ')' && depth == 0); p++) {
        depth += *p == '(' || *p == '[';
        depth -= depth > 0 && (*p == ')' || *p == ']');
        if (*p == ',' && depth == 0) {
            if (k-- == 0) {
                return false;
            }
        } else if (*p == '!' && k == 0) {
            return true;
        }
    }
    return false;
}

/* "-> Tensor(a)": what comes out is a view of what went in. */
static bool is_view(const char *schema)
{
    const char *arrow = strstr(schema, "->");
    const char *alias = arrow ? strstr(arrow, "(a") : NULL;
    return alias && (alias[2] == ')' || alias[2] == ' ');
}

static void push_edges(et_reader *e, uint32_t i)
{
    const et_node *n = &e->nodes[i];
    if (!n->has_tensors || n->below_has_tensors) {
        return;
    }
    bool collective = is_collective(jdoc_text(e->doc, n->name, &e->text));
    const char *schema = jdoc_text(e->doc, n->schema, &e->more);
    size_t count = take_tensors(e, n->inputs);
    for (size_t k = 0; k < count; k++) {
        uint32_t from = 0;
        uint32_t slot = 0;
        if (find_writer(e, &e->tensors[k], &from, &slot)) {
            graph_builder_edge(e->b, from, slot, i, (uint32_t)k, 0);
        }
    }
    for (size_t k = 0; k < count; k++) {
        if (collective || writes_arg(schema, e->tensors[k].arg)) {
            note_writer(e, &e->tensors[k], i, 0, false);
        }
    }
    bool view = is_view(schema);
    count = take_tensors(e, n->outputs);
    for (size_t k = 0; k < count; k++) {
        note_writer(e, &e->tensors[k], i, e->tensors[k].arg, view);
    }
}

/* ---- the whole ---- */

static marey_status push_all(et_reader *e)
{
    if (e->n == 0) {
        return diag_error(e->in->diag, MAREY_FORMAT, e->in->path, 0, "The execution trace has no node with an id.");
    }
    qsort(e->nodes, e->n, sizeof *e->nodes, by_id);
    find_parents(e);
    find_depths(e);
    find_leaves(e);
    find_phases(e);
    uint64_t too_deep = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if ((i & 255) == 0 && is_cancelled(e->in->cancel)) {
            return MAREY_CANCELLED;
        }
        push_node(e, i);
        too_deep += e->nodes[i].has_children && e->nodes[i].depth > SCOPE_DEPTH_MAX;
    }
    for (uint32_t i = 0; i < e->n; i++) {
        push_edges(e, i);
    }
    if (too_deep) {
        diag_lose(e->in->diag, MAREY_LOSS_LIMIT, e->in->file, DIAG_NO_OFFSET, too_deep,
                  "calls more than 60 deep share one scope");
    }
    return MAREY_OK;
}

static void deinit(et_reader *e)
{
    free(e->nodes);
    free(e->ranges);
    free(e->tensors);
    map64_deinit(&e->by_id);
    map64_deinit(&e->writer);
    map64_deinit(&e->storages);
    strbuf_deinit(&e->text);
    strbuf_deinit(&e->more);
    jdoc_destroy(&e->doc);
}

static marey_status read_exec_trace(const graph_input *in, graph_builder *b)
{
    et_reader e = {.in = in, .b = b};
    marey_status status = jdoc_parse((const char *)in->data, in->size, in->path, in->diag, &e.doc);
    if (status != MAREY_OK) {
        return status;
    }
    if (e.doc->truncated) {
        diag_lose(in->diag, MAREY_LOSS_TRUNCATED, in->file, e.doc->truncated_at, 1, NULL);
    }
    if (e.doc->n_repairs) {
        diag_lose(in->diag, MAREY_LOSS_DAMAGED, in->file, e.doc->first_repair, e.doc->n_repairs, NULL);
    }
    uint32_t list = jdoc_member(e.doc, 0, "nodes");
    for (uint32_t at = jdoc_first(e.doc, list); at != JDOC_NONE; at = e.doc->nodes[at].next) {
        take_node(&e, at);
    }
    (void)jdoc_text(e.doc, jdoc_member(e.doc, 0, "pid"), &e.more);
    strbuf_clear(&e.text);
    strbuf_printf(&e.text, "process %s", strbuf_str(&e.more));
    const char *schema = jdoc_text(e.doc, jdoc_member(e.doc, 0, "schema"), &e.more);
    graph_builder_facts(b, "execution-trace", e.text.s, schema);
    status = push_all(&e);
    deinit(&e);
    return status;
}

static int sniff_exec_trace(const graph_input *in)
{
    return graph_head_byte(in) == '{' && graph_head_has(in, "\"schema\"") && graph_head_has(in, "\"nodes\"") &&
                   (graph_head_has(in, "\"rf_id\"") || graph_head_has(in, "\"ctrl_deps\""))
               ? 2
               : 0;
}

const graph_format GRAPH_EXEC_TRACE = {"execution-trace", sniff_exec_trace, read_exec_trace};
