/* Opening and closing a file for reading. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/reader.h"

static marey_status open_descriptor(store_file *f, diag *d)
{
    struct stat st;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &st) != 0) {
        return diag_error(d, MAREY_IO, f->path, DIAG_NO_OFFSET, "cannot be opened: %s", strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return diag_error(d, MAREY_IO, f->path, DIAG_NO_OFFSET, "is not a regular file");
    }
    f->file_bytes = (uint64_t)st.st_size;
    return MAREY_OK;
}

/* The first thing in the file: HDF5 may also have it at 512, 1024, ..., but marey never writes that. */
static marey_status check_signature(const store_file *f, diag *d)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char head[8] = {0};
    if (pread(f->fd, head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head, signature, sizeof head) != 0) {
        return diag_error(d, MAREY_FORMAT, f->path, 0, "is not an HDF5 file");
    }
    return MAREY_OK;
}

static marey_status check_version(store_file *f, diag *d)
{
    char format[32];
    char *version = f->version;
    if (!h5_get_text(f->file, "format", format, sizeof format) || strcmp(format, "marey") != 0) {
        return diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "is an HDF5 file, but not one of marey's");
    }
    if (!h5_get_text(f->file, "version", version, sizeof f->version)) {
        return diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "damaged: the version is missing");
    }
    char *end = NULL;
    long major = strtol(version, &end, 10);
    if (end == version || *end != '.') {
        return diag_error(d, MAREY_FORMAT, f->path, DIAG_NO_OFFSET, "damaged: the version is \"%s\"", version);
    }
    if (major != STORE_VERSION_MAJOR) {
        return diag_error(d, MAREY_VERSION, f->path, DIAG_NO_OFFSET,
                          "has format version %s; this marey reads version %d", version, STORE_VERSION_MAJOR);
    }
    return MAREY_OK;
}

static marey_status open_library(store_file *f, diag *d)
{
    h5_enter();
    marey_status status = MAREY_OK;
    hid_t fapl = vfd_fapl(&f->record);
    f->file = fapl < 0 ? -1 : H5Fopen(f->path, H5F_ACC_RDONLY, fapl);
    if (f->file < 0) {
        status = h5_fail(d, MAREY_FORMAT, f->path, "damaged or cut off: HDF5 cannot open it");
    } else {
        status = check_version(f, d);
    }
    if (fapl >= 0) {
        (void)H5Pclose(fapl);
    }
    h5_leave();
    return status;
}

marey_status store_open(store_file **out, const char *path, diag *d)
{
    *out = NULL;
    marey_status status = MAREY_OK;
    store_file *f = mem_calloc(1, sizeof *f);
    f->path = mem_strdup(path);
    f->fd = -1;
    f->file = -1;
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_mutex_init(&f->making, NULL);
    trace_model_init(&f->model);
    MAREY_TRY(open_descriptor(f, d));
    MAREY_TRY(check_signature(f, d));
    MAREY_TRY(open_library(f, d));
    MAREY_TRY(reader_load_model(f, d));
    MAREY_TRY(reader_load_directory(f, d));
    *out = f;
    return MAREY_OK;
fail:
    store_close(&f);
    return status;
}

static void close_library(store_file *f)
{
    h5_enter();
    for (unsigned i = 0; i < SCHEMA_COUNT; i++) {
        if (f->in[i].id > 0) {
            (void)H5Dclose(f->in[i].id);
        }
    }
    (void)H5Fclose(f->file);
    h5_leave();
}

static void free_benches(read_bench *b)
{
    while (b) {
        read_bench *next = b->next;
        codec_deinit(&b->codec);
        free(b->raw);
        free(b->words);
        free(b);
        b = next;
    }
}

void store_close(store_file **ff)
{
    store_file *f = *ff;
    if (!f) {
        return;
    }
    if (f->file >= 0) {
        close_library(f);
    }
    if (f->fd >= 0) {
        (void)close(f->fd);
    }
    reader_free_directory(f);
    free_benches(f->benches);
    for (unsigned i = 0; i < N_RECENT; i++) {
        store_columns_free(&f->recent[i].columns);
    }
    trace_model_deinit(&f->model);
    free(f->strings);
    free(f->string_start);
    free(f->members);
    free(f->comm_first);
    free(f->template_bytes);
    free(f->template_start);
    (void)pthread_mutex_destroy(&f->making);
    (void)pthread_mutex_destroy(&f->lock);
    free(f->path);
    free(f);
    *ff = NULL;
}

const trace_model *store_model(const store_file *f)
{
    return &f->model;
}

const char *store_version(const store_file *f)
{
    return f->version;
}

const char *store_path(const store_file *f)
{
    return f->path;
}

uint64_t store_bytes_read(const store_file *f)
{
    /* Loading an atomic needs no write access, but C11's functions ask for it. */
    const _Atomic uint64_t *raw = &f->bytes_read;
    const _Atomic uint64_t *library = &f->record.bytes_read;
    return *raw + *library;
}

/* ------------------------------------------------------------------ sizes */

static uint64_t *part_of(store_sizes *s, const char *path)
{
    static const struct {
        const char *prefix;
        size_t offset;
    } parts[] = {
        {"/events/", offsetof(store_sizes, events)},       {"/blocks/", offsetof(store_sizes, events)},
        {"/groups/", offsetof(store_sizes, events)},       {"/carry/", offsetof(store_sizes, events)},
        {"/lod/", offsetof(store_sizes, pyramid)},         {"/args/", offsetof(store_sizes, arguments)},
        {"/model/strings/", offsetof(store_sizes, names)}, {"/model/names/", offsetof(store_sizes, names)},
        {"/graph/", offsetof(store_sizes, graph)},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strncmp(path, parts[i].prefix, strlen(parts[i].prefix)) == 0) {
            return (uint64_t *)(void *)((char *)s + parts[i].offset);
        }
    }
    return &s->other;
}

store_sizes store_file_sizes(store_file *f)
{
    store_sizes s = {.file = f->file_bytes};
    for (unsigned i = 0; i < SCHEMA_COUNT; i++) {
        uint64_t n;
        if (in_rows(f, (schema_id)i, &n, NULL) != MAREY_OK) {
            continue;
        }
        h5_enter();
        *part_of(&s, SCHEMA[i].path) += (uint64_t)H5Dget_storage_size(f->in[i].id);
        h5_leave();
    }
    uint64_t named = s.events + s.pyramid + s.names + s.arguments + s.graph;
    s.other = s.file > named ? s.file - named : 0;
    return s;
}
