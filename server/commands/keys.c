/* Keys of any type: what there is, under which name, in which database. */
#include "server/commands/handlers.h"
#include "server/keyspace.h"
#include "server/long_reads.h"
#include "server/long_work.h"
#include "server/random.h"
#include "server/scan.h"

#include "protocol/glob.h"

#include <string.h>

#include <stdlib.h>

enum { COPIED_AT_ONCE = 128 }; /* elements, which may be large each */

static bool exists(const struct keys_view *view, struct dueq_slice name)
{
    struct keys_info info;

    return keys_info(view, name, &info) == DUEQ_OK;
}

static enum outcome no_such_key(struct context *context)
{
    resp_error(context->reply, "ERR no such key");
    return OUTCOME_DONE;
}

/* ---- removing, counting */

enum outcome run_del(struct context *context)
{
    struct keys_view view = context_view(context);
    int64_t removed = 0;

    for (size_t i = 1; i < context_count(context); i++) {
        enum dueq_status status = keys_del(&view, context_slice(context, i));

        if (!context_check(context, status))
            return OUTCOME_DONE;
        if (status == DUEQ_NOTFOUND)
            continue;
        context_notify(context, EVENT_GENERIC, "del", context_slice(context, i));
        removed++;
    }
    return context_integer_reply(context, removed);
}

/* Elements are reclaimed behind the reply for DEL as well. */
enum outcome run_unlink(struct context *context)
{
    return run_del(context);
}

enum outcome run_exists(struct context *context)
{
    struct keys_view view = context_view(context);
    int64_t found = 0;

    for (size_t i = 1; i < context_count(context); i++)
        found += exists(&view, context_slice(context, i));
    return context_integer_reply(context, found);
}

enum outcome run_touch(struct context *context)
{
    return run_exists(context);
}

enum outcome run_type(struct context *context)
{
    struct keys_view view = context_view(context);
    struct keys_info info = {.type = KEYS_NONE};

    if (context_check(context, keys_info(&view, context_slice(context, 1), &info)))
        resp_simple(context->reply, keys_type_name(info.type));
    return OUTCOME_DONE;
}

/* ---- names */

static enum outcome rename_key(struct context *context, bool only_if_free)
{
    struct keys_view view = context_view(context);
    struct dueq_slice from = context_slice(context, 1), to = context_slice(context, 2);
    bool same = dueq_slice_equal(from, to);

    if (!exists(&view, from))
        return no_such_key(context);
    if (only_if_free && exists(&view, to))
        return context_integer_reply(context, 0);
    if (!same) {
        if (!context_check(context, keys_rename(&view, from, to)))
            return OUTCOME_DONE;
        context_notify(context, EVENT_GENERIC, "rename_from", from);
        context_notify(context, EVENT_GENERIC, "rename_to", to);
    }
    return only_if_free ? context_integer_reply(context, 1) : context_ok(context);
}

enum outcome run_rename(struct context *context)
{
    return rename_key(context, false);
}

enum outcome run_renamenx(struct context *context)
{
    return rename_key(context, true);
}

struct copy_options {
    unsigned database;
    bool replace;
};

static bool parse_copy(struct context *context, struct copy_options *options)
{
    for (size_t at = 3; at < context_count(context); at++) {
        if (context_is(context, at, "replace")) {
            options->replace = true;
        } else if (context_is(context, at, "db") && at + 1 < context_count(context)) {
            if (!context_database(context, ++at, NULL, &options->database))
                return false;
        } else {
            context_syntax_error(context);
            return false;
        }
    }
    return true;
}

static enum outcome same_objects(struct context *context)
{
    resp_error(context->reply, "ERR source and destination objects are the same");
    return OUTCOME_DONE;
}

static void notify_in(struct context *context, unsigned database, const char *event,
                      struct dueq_slice key)
{
    unsigned current = context->session->database;

    context->session->database = database;
    context_notify(context, EVENT_GENERIC, event, key);
    context->session->database = current;
}

static enum outcome answer_copy(struct context *context, const struct copy_options *options)
{
    notify_in(context, options->database, "copy_to", context_slice(context, 2));
    return context_integer_reply(context, 1);
}

static enum outcome copy_at_once(struct context *context, const struct copy_options *options)
{
    struct keys_view view = context_view(context);

    if (!context_check(context, keys_copy(&view, context_slice(context, 1), options->database,
                                          context_slice(context, 2))))
        return OUTCOME_DONE;
    return answer_copy(context, options);
}

/* A copy that is made in slices. */
struct copying {
    struct keys_build *build; /* NULL: it is to begin, again when the source has changed */
};

static void free_copying(void *state)
{
    struct copying *copying = state;

    keys_build_free(copying->build);
    free(copying);
}

/* DUEQ_NOTFOUND: it has to begin anew. */
static enum dueq_status copy_slice(const struct keys_view *view, struct dueq_slice from,
                                   struct copying *copying, bool *ret_finished)
{
    enum dueq_status status = DUEQ_OK;

    if (copying->build == NULL)
        status = keys_build_new(view, from, NULL, &copying->build);
    if (status == DUEQ_OK)
        status = keys_build_step(copying->build, view, LONG_STEPS, ret_finished);
    if (status != DUEQ_NOTFOUND)
        return status;
    keys_build_free(copying->build);
    copying->build = NULL;
    return status;
}

static enum outcome go_on_copying(struct context *context, const struct copy_options *options,
                                  struct copying *copying)
{
    struct keys_view view = context_view(context);
    bool finished = false;
    enum dueq_status status = copy_slice(&view, context_slice(context, 1), copying, &finished);

    if (status == DUEQ_OK && finished)
        status = keys_build_copy(copying->build, &view, options->database,
                                 context_slice(context, 2));
    if (!context_check(context, status))
        return OUTCOME_DONE;
    return finished && status == DUEQ_OK
               ? answer_copy(context, options)
               : context_go_on(context, copying, free_copying, LONG_HOLDS_SOURCES);
}

static enum outcome begin_copying(struct context *context)
{
    struct copying *copying = calloc(1, sizeof(*copying));

    return copying == NULL ? context_status(context, DUEQ_NOMEM)
                           : context_go_on(context, copying, free_copying, LONG_HOLDS_SOURCES);
}

/* A large key is copied by later turns; others see the target as it was until the end. */
static enum outcome copy_key(struct context *context, const struct copy_options *options)
{
    struct keys_view view = context_view(context);
    struct keys_info info = {.type = KEYS_NONE};

    if (!context_check(context, keys_info(&view, context_slice(context, 1), &info)))
        return OUTCOME_DONE;
    if (info.count <= COPIED_AT_ONCE || !keys_can_build(&view, context_slice(context, 1)))
        return copy_at_once(context, options);
    if (context_state(context) != NULL)
        return go_on_copying(context, options, context_state(context));
    if (context->may_wait)
        return begin_copying(context);
    return context_whole_is_bearable(context, info.count) ? copy_at_once(context, options)
                                                          : OUTCOME_DONE;
}

enum outcome run_copy(struct context *context)
{
    struct keys_view view = context_view(context), there = view;
    struct copy_options options = {.database = view.database};
    struct dueq_slice from = context_slice(context, 1), to = context_slice(context, 2);

    if (!parse_copy(context, &options))
        return OUTCOME_DONE;
    there.database = options.database;
    if (options.database == view.database && dueq_slice_equal(from, to))
        return same_objects(context);
    if (!exists(&view, from) || (!options.replace && exists(&there, to)))
        return context_integer_reply(context, 0);
    return copy_key(context, &options);
}

/* ---- databases */

enum outcome run_move(struct context *context)
{
    struct keys_view view = context_view(context);
    struct dueq_slice name = context_slice(context, 1);
    enum dueq_status status;
    unsigned to;

    if (!context_database(context, 2, NULL, &to))
        return OUTCOME_DONE;
    if (to == view.database)
        return same_objects(context);
    status = keys_move(&view, name, to);
    if (status == DUEQ_DUPLICATE || status == DUEQ_NOTFOUND)
        return context_integer_reply(context, 0);
    if (!context_check(context, status))
        return OUTCOME_DONE;
    context_notify(context, EVENT_GENERIC, "move_from", name);
    notify_in(context, to, "move_to", name);
    return context_integer_reply(context, 1);
}

enum outcome run_swapdb(struct context *context)
{
    unsigned a, b;
    int64_t number;

    /* both are numbers before either is a database */
    if (!context_range_integer(context, 1, INT32_MIN, INT32_MAX, "ERR invalid first DB index",
                               &number) ||
        !context_range_integer(context, 2, INT32_MIN, INT32_MAX, "ERR invalid second DB index",
                               &number))
        return OUTCOME_DONE;
    if (!context_database(context, 1, "ERR invalid first DB index", &a) ||
        !context_database(context, 2, "ERR invalid second DB index", &b))
        return OUTCOME_DONE;
    if (a != b)
        keys_swap(context->store, a, b);
    return context_ok(context);
}

enum outcome run_flushdb(struct context *context)
{
    if (!context_flush_form(context) ||
        !context_check(context, keys_flush(context->store, context->session->database)))
        return OUTCOME_DONE;
    return context_ok(context);
}

/* ---- looking around */

static bool take_match(struct long_read *read, const struct long_element *element)
{
    struct argument pattern = context_argument(read->context, 1);

    if (!argument_is(pattern, "*") &&
        !glob_match(pattern.data, pattern.size, element->name.data, element->name.size, false))
        return true;
    resp_slice(read->reply, element->name);
    read->at.found++;
    return true;
}

static void end_matches(struct long_read *read)
{
    long_read_end_array(read, read->at.found);
}

enum outcome run_keys(struct context *context)
{
    struct long_read read = {.source = LONG_NAMES,
                             .steps = keys_count(context->store, context->session->database),
                             .begin = long_read_begin_array,
                             .take = take_match,
                             .end = end_matches};

    return long_read_run(context, &read);
}

enum outcome run_scan(struct context *context)
{
    return scan_keys(context);
}

enum outcome run_randomkey(struct context *context)
{
    struct keys_view view = context_view(context);
    struct dueq_slice name;
    enum dueq_status status = keys_random(&view, random_number(), &name);

    if (!context_check(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_NOTFOUND)
        resp_null(context->reply);
    else
        resp_slice(context->reply, name);
    return OUTCOME_DONE;
}

/* ---- WAIT: there are no replicas, so nobody ever acknowledges */

enum outcome run_wait(struct context *context)
{
    int64_t replicas, timeout;

    if (context->timed_out)
        return context_integer_reply(context, 0);
    if (!context_integer(context, 1, &replicas))
        return OUTCOME_DONE;
    if (!context_range_integer(context, 2, INT64_MIN, INT64_MAX,
                               "ERR timeout is not an integer or out of range", &timeout))
        return OUTCOME_DONE;
    if (timeout < 0) {
        resp_error(context->reply, "ERR timeout is negative");
        return OUTCOME_DONE;
    }
    if (replicas <= 0 || !context->may_wait)
        return context_integer_reply(context, 0);
    return context_wait_keys(context, KEYS_NONE, 0, 0,
                             timeout == 0 ? DUEQ_NEVER : context_after(context, timeout));
}
