#include "store/h5.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t h5_lock = PTHREAD_MUTEX_INITIALIZER;

/* All files are closed when they are done with. Where one was damaged, the library would try in vain to close what it
 * still holds of it at the program's end, and say so. */
static void no_rites_at_exit(void)
{
    (void)H5dont_atexit();
}

void h5_enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, no_rites_at_exit);
    (void)pthread_mutex_lock(&h5_lock);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* per thread */
    (void)H5Eclear2(H5E_DEFAULT);
}

void h5_leave(void)
{
    (void)pthread_mutex_unlock(&h5_lock);
}

static herr_t keep_first(unsigned n, const H5E_error2_t *e, void *ctx)
{
    if (n == 0 && e->desc) {
        const char **reason = ctx;
        *reason = e->desc;
    }
    return 0;
}

marey_status h5_fail(diag *d, marey_status status, const char *file, const char *what)
{
    const char *reason = NULL;
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, (void *)&reason);
    if (reason && *reason) {
        return diag_error(d, status, file, DIAG_NO_OFFSET, "%s (HDF5: %.200s)", what, reason);
    }
    return diag_error(d, status, file, DIAG_NO_OFFSET, "%s", what);
}

hid_t h5_type(schema_type t)
{
    switch (t) {
    case TYPE_U8:
        return H5T_STD_U8LE;
    case TYPE_U32:
        return H5T_STD_U32LE;
    case TYPE_I32:
        return H5T_STD_I32LE;
    case TYPE_U64:
        return H5T_STD_U64LE;
    case TYPE_I64:
        return H5T_STD_I64LE;
    case TYPE_F64:
    case TYPE_COUNT:
        break;
    }
    return H5T_IEEE_F64LE;
}

/* Other tools may have written the text with a variable length. */
static bool read_variable(hid_t attribute, char *out, size_t cap)
{
    char *text = NULL;
    hid_t t = H5Tcopy(H5T_C_S1);
    bool ok = t >= 0 && H5Tset_size(t, H5T_VARIABLE) >= 0 && H5Tset_cset(t, H5T_CSET_UTF8) >= 0 &&
              H5Aread(attribute, t, (void *)&text) >= 0 && text && strlen(text) < cap;
    if (ok) {
        memcpy(out, text, strlen(text) + 1);
    }
    if (text) {
        (void)H5free_memory(text);
    }
    if (t >= 0) {
        (void)H5Tclose(t);
    }
    return ok;
}

static bool read_fixed(hid_t attribute, hid_t type, char *out, size_t cap)
{
    if (H5Tget_size(type) >= cap) {
        return false;
    }
    memset(out, 0, cap);
    return H5Aread(attribute, type, out) >= 0;
}

bool h5_get_text(hid_t object, const char *name, char *out, size_t cap)
{
    if (H5Aexists(object, name) <= 0) {
        return false;
    }
    hid_t a = H5Aopen(object, name, H5P_DEFAULT);
    hid_t t = a < 0 ? -1 : H5Aget_type(a);
    hid_t s = a < 0 ? -1 : H5Aget_space(a);
    bool ok = t >= 0 && s >= 0 && H5Tget_class(t) == H5T_STRING && H5Sget_simple_extent_npoints(s) == 1;
    if (ok) {
        ok = H5Tis_variable_str(t) > 0 ? read_variable(a, out, cap) : read_fixed(a, t, out, cap);
    }
    if (s >= 0) {
        (void)H5Sclose(s);
    }
    if (t >= 0) {
        (void)H5Tclose(t);
    }
    if (a >= 0) {
        (void)H5Aclose(a);
    }
    return ok;
}

bool h5_get_i64(hid_t object, const char *name, int64_t *out)
{
    if (H5Aexists(object, name) <= 0) {
        return false;
    }
    hid_t a = H5Aopen(object, name, H5P_DEFAULT);
    hid_t s = a < 0 ? -1 : H5Aget_space(a);
    bool ok = s >= 0 && H5Sget_simple_extent_npoints(s) == 1 && H5Aread(a, H5T_NATIVE_INT64, out) >= 0;
    if (s >= 0) {
        (void)H5Sclose(s);
    }
    if (a >= 0) {
        (void)H5Aclose(a);
    }
    return ok;
}
