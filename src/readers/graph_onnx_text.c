/* ONNX: types, tensors and attributes as text. */
#include <string.h>

#include "readers/graph_onnx.h"

enum { TYPE_DEPTH_MAX = 16, LIST_MAX = 64, SMALL_TENSOR_BYTES = 64 };

enum { ELEM_TENSOR = 1, ELEM_SEQUENCE = 4, ELEM_MAP = 5, ELEM_OPAQUE = 7, ELEM_SPARSE = 8, ELEM_OPTIONAL = 9 };

static void open_span(pb_reader *r, const pb_reader *outer, const uint8_t *data, size_t n)
{
    pb_field f = {.wire = PB_BYTES, .data = data, .size = n};
    pb_enter(r, outer, &f);
}

static void shape_dims(const pb_reader *outer, const pb_field *shape, graph_shape *s)
{
    pb_reader r;
    pb_field dim;
    pb_enter(&r, outer, shape);
    while (pb_next(&r, &dim)) {
        if (dim.number != 1) {
            continue;
        }
        pb_reader in;
        pb_field f;
        pb_field size = {0};
        pb_enter(&in, &r, &dim);
        while (pb_next(&in, &f)) {
            if (f.number == 1 || f.number == 2) {
                size = f;
            }
        }
        if (size.number == 1 && size.wire == PB_VARINT) {
            graph_shape_dim(s, (int64_t)size.value);
        } else {
            bool named = size.number == 2 && size.wire == PB_BYTES;
            graph_shape_name(s, named ? (const char *)size.data : "", named ? size.size : 0);
        }
    }
}

/* Tensor {elem_type#1, shape#2}: without a shape its rank is unknown. */
static uint64_t plain_type(const pb_reader *outer, const pb_field *tensor, strbuf *out)
{
    pb_reader r;
    pb_field f;
    pb_field shape = {0};
    uint64_t elem = 0;
    pb_enter(&r, outer, tensor);
    while (pb_next(&r, &f)) {
        if (f.number == 1 && f.wire == PB_VARINT) {
            elem = f.value;
        } else if (f.number == 2 && f.wire == PB_BYTES) {
            shape = f;
        }
    }
    graph_dtype type = graph_dtype_onnx(elem);
    if (!shape.number) {
        strbuf_puts(out, type.name ? type.name : "tensor");
        return 0;
    }
    graph_shape s;
    graph_shape_begin(&s, out, type);
    shape_dims(&r, &shape, &s);
    return graph_shape_end(&s);
}

/* The one field of a TypeProto that says what it is. */
static pb_field type_choice(const pb_reader *outer, const pb_field *type, pb_reader *at)
{
    pb_field f;
    pb_field choice = {0};
    pb_enter(at, outer, type);
    while (pb_next(at, &f)) {
        if (f.wire == PB_BYTES && f.number != 6) { /* 6: denotation */
            choice = f;
        }
    }
    return choice;
}

static pb_field member(const pb_reader *outer, const pb_field *message, uint32_t number, pb_reader *at)
{
    pb_field f;
    pb_field found = {0};
    pb_enter(at, outer, message);
    while (pb_next(at, &f)) {
        if (f.number == number) {
            found = f;
        }
    }
    return found;
}

uint64_t onnx_type_text(const pb_reader *outer, const uint8_t *type, size_t n, strbuf *out)
{
    pb_reader at;
    pb_field f = {.wire = PB_BYTES, .data = type, .size = n};
    uint64_t bytes = 0;
    int depth = 0;
    open_span(&at, outer, type, n);
    for (; depth < TYPE_DEPTH_MAX; depth++) {
        pb_field choice = type_choice(outer, &f, &at);
        if (choice.number == ELEM_TENSOR || choice.number == ELEM_SPARSE) {
            strbuf_puts(out, choice.number == ELEM_SPARSE ? "sparse " : "");
            bytes = plain_type(outer, &choice, out);
            bytes = depth || choice.number == ELEM_SPARSE ? 0 : bytes;
            break;
        }
        if (choice.number == ELEM_MAP) {
            graph_dtype key = graph_dtype_onnx(member(outer, &choice, 1, &at).value);
            strbuf_printf(out, "map(%s, ", key.name ? key.name : "?");
            f = member(outer, &choice, 2, &at);
        } else if (choice.number == ELEM_SEQUENCE || choice.number == ELEM_OPTIONAL) {
            strbuf_puts(out, choice.number == ELEM_SEQUENCE ? "sequence(" : "optional(");
            f = member(outer, &choice, 1, &at);
        } else {
            strbuf_puts(out, choice.number == ELEM_OPAQUE ? "opaque" : "?");
            break;
        }
    }
    strbuf_puts(out, depth == TYPE_DEPTH_MAX ? "..." : "");
    for (; depth > 0; depth--) {
        strbuf_add(out, ")", 1);
    }
    return bytes;
}

/* ---- tensors ---- */

uint64_t onnx_tensor_text(const pb_reader *outer, const pb_field *message, strbuf *out, pb_field *name)
{
    pb_reader r;
    pb_field f;
    uint64_t type = 0;
    pb_enter(&r, outer, message);
    while (pb_next(&r, &f)) {
        if (f.number == 2) {
            type = f.value;
        } else if (f.number == 8 && f.wire == PB_BYTES && name) {
            *name = f;
        }
    }
    graph_shape s;
    graph_shape_begin(&s, out, graph_dtype_onnx(type));
    pb_enter(&r, outer, message);
    while (pb_next(&r, &f)) {
        uint64_t size = 0;
        for (size_t at = 0;
             f.number == 1 && f.wire != PB_FIXED64 && f.wire != PB_FIXED32 && pb_packed(&f, &at, &size);) {
            graph_shape_dim(&s, (int64_t)size);
        }
    }
    return graph_shape_end(&s);
}

/* Values of a tensor of a few numbers: that is what constants of shapes, axes and scales are. */
static void put_raw(strbuf *out, uint64_t type, uint64_t v)
{
    switch (type) {
    case 1:
        strbuf_printf(out, "%.6g", (double)pb_float(&(pb_field){.value = v}));
        break;
    case 11:
        strbuf_printf(out, "%.6g", pb_double(&(pb_field){.value = v}));
        break;
    case 6:
        graph_put_int(out, (int32_t)v);
        break;
    default:
        graph_put_int(out, (int64_t)v);
        break;
    }
}

static unsigned raw_width(uint64_t type)
{
    return type == 1 || type == 6 ? 4 : type == 7 || type == 11 ? 8 : type == 9 ? 1 : 0;
}

static bool next_number(const pb_field *f, uint64_t type, size_t *at, uint64_t *v)
{
    unsigned width = f->number == 9 ? raw_width(type) : f->number == 4 ? 4 : f->number == 10 ? 8 : 0;
    return width ? pb_packed_fixed(f, at, width, v) : pb_packed(f, at, v);
}

static void tensor_values(const pb_reader *outer, const pb_field *message, uint64_t bytes, strbuf *out)
{
    pb_reader r;
    pb_field f;
    uint64_t type = member(outer, message, 2, &r).value;
    if (!bytes || bytes > SMALL_TENSOR_BYTES || !raw_width(type)) {
        return;
    }
    size_t n = 0;
    pb_enter(&r, outer, message);
    while (pb_next(&r, &f)) {
        bool holds = f.number == 4 || f.number == 5 || f.number == 7 || f.number == 9 || f.number == 10;
        uint64_t v = 0;
        for (size_t at = 0; holds && n < LIST_MAX && next_number(&f, type, &at, &v); n++) {
            strbuf_puts(out, n ? ", " : " {");
            put_raw(out, type, v);
        }
    }
    strbuf_puts(out, n ? "}" : "");
}

/* ---- attributes ---- */

static bool is_text(const uint8_t *s, size_t n)
{
    size_t most = n < 256 ? n : 256;
    for (size_t i = 0; i < most; i++) {
        if (s[i] < 0x20 && s[i] != '\n' && s[i] != '\t' && s[i] != '\r') {
            return false;
        }
    }
    return true;
}

static void put_string(const pb_field *f, strbuf *out)
{
    if (is_text(f->data, f->size)) {
        onnx_put(out, (const char *)f->data, f->size);
    } else {
        strbuf_printf(out, "%zu bytes", f->size);
    }
}

static void put_tensor(const pb_reader *outer, const pb_field *f, strbuf *out)
{
    uint64_t bytes = onnx_tensor_text(outer, f, out, NULL);
    tensor_values(outer, f, bytes, out);
}

static void put_one(const pb_reader *outer, const pb_field *f, strbuf *out)
{
    pb_reader at;
    pb_field name;
    switch (f->number) {
    case 2:
        strbuf_printf(out, "%.6g", (double)pb_float(f));
        break;
    case 3:
        graph_put_int(out, (int64_t)f->value);
        break;
    case 4:
    case 9:
        put_string(f, out);
        break;
    case 5:
    case 10:
        put_tensor(outer, f, out);
        break;
    case 6:
    case 11:
        name = member(outer, f, 2, &at);
        strbuf_puts(out, "graph ");
        onnx_put(out, (const char *)name.data, name.wire == PB_BYTES ? name.size : 0);
        break;
    case 14:
    case 15:
        (void)onnx_type_text(outer, f->data, f->size, out);
        break;
    case 21:
        strbuf_puts(out, "@"); /* the value that the call has for this attribute of the function */
        onnx_put(out, (const char *)f->data, f->size);
        break;
    default:
        strbuf_puts(out, "sparse tensor");
        break;
    }
}

/* Elements of a packed list, or the one of a field. */
static void put_elements(const pb_reader *outer, const pb_field *f, size_t *n, strbuf *out)
{
    uint64_t v = 0;
    bool floats = f->number == 7;
    if (f->number != 7 && f->number != 8) {
        strbuf_puts(out, (*n)++ ? ", " : "");
        put_one(outer, f, out);
        return;
    }
    for (size_t at = 0; floats ? pb_packed_fixed(f, &at, 4, &v) : pb_packed(f, &at, &v); (*n)++) {
        if (*n < LIST_MAX) {
            strbuf_puts(out, *n ? ", " : "");
            put_one(outer, &(pb_field){.number = floats ? 2 : 3, .wire = PB_VARINT, .value = v}, out);
        }
    }
}

static bool is_wanted(const pb_field *f)
{
    static const uint8_t wires[24] = {
        [2] = PB_FIXED32, [4] = PB_BYTES,  [5] = PB_BYTES,  [6] = PB_BYTES,  [9] = PB_BYTES,  [10] = PB_BYTES,
        [11] = PB_BYTES,  [14] = PB_BYTES, [15] = PB_BYTES, [21] = PB_BYTES, [22] = PB_BYTES, [23] = PB_BYTES};
    if (f->number == 3) {
        return f->wire == PB_VARINT;
    }
    if (f->number == 7 || f->number == 8) {
        return f->wire == PB_BYTES || f->wire == (f->number == 7 ? PB_FIXED32 : PB_VARINT);
    }
    return f->number < 24 && wires[f->number] && f->wire == wires[f->number];
}

void onnx_attribute_text(const pb_reader *outer, const pb_field *attribute, strbuf *out)
{
    pb_reader r;
    pb_field f;
    size_t n = 0;
    size_t start = out->n;
    pb_enter(&r, outer, attribute);
    while (pb_next(&r, &f)) {
        if (!is_wanted(&f)) {
            continue;
        }
        bool is_list = f.number >= 7 && f.number <= 11;
        if (!is_list) {
            out->n = start;
            put_one(&r, &f, out);
            n = 1;
        } else if (n < LIST_MAX) {
            put_elements(&r, &f, &n, out);
        } else {
            n++;
        }
    }
    if (n > LIST_MAX) {
        strbuf_printf(out, ", ... (%zu values)", n);
    }
}
