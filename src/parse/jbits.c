#include "parse/jbits.h"

static jblock scalar_block(const uint8_t *text, jbits_state *s)
{
    jblock b = {0};
    for (unsigned i = 0; i < 64; i++) {
        uint64_t bit = (uint64_t)1 << i;
        uint8_t c = text[i];
        if (s->escape) {
            s->escape = 0;
            if (c == '"' || c == '\\') {
                continue;
            }
        } else if (c == '\\') {
            s->escape = 1;
            continue;
        } else if (c == '"') {
            s->in_string = ~s->in_string;
            b.tokens |= bit;
            continue;
        }
        if (s->in_string) {
            continue;
        }
        b.braces |= c == '{' || c == '}' ? bit : 0;
        b.brackets |= c == '[' || c == ']' ? bit : 0;
        b.colons |= c == ':' ? bit : 0;
        b.tokens |= c == ',' ? bit : 0;
    }
    b.tokens |= b.braces | b.brackets | b.colons;
    return b;
}

static void scalar(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out)
{
    for (size_t i = 0; i < n_blocks; i++) {
        out[i] = scalar_block(text + i * 64, state);
    }
}

jbits_fn jbits_scalar(void)
{
    return scalar;
}

void jbits(const uint8_t *text, size_t n_blocks, jbits_state *state, jblock *out)
{
    jbits_fn fn = jbits_avx512();
    if (!fn) {
        fn = jbits_avx2();
    }
    if (!fn) {
        fn = jbits_128();
    }
    if (!fn) {
        fn = scalar;
    }
    fn(text, n_blocks, state, out);
}
