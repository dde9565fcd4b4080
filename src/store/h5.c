#include "store/h5.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t h5_lock = PTHREAD_MUTEX_INITIALIZER;

void h5_enter(void)
{
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

static hid_t text_type(size_t n)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    if (t >= 0 &&
        (H5Tset_size(t, n) < 0 || H5Tset_cset(t, H5T_CSET_UTF8) < 0 || H5Tset_strpad(t, H5T_STR_NULLTERM) < 0)) {
        (void)H5Tclose(t);
        return -1;
    }
    return t;
}

static bool put_in_space(hid_t object, const char *name, hid_t type, hid_t space, const void *value)
{
    hid_t a = type < 0 ? -1 : H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = a >= 0 && H5Awrite(a, type, value) >= 0;
    if (a >= 0) {
        (void)H5Aclose(a);
    }
    return ok;
}

static bool put_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    bool ok = put_in_space(object, name, type, space, value);
    (void)H5Sclose(space);
    return ok;
}

bool h5_put_text(hid_t object, const char *name, const char *text)
{
    hid_t t = text_type(strlen(text) + 1);
    bool ok = put_attribute(object, name, t, text);
    if (t >= 0) {
        (void)H5Tclose(t);
    }
    return ok;
}

bool h5_texts_put(h5_texts *t, hid_t object, const char *name, const char *text)
{
    size_t n = strlen(text) + 1;
    if (n >= H5_TEXTS) {
        return h5_put_text(object, name, text);
    }
    if (t->space == 0) {
        t->space = H5Screate(H5S_SCALAR);
    }
    if (t->types[n] == 0) {
        t->types[n] = text_type(n);
    }
    return put_in_space(object, name, t->types[n], t->space, text);
}

void h5_texts_deinit(h5_texts *t)
{
    for (size_t i = 0; i < H5_TEXTS; i++) {
        if (t->types[i] > 0) {
            (void)H5Tclose(t->types[i]);
        }
    }
    if (t->space > 0) {
        (void)H5Sclose(t->space);
    }
    *t = (h5_texts){0};
}

bool h5_put_i64(hid_t object, const char *name, int64_t value)
{
    return put_attribute(object, name, H5T_STD_I64LE, &value);
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
