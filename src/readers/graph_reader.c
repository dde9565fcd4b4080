#include "readers/graph_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "parse/jspan.h"
#include "parse/source.h"
#include "readers/graph_formats.h"

/* An empty entry ends the table. */
const graph_format *const GRAPH_FORMATS[] = {
    &GRAPH_ONNX, &GRAPH_TENSORFLOW,     &GRAPH_MINDSPORE,  &GRAPH_CHAKRA, &GRAPH_HLO_TEXT, &GRAPH_HLO_PB, &GRAPH_MLIR,
    &GRAPH_DOT,  &GRAPH_MODEL_EXPLORER, &GRAPH_EXEC_TRACE, NULL,
};
const size_t N_GRAPH_FORMATS = sizeof GRAPH_FORMATS / sizeof *GRAPH_FORMATS - 1;

/* What is unpacked lies in memory as a whole. */
static const size_t UNPACKED_BYTES_MAX = (size_t)2 << 30;

/* ---- what it is ---- */

bool graph_head_has(const graph_input *in, const char *text)
{
    return memmem(in->data, graph_head_size(in), text, strlen(text)) != NULL;
}

char graph_head_byte(const graph_input *in)
{
    size_t n = graph_head_size(in);
    size_t i = n >= 3 && memcmp(in->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (i < n && jis_blank((char)in->data[i])) {
        i++;
    }
    return i < n ? (char)in->data[i] : 0;
}

static const graph_format *choose(const graph_input *in, int *score)
{
    const graph_format *best = NULL;
    *score = 0;
    for (size_t i = 0; i < N_GRAPH_FORMATS && *score < 2 && in->size > 0; i++) {
        int s = GRAPH_FORMATS[i]->sniff(in);
        if (s > *score) {
            best = GRAPH_FORMATS[i];
            *score = s;
        }
    }
    return best;
}

static const char *other_kind(const graph_input *in)
{
    static const struct {
        const char *magic, *what;
    } kinds[] = {
        {"\x89HDF\r\n", "an HDF5 file"},
        {"SQLite format 3", "an SQLite database"},
        {"\x7F"
         "ELF",
         "a program"},
        {"\x89PNG", "a picture"},
        {"%PDF", "a PDF document"},
        {"BZh", "compressed by bzip2, which marey does not unpack"},
        {"\x80\x02", "a Python pickle"},
        {"\xFD"
         "7zXZ",
         "compressed by xz, which marey does not unpack"},
        {"\x1C\0\0\0TFL3", "a TFLite model, which marey does not read"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = strlen(kinds[i].magic);
        if (in->size >= n && memcmp(in->data, kinds[i].magic, n) == 0) {
            return kinds[i].what;
        }
    }
    char c = graph_head_byte(in);
    if (c == '{' || c == '[') {
        return "JSON, but none of the graph formats that marey knows";
    }
    return in->size == 0                              ? "empty"
           : memchr(in->data, 0, graph_head_size(in)) ? "a binary file of an unknown kind"
                                                      : "text of an unknown kind";
}

/* ---- the file's bytes ---- */

typedef struct content {
    uint8_t *data;
    size_t size;
    bool mapped;
} content;

static void drop_content(content *c)
{
    if (c->mapped) {
        (void)munmap(c->data, c->size);
    } else {
        free(c->data);
    }
    *c = (content){0};
}

/* Pages are read from disk when they are touched, so weights between the records cost nothing.
 * @return false where the file can't be mapped (a pipe): it is read then */
static bool map_file(const char *path, content *c)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *p = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        (uint64_t)info.st_size <= SIZE_MAX) {
        p = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (p == MAP_FAILED) {
        return false;
    }
    *c = (content){.data = p, .size = (size_t)info.st_size, .mapped = true};
    return true;
}

void graph_release(const graph_input *in)
{
    if (in->is_mapped) {
        (void)madvise((void *)(uintptr_t)in->data, in->size, MADV_DONTNEED);
    }
}

/* Up to `limit` bytes; more than that is not an error here. */
static marey_status read_bytes(source *s, size_t limit, cancel_flag *cancel, content *c)
{
    size_t cap = 0;
    while (c->size < limit) {
        if (is_cancelled(cancel)) {
            return MAREY_CANCELLED;
        }
        if (c->size == cap) {
            size_t more = cap ? cap * 2 : 65536;
            uint8_t *data = mem_try_realloc_array(c->data, more < limit ? more : limit, 1);
            if (!data) {
                return MAREY_NOMEM;
            }
            c->data = data;
            cap = more < limit ? more : limit;
        }
        size_t want = cap - c->size < (size_t)1 << 20 ? cap - c->size : (size_t)1 << 20;
        size_t got = source_read(s, c->data + c->size, want);
        if (!got) {
            break;
        }
        c->size += got;
    }
    return source_status(s);
}

/* An archive opens at its first member: go to the first that is a graph. The head that was looked at is kept. */
static marey_status find_member(source *s, const char *path, content *head)
{
    int best = 0;
    do {
        drop_content(head);
        marey_status status = read_bytes(s, GRAPH_HEAD_BYTES, NULL, head);
        if (status != MAREY_OK) {
            return status;
        }
        graph_input in = {.data = head->data, .size = head->size, .path = path};
        (void)choose(&in, &best);
    } while (best == 0 && source_next_member(s));
    return MAREY_OK;
}

static marey_status read_rest(source *s, const graph_input *in, content *c)
{
    content rest = {0};
    marey_status status = MAREY_OK;
    if (c->size == GRAPH_HEAD_BYTES) {
        status = read_bytes(s, UNPACKED_BYTES_MAX, in->cancel, &rest);
    }
    if (status == MAREY_OK && rest.size >= UNPACKED_BYTES_MAX - GRAPH_HEAD_BYTES) {
        status = diag_error(in->diag, MAREY_LIMIT, in->path, DIAG_NO_OFFSET,
                            "The file is larger than 2 GiB unpacked; unpack it first.");
    }
    uint8_t *joined = status == MAREY_OK ? mem_try_realloc_array(c->data, c->size + rest.size + 1, 1) : NULL;
    if (joined) {
        c->data = joined;
        if (rest.size) {
            memcpy(joined + c->size, rest.data, rest.size);
        }
        c->size += rest.size;
    } else if (status == MAREY_OK) {
        status = MAREY_NOMEM;
    }
    drop_content(&rest);
    return status == MAREY_NOMEM ? diag_error(in->diag, status, in->path, DIAG_NO_OFFSET,
                                              "There is not enough memory to unpack the file.")
                                 : status;
}

static marey_status load(const char *path, const graph_input *in, content *c)
{
    source *s = NULL;
    source_options options = {.diag = in->diag, .file = in->file};
    marey_status status = source_open(path, &options, &s);
    if (status == MAREY_OK && (source_is_packed(s) || !map_file(path, c))) {
        status = find_member(s, path, c);
        if (status == MAREY_OK) {
            status = read_rest(s, in, c);
        }
    }
    source_close(&s);
    return status;
}

/* ---- reading ---- */

static const graph_format *known_format(const graph_input *in)
{
    int score = 0;
    const graph_format *format = choose(in, &score);
    if (!format) {
        (void)diag_error(in->diag, MAREY_UNSUPPORTED, in->path, 0, "This is no graph that marey reads: it is %s.",
                         other_kind(in));
    }
    return format;
}

static marey_status push_input(const graph_input *in, const graph_format *format, graph_builder *b)
{
    marey_status status = format->read(in, b);
    return status == MAREY_OK && is_cancelled(in->cancel) ? MAREY_CANCELLED : status;
}

/* `c`: what holds the input, dropped as soon as all of it was pushed, so that it is not in memory beside the finished
 * graph; NULL: the caller's. */
static marey_status read_input(const graph_input *in, content *c, const graph_finish_options *options, graph *out)
{
    const graph_format *format = known_format(in);
    if (!format) {
        return MAREY_UNSUPPORTED;
    }
    graph_builder *b = graph_builder_create(in->diag, in->file);
    marey_status status = push_input(in, format, b);
    if (c) {
        drop_content(c);
    }
    if (status == MAREY_OK) {
        status = graph_builder_finish(b, options, out);
    }
    graph_builder_destroy(&b);
    return status;
}

marey_status graph_read_memory(const void *data, size_t size, const char *name, const graph_finish_options *options,
                               graph *out, diag *d)
{
    *out = (graph){0};
    graph_input in = {.data = data,
                      .size = size,
                      .path = name,
                      .diag = d,
                      .file = diag_file(d, name),
                      .cancel = options ? options->cancel : NULL};
    return read_input(&in, NULL, options, out);
}

static graph_input input_of(const char *path, const graph_finish_options *options, diag *d)
{
    return (graph_input){
        .path = path, .diag = d, .file = diag_file(d, path), .cancel = options ? options->cancel : NULL};
}

static marey_status load_input(graph_input *in, content *c)
{
    marey_status status = load(in->path, in, c);
    in->data = c->data;
    in->size = c->size;
    in->is_mapped = c->mapped;
    return status;
}

marey_status graph_read_file(const char *path, const graph_finish_options *options, graph *out, diag *d)
{
    *out = (graph){0};
    graph_input in = input_of(path, options, d);
    content c = {0};
    mem_set_large_apart();
    marey_status status = load_input(&in, &c);
    if (status == MAREY_OK) {
        status = read_input(&in, &c, options, out);
    }
    drop_content(&c);
    return status;
}

/* ---- several files ---- */

static bool makes_parts(const graph_format *format)
{
    return format == &GRAPH_MINDSPORE;
}

static marey_status push_file(graph_input *in, graph_builder *b)
{
    content c = {0};
    marey_status status = load_input(in, &c);
    const graph_format *format = status == MAREY_OK ? known_format(in) : NULL;
    status = status == MAREY_OK && !format ? MAREY_UNSUPPORTED : status;
    if (status == MAREY_OK) {
        const char *name = path_base(in->path);
        graph_builder_begin_input(b, 0, in->file);
        uint32_t root = makes_parts(format) ? 0 : graph_builder_new_scope(b, 0, name, strlen(name), 0);
        graph_builder_begin_input(b, root, in->file);
        status = push_input(in, format, b);
    }
    drop_content(&c);
    return status;
}

marey_status graph_read_files(const char *const *paths, size_t n, const graph_finish_options *options, graph *out,
                              diag *d)
{
    if (n == 1) {
        return graph_read_file(paths[0], options, out, d);
    }
    *out = (graph){0};
    graph_builder *b = graph_builder_create(d, UINT32_MAX);
    graph_parts *parts = graph_parts_create();
    marey_status status = MAREY_OK;
    graph_input in = {0};
    for (size_t i = 0; i < n && status == MAREY_OK; i++) {
        in = input_of(paths[i], options, d);
        in.parts = parts;
        status = push_file(&in, b);
    }
    if (status == MAREY_OK) {
        graph_builder_begin_input(b, 0, in.file);
        graph_parts_finish(parts, &in, b);
        status = graph_builder_finish(b, options, out);
    }
    graph_parts_destroy(&parts);
    graph_builder_destroy(&b);
    return status;
}

/* The format of a file by its first bytes; NULL: none. */
static const graph_format *sniff_format(const char *path, int *score)
{
    source *s = NULL;
    source_options quiet = {0};
    content head = {0};
    const graph_format *format = NULL;
    *score = 0;
    if (source_open(path, &quiet, &s) == MAREY_OK && find_member(s, path, &head) == MAREY_OK) {
        graph_input in = {.data = head.data, .size = head.size, .path = path};
        format = choose(&in, score);
    }
    source_close(&s);
    drop_content(&head);
    return format;
}

int graph_sniff_file(const char *path)
{
    int score = 0;
    (void)sniff_format(path, &score);
    return score;
}

bool graph_is_part_file(const char *path)
{
    int score = 0;
    const graph_format *format = sniff_format(path, &score);
    return format && makes_parts(format);
}
