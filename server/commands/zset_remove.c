/* Sorted sets: members and ranges taken out. */
#include "server/commands/handlers.h"
#include "server/commands/zset_bounds.h"

static enum outcome reply_removed(struct context *context, uint64_t removed, const char *event)
{
    struct dueq_slice name = context_slice(context, 1);

    if (removed > 0) {
        context_notify(context, EVENT_ZSET, event, name);
        context_notify_emptied(context, name);
    }
    return context_integer_reply(context, (int64_t)removed);
}

enum outcome run_zrem(struct context *context)
{
    struct keys_view view = context_view(context);
    uint64_t removed = 0;

    for (size_t i = 2; i < context_count(context); i++) {
        enum dueq_status status =
            zset_remove(&view, context_slice(context, 1), context_slice(context, i));

        if (!context_check(context, status))
            return OUTCOME_DONE;
        removed += status == DUEQ_OK;
    }
    return reply_removed(context, removed, "zrem");
}

static enum outcome remove_range(struct context *context, const struct zset_range *range,
                                 const char *event)
{
    struct keys_view view = context_view(context);
    uint64_t removed = 0;

    if (!context_check(context,
                       zset_remove_range(&view, context_slice(context, 1), range, &removed)))
        return OUTCOME_DONE;
    return reply_removed(context, removed, event);
}

enum outcome run_zremrangebyscore(struct context *context)
{
    struct zset_range range;

    return context_score_range(context, 2, 3, &range)
               ? remove_range(context, &range, "zremrangebyscore")
               : OUTCOME_DONE;
}

enum outcome run_zremrangebylex(struct context *context)
{
    struct zset_range range;

    return context_lex_range(context, 2, 3, &range)
               ? remove_range(context, &range, "zremrangebylex")
               : OUTCOME_DONE;
}

enum outcome run_zremrangebyrank(struct context *context)
{
    struct keys_view view = context_view(context);
    int64_t start, stop;
    uint64_t size, first, count, removed = 0;

    if (!context_integer(context, 2, &start) || !context_integer(context, 3, &stop) ||
        !context_size(context, context_slice(context, 1), KEYS_ZSET, &size))
        return OUTCOME_DONE;
    if (clamp_range(start, stop, size, &first, &count) &&
        !context_check(context, zset_remove_from(&view, context_slice(context, 1), first, count,
                                                 &removed)))
        return OUTCOME_DONE;
    return reply_removed(context, removed, "zremrangebyrank");
}
