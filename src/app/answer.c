#include "app/answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/input.h"
#include "app/program.h"

int program_answer(const char *const *paths, size_t n, bool quiet, program_answer_fn answer, const void *ctx)
{
    diag d;
    diag_init(&d);
    char *file = NULL;
    store_file *f = NULL;
    marey_status status = input_resolve(paths, n, quiet, &file, &d);
    if (status == MAREY_OK) {
        status = store_open(&f, file, &d);
    }
    if (status == MAREY_OK) {
        status = answer(ctx, f, &d);
    }
    if (status == MAREY_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        status = diag_error(&d, MAREY_IO, NULL, DIAG_NO_OFFSET, "The answer could not be written to standard output.");
    }
    program_print_messages(&d, quiet);
    store_close(&f);
    diag_deinit(&d);
    free(file);
    return program_exit_code(status);
}
