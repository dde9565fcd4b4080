/* Zip archives: libzip lists the members and unpacks the one that is read. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/source_private.h"

enum { MAX_MEMBERS = 100000 };

static zip_t *open_zip(source *s, zip_error_t *error)
{
    zip_source_t *from = s->raw.memory ? zip_source_buffer_create(s->raw.memory, s->raw.memory_size, 0, error)
                                       : zip_source_file_create(s->path, 0, -1, error);
    if (!from) {
        return NULL;
    }
    zip_t *zip = zip_open_from_source(from, ZIP_RDONLY, error);
    if (!zip) {
        zip_source_free(from);
    }
    return zip;
}

marey_status archive_open(source *s)
{
    zip_error_t error;
    zip_error_init(&error);
    s->raw.zip = open_zip(s, &error);
    if (!s->raw.zip) {
        marey_status status = diag_error(s->options.diag, MAREY_FORMAT, s->path, DIAG_NO_OFFSET,
                                         "the zip archive cannot be read: %s", zip_error_strerror(&error));
        zip_error_fini(&error);
        return status;
    }
    zip_error_fini(&error);
    zip_int64_t n = zip_get_num_entries(s->raw.zip, 0);
    for (zip_int64_t i = 0; i < n && s->n_members < MAX_MEMBERS; i++) {
        const char *name = zip_get_name(s->raw.zip, (zip_uint64_t)i, 0);
        size_t len = name ? strlen(name) : 0;
        if (len > 0 && name[len - 1] != '/') {
            VEC_PUSH(s->members, s->n_members, s->cap_members, (size_t)i);
        }
    }
    return MAREY_OK;
}

bool archive_open_member(source *s, size_t index)
{
    raw_input *r = &s->raw;
    if (r->member) {
        (void)zip_fclose(r->member);
    }
    s->member = index;
    r->member = zip_fopen_index(r->zip, s->members[index], 0);
    r->at = 0;
    r->end = 0;
    r->eof = false;
    return r->member != NULL;
}

void archive_close(source *s)
{
    if (s->raw.member) {
        (void)zip_fclose(s->raw.member);
    }
    if (s->raw.zip) {
        zip_discard(s->raw.zip);
    }
    s->raw.member = NULL;
    s->raw.zip = NULL;
}

size_t source_n_members(const source *s)
{
    return s->raw.zip ? s->n_members : 0;
}

const char *source_member_name(const source *s, size_t i)
{
    const char *name = i < s->n_members ? zip_get_name(s->raw.zip, s->members[i], 0) : NULL;
    return name ? name : "";
}

const char *source_current_member(const source *s)
{
    return s->raw.zip ? source_member_name(s, s->member) : "";
}
