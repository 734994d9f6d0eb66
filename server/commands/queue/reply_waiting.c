#include "server/commands/queue/reply_waiting.h"

#include "server/commands/queue/reply_fields.h"

struct showing {
    struct context *context;
    struct after_rights *rights;
    uint64_t count;
};

const char *on_dead_word(enum dueq_on_dead on_dead)
{
    static const char *const words[] = {"fail", "run", "wait"};

    return words[on_dead];
}

static bool show(void *arg, const struct dueq_prerequisite *of, enum dueq_state state,
                 bool is_gone)
{
    struct showing *showing = arg;
    struct resp_writer *reply = showing->context->reply;

    resp_array(reply, 3);
    showing->count++;
    if (!after_rights_show(showing->context, showing->rights, of->topic)) {
        for (int i = 0; i < 3; i++)
            resp_null(reply); /* a job that the user may not see */
        return true;
    }
    resp_slice(reply, of->topic);
    if (is_gone)
        resp_null(reply);
    else
        resp_slice(reply, of->id);
    resp_string(reply, is_gone ? "gone" : dueq_state_name(state));
    return true;
}

void write_waiting(struct context *context, struct after_rights *rights,
                   const struct dueq_job *job, unsigned most)
{
    struct showing showing = {.context = context, .rights = rights};
    size_t mark;

    write_number(context->reply, "awaits", (int64_t)job->awaits);
    resp_string(context->reply, "on-dead");
    resp_string(context->reply, on_dead_word(job->on_dead));
    resp_string(context->reply, "after");
    mark = resp_deferred(context->reply);
    (void)dueq_awaited(context->store, context_slice(context, 1), context_slice(context, 2),
                       context->now, most, show, &showing);
    resp_deferred_array(context->reply, mark, showing.count);
}
