#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "convert/source.h"

/*
 * The places of ranks as the user's text file states them. One rank a line; what is not said stays as it was:
 *
 *     # lines like this one are passed over
 *     rank 0 host=node0 stage=0 dp=0 tp=0
 *     rank 1 host=node0 stage=0 dp=0 tp=1 ep=0
 *
 * A line for a rank that the run doesn't have is passed over, so that one file serves parts of a run too.
 */

enum { MAX_TOPOLOGY_BYTES = 64 << 20, MAX_PLACE = 1 << 24 };

typedef struct topology_line {
    conversion *c;
    const char *path;
    unsigned number;
} topology_line;

static marey_status refuse(const topology_line *l, const char *what)
{
    return diag_error(l->c->diag, MAREY_FORMAT, l->path, DIAG_NO_OFFSET,
                      "line %u: %s; expected lines such as \"rank 0 host=node0 stage=0 dp=0 tp=1\"", l->number, what);
}

static trace_rank *rank_of(conversion *c, int64_t number)
{
    for (size_t i = 0; i < c->model.n_ranks; i++) {
        if (c->model.ranks[i].rank == number) {
            return &c->model.ranks[i];
        }
    }
    return NULL;
}

static bool read_number(const char *text, int64_t *v)
{
    char *end = NULL;
    *v = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *v >= 0 && *v <= MAX_PLACE;
}

static marey_status put_word(const topology_line *l, trace_rank *r, const char *word)
{
    static const char *const keys[] = {"stage=", "dp=", "tp=", "ep="};
    const uint32_t bits[] = {INFERRED_STAGE, INFERRED_DP, INFERRED_TP, INFERRED_EP};
    int32_t *const places[] = {&r->stage, &r->dp, &r->tp, &r->ep};
    if (strncmp(word, "host=", 5) == 0) {
        r->host = arena_strndup(&l->c->model.mem, word + 5, strlen(word + 5));
        r->inferred &= ~(uint32_t)INFERRED_HOST;
        return MAREY_OK;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t n = strlen(keys[i]);
        int64_t v;
        if (strncmp(word, keys[i], n) == 0 && read_number(word + n, &v)) {
            *places[i] = (int32_t)v;
            r->inferred &= ~bits[i];
            return MAREY_OK;
        }
    }
    return refuse(l, "a word that is no place");
}

static marey_status read_line(const topology_line *l, char *line)
{
    static const char spaces[] = " \t\r";
    char *rest = NULL;
    const char *word = strtok_r(line, spaces, &rest);
    if (!word || *word == '#') {
        return MAREY_OK;
    }
    const char *number = strtok_r(NULL, spaces, &rest);
    int64_t rank;
    if (strcmp(word, "rank") != 0 || !number || !read_number(number, &rank)) {
        return refuse(l, "not a rank");
    }
    trace_rank unused = {0};
    trace_rank *r = rank_of(l->c, rank);
    marey_status status = MAREY_OK;
    while (status == MAREY_OK && (word = strtok_r(NULL, spaces, &rest)) != NULL) {
        status = put_word(l, r ? r : &unused, word);
    }
    return status;
}

marey_status topology_read(conversion *c, const char *path)
{
    char *text = NULL;
    size_t n = 0;
    marey_status status = file_read_all(path, MAX_TOPOLOGY_BYTES, &text, &n, c->diag);
    topology_line l = {c, path, 0};
    char *at = text;
    while (status == MAREY_OK && at && at < text + n) {
        char *end = memchr(at, '\n', (size_t)(text + n - at));
        l.number++;
        if (end) {
            *end = '\0';
        }
        status = read_line(&l, at);
        at = end ? end + 1 : text + n;
    }
    free(text);
    return status;
}
