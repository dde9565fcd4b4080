/*
 * A file's text where it lies: mapped instead of copied. Two things would make that unsafe: pages that are gone when
 * they are touched (the file was cut, or the disk fails), and text that changes while it is looked at. A read lease
 * (fcntl(2)) rules the second out and the first for the most part: the system grants it only where nobody has the file
 * open for writing, and holds back whoever wants to until it is returned, which is asked for before each look. Pages
 * are fetched before they are touched, so that a disk that fails is an answer and no signal. Where any of it is
 * refused, the file is read as ever.
 */
#include "parse/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parse/source_private.h"

#if defined F_SETLEASE && defined MADV_POPULATE_READ

/* The system tells of a writer by a signal; this one does nothing where nobody asks for it. */
static bool take_lease(int fd)
{
    return fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
}

static bool has_lease(int fd)
{
    return fcntl(fd, F_GETLEASE) == F_RDLCK;
}

const char *source_hold_text(source *s, size_t *n)
{
    enum { LEAST_BYTES = 1 << 20, MOST_BYTES = 1 << 30 }; /* of less and of more a copy costs no more than this */
    raw_input *r = &s->raw;
    struct stat info;
    *n = 0;
    if (!source_is_open_text(s) || r->fd < 0 || r->bytes_total < LEAST_BYTES || r->bytes_total > MOST_BYTES ||
        !take_lease(r->fd)) {
        return NULL;
    }
    bool fits = fstat(r->fd, &info) == 0 && info.st_size >= LEAST_BYTES && info.st_size <= MOST_BYTES;
    void *text = fits ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, r->fd, 0) : MAP_FAILED;
    if (text == MAP_FAILED) {
        (void)fcntl(r->fd, F_SETLEASE, F_UNLCK);
        return NULL;
    }
    r->held = text;
    *n = r->held_bytes = (size_t)info.st_size;
    return text;
}

bool source_look(const source *s, uint64_t offset, size_t n)
{
    const raw_input *r = &s->raw;
    if (!r->held || offset > r->held_bytes || n > r->held_bytes - offset || !has_lease(r->fd)) {
        return false;
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t begin = (size_t)offset / page * page;
    int got;
    do {
        got = madvise((char *)r->held + begin, (size_t)offset + n - begin, MADV_POPULATE_READ);
    } while (got != 0 && errno == EINTR);
    return got == 0;
}

void source_look_away(const source *s, uint64_t offset, size_t n)
{
    const raw_input *r = &s->raw;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t begin = ((size_t)offset + page - 1) / page * page;
    size_t end = ((size_t)offset + n) / page * page;
    if (r->held && begin < end) {
        (void)madvise((char *)r->held + begin, end - begin, MADV_DONTNEED);
    }
}

void source_let_go(source *s)
{
    raw_input *r = &s->raw;
    if (r->held) {
        (void)munmap(r->held, r->held_bytes);
        (void)fcntl(r->fd, F_SETLEASE, F_UNLCK);
        r->held = NULL;
        r->held_bytes = 0;
    }
}

#else

const char *source_hold_text(source *s, size_t *n)
{
    (void)s;
    *n = 0;
    return NULL;
}

bool source_look(const source *s, uint64_t offset, size_t n)
{
    (void)s;
    (void)offset;
    (void)n;
    return false;
}

void source_look_away(const source *s, uint64_t offset, size_t n)
{
    (void)s;
    (void)offset;
    (void)n;
}

void source_let_go(source *s)
{
    (void)s;
}

#endif
