#include "graph/builder.h"

#include <stdlib.h>
#include <string.h>

#include "graph/builder_internal.h"

void builder_lose(graph_builder *b, marey_loss loss, uint64_t offset, uint64_t n)
{
    if (b->d && n > 0) {
        diag_lose(b->d, loss, b->file, offset, n, NULL);
    }
}

/* Eight bytes at once: is any of them a control byte, DEL, or not ASCII? */
static bool has_special(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101U, high = 0x8080808080808080U;
    uint64_t del = x ^ (ones * 0x7F);
    return (x & high) || (((x - ones * 0x20) & ~x) & high) || (((del - ones) & ~del) & high);
}

static bool is_plain(const char *s, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x;
        memcpy(&x, s + i, 8);
        if (has_special(x)) {
            return false;
        }
    }
    for (; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c >= 0x7F) {
            return false;
        }
    }
    return true;
}

static size_t cut_utf8(const char *s, size_t n, size_t max)
{
    if (n <= max) {
        return n;
    }
    while (max > 0 && ((unsigned char)s[max] & 0xC0) == 0x80) {
        max--;
    }
    return max;
}

/* Line breaks and tabs become spaces; other control bytes go; what is not UTF-8 becomes U+FFFD. All but the first are
 * counted. */
static void clean(graph_builder *b, const char *s, size_t n)
{
    strbuf_clear(&b->clean);
    size_t bad = 0, control = 0;
    for (size_t i = 0; i < n;) {
        size_t len = utf8_valid_len(s + i, n - i);
        unsigned char c = (unsigned char)s[i];
        if (len == 0) {
            strbuf_add(&b->clean, "\xEF\xBF\xBD", 3);
            bad++;
            len = 1;
        } else if (c == '\n' || c == '\r' || c == '\t') {
            strbuf_add(&b->clean, " ", 1);
        } else if (c < 0x20 || c == 0x7F) {
            control++;
        } else {
            strbuf_add(&b->clean, s + i, len);
        }
        i += len;
    }
    builder_lose(b, MAREY_LOSS_BAD_UTF8, DIAG_NO_OFFSET, bad);
    builder_lose(b, MAREY_LOSS_CONTROL_BYTE, DIAG_NO_OFFSET, control);
}

static uint32_t put_string(graph_builder *b, const char *s, size_t n, bool append)
{
    if (n > BUILDER_MAX_NAME) {
        n = cut_utf8(s, n, BUILDER_MAX_NAME);
        builder_lose(b, MAREY_LOSS_NAME_TRUNCATED, DIAG_NO_OFFSET, 1);
    }
    if (!is_plain(s, n)) {
        clean(b, s, n);
        s = strbuf_str(&b->clean);
        n = b->clean.n;
    }
    uint32_t id = append && n > 0 ? text_table_append(&b->strings, s, n) : text_table_put(&b->strings, s, n, NULL);
    if (id == UINT32_MAX) {
        builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        return 0;
    }
    return id;
}

uint32_t graph_builder_string(graph_builder *b, const char *s, size_t n)
{
    return put_string(b, s, n, false);
}

uint32_t builder_name(graph_builder *b, const char *s, size_t n)
{
    return put_string(b, s, n, true);
}

static void grow_scopes(graph_builder *b)
{
    graph *g = &b->g;
    size_t cap = b->cap_scopes ? b->cap_scopes * 2 : 64;
    g->scope_parent = mem_realloc_array(g->scope_parent, cap, sizeof *g->scope_parent);
    g->scope_name = mem_realloc_array(g->scope_name, cap, sizeof *g->scope_name);
    g->scope_class = mem_realloc_array(g->scope_class, cap, sizeof *g->scope_class);
    g->scope_flags = mem_realloc_array(g->scope_flags, cap, sizeof *g->scope_flags);
    b->cap_scopes = cap;
}

static uint32_t add_scope(graph_builder *b, uint32_t parent, uint32_t name, uint8_t flags)
{
    graph *g = &b->g;
    if (g->n_scopes >= BUILDER_MAX_ROWS) {
        builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        return parent;
    }
    if (g->n_scopes == b->cap_scopes) {
        grow_scopes(b);
    }
    size_t i = g->n_scopes++;
    g->scope_parent[i] = parent;
    g->scope_name[i] = name;
    g->scope_class[i] = 0;
    g->scope_flags[i] = flags;
    g->scopes_inferred = g->scopes_inferred || (flags & GRAPH_SCOPE_INFERRED);
    return (uint32_t)i;
}

graph_builder *graph_builder_create(diag *d, uint32_t file)
{
    graph_builder *b = mem_calloc(1, sizeof *b);
    b->d = d;
    b->file = file;
    (void)text_table_put(&b->strings, "", 0, NULL);
    (void)add_scope(b, 0, 0, 0);
    return b;
}

void graph_builder_destroy(graph_builder **pb)
{
    graph_builder *b = *pb;
    if (!b) {
        return;
    }
    text_table_deinit(&b->strings);
    text_table_deinit(&b->values);
    tensor_table_deinit(&b->tensors);
    graph_deinit(&b->g);
    map64_deinit(&b->scope_ids);
    map64_deinit(&b->scope_copies);
    map64_deinit(&b->shadows);
    map64_deinit(&b->stage_places);
    strbuf_deinit(&b->path);
    strbuf_deinit(&b->clean);
    free(b->op_class);
    free(b->value);
    free(b->spaces);
    free(b->uses);
    free(b->edges);
    free(b->outs);
    free(b->attrs);
    free(b);
    *pb = NULL;
}

void graph_builder_facts(graph_builder *b, const char *format, const char *name, const char *producer)
{
    b->g.format = format ? graph_builder_string(b, format, strlen(format)) : b->g.format;
    b->g.name = name ? graph_builder_string(b, name, strlen(name)) : b->g.name;
    b->g.producer = producer ? graph_builder_string(b, producer, strlen(producer)) : b->g.producer;
}

void graph_builder_begin_input(graph_builder *b, uint32_t root, uint32_t file)
{
    b->root = root < b->g.n_scopes ? root : 0;
    b->file = file;
}

uint32_t graph_builder_root(const graph_builder *b)
{
    return b->root;
}

uint32_t builder_scope(const graph_builder *b, uint32_t scope)
{
    return scope > 0 && scope < b->g.n_scopes ? scope : b->root;
}

uint32_t graph_builder_scope(graph_builder *b, uint32_t parent, const char *name, size_t n, uint8_t flags)
{
    parent = builder_scope(b, parent);
    uint32_t id = graph_builder_string(b, name, n);
    uint64_t *place = map64_put(&b->scope_ids, (uint64_t)parent << 32 | id);
    if (*place) {
        uint32_t scope = (uint32_t)(*place - 1);
        b->g.scope_flags[scope] |= flags;
        return scope;
    }
    uint32_t scope = add_scope(b, parent, id, flags);
    *place = (uint64_t)scope + 1;
    return scope;
}

uint32_t graph_builder_new_scope(graph_builder *b, uint32_t parent, const char *name, size_t n, uint8_t flags)
{
    parent = builder_scope(b, parent);
    uint32_t id = graph_builder_string(b, name, n);
    uint64_t key = (uint64_t)parent << 32 | id;
    if (!map64_get(&b->scope_ids, key)) {
        return graph_builder_scope(b, parent, name, n, flags);
    }
    uint64_t k = *map64_put(&b->scope_copies, key);
    strbuf text = {0};
    uint32_t copy;
    do {
        strbuf_clear(&text);
        strbuf_add(&text, name, n);
        strbuf_printf(&text, " (%llu)", (unsigned long long)(k++ + 2));
        copy = graph_builder_string(b, text.s, text.n);
    } while (map64_get(&b->scope_ids, (uint64_t)parent << 32 | copy));
    *map64_put(&b->scope_copies, key) = k;
    uint32_t scope = graph_builder_scope(b, parent, text.s, text.n, flags);
    strbuf_deinit(&text);
    return scope;
}

/* The scopes of a path, one part after the other; what is deeper than the bound becomes one part. */
static uint32_t make_path(graph_builder *b, uint32_t scope, const char *path, size_t n, char separator)
{
    unsigned depth = 0;
    for (size_t i = 0; i < n;) {
        const char *end = memchr(path + i, separator, n - i);
        size_t len = end ? (size_t)(end - (path + i)) : n - i;
        if (len > 0 && ++depth == BUILDER_PATH_DEPTH && end) {
            len = n - i;
            builder_lose(b, MAREY_LOSS_LIMIT, DIAG_NO_OFFSET, 1);
        }
        if (len > 0) {
            scope = graph_builder_scope(b, scope, path + i, len, 0);
        }
        i += len + 1;
    }
    return scope;
}

uint32_t graph_builder_path(graph_builder *b, uint32_t parent, const char *path, size_t n, char separator)
{
    parent = builder_scope(b, parent);
    /* Neighbours in the input mostly share a path. */
    if (b->path_known && b->path_parent == parent && b->path_separator == separator && b->path.n == n &&
        memcmp(strbuf_str(&b->path), path, n) == 0) {
        return b->path_scope;
    }
    uint32_t scope = make_path(b, parent, path, n, separator);
    strbuf_clear(&b->path);
    strbuf_add(&b->path, path, n);
    b->path_known = true;
    b->path_parent = parent;
    b->path_separator = separator;
    b->path_scope = scope;
    return scope;
}

void graph_builder_scope_class(graph_builder *b, uint32_t scope, const char *class_name, size_t n)
{
    if (scope < b->g.n_scopes) {
        b->g.scope_class[scope] = graph_builder_string(b, class_name, n);
    }
}
