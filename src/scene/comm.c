/*
 * Which communicator a collective belongs to. The table is sorted by event row and lies in the file; pages of it are
 * read as the picture needs them, a few a frame, and kept.
 */
#include <stdlib.h>
#include <string.h>

#include "scene/internal.h"

enum { PAGE = 4096, PAGES_A_FRAME = 12, MAX_PAGES = 4096 };

typedef struct comm_page {
    uint64_t *row; /* NULL: not read yet */
    uint32_t *group;
    uint32_t n;
} comm_page;

struct comm_table {
    bool failed;
    size_t n_pages;
    uint64_t *first_row; /* of each page */
    comm_page *pages;
    int n_read; /* in this frame */
};

static bool read_page(scene *s, size_t page, comm_page *out)
{
    uint64_t first = (uint64_t)page * PAGE;
    uint64_t left = s->model->n_collectives - first;
    uint32_t n = (uint32_t)(left < PAGE ? left : PAGE);
    store_collective *c = mem_alloc(n * sizeof *c);
    bool ok = store_read_collectives(s->file, first, n, c, NULL) == MAREY_OK;
    if (ok) {
        out->row = mem_alloc(n * sizeof *out->row);
        out->group = mem_alloc(n * sizeof *out->group);
        out->n = n;
        for (uint32_t i = 0; i < n; i++) {
            out->row[i] = c[i].row;
            out->group[i] = c[i].group;
        }
    }
    free(c);
    return ok;
}

static struct comm_table *make_table(scene *s)
{
    struct comm_table *t = mem_calloc(1, sizeof *t);
    t->n_pages = (size_t)((s->model->n_collectives + PAGE - 1) / PAGE);
    if (t->n_pages > MAX_PAGES) {
        t->failed = true; /* tens of millions: bands are matched without communicators */
        return t;
    }
    t->first_row = mem_calloc(t->n_pages + 1, sizeof *t->first_row);
    t->pages = mem_calloc(t->n_pages + 1, sizeof *t->pages);
    for (size_t i = 0; i < t->n_pages && !t->failed; i++) {
        store_collective c;
        t->failed = store_read_collectives(s->file, (uint64_t)i * PAGE, 1, &c, NULL) != MAREY_OK;
        t->first_row[i] = t->failed ? 0 : c.row;
    }
    return t;
}

void comm_begin(scene *s)
{
    if (s->comm) {
        s->comm->n_read = 0;
    }
}

static comm_page *page_of(scene *s, struct comm_table *t, uint64_t row, bool *pending)
{
    size_t low = 0;
    size_t high = t->n_pages;
    while (low < high) { /* the first page that begins after the row */
        size_t middle = low + (high - low) / 2;
        if (t->first_row[middle] <= row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return NULL;
    }
    comm_page *p = &t->pages[low - 1];
    if (!p->row && t->n_read >= PAGES_A_FRAME) {
        *pending = true;
        return NULL;
    }
    if (!p->row) {
        t->n_read++;
        t->failed = !read_page(s, low - 1, p);
    }
    return t->failed ? NULL : p;
}

uint32_t communicator_of(scene *s, uint64_t event_row, bool *pending)
{
    if (s->model->n_collectives == 0) {
        return NO_ID;
    }
    if (!s->comm) {
        s->comm = make_table(s);
    }
    const comm_page *p = s->comm->failed ? NULL : page_of(s, s->comm, event_row, pending);
    uint32_t low = 0;
    uint32_t high = p ? p->n : 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->row[middle] < event_row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return p && low < p->n && p->row[low] == event_row ? p->group[low] : NO_ID;
}

void comm_free(struct comm_table **pt)
{
    struct comm_table *t = *pt;
    if (!t) {
        return;
    }
    for (size_t i = 0; t->pages && i < t->n_pages; i++) {
        free(t->pages[i].row);
        free(t->pages[i].group);
    }
    free(t->pages);
    free(t->first_row);
    free(t);
    *pt = NULL;
}
