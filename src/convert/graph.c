/* The computational graph beside a run: read, counted among the inputs, written into the same file. */
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "convert/source.h"
#include "readers/graph_reader.h"

marey_status graph_side_load(conversion *c)
{
    graph_side *g = &c->graph;
    if (c->options->n_graphs == 0) {
        return MAREY_OK;
    }
    graph_finish_options options = {.infer_scopes = !c->options->no_infer_scopes, .cancel = c->options->cancel};
    const convert_options *o = c->options;
    marey_status status = o->graph_data ? graph_read_memory(o->graph_data, o->graph_size, o->graph_paths[0], &options,
                                                            &g->graph, &g->diag)
                                        : graph_read_files(o->graph_paths, o->n_graphs, &options, &g->graph, &g->diag);
    for (size_t i = 0; i < g->diag.n_messages; i++) {
        const diag_message *m = &g->diag.messages[i];
        if (m->severity == DIAG_ERROR) {
            (void)diag_error(c->diag, m->status, m->where, m->offset, "%s", m->text);
        } else {
            diag_warn(c->diag, m->where, m->offset, "%s", m->text);
        }
    }
    g->is_read = status == MAREY_OK;
    return status;
}

void graph_side_add_input(conversion *c)
{
    if (!c->graph.is_read) {
        return;
    }
    const convert_options *o = c->options;
    const char *format = graph_string(&c->graph.graph, c->graph.graph.format);
    c->graph.input = (uint32_t)c->model.n_inputs;
    for (size_t i = 0; i < o->n_graphs; i++) {
        trace_input in = {.path = o->graph_paths[i],
                          .format = arena_strndup(&c->model.mem, format, strlen(format)),
                          .bytes = o->graph_data ? o->graph_size : file_size(o->graph_paths[i]),
                          .rank = NO_ID};
        VEC_PUSH(c->model.inputs, c->model.n_inputs, c->model.cap_inputs, in);
    }
}

marey_status graph_side_write(conversion *c)
{
    return c->graph.is_read ? store_writer_graph(c->writer, &c->graph.graph, c->diag) : MAREY_OK;
}

void graph_side_deinit(conversion *c)
{
    graph_deinit(&c->graph.graph);
    diag_deinit(&c->graph.diag);
}
