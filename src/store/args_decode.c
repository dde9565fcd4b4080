/* The way back from templates and numbers to text. Every length is checked: the stream may be damaged. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/args.h"

typedef struct input {
    const uint8_t *p;
    const uint8_t *end;
    bool is_bad;
} input;

typedef struct used_template {
    const char *text;
    size_t len;
    size_t first_value;
    uint32_t n_values;
} used_template;

typedef struct decoder {
    used_template *used;
    size_t n_used;
    uint64_t *values;
    size_t n_values;
    input refs, masks, numbers, literals;
} decoder;

static uint64_t get_varint(input *in)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->p >= in->end) {
            break;
        }
        uint8_t b = *in->p++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            return v;
        }
    }
    in->is_bad = true;
    return 0;
}

static const uint8_t *get_bytes(input *in, uint64_t n)
{
    if (n > (uint64_t)(in->end - in->p)) {
        in->is_bad = true;
        in->p = in->end;
        return NULL;
    }
    const uint8_t *p = in->p;
    in->p += n;
    return p;
}

static uint32_t count_values(const char *text, size_t n)
{
    uint32_t k = 0;
    for (size_t i = 0; i < n; i++) {
        k += text[i] == 1 ? 1U : text[i] == 2 ? 2U : 0U;
    }
    return k;
}

/* Numbers of one template at most, over all used ones at most what a block of the writer can have. */
static bool read_templates(decoder *d, const args_templates *t, input *in, uint64_t n)
{
    const size_t most = (size_t)1 << 27;
    if (n > t->n || n > (uint64_t)(in->end - in->p)) {
        return false;
    }
    d->used = mem_calloc(n ? n : 1, sizeof *d->used);
    for (d->n_used = 0; d->n_used < n; d->n_used++) {
        uint64_t id = get_varint(in);
        if (in->is_bad || id >= t->n) {
            return false;
        }
        used_template *u = &d->used[d->n_used];
        u->text = t->bytes + t->start[id];
        u->len = (size_t)(t->start[id + 1] - t->start[id]);
        u->first_value = d->n_values;
        u->n_values = count_values(u->text, u->len);
        if (u->n_values > most - d->n_values) {
            return false;
        }
        d->n_values += u->n_values;
    }
    d->values = mem_try_alloc((d->n_values ? d->n_values : 1) * sizeof *d->values);
    if (d->values) {
        memset(d->values, 0, d->n_values * sizeof *d->values);
    }
    return d->values != NULL;
}

static bool open_stream(decoder *d, const args_templates *t, const uint8_t *stream, size_t n)
{
    input in = {stream, stream + n, false};
    uint64_t n_templates = get_varint(&in);
    if (in.is_bad || !read_templates(d, t, &in, n_templates)) {
        return false;
    }
    uint64_t length[4];
    input *parts[4] = {&d->refs, &d->masks, &d->numbers, &d->literals};
    for (unsigned i = 0; i < 4; i++) {
        length[i] = get_varint(&in);
    }
    for (unsigned i = 0; i < 4; i++) {
        const uint8_t *p = get_bytes(&in, length[i]);
        if (in.is_bad) {
            return false;
        }
        *parts[i] = (input){p, p + length[i], false};
    }
    return true;
}

static void put_text(strbuf *out, const used_template *u, const uint64_t *values)
{
    size_t from = 0;
    for (size_t i = 0; i < u->len; i++) {
        char c = u->text[i];
        if (c != 1 && c != 2) {
            continue;
        }
        strbuf_add(out, u->text + from, i - from);
        uint64_t width = c == 2 ? *values++ : 0;
        arg_put_number(out, *values++, width);
        from = i + 1;
    }
    strbuf_add(out, u->text + from, u->len - from);
}

/* One event: its numbers move on; its text is written where it is the wanted one. */
static bool step(decoder *d, strbuf *out)
{
    uint64_t ref = get_varint(&d->refs);
    if (d->refs.is_bad || ref >= 2 + (uint64_t)d->n_used) {
        return false;
    }
    if (ref == 0) {
        return true;
    }
    if (ref == 1) {
        uint64_t n = get_varint(&d->numbers);
        const uint8_t *p = get_bytes(&d->literals, n);
        if (d->numbers.is_bad || d->literals.is_bad) {
            return false;
        }
        if (out) {
            strbuf_add(out, (const char *)p, n);
        }
        return true;
    }
    const used_template *u = &d->used[ref - 2];
    uint64_t *values = d->values + u->first_value;
    const uint8_t *mask = get_bytes(&d->masks, (u->n_values + 7U) / 8U);
    for (uint32_t i = 0; mask && i < u->n_values; i++) {
        if (mask[i / 8] >> (i % 8) & 1) {
            uint64_t z = get_varint(&d->numbers);
            values[i] += (z >> 1) ^ (0 - (z & 1));
        }
    }
    if (!mask || d->numbers.is_bad) {
        return false;
    }
    if (out) {
        put_text(out, u, values);
    }
    return true;
}

marey_status args_decode(const args_templates *t, const uint8_t *stream, size_t n, uint32_t index, strbuf *out)
{
    decoder d = {0};
    bool ok = open_stream(&d, t, stream, n);
    for (uint32_t i = 0; ok && i <= index; i++) {
        ok = step(&d, i == index ? out : NULL);
    }
    free(d.used);
    free(d.values);
    return ok ? MAREY_OK : MAREY_FORMAT;
}

marey_status args_decode_all(const args_templates *t, const uint8_t *stream, size_t n, uint32_t n_events,
                             args_visit visit, void *ctx)
{
    decoder d = {0};
    strbuf text = {0};
    bool ok = open_stream(&d, t, stream, n);
    bool goes_on = true;
    for (uint32_t i = 0; ok && goes_on && i < n_events; i++) {
        strbuf_clear(&text);
        ok = step(&d, &text);
        goes_on = ok && visit(ctx, i, strbuf_str(&text), text.n);
    }
    strbuf_deinit(&text);
    free(d.used);
    free(d.values);
    return ok ? MAREY_OK : MAREY_FORMAT;
}
