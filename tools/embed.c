/*
 * Build-time program: shader files into one C table.
 *
 *     marey-embed OUT.c SHADER_DIR NAME...
 *     marey-embed --resolve SHADER_DIR NAME      one stage with its includes resolved, to standard output
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/text.h"
#include "render/shader_source.h"

static void put_bytes(strbuf *out, int index, const strbuf *source)
{
    strbuf_printf(out, "static const char bytes_%d[] = {", index);
    for (size_t i = 0; i < source->n; i++) {
        strbuf_printf(out, "%s%d,", i % 24 == 0 ? "\n" : "", source->s[i]);
    }
    strbuf_puts(out, "0};\n");
}

static marey_status write_table(const char *target, const char *dir, char **names, int n, diag *d)
{
    strbuf out = {0};
    strbuf table = {0};
    marey_status status = MAREY_OK;
    strbuf_puts(&out, "#include \"render/shaders.h\"\n");
    for (int i = 0; i < n && status == MAREY_OK; i++) {
        strbuf source = {0};
        status = shader_source_load(dir, names[i], &source, d);
        put_bytes(&out, i, &source);
        strbuf_printf(&table, "    {\"%s\", bytes_%d, sizeof bytes_%d - 1},\n", names[i], i, i);
        strbuf_deinit(&source);
    }
    strbuf_printf(&out, "const shader_file marey_shaders[] = {\n%s};\nconst size_t marey_n_shaders = %d;\n",
                  strbuf_str(&table), n);
    if (status == MAREY_OK) {
        status = file_write_all(target, out.s, out.n, d);
    }
    strbuf_deinit(&out);
    strbuf_deinit(&table);
    return status;
}

static marey_status print_stage(const char *dir, const char *name, diag *d)
{
    strbuf source = {0};
    marey_status status = shader_source_load(dir, name, &source, d);
    if (status == MAREY_OK) {
        (void)fwrite(source.s, 1, source.n, stdout);
    }
    strbuf_deinit(&source);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: marey-embed OUT.c SHADER_DIR NAME...\n");
        return 2;
    }
    diag d;
    diag_init(&d);
    d.echo = true;
    marey_status status = strcmp(argv[1], "--resolve") == 0 ? print_stage(argv[2], argv[3], &d)
                                                            : write_table(argv[1], argv[2], argv + 3, argc - 3, &d);
    diag_deinit(&d);
    return status == MAREY_OK ? 0 : 1;
}
