/* bench_graph --memory. */
#ifndef MAREY_BENCH_GRAPH_MEMORY_H
#define MAREY_BENCH_GRAPH_MEMORY_H

/** Prints a line for each way. `program`: marey; `large`, `small`: graphs as files. @return what main returns */
int bench_memory(const char *program, const char *large, const char *small);

#endif
