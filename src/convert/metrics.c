#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/source.h"

/*
 * Metrics on their way from the builder to the store. They wait in pieces, in memory within the budget or beyond it in
 * the scratch file, because where the run begins and which rank is whose is known only when all inputs are read.
 */

enum { METRIC_PIECE = 4096 };

/* A piece of the source's metrics: strings are the conversion's once the source is read, ranks as the input says. */
struct metric_piece {
    store_metric *rows; /* NULL: in the scratch file */
    uint64_t at;
    uint32_t n;
};

/* The conversion's word for a string of the builder, later: its number in `words` + 1 until then. */
static uint32_t note_word(metric_log *l, uint32_t id)
{
    if (id == NO_ID) {
        return NO_ID;
    }
    uint64_t *place = map64_put(&l->word_keys, id);
    if (*place == 0) {
        VEC_PUSH(l->words, l->n_words, l->cap_words, id);
        *place = l->n_words;
    }
    return (uint32_t)(*place - 1);
}

static marey_status close_piece(source *s)
{
    metric_log *l = &s->metrics;
    scratch *sc = &s->c->scratch;
    metric_piece p = {.n = (uint32_t)l->n_rows};
    size_t bytes = l->n_rows * sizeof *l->rows;
    marey_status status = MAREY_OK;
    if (scratch_claim(sc, bytes)) {
        p.rows = mem_alloc(bytes);
        memcpy(p.rows, l->rows, bytes);
    } else {
        p.at = scratch_reserve(sc, bytes);
        status = scratch_write(sc, l->rows, bytes, p.at, &s->diag);
    }
    VEC_PUSH(l->pieces, l->n_pieces, l->cap_pieces, p);
    l->n_rows = 0;
    return status;
}

marey_status metrics_take(source *s, trace_side *side)
{
    metric_log *l = &s->metrics;
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < side->n_metrics && status == MAREY_OK; i++) {
        const trace_metric_in *in = &side->metrics[i];
        store_metric m = {.value = in->value,
                          .rank = in->rank,
                          .a = in->a,
                          .b = in->b,
                          .step = in->step,
                          .time_ns = in->time_ns,
                          .name = note_word(l, in->name),
                          .tag = note_word(l, in->tag),
                          .kind = (uint8_t)in->kind,
                          .flags = (uint8_t)in->flags};
        VEC_PUSH(l->rows, l->n_rows, l->cap_rows, m);
        status = l->n_rows == METRIC_PIECE ? close_piece(s) : MAREY_OK;
    }
    side->n_metrics = 0;
    return status;
}

marey_status metrics_end(source *s, const trace_builder *b)
{
    metric_log *l = &s->metrics;
    for (size_t i = 0; i < l->n_words; i++) {
        uint32_t id = l->words[i];
        l->words[i] = id < b->strings.n ? intern_put(&s->c->strings, b->strings.text[id], b->strings.len[id]) : NO_ID;
    }
    map64_deinit(&l->word_keys);
    marey_status status = l->n_rows ? close_piece(s) : MAREY_OK;
    free(l->rows);
    l->rows = NULL;
    l->cap_rows = 0;
    return status;
}

void metrics_release(source *s)
{
    metric_log *l = &s->metrics;
    for (size_t i = 0; i < l->n_pieces; i++) {
        if (l->pieces[i].rows) {
            scratch_release(&s->c->scratch, l->pieces[i].n * sizeof *l->rows);
        }
        free(l->pieces[i].rows);
    }
    free(l->pieces);
    free(l->rows);
    free(l->words);
    map64_deinit(&l->word_keys);
    *l = (metric_log){0};
}

static uint32_t word_of(const metric_log *l, uint32_t id)
{
    return id == NO_ID ? NO_ID : l->words[id];
}

/* What belongs to "the input's own" rank, where the input is one rank. */
static int64_t own_rank(const source *s)
{
    if (s->n_ranks != 1) {
        return -1;
    }
    uint32_t global = s->ranks[0].global;
    return global != NO_ID ? s->c->model.ranks[global].rank : s->facts.rank;
}

static marey_status write_piece(conversion *c, source *s, const metric_piece *p, store_metric *rows)
{
    const metric_log *l = &s->metrics;
    if (p->rows) {
        memcpy(rows, p->rows, p->n * sizeof *rows);
    } else {
        marey_status status = scratch_read(&c->scratch, rows, p->n * sizeof *rows, p->at, c->diag);
        if (status != MAREY_OK) {
            return status;
        }
    }
    int64_t own = own_rank(s);
    for (uint32_t i = 0; i < p->n; i++) {
        store_metric *m = &rows[i];
        m->rank = m->rank < 0 ? own : m->rank;
        m->time_ns = m->time_ns == TIME_MISSING ? -1 : model_time(s, m->time_ns);
        m->name = word_of(l, m->name);
        m->tag = word_of(l, m->tag);
    }
    c->model.n_metrics += p->n;
    return store_writer_metrics(c->writer, rows, p->n, c->strings.text, c->strings.n, c->diag);
}

marey_status metrics_write(conversion *c)
{
    store_metric *rows = mem_alloc(METRIC_PIECE * sizeof *rows);
    marey_status status = MAREY_OK;
    for (size_t i = 0; i < c->n_sources; i++) {
        source *s = &c->sources[i];
        for (size_t k = 0; k < s->metrics.n_pieces && status == MAREY_OK && s->status == MAREY_OK; k++) {
            status = write_piece(c, s, &s->metrics.pieces[k], rows);
        }
        metrics_release(s);
    }
    free(rows);
    return status;
}
