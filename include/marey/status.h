/*
 * What a call says of itself, and in which words. Every call that can fail returns a status and, where `message` is not
 * NULL, writes one sentence with file name and, where there is one, byte offset: at most `cap` bytes with the NUL. A
 * call that succeeds writes "".
 */
#ifndef MAREY_STATUS_H
#define MAREY_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define MAREY_API __attribute__((visibility("default")))

#ifndef MAREY_BASE_STATUS_H /* inside of marey it is there already; tests/e2e/install holds the two together */
typedef enum marey_status {
    MAREY_OK = 0,      /* done */
    MAREY_NOMEM,       /* out of memory */
    MAREY_IO,          /* reading or writing failed */
    MAREY_FORMAT,      /* the input is not what it should be */
    MAREY_UNSUPPORTED, /* the input is of a kind that marey does not read */
    MAREY_VERSION,     /* the file was written by a newer marey */
    MAREY_RANGE,       /* a value is out of range */
    MAREY_ARG,         /* wrong argument */
    MAREY_STATE,       /* the call does not fit the object's state */
    MAREY_LIMIT,       /* a limit was reached */
    MAREY_CANCELLED,   /* cancelled */
    MAREY_GPU,         /* the graphics system failed */
    MAREY_FONT,        /* a font is missing or damaged */
    MAREY_INTERNAL     /* a fault in marey itself */
} marey_status;
#endif

/** The code's sentence, without a full stop. Never NULL. Thread: any. */
MAREY_API const char *marey_status_text(marey_status status);

#ifdef __cplusplus
}
#endif

#endif
