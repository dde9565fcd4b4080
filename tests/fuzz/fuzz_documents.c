/* Any bytes as a whole JSON document and as a table: what they give lies inside what they were given. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "parse/csv.h"
#include "parse/json_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
    if (!right) {
        abort();
    }
}

static void document(const char *text, size_t n)
{
    diag d;
    diag_init(&d);
    jdoc *doc = NULL;
    if (jdoc_parse(text, n, "input", &d, &doc) == MAREY_OK) {
        size_t children = 0;
        strbuf b = {0};
        for (uint32_t i = 0; i < doc->n; i++) {
            const jdoc_node *node = &doc->nodes[i];
            int64_t v = 0;
            double x = 0;
            check(!node->s || (node->s >= text && node->s + node->n <= text + n));
            check(node->next == JDOC_NONE || (node->next > i && node->next < doc->n));
            children += node->n_children;
            (void)jdoc_us(doc, i, &v);
            (void)jdoc_double(doc, i, &x);
            (void)jdoc_text(doc, i, &b);
        }
        check(children == doc->n - 1);
        strbuf_deinit(&b);
    } else {
        check(d.n_messages == 1);
    }
    jdoc_destroy(&doc);
    diag_deinit(&d);
}

static void table(const char *text, size_t n)
{
    diag d;
    diag_init(&d);
    csv *c = NULL;
    if (csv_open_memory(text, n, "input", &d, 0, &c) == MAREY_OK) {
        size_t rows = 0;
        while (csv_next(c)) {
            check(++rows <= n);
            for (int i = -1; i <= (int)csv_n_columns(c); i++) {
                check(csv_get(c, i).s != NULL);
            }
        }
    }
    csv_close(&c);
    diag_deinit(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    document((const char *)data, size);
    table((const char *)data, size);
    return 0;
}
