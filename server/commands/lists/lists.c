/* Reads lists and edits them by index. Pushes: list_push.c; pops: list_pops.c; moves between
 * lists: list_moves.c; edits by value: list_edits.c. */
#include "server/commands/long_read.h"
#include "server/commands/range.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "storage/keys/list.h"

static struct dueq_slice list_key(const struct context *context)
{
    return context_slice(context, 1);
}

static bool list_size(struct context *context, uint64_t *ret_count)
{
    return database_read_count(context, list_key(context), KEYS_LIST, ret_count);
}

/* ---- LPOS */

struct lpos_options {
    int64_t rank, count, most; /* count -1: a single index */
    struct dueq_slice wanted;
};

static const char rank_error[] =
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use "
    "negative to start from the end of the list";

/* INT64_MIN cannot be negated: Redis skips no match then. */
static bool read_rank(struct context *context, size_t *at, const struct argument_option *option,
                      void *form)
{
    struct lpos_options *options = form;

    (void)option;
    if (!arguments_integer(context, (*at)++, NULL, &options->rank))
        return false;
    if (options->rank == INT64_MIN)
        options->rank = -1;
    if (options->rank != 0)
        return true;
    resp_error(context->reply, rank_error);
    return false;
}

static const struct argument_option lpos_table[] = {
    {"rank", OPTION_CUSTOM, .values = 1, .read = read_rank},
    {"count", OPTION_INTEGER(struct lpos_options, count),
     .rule = INTEGER_OR(0, INT64_MAX, "ERR COUNT can't be negative")},
    {"maxlen", OPTION_INTEGER(struct lpos_options, most),
     .rule = INTEGER_OR(0, INT64_MAX, "ERR MAXLEN can't be negative")},
    {.name = NULL}};

/* at.passed: matches that are still to be skipped; at.found: matches after these; at.left:
 * elements that may still be compared; at.index: of the last match. */
static bool note_match(struct long_read *read, uint64_t index)
{
    const struct lpos_options *options = read->arg;

    if (read->at.passed > 0) {
        read->at.passed--;
        return true;
    }
    read->at.found++;
    read->at.index = index;
    if (options->count >= 0)
        resp_integer(read->reply, (int64_t)index);
    return options->count == 0 || (int64_t)read->at.found < options->count;
}

static bool look_at(struct long_read *read, const struct long_read_element *element)
{
    const struct lpos_options *options = read->arg;
    uint64_t index = read->at.place + (read->towards == LIST_TAIL ? UINT64_MAX : 1);
    bool more = !dueq_slice_equal(element->name, options->wanted) || note_match(read, index);

    return more && --read->at.left > 0;
}

static void end_positions(struct long_read *read)
{
    long_read_end_array(read, read->at.found);
}

static void end_position(struct long_read *read)
{
    if (read->at.found == 0)
        resp_null(read->reply);
    else
        resp_integer(read->reply, (int64_t)read->at.index);
}

/* Replies one position, or all of them as an array whose length is known last. */
static enum outcome find_positions(struct context *context, const struct lpos_options *options,
                                   uint64_t size)
{
    struct long_read read = {.source = LONG_READ_LIST,
                             .key = list_key(context),
                             .arg = options,
                             .take = look_at,
                             .end = end_position};

    read.towards = options->rank > 0 ? LIST_TAIL : LIST_HEAD;
    read.at.place = options->rank > 0 ? 0 : size - 1;
    read.at.passed = (uint64_t)(options->rank > 0 ? options->rank : -options->rank) - 1;
    read.at.left = options->most == 0 ? UINT64_MAX : (uint64_t)options->most;
    if (options->count >= 0) {
        read.begin = long_read_begin_array;
        read.end = end_positions;
    }
    return long_read_run(context, &read);
}

static enum outcome run_lpos(struct context *context)
{
    struct lpos_options options = {1, -1, 0, context_slice(context, 2)};
    uint64_t size;

    if (!argument_options_read(context, 3, lpos_table, &options) || !list_size(context, &size))
        return OUTCOME_DONE;
    return find_positions(context, &options, size);
}

/* ---- reading */

static enum outcome run_llen(struct context *context)
{
    uint64_t size;

    return list_size(context, &size) ? context_reply_integer(context, (int64_t)size)
                                     : OUTCOME_DONE;
}

static void begin_range(struct long_read *read)
{
    resp_array(read->reply, read->count);
}

static bool take_element(struct long_read *read, const struct long_read_element *element)
{
    resp_slice(read->reply, element->name);
    return --read->at.left > 0;
}

static enum outcome run_lrange(struct context *context)
{
    struct long_read read = {.source = LONG_READ_LIST,
                             .key = list_key(context),
                             .towards = LIST_TAIL,
                             .begin = begin_range,
                             .take = take_element};
    int64_t start, stop;
    uint64_t size;

    if (!arguments_integer(context, 2, NULL, &start) ||
        !arguments_integer(context, 3, NULL, &stop) || !list_size(context, &size))
        return OUTCOME_DONE;
    if (!range_clamp(start, stop, size, &read.at.place, &read.count)) {
        resp_array(context->reply, 0);
        return OUTCOME_DONE;
    }
    read.steps = read.at.left = read.count;
    return long_read_run(context, &read);
}

/* An index from the tail is negative. False: out of range. */
static bool place_of(int64_t index, uint64_t size, uint64_t *ret_place)
{
    if (index < 0)
        index += (int64_t)size;
    if (index < 0 || (uint64_t)index >= size)
        return false;
    *ret_place = (uint64_t)index;
    return true;
}

static enum outcome run_lindex(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice value;
    int64_t index = 0;
    uint64_t size, place;
    enum dueq_status status = DUEQ_NOTFOUND;

    if (!list_size(context, &size) ||
        (size > 0 && !arguments_integer(context, 2, NULL, &index)))
        return OUTCOME_DONE;
    if (place_of(index, size, &place))
        status = list_at(&view, list_key(context), place, &value);
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

/* ---- editing */

static enum outcome run_lset(struct context *context)
{
    struct keys_view view = database_view(context);
    int64_t index;
    uint64_t size, place;

    if (!list_size(context, &size))
        return OUTCOME_DONE;
    if (size == 0) {
        resp_error(context->reply, "ERR no such key");
        return OUTCOME_DONE;
    }
    if (!arguments_integer(context, 2, NULL, &index))
        return OUTCOME_DONE;
    if (!place_of(index, size, &place)) {
        resp_error(context->reply, "ERR index out of range");
        return OUTCOME_DONE;
    }
    if (!context_check_status(
            context, list_put(&view, list_key(context), place, context_slice(context, 3))))
        return OUTCOME_DONE;
    database_notify(context, EVENT_LIST, "lset", list_key(context));
    return context_ok(context);
}

static enum outcome run_ltrim(struct context *context)
{
    struct keys_view view = database_view(context);
    int64_t start, stop;
    uint64_t size, first = 0, count = 0;

    if (!arguments_integer(context, 2, NULL, &start) ||
        !arguments_integer(context, 3, NULL, &stop) || !list_size(context, &size))
        return OUTCOME_DONE;
    if (size == 0)
        return context_ok(context);
    range_clamp(start, stop, size, &first, &count);
    if (!context_check_status(context, list_trim(&view, list_key(context), first, count)))
        return OUTCOME_DONE;
    database_notify(context, EVENT_LIST, "ltrim", list_key(context));
    database_notify_if_removed(context, list_key(context));
    return context_ok(context);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "llen",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Get the length of a list",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "list",
     .run = run_llen},
    {.name = "lrange",
     .arity = 4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Get a range of elements from a list",
     .complexity = "O(S+N) where S is the distance of start offset from HEAD for small "
                   "lists, from nearest end (HEAD or TAIL) for large lists; and N is the "
                   "number of elements in the specified range.",
     .syntax = "key start stop",
     .categories = "list",
     .run = run_lrange},
    {.name = "lindex",
     .arity = 3,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Get an element from a list by its index",
     .complexity = "O(N) where N is the number of elements to traverse to get "
                   "to the element at index. This makes asking for the first "
                   "or the last element of the list O(1).",
     .syntax = "key index",
     .categories = "list",
     .run = run_lindex},
    {.name = "lset",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Set the value of an element in a list by its index",
     .complexity = "O(N) where N is the length of the list. Setting either the "
                   "first or the last element of the list is O(1).",
     .syntax = "key index element",
     .categories = "list",
     .run = run_lset},
    {.name = "ltrim",
     .arity = 4,
     .flags = COMMAND_WRITE,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Trim a list to the specified range",
     .complexity = "O(N) where N is the number of elements to be removed by "
                   "the operation.",
     .syntax = "key start stop",
     .categories = "list",
     .run = run_ltrim},
    {.name = "lpos",
     .arity = -3,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "list",
     .since = "6.0.6",
     .summary = "Return the index of matching elements on a list",
     .complexity = "O(N) where N is the number of elements in the list, for "
                   "the average case. When searching for elements near the "
                   "head or the tail of the list, or when the MAXLEN option is "
                   "provided, the command may run in constant time.",
     .syntax = "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
     .categories = "list",
     .run = run_lpos},
    {.name = NULL}};

COMMANDS(lists, entries)
