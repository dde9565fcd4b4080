/* TensorFlow: attributes as text, and what they say of a node's outputs. */
#include <string.h>

#include "base/mem.h"
#include "readers/graph_tf.h"

enum { LIST_MAX = 64 };

const pb_field *tf_find_attr(const tf_reader *r, const char *key)
{
    for (size_t i = 0; i < r->n_attrs; i++) {
        if (tf_is(r->attrs[i].key, key)) {
            return &r->attrs[i].value;
        }
    }
    return NULL;
}

static pb_field member(const pb_reader *outer, const pb_field *message, uint32_t number)
{
    pb_reader at;
    pb_field f;
    pb_field found = {0};
    pb_enter(&at, outer, message);
    while (pb_next(&at, &f)) {
        if (f.number == number) {
            found = f;
        }
    }
    return found;
}

/* TensorShapeProto {dim#2 {size#1, name#2}, unknown_rank#3}, behind its element type. */
static uint64_t put_shape(const pb_reader *outer, const pb_field *shape, graph_dtype type, strbuf *out)
{
    pb_reader at;
    pb_field f;
    graph_shape s;
    graph_shape_begin(&s, out, type);
    pb_enter(&at, outer, shape);
    while (pb_next(&at, &f)) {
        if (f.number == 2 && f.wire == PB_BYTES) {
            graph_shape_dim(&s, (int64_t)member(&at, &f, 1).value);
        } else if (f.number == 3 && f.value && f.wire == PB_VARINT) {
            graph_shape_name(&s, "...", 3);
        }
    }
    return graph_shape_end(&s);
}

/* TensorProto {dtype#1, tensor_shape#2}: its values stay where they are. */
static uint64_t put_tensor(const pb_reader *outer, const pb_field *tensor, strbuf *out)
{
    pb_field shape = member(outer, tensor, 2);
    return put_shape(outer, &shape, graph_dtype_tensorflow(member(outer, tensor, 1).value), out);
}

static void put_type(uint64_t number, strbuf *out)
{
    graph_dtype type = graph_dtype_tensorflow(number);
    if (type.name) {
        strbuf_puts(out, type.name);
    } else {
        strbuf_printf(out, "type %llu", (unsigned long long)number);
    }
}

static void put_bytes(const pb_field *f, strbuf *out)
{
    tf_span s = tf_text(f);
    for (size_t i = 0; i < s.n && i < 256; i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c < 0x20 && c != '\n' && c != '\t') {
            strbuf_printf(out, "%zu bytes", s.n);
            return;
        }
    }
    if (s.n) {
        strbuf_add(out, s.s, s.n);
    }
}

/* One value: the numbers of AttrValue and of its list agree from 2 to 8. */
static void put_one(const pb_reader *outer, const pb_field *f, strbuf *out)
{
    pb_field name;
    switch (f->number) {
    case 2:
    case 9:
        put_bytes(f, out);
        break;
    case 3:
        graph_put_int(out, (int64_t)f->value);
        break;
    case 4:
        strbuf_printf(out, "%.6g", (double)pb_float(f));
        break;
    case 5:
        strbuf_puts(out, f->value ? "true" : "false");
        break;
    case 6:
        put_type(f->value, out);
        break;
    case 7:
        (void)put_shape(outer, f, (graph_dtype){"", 0}, out);
        break;
    case 8:
        (void)put_tensor(outer, f, out);
        break;
    default:
        name = member(outer, f, 1);
        put_bytes(&name, out);
        break;
    }
}

static bool is_number(uint32_t field)
{
    return field >= 3 && field <= 6;
}

static void put_list(const pb_reader *outer, const pb_field *list, strbuf *out)
{
    pb_reader at;
    pb_field f;
    size_t n = 0;
    pb_enter(&at, outer, list);
    strbuf_puts(out, "[");
    while (pb_next(&at, &f)) {
        uint64_t v = 0;
        bool is_float = f.number == 4;
        pb_field one = f;
        if (f.number == 9 && f.wire == PB_BYTES) {
            one.number = 10; /* a function */
        }
        for (size_t k = 0; is_number(f.number) && f.wire == PB_BYTES &&
                           (is_float ? pb_packed_fixed(&f, &k, 4, &v) : pb_packed(&f, &k, &v));
             n++) {
            one = (pb_field){.number = f.number, .value = v};
            strbuf_puts(out, n && n < LIST_MAX ? ", " : "");
            if (n < LIST_MAX) {
                put_one(&at, &one, out);
            }
        }
        if (f.wire == PB_BYTES ? !is_number(f.number) : is_number(f.number)) {
            strbuf_puts(out, n && n < LIST_MAX ? ", " : "");
            if (n++ < LIST_MAX) {
                put_one(&at, &one, out);
            }
        }
    }
    if (n > LIST_MAX) {
        strbuf_printf(out, ", ... %zu values", n);
    }
    strbuf_puts(out, "]");
}

void tf_attr_text(const tf_reader *r, const pb_field *value, strbuf *out)
{
    pb_reader at;
    pb_field f;
    size_t start = out->n;
    pb_enter(&at, &r->wire, value);
    while (pb_next(&at, &f)) {
        bool fits = is_number(f.number) ? f.wire != PB_BYTES && f.wire != PB_FIXED64 : f.wire == PB_BYTES;
        if (f.number > 10 || !fits) {
            continue;
        }
        out->n = start;
        if (f.number == 1) {
            put_list(&at, &f, out);
        } else {
            put_one(&at, &f, out);
        }
    }
}

tf_span tf_attr_function(const tf_reader *r, const pb_field *value, size_t k)
{
    pb_reader at;
    pb_field f;
    pb_enter(&at, &r->wire, value);
    while (pb_next(&at, &f)) {
        if (f.number == 10 && f.wire == PB_BYTES && k == 0) {
            pb_field name = member(&at, &f, 1);
            return tf_text(&name);
        }
        pb_reader in;
        pb_field g;
        size_t i = 0;
        pb_enter(&in, &at, &f);
        while (f.number == 1 && pb_next(&in, &g)) {
            if (g.number == 9 && g.wire == PB_BYTES && i++ == k) {
                pb_field name = member(&in, &g, 1);
                return tf_text(&name);
            }
        }
    }
    return (tf_span){"", 0};
}

/* ---- outputs ---- */

/* The types that a list states (field 6), or that a single value is. */
static void list_types(tf_reader *r, const pb_field *value)
{
    pb_reader at;
    pb_field f;
    pb_enter(&at, &r->wire, value);
    while (pb_next(&at, &f)) {
        pb_reader in;
        pb_field g;
        pb_enter(&in, &at, &f);
        while (f.number == 1 && pb_next(&in, &g)) {
            uint64_t v = 0;
            for (size_t p = 0; g.number == 6 && pb_packed(&g, &p, &v);) {
                VEC_PUSH(r->types, r->n_types, r->cap_types, v);
            }
        }
    }
}

static bool attr_type(const tf_reader *r, const char *key, uint64_t *type)
{
    const pb_field *value = tf_find_attr(r, key);
    pb_field f = value ? member(&r->wire, value, 6) : (pb_field){0};
    *type = f.value;
    return f.number == 6 && f.wire == PB_VARINT;
}

static bool is_one_of(tf_span s, const char *const *list)
{
    for (; *list; list++) {
        if (tf_is(s, *list)) {
            return true;
        }
    }
    return false;
}

/* The element type of all outputs, where none is stated for each: "T" is that of the inputs, and mostly theirs. */
static graph_dtype common_type(const tf_reader *r)
{
    static const char *const plain[] = {"DstT", "dtype", "out_type", "output_type", "T", NULL};
    static const char *const tests[] = {"Equal",      "NotEqual",   "Less",     "LessEqual", "Greater", "GreaterEqual",
                                        "LogicalAnd", "LogicalNot", "IsFinite", "LogicalOr", "IsNan",   "Any",
                                        "All",        "InTopK",     "IsInf",    "LoopCond",  NULL};
    static const char *const shapes[] = {"Shape", "Size", "Rank", "ShapeN", NULL};
    uint64_t type = 0;
    if (is_one_of(r->op, tests)) {
        return graph_dtype_tensorflow(10);
    }
    if (is_one_of(r->op, shapes)) {
        return graph_dtype_tensorflow(attr_type(r, "out_type", &type) ? type : 3);
    }
    for (const char *const *key = plain; *key; key++) {
        if (attr_type(r, *key, &type)) {
            return graph_dtype_tensorflow(type);
        }
    }
    return (graph_dtype){NULL, 0};
}

static void find_types(tf_reader *r)
{
    static const char *const lists[] = {"Tout", "output_types", "component_types", "output_dtypes", "dtypes", NULL};
    r->n_types = 0;
    for (const char *const *key = lists; *key && !r->n_types; key++) {
        const pb_field *value = tf_find_attr(r, *key);
        if (value) {
            list_types(r, value);
        }
    }
}

static graph_dtype output_type(const tf_reader *r, size_t k, graph_dtype common)
{
    return k < r->n_types ? graph_dtype_tensorflow(r->types[k]) : common;
}

/* Where no shapes were inferred: those that a placeholder, a variable or a constant has by itself. */
static uint64_t own_shape(tf_reader *r, graph_dtype type)
{
    const pb_field *value = tf_find_attr(r, "value");
    pb_field f = value ? member(&r->wire, value, 8) : (pb_field){0};
    if (f.wire == PB_BYTES && f.size) {
        return put_tensor(&r->wire, &f, &r->text);
    }
    value = tf_find_attr(r, "shape");
    f = value ? member(&r->wire, value, 7) : (pb_field){0};
    if (f.number == 7 && f.wire == PB_BYTES && !tf_is(r->op, "Reshape")) {
        return put_shape(&r->wire, &f, type, &r->text);
    }
    strbuf_puts(&r->text, type.name ? type.name : "");
    return 0;
}

/* Shapes of the list, one output each. @return how many */
static size_t push_shapes(tf_reader *r, const pb_field *shapes, uint32_t node, graph_dtype common)
{
    pb_reader at;
    pb_field f;
    size_t k = 0;
    pb_enter(&at, &r->wire, shapes);
    while (pb_next(&at, &f)) {
        pb_reader in;
        pb_field g;
        pb_enter(&in, &at, &f);
        while (f.number == 1 && pb_next(&in, &g)) {
            if (g.number == 7 && g.wire == PB_BYTES) {
                strbuf_clear(&r->text);
                uint64_t bytes = put_shape(&in, &g, output_type(r, k++, common), &r->text);
                graph_builder_output(r->b, node, strbuf_str(&r->text), r->text.n, bytes);
            }
        }
    }
    return k;
}

void tf_push_outputs(tf_reader *r, uint32_t node)
{
    const pb_field *shapes = tf_find_attr(r, "_output_shapes");
    find_types(r);
    graph_dtype common = common_type(r);
    if (shapes && push_shapes(r, shapes, node, common)) {
        return;
    }
    strbuf_clear(&r->text);
    uint64_t bytes = own_shape(r, output_type(r, 0, common));
    if (r->text.n) {
        graph_builder_output(r->b, node, strbuf_str(&r->text), r->text.n, bytes);
    }
}

graph_dtype tf_arg_type(const tf_reader *r, const pb_field *arg)
{
    pb_field f = member(&r->wire, arg, 3);
    return f.wire == PB_VARINT ? graph_dtype_tensorflow(f.value) : (graph_dtype){NULL, 0};
}
