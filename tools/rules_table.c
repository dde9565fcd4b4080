/*
 * Build-time program: the built-in rules as the table that they become, so that nothing is read when a run is
 * converted.
 *
 *     marey-rules OUT.c RULES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "trace/rules_private.h"

static void put_texts(strbuf *out, const rule_memory *m)
{
    strbuf_puts(out, "static const char texts[] = {");
    for (size_t i = 0; i < m->texts.n; i++) {
        strbuf_printf(out, "%s%d,", i % 24 == 0 ? "\n" : "", m->texts.s[i]);
    }
    strbuf_puts(out, "0};\n");
}

static void put_patterns(strbuf *out, const rule_table *t)
{
    strbuf_puts(out, "static const rule_pattern patterns[] = {\n");
    for (size_t i = 0; i < t->n_patterns; i++) {
        const rule_pattern *p = &t->patterns[i];
        strbuf_printf(out, "{%uU, %uU, %uU, {", p->text, p->n, p->category);
        for (unsigned k = 0; k < RULE_NEEDS; k++) {
            strbuf_printf(out, "%u, ", p->needs[k]);
        }
        strbuf_printf(out, "}, %u, %u},\n", p->scope, p->mark);
    }
    strbuf_puts(out, "};\nstatic const uint16_t looks[] = {\n");
    for (size_t i = 0; i < t->n_patterns; i++) {
        strbuf_printf(out, "%u,\n", t->looks[i]);
    }
    strbuf_puts(out, "};\n");
}

static void put_runs(strbuf *out, const rule_table *t)
{
    strbuf_puts(out, "static const rule_run runs[] = {\n");
    for (size_t i = 0; i < t->n_runs; i++) {
        const rule_run *run = &t->runs[i];
        strbuf_printf(out, "{%uU, %uU, %s},\n", run->first, run->end, run->says_mark ? "true" : "false");
    }
    strbuf_puts(out, "};\nstatic const uint64_t open[] = {\n");
    for (size_t i = 0; i < RULE_SCOPES * t->run_words; i++) {
        strbuf_printf(out, "UINT64_C(%llu),\n", (unsigned long long)t->open[i]);
    }
    strbuf_puts(out, "};\n");
}

static void put_parts(strbuf *out, const rule_table *t)
{
    strbuf_puts(out, "static const rule_part parts[] = {\n");
    for (size_t i = 0; i < t->n_parts; i++) {
        const rule_part *p = &t->parts[i];
        strbuf_printf(out, "{%uU, %uU, UINT64_C(%llu)},\n", p->text, p->n, (unsigned long long)p->scopes);
    }
    strbuf_puts(out, "};\nstatic const trace_category categories[] = {\n");
    for (size_t i = 0; i < t->n_categories; i++) {
        const trace_category *c = &t->categories[i];
        strbuf_printf(out, "{\"%s\", (trace_class)%d, (trace_kind)%d},\n", c->name, (int)c->klass, (int)c->kind);
    }
    strbuf_puts(out, "};\n");
}

static void put_table(strbuf *out, const rule_table *t, const rule_memory *m)
{
    strbuf_puts(out, "#include \"trace/rules_builtin.h\"\n\n");
    put_texts(out, m);
    put_patterns(out, t);
    put_runs(out, t);
    put_parts(out, t);
    strbuf_printf(out,
                  "const rule_table rules_builtin_table = {.texts = texts, .patterns = patterns, .looks = looks,\n"
                  ".runs = runs, .open = open, .parts = parts, .categories = categories, .n_patterns = %zu,\n"
                  ".n_runs = %zu, .run_words = %zu, .n_parts = %zu, .n_categories = %zu, .fallback = %u};\n",
                  t->n_patterns, t->n_runs, t->run_words, t->n_parts, t->n_categories, t->fallback);
}

static marey_status make_table(const char *target, const char *path, rule_memory *m, diag *d)
{
    char *text = NULL;
    size_t n = 0;
    rule_table table;
    strbuf out = {0};
    marey_status status;
    MAREY_TRY(file_read_all(path, RULES_BYTES, &text, &n, d));
    MAREY_TRY(rules_read_text(m, path, text, n, true, d));
    MAREY_TRY(rules_read_text(m, path, text, n, false, d));
    MAREY_TRY(rules_complete(m, &table, d));
    put_table(&out, &table, m);
    MAREY_TRY(file_write_all(target, out.s, out.n, d));
fail:
    free(text);
    strbuf_deinit(&out);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: marey-rules OUT.c RULES\n");
        return 2;
    }
    diag d;
    diag_init(&d);
    d.echo = true;
    rule_memory *m = mem_calloc(1, sizeof *m);
    marey_status status = make_table(argv[1], argv[2], m, &d);
    rules_memory_free(m);
    diag_deinit(&d);
    return status == MAREY_OK ? 0 : 1;
}
