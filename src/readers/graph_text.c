#include "readers/graph_text.h"

gspan gspan_trim(gspan a)
{
    while (a.n && (a.s[0] == ' ' || a.s[0] == '\t' || a.s[0] == '\r' || a.s[0] == '\n')) {
        a.s++;
        a.n--;
    }
    while (a.n && (a.s[a.n - 1] == ' ' || a.s[a.n - 1] == '\t' || a.s[a.n - 1] == '\r' || a.s[a.n - 1] == '\n')) {
        a.n--;
    }
    return a;
}

bool gspan_u64(gspan a, uint64_t *v)
{
    uint64_t x = 0;
    if (a.n == 0 || a.n > 18) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (a.s[i] < '0' || a.s[i] > '9') {
            return false;
        }
        x = x * 10 + (uint64_t)(a.s[i] - '0');
    }
    *v = x;
    return true;
}

/* ---- brackets ---- */

const char *text_skip_string(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
    }
    return p < end ? p + 1 : end;
}

const char *text_skip_balanced(const char *p, const char *end, bool angles)
{
    size_t depth = 0;
    while (p < end) {
        switch (*p) {
        case '"':
            p = text_skip_string(p, end);
            continue;
        case '(':
        case '[':
        case '{':
            depth++;
            break;
        case ')':
        case ']':
        case '}':
            depth--;
            break;
        case '<':
            depth += angles;
            break;
        case '>':
            depth -= angles && p[-1] != '-' && !(p + 1 < end && p[1] == '=');
            break;
        default:
            break;
        }
        p++;
        if (depth == 0) {
            return p;
        }
    }
    return end;
}

/* ---- paths ---- */

/* Is it name(...)? Then what is inside. */
static bool unwrap(gspan *a, const char *name)
{
    size_t n = strlen(name);
    if (a->n >= n + 2 && memcmp(a->s, name, n) == 0 && a->s[n] == '(' && a->s[a->n - 1] == ')') {
        *a = (gspan){a->s + n + 1, a->n - n - 2};
        return true;
    }
    return false;
}

/* What JAX's transformations say of a part, taken off it. */
static gspan strip_transforms(gspan part, graph_phase *phase)
{
    for (;;) {
        if (unwrap(&part, "transpose")) {
            *phase = *phase == GRAPH_RECOMPUTE ? *phase : GRAPH_BACKWARD;
        } else if (unwrap(&part, "jvp")) {
            *phase = *phase == GRAPH_PHASE_NONE ? GRAPH_FORWARD : *phase;
        } else if (unwrap(&part, "rematted_computation")) {
            *phase = GRAPH_RECOMPUTE;
        } else if (!unwrap(&part, "checkpoint") && !unwrap(&part, "remat")) {
            return part;
        }
    }
}

static bool is_no_scope(gspan part, graph_phase *phase)
{
    if (gspan_starts(part, "rematted_computation")) {
        *phase = GRAPH_RECOMPUTE;
        return true;
    }
    static const char *const none[] = {"jit(main)", "pjit(main)", "pjit",      "checkpoint", "remat",
                                       "remat2",    "jvp",        "transpose", "vmap()"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (gspan_is(part, none[i])) {
            return true;
        }
    }
    return part.n == 0;
}

/* The end of the part that begins at i: the next '/' outside brackets. A bracket that never closes ends nothing. */
static size_t part_end(gspan name, size_t i)
{
    size_t depth = 0;
    for (; i < name.n; i++) {
        char c = name.s[i];
        if (c == '/' && depth == 0) {
            break;
        }
        depth += c == '(' || c == '[' || c == '{';
        depth -= depth > 0 && (c == ')' || c == ']' || c == '}');
    }
    return i;
}

void jax_name_split(gspan name, scoped_name *out)
{
    out->n = 0;
    out->phase = GRAPH_PHASE_NONE;
    out->leaf = (gspan){name.s, 0};
    for (size_t i = 0; i < name.n;) {
        size_t to = part_end(name, i);
        gspan part = strip_transforms((gspan){name.s + i, to - i}, &out->phase);
        bool last = to == name.n;
        if (last) {
            out->leaf = part;
        } else if (!is_no_scope(part, &out->phase) && out->n < SCOPED_PARTS_MAX) {
            out->classes[out->n] = (gspan){NULL, 0};
            out->parts[out->n++] = part;
        }
        i = to + 1;
    }
}

/* "getattr(a.b, '1').c" is a.b.1.c. */
static gspan plain_path(gspan path, arena *mem)
{
    static const char word[] = "getattr(";
    if (!memmem(path.s, path.n, word, sizeof word - 1)) {
        return path;
    }
    char *out = arena_alloc(mem, path.n);
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++) {
        gspan rest = {path.s + i, path.n - i};
        if (gspan_starts(rest, word)) {
            i += sizeof word - 2;
        } else if (path.s[i] == ',') {
            out[n++] = '.';
        } else if (path.s[i] != ' ' && path.s[i] != '\'' && path.s[i] != '"' && path.s[i] != ')') {
            out[n++] = path.s[i];
        }
    }
    return (gspan){out, n};
}

static size_t stack_part_end(gspan name, size_t i)
{
    size_t depth = 0;
    for (; i < name.n && !(name.s[i] == '|' && depth == 0); i++) {
        depth += name.s[i] == '[' || name.s[i] == '(';
        depth -= depth > 0 && (name.s[i] == ']' || name.s[i] == ')');
    }
    return i;
}

/* Class[path]: the path relative to the module around it. */
static void add_module(gspan part, gspan *around, arena *mem, scoped_name *out)
{
    const char *open = memchr(part.s, '[', part.n);
    gspan class_name = {part.s, (size_t)(open - part.s)};
    gspan path = plain_path((gspan){open + 1, part.n - class_name.n - 2}, mem);
    gspan name = path;
    if (around->n && path.n > around->n + 1 && memcmp(path.s, around->s, around->n) == 0 &&
        (path.s[around->n] == '.' || path.s[around->n] == '[')) {
        size_t skip = around->n + (path.s[around->n] == '.');
        name = (gspan){path.s + skip, path.n - skip};
    }
    *around = path;
    if (name.n && out->n < SCOPED_PARTS_MAX) {
        out->classes[out->n] = class_name;
        out->parts[out->n++] = name;
    }
}

bool module_stack_split(gspan name, arena *mem, scoped_name *out)
{
    out->n = 0;
    out->phase = GRAPH_PHASE_NONE;
    out->leaf = (gspan){name.s, 0};
    if (name.n == 0 || !memchr(name.s, '|', name.n)) {
        return false;
    }
    gspan around = {NULL, 0};
    for (size_t i = 0; i < name.n;) {
        size_t to = stack_part_end(name, i);
        gspan part = {name.s + i, to - i};
        if (part.n > 2 && part.s[part.n - 1] == ']' && memchr(part.s, '[', part.n) > (const void *)part.s) {
            add_module(part, &around, mem, out);
        } else if (to == name.n) {
            out->leaf = part;
        }
        i = to + 1;
    }
    return true;
}

uint32_t scoped_name_scope(const scoped_name *s, size_t from, graph_builder *b, uint32_t parent)
{
    for (size_t i = from; i < s->n; i++) {
        parent = graph_builder_scope(b, parent, s->parts[i].s, s->parts[i].n, 0);
        if (s->classes[i].n) {
            graph_builder_scope_class(b, parent, s->classes[i].s, s->classes[i].n);
        }
    }
    return parent;
}

/* ---- types ---- */

unsigned element_bits(gspan type)
{
    static const struct {
        const char *name;
        unsigned bits;
    } odd[] = {{"pred", 8}, {"index", 64}, {"bf16", 16}, {"tf32", 32}, {"c64", 64}, {"c128", 128}, {"token", 0}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        if (gspan_is(type, odd[i].name)) {
            return odd[i].bits;
        }
    }
    size_t i = 0;
    while (i < type.n && i < 2 && type.s[i] >= 'a' && type.s[i] <= 'z') {
        i++;
    }
    unsigned bits = 0;
    size_t digits = i;
    for (; digits < type.n && digits < i + 3 && type.s[digits] >= '0' && type.s[digits] <= '9'; digits++) {
        bits = bits * 10 + (unsigned)(type.s[digits] - '0');
    }
    bool known = i > 0 && digits > i && (type.s[0] == 'f' || type.s[0] == 's' || type.s[0] == 'u' || type.s[0] == 'i');
    return !known ? 0 : bits == 1 ? 8 : bits;
}
