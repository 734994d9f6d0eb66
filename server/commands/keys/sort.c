/* SORT, SORT_RO. A long SORT goes on in later turns (long_work.h). It sorts the elements that
 * the key has at one time; keys that patterns name are read when their turn comes. */
#include "server/acl/acl_check.h"
#include "server/commands/keys/sort.h"
#include "server/commands/keys/sort_elements.h"
#include "server/commands/keys/sort_order.h"
#include "server/commands/keys/sort_pattern.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "server/session/session.h"
#include "storage/dueq.h"
#include "storage/keys/keys_build.h"

#include <stdlib.h>
#include <string.h>

enum { SLICE_ROOM = 4 << 20 }; /* bytes by which a list in the store may grow in a turn */

/* ---- options */

/* A pattern leads to keys that no argument names. False: the user may not read all keys; the
 * error is written. It is asked once: a request may have a thousand patterns, and a million
 * words that the answer looks at. */
static bool may_follow(struct context *context, struct sort *sort, const char *option)
{
    if (!sort->may_follow)
        sort->may_follow =
            context->session->user->unrestricted ||
            acl_check_reads_all(context->session->user, context->command, context->request);
    if (sort->may_follow)
        return true;
    resp_errorf(context->reply,
                "ERR %s option of SORT denied due to insufficient ACL permissions.", option);
    return false;
}

static bool read_get(struct context *context, size_t *at, const struct argument_option *option,
                     void *form)
{
    struct sort *sort = form;

    (void)option;
    if (!may_follow(context, sort, "GET"))
        return false;
    if (sort->get_count == SORT_GETS_MAX) {
        context_syntax_error(context);
        return false;
    }
    sort->gets[sort->get_count++] = (*at)++;
    return true;
}

/* A pattern without a star means: do not sort. */
static bool read_by(struct context *context, size_t *at, const struct argument_option *option,
                    void *form)
{
    struct sort *sort = form;
    struct argument pattern = context_argument(context, *at);

    (void)option;
    sort->by = (*at)++;
    if (memchr(pattern.data, '*', pattern.size) != NULL)
        return may_follow(context, sort, "BY");
    sort->unsorted = true;
    return true;
}

/* SORT_RO knows all but the first. */
static const struct argument_option options[] = {
    {"store", OPTION_INDEX(struct sort, store)},
    {"asc", OPTION_SETS(struct sort, direction), .number = SORT_ASCENDS},
    {"desc", OPTION_SETS(struct sort, direction), .number = SORT_DESCENDS},
    {"alpha", OPTION_FLAG(struct sort, alpha)},
    {"limit", OPTION_LIMIT(struct sort, limit)},
    {"by", OPTION_CUSTOM, .values = 1, .read = read_by},
    {"get", OPTION_CUSTOM, .values = 1, .read = read_get},
    {.name = NULL}};

static bool parse(struct context *context, struct sort *sort, bool read_only)
{
    if (!argument_options_read(context, 2, read_only ? options + 1 : options, sort))
        return false;
    if (sort->unsorted)
        sort->by = 0;
    return true;
}

/* ---- life */

static void undo(struct sort *sort)
{
    gathered_release(&sort->elements);
    gathered_sort_release(&sort->order);
    made_key_release(&sort->made);
}

static void free_sort(void *state)
{
    undo(state);
    free(state);
}

/* ---- the result */

static void clamp(const struct sort *sort, size_t *ret_first, size_t *ret_end)
{
    int64_t count = (int64_t)sort->elements.count,
            first = sort->limit.offset < 0 ? 0 : sort->limit.offset;
    int64_t end = sort->limit.count < 0 || sort->limit.count > count - first
                      ? count
                      : first + sort->limit.count;

    *ret_first = (size_t)(first > count ? count : first);
    *ret_end = (size_t)(end < (int64_t)*ret_first ? (int64_t)*ret_first : end);
}

static size_t values_of_each(const struct sort *sort)
{
    return sort->get_count == 0 ? 1 : sort->get_count;
}

/* The value of one GET, or the element itself when there is no GET. False: there is none. */
static bool value_of(struct sort *sort, const struct gathered_item *element, size_t get,
                     struct dueq_slice *ret_value)
{
    *ret_value = gathered_bytes(element);
    if (sort->get_count == 0)
        return true;
    sort_spend(sort, SORT_LOOKUP_STEPS);
    return sort_pattern_look_up(sort, context_argument(sort->context, sort->gets[get]), element,
                                ret_value);
}

static void give_one(struct sort *sort, const struct gathered_item *element, size_t get)
{
    struct keys_view view = database_view(sort->context);
    struct dueq_slice value;
    bool found = value_of(sort, element, get, &value);

    if (!found)
        value = dueq_slice(NULL, 0);
    if (sort->status != DUEQ_OK)
        return;
    if (sort->store > 0)
        sort->status = made_key_add(&sort->made, &view, value, 0, false);
    else if (found)
        resp_slice(sort->context->reply, value);
    else
        resp_null(sort->context->reply);
    sort_spend_on(sort, value);
}

static void begin_to_give(struct sort *sort)
{
    clamp(sort, &sort->given, &sort->end);
    sort->made.type = KEYS_LIST;
    if (sort->store == 0)
        resp_array(sort->context->reply, (sort->end - sort->given) * values_of_each(sort));
}

/* Gathers the whole result before it is stored: the destination may be one of the keys that the
 * patterns name. */
static void give(struct sort *sort)
{
    if (sort->made.type == KEYS_NONE)
        begin_to_give(sort);
    for (; sort->given < sort->end && sort->budget > 0 && !sort_is_too_long(sort);
         sort->given++)
        for (size_t get = 0; get < values_of_each(sort) && sort->status == DUEQ_OK; get++)
            give_one(sort, sort->elements.slots[sort->given].item, get);
}

/* ---- running */

/* Works until the budget is spent. True: the reply or the error is written. */
static bool advance(struct sort *sort, unsigned budget)
{
    struct context *context = sort->context;

    sort->budget = budget;
    if (sort->phase == SORT_READS)
        sort_elements_read(sort);
    if (sort->phase == SORT_WEIGHS && !sort_order_weigh(sort)) {
        resp_error(context->reply, "ERR One or more scores can't be converted into double");
        return true;
    }
    if (sort->phase == SORT_ORDERS && sort->status == DUEQ_OK)
        sort_order_step(sort);
    if (sort->phase == SORT_GIVES && sort->status == DUEQ_OK)
        give(sort);
    if (!context_check_status(context, sort->status))
        return true;
    if (sort->phase != SORT_GIVES || sort->given < sort->end)
        return false;
    if (sort->store > 0)
        made_key_store(&sort->made, context, context_slice(context, sort->store), "sortstore");
    return true;
}

static uint64_t steps_of(const struct sort *sort)
{
    uint64_t each = 1 + (uint64_t)SORT_LOOKUP_STEPS * ((sort->by > 0) + sort->get_count);

    return sort->count > UINT64_MAX / each ? UINT64_MAX : sort->count * each;
}

/* False: its values are large. Nothing is done, or written. */
static bool run_whole(struct sort *sort)
{
    size_t mark = buffer_size(sort->context->reply->out);
    bool done;

    sort->made.in_memory = true;
    done = advance(sort, GATHERED_WHOLE);
    undo(sort);
    if (!done)
        buffer_truncate(sort->context->reply->out, mark);
    return done;
}

/* Begins again, as if the command came now. False: the error is written. */
static bool begin_again(struct sort *sort)
{
    undo(sort);
    sort->order = (struct gathered_sort){.width = 0};
    sort->made = (struct made_key){.type = KEYS_NONE};
    sort->phase = SORT_READS;
    sort->weighed = sort->given = 0;
    return sort_elements_begin(sort);
}

static enum outcome put_off(struct context *context, const struct sort *sort)
{
    struct sort *state = malloc(sizeof(*state));

    if (state == NULL)
        return context_status(context, DUEQ_NOMEM);
    *state = *sort;
    return long_work_continue(context, state, free_sort, LONG_HOLDS_SOURCES);
}

/* Must the work begin again? The key may have changed, or the store may have been reopened. */
static bool is_spoiled(const struct sort *sort)
{
    struct keys_view view = database_view(sort->context);
    const struct keys_build *build = sort->made.build;

    return (sort->phase == SORT_READS && long_work_keys_changed(sort->context)) ||
           (build != NULL && !keys_build_is_sound(build, &view));
}

static enum outcome go_on(struct context *context, struct sort *sort)
{
    sort->context = context;
    if (sort->store > 0 &&
        !context_check_status(context, dueq_room(context->store, SLICE_ROOM)))
        return OUTCOME_DONE;
    if (is_spoiled(sort) && !begin_again(sort))
        return OUTCOME_DONE;
    if (advance(sort, LONG_STEPS))
        return OUTCOME_DONE;
    long_work_state_holds(context, sort->elements.memory + sort->made.gathered.memory);
    return long_work_continue(context, sort, free_sort, LONG_HOLDS_SOURCES);
}

static enum outcome sort_key(struct context *context, bool read_only)
{
    struct sort sort = {.context = context, .limit.count = -1};

    if (long_work_state(context) != NULL)
        return go_on(context, long_work_state(context));
    if (!parse(context, &sort, read_only) || !sort_elements_begin(&sort))
        return OUTCOME_DONE;
    if (steps_of(&sort) <= LONG_ENOUGH && (run_whole(&sort) || !begin_again(&sort)))
        return OUTCOME_DONE;
    return long_work_fits(context, sort.count) ? put_off(context, &sort) : OUTCOME_DONE;
}

static enum outcome run_sort(struct context *context)
{
    return sort_key(context, false);
}

static enum outcome run_sort_ro(struct context *context)
{
    return sort_key(context, true);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "sort",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_MOVABLEKEYS,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0 RO,access@?/?!For the optional BY/GET keyword. It is "
                  "marked 'unknown' because the key names derive from the content of the key "
                  "we sort! OW,update@?STORE^2/?!For the optional STORE keyword. It is marked "
                  "'unknown' because the keyword can appear anywhere in the argument array!",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Sort the elements in a list, set or sorted set",
     .complexity = "O(N+M*log(M)) where N is the number of elements in the list or set to "
                   "sort, and M the number of returned elements. When the elements are not "
                   "sorted, complexity is O(N).",
     .syntax = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] "
               "[ASC|DESC] [ALPHA] [STORE destination]",
     .categories = "set sortedset list dangerous",
     .run = run_sort},
    {.name = "sort_ro",
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_MOVABLEKEYS,
     .keys = {1, 1, 1},
     .key_specs =
         "RO,access@1/r0:1:0 RO,access@?/?!For the optional BY/GET keyword. It is marked "
         "'unknown' because the key names derive from the content of the key we sort!",
     .group = "generic",
     .since = "7.0.0",
     .summary = "Sort the elements in a list, set or sorted set. Read-only variant of SORT.",
     .complexity = "O(N+M*log(M)) where N is the number of elements in the list or set to "
                   "sort, and M the number of returned elements. When the elements are not "
                   "sorted, complexity is O(N).",
     .syntax = "key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] "
               "[ASC|DESC] [ALPHA]",
     .categories = "set sortedset list dangerous",
     .run = run_sort_ro},
    {.name = NULL}};

COMMANDS(sort, entries)
