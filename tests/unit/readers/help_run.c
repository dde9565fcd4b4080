#include "help_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/model.h"

void folder_make(char *path, size_t cap)
{
    (void)snprintf(path, cap, "/tmp/marey-run-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void folder_remove(const char *path)
{
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

void folder_put_bytes(const char *folder, const char *name, const void *data, size_t n)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        (void)mkdir(path, 0700);
        *p = '/';
    }
    assert_int_equal(file_write_all(path, data, n, NULL), MAREY_OK);
}

void folder_put(const char *folder, const char *name, const char *text)
{
    folder_put_bytes(folder, name, text, strlen(text));
}

run_source *folder_group(const char *folder, arena *mem, size_t *n)
{
    char **paths = NULL;
    size_t n_paths = 0;
    run_source *sources = NULL;
    assert_int_equal(file_list(folder, mem, &paths, &n_paths, NULL), MAREY_OK);
    run_group_files((const char *const *)paths, NULL, n_paths, mem, &sources, n, NULL);
    free((void *)paths);
    return sources;
}

static marey_status keep(void *ctx, trace_chunk *c)
{
    seen_run *s = ctx;
    for (size_t i = 0; i < c->n; i++) {
        const trace_row *r = &c->rows[i];
        seen_event e = {.start_ns = r->start_ns,
                        .dur_ns = r->dur_ns,
                        .correlation = r->link,
                        .name = s->b.names[r->name].text,
                        .source = s->b.names[r->name].source,
                        .thread = r->thread,
                        .flags = r->flags,
                        .args = mem_strndup(c->args ? c->args + r->args_at : "", r->args_len)};
        VEC_PUSH(s->events, s->n, s->cap, e);
    }
    c->n = 0;
    c->n_args = 0;
    return MAREY_OK;
}

void run_see(const run_source *s, seen_run *out)
{
    memset(out, 0, sizeof *out);
    diag_init(&out->d);
    trace_builder_init(&out->b);
    (void)snprintf(out->label, sizeof out->label, "%s", s->label);
    out->b.flush = keep;
    out->b.flush_ctx = out;
    out->b.diag = &out->d;
    out->b.path = out->label;
    out->b.file = diag_file(&out->d, out->label);
    out->status = reader_read_run_source(s, &out->b, NULL);
}

void folder_see(const char *folder, seen_run *out)
{
    arena mem = {0};
    size_t n = 0;
    run_source *s = folder_group(folder, &mem, &n);
    assert_int_equal(n, 1);
    run_see(s, out);
    arena_deinit(&mem);
}

void seen_free(seen_run *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->events[i].args);
    }
    free(s->events);
    trace_builder_deinit(&s->b);
    diag_deinit(&s->d);
}

const char *seen_string(const seen_run *s, uint32_t id)
{
    return id == NO_ID ? "" : s->b.strings.text[id];
}

const char *seen_name(const seen_run *s, size_t i)
{
    return seen_string(s, s->events[i].name);
}

const char *seen_source(const seen_run *s, size_t i)
{
    return seen_string(s, s->events[i].source);
}

const char *seen_thread(const seen_run *s, size_t i)
{
    return seen_string(s, s->b.threads[s->events[i].thread].name);
}

const char *seen_process(const seen_run *s, size_t i)
{
    return seen_string(s, s->b.threads[s->events[i].thread].process_name);
}

size_t seen_count(const seen_run *s, const char *source)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += strcmp(seen_source(s, i), source) == 0;
    }
    return n;
}

size_t seen_find(const seen_run *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(seen_name(s, i), name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

const trace_metric_in *seen_metric(const seen_run *s, trace_metric_kind kind, size_t n)
{
    for (size_t i = 0; i < s->b.side.n_metrics; i++) {
        if (s->b.side.metrics[i].kind == kind && n-- == 0) {
            return &s->b.side.metrics[i];
        }
    }
    return NULL;
}

size_t seen_metrics(const seen_run *s, trace_metric_kind kind)
{
    size_t n = 0;
    while (seen_metric(s, kind, n)) {
        n++;
    }
    return n;
}

bool seen_message(const seen_run *s, const char *part)
{
    for (size_t i = 0; i < s->d.n_messages; i++) {
        if (strstr(s->d.messages[i].text, part)) {
            return true;
        }
    }
    return false;
}
