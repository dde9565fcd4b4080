#include "parse/jscan.h"

#ifdef __x86_64__
#define FOUR(x) x, x, x, x
#define BYTES(x)                                                                                                       \
    {                                                                                                                  \
        FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x)                                         \
    }

const digits_bytes jscan_quote_bytes = {BYTES('"')};
const digits_bytes jscan_backslash_bytes = {BYTES('\\')};
#endif
