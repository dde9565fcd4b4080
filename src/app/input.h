/*
 * What a command was given to look at: a marey file as it is, or raw profiler files and folders, which are converted
 * into a file in the user's cache folder ($XDG_CACHE_HOME/marey, else ~/.cache/marey) and found there again the next
 * time.
 */
#ifndef MAREY_APP_INPUT_H
#define MAREY_APP_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

/** Is this one HDF5 file, judged by its first bytes? */
bool input_is_hdf5(const char *path);

/**
 * The path of the marey file that holds what `paths` name. Converts with progress on standard error unless `quiet`.
 *
 * The name in the cache is made from the paths, sizes and times of all input files, the user's category rules, and the
 * version and build of marey: a changed input, or a changed marey, converts anew. The 32 files used last are kept.
 *
 * @param file  the path; owned by the caller (free)
 * Errors: IO (nothing at a path, no place for the cache), ARG (several marey files), what convert_paths returns.
 */
marey_status input_resolve(const char *const *paths, size_t n, bool quiet, char **file, diag *d);

/** The folder of the cache files, made when missing. Caller frees; NULL when it can't be made (errno tells why). */
char *input_cache_dir(void);

#endif
