/*
 * ONNX: where a node lies. In the order of preference: the exporter's own scopes with their classes
 * (pkg.torch.onnx.name_scopes and class_hierarchy, lists in Python's spelling), its namespace ("name: class" joined by
 * '/'), the path in the node's name, the path in the name of its first output. Where there is none of these the node
 * lies in its graph, and the builder infers.
 */
#include <string.h>

#include "readers/graph_onnx.h"

enum { PART_END = 0x1F, CLASS_MARK = 0x1E };

/* ---- lists in Python's spelling ---- */

typedef struct py_list {
    const char *s;
    size_t n, at;
} py_list;

/* The next string of "['', 'blocks.2', \"it's\"]", unescaped. @return false at the end, and where it is no such list */
static bool py_next(py_list *l, strbuf *out)
{
    strbuf_clear(out);
    while (l->at < l->n && l->s[l->at] != '\'' && l->s[l->at] != '"') {
        if (l->s[l->at] == ']') {
            return false;
        }
        l->at++;
    }
    if (l->at >= l->n) {
        return false;
    }
    char quote = l->s[l->at++];
    size_t from = l->at;
    for (; l->at < l->n && l->s[l->at] != quote; l->at++) {
        if (l->s[l->at] == '\\' && l->at + 1 < l->n) {
            onnx_put(out, l->s + from, l->at - from);
            from = ++l->at; /* what is escaped here is a quote or a backslash */
        }
    }
    onnx_put(out, l->s + from, l->at - from);
    bool ended = l->at < l->n;
    l->at++;
    return ended;
}

/* ---- the parts of a path ---- */

/* Class names are shown without the module that holds them. */
static void add_class(strbuf *path, const char *s, size_t n)
{
    const char *dot = memrchr(s, '.', n);
    size_t skip = dot ? (size_t)(dot + 1 - s) : 0;
    if (n > skip) {
        strbuf_add(path, (const char[]){CLASS_MARK}, 1);
        strbuf_add(path, s + skip, n - skip);
    }
}

/* "blocks.2.mlp" within "blocks.2" is "mlp". */
static void add_part(strbuf *path, const char *s, size_t n, const char *outer, size_t n_outer)
{
    size_t skip = n > n_outer + 1 && n_outer && memcmp(s, outer, n_outer) == 0 && s[n_outer] == '.' ? n_outer + 1 : 0;
    if (path->n) {
        strbuf_add(path, (const char[]){PART_END}, 1);
    }
    strbuf_add(path, s + skip, n - skip);
}

/* The list without its last, which is the operator. Empty items are the root. */
static void scopes_path(onnx_reader *r, const onnx_node *node)
{
    py_list names = {.s = node->name_scopes, .n = node->n_name_scopes};
    py_list classes = {.s = node->class_hierarchy, .n = node->n_class_hierarchy};
    strbuf now = {0};
    strbuf class_now = {0};
    strbuf name = {0};
    strbuf outer = {0};
    bool has_class = false;
    for (bool first = true; py_next(&names, &now); first = false) {
        if (!first && name.n) {
            add_part(&r->path, name.s, name.n, strbuf_str(&outer), outer.n);
            if (has_class && class_now.n) {
                add_class(&r->path, class_now.s, class_now.n);
            }
            strbuf_clear(&outer);
            strbuf_add(&outer, name.s, name.n);
        }
        strbuf_clear(&name);
        onnx_put(&name, strbuf_str(&now), now.n);
        has_class = py_next(&classes, &class_now);
    }
    strbuf_deinit(&now);
    strbuf_deinit(&class_now);
    strbuf_deinit(&name);
    strbuf_deinit(&outer);
}

typedef struct namespace_part {
    const char *s;
    size_t n, n_name; /* n_name == n: it has no class */
} namespace_part;

/* Part of "name: class/name: class". A part without a colon goes on with the class before it, which held a '/'. */
static bool next_part(const char **at, const char *end, namespace_part *part)
{
    if (*at >= end) {
        return false;
    }
    part->s = *at;
    const char *stop = *at;
    do {
        const char *from = stop;
        stop = memchr(from, '/', (size_t)(end - from));
        stop = stop ? stop : end;
        const char *next = stop < end ? memchr(stop + 1, '/', (size_t)(end - stop - 1)) : NULL;
        next = next ? next : end;
        if (stop == end || memmem(stop + 1, (size_t)(next - stop - 1), ": ", 2)) {
            break;
        }
        stop++;
    } while (stop < end);
    part->n = (size_t)(stop - part->s);
    const char *colon = memmem(part->s, part->n, ": ", 2);
    part->n_name = colon ? (size_t)(colon - part->s) : part->n;
    *at = stop + 1;
    return true;
}

static void plain_path(onnx_reader *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const char *slash = memchr(s + i, '/', n - i);
        size_t len = slash ? (size_t)(slash - (s + i)) : n - i;
        if (len) {
            add_part(&r->path, s + i, len, "", 0);
        }
        i += len + 1;
    }
}

static void namespace_path(onnx_reader *r, const onnx_node *node)
{
    const char *at = node->namespace;
    const char *end = at + node->n_namespace;
    if (!memmem(at, node->n_namespace, ": ", 2)) {
        plain_path(r, at, node->n_namespace);
        return;
    }
    namespace_part part;
    namespace_part last = {0};
    namespace_part outer = {0};
    while (next_part(&at, end, &part)) {
        if (last.n_name) {
            add_part(&r->path, last.s, last.n_name, outer.s, outer.n_name);
            if (last.n_name + 2 < last.n) {
                add_class(&r->path, last.s + last.n_name + 2, last.n - last.n_name - 2);
            }
            outer = last;
        }
        last = part;
    }
}

/* What both begin with, up to behind a '/'. */
static size_t common_path(const char *a, size_t n, const char *b, size_t m)
{
    size_t common = 0;
    size_t i = 0;
    for (; i < n && i < m && a[i] == b[i]; i++) {
        common = a[i] == '/' ? i + 1 : common;
    }
    return i == m && i < n && a[i] == '/' ? i + 1 : common;
}

/* Without the last part, which is the operator's own name. */
static bool name_path(onnx_reader *r, const onnx_frame *frame, const char *s, size_t n)
{
    const char *slash = n ? memrchr(s, '/', n) : NULL;
    if (!slash) {
        return false;
    }
    size_t skip = frame->n_prefix ? common_path(s, n, frame->prefix, frame->n_prefix) : 0;
    size_t stop = (size_t)(slash - s);
    if (stop > skip) {
        plain_path(r, s + skip, stop - skip);
    }
    return true;
}

/* ---- scopes ---- */

void onnx_note_scope(onnx_reader *r, uint32_t scope, uint32_t parent)
{
    while (r->n_scopes <= scope) {
        VEC_RESERVE(r->scope_depth, r->cap_scope_depth, r->n_scopes + 1);
        r->scope_depth[r->n_scopes] = 0;
        VEC_PUSH(r->scope_parent, r->n_scopes, r->cap_scope_parent, 0);
    }
    if (scope != parent) {
        r->scope_parent[scope] = parent;
        r->scope_depth[scope] = (parent < r->n_scopes ? r->scope_depth[parent] : 0) + 1;
    }
}

/* A part of a path, with its class behind a mark. */
static uint32_t make_scope(onnx_reader *r, uint32_t parent, const char *part, size_t n)
{
    const char *mark = memchr(part, CLASS_MARK, n);
    size_t n_name = mark ? (size_t)(mark - part) : n;
    if (!n_name) {
        return parent;
    }
    uint32_t scope = graph_builder_scope(r->b, parent, part, n_name, 0);
    if (mark) {
        graph_builder_scope_class(r->b, scope, mark + 1, n - n_name - 1);
    }
    onnx_note_scope(r, scope, parent);
    return scope;
}

/* Parts that the path shares with the last one. */
static uint32_t shared_parts(const onnx_reader *r, uint32_t base)
{
    const strbuf *now = &r->path;
    size_t from = 0;
    uint32_t k = 0;
    for (; k < r->last_depth && r->last_base == base; k++) {
        size_t end = r->last_end[k];
        if (end > now->n || (end < now->n && now->s[end] != PART_END) ||
            memcmp(now->s + from, r->last_path.s + from, end - from) != 0) {
            break;
        }
        from = end;
    }
    return k;
}

static uint32_t path_scope(onnx_reader *r, uint32_t base)
{
    uint32_t k = shared_parts(r, base);
    uint32_t scope = k ? r->last_scope[k - 1] : base;
    for (size_t i = k ? r->last_end[k - 1] + 1 : 0; i < r->path.n; k++) {
        const char *part = r->path.s + i;
        const char *end = memchr(part, PART_END, r->path.n - i);
        size_t n = end ? (size_t)(end - part) : r->path.n - i;
        if (k == ONNX_PATH_DEPTH_MAX) {
            diag_lose(r->in->diag, MAREY_LOSS_LIMIT, r->in->file, DIAG_NO_OFFSET, 1, "scopes deeper than 64");
            break;
        }
        scope = make_scope(r, scope, part, n);
        r->last_scope[k] = scope;
        r->last_end[k] = i + n;
        i += n + 1;
    }
    r->last_depth = k;
    r->last_base = base;
    strbuf swap = r->last_path;
    r->last_path = r->path;
    r->path = swap;
    return scope;
}

uint32_t onnx_scope(onnx_reader *r, const onnx_frame *frame, const onnx_node *node)
{
    strbuf_clear(&r->path);
    if (node->n_name_scopes) {
        scopes_path(r, node);
    } else if (node->n_namespace) {
        namespace_path(r, node);
    } else if (!name_path(r, frame, node->name, node->n_name)) {
        (void)name_path(r, frame, node->first_output, node->n_first_output);
    }
    return r->path.n ? path_scope(r, frame->scope) : frame->scope;
}

static uint32_t depth_of(const onnx_reader *r, uint32_t scope)
{
    return scope < r->n_scopes ? r->scope_depth[scope] : 0;
}

/* The scope that holds both. Depths are bounded: paths by 64, bodies by ONNX_DEPTH_MAX. */
void onnx_share_scope(const onnx_reader *r, onnx_value *v, uint32_t scope)
{
    uint32_t a = v->scope == GRAPH_NONE ? scope : v->scope;
    uint32_t b = scope;
    while (a != b) {
        if (depth_of(r, a) >= depth_of(r, b)) {
            a = a < r->n_scopes ? r->scope_parent[a] : 0;
        } else {
            b = b < r->n_scopes ? r->scope_parent[b] : 0;
        }
    }
    v->scope = a;
}
