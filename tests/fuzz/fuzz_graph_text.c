/* Any bytes as a graph file of the text formats (and of all others): read or refused in a sentence, and what is read
 * holds together. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    diag d;
    graph g;
    graph_finish_options options = {0};
    diag_init(&d);
    marey_status status = graph_read_memory(data, size, "input", &options, &g, &d);
    if (status == MAREY_OK) {
        check(graph_check(&g) == NULL);
        check(g.n_nodes > 0);
        graph_deinit(&g);
    } else {
        check(d.n_messages > 0);
    }
    diag_deinit(&d);
    return 0;
}
