#include "api/message.h"

#include <inttypes.h>
#include <stdio.h>

static const diag_message *first_error(const diag *d)
{
    for (size_t i = 0; i < d->n_messages; i++) {
        if (d->messages[i].severity == DIAG_ERROR) {
            return &d->messages[i];
        }
    }
    return NULL;
}

static void write_message(const diag_message *m, marey_status status, char *message, size_t cap)
{
    if (!m) {
        (void)snprintf(message, cap, "%s", status == MAREY_OK ? "" : marey_status_text(status));
    } else if (!m->where) {
        (void)snprintf(message, cap, "%s", m->text);
    } else if (m->offset == DIAG_NO_OFFSET) {
        (void)snprintf(message, cap, "%s: %s", m->where, m->text);
    } else {
        (void)snprintf(message, cap, "%s: at byte %" PRIu64 ": %s", m->where, m->offset, m->text);
    }
}

marey_status api_tell(marey_status status, diag *d, char *message, size_t cap)
{
    if (message && cap > 0) {
        write_message(status == MAREY_OK ? NULL : first_error(d), status, message, cap);
    }
    diag_deinit(d);
    return status;
}
