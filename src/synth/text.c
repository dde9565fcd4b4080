#include "synth/text.h"

#include <stdio.h>
#include <string.h>

char *text_put_n(char *p, const char *s, size_t n)
{
    memcpy(p, s, n);
    return p + n;
}

char *synth_put(char *p, const char *s)
{
    return text_put_n(p, s, strlen(s));
}

char *text_put_u64(char *p, uint64_t v)
{
    char digits[20];
    int n = 0;
    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    while (n > 0) {
        *p++ = digits[--n];
    }
    return p;
}

char *text_put_i64(char *p, int64_t v)
{
    if (v < 0) {
        *p++ = '-';
        return text_put_u64(p, 0 - (uint64_t)v);
    }
    return text_put_u64(p, (uint64_t)v);
}

char *text_put_us(char *p, int64_t ns)
{
    if (ns < 0) {
        *p++ = '-';
        ns = -ns;
    }
    unsigned part = (unsigned)(ns % 1000);
    p = text_put_u64(p, (uint64_t)(ns / 1000));
    *p++ = '.';
    *p++ = (char)('0' + part / 100);
    *p++ = (char)('0' + part / 10 % 10);
    *p++ = (char)('0' + part % 10);
    return p;
}

/* The profiler writes at most thirty ranks: the first 29, dots and the last. */
static void write_ranks(char *out, const plan *pl, plan_group_kind kind, int rank)
{
    enum { SHOWN = 30 };
    int n = plan_group_size(pl, kind);
    char *p = out;
    *p++ = '[';
    for (int i = 0; i < n; i++) {
        if (n > SHOWN && i == SHOWN - 1) {
            p = synth_put(p, ", ...");
            i = n - 1;
        }
        p = synth_put(p, i > 0 ? ", " : "");
        p = text_put_i64(p, plan_group_member(pl, kind, rank, i));
    }
    *p++ = ']';
    *p = '\0';
}

void rank_words_init(rank_words *w, const plan *pl, int rank)
{
    *w = (rank_words){.pl = pl, .rank = rank};
    for (int t = 0; t < TH_COUNT; t++) {
        emit_thread(pl, rank, (synth_thread)t, &w->threads[t]);
    }
    for (int k = 0; k < GROUP_KINDS; k++) {
        write_ranks(w->groups[k], pl, (plan_group_kind)k, rank);
    }
    (void)snprintf(w->host, sizeof w->host, "node%d", rank / SYNTH_RANKS_PER_HOST);
}

const char *text_group_description(plan_group_kind kind)
{
    static const char *const texts[GROUP_KINDS] = {"default_pg", "TENSOR_MODEL_PARALLEL_GROUP", "DATA_PARALLEL_GROUP",
                                                   "PIPELINE_MODEL_PARALLEL_GROUP"};
    return texts[kind];
}

static char *put_coll(const rank_words *w, char *p, const coll_info *c)
{
    p = synth_put(p, ",\"Collective name\": \"");
    p = synth_put(p, synth_coll_name(c->what));
    p = synth_put(p, "\",\"In msg nelems\": ");
    p = text_put_i64(p, c->in_elements);
    p = synth_put(p, ",\"Out msg nelems\": ");
    p = text_put_i64(p, c->out_elements);
    p = synth_put(p, ",\"Group size\": ");
    p = text_put_i64(p, plan_group_size(w->pl, c->group));
    p = synth_put(p, ",\"dtype\": \"");
    p = synth_put(p, c->dtype);
    p = synth_put(p, "\",\"In split size\": \"[]\",\"Out split size\": \"[]\",\"Process Group Name\": \"");
    p = text_put_i64(p, plan_group_id(w->pl, c->group, w->rank));
    p = synth_put(p, "\",\"Process Group Description\": \"");
    p = synth_put(p, text_group_description(c->group));
    p = synth_put(p, "\",\"Process Group Ranks\": \"");
    p = synth_put(p, w->groups[c->group]);
    p = synth_put(p, "\"");
    if (c->peer >= 0) {
        p = synth_put(p, c->what == COLL_SEND ? ",\"Dst Rank\": " : ",\"Src Rank\": ");
        p = text_put_i64(p, c->peer);
    }
    p = synth_put(p, ",\"Seq\": ");
    return text_put_i64(p, c->seq);
}

static char *put_external(char *p, const synth_event *e)
{
    p = synth_put(p, "{\"External id\": ");
    return text_put_u64(p, e->external);
}

static char *cpu_args(rank_words *w, char *p, const synth_event *e)
{
    p = put_external(p, e);
    if (e->sequence >= 0) {
        p = synth_put(p, ",\"Sequence number\": ");
        p = text_put_i64(p, e->sequence);
        p = synth_put(p, e->thread == TH_AUTOGRAD ? ",\"Fwd thread id\": 1" : ",\"Fwd thread id\": 0");
    }
    if (e->shapes) {
        p = synth_put(p, ",\"Input Dims\": ");
        p = synth_put(p, e->shapes);
    }
    if (e->coll) {
        p = put_coll(w, p, e->coll);
    }
    p = synth_put(p, ",\"Record function id\": 0,\"Ev Idx\": ");
    return text_put_u64(p, w->n_cpu_ops++);
}

static char *runtime_args(char *p, const synth_event *e)
{
    int cbid = e->name == NAME_R_LAUNCH        ? 211
               : e->name == NAME_R_LAUNCH_EX   ? 430
               : e->name == NAME_R_MEMCPY      ? 41
               : e->name == NAME_R_STREAM_SYNC ? 131
                                               : 165;
    p = synth_put(p, "{");
    if (e->external) {
        p = synth_put(put_external(p - 1, e), ",");
    }
    p = synth_put(p, "\"cbid\": ");
    p = text_put_i64(p, cbid);
    p = synth_put(p, ",\"correlation\": ");
    return text_put_u64(p, e->correlation);
}

static char *device_args(const rank_words *w, char *p, const synth_event *e)
{
    *p++ = '{';
    if (e->external) {
        p = synth_put(put_external(p - 1, e), ",");
    }
    p = synth_put(p, e->kind == EV_KERNEL ? "\"queued\": 0,\"device\": " : "\"device\": ");
    p = synth_put(p, w->threads[e->thread].pid);
    p = synth_put(p, ",\"context\": 1,\"stream\": ");
    p = synth_put(p, w->threads[e->thread].tid);
    if (e->correlation) {
        p = synth_put(p, ",\"correlation\": ");
        p = text_put_u64(p, e->correlation);
    }
    if (e->kind == EV_KERNEL) {
        p = synth_put(p, synth_kernel_facts(e->name));
        return e->coll ? put_coll(w, p, e->coll) : p;
    }
    p = synth_put(p, ",\"bytes\": ");
    p = text_put_i64(p, e->bytes);
    p = synth_put(p, ",\"memory bandwidth (GB/s)\": 25");
    return p;
}

char *rank_words_args(rank_words *w, char *p, const synth_event *e)
{
    switch (e->kind) {
    case EV_CPU_OP:
        p = cpu_args(w, p, e);
        break;
    case EV_ANNOTATION:
        p = synth_put(put_external(p, e), ",\"Record function id\": 0,\"Ev Idx\": ");
        p = text_put_u64(p, w->n_cpu_ops++);
        break;
    case EV_GPU_ANNOTATION:
        p = put_external(p, e);
        break;
    case EV_RUNTIME:
        p = runtime_args(p, e);
        break;
    case EV_KERNEL:
    case EV_MEMCPY:
        p = device_args(w, p, e);
        break;
    case EV_SPAN:
        p = synth_put(p, "{\"Op count\": 0");
        break;
    default:
        return p;
    }
    *p++ = '}';
    return p;
}

char *text_put_name(char *p, const synth_event *e)
{
    p = synth_put(p, synth_name_text(e->name));
    return e->index >= 0 ? text_put_i64(p, e->index) : p;
}

static void group_json(json_out *j, const plan *pl, int rank, plan_group_kind kind)
{
    char name[16];
    (void)snprintf(name, sizeof name, "%d", plan_group_id(pl, kind, rank));
    json_begin(j, '{');
    json_kstr(j, "pg_name", name);
    json_kstr(j, "pg_desc", text_group_description(kind));
    json_kstr(j, "backend_config", "cuda:nccl");
    json_kint(j, "pg_size", plan_group_size(pl, kind));
    json_key(j, "ranks");
    json_begin(j, '[');
    for (int i = 0; i < plan_group_size(pl, kind); i++) {
        json_int(j, plan_group_member(pl, kind, rank, i));
    }
    json_end(j, ']');
    json_end(j, '}');
}

void text_groups_json(strbuf *out, const plan *pl, int rank)
{
    json_out j = {.buf = out};
    json_begin(&j, '[');
    for (int k = 0; k < GROUP_KINDS; k++) {
        if (k == GROUP_WORLD || plan_group_size(pl, (plan_group_kind)k) > 1) {
            group_json(&j, pl, rank, (plan_group_kind)k);
        }
    }
    json_end(&j, ']');
    if (out->n > 0 && out->s[out->n - 1] == '\n') {
        out->s[--out->n] = '\0';
    }
}
