/*
 * Small helpers around HDF5. The library is not reentrant in every build, so that each call lies between h5_enter() and
 * h5_leave(): one lock for the whole process, with the library's own error printing off.
 */
#ifndef MAREY_STORE_H5_H
#define MAREY_STORE_H5_H

#include <stdbool.h>
#include <stdint.h>

#include <hdf5.h>

#include "base/diag.h"
#include "store/schema.h"

void h5_enter(void);
void h5_leave(void);

/** Add a sentence with the library's innermost reason, and return `status`. */
marey_status h5_fail(diag *d, marey_status status, const char *file, const char *what);

hid_t h5_type(schema_type t); /* in the file; memory is the same on the machines that marey runs on */

/** @return false when absent, of another type, or longer than cap - 1 */
bool h5_get_text(hid_t object, const char *name, char *out, size_t cap);
bool h5_get_i64(hid_t object, const char *name, int64_t *out);

#endif
