/* MindSpore: values, types and shardings as text. */
#include <string.h>

#include "readers/graph_ms.h"

enum { VALUE_DEPTH_MAX = 16, TEXT_MAX = 4096, SHAPES_MAX = 4096 };

/* ---- values ---- */

static void put_type_name(uint64_t number, strbuf *out)
{
    graph_dtype t = graph_dtype_mindspore(number);
    if (t.name) {
        strbuf_puts(out, t.name);
    } else {
        strbuf_printf(out, "type %llu", (unsigned long long)number);
    }
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

/* bool#2, int#3, uint#4, float#5, double#6, str#7 and their lists 10 to 15. */
static bool put_scalar(uint32_t number, uint64_t v, strbuf *out)
{
    switch (number >= 10 ? number - 8 : number) {
    case 2:
        strbuf_puts(out, v ? "True" : "False");
        return true;
    case 3:
        graph_put_int(out, (int64_t)v);
        return true;
    case 4:
        strbuf_printf(out, "%llu", (unsigned long long)v);
        return true;
    case 5:
        strbuf_printf(out, "%.6g", (double)pb_float(&(pb_field){.value = v}));
        return true;
    case 6:
        strbuf_printf(out, "%.6g", pb_double(&(pb_field){.value = v}));
        return true;
    default:
        return false;
    }
}

static bool next_scalar(const pb_field *f, size_t *at, uint64_t *v)
{
    unsigned width = f->number == 13 ? 4 : f->number == 14 ? 8 : 0;
    return width ? pb_packed_fixed(f, at, width, v) : pb_packed(f, at, v);
}

/* One field of a ValueProto that is no tuple. @return elements written */
static size_t put_leaf(const pb_reader *outer, const pb_field *f, size_t before, strbuf *out)
{
    uint64_t v = 0;
    size_t n = before;
    if (f->number >= 2 && f->number <= 6 && f->wire != PB_BYTES) {
        strbuf_puts(out, n ? ", " : "");
        n += put_scalar(f->number, f->value, out);
    } else if (f->number >= 10 && f->number <= 14) {
        for (size_t at = 0; out->n < TEXT_MAX && next_scalar(f, &at, &v);) {
            strbuf_puts(out, n ? ", " : "");
            n += put_scalar(f->number, v, out);
        }
    } else if ((f->number == 7 || f->number == 15) && f->wire == PB_BYTES) {
        strbuf_puts(out, n++ ? ", " : "");
        strbuf_add(out, f->size ? (const char *)f->data : "", f->size);
    } else if (f->number == 8 || f->number == 9 || f->number == 16 || f->number == 17) {
        strbuf_puts(out, n++ ? ", " : "");
        strbuf_puts(out, f->number == 8 || f->number == 16 ? "tensor" : "graph");
    } else if (f->number == 20 && f->wire == PB_BYTES) {
        strbuf_puts(out, n++ ? ", " : "");
        put_type_name(member(outer, f, 1).value, out);
    }
    return n - before;
}

typedef struct level {
    pb_reader at;
    size_t n;
    bool is_tuple;
} level;

void ms_value_text(const pb_reader *outer, const pb_field *value, strbuf *out)
{
    level levels[VALUE_DEPTH_MAX];
    size_t n = 1;
    pb_field f;
    levels[0] = (level){0};
    pb_enter(&levels[0].at, outer, value);
    while (n) {
        level *l = &levels[n - 1];
        if (out->n >= TEXT_MAX || !pb_next(&l->at, &f)) {
            strbuf_puts(out, l->is_tuple ? ")" : "");
            n--;
            continue;
        }
        if (f.number != 18 || f.wire != PB_BYTES) {
            l->n += put_leaf(&l->at, &f, l->n, out);
            continue;
        }
        strbuf_puts(out, !l->is_tuple ? "(" : l->n ? ", " : "");
        l->is_tuple = true;
        l->n++;
        if (n == VALUE_DEPTH_MAX) {
            strbuf_puts(out, "...");
            continue;
        }
        levels[n] = (level){0};
        pb_enter(&levels[n].at, &l->at, &f);
        n++;
    }
}

/* ---- types ---- */

/* TypeProto {data_type#1, tensor#2 {elem_type#1, shape#2 {dim#1 {size#1}}}, sequence#3 {elem_types#1}}. */
static void push_output(ms_reader *r, const pb_reader *outer, const pb_field *type, uint32_t node)
{
    pb_reader at;
    pb_field f;
    graph_shape s;
    uint64_t bytes = 0;
    pb_field tensor = member(outer, type, 2);
    strbuf_clear(&r->text);
    if (tensor.wire == PB_BYTES && tensor.number) {
        pb_field shape = member(outer, &tensor, 2);
        graph_dtype elem = graph_dtype_mindspore(member(outer, &tensor, 1).value);
        if (!shape.number) {
            strbuf_puts(&r->text, elem.name ? elem.name : "tensor");
        } else {
            graph_shape_begin(&s, &r->text, elem);
            pb_enter(&at, outer, &shape);
            while (pb_next(&at, &f)) {
                graph_shape_dim(&s, (int64_t)member(&at, &f, 1).value);
            }
            bytes = graph_shape_end(&s);
        }
    } else {
        pb_field sequence = member(outer, type, 3);
        strbuf_puts(&r->text, sequence.number ? "tuple" : "");
        if (!sequence.number) {
            put_type_name(member(outer, type, 1).value, &r->text);
        }
    }
    graph_builder_output(r->b, node, strbuf_str(&r->text), r->text.n, bytes);
}

void ms_push_outputs(ms_reader *r, const pb_reader *outer, const pb_field *type, uint32_t node)
{
    pb_reader at;
    pb_field f;
    pb_field sequence = member(outer, type, 3);
    if (sequence.wire != PB_BYTES || !sequence.number) {
        push_output(r, outer, type, node);
        return;
    }
    pb_enter(&at, outer, &sequence);
    while (pb_next(&at, &f)) {
        if (f.number == 1 && f.wire == PB_BYTES) {
            push_output(r, &at, &f, node);
        }
    }
}

/* ---- the spellings of the merged form ---- */

void ms_sharding_text(const char *s, size_t n, strbuf *out)
{
    size_t numbers = 0;
    strbuf_clear(out);
    for (size_t i = 0; i < n && i < TEXT_MAX; i++) {
        char c = s[i] == '[' ? '(' : s[i] == ']' ? ')' : s[i];
        bool digit = c >= '0' && c <= '9';
        if (digit || c == '(' || c == ')' || c == ',') {
            strbuf_add(out, &c, 1);
            numbers += digit;
        }
    }
    if (!numbers) {
        strbuf_clear(out);
    }
}

/* The next innermost list of "[[1, 2], [3]]" from *at on. @return false where there is none */
static bool next_shape(const char *s, size_t n, size_t *at, size_t *from, size_t *to)
{
    size_t open = 0;
    bool inner = false; /* no list has ended since the last '[' */
    for (size_t i = *at; i < n; i++) {
        if (s[i] == '[') {
            open = i + 1;
            inner = true;
        } else if (s[i] == ']' && inner) {
            *from = open;
            *to = i;
            *at = i + 1;
            return true;
        }
    }
    *at = n;
    return false;
}

static uint64_t put_shape(const char *s, size_t n, graph_dtype type, strbuf *out)
{
    graph_shape shape;
    graph_shape_begin(&shape, out, type);
    for (size_t i = 0; i < n;) {
        int64_t v = 0;
        bool minus = i > 0 && s[i - 1] == '-';
        size_t from = i;
        while (i < n && s[i] >= '0' && s[i] <= '9' && v < INT64_MAX / 20) {
            v = v * 10 + (s[i++] - '0');
        }
        if (i > from) {
            graph_shape_dim(&shape, minus ? -1 : v);
        } else {
            i++;
        }
    }
    return graph_shape_end(&shape);
}

void ms_push_named_outputs(ms_reader *r, uint32_t node, const char *types, size_t n_types, const char *shapes,
                           size_t n_shapes)
{
    static const char mark[] = "DT_TENSOR[";
    const char *end = types + n_types;
    const char *at = types;
    size_t at_shape = 0;
    for (size_t k = 0; k < SHAPES_MAX; k++) {
        at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1);
        if (!at) {
            return;
        }
        at += sizeof mark - 1;
        const char *stop = memchr(at, ']', (size_t)(end - at));
        graph_dtype type = graph_dtype_named(at, (size_t)((stop ? stop : end) - at));
        size_t from = 0;
        size_t to = 0;
        uint64_t bytes = 0;
        strbuf_clear(&r->text);
        if (next_shape(shapes, n_shapes, &at_shape, &from, &to)) {
            bytes = put_shape(shapes + from, to - from, type, &r->text);
        } else {
            strbuf_puts(&r->text, type.name ? type.name : "tensor");
        }
        graph_builder_output(r->b, node, strbuf_str(&r->text), r->text.n, bytes);
    }
}
