/* The diagnosis in the background, and its findings as cards. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/panels_internal.h"
#include "base/mem.h"

enum { MAX_CARDS = 64, FEW_CARDS = 4, FEWER_CARDS = 1, MAX_WHAT_IFS = 4, CARD_TEXT_DP = 284 };
static const double FAULT = 0.3; /* severities above say that something is wrong */

/* ---- running it ---- */

static void diagnose(void *job, cancel_flag *cancel)
{
    diagnosis_job *j = job;
    diag d;
    diag_init(&d);
    diagnose_options options = {.jobs = j->n_threads, .cancel = cancel, .progress = &j->progress};
    j->status = diagnose_run(j->file, &options, &j->g, &d);
    if (j->status != MAREY_OK) {
        (void)snprintf(j->error, sizeof j->error, "%s",
                       d.n_messages > 0 ? d.messages[0].text : "The run could not be diagnosed.");
    }
    diag_deinit(&d);
}

static void mark_ranks(panels *p)
{
    const diagnosis *g = p->g;
    for (size_t i = 0; i < g->n_findings; i++) {
        const finding *f = &g->findings[i];
        bool names_few = f->n_ranks > 0 && f->n_ranks <= 8;
        for (uint32_t k = 0; f->severity > FAULT && names_few && k < f->n_ranks; k++) {
            if (f->ranks[k] < g->model->n_ranks) {
                p->rank_marks[f->ranks[k]] = (uint8_t)(255 * fmin(f->severity, 1));
            }
        }
    }
}

/* Half of the cores: the others draw. */
void findings_start(panels *p)
{
    p->diagnosis_started = true;
    p->g = scene_diagnosis(p->session->scene);
    if (p->g) {
        mark_ranks(p);
        return;
    }
    diagnosis_job *j = mem_calloc(1, sizeof *j);
    unsigned cores = thread_cores();
    j->file = p->session->file;
    j->n_threads = cores > 2 ? cores / 2 : 1;
    j->status = MAREY_CANCELLED;
    work_start(&p->diagnosing, diagnose, j);
}

/* The pass over the events is most of the work; matching and judging come after it. */
static void note_progress(panels *p)
{
    const diagnosis_job *j = work_is_busy(&p->diagnosing) ? p->diagnosing.job : NULL;
    p->note[0] = '\0';
    if (j) {
        unsigned of = atomic_load_explicit(&j->progress.of, memory_order_relaxed);
        unsigned done = atomic_load_explicit(&j->progress.done, memory_order_relaxed);
        (void)snprintf(p->note, sizeof p->note, "diagnosis %u %%", of > 0 ? 95 * (done < of ? done : of) / of : 0);
    }
}

void findings_take(panels *p)
{
    void *done = p->diagnosed;
    if (take_done(&p->diagnosing, &done, free_diagnosis)) {
        p->diagnosed = done;
        if (p->diagnosed->status == MAREY_OK) {
            p->g = &p->diagnosed->g;
            mark_ranks(p);
        }
    }
    note_progress(p);
}

/* ---- words ---- */

static const finding_number *number_of(const finding *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_numbers; i++) {
        if (strcmp(f->numbers[i].name, name) == 0) {
            return &f->numbers[i];
        }
    }
    return NULL;
}

static const char *rank_label(const diagnosis *g, uint32_t rank)
{
    return rank < g->model->n_ranks ? g->model->ranks[rank].label : "rank ?";
}

static void capitalise(char *s)
{
    if (s[0] >= 'a' && s[0] <= 'z') {
        s[0] = (char)(s[0] - 'a' + 'A');
    }
}

static void title_of(const diagnosis *g, const finding *f, char *out, size_t cap)
{
    const char *rank = f->n_ranks == 1 ? rank_label(g, f->ranks[0]) : NULL;
    switch (f->kind) {
    case FINDING_SLOW_RANK:
        if (rank || f->n_ranks == 0) {
            (void)snprintf(out, cap, "%s computes slower", rank ? rank : "Somebody");
        } else { /* several at once: all of a host */
            (void)snprintf(out, cap, "Host %.64s computes slower", g->model->ranks[f->ranks[0]].host);
        }
        break;
    case FINDING_SLOW_LINK:
        if (f->n_links == 1) {
            (void)snprintf(out, cap, "Link %lld\xE2\x80\x93%lld is slow",
                           (long long)g->model->ranks[f->links[0][0]].rank,
                           (long long)g->model->ranks[f->links[0][1]].rank);
        } else {
            (void)snprintf(out, cap, "Links are slow");
        }
        break;
    case FINDING_STALL:
        (void)snprintf(out, cap, "%s pauses", rank ? rank : "Some ranks");
        break;
    case FINDING_STAGE_IMBALANCE:
        (void)snprintf(out, cap, "Stage %d holds the pipeline", (int)f->stage);
        break;
    case FINDING_PIPELINE_BUBBLE:
        (void)snprintf(out, cap, "Pipeline bubble");
        break;
    case FINDING_LAUNCH_BOUND:
        (void)snprintf(out, cap, "%s late", rank ? rank : "Launches come");
        if (rank) {
            (void)snprintf(out, cap, "%s launches late", rank);
        }
        break;
    case FINDING_STEP_OUTLIER:
        (void)snprintf(out, cap, "Step %lld is long",
                       f->n_steps > 0 ? (long long)g->data.step_index[f->steps[0]] : 0LL);
        break;
    case FINDING_EXPOSED_COMMUNICATION:
        (void)snprintf(out, cap, "Communication is exposed");
        break;
    case FINDING_CLOCKS:
        (void)snprintf(out, cap, "Clocks contradict each other");
        break;
    case FINDING_INCOMPLETE:
        (void)snprintf(out, cap, "The run is incomplete");
        break;
    default:
        (void)snprintf(out, cap, "%s", finding_kind_name(f->kind));
        break;
    }
    capitalise(out);
}

/* The cost in a step where it is known, else its share. */
static void effect_of(const finding *f, char *out, size_t cap)
{
    static const char *const names[] = {"excess_ns", "bubble_ns", "exposed_ns", "idle_ns", "host_wait_ns"};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const finding_number *n = number_of(f, names[i]);
        if (n) {
            char text[48];
            time_format((int64_t)n->value, text, sizeof text);
            (void)snprintf(out, cap, "%s%s", i == 0 ? "+" : "", text);
            return;
        }
    }
    const finding_number *share = number_of(f, "share_of_step");
    if (share) {
        (void)snprintf(out, cap, "+%.0f %%", 100 * share->value);
    }
}

/* "share_of_step" -> "share of step"; a time loses its "ns". */
static void number_text(const finding_number *n, char *name, size_t name_cap, char *value, size_t value_cap)
{
    size_t len = strlen(n->name);
    bool is_time = len > 3 && strcmp(n->name + len - 3, "_ns") == 0;
    (void)snprintf(name, name_cap, "%.*s", (int)(is_time ? len - 3 : len), n->name);
    for (char *c = name; *c; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    if (is_time) {
        time_format((int64_t)n->value, value, value_cap);
    } else if (strstr(n->name, "share")) {
        (void)snprintf(value, value_cap, "%.1f %%", 100 * n->value);
    } else {
        (void)snprintf(value, value_cap, "%.4g", n->value);
    }
}

/* ---- cards ---- */

static void go_to(panels *p, const finding *f)
{
    bool whole = f->t1_ns <= f->t0_ns;
    panels_fly(p, whole ? 0 : f->t0_ns, whole ? p->session->duration_ns : f->t1_ns);
    if (f->n_ranks > 0) {
        panels_go_to_rank(p, f->ranks[0]);
    } else if (f->n_links > 0) {
        panels_go_to_rank(p, f->links[0][0]);
    }
    view_comm *v = &p->session->view.comm; /* should the communication layout be next */
    v->hint[0] = f->n_links > 0 ? f->links[0][0] + 1 : 0;
    v->hint[1] = f->n_links > 0 ? f->links[0][1] + 1 : 0;
}

static void show_numbers(panels *p, const finding *f)
{
    for (uint32_t i = 0; i < f->n_numbers; i++) {
        char name[64];
        char value[64];
        number_text(&f->numbers[i], name, sizeof name, value, sizeof value);
        ui_key_value(p->ui, name, value);
    }
    ui_space(p->ui, 4);
    ui_label_fill(p->ui, f->formula, TEXT_SMALL);
}

static void show_card(panels *p, size_t i)
{
    const diagnosis *g = p->g;
    const finding *f = &g->findings[i];
    char id[24];
    char title[128];
    char effect[64];
    (void)snprintf(id, sizeof id, "finding %zu", i);
    title_of(g, f, title, sizeof title);
    effect_of(f, effect, sizeof effect);
    bool chosen = p->chosen == i;
    ui_box_id card = ui_card(p->ui, id, f->severity > FAULT ? f->severity : 0, chosen);
    ui_describe(p->ui, card, title);
    if (ui_signal_of(p->ui, card).clicked) {
        p->chosen = chosen ? NO_FINDING : i;
        if (!chosen) {
            go_to(p, f);
        }
        p->session->is_dirty = true;
    }
    ui_style line = {.w = UI_SIZE_FILL, .h = UI_SIZE_CHILDREN, .axis = UI_ROW, .gap = 8};
    (void)ui_push(p->ui, "line", NULL, &line);
    ui_label_fill(p->ui, title, TEXT_TITLE);
    ui_label(p->ui, effect, TEXT_NUMBER);
    ui_pop(p->ui);
    char evidence[600];
    (void)snprintf(evidence, sizeof evidence, "%s", f->text);
    capitalise(evidence);
    ui_paragraph(p->ui, evidence, CARD_TEXT_DP, TEXT_SMALL);
    if (chosen) {
        ui_space(p->ui, 4);
        show_numbers(p, f);
    }
    ui_pop(p->ui);
    ui_space(p->ui, 8);
}

static void say(panels *p, const char *text)
{
    ui_paragraph(p->ui, text, CARD_TEXT_DP + 32, TEXT_SMALL);
}

static void count_text(const diagnosis *g, char *out, size_t cap)
{
    size_t faults = 0;
    while (faults < g->n_findings && g->findings[faults].severity > FAULT) {
        faults++;
    }
    size_t notes = g->n_findings - faults;
    if (faults > 0) {
        (void)snprintf(out, cap, "%zu to act on, %zu to know", faults, notes);
    } else {
        (void)snprintf(out, cap, "nothing to act on");
    }
}

static void show_more(panels *p, size_t n)
{
    char text[64];
    (void)snprintf(text, sizeof text, "Show all %zu", n);
    if (ui_button(p->ui, "all findings", text).clicked) {
        p->show_all_findings = true;
        p->session->is_dirty = true;
    }
    ui_space(p->ui, 8);
}

/* The run without its culprits: an approximation, and named so. */
static void show_what_ifs(panels *p)
{
    const diagnosis *g = p->g;
    size_t shown = 0;
    for (size_t i = 0; i < g->n_what_ifs && shown < MAX_WHAT_IFS; i++) {
        const what_if *w = &g->what_ifs[i];
        if (!(w->speedup >= 1.01)) {
            continue;
        }
        if (shown++ == 0) {
            ui_section(p->ui, "A step without", "would take about");
        }
        char time[48];
        char value[96];
        time_format(w->step_without_ns, time, sizeof time);
        (void)snprintf(value, sizeof value, "%s \xC2\xB7 %.2f \xC3\x97", time, w->speedup);
        ui_key_value(p->ui, w->without, value);
    }
}

static void show_cards(panels *p)
{
    const diagnosis *g = p->g;
    /* What is selected stands below: the first cards only, and it is in sight. */
    size_t few = p->has_selected ? FEWER_CARDS : FEW_CARDS;
    size_t most = p->show_all_findings ? MAX_CARDS : few;
    for (size_t i = 0; i < g->n_findings && i < most; i++) {
        show_card(p, i);
    }
    if (g->n_findings > most && !p->show_all_findings) {
        show_more(p, g->n_findings);
    }
    if (!p->has_selected) {
        show_what_ifs(p);
    }
}

void findings_show(panels *p)
{
    char count[64] = "";
    if (p->g) {
        count_text(p->g, count, sizeof count);
    }
    ui_section(p->ui, "Findings", count);
    if (p->g && p->g->n_findings > 0) {
        show_cards(p);
    } else if (p->g) {
        say(p, "The ranks work evenly; nothing stands out.");
    } else if (p->diagnosed) {
        say(p, p->diagnosed->error);
    } else {
        say(p, "The run is being read; findings come in a moment.");
    }
}
