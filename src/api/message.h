/* A call's diagnostics as the one sentence that its caller gets. */
#ifndef MAREY_API_MESSAGE_H
#define MAREY_API_MESSAGE_H

#include "base/diag.h"

/** The first error, with its file and offset; the status's own words where there is none. `d` is deinitialised. */
marey_status api_tell(marey_status status, diag *d, char *message, size_t cap);

#endif
