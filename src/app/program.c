#include "app/program.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "app/commands.h"

int64_t program_start_ns;
cancel_flag program_cancel;

/* The second Ctrl-C ends the program the usual way, should the work not look at the flag. */
static void on_interrupt(int signal_number)
{
    atomic_store_explicit(&program_cancel.set, true, memory_order_relaxed);
    (void)signal(signal_number, SIG_DFL);
}

void program_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static void print_message(const diag_message *m)
{
    static const char *const prefix[] = {[DIAG_NOTE] = "note: ", [DIAG_WARNING] = "warning: ", [DIAG_ERROR] = ""};
    (void)fprintf(stderr, "marey: %s", prefix[m->severity]);
    if (m->where) {
        (void)fprintf(stderr, "%s: ", m->where);
    }
    (void)fputs(m->text, stderr);
    if (m->offset != DIAG_NO_OFFSET) {
        (void)fprintf(stderr, " (at byte %" PRIu64 ")", m->offset);
    }
    (void)fputc('\n', stderr);
}

void program_print_messages(const diag *d, bool quiet)
{
    for (size_t i = 0; i < d->n_messages; i++) {
        if (!quiet || d->messages[i].severity == DIAG_ERROR) {
            print_message(&d->messages[i]);
        }
    }
    if (d->n_suppressed > 0 && !quiet) {
        (void)fprintf(stderr, "marey: and %" PRIu64 " more messages\n", d->n_suppressed);
    }
}

int program_exit_code(marey_status status)
{
    return status == MAREY_OK ? EXIT_DONE : status == MAREY_ARG ? EXIT_USAGE : EXIT_INPUT;
}
