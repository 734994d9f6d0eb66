/* Why a job does not run now, in words and as fields: Q.EXPLAIN. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/reply_fields.h"
#include "server/commands/queue/reply_waiting.h"
#include "server/dispatch/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 2048, SPAN_MAX = 32 };

/* A job, and what else decides whether it runs. */
struct subject {
    struct dueq_job job;
    struct dueq_topic_stats topic;
    struct dueq_group_stats group;
    bool counted; /* ahead: how many jobs would be claimed first */
    uint64_t ahead;
    int64_t now; /* unix ms */
    struct context *context;
    struct after_rights *rights;
    struct resp_writer *reply;
    size_t fields;       /* written so far */
    char text[TEXT_MAX]; /* the explanation in words */
};

/* ---- words */

/* The two largest units: "1h5m", "350ms". */
static const char *span_text(int64_t ms, char *text)
{
    static const struct {
        int64_t length;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    size_t unit = 0;
    int size;

    ms = ms < 0 ? 0 : ms;
    while (unit < 4 && ms < units[unit].length)
        unit++;
    size = snprintf(text, SPAN_MAX, "%" PRId64 "%s", ms / units[unit].length, units[unit].name);
    ms %= units[unit].length;
    if (unit < 3 && ms >= units[unit + 1].length)
        snprintf(text + size, (size_t)(SPAN_MAX - size), "%" PRId64 "%s",
                 ms / units[unit + 1].length, units[unit + 1].name);
    return text;
}

/* ": the error", or nothing. */
static const char *error_text(const struct subject *subject, char *text)
{
    const struct dueq_slice *error = &subject->job.error;

    text[0] = '\0';
    if (error->size > 0)
        snprintf(text, DUEQ_ERROR_MAX + 3, ": %.*s", (int)error->size,
                 (const char *)error->data);
    return text;
}

/* ---- fields */

static void add_number(struct subject *subject, const char *name, int64_t number)
{
    write_number(subject->reply, name, number);
    subject->fields++;
}

static void add_bytes(struct subject *subject, const char *name, struct dueq_slice bytes)
{
    if (bytes.size == 0)
        return;
    write_bytes(subject->reply, name, bytes);
    subject->fields++;
}

static void add_trials(struct subject *subject)
{
    add_number(subject, "attempt", subject->job.attempt);
    add_number(subject, "failures", subject->job.failures);
    add_number(subject, "leases-expired", subject->job.leases_expired);
    add_bytes(subject, "error", subject->job.error);
}

/* ---- reasons. Each tells whether it is the one, and if so explains it. */

static bool is_delayed(const struct subject *subject)
{
    return subject->job.state == DUEQ_DELAYED && subject->job.attempt == 0;
}

static void explain_delayed(struct subject *subject)
{
    char wait[SPAN_MAX];

    snprintf(subject->text, TEXT_MAX, "due in %s",
             span_text(subject->job.due - subject->now, wait));
    add_number(subject, "due", subject->job.due);
    add_number(subject, "wait", subject->job.due - subject->now);
}

static bool is_tried_again(const struct subject *subject)
{
    return subject->job.state == DUEQ_DELAYED;
}

static void explain_tried_again(struct subject *subject)
{
    char wait[SPAN_MAX], error[DUEQ_ERROR_MAX + 3];

    snprintf(subject->text, TEXT_MAX, "due again in %s, after attempt %" PRId64 "%s",
             span_text(subject->job.due - subject->now, wait), subject->job.attempt,
             error_text(subject, error));
    add_number(subject, "due", subject->job.due);
    add_number(subject, "wait", subject->job.due - subject->now);
    add_trials(subject);
}

static bool is_paused(const struct subject *subject)
{
    return subject->job.state == DUEQ_READY && subject->topic.paused_out;
}

static void explain_paused(struct subject *subject)
{
    int64_t until = subject->topic.paused_until;
    char wait[SPAN_MAX];

    if (until == DUEQ_NEVER) {
        snprintf(subject->text, TEXT_MAX, "the topic is paused until it is resumed");
        return;
    }
    snprintf(subject->text, TEXT_MAX, "the topic is paused for another %s",
             span_text(until - subject->now, wait));
    add_number(subject, "paused-until", until);
}

static bool is_limited(const struct subject *subject)
{
    return subject->job.state == DUEQ_READY &&
           subject->group.topic_claimed >= subject->group.topic_most;
}

static void explain_limited(struct subject *subject)
{
    uint64_t claimed = subject->group.topic_claimed;

    snprintf(subject->text, TEXT_MAX,
             "%" PRIu64 " job%s of the topic %s claimed, and no more may be (concurrency)",
             claimed, claimed == 1 ? "" : "s", claimed == 1 ? "is" : "are");
    add_bytes(subject, "limit", dueq_slice("concurrency", 11));
    add_number(subject, "claimed", (int64_t)claimed);
    add_number(subject, "due", subject->job.due);
}

/* Whose rate holds it, and when it lets go. */
static void explain_next(struct subject *subject, const char *whose, const char *limit,
                         int64_t next)
{
    char wait[SPAN_MAX];

    snprintf(subject->text, TEXT_MAX, "the rate of %s lets the next job be claimed in %s",
             whose, span_text(next - subject->now, wait));
    add_bytes(subject, "limit", dueq_slice(limit, strlen(limit)));
    add_number(subject, "until", next);
    add_number(subject, "wait", next - subject->now);
    add_number(subject, "due", subject->job.due);
}

static bool is_rated(const struct subject *subject)
{
    return subject->job.state == DUEQ_READY && subject->group.topic_next > subject->now;
}

static void explain_rated(struct subject *subject)
{
    explain_next(subject, "the topic", "rate", subject->group.topic_next);
}

static bool is_grouped(const struct subject *subject)
{
    return subject->job.state == DUEQ_READY && subject->group.waits;
}

static const char *group_limit(const struct dueq_group_stats *group)
{
    switch (group->limit) {
    case DUEQ_SET_GROUP_CONCURRENCY:
        return "group-concurrency";
    case DUEQ_SET_GROUP_ON_FAILURE:
        return "group-on-failure";
    default:
        return "group-mode";
    }
}

static void explain_grouped(struct subject *subject)
{
    const struct dueq_group_stats *group = &subject->group;
    const char *limit = group_limit(group);

    if (group->limit == DUEQ_SET_GROUP_ON_FAILURE)
        snprintf(subject->text, TEXT_MAX,
                 "a job of its group failed and is to run again before the others");
    else
        snprintf(subject->text, TEXT_MAX,
                 "%" PRIu64 " job%s of its group %s claimed, and no more may be (%s)",
                 group->claimed, group->claimed == 1 ? "" : "s",
                 group->claimed == 1 ? "is" : "are", limit);
    add_bytes(subject, "limit", dueq_slice(limit, strlen(limit)));
    add_bytes(subject, "group", subject->job.group);
    add_number(subject, "group-claimed", (int64_t)group->claimed);
    add_number(subject, "group-holding", (int64_t)group->holding);
    add_number(subject, "due", subject->job.due);
}

static bool is_group_rated(const struct subject *subject)
{
    return subject->job.state == DUEQ_READY && subject->group.next > subject->now;
}

static void explain_group_rated(struct subject *subject)
{
    add_bytes(subject, "group", subject->job.group);
    explain_next(subject, "its group", "group-rate", subject->group.next);
}

static bool is_ready(const struct subject *subject)
{
    return subject->job.state == DUEQ_READY;
}

static void explain_ready(struct subject *subject)
{
    int64_t age = subject->now - subject->job.due;
    char since[SPAN_MAX];

    span_text(age, since);
    if (!subject->counted)
        snprintf(subject->text, TEXT_MAX,
                 "ready for %s; how many jobs come before it was not counted", since);
    else if (subject->ahead == 0)
        snprintf(subject->text, TEXT_MAX, "ready for %s; the next claim of the topic takes it",
                 since);
    else
        snprintf(subject->text, TEXT_MAX, "ready for %s; %" PRIu64 " job%s before it", since,
                 subject->ahead, subject->ahead == 1 ? " comes" : "s come");
    add_number(subject, "due", subject->job.due);
    write_number_or_nil(subject->reply, "ahead", (int64_t)subject->ahead, subject->counted);
    subject->fields++;
    if (subject->job.attempt > 0)
        add_trials(subject);
}

static bool is_claimed(const struct subject *subject)
{
    return subject->job.state == DUEQ_CLAIMED;
}

static void explain_claimed(struct subject *subject)
{
    const struct dueq_job *job = &subject->job;
    char since[SPAN_MAX], left[SPAN_MAX];

    snprintf(subject->text, TEXT_MAX,
             "claimed for %s%s%.*s (attempt %" PRId64 ", token %" PRId64 "); its lease ends in "
             "%s%s",
             span_text(subject->now - job->claimed_at, since),
             job->worker.size > 0 ? " by " : "", (int)job->worker.size,
             (const char *)job->worker.data, job->attempt, job->token,
             span_text(job->due - subject->now, left),
             job->cancelled ? "; cancelled: it is not tried again" : "");
    add_number(subject, "claimed-at", job->claimed_at);
    add_number(subject, "lease-end", job->due);
    add_number(subject, "token", job->token);
    add_bytes(subject, "worker", job->worker);
    add_bytes(subject, "progress", job->progress);
    add_trials(subject);
}

static bool is_dead(const struct subject *subject)
{
    return subject->job.state == DUEQ_DEAD;
}

static void explain_dead(struct subject *subject)
{
    char since[SPAN_MAX], error[DUEQ_ERROR_MAX + 3];

    snprintf(subject->text, TEXT_MAX, "dead for %s%s",
             span_text(subject->now - subject->job.due, since), error_text(subject, error));
    add_number(subject, "since", subject->job.due);
    add_trials(subject);
}

static bool is_done(const struct subject *subject)
{
    return subject->job.state == DUEQ_DONE;
}

static void explain_done(struct subject *subject)
{
    char since[SPAN_MAX], left[SPAN_MAX];

    snprintf(subject->text, TEXT_MAX, "done for %s; kept for another %s",
             span_text(subject->now - subject->job.due, since),
             span_text(subject->job.kept_until - subject->now, left));
    add_number(subject, "since", subject->job.due);
    add_number(subject, "kept-until", subject->job.kept_until);
}

static bool is_waiting(const struct subject *subject)
{
    return subject->job.state == DUEQ_WAITING;
}

static void explain_waiting(struct subject *subject)
{
    char since[SPAN_MAX];

    snprintf(subject->text, TEXT_MAX, "waits for %" PRIu64 " other job%s, since %s",
             subject->job.awaits, subject->job.awaits == 1 ? "" : "s",
             span_text(subject->now - subject->job.due, since));
    add_number(subject, "since", subject->job.due);
    write_waiting(subject->context, subject->rights, &subject->job);
    subject->fields += 3;
}

/* The first that applies is told; every state has one. */
static const struct reason {
    const char *name;
    bool (*applies)(const struct subject *subject);
    void (*explain)(struct subject *subject);
} reasons[] = {{"delayed", is_delayed, explain_delayed},
               {"backoff", is_tried_again, explain_tried_again},
               {"paused", is_paused, explain_paused},
               {"limit", is_limited, explain_limited},
               {"limit", is_rated, explain_rated},
               {"group", is_grouped, explain_grouped},
               {"limit", is_group_rated, explain_group_rated},
               {"ready", is_ready, explain_ready},
               {"claimed", is_claimed, explain_claimed},
               {"dead", is_dead, explain_dead},
               {"done", is_done, explain_done},
               {"waiting", is_waiting, explain_waiting}};

/* ---- the reply */

static void begin_reply(struct resp_writer *reply, struct dueq_slice id)
{
    write_bytes(reply, "id", id);
    resp_string(reply, "state");
}

static void write_absence(struct context *context)
{
    struct resp_writer *reply = context->reply;

    resp_map(reply, 4);
    begin_reply(reply, context_slice(context, 2));
    resp_null(reply);
    resp_string(reply, "reason");
    resp_string(reply, "absent");
    resp_string(reply, "text");
    resp_string(reply, "the topic has no such job: it was acknowledged or removed, or never "
                       "pushed");
}

static void write_explanation(struct subject *subject)
{
    const struct reason *reason = reasons;
    struct resp_writer *reply = subject->reply;
    size_t mark = resp_deferred(reply);

    while (!reason->applies(subject))
        reason++;
    begin_reply(reply, subject->job.id);
    resp_string(reply, dueq_state_name(subject->job.state));
    resp_string(reply, "reason");
    resp_string(reply, reason->name);
    subject->fields = 4;
    reason->explain(subject);
    resp_string(reply, "text");
    resp_string(reply, subject->text);
    resp_deferred_map(reply, mark, subject->fields);
}

/* The job comes last: what is asked before may make its slices void. */
static enum dueq_status look_at(struct context *context, struct subject *subject)
{
    struct dueq_slice topic = context_slice(context, 1), id = context_slice(context, 2);
    enum dueq_status status =
        dueq_topic_stats(context->store, topic, context->now, &subject->topic);

    if (status == DUEQ_OK)
        status = dueq_ahead(context->store, topic, id, context->now, &subject->ahead);
    if (status != DUEQ_OK && status != DUEQ_BUSY)
        return status;
    subject->counted = status == DUEQ_OK;
    status = dueq_group_stats(context->store, topic, id, &subject->group);
    if (status != DUEQ_OK)
        return status;
    return dueq_get(context->store, topic, id, context->now, &subject->job);
}

static enum outcome explain(struct context *context, struct after_rights *rights, void *arg)
{
    struct subject subject = {.reply = context->reply,
                              .now = context->now.wall,
                              .context = context,
                              .rights = rights};
    enum dueq_status status = look_at(context, &subject);

    (void)arg;
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK)
        write_explanation(&subject);
    else
        write_absence(context);
    return OUTCOME_DONE;
}

static enum outcome run_q_explain(struct context *context)
{
    if (!arguments_name(context, 1, "topic") || !arguments_name(context, 2, "id"))
        return OUTCOME_DONE;
    return after_rights_run(context, explain, NULL);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.explain",
     .arity = 3,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Why a job does not run now",
     .complexity = "O(L*log(N)) with L the number of priorities in use, and at most 4000 steps "
                   "to count the jobs that come first",
     .syntax = "topic id",
     .categories = "queue",
     .run = run_q_explain},
    {.name = NULL}};

COMMANDS(queue_explain, entries)
