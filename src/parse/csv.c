#include "parse/csv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "parse/decns.h"
#include "parse/source.h"

enum { WINDOW_BYTES = 65536 };

/* A field's place in the row's text. */
typedef struct cell {
    size_t at, n;
} cell;

struct csv {
    source *src;
    diag *diag;
    uint32_t file;
    char sep;
    char *window;
    size_t at, end;
    uint64_t window_offset; /* of window[0] in the text */
    strbuf row;             /* unquoted fields, each with a NUL behind it */
    cell *cells;
    size_t n_cells, cap_cells;
    strbuf names;
    cell *columns;
    size_t n_columns, cap_columns;
    uint64_t row_offset;
    uint64_t n_rows, n_short, n_long;
    bool too_long; /* the row that is being read */
};

static int next_byte(csv *c)
{
    if (c->at == c->end) {
        c->window_offset += c->end;
        c->at = 0;
        c->end = source_read(c->src, c->window, WINDOW_BYTES);
        if (!c->end) {
            return -1;
        }
    }
    return (unsigned char)c->window[c->at++];
}

static int peek_byte(csv *c)
{
    int b = next_byte(c);
    if (b >= 0) {
        c->at--;
    }
    return b;
}

static void add_byte(csv *c, char b)
{
    if (c->row.n < CSV_MAX_ROW_BYTES) {
        strbuf_add(&c->row, &b, 1);
    } else {
        c->too_long = true;
    }
}

/* Copy the bytes up to the next that may end the field: the bulk of a row, in one piece. `quoted`: only a quote may. */
static void take_run(csv *c, bool quoted)
{
    const char *p = c->window + c->at;
    size_t n = c->end - c->at;
    size_t k = 0;
    while (k < n && p[k] != '"' && (quoted || (p[k] != c->sep && p[k] != '\n'))) {
        k++;
    }
    if (k && c->row.n + k <= CSV_MAX_ROW_BYTES) {
        strbuf_add(&c->row, p, k);
    } else if (k) {
        c->too_long = true;
    }
    c->at += k;
}

static bool is_pad(char b)
{
    return b == ' ' || b == '\t' || b == '\r';
}

static void end_cell(csv *c, size_t start)
{
    size_t a = start;
    size_t b = c->row.n;
    while (a < b && is_pad(c->row.s[a])) {
        a++;
    }
    while (b > a && is_pad(c->row.s[b - 1])) {
        b--;
    }
    cell field = {a, b - a};
    if (c->n_cells < CSV_MAX_COLUMNS) {
        VEC_PUSH(c->cells, c->n_cells, c->cap_cells, field);
    } else {
        c->too_long = true;
    }
    add_byte(c, 0);
}

/* The inside of a quoted part, up to its closing quote. @return false when the file ends first */
static bool take_quoted(csv *c)
{
    for (;;) {
        take_run(c, true);
        int b = next_byte(c);
        if (b < 0) {
            return false;
        }
        if (b == '"') {
            if (peek_byte(c) != '"') {
                return true;
            }
            (void)next_byte(c);
        }
        add_byte(c, (char)b);
    }
}

/* Only padding in the field so far: a quote opens a quoted part there; elsewhere it is a character. */
static bool only_pads(const csv *c, size_t start)
{
    for (size_t i = start; i < c->row.n; i++) {
        if (!is_pad(c->row.s[i])) {
            return false;
        }
    }
    return true;
}

/* Read one line into cells. @return false at the end of the file without any byte */
static bool take_line(csv *c)
{
    strbuf_clear(&c->row);
    c->n_cells = 0;
    c->too_long = false;
    c->row_offset = c->window_offset + c->at;
    size_t start = 0;
    bool any = false;
    for (;;) {
        any = any || c->at < c->end;
        take_run(c, false);
        int b = next_byte(c);
        if (b < 0 || b == '\n') {
            if (b < 0 && !any) {
                return false;
            }
            end_cell(c, start);
            return true;
        }
        any = true;
        if (b == c->sep) {
            end_cell(c, start);
            start = c->row.n;
        } else if (b == '"' && only_pads(c, start)) {
            if (!take_quoted(c)) {
                diag_lose(c->diag, MAREY_LOSS_TRUNCATED, c->file, c->row_offset, 1, NULL);
                return false;
            }
        } else {
            add_byte(c, (char)b);
        }
    }
}

/* The separator, from the first window: commas win over tabs, which also pad values. */
static char guess_separator(csv *c)
{
    (void)peek_byte(c);
    const char *line = c->window + c->at;
    size_t n = c->end - c->at;
    const char *nl = n ? memchr(line, '\n', n) : NULL;
    n = nl ? (size_t)(nl - line) : n;
    return n && !memchr(line, ',', n) && memchr(line, '\t', n) ? '\t' : ',';
}

static marey_status read_header(csv *c, const char *name)
{
    if (peek_byte(c) == 0xEF && c->end - c->at >= 3 && memcmp(c->window + c->at, "\xEF\xBB\xBF", 3) == 0) {
        c->at += 3;
    }
    c->sep = guess_separator(c);
    if (take_line(c)) {
        if (c->too_long) {
            return diag_error(c->diag, MAREY_LIMIT, name, 0, "The header of the table is absurdly long.");
        }
        strbuf_add(&c->names, c->row.s, c->row.n);
        for (size_t i = 0; i < c->n_cells; i++) {
            VEC_PUSH(c->columns, c->n_columns, c->cap_columns, c->cells[i]);
            c->names.s[c->cells[i].at + c->cells[i].n] = 0;
        }
        if (c->n_columns == 1 && !c->columns[0].n) {
            c->n_columns = 0;
        }
    }
    return source_status(c->src);
}

static marey_status begin(csv *c, const char *name, csv **out)
{
    c->window = mem_alloc(WINDOW_BYTES);
    marey_status status = read_header(c, name);
    if (status != MAREY_OK) {
        csv_close(&c);
    }
    *out = c;
    return status;
}

marey_status csv_open(const char *path, diag *d, uint32_t file, csv **out)
{
    *out = NULL;
    csv *c = mem_calloc(1, sizeof *c);
    c->diag = d;
    c->file = file;
    source_options options = {.diag = d, .file = file};
    marey_status status = source_open(path, &options, &c->src);
    if (status != MAREY_OK) {
        csv_close(&c);
        return status;
    }
    return begin(c, path, out);
}

marey_status csv_open_memory(const void *data, size_t size, const char *name, diag *d, uint32_t file, csv **out)
{
    *out = NULL;
    csv *c = mem_calloc(1, sizeof *c);
    c->diag = d;
    c->file = file;
    source_options options = {.diag = d, .file = file};
    marey_status status = source_open_memory(data, size, name, &options, &c->src);
    if (status != MAREY_OK) {
        csv_close(&c);
        return status;
    }
    return begin(c, name, out);
}

void csv_close(csv **c)
{
    if (*c) {
        source_close(&(*c)->src);
        free((*c)->window);
        free((*c)->cells);
        free((*c)->columns);
        strbuf_deinit(&(*c)->row);
        strbuf_deinit(&(*c)->names);
        free(*c);
        *c = NULL;
    }
}

size_t csv_n_columns(const csv *c)
{
    return c->n_columns;
}

const char *csv_column(const csv *c, size_t i)
{
    return i < c->n_columns ? strbuf_str(&c->names) + c->columns[i].at : "";
}

int csv_find(const csv *c, const char *name)
{
    for (size_t i = 0; i < c->n_columns; i++) {
        if (strcasecmp(csv_column(c, i), name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int csv_find_any(const csv *c, const char *const *names)
{
    int found = -1;
    for (; *names && found < 0; names++) {
        found = csv_find(c, *names);
    }
    return found;
}

int csv_find_suffix(const csv *c, const char *suffix, size_t from)
{
    size_t n = strlen(suffix);
    for (size_t i = from; i < c->n_columns; i++) {
        if (c->columns[i].n >= n && memcmp(csv_column(c, i) + c->columns[i].n - n, suffix, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool is_blank(const csv *c)
{
    return c->n_cells == 1 && c->cells[0].n == 0;
}

bool csv_next(csv *c)
{
    if (!c->n_columns) {
        return false;
    }
    while (take_line(c)) {
        if (c->too_long) {
            diag_lose(c->diag, MAREY_LOSS_EVENT_TOO_LARGE, c->file, c->row_offset, 1, NULL);
        } else if (!is_blank(c) || c->n_columns == 1) {
            c->n_rows++;
            c->n_short += c->n_cells < c->n_columns;
            c->n_long += c->n_cells > c->n_columns;
            return true;
        }
    }
    c->n_cells = 0;
    return false;
}

marey_status csv_status(const csv *c)
{
    return source_status(c->src);
}

csv_field csv_get(const csv *c, int column)
{
    if (column < 0 || (size_t)column >= c->n_cells) {
        return (csv_field){"", 0};
    }
    return (csv_field){c->row.s + c->cells[column].at, c->cells[column].n};
}

bool csv_field_is(csv_field f, const char *text)
{
    return strlen(text) == f.n && memcmp(f.s, text, f.n) == 0;
}

bool csv_field_none(csv_field f)
{
    return !f.n || csv_field_is(f, "N/A") || csv_field_is(f, "-") || csv_field_is(f, "null");
}

bool csv_double(const csv *c, int column, double *v)
{
    csv_field f = csv_get(c, column);
    return f.n && decns_parse_double(f.s, f.n, v);
}

bool csv_i64(const csv *c, int column, int64_t *v)
{
    csv_field f = csv_get(c, column);
    return f.n && decns_parse_i64(f.s, f.n, v);
}

bool csv_us(const csv *c, int column, int64_t *ns)
{
    csv_field f = csv_get(c, column);
    return f.n && decns_parse_us(f.s, f.n, ns) == DECNS_OK;
}

uint64_t csv_offset(const csv *c)
{
    return c->row_offset;
}

uint64_t csv_n_rows(const csv *c)
{
    return c->n_rows;
}

uint64_t csv_n_short(const csv *c)
{
    return c->n_short;
}

uint64_t csv_n_long(const csv *c)
{
    return c->n_long;
}
