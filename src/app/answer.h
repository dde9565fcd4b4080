/*
 * A command that answers on standard output what it is asked of one file: open it, answer, say what went wrong.
 */
#ifndef MAREY_APP_ANSWER_H
#define MAREY_APP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "store/store.h"

/** Writes the answer to standard output and nothing else there. `ctx` is what program_answer() was given. */
typedef marey_status (*program_answer_fn)(const void *ctx, store_file *f, diag *d);

/** Raw inputs are converted first (app/input.h). @return the program's exit code */
int program_answer(const char *const *paths, size_t n, bool quiet, program_answer_fn answer, const void *ctx);

#endif
