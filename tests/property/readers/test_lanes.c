/*
 * For every real Kineto file at hand: the number of intervals and instants of each thread, their union, their sum, the
 * first start and the last end are those that check/lanes.py computes from the text with exact decimals; and every real
 * file, Kineto's or another writer's, is either read or refused with a sentence. Skipped where there are no real
 * inputs.
 */
#include "cm.h"

#include "base/file.h"
#include "builder_rows.h"

static int by_thread_and_start(const void *a, const void *b)
{
    const row *x = a;
    const row *y = b;
    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* One line per thread, as the script's answer is made to be. @return rows of this thread */
static size_t thread_line(const rows *r, size_t from, strbuf *out)
{
    const trace_thread_in *t = &r->b.threads[r->items[from].thread];
    int64_t busy = 0;
    int64_t sum = 0;
    int64_t end = INT64_MIN;
    size_t i = from;
    for (; i < r->n && r->items[i].thread == r->items[from].thread; i++) {
        int64_t a = r->items[i].start_ns;
        int64_t b = a + r->items[i].dur_ns;
        int64_t fresh = a > end ? a : end;
        sum += b - a;
        busy += b > fresh ? b - fresh : 0;
        end = b > end ? b : end;
    }
    strbuf_printf(out, "%s|%s %zu %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", t->pid, t->tid, i - from, busy,
                  sum, r->items[from].start_ns, end);
    return i - from;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(strbuf *b)
{
    char *lines[4096];
    size_t n = 0;
    char *save = NULL;
    char *copy = mem_strdup(strbuf_str(b));
    for (char *s = strtok_r(copy, "\n", &save); s && n < 4096; s = strtok_r(NULL, "\n", &save)) {
        lines[n++] = s;
    }
    qsort((void *)lines, n, sizeof *lines, by_text);
    strbuf_clear(b);
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(b, "%s\n", lines[i]);
    }
    free(copy);
}

static bool ask_script(const char *shared, const char *path, strbuf *out)
{
    static const char script[] =
        "import json,subprocess,sys;"
        "w=json.loads(subprocess.check_output([sys.executable,sys.argv[1],sys.argv[2]],stderr=subprocess.DEVNULL));"
        "[print(k,v['events'],v['busy_ns'],v['sum_ns'],v['first_ns'],v['last_ns']) for k,v in w.items()]";
    strbuf command = {0};
    strbuf_printf(&command, "python3 -c \"%s\" '%s/check/lanes.py' '%s' 2>/dev/null", script, shared, path);
    FILE *f = popen(command.s, "r");
    strbuf_deinit(&command);
    assert_non_null(f);
    char piece[4096];
    for (size_t got = 1; got > 0;) {
        got = fread(piece, 1, sizeof piece, f);
        strbuf_add(out, piece, got);
    }
    return pclose(f) == 0;
}

static char **list(const char *shared, const char *folder, arena *names, size_t *n)
{
    strbuf dir = {0};
    char **paths = NULL;
    strbuf_printf(&dir, "%s/data/%s", shared, folder);
    assert_int_equal(file_list(dir.s, names, &paths, n, NULL), MAREY_OK);
    strbuf_deinit(&dir);
    return paths;
}

static void kineto_threads_are_exact(void **state)
{
    (void)state;
    char buf[2048];
    const char *shared = shared_dir(buf, sizeof buf);
    if (!shared) {
        skip();
        return;
    }
    arena names = {0};
    size_t n = 0;
    char **paths = list(shared, "kineto", &names, &n);
    size_t n_compared = 0;
    for (size_t i = 0; i < n; i++) {
        strbuf want = {0};
        strbuf got = {0};
        rows r;
        rows_read_file(&r, paths[i]);
        if (ask_script(shared, paths[i], &want)) {
            assert_int_equal(r.status, MAREY_OK);
            qsort(r.items, r.n, sizeof *r.items, by_thread_and_start);
            for (size_t at = 0; at < r.n;) {
                at += thread_line(&r, at, &got);
            }
            sort_lines(&want);
            sort_lines(&got);
            print_message("%s\n", paths[i]);
            assert_string_equal(strbuf_str(&got), strbuf_str(&want));
            n_compared++;
        }
        rows_end(&r);
        strbuf_deinit(&want);
        strbuf_deinit(&got);
    }
    assert_true(n_compared > 0);
    free((void *)paths);
    arena_deinit(&names);
}

static void every_file_is_read_or_refused(void **state)
{
    (void)state;
    static const char *const folders[] = {"kineto", "chrome", "execution-trace", "graphs", "nsys"};
    char buf[2048];
    const char *shared = shared_dir(buf, sizeof buf);
    if (!shared) {
        skip();
        return;
    }
    size_t n_read = 0;
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        arena names = {0};
        size_t n = 0;
        char **paths = list(shared, folders[k], &names, &n);
        for (size_t i = 0; i < n; i++) {
            rows r;
            rows_read_file(&r, paths[i]);
            if (r.status == MAREY_OK) {
                n_read++;
                assert_true(r.n > 0 || r.b.n_samples > 0 || r.b.n_flows > 0);
            } else {
                assert_int_equal(r.diag.n_messages, 1);
            }
            rows_end(&r);
        }
        free((void *)paths);
        arena_deinit(&names);
    }
    assert_true(n_read > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kineto_threads_are_exact),
        cmocka_unit_test(every_file_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
