#include "render/shader_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static marey_status read_file(const char *dir, const char *name, char **text, size_t *size, diag *d)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s/%s", dir, name);
    marey_status status = file_read_all(strbuf_str(&path), SHADER_MAX_BYTES, text, size, d);
    strbuf_deinit(&path);
    return status;
}

/* The name between the quotes of an include line. @return its length, or 0 when the line is no include */
static size_t include_name(const char *line, size_t n, const char **name)
{
    static const char word[] = "#include \"";
    size_t head = sizeof word - 1;
    if (n <= head || memcmp(line, word, head) != 0) {
        return 0;
    }
    const char *end = memchr(line + head, '"', n - head);
    *name = line + head;
    return end ? (size_t)(end - *name) : 0;
}

static marey_status add_include(const char *dir, const char *name, size_t n_name, int line, strbuf *out, diag *d)
{
    strbuf file = {0};
    strbuf_add(&file, name, n_name);
    char *text = NULL;
    size_t size = 0;
    marey_status status = read_file(dir, strbuf_str(&file), &text, &size, d);
    if (status == MAREY_OK) {
        strbuf_puts(out, "#line 1 1\n");
        strbuf_add(out, text, size);
        strbuf_printf(out, "#line %d 0\n", line + 1);
    }
    free(text);
    strbuf_deinit(&file);
    return status;
}

marey_status shader_source_load(const char *dir, const char *name, strbuf *out, diag *d)
{
    char *text = NULL;
    size_t size = 0;
    marey_status status = read_file(dir, name, &text, &size, d);
    int line = 1;
    int n_includes = 0;
    for (size_t i = 0; status == MAREY_OK && i < size; line++) {
        const char *end = memchr(text + i, '\n', size - i);
        size_t n = end ? (size_t)(end - (text + i)) + 1 : size - i;
        const char *included = NULL;
        size_t n_included = include_name(text + i, n, &included);
        if (n_included == 0) {
            strbuf_add(out, text + i, n);
        } else if (++n_includes > SHADER_MAX_INCLUDES) {
            status = diag_error(d, MAREY_FORMAT, name, i, "a shader may include %d files", SHADER_MAX_INCLUDES);
        } else {
            status = add_include(dir, included, n_included, line, out, d);
        }
        i += n;
    }
    free(text);
    return status;
}
