#include "server/commands/picks.h"

#include "server/dispatch/long_work.h"
#include "server/process/random.h"
#include "server/server.h"

#include <assert.h>
#include <stdlib.h>

enum {
    KEPT = 16,            /* random elements that are kept from the start */
    KEPT_BYTES = 1 << 16, /* bytes after which no more are kept */
    SMALL_PART = 8,       /* fewer than size / SMALL_PART elements are picked one by one, ... */
    FEW = 1000            /* up to so many */
};

/* Each element is somewhere else: 4 to 10 us, and 100 or more when its page is new to the
 * process. */
enum { PICK_STEPS = 4, SLICE_PICKS = LONG_STEPS / PICK_STEPS };

struct picks {
    uint64_t left;
    struct buffer kept;       /* elements as they are written in the reply */
    size_t ends[KEPT], count; /* of each element in `kept` */
};

static void free_picks(void *state)
{
    struct picks *picks = state;

    buffer_release(&picks->kept);
    free(picks);
}

/* Keeps a copy of the elements whose ends `picks` has. NULL: out of memory. */
static struct picks *copy_picks(const struct picks *picks, const char *elements)
{
    struct picks *copy = malloc(sizeof(*copy));

    if (copy == NULL)
        return NULL;
    *copy = *picks;
    buffer_init(&copy->kept, SIZE_MAX / 2);
    buffer_append(&copy->kept, elements, picks->ends[picks->count - 1]);
    if (!copy->kept.overflowed)
        return copy;
    free_picks(copy);
    return NULL;
}

static void write_kept(struct context *context, const struct picks *picks)
{
    size_t at = random_number() % picks->count, from = at == 0 ? 0 : picks->ends[at - 1];

    buffer_append(context->reply->out, buffer_content(&picks->kept) + from,
                  picks->ends[at] - from);
}

bool picks_with_option(const struct context *context)
{
    return context_count(context) == 4;
}

/* With the option RESP2 has two elements for each. */
static void write_head(struct context *context, uint64_t count)
{
    bool pairs = picks_with_option(context) && context->reply->version < 3;

    resp_array(context->reply, pairs ? 2 * count : count);
}

/* ---- with replacement */

/* Writes the first elements, and notes the ends of those that are kept. */
static enum dueq_status write_first(struct context *context, const struct picks_type *type,
                                    struct picks *picks)
{
    const struct buffer *out = context->reply->out;
    size_t begin = buffer_size(out);

    for (unsigned step = 0; picks->left > 0 && long_read_may_pick(context, step, SLICE_PICKS) &&
                            (step == 0 || !long_work_reply_is_unread(context));
         step++, picks->left--) {
        enum dueq_status status = type->write_any(context, context->reply);

        if (status != DUEQ_OK)
            return status;
        if (picks->count == 0 || (picks->count < KEPT && buffer_size(out) - begin < KEPT_BYTES))
            picks->ends[picks->count++] = buffer_size(out) - begin;
    }
    return DUEQ_OK;
}

/* Once the key is gone, what is kept is written again. */
static enum dueq_status write_more(struct context *context, const struct picks_type *type,
                                   struct picks *picks)
{
    for (unsigned step = 0; picks->left > 0 && !long_work_reply_is_unread(context) &&
                            long_read_may_pick(context, step, SLICE_PICKS);
         step++, picks->left--) {
        enum dueq_status status = type->write_any(context, context->reply);

        if (status == DUEQ_NOTFOUND)
            write_kept(context, picks);
        else if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

static enum outcome begin_many(struct context *context, const struct picks_type *type,
                               uint64_t count)
{
    struct picks first = {.left = count}, *picks;
    enum dueq_status status;
    size_t begin;

    if (!long_work_fits(context, count))
        return OUTCOME_DONE;
    write_head(context, count);
    begin = buffer_size(context->reply->out);
    status = write_first(context, type, &first);
    if (status != DUEQ_OK)
        return context_status(context, status);
    if (first.left == 0 || context->reply->out->overflowed)
        return OUTCOME_DONE;
    picks = copy_picks(&first, buffer_content(context->reply->out) + begin);
    return picks == NULL ? OUTCOME_CLOSE
                         : long_work_continue(context, picks, free_picks, LONG_STREAMS);
}

static enum outcome continue_many(struct context *context, const struct picks_type *type)
{
    struct picks *picks = long_work_state(context);
    enum dueq_status status = write_more(context, type, picks);

    if (status != DUEQ_OK) { /* a part of the array is already sent */
        context_status(context, status);
        return OUTCOME_CLOSE;
    }
    if (picks->left == 0)
        return OUTCOME_DONE;
    return long_work_reply_is_unread(context)
               ? long_work_continue_when_read(context)
               : long_work_continue(context, picks, free_picks, LONG_STREAMS);
}

static enum outcome write_one(struct context *context, const struct picks_type *type)
{
    uint64_t size;
    enum dueq_status status;

    if (!database_read_count(context, context_slice(context, 1), type->type, &size))
        return OUTCOME_DONE;
    status = size == 0 ? DUEQ_NOTFOUND : type->write_any(context, context->reply);
    if (context_check_status(context, status) && status == DUEQ_NOTFOUND)
        resp_null(context->reply);
    return OUTCOME_DONE;
}

/* False: the error is written. Like Redis, checks the count before the option if there can be
 * one. */
static bool read_form(struct context *context, const char *option, int64_t *ret_count)
{
    size_t arguments = context_count(context);

    if ((option != NULL || arguments == 3) &&
        !arguments_integer(context, 2, INTEGER_WITHIN(-INT64_MAX, INT64_MAX), ret_count))
        return false;
    if (arguments > (option == NULL ? 3 : 4) ||
        (arguments == 4 && !arguments_is(context, 3, option))) {
        context_syntax_error(context);
        return false;
    }
    if (arguments == 4 && (*ret_count < -INT64_MAX / 2 || *ret_count > INT64_MAX / 2)) {
        resp_error(context->reply, "ERR value is out of range");
        return false;
    }
    return true;
}

/* ---- without replacement */

/* Writes a random element, unless it was written before: compares the bytes that are written.
 */
static enum dueq_status pick_new(struct long_read *read)
{
    const struct picks_type *type = read->arg;
    struct buffer *out = read->reply->out;
    size_t mark = buffer_size(out);
    enum dueq_status status = type->write_any(read->context, read->reply);
    bool is_new;

    read->is_over = out->overflowed;
    if (status != DUEQ_OK || read->is_over)
        return status;
    if (!slice_set_add(&read->at.seen,
                       dueq_slice(buffer_content(out) + mark, buffer_size(out) - mark),
                       &is_new))
        return DUEQ_NOMEM;
    if (is_new)
        read->at.found++;
    else
        buffer_truncate(out, mark);
    read->is_over = read->at.found == read->count;
    return DUEQ_OK;
}

static void begin_part(struct long_read *read)
{
    write_head(read->context, read->count);
}

static bool take_some(struct long_read *read, const struct long_read_element *element)
{
    const struct picks_type *type = read->arg;

    if (random_sample_takes(&read->at.sample))
        type->write(read->context, read->reply, element);
    return read->at.sample.wanted > 0;
}

static enum outcome write_distinct(struct context *context, const struct picks_type *type,
                                   uint64_t size, uint64_t count)
{
    bool is_few = count <= FEW && count < size / SMALL_PART;
    struct long_read read = {.source = type->source,
                             .key = context_slice(context, 1),
                             .steps = is_few ? count * PICK_STEPS : size,
                             .count = count,
                             .arg = type,
                             .begin = begin_part,
                             .take = is_few ? NULL : take_some,
                             .pick = is_few ? pick_new : NULL};

    random_sample_init(&read.at.sample, size, count);
    return long_read_run(context, &read);
}

enum outcome picks_run(struct context *context, const struct picks_type *type)
{
    int64_t count = 0;
    uint64_t size;

    assert(type->write_any != NULL && type->write != NULL);
    if (context_count(context) == 2)
        return write_one(context, type);
    if (!read_form(context, type->option, &count))
        return OUTCOME_DONE;
    if (count < 0 && long_work_state(context) != NULL)
        return continue_many(context, type);
    if (!database_read_count(context, context_slice(context, 1), type->type, &size))
        return OUTCOME_DONE;
    if (size > 0 && count < 0)
        return begin_many(context, type, (uint64_t)-count);
    if (size > 0 && count > 0)
        return write_distinct(context, type, size,
                              (uint64_t)count < size ? (uint64_t)count : size);
    resp_array(context->reply, 0);
    return OUTCOME_DONE;
}
