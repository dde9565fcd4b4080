#include "readers/graph_hlo.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

enum {
    INLINE_INSTS = 32,   /* a function of a reduction up to this size is no module */
    NEST_MAX = 48,       /* calls inside calls; what is deeper lies beside, not inside */
    NEARBY = 512,        /* instructions looked at for the path of one that has none */
    COPIES_MIN = 1 << 16 /* copies of instructions that are always allowed */
};

void hlo_module_deinit(hlo_module *m)
{
    free(m->insts);
    free(m->computations);
    free(m->calls);
    free(m->attrs);
    free(m->operands);
    arena_deinit(&m->mem);
    *m = (hlo_module){0};
}

gspan hlo_call_role(gspan opcode, uint32_t k)
{
    static const char *const branches[] = {"branch_0", "branch_1", "branch_2", "branch_3",
                                           "branch_4", "branch_5", "branch_6", "branch_7"};
    if (gspan_is(opcode, "while")) {
        return gspan_of(k == 0 ? "body" : "condition");
    }
    if (gspan_is(opcode, "conditional")) {
        return gspan_of(k < 8 ? branches[k] : "branch");
    }
    if (gspan_is(opcode, "fusion") || gspan_starts(opcode, "async-")) {
        return gspan_of("calls");
    }
    if (gspan_is(opcode, "custom-call")) {
        return gspan_of("called_computations");
    }
    return gspan_of(gspan_is(opcode, "select-and-scatter") ? (k == 0 ? "select" : "scatter") : "to_apply");
}

/* ---- shapes ---- */

/* One array: type, dimensions. */
static uint64_t array_bytes(gspan shape)
{
    const char *open = memchr(shape.s, '[', shape.n);
    if (!open) {
        return 0;
    }
    uint64_t bits = element_bits((gspan){shape.s, (size_t)(open - shape.s)});
    const char *end = shape.s + shape.n;
    for (const char *p = open + 1; p < end && *p != ']' && bits;) {
        uint64_t dim = 0;
        const char *from = p;
        for (; p < end && *p >= '0' && *p <= '9' && dim < UINT32_MAX; p++) {
            dim = dim * 10 + (uint64_t)(*p - '0');
        }
        if (p == from && *p != ',' && *p != ' ' && !(*p == '<' && p + 1 < end && p[1] == '=')) {
            return 0;
        }
        if (p == from) {
            p += *p == '<' ? 2 : 1;
            continue;
        }
        if (dim && bits > UINT64_MAX / dim) {
            return 0;
        }
        bits *= dim;
    }
    return (bits + 7) / 8;
}

/* Elements of a tuple, one after the other; comments ("index=5") are left out. */
static bool next_element(const char **p, const char *end, gspan *out)
{
    while (*p < end && (**p == ',' || **p == ' ' || **p == '/')) {
        const char *close = **p == '/' ? memmem(*p, (size_t)(end - *p), "*/", 2) : NULL;
        *p = close ? close + 2 : *p + 1;
    }
    const char *from = *p;
    while (*p < end && **p != ',') {
        *p = **p == '(' || **p == '[' || **p == '{' ? text_skip_balanced(*p, end, false) : *p + 1;
    }
    *out = gspan_trim((gspan){from, (size_t)(*p - from)});
    return out->n > 0;
}

uint64_t hlo_shape_bytes(gspan shape)
{
    uint64_t sum = 0;
    const char *end = shape.s + shape.n;
    for (const char *p = shape.s; p < end;) {
        /* Arrays begin with a letter; all else is punctuation of tuples and layouts. */
        if (*p == '{') {
            p = text_skip_balanced(p, end, false);
        } else if (*p >= 'a' && *p <= 'z') {
            const char *close = memchr(p, ']', (size_t)(end - p));
            close = close ? close + 1 : end;
            sum += array_bytes((gspan){p, (size_t)(close - p)});
            p = close;
        } else {
            p++;
        }
    }
    return sum;
}

/* ---- laying computations out ---- */

typedef struct place {
    uint32_t computation;
    uint32_t caller_node, caller; /* node and instruction; GRAPH_NONE: nothing calls it */
    uint32_t call;                /* into m->calls */
    uint32_t scope;               /* where instructions without a path go */
    uint32_t anchor;              /* where paths begin */
    uint32_t skip;                /* parts of a path that the anchor stands for */
    uint32_t depth;
    bool copy;
    bool inlined; /* in the caller's own scope, as constants */
} place;

typedef struct layout {
    hlo_module *m;
    const graph_input *in;
    graph_builder *b;
    place *queue;
    size_t n, cap;
    uint32_t *scope_of; /* by computation: of its first place; GRAPH_NONE: not yet laid out */
    uint8_t *is_placed; /* by computation */
    uint8_t *is_fixed;  /* by instruction: a constant, or one only reshaped */
    uint8_t *is_used;   /* by instruction: something takes its result */
    map64 homes;        /* scopes that are the home of a body */
    uint64_t copies_left;
    uint64_t looks_left; /* at operands, for paths nearby */
    uint64_t n_shared, first_shared;
} layout;

static bool applies_function(const hlo_inst *i)
{
    static const char *const modules[] = {"call",        "while",        "conditional", "fusion",
                                          "async-start", "async-update", "async-done"};
    for (size_t k = 0; k < sizeof modules / sizeof *modules; k++) {
        if (gspan_is(i->opcode, modules[k])) {
            return false;
        }
    }
    return true;
}

static bool is_small(const hlo_module *m, const hlo_computation *c)
{
    if (c->n > INLINE_INSTS) {
        return false;
    }
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        if (m->insts[i].n_calls) {
            return false;
        }
    }
    return true;
}

/* How many parts the scopes of all instructions have in common; their names in `common`. */
static bool common_path(const hlo_module *m, const hlo_computation *c, scoped_name *common)
{
    bool any = false;
    scoped_name name;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        if (m->insts[i].op_name.n == 0) {
            continue;
        }
        jax_name_split(m->insts[i].op_name, any ? &name : common);
        size_t k = 0;
        while (any && k < common->n && k < name.n && gspan_equal(common->parts[k], name.parts[k])) {
            k++;
        }
        common->n = any ? k : common->n;
        any = true;
        if (common->n == 0) {
            break;
        }
    }
    return any && common->n > 0;
}

static size_t common_parts(const scoped_name *a, const scoped_name *b)
{
    size_t k = 0;
    while (k < a->n && k < b->n && gspan_equal(a->parts[k], b->parts[k])) {
        k++;
    }
    return k;
}

/* The input's paths say where a body lies ("f/while/body/layer"), when all of them lie below the caller's. Not for a
 * call without a path: JAX lowers a function once, and its body then names the first place that used it. */
static bool place_by_path(layout *l, place *p, const place *around, const scoped_name *caller)
{
    scoped_name common;
    const hlo_computation *c = &l->m->computations[p->computation];
    const hlo_inst *call = &l->m->insts[p->caller];
    bool shared = gspan_is(call->opcode, "call") && call->op_name.n == 0;
    if (shared || gspan_is(call->opcode, "fusion") || around->skip > caller->n || !common_path(l->m, c, &common) ||
        common.n <= caller->n || common_parts(&common, caller) < caller->n) {
        return false;
    }
    uint32_t home = scoped_name_scope(&common, around->skip, l->b, around->anchor);
    if (map64_get(&l->homes, home)) {
        return false;
    }
    *map64_put(&l->homes, home) = 1;
    if (gspan_equal(common.parts[caller->n], caller->leaf)) {
        scoped_name module = common;
        module.n = caller->n + 1;
        graph_builder_move(l->b, p->caller_node, scoped_name_scope(&module, around->skip, l->b, around->anchor));
    }
    p->scope = home;
    p->anchor = around->anchor;
    p->skip = around->skip;
    return true;
}

/* A path near an instruction that has none: of the first that takes its result, else of one that it takes from. */
static gspan nearby_path(layout *l, const hlo_computation *c, uint32_t inst)
{
    const hlo_module *m = l->m;
    uint32_t end = c->first + c->n - inst > NEARBY ? inst + NEARBY : c->first + c->n;
    for (uint32_t i = inst + 1; i < end; i++) {
        const hlo_inst *user = &m->insts[i];
        for (uint32_t k = 0; k < user->n_operands && user->op_name.n && l->looks_left; k++, l->looks_left--) {
            if (m->operands[user->first_operand + k] == inst) {
                return user->op_name;
            }
        }
    }
    const hlo_inst *me = &m->insts[inst];
    for (uint32_t k = 0; k < me->n_operands; k++) {
        uint32_t from = m->operands[me->first_operand + k];
        if (from != GRAPH_NONE && m->insts[from].op_name.n) {
            return m->insts[from].op_name;
        }
    }
    return (gspan){"", 0};
}

/* Where the module of a call lies: beside the call; of a call without a path, beside what it works with. */
static uint32_t place_module(layout *l, const place *p, const place *around, uint32_t scope)
{
    if (p->depth >= NEST_MAX) {
        return 0;
    }
    gspan path = {"", 0};
    if (l->m->insts[p->caller].op_name.n == 0) {
        path = nearby_path(l, &l->m->computations[around->computation], p->caller);
    }
    scoped_name name;
    jax_name_split(path, &name);
    return name.n > around->skip ? scoped_name_scope(&name, around->skip, l->b, around->anchor) : scope;
}

/* A module of the call: its instruction, and inside it the bodies, each of its own where there are several. */
static void place_by_call(layout *l, place *p, uint32_t module)
{
    const hlo_call *call = &l->m->calls[p->call];
    scoped_name common = {0};
    bool has_path = common_path(l->m, &l->m->computations[p->computation], &common);
    scoped_name caller;
    jax_name_split(l->m->insts[p->caller].op_name, &caller);
    if (l->m->insts[p->caller].n_calls > 1) {
        module = graph_builder_new_scope(l->b, module, call->role.s, call->role.n, GRAPH_SCOPE_BODY);
    }
    p->scope = p->anchor = module;
    p->skip = !has_path ? 0 : (uint32_t)(caller.n ? common_parts(&common, &caller) : common.n);
}

static uint32_t scope_of_inst(const layout *l, const place *p, const hlo_inst *i, scoped_name *name)
{
    if (i->op_name.n == 0) {
        name->n = 0;
        name->phase = GRAPH_PHASE_NONE;
        return p->scope;
    }
    jax_name_split(i->op_name, name);
    if (p->inlined) {
        return p->scope;
    }
    return name->n > p->skip ? scoped_name_scope(name, p->skip, l->b, p->anchor) : p->anchor;
}

static void enqueue(layout *l, place p)
{
    l->is_placed[p.computation] = 1;
    VEC_PUSH(l->queue, l->n, l->cap, p);
}

/* @return false where the bound is reached: the call shares the first body */
static bool may_copy(layout *l, uint32_t computation, uint32_t depth)
{
    uint64_t n = l->m->computations[computation].n;
    if (depth >= NEST_MAX || n > l->copies_left) {
        return false;
    }
    l->copies_left -= n;
    return true;
}

static void share(layout *l, uint32_t node, const hlo_inst *i, uint32_t computation)
{
    if (l->scope_of[computation] != GRAPH_NONE) {
        graph_builder_body(l->b, node, l->scope_of[computation]);
    }
    l->first_shared = l->n_shared == 0 ? i->offset : l->first_shared;
    l->n_shared++;
}

/* The bodies of one calling instruction take their places in the queue. */
static void place_calls(layout *l, const place *around, uint32_t inst, uint32_t node, uint32_t scope,
                        const scoped_name *name)
{
    const hlo_inst *i = &l->m->insts[inst];
    uint32_t module = GRAPH_NONE;
    bool has_body = false;
    for (uint32_t k = i->first_call; k < i->first_call + i->n_calls; k++) {
        uint32_t c = l->m->calls[k].computation;
        if (c == GRAPH_NONE) {
            continue;
        }
        bool copy = l->is_placed[c];
        if (copy && !may_copy(l, c, around->depth)) {
            share(l, node, i, c);
            continue;
        }
        place p = {.computation = c,
                   .caller_node = node,
                   .caller = inst,
                   .call = k,
                   .scope = scope,
                   .anchor = scope,
                   .depth = around->depth + 1,
                   .copy = around->copy || copy};
        p.inlined = applies_function(i) && is_small(l->m, &l->m->computations[c]);
        if (!p.inlined && (module != GRAPH_NONE || p.depth >= NEST_MAX || !place_by_path(l, &p, around, name))) {
            if (module == GRAPH_NONE) {
                uint32_t beside = place_module(l, &p, around, scope);
                module = graph_builder_new_scope(l->b, beside, i->name.s, i->name.n, GRAPH_SCOPE_BODY);
                graph_builder_move(l->b, node, module);
            }
            place_by_call(l, &p, module);
        }
        if (!p.inlined) {
            l->scope_of[c] = l->scope_of[c] == GRAPH_NONE ? p.scope : l->scope_of[c];
            if (!has_body) {
                graph_builder_body(l->b, node, p.scope);
                graph_builder_flag(l->b, node, GRAPH_CALL);
                has_body = true;
            }
        }
        enqueue(l, p);
    }
}

/* ---- pushing ---- */

static bool only_reshapes(gspan opcode)
{
    static const char *const opcodes[] = {"broadcast", "reshape", "convert", "bitcast", "copy", "transpose"};
    for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++) {
        if (gspan_is(opcode, opcodes[k])) {
            return true;
        }
    }
    return false;
}

/* Constants, and what is known with them before anything runs: XLA spreads one scalar over many instructions. Operands
 * come before their users; where they don't, nothing is assumed. */
static void find_fixed(layout *l)
{
    const hlo_module *m = l->m;
    for (uint32_t i = 0; i < m->n_insts; i++) {
        const hlo_inst *inst = &m->insts[i];
        bool fixed = gspan_is(inst->opcode, "constant") || gspan_is(inst->opcode, "iota");
        bool reshapes = inst->n_operands > 0 && only_reshapes(inst->opcode);
        for (uint32_t k = 0; k < inst->n_operands && reshapes; k++) {
            uint32_t from = m->operands[inst->first_operand + k];
            reshapes = from < i && l->is_fixed[from];
        }
        l->is_fixed[i] = fixed || reshapes;
        for (uint32_t k = 0; k < inst->n_operands; k++) {
            if (m->operands[inst->first_operand + k] != GRAPH_NONE) {
                l->is_used[m->operands[inst->first_operand + k]] = 1;
            }
        }
    }
}

static graph_role role_of(const layout *l, const place *p, uint32_t index)
{
    if (gspan_is(l->m->insts[index].opcode, "parameter")) {
        return p->inlined ? GRAPH_CONSTANT : GRAPH_INPUT;
    }
    return p->inlined || l->is_fixed[index] ? GRAPH_CONSTANT : GRAPH_OPERATOR;
}

static void push_outputs(layout *l, const hlo_inst *i, uint32_t node)
{
    gspan s = i->shape;
    if (s.n == 0 || s.s[0] != '(') {
        graph_builder_output(l->b, node, s.s, s.n, hlo_shape_bytes(s));
        return;
    }
    const char *p = s.s + 1;
    const char *end = s.s + s.n - (s.n > 1 && s.s[s.n - 1] == ')');
    gspan element;
    while (next_element(&p, end, &element)) {
        graph_builder_output(l->b, node, element.s, element.n, hlo_shape_bytes(element));
    }
}

static void push_attrs(layout *l, const hlo_inst *i, uint32_t node)
{
    for (uint32_t k = i->first_attr; k < i->first_attr + i->n_attrs; k++) {
        const hlo_attr *a = &l->m->attrs[k];
        graph_builder_attr(l->b, node, a->key.s, a->key.n, a->value.s, a->value.n);
    }
    if (i->op_name.n) {
        graph_builder_attr(l->b, node, "op_name", 7, i->op_name.s, i->op_name.n);
    }
    for (uint32_t k = i->first_call; k < i->first_call + i->n_calls; k++) {
        const hlo_call *c = &l->m->calls[k];
        gspan name = c->computation == GRAPH_NONE ? c->name : l->m->computations[c->computation].name;
        graph_builder_attr(l->b, node, c->role.s, c->role.n, name.s, name.n);
    }
}

static void push_inst(layout *l, const place *p, uint32_t index)
{
    const hlo_inst *i = &l->m->insts[index];
    scoped_name name;
    uint32_t scope = scope_of_inst(l, p, i, &name);
    graph_node_in n = {.name = i->name.s,
                       .n_name = i->name.n,
                       .op = i->opcode.s,
                       .n_op = i->opcode.n,
                       .scope = scope,
                       .key = i->id,
                       .stage = -1,
                       .role = role_of(l, p, index),
                       .phase = name.phase,
                       .flags = p->copy ? GRAPH_IMPLIED : 0};
    uint32_t node = graph_builder_node(l->b, &n);
    if (node == GRAPH_NONE) {
        return;
    }
    push_outputs(l, i, node);
    push_attrs(l, i, node);
    if (i->n_calls) {
        jax_name_split(i->op_name, &name);
        place_calls(l, p, index, node, scope, &name);
    }
}

static void push_edges(layout *l, const place *p, uint32_t index, uint32_t base)
{
    const hlo_module *m = l->m;
    const hlo_inst *i = &m->insts[index];
    uint32_t first = m->computations[p->computation].first;
    bool picks = gspan_is(i->opcode, "get-tuple-element");
    for (uint32_t k = 0; k < i->n_operands; k++) {
        uint32_t from = m->operands[i->first_operand + k];
        if (from != GRAPH_NONE) {
            bool control = k >= i->n_operands - i->n_controls;
            uint8_t flags = (uint8_t)((p->copy ? GRAPH_IMPLIED : 0) | (control ? GRAPH_CONTROL : 0));
            graph_builder_edge(l->b, base + from - first, picks && !control ? i->index : 0, base + index - first, k,
                               flags);
        }
    }
}

/* Operands flow on into the body's parameters: a branch takes the operand of its own, all else takes all. */
static void push_passing(layout *l, const place *p, uint32_t base)
{
    const hlo_module *m = l->m;
    const hlo_computation *c = &m->computations[p->computation];
    const hlo_inst *call = &m->insts[p->caller];
    uint32_t shift = gspan_is(call->opcode, "conditional") ? p->call - call->first_call + 1 : 0;
    uint32_t n_data = call->n_operands - call->n_controls;
    for (uint32_t i = c->first; !p->inlined && i < c->first + c->n; i++) {
        const hlo_inst *param = &m->insts[i];
        if (!gspan_is(param->opcode, "parameter") || param->index >= n_data || shift >= n_data - param->index) {
            continue;
        }
        uint32_t from = m->operands[call->first_operand + param->index + shift];
        if (from != GRAPH_NONE) {
            graph_builder_edge(l->b, p->caller_node - (p->caller - from), 0, base + i - c->first, 0, GRAPH_IMPLIED);
        }
    }
    uint32_t slot = call->n_operands + p->call - call->first_call;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        /* Of a function that is shown inside its caller also what it leaves unused. */
        if (i == c->root || (p->inlined && !l->is_used[i])) {
            graph_builder_edge(l->b, base + i - c->first, 0, p->caller_node, slot, GRAPH_IMPLIED);
        }
    }
}

static marey_status push_place(layout *l, size_t at)
{
    place p = l->queue[at];
    const hlo_computation *c = &l->m->computations[p.computation];
    uint32_t base = (uint32_t)graph_builder_n_nodes(l->b);
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        if ((i & 1023) == 0 && is_cancelled(l->in->cancel)) {
            return MAREY_CANCELLED;
        }
        push_inst(l, &p, i);
    }
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        push_edges(l, &p, i, base);
    }
    if (p.caller != GRAPH_NONE) {
        push_passing(l, &p, base);
    }
    return MAREY_OK;
}

static uint32_t find_entry(const layout *l)
{
    const hlo_module *m = l->m;
    if (m->entry != GRAPH_NONE) {
        return m->entry;
    }
    diag_note(l->in->diag, l->in->path, DIAG_NO_OFFSET,
              "The HLO module names no entry; the last computation that nothing calls is shown as such.");
    uint32_t entry = (uint32_t)m->n_computations - 1;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        entry = m->computations[c].n_callers == 0 ? c : entry;
    }
    return entry;
}

static void place_rest(layout *l, uint32_t c, uint32_t *rest)
{
    if (l->is_placed[c]) {
        return;
    }
    const hlo_computation *k = &l->m->computations[c];
    if (*rest == GRAPH_NONE) {
        *rest = graph_builder_new_scope(l->b, 0, "not called", 10, GRAPH_SCOPE_BODY);
    }
    uint32_t scope = graph_builder_new_scope(l->b, *rest, k->name.s, k->name.n, GRAPH_SCOPE_BODY);
    enqueue(l, (place){.computation = c, .caller = GRAPH_NONE, .scope = scope, .anchor = scope, .depth = 2});
}

static marey_status lay_out(layout *l)
{
    marey_status status = MAREY_OK;
    uint32_t rest = GRAPH_NONE;
    size_t done = 0;
    enqueue(l, (place){.computation = find_entry(l), .caller = GRAPH_NONE});
    /* After the entry, what nothing calls; last, what only calls itself. */
    for (unsigned pass = 0; pass < 3 && status == MAREY_OK; pass++) {
        for (uint32_t c = 0; c < l->m->n_computations && pass > 0 && status == MAREY_OK; c++) {
            if (pass == 2 || l->m->computations[c].n_callers == 0) {
                place_rest(l, c, &rest);
            }
            for (; done < l->n && status == MAREY_OK; done++) {
                status = push_place(l, done);
            }
        }
        for (; done < l->n && status == MAREY_OK; done++) {
            status = push_place(l, done);
        }
    }
    return status;
}

marey_status hlo_module_build(hlo_module *m, const graph_input *in, graph_builder *b)
{
    if (m->n_insts == 0) {
        return diag_error(in->diag, MAREY_FORMAT, in->path, 0, "The HLO module has no instructions.");
    }
    for (size_t k = 0; k < m->n_calls; k++) {
        if (m->calls[k].computation != GRAPH_NONE) {
            m->computations[m->calls[k].computation].n_callers++;
        }
    }
    layout l = {.m = m,
                .in = in,
                .b = b,
                .copies_left = 2 * (uint64_t)m->n_insts + COPIES_MIN,
                .looks_left = 64 * (uint64_t)m->n_operands + COPIES_MIN};
    l.scope_of = mem_alloc(m->n_computations * sizeof *l.scope_of);
    memset(l.scope_of, 0xFF, m->n_computations * sizeof *l.scope_of);
    l.is_placed = mem_calloc(m->n_computations, 1);
    l.is_fixed = mem_calloc(m->n_insts, 1);
    l.is_used = mem_calloc(m->n_insts, 1);
    find_fixed(&l);
    marey_status status = lay_out(&l);
    if (l.n_shared) {
        diag_lose(in->diag, MAREY_LOSS_LIMIT, in->file, l.first_shared, l.n_shared,
                  "calls that share the body of the first call");
    }
    free(l.queue);
    free(l.scope_of);
    free(l.is_placed);
    free(l.is_fixed);
    free(l.is_used);
    map64_deinit(&l.homes);
    return status;
}
