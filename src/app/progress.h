/* One line of progress on standard error: on a terminal it is rewritten in place, elsewhere a line comes every five
 * seconds. */
#ifndef MAREY_APP_PROGRESS_H
#define MAREY_APP_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "convert/convert.h"

typedef struct progress_line {
    pthread_mutex_t lock;
    bool quiet;
    bool is_terminal;
    bool is_written; /* something stands on the terminal's line */
    int64_t last_ns;
} progress_line;

void progress_begin(progress_line *p, bool quiet);
/** As convert_options.progress wants it; `ctx` is the progress_line. Thread: any. */
void progress_report(void *ctx, const convert_progress *p);
/** Clears the terminal's line. */
void progress_end(progress_line *p);

#endif
