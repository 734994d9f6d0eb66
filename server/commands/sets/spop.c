/* SPOP: one member, few of many, a large part, or all. */
#include "server/commands/long_read.h"
#include "server/commands/removals.h"
#include "server/containers/slice_list.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "server/process/random.h"
#include "storage/keys/keys_removal.h"
#include "storage/keys/set.h"

#include <stdlib.h>

/* A part smaller than size / SMALL_PART is chosen member by member; a larger part of a set with
 * up to LONG_STEPS members by one walk over it. Of more than LONG_ENOUGH see pop_run. */
enum { SMALL_PART = 8 };

/* Each member is somewhere else: 5 to 10 us, and 100 or more when its page is new to the
 * process. */
enum { POP_STEPS = 8, SLICE_POPS = LONG_STEPS / POP_STEPS };

/* When fewer than count / SMALL_REST members remain, Redis builds the set again, which can
 * change its encoding. */
enum { SMALL_REST = 5 };

static struct dueq_slice set_key(const struct context *context)
{
    return context_slice(context, 1);
}

/* ---- choosing */

/* A random part of the set; each member has the same chance. */
struct picking {
    struct sample sample;
    struct slice_list list;
    size_t bytes, most; /* bytes of all members that were met, and how many may be */
    bool no_memory, is_long;
};

static bool pick(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct picking *picking = arg;

    (void)unused;
    picking->bytes += member.size;
    picking->is_long = picking->bytes > picking->most;
    if (random_sample_takes(&picking->sample))
        picking->no_memory = !slice_list_add(&picking->list, member);
    return !picking->no_memory && !picking->is_long && picking->sample.wanted > 0;
}

/* Walks over all `size` members. False: the error is written. The caller releases the list in
 * any case. */
static bool pick_part(struct context *context, uint64_t size, uint64_t count,
                      struct picking *picking)
{
    struct keys_view view = database_view(context);

    random_sample_init(&picking->sample, size, count);
    slice_list_init(&picking->list);
    return context_check_status(context, set_each(&view, set_key(context), pick, picking)) &&
           context_check_status(context, picking->no_memory ? DUEQ_NOMEM : DUEQ_OK);
}

static void write_list(struct context *context, const struct slice_list *list)
{
    struct dueq_slice member;

    for (size_t at = 0; slice_list_next(list, &at, &member);)
        resp_slice(context->reply, member);
}

/* ---- SPOP */

static enum dueq_status pop_random(struct context *context)
{
    struct keys_view view = database_view(context);
    size_t mark = buffer_size(context->reply->out);
    struct dueq_slice member;
    enum dueq_status status = set_random(&view, set_key(context), random_number(), &member);

    if (status != DUEQ_OK)
        return status;
    resp_slice(context->reply, member);
    status = set_remove(&view, set_key(context), member);
    if (status != DUEQ_OK)
        buffer_truncate(context->reply->out, mark);
    return status;
}

static enum outcome pop_one(struct context *context)
{
    uint64_t size;

    if (!database_read_count(context, set_key(context), KEYS_SET, &size))
        return OUTCOME_DONE;
    if (size == 0) {
        resp_null(context->reply);
        return OUTCOME_DONE;
    }
    if (!context_check_status(context, pop_random(context)))
        return OUTCOME_DONE;
    database_notify(context, EVENT_SET, "spop", set_key(context));
    database_notify_if_removed(context, set_key(context));
    return OUTCOME_DONE;
}

/* ---- all of them, or a large part */

struct writing {
    struct resp_writer *reply;
    size_t most; /* bytes that the reply may have */
    bool is_long;
};

static bool write_member(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct writing *writing = arg;

    (void)unused;
    resp_slice(writing->reply, member);
    writing->is_long = buffer_size(writing->reply->out) > writing->most;
    return !writing->is_long;
}

/* False: nothing is done, as the members are too large for one turn. */
static bool pop_all(struct context *context, uint64_t size, size_t bytes)
{
    struct keys_view view = database_view(context);
    size_t mark = buffer_size(context->reply->out);
    struct writing writing = {context->reply, bytes < SIZE_MAX ? mark + bytes : SIZE_MAX,
                              false};
    enum dueq_status status;

    resp_set(context->reply, size);
    status = set_each(&view, set_key(context), write_member, &writing);
    if (status != DUEQ_OK || writing.is_long)
        buffer_truncate(context->reply->out, mark);
    if (context_check_status(context, status) && !writing.is_long)
        keys_del(&view, set_key(context));
    return !writing.is_long;
}

/* As pop_all. */
static bool pop_part(struct context *context, uint64_t size, uint64_t count, size_t bytes)
{
    struct keys_view view = database_view(context);
    size_t mark = resp_deferred(context->reply);
    struct dueq_slice member;
    struct picking picking = {.most = bytes};

    if (pick_part(context, size, count, &picking) && !picking.is_long) {
        write_list(context, &picking.list);
        resp_deferred_set(context->reply, mark, picking.list.count);
        for (size_t at = 0; slice_list_next(&picking.list, &at, &member);)
            set_remove(&view, set_key(context), member);
    }
    slice_list_release(&picking.list);
    if (picking.is_long)
        buffer_truncate(context->reply->out, mark);
    return !picking.is_long;
}

/* The set had `size` members, `count` of them are removed. */
static void end_pop(struct context *context, uint64_t size, uint64_t count)
{
    struct keys_view view = database_view(context);

    if (count < size && size - count <= count / SMALL_REST)
        set_remake(&view, set_key(context));
    database_notify(context, EVENT_SET, "spop", set_key(context));
    database_notify_if_removed(context, set_key(context));
}

/* ---- member by member */

struct popping {
    uint64_t size, count, popped;
};

static bool may_pop(const struct context *context, unsigned done)
{
    return alone_hurries(context) || long_read_may_pick(context, done, SLICE_POPS);
}

static enum dueq_status pop_some(struct context *context, struct popping *popping)
{
    enum dueq_status status = DUEQ_OK;

    for (unsigned done = 0; popping->popped < popping->count && may_pop(context, done);
         done++) {
        status = pop_random(context);
        if (status != DUEQ_OK)
            break;
        popping->popped++;
    }
    return status;
}

/* After an error, the members that are already removed are replied. mark: where the reply
 * begins. */
static enum outcome end_popping(struct context *context, const struct popping *popping,
                                size_t mark, enum dueq_status status)
{
    resp_deferred_set(context->reply, mark, popping->popped);
    if (popping->popped == 0)
        context_check_status(context, status);
    end_pop(context, popping->size, popping->popped);
    return OUTCOME_DONE;
}

static enum outcome go_on_popping(struct context *context, struct popping *popping)
{
    enum dueq_status status = pop_some(context, popping);

    return status == DUEQ_OK && popping->popped < popping->count
               ? OUTCOME_WAIT
               : end_popping(context, popping, long_work_reply_begin(context), status);
}

static enum outcome pop_few(struct context *context, uint64_t size, uint64_t count)
{
    struct popping popping = {.size = size, .count = count};
    size_t mark = resp_deferred(context->reply);
    enum dueq_status status = pop_some(context, &popping);

    if (status == DUEQ_OK && popping.popped < count &&
        alone_put_off(context, &popping, sizeof(popping), free))
        return OUTCOME_WAIT;
    while (status == DUEQ_OK && popping.popped < count)
        status = pop_some(context, &popping);
    return end_popping(context, &popping, mark, status);
}

/* ---- several */

/* Members of so many bytes at most. False: there are more, and nothing is done. */
static bool pop_at_once(struct context *context, uint64_t size, uint64_t count, size_t bytes)
{
    bool done =
        count < size ? pop_part(context, size, count, bytes) : pop_all(context, size, bytes);

    if (done)
        end_pop(context, size, count);
    return done;
}

static void begin_run(struct context *context, const struct removals_request *request,
                      uint64_t count)
{
    (void)request;
    resp_set(context->reply, count);
}

static void write_run(struct context *context, const struct removals_request *request,
                      const struct zset_entry *member)
{
    (void)request;
    resp_slice(context->reply, member->member);
}

static void end_run(struct context *context, const struct removals_request *request,
                    uint64_t count)
{
    uint64_t left = 0;

    (void)request;
    database_count_elements(context, set_key(context), KEYS_SET, &left);
    end_pop(context, left + count, count);
}

static enum outcome pop_run_at_once(struct context *context,
                                    const struct removals_request *request)
{
    uint64_t size;

    if (database_read_count(context, set_key(context), KEYS_SET, &size))
        pop_at_once(context, size, request->count, SIZE_MAX);
    return OUTCOME_DONE;
}

/* Many members that follow each other in the order of their hashes, from a random one on. */
static enum outcome pop_run(struct context *context, uint64_t count)
{
    static const struct removals_form form = {begin_run, write_run, end_run, pop_run_at_once};
    struct removals_request request = {
        .form = &form,
        .key = 1,
        .type = KEYS_SET,
        .count = count,
        .part = {.kind = KEYS_REMOVAL_RUN, .most = count, .random = random_number()}};

    return removals_is_running(context) ? removals_continue(context, &request)
                                        : removals_begin(context, &request, count);
}

static enum outcome pop_many(struct context *context, uint64_t size, uint64_t count)
{
    if (count > size)
        count = size;
    if (count > LONG_ENOUGH)
        return pop_run(context, count);
    if (count < size && (size > LONG_STEPS || count <= size / SMALL_PART))
        return pop_few(context, size, count);
    if (pop_at_once(context, size, count, LONG_ENOUGH_BYTES))
        return OUTCOME_DONE;
    return count < size ? pop_few(context, size, count) : pop_run(context, count);
}

static enum outcome run_spop(struct context *context)
{
    uint64_t size;
    int64_t count;

    if (context_count(context) == 2)
        return pop_one(context);
    if (context_count(context) > 3)
        return context_syntax_error(context);
    if (long_work_state_of(context, free) != NULL)
        return go_on_popping(context, long_work_state(context));
    if (removals_is_running(context))
        return pop_run(context, 0);
    if (!arguments_integer(
            context, 2, INTEGER_OR(0, INT64_MAX, "ERR value is out of range, must be positive"),
            &count) ||
        !database_read_count(context, set_key(context), KEYS_SET, &size))
        return OUTCOME_DONE;
    if (size > 0 && count > 0)
        return pop_many(context, size, (uint64_t)count);
    resp_set(context->reply, 0);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "spop",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,delete@1/r0:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Remove and return one or multiple random members from a set",
     .complexity = "Without the count argument O(1), otherwise O(N) where N is "
                   "the value of the passed count.",
     .syntax = "key [count]",
     .categories = "set",
     .tips = "nondeterministic_output",
     .run = run_spop},
    {.name = NULL}};

COMMANDS(spop, entries)
