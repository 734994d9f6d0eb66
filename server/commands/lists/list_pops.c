/* Pops from the ends of lists, which also wait for elements. */
#include "server/commands/first_key.h"
#include "server/commands/lists/list_ends.h"
#include "server/commands/removals.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/keys/keys_removal.h"
#include "storage/keys/list.h"

/* ---- taking */

/* Writes the element, then removes it: the reply holds a large one, so nothing copies it here.
 * Nothing is removed when the reply overflows. */
static void take_one(struct context *context, struct dueq_slice key, enum list_end end)
{
    struct keys_view view = database_view(context);
    struct dueq_slice value;

    if (!context_check_status(context, list_peek(&view, key, end, &value)))
        return;
    resp_slice(context->reply, value);
    if (context->reply->out->overflowed ||
        !context_check_status(context, list_pop(&view, key, end)))
        return;
    list_ends_notify_popped(context, key, end);
}

struct writing {
    struct resp_writer *reply;
    size_t begin; /* of the reply */
    uint64_t left;
    bool is_long; /* too much for one turn */
};

static bool write_element(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct writing *writing = arg;

    (void)unused;
    resp_slice(writing->reply, value);
    writing->is_long = buffer_size(writing->reply->out) - writing->begin > LONG_ENOUGH_BYTES;
    return --writing->left > 0 && !writing->is_long;
}

static enum dueq_status write_end(const struct keys_view *view, struct dueq_slice key,
                                  enum list_end end, uint64_t size, struct writing *writing)
{
    if (end == LIST_HEAD)
        return list_each(view, key, 0, LIST_TAIL, write_element, writing);
    return list_each(view, key, size - 1, LIST_HEAD, write_element, writing);
}

/* How elements are popped and replied: one, or an array of up to `count`. */
struct taking {
    enum list_end end;
    bool named;     /* the key is part of the reply */
    bool counted;   /* reply an array of elements, not one */
    uint64_t count; /* at most */
};

static void begin_many(struct context *context, const struct removals_request *request,
                       uint64_t count)
{
    const struct taking *taking = request->arg;

    if (taking->named) {
        resp_array(context->reply, 2);
        resp_slice(context->reply, context_slice(context, request->key));
    }
    resp_array(context->reply, count);
}

static void write_many(struct context *context, const struct removals_request *request,
                       const struct zset_entry *element)
{
    (void)request;
    resp_slice(context->reply, element->member);
}

static void end_many(struct context *context, const struct removals_request *request,
                     uint64_t count)
{
    const struct taking *taking = request->arg;

    (void)count;
    list_ends_notify_popped(context, context_slice(context, request->key), taking->end);
}

/* Writes the elements, then removes them: nothing is removed when the reply overflows. Large
 * ones are taken in slices after all. */
static enum outcome take_at_once(struct context *context,
                                 const struct removals_request *request)
{
    const struct taking *taking = request->arg;
    struct dueq_slice key = context_slice(context, request->key);
    struct keys_view view = database_view(context);
    size_t mark = buffer_size(context->reply->out);
    struct writing writing = {context->reply, mark, request->count, false};
    uint64_t size;
    enum dueq_status status = database_count_elements(context, key, KEYS_LIST, &size);

    begin_many(context, request, request->count);
    if (status == DUEQ_OK)
        status = write_end(&view, key, taking->end, size, &writing);
    if (context->reply->out->overflowed)
        return OUTCOME_DONE;
    if (status == DUEQ_OK && writing.left > 0 && writing.is_long) {
        buffer_truncate(context->reply->out, mark);
        return removals_begin(context, request, request->count);
    }
    if (status == DUEQ_OK)
        status = list_trim(&view, key, taking->end == LIST_HEAD ? request->count : 0,
                           size - request->count);
    if (status != DUEQ_OK) {
        buffer_truncate(context->reply->out, mark);
        return context_status(context, status);
    }
    end_many(context, request, request->count);
    return OUTCOME_DONE;
}

static const struct removals_form many = {begin_many, write_many, end_many, take_at_once};

static struct removals_request request_of(const struct taking *taking, size_t key,
                                          uint64_t count)
{
    return (struct removals_request){
        .form = &many,
        .arg = taking,
        .key = key,
        .type = KEYS_LIST,
        .count = count,
        .part = {.kind = KEYS_REMOVAL_END, .reverse = taking->end == LIST_TAIL, .most = count}};
}

static enum outcome take_many_on(struct context *context, const struct taking *taking)
{
    struct removals_request request = request_of(taking, 0, 0);

    return removals_continue(context, &request);
}

static enum outcome take_many(struct context *context, const struct taking *taking, size_t key,
                              uint64_t size)
{
    uint64_t count = taking->count < size ? taking->count : size;
    struct removals_request request = request_of(taking, key, count);

    return count <= LONG_ENOUGH ? take_at_once(context, &request)
                                : removals_begin(context, &request, count);
}

/* ---- LPOP, RPOP */

static enum outcome pop_counted(struct context *context, enum list_end end)
{
    struct taking taking = {.end = end, .counted = true};
    int64_t count;
    uint64_t size;

    if (context_count(context) > 3)
        return context_arity_error(context);
    if (removals_is_running(context))
        return take_many_on(context, &taking);
    if (!arguments_integer(
            context, 2, INTEGER_OR(0, INT64_MAX, "ERR value is out of range, must be positive"),
            &count) ||
        !database_read_count(context, context_slice(context, 1), KEYS_LIST, &size))
        return OUTCOME_DONE;
    taking.count = (uint64_t)count;
    if (size > 0 && count > 0)
        return take_many(context, &taking, 1, size);
    if (size == 0)
        resp_null_array(context->reply);
    else
        resp_array(context->reply, 0);
    return OUTCOME_DONE;
}

static enum outcome pop(struct context *context, enum list_end end)
{
    uint64_t size;

    if (context_count(context) > 2)
        return pop_counted(context, end);
    if (!database_read_count(context, context_slice(context, 1), KEYS_LIST, &size))
        return OUTCOME_DONE;
    if (size == 0)
        resp_null(context->reply);
    else
        take_one(context, context_slice(context, 1), end);
    return OUTCOME_DONE;
}

static enum outcome run_lpop(struct context *context)
{
    return pop(context, LIST_HEAD);
}

static enum outcome run_rpop(struct context *context)
{
    return pop(context, LIST_TAIL);
}

/* ---- from the first of several lists that has elements */

struct choice {
    size_t first_key, keys; /* arguments */
    struct taking taking;
};

static enum outcome take_choice(struct context *context, const struct choice *choice,
                                size_t key, uint64_t size)
{
    if (choice->taking.counted)
        return take_many(context, &choice->taking, key, size);
    resp_array(context->reply, 2);
    resp_slice(context->reply, context_slice(context, key));
    take_one(context, context_slice(context, key), choice->taking.end);
    return OUTCOME_DONE;
}

/* True: *ret_outcome is set. False: all lists are empty. */
static bool take_first(struct context *context, const struct choice *choice,
                       enum outcome *ret_outcome)
{
    size_t key;
    uint64_t size;
    enum first_key found =
        first_key_find(context, KEYS_LIST, choice->first_key, choice->keys, &key, &size);

    *ret_outcome = found == FIRST_KEY_LATER ? OUTCOME_WAIT : OUTCOME_DONE;
    if (found == FIRST_KEY_FOUND)
        *ret_outcome = take_choice(context, choice, key, size);
    return found != FIRST_KEY_NONE;
}

static enum outcome null_array(struct context *context)
{
    resp_null_array(context->reply);
    return OUTCOME_DONE;
}

/* A client that was woken to pop many elements and finds them gone does not wait again. */
static enum outcome take_or_wait(struct context *context, const struct choice *choice,
                                 int64_t deadline)
{
    enum outcome outcome;

    if (context->timed_out || alone_hurries(context))
        return null_array(context);
    if (removals_is_running(context))
        return take_many_on(context, &choice->taking);
    if (take_first(context, choice, &outcome))
        return outcome;
    if (!context->may_wait || removals_has_begun(context))
        return null_array(context);
    return waiters_wait_for_keys(context, KEYS_LIST, choice->first_key, choice->keys, deadline);
}

static enum outcome blocking_pop(struct context *context, enum list_end end)
{
    size_t last = context_count(context) - 1;
    struct choice choice = {1, last - 1, {.end = end, .named = true}};
    int64_t deadline;

    if (!arguments_timeout(context, last, &deadline))
        return OUTCOME_DONE;
    return take_or_wait(context, &choice, deadline);
}

static enum outcome run_blpop(struct context *context)
{
    return blocking_pop(context, LIST_HEAD);
}

static enum outcome run_brpop(struct context *context)
{
    return blocking_pop(context, LIST_TAIL);
}

/* ---- LMPOP, BLMPOP */

static const struct argument_option options[] = {
    {"count", OPTION_COUNT(struct choice, taking.count),
     .rule = INTEGER_OR(1, INT64_MAX, "ERR count should be greater than 0"), .once = true},
    {.name = NULL}};

/* numkeys key [key ...] LEFT|RIGHT [COUNT count], from the argument `at` on. */
static bool parse_choice(struct context *context, size_t at, struct choice *choice)
{
    *choice = (struct choice){at + 1, 0, {.named = true, .counted = true, .count = 1}};
    return arguments_number_of(context, at, 1, ARGUMENTS_NUMKEYS, ARGUMENTS_SYNTAX_ERROR,
                               &choice->keys) &&
           list_ends_read(context, at + 1 + choice->keys, &choice->taking.end) &&
           argument_options_read(context, at + 2 + choice->keys, options, choice);
}

static enum outcome run_lmpop(struct context *context)
{
    struct choice choice;
    enum outcome outcome;

    if (!parse_choice(context, 1, &choice))
        return OUTCOME_DONE;
    if (removals_is_running(context))
        return take_many_on(context, &choice.taking);
    return take_first(context, &choice, &outcome) ? outcome : null_array(context);
}

static enum outcome run_blmpop(struct context *context)
{
    struct choice choice;
    int64_t deadline;

    if (!parse_choice(context, 2, &choice) || !arguments_timeout(context, 1, &deadline))
        return OUTCOME_DONE;
    return take_or_wait(context, &choice, deadline);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "lpop",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,delete@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Remove and get the first elements in a list",
     .complexity = "O(N) where N is the number of elements returned",
     .syntax = "key [count]",
     .categories = "list",
     .run = run_lpop},
    {.name = "rpop",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_FAST | COMMAND_READS_FIRST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,delete@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Remove and get the last elements in a list",
     .complexity = "O(N) where N is the number of elements returned",
     .syntax = "key [count]",
     .categories = "list",
     .run = run_rpop},
    {.name = "lmpop",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_MOVABLEKEYS,
     .key_specs = "RW,access,delete@1/n0:1:1",
     .group = "list",
     .since = "7.0.0",
     .summary = "Pop elements from a list",
     .complexity = "O(N+M) where N is the number of provided keys and M is the "
                   "number of elements returned.",
     .syntax = "numkeys key [key ...] <LEFT|RIGHT> [COUNT count]",
     .categories = "list",
     .run = run_lmpop},
    {.name = "blpop",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = {1, -2, 1},
     .key_specs = "RW,access,delete@1/r-2:1:0",
     .group = "list",
     .since = "2.0.0",
     .summary = "Remove and get the first element in a list, or block until "
                "one is available",
     .complexity = "O(N) where N is the number of provided keys.",
     .syntax = "key [key ...] timeout",
     .categories = "list",
     .run = run_blpop},
    {.name = "brpop",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = {1, -2, 1},
     .key_specs = "RW,access,delete@1/r-2:1:0",
     .group = "list",
     .since = "2.0.0",
     .summary = "Remove and get the last element in a list, or block until one "
                "is available",
     .complexity = "O(N) where N is the number of provided keys.",
     .syntax = "key [key ...] timeout",
     .categories = "list",
     .run = run_brpop},
    {.name = "blmpop",
     .arity = -5,
     .flags = COMMAND_WRITE | COMMAND_BLOCKING | COMMAND_MOVABLEKEYS,
     .key_specs = "RW,access,delete@2/n0:1:1",
     .group = "list",
     .since = "7.0.0",
     .summary = "Pop elements from a list, or block until one is available",
     .complexity = "O(N+M) where N is the number of provided keys and M is the "
                   "number of elements returned.",
     .syntax = "timeout numkeys key [key ...] <LEFT|RIGHT> [COUNT count]",
     .categories = "list",
     .run = run_blmpop},
    {.name = NULL}};

COMMANDS(list_pops, entries)
