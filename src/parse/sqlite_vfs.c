/*
 * How SQLite reads: by pread on a descriptor that we opened. The "name" of a file is the descriptor's number. There is
 * no locking, no journal and no writing; the file counts as one that never changes.
 */
#include "parse/sqlite_vfs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct fd_file {
    sqlite3_file base;
    int fd;
} fd_file;

static int fd_close(sqlite3_file *f)
{
    (void)f; /* the descriptor belongs to the caller */
    return SQLITE_OK;
}

static int fd_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 offset)
{
    int fd = ((fd_file *)f)->fd;
    size_t done = 0;
    while (done < (size_t)n) {
        ssize_t got = pread(fd, (char *)buf + done, (size_t)n - done, (off_t)offset + (off_t)done);
        if (got < 0) {
            return SQLITE_IOERR_READ;
        }
        if (got == 0) {
            memset((char *)buf + done, 0, (size_t)n - done);
            return SQLITE_IOERR_SHORT_READ;
        }
        done += (size_t)got;
    }
    return SQLITE_OK;
}

static int fd_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 offset)
{
    (void)f, (void)buf, (void)n, (void)offset;
    return SQLITE_READONLY;
}

static int fd_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    (void)f, (void)size;
    return SQLITE_READONLY;
}

static int fd_sync(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return SQLITE_OK;
}

static int fd_size(sqlite3_file *f, sqlite3_int64 *size)
{
    struct stat st;
    if (fstat(((fd_file *)f)->fd, &st) != 0) {
        return SQLITE_IOERR_FSTAT;
    }
    *size = st.st_size;
    return SQLITE_OK;
}

static int fd_lock(sqlite3_file *f, int level)
{
    (void)f, (void)level;
    return SQLITE_OK;
}

static int fd_reserved(sqlite3_file *f, int *out)
{
    (void)f;
    *out = 0;
    return SQLITE_OK;
}

static int fd_control(sqlite3_file *f, int op, void *arg)
{
    (void)f, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int fd_sector(sqlite3_file *f)
{
    (void)f;
    return 4096;
}

static int fd_traits(sqlite3_file *f)
{
    (void)f;
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods fd_methods = {
    .iVersion = 1,
    .xClose = fd_close,
    .xRead = fd_read,
    .xWrite = fd_write,
    .xTruncate = fd_truncate,
    .xSync = fd_sync,
    .xFileSize = fd_size,
    .xLock = fd_lock,
    .xUnlock = fd_lock,
    .xCheckReservedLock = fd_reserved,
    .xFileControl = fd_control,
    .xSectorSize = fd_sector,
    .xDeviceCharacteristics = fd_traits,
};

static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
    (void)v;
    fd_file *file = (fd_file *)f;
    file->base.pMethods = NULL;
    if (!name || !(flags & SQLITE_OPEN_MAIN_DB)) {
        return SQLITE_CANTOPEN; /* journals and temporary files: never */
    }
    file->fd = (int)strtol(name, NULL, 10);
    file->base.pMethods = &fd_methods;
    if (out_flags) {
        *out_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    }
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
    (void)v, (void)name, (void)sync;
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *out)
{
    (void)v, (void)name, (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *v, const char *name, int n, char *out)
{
    (void)v;
    sqlite3_snprintf(n, out, "%s", name);
    return SQLITE_OK;
}

static int vfs_random(sqlite3_vfs *v, int n, char *out)
{
    (void)v;
    memset(out, 0, (size_t)n);
    return n;
}

static int vfs_sleep(sqlite3_vfs *v, int us)
{
    (void)v;
    return us;
}

static int vfs_time64(sqlite3_vfs *v, sqlite3_int64 *out)
{
    (void)v;
    *out = 210866760000000LL + (sqlite3_int64)time(NULL) * 1000; /* Julian day of 1970 in ms */
    return SQLITE_OK;
}

static int vfs_time(sqlite3_vfs *v, double *out)
{
    sqlite3_int64 ms = 0;
    (void)vfs_time64(v, &ms);
    *out = (double)ms / 86400000.0;
    return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *v, int n, char *out)
{
    (void)v, (void)n, (void)out;
    return 0;
}

static sqlite3_vfs fd_vfs = {
    .iVersion = 2,
    .szOsFile = (int)sizeof(fd_file),
    .mxPathname = 64,
    .zName = SQLITE_FD_VFS,
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_path,
    .xRandomness = vfs_random,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_time,
    .xGetLastError = vfs_error,
    .xCurrentTimeInt64 = vfs_time64,
};

static void register_once(void)
{
    (void)sqlite3_vfs_register(&fd_vfs, 0);
}

void sqlite_fd_vfs_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, register_once);
}
