/* Any bytes as a graph, by every format that does not refuse them: what is read holds the invariants, and what is
 * refused is refused with a sentence. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "readers/graph_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
    if (!right) {
        abort();
    }
}

/* What the table would choose. */
static void chosen(const uint8_t *data, size_t size)
{
    graph g;
    diag d;
    graph_finish_options options = {.infer_scopes = size % 2 == 0};
    diag_init(&d);
    marey_status status = graph_read_memory(data, size, "input", &options, &g, &d);
    check(status != MAREY_OK || graph_check(&g) == NULL);
    check(status == MAREY_OK || d.n_messages > 0);
    if (status == MAREY_OK) {
        graph_deinit(&g);
    }
    diag_deinit(&d);
}

/* Each reader must stand what its sniffer lets through, whoever comes first in the table. */
static void every_format(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < N_GRAPH_FORMATS; i++) {
        diag d;
        graph g;
        diag_init(&d);
        graph_input in = {.data = data, .size = size, .path = "input", .diag = &d, .file = diag_file(&d, "input")};
        graph_builder *b = graph_builder_create(&d, in.file);
        graph_finish_options options = {0};
        if (size > 0 && GRAPH_FORMATS[i]->sniff(&in) > 0 && GRAPH_FORMATS[i]->read(&in, b) == MAREY_OK &&
            graph_builder_finish(b, &options, &g) == MAREY_OK) {
            check(graph_check(&g) == NULL);
            graph_deinit(&g);
        }
        graph_builder_destroy(&b);
        diag_deinit(&d);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    chosen(data, size);
    every_format(data, size);
    return 0;
}
