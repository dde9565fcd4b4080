#include "parse/jkeys.h"

#include "base/status.h"

static void put(jkeys_slot *slots, uint64_t bytes, const char *text, uint32_t id)
{
    unsigned i = jkeys_hash(bytes);
    for (unsigned tries = 0; slots[i].text; tries++) {
        MAREY_ASSERT(tries < JKEYS_SLOTS / 2);
        i = (i + 1) % JKEYS_SLOTS;
    }
    slots[i] = (jkeys_slot){bytes, text, (uint32_t)strlen(text), id};
}

static uint64_t whole(const char *text)
{
    char bytes[8] = {0};
    size_t n = strlen(text);
    memcpy(bytes, text, n < 8 ? n : 8);
    return digits_load(bytes);
}

static void put_arg(jkeys *k, const char *text, uint32_t id)
{
    char bytes[64] = {0};
    size_t n = strlen(text);
    MAREY_ASSERT(n >= 3 && n < 48);
    bytes[8] = '"';
    memcpy(bytes + 9, text, n);
    bytes[9 + n] = '"';
    put(k->args, jkeys_tail(bytes + 9 + n), text, id);
    k->arg_ends |= (uint64_t)1 << jkeys_end_hash(bytes + 9 + n);
}

void jkeys_init(jkeys *k)
{
    static const char *const fields[] = {
#define X(name, text) text,
        JKEY_LIST(X)
#undef X
    };
    static const char *const args[] = {
#define X(name, text) text,
        JARG_LIST(X)
#undef X
    };
    memset(k, 0, sizeof *k);
    for (uint32_t i = 0; i < JKEY_COUNT; i++) {
        put(k->event, whole(fields[i]), fields[i], i);
    }
    for (uint32_t i = 0; i < JARG_COUNT; i++) {
        put_arg(k, args[i], i);
    }
}
