/*
 * Files: whole reads, output that is written aside and renamed, scratch files, folders.
 * Thread: any, on separate objects.
 */
#ifndef MAREY_BASE_FILE_H
#define MAREY_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/mem.h"

/** Read a file of at most `limit` bytes. *data is owned by the caller (free) and has a NUL behind it. */
marey_status file_read_all(const char *path, size_t limit, char **data, size_t *size, diag *d);

/*
 * A file that gets its name when it is whole. Where the file system can do so (O_TMPFILE) it has none until then, so
 * that nothing is left of it when the process is killed; else it is beside the target, as ".NAME.PID.part". Only where
 * it replaces another file it stands there for the moment between two system calls.
 */
typedef struct file_aside {
    int fd; /* to read and write; -1: committed or discarded */
    char *target;
    char *path; /* ".NAME.PID.part"; NULL: it has no name */
} file_aside;
/** @return false: it cannot be written there; errno says why */
bool file_aside_open(file_aside *a, const char *target);
/** Open one and a stream that writes to it, which the caller closes before it commits or discards.
 *  @return NULL: it cannot be written there; errno says why */
FILE *file_aside_stream(file_aside *a, const char *target);
/** Make it durable, give it its name and close it. On failure it is discarded. Errors: IO. */
marey_status file_aside_commit(file_aside *a, diag *d);
/** Close it and leave nothing. After a commit: nothing. */
void file_aside_discard(file_aside *a);

/** Write bytes to `target` by way of such a file. */
marey_status file_write_all(const char *target, const void *data, size_t size, diag *d);

/** An unnamed scratch file in the folder of `near` (or the system's). @return its descriptor, or -1 */
int file_scratch(const char *near);

/** pread/pwrite all bytes. @return false at the first failure (errno is set; 0 for a short read) */
bool file_pread(int fd, void *buf, size_t n, uint64_t offset);
bool file_pwrite(int fd, const void *buf, size_t n, uint64_t offset);

/** What was written to [first, first + n) begins to go to the disk while the caller goes on, so that a commit has less
 *  to wait for. A wish: where the system cannot do so, nothing happens. */
void file_write_out(int fd, uint64_t first, uint64_t n);

bool file_exists(const char *path);
bool file_is_dir(const char *path);
uint64_t file_size(const char *path); /* 0 when it can't be read */

/** All regular files below `dir`, sorted by path (numbers inside names by value). Links to folders are not followed;
 *  at most 1 000 000 files and 64 levels. Names are in `names`; the array is owned by the caller (free). */
marey_status file_list(const char *dir, arena *names, char ***paths, size_t *n, diag *d);

/** Compare two names so that "rank2" comes before "rank10". */
int name_compare(const char *a, const char *b);

/** The last part of a path (points into it). */
const char *path_base(const char *path);

#endif
