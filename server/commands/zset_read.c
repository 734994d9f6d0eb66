/* Sorted sets: what members and the whole are asked for. */
#include "server/commands/handlers.h"
#include "server/commands/scored_members.h"
#include "server/commands/zset_bounds.h"

#include "server/long_reads.h"
#include "server/picks.h"
#include "server/random.h"
#include "server/scan.h"

/* ---- members */

/* False: the error is written. */
static bool write_score(struct context *context, struct dueq_slice member)
{
    struct keys_view view = context_view(context);
    double score;
    enum dueq_status status = zset_score(&view, context_slice(context, 1), member, &score);

    if (!context_check(context, status))
        return false;
    if (status == DUEQ_OK)
        resp_double(context->reply, score);
    else
        resp_null(context->reply);
    return true;
}

enum outcome run_zscore(struct context *context)
{
    write_score(context, context_slice(context, 2));
    return OUTCOME_DONE;
}

enum outcome run_zmscore(struct context *context)
{
    uint64_t size;

    if (!context_size(context, context_slice(context, 1), KEYS_ZSET, &size))
        return OUTCOME_DONE;
    resp_array(context->reply, context_count(context) - 2);
    for (size_t i = 2; i < context_count(context); i++)
        if (!write_score(context, context_slice(context, i)))
            return OUTCOME_DONE;
    return OUTCOME_DONE;
}

/* Whose rank is wanted stands behind the key. */
static bool pass_until(struct long_read *read, const struct long_element *element)
{
    if (dueq_slice_equal(element->name, context_slice(read->context, 2)))
        return false;
    read->at.found++;
    return true;
}

static void end_count(struct long_read *read)
{
    resp_integer(read->reply, (int64_t)read->at.found);
}

static enum outcome reply_rank(struct context *context, bool reverse)
{
    struct keys_view view = context_view(context);
    struct long_read read = {
        .source = LONG_ORDER,
        .key = context_slice(context, 1),
        .range = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = reverse},
        .take = pass_until,
        .end = end_count};
    double score;
    enum dueq_status status = zset_score(&view, read.key, context_slice(context, 2), &score);

    if (!context_check(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK)
        return long_read_run(context, &read);
    resp_null(context->reply);
    return OUTCOME_DONE;
}

enum outcome run_zrank(struct context *context)
{
    return reply_rank(context, false);
}

enum outcome run_zrevrank(struct context *context)
{
    return reply_rank(context, true);
}

/* ---- counts */

enum outcome run_zcard(struct context *context)
{
    uint64_t size;

    return context_size(context, context_slice(context, 1), KEYS_ZSET, &size)
               ? context_integer_reply(context, (int64_t)size)
               : OUTCOME_DONE;
}

static bool count_one(struct long_read *read, const struct long_element *element)
{
    (void)element;
    read->at.found++;
    return true;
}

static enum outcome count_range(struct context *context, const struct zset_range *range)
{
    struct long_read read = {.source = LONG_ORDER,
                             .key = context_slice(context, 1),
                             .range = *range,
                             .take = count_one,
                             .end = end_count};
    uint64_t size;

    return context_size(context, read.key, KEYS_ZSET, &size) ? long_read_run(context, &read)
                                                             : OUTCOME_DONE;
}

enum outcome run_zcount(struct context *context)
{
    struct zset_range range;

    return context_score_range(context, 2, 3, &range) ? count_range(context, &range)
                                                      : OUTCOME_DONE;
}

enum outcome run_zlexcount(struct context *context)
{
    struct zset_range range;

    return context_lex_range(context, 2, 3, &range) ? count_range(context, &range)
                                                    : OUTCOME_DONE;
}

enum outcome run_zscan(struct context *context)
{
    return scan_elements(context, KEYS_ZSET);
}

/* ---- ZRANDMEMBER */

static void write_picked(struct context *context, struct resp_writer *reply,
                         const struct long_element *element)
{
    scored_member_write(reply, element->name, element->score, picks_with_option(context));
}

static enum dueq_status write_any(struct context *context, struct resp_writer *reply)
{
    struct keys_view view = context_view(context);
    struct zset_entry entry;
    enum dueq_status status =
        zset_random(&view, context_slice(context, 1), random_number(), &entry);

    if (status == DUEQ_OK)
        write_picked(context, reply,
                     &(struct long_element){.name = entry.member, .score = entry.score});
    return status;
}

enum outcome run_zrandmember(struct context *context)
{
    static const struct picks_type type = {KEYS_ZSET, LONG_ZSET, "withscores", write_any,
                                           write_picked};

    return picks_run(context, &type);
}
