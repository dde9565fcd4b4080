/* A converted file as text: everything that a reader of it can learn, in a fixed order. */
#ifndef MAREY_TESTS_CONVERT_DUMP_H
#define MAREY_TESTS_CONVERT_DUMP_H

#include "base/text.h"
#include "store/store.h"

/** Appends the text. @return false with a message in `d` when the file can't be read */
bool dump_file(const char *path, strbuf *out, diag *d);

#endif
