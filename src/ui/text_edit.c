#include "ui/text_edit.h"

#include <string.h>

#include "base/text.h"

/* ---- clusters: the rules of Unicode's grapheme clusters that matter for names ---- */

typedef struct code_range {
    uint32_t first, last;
} code_range;

/* Marks that belong to the sign before them. */
static const code_range EXTENDING[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489},   {0x0591, 0x05BD},   {0x0610, 0x061A},   {0x064B, 0x065F}, {0x0900, 0x0903},
    {0x093A, 0x093C}, {0x093E, 0x094F},   {0x0E31, 0x0E31},   {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x200C, 0x200D},   {0x20D0, 0x20FF},   {0x302A, 0x302F},   {0x3099, 0x309A}, {0xFE00, 0xFE0F},
    {0xFE20, 0xFE2F}, {0x1F3FB, 0x1F3FF}, {0xE0020, 0xE007F}, {0xE0100, 0xE01EF},
};

static bool is_extending(uint32_t code)
{
    for (size_t i = 0; i < sizeof EXTENDING / sizeof *EXTENDING; i++) {
        if (code >= EXTENDING[i].first && code <= EXTENDING[i].last) {
            return true;
        }
    }
    return false;
}

static bool is_flag_half(uint32_t code)
{
    return code >= 0x1F1E6 && code <= 0x1F1FF;
}

static bool is_hangul_part(uint32_t code) /* vowels and finals that join the syllable before */
{
    return code >= 0x1160 && code <= 0x11FF;
}

size_t text_next_cluster(const char *s, size_t n, size_t at)
{
    if (at >= n) {
        return n;
    }
    uint32_t before = utf8_next(s, n, &at);
    bool flag = is_flag_half(before);
    while (at < n) {
        size_t after = at;
        uint32_t code = utf8_next(s, n, &after);
        bool joins = is_extending(code) || is_hangul_part(code) || before == 0x200D || (flag && is_flag_half(code));
        if (!joins) {
            break;
        }
        flag = false;
        before = code;
        at = after;
    }
    return at;
}

/* From the start, since what joins depends on what came before; a line is short. */
size_t text_previous_cluster(const char *s, size_t n, size_t at)
{
    size_t last = 0;
    for (size_t i = 0; i < at && i < n;) {
        last = i;
        i = text_next_cluster(s, n, i);
    }
    return at == 0 ? 0 : last;
}

/* ---- words ---- */

static bool is_word_byte(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 128 || u == '_' || (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z');
}

static size_t next_word(const text_edit *e, size_t at)
{
    while (at < e->n && !is_word_byte(e->text[at])) {
        at = text_next_cluster(e->text, e->n, at);
    }
    while (at < e->n && is_word_byte(e->text[at])) {
        at = text_next_cluster(e->text, e->n, at);
    }
    return at;
}

static size_t previous_word(const text_edit *e, size_t at)
{
    while (at > 0 && !is_word_byte(e->text[at - 1])) {
        at = text_previous_cluster(e->text, e->n, at);
    }
    while (at > 0 && is_word_byte(e->text[at - 1])) {
        at = text_previous_cluster(e->text, e->n, at);
    }
    return at;
}

/* ---- changing ---- */

static void remove_range(text_edit *e, size_t from, size_t to)
{
    memmove(e->text + from, e->text + to, e->n - to + 1);
    e->n -= to - from;
    e->caret = from;
    e->anchor = from;
}

static bool remove_selected(text_edit *e)
{
    size_t from = e->caret < e->anchor ? e->caret : e->anchor;
    size_t to = e->caret < e->anchor ? e->anchor : e->caret;
    if (from == to) {
        return false;
    }
    remove_range(e, from, to);
    return true;
}

void text_edit_set(text_edit *e, const char *text)
{
    e->n = 0;
    e->text[0] = '\0';
    e->caret = 0;
    e->anchor = 0;
    (void)text_edit_insert(e, text, strlen(text));
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

size_t text_edit_insert(text_edit *e, const char *text, size_t n)
{
    (void)remove_selected(e);
    size_t added = 0;
    for (size_t i = 0; i < n;) {
        size_t len = utf8_valid_len(text + i, n - i);
        size_t next = i + (len ? len : 1);
        size_t at = i;
        bool keep = len > 0 && !is_control(utf8_next(text, n, &at));
        if (keep && e->n + len <= TEXT_EDIT_MAX) {
            memmove(e->text + e->caret + len, e->text + e->caret, e->n - e->caret + 1);
            memcpy(e->text + e->caret, text + i, len);
            e->n += len;
            e->caret += len;
            added += len;
        }
        i = next;
    }
    text_edit_move_to(e, e->caret, false);
    return added;
}

bool text_edit_insert_code(text_edit *e, uint32_t code)
{
    char bytes[4];
    size_t before = e->n;
    bool had = e->caret != e->anchor;
    if (code > 0x10FFFF || is_control(code)) {
        return false;
    }
    size_t n = utf8_put(code, bytes);
    return text_edit_insert(e, bytes, n) > 0 || had || e->n != before;
}

/* ---- moving ---- */

/* A mark put behind a letter joins it: the caret goes behind both. */
void text_edit_move_to(text_edit *e, size_t offset, bool selects)
{
    size_t at = 0;
    while (at < e->n && at < offset) {
        size_t next = text_next_cluster(e->text, e->n, at);
        if (next > offset) {
            break;
        }
        at = next;
    }
    e->caret = at;
    if (!selects) {
        e->anchor = at;
    }
}

static void move(text_edit *e, size_t to, bool selects)
{
    e->caret = to;
    if (!selects) {
        e->anchor = to;
    }
}

/* Without Shift, an arrow first leaves the selection at its side. */
static void arrow(text_edit *e, int direction, bool word, bool selects)
{
    size_t low = e->caret < e->anchor ? e->caret : e->anchor;
    size_t high = e->caret < e->anchor ? e->anchor : e->caret;
    if (!selects && low != high && !word) {
        move(e, direction < 0 ? low : high, false);
    } else if (direction < 0) {
        move(e, word ? previous_word(e, e->caret) : text_previous_cluster(e->text, e->n, e->caret), selects);
    } else {
        move(e, word ? next_word(e, e->caret) : text_next_cluster(e->text, e->n, e->caret), selects);
    }
}

static bool erase(text_edit *e, int direction, bool word)
{
    if (remove_selected(e)) {
        return true;
    }
    size_t from = e->caret;
    size_t to = e->caret;
    if (direction < 0) {
        from = word ? previous_word(e, e->caret) : text_previous_cluster(e->text, e->n, e->caret);
    } else {
        to = word ? next_word(e, e->caret) : text_next_cluster(e->text, e->n, e->caret);
    }
    if (from == to) {
        return false;
    }
    remove_range(e, from, to);
    return true;
}

bool text_edit_key(text_edit *e, const char *key, bool *changed)
{
    bool ctrl = strstr(key, "Ctrl+") != NULL;
    bool shift = strstr(key, "Shift+") != NULL;
    const char *plus = strrchr(key, '+');
    const char *name = plus ? plus + 1 : key;
    *changed = false;
    if (strcmp(name, "Left") == 0 || strcmp(name, "Right") == 0) {
        arrow(e, name[0] == 'L' ? -1 : 1, ctrl, shift);
    } else if (strcmp(name, "Home") == 0 || strcmp(name, "End") == 0) {
        move(e, name[0] == 'H' ? 0 : e->n, shift);
    } else if (strcmp(name, "Backspace") == 0 || strcmp(name, "Delete") == 0) {
        *changed = erase(e, name[0] == 'B' ? -1 : 1, ctrl);
    } else if (ctrl && strcmp(name, "A") == 0) {
        e->anchor = 0;
        e->caret = e->n;
    } else {
        return false;
    }
    return true;
}
