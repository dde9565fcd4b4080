/*
 * The words of a simulated rank in Kineto's form: numbers, arguments of events, process groups. Shared by both outputs.
 *
 * Texts are written into a buffer that the caller knows to be large enough: no event's arguments exceed TEXT_ARGS_MAX.
 */
#ifndef MAREY_SYNTH_TEXT_H
#define MAREY_SYNTH_TEXT_H

#include "base/text.h"
#include "synth/emit.h"

enum { TEXT_ARGS_MAX = 2048, TEXT_RANKS_MAX = 400 };

char *synth_put(char *p, const char *s);
char *text_put_n(char *p, const char *s, size_t n);
char *text_put_u64(char *p, uint64_t v);
char *text_put_i64(char *p, int64_t v);
/** ns as decimal microseconds, "1234.567". */
char *text_put_us(char *p, int64_t ns);

/* What is the same for all events of a rank. */
typedef struct rank_words {
    const plan *pl;
    int rank;
    thread_text threads[TH_COUNT];
    char groups[GROUP_KINDS][TEXT_RANKS_MAX]; /* "[0, 1, ..., 31]" as the profiler shortens it */
    char host[24];
    uint64_t n_cpu_ops; /* counts on: "Ev Idx" */
} rank_words;

void rank_words_init(rank_words *w, const plan *pl, int rank);
/** The event's arguments, "{...}", or nothing where it has none. @return behind the last byte */
char *rank_words_args(rank_words *w, char *p, const synth_event *e);
/** The event's name. */
char *text_put_name(char *p, const synth_event *e);

/** distributedInfo's pg_config: the groups that this rank belongs to. */
void text_groups_json(strbuf *out, const plan *pl, int rank);
/** The name of a group's kind, "TENSOR_MODEL_PARALLEL_GROUP". */
const char *text_group_description(plan_group_kind kind);

#endif
