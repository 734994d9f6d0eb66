/* Ends, returns, extends and deletes jobs: Q.ACK, Q.NACK, Q.EXTEND, Q.DEL. */
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "server/commands/queue/ack_then_push.h"
#include "server/commands/queue/job_acks.h"
#include "server/commands/queue/job_ids.h"
#include "server/dispatch/argument_options.h"

/* Reads topic, id and token, with which every command on a claimed job begins. */
static bool read_claimed(struct context *context, int64_t *ret_token)
{
    return arguments_name(context, 1, "topic") && arguments_name(context, 2, "id") &&
           arguments_integer(context, 3, NULL, ret_token);
}

/* ---- Q.ACK */

static enum outcome ack_one(struct context *context, const struct job_acks *acks)
{
    enum dueq_status status = job_acks_run_one(context, acks, acks->first);

    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    return context_reply_integer(context, status == DUEQ_OK);
}

/* Of several, those that are stale are passed over. */
static bool ack_next(struct context *context, struct wide *wide)
{
    const struct job_acks acks = {.topic = 1, .first = 2};
    enum dueq_status status = job_acks_run_one(context, &acks, wide->at);

    wide->count += status == DUEQ_OK;
    return job_acks_go_on(status) || context_check_status(context, status);
}

static enum outcome ack_several(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 2, .takes_jobs = true, .take = ack_next, .end = wide_end_count};

    return wide_run(context, &form);
}

enum { FIRST_FINISH = 4 }; /* argument */

struct finish {
    size_t result; /* argument; 0: none */
    int64_t keep;
};

static const struct argument_option finish_options[] = {
    {"result", OPTION_INDEX(struct finish, result)},
    {"keep", OPTION_DURATION(struct finish, keep)},
    {.name = NULL}};

/* An id of that name can only stand at the first place. */
static bool finish_is_meant(const struct context *context)
{
    return context_count(context) > FIRST_FINISH &&
           (arguments_is(context, FIRST_FINISH, "result") ||
            arguments_is(context, FIRST_FINISH, "keep"));
}

/* *at: the first argument after the options. False: the error is written. */
static bool read_done(struct context *context, size_t *at, struct dueq_done *ret_done)
{
    struct finish finish = {.keep = DUEQ_DEFAULT};

    *at = FIRST_FINISH;
    if (!argument_options_read_leading(context, at, finish_options, &finish))
        return false;
    *ret_done = (struct dueq_done){.has_result = finish.result > 0, .keep = finish.keep};
    if (ret_done->has_result)
        ret_done->result = context_slice(context, finish.result);
    if (!ret_done->has_result || ret_done->keep != 0)
        return true;
    resp_error(context->reply, "ERR KEEP must be greater than 0 with RESULT");
    return false;
}

/* Acknowledges one job, which is kept. */
static enum outcome run_finish(struct context *context)
{
    struct dueq_done done;
    int64_t token;
    size_t at;
    enum dueq_status status;

    if (!read_claimed(context, &token) || !read_done(context, &at, &done))
        return OUTCOME_DONE;
    if (ack_then_push_is_meant(context, at))
        return ack_then_push_run(context, at, &done);
    if (at < context_count(context))
        return context_syntax_error(context);
    status = dueq_finish(context->store, context_slice(context, 1), context_slice(context, 2),
                         token, &done, context->now);
    return context_check_status(context, status)
               ? context_reply_integer(context, status == DUEQ_OK)
               : OUTCOME_DONE;
}

/* Only a single job is handed over, or has a result: after several, the words of an option
 * would else be the id and the token of one more. False: the error is written. */
static bool are_ids(struct context *context)
{
    for (size_t at = FIRST_FINISH + 2; at < context_count(context); at += 2) {
        if (ack_then_push_is_meant(context, at)) {
            context_syntax_error(context);
            return false;
        }
        if (arguments_is(context, at, "result") || arguments_is(context, at, "keep")) {
            resp_error(context->reply, "ERR RESULT and KEEP are for an ack of one job");
            return false;
        }
    }
    return true;
}

static enum outcome run_q_ack(struct context *context)
{
    struct job_acks acks = {.topic = 1, .first = 2};

    if (ack_then_push_is_meant(context, FIRST_FINISH))
        return ack_then_push_run(context, FIRST_FINISH, NULL);
    if (finish_is_meant(context))
        return run_finish(context);
    if (wide_has_begun(context))
        return ack_several(context);
    if (!are_ids(context))
        return OUTCOME_DONE;
    if (context_count(context) % 2 != 0)
        return context_arity_error(context);
    if (!job_ids_fit(context, (context_count(context) - acks.first) / job_acks_width(&acks)) ||
        !arguments_name(context, 1, "topic") || !job_acks_check(context, &acks))
        return OUTCOME_DONE;
    return context_count(context) == 4 ? ack_one(context, &acks) : ack_several(context);
}

/* An ack of one job alone is what the rest of a transaction depends on; of several, those that
 * are stale are passed over. An error in the arguments is left to the command. */
static enum dueq_status foresee_q_ack(struct context *context)
{
    struct argument token = context_argument(context, 3);
    enum dueq_status status;
    int64_t number;

    if ((context_count(context) > 4 && !ack_then_push_is_meant(context, FIRST_FINISH) &&
         !finish_is_meant(context)) ||
        !number_parse_integer(token.data, token.size, &number))
        return DUEQ_OK;
    status = dueq_holds(context->store, context_slice(context, 1), context_slice(context, 2),
                        number);
    return status == DUEQ_NOTFOUND || status == DUEQ_STALE || status == DUEQ_CANCELLED
               ? status
               : DUEQ_OK;
}

/* ---- Q.NACK, Q.EXTEND */

enum { OUTCOME_WORD = 1 }; /* a group: a claim ends in one way */

static const struct argument_option nack_options[] = {
    {"delay", OPTION_DURATION(struct dueq_nack, delay)},
    {"error", OPTION_BYTES(struct dueq_nack, error)},
    {"progress", OPTION_BYTES(struct dueq_nack, progress)},
    {"fail", OPTION_SETS(struct dueq_nack, outcome), .number = DUEQ_FAILED,
     .group = OUTCOME_WORD},
    {"silent", OPTION_SETS(struct dueq_nack, outcome), .number = DUEQ_SILENT,
     .group = OUTCOME_WORD},
    {"fatal", OPTION_SETS(struct dueq_nack, outcome), .number = DUEQ_FATAL,
     .group = OUTCOME_WORD},
    {"dead", OPTION_SETS(struct dueq_nack, outcome), .number = DUEQ_FATAL,
     .group = OUTCOME_WORD}, /* the name that FATAL had at first */
    {.name = NULL}};

static bool nack_fits(struct context *context, const struct dueq_nack *nack)
{
    if (nack->outcome != DUEQ_FATAL || nack->delay == DUEQ_DEFAULT)
        return true;
    resp_error(context->reply, "ERR DELAY is for a job that is tried again, not for FATAL");
    return false;
}

static enum outcome run_q_nack(struct context *context)
{
    struct dueq_nack nack = {.delay = DUEQ_DEFAULT};
    enum dueq_state state;
    enum dueq_status status;
    int64_t token;

    if (!read_claimed(context, &token) ||
        !argument_options_read(context, 4, nack_options, &nack) || !nack_fits(context, &nack))
        return OUTCOME_DONE;
    status = dueq_nack(context->store, context_slice(context, 1), context_slice(context, 2),
                       token, &nack, context->now, &state);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_string(context->reply, dueq_state_name(state));
    return OUTCOME_DONE;
}

struct extension {
    struct dueq_slice progress;
};

static const struct argument_option extend_options[] = {
    {"progress", OPTION_BYTES(struct extension, progress)}, {.name = NULL}};

static enum outcome run_q_extend(struct context *context)
{
    struct extension extension = {.progress = {NULL, 0}};
    int64_t token, lease, end;
    enum dueq_status status;

    if (!read_claimed(context, &token) || !arguments_duration(context, 4, &lease) ||
        !argument_options_read(context, 5, extend_options, &extension))
        return OUTCOME_DONE;
    status =
        dueq_extend_with(context->store, context_slice(context, 1), context_slice(context, 2),
                         token, lease, extension.progress, context->now, &end);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_integer(context->reply, end);
    return OUTCOME_DONE;
}

/* ---- Q.DEL */

static bool delete_next(struct context *context, struct wide *wide)
{
    enum dueq_status status = dueq_del(context->store, context_slice(context, 1),
                                       context_slice(context, wide->at), context->now);

    wide->count += status == DUEQ_OK;
    return context_check_status(context, status);
}

static enum outcome run_q_del(struct context *context)
{
    static const struct wide_form form = {.first = JOB_IDS_FIRST,
                                          .stride = 1,
                                          .takes_jobs = true,
                                          .begin = job_ids_begin,
                                          .take = delete_next,
                                          .end = wide_end_count};

    return wide_run(context, &form);
}

/* The topic, and what THEN PUSH names. A value may be "then", but no option is "push". */
static bool find_ack_keys(const struct request *request, command_key_fn fn, void *arg)
{
    static const char own[] = "RW,delete", next[] = "RW,insert";

    fn(arg, 1, own, sizeof(own) - 1);
    for (size_t at = FIRST_FINISH; at + 2 < request->count; at++)
        if (argument_is(request->arguments[at], "then") &&
            argument_is(request->arguments[at + 1], "push"))
            fn(arg, at + 2, next, sizeof(next) - 1);
    return true;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.ack",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Acknowledge claimed jobs: they are done and gone, or kept, and others follow",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic id token [id token ...] [RESULT value] [KEEP duration] "
               "[THEN <PUSH topic> body [option [option ...]]]",
     .categories = "queue",
     .run = run_q_ack,
     .foresee = foresee_q_ack,
     .find_keys = find_ack_keys},
    {.name = "q.nack",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Give a claimed job back, to be tried again or to be dead",
     .complexity = "O(log(N))",
     .syntax = "topic id token [DELAY duration] [ERROR text] [PROGRESS text] "
               "[FAIL|SILENT|FATAL|DEAD]",
     .categories = "queue",
     .run = run_q_nack},
    {.name = "q.extend",
     .arity = -5,
     .flags = COMMAND_WRITE | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Let the lease of a claimed job end a duration from now",
     .complexity = "O(log(N))",
     .syntax = "topic id token duration [PROGRESS text]",
     .categories = "queue",
     .run = run_q_extend},
    {.name = "q.del",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Remove jobs, whatever their state",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic id [id ...]",
     .categories = "queue",
     .run = run_q_del},
    {.name = NULL}};

COMMANDS(queue_ack, entries)
