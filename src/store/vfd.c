#include "store/vfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

typedef struct vfd_file {
    H5FD_t pub; /* must be first */
    int fd;
    haddr_t eoa, eof;
    dev_t device;
    ino_t inode;
    vfd_record *record;
} vfd_file;

typedef struct vfd_info {
    vfd_record *record;
} vfd_info;

static H5FD_t *vfd_open(const char *name, unsigned flags, hid_t fapl, haddr_t max_addr)
{
    (void)max_addr;
    const vfd_info *info = H5Pget_driver_info(fapl);
    if (!info || !info->record) {
        return NULL;
    }
    if (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) {
        return NULL;
    }
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        info->record->error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return NULL;
    }
    vfd_file *f = mem_calloc(1, sizeof *f);
    f->fd = fd;
    f->eof = (haddr_t)st.st_size;
    f->device = st.st_dev;
    f->inode = st.st_ino;
    f->record = info->record;
    return &f->pub;
}

static herr_t vfd_close(H5FD_t *file)
{
    vfd_file *f = (vfd_file *)file;
    if (close(f->fd) != 0 && f->record->error == 0) {
        f->record->error = errno;
    }
    free(f);
    return 0;
}

static int vfd_cmp(const H5FD_t *a, const H5FD_t *b)
{
    const vfd_file *x = (const vfd_file *)a;
    const vfd_file *y = (const vfd_file *)b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static herr_t vfd_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t vfd_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const vfd_file *)file)->eoa;
}

static herr_t vfd_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t addr)
{
    (void)type;
    ((vfd_file *)file)->eoa = addr;
    return 0;
}

static haddr_t vfd_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const vfd_file *)file)->eof;
}

static herr_t vfd_read(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, void *buffer)
{
    (void)type;
    (void)dxpl;
    vfd_file *f = (vfd_file *)file;
    if (addr > f->eoa || size > f->eoa - addr) {
        return -1;
    }
    (void)atomic_fetch_add_explicit(&f->record->bytes_read, size, memory_order_relaxed);
    /* HDF5 may read behind what is written so far; those bytes are zero. */
    size_t have = addr >= f->eof ? 0 : (size_t)(f->eof - addr < size ? f->eof - addr : size);
    if (have > 0 && !file_pread(f->fd, buffer, have, addr)) {
        f->record->error = f->record->error ? f->record->error : errno;
        return -1;
    }
    __builtin_memset((char *)buffer + have, 0, size - have);
    return 0;
}

/* The library wants one. */
static herr_t vfd_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl, haddr_t addr, size_t size, const void *buffer)
{
    (void)file, (void)type, (void)dxpl, (void)addr, (void)size, (void)buffer;
    return -1;
}

static const H5FD_class_t VFD_CLASS = {
    .name = "marey",
    .maxaddr = ((haddr_t)1 << 62) - 1,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(vfd_info),
    .open = vfd_open,
    .close = vfd_close,
    .cmp = vfd_cmp,
    .query = vfd_query,
    .get_eoa = vfd_get_eoa,
    .set_eoa = vfd_set_eoa,
    .get_eof = vfd_get_eof,
    .read = vfd_read,
    .write = vfd_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t vfd_fapl(vfd_record *record)
{
    static hid_t driver = -1;
    if (driver < 0 || H5Iis_valid(driver) <= 0) {
        driver = H5FDregister(&VFD_CLASS);
    }
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    vfd_info info = {record};
    if (driver < 0 || fapl < 0 || H5Pset_driver(fapl, driver, &info) < 0 ||
        H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0 ||
        H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG) < 0) {
        if (fapl >= 0) {
            (void)H5Pclose(fapl);
        }
        return -1;
    }
    return fapl;
}
