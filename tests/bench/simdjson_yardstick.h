/* simdjson's DOM parser, warm, as a yardstick: parse only, nothing is read out. */
#ifndef MAREY_BENCH_SIMDJSON_YARDSTICK_H
#define MAREY_BENCH_SIMDJSON_YARDSTICK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct yardstick yardstick;

yardstick *yardstick_create(const char *data, size_t n); /* copies the text */
int yardstick_parse(yardstick *y);                       /* 0: done */
void yardstick_destroy(yardstick *y);

#ifdef __cplusplus
}
#endif

#endif
