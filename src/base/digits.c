#include "base/digits.h"

#ifdef __x86_64__
const digits_bytes digits_zero = DIGITS_BYTES('0');
const digits_bytes digits_nine = DIGITS_BYTES(9);
#endif
