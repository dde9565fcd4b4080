#include "app/window.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include "app/comm_actions.h"
#include "app/graph_actions.h"
#include "app/opening.h"
#include "app/pointer.h"
#include "app/program.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "render/render.h"

/* Loading wakes the loop; a frame per arrival would draw more often than anybody can see. */
static const int64_t ARRIVAL_GAP_NS = 16000000;

typedef struct window {
    GLFWwindow *handle;
    session *session;
    renderer *renderer;
    pointer pointer;
    const window_options *options;
    diag *diag;
    atomic_bool arrived; /* set on loader threads */
    atomic_bool listens; /* GLFW can take events from them */
    int64_t drawn_ns;    /* when the last frame began */
    marey_status status; /* why the loop ended */
    FILE *log;
    uint64_t n_frames;
    int windowed[4]; /* place and size to come back to from full screen */
    bool has_swap_interval;
} window;

/* ---- errors in words ---- */

static char glfw_reason[256];

static void on_glfw_error(int code, const char *text)
{
    (void)code;
    (void)snprintf(glfw_reason, sizeof glfw_reason, "%s", text);
}

static marey_status no_window(diag *d, const char *what)
{
    return diag_error(d, MAREY_GPU, NULL, DIAG_NO_OFFSET,
                      "%s (%s); `marey render FILE -o out.png` draws the picture without a window.", what,
                      glfw_reason[0] ? glfw_reason : "no reason given");
}

/* ---- keys ---- */

static const char *key_word(int key)
{
    static const struct {
        int key;
        const char *word;
    } words[] = {
        {GLFW_KEY_LEFT, "Left"},       {GLFW_KEY_RIGHT, "Right"},
        {GLFW_KEY_UP, "Up"},           {GLFW_KEY_DOWN, "Down"},
        {GLFW_KEY_PAGE_UP, "Page up"}, {GLFW_KEY_PAGE_DOWN, "Page down"},
        {GLFW_KEY_HOME, "Home"},       {GLFW_KEY_END, "End"},
        {GLFW_KEY_ENTER, "Enter"},     {GLFW_KEY_KP_ENTER, "Enter"},
        {GLFW_KEY_ESCAPE, "Escape"},   {GLFW_KEY_TAB, "Tab"},
        {GLFW_KEY_DELETE, "Delete"},   {GLFW_KEY_BACKSPACE, "Backspace"},
        {GLFW_KEY_F1, "F1"},           {GLFW_KEY_F11, "F11"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].key == key) {
            return words[i].word;
        }
    }
    return NULL;
}

/* The panels come first: what has the focus there takes its keys. */
static bool panels_key(window *w, const char *key)
{
    ui_event e = {.kind = UI_EVENT_KEY, .key = key};
    return !w->session->view.show_help && panels_event(w->session->panels, &e);
}

static void run_key(window *w, const char *key)
{
    const action *own = comm_action_by_key(w->session, key);
    own = own ? own : graph_action_by_key(w->session, key);
    const action *a = own ? own : action_by_key(key);
    if (a) {
        a->run(w->session, clock_now_ns());
    }
}

/* Keys that make no sign, and letters with Ctrl; the others come through on_char, as the user's layout makes them. */
static void on_key(GLFWwindow *handle, int key, int scancode, int change, int mods)
{
    window *w = glfwGetWindowUserPointer(handle);
    if (change == GLFW_RELEASE) {
        return;
    }
    char chord[48];
    const char *word = key_word(key);
    if (word) {
        (void)snprintf(chord, sizeof chord, "%s%s%s", mods & GLFW_MOD_CONTROL ? "Ctrl+" : "",
                       mods & GLFW_MOD_SHIFT ? "Shift+" : "", word);
        if (!panels_key(w, chord)) {
            run_key(w, chord);
        }
        return;
    }
    const char *name = glfwGetKeyName(key, scancode);
    if ((mods & GLFW_MOD_CONTROL) && name && name[0] && !name[1]) {
        (void)snprintf(chord, sizeof chord, "Ctrl+%c", toupper((unsigned char)name[0]));
        if (!panels_key(w, chord)) {
            run_key(w, chord);
        }
    }
}

static void on_char(GLFWwindow *handle, unsigned code)
{
    window *w = glfwGetWindowUserPointer(handle);
    char chord[8] = {0};
    ui_event e = {.kind = UI_EVENT_SIGN, .code = code};
    if (!w->session->view.show_help && panels_event(w->session->panels, &e)) {
        return;
    }
    if (code == ' ') {
        run_key(w, "Space");
    } else if (code < 128) {
        chord[0] = (char)toupper((int)code);
        run_key(w, chord);
    }
}

/* ---- the pointer ---- */

static bool is_down(GLFWwindow *handle, int left, int right)
{
    return glfwGetKey(handle, left) == GLFW_PRESS || glfwGetKey(handle, right) == GLFW_PRESS;
}

static void on_cursor(GLFWwindow *handle, double x, double y)
{
    window *w = glfwGetWindowUserPointer(handle);
    int size[2];
    glfwGetWindowSize(handle, &size[0], &size[1]);
    double to_px_x = size[0] > 0 ? (double)w->session->input.width_px / size[0] : 1;
    double to_px_y = size[1] > 0 ? (double)w->session->input.height_px / size[1] : 1;
    pointer_move(&w->pointer, w->session, x * to_px_x, y * to_px_y);
}

static void on_enter(GLFWwindow *handle, int entered)
{
    window *w = glfwGetWindowUserPointer(handle);
    if (!entered) {
        pointer_leave(&w->pointer, w->session);
    }
}

static void on_button(GLFWwindow *handle, int button, int change, int mods)
{
    window *w = glfwGetWindowUserPointer(handle);
    if (button != GLFW_MOUSE_BUTTON_LEFT) {
        return;
    }
    if (change == GLFW_PRESS) {
        pointer_press(&w->pointer, w->session, (mods & GLFW_MOD_SHIFT) != 0);
    } else {
        pointer_release(&w->pointer, w->session, clock_now_ns());
    }
}

static void on_wheel(GLFWwindow *handle, double dx, double dy)
{
    window *w = glfwGetWindowUserPointer(handle);
    bool shift = is_down(handle, GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT);
    bool ctrl = is_down(handle, GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL);
    pointer_wheel(w->session, dx, dy, shift, ctrl, clock_now_ns());
}

/* ---- size ---- */

static void take_size(window *w)
{
    int size[2];
    float scale[2];
    glfwGetFramebufferSize(w->handle, &size[0], &size[1]);
    glfwGetWindowContentScale(w->handle, &scale[0], &scale[1]);
    w->session->input.width_px = size[0];
    w->session->input.height_px = size[1];
    w->session->input.scale = w->options->scale > 0 ? w->options->scale : (double)scale[0];
    w->session->is_dirty = true;
}

static void draw(window *w);

/* Some systems block the loop while the user drags the window's edge: draw from here. */
static void on_size(GLFWwindow *handle, int width, int height)
{
    window *w = glfwGetWindowUserPointer(handle);
    (void)width;
    (void)height;
    take_size(w);
    draw(w);
}

static void on_scale(GLFWwindow *handle, float x, float y)
{
    (void)x;
    (void)y;
    take_size(glfwGetWindowUserPointer(handle));
}

static void on_refresh(GLFWwindow *handle)
{
    window *w = glfwGetWindowUserPointer(handle);
    w->session->is_dirty = true;
}

static void toggle_fullscreen(window *w)
{
    w->session->toggle_fullscreen = false;
    int *at = w->windowed;
    if (glfwGetWindowMonitor(w->handle)) {
        glfwSetWindowMonitor(w->handle, NULL, at[0], at[1], at[2], at[3], 0);
        return;
    }
    GLFWmonitor *monitor = glfwGetPrimaryMonitor();
    const GLFWvidmode *mode = monitor ? glfwGetVideoMode(monitor) : NULL;
    if (mode) {
        glfwGetWindowPos(w->handle, &at[0], &at[1]);
        glfwGetWindowSize(w->handle, &at[2], &at[3]);
        glfwSetWindowMonitor(w->handle, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
    }
}

/* ---- frames ---- */

static void log_frame(window *w, const render_stats *stats, int64_t begin_ns)
{
    const session *s = w->session;
    (void)fprintf(w->log,
                  "{\"frame\":%" PRIu64 ",\"at_ms\":%.3f,\"took_ms\":%.3f,\"complete\":%s,\"t0_ns\":%" PRId64
                  ",\"t1_ns\":%" PRId64 ","
                  "\"primitives\":%zu,\"draw_calls\":%zu}\n",
                  w->n_frames, (double)(begin_ns - program_start_ns) / 1e6, s->input.frame_ms,
                  s->frame.complete ? "true" : "false", s->view.t0.ns, s->view.t1.ns, stats->primitives,
                  stats->draw_calls);
    (void)fflush(w->log);
}

static void draw(window *w)
{
    session *s = w->session;
    if (s->input.width_px < 1 || s->input.height_px < 1) {
        s->is_dirty = false; /* minimised: on_size() comes when it is shown again */
        s->motion.length_ns = 0;
        s->graph_motion.length_ns = 0;
        return;
    }
    int64_t begin = clock_now_ns();
    (void)session_step(s, begin);
    s->input.now_ns = s->reduced_motion ? 0 : begin;
    render_stats stats = {0};
    marey_status status = session_build(s, w->diag);
    if (status == MAREY_OK) {
        status = renderer_draw(w->renderer, &s->list, s->text, &stats, w->diag);
    }
    if (status != MAREY_OK) {
        w->status = status;
        s->quit = true;
        return;
    }
    renderer_finish(w->renderer);
    s->input.frame_ms = (double)(clock_now_ns() - begin) / 1e6;
    w->drawn_ns = begin;
    w->n_frames++;
    if (w->log) {
        log_frame(w, &stats, begin);
    }
    glfwSwapBuffers(w->handle);
}

static void on_arrival(void *ctx)
{
    window *w = ctx;
    if (!atomic_exchange(&w->arrived, true) && atomic_load(&w->listens)) {
        glfwPostEmptyEvent();
    }
}

/* Draws what is due. @return how long to sleep, ns; -1: until something happens */
static int64_t turn(window *w)
{
    session *s = w->session;
    int64_t now = clock_now_ns();
    if (s->toggle_fullscreen) {
        toggle_fullscreen(w);
    }
    bool moving = session_is_moving(s);
    bool refining = s->frame.is_refining && s->frame.n_wanted == 0; /* what arrives has its own frame */
    bool fading = refining || (!s->reduced_motion && s->frame.is_fading);
    int64_t since = now - w->drawn_ns;
    bool arrived = atomic_load(&w->arrived);
    int64_t deadline = panels_deadline_ns(s->panels);
    if ((deadline > 0 && now >= deadline) || s->is_dirty || moving || fading || (arrived && since >= ARRIVAL_GAP_NS)) {
        atomic_store(&w->arrived, false);
        draw(w);
        deadline = panels_deadline_ns(s->panels);
        int64_t rest_ns = deadline > now ? deadline - now : -1;
        return s->is_dirty || session_is_moving(s) || s->frame.is_fading ? 0 : rest_ns;
    }
    return arrived ? ARRIVAL_GAP_NS - since : deadline > now ? deadline - now : -1;
}

/* Without a swap interval nothing else slows an animation down to what a display can show. */
static void rest(const window *w)
{
    int64_t spent = clock_now_ns() - w->drawn_ns;
    const int64_t least = 4000000;
    if (spent < least) {
        glfwWaitEventsTimeout((double)(least - spent) / 1e9);
    } else {
        glfwPollEvents();
    }
}

static void loop(window *w)
{
    while (!w->session->quit && !glfwWindowShouldClose(w->handle)) {
        int64_t sleep_ns = turn(w);
        if (sleep_ns == 0) {
            rest(w);
        } else if (sleep_ns > 0) {
            glfwWaitEventsTimeout((double)sleep_ns / 1e9);
        } else {
            glfwWaitEvents();
        }
    }
}

/* ---- opening ---- */

static void choose_size(const window_options *o, int size[2])
{
    size[0] = o->size[0];
    size[1] = o->size[1];
    GLFWmonitor *monitor = glfwGetPrimaryMonitor();
    const GLFWvidmode *mode = monitor ? glfwGetVideoMode(monitor) : NULL;
    if (size[0] == 0) {
        size[0] = mode ? mode->width * 9 / 10 : 1600;
        size[1] = mode ? mode->height * 9 / 10 : 900;
    }
}

static GLFWwindow *open_handle(const window_options *o, const char *title)
{
    int size[2];
    choose_size(o, size);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    glfwWindowHint(GLFW_DEPTH_BITS, 0);
    glfwWindowHint(GLFW_STENCIL_BITS, 0);
    if (o->size[0] == 0) {
        glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_FALSE);
    }
    glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE); /* until there is something to show */
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "marey");
    glfwWindowHintString(GLFW_X11_INSTANCE_NAME, "marey");
    return glfwCreateWindow(size[0], size[1], title, NULL, NULL);
}

typedef union gl_proc {
    void (*function)(void);
    void *data;
} gl_proc;

static void *get_proc(const char *name)
{
    gl_proc p = {.function = glfwGetProcAddress(name)};
    return p.data;
}

static void listen(window *w)
{
    glfwSetWindowUserPointer(w->handle, w);
    glfwSetKeyCallback(w->handle, on_key);
    glfwSetCharCallback(w->handle, on_char);
    glfwSetCursorPosCallback(w->handle, on_cursor);
    glfwSetCursorEnterCallback(w->handle, on_enter);
    glfwSetMouseButtonCallback(w->handle, on_button);
    glfwSetScrollCallback(w->handle, on_wheel);
    glfwSetFramebufferSizeCallback(w->handle, on_size);
    glfwSetWindowContentScaleCallback(w->handle, on_scale);
    glfwSetWindowRefreshCallback(w->handle, on_refresh);
}

static marey_status open_window(window *w, const char *file)
{
    char title[512];
    (void)snprintf(title, sizeof title, "%s – marey", path_base(file));
    if (!glfwInit()) {
        return no_window(w->diag, "No window can be opened");
    }
    w->handle = open_handle(w->options, title);
    if (!w->handle) {
        return no_window(w->diag, "No window with OpenGL 3.3 can be opened");
    }
    glfwMakeContextCurrent(w->handle);
    glfwSwapInterval(1);
    marey_status status = renderer_create(&w->renderer, get_proc, w->diag);
    return status == MAREY_OK ? opening_warm(w->renderer, w->diag) : status;
}

/* The file and the window are opened side by side; what is wrong with the file is said first. */
static marey_status open_both(window *w, const char *file)
{
    const window_options *o = w->options;
    session_options options = {
        .look = o->look,
        .reduced_motion = o->reduced_motion,
        .wake = on_arrival,
        .wake_ctx = w,
    };
    scene_input input = {.width_px = o->size[0] ? o->size[0] : 1600,
                         .height_px = o->size[1] ? o->size[1] : 900,
                         .scale = o->scale > 0 ? o->scale : 1,
                         .cursor_x = -1,
                         .cursor_y = -1};
    opening both;
    opening_begin(&both, file, &options, &input);
    diag d;
    diag_init(&d);
    diag *outer = w->diag;
    w->diag = &d;
    marey_status drawing = open_window(w, file);
    w->diag = outer;
    marey_status opened = opening_end(&both, &w->session, outer);
    if (opened == MAREY_OK) {
        diag_merge(outer, &d);
    }
    diag_deinit(&d);
    return opened != MAREY_OK ? opened : drawing;
}

static void close_all(window *w)
{
    renderer_destroy(&w->renderer);
    session_close(&w->session); /* joins the loader threads, which post events: before GLFW ends */
    if (w->handle) {
        glfwDestroyWindow(w->handle);
    }
    glfwTerminate();
    if (w->log) {
        (void)fclose(w->log);
    }
}

marey_status window_run(const char *file, const window_options *options, diag *d)
{
    window w = {.options = options, .diag = d};
    marey_status status = MAREY_OK;
    glfwSetErrorCallback(on_glfw_error);
    if (options->frames_log && !(w.log = fopen(options->frames_log, "we"))) {
        return diag_error(d, MAREY_IO, options->frames_log, DIAG_NO_OFFSET, "The log of frames can't be written.");
    }
    MAREY_TRY(open_both(&w, file));
    atomic_store(&w.listens, true);
    listen(&w);
    glfwShowWindow(w.handle);
    take_size(&w);
    loop(&w);
    status = w.status;
fail:
    close_all(&w);
    return status;
}
