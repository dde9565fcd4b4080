/* Several MindSpore files as the pipeline stages of one graph. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "readers/graph_ms.h"

struct graph_parts {
    ms_stage *stages;
    uint32_t *ranks;
    ms_transfer *transfers;
    size_t n_stages, cap_stages, n_ranks, cap_ranks, n_transfers, cap_transfers;
    map64 contents; /* hash and size of files that were read */
};

graph_parts *graph_parts_create(void)
{
    return mem_calloc(1, sizeof(graph_parts));
}

void graph_parts_destroy(graph_parts **pp)
{
    graph_parts *p = *pp;
    if (p) {
        free(p->stages);
        free(p->ranks);
        free(p->transfers);
        map64_deinit(&p->contents);
        free(p);
        *pp = NULL;
    }
}

/* ---- which stage ---- */

static const ms_stage *stage_read(const graph_parts *p, int32_t stage)
{
    for (size_t i = 0; i < p->n_stages; i++) {
        if (p->stages[i].stage == stage && p->stages[i].is_read) {
            return &p->stages[i];
        }
    }
    return NULL;
}

static bool has_read(const ms_reader *r, int32_t stage)
{
    bool own = false;
    for (size_t i = 0; i < r->n_stages; i++) {
        own = own || (r->stages[i].stage == stage && r->stages[i].is_read);
    }
    return own || stage_read(r->in->parts, stage);
}

int32_t ms_stage_number(ms_reader *r, int32_t stated, const uint32_t *ranks, size_t n_ranks)
{
    const graph_parts *p = r->in->parts;
    if (!p) {
        return stated;
    }
    const ms_stage *before = stated >= 0 ? stage_read(p, stated) : NULL;
    if (before && before->n_ranks == n_ranks &&
        (n_ranks == 0 || memcmp(p->ranks + before->first_rank, ranks, n_ranks * sizeof *ranks) == 0)) {
        diag_note(r->in->diag, r->in->path, DIAG_NO_OFFSET, "Stage %d was read from another file: passed over.",
                  (int)stated);
        return -1;
    }
    int32_t stage = stated < 0 ? 0 : stated;
    while (stage < INT16_MAX - 1 && has_read(r, stage)) {
        stage++;
    }
    return stage;
}

bool ms_came_before(ms_reader *r)
{
    graph_parts *p = r->in->parts;
    uint64_t key = hash_bytes(r->in->data, r->in->size) ^ hash_u64(r->in->size);
    uint64_t *place = map64_put(&p->contents, key);
    if (*place) {
        diag_note(r->in->diag, r->in->path, DIAG_NO_OFFSET, "Its content was read from another file: passed over.");
        return true;
    }
    *place = 1;
    return false;
}

/* ---- transfers ---- */

static void keep(graph_parts *p, const ms_reader *r)
{
    for (size_t i = 0; i < r->n_stages; i++) {
        ms_stage s = r->stages[i];
        const uint32_t *ranks = r->ranks + s.first_rank;
        s.first_rank = p->n_ranks;
        for (size_t k = 0; k < s.n_ranks; k++) {
            VEC_PUSH(p->ranks, p->n_ranks, p->cap_ranks, ranks[k]);
        }
        VEC_PUSH(p->stages, p->n_stages, p->cap_stages, s);
    }
    for (size_t i = 0; i < r->n_transfers; i++) {
        VEC_PUSH(p->transfers, p->n_transfers, p->cap_transfers, r->transfers[i]);
    }
}

void ms_end_file(ms_reader *r)
{
    if (r->in->parts) {
        keep(r->in->parts, r);
    } else if (r->n_transfers) {
        ms_join_transfers(r);
    }
}

void graph_parts_finish(graph_parts *p, const graph_input *last, graph_builder *b)
{
    ms_reader r = {.in = last,
                   .b = b,
                   .transfers = p->transfers,
                   .n_transfers = p->n_transfers,
                   .stages = p->stages,
                   .n_stages = p->n_stages,
                   .ranks = p->ranks,
                   .n_ranks = p->n_ranks};
    if (r.n_transfers) {
        ms_join_transfers(&r);
    }
}
