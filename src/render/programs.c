#include "render/programs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "render/shader_source.h"
#include "render/shaders.h"

/* How an instance lies in its buffer; the shaders' locations are in the same order. */
typedef struct kind_table {
    const char *name;
    size_t stride;
    const char *samplers[4];
    unsigned n_attributes;
    gpu_attribute attributes[6];
} kind_table;

#define PART(location, components, type, kind, field)                                                                  \
    {                                                                                                                  \
        location, components, type, offsetof(kind, field)                                                              \
    }

static const kind_table kinds[PROGRAM_COUNT] = {
    [PACK_FLAT] = {"flat",
                   sizeof(pack_flat),
                   {NULL},
                   2,
                   {PART(0, 4, GPU_I16, pack_flat, box), PART(1, 4, GPU_U8_NORM, pack_flat, colour)}},
    [PACK_ROUND] = {"round",
                    sizeof(pack_round),
                    {NULL},
                    5,
                    {PART(0, 4, GPU_I16, pack_round, box), PART(1, 4, GPU_F32, pack_round, centre_x),
                     PART(2, 4, GPU_U8_NORM, pack_round, fill), PART(3, 4, GPU_U8_NORM, pack_round, border),
                     PART(4, 2, GPU_F32, pack_round, radius)}},
    [PACK_STRIP] = {"strip",
                    sizeof(pack_strip),
                    {"u_cells", "u_rows", "u_palette"},
                    2,
                    {PART(0, 4, GPU_I16, pack_strip, box), PART(1, 4, GPU_F32, pack_strip, x)}},
    [PACK_PIXELS] = {"pixels",
                     sizeof(pack_pixels),
                     {"u_picture"},
                     2,
                     {PART(0, 4, GPU_I16, pack_pixels, box), PART(1, 4, GPU_F32, pack_pixels, x0)}},
    [PACK_BAND] = {"band",
                   sizeof(pack_band),
                   {NULL},
                   4,
                   {PART(0, 2, GPU_F32, pack_band, y_top), PART(1, 4, GPU_F32, pack_band, x0),
                    PART(2, 4, GPU_U8_NORM, pack_band, colour), PART(3, 4, GPU_I16, pack_band, clip)}},
    [PACK_LINE] = {"line",
                   sizeof(pack_line),
                   {NULL},
                   4,
                   {PART(0, 4, GPU_F32, pack_line, x0), PART(1, 2, GPU_F32, pack_line, width),
                    PART(2, 4, GPU_U8_NORM, pack_line, colour), PART(3, 4, GPU_I16, pack_line, clip)}},
    [PACK_TRI] = {"tri",
                  sizeof(pack_tri),
                  {NULL},
                  4,
                  {PART(0, 4, GPU_I16, pack_tri, box), PART(1, 4, GPU_F32, pack_tri, ax),
                   PART(2, 2, GPU_F32, pack_tri, cx), PART(3, 4, GPU_U8_NORM, pack_tri, colour)}},
    [PACK_GLYPH] = {"glyph",
                    sizeof(pack_glyph),
                    {"u_atlas"},
                    3,
                    {PART(0, 4, GPU_I16, pack_glyph, box), PART(1, 4, GPU_U16_INT, pack_glyph, x),
                     PART(2, 4, GPU_U8_NORM, pack_glyph, colour)}},
    [PROGRAM_FLOOR] = {"floor", sizeof(pack_flat), {"u_cells"}, 1, {PART(0, 4, GPU_I16, pack_flat, box)}},
};

/* ---- sources ---- */

static const char *embedded(const char *name)
{
    for (size_t i = 0; i < marey_n_shaders; i++) {
        if (strcmp(marey_shaders[i].name, name) == 0) {
            return marey_shaders[i].bytes;
        }
    }
    return "";
}

static const char *shader_dir(void)
{
#if MAREY_SHADER_RELOAD
    return getenv("MAREY_SHADER_DIR");
#else
    return NULL;
#endif
}

static marey_status load_stage(const char *kind, const char *stage, strbuf *out, diag *d)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s.%s", kind, stage);
    const char *dir = shader_dir();
    if (dir) {
        return shader_source_load(dir, name, out, d);
    }
    strbuf_puts(out, embedded(name));
    return MAREY_OK;
}

static int64_t changed_ns(const char *dir, const char *kind, const char *stage)
{
    char path[1024];
    struct stat s;
    (void)snprintf(path, sizeof path, "%s/%s.%s", dir, kind, stage);
    return stat(path, &s) == 0 ? (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec : 0;
}

static int64_t latest_change_ns(const char *dir, const char *kind)
{
    int64_t vertex = changed_ns(dir, kind, "vert");
    int64_t fragment = changed_ns(dir, kind, "frag");
    return vertex > fragment ? vertex : fragment;
}

/* ---- programs ---- */

static marey_status make_program(gpu *g, const kind_table *k, gpu_program *out, diag *d)
{
    strbuf vertex = {0};
    strbuf fragment = {0};
    marey_status status = load_stage(k->name, "vert", &vertex, d);
    if (status == MAREY_OK) {
        status = load_stage(k->name, "frag", &fragment, d);
    }
    if (status == MAREY_OK) {
        gpu_program_desc desc = {.name = k->name, .vertex = strbuf_str(&vertex), .fragment = strbuf_str(&fragment)};
        desc.uniforms[UNIFORM_PIXEL] = "u_pixel";
        memcpy(desc.samplers, k->samplers, sizeof desc.samplers);
        status = gpu_program_create(g, out, &desc, d);
    }
    strbuf_deinit(&vertex);
    strbuf_deinit(&fragment);
    return status;
}

static void drop_program(program *p, gpu *g)
{
    gpu_layout_destroy(g, &p->layout);
    gpu_buffer_destroy(g, &p->buffer);
    gpu_program_destroy(g, &p->program);
}

static marey_status make(gpu *g, const kind_table *k, program *p, diag *d)
{
    marey_status status;
    MAREY_TRY(make_program(g, k, &p->program, d));
    MAREY_TRY(gpu_buffer_create(g, &p->buffer, d));
    MAREY_TRY(gpu_layout_create(g, &p->layout, p->buffer, (unsigned)k->stride, k->attributes, k->n_attributes, d));
    p->changed_ns = shader_dir() ? latest_change_ns(shader_dir(), k->name) : 0;
    return MAREY_OK;
fail:
    drop_program(p, g);
    return status;
}

marey_status programs_get(programs *p, gpu *g, unsigned kind, program **out, diag *d)
{
    *out = &p->list[kind];
    return p->list[kind].layout.id ? MAREY_OK : make(g, &kinds[kind], &p->list[kind], d);
}

void programs_reload(programs *p, gpu *g, diag *d)
{
    const char *dir = shader_dir();
    for (unsigned i = 0; dir && i < PROGRAM_COUNT; i++) {
        program *now = &p->list[i];
        int64_t latest = latest_change_ns(dir, kinds[i].name);
        gpu_program fresh = {0};
        if (!now->layout.id || latest == now->changed_ns) {
            continue;
        }
        now->changed_ns = latest;
        if (make_program(g, &kinds[i], &fresh, d) == MAREY_OK) {
            gpu_program_destroy(g, &now->program);
            now->program = fresh;
        }
    }
}

void programs_deinit(programs *p, gpu *g)
{
    for (int i = 0; i < PROGRAM_COUNT; i++) {
        drop_program(&p->list[i], g);
    }
}
