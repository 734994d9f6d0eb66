#include "server/commands/picks.h"

#include "server/containers/slice_set.h"
#include "server/dispatch/long_work.h"
#include "server/process/random.h"
#include "server/server.h"

#include <assert.h>
#include <stdlib.h>

enum {
    KEPT = 16,            /* random elements that are kept from the start */
    KEPT_BYTES = 1 << 16, /* bytes after which no more are kept */
    SMALL_PART = 8        /* fewer than size / SMALL_PART elements are picked one by one */
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

/* NULL: out of memory, or the key has no element. */
static struct picks *new_picks(struct context *context, const struct picks_type *type,
                               uint64_t left)
{
    struct picks *picks = calloc(1, sizeof(*picks));
    struct resp_writer writer;

    if (picks == NULL)
        return NULL;
    picks->left = left;
    buffer_init(&picks->kept, SIZE_MAX / 2);
    writer = (struct resp_writer){.out = &picks->kept, .version = context->reply->version};
    while (picks->count < KEPT && buffer_size(&picks->kept) < KEPT_BYTES &&
           type->write_any(context, &writer) == DUEQ_OK && !picks->kept.overflowed)
        picks->ends[picks->count++] = buffer_size(&picks->kept);
    if (picks->count > 0)
        return picks;
    free_picks(picks);
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

/* Writes up to SLICE_PICKS of *left elements. picks: used when the key is gone; may be NULL. */
static enum dueq_status write_some(struct context *context, const struct picks_type *type,
                                   const struct picks *picks, uint64_t *left)
{
    for (unsigned step = 0; *left > 0 && !long_work_reply_is_unread(context) &&
                            turn_may_go_on(context->server, step, SLICE_PICKS);
         step++, --*left) {
        enum dueq_status status = type->write_any(context, context->reply);

        if (status == DUEQ_NOTFOUND && picks != NULL)
            write_kept(context, picks);
        else if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

static enum outcome begin_many(struct context *context, const struct picks_type *type,
                               uint64_t count)
{
    struct picks *picks;
    enum dueq_status status;

    if (!long_work_fits(context, count))
        return OUTCOME_DONE;
    write_head(context, count);
    status = write_some(context, type, NULL, &count);
    if (status != DUEQ_OK)
        return context_status(context, status);
    if (count == 0)
        return OUTCOME_DONE;
    picks = new_picks(context, type, count);
    return picks == NULL ? OUTCOME_CLOSE
                         : long_work_continue(context, picks, free_picks, LONG_STREAMS);
}

static enum outcome continue_many(struct context *context, const struct picks_type *type)
{
    struct picks *picks = long_work_state(context);
    enum dueq_status status = write_some(context, type, picks, &picks->left);

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

/* Skips an element that was written before: compares the bytes that are written. */
static enum dueq_status write_new(struct context *context, const struct picks_type *type,
                                  struct buffer *text, struct slice_set **seen, bool *ret_new)
{
    struct resp_writer writer = {.out = text, .version = context->reply->version};
    enum dueq_status status;

    buffer_clear(text);
    status = type->write_any(context, &writer);
    if (status != DUEQ_OK)
        return status;
    if (text->overflowed ||
        !slice_set_add(seen, dueq_slice(buffer_content(text), buffer_size(text)), ret_new))
        return DUEQ_NOMEM;
    if (*ret_new)
        buffer_append(context->reply->out, buffer_content(text), buffer_size(text));
    return DUEQ_OK;
}

static enum outcome write_few(struct context *context, const struct picks_type *type,
                              uint64_t count)
{
    size_t mark = buffer_size(context->reply->out);
    enum dueq_status status = DUEQ_OK;
    struct slice_set *seen = NULL;
    struct buffer text;
    bool new = false;

    buffer_init(&text, SIZE_MAX / 2);
    write_head(context, count);
    for (uint64_t written = 0; written < count && status == DUEQ_OK; written += new)
        status = write_new(context, type, &text, &seen, &new);
    buffer_release(&text);
    slice_set_free(seen);
    if (status == DUEQ_OK)
        return OUTCOME_DONE;
    buffer_truncate(context->reply->out, mark);
    return context_status(context, status);
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
    struct long_read read = {.source = type->source,
                             .key = context_slice(context, 1),
                             .steps = size,
                             .count = count,
                             .arg = type,
                             .begin = begin_part,
                             .take = take_some};

    if (count <= LONG_STEPS && count < size / SMALL_PART && long_work_state(context) == NULL)
        return write_few(context, type, count);
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
