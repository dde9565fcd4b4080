/*
 * MLIR text (StableHLO and any other dialect) as a graph. Modules and functions are scopes, all other operations are
 * nodes, arguments are implied nodes. The regions of an operation become scopes inside a module of that operation;
 * small ones of a reduction, scatter or sort are constants of it, as in HLO (readers/graph_hlo.h). A function called
 * once lies where it is called, one called from several places lies at the top. Scopes below that come from locations:
 * paths as JAX writes them, or stacks of PyTorch modules.
 */
#include "readers/graph_mlir.h"

#include <inttypes.h>
#include <stdlib.h>

#include "readers/graph_formats.h"

/* An alias may be long and used often: only its beginning is looked at. */
enum { INLINE_OPS = 32, NEST_MAX = 48, ALIAS_HOPS = 16, LOCATION_BYTES = 16 * 1024 };

typedef struct mlir_region_place {
    uint32_t scope; /* of its operations */
    uint32_t space; /* of its values */
    gspan base;     /* the location that the scope stands for: its first n_base parts are no scopes again */
    uint32_t n_base;
    uint16_t depth;
    bool inlined;
} mlir_region_place;

typedef struct mlir_build {
    const graph_input *in;
    mlir_text *t;
    graph_builder *b;
    mlir_region_place *places; /* by region */
    uint32_t *node;            /* by operation; GRAPH_NONE: it is none */
    uint32_t *scope;           /* by operation: where its regions go */
    uint32_t *space;           /* by operation: of arguments that its regions share */
    uint32_t *opened;          /* by operation: its regions so far */
    intern names;              /* of functions */
    uint32_t *function;        /* by name: operation */
    uint32_t *n_calls;         /* by name */
    uint32_t *caller;          /* by function operation: the only call; GRAPH_NONE */
    uint32_t *body;            /* by function operation: scope; GRAPH_NONE */
    uint32_t *first_region;    /* by function operation */
    bool *is_queued;           /* by function operation */
    uint32_t *queue, *functions;
    size_t n_queue, cap_queue, n_functions, cap_functions;
    uint32_t entry; /* operation; GRAPH_NONE */
} mlir_build;

static bool is_function(const mlir_op *o)
{
    return gspan_is(o->name, "func.func") || gspan_is(o->name, "func") || gspan_is(o->name, "tt.func") ||
           gspan_is(o->name, "llvm.func") || gspan_is(o->name, "tf_executor.graph");
}

static bool is_module(const mlir_op *o)
{
    return gspan_is(o->name, "module") || gspan_is(o->name, "builtin.module") ||
           (o->n_regions && o->n_results == 0 && o->name.n > 7 && memcmp(o->name.s + o->name.n - 7, "_module", 7) == 0);
}

/* ---- locations ---- */

static gspan quoted(gspan text)
{
    const char *e = text_skip_string(text.s, text.s + text.n);
    return e > text.s + 1 ? (gspan){text.s + 1, (size_t)(e - text.s) - 2} : (gspan){NULL, 0};
}

/* Is the string a file ("x.py":8:0), not a name? */
static bool is_file(gspan text, gspan string)
{
    const char *after = string.s + string.n + 1;
    return after < text.s + text.n && *after == ':';
}

/* The name in a location: the first that is no file, through aliases. */
static gspan location_name(const mlir_build *m, gspan loc)
{
    for (unsigned hop = 0; hop < ALIAS_HOPS && loc.n; hop++) {
        gspan alias = {NULL, 0};
        loc.n = loc.n < LOCATION_BYTES ? loc.n : LOCATION_BYTES;
        for (size_t i = 0; i < loc.n; i++) {
            gspan rest = {loc.s + i, loc.n - i};
            if (loc.s[i] == '"') {
                gspan s = quoted(rest);
                if (s.n && !is_file(loc, s)) {
                    return s;
                }
                i += s.n + 1;
            } else if (loc.s[i] == '#' && alias.n == 0) {
                size_t n = 1;
                while (n < rest.n && (rest.s[n] == '_' || (rest.s[n] >= '0' && rest.s[n] <= '9') ||
                                      (rest.s[n] >= 'a' && rest.s[n] <= 'z'))) {
                    n++;
                }
                alias = (gspan){rest.s, n};
            }
        }
        uint32_t id = 0;
        loc = alias.n && intern_find(&m->t->aliases, alias.s, alias.n, &id) && id < m->t->n_alias ? m->t->alias[id]
                                                                                                  : (gspan){NULL, 0};
    }
    return (gspan){NULL, 0};
}

static void split_name(mlir_build *m, gspan name, scoped_name *out)
{
    if (!module_stack_split(name, &m->t->mem, out)) {
        jax_name_split(name, out);
    }
}

/* Parts of a name that the scope around it already stands for. */
static size_t parts_known(mlir_build *m, const mlir_region_place *p, const scoped_name *name)
{
    if (p->base.n == 0 || name->n == 0) {
        return 0;
    }
    scoped_name base;
    split_name(m, p->base, &base);
    size_t k = 0;
    while (k < base.n && k < p->n_base && k < name->n && gspan_equal(base.parts[k], name->parts[k])) {
        k++;
    }
    bool whole = k == base.n && k < p->n_base;
    return k + (whole && k < name->n && gspan_equal(base.leaf, name->parts[k]));
}

/* ---- types ---- */

/* "tensor<32x17xbf16, #layout>" */
static uint64_t type_bytes(gspan type)
{
    const char *open = memchr(type.s, '<', type.n);
    gspan inside = type;
    if (open) {
        inside = (gspan){open + 1, type.n - (size_t)(open - type.s) - 1};
    }
    uint64_t count = 1;
    while (inside.n && inside.s[0] >= '0' && inside.s[0] <= '9') {
        uint64_t dim = 0;
        size_t i = 0;
        for (; i < inside.n && inside.s[i] >= '0' && inside.s[i] <= '9' && dim < UINT32_MAX; i++) {
            dim = dim * 10 + (uint64_t)(inside.s[i] - '0');
        }
        if (i >= inside.n || inside.s[i] != 'x' || (dim && count > (UINT64_MAX >> 8) / dim)) {
            return 0;
        }
        count *= dim;
        inside = (gspan){inside.s + i + 1, inside.n - i - 1};
    }
    size_t n = 0;
    while (n < inside.n && inside.s[n] != ',' && inside.s[n] != '>') {
        n++;
    }
    return (count * element_bits((gspan){inside.s, n}) + 7) / 8;
}

static bool next_type(const char **p, const char *end, gspan *type)
{
    while (*p < end && (**p == ',' || **p == ' ' || **p == '\n')) {
        (*p)++;
    }
    const char *from = *p;
    while (*p < end && **p != ',') {
        *p = **p == '(' || **p == '[' || **p == '{' || **p == '<' ? text_skip_balanced(*p, end, true) : *p + 1;
    }
    *type = gspan_trim((gspan){from, (size_t)(*p - from)});
    return type->n > 0;
}

/* Types of results: as many as there are, or the last of a list that also names operands. */
static void push_types(mlir_build *m, const mlir_op *o, uint32_t node, uint32_t n_values)
{
    gspan list = o->types;
    if (n_values == 0 || list.n == 0) {
        return;
    }
    if (list.s[0] == '(' && text_skip_balanced(list.s, list.s + list.n, true) == list.s + list.n) {
        list = (gspan){list.s + 1, list.n - 2};
    }
    const char *end = list.s + list.n;
    gspan type;
    uint32_t n = 0;
    for (const char *p = list.s; next_type(&p, end, &type);) {
        n++;
    }
    uint32_t skip = n > n_values ? n - n_values : 0;
    for (const char *p = list.s; next_type(&p, end, &type);) {
        if (skip) {
            skip--;
        } else {
            graph_builder_output(m->b, node, type.s, type.n, type_bytes(type));
        }
    }
}

/* ---- functions ---- */

static void find_functions(mlir_build *m)
{
    mlir_text *t = m->t;
    uint32_t first = GRAPH_NONE;
    m->function = mem_alloc((t->n_ops + 1) * sizeof *m->function);
    m->n_calls = mem_calloc(t->n_ops + 1, sizeof *m->n_calls);
    m->caller = mem_alloc((t->n_ops + 1) * sizeof *m->caller);
    memset(m->caller, 0xFF, (t->n_ops + 1) * sizeof *m->caller);
    for (uint32_t i = 0; i < t->n_ops; i++) {
        const mlir_op *o = &t->ops[i];
        if (is_function(o)) {
            uint32_t id = intern_put(&m->names, o->symbol.s ? o->symbol.s : "", o->symbol.n);
            m->function[id] = i;
            first = first == GRAPH_NONE ? i : first;
            m->entry = m->entry == GRAPH_NONE && gspan_is(o->symbol, "main") ? i : m->entry;
        }
    }
    for (uint32_t i = 0; i < t->n_ops; i++) {
        const mlir_op *o = &t->ops[i];
        uint32_t id = 0;
        if (o->symbol.n && !is_function(o) && !is_module(o) && intern_find(&m->names, o->symbol.s, o->symbol.n, &id)) {
            m->caller[m->function[id]] = m->n_calls[id]++ ? GRAPH_NONE : i;
        }
    }
    /* Without a main: the last function that nobody calls. */
    for (uint32_t id = 0; id < m->names.n && (m->entry == GRAPH_NONE || m->entry == first); id++) {
        m->entry = m->n_calls[id] == 0 ? m->function[id] : m->entry;
    }
    m->entry = m->entry == GRAPH_NONE ? first : m->entry;
    if (m->entry != GRAPH_NONE) {
        m->caller[m->entry] = GRAPH_NONE;
    }
}

static uint32_t callee_of(const mlir_build *m, const mlir_op *o)
{
    uint32_t id = 0;
    bool calls =
        o->symbol.n && !is_function(o) && !is_module(o) && intern_find(&m->names, o->symbol.s, o->symbol.n, &id);
    return calls && m->function[id] != m->entry ? m->function[id] : GRAPH_NONE;
}

/* ---- pushing ---- */

static const mlir_region_place *around(const mlir_build *m, const mlir_op *o)
{
    static const mlir_region_place top = {.space = GRAPH_NONE};
    return o->region == GRAPH_NONE ? &top : &m->places[o->region];
}

static bool is_applied(const mlir_op *o)
{
    static const char *const words[] = {"reduce", "scatter", "sort", ".map"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (gspan_has(o->name, words[i])) {
            return true;
        }
    }
    return false;
}

static gspan dict_value(gspan dict, const char *key)
{
    gspan k;
    gspan v;
    for (const char *p = dict.s; dict.n && mlir_next_entry(&p, dict.s + dict.n, &k, &v);) {
        if (gspan_is(k, key)) {
            return v.n >= 2 && v.s[0] == '"' ? (gspan){v.s + 1, v.n - 2} : v;
        }
    }
    return (gspan){"", 0};
}

/* An argument: an input of its region; of the entry's arguments some are parameters. */
static uint32_t push_arg(mlir_build *m, const mlir_arg *a, uint32_t scope, uint32_t space, bool inlined)
{
    gspan name = dict_value(a->dict, "ttir.name");
    gspan kind = dict_value(a->dict, "ttcore.argument_type");
    name = name.n ? name : location_name(m, a->loc);
    name = name.n ? name : a->name;
    bool parameter = gspan_has(kind, "<parameter>") || gspan_has(kind, "<constant>");
    graph_node_in n = {.name = name.s,
                       .n_name = name.n,
                       .op = "argument",
                       .n_op = 8,
                       .scope = scope,
                       .key = -1,
                       .stage = -1,
                       .role = inlined     ? GRAPH_CONSTANT
                               : parameter ? GRAPH_PARAMETER
                                           : GRAPH_INPUT,
                       .flags = GRAPH_IMPLIED};
    uint32_t node = graph_builder_node(m->b, &n);
    if (a->type.n) {
        graph_builder_output(m->b, node, a->type.s, a->type.n, type_bytes(a->type));
    }
    graph_builder_define(m->b, space, a->name.s, a->name.n, node, 0);
    return node;
}

/* What flows into arguments: stated ("%a = %b"), or the operands when there are as many. */
static void push_args(mlir_build *m, uint32_t first, uint32_t scope, uint32_t space, uint32_t owner, bool inlined)
{
    const mlir_op *from = owner == GRAPH_NONE ? NULL : &m->t->ops[owner];
    uint32_t n = 0;
    for (uint32_t i = first; i != GRAPH_NONE; i = m->t->args[i].next) {
        n++;
    }
    bool aligned = from && n == from->n_uses && !inlined;
    uint32_t use = aligned ? from->first_use : GRAPH_NONE;
    for (uint32_t i = first; i != GRAPH_NONE; i = m->t->args[i].next) {
        const mlir_arg *a = &m->t->args[i];
        uint32_t node = push_arg(m, a, scope, space, inlined);
        gspan value = a->init.n ? a->init : use != GRAPH_NONE ? m->t->uses[use].name : (gspan){NULL, 0};
        if (value.n && from) {
            graph_builder_use(m->b, around(m, from)->space, value.s, value.n, node, 0, GRAPH_IMPLIED, a->offset);
        }
        use = use != GRAPH_NONE ? m->t->uses[use].next : use;
    }
}

static void define_results(mlir_build *m, const mlir_op *o, uint32_t node, uint32_t space)
{
    uint32_t slot = 0;
    for (uint32_t r = o->first_result; r < o->first_result + o->n_results; r++) {
        const mlir_result *v = &m->t->results[r];
        graph_builder_define(m->b, space, v->name.s, v->name.n, node, slot);
        for (uint32_t k = 0; k < v->count && v->count > 1; k++) {
            char small[300];
            int n = v->name.n < 256 ? snprintf(small, sizeof small, "%.*s#%" PRIu32, (int)v->name.n, v->name.s, k) : 0;
            graph_builder_define(m->b, space, small, (size_t)n, node, slot + k);
        }
        slot += v->count;
    }
}

static uint32_t count_results(const mlir_build *m, const mlir_op *o)
{
    uint32_t n = 0;
    for (uint32_t r = o->first_result; r < o->first_result + o->n_results; r++) {
        n += m->t->results[r].count;
    }
    return n;
}

static void push_details(mlir_build *m, const mlir_op *o, uint32_t node, const mlir_region_place *p)
{
    define_results(m, o, node, p->space);
    push_types(m, o, node, count_results(m, o));
    uint32_t slot = 0;
    for (uint32_t u = o->first_use; u != GRAPH_NONE; u = m->t->uses[u].next) {
        const mlir_use *use = &m->t->uses[u];
        graph_builder_use(m->b, p->space, use->name.s, use->name.n, node, slot++, 0, o->offset);
    }
    for (uint32_t a = o->first_attr; a != GRAPH_NONE; a = m->t->attrs[a].next) {
        const mlir_attr *at = &m->t->attrs[a];
        graph_builder_attr(m->b, node, at->key.s, at->key.n, at->value.s, at->value.n);
    }
}

static graph_role role_of(const mlir_op *o, bool inlined)
{
    if (inlined) {
        return GRAPH_CONSTANT;
    }
    size_t n = o->name.n;
    if (n >= 9 && memcmp(o->name.s + n - 9, ".constant", 9) == 0) {
        return GRAPH_CONSTANT;
    }
    bool ends = gspan_is(o->name, "return") || (n >= 7 && memcmp(o->name.s + n - 7, ".return", 7) == 0);
    return ends && o->n_results == 0 ? GRAPH_OUTPUT : GRAPH_OPERATOR;
}

static void push_node(mlir_build *m, uint32_t i)
{
    const mlir_op *o = &m->t->ops[i];
    const mlir_region_place *p = around(m, o);
    gspan full = location_name(m, o->loc);
    scoped_name name = {0};
    split_name(m, full, &name);
    gspan label = name.leaf.n ? name.leaf : o->n_results ? m->t->results[o->first_result].name : (gspan){"", 0};
    uint32_t scope = p->inlined ? p->scope : scoped_name_scope(&name, parts_known(m, p, &name), m->b, p->scope);
    graph_node_in n = {.name = label.s,
                       .n_name = label.n,
                       .op = o->name.s,
                       .n_op = o->name.n,
                       .scope = scope,
                       .key = -1,
                       .stage = -1,
                       .role = role_of(o, p->inlined),
                       .phase = name.phase};
    uint32_t node = graph_builder_node(m->b, &n);
    m->node[i] = node;
    m->scope[i] = scope;
    push_details(m, o, node, p);
    if (name.n) {
        graph_builder_attr(m->b, node, "op_name", 7, full.s, full.n);
    }
}

/* Behind the operations inside operation i: the next one that lies beside it. */
static uint32_t behind(const mlir_text *t, uint32_t i)
{
    uint32_t region = t->ops[i].region;
    uint32_t k = i + 1;
    while (k < t->n_ops && t->ops[k].region != GRAPH_NONE && t->ops[k].region != region &&
           (region == GRAPH_NONE || t->ops[k].region > region)) {
        k++;
    }
    return k;
}

/* What the locations of a function's operations have in common: parts of the first that has any. */
static void function_path(mlir_build *m, uint32_t f, mlir_region_place *p, scoped_name *common)
{
    scoped_name name;
    common->n = 0;
    uint32_t end = behind(m->t, f);
    for (uint32_t i = f + 1; i < end; i++) {
        gspan full = location_name(m, m->t->ops[i].loc);
        split_name(m, full, &name);
        if (name.n && p->base.n == 0) {
            p->base = full;
            *common = name;
        }
        size_t k = 0;
        while (name.n && k < common->n && k < name.n && gspan_equal(common->parts[k], name.parts[k])) {
            k++;
        }
        common->n = name.n ? k : common->n;
    }
    p->n_base = (uint32_t)common->n;
}

/* Where a function's operations lie: the entry's at the top, of one that is called once at its call. */
static void place_function(mlir_build *m, uint32_t i, mlir_region_place *p)
{
    const mlir_op *o = &m->t->ops[i];
    uint32_t call = m->caller[i];
    p->space = graph_builder_space(m->b, GRAPH_NONE);
    if (i == m->entry) {
        push_args(m, o->first_arg, 0, p->space, GRAPH_NONE, false);
        return;
    }
    bool is_called = call != GRAPH_NONE && m->node[call] != GRAPH_NONE;
    uint32_t parent = is_called ? m->scope[call] : 0;
    scoped_name common;
    function_path(m, i, p, &common);
    if (parent == 0) {
        parent = scoped_name_scope(&common, 0, m->b, 0);
    } else {
        p->base = location_name(m, m->t->ops[call].loc);
        p->n_base = SCOPED_PARTS_MAX + 1;
    }
    p->scope = graph_builder_new_scope(m->b, parent, o->symbol.s ? o->symbol.s : "function",
                                       o->symbol.s ? o->symbol.n : 8, GRAPH_SCOPE_BODY);
    m->body[i] = p->scope;
    if (is_called) {
        graph_builder_move(m->b, m->node[call], p->scope);
    }
    push_args(m, o->first_arg, p->scope, p->space, call, false);
}

static void place_body(mlir_build *m, uint32_t i, const mlir_region *r, mlir_region_place *p)
{
    const mlir_op *o = &m->t->ops[i];
    const mlir_region_place *outer = around(m, o);
    uint32_t node = m->node[i];
    p->inlined = outer->inlined || (is_applied(o) && r->n_ops <= INLINE_OPS && !r->nests);
    p->depth = (uint16_t)(outer->depth + (outer->depth < UINT16_MAX));
    p->base = location_name(m, o->loc);
    p->n_base = SCOPED_PARTS_MAX + 1;
    if (m->opened[i]++ == 0) {
        m->space[i] = o->first_arg == GRAPH_NONE ? outer->space : graph_builder_space(m->b, outer->space);
        if (!p->inlined) {
            gspan result = o->n_results ? m->t->results[o->first_result].name : (gspan){"", 0};
            char name[320];
            int n = snprintf(name, sizeof name, "%.*s%s%.*s", o->name.n < 200 ? (int)o->name.n : 200, o->name.s,
                             result.n ? " " : "", result.n < 100 ? (int)result.n : 100, result.s);
            m->scope[i] =
                graph_builder_new_scope(m->b, p->depth < NEST_MAX ? m->scope[i] : 0, name, (size_t)n, GRAPH_SCOPE_BODY);
            graph_builder_move(m->b, node, m->scope[i]);
            graph_builder_flag(m->b, node, GRAPH_CALL);
        }
        push_args(m, o->first_arg, m->scope[i], m->space[i], i, p->inlined);
    }
    p->space = graph_builder_space(m->b, m->space[i]);
    p->scope = m->scope[i];
    if (!p->inlined && o->n_regions > 1) {
        gspan label = r->label.n ? r->label : gspan_of("region");
        p->scope = graph_builder_new_scope(m->b, m->scope[i], label.s, label.n, GRAPH_SCOPE_BODY);
    }
    if (!p->inlined && m->opened[i] == 1) {
        graph_builder_body(m->b, node, p->scope);
    }
}

/* Does an operation of region k, which holds no other regions, take the value? */
static bool takes(const mlir_text *t, uint32_t k, gspan value)
{
    uint32_t seen = 0;
    for (uint32_t i = t->regions[k].owner + 1; i < t->n_ops && seen < t->regions[k].n_ops; i++) {
        seen += t->ops[i].region == k;
        for (uint32_t u = t->ops[i].first_use; t->ops[i].region == k && u != GRAPH_NONE; u = t->uses[u].next) {
            if (gspan_equal(t->uses[u].name, value)) {
                return true;
            }
        }
    }
    return false;
}

/* Arguments that a function leaves unused are shown inside the operation that applies it, like the rest of it. */
static void push_unused(mlir_build *m, uint32_t k, uint32_t first, uint32_t node)
{
    const mlir_op *o = &m->t->ops[m->t->regions[k].owner];
    uint32_t last = node + INLINE_OPS;
    for (uint32_t a = first; a != GRAPH_NONE && node < last; a = m->t->args[a].next, node++) {
        if (!takes(m->t, k, m->t->args[a].name)) {
            graph_builder_edge(m->b, node, 0, m->node[m->t->regions[k].owner], o->n_uses, GRAPH_IMPLIED);
        }
    }
}

static void place_region(mlir_build *m, uint32_t k)
{
    mlir_region *r = &m->t->regions[k];
    mlir_region_place *p = &m->places[k];
    const mlir_op *o = &m->t->ops[r->owner];
    *p = (mlir_region_place){.space = GRAPH_NONE};
    if (is_module(o)) {
        *p = *around(m, o);
        p->space = graph_builder_space(m->b, GRAPH_NONE);
    } else if (is_function(o)) {
        place_function(m, r->owner, p);
    } else {
        place_body(m, r->owner, r, p);
    }
    uint32_t node = (uint32_t)graph_builder_n_nodes(m->b);
    push_args(m, r->first_arg, p->scope, p->space, is_function(o) || is_module(o) ? GRAPH_NONE : r->owner, p->inlined);
    if (p->inlined) {
        push_unused(m, k, r->first_arg, node);
    }
}

/* The last operation of a body gives the result of the operation around it, or of the call. */
static void push_returns(mlir_build *m)
{
    for (uint32_t k = 0; k < m->t->n_regions; k++) {
        const mlir_region *r = &m->t->regions[k];
        const mlir_op *o = &m->t->ops[r->owner];
        uint32_t to = is_function(o) ? m->caller[r->owner] : r->owner;
        if (r->last_op != GRAPH_NONE && to != GRAPH_NONE && m->node[to] != GRAPH_NONE &&
            m->node[r->last_op] != GRAPH_NONE) {
            graph_builder_edge(m->b, m->node[r->last_op], 0, m->node[to], m->t->ops[to].n_uses, GRAPH_IMPLIED);
        }
    }
}

static void push_calls(mlir_build *m)
{
    for (uint32_t i = 0; i < m->t->n_ops; i++) {
        uint32_t f = m->node[i] == GRAPH_NONE ? GRAPH_NONE : callee_of(m, &m->t->ops[i]);
        if (f != GRAPH_NONE && m->body[f] != GRAPH_NONE) {
            graph_builder_body(m->b, m->node[i], m->body[f]);
            graph_builder_flag(m->b, m->node[i], GRAPH_CALL);
        }
    }
}

static bool owns(const mlir_text *t, uint32_t region, uint32_t from, uint32_t to)
{
    return region < t->n_regions && t->regions[region].owner >= from && t->regions[region].owner < to;
}

static void queue_function(mlir_build *m, uint32_t f)
{
    if (!m->is_queued[f]) {
        m->is_queued[f] = true;
        VEC_PUSH(m->queue, m->n_queue, m->cap_queue, f);
    }
}

static void push_op(mlir_build *m, uint32_t i)
{
    const mlir_op *o = &m->t->ops[i];
    if (is_module(o) || is_function(o)) {
        return;
    }
    push_node(m, i);
    uint32_t f = callee_of(m, o);
    if (f != GRAPH_NONE && m->caller[f] == i) {
        queue_function(m, f);
    }
}

/* Operations [from, to) and their regions, from region `region` on; functions are left for later, but `from`. Regions
 * come in the order of the text, each behind its owner and before its own operations. */
static marey_status push_range(mlir_build *m, uint32_t from, uint32_t to, uint32_t region)
{
    const mlir_text *t = m->t;
    for (uint32_t i = from; i < to;) {
        while (t->ops[i].region != GRAPH_NONE && region <= t->ops[i].region && owns(t, region, from, to)) {
            place_region(m, region++);
        }
        if ((i & 1023) == 0 && is_cancelled(m->in->cancel)) {
            return MAREY_CANCELLED;
        }
        uint32_t next = i + 1;
        if (i != from && is_function(&t->ops[i])) {
            next = behind(t, i);
            m->first_region[i] = region;
            VEC_PUSH(m->functions, m->n_functions, m->cap_functions, i);
            while (owns(t, region, i, next)) {
                region++;
            }
        } else {
            push_op(m, i);
        }
        i = next;
    }
    while (owns(t, region, from, to)) {
        place_region(m, region++);
    }
    return MAREY_OK;
}

static marey_status push_function(mlir_build *m, uint32_t f)
{
    return push_range(m, f, behind(m->t, f), m->first_region[f]);
}

/* What lies in no function, the entry, what it calls as it is called; then what nothing calls. */
static marey_status build(mlir_build *m)
{
    /* A function at the very top comes first in its range and would be taken as part of it. */
    bool bare = m->t->n_ops && is_function(&m->t->ops[0]);
    marey_status status = bare ? MAREY_OK : push_range(m, 0, (uint32_t)m->t->n_ops, 0);
    uint32_t region = 0;
    for (uint32_t i = 0; bare && i < m->t->n_ops;) {
        uint32_t next = behind(m->t, i);
        m->first_region[i] = region;
        VEC_PUSH(m->functions, m->n_functions, m->cap_functions, i);
        while (owns(m->t, region, i, next)) {
            region++;
        }
        i = next;
    }
    if (m->entry != GRAPH_NONE) {
        queue_function(m, m->entry);
    }
    size_t done = 0;
    for (size_t k = 0; status == MAREY_OK && (done < m->n_queue || k < m->n_functions);) {
        if (done < m->n_queue) {
            status = push_function(m, m->queue[done++]);
        } else {
            queue_function(m, m->functions[k++]);
        }
    }
    if (status == MAREY_OK) {
        push_returns(m);
        push_calls(m);
    }
    return status;
}

static void push_facts(mlir_build *m)
{
    gspan name = {"", 0};
    for (size_t i = 0; i < m->t->n_ops && name.n == 0; i++) {
        name = is_module(&m->t->ops[i]) && m->t->ops[i].symbol.n ? m->t->ops[i].symbol : name;
    }
    if (name.n == 0 && m->entry != GRAPH_NONE && m->t->ops[m->entry].symbol.n) {
        name = m->t->ops[m->entry].symbol;
    }
    char *text = mem_strndup(name.s, name.n);
    graph_builder_facts(m->b, "mlir", text, "");
    free(text);
}

static marey_status read_mlir(const graph_input *in, graph_builder *b)
{
    mlir_text t = {0};
    marey_status status = mlir_parse(in, &t);
    mlir_build m = {.in = in, .t = &t, .b = b, .entry = GRAPH_NONE};
    if (status == MAREY_OK) {
        size_t n = t.n_ops + 1;
        m.places = mem_calloc(t.n_regions + 1, sizeof *m.places);
        m.node = mem_alloc(n * sizeof *m.node);
        m.scope = mem_calloc(n, sizeof *m.scope);
        m.space = mem_alloc(n * sizeof *m.space);
        m.opened = mem_calloc(n, sizeof *m.opened);
        memset(m.node, 0xFF, n * sizeof *m.node);
        memset(m.space, 0xFF, n * sizeof *m.space);
        m.body = mem_alloc(n * sizeof *m.body);
        memset(m.body, 0xFF, n * sizeof *m.body);
        m.first_region = mem_calloc(n, sizeof *m.first_region);
        m.is_queued = mem_calloc(n, sizeof *m.is_queued);
        find_functions(&m);
        push_facts(&m);
        status = build(&m);
    }
    free(m.places);
    free(m.node);
    free(m.scope);
    free(m.space);
    free(m.opened);
    free(m.function);
    free(m.n_calls);
    free(m.caller);
    free(m.body);
    free(m.first_region);
    free(m.is_queued);
    free(m.queue);
    free(m.functions);
    intern_deinit(&m.names);
    mlir_text_deinit(&t);
    return status;
}

/* A line that only MLIR begins like that. */
static bool is_mlir_line(gspan line)
{
    static const char *const begins[] = {
        "module {", "module @",       "module attributes", "builtin.module", "func.func ",
        "func @",   "func private @", "tt.func ",          "ml_program.",    "\"builtin.module\""};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        if (gspan_starts(line, begins[i])) {
            return true;
        }
    }
    return gspan_starts(line, "#loc") && gspan_has(line, " = loc(");
}

static int sniff_mlir(const graph_input *in)
{
    const char *p = (const char *)in->data;
    const char *end = p + graph_head_size(in);
    char c = graph_head_byte(in);
    if (c == '{' || c == '[' || memchr(p, 0, (size_t)(end - p))) {
        return 0;
    }
    while (p < end) {
        const char *e = memchr(p, '\n', (size_t)(end - p));
        e = e ? e : end;
        if (is_mlir_line(gspan_trim((gspan){p, (size_t)(e - p)}))) {
            return 2;
        }
        p = e < end ? e + 1 : end;
    }
    return graph_head_has(in, " = stablehlo.") || graph_head_has(in, " = \"tf.") ? 1 : 0;
}

const graph_format GRAPH_MLIR = {"mlir", sniff_mlir, read_mlir};
