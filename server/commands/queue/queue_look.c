/* Looks at many jobs of a topic: Q.SCAN, Q.PEEK. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/reply_fields.h"
#include "server/commands/queue/state_words.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"
#include "storage/glob.h"

#include <stdlib.h>

/* COUNT of Q.SCAN is a hint, as that of SCAN: a larger one is cut. Jobs in the order of their
 * times are scattered over the disk: each may cost a read of it. */
enum { SCAN_MOST = LONG_ENOUGH, SCATTERED_MOST = 1000 };

#define PEEK_MOST 1000

struct look {
    unsigned state; /* DUEQ_STATES: any */
    int64_t from, to, count;
    struct dueq_slice match; /* data NULL: all */
    struct dueq_slice group; /* the same */
    bool with_body;
    struct context *context;
    size_t found;
};

static bool write_job(void *arg, const struct dueq_job *job)
{
    struct look *look = arg;
    struct resp_writer *reply = look->context->reply;

    if (look->match.data != NULL &&
        !glob_match(look->match.data, look->match.size, job->id.data, job->id.size, false))
        return true;
    if (look->group.data != NULL && !dueq_slice_equal(look->group, job->group))
        return true;
    resp_map(reply, look->with_body ? 6 : 5);
    write_bytes(reply, "id", job->id);
    write_state(reply, job->state);
    write_number(reply, "due", job->due);
    write_number(reply, "attempt", job->attempt);
    write_number(reply, "priority", job->priority);
    if (look->with_body)
        write_bytes(reply, "body", job->body);
    look->found++;
    return true;
}

static int state_of(const struct look *look)
{
    return look->state == DUEQ_STATES ? DUEQ_DEFAULT : (int)look->state;
}

/* ---- Q.SCAN */

static const struct argument_option scan_options[] = {
    {"state", OPTION_CHOICE(struct look, state), .words = state_words},
    {"match", OPTION_BYTES(struct look, match)},
    {"group", OPTION_BYTES(struct look, group)},
    {"from", OPTION_INTEGER(struct look, from)},
    {"to", OPTION_INTEGER(struct look, to)},
    {"count", OPTION_INTEGER(struct look, count),
     .rule = INTEGER_BOUND(1, INT64_MAX, "ERR COUNT must be 1 or more")},
    {"withbody", OPTION_FLAG(struct look, with_body)},
    {.name = NULL}};

static size_t count_of(const struct look *look, bool by_due)
{
    bool scattered = by_due || look->state == DUEQ_DEAD || look->state == DUEQ_DONE ||
                     look->state == DUEQ_WAITING;
    int64_t most = scattered ? SCATTERED_MOST : SCAN_MOST;

    return (size_t)(look->count < most ? look->count : most);
}

static enum outcome scan_topic(struct context *context, struct look *look)
{
    bool by_due = look->from != INT64_MIN || look->to != INT64_MAX;
    struct dueq_scan scan = {.topic = context_slice(context, 1),
                             .state = state_of(look),
                             .by_due = by_due,
                             .from = look->from,
                             .to = look->to,
                             .count = count_of(look, by_due)};
    char cursor[DUEQ_CURSOR_SIZE] = "0";
    size_t mark = resp_deferred(context->reply);
    enum dueq_status status = dueq_scan(context->store, &scan, context_slice(context, 2),
                                        context->now, write_job, look, cursor);

    if (status == DUEQ_INVALID) {
        resp_error(context->reply, "ERR invalid cursor");
        return OUTCOME_DONE;
    }
    if (context_check_status(context, status))
        resp_deferred_scan(context->reply, mark, cursor, look->found);
    return OUTCOME_DONE;
}

static enum outcome run_q_scan(struct context *context)
{
    struct look look = {.context = context,
                        .state = DUEQ_STATES,
                        .from = INT64_MIN,
                        .to = INT64_MAX,
                        .count = 10};

    if (!arguments_name(context, 1, "topic") ||
        !argument_options_read(context, 3, scan_options, &look))
        return OUTCOME_DONE;
    return scan_topic(context, &look);
}

/* ---- Q.PEEK */

static const struct argument_option peek_options[] = {
    {"state", OPTION_CHOICE(struct look, state), .words = state_words},
    {"count", OPTION_INTEGER(struct look, count),
     .rule = INTEGER_RANGE(1, PEEK_MOST, RANGE_TEXT(1, PEEK_MOST))},
    {"withbody", OPTION_FLAG(struct look, with_body)},
    {.name = NULL}};

/* What was removed just now is in the way: goes on in the next turn. */
static enum outcome peek_later(struct context *context)
{
    void *state = long_work_state(context);

    if (state != NULL)
        return OUTCOME_WAIT;
    state = malloc(1); /* nothing is kept but that it has begun */
    return state == NULL ? context_status(context, DUEQ_NOMEM)
                         : long_work_continue(context, state, free, LONG_HOLDS_NOTHING);
}

/* DUEQ_BUSY: the reply is as it was. */
static enum dueq_status peek_topic(struct context *context, struct look *look, size_t mark)
{
    struct dueq_peek peek = {.topic = context_slice(context, 1),
                             .state = state_of(look),
                             .count = (size_t)look->count};
    enum dueq_status status;

    status = dueq_peek(context->store, &peek, context->now, write_job, look);
    if (status != DUEQ_OK)
        buffer_truncate(context->reply->out, mark);
    return status;
}

static enum outcome run_q_peek(struct context *context)
{
    struct look look = {.context = context, .state = DUEQ_STATES, .count = 10};
    size_t mark = resp_deferred(context->reply);
    enum dueq_status status;

    if (!arguments_name(context, 1, "topic") ||
        !argument_options_read(context, 2, peek_options, &look))
        return OUTCOME_DONE;
    status = peek_topic(context, &look, mark);
    if (status == DUEQ_BUSY)
        return peek_later(context);
    if (context_check_status(context, status))
        resp_deferred_array(context->reply, mark, look.found);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.scan",
     .arity = -3,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Go through the jobs of a topic, a part in each call",
     .complexity = "O(COUNT*log(N)) for each call, with FROM or TO also O(L) with L the number "
                   "of priorities in use",
     .syntax = "topic cursor [STATE delayed|ready|claimed|dead|done|waiting] [MATCH pattern] "
               "[GROUP group] "
               "[FROM unix-ms] [TO unix-ms] [COUNT count] [WITHBODY]",
     .categories = "queue",
     .tips = "nondeterministic_output",
     .run = run_q_scan},
    {.name = "q.peek",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "The next jobs of a topic, in the order in which they would be claimed",
     .complexity = "O(COUNT*(L+log(N))) with L the number of priorities in use",
     .syntax = "topic [STATE delayed|ready|claimed|dead|done|waiting] [COUNT count] [WITHBODY]",
     .categories = "queue",
     .run = run_q_peek},
    {.name = NULL}};

COMMANDS(queue_look, entries)
