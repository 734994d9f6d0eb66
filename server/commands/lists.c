/* Lists: what grows and reads them, and edits them by index. What takes elements out at the
 * ends: list_pops.c; what looks for elements to edit: list_edits.c. */
#include "server/commands/handlers.h"
#include "server/keyspace.h"

static struct dueq_slice list_key(const struct context *context)
{
    return context_slice(context, 1);
}

static bool list_size(struct context *context, uint64_t *ret_count)
{
    return context_size(context, list_key(context), KEYS_LIST, ret_count);
}

/* ---- growing */

static enum outcome push(struct context *context, enum list_end end, bool only_existing)
{
    struct keys_view view = context_view(context);
    uint64_t size;

    if (!list_size(context, &size))
        return OUTCOME_DONE;
    if (only_existing && size == 0)
        return context_integer_reply(context, 0);
    for (size_t i = 2; i < context_count(context); i++)
        if (!context_check(context,
                           list_push(&view, list_key(context), end, context_slice(context, i))))
            return OUTCOME_DONE;
    context_notify(context, EVENT_LIST, end == LIST_HEAD ? "lpush" : "rpush",
                   list_key(context));
    return context_integer_reply(context, (int64_t)(size + context_count(context) - 2));
}

enum outcome run_lpush(struct context *context)
{
    return push(context, LIST_HEAD, false);
}

enum outcome run_rpush(struct context *context)
{
    return push(context, LIST_TAIL, false);
}

enum outcome run_lpushx(struct context *context)
{
    return push(context, LIST_HEAD, true);
}

enum outcome run_rpushx(struct context *context)
{
    return push(context, LIST_TAIL, true);
}

/* ---- searching */

/* A search for elements that equal one; what it finds is counted or written. */
struct search {
    struct resp_writer *reply;
    struct dueq_slice wanted;
    enum list_end towards;
    uint64_t index, left; /* of the next element; elements that may still be looked at */
    uint64_t skip;        /* matches passed over */
    uint64_t limit;       /* matches wanted */
    uint64_t found;       /* matches after the skipped ones; the last one stood at: */
    uint64_t found_index;
    bool listed; /* write each index */
};

static bool note_match(struct search *search)
{
    if (search->skip > 0) {
        search->skip--;
        return true;
    }
    search->found++;
    search->found_index = search->index;
    if (search->listed)
        resp_integer(search->reply, (int64_t)search->index);
    return search->found < search->limit;
}

static bool search_element(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct search *search = arg;
    bool more = !dueq_slice_equal(value, search->wanted) || note_match(search);

    (void)unused;
    search->index += search->towards == LIST_TAIL ? 1 : UINT64_MAX;
    return more && --search->left > 0;
}

/* From the first element, or the last, of a list that is there. */
static bool run_search(struct context *context, struct search *search, uint64_t size)
{
    struct keys_view view = context_view(context);

    search->reply = context->reply;
    search->index = search->towards == LIST_TAIL ? 0 : size - 1;
    return context_check(context, list_each(&view, list_key(context), search->index,
                                            search->towards, search_element, search));
}

/* ---- LPOS */

struct lpos_options {
    int64_t rank, count, most; /* count -1: a single index */
};

static const char rank_error[] =
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use "
    "negative to start from the end of the list";

/* The least number has no negative: Redis passes over no match then. */
static bool parse_rank(struct context *context, size_t index, int64_t *ret_rank)
{
    if (!context_integer(context, index, ret_rank))
        return false;
    if (*ret_rank == INT64_MIN)
        *ret_rank = -1;
    if (*ret_rank != 0)
        return true;
    resp_error(context->reply, rank_error);
    return false;
}

static bool parse_lpos_option(struct context *context, size_t index,
                              struct lpos_options *options)
{
    if (index + 1 < context_count(context)) {
        if (context_is(context, index, "rank"))
            return parse_rank(context, index + 1, &options->rank);
        if (context_is(context, index, "count"))
            return context_range_integer(context, index + 1, 0, INT64_MAX,
                                         "ERR COUNT can't be negative", &options->count);
        if (context_is(context, index, "maxlen"))
            return context_range_integer(context, index + 1, 0, INT64_MAX,
                                         "ERR MAXLEN can't be negative", &options->most);
    }
    context_syntax_error(context);
    return false;
}

/* All matches from the rank on, as an array whose length is known afterwards. */
static enum outcome write_positions(struct context *context, struct search *search,
                                    uint64_t size)
{
    size_t mark = resp_deferred(context->reply);

    search->listed = true;
    if (size > 0 && !run_search(context, search, size))
        return OUTCOME_DONE;
    resp_deferred_array(context->reply, mark, search->found);
    return OUTCOME_DONE;
}

static enum outcome write_position(struct context *context, struct search *search,
                                   uint64_t size)
{
    search->limit = 1;
    if (size > 0 && !run_search(context, search, size))
        return OUTCOME_DONE;
    if (search->found == 0)
        resp_null(context->reply);
    else
        resp_integer(context->reply, (int64_t)search->found_index);
    return OUTCOME_DONE;
}

enum outcome run_lpos(struct context *context)
{
    struct lpos_options options = {1, -1, 0};
    struct search search = {.wanted = context_slice(context, 2)};
    uint64_t size;

    for (size_t i = 3; i < context_count(context); i += 2)
        if (!parse_lpos_option(context, i, &options))
            return OUTCOME_DONE;
    if (!list_size(context, &size))
        return OUTCOME_DONE;
    search.towards = options.rank > 0 ? LIST_TAIL : LIST_HEAD;
    search.skip = (uint64_t)(options.rank > 0 ? options.rank : -options.rank) - 1;
    search.left = options.most == 0 ? UINT64_MAX : (uint64_t)options.most;
    search.limit = options.count <= 0 ? UINT64_MAX : (uint64_t)options.count;
    return options.count < 0 ? write_position(context, &search, size)
                             : write_positions(context, &search, size);
}

/* ---- reading */

enum outcome run_llen(struct context *context)
{
    uint64_t size;

    return list_size(context, &size) ? context_integer_reply(context, (int64_t)size)
                                     : OUTCOME_DONE;
}

struct writing {
    struct resp_writer *reply;
    uint64_t left;
};

static bool write_element(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct writing *writing = arg;

    (void)unused;
    resp_slice(writing->reply, value);
    return --writing->left > 0;
}

enum outcome run_lrange(struct context *context)
{
    struct keys_view view = context_view(context);
    struct writing writing = {context->reply, 0};
    int64_t start, stop;
    uint64_t size, first;

    if (!context_integer(context, 2, &start) || !context_integer(context, 3, &stop) ||
        !list_size(context, &size))
        return OUTCOME_DONE;
    if (!clamp_range(start, stop, size, &first, &writing.left)) {
        resp_array(context->reply, 0);
        return OUTCOME_DONE;
    }
    resp_array(context->reply, writing.left);
    list_each(&view, list_key(context), first, LIST_TAIL, write_element, &writing);
    return OUTCOME_DONE;
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

enum outcome run_lindex(struct context *context)
{
    struct keys_view view = context_view(context);
    struct dueq_slice value;
    int64_t index = 0;
    uint64_t size, place;
    enum dueq_status status = DUEQ_NOTFOUND;

    if (!list_size(context, &size) || (size > 0 && !context_integer(context, 2, &index)))
        return OUTCOME_DONE;
    if (place_of(index, size, &place))
        status = list_at(&view, list_key(context), place, &value);
    if (!context_check(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

/* ---- editing */

enum outcome run_lset(struct context *context)
{
    struct keys_view view = context_view(context);
    int64_t index;
    uint64_t size, place;

    if (!list_size(context, &size))
        return OUTCOME_DONE;
    if (size == 0) {
        resp_error(context->reply, "ERR no such key");
        return OUTCOME_DONE;
    }
    if (!context_integer(context, 2, &index))
        return OUTCOME_DONE;
    if (!place_of(index, size, &place)) {
        resp_error(context->reply, "ERR index out of range");
        return OUTCOME_DONE;
    }
    if (!context_check(context,
                       list_put(&view, list_key(context), place, context_slice(context, 3))))
        return OUTCOME_DONE;
    context_notify(context, EVENT_LIST, "lset", list_key(context));
    return context_ok(context);
}

enum outcome run_ltrim(struct context *context)
{
    struct keys_view view = context_view(context);
    int64_t start, stop;
    uint64_t size, first = 0, count = 0;

    if (!context_integer(context, 2, &start) || !context_integer(context, 3, &stop) ||
        !list_size(context, &size))
        return OUTCOME_DONE;
    if (size == 0)
        return context_ok(context);
    clamp_range(start, stop, size, &first, &count);
    if (!context_check(context, list_trim(&view, list_key(context), first, count)))
        return OUTCOME_DONE;
    context_notify(context, EVENT_LIST, "ltrim", list_key(context));
    context_notify_emptied(context, list_key(context));
    return context_ok(context);
}
