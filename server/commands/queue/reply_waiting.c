#include "server/commands/queue/reply_waiting.h"

#include "server/commands/queue/reply_fields.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/server.h"

enum {
    SLICE = LONG_STEPS / 2, /* a job of another topic may be on another page of the disk */
    LEAST = 32              /* are shown at once, however long the turn is */
};

struct showing {
    struct context *context;
    struct after_rights *rights;
    bool looks, has_more; /* at the clock; it has stopped before the end */
};

const char *on_dead_word(enum dueq_on_dead on_dead)
{
    static const char *const words[] = {"fail", "run", "wait"};

    return words[on_dead];
}

static void write_shown(struct showing *showing, const struct dueq_prerequisite *of,
                        enum dueq_state state, bool is_gone)
{
    struct resp_writer *reply = showing->context->reply;

    resp_array(reply, 3);
    if (!after_rights_show(showing->context, showing->rights, of->topic)) {
        for (int i = 0; i < 3; i++)
            resp_null(reply); /* a job that the user may not see */
        return;
    }
    resp_slice(reply, of->topic);
    if (is_gone)
        resp_null(reply);
    else
        resp_slice(reply, of->id);
    resp_string(reply, is_gone ? "gone" : dueq_state_name(state));
}

static bool show(void *arg, const struct dueq_prerequisite *of, enum dueq_state state,
                 bool is_gone)
{
    struct showing *showing = arg;
    uint64_t count = ++showing->rights->progress.count;

    write_shown(showing, of, state, is_gone);
    showing->has_more =
        showing->looks && (count % SLICE == 0 ||
                           (count >= LEAST && server_part_is_long(showing->context->server)));
    return !showing->has_more;
}

/* Where the reply begins of which `mark` tells. */
static size_t reply_begin(const struct context *context)
{
    return long_work_state(context) == NULL ? 0 : long_work_reply_begin(context);
}

/* Up to `most` of them; 0: all, and a slice of them ends early. */
static enum outcome show_some(struct context *context, struct after_rights *rights,
                              unsigned most)
{
    struct after_progress *progress = &rights->progress;
    struct showing showing = {
        .context = context, .rights = rights, .looks = most == 0 && !alone_hurries(context)};

    (void)dueq_awaited(context->store, context_slice(context, 1), context_slice(context, 2),
                       context->now, most == 0 ? DUEQ_AFTER_MAX : most, &progress->place, show,
                       &showing);
    if (showing.has_more)
        return OUTCOME_WAIT;
    resp_deferred_array(context->reply, reply_begin(context) + progress->mark, progress->count);
    return OUTCOME_DONE;
}

static enum outcome begin_to_show(struct context *context, struct after_rights *rights,
                                  const struct dueq_job *job, unsigned most)
{
    write_number(context->reply, "awaits", (int64_t)job->awaits);
    resp_string(context->reply, "on-dead");
    resp_string(context->reply, on_dead_word(job->on_dead));
    resp_string(context->reply, "after");
    rights->progress.mark = resp_deferred(context->reply) - reply_begin(context);
    return show_some(context, rights, most);
}

void write_waiting(struct context *context, struct after_rights *rights,
                   const struct dueq_job *job)
{
    begin_to_show(context, rights, job, WAITING_SHOWN);
}

enum outcome write_all_waiting(struct context *context, struct after_rights *rights,
                               const struct dueq_job *job)
{
    return begin_to_show(context, rights, job, 0);
}

enum outcome write_more_waiting(struct context *context, struct after_rights *rights)
{
    return show_some(context, rights, 0);
}
