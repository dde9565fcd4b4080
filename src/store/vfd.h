/*
 * A file driver for HDF5 with plain pread and pwrite. It tells where raw data went (HDF5 1.10 has no cheap way to ask),
 * how much was read, and which system error struck. It takes no file locks.
 */
#ifndef MAREY_STORE_VFD_H
#define MAREY_STORE_VFD_H

#include <stdatomic.h>
#include <stdint.h>

#include <hdf5.h>

/* Lives as long as the file is open. */
typedef struct vfd_record {
    int error;         /* errno of the first failed call; later writes are dropped so that HDF5 can close */
    uint64_t raw_addr; /* of the last write of raw data */
    uint64_t raw_size;
    uint32_t n_raw; /* writes of raw data since it was set to 0 */
    _Atomic uint64_t bytes_read;
} vfd_record;

/** A file access property list with this driver, or a negative value. Caller closes it. Under the HDF5 lock. */
hid_t vfd_fapl(vfd_record *record);

#endif
