#include "server/picks.h"

#include "server/long_work.h"
#include "server/random.h"

#include <stdlib.h>

enum {
    KEPT = 64,           /* picks of the first moment */
    KEPT_BYTES = 1 << 16 /* at which no more are kept */
};

struct picks {
    uint64_t left;
    struct buffer kept;       /* as they are written in the reply */
    size_t ends[KEPT], count; /* of each in `kept` */
};

static void free_picks(void *state)
{
    struct picks *picks = state;

    buffer_release(&picks->kept);
    free(picks);
}

static struct picks *new_picks(struct context *context, uint64_t left, pick_fn fn)
{
    struct picks *picks = calloc(1, sizeof(*picks));
    struct resp_writer writer;

    if (picks == NULL)
        return NULL;
    picks->left = left;
    buffer_init(&picks->kept, SIZE_MAX / 2);
    writer = (struct resp_writer){&picks->kept, context->reply->version};
    while (picks->count < KEPT && buffer_size(&picks->kept) < KEPT_BYTES &&
           fn(context, &writer) && !picks->kept.overflowed)
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

/* Returns how many of `left` were not written. picks: NULL as long as the key is there. */
static uint64_t write_some(struct context *context, const struct picks *picks, uint64_t left,
                           pick_fn fn)
{
    unsigned steps = LONG_STEPS;

    while (left > 0 && steps-- > 0 && !context_reply_waits(context)) {
        if (!fn(context, context->reply) && picks != NULL)
            write_kept(context, picks);
        left--;
    }
    return left;
}

/* Within an EXEC; a reply that has outgrown its limit is not gone on with. */
static enum outcome write_whole(struct context *context, uint64_t count, pick_fn fn)
{
    while (count-- > 0 && !context->reply->out->overflowed)
        fn(context, context->reply);
    return OUTCOME_DONE;
}

enum outcome picks_write(struct context *context, uint64_t elements, uint64_t count, pick_fn fn)
{
    struct picks *picks;

    if (!context->may_wait && !context_whole_is_bearable(context, count))
        return OUTCOME_DONE;
    resp_array(context->reply, elements);
    if (!context->may_wait)
        return write_whole(context, count, fn);
    count = write_some(context, NULL, count, fn);
    if (count == 0)
        return OUTCOME_DONE;
    picks = new_picks(context, count, fn);
    return picks == NULL ? OUTCOME_CLOSE : context_go_on(context, picks, free_picks, 0);
}

enum outcome picks_go_on(struct context *context, pick_fn fn)
{
    struct picks *picks = context_state(context);

    picks->left = write_some(context, picks, picks->left, fn);
    if (picks->left == 0)
        return OUTCOME_DONE;
    return context_reply_waits(context) ? context_go_on_when_read(context)
                                        : context_go_on(context, picks, free_picks, 0);
}
