#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { MAX_FILES = 1000000, MAX_LEVELS = 64 };

marey_status file_read_all(const char *path, size_t limit, char **data, size_t *size, diag *d)
{
    marey_status status = MAREY_OK;
    char *buf = NULL;
    size_t n = 0;
    FILE *f = fopen(path, "rb");
    if (!f) {
        return diag_error(d, MAREY_IO, path, DIAG_NO_OFFSET, "cannot be opened: %s", strerror(errno));
    }
    for (size_t cap = 0;;) {
        if (n + 4096 > cap) {
            cap = cap ? cap * 2 : 65536;
            buf = mem_realloc_array(buf, cap + 1, 1);
        }
        size_t got = fread(buf + n, 1, cap - n, f);
        n += got;
        if (n > limit) {
            status = diag_error(d, MAREY_LIMIT, path, limit, "is larger than the limit of %zu bytes", limit);
            goto fail;
        }
        if (got == 0) {
            break;
        }
    }
    if (ferror(f)) {
        status = diag_error(d, MAREY_IO, path, n, "reading failed");
        goto fail;
    }
    (void)fclose(f);
    buf[n] = '\0';
    *data = buf;
    *size = n;
    return MAREY_OK;
fail:
    (void)fclose(f);
    free(buf);
    return status;
}

/* Beside `target`, hidden. Caller frees. */
static char *aside_path(const char *target)
{
    strbuf b = {0};
    const char *base = path_base(target);
    strbuf_add(&b, target, (size_t)(base - target));
    strbuf_printf(&b, ".%s.%ld.part", base, (long)getpid());
    return b.s;
}

/* ------------------------------------------------------------------ a file without a name */

enum { PROC_PATH = 64 };

static void proc_path(int fd, char out[PROC_PATH])
{
    (void)snprintf(out, PROC_PATH, "/proc/self/fd/%d", fd);
}

/* @return -1 where the file system, or a missing /proc, does not allow it */
static int open_nameless(const char *target)
{
    char proc[PROC_PATH];
    strbuf folder = {0};
    const char *base = path_base(target);
    strbuf_add(&folder, target, (size_t)(base - target));
    strbuf_puts(&folder, ".");
    int fd = open(folder.s, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    strbuf_deinit(&folder);
    if (fd >= 0) {
        proc_path(fd, proc);
        if (access(proc, F_OK) != 0) {
            (void)close(fd);
            fd = -1;
        }
    }
    return fd;
}

bool file_aside_open(file_aside *a, const char *target)
{
    *a = (file_aside){.fd = open_nameless(target), .target = mem_strdup(target)};
    if (a->fd < 0) {
        a->path = aside_path(target);
        a->fd = open(a->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    if (a->fd < 0) {
        int saved = errno;
        free(a->path);
        free(a->target);
        *a = (file_aside){.fd = -1};
        errno = saved;
    }
    return a->fd >= 0;
}

void file_aside_discard(file_aside *a)
{
    if (a->fd >= 0) {
        (void)close(a->fd);
        if (a->path) {
            (void)unlink(a->path);
        }
        free(a->path);
        free(a->target);
    }
    *a = (file_aside){.fd = -1};
}

FILE *file_aside_stream(file_aside *a, const char *target)
{
    int fd = file_aside_open(a, target) ? dup(a->fd) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!f) {
        int saved = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        file_aside_discard(a);
        errno = saved;
    }
    return f;
}

static bool link_at(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0;
}

/* A link never replaces a file: then it becomes one at the aside path, which is renamed. */
static bool give_name(file_aside *a)
{
    char proc[PROC_PATH];
    if (!a->path) {
        proc_path(a->fd, proc);
        if (!file_exists(a->target) && link_at(proc, a->target)) {
            return true;
        }
        char *path = aside_path(a->target);
        bool is_there = link_at(proc, path);
        if (!is_there && errno == EEXIST) { /* of a process that had the same number */
            is_there = unlink(path) == 0 && link_at(proc, path);
        }
        if (!is_there) {
            free(path);
            return false;
        }
        a->path = path;
    }
    return rename(a->path, a->target) == 0;
}

marey_status file_aside_commit(file_aside *a, diag *d)
{
    if (fsync(a->fd) != 0 || !give_name(a)) {
        marey_status status =
            diag_error(d, MAREY_IO, a->target, DIAG_NO_OFFSET, "cannot be written: %s", strerror(errno));
        file_aside_discard(a);
        return status;
    }
    free(a->path);
    a->path = NULL; /* it is the target now */
    file_aside_discard(a);
    return MAREY_OK;
}

marey_status file_write_all(const char *target, const void *data, size_t size, diag *d)
{
    file_aside a;
    if (file_aside_open(&a, target) && file_pwrite(a.fd, data, size, 0)) {
        return file_aside_commit(&a, d);
    }
    marey_status status = diag_error(d, MAREY_IO, target, DIAG_NO_OFFSET, "cannot be written: %s", strerror(errno));
    file_aside_discard(&a);
    return status;
}

int file_scratch(const char *near)
{
    strbuf b = {0};
    if (near) {
        strbuf_add(&b, near, (size_t)(path_base(near) - near));
    } else {
        const char *tmp = getenv("TMPDIR");
        strbuf_printf(&b, "%s/", tmp && *tmp ? tmp : "/tmp");
    }
    strbuf_puts(&b, ".marey-scratch-XXXXXX");
    int fd = mkostemp(b.s, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(b.s);
    }
    strbuf_deinit(&b);
    return fd;
}

bool file_pread(int fd, void *buf, size_t n, uint64_t offset)
{
    char *p = buf;
    while (n > 0) {
        ssize_t got = pread(fd, p, n, (off_t)offset);
        if (got <= 0) {
            if (got < 0 && errno == EINTR) {
                continue;
            }
            if (got == 0) {
                errno = 0;
            }
            return false;
        }
        p += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return true;
}

bool file_pwrite(int fd, const void *buf, size_t n, uint64_t offset)
{
    const char *p = buf;
    while (n > 0) {
        ssize_t put = pwrite(fd, p, n, (off_t)offset);
        if (put < 0) {
            if (errno == EINTR) {
                continue;
            }
            return false;
        }
        p += put;
        n -= (size_t)put;
        offset += (uint64_t)put;
    }
    return true;
}

void file_write_out(int fd, uint64_t first, uint64_t n)
{
#ifdef SYNC_FILE_RANGE_WRITE
    int saved = errno;
    (void)sync_file_range(fd, (off64_t)first, (off64_t)n, SYNC_FILE_RANGE_WRITE);
    errno = saved;
#else
    (void)fd;
    (void)first;
    (void)n;
#endif
}

bool file_exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

uint64_t file_size(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && s.st_size > 0 ? (uint64_t)s.st_size : 0;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

int name_compare(const char *a, const char *b)
{
    while (*a && *b) {
        if (digit(*a) && digit(*b)) {
            while (*a == '0' && digit(a[1])) {
                a++;
            }
            while (*b == '0' && digit(b[1])) {
                b++;
            }
            size_t n = strspn(a, "0123456789");
            size_t m = strspn(b, "0123456789");
            int order = n != m ? (n < m ? -1 : 1) : memcmp(a, b, n);
            if (order != 0) {
                return order;
            }
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != '\0') - (*b != '\0');
}

static int compare_paths(const void *a, const void *b)
{
    return name_compare(*(char *const *)a, *(char *const *)b);
}

typedef struct folder {
    char *path;
    int level;
} folder;

typedef struct listing {
    arena *names;
    char **paths;
    size_t n;
    size_t cap;
    folder *todo;
    size_t n_todo;
    size_t cap_todo;
} listing;

static void list_entry(listing *l, const char *dir, int level, const struct dirent *e)
{
    struct stat s;
    strbuf b = {0};
    strbuf_printf(&b, "%s/%s", dir, e->d_name);
    bool ok = lstat(b.s, &s) == 0;
    bool link = ok && S_ISLNK(s.st_mode);
    ok = ok && stat(b.s, &s) == 0;
    if (ok && S_ISREG(s.st_mode)) {
        VEC_PUSH(l->paths, l->n, l->cap, arena_strndup(l->names, b.s, b.n));
    } else if (ok && S_ISDIR(s.st_mode) && !link && level < MAX_LEVELS) {
        folder f = {arena_strndup(l->names, b.s, b.n), level + 1};
        VEC_PUSH(l->todo, l->n_todo, l->cap_todo, f);
    }
    strbuf_deinit(&b);
}

marey_status file_list(const char *dir, arena *names, char ***paths, size_t *n, diag *d)
{
    listing l = {.names = names};
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/') {
        len--;
    }
    folder root = {arena_strndup(names, dir, len), 0};
    VEC_PUSH(l.todo, l.n_todo, l.cap_todo, root);
    while (l.n_todo > 0 && l.n < MAX_FILES) {
        folder f = l.todo[--l.n_todo];
        DIR *handle = opendir(f.path);
        if (!handle) {
            diag_warn(d, f.path, DIAG_NO_OFFSET, "the folder cannot be read: %s", strerror(errno));
            continue;
        }
        struct dirent *e;
        while ((e = readdir(handle)) != NULL && l.n < MAX_FILES) {
            if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
                list_entry(&l, f.path, f.level, e);
            }
        }
        (void)closedir(handle);
    }
    free(l.todo);
    if (l.n > 0) {
        qsort((void *)l.paths, l.n, sizeof *l.paths, compare_paths);
    }
    *paths = l.paths;
    *n = l.n;
    return MAREY_OK;
}
