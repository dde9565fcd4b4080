/*
 * HLO as protocol buffers: an HloProto, a bare HloModuleProto, a container that holds one of them in field 1 (dumps
 * with literals), or a profile of XLA (XPlane), whose plane "/host:metadata" has the HloProto of every program that
 * ran, each a module here. Ids have 64 bits: the computation's in the high half. Literals are never looked at.
 *
 * Source: xla/service/hlo.proto, xla/xla_data.proto, tsl/profiler/protobuf/xplane.proto (field numbers).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "parse/pbwire.h"
#include "readers/graph_formats.h"
#include "readers/graph_hlo.h"

enum { SHAPE_DEPTH_MAX = 16, SHAPE_DIMS_MAX = 32, LIST_MAX = 256 };

typedef struct hlo_pb {
    const graph_input *in;
    hlo_module *m;
    map64 insts, computations; /* id -> index + 1 */
    uint64_t *operand_ids;     /* beside m->operands until all instructions are known */
    size_t n_operand_ids, cap_operand_ids;
    uint64_t entry_id;
    gspan entry_name;
    strbuf text;
} hlo_pb;

static gspan text_of(const pb_field *f)
{
    return f->wire == PB_BYTES && f->size ? (gspan){(const char *)f->data, f->size} : (gspan){"", 0};
}

/* What was written to the buffer, kept in the arena. */
static gspan keep(hlo_pb *h)
{
    gspan s = {arena_strndup(&h->m->mem, strbuf_str(&h->text), h->text.n), h->text.n};
    strbuf_clear(&h->text);
    return s;
}

static void add_attr(hlo_pb *h, const char *key, gspan value)
{
    if (value.n) {
        VEC_PUSH(h->m->attrs, h->m->n_attrs, h->m->cap_attrs, ((hlo_attr){gspan_of(key), value}));
    }
}

static void add_number(hlo_pb *h, const char *key, uint64_t value)
{
    strbuf_printf(&h->text, "%" PRId64, (int64_t)value);
    add_attr(h, key, keep(h));
}

/* Damage inside a message loses its rest. */
static void note_broken(hlo_pb *h, const pb_reader *r)
{
    if (r->is_broken) {
        diag_lose(h->in->diag, r->broken_at >= h->in->size ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, h->in->file,
                  r->broken_at, 1, NULL);
    }
}

/* ---- shapes ---- */

static const char *element_name(uint64_t type)
{
    static const char *const names[] = {
        "invalid",  "pred", "s8",  "s16",           "s32",        "s64",        "u8",   "u16",   "u32",    "u64",
        "f16",      "f32",  "f64", "tuple",         "opaque",     "c64",        "bf16", "token", "c128",   "f8e5m2",
        "f8e4m3fn", "s4",   "u4",  "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",   "u2",    "f8e4m3", "f8e3m4"};
    return type < sizeof names / sizeof *names ? names[type] : "type";
}

typedef struct shape_frame {
    pb_reader r;
    uint64_t type;
    uint64_t dims[SHAPE_DIMS_MAX];
    size_t n_dims, n_elements;
} shape_frame;

static void put_array(strbuf *out, const shape_frame *f)
{
    strbuf_puts(out, element_name(f->type));
    strbuf_puts(out, "[");
    for (size_t i = 0; i < f->n_dims; i++) {
        strbuf_printf(out, "%s%" PRId64, i ? "," : "", (int64_t)f->dims[i]);
    }
    strbuf_puts(out, "]");
}

static void take_shape_field(shape_frame *f, const pb_field *field)
{
    if (field->number == 2) {
        f->type = field->value;
    } else if (field->number == 3) {
        uint64_t v = 0;
        for (size_t at = 0; pb_packed(field, &at, &v);) {
            if (f->n_dims < SHAPE_DIMS_MAX) {
                f->dims[f->n_dims++] = v;
            }
        }
    }
}

/* "f32[2,3]", "(f32[2], s32[])": tuples in tuples by a stack; what is deeper than that is left out. */
static gspan shape_text(hlo_pb *h, const pb_reader *outer, const pb_field *f)
{
    shape_frame *stack = mem_calloc(SHAPE_DEPTH_MAX, sizeof *stack);
    size_t depth = 1;
    pb_enter(&stack[0].r, outer, f);
    while (depth > 0) {
        shape_frame *top = &stack[depth - 1];
        pb_field field;
        if (!pb_next(&top->r, &field)) {
            if (top->type == 13 || top->n_elements) {
                strbuf_puts(&h->text, top->n_elements ? ")" : "()");
            } else {
                put_array(&h->text, top);
            }
            depth--;
        } else if (field.number == 4 && field.wire == PB_BYTES && depth < SHAPE_DEPTH_MAX) {
            strbuf_puts(&h->text, top->n_elements++ ? ", " : "(");
            stack[depth] = (shape_frame){0};
            pb_enter(&stack[depth].r, &top->r, &field);
            depth++;
        } else {
            take_shape_field(top, &field);
        }
    }
    free(stack);
    return keep(h);
}

/* ---- attributes ---- */

/* "a,b,c" of a repeated number; long lists are cut. */
static void put_numbers(strbuf *out, const pb_field *f, size_t *n)
{
    uint64_t v = 0;
    for (size_t at = 0; pb_packed(f, &at, &v);) {
        if (*n < LIST_MAX) {
            strbuf_printf(out, "%s%" PRId64, *n ? "," : "", (int64_t)v);
        } else if (*n == LIST_MAX) {
            strbuf_puts(out, ",...");
        }
        ++*n;
    }
}

/* All values of one field of a message, as "a,b,c". */
static void put_field(strbuf *out, const pb_reader *outer, const pb_field *f, uint32_t number)
{
    pb_reader r;
    pb_field field;
    size_t n = 0;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        if (field.number == number) {
            put_numbers(out, &field, &n);
        }
    }
}

/* "[8,4]<=[32]T(1,0)": dimensions, of devices in the order of an iota. */
static void put_iota(strbuf *out, const pb_reader *outer, const pb_field *f, const uint32_t numbers[4])
{
    strbuf_puts(out, "[");
    put_field(out, outer, f, numbers[0]);
    if (numbers[1]) {
        strbuf_puts(out, ",");
        put_field(out, outer, f, numbers[1]);
    }
    strbuf_puts(out, "]<=[");
    put_field(out, outer, f, numbers[2]);
    strbuf_puts(out, "]");
    size_t before = out->n;
    strbuf_puts(out, "T(");
    size_t empty = out->n;
    put_field(out, outer, f, numbers[3]);
    if (out->n == empty) {
        out->n = before;
        out->s[before] = '\0';
    } else {
        strbuf_puts(out, ")");
    }
}

static void put_sharding(strbuf *out, const pb_reader *outer, const pb_field *f)
{
    static const uint32_t iota[4] = {3, 0, 9, 10};
    pb_reader r;
    pb_field field;
    uint64_t type = 0;
    bool by_iota = false;
    bool tuple = false;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        type = field.number == 1 ? field.value : type;
        by_iota = by_iota || field.number == 9;
        tuple = tuple || field.number == 5;
    }
    if (type == 2 || tuple) {
        strbuf_puts(out, "{tuple}");
    } else if (type == 3) {
        strbuf_puts(out, "{devices=");
        if (by_iota) {
            put_iota(out, outer, f, iota);
        } else {
            strbuf_puts(out, "[");
            put_field(out, outer, f, 3);
            strbuf_puts(out, "]");
            put_field(out, outer, f, 4);
        }
        strbuf_puts(out, "}");
    } else {
        strbuf_puts(out, type == 0 ? "{replicated}" : type == 1 ? "{maximal}" : "{manual}");
    }
}

/* A sharding, or a tuple of them, one level deep. */
static void add_sharding(hlo_pb *h, const pb_reader *outer, const pb_field *f)
{
    pb_reader r;
    pb_field field;
    size_t n = 0;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        if (field.number == 5 && field.wire == PB_BYTES) {
            strbuf_puts(&h->text, n++ ? ", " : "{");
            put_sharding(&h->text, &r, &field);
        }
    }
    if (n) {
        strbuf_puts(&h->text, "}");
    } else {
        put_sharding(&h->text, outer, f);
    }
    add_attr(h, "sharding", keep(h));
}

static void add_device_list(hlo_pb *h, const pb_reader *outer, const pb_field *f)
{
    static const uint32_t iota[4] = {1, 2, 3, 4};
    pb_reader r;
    pb_field field;
    size_t n = 0;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        if (field.number == 1 && field.wire == PB_BYTES) {
            strbuf_puts(&h->text, n++ ? ",{" : "{{");
            put_field(&h->text, &r, &field, 1);
            strbuf_puts(&h->text, "}");
        } else if (field.number == 2 && field.wire == PB_BYTES) {
            put_iota(&h->text, &r, &field, iota);
        }
    }
    strbuf_puts(&h->text, n ? "}" : "");
    add_attr(h, "replica_groups", keep(h));
}

static void add_frontend(hlo_pb *h, const pb_reader *outer, const pb_field *f)
{
    pb_reader r;
    pb_field entry;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &entry)) {
        pb_reader pair;
        pb_field field;
        gspan key = {"", 0};
        gspan value = {"", 0};
        pb_enter(&pair, &r, &entry);
        while (pb_next(&pair, &field)) {
            key = field.number == 1 ? text_of(&field) : key;
            value = field.number == 2 ? text_of(&field) : value;
        }
        if (key.n) {
            VEC_PUSH(h->m->attrs, h->m->n_attrs, h->m->cap_attrs, ((hlo_attr){key, value}));
        }
    }
}

static void take_metadata(hlo_pb *h, hlo_inst *i, const pb_reader *outer, const pb_field *f)
{
    pb_reader r;
    pb_field field;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        switch (field.number) {
        case 1:
            add_attr(h, "op_type", text_of(&field));
            break;
        case 2:
            i->op_name = text_of(&field);
            break;
        case 3:
            add_attr(h, "source_file", text_of(&field));
            break;
        case 4:
            add_number(h, "source_line", field.value);
            break;
        case 15:
            add_number(h, "stack_frame_id", field.value);
            break;
        default:
            break;
        }
    }
}

/* ---- instructions ---- */

static void add_ids(hlo_pb *h, hlo_inst *i, const pb_field *f, bool control)
{
    uint64_t v = 0;
    for (size_t at = 0; pb_packed(f, &at, &v);) {
        VEC_PUSH(h->operand_ids, h->n_operand_ids, h->cap_operand_ids, v);
        VEC_PUSH(h->m->operands, h->m->n_operands, h->m->cap_operands, control);
        i->n_operands++;
        i->n_controls += control;
    }
}

static void add_calls(hlo_pb *h, hlo_inst *i, const pb_field *f)
{
    uint64_t v = 0;
    for (size_t at = 0; pb_packed(f, &at, &v);) {
        VEC_PUSH(h->m->calls, h->m->n_calls, h->m->cap_calls,
                 ((hlo_call){.computation = GRAPH_NONE, .name = {"", 0}, .id = v}));
        i->n_calls++;
    }
}

/* Fields that only become an attribute. `lists` gathers those that come in several records. */
static void take_attr(hlo_pb *h, const pb_reader *r, const pb_field *f, strbuf *groups, strbuf *pairs, strbuf *dims)
{
    size_t n = dims->n > 0;
    switch (f->number) {
    case 11:
        add_attr(h, "kind", text_of(f));
        break;
    case 14:
        put_numbers(dims, f, &n);
        break;
    case 26:
        add_number(h, "channel_id", f->value);
        break;
    case 28:
        add_attr(h, "custom_call_target", text_of(f));
        break;
    case 40:
        add_sharding(h, r, f);
        break;
    case 43:
        add_attr(h, "backend_config", text_of(f));
        break;
    case 49:
        strbuf_puts(groups, groups->n ? ",{" : "{{");
        put_field(groups, r, f, 1);
        strbuf_puts(groups, "}");
        break;
    case 52:
        strbuf_puts(pairs, pairs->n ? ",{" : "{{");
        put_field(pairs, r, f, 1);
        strbuf_puts(pairs, ",");
        put_field(pairs, r, f, 2);
        strbuf_puts(pairs, "}");
        break;
    case 68:
        add_frontend(h, r, f);
        break;
    case 71:
        add_attr(h, "use_global_device_ids", gspan_of(f->value ? "true" : ""));
        break;
    case 87:
        add_device_list(h, r, f);
        break;
    default:
        break;
    }
}

static void take_field(hlo_pb *h, hlo_inst *i, const pb_reader *r, const pb_field *f)
{
    switch (f->number) {
    case 1:
        i->name = text_of(f);
        break;
    case 2:
        i->opcode = text_of(f);
        break;
    case 3:
        i->shape = shape_text(h, r, f);
        break;
    case 7:
        take_metadata(h, i, r, f);
        break;
    case 9:
    case 13:
        i->index = f->value ? (uint32_t)f->value : i->index;
        break;
    case 35:
        i->id = (int64_t)f->value;
        break;
    case 36:
        add_ids(h, i, f, false);
        break;
    case 38:
        add_calls(h, i, f);
        break;
    default:
        break;
    }
}

static void add_list(hlo_pb *h, const char *key, strbuf *list, const char *before, const char *after)
{
    if (list->n) {
        strbuf_printf(&h->text, "%s%s%s", before, list->s, after);
        add_attr(h, key, keep(h));
    }
    strbuf_deinit(list);
}

static void take_inst(hlo_pb *h, const pb_reader *outer, const pb_field *f, hlo_computation *c)
{
    hlo_module *m = h->m;
    hlo_inst i = {.name = {"", 0},
                  .opcode = {"", 0},
                  .shape = {"", 0},
                  .op_name = {"", 0},
                  .id = -1,
                  .offset = f->offset,
                  .first_operand = (uint32_t)m->n_operands,
                  .first_call = (uint32_t)m->n_calls,
                  .first_attr = (uint32_t)m->n_attrs};
    strbuf groups = {0};
    strbuf pairs = {0};
    strbuf dims = {0};
    pb_reader r;
    pb_field field;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        take_field(h, &i, &r, &field);
        take_attr(h, &r, &field, &groups, &pairs, &dims);
    }
    note_broken(h, &r);
    /* Predecessors that only order come behind the operands, whatever their place in the message. */
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        if (field.number == 37) {
            add_ids(h, &i, &field, true);
        }
    }
    add_list(h, "replica_groups", &groups, "", "}");
    add_list(h, "source_target_pairs", &pairs, "", "}");
    add_list(h, "dimensions", &dims, "{", "}");
    i.n_attrs = (uint32_t)m->n_attrs - i.first_attr;
    for (uint32_t k = 0; k < i.n_calls; k++) {
        m->calls[i.first_call + k].role = hlo_call_role(i.opcode, k);
    }
    if (i.opcode.n == 0) {
        diag_lose(h->in->diag, MAREY_LOSS_DAMAGED, h->in->file, f->offset, 1, NULL);
    }
    *map64_put(&h->insts, (uint64_t)i.id) = m->n_insts + 1;
    VEC_PUSH(m->insts, m->n_insts, m->cap_insts, i);
    c->n++;
}

static void take_computation(hlo_pb *h, const pb_reader *outer, const pb_field *f)
{
    hlo_module *m = h->m;
    hlo_computation c = {.name = {"", 0}, .first = (uint32_t)m->n_insts, .root = GRAPH_NONE};
    uint64_t root = UINT64_MAX;
    pb_reader r;
    pb_field field;
    pb_enter(&r, outer, f);
    while (pb_next(&r, &field)) {
        if (field.number == 1) {
            c.name = text_of(&field);
        } else if (field.number == 2 && field.wire == PB_BYTES) {
            take_inst(h, &r, &field, &c);
        } else if (field.number == 5) {
            c.id = field.value;
        } else if (field.number == 6) {
            root = field.value;
        }
    }
    note_broken(h, &r);
    const uint64_t *at = map64_get(&h->insts, root);
    c.root = at && *at > c.first ? (uint32_t)*at - 1 : c.n ? c.first + c.n - 1 : GRAPH_NONE;
    *map64_put(&h->computations, c.id) = m->n_computations + 1;
    VEC_PUSH(m->computations, m->n_computations, m->cap_computations, c);
}

static void take_module(hlo_pb *h, pb_reader *r)
{
    pb_field f;
    while (pb_next(r, &f) && !is_cancelled(h->in->cancel)) {
        if (f.number == 1) {
            h->m->name = text_of(&f);
        } else if (f.number == 2) {
            h->entry_name = text_of(&f);
        } else if (f.number == 3 && f.wire == PB_BYTES) {
            take_computation(h, r, &f);
        } else if (f.number == 6) {
            h->entry_id = f.value;
        }
    }
    note_broken(h, r);
}

/* ---- the whole ---- */

/* Ids to indices. An id in its own computation only: other computations' values can't be seen. */
static void resolve(hlo_pb *h)
{
    hlo_module *m = h->m;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        const hlo_computation *k = &m->computations[c];
        if (k->id == h->entry_id || (h->entry_name.n && gspan_equal(k->name, h->entry_name))) {
            m->entry = c;
        }
        for (uint32_t i = k->first; i < k->first + k->n; i++) {
            for (uint32_t o = 0; o < m->insts[i].n_operands; o++) {
                size_t at = m->insts[i].first_operand + o;
                const uint64_t *to = map64_get(&h->insts, h->operand_ids[at]);
                bool here = to && *to > k->first && *to <= (uint64_t)k->first + k->n;
                m->operands[at] = here ? (uint32_t)(*to - 1) : GRAPH_NONE;
                if (!here) {
                    diag_lose(h->in->diag, MAREY_LOSS_DANGLING, h->in->file, m->insts[i].offset, 1, NULL);
                }
            }
        }
    }
    for (size_t i = 0; i < m->n_calls; i++) {
        const uint64_t *to = map64_get(&h->computations, m->calls[i].id);
        m->calls[i].computation = to ? (uint32_t)(*to - 1) : GRAPH_NONE;
        if (!to) {
            diag_lose(h->in->diag, MAREY_LOSS_DANGLING, h->in->file, DIAG_NO_OFFSET, 1, NULL);
        }
    }
}

/* ---- what it is ---- */

/* The bytes of a field at *p, as far as the head goes. @return false when it is not that field */
static bool field_at(const uint8_t **p, const uint8_t *end, uint32_t number, gspan *inside)
{
    const uint8_t *q = *p;
    uint64_t size = 0;
    if (q >= end || *q++ != (number << 3 | PB_BYTES)) {
        return false;
    }
    for (unsigned shift = 0; q < end && shift < 35; shift += 7) {
        size |= (uint64_t)(*q & 0x7F) << shift;
        if (*q++ < 0x80) {
            size_t left = (size_t)(end - q);
            *inside = (gspan){(const char *)q, size < left ? (size_t)size : left};
            *p = q + inside->n;
            return true;
        }
    }
    return false;
}

static bool is_printable(gspan a)
{
    for (size_t i = 0; i < a.n; i++) {
        if ((uint8_t)a.s[i] < 0x20 || a.s[i] == 0x7F) {
            return false;
        }
    }
    return a.n > 0;
}

/* name#1, entry name#2, computations#3 { name#1, instructions#2 { name#1, opcode#2 } } */
static bool is_module(const uint8_t *p, const uint8_t *end)
{
    gspan name;
    gspan entry;
    gspan inside;
    if (!field_at(&p, end, 1, &name) || !is_printable(name) || !field_at(&p, end, 2, &entry) || !is_printable(entry) ||
        !field_at(&p, end, 3, &inside)) {
        return false;
    }
    p = (const uint8_t *)inside.s;
    end = p + inside.n;
    if (!field_at(&p, end, 1, &name) || !is_printable(name) || !field_at(&p, end, 2, &inside)) {
        return false;
    }
    p = (const uint8_t *)inside.s;
    end = p + inside.n;
    gspan opcode;
    if (!field_at(&p, end, 1, &name) || !is_printable(name) || !field_at(&p, end, 2, &opcode) || opcode.n == 0) {
        return false;
    }
    for (size_t i = 0; i < opcode.n; i++) {
        if (opcode.s[i] != '-' && (opcode.s[i] < 'a' || opcode.s[i] > 'z')) {
            return false;
        }
    }
    return true;
}

/* How many containers lie around the module; -1: it is no HLO. */
static int containers(const graph_input *in)
{
    const uint8_t *p = in->data;
    const uint8_t *end = in->data + graph_head_size(in);
    for (int depth = 0; depth <= 2; depth++) {
        gspan inside;
        if (is_module(p, end)) {
            return depth;
        }
        if (!field_at(&p, end, 1, &inside)) {
            break;
        }
        p = (const uint8_t *)inside.s;
        end = p + inside.n;
    }
    return -1;
}

/* XSpace { planes#1 { id#1, name#2 } }: planes are called after what they are of. */
static bool is_profile(const graph_input *in)
{
    static const char *const names[] = {"/host:", "/device:", "Task Environment"};
    pb_reader r;
    pb_reader plane;
    pb_field f;
    pb_open(&r, in->data, in->size);
    if (!(pb_next(&r, &f) || pb_cut(&r, &f)) || f.number != 1 || f.wire != PB_BYTES) {
        return false;
    }
    pb_enter(&plane, &r, &f);
    for (int i = 0; i < 2 && pb_next(&plane, &f); i++) {
        for (size_t k = 0; k < sizeof names / sizeof *names && f.number == 2 && f.wire == PB_BYTES; k++) {
            size_t n = strlen(names[k]);
            if (f.size >= n && memcmp(f.data, names[k], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

static int sniff_hlo_pb(const graph_input *in)
{
    return containers(in) >= 0 || is_profile(in) ? 2 : 0;
}

/* The module that `r` stands in. */
static marey_status read_module(const graph_input *in, pb_reader *r, graph_builder *b)
{
    hlo_module m = {.entry = GRAPH_NONE};
    hlo_pb h = {.in = in, .m = &m, .entry_id = UINT64_MAX};
    note_broken(&h, r);
    take_module(&h, r);
    resolve(&h);
    marey_status status = is_cancelled(in->cancel) ? MAREY_CANCELLED : MAREY_OK;
    if (status == MAREY_OK) {
        char *name = mem_strndup(m.name.n ? m.name.s : "", m.name.n);
        graph_builder_facts(b, "hlo", name, "XLA");
        free(name);
        status = hlo_module_build(&m, in, b);
    }
    map64_deinit(&h.insts);
    map64_deinit(&h.computations);
    free(h.operand_ids);
    strbuf_deinit(&h.text);
    hlo_module_deinit(&m);
    return status;
}

/* ---- profiles ---- */

typedef struct profile {
    const graph_input *in;
    graph_builder *b;
    uint32_t root;
    size_t n_modules;
} profile;

/* XEventMetadata { name#2, stats#5 { bytes_value#6 } }: the bytes are an HloProto where they look like one. */
static marey_status read_program(profile *p, const pb_reader *outer, const pb_field *message)
{
    pb_reader r;
    pb_reader stat;
    pb_field f;
    pb_field value;
    gspan name = {"", 0};
    marey_status status = MAREY_OK;
    pb_enter(&r, outer, message);
    while (pb_next(&r, &f) && status == MAREY_OK) {
        name = f.number == 2 ? text_of(&f) : name;
        if (f.number != 5 || f.wire != PB_BYTES) {
            continue;
        }
        pb_enter(&stat, &r, &f);
        while (pb_next(&stat, &value) && status == MAREY_OK) {
            pb_reader proto;
            pb_reader module;
            pb_field inner;
            if (value.number != 6 || value.wire != PB_BYTES) {
                continue;
            }
            pb_enter(&proto, &stat, &value);
            if (!pb_next(&proto, &inner) || inner.number != 1 || inner.wire != PB_BYTES ||
                !is_module(inner.data, inner.data + inner.size)) {
                continue;
            }
            pb_enter(&module, &proto, &inner);
            uint32_t scope = graph_builder_new_scope(p->b, p->root, name.n ? name.s : "module", name.n ? name.n : 6, 0);
            graph_builder_begin_input(p->b, scope, p->in->file);
            status = read_module(p->in, &module, p->b);
            graph_builder_begin_input(p->b, p->root, p->in->file);
            p->n_modules++;
        }
    }
    return status;
}

/* XPlane { event_metadata#4: map of XEventMetadata }. Other planes' metadata are events of the run. */
static marey_status read_plane(profile *p, const pb_reader *outer, const pb_field *message)
{
    static const char wanted[] = "/host:metadata";
    pb_reader r;
    pb_reader entry;
    pb_field f;
    pb_field value;
    bool is_metadata = false;
    marey_status status = MAREY_OK;
    pb_enter(&r, outer, message);
    while (pb_next(&r, &f) && !is_metadata) {
        is_metadata = f.number == 2 && f.wire == PB_BYTES && f.size == sizeof wanted - 1 &&
                      memcmp(f.data, wanted, sizeof wanted - 1) == 0;
    }
    pb_enter(&r, outer, message);
    while (is_metadata && status == MAREY_OK && pb_next(&r, &f)) {
        if (f.number == 4 && f.wire == PB_BYTES) {
            pb_enter(&entry, &r, &f);
            while (status == MAREY_OK && pb_next(&entry, &value)) {
                if (value.number == 2 && value.wire == PB_BYTES) {
                    status = read_program(p, &entry, &value);
                }
            }
        }
    }
    return status;
}

static marey_status read_profile(const graph_input *in, graph_builder *b)
{
    profile p = {.in = in, .b = b, .root = graph_builder_root(b)};
    pb_reader r;
    pb_field f;
    marey_status status = MAREY_OK;
    pb_open(&r, in->data, in->size);
    while (status == MAREY_OK && pb_next(&r, &f)) {
        if (f.number == 1 && f.wire == PB_BYTES) {
            status = read_plane(&p, &r, &f);
        }
    }
    if (r.is_broken) {
        diag_lose(in->diag, MAREY_LOSS_TRUNCATED, in->file, r.broken_at, 1, NULL);
    }
    if (status == MAREY_OK && p.n_modules == 0) {
        status = diag_error(in->diag, MAREY_UNSUPPORTED, in->path, DIAG_NO_OFFSET,
                            "This profile of XLA holds no program (HLO): its plane /host:metadata has none.");
    }
    return status;
}

static marey_status read_hlo_pb(const graph_input *in, graph_builder *b)
{
    int depth = containers(in);
    if (depth < 0) {
        return read_profile(in, b);
    }
    pb_reader r;
    pb_open(&r, in->data, in->size);
    for (pb_field f; depth > 0 && pb_next(&r, &f); depth--) {
        pb_reader outer = r;
        pb_enter(&r, &outer, &f);
    }
    return read_module(in, &r, b);
}

const graph_format GRAPH_HLO_PB = {"hlo", sniff_hlo_pb, read_hlo_pb};
