#include "base/digits.h"

#ifdef __x86_64__
#define FOUR(x) x, x, x, x
#define BYTES(x)                                                                                                       \
    {                                                                                                                  \
        FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x), FOUR(x)                                         \
    }

const digits_bytes digits_zero = {BYTES('0')};
const digits_bytes digits_nine = {BYTES(9)};
#endif
