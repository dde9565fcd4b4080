#include "graph/hierarchy.h"

marey_status hierarchy_infer(graph *g, text_table *strings, cancel_flag *cancel)
{
    (void)g;
    (void)strings;
    return is_cancelled(cancel) ? MAREY_CANCELLED : MAREY_OK;
}
