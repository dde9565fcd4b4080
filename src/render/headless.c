/* A context without a window, by EGL: Mesa's surfaceless platform, else a device. */
#include <stdlib.h>
#include <string.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>

#include "base/mem.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "render/render.h"

enum { MAX_DEVICES = 16 };

struct headless {
    EGLDisplay display;
    EGLContext context;
    gpu *gpu;
    gpu_target target;
    int width, height;
};

/* EGL hands out functions of one type; a union turns them into data pointers and back without a forbidden cast. */
typedef union proc {
    void (*function)(void);
    void *data;
    PFNEGLGETPLATFORMDISPLAYEXTPROC platform_display;
    PFNEGLQUERYDEVICESEXTPROC query_devices;
} proc;

static void *get_proc(const char *name)
{
    proc p = {.function = eglGetProcAddress(name)};
    return p.data;
}

render_get_proc headless_get_proc(void)
{
    return get_proc;
}

/* ---- one display ---- */

static void try_failed(strbuf *tried, const char *platform, const char *step)
{
    strbuf_printf(tried, "%s%s: %s failed (EGL error 0x%04x)", tried->n ? "; " : "", platform, step,
                  (unsigned)eglGetError());
}

/* A context needs no config where EGL_KHR_no_config_context is there; else any that can do OpenGL. */
static EGLContext make_context(EGLDisplay display)
{
    static const EGLint wanted[] = {
        EGL_CONTEXT_MAJOR_VERSION,           3,       EGL_CONTEXT_MINOR_VERSION, 3, EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
    static const EGLint config_wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE};
    EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, wanted);
    EGLConfig config = NULL;
    EGLint n = 0;
    if (context == EGL_NO_CONTEXT && eglChooseConfig(display, config_wanted, &config, 1, &n) && n > 0) {
        context = eglCreateContext(display, config, EGL_NO_CONTEXT, wanted);
    }
    return context;
}

static bool try_display(headless *h, EGLDisplay display, const char *platform, strbuf *tried)
{
    if (display == EGL_NO_DISPLAY || !eglInitialize(display, NULL, NULL)) {
        try_failed(tried, platform, display == EGL_NO_DISPLAY ? "eglGetPlatformDisplay" : "eglInitialize");
        return false;
    }
    EGLContext context = EGL_NO_CONTEXT;
    const char *step = "eglBindAPI";
    if (eglBindAPI(EGL_OPENGL_API)) {
        step = "eglCreateContext for OpenGL 3.3 core";
        context = make_context(display);
    }
    if (context != EGL_NO_CONTEXT) {
        step = "eglMakeCurrent without a surface";
        if (eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) {
            h->display = display;
            h->context = context;
            return true;
        }
        eglDestroyContext(display, context);
    }
    try_failed(tried, platform, step);
    eglTerminate(display);
    return false;
}

/* ---- the platforms ---- */

static bool has_extension(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = list; s && (s = strstr(s, name)); s += n) {
        bool starts = s == list || s[-1] == ' ';
        if (starts && (s[n] == ' ' || s[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static void not_there(strbuf *tried, const char *what)
{
    strbuf_printf(tried, "%s%s: not offered", tried->n ? "; " : "", what);
}

static bool try_surfaceless(headless *h, const char *extensions, strbuf *tried)
{
    static const char name[] = "EGL_MESA_platform_surfaceless";
    proc p = {.data = get_proc("eglGetPlatformDisplayEXT")};
    if (!has_extension(extensions, name) || !p.platform_display) {
        not_there(tried, name);
        return false;
    }
    EGLDisplay display = p.platform_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    return try_display(h, display, name, tried);
}

static bool try_devices(headless *h, const char *extensions, strbuf *tried)
{
    static const char name[] = "EGL_EXT_platform_device";
    proc display = {.data = get_proc("eglGetPlatformDisplayEXT")};
    proc query = {.data = get_proc("eglQueryDevicesEXT")};
    if (!has_extension(extensions, name) || !display.platform_display || !query.query_devices) {
        not_there(tried, name);
        return false;
    }
    EGLDeviceEXT devices[MAX_DEVICES];
    EGLint n = 0;
    if (!query.query_devices(MAX_DEVICES, devices, &n) || n == 0) {
        not_there(tried, "an EGL device");
        return false;
    }
    for (EGLint i = 0; i < n; i++) {
        EGLDisplay of_device = display.platform_display(EGL_PLATFORM_DEVICE_EXT, devices[i], NULL);
        if (try_display(h, of_device, name, tried)) {
            return true;
        }
    }
    return false;
}

/* Mesa first, because its pictures are the same everywhere; MAREY_EGL=device turns the order round. */
static bool try_platforms(headless *h, strbuf *tried)
{
    const char *extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
    const char *first = getenv("MAREY_EGL");
    if (first && strcmp(first, "device") == 0) {
        return try_devices(h, extensions, tried) || try_surfaceless(h, extensions, tried);
    }
    return try_surfaceless(h, extensions, tried) || try_devices(h, extensions, tried);
}

/* ---- the object ---- */

marey_status headless_create(headless **out, int width, int height, diag *d)
{
    headless *h = mem_calloc(1, sizeof *h);
    *out = h;
    strbuf tried = {0};
    marey_status status = MAREY_OK;
    if (!try_platforms(h, &tried)) {
        status =
            diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET, "no OpenGL without a window; tried %s", strbuf_str(&tried));
    }
    strbuf_deinit(&tried);
    if (status == MAREY_OK) {
        status = gpu_create_gl(&h->gpu, get_proc, d);
    }
    if (status == MAREY_OK) {
        status = headless_resize(h, width, height, d);
    }
    if (status != MAREY_OK) {
        headless_destroy(out);
    }
    return status;
}

/* The display is not terminated: it is one for the whole process, and another headless may draw on it. */
void headless_destroy(headless **p)
{
    headless *h = *p;
    if (!h) {
        return;
    }
    gpu_destroy(&h->gpu);
    if (h->context) {
        eglMakeCurrent(h->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        eglDestroyContext(h->display, h->context);
    }
    free(h);
    *p = NULL;
}

marey_status headless_resize(headless *h, int width, int height, diag *d)
{
    if (h->target.id && width == h->width && height == h->height) {
        gpu_target_bind(h->gpu, h->target);
        return MAREY_OK;
    }
    gpu_target_destroy(h->gpu, &h->target);
    marey_status status = gpu_target_create(h->gpu, &h->target, width, height, d);
    if (status == MAREY_OK) {
        h->width = width;
        h->height = height;
        gpu_target_bind(h->gpu, h->target);
    }
    return status;
}

marey_status headless_read(headless *h, uint8_t *out, diag *d)
{
    return gpu_target_read(h->gpu, h->target, out, d);
}
