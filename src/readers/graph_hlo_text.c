/*
 * HLO text, as XLA dumps it: "HloModule name, ..." and computations of one instruction a line,
 * "[ROOT] %name = shape opcode(operands), key=value, ...". Percent signs, operand shapes, argument lists of
 * computations and the ENTRY word may be missing. Constants of many lines are skipped to their closing bracket.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "readers/graph_formats.h"
#include "readers/graph_hlo.h"

enum { CONSTANT_BYTES = 64 }; /* a longer literal is told by its size */

typedef struct hlo_text {
    const graph_input *in;
    hlo_module *m;
    const char *p, *start, *end;
    intern names;  /* of instructions and of computations, apart by their first byte */
    uint32_t *def; /* by name: the last instruction + 1 */
    size_t n_def, cap_def;
    uint64_t bytes_left; /* that brackets without an end may still cost */
    bool in_computation;
} hlo_text;

static uint64_t offset_of(const hlo_text *t, const char *p)
{
    return (uint64_t)(p - t->start);
}

static gspan without_percent(gspan a)
{
    a = gspan_trim(a);
    return a.n && a.s[0] == '%' ? (gspan){a.s + 1, a.n - 1} : a;
}

static const char *line_end(const char *p, const char *end)
{
    const char *q = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return q ? q : end;
}

/* ---- one instruction ---- */

/* Where the instruction at `p` ends: its line, or further where brackets stay open. A line "}" ends a computation
 * whatever is open: then the instruction is damaged and ends with its first line. */
static const char *inst_end(hlo_text *t, const char *p)
{
    size_t depth = 0;
    for (const char *q = p; q < t->end; q++) {
        char c = *q;
        if (c == '"') {
            const char *close = text_skip_string(q, t->end);
            if (memchr(q, '\n', (size_t)(close - q))) {
                break;
            }
            q = close - 1;
        } else if (c == '(' || c == '[' || c == '{') {
            depth++;
        } else if (c == ')' || c == ']' || c == '}') {
            depth -= depth > 0;
        } else if (c == '\n') {
            if (depth == 0) {
                return q;
            }
            const char *next = q + 1;
            bool closes = next < t->end && *next == '}' &&
                          (next + 1 == t->end || next[1] == '\n' || next[1] == '\r' || next[1] == ' ');
            if (closes || (uint64_t)(q - p) > t->bytes_left) {
                t->bytes_left -= t->bytes_left < (uint64_t)(q - p) ? t->bytes_left : (uint64_t)(q - p);
                break;
            }
        }
    }
    const char *e = line_end(p, t->end);
    bool whole = e == t->end && depth == 0;
    if (!whole) {
        diag_lose(t->in->diag, e == t->end ? MAREY_LOSS_TRUNCATED : MAREY_LOSS_DAMAGED, t->in->file, offset_of(t, p), 1,
                  NULL);
    }
    return e;
}

/* The next piece up to a comma outside brackets. @return false at the end */
static bool next_piece(const char **p, const char *end, gspan *piece)
{
    while (*p < end && (**p == ',' || **p == ' ')) {
        (*p)++;
    }
    const char *from = *p;
    while (*p < end && **p != ',') {
        char c = **p;
        *p = c == '"'                           ? text_skip_string(*p, end)
             : c == '(' || c == '[' || c == '{' ? text_skip_balanced(*p, end, false)
                                                : *p + 1;
    }
    *piece = gspan_trim((gspan){from, (size_t)(*p - from)});
    return *p > from;
}

static uint32_t name_id(hlo_text *t, char kind, gspan name)
{
    char small[256];
    char *key = name.n < sizeof small ? small : mem_alloc(name.n + 1);
    key[0] = kind;
    memcpy(key + 1, name.s, name.n);
    uint32_t id = intern_put(&t->names, key, name.n + 1);
    if (key != small) {
        free(key);
    }
    while (t->n_def <= id) {
        VEC_PUSH(t->def, t->n_def, t->cap_def, 0);
    }
    return id;
}

static void add_attr(hlo_text *t, gspan key, gspan value)
{
    VEC_PUSH(t->m->attrs, t->m->n_attrs, t->m->cap_attrs, ((hlo_attr){key, value}));
}

/* The operand's name is the last word: "bf16[8] %x", "%x", "x", "/" "*index=5*" "/ %x". */
static gspan operand_name(gspan piece)
{
    size_t from = piece.n;
    while (from > 0 && piece.s[from - 1] != ' ' && piece.s[from - 1] != '/' && piece.s[from - 1] != '\n') {
        from--;
    }
    return without_percent((gspan){piece.s + from, piece.n - from});
}

/* Names for now: resolved at the end of the computation, since order is not promised in damaged files. */
static void add_operands(hlo_text *t, hlo_inst *i, gspan list)
{
    const char *p = list.s;
    gspan piece;
    while (next_piece(&p, list.s + list.n, &piece)) {
        gspan name = operand_name(piece);
        if (name.n) {
            VEC_PUSH(t->m->operands, t->m->n_operands, t->m->cap_operands, name_id(t, 'i', name));
            i->n_operands++;
        }
    }
}

static void add_call(hlo_text *t, hlo_inst *i, gspan role, gspan name)
{
    name = without_percent(name);
    if (name.n) {
        VEC_PUSH(t->m->calls, t->m->n_calls, t->m->cap_calls,
                 ((hlo_call){.computation = GRAPH_NONE, .role = role, .name = name}));
        i->n_calls++;
    }
}

static gspan inside_braces(gspan a)
{
    return a.n >= 2 && a.s[0] == '{' && a.s[a.n - 1] == '}' ? (gspan){a.s + 1, a.n - 2} : a;
}

static bool is_call_key(gspan key, const hlo_inst *i)
{
    static const char *const keys[] = {"to_apply",
                                       "calls",
                                       "body",
                                       "condition",
                                       "true_computation",
                                       "false_computation",
                                       "async_wrapped",
                                       "called_computations",
                                       "called_computation"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (gspan_is(key, keys[k])) {
            return true;
        }
    }
    return (gspan_is(key, "select") || gspan_is(key, "scatter")) && gspan_is(i->opcode, "select-and-scatter");
}

static void add_calls(hlo_text *t, hlo_inst *i, gspan key, gspan value)
{
    value = inside_braces(value);
    const char *p = value.s;
    gspan piece;
    bool branches = gspan_is(key, "branch_computations");
    for (uint32_t k = 0; next_piece(&p, value.s + value.n, &piece); k++) {
        add_call(t, i, branches ? hlo_call_role(gspan_of("conditional"), k) : key, piece);
    }
}

static gspan unquoted(gspan a)
{
    return a.n >= 2 && a.s[0] == '"' && a.s[a.n - 1] == '"' ? (gspan){a.s + 1, a.n - 2} : a;
}

/* metadata={op_type="..." op_name="..." source_file="..." source_line=1}: words, blanks between them. */
static void add_metadata(hlo_text *t, hlo_inst *i, gspan value)
{
    value = inside_braces(value);
    const char *p = value.s;
    const char *end = value.s + value.n;
    while (p < end) {
        const char *from = p;
        while (p < end && *p != ' ' && *p != ',') {
            p = *p == '"' ? text_skip_string(p, end) : *p == '{' ? text_skip_balanced(p, end, false) : p + 1;
        }
        const char *eq = memchr(from, '=', (size_t)(p - from));
        if (eq) {
            gspan key = {from, (size_t)(eq - from)};
            gspan v = unquoted((gspan){eq + 1, (size_t)(p - eq - 1)});
            if (gspan_is(key, "op_name")) {
                i->op_name = v;
            } else if (v.n) {
                add_attr(t, key, v);
            }
        }
        p += p < end;
    }
}

static void add_controls(hlo_text *t, hlo_inst *i, gspan value)
{
    uint32_t before = i->n_operands;
    add_operands(t, i, inside_braces(value));
    i->n_controls += i->n_operands - before;
}

static void parse_attrs(hlo_text *t, hlo_inst *i, const char *p, const char *end)
{
    gspan piece;
    while (next_piece(&p, end, &piece)) {
        const char *eq = memchr(piece.s, '=', piece.n);
        if (!eq) {
            continue;
        }
        gspan key = {piece.s, (size_t)(eq - piece.s)};
        gspan value = {eq + 1, piece.n - key.n - 1};
        if (gspan_is(key, "metadata")) {
            add_metadata(t, i, value);
        } else if (gspan_is(key, "control-predecessors")) {
            add_controls(t, i, value);
        } else if (gspan_is(key, "branch_computations") || is_call_key(key, i)) {
            add_calls(t, i, key, value);
        } else {
            if (gspan_is(key, "index")) {
                uint64_t v = 0;
                i->index = gspan_u64(value, &v) && v < UINT32_MAX ? (uint32_t)v : 0;
            }
            add_attr(t, key, unquoted(value));
        }
    }
}

static void parse_inside(hlo_text *t, hlo_inst *i, gspan inside)
{
    uint64_t v = 0;
    if (gspan_is(i->opcode, "parameter")) {
        i->index = gspan_u64(gspan_trim(inside), &v) && v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
    } else if (!gspan_is(i->opcode, "constant")) {
        add_operands(t, i, inside);
    } else if (inside.n <= CONSTANT_BYTES) {
        add_attr(t, gspan_of("value"), inside);
    }
}

/* name = shape opcode( ... ): where each begins. @return false when it is no instruction */
static bool split_head(hlo_inst *i, const char **p, const char *end)
{
    const char *eq = memchr(*p, '=', (size_t)(end - *p));
    if (!eq) {
        return false;
    }
    i->name = without_percent((gspan){*p, (size_t)(eq - *p)});
    const char *q = eq + 1;
    while (q < end && *q == ' ') {
        q++;
    }
    const char *from = q;
    while (q < end && *q != ' ') {
        q = *q == '(' || *q == '[' || *q == '{' ? text_skip_balanced(q, end, false) : q + 1;
    }
    i->shape = (gspan){from, (size_t)(q - from)};
    const char *open = memchr(q, '(', (size_t)(end - q));
    if (!open || i->name.n == 0) {
        return false;
    }
    i->opcode = gspan_trim((gspan){q, (size_t)(open - q)});
    *p = open;
    return i->opcode.n > 0 && !memchr(i->opcode.s, ' ', i->opcode.n);
}

static void parse_inst(hlo_text *t, const char *p, const char *end)
{
    hlo_module *m = t->m;
    hlo_inst i = {.op_name = {"", 0},
                  .id = -1,
                  .offset = offset_of(t, p),
                  .first_operand = (uint32_t)m->n_operands,
                  .first_call = (uint32_t)m->n_calls,
                  .first_attr = (uint32_t)m->n_attrs};
    bool root = (size_t)(end - p) > 5 && memcmp(p, "ROOT ", 5) == 0;
    p += root ? 5 : 0;
    if (!split_head(&i, &p, end)) {
        diag_lose(t->in->diag, MAREY_LOSS_DAMAGED, t->in->file, i.offset, 1, NULL);
        return;
    }
    const char *close = text_skip_balanced(p, end, false);
    parse_inside(t, &i, (gspan){p + 1, (size_t)(close - p) - 1 - (close > p + 1 && close[-1] == ')')});
    parse_attrs(t, &i, close, end);
    i.n_attrs = (uint32_t)m->n_attrs - i.first_attr;
    hlo_computation *c = &m->computations[m->n_computations - 1];
    uint32_t id = name_id(t, 'i', i.name);
    if (t->def[id] > c->first) {
        diag_lose(t->in->diag, MAREY_LOSS_DUPLICATE_NAME, t->in->file, i.offset, 1, NULL);
    }
    t->def[id] = (uint32_t)m->n_insts + 1;
    if (root) {
        c->root = (uint32_t)m->n_insts;
    }
    VEC_PUSH(m->insts, m->n_insts, m->cap_insts, i);
    c->n++;
}

/* ---- computations ---- */

static void open_computation(hlo_text *t, const char *p, const char *end)
{
    hlo_module *m = t->m;
    bool entry = (size_t)(end - p) > 6 && memcmp(p, "ENTRY ", 6) == 0;
    p += entry ? 6 : 0;
    const char *q = p;
    while (q < end && *q != ' ' && *q != '(' && *q != '{') {
        q++;
    }
    gspan name = without_percent((gspan){p, (size_t)(q - p)});
    if (entry) {
        m->entry = (uint32_t)m->n_computations;
    }
    uint32_t id = name_id(t, 'c', name);
    if (t->def[id]) {
        diag_lose(t->in->diag, MAREY_LOSS_DUPLICATE_NAME, t->in->file, offset_of(t, p), 1, NULL);
    }
    t->def[id] = (uint32_t)m->n_computations + 1;
    VEC_PUSH(m->computations, m->n_computations, m->cap_computations,
             ((hlo_computation){.name = name, .first = (uint32_t)m->n_insts, .root = GRAPH_NONE}));
    t->in_computation = true;
}

static void close_computation(hlo_text *t)
{
    hlo_module *m = t->m;
    t->in_computation = false;
    hlo_computation *c = &m->computations[m->n_computations - 1];
    if (c->n && c->root == GRAPH_NONE) {
        c->root = c->first + c->n - 1;
    }
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        for (uint32_t k = 0; k < m->insts[i].n_operands; k++) {
            uint32_t *o = &m->operands[m->insts[i].first_operand + k];
            uint32_t def = t->def[*o];
            *o = def > c->first ? def - 1 : GRAPH_NONE;
            if (*o == GRAPH_NONE) {
                diag_lose(t->in->diag, MAREY_LOSS_DANGLING, t->in->file, m->insts[i].offset, 1, NULL);
            }
        }
    }
}

static void resolve_calls(hlo_text *t)
{
    hlo_module *m = t->m;
    for (size_t i = 0; i < m->n_insts; i++) {
        for (uint32_t k = 0; k < m->insts[i].n_calls; k++) {
            hlo_call *c = &m->calls[m->insts[i].first_call + k];
            uint32_t id = name_id(t, 'c', c->name);
            uint32_t def = t->def[id];
            c->computation = def ? def - 1 : GRAPH_NONE;
            if (!def) {
                diag_lose(t->in->diag, MAREY_LOSS_DANGLING, t->in->file, m->insts[i].offset, 1, NULL);
            }
        }
    }
}

static void parse_module_line(hlo_text *t, const char *p, const char *e)
{
    p += 10;
    const char *q = p;
    while (q < e && *q != ',' && *q != ' ') {
        q++;
    }
    t->m->name = gspan_trim((gspan){p, (size_t)(q - p)});
}

/* One line, or one instruction of several lines. @return behind it */
static const char *parse_line(hlo_text *t, const char *p)
{
    while (p < t->end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    const char *e = line_end(p, t->end);
    gspan line = gspan_trim((gspan){p, (size_t)(e - p)});
    if (line.n == 0 || gspan_starts(line, "//")) {
        return e;
    }
    if (t->in_computation) {
        if (line.s[0] == '}') {
            close_computation(t);
            return e;
        }
        e = inst_end(t, p);
        line = gspan_trim((gspan){p, (size_t)(e - p)});
        parse_inst(t, line.s, line.s + line.n);
    } else if (gspan_starts(line, "HloModule ")) {
        parse_module_line(t, line.s, line.s + line.n);
    } else if (line.s[line.n - 1] == '{') {
        open_computation(t, line.s, line.s + line.n);
    } else if (e == t->end) {
        diag_lose(t->in->diag, MAREY_LOSS_TRUNCATED, t->in->file, t->in->size, 1, NULL);
    }
    return e;
}

static marey_status parse(hlo_text *t)
{
    size_t lines = 0;
    for (const char *p = t->start; p < t->end; p++) {
        p = parse_line(t, p);
        if ((++lines & 1023) == 0 && is_cancelled(t->in->cancel)) {
            return MAREY_CANCELLED;
        }
    }
    if (t->in_computation) {
        diag_lose(t->in->diag, MAREY_LOSS_TRUNCATED, t->in->file, t->in->size, 1, NULL);
        close_computation(t);
    }
    resolve_calls(t);
    return MAREY_OK;
}

static marey_status read_hlo_text(const graph_input *in, graph_builder *b)
{
    hlo_module m = {.entry = GRAPH_NONE};
    hlo_text t = {.in = in, .m = &m, .start = (const char *)in->data, .bytes_left = 16 * (uint64_t)in->size};
    t.p = t.start;
    t.end = t.start + in->size;
    marey_status status = parse(&t);
    if (status == MAREY_OK) {
        char *name = mem_strndup(m.name.n ? m.name.s : "", m.name.n);
        graph_builder_facts(b, "hlo", name, "XLA");
        free(name);
        status = hlo_module_build(&m, in, b);
    }
    intern_deinit(&t.names);
    free(t.def);
    hlo_module_deinit(&m);
    return status;
}

static int sniff_hlo_text(const graph_input *in)
{
    const char *p = (const char *)in->data;
    size_t n = graph_head_size(in);
    const char *at = memmem(p, n, "HloModule ", 10);
    return at && (at == p || at[-1] == '\n') && memchr(p, 0, n) == NULL ? 2 : 0;
}

const graph_format GRAPH_HLO_TEXT = {"hlo", sniff_hlo_text, read_hlo_text};
