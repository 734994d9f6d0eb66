/* Intersections, unions and differences of sets, replied, counted or stored. */
#include "server/commands/handlers.h"
#include "server/keyspace.h"

#include "protocol/number.h"
#include "server/slice_list.h"

#include <stdlib.h>

enum operation { INTERSECTION, UNION, DIFFERENCE };

/* Members come from walks over one set or several; each is looked up in the other sets, so that
 * nothing but the result is ever held in memory. */
struct algebra {
    struct context *context;
    struct keys_view view;
    enum operation operation;
    size_t first_key, keys; /* arguments */
    size_t smallest;        /* of the keys */
    bool any_empty;
    bool integers; /* all sets are KEYS_INTSET */
    size_t walked; /* the key whose members come now */
    keys_element_fn found;
    void *found_arg;
    enum dueq_status status;
    bool finished; /* `found` wants no more */
};

static struct dueq_slice key_at(const struct algebra *algebra, size_t index)
{
    return context_slice(algebra->context, algebra->first_key + index);
}

static bool is_in(struct algebra *algebra, size_t index, struct dueq_slice member)
{
    enum dueq_status status = set_has(&algebra->view, key_at(algebra, index), member);

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        algebra->status = status;
    return status == DUEQ_OK;
}

/* Whether the member of the set that is walked belongs to the result: in the intersection, it
 * is in all the others, in the difference in none; in the union it comes from the first set
 * that has it. */
static bool belongs(struct algebra *algebra, struct dueq_slice member)
{
    size_t others = algebra->operation == UNION ? algebra->walked : algebra->keys;
    bool wanted = algebra->operation == INTERSECTION;

    for (size_t i = 0; i < others; i++)
        if (i != algebra->walked && is_in(algebra, i, member) != wanted)
            return false;
    return true;
}

static bool consider(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct algebra *algebra = arg;

    if (belongs(algebra, member) && algebra->status == DUEQ_OK)
        algebra->finished = !algebra->found(algebra->found_arg, member, unused);
    return !algebra->finished && algebra->status == DUEQ_OK;
}

static void walk(struct algebra *algebra, size_t index)
{
    enum dueq_status status;

    algebra->walked = index;
    status = set_each(&algebra->view, key_at(algebra, index), consider, algebra);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        algebra->status = status;
}

/* Checks the types of all keys. False: the error is written. */
static bool prepare(struct algebra *algebra)
{
    uint64_t size, least = UINT64_MAX;
    struct keys_info info;

    algebra->integers = true;
    for (size_t i = 0; i < algebra->keys; i++) {
        if (!context_size(algebra->context, key_at(algebra, i), KEYS_SET, &size))
            return false;
        if (size > 0 && keys_info(&algebra->view, key_at(algebra, i), &info) == DUEQ_OK)
            algebra->integers = algebra->integers && info.encoding == KEYS_INTSET;
        if (size < least) {
            least = size;
            algebra->smallest = i;
        }
    }
    algebra->any_empty = least == 0;
    return true;
}

/* Hands out the members of the result. False: the error is written. */
static bool run(struct algebra *algebra, keys_element_fn found, void *found_arg)
{
    algebra->found = found;
    algebra->found_arg = found_arg;
    if (algebra->operation == DIFFERENCE)
        walk(algebra, 0);
    else if (algebra->operation == INTERSECTION && !algebra->any_empty)
        walk(algebra, algebra->smallest);
    else if (algebra->operation == UNION)
        for (size_t i = 0; i < algebra->keys && algebra->status == DUEQ_OK; i++)
            walk(algebra, i);
    return context_check(algebra->context, algebra->status);
}

static struct algebra algebra_of(struct context *context, enum operation operation,
                                 size_t first_key, size_t keys)
{
    return (struct algebra){.context = context,
                            .view = context_view(context),
                            .operation = operation,
                            .first_key = first_key,
                            .keys = keys,
                            .status = DUEQ_OK};
}

/* ---- replied */

struct writing {
    struct resp_writer *reply;
    size_t count;
};

static bool write_member(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct writing *writing = arg;

    (void)unused;
    resp_slice(writing->reply, member);
    writing->count++;
    return true;
}

/* The union of sets of integers is one, which comes in order. (What a walk over one of them
 * leaves of it does anyway.) */
struct sorting {
    int64_t *numbers;
    size_t count, capacity;
    bool no_memory;
};

static bool sort_member(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct sorting *sorting = arg;

    (void)unused;
    if (sorting->count == sorting->capacity) {
        size_t capacity = sorting->capacity == 0 ? 64 : sorting->capacity * 2;
        int64_t *grown = realloc(sorting->numbers, capacity * sizeof(*grown));

        sorting->no_memory = grown == NULL;
        if (grown == NULL)
            return false;
        sorting->numbers = grown;
        sorting->capacity = capacity;
    }
    return number_parse_integer(member.data, member.size, &sorting->numbers[sorting->count++]);
}

static int compare_numbers(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static void reply_sorted(struct algebra *algebra)
{
    struct sorting sorting = {.numbers = NULL};

    if (run(algebra, sort_member, &sorting) &&
        context_check(algebra->context, sorting.no_memory ? DUEQ_NOMEM : DUEQ_OK)) {
        if (sorting.count > 0)
            qsort(sorting.numbers, sorting.count, sizeof(*sorting.numbers), compare_numbers);
        resp_set(algebra->context->reply, sorting.count);
        for (size_t i = 0; i < sorting.count; i++)
            resp_bulk_integer(algebra->context->reply, sorting.numbers[i]);
    }
    free(sorting.numbers);
}

static enum outcome reply_members(struct context *context, enum operation operation)
{
    struct algebra algebra = algebra_of(context, operation, 1, context_count(context) - 1);
    struct writing writing = {context->reply, 0};
    size_t mark;

    if (!prepare(&algebra))
        return OUTCOME_DONE;
    if (operation == UNION && algebra.integers) {
        reply_sorted(&algebra);
        return OUTCOME_DONE;
    }
    mark = resp_deferred(context->reply);
    if (run(&algebra, write_member, &writing))
        resp_deferred_set(context->reply, mark, writing.count);
    return OUTCOME_DONE;
}

enum outcome run_sinter(struct context *context)
{
    return reply_members(context, INTERSECTION);
}

enum outcome run_sunion(struct context *context)
{
    return reply_members(context, UNION);
}

enum outcome run_sdiff(struct context *context)
{
    return reply_members(context, DIFFERENCE);
}

/* ---- counted */

struct counting {
    uint64_t count, limit;
};

static bool count_member(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct counting *counting = arg;

    (void)member;
    (void)unused;
    return ++counting->count < counting->limit;
}

/* [LIMIT limit] from the argument `at` on; 0: no limit. */
static bool parse_limit(struct context *context, size_t at, int64_t *ret_limit)
{
    for (; at < context_count(context); at += 2) {
        if (at + 1 == context_count(context) || !context_is(context, at, "limit")) {
            context_syntax_error(context);
            return false;
        }
        if (!context_range_integer(context, at + 1, 0, INT64_MAX, "ERR LIMIT can't be negative",
                                   ret_limit))
            return false;
    }
    return true;
}

enum outcome run_sintercard(struct context *context)
{
    struct counting counting = {0, UINT64_MAX};
    struct algebra algebra;
    int64_t keys, limit = 0;

    if (!context_range_integer(context, 1, 1, INT64_MAX, "ERR numkeys should be greater than 0",
                               &keys))
        return OUTCOME_DONE;
    if ((uint64_t)keys > context_count(context) - 2) {
        resp_error(context->reply, "ERR Number of keys can't be greater than number of args");
        return OUTCOME_DONE;
    }
    if (!parse_limit(context, 2 + (size_t)keys, &limit))
        return OUTCOME_DONE;
    if (limit > 0)
        counting.limit = (uint64_t)limit;
    algebra = algebra_of(context, INTERSECTION, 2, (size_t)keys);
    if (!prepare(&algebra) || !run(&algebra, count_member, &counting))
        return OUTCOME_DONE;
    return context_integer_reply(context, (int64_t)counting.count);
}

/* ---- stored */

struct keeping {
    struct slice_list list;
    bool no_memory;
};

static bool keep_member(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct keeping *keeping = arg;

    (void)unused;
    keeping->no_memory = !slice_list_add(&keeping->list, member);
    return !keeping->no_memory;
}

/* The set under the name is made of these members; nothing is left there of what was. */
static enum outcome replace(struct context *context, struct dueq_slice name,
                            const struct slice_list *members, const char *event)
{
    struct keys_view view = context_view(context);
    enum dueq_status deleted =
        members->count > 0 ? keys_make_way(&view, name) : keys_del(&view, name);
    struct dueq_slice member;
    bool added;

    if (!context_check(context, deleted))
        return OUTCOME_DONE;
    for (size_t at = 0; slice_list_next(members, &at, &member);)
        if (!context_check(context, set_add(&view, name, member, &added)))
            return OUTCOME_DONE;
    if (members->count > 0)
        context_notify(context, EVENT_SET, event, name);
    else if (deleted == DUEQ_OK)
        context_notify(context, EVENT_GENERIC, "del", name);
    return context_integer_reply(context, (int64_t)members->count);
}

static enum outcome store_members(struct context *context, enum operation operation,
                                  const char *event)
{
    struct algebra algebra = algebra_of(context, operation, 2, context_count(context) - 2);
    struct keeping keeping = {.no_memory = false};

    slice_list_init(&keeping.list);
    if (prepare(&algebra) && run(&algebra, keep_member, &keeping) &&
        context_check(context, keeping.no_memory ? DUEQ_NOMEM : DUEQ_OK))
        replace(context, context_slice(context, 1), &keeping.list, event);
    slice_list_release(&keeping.list);
    return OUTCOME_DONE;
}

enum outcome run_sinterstore(struct context *context)
{
    return store_members(context, INTERSECTION, "sinterstore");
}

enum outcome run_sunionstore(struct context *context)
{
    return store_members(context, UNION, "sunionstore");
}

enum outcome run_sdiffstore(struct context *context)
{
    return store_members(context, DIFFERENCE, "sdiffstore");
}
