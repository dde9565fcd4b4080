/*
 * What a call says of itself: one code to branch on. The words for a person, with file and byte offset, go to a
 * `diag` (base/diag.h): a call that fails has added at least one line there.
 */
#ifndef MAREY_BASE_STATUS_H
#define MAREY_BASE_STATUS_H

#define MAREY_STATUS_LIST(X)                                                                                           \
    X(OK, "done")                                                                                                      \
    X(NOMEM, "out of memory")                                                                                          \
    X(IO, "reading or writing failed")                                                                                 \
    X(FORMAT, "the input is not what it should be")                                                                    \
    X(UNSUPPORTED, "the input is of a kind that marey does not read")                                                  \
    X(VERSION, "the file was written by a newer marey")                                                                \
    X(RANGE, "a value is out of range")                                                                                \
    X(ARG, "wrong argument")                                                                                           \
    X(STATE, "the call does not fit the object's state")                                                               \
    X(LIMIT, "a limit was reached")                                                                                    \
    X(CANCELLED, "cancelled")                                                                                          \
    X(GPU, "the graphics system failed")                                                                               \
    X(FONT, "a font is missing or damaged")                                                                            \
    X(INTERNAL, "a fault in marey itself")

typedef enum marey_status {
#define X(name, text) MAREY_##name,
    MAREY_STATUS_LIST(X)
#undef X
} marey_status;

/** The code's sentence, without a full stop. Never NULL. Thread: any. */
const char *marey_status_text(marey_status status);

/** Leave to the label `fail` with `status` set when `expr` is not OK. */
#define MAREY_TRY(expr)                                                                                                \
    do {                                                                                                               \
        status = (expr);                                                                                               \
        if (status != MAREY_OK) {                                                                                      \
            goto fail;                                                                                                 \
        }                                                                                                              \
    } while (0)

/** Stop at once on a fault of our own. Never for input, files or OpenGL. On in release builds. */
#define MAREY_ASSERT(cond) ((cond) ? (void)0 : marey_assert_failed(#cond, __FILE__, __LINE__))

_Noreturn void marey_assert_failed(const char *cond, const char *file, int line);

#endif
