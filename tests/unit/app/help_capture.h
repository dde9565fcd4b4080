/* Catch what a call prints on standard output or standard error. */
#ifndef TESTS_UNIT_APP_HELP_CAPTURE_H
#define TESTS_UNIT_APP_HELP_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct capture {
    FILE *stream;
    FILE *file;
    int saved;
} capture;

static inline capture capture_begin(FILE *stream)
{
    (void)fflush(stream);
    capture c = {stream, tmpfile(), dup(fileno(stream))};
    if (!c.file || c.saved < 0 || dup2(fileno(c.file), fileno(stream)) < 0) {
        abort();
    }
    return c;
}

/** Puts the stream back. `out` gets the text, cut to its size. */
static inline void capture_end(capture *c, char *out, size_t cap)
{
    (void)fflush(c->stream);
    (void)dup2(c->saved, fileno(c->stream));
    (void)close(c->saved);
    rewind(c->file);
    size_t n = fread(out, 1, cap - 1, c->file);
    out[n] = '\0';
    (void)fclose(c->file);
}

#endif
