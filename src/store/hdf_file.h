/*
 * Writing of the HDF5 file format itself, as far as marey's files need it: groups, attributes, datasets of numbers that
 * lie in their object's header or in shuffled and deflated chunks. The library takes some 30 us for each dataset and
 * attribute and one lock for all of it, which was a quarter of the time of a usual conversion; here all metadata are
 * one piece of memory that is written when everything else is, and raw data go to the file from any thread.
 *
 * Source: HDF5 File Format Specification, version 3.0 (superblock 3, object headers 2, chunk indexes "single chunk" and
 * "fixed array"), which every HDF5 from 1.10 on reads.
 */
#ifndef MAREY_STORE_HDF_FILE_H
#define MAREY_STORE_HDF_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "store/schema.h"

#define HDF_NOWHERE UINT64_MAX
enum { HDF_HEAD_BLOCK = 1 << 16, HDF_HEAD_BLOCKS = 16 };

/* Thread: any. */
typedef struct hdf_file {
    int fd; /* the caller's */
    /* Its first megabyte, which most files don't exceed: written by blocks as soon as all of a block is there, so that
     * writes are few and of whole pages. */
    char *head;
    _Atomic uint32_t filled[HDF_HEAD_BLOCKS]; /* bytes of each block */
    _Atomic uint64_t end;                     /* bytes that are taken */
    _Atomic int error;                        /* errno of the first failed call; nothing is written after it */
} hdf_file;

/** Into an empty file that is open for writing. */
void hdf_begin(hdf_file *f, int fd);
/** Free what it holds. The file is no HDF5 file then if it was not before. */
void hdf_end(hdf_file *f);
/** Write bytes behind all others. @return their address; HDF_NOWHERE with `error` set */
uint64_t hdf_put(hdf_file *f, const void *bytes, size_t n);
/** What was put so far begins to go to the disk: the end is near, and then it has to be there. */
void hdf_write_out(const hdf_file *f);

typedef struct hdf_attribute {
    const char *name;
    const char *text; /* NULL: the number counts */
    int64_t number;
} hdf_attribute;

typedef struct hdf_link {
    const char *name;
    size_t n;
    uint64_t addr; /* of an object's header */
} hdf_link;

typedef struct hdf_chunk {
    uint64_t addr;
    uint32_t size; /* as stored */
} hdf_chunk;

enum { HDF_DIMS = 4, HDF_HEADER_BYTES = 32768, HDF_DEFLATE_LEVEL = 1 };

/*
 * A dataset: its rows in its header where `bytes` says so, else in `n_chunks` chunks in the order of rows, of which the
 * last may reach behind its end. Without rows it has a chunked layout that grows, as that can be copied by all tools.
 */
typedef struct hdf_dataset {
    schema_type type;
    unsigned n_dims;
    uint64_t size[HDF_DIMS];
    uint64_t chunk[HDF_DIMS];
    const void *bytes; /* NULL: in chunks */
    size_t n_bytes;    /* at most HDF_HEADER_BYTES */
    const hdf_chunk *chunks;
    size_t n_chunks;
    const hdf_attribute *attributes;
    size_t n_attributes;
} hdf_dataset;

/* Metadata on their way. Zeroed but for `base`. */
typedef struct hdf_metadata {
    strbuf bytes;
    uint64_t base; /* address that they will have */
} hdf_metadata;

/** Text of an attribute is cut at 32 KiB. @return the object's address */
uint64_t hdf_add_dataset(hdf_metadata *m, const hdf_dataset *d);
uint64_t hdf_add_group(hdf_metadata *m, const hdf_link *links, size_t n_links, const hdf_attribute *attributes,
                       size_t n_attributes);
/** All metadata behind what was put, then the superblock: from here on it is an HDF5 file. @return false with `error`
 * set */
bool hdf_finish(hdf_file *f, hdf_metadata *m, uint64_t root);

#endif
