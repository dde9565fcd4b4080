/* What main() knows and the commands use. Thread: the main thread, but for `program_cancel`. */
#ifndef MAREY_APP_PROGRAM_H
#define MAREY_APP_PROGRAM_H

#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/thread.h"

/** When main() began, as clock_now_ns() counts: what "first picture" is measured from. */
extern int64_t program_start_ns;

/** Set by Ctrl-C (SIGINT, SIGTERM) once program_catch_interrupt() was called: long work ends cleanly. */
extern cancel_flag program_cancel;
void program_catch_interrupt(void);

/**
 * Write every message of `d` to standard error, one a line: "marey: FILE: TEXT (at byte N)". Notes and warnings are
 * left out when `quiet`; errors never.
 */
void program_print_messages(const diag *d, bool quiet);

/** What main() returns for it: EXIT_DONE, EXIT_USAGE for ARG, else EXIT_INPUT (app/commands.h). */
int program_exit_code(marey_status status);

#endif
