/* MindSpore: the merged form with all stages, and who sends to whom. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/decns.h"
#include "readers/graph_ms.h"

static jdoc_node text_of(const jdoc *d, uint32_t object, const char *key)
{
    uint32_t i = jdoc_member(d, object, key);
    bool is = i != JDOC_NONE && d->nodes[i].s;
    return is ? d->nodes[i] : (jdoc_node){.s = "", .offset = i == JDOC_NONE ? 0 : d->nodes[i].offset};
}

/* A list as it stands in the text, or the text of a string: both spell "[[1, 2], [3]]". */
static jdoc_node list_text(const ms_reader *r, const jdoc *d, uint32_t object, const char *key)
{
    uint32_t i = jdoc_member(d, object, key);
    jdoc_node t = text_of(d, object, key);
    if (!jdoc_is(d, i, JDOC_ARRAY)) {
        return t;
    }
    const char *s = (const char *)r->in->data;
    size_t at = (size_t)t.offset;
    size_t depth = 0;
    t.s = s + at;
    do {
        depth += s[at] == '[';
        depth -= s[at] == ']';
        at++;
    } while (depth && at < r->in->size);
    t.n = (uint32_t)(at - t.offset);
    return t;
}

static int64_t number_of(const jdoc *d, uint32_t i, int64_t missing)
{
    int64_t v = missing;
    return jdoc_i64(d, i, &v) ? v : missing;
}

static void take_attributes(ms_reader *r, const jdoc *d, uint32_t attr, uint32_t id)
{
    strbuf key = {0};
    for (uint32_t a = jdoc_first(d, attr); a != JDOC_NONE; a = d->nodes[a].next) {
        const char *value = jdoc_text(d, a, &r->text);
        (void)jdoc_key(d, a, &key);
        graph_builder_attr(r->b, id, strbuf_str(&key), key.n, value, r->text.n);
    }
    strbuf_deinit(&key);
}

/* The strategy that was generated, or asked for, or the node's own text. */
static void take_sharding(ms_reader *r, const jdoc *d, uint32_t node, uint32_t id)
{
    uint32_t attr = jdoc_member(d, node, "attr");
    jdoc_node t = text_of(d, attr, "gen_strategy");
    ms_sharding_text(t.s, t.n, &r->sharding);
    if (!r->sharding.n) {
        t = list_text(r, d, node, "parallel_shard");
        ms_sharding_text(t.s, t.n, &r->sharding);
    }
    if (!r->sharding.n) {
        t = text_of(d, attr, "in_strategy");
        ms_sharding_text(t.s, t.n, &r->sharding);
    }
    if (r->sharding.n) {
        graph_builder_sharding(r->b, id, r->sharding.s, r->sharding.n);
    }
}

static void take_transfer(ms_reader *r, const jdoc *d, uint32_t node, uint32_t id, int32_t stage)
{
    const char *type = jdoc_text(d, jdoc_member(d, node, "type"), &r->text);
    graph_class klass = graph_class_of(type);
    bool is_send = klass == GRAPH_CLASS_SEND;
    if (!is_send && klass != GRAPH_CLASS_RECEIVE) {
        return;
    }
    uint32_t attr = jdoc_member(d, node, "attr");
    jdoc_node group = text_of(d, attr, "group");
    ms_transfer t = {.node = id,
                     .stage = stage,
                     .peer = number_of(d, jdoc_member(d, attr, is_send ? "dest_rank" : "src_rank"), -1),
                     .tag = number_of(d, jdoc_member(d, attr, "sr_tag"), -1),
                     .is_send = is_send,
                     .group = group.n ? hash_bytes(group.s, group.n) : 0};
    VEC_PUSH(r->transfers, r->n_transfers, r->cap_transfers, t);
}

static void take_inputs(ms_reader *r, const jdoc *d, uint32_t node, uint32_t id, uint32_t space)
{
    uint32_t slot = 0;
    uint32_t list = jdoc_member(d, node, "input");
    for (uint32_t i = jdoc_first(d, list); i != JDOC_NONE; i = d->nodes[i].next, slot++) {
        if (d->nodes[i].s && d->nodes[i].n) {
            graph_builder_use(r->b, space, d->nodes[i].s, d->nodes[i].n, id, slot, 0, d->nodes[i].offset);
        }
    }
}

static void take_operator(ms_reader *r, const jdoc *d, uint32_t node, int32_t stage, uint32_t space)
{
    jdoc_node name = text_of(d, node, "node_id");
    jdoc_node op = text_of(d, node, "type");
    jdoc_node scope = text_of(d, node, "scope");
    jdoc_node full = text_of(d, node, "name");
    jdoc_node instance = text_of(d, node, "instance_type");
    jdoc_node types = text_of(d, node, "output_data_type");
    jdoc_node shapes = list_text(r, d, node, "output_shape");
    jdoc_node ranks = text_of(d, node, "parallel_group_rank");
    ms_operator o = {.id = name.s,
                     .n_id = name.n,
                     .op = op.s,
                     .n_op = op.n,
                     .scope = scope.s,
                     .n_scope = scope.n,
                     .full_name = full.s,
                     .n_full_name = full.n,
                     .instance = instance.s,
                     .n_instance = instance.n,
                     .stage = stage};
    uint32_t id = ms_push_operator(r, &o);
    graph_builder_define(r->b, space, name.s, name.n, id, 0);
    ms_push_named_outputs(r, id, types.s, types.n, shapes.s, shapes.n);
    take_attributes(r, d, jdoc_member(d, node, "attr"), id);
    if (ranks.n) {
        graph_builder_attr(r->b, id, "parallel_group_rank", 19, ranks.s, ranks.n);
    }
    take_sharding(r, d, node, id);
    take_inputs(r, d, node, id, space);
    take_transfer(r, d, node, id, stage);
}

static void take_data(ms_reader *r, const jdoc *d, uint32_t list, graph_role role, int32_t stage, uint32_t space)
{
    for (uint32_t i = jdoc_first(d, list); i != JDOC_NONE; i = d->nodes[i].next) {
        jdoc_node name = text_of(d, i, "node_id");
        jdoc_node types = text_of(d, i, "output_data_type");
        jdoc_node shapes = list_text(r, d, i, "output_shape");
        uint32_t id = ms_push_data(r, name.s, name.n, role, stage);
        graph_builder_define(r->b, space, name.s, name.n, id, 0);
        ms_push_named_outputs(r, id, types.s, types.n, shapes.s, shapes.n);
        take_attributes(r, d, jdoc_member(d, i, "attr"), id);
    }
}

static void take_stage(ms_reader *r, const jdoc *d, uint32_t entry, int32_t stated)
{
    uint32_t space = graph_builder_space(r->b, GRAPH_NONE);
    uint32_t ranks = jdoc_member(d, entry, "rank_ids");
    ms_stage s = {.first_rank = r->n_ranks, .is_read = true};
    for (uint32_t i = jdoc_first(d, ranks); i != JDOC_NONE; i = d->nodes[i].next) {
        int64_t rank = number_of(d, i, -1);
        if (rank >= 0 && rank < UINT32_MAX) {
            VEC_PUSH(r->ranks, r->n_ranks, r->cap_ranks, (uint32_t)rank);
        }
    }
    s.n_ranks = r->n_ranks - s.first_rank;
    int32_t stage = ms_stage_number(r, stated, r->ranks + s.first_rank, s.n_ranks);
    if (stage < 0) {
        return;
    }
    s.stage = stage;
    VEC_PUSH(r->stages, r->n_stages, r->cap_stages, s);
    graph_builder_stage(r->b, stage, r->ranks + s.first_rank, s.n_ranks);
    take_data(r, d, jdoc_member(d, entry, "parameter_nodes"), GRAPH_PARAMETER, stage, space);
    take_data(r, d, jdoc_member(d, entry, "const_nodes"), GRAPH_CONSTANT, stage, space);
    uint32_t nodes = jdoc_member(d, entry, "op_nodes");
    for (uint32_t i = jdoc_first(d, nodes); i != JDOC_NONE; i = d->nodes[i].next) {
        if (jdoc_is(d, i, JDOC_OBJECT)) {
            take_operator(r, d, i, stage, space);
        } else {
            ms_lose(r, MAREY_LOSS_DAMAGED, d->nodes[i].offset);
        }
    }
}

marey_status ms_read_merged(ms_reader *r, const jdoc *d)
{
    uint32_t graphs = jdoc_member(d, 0, "graphs");
    int32_t next = 0;
    uint32_t metadata = jdoc_member(d, 0, "metadata");
    strbuf kind = {0};
    strbuf producer = {0};
    (void)jdoc_text(d, jdoc_member(d, metadata, "parallel_type"), &kind);
    const char *by = jdoc_text(d, jdoc_member(d, metadata, "producer"), &producer);
    graph_builder_facts(r->b, "mindspore-parallel", strbuf_str(&kind), producer.n ? by : "MindSpore");
    strbuf_deinit(&kind);
    strbuf_deinit(&producer);
    for (uint32_t g = jdoc_first(d, graphs); g != JDOC_NONE; g = d->nodes[g].next) {
        int64_t stage = -1;
        bool named = d->nodes[g].key && decns_parse_i64(d->nodes[g].key, d->nodes[g].key_n, &stage);
        if (is_cancelled(r->in->cancel)) {
            return MAREY_CANCELLED;
        }
        stage = named && stage >= 0 && stage < INT16_MAX ? stage : next;
        take_stage(r, d, g, (int32_t)stage);
        next = (int32_t)stage + 1;
    }
    ms_end_file(r);
    return MAREY_OK;
}

/* ---- transfers ---- */

/* A peer is named by its rank, or, in some merged files, by its stage. */
static int32_t stage_of(const ms_reader *r, int64_t peer, int32_t own)
{
    for (size_t i = 0; i < r->n_stages && peer >= 0; i++) {
        for (size_t k = 0; k < r->stages[i].n_ranks; k++) {
            if (r->ranks[r->stages[i].first_rank + k] == peer && r->stages[i].stage != own) {
                return r->stages[i].stage;
            }
        }
    }
    for (size_t i = 0; i < r->n_stages; i++) {
        if (r->stages[i].stage == peer) {
            return r->stages[i].stage;
        }
    }
    return -1;
}

typedef struct joint {
    int32_t from, to; /* stages */
    int64_t tag;
    uint64_t group;
    uint32_t node;
    uint32_t order; /* in the reader's list */
} joint;

static int by_place(const joint *a, const joint *b)
{
    int by = (a->from > b->from) - (a->from < b->from);
    by = by ? by : (a->to > b->to) - (a->to < b->to);
    return by ? by : (a->tag > b->tag) - (a->tag < b->tag);
}

static int compare_joints(const void *x, const void *y)
{
    const joint *a = x;
    const joint *b = y;
    int by = by_place(a, b);
    by = by ? by : (a->group > b->group) - (a->group < b->group);
    return by ? by : (a->order > b->order) - (a->order < b->order);
}

static joint *list_joints(const ms_reader *r, bool sends, size_t *n)
{
    joint *list = mem_alloc((r->n_transfers + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; i < r->n_transfers; i++) {
        const ms_transfer *t = &r->transfers[i];
        int32_t peer = stage_of(r, t->peer, t->stage);
        if (t->is_send == sends && peer >= 0) {
            list[(*n)++] = (joint){.from = sends ? t->stage : peer,
                                   .to = sends ? peer : t->stage,
                                   .tag = t->tag,
                                   .group = t->group,
                                   .node = t->node,
                                   .order = (uint32_t)i};
        }
    }
    qsort(list, *n, sizeof *list, compare_joints);
    return list;
}

static void tie(const ms_reader *r, uint32_t send, uint32_t receive, bool *tied)
{
    graph_builder_edge(r->b, r->transfers[send].node, 0, r->transfers[receive].node, UINT16_MAX,
                       GRAPH_IMPLIED | GRAPH_P2P);
    tied[send] = tied[receive] = true;
}

static void join_by_place(const ms_reader *r, bool *tied)
{
    size_t n_sends = 0;
    size_t n_receives = 0;
    joint *sends = list_joints(r, true, &n_sends);
    joint *receives = list_joints(r, false, &n_receives);
    for (size_t i = 0, k = 0; i < n_sends && k < n_receives;) {
        int by = by_place(&sends[i], &receives[k]);
        if (by == 0) {
            tie(r, sends[i].order, receives[k].order, tied);
        }
        i += by <= 0;
        k += by >= 0;
    }
    free(sends);
    free(receives);
}

/* Where ranks are counted inside a group, the peer's number does not tell its stage; the group and the tag do. */
static void join_by_group(const ms_reader *r, bool *tied)
{
    map64 waiting = {0}; /* group and tag of a send -> index + 1; the latest one of several is not taken twice */
    for (size_t i = 0; i < r->n_transfers; i++) {
        const ms_transfer *t = &r->transfers[i];
        if (t->is_send && !tied[i] && t->group && t->tag >= 0) {
            uint64_t *place = map64_put(&waiting, t->group ^ hash_u64((uint64_t)t->tag + 1));
            *place = *place ? UINT64_MAX : i + 1; /* of two the one that is meant is not known */
        }
    }
    for (size_t i = 0; i < r->n_transfers; i++) {
        const ms_transfer *t = &r->transfers[i];
        uint64_t *place = t->is_send || tied[i] || !t->group || t->tag < 0
                              ? NULL
                              : map64_get(&waiting, t->group ^ hash_u64((uint64_t)t->tag + 1));
        if (place && *place != UINT64_MAX && *place > 0 && r->transfers[*place - 1].stage != t->stage) {
            tie(r, (uint32_t)(*place - 1), (uint32_t)i, tied);
            *place = 0;
        }
    }
    map64_deinit(&waiting);
}

void ms_join_transfers(ms_reader *r)
{
    bool *tied = mem_calloc(r->n_transfers + 1, sizeof *tied);
    size_t n = 0;
    join_by_place(r, tied);
    join_by_group(r, tied);
    for (size_t i = 0; i < r->n_transfers; i++) {
        n += !tied[i];
    }
    if (n > 0) {
        diag_note(r->in->diag, r->in->path, DIAG_NO_OFFSET,
                  "%zu of %zu Send and Receive operators have no partner in %s.", n, r->n_transfers,
                  r->in->parts ? "these files" : "this file; those of other stages may be read together with it");
    }
    free(tied);
}
