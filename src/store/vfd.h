/*
 * A file driver for HDF5 that reads by plain pread. It tells how much was read and which system error struck. It takes
 * no file locks, and it doesn't write: store/hdf_file.h does.
 */
#ifndef MAREY_STORE_VFD_H
#define MAREY_STORE_VFD_H

#include <stdatomic.h>
#include <stdint.h>

#include <hdf5.h>

/* Lives as long as the file is open. */
typedef struct vfd_record {
    int error; /* errno of the first failed call */
    _Atomic uint64_t bytes_read;
} vfd_record;

/** A file access property list with this driver, or a negative value. Caller closes it. Under the HDF5 lock. */
hid_t vfd_fapl(vfd_record *record);

#endif
