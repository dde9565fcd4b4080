/* Injected faults as they are written: "slow-rank:5,1.6@3..7". */
#include <string.h>

#include "base/text.h"
#include "synth/synth.h"

typedef struct fault_form {
    const char *name;
    const char *finding;
    const char *form; /* for the message */
} fault_form;

static const fault_form forms[] = {
    [FAULT_SLOW_RANK] = {"slow-rank", "slow-rank", "slow-rank:RANK,FACTOR"},
    [FAULT_SLOW_LINK] = {"slow-link", "slow-link", "slow-link:RANK-RANK,FACTOR"},
    [FAULT_STALL] = {"stall", "stall", "stall:RANK or stall:RANK,DURATION"},
    [FAULT_IMBALANCE] = {"imbalance", "stage-imbalance", "imbalance:STAGE,FACTOR"},
    [FAULT_LAUNCH_BOUND] = {"launch-bound", "launch-bound", "launch-bound:RANK or launch-bound:RANK,FACTOR"},
    [FAULT_STEP_OUTLIER] = {"step-outlier", "step-outlier", "step-outlier:STEP,FACTOR"},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

const char *synth_fault_name(synth_fault_kind kind)
{
    return forms[kind].name;
}

const char *synth_finding_kind(synth_fault_kind kind)
{
    return forms[kind].finding;
}

/* A decimal whole number below 10^9 at *s; moves *s behind it. */
static bool take_int(const char **s, int64_t *v)
{
    int digits = 0;
    *v = 0;
    for (; **s >= '0' && **s <= '9' && digits < 9; (*s)++, digits++) {
        *v = *v * 10 + (**s - '0');
    }
    return digits > 0 && !(**s >= '0' && **s <= '9');
}

/* A decimal number with up to nine digits on each side of the point, so that every machine reads the same value. */
static bool take_real(const char **s, double *v)
{
    int64_t whole = 0;
    int64_t fraction = 0;
    if (!take_int(s, &whole)) {
        return false;
    }
    double scale = 1;
    if (**s == '.') {
        (*s)++;
        const char *from = *s;
        if (!take_int(s, &fraction)) {
            return false;
        }
        for (; from < *s; from++) {
            scale *= 10;
        }
    }
    *v = (double)whole + (double)fraction / scale;
    return true;
}

static bool take_char(const char **s, char c)
{
    bool there = **s == c;
    *s += there;
    return there;
}

/* "@3..7", "@5" or nothing, to the end of the text. */
static bool take_steps(const char **s, synth_fault *f)
{
    f->step0 = f->step1 = -1;
    if (take_char(s, '@')) {
        if (!take_int(s, &f->step0)) {
            return false;
        }
        f->step1 = f->step0;
        if (take_char(s, '.') && !(take_char(s, '.') && take_int(s, &f->step1))) {
            return false;
        }
    }
    return **s == '\0' && f->step0 <= f->step1;
}

static bool take_duration(const char **s, int64_t *ns)
{
    size_t n = strcspn(*s, "@");
    bool ok = time_parse(*s, n, ns) && *ns > 0;
    *s += n;
    return ok;
}

static bool take_values(const char *s, synth_fault *f)
{
    if (!take_int(&s, &f->a)) {
        return false;
    }
    if (f->kind == FAULT_SLOW_LINK && !(take_char(&s, '-') && take_int(&s, &f->b) && f->a != f->b)) {
        return false;
    }
    bool optional = f->kind == FAULT_STALL || f->kind == FAULT_LAUNCH_BOUND;
    if (take_char(&s, ',')) {
        bool ok = f->kind == FAULT_STALL ? take_duration(&s, &f->duration_ns) : take_real(&s, &f->factor);
        if (!ok || (f->kind != FAULT_STALL && !(f->factor >= 0.001 && f->factor <= 1000))) {
            return false;
        }
    } else if (!optional) {
        return false;
    }
    return take_steps(&s, f);
}

marey_status synth_parse_fault(const char *text, synth_fault *f, diag *d)
{
    size_t n = strcspn(text, ":");
    for (int k = 0; k < N_FORMS; k++) {
        if (strlen(forms[k].name) != n || memcmp(forms[k].name, text, n) != 0) {
            continue;
        }
        *f = (synth_fault){.kind = (synth_fault_kind)k, .b = -1};
        if (text[n] == ':' && take_values(text + n + 1, f)) {
            return MAREY_OK;
        }
        return diag_error(
            d, MAREY_ARG, NULL, DIAG_NO_OFFSET,
            "\"%.100s\" is no fault: expected %s, with a factor from 0.001 to 1000 and optional steps such "
            "as @3..7",
            text, forms[k].form);
    }
    return diag_error(d, MAREY_ARG, NULL, DIAG_NO_OFFSET,
                      "\"%.100s\" is no fault: expected slow-rank, slow-link, stall, imbalance, launch-bound or "
                      "step-outlier, then a colon and its values",
                      text);
}
