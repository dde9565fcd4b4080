#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/source.h"
#include "parse/decns.h"
#include "parse/jspan.h"
#include "parse/jtext.h"

/* Process groups: sets of ranks that communicate. Two files mean the same group when name and ranks are the same. */

enum { MAX_GROUP_RANKS = 1 << 20 };

static int compare_ranks(const void *pa, const void *pb)
{
    const int64_t *a = pa;
    const int64_t *b = pb;
    return *a < *b ? -1 : *a > *b;
}

/* The numbers of "[0, 1, 2]"; a list that was cut with "..." gives what is there. */
static void read_ranks(trace_group *g, arena *mem, jspan list)
{
    size_t n = 0;
    jspan key;
    jspan value;
    for (jiter it = jiter_begin(list); n < MAX_GROUP_RANKS && jiter_next(&it, &key, &value);) {
        n++;
    }
    g->ranks = arena_alloc(mem, (n + 1) * sizeof *g->ranks);
    g->n_ranks = 0;
    for (jiter it = jiter_begin(list); g->n_ranks < n && jiter_next(&it, &key, &value);) {
        int64_t rank;
        if (decns_parse_i64(value.s, value.n, &rank)) {
            g->ranks[g->n_ranks++] = rank;
        }
    }
    if (g->n_ranks > 1) {
        qsort(g->ranks, g->n_ranks, sizeof *g->ranks, compare_ranks);
    }
}

static uint32_t put(conversion *c, jspan name, jspan description, jspan ranks)
{
    strbuf key = {0};
    strbuf text = {0};
    trace_group g = {.name = "", .description = ""};
    trace_model *m = &c->model;
    jtext_counts counts = {0};
    arena scratch_ranks = {0};
    jtext_decode(name.s, name.n, &text, &counts);
    read_ranks(&g, &scratch_ranks, ranks);
    strbuf_add(&key, strbuf_str(&text), text.n);
    strbuf_add(&key, "", 1);
    strbuf_add(&key, (const char *)g.ranks, g.n_ranks * sizeof *g.ranks);
    uint32_t id = intern_put(&c->group_keys, key.s, key.n);
    if (id == m->n_groups) {
        g.name = arena_strndup(&m->mem, strbuf_str(&text), text.n);
        strbuf_clear(&text);
        jtext_decode(description.s, description.n, &text, &counts);
        g.description = arena_strndup(&m->mem, strbuf_str(&text), text.n);
        read_ranks(&g, &m->mem, ranks);
        VEC_PUSH(m->groups, m->n_groups, m->cap_groups, g);
    }
    arena_deinit(&scratch_ranks);
    strbuf_deinit(&key);
    strbuf_deinit(&text);
    return id;
}

static jspan whole(const char *s, jkind kind)
{
    return (jspan){s, (uint32_t)strlen(s), kind};
}

uint32_t groups_put(conversion *c, const char *name, const char *description, const char *ranks)
{
    return put(c, whole(name, JKIND_STRING), whole(description, JKIND_STRING), whole(ranks, JKIND_ARRAY));
}

void groups_collect(source *s)
{
    if (!s->facts.groups_json) {
        return;
    }
    jspan key;
    jspan group;
    for (jiter it = jiter_begin(whole(s->facts.groups_json, JKIND_ARRAY)); jiter_next(&it, &key, &group);) {
        jspan name = jspan_member(group, "pg_name");
        jspan description = jspan_member(group, "pg_desc");
        jspan ranks = jspan_member(group, "ranks");
        if (name.kind != JKIND_NONE) {
            (void)put(s->c, name, description, ranks);
        }
    }
    free(s->facts.groups_json);
    s->facts.groups_json = NULL;
}
