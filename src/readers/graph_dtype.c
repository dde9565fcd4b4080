#include "readers/graph_dtype.h"

#include <string.h>

/* Sources: onnx.proto TensorProto.DataType; tensorflow types.proto; mindspore anf_ir.proto DataType. */
static const graph_dtype onnx_types[] = {
    {NULL, 0},   {"f32", 32},   {"u8", 8},     {"i8", 8},       {"u16", 16},       {"i16", 16},   {"i32", 32},
    {"i64", 64}, {"str", 0},    {"bool", 8},   {"f16", 16},     {"f64", 64},       {"u32", 32},   {"u64", 64},
    {"c64", 64}, {"c128", 128}, {"bf16", 16},  {"f8e4m3fn", 8}, {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8},
    {"u4", 4},   {"i4", 4},     {"f4e2m1", 4}, {"f8e8m0", 8},   {"u2", 2},         {"i2", 2}};

static const graph_dtype tensorflow_types[] = {
    {NULL, 0},     {"f32", 32},     {"f64", 64},       {"i32", 32},          {"u8", 8},         {"i16", 16},
    {"i8", 8},     {"str", 0},      {"c64", 64},       {"i64", 64},          {"bool", 8},       {"qi8", 8},
    {"qu8", 8},    {"qi32", 32},    {"bf16", 16},      {"qi16", 16},         {"qu16", 16},      {"u16", 16},
    {"c128", 128}, {"f16", 16},     {"resource", 0},   {"variant", 0},       {"u32", 32},       {"u64", 64},
    {"f8e5m2", 8}, {"f8e4m3fn", 8}, {"f8e4m3fnuz", 8}, {"f8e4m3b11fnuz", 8}, {"f8e5m2fnuz", 8}, {"i4", 4},
    {"u4", 4},     {"i2", 2},       {"u2", 2}};

/* With the names that the JSON form and MindSpore's own texts use. */
static const struct {
    uint8_t number;
    const char *name;
    graph_dtype type;
} mindspore_types[] = {
    {1, "BOOL", {"bool", 8}},     {2, "INT8", {"i8", 8}},       {3, "INT16", {"i16", 16}},
    {4, "INT32", {"i32", 32}},    {5, "INT64", {"i64", 64}},    {6, "UINT8", {"u8", 8}},
    {7, "UINT16", {"u16", 16}},   {8, "UINT32", {"u32", 32}},   {9, "UINT64", {"u64", 64}},
    {10, "FLOAT16", {"f16", 16}}, {11, "FLOAT32", {"f32", 32}}, {12, "FLOAT64", {"f64", 64}},
    {13, "STRING", {"str", 0}},
};

static const struct {
    const char *name;
    graph_dtype type;
} spellings[] = {
    {"float", {"f32", 32}},
    {"double", {"f64", 64}},
    {"half", {"f16", 16}},
    {"bfloat16", {"bf16", 16}},
    {"string", {"str", 0}},
    {"resource", {"resource", 0}},
    {"variant", {"variant", 0}},
    {"complex64", {"c64", 64}},
    {"complex128", {"c128", 128}},
    {"qint8", {"qi8", 8}},
    {"quint8", {"qu8", 8}},
    {"qint32", {"qi32", 32}},
    {"qint16", {"qi16", 16}},
    {"quint16", {"qu16", 16}},
    {"c10::Half", {"f16", 16}},
    {"c10::BFloat16", {"bf16", 16}},
    {"long int", {"i64", 64}},
    {"long", {"i64", 64}},
    {"int", {"i32", 32}},
    {"short int", {"i16", 16}},
    {"short", {"i16", 16}},
    {"unsigned char", {"u8", 8}},
    {"signed char", {"i8", 8}},
    {"c10::Float8_e4m3fn", {"f8e4m3fn", 8}},
    {"c10::Float8_e5m2", {"f8e5m2", 8}},
    {"c10::Half", {"f16", 16}},
    {"c10::BFloat16", {"bf16", 16}},
    {"long int", {"i64", 64}},
    {"long", {"i64", 64}},
    {"int", {"i32", 32}},
    {"short int", {"i16", 16}},
    {"short", {"i16", 16}},
    {"unsigned char", {"u8", 8}},
    {"signed char", {"i8", 8}},
    {"c10::Float8_e4m3fn", {"f8e4m3fn", 8}},
    {"c10::Float8_e5m2", {"f8e5m2", 8}},
};

static graph_dtype pick(const graph_dtype *table, size_t n, uint64_t number)
{
    return number < n ? table[number] : (graph_dtype){NULL, 0};
}

graph_dtype graph_dtype_onnx(uint64_t number)
{
    return pick(onnx_types, sizeof onnx_types / sizeof *onnx_types, number);
}

graph_dtype graph_dtype_tensorflow(uint64_t number)
{
    /* 100 more: a reference to a variable of that type */
    return pick(tensorflow_types, sizeof tensorflow_types / sizeof *tensorflow_types,
                number > 100 && number < 200 ? number - 100 : number);
}

graph_dtype graph_dtype_mindspore(uint64_t number)
{
    for (size_t i = 0; i < sizeof mindspore_types / sizeof *mindspore_types; i++) {
        if (mindspore_types[i].number == number) {
            return mindspore_types[i].type;
        }
    }
    return (graph_dtype){NULL, 0};
}

/* Case does not matter in names: both are ASCII. */
static bool same_name(const char *s, size_t n, const char *name)
{
    size_t i = 0;
    for (; i < n && name[i]; i++) {
        if ((s[i] | 0x20) != (name[i] | 0x20)) {
            return false;
        }
    }
    return i == n && !name[i];
}

graph_dtype graph_dtype_named(const char *s, size_t n)
{
    static const char *const prefixes[] = {"DT_", "DT_", "kNumberType", "kObjectType", "DataType."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t k = strlen(prefixes[i]);
        if (n > k && memcmp(s, prefixes[i], k) == 0) {
            s += k;
            n -= k;
        }
    }
    for (size_t i = 0; i < sizeof mindspore_types / sizeof *mindspore_types; i++) {
        if (same_name(s, n, mindspore_types[i].name)) {
            return mindspore_types[i].type;
        }
    }
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (same_name(s, n, spellings[i].name)) {
            return spellings[i].type;
        }
    }
    return (graph_dtype){NULL, 0};
}

void graph_put_int(strbuf *out, int64_t v)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (v < 0) {
        digits[--at] = '-';
    }
    strbuf_add(out, digits + at, sizeof digits - at);
}

void graph_shape_begin(graph_shape *s, strbuf *out, graph_dtype type)
{
    *s = (graph_shape){.out = out, .elements = 1, .bits = type.bits, .known = true, .first = true};
    strbuf_puts(out, type.name ? type.name : "tensor");
    strbuf_puts(out, "[");
}

void graph_shape_dim(graph_shape *s, int64_t size)
{
    if (size < 0) {
        graph_shape_name(s, "", 0);
        return;
    }
    if (!s->first) {
        strbuf_add(s->out, ",", 1);
    }
    graph_put_int(s->out, size);
    s->first = false;
    if (__builtin_mul_overflow(s->elements, (uint64_t)size, &s->elements)) {
        s->known = false;
    }
}

void graph_shape_name(graph_shape *s, const char *name, size_t n)
{
    strbuf_puts(s->out, s->first ? "" : ",");
    strbuf_add(s->out, n ? name : "?", n ? n : 1);
    s->first = false;
    s->known = false;
}

uint64_t graph_shape_end(graph_shape *s)
{
    strbuf_puts(s->out, "]");
    uint64_t bits = 0;
    if (!s->known || __builtin_mul_overflow(s->elements, (uint64_t)s->bits, &bits)) {
        return 0;
    }
    return bits / 8 + (bits % 8 != 0);
}
