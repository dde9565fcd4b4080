/* Words about the stacks of a picture, made with it: comparing members takes longer than a frame may. */
#include <stdlib.h>
#include <string.h>

#include "scene/graph_view.h"

enum { MOST_NOTES = 256, MOST_COMPARED = 64, MOST_WORK = 4000000 };

/* The first member that differs from the first one, or how the shown one does. */
static void add_difference(const graph_plan *p, uint32_t family, uint32_t shown, size_t *budget, stack_note *note)
{
    const plan_family *f = &p->families[family];
    uint32_t from = shown > 0 ? shown : 1;
    uint32_t end = shown > 0 ? shown + 1 : f->n_members;
    strbuf text = {0};
    uint32_t m = from;
    for (; m < end && m - from < MOST_COMPARED && text.n == 0 && *budget > f->size; m++) {
        *budget -= f->size + 1;
        plan_difference(p, family, m, &text);
    }
    size_t n = strlen(note->text);
    if (text.n > 0 && shown > 0) {
        (void)snprintf(note->text + n, sizeof note->text - n, " \xC2\xB7 differs from 0: %s", text.s);
    } else if (text.n > 0) {
        (void)snprintf(note->text + n, sizeof note->text - n, " \xC2\xB7 member %u differs: %s", m - 1, text.s);
    }
    strbuf_deinit(&text);
}

static void describe(const graph_picture *pic, stack_note *note, size_t *budget)
{
    const graph_plan *p = pic->of->plan;
    uint32_t element = pic->v->items[note->item].element;
    uint32_t family = p->elements[element].family;
    const plan_family *f = &p->families[family];
    const char *how = f->level == STRICT_LOOSE ? "alike by their operators" : "all verified";
    if (pic->state.open[element] & STATE_DISSOLVED) {
        (void)snprintf(note->text, sizeof note->text, "%u members, %s", f->n_members, how);
        return;
    }
    uint32_t member = family < pic->state.n_families ? pic->state.member[family] : 0;
    (void)snprintf(note->text, sizeof note->text, "exemplar %u of %u, %s", member, f->n_members, how);
    if (f->level != STRICT_EXACT) {
        add_difference(p, family, member, budget, note);
    }
}

void graph_picture_describe(graph_picture *pic, cancel_flag *cancel)
{
    const graph_plan *p = pic->of->plan;
    size_t budget = MOST_WORK;
    for (uint32_t i = 1; i < pic->v->n_items && pic->n_notes < MOST_NOTES && !is_cancelled(cancel); i++) {
        const plan_element *e = &p->elements[pic->v->items[i].element];
        if (e->kind == ELEMENT_STACK && pic->v->items[i].n_children > 0 && e->family < p->n_families) {
            stack_note note = {.item = i};
            describe(pic, &note, &budget);
            VEC_PUSH(pic->notes, pic->n_notes, pic->cap_notes, note);
        }
    }
}

const char *graph_picture_note(const graph_picture *p, uint32_t item)
{
    size_t low = 0;
    size_t high = p->n_notes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->notes[middle].item < item) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < p->n_notes && p->notes[low].item == item ? p->notes[low].text : "";
}
