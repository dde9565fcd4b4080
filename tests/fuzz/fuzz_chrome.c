/* Any bytes as a trace: plain, or compressed by any of the ways that a source knows. Windows are small, so that cuts
 * matter. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "readers/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Arguments that were taken apart are put together again: what an object begins and ends with must come out. */
static void check_args(const arg_shapes *shapes, const char *record, size_t n)
{
    strbuf text = {0};
    arg_record_decode(shapes, record, n, &text);
    if (text.n < 2 || text.s[0] != '{' || text.s[text.n - 1] != '}') {
        abort();
    }
    strbuf_deinit(&text);
}

static marey_status check_chunk(void *ctx, trace_chunk *c)
{
    const arg_shapes *shapes = ctx;
    size_t n_args = 0;
    for (size_t i = 0; i < c->n; i++) {
        const trace_row *r = &c->rows[i];
        if (shapes && r->args_len > 0) {
            check_args(shapes, c->args + r->args_at, r->args_len);
        }
        bool in_order = r->args_at == n_args;
        n_args += r->args_len;
        if (!in_order || r->dur_ns < 0 || r->start_ns == TIME_MISSING) {
            abort();
        }
    }
    if (n_args != c->n_args) {
        abort();
    }
    return MAREY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trace_builder b;
    diag d;
    diag_init(&d);
    trace_builder_init(&b);
    b.diag = &d;
    b.file = diag_file(&d, "input");
    b.flush = check_chunk;
    arg_shapes shapes;
    arg_shapes_init(&shapes);
    if (size % 4) {
        b.taker = arg_taker_create(&shapes);
        b.flush_ctx = &shapes;
    }
    reader_tuning t = {.window_bytes = 64 + size % 512, .read_bytes = size % 3 ? 1 + size % 200 : 0};
    t.threads = size % 5 == 0 ? 2U + (unsigned)(size % 3) : 0;
    t.part_bytes = 1 + size % 700;
    t.in_turn = size % 10 == 0;
    marey_status status = reader_read_memory(data, size, "input", &b, &t);
    if (status != MAREY_OK && d.n_messages == 0) {
        abort(); /* a failure without a word */
    }
    arg_taker_destroy(&b.taker);
    arg_shapes_deinit(&shapes);
    trace_builder_deinit(&b);
    diag_deinit(&d);
    return 0;
}
