/*
 * Chakra execution traces as protobuf (.et): messages one after the other, each behind its length: GlobalMetadata, then
 * Nodes {id#1, name#2, type#3, ctrl_deps#4, data_deps#5, start_time_micros#6, duration_micros#7, inputs#8, outputs#9
 * {values#1, shapes#2, types#3}, attr#10}. All dependencies are edges into the node; self-loops and ids that no node
 * has occur in real files.
 */
#include <string.h>

#include "base/hash.h"
#include "parse/pbwire.h"
#include "readers/graph_dtype.h"
#include "readers/graph_formats.h"

enum { LIST_MAX = 32, OUTPUTS_MAX = 256 };

typedef struct chakra_reader {
    const graph_input *in;
    graph_builder *b;
    pb_reader whole;
    map64 nodes; /* id -> node + 1 */
    strbuf text;
} chakra_reader;

/* ---- messages behind their lengths ---- */

/* @return false at the end, and where the length is none or leads behind the end (*cut) */
static bool next_message(const graph_input *in, size_t *at, pb_field *message, bool *cut)
{
    uint64_t size = 0;
    size_t n = 0;
    *cut = false;
    if (*at >= in->size) {
        return false;
    }
    pb_field rest = {.wire = PB_BYTES, .data = in->data + *at, .size = in->size - *at};
    *cut = !pb_packed(&rest, &n, &size) || size > rest.size - n;
    if (*cut) {
        return false;
    }
    *message = (pb_field){.wire = PB_BYTES, .data = rest.data + n, .size = (size_t)size, .offset = *at};
    *at += n + (size_t)size;
    return true;
}

/* GlobalMetadata {version#1 text, attr#2 {name#1 text, ...}}. */
static bool looks_like_metadata(const pb_reader *whole, const pb_field *message)
{
    pb_reader r;
    pb_reader in;
    pb_field f;
    pb_field g;
    pb_enter(&r, whole, message);
    while (pb_next(&r, &f)) {
        if (f.wire != PB_BYTES || f.number > 2 || (f.number == 1 && !pb_is_plain_text(&f))) {
            return false;
        }
        pb_enter(&in, &r, &f);
        if (f.number == 2 && !(pb_next(&in, &g) && g.number == 1 && pb_is_plain_text(&g))) {
            return false;
        }
    }
    return !r.is_broken;
}

static bool looks_like_node(const pb_reader *whole, const pb_field *message)
{
    pb_reader r;
    pb_field f;
    bool has_name = false;
    pb_enter(&r, whole, message);
    while (pb_next(&r, &f)) {
        bool number = f.number == 1 || f.number == 3 || f.number == 6 || f.number == 7;
        bool list = f.number == 4 || f.number == 5;
        if (f.number > 10 || (number && f.wire != PB_VARINT) || (!number && !list && f.wire != PB_BYTES) ||
            (f.number == 2 && !pb_is_plain_text(&f))) {
            return false;
        }
        has_name = has_name || f.number == 2;
    }
    return has_name && !r.is_broken;
}

static int sniff(const graph_input *in)
{
    pb_reader whole;
    pb_field message;
    bool cut = false;
    size_t at = 0;
    pb_open(&whole, in->data, in->size);
    if (!next_message(in, &at, &message, &cut) || !looks_like_metadata(&whole, &message)) {
        return 0;
    }
    if (!next_message(in, &at, &message, &cut)) {
        return message.size && cut ? 1 : 0;
    }
    return looks_like_node(&whole, &message) ? 2 : 0;
}

/* ---- attributes ---- */

/* One value: double#3, float#5, int32#7, int64#9, uint32#11, uint64#13, sint32#15, sint64#17, fixed#19 to #25, bool#27,
 * string#29, bytes#31. */
static void put_value(uint32_t number, uint64_t v, strbuf *out)
{
    switch (number) {
    case 3:
        strbuf_printf(out, "%.9g", pb_double(&(pb_field){.value = v}));
        break;
    case 5:
        strbuf_printf(out, "%.6g", (double)pb_float(&(pb_field){.value = v}));
        break;
    case 11:
    case 13:
    case 19:
    case 21:
        strbuf_printf(out, "%llu", (unsigned long long)v);
        break;
    case 15:
    case 17:
        graph_put_int(out, pb_zigzag(v));
        break;
    case 23:
        graph_put_int(out, (int32_t)v);
        break;
    case 27:
        strbuf_puts(out, v ? "true" : "false");
        break;
    default:
        graph_put_int(out, (int64_t)v);
        break;
    }
}

static unsigned fixed_width(uint32_t number)
{
    return number == 3 || number == 21 || number == 25 ? 8 : number == 5 || number == 19 || number == 23 ? 4 : 0;
}

/* A list {values#1}: the kind of its values is one less than its field. */
static void put_list(const pb_reader *outer, const pb_field *list, strbuf *out)
{
    pb_reader r;
    pb_field f;
    uint32_t kind = list->number - 1;
    size_t n = 0;
    pb_enter(&r, outer, list);
    strbuf_puts(out, "[");
    while (pb_next(&r, &f)) {
        uint64_t v = 0;
        if (f.number == 1 && kind >= 29 && f.wire == PB_BYTES && n++ < LIST_MAX) {
            strbuf_puts(out, n > 1 ? ", " : "");
            strbuf_add(out, f.size ? (const char *)f.data : "", f.size);
        }
        unsigned width = fixed_width(kind);
        for (size_t at = 0;
             f.number == 1 && kind < 29 && (width ? pb_packed_fixed(&f, &at, width, &v) : pb_packed(&f, &at, &v));
             n++) {
            if (n < LIST_MAX) {
                strbuf_puts(out, n ? ", " : "");
                put_value(kind, v, out);
            }
        }
    }
    if (n > LIST_MAX) {
        strbuf_printf(out, ", ... %zu values", n);
    }
    strbuf_puts(out, "]");
}

typedef struct chakra_attr {
    const char *name;
    size_t n_name;
    int64_t number; /* where it is one; -1 */
} chakra_attr;

static chakra_attr read_attr(const pb_reader *outer, const pb_field *message, strbuf *out)
{
    pb_reader r;
    pb_field f;
    chakra_attr a = {.name = "", .number = -1};
    pb_enter(&r, outer, message);
    while (pb_next(&r, &f)) {
        if (f.number == 1 && f.wire == PB_BYTES && f.size) {
            a.name = (const char *)f.data;
            a.n_name = f.size;
        } else if (f.number >= 3 && f.number <= 27 && f.number % 2 == 1 && f.wire != PB_BYTES) {
            put_value(f.number, f.value, out);
            a.number = f.number == 3 || f.number == 5 ? -1 : (int64_t)f.value;
        } else if (f.number == 29 && f.wire == PB_BYTES) {
            strbuf_add(out, f.size ? (const char *)f.data : "", f.size);
        } else if (f.number == 31 && f.wire == PB_BYTES) {
            strbuf_printf(out, "%zu bytes", f.size);
        } else if (f.number >= 4 && f.number <= 32 && f.number % 2 == 0 && f.wire == PB_BYTES) {
            put_list(&r, &f, out);
        }
    }
    return a;
}

/* ---- outputs ---- */

/* The next of "['Tensor(float)', 'Int']", without quotes. */
static bool next_type(const char *s, size_t n, size_t *at, const char **type, size_t *n_type)
{
    const char *quote = *at < n ? memchr(s + *at, '\'', n - *at) : NULL;
    const char *end = quote ? memchr(quote + 1, '\'', n - (size_t)(quote + 1 - s)) : NULL;
    if (!end) {
        return false;
    }
    *type = quote + 1;
    *n_type = (size_t)(end - quote - 1);
    *at = (size_t)(end + 1 - s);
    return true;
}

/* The k-th innermost list of "[[64, 3], []]". */
static bool next_shape(const char *s, size_t n, size_t *at, size_t *from, size_t *to)
{
    size_t open = 0;
    bool inner = false;
    for (size_t i = *at; i < n; i++) {
        if (s[i] == '[') {
            open = i + 1;
            inner = true;
        } else if (s[i] == ']' && inner) {
            *from = open;
            *to = i;
            *at = i + 1;
            return true;
        } else if (s[i] == ']') {
            inner = false;
        }
    }
    return false;
}

static uint64_t put_output(const char *type, size_t n, const char *shape, size_t m, strbuf *out)
{
    bool tensor = n > 8 && memcmp(type, "Tensor(", 7) == 0 && type[n - 1] == ')';
    if (!tensor) {
        strbuf_add(out, type, n);
        return 0;
    }
    graph_dtype t = graph_dtype_named(type + 7, n - 8);
    graph_shape s;
    graph_shape_begin(&s, out, t);
    for (size_t i = 0; i < m;) {
        int64_t v = 0;
        size_t from = i;
        while (i < m && shape[i] >= '0' && shape[i] <= '9' && v < INT64_MAX / 20) {
            v = v * 10 + (shape[i++] - '0');
        }
        if (i > from) {
            graph_shape_dim(&s, v);
        } else {
            i++;
        }
    }
    return graph_shape_end(&s);
}

/* IOInfo {values#1, shapes#2, types#3}: shapes of several values are lists in lists, in their order. */
static void take_outputs(chakra_reader *r, const pb_reader *outer, const pb_field *io, uint32_t node)
{
    pb_reader at;
    pb_field f;
    const char *shapes = "";
    const char *types = "";
    size_t n_shapes = 0;
    size_t n_types = 0;
    pb_enter(&at, outer, io);
    while (pb_next(&at, &f)) {
        if (f.wire == PB_BYTES && f.size && f.number == 2) {
            shapes = (const char *)f.data;
            n_shapes = f.size;
        } else if (f.wire == PB_BYTES && f.size && f.number == 3) {
            types = (const char *)f.data;
            n_types = f.size;
        }
    }
    const char *type = NULL;
    size_t n = 0;
    size_t at_shape = 0;
    size_t from = 0;
    size_t to = 0;
    size_t k = 0;
    for (size_t at_type = 0; k < OUTPUTS_MAX && next_type(types, n_types, &at_type, &type, &n); k++) {
        bool has = next_shape(shapes, n_shapes, &at_shape, &from, &to);
        strbuf_clear(&r->text);
        uint64_t bytes = put_output(type, n, shapes + from, has ? to - from : 0, &r->text);
        graph_builder_output(r->b, node, strbuf_str(&r->text), r->text.n, has ? bytes : 0);
    }
}

/* ---- nodes ---- */

static const char *type_name(uint64_t type)
{
    static const char *const names[] = {"",        "metadata",   "memory load", "memory store", "compute",   "send",
                                        "receive", "collective", "storage",     "batch",        "checkpoint"};
    return type < sizeof names / sizeof *names ? names[type] : "";
}

/* "aten::add(0)" is the operator aten::add. */
static size_t op_length(const char *name, size_t n)
{
    size_t at = n;
    if (n < 3 || name[n - 1] != ')') {
        return n;
    }
    for (at = n - 1; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9'; at--) {
    }
    return at > 1 && name[at - 1] == '(' ? at - 1 : n;
}

typedef struct chakra_node {
    const char *name;
    size_t n_name;
    uint64_t id, type;
} chakra_node;

static chakra_node scan_node(const pb_reader *whole, const pb_field *message)
{
    pb_reader r;
    pb_field f;
    chakra_node n = {.name = ""};
    pb_enter(&r, whole, message);
    while (pb_next(&r, &f)) {
        if (f.number == 1 && f.wire == PB_VARINT) {
            n.id = f.value;
        } else if (f.number == 2 && f.wire == PB_BYTES && f.size) {
            n.name = (const char *)f.data;
            n.n_name = f.size;
        } else if (f.number == 3 && f.wire == PB_VARINT) {
            n.type = f.value;
        }
    }
    return n;
}

/* The profiler's number of the operator ties it to events of a trace; the trace's own id serves where it is absent. */
static int64_t key_of(chakra_reader *r, const pb_field *message, const chakra_node *n)
{
    pb_reader at;
    pb_field f;
    int64_t key = n->id < INT64_MAX ? (int64_t)n->id : -1;
    pb_enter(&at, &r->whole, message);
    while (pb_next(&at, &f)) {
        if (f.number == 10 && f.wire == PB_BYTES) {
            strbuf_clear(&r->text);
            chakra_attr a = read_attr(&at, &f, &r->text);
            key = a.n_name == 5 && memcmp(a.name, "rf_id", 5) == 0 && a.number >= 0 ? a.number : key;
        }
    }
    return key;
}

static void take_node(chakra_reader *r, const pb_field *message)
{
    chakra_node n = scan_node(&r->whole, message);
    graph_node_in in = {.name = n.name,
                        .n_name = n.n_name,
                        .op = n.n_name ? n.name : "?",
                        .n_op = n.n_name ? op_length(n.name, n.n_name) : 1,
                        .key = key_of(r, message, &n),
                        .stage = -1};
    uint32_t id = graph_builder_node(r->b, &in);
    uint64_t *place = map64_put(&r->nodes, n.id);
    if (*place) {
        diag_lose(r->in->diag, MAREY_LOSS_DUPLICATE_NAME, r->in->file, message->offset, 1, NULL);
    } else {
        *place = (uint64_t)id + 1;
    }
    const char *type = type_name(n.type);
    if (*type) {
        graph_builder_attr(r->b, id, "type", 4, type, strlen(type));
    }
    pb_reader at;
    pb_field f;
    pb_enter(&at, &r->whole, message);
    while (pb_next(&at, &f)) {
        if (f.number == 9 && f.wire == PB_BYTES) {
            take_outputs(r, &at, &f, id);
        } else if (f.number == 10 && f.wire == PB_BYTES) {
            strbuf_clear(&r->text);
            chakra_attr a = read_attr(&at, &f, &r->text);
            graph_builder_attr(r->b, id, a.name, a.n_name, strbuf_str(&r->text), r->text.n);
        }
    }
    if (at.is_broken) {
        diag_lose(r->in->diag, MAREY_LOSS_DAMAGED, r->in->file, at.broken_at, 1, NULL);
    }
}

/* Dependencies, when all nodes are known: those of data first, then those of control. */
static void take_edges(chakra_reader *r, const pb_field *message, uint32_t node)
{
    static const uint32_t fields[] = {5, 4};
    uint32_t slot = 0;
    for (int k = 0; k < 2; k++) {
        pb_reader at;
        pb_field f;
        pb_enter(&at, &r->whole, message);
        while (pb_next(&at, &f)) {
            uint64_t id = 0;
            for (size_t i = 0; f.number == fields[k] && pb_packed(&f, &i, &id); slot++) {
                const uint64_t *from = map64_get(&r->nodes, id);
                if (from) {
                    graph_builder_edge(r->b, (uint32_t)(*from - 1), 0, node, slot, k ? GRAPH_CONTROL : 0);
                } else {
                    diag_lose(r->in->diag, MAREY_LOSS_DANGLING, r->in->file, f.offset, 1, NULL);
                }
            }
        }
    }
}

static void tell_facts(chakra_reader *r, const pb_field *metadata)
{
    pb_reader at;
    pb_field f;
    strbuf producer = {0};
    strbuf_puts(&producer, "Chakra");
    pb_enter(&at, &r->whole, metadata);
    while (pb_next(&at, &f)) {
        if (f.number == 1 && f.wire == PB_BYTES && f.size) {
            strbuf_puts(&producer, " ");
            strbuf_add(&producer, (const char *)f.data, f.size);
        }
    }
    graph_builder_facts(r->b, "chakra", "", strbuf_str(&producer));
    strbuf_deinit(&producer);
}

static marey_status read_pass(chakra_reader *r, bool edges, size_t *at)
{
    pb_field message;
    bool cut = false;
    uint32_t node = 0;
    for (size_t k = 0; next_message(r->in, at, &message, &cut); k++) {
        if ((k & 0xFFF) == 0 && is_cancelled(r->in->cancel)) {
            return MAREY_CANCELLED;
        }
        if (k == 0 && looks_like_metadata(&r->whole, &message)) {
            tell_facts(r, &message);
        } else if (edges) {
            take_edges(r, &message, node++);
        } else {
            take_node(r, &message);
        }
    }
    if (cut && !edges) {
        diag_lose(r->in->diag, MAREY_LOSS_TRUNCATED, r->in->file, *at, 1, NULL);
    }
    return MAREY_OK;
}

static marey_status read_trace(const graph_input *in, graph_builder *b)
{
    chakra_reader r = {.in = in, .b = b};
    size_t at = 0;
    pb_open(&r.whole, in->data, in->size);
    graph_builder_facts(b, "chakra", "", "Chakra");
    marey_status status = read_pass(&r, false, &at);
    at = 0;
    if (status == MAREY_OK) {
        status = read_pass(&r, true, &at);
    }
    map64_deinit(&r.nodes);
    strbuf_deinit(&r.text);
    return status;
}

const graph_format GRAPH_CHAKRA = {.name = "chakra", .sniff = sniff, .read = read_trace};
