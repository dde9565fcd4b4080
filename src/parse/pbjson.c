/* JSON as the printer of protocol buffers writes it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/pbencode.h"

typedef enum step_kind { STEP_OBJECT, STEP_MAP, STEP_LIST } step_kind;

/* A container whose children are being written. */
typedef struct step {
    step_kind kind;
    uint32_t next;                /* child; JDOC_NONE */
    const pb_schema *schema;      /* of an object */
    const pb_schema_field *field; /* of a list or map */
    size_t length_at;
    bool has_length;
    size_t entry_at; /* of the map's entry that is open */
    bool has_entry;
} step;

typedef struct writer {
    const jdoc *d;
    strbuf *out, text, decoded;
    step *steps;
    size_t n, cap;
} writer;

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c == '-' ? '+' : c == '_' ? '/' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* @return false where it is no base64; then it is taken as it stands */
static bool decode_base64(const char *s, size_t n, strbuf *out)
{
    uint32_t bits = 0;
    unsigned have = 0;
    strbuf_clear(out);
    while (n && s[n - 1] == '=') {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        int v = base64_digit(s[i]);
        if (v < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            strbuf_add(out, (const char[]){(char)(bits >> have)}, 1);
        }
    }
    return n % 4 != 1;
}

static void put_scalar(writer *w, const pb_schema_field *f, uint32_t i)
{
    const char *s = jdoc_text(w->d, i, &w->text);
    size_t n = w->text.n;
    if (f->kind == PB_KIND_BYTES && decode_base64(s, n, &w->decoded)) {
        s = strbuf_str(&w->decoded);
        n = w->decoded.n;
    }
    pb_encode_scalar(w->out, f, s, n);
}

static void push(writer *w, step_kind kind, uint32_t i, const pb_schema_field *f)
{
    step s = {.kind = kind, .next = jdoc_first(w->d, i), .field = f, .schema = f->message};
    if (kind == STEP_OBJECT) {
        s.length_at = pb_encode_open(w->out, f->number);
        s.has_length = true;
    }
    VEC_PUSH(w->steps, w->n, w->cap, s);
}

/* One value of a field: lists come here with each of their elements. */
static void put_value(writer *w, const pb_schema_field *f, uint32_t i)
{
    const jdoc_node *node = &w->d->nodes[i];
    bool is_message = f->kind == PB_KIND_MESSAGE || f->kind == PB_KIND_MAP;
    if (node->kind == JDOC_OBJECT && is_message) {
        push(w, STEP_OBJECT, i, f);
    } else if (node->s && !is_message && !jdoc_text_is(w->d, i, "null")) {
        put_scalar(w, f, i);
    }
}

static void put_field(writer *w, const pb_schema_field *f, uint32_t i)
{
    const jdoc_node *node = &w->d->nodes[i];
    if (node->kind == JDOC_ARRAY) {
        push(w, STEP_LIST, i, f);
    } else if (node->kind == JDOC_OBJECT && f->kind == PB_KIND_MAP) {
        push(w, STEP_MAP, i, f);
    } else {
        put_value(w, f, i);
    }
}

static void take_entry(writer *w, size_t at, uint32_t i)
{
    const pb_schema_field *f = w->steps[at].field;
    const pb_schema_field *value = pb_find_field(f->message, "value", 5);
    w->steps[at].entry_at = pb_encode_open(w->out, f->number);
    w->steps[at].has_entry = true;
    (void)jdoc_key(w->d, i, &w->text);
    pb_encode_bytes(w->out, 1, strbuf_str(&w->text), w->text.n);
    if (value) {
        put_field(w, value, i);
    }
}

static void advance(writer *w)
{
    size_t at = w->n - 1;
    step *s = &w->steps[at];
    if (s->has_entry) {
        pb_encode_close(w->out, s->entry_at);
        s->has_entry = false;
    }
    if (s->next == JDOC_NONE) {
        if (s->has_length) {
            pb_encode_close(w->out, s->length_at);
        }
        w->n--;
        return;
    }
    uint32_t i = s->next;
    s->next = w->d->nodes[i].next;
    if (s->kind == STEP_MAP) {
        take_entry(w, at, i);
    } else if (s->kind == STEP_LIST) {
        put_value(w, s->field, i);
    } else {
        (void)jdoc_key(w->d, i, &w->text);
        const pb_schema_field *f = pb_find_field(s->schema, strbuf_str(&w->text), w->text.n);
        if (f) {
            put_field(w, f, i);
        }
    }
}

void pbjson_to_wire(const jdoc *d, uint32_t root, const pb_schema *schema, strbuf *out)
{
    writer w = {.d = d, .out = out};
    if (jdoc_is(d, root, JDOC_OBJECT)) {
        VEC_PUSH(w.steps, w.n, w.cap, ((step){.kind = STEP_OBJECT, .next = jdoc_first(d, root), .schema = schema}));
    }
    while (w.n) {
        advance(&w);
    }
    strbuf_deinit(&w.text);
    strbuf_deinit(&w.decoded);
    free(w.steps);
}
