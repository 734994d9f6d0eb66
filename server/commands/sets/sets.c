/* Members of one set. SPOP: spop.c; several sets: set_algebra.c. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"

#include "server/commands/long_read.h"
#include "server/commands/picks.h"
#include "server/commands/scan.h"
#include "server/commands/wide.h"
#include "server/process/random.h"
#include "storage/keys/set.h"

static struct dueq_slice set_key(const struct context *context)
{
    return context_slice(context, 1);
}

static bool set_size(struct context *context, uint64_t *ret_count)
{
    return database_read_count(context, set_key(context), KEYS_SET, ret_count);
}

/* ---- members */

static bool add_member(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    bool added;

    if (!context_check_status(context, set_add(&view, set_key(context),
                                               context_slice(context, wide->at), &added)))
        return false;
    wide->count += added;
    return true;
}

static enum outcome end_adding(struct context *context, const struct wide *wide)
{
    if (wide->count > 0)
        database_notify(context, EVENT_SET, "sadd", set_key(context));
    return context_reply_integer(context, wide->count);
}

static enum outcome run_sadd(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .take = add_member, .end = end_adding};

    return wide_run(context, &form);
}

static bool remove_member(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    enum dueq_status status =
        set_remove(&view, set_key(context), context_slice(context, wide->at));

    wide->count += status == DUEQ_OK;
    return context_check_status(context, status);
}

static enum outcome end_removing(struct context *context, const struct wide *wide)
{
    if (wide->count > 0) {
        database_notify(context, EVENT_SET, "srem", set_key(context));
        database_notify_if_removed(context, set_key(context));
    }
    return context_reply_integer(context, wide->count);
}

static enum outcome run_srem(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .take = remove_member, .end = end_removing};

    return wide_run(context, &form);
}

static enum outcome run_scard(struct context *context)
{
    uint64_t size;

    return set_size(context, &size) ? context_reply_integer(context, (int64_t)size)
                                    : OUTCOME_DONE;
}

/* False: the error is written. */
static bool has_member(struct context *context, struct dueq_slice key, struct dueq_slice member,
                       bool *ret_there)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = set_has(&view, key, member);

    *ret_there = status == DUEQ_OK;
    return context_check_status(context, status);
}

static enum outcome run_sismember(struct context *context)
{
    bool there;

    if (!has_member(context, set_key(context), context_slice(context, 2), &there))
        return OUTCOME_DONE;
    return context_reply_integer(context, there);
}

static bool begin_looks(struct context *context, struct wide *wide)
{
    uint64_t size;

    (void)wide;
    if (!set_size(context, &size))
        return false;
    resp_array(context->reply, context_count(context) - 2);
    return true;
}

static bool look_for_member(struct context *context, struct wide *wide)
{
    bool there;

    if (!has_member(context, set_key(context), context_slice(context, wide->at), &there))
        return false;
    resp_integer(context->reply, there);
    return true;
}

static enum outcome run_smismember(struct context *context)
{
    static const struct wide_form form = {.first = 2,
                                          .stride = 1,
                                          .begin = begin_looks,
                                          .take = look_for_member,
                                          .end = wide_end};

    return wide_run(context, &form);
}

static void begin_members(struct long_read *read)
{
    resp_set(read->reply, read->count);
}

static bool take_member(struct long_read *read, const struct long_read_element *element)
{
    resp_slice(read->reply, element->name);
    return true;
}

static enum outcome run_smembers(struct context *context)
{
    struct long_read read = {.source = LONG_READ_SET,
                             .key = set_key(context),
                             .begin = begin_members,
                             .take = take_member};

    if (!set_size(context, &read.count))
        return OUTCOME_DONE;
    read.steps = read.count;
    return long_read_run(context, &read);
}

static enum outcome run_sscan(struct context *context)
{
    return scan_elements(context, KEYS_SET);
}

/* ---- SMOVE */

static enum outcome move_member(struct context *context)
{
    struct dueq_slice target = context_slice(context, 2), member = context_slice(context, 3);
    struct keys_view view = database_view(context);
    enum dueq_status status = set_remove(&view, set_key(context), member);
    bool added;

    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_NOTFOUND)
        return context_reply_integer(context, 0);
    database_notify(context, EVENT_SET, "srem", set_key(context));
    database_notify_if_removed(context, set_key(context));
    if (!context_check_status(context, set_add(&view, target, member, &added)))
        return OUTCOME_DONE;
    if (added)
        database_notify(context, EVENT_SET, "sadd", target);
    return context_reply_integer(context, 1);
}

static enum outcome run_smove(struct context *context)
{
    struct dueq_slice target = context_slice(context, 2);
    uint64_t size;
    bool there;

    if (!set_size(context, &size))
        return OUTCOME_DONE;
    if (size == 0)
        return context_reply_integer(context, 0);
    if (!database_read_count(context, target, KEYS_SET, &size))
        return OUTCOME_DONE;
    if (!dueq_slice_equal(set_key(context), target))
        return move_member(context);
    if (!has_member(context, target, context_slice(context, 3), &there))
        return OUTCOME_DONE;
    return context_reply_integer(context, there);
}

/* ---- SRANDMEMBER */

static enum dueq_status write_any(struct context *context, struct resp_writer *reply)
{
    struct keys_view view = database_view(context);
    struct dueq_slice member;
    enum dueq_status status = set_random(&view, set_key(context), random_number(), &member);

    if (status == DUEQ_OK)
        resp_slice(reply, member);
    return status;
}

static void write_picked(struct context *context, struct resp_writer *reply,
                         const struct long_read_element *element)
{
    (void)context;
    resp_slice(reply, element->name);
}

static enum outcome run_srandmember(struct context *context)
{
    static const struct picks_type type = {KEYS_SET, LONG_READ_SET, NULL, write_any,
                                           write_picked};

    return picks_run(context, &type);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "sadd",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Add one or more members to a set",
     .complexity = "O(1) for each element added, so O(N) to add N elements "
                   "when the command is called with multiple arguments.",
     .syntax = "key member [member ...]",
     .categories = "set",
     .run = run_sadd},
    {.name = "srem",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Remove one or more members from a set",
     .complexity = "O(N) where N is the number of members to be removed.",
     .syntax = "key member [member ...]",
     .categories = "set",
     .run = run_srem},
    {.name = "scard",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Get the number of members in a set",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "set",
     .run = run_scard},
    {.name = "sismember",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Determine if a given value is a member of a set",
     .complexity = "O(1)",
     .syntax = "key member",
     .categories = "set",
     .run = run_sismember},
    {.name = "smismember",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "set",
     .since = "6.2.0",
     .summary = "Returns the membership associated with the given elements for a set",
     .complexity = "O(N) where N is the number of elements being checked for membership",
     .syntax = "key member [member ...]",
     .categories = "set",
     .run = run_smismember},
    {.name = "smembers",
     .arity = 2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Get all the members in a set",
     .complexity = "O(N) where N is the set cardinality.",
     .syntax = "key",
     .categories = "set",
     .tips = "nondeterministic_output_order",
     .run = run_smembers},
    {.name = "srandmember",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Get one or multiple random members from a set",
     .complexity = "Without the count argument O(1), otherwise O(N) where N is "
                   "the absolute value of the passed count.",
     .syntax = "key [count]",
     .categories = "set",
     .tips = "nondeterministic_output",
     .run = run_srandmember},
    {.name = "smove",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 2, 1},
     .key_specs = "RW,access,delete@1/r0:1:0 RW,insert@2/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Move a member from one set to another",
     .complexity = "O(1)",
     .syntax = "source destination member",
     .categories = "set",
     .run = run_smove},
    {.name = "sscan",
     .arity = -3,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "set",
     .since = "2.8.0",
     .summary = "Incrementally iterate Set elements",
     .complexity = "O(1) for every call. O(N) for a complete iteration, including enough "
                   "command calls for the cursor to return back to 0. N is the number of "
                   "elements inside the collection..",
     .syntax = "key cursor [MATCH pattern] [COUNT count]",
     .categories = "set",
     .tips = "nondeterministic_output",
     .run = run_sscan},
    {.name = NULL}};

COMMANDS(sets, entries)
