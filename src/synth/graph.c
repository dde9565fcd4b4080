#include "synth/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "synth/model.h"
#include "synth/text.h"

static const char forward[] = "Default";
static const char recomputed[] = "recompute_Default";
static const char backward[] = "Gradients";
static const char recomputed_around[] =
    "Gradients/recompute"; /* what is outside the layers: its events are backward's */
static const char optimizer[] = "optimizer-AdamW";

/* A weight's gradient, and the layer that it belongs to; -1: none. */
typedef struct gradient {
    int layer, node;
} gradient;

typedef struct grapher {
    json_out *j;
    const plan *pl;
    int stage;
    bool wants_weights; /* the pass that lists parameters, not operators */
    int64_t n_before;   /* operators of the stages before */
    int n;              /* operators of this stage; they are numbered from 1 */
    int value;          /* the operator that gave the latest value; 0: none */
    int batch, loss;    /* likewise: the data, the loss */
    int *made;          /* [layers][PLAN_MAX_OPS] by the forward pass */
    gradient *gradients;
    size_t n_gradients, cap_gradients;
    int *in; /* what the next operator takes */
    size_t n_in, cap_in;
    strbuf scope, name;
} grapher;

/* What is said of one operator. */
typedef struct operator_words {
    synth_name cpu;
    const char *type; /* of its elements: "FLOAT16" */
    const char *out;  /* shape; NULL: elements */
    int64_t elements;
    const char *shard;    /* "": nothing is cut */
    const char *instance; /* what it is there for */
    const char *group;    /* it talks to */
    int peer, tag;        /* of a send or receive; peer -1 */
    const char *weight;   /* shape of the weight that it takes; not terminated */
    size_t n_weight;
} operator_words;

/* ---- words ---- */

/* Without the namespace and the engine's words: "linear", "AddmmBackward0". */
static const char *short_name(synth_name cpu)
{
    const char *s = synth_name_text(cpu);
    const char *colon = strrchr(s, ':');
    return colon ? colon + 1 + (colon[1] == ' ') : s;
}

/* What the operator is called in the graph: of what autograd evaluates, that. */
static const char *type_name(synth_name cpu)
{
    const char *s = synth_name_text(cpu);
    const char *evaluates = strstr(s, ": ");
    return evaluates ? evaluates + 2 : s;
}

static const char *net_name(const plan *pl)
{
    return pl->layer_name == NAME_A_BLOCK ? "ResNet" : "GPT";
}

static void set_scope(grapher *w, const char *phase, int layer, const char *part)
{
    strbuf_clear(&w->scope);
    strbuf_printf(&w->scope, "%s/%s", phase, net_name(w->pl));
    if (layer >= 0) {
        strbuf_printf(&w->scope, "/%s%d", short_name(w->pl->layer_name), layer);
    }
    if (part[0]) {
        strbuf_printf(&w->scope, "/%s", part);
    }
}

static void set_plain_scope(grapher *w, const char *scope)
{
    strbuf_clear(&w->scope);
    strbuf_puts(&w->scope, scope);
}

/* Group `index` of "[[2048,1,5120],[7680,5120],[]]". */
static const char *shape_at(const char *shapes, int index, size_t *n)
{
    const char *at = shapes ? shapes + 1 : "";
    for (; *at == '[' && index > 0; index--) {
        at = strchr(at, ']');
        at = at && at[1] == ',' ? at + 2 : "";
    }
    const char *end = *at == '[' ? strchr(at, ']') : NULL;
    *n = end ? (size_t)(end + 1 - at) : 0;
    return at;
}

/* Which of its inputs is a weight; -1: none. */
static int weight_slot(synth_name cpu)
{
    switch (cpu) {
    case NAME_C_EMBEDDING:
        return 0;
    case NAME_C_LINEAR:
    case NAME_C_CONV:
    case NAME_C_BN:
        return 1;
    case NAME_C_LAYER_NORM:
        return 2;
    default:
        return -1;
    }
}

/* ---- one node ---- */

static void take(grapher *w, int node)
{
    bool known = node == 0;
    for (size_t i = 0; i < w->n_in && !known; i++) {
        known = w->in[i] == node;
    }
    if (!known) {
        VEC_PUSH(w->in, w->n_in, w->cap_in, node);
    }
}

static void put_text(json_out *j, const char *key, const char *s, size_t n)
{
    json_key(j, key);
    json_strn(j, s, n);
}

/* Shape and type of what it gives; of a plain vector its length. */
static void put_output(grapher *w, const operator_words *o)
{
    char type[64];
    char length[32];
    (void)snprintf(type, sizeof type, "DT_TENSOR[DT_%s]", o->type ? o->type : "FLOAT16");
    (void)snprintf(length, sizeof length, "[%lld]", (long long)o->elements);
    json_kstr(w->j, "output_data_type", type);
    json_kstr(w->j, "output_shape", o->out ? o->out : length);
}

static void put_sharding(grapher *w, const char *shard)
{
    char text[128];
    size_t n = 0;
    for (const char *s = w->pl->p.tp > 1 ? shard : ""; *s && n + 16 < sizeof text; s++) {
        n += *s == 't' ? (size_t)(text_put_i64(text + n, w->pl->p.tp) - (text + n)) : 1;
        text[n - 1] = *s == 't' ? text[n - 1] : *s;
    }
    put_text(w->j, "parallel_shard", text, n);
}

static void put_attributes(grapher *w, const operator_words *o)
{
    char text[24];
    json_key(w->j, "attr");
    json_begin(w->j, '{');
    if (o->group) {
        json_kstr(w->j, "group", o->group);
    }
    if (o->peer >= 0 && (o->cpu == NAME_C_SEND || o->cpu == NAME_C_RECV)) {
        *text_put_i64(text, o->peer) = '\0';
        json_kstr(w->j, o->cpu == NAME_C_SEND ? "dest_rank" : "src_rank", text);
        *text_put_i64(text, o->tag) = '\0';
        json_kstr(w->j, "sr_tag", text);
    }
    *text_put_i64(text, w->pl->p.micro_batches) = '\0';
    json_kstr(w->j, "micro_batches", text);
    json_end(w->j, '}');
}

static void put_inputs(grapher *w, bool has_weight)
{
    char text[24];
    json_key(w->j, "input");
    json_begin(w->j, '[');
    for (size_t i = 0; i < w->n_in; i++) {
        *text_put_i64(text, w->in[i]) = '\0';
        json_str(w->j, text);
    }
    if (has_weight) {
        strbuf_puts(&w->name, ".weight");
        json_strn(w->j, w->name.s, w->name.n);
    }
    json_end(w->j, ']');
}

static void set_name(grapher *w, const operator_words *o)
{
    strbuf_clear(&w->name);
    strbuf_printf(&w->name, "%s/%s-op%lld", w->scope.s, short_name(o->cpu), (long long)(w->n_before + w->n));
}

static void put_operator(grapher *w, const operator_words *o)
{
    char id[24];
    *text_put_i64(id, w->n) = '\0';
    json_begin(w->j, '{');
    json_kstr(w->j, "node_id", id);
    put_text(w->j, "name", w->name.s, w->name.n);
    put_text(w->j, "scope", w->scope.s, w->scope.n);
    json_kstr(w->j, "type", type_name(o->cpu));
    json_kstr(w->j, "instance_type", o->instance ? o->instance : "");
    put_attributes(w, o);
    put_inputs(w, o->n_weight > 0);
    put_output(w, o);
    put_sharding(w, o->shard ? o->shard : "");
    json_end(w->j, '}');
}

static void put_weight(grapher *w, const operator_words *o)
{
    strbuf_puts(&w->name, ".weight");
    json_begin(w->j, '{');
    put_text(w->j, "node_id", w->name.s, w->name.n);
    json_kstr(w->j, "type", "Parameter");
    json_kstr(w->j, "output_data_type", "DT_TENSOR[DT_FLOAT16]");
    put_text(w->j, "output_shape", o->weight, o->n_weight);
    json_end(w->j, '}');
}

/* The operator in the scope that is set, with the inputs that were taken. @return its number */
static int put(grapher *w, const operator_words *o)
{
    w->n++;
    set_name(w, o);
    if (!w->wants_weights) {
        put_operator(w, o);
    } else if (o->n_weight > 0) {
        put_weight(w, o);
    }
    w->n_in = 0;
    return w->n;
}

/* ---- the passes of a layer, or of what is around them ---- */

typedef struct pass_place {
    const char *phase;
    int layer; /* -1: outside */
    int *made; /* [PLAN_MAX_OPS] filled by a forward pass, read by a backward one; NULL */
} pass_place;

/* What the forward pass's operator of that name and part gave: the last one of them. */
static int made_by(const grapher *w, const int *made, const model_op *row)
{
    int node = 0;
    for (int i = 0; made && row && row->saved && i < w->pl->fwd.n; i++) {
        const plan_op *op = &w->pl->fwd.ops[i];
        bool is = op->cpu == row->saved && op->row && strcmp(op->row->part, row->part) == 0;
        node = is ? made[i] : node;
    }
    return node;
}

static operator_words words_of(const plan_op *op, bool has_weight)
{
    operator_words o = {.cpu = op->cpu, .out = op->row ? op->row->out : NULL, .peer = -1};
    o.shard = op->row ? op->row->shard : "";
    o.group = op->collective ? text_group_description(GROUP_TP) : NULL;
    if (has_weight && weight_slot(op->cpu) >= 0) {
        o.weight = shape_at(op->shapes, weight_slot(op->cpu), &o.n_weight);
    }
    return o;
}

/* Where values come from while a pass is written. */
typedef struct pass_flow {
    const char *part;
    const char *shape;  /* of the latest value */
    int layer, of_part; /* what layer and part began with */
    int product;        /* what the latest operator that is no collective took */
} pass_flow;

static void put_pass_operator(grapher *w, const pass_place *at, const plan_op *op, int index, pass_flow *f)
{
    bool is_backward = at->phase == backward;
    op_flow flow = op->row ? op->row->flow : is_backward ? FLOW_WEIGHT : FLOW_CHAIN;
    if (op->row && strcmp(op->row->part, f->part) != 0) {
        f->part = op->row->part;
        f->of_part = w->value;
    }
    set_scope(w, at->phase, at->layer, f->part);
    take(w, flow == FLOW_WEIGHT ? f->product : w->value);
    take(w, flow == FLOW_RESIDUAL ? f->of_part : flow == FLOW_SKIP ? f->layer : 0);
    take(w, is_backward ? made_by(w, at->made, op->row) : 0);
    take(w, strcmp(f->part, "loss") == 0 ? w->batch : 0);
    operator_words o = words_of(op, !is_backward);
    o.out = o.out ? o.out : f->shape;
    int node = put(w, &o);
    if (flow == FLOW_WEIGHT) {
        VEC_PUSH(w->gradients, w->n_gradients, w->cap_gradients, ((gradient){at->layer, node}));
    } else {
        f->product = op->collective ? f->product : w->value;
        f->shape = o.out;
        w->value = node;
    }
    if (at->made && !is_backward) {
        at->made[index] = node;
    }
}

static void put_pass(grapher *w, const plan_pass *pass, const pass_place *at)
{
    pass_flow f = {.part = "", .shape = "[1]", .layer = w->value, .of_part = w->value, .product = w->value};
    for (int i = 0; i < pass->n; i++) {
        put_pass_operator(w, at, &pass->ops[i], i, &f);
    }
}

static void put_forward(grapher *w, const char *phase)
{
    int layers = plan_stage_layers(w->pl, w->stage);
    const char *around = phase == recomputed ? recomputed_around : phase;
    if (w->stage == 0) {
        put_pass(w, &w->pl->first, &(pass_place){around, -1, NULL});
    }
    for (int i = 0; i < layers; i++) {
        pass_place at = {phase, plan_first_layer(w->pl, w->stage) + i, w->made + (size_t)i * PLAN_MAX_OPS};
        put_pass(w, &w->pl->fwd, &at);
    }
    if (w->stage == w->pl->p.pp - 1) {
        put_pass(w, &w->pl->last, &(pass_place){around, -1, NULL});
        w->loss = w->value;
    }
}

static void put_backward(grapher *w)
{
    if (w->stage == w->pl->p.pp - 1) {
        put_pass(w, &w->pl->last, &(pass_place){backward, -1, NULL});
    }
    for (int i = plan_stage_layers(w->pl, w->stage) - 1; i >= 0; i--) {
        pass_place at = {backward, plan_first_layer(w->pl, w->stage) + i, w->made + (size_t)i * PLAN_MAX_OPS};
        put_pass(w, &w->pl->bwd, &at);
    }
    if (w->stage == 0) {
        put_pass(w, &w->pl->first, &(pass_place){backward, -1, NULL});
    }
}

/* ---- between stages ---- */

/* What a layer gives: the shape of what goes from stage to stage. */
static const char *activation_shape(const plan *pl)
{
    const char *shape = "[1]";
    for (int i = 0; i < pl->fwd.n; i++) {
        shape = pl->fwd.ops[i].row ? pl->fwd.ops[i].row->out : shape;
    }
    return shape;
}

/* To or from the stage `peer`; the tag tells activations from gradients. */
static int put_transfer(grapher *w, synth_name what, bool is_gradient, int peer)
{
    set_scope(w, is_gradient ? backward : forward, -1, "");
    take(w, what == NAME_C_SEND ? w->value : 0);
    return put(w, &(operator_words){.cpu = what,
                                    .out = activation_shape(w->pl),
                                    .group = text_group_description(GROUP_PP),
                                    .peer = plan_rank(w->pl, peer, 0, 0),
                                    .tag = is_gradient});
}

/* The batch, copied to the device: its shape is what the first operator takes beside its weight. */
static void put_batch(grapher *w)
{
    const plan_op *op = &w->pl->first.ops[0];
    size_t n = 0;
    const char *s = shape_at(op->shapes, weight_slot(op->cpu) == 0, &n);
    char shape[64];
    (void)snprintf(shape, sizeof shape, "%.*s", (int)n, s);
    set_plain_scope(w, forward);
    w->batch = put(w, &(operator_words){.cpu = NAME_C_COPY, .type = "INT64", .out = shape, .peer = -1});
}

/* ---- gradients and weights ---- */

/* Layers end their backward pass from the last to the first; buckets are filled in that order. */
static bool is_in_bucket(const grapher *w, int layer, int bucket)
{
    int layers = plan_stage_layers(w->pl, w->stage);
    int n = plan_buckets(w->pl, w->stage);
    int done = layers - (layer < 0 ? 0 : layer - plan_first_layer(w->pl, w->stage));
    int first = (done - 1) * n / layers;
    int last = done * n / layers - 1;
    return bucket >= first && bucket <= (last > first ? last : first);
}

static void take_gradients(grapher *w, int layer, int bucket)
{
    for (size_t i = 0; i < w->n_gradients; i++) {
        const gradient *g = &w->gradients[i];
        if (bucket >= 0 ? is_in_bucket(w, g->layer, bucket) : g->layer == layer) {
            take(w, g->node);
        }
    }
}

static int put_bucket(grapher *w, bool gather)
{
    const plan *pl = w->pl;
    bool sharded = pl->p.grad_sync == GRAD_SHARDED;
    int64_t elements = plan_bucket_bytes(pl, w->stage) / 2;
    operator_words o = {.group = text_group_description(GROUP_DP), .peer = -1, .elements = elements};
    o.cpu = gather ? NAME_C_ALLGATHER : sharded ? NAME_C_REDUCESCATTER : NAME_C_ALLREDUCE;
    o.elements = sharded && !gather ? elements / pl->p.dp : elements;
    o.type = sharded && !gather ? "FLOAT32" : "FLOAT16";
    o.instance = gather ? NULL : "GradientAggregation";
    return put(w, &o);
}

static int put_meeting(grapher *w)
{
    operator_words o = {.cpu = NAME_C_ALLREDUCE, .type = "FLOAT32", .out = "[1]", .peer = -1};
    o.group = text_group_description(GROUP_WORLD);
    return w->pl->p.ranks > 1 ? put(w, &o) : 0;
}

/* The update of the weights, in the order of the run: sums of gradients, their norm, AdamW layer by layer, and with
 * sharded optimizers the weights again. */
static void put_update(grapher *w)
{
    const plan *pl = w->pl;
    int layers = plan_stage_layers(pl, w->stage);
    int n_buckets = pl->p.dp > 1 ? plan_buckets(pl, w->stage) : 0;
    int buckets[PLAN_MAX_BUCKETS] = {0};
    int *norms = mem_calloc((size_t)layers * 2, sizeof *norms);
    int *updates = norms + layers;
    set_scope(w, backward, -1, "");
    for (int b = 0; b < n_buckets; b++) {
        take_gradients(w, -1, b);
        buckets[b] = put_bucket(w, false);
    }
    set_plain_scope(w, optimizer);
    for (int pass = 0; pass < 2; pass++) {
        int meeting = 0;
        for (int i = 0; i < layers; i++) {
            int layer = plan_first_layer(pl, w->stage) + i;
            for (int b = 0; b < n_buckets; b++) {
                take(w, is_in_bucket(w, layer, b) ? buckets[b] : 0);
            }
            if (n_buckets == 0) {
                take_gradients(w, layer, -1);
            }
            take(w, pass == 1 ? w->value : 0);
            operator_words o = {
                .cpu = pass ? NAME_C_ADAM : NAME_C_NORM, .type = pass ? "FLOAT16" : "FLOAT32", .peer = -1};
            o.elements = pass ? pl->layer_grad_bytes / 2 : 1;
            *(pass ? &updates[i] : &norms[i]) = put(w, &o);
        }
        for (int m = 0; m < (pass == 0 ? 2 : 0); m++) { /* was anything infinite; the norm of all */
            for (int i = 0; i < layers; i++) {
                take(w, norms[i]);
            }
            meeting = put_meeting(w);
        }
        w->value = meeting ? meeting : norms[layers - 1];
        w->n_in = 0;
    }
    for (int b = 0; b < n_buckets && pl->p.grad_sync == GRAD_SHARDED; b++) {
        for (int i = 0; i < layers; i++) {
            take(w, is_in_bucket(w, plan_first_layer(pl, w->stage) + i, b) ? updates[i] : 0);
        }
        (void)put_bucket(w, true);
    }
    take(w, w->loss);
    (void)put_meeting(w);
    w->n_in = 0;
    free(norms);
}

/* ---- stages ---- */

static void put_stage_nodes(grapher *w, bool weights)
{
    bool is_last = w->stage == w->pl->p.pp - 1;
    w->wants_weights = weights;
    w->n = w->value = w->batch = w->loss = 0;
    w->n_gradients = w->n_in = 0;
    json_begin(w->j, '[');
    if (w->stage == 0 || is_last) {
        put_batch(w);
    }
    int input = w->stage == 0 ? w->batch : put_transfer(w, NAME_C_RECV, false, w->stage - 1);
    w->value = input;
    put_forward(w, forward);
    if (!is_last) {
        (void)put_transfer(w, NAME_C_SEND, false, w->stage + 1);
    }
    if (w->pl->p.recompute) {
        w->value = input;
        put_forward(w, recomputed);
    }
    w->value = is_last ? w->value : put_transfer(w, NAME_C_RECV, true, w->stage + 1);
    put_backward(w);
    if (w->stage > 0) {
        (void)put_transfer(w, NAME_C_SEND, true, w->stage - 1);
    }
    put_update(w);
    json_end(w->j, ']');
}

static void put_stage(grapher *w)
{
    char key[24];
    *text_put_i64(key, w->stage) = '\0';
    json_key(w->j, key);
    json_begin(w->j, '{');
    json_key(w->j, "rank_ids");
    json_begin(w->j, '[');
    for (int r = 0; r < w->pl->p.ranks; r++) {
        if (plan_stage(w->pl, r) == w->stage) {
            json_int(w->j, r);
        }
    }
    json_end(w->j, ']');
    json_key(w->j, "op_nodes");
    put_stage_nodes(w, false);
    json_key(w->j, "parameter_nodes");
    put_stage_nodes(w, true);
    json_key(w->j, "const_nodes");
    json_begin(w->j, '[');
    json_end(w->j, ']');
    json_end(w->j, '}');
    w->n_before += w->n;
}

void synth_graph_json(strbuf *out, const plan *pl)
{
    char words[128];
    json_out j = {.buf = out};
    grapher w = {.j = &j, .pl = pl};
    w.made = mem_calloc((size_t)(pl->p.layers / pl->p.pp + 1) * PLAN_MAX_OPS, sizeof *w.made);
    (void)snprintf(words, sizeof words, "%s: %d stages x %d tensor x %d data parallel", pl->p.preset, pl->p.pp,
                   pl->p.tp, pl->p.dp);
    json_begin(&j, '{');
    json_key(&j, "metadata");
    json_begin(&j, '{');
    json_kstr(&j, "parallel_type", words);
    json_kstr(&j, "producer", "marey synth");
    json_end(&j, '}');
    json_key(&j, "graphs");
    json_begin(&j, '{');
    for (w.stage = 0; w.stage < pl->p.pp; w.stage++) {
        put_stage(&w);
    }
    json_end(&j, '}');
    json_end(&j, '}');
    free(w.made);
    free(w.gradients);
    free(w.in);
    strbuf_deinit(&w.scope);
    strbuf_deinit(&w.name);
}

marey_status synth_graph_write(const plan *pl, const char *path, diag *d)
{
    strbuf text = {0};
    synth_graph_json(&text, pl);
    marey_status status = file_write_all(path, text.s, text.n, d);
    strbuf_deinit(&text);
    return status;
}
