#include "synth/direct.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "synth/text.h"
#include "trace/model.h"

enum { REPORT_EVERY = 1 << 16 };

typedef struct pusher {
    trace_builder *b;
    const reader_progress *progress;
    rank_words words;
    uint32_t threads[TH_COUNT];           /* builder's ids */
    uint32_t names[EV_KINDS][NAME_COUNT]; /* builder's ids + 1; names with a number are not here */
    uint32_t sources[EV_KINDS];           /* string ids; NO_ID: none */
    uint32_t group_names[GROUP_KINDS], group_words[GROUP_KINDS], group_ranks[GROUP_KINDS];
    uint32_t flow_kind;
    synth_arguments arguments;
    char args[TEXT_ARGS_MAX];
} pusher;

static uint32_t intern_text(trace_builder *b, const char *s)
{
    return trace_builder_string(b, s, strlen(s));
}

static uint32_t thread_id(pusher *u, synth_thread thread)
{
    if (u->threads[thread] == NO_ID) {
        const thread_text *t = &u->words.threads[thread];
        u->threads[thread] = trace_builder_thread(u->b, t->pid, strlen(t->pid), t->tid, strlen(t->tid));
    }
    return u->threads[thread];
}

static uint32_t name_id(pusher *u, const synth_event *e)
{
    uint32_t *kept = &u->names[e->kind][e->name];
    if (e->index < 0 && *kept) {
        return *kept - 1;
    }
    char text[1024];
    size_t n = (size_t)(text_put_name(text, e) - text);
    uint32_t id = trace_builder_name(u->b, trace_builder_string(u->b, text, n), u->sources[e->kind]);
    if (e->index < 0) {
        *kept = id + 1;
    }
    return id;
}

static void push_collective(pusher *u, const coll_info *c)
{
    trace_collective_in in = {.event = u->b->n_events,
                              .what = intern_text(u->b, synth_coll_name(c->what)),
                              .group = u->group_names[c->group],
                              .group_desc = u->group_words[c->group],
                              .group_ranks = u->group_ranks[c->group],
                              .dtype = intern_text(u->b, c->dtype),
                              .in_elements = c->in_elements,
                              .out_elements = c->out_elements,
                              .group_size = plan_group_size(u->words.pl, c->group),
                              .seq = c->seq};
    trace_builder_collective(u->b, &in);
}

static marey_status push_event(void *ctx, const synth_event *e)
{
    pusher *u = ctx;
    trace_event_in in = {.start_ns = e->start_ns,
                         .dur_ns = e->end_ns - e->start_ns,
                         .thread = thread_id(u, e->thread),
                         .name = name_id(u, e),
                         .correlation = e->correlation,
                         .flags = e->kind == EV_INSTANT ? EVENT_INSTANT : 0};
    if (u->arguments == ARGS_ALL || (u->arguments == ARGS_COLLECTIVES && e->coll)) {
        in.args_len = (uint32_t)(rank_words_args(&u->words, u->args, e) - u->args);
        in.args = in.args_len ? u->args : NULL;
    }
    if (e->coll) {
        push_collective(u, e->coll);
    }
    if (u->b->n_events % REPORT_EVERY == 0 && u->progress && u->progress->report) {
        u->progress->report(u->progress->ctx, 0, 0, u->b->n_events);
    }
    return trace_builder_event(u->b, &in);
}

static void push_flow(void *ctx, const synth_flow *f)
{
    pusher *u = ctx;
    if (f->launch) {
        u->b->n_ac2g_flows++;
        return;
    }
    trace_flow_in in = {.ts_ns = f->ts_ns,
                        .id = f->id,
                        .thread = thread_id(u, f->thread),
                        .kind = u->flow_kind,
                        .phase = f->ends ? FLOW_END : FLOW_START,
                        .binds_enclosing = true};
    trace_builder_flow(u->b, &in);
}

static void name_thread(pusher *u, synth_thread thread)
{
    const thread_text *t = &u->words.threads[thread];
    char labels[32];
    char *p = synth_put(labels, t->is_device ? "GPU " : "CPU");
    p = t->is_device ? synth_put(p, t->pid) : p;
    trace_thread_in *in = &u->b->threads[thread_id(u, thread)];
    in->name = intern_text(u->b, t->name);
    in->process_name = intern_text(u->b, "python");
    in->labels = trace_builder_string(u->b, labels, (size_t)(p - labels));
    in->sort_index = t->sort_index;
    in->process_sort_index = t->is_device ? 5000000 : u->words.threads[TH_MAIN].sort_index;
}

static void set_facts(pusher *u)
{
    const plan *pl = u->words.pl;
    int rank = u->words.rank;
    trace_facts *f = &u->b->facts;
    strbuf groups = {0};
    text_groups_json(&groups, pl, rank);
    f->format = "kineto";
    f->is_kineto = true;
    f->rank = rank;
    f->world_size = pl->p.ranks;
    f->base_epoch_ns = PLAN_BASE_EPOCH_NS;
    f->schema_version = 1;
    f->backend = intern_text(u->b, "nccl");
    f->host = intern_text(u->b, u->words.host);
    f->device_name = intern_text(u->b, pl->device_name);
    f->groups_json = groups.s;
    f->stage = plan_stage(pl, rank);
    f->dp = plan_dp(pl, rank);
    f->tp = plan_tp(pl, rank);
}

static void prepare(pusher *u, const solution *s, int rank, trace_builder *b, const reader_progress *progress)
{
    *u = (pusher){.b = b, .progress = progress, .arguments = s->pl.p.arguments};
    rank_words_init(&u->words, &s->pl, rank);
    for (int t = 0; t < TH_COUNT; t++) {
        u->threads[t] = NO_ID;
    }
    for (int k = 0; k < EV_KINDS; k++) {
        const char *category = emit_category((event_kind)k);
        u->sources[k] = category ? intern_text(b, category) : NO_ID;
    }
    for (int k = 0; k < GROUP_KINDS; k++) {
        char name[24];
        *text_put_i64(name, plan_group_id(&s->pl, (plan_group_kind)k, rank)) = '\0';
        u->group_names[k] = intern_text(b, name);
        u->group_words[k] = intern_text(b, text_group_description((plan_group_kind)k));
        u->group_ranks[k] = intern_text(b, u->words.groups[k]);
    }
    u->flow_kind = intern_text(b, "fwdbwd");
    set_facts(u);
}

/* Our texts are clean already. */
static void decode_as_is(void *ctx, const char *raw, size_t n, strbuf *out)
{
    (void)ctx;
    strbuf_add(out, raw, n);
}

marey_status direct_read(void *ctx, const char *path, trace_builder *b, const reader_progress *progress)
{
    const direct_source *source = ctx;
    (void)path;
    pusher *u = mem_alloc(sizeof *u);
    prepare(u, source->s, source->rank, b, progress);
    synth_sink sink = {.ctx = u, .event = push_event, .flow = push_flow, .cancel = progress ? progress->cancel : NULL};
    marey_status status = emit_rank(source->s, source->rank, &sink);
    for (int t = 0; t < TH_SPAN && status == MAREY_OK; t++) {
        if (u->threads[t] != NO_ID) {
            name_thread(u, (synth_thread)t);
        }
    }
    if (status == MAREY_OK) {
        status = trace_builder_finish(b, decode_as_is, NULL);
    }
    free(u);
    return status;
}
