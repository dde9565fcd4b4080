#include "store/hdf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/status.h"

enum {
    SUPERBLOCK_BYTES = 48,
    WRITE_OUT_BITS = 20 /* a megabyte at a time */,
    HEAD_BYTES = HDF_HEAD_BLOCK * HDF_HEAD_BLOCKS
};

/* ------------------------------------------------------------------ the file */

static void fail(hdf_file *f)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(&f->error, &none, errno ? errno : EIO);
}

void hdf_begin(hdf_file *f, int fd)
{
    atomic_init(&f->error, 0);
    atomic_init(&f->end, SUPERBLOCK_BYTES);
    f->fd = fd;
    f->head = mem_alloc(HEAD_BYTES);
    for (size_t i = 0; i < HDF_HEAD_BLOCKS; i++) {
        atomic_init(&f->filled[i], 0);
    }
}

void hdf_end(hdf_file *f)
{
    free(f->head);
    f->head = NULL;
}

static bool write_at(hdf_file *f, const char *bytes, size_t n, uint64_t addr)
{
    if (!file_pwrite(f->fd, bytes, n, addr)) {
        fail(f);
        return false;
    }
    return true;
}

/* Who puts the last byte of a block writes it. */
static bool put_in_head(hdf_file *f, const char *bytes, size_t n, size_t addr)
{
    memcpy(f->head + addr, bytes, n);
    for (size_t part; n > 0; addr += part, n -= part) {
        size_t block = addr / HDF_HEAD_BLOCK;
        size_t left = HDF_HEAD_BLOCK - addr % HDF_HEAD_BLOCK;
        part = n < left ? n : left;
        bool is_full = atomic_fetch_add(&f->filled[block], (uint32_t)part) + part == HDF_HEAD_BLOCK;
        size_t first = block * HDF_HEAD_BLOCK;
        if (is_full && !write_at(f, f->head + first, HDF_HEAD_BLOCK, first)) {
            return false;
        }
    }
    return true;
}

static bool put_at(hdf_file *f, const void *bytes, size_t n, uint64_t addr)
{
    if (atomic_load(&f->error) != 0) {
        return false;
    }
    const char *from = bytes;
    size_t in_head = addr >= HEAD_BYTES ? 0 : n < HEAD_BYTES - addr ? n : (size_t)(HEAD_BYTES - addr);
    if (in_head > 0 && !put_in_head(f, from, in_head, (size_t)addr)) {
        return false;
    }
    return in_head == n || write_at(f, from + in_head, n - in_head, addr + in_head);
}

/* What is left of the head when all has been put: the last block, where the file ends in it. */
static bool write_rest(hdf_file *f)
{
    uint64_t end = atomic_load(&f->end);
    size_t n = end < HEAD_BYTES ? (size_t)(end % HDF_HEAD_BLOCK) : 0;
    return n == 0 || write_at(f, f->head + (end - n), n, end - n);
}

uint64_t hdf_put(hdf_file *f, const void *bytes, size_t n)
{
    uint64_t addr = atomic_fetch_add(&f->end, n);
    if (!put_at(f, bytes, n, addr)) {
        return HDF_NOWHERE;
    }
    uint64_t whole = (addr + n) >> WRITE_OUT_BITS << WRITE_OUT_BITS;
    if (whole > addr) { /* what others still have to write of it goes out with what comes later */
        uint64_t first = addr >> WRITE_OUT_BITS << WRITE_OUT_BITS;
        file_write_out(f->fd, first, whole - first);
    }
    return addr;
}

void hdf_write_out(const hdf_file *f)
{
    file_write_out(f->fd, 0, atomic_load(&f->end));
}

/* ------------------------------------------------------------------ numbers */

/* An object is begun with room for it; NUMBER_BYTES more are written than it takes. */
enum { NUMBER_BYTES = 8 };

static void reserve(strbuf *b, size_t most)
{
    VEC_RESERVE(b->s, b->cap, b->n + most + NUMBER_BYTES);
}

static inline void set_number(char *at, uint64_t v, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        at[i] = (char)(uint8_t)(v >> 8 * i);
    }
}

static inline void put_number(strbuf *b, uint64_t v, unsigned n)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(b->s + b->n, &v, sizeof v); /* what is too much is written over */
    b->n += n;
}

static inline void put_bytes(strbuf *b, const void *bytes, size_t n)
{
    memcpy(b->s + b->n, bytes, n);
    b->n += n;
}

static uint32_t rotated(uint32_t v, unsigned by)
{
    return v << by | v >> (32 - by);
}

/* Jenkins' lookup3 over little-endian words, which the format protects its metadata by. */
static uint32_t checksum(const char *bytes, size_t n)
{
    uint32_t a = 0xdeadbeefU + (uint32_t)n;
    uint32_t b = a;
    uint32_t c = a;
    uint32_t w[3];
    for (; n > 12; n -= 12, bytes += 12) {
        memcpy(w, bytes, 12);
        a += w[0];
        b += w[1];
        c += w[2];
        a = (a - c) ^ rotated(c, 4);
        c += b;
        b = (b - a) ^ rotated(a, 6);
        a += c;
        c = (c - b) ^ rotated(b, 8);
        b += a;
        a = (a - c) ^ rotated(c, 16);
        c += b;
        b = (b - a) ^ rotated(a, 19);
        a += c;
        c = (c - b) ^ rotated(b, 4);
        b += a;
    }
    if (n == 0) {
        return c;
    }
    memset(w, 0, sizeof w);
    memcpy(w, bytes, n);
    a += w[0];
    b += w[1];
    c += w[2];
    c = (c ^ b) - rotated(b, 14);
    a = (a ^ c) - rotated(c, 11);
    b = (b ^ a) - rotated(a, 25);
    c = (c ^ b) - rotated(b, 16);
    a = (a ^ c) - rotated(c, 4);
    b = (b ^ a) - rotated(a, 14);
    return (c ^ b) - rotated(b, 24);
}

/* Of all bytes from `first` on, behind them. */
static void put_checksum(strbuf *b, size_t first)
{
    put_number(b, checksum(b->s + first, b->n - first), 4);
}

/* ------------------------------------------------------------------ messages of object headers */

typedef enum message {
    MESSAGE_DATASPACE = 0x01,
    MESSAGE_LINK_INFO = 0x02,
    MESSAGE_DATATYPE = 0x03,
    MESSAGE_FILL_VALUE = 0x05,
    MESSAGE_LINK = 0x06,
    MESSAGE_LAYOUT = 0x08,
    MESSAGE_GROUP_INFO = 0x0a,
    MESSAGE_FILTERS = 0x0b,
    MESSAGE_ATTRIBUTE = 0x0c,
    MESSAGE_ATTRIBUTE_INFO = 0x15
} message;

enum { IS_CONSTANT = 1, MAY_NOT_BE_SHARED = 4 };

/* @return where the message's body begins */
static size_t begin_message(strbuf *b, message type, unsigned flags)
{
    put_number(b, type, 1);
    put_number(b, 0, 2);
    put_number(b, flags, 1);
    return b->n;
}

static void end_message(strbuf *b, size_t body)
{
    MAREY_ASSERT(b->n - body <= UINT16_MAX);
    set_number(b->s + body - 3, b->n - body, 2);
}

/* Of all messages but attributes, links and rows. */
enum { OBJECT_BYTES = 512 };

static size_t begin_object(strbuf *b, size_t most)
{
    static const char head[] = {'O', 'H', 'D', 'R', 2, 2 /* four bytes of size */, 0, 0, 0, 0};
    reserve(b, most);
    put_bytes(b, head, sizeof head);
    return b->n;
}

static void end_object(strbuf *b, size_t body)
{
    set_number(b->s + body - 4, b->n - body, 4);
    put_checksum(b, body - 10);
    MAREY_ASSERT(b->n <= b->cap);
}

static void put_type(strbuf *b, schema_type t)
{
    static const char f64[] = {0x11, 0x20, 0x3f, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, (char)0xff, 3, 0, 0};
    if (t == TYPE_F64) {
        put_bytes(b, f64, sizeof f64);
        return;
    }
    bool is_signed = t == TYPE_I32 || t == TYPE_I64;
    size_t size = schema_type_size(t);
    put_number(b, 0x10, 1);
    put_number(b, is_signed ? 8 : 0, 3);
    put_number(b, size, 4);
    put_number(b, 0, 2);
    put_number(b, size * 8, 2);
}

/* A text with its zero byte, UTF-8. */
static void put_text_type(strbuf *b, size_t n)
{
    put_number(b, 0x13, 1);
    put_number(b, 0x10, 3);
    put_number(b, n, 4);
}

enum { TEXT_MAX = 32768 };

static size_t text_bytes(const hdf_attribute *a)
{
    return a->text ? strnlen(a->text, TEXT_MAX) : 0;
}

static size_t attribute_bytes(const hdf_attribute *a, size_t n)
{
    enum { WITHOUT_TEXTS = 64 };
    size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += WITHOUT_TEXTS + strlen(a[i].name) + text_bytes(&a[i]);
    }
    return sum;
}

static void put_attribute(strbuf *b, const hdf_attribute *a)
{
    enum { SCALAR_BYTES = 4 };
    size_t n_name = strlen(a->name) + 1;
    size_t n_text = text_bytes(a);
    size_t body = begin_message(b, MESSAGE_ATTRIBUTE, 0);
    put_number(b, 3, 2);
    put_number(b, n_name, 2);
    put_number(b, a->text ? 8 : 12, 2);
    put_number(b, SCALAR_BYTES, 2);
    put_number(b, 0, 1);
    put_bytes(b, a->name, n_name);
    if (a->text) {
        put_text_type(b, n_text + 1);
    } else {
        put_type(b, TYPE_I64);
    }
    put_number(b, 2, SCALAR_BYTES); /* a dataspace, version 2, of no dimensions */
    if (a->text) {
        put_bytes(b, a->text, n_text);
        put_number(b, 0, 1);
    } else {
        put_number(b, (uint64_t)a->number, 8);
    }
    end_message(b, body);
}

/* Two addresses: of where many members of a kind would lie elsewhere. They are in this header. */
static void put_elsewhere(strbuf *b, message type, unsigned flags)
{
    size_t body = begin_message(b, type, flags);
    put_number(b, 0, 2);
    put_number(b, HDF_NOWHERE, 8);
    put_number(b, HDF_NOWHERE, 8);
    end_message(b, body);
}

static void put_attributes(strbuf *b, const hdf_attribute *a, size_t n)
{
    put_elsewhere(b, MESSAGE_ATTRIBUTE_INFO, MAY_NOT_BE_SHARED);
    for (size_t i = 0; i < n; i++) {
        put_attribute(b, &a[i]);
    }
}

/* ------------------------------------------------------------------ datasets */

static bool is_empty(const hdf_dataset *d)
{
    return d->size[0] == 0;
}

static void put_space(strbuf *b, const hdf_dataset *d)
{
    size_t body = begin_message(b, MESSAGE_DATASPACE, 0);
    put_number(b, 2, 1);
    put_number(b, d->n_dims, 1);
    put_number(b, 1, 1); /* how far it may grow is said */
    put_number(b, 1, 1);
    for (unsigned i = 0; i < d->n_dims; i++) {
        put_number(b, d->size[i], 8);
    }
    for (unsigned i = 0; i < d->n_dims; i++) {
        put_number(b, i == 0 && is_empty(d) ? UINT64_MAX : d->size[i], 8);
    }
    end_message(b, body);
}

static void put_fill(strbuf *b, const hdf_dataset *d)
{
    enum { EARLY = 1, ONE_BY_ONE = 3, WHERE_SET = 2 << 2 };
    size_t body = begin_message(b, MESSAGE_FILL_VALUE, IS_CONSTANT);
    put_number(b, 3, 1);
    put_number(b, (d->bytes ? EARLY : ONE_BY_ONE) | WHERE_SET, 1);
    end_message(b, body);
}

static void put_filter(strbuf *b, unsigned id, uint32_t value)
{
    enum { IS_OPTIONAL = 1 };
    put_number(b, id, 2);
    put_number(b, IS_OPTIONAL, 2);
    put_number(b, 1, 2);
    put_number(b, value, 4);
}

static void put_filters(strbuf *b, const hdf_dataset *d)
{
    enum { DEFLATE = 1, SHUFFLE = 2 };
    size_t size = schema_type_size(d->type);
    size_t body = begin_message(b, MESSAGE_FILTERS, IS_CONSTANT);
    put_number(b, 2, 1);
    put_number(b, size > 1 ? 2 : 1, 1);
    if (size > 1) {
        put_filter(b, SHUFFLE, (uint32_t)size);
    }
    put_filter(b, DEFLATE, HDF_DEFLATE_LEVEL);
    end_message(b, body);
}

static unsigned bits_of(uint64_t v)
{
    return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static uint64_t chunk_bytes(const hdf_dataset *d)
{
    uint64_t n = schema_type_size(d->type);
    for (unsigned i = 0; i < d->n_dims; i++) {
        n *= d->chunk[i];
    }
    return n;
}

/* Pages of the index are as large as the index, so that it is one piece. */
static unsigned page_bits(const hdf_dataset *d)
{
    enum { LEAST = 10 };
    unsigned bits = bits_of(d->n_chunks);
    return bits > LEAST ? bits : LEAST;
}

/* A fixed array of the chunks: its header and its only block. @return the header's address */
static uint64_t add_index(hdf_metadata *m, const hdf_dataset *d)
{
    enum { FILTERED = 1, HEADER_BYTES = 28 };
    strbuf *b = &m->bytes;
    unsigned size_bytes = 1 + (bits_of(chunk_bytes(d)) + 7) / 8;
    size_bytes = size_bytes < 8 ? size_bytes : 8;
    size_t header = b->n;
    reserve(b, 2 * HEADER_BYTES + d->n_chunks * (8 + size_bytes + 4));
    put_bytes(b, "FAHD", 4);
    put_number(b, 0, 1);
    put_number(b, FILTERED, 1);
    put_number(b, 8 + size_bytes + 4, 1);
    put_number(b, page_bits(d), 1);
    put_number(b, d->n_chunks, 8);
    put_number(b, m->base + header + HEADER_BYTES, 8);
    put_checksum(b, header);
    size_t block = b->n;
    MAREY_ASSERT(block - header == HEADER_BYTES);
    put_bytes(b, "FADB", 4);
    put_number(b, 0, 1);
    put_number(b, FILTERED, 1);
    put_number(b, m->base + header, 8);
    for (size_t i = 0; i < d->n_chunks; i++) {
        put_number(b, d->chunks[i].addr, 8);
        put_number(b, d->chunks[i].size, size_bytes);
        put_number(b, 0, 4);
    }
    put_checksum(b, block);
    return m->base + header;
}

static void put_chunk_shape(strbuf *b, const hdf_dataset *d, unsigned flags)
{
    enum { CHUNKED = 2 };
    uint64_t most = schema_type_size(d->type);
    for (unsigned i = 0; i < d->n_dims; i++) {
        most = d->chunk[i] > most ? d->chunk[i] : most;
    }
    unsigned n = (bits_of(most) + 7) / 8;
    put_number(b, CHUNKED, 1);
    put_number(b, flags, 1);
    put_number(b, d->n_dims + 1, 1);
    put_number(b, n, 1);
    for (unsigned i = 0; i < d->n_dims; i++) {
        put_number(b, d->chunk[i], n);
    }
    put_number(b, schema_type_size(d->type), n);
}

/* `index`: of many chunks. */
static void put_layout(strbuf *b, const hdf_dataset *d, uint64_t index)
{
    enum { SINGLE = 1, FIXED_ARRAY = 3, EXTENSIBLE_ARRAY = 4, IS_FILTERED = 2 };
    static const char growth[] = {32, 4, 4, 16, 10}; /* the library's own choice; there is nothing in it */
    size_t body = begin_message(b, MESSAGE_LAYOUT, 0);
    put_number(b, 4, 1);
    if (d->bytes) {
        put_number(b, 0, 1);
        put_number(b, d->n_bytes, 2);
        put_bytes(b, d->bytes, d->n_bytes);
    } else if (is_empty(d)) {
        put_chunk_shape(b, d, 0);
        put_number(b, EXTENSIBLE_ARRAY, 1);
        put_bytes(b, growth, sizeof growth);
        put_number(b, HDF_NOWHERE, 8);
    } else if (d->n_chunks == 1) {
        put_chunk_shape(b, d, IS_FILTERED);
        put_number(b, SINGLE, 1);
        put_number(b, d->chunks[0].size, 8);
        put_number(b, 0, 4);
        put_number(b, d->chunks[0].addr, 8);
    } else {
        put_chunk_shape(b, d, 0);
        put_number(b, FIXED_ARRAY, 1);
        put_number(b, page_bits(d), 1);
        put_number(b, index, 8);
    }
    end_message(b, body);
}

uint64_t hdf_add_dataset(hdf_metadata *m, const hdf_dataset *d)
{
    strbuf *b = &m->bytes;
    uint64_t index = !d->bytes && d->n_chunks > 1 ? add_index(m, d) : HDF_NOWHERE;
    uint64_t addr = m->base + b->n;
    size_t object = begin_object(b, OBJECT_BYTES + d->n_bytes + attribute_bytes(d->attributes, d->n_attributes));
    put_space(b, d);
    size_t body = begin_message(b, MESSAGE_DATATYPE, IS_CONSTANT);
    put_type(b, d->type);
    end_message(b, body);
    put_fill(b, d);
    if (!d->bytes) {
        put_filters(b, d);
    }
    put_layout(b, d, index);
    put_attributes(b, d->attributes, d->n_attributes);
    end_object(b, object);
    return addr;
}

/* ------------------------------------------------------------------ groups */

static void put_link(strbuf *b, const hdf_link *l)
{
    MAREY_ASSERT(l->n <= UINT8_MAX);
    size_t body = begin_message(b, MESSAGE_LINK, 0);
    put_number(b, 1, 2); /* version 1; a hard link with one byte of length */
    put_number(b, l->n, 1);
    put_bytes(b, l->name, l->n);
    put_number(b, l->addr, 8);
    end_message(b, body);
}

uint64_t hdf_add_group(hdf_metadata *m, const hdf_link *links, size_t n_links, const hdf_attribute *attributes,
                       size_t n_attributes)
{
    enum { MOST_LINKS = 64, LEAST_ELSEWHERE = 60, HAS_LIMITS = 1, LINK_BYTES = 16 };
    strbuf *b = &m->bytes;
    uint64_t addr = m->base + b->n;
    size_t most = OBJECT_BYTES + attribute_bytes(attributes, n_attributes);
    for (size_t i = 0; i < n_links; i++) {
        most += LINK_BYTES + links[i].n;
    }
    size_t object = begin_object(b, most);
    put_elsewhere(b, MESSAGE_LINK_INFO, 0);
    size_t body = begin_message(b, MESSAGE_GROUP_INFO, IS_CONSTANT);
    put_number(b, 0, 1);
    put_number(b, HAS_LIMITS, 1);
    put_number(b, MOST_LINKS, 2);
    put_number(b, LEAST_ELSEWHERE, 2);
    end_message(b, body);
    for (size_t i = 0; i < n_links; i++) {
        put_link(b, &links[i]);
    }
    put_attributes(b, attributes, n_attributes);
    end_object(b, object);
    return addr;
}

/* ------------------------------------------------------------------ the end */

bool hdf_finish(hdf_file *f, hdf_metadata *m, uint64_t root)
{
    static const char signature[] = {(char)0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 3, 8, 8, 0};
    uint64_t addr = atomic_fetch_add(&f->end, m->bytes.n);
    MAREY_ASSERT(addr == m->base);
    strbuf b = {0};
    reserve(&b, SUPERBLOCK_BYTES);
    put_bytes(&b, signature, sizeof signature);
    put_number(&b, 0, 8);
    put_number(&b, HDF_NOWHERE, 8); /* no extension */
    put_number(&b, addr + m->bytes.n, 8);
    put_number(&b, root, 8);
    put_checksum(&b, 0);
    MAREY_ASSERT(b.n == SUPERBLOCK_BYTES);
    bool ok = put_at(f, m->bytes.s, m->bytes.n, addr) && put_at(f, b.s, b.n, 0) && write_rest(f);
    strbuf_deinit(&b);
    return ok;
}
