/* The device that speaks OpenGL 3.3 core. Functions are loaded into a table of its own: no global state. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/gpu_device.h"
#include <glad/gl.h>

typedef struct gl_device {
    GladGLContext gl;
    char name[128];
    GLint max_texture_size;
    GLuint program; /* what is bound, to spare calls */
    int blend;      /* -1: unknown */
} gl_device;

/* ---- the device ---- */

static void gl_destroy(void *self)
{
    free(self);
}

static const char *gl_name(const void *self)
{
    return ((const gl_device *)self)->name;
}

static int gl_max_texture_size(const void *self)
{
    return ((const gl_device *)self)->max_texture_size;
}

static const char *error_name(GLenum error)
{
    switch (error) {
    case GL_INVALID_ENUM:
        return "invalid enum";
    case GL_INVALID_VALUE:
        return "invalid value";
    case GL_INVALID_OPERATION:
        return "invalid operation";
    case GL_INVALID_FRAMEBUFFER_OPERATION:
        return "invalid framebuffer operation";
    case GL_OUT_OF_MEMORY:
        return "out of memory";
    default:
        return "unknown error";
    }
}

static marey_status gl_check(void *self, const char *what, diag *d)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    GLenum first = gl->GetError();
    for (int i = 0; i < 16 && gl->GetError() != GL_NO_ERROR; i++) {
    }
    if (first == GL_NO_ERROR) {
        return MAREY_OK;
    }
    return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET, "OpenGL reports \"%s\" at %s", error_name(first), what);
}

/* ---- programs ---- */

static GLuint compile(const GladGLContext *gl, GLenum stage, const char *name, const char *source, diag *d)
{
    GLuint shader = gl->CreateShader(stage);
    GLint ok = GL_FALSE;
    gl->ShaderSource(shader, 1, &source, NULL);
    gl->CompileShader(shader);
    gl->GetShaderiv(shader, GL_COMPILE_STATUS, &ok);
    if (!ok) {
        char log[2048] = "";
        gl->GetShaderInfoLog(shader, sizeof log, NULL, log);
        gl->DeleteShader(shader);
        (void)diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET, "the %s shader of %s does not compile: %s",
                         stage == GL_VERTEX_SHADER ? "vertex" : "fragment", name, log);
        return 0;
    }
    return shader;
}

static marey_status link_program(const GladGLContext *gl, GLuint program, const char *name, diag *d)
{
    GLint ok = GL_FALSE;
    gl->LinkProgram(program);
    gl->GetProgramiv(program, GL_LINK_STATUS, &ok);
    if (ok) {
        return MAREY_OK;
    }
    char log[2048] = "";
    gl->GetProgramInfoLog(program, sizeof log, NULL, log);
    return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET, "the program %s does not link: %s", name, log);
}

static void find_uniforms(gl_device *self, gpu_object *o, const gpu_program_desc *desc)
{
    const GladGLContext *gl = &self->gl;
    for (int i = 0; i < GPU_MAX_UNIFORMS; i++) {
        o->uniforms[i] = desc->uniforms[i] ? gl->GetUniformLocation(o->native, desc->uniforms[i]) : -1;
    }
    gl->UseProgram(o->native);
    self->program = o->native;
    for (int i = 0; i < 4 && desc->samplers[i]; i++) {
        gl->Uniform1i(gl->GetUniformLocation(o->native, desc->samplers[i]), i);
    }
}

static marey_status gl_program_create(void *self, gpu_object *o, const gpu_program_desc *desc, diag *d)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    GLuint vertex = compile(gl, GL_VERTEX_SHADER, desc->name, desc->vertex, d);
    GLuint fragment = vertex ? compile(gl, GL_FRAGMENT_SHADER, desc->name, desc->fragment, d) : 0;
    marey_status status = MAREY_GPU;
    if (vertex && fragment) {
        o->native = gl->CreateProgram();
        gl->AttachShader(o->native, vertex);
        gl->AttachShader(o->native, fragment);
        status = link_program(gl, o->native, desc->name, d);
    }
    gl->DeleteShader(vertex);
    gl->DeleteShader(fragment);
    if (status != MAREY_OK) {
        gl->DeleteProgram(o->native);
        return status;
    }
    find_uniforms(self, o, desc);
    return MAREY_OK;
}

static void use_program(gl_device *self, GLuint program)
{
    if (self->program != program) {
        self->gl.UseProgram(program);
        self->program = program;
    }
}

static void gl_set_floats(void *self, const gpu_object *o, int location, unsigned components, size_t n, const float *v)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    use_program(self, o->native);
    if (components == 1) {
        gl->Uniform1fv(location, (GLsizei)n, v);
    } else if (components == 2) {
        gl->Uniform2fv(location, (GLsizei)n, v);
    } else if (components == 3) {
        gl->Uniform3fv(location, (GLsizei)n, v);
    } else {
        gl->Uniform4fv(location, (GLsizei)n, v);
    }
}

/* ---- buffers ---- */

static marey_status gl_buffer_create(void *self, gpu_object *o, diag *d)
{
    gl_device *device = self;
    device->gl.GenBuffers(1, &o->native);
    return gl_check(self, "making a buffer", d);
}

/* A new store each time: a driver that still draws from the old one need not be waited for. */
static void gl_buffer_write(void *self, const gpu_object *o, const void *bytes, size_t size)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    gl->BindBuffer(GL_ARRAY_BUFFER, o->native);
    gl->BufferData(GL_ARRAY_BUFFER, (GLsizeiptr)size, bytes, GL_STREAM_DRAW);
}

static const struct {
    GLenum type;
    GLboolean normalised;
    bool integer;
} gl_types[] = {
    [GPU_F32] = {GL_FLOAT, GL_FALSE, false},           [GPU_U8_NORM] = {GL_UNSIGNED_BYTE, GL_TRUE, false},
    [GPU_I16] = {GL_SHORT, GL_FALSE, false},           [GPU_U16_INT] = {GL_UNSIGNED_SHORT, GL_FALSE, true},
    [GPU_U32_INT] = {GL_UNSIGNED_INT, GL_FALSE, true},
};

/* OpenGL 3.3 has no base instance: the first one is given by where the attributes start. */
static void point_attributes(const GladGLContext *gl, const gpu_object *o, unsigned first)
{
    gl->BindBuffer(GL_ARRAY_BUFFER, o->native2);
    for (unsigned i = 0; i < o->n_attributes; i++) {
        const gpu_attribute *a = &o->attributes[i];
        const char *offset = (const char *)NULL + (size_t)first * o->stride + a->offset;
        if (gl_types[a->type].integer) {
            gl->VertexAttribIPointer(a->location, a->components, gl_types[a->type].type, (GLsizei)o->stride, offset);
        } else {
            gl->VertexAttribPointer(a->location, a->components, gl_types[a->type].type, gl_types[a->type].normalised,
                                    (GLsizei)o->stride, offset);
        }
    }
}

static marey_status gl_layout_create(void *self, gpu_object *o, diag *d)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    gl->GenVertexArrays(1, &o->native);
    gl->BindVertexArray(o->native);
    for (unsigned i = 0; i < o->n_attributes; i++) {
        gl->EnableVertexAttribArray(o->attributes[i].location);
        gl->VertexAttribDivisor(o->attributes[i].location, 1);
    }
    return gl_check(self, "making an instance layout", d);
}

/* ---- textures ---- */

/*
 * BGRA8 is for pictures that are drawn into, and copied from. Asked for in this way they become RGBA8 everywhere, but
 * with Mesa's software renderer in the order of bytes for which that has its fast ways to fill rectangles.
 */
static const struct {
    GLint internal;
    GLenum format, type;
} gl_formats[] = {
    [GPU_R8] = {GL_R8, GL_RED, GL_UNSIGNED_BYTE},
    [GPU_RGBA8] = {GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE},
    [GPU_BGRA8] = {GL_RGBA, GL_BGRA, GL_UNSIGNED_BYTE},
    [GPU_RGBA8_INT] = {GL_RGBA8UI, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE},
    [GPU_R32_INT] = {GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT},
};

static GLenum texture_target(const gpu_object *o)
{
    return o->layers ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D;
}

static marey_status gl_texture_create(void *self, gpu_object *o, diag *d)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    GLenum target = texture_target(o);
    gl->GenTextures(1, &o->native);
    gl->ActiveTexture(GL_TEXTURE0);
    gl->BindTexture(target, o->native);
    gl->TexParameteri(target, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    gl->TexParameteri(target, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    gl->TexParameteri(target, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    gl->TexParameteri(target, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    gl->TexParameteri(target, GL_TEXTURE_MAX_LEVEL, 0);
    if (o->layers) {
        gl->TexImage3D(target, 0, gl_formats[o->format].internal, o->width, o->height, o->layers, 0,
                       gl_formats[o->format].format, gl_formats[o->format].type, NULL);
    } else {
        gl->TexImage2D(target, 0, gl_formats[o->format].internal, o->width, o->height, 0, gl_formats[o->format].format,
                       GL_UNSIGNED_BYTE, NULL);
    }
    marey_status status = gl_check(self, "making a texture", d);
    if (status != MAREY_OK) {
        gl->DeleteTextures(1, &o->native);
    }
    return status;
}

static void gl_texture_write(void *self, const gpu_object *o, const int box[5], const void *pixels)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    gl->ActiveTexture(GL_TEXTURE0);
    gl->BindTexture(texture_target(o), o->native);
    gl->PixelStorei(GL_UNPACK_ALIGNMENT, 1);
    GLenum format = gl_formats[o->format].format;
    GLenum type = gl_formats[o->format].type;
    if (o->layers) {
        gl->TexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, box[0], box[1], box[2], box[3], box[4], 1, format, type, pixels);
    } else {
        gl->TexSubImage2D(GL_TEXTURE_2D, 0, box[0], box[1], box[3], box[4], format, type, pixels);
    }
}

/* ---- targets ---- */

static void delete_target(const GladGLContext *gl, gpu_object *o)
{
    gl->DeleteFramebuffers(1, &o->native);
    gl->DeleteTextures(1, &o->native2);
}

static marey_status gl_target_create(void *self, gpu_object *o, diag *d)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    gpu_object picture = {.width = o->width, .height = o->height, .format = GPU_BGRA8};
    marey_status status = gl_texture_create(self, &picture, d);
    if (status != MAREY_OK) {
        return status;
    }
    o->native2 = picture.native;
    gl->GenFramebuffers(1, &o->native);
    gl->BindFramebuffer(GL_FRAMEBUFFER, o->native);
    gl->FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, o->native2, 0);
    if (gl->CheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
        delete_target(gl, o);
        return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET, "a picture of %d x %d can't be drawn into", o->width,
                          o->height);
    }
    return MAREY_OK;
}

static void gl_target_bind(void *self, const gpu_object *o)
{
    ((gl_device *)self)->gl.BindFramebuffer(GL_FRAMEBUFFER, o->native);
}

static void gl_target_read(void *self, const gpu_object *o, uint8_t *pixels)
{
    const GladGLContext *gl = &((gl_device *)self)->gl;
    gl->BindFramebuffer(GL_FRAMEBUFFER, o->native);
    gl->PixelStorei(GL_PACK_ALIGNMENT, 1);
    gl->ReadPixels(0, 0, o->width, o->height, GL_BGRA, GL_UNSIGNED_BYTE, pixels);
}

static void gl_object_destroy(void *self, gpu_object *o)
{
    gl_device *device = self;
    const GladGLContext *gl = &device->gl;
    switch ((gpu_kind)o->kind) {
    case KIND_PROGRAM:
        gl->DeleteProgram(o->native);
        device->program = device->program == o->native ? 0 : device->program;
        break;
    case KIND_BUFFER:
        gl->DeleteBuffers(1, &o->native);
        break;
    case KIND_LAYOUT:
        gl->DeleteVertexArrays(1, &o->native);
        break;
    case KIND_TEXTURE:
        gl->DeleteTextures(1, &o->native);
        break;
    case KIND_TARGET:
        delete_target(gl, o);
        break;
    case KIND_NONE:
        break;
    }
}

/* ---- drawing ---- */

/* Someone else may have drawn since the last frame (a window's own code): all state is set anew. */
static void gl_begin(void *self, int width, int height, const float clear[4])
{
    gl_device *device = self;
    const GladGLContext *gl = &device->gl;
    gl->Viewport(0, 0, width, height);
    gl->Disable(GL_DEPTH_TEST);
    gl->Disable(GL_CULL_FACE);
    gl->Disable(GL_SCISSOR_TEST);
    gl->Disable(GL_STENCIL_TEST);
    gl->Disable(GL_FRAMEBUFFER_SRGB);
    gl->Disable(GL_DITHER);
    gl->ColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    gl->BlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    gl->BlendEquation(GL_FUNC_ADD);
    gl->ClearColor(clear[0], clear[1], clear[2], clear[3]);
    gl->Clear(GL_COLOR_BUFFER_BIT);
    device->blend = -1;
    device->program = 0;
}

static void set_blend(gl_device *device, bool blend)
{
    if (device->blend == (int)blend) {
        return;
    }
    device->blend = blend;
    if (blend) {
        device->gl.Enable(GL_BLEND);
    } else {
        device->gl.Disable(GL_BLEND);
    }
}

static void gl_draw(void *self, const device_draw *draw)
{
    gl_device *device = self;
    const GladGLContext *gl = &device->gl;
    use_program(device, draw->program->native);
    set_blend(device, draw->blend);
    for (unsigned i = 0; i < 4 && draw->textures[i]; i++) {
        gl->ActiveTexture(GL_TEXTURE0 + i);
        gl->BindTexture(texture_target(draw->textures[i]), draw->textures[i]->native);
    }
    gl->BindVertexArray(draw->layout->native);
    point_attributes(gl, draw->layout, draw->first);
    gl->DrawArraysInstanced(GL_TRIANGLES, 0, 6, (GLsizei)draw->n);
}

static void gl_finish(void *self)
{
    ((gl_device *)self)->gl.Finish();
}

static const gpu_device device_table = {
    .destroy = gl_destroy,
    .name = gl_name,
    .max_texture_size = gl_max_texture_size,
    .program_create = gl_program_create,
    .buffer_create = gl_buffer_create,
    .layout_create = gl_layout_create,
    .texture_create = gl_texture_create,
    .target_create = gl_target_create,
    .object_destroy = gl_object_destroy,
    .set_floats = gl_set_floats,
    .buffer_write = gl_buffer_write,
    .texture_write = gl_texture_write,
    .target_bind = gl_target_bind,
    .target_read = gl_target_read,
    .begin = gl_begin,
    .draw = gl_draw,
    .finish = gl_finish,
    .check = gl_check,
};

/* glad wants functions as functions, EGL and GLFW hand them out as data pointers. */
typedef union proc {
    void *data;
    GLADapiproc function;
} proc;

static GLADapiproc load_proc(void *user, const char *name)
{
    const gpu_get_proc *get_proc = user;
    proc p = {.data = (*get_proc)(name)};
    return p.function;
}

marey_status gpu_create_gl(gpu **out, gpu_get_proc get_proc, diag *d)
{
    *out = NULL;
    gl_device *device = mem_calloc(1, sizeof *device);
    int version = gladLoadGLContextUserPtr(&device->gl, load_proc, &get_proc);
    if (version < GLAD_MAKE_VERSION(3, 3)) {
        free(device);
        return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET, "OpenGL 3.3 is needed; this context offers %d.%d",
                          GLAD_VERSION_MAJOR(version), GLAD_VERSION_MINOR(version));
    }
    const GLubyte *name = device->gl.GetString(GL_RENDERER);
    strncpy(device->name, name ? (const char *)name : "unknown", sizeof device->name - 1);
    device->gl.GetIntegerv(GL_MAX_TEXTURE_SIZE, &device->max_texture_size);
    device->blend = -1;
    return gpu_create_on(out, &device_table, device);
}
