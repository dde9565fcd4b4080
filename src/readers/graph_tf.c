/*
 * TensorFlow graphs in all their containers: GraphDef, MetaGraphDef (.meta), SavedModel, event files, as bytes, in the
 * text format (.pbtxt) and as JSON (TF.js model.json). Text and JSON are turned into bytes first, so that one reader
 * serves all.
 *
 * Scopes are the paths in the names; calls of library functions become bodies, once per call. Inputs and outputs of a
 * function are implied nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/tfrecord.h"
#include "readers/graph_tf.h"

typedef enum tf_kind { TF_NONE, TF_GRAPH, TF_META, TF_SAVED, TF_EVENTS, TF_TEXT, TF_JSON } tf_kind;

void tf_lose(const tf_reader *r, marey_loss loss, uint64_t offset, const char *detail)
{
    diag_lose(r->in->diag, loss, r->in->file, r->has_offsets ? offset : DIAG_NO_OFFSET, 1, detail);
}

void tf_broken(tf_reader *r, const pb_reader *at)
{
    bool cut = at->end == r->in->data + r->in->size;
    if (!cut || !r->is_cut) {
        tf_lose(r, cut ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, at->broken_at, NULL);
    }
    r->is_cut = r->is_cut || cut;
}

/* ---- telling ---- */

/* NodeDef: name, op, inputs and device are text, attributes are messages; it has an operator. */
static bool looks_like_node(const pb_reader *outer, const pb_field *f)
{
    pb_reader at;
    pb_field g;
    bool has_op = false;
    bool has_name = false;
    pb_enter(&at, outer, f);
    while (pb_next(&at, &g)) {
        bool text = g.number >= 1 && g.number <= 4;
        if (g.number > 7 || g.wire != PB_BYTES || (text && !pb_is_plain_text(&g))) {
            return false;
        }
        has_name = has_name || (g.number == 1 && g.size);
        has_op = has_op || (g.number == 2 && g.size);
    }
    return has_op && has_name && (!at.is_broken || at.end == outer->end);
}

/* FunctionDefLibrary {function#1 {signature#1 {name#1 text}}}. */
static bool looks_like_library(const pb_reader *outer, const pb_field *f)
{
    pb_reader at;
    pb_field g;
    pb_reader r = *outer;
    pb_field inner = *f;
    for (int depth = 0; depth < 3; depth++) {
        pb_enter(&at, &r, &inner);
        if (!(pb_next(&at, &g) || pb_cut(&at, &g)) || g.number != 1 || g.wire != PB_BYTES || !g.size) {
            return false;
        }
        r = at;
        inner = g;
    }
    return pb_is_plain_text(&inner);
}

/* GraphDef {node#1, library#2, version#3, versions#4}: its first nodes, or its library. */
static bool looks_like_graph(const pb_reader *outer, const pb_field *f)
{
    pb_reader at;
    pb_field g;
    bool known = false;
    pb_enter(&at, outer, f);
    for (int n = 0; n < 4; n++) {
        bool more = pb_next(&at, &g);
        if (!more && !pb_cut(&at, &g)) {
            break;
        }
        bool node = g.number == 1 && g.wire == PB_BYTES && (!more || looks_like_node(&at, &g));
        bool library = g.number == 2 && g.wire == PB_BYTES && looks_like_library(&at, &g);
        bool versions = (g.number == 4 && g.wire == PB_BYTES) || (g.number == 3 && g.wire == PB_VARINT);
        if (!node && !library && !versions) {
            return false;
        }
        known = known || (more && node) || library;
        if (!more) {
            break;
        }
    }
    return known;
}

/* MetaGraphDef {meta_info_def#1, graph_def#2}: looks past the first, however long its list of operators. */
static bool looks_like_meta(const pb_reader *outer, const pb_field *f)
{
    pb_reader at;
    pb_field g;
    pb_enter(&at, outer, f);
    while (pb_next(&at, &g) || pb_cut(&at, &g)) {
        if (g.wire != PB_BYTES || g.number > 7) {
            return false;
        }
        if (g.number == 2) {
            return looks_like_graph(&at, &g);
        }
        if (at.is_broken) {
            break;
        }
    }
    return false;
}

static tf_kind binary_kind(const graph_input *in)
{
    pb_reader r;
    pb_field f;
    pb_open(&r, in->data, in->size);
    pb_field whole = {.wire = PB_BYTES, .data = in->data, .size = in->size};
    tfrecord record;
    size_t at = 0;
    if (in->size >= 12 && tfrecord_next(in->data, in->size, &at, &record) != TFRECORD_DAMAGED) {
        return TF_EVENTS;
    }
    if (looks_like_graph(&r, &whole)) {
        return TF_GRAPH;
    }
    if (looks_like_meta(&r, &whole)) {
        return TF_META;
    }
    pb_reader saved = r;
    while (pb_next(&saved, &f) || pb_cut(&saved, &f)) {
        if (f.number == 2 && f.wire == PB_BYTES) {
            return looks_like_meta(&saved, &f) ? TF_SAVED : TF_NONE;
        }
        if (f.number != 1 || f.wire != PB_VARINT) {
            break;
        }
    }
    return TF_NONE;
}

/* The first name in the text, behind comments. */
static tf_span first_word(const graph_input *in)
{
    const char *s = (const char *)in->data;
    size_t n = graph_head_size(in);
    size_t i = n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (i < n && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t' || s[i] == '#')) {
        const char *end = s[i] == '#' ? memchr(s + i, '\n', n - i) : s + i;
        i = end ? (size_t)(end - s) + 1 : n;
    }
    size_t from = i;
    while (i < n && ((s[i] >= 'a' && s[i] <= 'z') || s[i] == '_')) {
        i++;
    }
    size_t behind = i;
    while (behind < n && (s[behind] == ' ' || s[behind] == ':')) {
        behind++;
    }
    bool field = i > from && behind < n && (behind > i || s[behind] == '{' || s[behind] == '<');
    return field ? (tf_span){s + from, i - from} : (tf_span){"", 0};
}

static const pb_schema *text_schema(const graph_input *in, tf_kind *kind)
{
    tf_span word = first_word(in);
    *kind = TF_GRAPH;
    if (tf_is(word, "node") || tf_is(word, "library") || tf_is(word, "versions") || tf_is(word, "version")) {
        return &TF_GRAPH_DEF;
    }
    *kind = TF_META;
    if (tf_is(word, "meta_info_def") || tf_is(word, "graph_def")) {
        return &TF_META_GRAPH;
    }
    *kind = TF_SAVED;
    return tf_is(word, "meta_graphs") || tf_is(word, "saved_model_schema_version") ? &TF_SAVED_MODEL : NULL;
}

static int sniff(const graph_input *in)
{
    char c = graph_head_byte(in);
    tf_kind kind;
    if (c == '{') {
        bool topology = graph_head_has(in, "\"modelTopology\"");
        bool node = graph_head_has(in, "\"node\"") && graph_head_has(in, "\"op\"");
        return topology ? 2 : node && !graph_head_has(in, "\"opType\"") ? 1 : 0;
    }
    if (text_schema(in, &kind)) {
        bool sure = kind != TF_GRAPH || graph_head_has(in, "op:") || graph_head_has(in, "signature");
        return sure ? 2 : 1;
    }
    return binary_kind(in) != TF_NONE ? 2 : 0;
}

/* ---- reading bytes ---- */

/* MetaInfoDef {tags#4, tensorflow_version#5}. */
static void tell_facts(tf_reader *r, const pb_reader *outer, const pb_field *info)
{
    pb_reader at;
    pb_field f;
    strbuf name = {0};
    strbuf producer = {0};
    pb_enter(&at, outer, info);
    while (pb_next(&at, &f)) {
        tf_span s = tf_text(&f);
        if (f.number == 4 && s.n) {
            strbuf_puts(&name, name.n ? ", " : "");
            strbuf_add(&name, s.s, s.n);
        } else if (f.number == 5 && s.n) {
            strbuf_puts(&producer, "TensorFlow ");
            strbuf_add(&producer, s.s, s.n);
        }
    }
    graph_builder_facts(r->b, "tensorflow", strbuf_str(&name), producer.n ? producer.s : "TensorFlow");
    strbuf_deinit(&name);
    strbuf_deinit(&producer);
}

/* The graph in a MetaGraphDef; *found stays false where there is none. */
static marey_status read_meta(tf_reader *r, const pb_field *meta, bool *found)
{
    pb_reader at;
    pb_field f;
    pb_enter(&at, &r->wire, meta);
    for (bool more = true; more && !*found;) {
        more = pb_next(&at, &f);
        if (!more) {
            tf_broken(r, &at);
        }
        if (!more && !pb_cut(&at, &f)) {
            break;
        }
        if (f.number == 1) {
            tell_facts(r, &at, &f);
        } else if (f.number == 2 && f.wire == PB_BYTES) {
            *found = true;
            return tf_read_graph(r, &f);
        }
    }
    return MAREY_OK;
}

/* "serve, gpu": the tags of a MetaGraphDef. */
static void meta_name(const tf_reader *r, const pb_field *meta, strbuf *name)
{
    pb_reader at;
    pb_reader info;
    pb_field f;
    pb_field tag;
    pb_enter(&at, &r->wire, meta);
    while (pb_next(&at, &f) && f.number == 1) {
        pb_enter(&info, &at, &f);
        while (pb_next(&info, &tag)) {
            tf_span s = tf_text(&tag);
            if (tag.number == 4 && s.n) {
                strbuf_puts(name, name->n ? ", " : "");
                strbuf_add(name, s.s, s.n);
            }
        }
    }
}

/* One of several graphs, in a module with the name of its tags. */
static marey_status read_one_of(tf_reader *r, const pb_field *meta, bool *found)
{
    uint32_t root = graph_builder_root(r->b);
    strbuf name = {0};
    bool has = false;
    tf_reader own = {.in = r->in, .b = r->b, .wire = r->wire, .has_offsets = r->has_offsets, .is_cut = r->is_cut};
    meta_name(r, meta, &name);
    strbuf_puts(&name, name.n ? "" : "graph");
    graph_builder_begin_input(r->b, graph_builder_new_scope(r->b, root, name.s, name.n, 0), r->in->file);
    marey_status status = read_meta(&own, meta, &has);
    graph_builder_begin_input(r->b, root, r->in->file);
    *found = *found || has;
    r->is_cut = own.is_cut;
    tf_deinit(&own);
    strbuf_deinit(&name);
    return status;
}

static marey_status read_saved(tf_reader *r, bool *found)
{
    pb_reader at = r->wire;
    pb_field f;
    marey_status status = MAREY_OK;
    uint64_t n = 0;
    for (bool more = true; more;) {
        more = pb_next(&at, &f);
        if (!more && !pb_cut(&at, &f)) {
            break;
        }
        n += f.number == 2 && f.wire == PB_BYTES;
    }
    at = r->wire;
    for (bool more = true; more && status == MAREY_OK;) {
        more = pb_next(&at, &f);
        if (!more && !pb_cut(&at, &f)) {
            break;
        }
        if (f.number == 2 && f.wire == PB_BYTES) {
            status = n == 1 ? read_meta(r, &f, found) : read_one_of(r, &f, found);
        }
    }
    if (at.is_broken) {
        tf_broken(r, &at);
    }
    return status;
}

static marey_status read_kind(tf_reader *r, tf_kind kind, bool *found)
{
    pb_field whole = {.wire = PB_BYTES, .data = r->wire.p, .size = (size_t)(r->wire.end - r->wire.p)};
    if (kind == TF_SAVED) {
        return read_saved(r, found);
    }
    if (kind == TF_META) {
        return read_meta(r, &whole, found);
    }
    *found = true;
    return tf_read_graph(r, &whole);
}

/* ---- event files ---- */

/* Event {graph_def#4, meta_graph_def#9}: bytes that hold a message. */
static bool event_graph(const graph_input *in, const tfrecord *record, pb_field *graph_def, tf_kind *kind)
{
    pb_reader at;
    pb_field f;
    pb_field event = {.wire = PB_BYTES, .data = record->data, .size = record->size};
    pb_open(&at, in->data, in->size);
    pb_reader whole = at;
    pb_enter(&at, &whole, &event);
    while (pb_next(&at, &f)) {
        if ((f.number == 4 || f.number == 9) && f.wire == PB_BYTES && f.size) {
            *graph_def = f;
            *kind = f.number == 4 ? TF_GRAPH : TF_META;
            return true;
        }
    }
    return false;
}

/* The first graph in the file; of a meta graph only where there is no other. */
static marey_status read_events(tf_reader *r, bool *found)
{
    const graph_input *in = r->in;
    tfrecord record;
    size_t at = 0;
    pb_field best = {0};
    tf_kind best_kind = TF_NONE;
    tfrecord_state state = TFRECORD_OK;
    while (best_kind != TF_GRAPH && (state = tfrecord_next(in->data, in->size, &at, &record)) == TFRECORD_OK) {
        pb_field f;
        tf_kind kind = TF_NONE;
        if (!event_graph(in, &record, &f, &kind)) {
            continue;
        }
        if (!tfrecord_is_whole(&record)) {
            tf_lose(r, MAREY_LOSS_BAD_CHECKSUM, record.offset, NULL);
        }
        if (best_kind == TF_NONE || kind == TF_GRAPH) {
            best = f;
            best_kind = kind;
        }
    }
    if (state == TFRECORD_CUT || state == TFRECORD_DAMAGED) {
        tf_lose(r, state == TFRECORD_CUT ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, at, NULL);
    }
    if (best_kind == TF_NONE) {
        return diag_error(in->diag, MAREY_FORMAT, in->path, at, "The event file holds no graph.");
    }
    pb_enter(&r->wire, &r->wire, &best);
    return read_kind(r, best_kind, found);
}

/* ---- text ---- */

static marey_status read_wire_text(tf_reader *r, const strbuf *wire, tf_kind kind, bool *found)
{
    pb_open(&r->wire, strbuf_str(wire), wire->n);
    r->has_offsets = false;
    return read_kind(r, kind, found);
}

static marey_status read_text(tf_reader *r, bool *found)
{
    tf_kind kind = TF_NONE;
    strbuf wire = {0};
    const pb_schema *schema = text_schema(r->in, &kind);
    pb_text_end end = pbtext_to_wire((const char *)r->in->data, r->in->size, schema, &wire);
    if (end.is_cut || end.is_damaged) {
        tf_lose(r, end.is_cut ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, end.at, NULL);
    }
    marey_status status = read_wire_text(r, &wire, kind, found);
    strbuf_deinit(&wire);
    return status;
}

static marey_status read_json(tf_reader *r, bool *found)
{
    const graph_input *in = r->in;
    jdoc *d = NULL;
    strbuf wire = {0};
    marey_status status = jdoc_parse((const char *)in->data, in->size, in->path, in->diag, &d);
    if (status != MAREY_OK) {
        return status;
    }
    if (d->truncated) {
        tf_lose(r, MAREY_LOSS_TRUNCATED, d->truncated_at, NULL);
    }
    uint32_t topology = jdoc_member(d, 0, "modelTopology");
    uint32_t root = topology != JDOC_NONE ? topology : 0;
    if (jdoc_member(d, root, "node") == JDOC_NONE) {
        bool layers = jdoc_member(d, root, "model_config") != JDOC_NONE;
        status = diag_error(in->diag, layers ? MAREY_UNSUPPORTED : MAREY_FORMAT, in->path, d->nodes[root].offset,
                            layers ? "This is a TF.js layers model, which holds layers, not a graph of operators."
                                   : "The model's topology has no nodes.");
    } else {
        pbjson_to_wire(d, root, &TF_GRAPH_DEF, &wire);
        status = read_wire_text(r, &wire, TF_GRAPH, found);
    }
    strbuf_deinit(&wire);
    jdoc_destroy(&d);
    return status;
}

static marey_status read_graph(const graph_input *in, graph_builder *b)
{
    tf_reader r = {.in = in, .b = b, .has_offsets = true};
    tf_kind kind = TF_NONE;
    bool found = false;
    marey_status status = MAREY_OK;
    pb_open(&r.wire, in->data, in->size);
    graph_builder_facts(b, "tensorflow", "", "TensorFlow");
    if (graph_head_byte(in) == '{') {
        status = read_json(&r, &found);
    } else if (text_schema(in, &kind)) {
        status = read_text(&r, &found);
    } else {
        kind = binary_kind(in);
        status = kind == TF_EVENTS ? read_events(&r, &found) : read_kind(&r, kind, &found);
    }
    tf_deinit(&r);
    if (status == MAREY_OK && !found) {
        status = diag_error(in->diag, MAREY_FORMAT, in->path, in->size, "The model ends before its graph.");
    }
    return status;
}

const graph_format GRAPH_TENSORFLOW = {.name = "tensorflow", .sniff = sniff, .read = read_graph};
