#include "base/diag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    const char *code;
    const char *text;
} loss_table[] = {
#define X(name, code, text) {code, text},
    MAREY_LOSS_LIST(X)
#undef X
};

const char *marey_loss_code(marey_loss loss)
{
    return (unsigned)loss < MAREY_LOSS_COUNT ? loss_table[loss].code : "unknown";
}

const char *marey_loss_text(marey_loss loss)
{
    return (unsigned)loss < MAREY_LOSS_COUNT ? loss_table[loss].text : "unknown";
}

void diag_init(diag *d)
{
    memset(d, 0, sizeof *d);
}

void diag_deinit(diag *d)
{
    for (size_t i = 0; i < d->n_messages; i++) {
        free(d->messages[i].where);
        free(d->messages[i].text);
    }
    for (size_t i = 0; i < d->n_losses; i++) {
        free(d->losses[i].detail);
    }
    for (size_t i = 0; i < d->n_files; i++) {
        free(d->files[i]);
    }
    free(d->messages);
    free(d->losses);
    free((void *)d->files);
    memset(d, 0, sizeof *d);
}

uint32_t diag_file(diag *d, const char *name)
{
    for (size_t i = 0; i < d->n_files; i++) {
        if (strcmp(d->files[i], name) == 0) {
            return (uint32_t)i;
        }
    }
    if (d->n_files == d->cap_files) {
        d->cap_files = d->cap_files ? d->cap_files * 2 : 8;
        d->files = mem_realloc_array((void *)d->files, d->cap_files, sizeof *d->files);
    }
    d->files[d->n_files] = mem_strdup(name);
    return (uint32_t)d->n_files++;
}

static void print_message(const diag_message *m)
{
    static const char *const words[] = {"note", "warning", "error"};
    (void)fprintf(stderr, "marey: %s: ", words[m->severity]);
    if (m->where) {
        (void)fprintf(stderr, "%s: ", m->where);
    }
    if (m->offset != DIAG_NO_OFFSET) {
        (void)fprintf(stderr, "at byte %llu: ", (unsigned long long)m->offset);
    }
    (void)fprintf(stderr, "%s\n", m->text);
}

static void add_message(diag *d, diag_message m, const char *where, const char *format, va_list args)
{
    if (!d) {
        return;
    }
    if (d->n_messages >= DIAG_MAX_MESSAGES) {
        d->n_suppressed++;
        return;
    }
    if (d->n_messages == d->cap_messages) {
        d->cap_messages = d->cap_messages ? d->cap_messages * 2 : 8;
        d->messages = mem_realloc_array(d->messages, d->cap_messages, sizeof *d->messages);
    }
    char text[1024];
    (void)vsnprintf(text, sizeof text, format, args);
    m.text = mem_strdup(text);
    m.where = where ? mem_strdup(where) : NULL;
    d->messages[d->n_messages++] = m;
    if (d->echo) {
        print_message(&m);
    }
}

marey_status diag_error(diag *d, marey_status status, const char *where, uint64_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_message(d, (diag_message){.severity = DIAG_ERROR, .status = status, .offset = offset}, where, format, args);
    va_end(args);
    return status;
}

void diag_warn(diag *d, const char *where, uint64_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_message(d, (diag_message){.severity = DIAG_WARNING, .offset = offset}, where, format, args);
    va_end(args);
}

void diag_note(diag *d, const char *where, uint64_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_message(d, (diag_message){.severity = DIAG_NOTE, .offset = offset}, where, format, args);
    va_end(args);
}

static bool same_loss(const diag_loss *l, marey_loss loss, uint32_t file, const char *detail)
{
    if (l->loss != loss || l->file != file || !l->detail != !detail) {
        return false;
    }
    return !detail || strcmp(l->detail, detail) == 0;
}

static diag_loss *find_loss(diag *d, marey_loss loss, uint32_t file, const char *detail)
{
    if (d->last < d->n_losses && same_loss(&d->losses[d->last], loss, file, detail)) {
        return &d->losses[d->last];
    }
    for (size_t i = 0; i < d->n_losses; i++) {
        if (same_loss(&d->losses[i], loss, file, detail)) {
            d->last = i;
            return &d->losses[i];
        }
    }
    return NULL;
}

void diag_lose(diag *d, marey_loss loss, uint32_t file, uint64_t offset, uint64_t n, const char *detail)
{
    if (!d || n == 0) {
        return;
    }
    diag_loss *l = find_loss(d, loss, file, detail);
    if (l) {
        l->count += n;
        l->first_offset = offset < l->first_offset ? offset : l->first_offset;
        return;
    }
    if (d->n_losses == d->cap_losses) {
        d->cap_losses = d->cap_losses ? d->cap_losses * 2 : 8;
        d->losses = mem_realloc_array(d->losses, d->cap_losses, sizeof *d->losses);
    }
    d->last = d->n_losses;
    d->losses[d->n_losses++] = (diag_loss){loss, file, n, offset, detail ? mem_strdup(detail) : NULL};
}

void diag_place(diag *d, marey_loss loss, uint32_t file, uint64_t offset, const char *detail)
{
    diag_loss *l = find_loss(d, loss, file, detail);
    if (l) {
        l->first_offset = offset < l->first_offset ? offset : l->first_offset;
    }
}

static int compare_losses(const void *pa, const void *pb)
{
    const diag_loss *a = pa;
    const diag_loss *b = pb;
    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    if (a->first_offset != b->first_offset) {
        return a->first_offset < b->first_offset ? -1 : 1;
    }
    if (a->loss != b->loss) {
        return a->loss < b->loss ? -1 : 1;
    }
    return strcmp(a->detail ? a->detail : "", b->detail ? b->detail : "");
}

void diag_sort(diag *d)
{
    if (d->n_losses > 0) {
        qsort(d->losses, d->n_losses, sizeof *d->losses, compare_losses);
    }
}

uint64_t diag_lost(const diag *d, marey_loss loss)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < d->n_losses; i++) {
        sum += d->losses[i].loss == loss ? d->losses[i].count : 0;
    }
    return sum;
}

void diag_merge(diag *to, const diag *from)
{
    for (size_t i = 0; i < from->n_messages; i++) {
        const diag_message *m = &from->messages[i];
        bool echo = to->echo && !from->echo;
        bool kept = to->echo;
        to->echo = echo;
        if (m->severity == DIAG_ERROR) {
            (void)diag_error(to, m->status, m->where, m->offset, "%s", m->text);
        } else if (m->severity == DIAG_WARNING) {
            diag_warn(to, m->where, m->offset, "%s", m->text);
        } else {
            diag_note(to, m->where, m->offset, "%s", m->text);
        }
        to->echo = kept;
    }
    to->n_suppressed += from->n_suppressed;
    for (size_t i = 0; i < from->n_losses; i++) {
        const diag_loss *l = &from->losses[i];
        uint32_t file = l->file < from->n_files ? diag_file(to, from->files[l->file]) : UINT32_MAX;
        diag_lose(to, l->loss, file, l->first_offset, l->count, l->detail);
    }
}
