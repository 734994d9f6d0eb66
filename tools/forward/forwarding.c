/* The loop of `dueq forward`. */
#include "tools/client/client_log.h"
#include "tools/forward/keeper.h"
#include "tools/forward/source.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    BLOCK_MS = 1000, /* a claim cannot be called back: so long a signal waits */
    TURN_MS = 100,
    NAP_MS = 200, /* between claims that find nothing, while a target works */
    AWAY_LEAST = 500,
    TELL_MS = 5000 /* to tell the server what is given back */
};

enum stop { STOP_NO, STOP_FINISH /* what is begun */, STOP_NOW };

struct forwarding {
    const struct forward_options *options;
    struct pace pace;
    struct target *target;
    struct source source;
    struct keeper *keeper;
    struct job_list held; /* claimed, in that order, without an outcome */
    struct job_list told; /* with one that the server has not heard yet */
    size_t begun;         /* of the held ones */
    int signals;
    enum stop stop;
    int64_t stop_at; /* what is not finished then is given back */
    bool open, warned, drained;
    bool probes; /* a single job is to show whether the target is back */
    int64_t away_since, open_at, away_ms, claim_at;
    unsigned random;
    int64_t sent, refused, later;
};

/* ---- signals */

static void stop_now(struct forwarding *all)
{
    all->stop = STOP_NOW;
    all->stop_at = client_monotonic() + TELL_MS;
}

static void take_signals(struct forwarding *all)
{
    struct pollfd event = {.fd = all->signals, .events = POLLIN};
    struct signalfd_siginfo info;

    while (poll(&event, 1, 0) > 0 &&
           read(all->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (all->stop == STOP_FINISH)
            stop_now(all);
        if (all->stop != STOP_NO)
            continue;
        all->stop = STOP_FINISH;
        all->stop_at = client_monotonic() + all->options->grace_ms;
        client_log("finishing what was begun; a second signal gives it back");
    }
    if (all->stop == STOP_FINISH && client_monotonic() > all->stop_at)
        stop_now(all);
}

/* Until a signal comes. */
static void nap(const struct forwarding *all, int64_t ms)
{
    struct pollfd event = {.fd = all->signals, .events = POLLIN};

    poll(&event, 1, ms < BLOCK_MS ? (int)ms : BLOCK_MS);
}

/* ---- the target */

static void leave_target(struct forwarding *all)
{
    int64_t asked = all->target->away_ms;

    all->target->kind->shut(all->target);
    all->open = false;
    all->away_ms = lengthen(all->away_ms == 0 ? AWAY_LEAST / 2 : all->away_ms,
                            all->options->away_most_ms, &all->random);
    if (asked > all->away_ms)
        all->away_ms = asked < all->options->away_most_ms ? asked : all->options->away_most_ms;
    all->open_at = client_monotonic() + all->away_ms;
    all->probes = true;
    if (!all->warned) {
        client_log("the target is away: %s; trying again", all->target->why);
        all->away_since = client_monotonic();
    }
    all->warned = true;
}

static void reach_target(struct forwarding *all)
{
    if (all->open || all->stop != STOP_NO || client_monotonic() < all->open_at)
        return;
    all->target->away_ms = 0;
    all->target->away = false;
    all->open = all->target->kind->open(all->target);
    if (!all->open)
        leave_target(all);
}

static void target_is_back(struct forwarding *all)
{
    if (all->warned)
        client_log("the target is back, after %" PRId64 " s",
                   (client_monotonic() - all->away_since) / 1000);
    all->warned = all->probes = false;
    all->away_ms = 0;
}

/* ---- jobs */

static bool may_begin(struct forwarding *all, const struct forward_job *job)
{
    return !job->begun && all->open && !all->target->away && all->stop == STOP_NO &&
           (!all->probes || all->begun == 0) &&
           pace_left(&all->pace, client_monotonic(), 1) > 0;
}

static void begin_jobs(struct forwarding *all)
{
    for (size_t i = 0; i < all->held.count; i++) {
        struct forward_job *job = all->held.jobs[i];

        if (job->begun)
            continue;
        if (!may_begin(all, job) || !all->target->kind->begin(all->target, job))
            return;
        job->begun = true;
        all->begun++;
        pace_take(&all->pace);
    }
}

static void count_outcome(struct forwarding *all, const struct forward_job *job)
{
    const char *word = job->outcome == OUTCOME_SENT      ? "forwarded"
                       : job->outcome == OUTCOME_REFUSED ? "refused"
                                                         : "put off";

    all->sent += job->outcome == OUTCOME_SENT;
    all->refused += job->outcome == OUTCOME_REFUSED;
    all->later += job->outcome == OUTCOME_LATER;
    if (job->outcome != OUTCOME_AWAY)
        target_is_back(all);
    if (job->outcome == OUTCOME_REFUSED || all->options->verbose)
        client_log("%.*s, attempt %lld: %s%s%s", (int)job->id.size, (const char *)job->id.data,
                   job->attempt, word, job->why[0] == '\0' ? "" : ": ", job->why);
}

/* Is the job to be given back, as it gets no outcome any more? */
static bool is_given_back(const struct forwarding *all, const struct forward_job *job)
{
    if (all->stop == STOP_NOW)
        return true;
    return !job->begun && (all->stop != STOP_NO || !all->open || all->target->away);
}

/* It must not look at jobs any more that are given back. */
static void leave_at_once(struct forwarding *all)
{
    if (all->open)
        all->target->kind->shut(all->target);
    all->open = false;
}

/* From the held ones to those that are to be told, in order. */
static void sort_out(struct forwarding *all)
{
    size_t kept = 0;

    if (all->stop == STOP_NOW)
        leave_at_once(all);
    for (size_t i = 0; i < all->held.count; i++) {
        struct forward_job *job = all->held.jobs[i];

        if (job->outcome == OUTCOME_NONE && is_given_back(all, job))
            job_settle(job, OUTCOME_AWAY, "%.200s",
                       all->stop != STOP_NO ? "not forwarded yet: it was stopped"
                                            : all->target->why);
        if (job->outcome == OUTCOME_NONE) {
            all->held.jobs[kept++] = job;
            continue;
        }
        all->begun -= job->begun;
        if (job->begun)
            count_outcome(all, job);
        job_list_add(&all->told, job);
    }
    all->held.count = kept;
    if (all->open && all->target->away && all->begun == 0)
        leave_target(all);
}

/* ---- the server */

static size_t claim_count(struct forwarding *all)
{
    size_t room = (size_t)all->options->batch, waiting = all->held.count - all->begun;
    int64_t permits = pace_left(&all->pace, client_monotonic(), FORWARD_BATCH_MOST);

    if (all->stop != STOP_NO || !all->open || all->target->away || all->source.failed)
        return 0;
    if (all->probes)
        return all->held.count == 0 ? 1 : 0;
    if (all->held.count > room / 2 || (size_t)permits <= waiting ||
        (all->begun > 0 && client_monotonic() < all->claim_at))
        return 0;
    room -= all->held.count;
    return room < (size_t)permits - waiting ? room : (size_t)permits - waiting;
}

static void end_jobs(struct forwarding *all, struct job_list *ended)
{
    for (size_t i = 0; i < ended->count; i++) {
        keeper_drop(all->keeper, ended->jobs[i]);
        forward_job_free(ended->jobs[i]);
    }
    free(ended->jobs);
}

static void ask_server(struct forwarding *all)
{
    size_t count = claim_count(all), before = all->held.count;
    bool waits = before == 0 && !all->options->once;
    struct job_list ended = {0};

    if (count == 0 && all->told.count == 0)
        return;
    if (!source_ask(&all->source, &all->told, &ended, count, waits ? BLOCK_MS : 0, &all->held))
        count = 0;
    end_jobs(all, &ended);
    for (size_t i = before; i < all->held.count; i++)
        keeper_add(all->keeper, all->held.jobs[i]);
    if (count > 0 && all->held.count == before) {
        all->claim_at = client_monotonic() + NAP_MS;
        all->drained = before == 0;
    }
}

/* ---- the loop */

static bool is_over(const struct forwarding *all)
{
    bool idle = all->held.count == 0 && all->told.count == 0;

    if (all->source.failed)
        return all->begun == 0;
    if (all->stop == STOP_NOW && client_monotonic() > all->stop_at)
        return true; /* the leases end with the connection */
    if (all->options->once && idle && (all->drained || all->warned))
        return true;
    if (all->options->once && all->source.told && all->begun == 0)
        return true;
    return all->stop != STOP_NO && idle;
}

/* How long there is nothing to do but wait. */
static int64_t idle_ms(struct forwarding *all)
{
    int64_t now = client_monotonic(), wait = 0;

    if (all->begun > 0 || all->held.count > 0)
        return all->begun > 0 ? 0 : pace_wait(&all->pace, now);
    if (all->told.count > 0 || (all->open && claim_count(all) > 0))
        return source_wait(&all->source);
    if (!all->open)
        wait = all->open_at - now;
    return wait > 0 ? wait : pace_wait(&all->pace, now);
}

static void forward_loop(struct forwarding *all)
{
    while (!is_over(all)) {
        int64_t idle;

        take_signals(all);
        reach_target(all);
        ask_server(all);
        begin_jobs(all);
        if (all->open)
            all->target->kind->turn(all->target, all->begun > 0 ? TURN_MS : 0);
        sort_out(all);
        idle = idle_ms(all);
        if (idle > 0 && !is_over(all))
            nap(all, idle);
    }
}

static int exit_status(const struct forwarding *all)
{
    if (all->source.failed)
        return CLIENT_REFUSED;
    if (!all->options->once || all->stop != STOP_NO)
        return CLIENT_DONE;
    if (all->source.told)
        return FORWARD_SERVER_AWAY;
    if (all->warned)
        return FORWARD_TARGET_AWAY;
    return all->refused + all->later > 0 ? FORWARD_PARTLY : CLIENT_DONE;
}

static void forwarding_release(struct forwarding *all)
{
    if (all->open)
        all->target->kind->shut(all->target);
    keeper_free(all->keeper); /* before the jobs that it knows */
    for (size_t i = 0; i < all->held.count; i++)
        forward_job_free(all->held.jobs[i]);
    for (size_t i = 0; i < all->told.count; i++)
        forward_job_free(all->told.jobs[i]);
    free(all->held.jobs);
    free(all->told.jobs);
    source_release(&all->source);
    close(all->signals);
}

int forward_run(const struct forward_options *options, struct target *target)
{
    struct forwarding all = {.options = options,
                             .pace = options->pace,
                             .target = target,
                             .random = (unsigned)(getpid() + client_monotonic())};
    int status;

    all.signals = client_open_signals();
    all.keeper = all.signals < 0 ? NULL : keeper_new(options);
    if (all.keeper == NULL)
        return CLIENT_REFUSED;
    source_init(&all.source, options);
    forward_loop(&all);
    status = exit_status(&all);
    client_log("%" PRId64 " forwarded, %" PRId64 " put off, %" PRId64 " refused", all.sent,
               all.later, all.refused);
    forwarding_release(&all);
    return status;
}
