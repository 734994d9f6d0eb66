/* COPY. A large key is copied in later turns (long_work.h). */
#include "server/commands/database.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "storage/keys/keys_build.h"

#include <stdlib.h>

enum {
    FEW = 128,                /* elements: the first slice comes at once */
    STRING_AT_ONCE = 1 << 20, /* bytes */
    STEP_BYTES = 1024         /* of a string */
};

struct copy_options {
    unsigned database;
    bool replace;
};

static bool read_database(struct context *context, size_t *at,
                          const struct argument_option *option, void *form)
{
    struct copy_options *options = form;

    (void)option;
    return arguments_database(context, (*at)++, NULL, &options->database);
}

static const struct argument_option copy_table[] = {
    {"replace", OPTION_FLAG(struct copy_options, replace)},
    {"db", OPTION_CUSTOM, .values = 1, .read = read_database},
    {.name = NULL}};

static enum outcome same_objects(struct context *context)
{
    resp_error(context->reply, "ERR source and destination objects are the same");
    return OUTCOME_DONE;
}

static enum outcome answer_copy(struct context *context, const struct copy_options *options)
{
    database_notify_in(context, options->database, EVENT_GENERIC, "copy_to",
                       context_slice(context, 2));
    return context_reply_integer(context, 1);
}

static enum outcome copy_at_once(struct context *context, const struct copy_options *options)
{
    struct keys_view view = database_view(context);

    if (!context_check_status(context, keys_copy(&view, context_slice(context, 1),
                                                 options->database, context_slice(context, 2))))
        return OUTCOME_DONE;
    return answer_copy(context, options);
}

/* A copy in slices. */
struct copying {
    struct keys_build *build; /* NULL: not begun, or the source has changed */
};

static void free_copying(void *state)
{
    struct copying *copying = state;

    keys_build_free(copying->build);
    free(copying);
}

/* DUEQ_NOTFOUND: the source has changed; the copy begins again. */
static enum dueq_status copy_slice(const struct context *context, const struct keys_view *view,
                                   struct copying *copying, bool *ret_finished)
{
    struct dueq_slice from = context_slice(context, 1);
    enum dueq_status status = DUEQ_OK;

    if (copying->build == NULL)
        status = keys_build_new(view, from, NULL, &copying->build);
    if (status == DUEQ_OK)
        status = keys_build_step(copying->build, view, LONG_STEPS, ret_finished);
    if (status != DUEQ_NOTFOUND)
        return status;
    long_work_restarts(context);
    keys_build_free(copying->build);
    copying->build = NULL;
    return status;
}

/* A slice. False: more are left. */
static bool copy_on(struct context *context, const struct copy_options *options,
                    struct copying *copying)
{
    struct keys_view view = database_view(context);
    bool finished = false;
    enum dueq_status status = copy_slice(context, &view, copying, &finished);

    if (status == DUEQ_OK && finished)
        status = keys_build_copy(copying->build, &view, options->database,
                                 context_slice(context, 2));
    if (!context_check_status(context, status))
        return true;
    if (!finished || status != DUEQ_OK)
        return false;
    answer_copy(context, options);
    return true;
}

static enum outcome go_on_copying(struct context *context, const struct copy_options *options,
                                  struct copying *copying)
{
    struct keys_view view = database_view(context);

    if (copying->build == NULL && !keys_build_possible(&view, context_slice(context, 1)))
        return copy_at_once(context, options); /* it is another value now, a short one */
    if (copy_on(context, options, copying))
        return OUTCOME_DONE;
    long_work_state_holds(context, keys_build_holds(copying->build));
    return OUTCOME_WAIT;
}

static enum outcome begin_copying(struct context *context, const struct copy_options *options,
                                  uint64_t steps)
{
    struct copying *copying = calloc(1, sizeof(*copying));

    if (copying == NULL)
        return context_status(context, DUEQ_NOMEM);
    if (steps > FEW || !copy_on(context, options, copying))
        return long_work_continue(context, copying, free_copying, LONG_HOLDS_SOURCES);
    free_copying(copying);
    return OUTCOME_DONE;
}

static bool is_short(const struct keys_info *info)
{
    return info->packed || (info->type == KEYS_STRING && info->count <= STRING_AT_ONCE);
}

/* Until a copy in slices ends, other clients see the destination as it was. */
static enum outcome copy_key(struct context *context, const struct copy_options *options)
{
    struct keys_view view = database_view(context);
    struct keys_info info = {.packed = true};
    uint64_t steps;

    if (long_work_state(context) != NULL)
        return go_on_copying(context, options, long_work_state(context));
    if (!context_check_status(context, keys_info(&view, context_slice(context, 1), &info)))
        return OUTCOME_DONE;
    if (is_short(&info))
        return copy_at_once(context, options);
    steps = info.type == KEYS_STRING ? info.count / STEP_BYTES : info.count;
    return long_work_fits(context, steps) ? begin_copying(context, options, steps)
                                          : OUTCOME_DONE;
}

static enum outcome run_copy(struct context *context)
{
    struct keys_view view = database_view(context), there = view;
    struct copy_options options = {.database = view.database};
    struct dueq_slice from = context_slice(context, 1), to = context_slice(context, 2);

    if (!argument_options_read(context, 3, copy_table, &options))
        return OUTCOME_DONE;
    there.database = options.database;
    if (options.database == view.database && dueq_slice_equal(from, to))
        return same_objects(context);
    if (!database_contains(&view, from) || (!options.replace && database_contains(&there, to)))
        return context_reply_integer(context, 0);
    return copy_key(context, &options);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "copy",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_READS_FIRST,
     .keys = {1, 2, 1},
     .key_specs = "RO,access@1/r0:1:0 OW,update@2/r0:1:0",
     .group = "generic",
     .since = "6.2.0",
     .summary = "Copy a key",
     .complexity = "O(N) worst case for collections, where N is the number of nested items. "
                   "O(1) for string values.",
     .syntax = "source destination [DB destination-db] [REPLACE]",
     .categories = "keyspace",
     .run = run_copy},
    {.name = NULL}};

COMMANDS(copy, entries)
