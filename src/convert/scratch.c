#include "convert/scratch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

void scratch_init(scratch *s, const char *near, uint64_t budget_bytes)
{
    s->near = near;
    s->budget_bytes = budget_bytes;
    atomic_init(&s->used_bytes, 0);
    atomic_init(&s->end, 0);
    atomic_init(&s->fd, -1);
    (void)pthread_mutex_init(&s->lock, NULL);
}

void scratch_deinit(scratch *s)
{
    int fd = atomic_load(&s->fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    (void)pthread_mutex_destroy(&s->lock);
}

bool scratch_claim(scratch *s, uint64_t bytes)
{
    uint64_t used = atomic_fetch_add(&s->used_bytes, bytes);
    if (used + bytes <= s->budget_bytes) {
        return true;
    }
    (void)atomic_fetch_sub(&s->used_bytes, bytes);
    return false;
}

void scratch_release(scratch *s, uint64_t bytes)
{
    (void)atomic_fetch_sub(&s->used_bytes, bytes);
}

uint64_t scratch_reserve(scratch *s, uint64_t bytes)
{
    return atomic_fetch_add(&s->end, bytes);
}

static int open_once(scratch *s)
{
    int fd = atomic_load(&s->fd);
    if (fd >= 0) {
        return fd;
    }
    (void)pthread_mutex_lock(&s->lock);
    fd = atomic_load(&s->fd);
    if (fd < 0) {
        fd = file_scratch(s->near);
        atomic_store(&s->fd, fd);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return fd;
}

marey_status scratch_write(scratch *s, const void *data, size_t n, uint64_t offset, diag *d)
{
    int fd = open_once(s);
    if (fd < 0 || !file_pwrite(fd, data, n, offset)) {
        return diag_error(d, MAREY_IO, s->near, DIAG_NO_OFFSET, "can't write scratch data beside it: %s",
                          strerror(errno ? errno : EIO));
    }
    return MAREY_OK;
}

marey_status scratch_read(scratch *s, void *data, size_t n, uint64_t offset, diag *d)
{
    if (!file_pread(atomic_load(&s->fd), data, n, offset)) {
        return diag_error(d, MAREY_IO, s->near, DIAG_NO_OFFSET, "can't read scratch data back: %s",
                          strerror(errno ? errno : EIO));
    }
    return MAREY_OK;
}
