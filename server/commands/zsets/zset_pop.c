/* Pops the entries with the lowest or highest scores, which also waits for entries. */
#include "server/commands/first_key.h"
#include "server/commands/removals.h"
#include "server/commands/zsets/zset_bounds.h"
#include "server/commands/zsets/zset_weight.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/keys/keys_removal.h"
#include "storage/keys/zset/zset.h"

enum {
    POP_STEPS = 4, /* an entry: to read it, and to remove its two records */
    AT_ONCE_BYTES = LONG_ENOUGH_BYTES / POP_STEPS
};

struct pop {
    size_t first, keys; /* arguments that name the sorted sets */
    bool reverse;       /* highest scores first */
    bool named;         /* the key is part of the reply */
    bool nested;        /* each entry is an array of its own */
    int64_t count;
};

/* ---- taking out */

static void write_head(struct context *context, const struct pop *pop, struct dueq_slice name,
                       size_t entries)
{
    if (pop->named && pop->nested)
        resp_array(context->reply, 2);
    else if (pop->named)
        resp_array(context->reply, entries * 2 + 1);
    if (pop->named)
        resp_slice(context->reply, name);
    if (pop->nested)
        resp_array(context->reply, entries);
    else if (!pop->named)
        resp_array(context->reply, entries * 2);
}

static void write_entry(struct context *context, const struct pop *pop,
                        const struct zset_entry *entry)
{
    if (pop->nested)
        resp_array(context->reply, 2);
    resp_slice(context->reply, entry->member);
    resp_double(context->reply, entry->score);
}

/* After an error the reply contains the entries popped so far. Writes its head, which is `head`
 * bytes after the mark, again with their number. */
static void shorten(struct context *context, const struct pop *pop, struct dueq_slice name,
                    size_t mark, size_t head, uint64_t entries)
{
    struct buffer *out = context->reply->out, kept;

    buffer_init(&kept, out->maximum);
    buffer_append(&kept, buffer_content(out) + mark + head, buffer_size(out) - mark - head);
    buffer_truncate(out, mark);
    write_head(context, pop, name, entries);
    buffer_append(out, buffer_content(&kept), buffer_size(&kept));
    out->overflowed |= kept.overflowed;
    buffer_release(&kept);
}

static void notify_popped(struct context *context, const struct pop *pop,
                          struct dueq_slice name)
{
    database_notify(context, EVENT_ZSET, pop->reverse ? "zpopmax" : "zpopmin", name);
    database_notify_if_removed(context, name);
}

static enum outcome pop_at_once(struct context *context, const struct removals_request *request)
{
    const struct pop *pop = request->arg;
    struct dueq_slice name = context_slice(context, request->key);
    struct keys_view view = database_view(context);
    uint64_t count = request->count;
    size_t mark = buffer_size(context->reply->out), head;
    struct zset_entry entry;

    write_head(context, pop, name, count);
    head = buffer_size(context->reply->out) - mark;
    for (uint64_t i = 0; i < count; i++) {
        enum dueq_status status = zset_pop(&view, name, pop->reverse, &entry);

        if (status != DUEQ_OK && i == 0) {
            buffer_truncate(context->reply->out, mark);
            return context_status(context, status);
        }
        if (status != DUEQ_OK) {
            shorten(context, pop, name, mark, head, i);
            break;
        }
        write_entry(context, pop, &entry);
    }
    notify_popped(context, pop, name);
    return OUTCOME_DONE;
}

/* ---- many of them, in slices */

static void begin_entries(struct context *context, const struct removals_request *request,
                          uint64_t count)
{
    write_head(context, request->arg, context_slice(context, request->key), count);
}

static void write_popped(struct context *context, const struct removals_request *request,
                         const struct zset_entry *entry)
{
    write_entry(context, request->arg, entry);
}

static void end_entries(struct context *context, const struct removals_request *request,
                        uint64_t count)
{
    (void)count;
    notify_popped(context, request->arg, context_slice(context, request->key));
}

static const struct removals_form popping = {begin_entries, write_popped, end_entries,
                                             pop_at_once};

static struct removals_request request_of(const struct pop *pop, size_t key, uint64_t count)
{
    return (struct removals_request){
        .form = &popping,
        .arg = pop,
        .key = key,
        .type = KEYS_ZSET,
        .count = count,
        .part = {.kind = KEYS_REMOVAL_END, .reverse = pop->reverse, .most = count}};
}

static enum outcome pop_on(struct context *context, const struct pop *pop)
{
    struct removals_request request = request_of(pop, 0, 0);

    return removals_continue(context, &request);
}

/* Can so many entries be popped in one turn? Not if they are large: each is read, replied and
 * removed by itself. */
static bool is_short(struct context *context, const struct pop *pop, size_t key, uint64_t count)
{
    const struct zset_range all = {
        {.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = pop->reverse};
    struct keys_view view = database_view(context);
    struct zset_weight weight = {.look_at = count, .most = AT_ONCE_BYTES};

    if (count > LONG_ENOUGH / POP_STEPS)
        return false;
    if (count > 1)
        zset_each(&view, context_slice(context, key), &all, zset_weight_add, &weight);
    return weight.bytes <= AT_ONCE_BYTES;
}

/* The sorted set must have entries. */
static enum outcome pop_entries(struct context *context, const struct pop *pop, size_t key,
                                uint64_t size)
{
    uint64_t count = (uint64_t)pop->count < size ? (uint64_t)pop->count : size;
    struct removals_request request = request_of(pop, key, count);

    return is_short(context, pop, key, count) ? pop_at_once(context, &request)
                                              : removals_begin(context, &request, count);
}

/* ---- from keys */

/* Pops from the first key that exists. False: none exists, nothing is written. */
static bool try_pop(struct context *context, const struct pop *pop, enum outcome *ret_outcome)
{
    size_t key;
    uint64_t size;
    enum first_key found =
        first_key_find(context, KEYS_ZSET, pop->first, pop->keys, &key, &size);

    *ret_outcome = found == FIRST_KEY_LATER ? OUTCOME_WAIT : OUTCOME_DONE;
    if (found == FIRST_KEY_NONE || (found == FIRST_KEY_FOUND && pop->count == 0))
        return false;
    if (found == FIRST_KEY_FOUND)
        *ret_outcome = pop_entries(context, pop, key, size);
    return true;
}

/* ---- at once */

static enum outcome pop_now(struct context *context, bool reverse)
{
    struct pop pop = {.first = 1, .keys = 1, .reverse = reverse, .count = 1};
    enum outcome outcome;

    if (context_count(context) > 3)
        return context_syntax_error(context);
    if (context_count(context) == 3) {
        if (!arguments_integer(
                context, 2,
                INTEGER_OR(0, INT64_MAX, "ERR value is out of range, must be positive"),
                &pop.count))
            return OUTCOME_DONE;
        pop.nested = context->reply->version >= 3;
    }
    if (removals_is_running(context))
        return pop_on(context, &pop);
    if (!try_pop(context, &pop, &outcome))
        resp_array(context->reply, 0);
    return outcome;
}

static enum outcome run_zpopmin(struct context *context)
{
    return pop_now(context, false);
}

static enum outcome run_zpopmax(struct context *context)
{
    return pop_now(context, true);
}

static const struct argument_option options[] = {
    {"count", OPTION_INTEGER(struct pop, count),
     .rule = INTEGER_OR(1, INT64_MAX, "ERR count should be greater than 0"), .once = true},
    {.name = NULL}};

/* Reads numkeys key [key ...] MIN|MAX [COUNT count] from argument `index` on. False: the error
 * is written. */
static bool parse_mpop(struct context *context, size_t index, struct pop *pop)
{
    static const char *const ends[] = {"min", "max", NULL};
    unsigned end;

    *pop = (struct pop){.first = index + 1, .named = true, .nested = true, .count = 1};
    if (!arguments_number_of(context, index, 1, ARGUMENTS_NUMKEYS, ARGUMENTS_SYNTAX_ERROR,
                             &pop->keys) ||
        !arguments_choice(context, pop->first + pop->keys, ends, &end))
        return false;
    pop->reverse = end == 1;
    return argument_options_read(context, pop->first + pop->keys + 1, options, pop);
}

static enum outcome run_zmpop(struct context *context)
{
    struct pop pop;
    enum outcome outcome;

    if (!parse_mpop(context, 1, &pop))
        return OUTCOME_DONE;
    if (removals_is_running(context))
        return pop_on(context, &pop);
    if (!try_pop(context, &pop, &outcome))
        resp_null_array(context->reply);
    return outcome;
}

/* ---- when there is something */

/* A client that was woken to pop many entries and finds them gone does not wait again. */
static enum outcome pop_or_wait(struct context *context, const struct pop *pop, size_t timeout)
{
    enum outcome outcome;
    int64_t deadline;
    bool ends;

    if (!arguments_timeout(context, timeout, &deadline))
        return OUTCOME_DONE;
    if (removals_is_running(context))
        return pop_on(context, pop);
    ends = context->timed_out || alone_hurries(context);
    if (!ends && try_pop(context, pop, &outcome))
        return outcome;
    if (!ends && context->may_wait && !removals_has_begun(context))
        return waiters_wait_for_keys(context, KEYS_ZSET, pop->first, pop->keys, deadline);
    resp_null_array(context->reply);
    return OUTCOME_DONE;
}

static enum outcome pop_one_or_wait(struct context *context, bool reverse)
{
    size_t timeout = context_count(context) - 1;
    struct pop pop = {
        .first = 1, .keys = timeout - 1, .reverse = reverse, .named = true, .count = 1};

    return pop_or_wait(context, &pop, timeout);
}

static enum outcome run_bzpopmin(struct context *context)
{
    return pop_one_or_wait(context, false);
}

static enum outcome run_bzpopmax(struct context *context)
{
    return pop_one_or_wait(context, true);
}

static enum outcome run_bzmpop(struct context *context)
{
    struct pop pop;

    return parse_mpop(context, 2, &pop) ? pop_or_wait(context, &pop, 1) : OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "zpopmin",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,delete@1/r0:1:0",
     .group = "sorted-set",
     .since = "5.0.0",
     .summary = "Remove and return members with the lowest scores in a sorted set",
     .complexity = "O(log(N)*M) with N being the number of elements in the "
                   "sorted set, and M being the number of elements popped.",
     .syntax = "key [count]",
     .categories = "sortedset",
     .run = run_zpopmin},
    {.name = "zpopmax",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,delete@1/r0:1:0",
     .group = "sorted-set",
     .since = "5.0.0",
     .summary = "Remove and return members with the highest scores in a sorted set",
     .complexity = "O(log(N)*M) with N being the number of elements in the "
                   "sorted set, and M being the number of elements popped.",
     .syntax = "key [count]",
     .categories = "sortedset",
     .run = run_zpopmax},
    {.name = "zmpop",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_MOVABLEKEYS,
     .key_specs = "RW,access,delete@1/n0:1:1",
     .group = "sorted-set",
     .since = "7.0.0",
     .summary = "Remove and return members with scores in a sorted set",
     .complexity = "O(K) + O(M*log(N)) where K is the number of provided keys, "
                   "N being the number of elements in the sorted set, and M "
                   "being the number of elements popped.",
     .syntax = "numkeys key [key ...] <MIN|MAX> [COUNT count]",
     .categories = "sortedset",
     .run = run_zmpop},
    {.name = "bzpopmin",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING | COMMAND_FAST,
     .keys = {1, -2, 1},
     .key_specs = "RW,access,delete@1/r-2:1:0",
     .group = "sorted-set",
     .since = "5.0.0",
     .summary = "Remove and return the member with the lowest score from one "
                "or more sorted sets, or block until one is available",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .syntax = "key [key ...] timeout",
     .categories = "sortedset",
     .run = run_bzpopmin},
    {.name = "bzpopmax",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_NOSCRIPT | COMMAND_BLOCKING | COMMAND_FAST,
     .keys = {1, -2, 1},
     .key_specs = "RW,access,delete@1/r-2:1:0",
     .group = "sorted-set",
     .since = "5.0.0",
     .summary = "Remove and return the member with the highest score from one "
                "or more sorted sets, or block until one is available",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .syntax = "key [key ...] timeout",
     .categories = "sortedset",
     .run = run_bzpopmax},
    {.name = "bzmpop",
     .arity = -5,
     .flags = COMMAND_WRITE | COMMAND_BLOCKING | COMMAND_MOVABLEKEYS,
     .key_specs = "RW,access,delete@2/n0:1:1",
     .group = "sorted-set",
     .since = "7.0.0",
     .summary = "Remove and return members with scores in a sorted set or "
                "block until one is available",
     .complexity = "O(K) + O(M*log(N)) where K is the number of provided keys, "
                   "N being the number of elements in the sorted set, and M "
                   "being the number of elements popped.",
     .syntax = "timeout numkeys key [key ...] <MIN|MAX> [COUNT count]",
     .categories = "sortedset",
     .run = run_bzmpop},
    {.name = NULL}};

COMMANDS(zset_pop, entries)
