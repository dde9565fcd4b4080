#include "parse/jscan.h"

#ifdef __x86_64__
const digits_bytes jscan_quote_bytes = DIGITS_BYTES('"');
const digits_bytes jscan_backslash_bytes = DIGITS_BYTES('\\');
#endif
