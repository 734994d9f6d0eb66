/* Sorted sets: what members and the whole are asked for. */
#include "server/commands/handlers.h"
#include "server/commands/scored_members.h"
#include "server/commands/zset_bounds.h"

#include "server/long_work.h"
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

static enum outcome reply_rank(struct context *context, bool reverse)
{
    struct keys_view view = context_view(context);
    uint64_t rank;
    enum dueq_status status =
        zset_rank(&view, context_slice(context, 1), context_slice(context, 2), reverse, &rank);

    if (!context_check(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK)
        resp_integer(context->reply, (int64_t)rank);
    else
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

static bool count_one(void *arg, const struct zset_entry *entry)
{
    int64_t *count = arg;

    (void)entry;
    ++*count;
    return true;
}

static enum outcome count_range(struct context *context, const struct zset_range *range)
{
    struct keys_view view = context_view(context);
    int64_t count = 0;

    if (!context_check(context,
                       zset_each(&view, context_slice(context, 1), range, count_one, &count)))
        return OUTCOME_DONE;
    return context_integer_reply(context, count);
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

struct picking {
    struct resp_writer *reply;
    struct sample sample;
    bool with_scores;
};

static void write_picked(const struct picking *picking, const struct zset_entry *entry)
{
    scored_member_write(picking->reply, entry->member, entry->score, picking->with_scores);
}

static bool pick_distinct(void *arg, const struct zset_entry *entry)
{
    struct picking *picking = arg;

    if (sample_takes(&picking->sample))
        write_picked(picking, entry);
    return picking->sample.wanted > 0;
}

/* One after the other, each from all: some may come several times. */
static bool pick_any(struct context *context, struct resp_writer *reply)
{
    struct keys_view view = context_view(context);
    struct zset_entry entry;

    if (zset_random(&view, context_slice(context, 1), random_number(), &entry) != DUEQ_OK)
        return false;
    scored_member_write(reply, entry.member, entry.score, context_count(context) == 4);
    return true;
}

static enum outcome pick_entries(struct context *context, int64_t count, bool with_scores)
{
    struct keys_view view = context_view(context);
    struct picking picking = {.reply = context->reply, .with_scores = with_scores};
    uint64_t size, wanted = count < 0 ? (uint64_t)-count : (uint64_t)count, next;
    bool flat = with_scores && context->reply->version < 3;

    if (!context_size(context, context_slice(context, 1), KEYS_ZSET, &size))
        return OUTCOME_DONE;
    if (size == 0 || (count > 0 && wanted > size))
        wanted = size;
    if (count < 0 && size > 0)
        return picks_write(context, flat ? wanted * 2 : wanted, wanted, pick_any);
    resp_array(context->reply, flat ? wanted * 2 : wanted);
    if (wanted == 0)
        return OUTCOME_DONE;
    sample_init(&picking.sample, size, wanted);
    zset_scan(&view, context_slice(context, 1), 0, UINT64_MAX, pick_distinct, &picking, &next);
    return OUTCOME_DONE;
}

static enum outcome pick_one(struct context *context)
{
    struct keys_view view = context_view(context);
    struct zset_entry entry;
    enum dueq_status status =
        zset_random(&view, context_slice(context, 1), random_number(), &entry);

    if (!context_check(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK)
        resp_slice(context->reply, entry.member);
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

enum outcome run_zrandmember(struct context *context)
{
    bool with_scores = context_count(context) == 4;
    int64_t count;

    if (context_state(context) != NULL)
        return picks_go_on(context, pick_any);
    if (context_count(context) == 2)
        return pick_one(context);
    if (!context_bounded_integer(context, 2, -INT64_MAX, INT64_MAX, &count))
        return OUTCOME_DONE;
    if (context_count(context) > 4 || (with_scores && !context_is(context, 3, "withscores")))
        return context_syntax_error(context);
    if (with_scores && (count < -INT64_MAX / 2 || count > INT64_MAX / 2)) {
        resp_error(context->reply, "ERR value is out of range");
        return OUTCOME_DONE;
    }
    return pick_entries(context, count, with_scores);
}
