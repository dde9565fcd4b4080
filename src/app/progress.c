#include "app/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static const int64_t TERMINAL_NS = 100000000;
static const int64_t LOG_NS = 5000000000;

void progress_begin(progress_line *p, bool quiet)
{
    *p = (progress_line){.quiet = quiet, .is_terminal = isatty(STDERR_FILENO) == 1, .last_ns = clock_now_ns()};
    (void)pthread_mutex_init(&p->lock, NULL);
}

static void format_line(const convert_progress *p, char *out, size_t cap)
{
    char events[32];
    char rate[32] = "";
    char left[48] = "";
    count_format_short(p->n_events, events, sizeof events);
    if (p->seconds > 0.5) {
        count_format_short((uint64_t)((double)p->n_events / p->seconds), rate, sizeof rate);
    }
    if (p->total > 0 && p->done > 0 && p->seconds > 1) {
        double rest_s = p->seconds * ((double)p->total / (double)p->done - 1);
        char text[32];
        if (rest_s < 100) { /* a guess has no decimals */
            (void)snprintf(text, sizeof text, "%.0f s", rest_s < 0 ? 0 : (double)rest_s);
        } else {
            time_format((int64_t)rest_s * 1000000000, text, sizeof text);
        }
        (void)snprintf(left, sizeof left, ", %s left", text);
    }
    double percent = p->total > 0 ? 100.0 * (double)p->done / (double)p->total : 0;
    (void)snprintf(out, cap, "%s: %3.0f %%, %s events%s%s%s%s", p->stage, percent > 100 ? 100 : percent, events,
                   rate[0] ? " at " : "", rate, rate[0] ? "/s" : "", left);
}

void progress_report(void *ctx, const convert_progress *report)
{
    progress_line *p = ctx;
    (void)pthread_mutex_lock(&p->lock);
    int64_t now = clock_now_ns();
    if (!p->quiet && now - p->last_ns >= (p->is_terminal ? TERMINAL_NS : LOG_NS)) {
        char line[160];
        format_line(report, line, sizeof line);
        (void)fprintf(stderr, p->is_terminal ? "\r\033[K%s" : "%s\n", line);
        (void)fflush(stderr);
        p->is_written = p->is_terminal;
        p->last_ns = now;
    }
    (void)pthread_mutex_unlock(&p->lock);
}

void progress_end(progress_line *p)
{
    if (p->is_written) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
    }
    (void)pthread_mutex_destroy(&p->lock);
}
