/* SORT, SORT_RO. A long SORT goes on in later turns (long_work.h). It sorts the elements that
 * the key has at one time; keys that patterns name are read when their turn comes. */
#include "server/commands/made_key.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "storage/dueq.h"
#include "storage/keys/hash.h"
#include "storage/keys/keys_build.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GETS_MAX = 1024,
    SCANNED = 16,               /* members of one scan */
    STEP_BYTES = 1024,          /* a longer value counts as several steps */
    LOOKUP_STEPS = 4,           /* to read another key */
    SLICE_ROOM = 4 << 20,       /* bytes by which a list in the store may grow in a turn */
    SORT_STEPS = 8 * LONG_STEPS /* comparisons of a turn */
};

struct sort {
    struct context *context;
    size_t gets[GETS_MAX]; /* arguments */
    size_t get_count;
    size_t by, store; /* arguments; 0: none */
    struct argument_limit limit;
    enum { SORT_ASCENDS, SORT_DESCENDS } direction;
    bool alpha, unsorted;

    /* progress */
    enum { SORT_READS, SORT_WEIGHS, SORT_ORDERS, SORT_GIVES } phase;
    enum keys_type type;        /* KEYS_NONE: there is no such key */
    uint64_t count;             /* of its elements */
    uint64_t cursor;            /* of set_scan: the next element */
    struct zset_position place; /* of zset_each_on: the next element */
    unsigned budget;            /* steps left in this turn; GATHERED_WHOLE: do all of it */
    struct gathered elements;
    size_t weighed, given; /* of the elements */
    size_t end;            /* of those that are given */
    struct gathered_sort order;
    struct made_key made; /* what is stored */
    enum dueq_status status;
};

/* ---- options */

static bool read_get(struct context *context, size_t *at, const struct argument_option *option,
                     void *form)
{
    struct sort *sort = form;

    (void)option;
    if (sort->get_count == GETS_MAX) {
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
    sort->unsorted |= memchr(pattern.data, '*', pattern.size) == NULL;
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

static void spend(struct sort *sort, size_t steps)
{
    if (sort->budget != GATHERED_WHOLE)
        sort->budget -= sort->budget < steps ? sort->budget : (unsigned)steps;
}

/* ---- elements */

/* A set has no order of its own, but what is stored must be the same each time. */
static void sort_for_store(struct sort *sort)
{
    if (!sort->unsorted || sort->store == 0 || sort->type != KEYS_SET)
        return;
    sort->unsorted = false;
    sort->alpha = true;
}

/* Finds the type and size of the key. False: the error is written. */
static bool begin(struct sort *sort)
{
    struct keys_view view = database_view(sort->context);
    struct keys_info info = {.type = KEYS_NONE};
    enum dueq_status status = keys_info(&view, context_slice(sort->context, 1), &info);

    if (status == DUEQ_OK && info.type != KEYS_LIST && info.type != KEYS_SET &&
        info.type != KEYS_ZSET)
        status = DUEQ_WRONGTYPE;
    sort->type = info.type;
    sort->count = info.type == KEYS_NONE ? 0 : info.count;
    sort->cursor = 0;
    sort->place = (struct zset_position){.again = false};
    sort_for_store(sort);
    return context_check_status(sort->context, status);
}

static bool collect(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct sort *sort = arg;

    (void)value;
    if (gathered_add(&sort->elements, element, 0, false) == NULL)
        sort->status = DUEQ_NOMEM;
    spend(sort, 1 + element.size / STEP_BYTES);
    return sort->status == DUEQ_OK && (sort->type == KEYS_SET || sort->budget > 0);
}

static bool collect_scored(void *arg, const struct zset_entry *entry)
{
    return collect(arg, entry->member, dueq_slice(NULL, 0));
}

/* Reads lists and sorted sets in their own order, or in reverse for DESC without sorting. */
static enum dueq_status read_list(struct sort *sort, const struct keys_view *view,
                                  struct dueq_slice name)
{
    uint64_t at = sort->elements.count;

    if (sort->unsorted && sort->direction == SORT_DESCENDS)
        return list_each(view, name, sort->count - 1 - at, LIST_HEAD, collect, sort);
    return list_each(view, name, at, LIST_TAIL, collect, sort);
}

static enum dueq_status read_set(struct sort *sort, const struct keys_view *view,
                                 struct dueq_slice name)
{
    uint64_t count = sort->budget == GATHERED_WHOLE ? UINT64_MAX : SCANNED;
    uint64_t next = 0;
    enum dueq_status status = set_scan(view, name, sort->cursor, count, collect, sort, &next);

    sort->cursor = next;
    return status;
}

static enum dueq_status read_zset(struct sort *sort, const struct keys_view *view,
                                  struct dueq_slice name)
{
    const struct zset_range all = {{.kind = ZSET_FIRST},
                                   {.kind = ZSET_LAST},
                                   .reverse =
                                       sort->unsorted && sort->direction == SORT_DESCENDS};

    return zset_each_on(view, name, &all, &sort->place, collect_scored, sort);
}

/* Reads until the budget is spent. */
static void read_elements(struct sort *sort)
{
    struct keys_view view = database_view(sort->context);
    struct dueq_slice name = context_slice(sort->context, 1);

    while (sort->elements.count < sort->count && sort->budget > 0 && sort->status == DUEQ_OK) {
        uint64_t before = sort->elements.count;
        enum dueq_status status;

        if (sort->type == KEYS_LIST)
            status = read_list(sort, &view, name);
        else if (sort->type == KEYS_SET)
            status = read_set(sort, &view, name);
        else
            status = read_zset(sort, &view, name);
        if (sort->status == DUEQ_OK)
            sort->status = status;
        if (sort->elements.count == before && sort->status == DUEQ_OK)
            sort->status = DUEQ_CORRUPT; /* fewer elements than the count says */
    }
    if (sort->elements.count >= sort->count)
        sort->phase = sort->unsorted ? SORT_GIVES : SORT_WEIGHS;
}

/* ---- patterns: weight_* and object_*->field, the star being the element */

/* Looks the pattern up for an element; false: there is no such key or field. */
static bool look_up(struct sort *sort, struct argument pattern,
                    const struct gathered_item *element, struct dueq_slice *ret_value)
{
    struct keys_view view = database_view(sort->context);
    const char *star = memchr(pattern.data, '*', pattern.size), *arrow = NULL;
    size_t head, tail, field = 0;
    char *name;
    enum dueq_status status;

    if (pattern.size == 1 && *pattern.data == '#') {
        *ret_value = dueq_slice(element->bytes, element->size);
        return true;
    }
    if (star == NULL)
        return false;
    head = (size_t)(star - pattern.data);
    tail = pattern.size - head - 1;
    arrow = memmem(star + 1, tail, "->", 2);
    if (arrow != NULL && arrow + 2 < pattern.data + pattern.size) {
        field = (size_t)(pattern.data + pattern.size - arrow) - 2;
        tail = (size_t)(arrow - star) - 1;
    }
    name = malloc(head + element->size + tail + 1);
    if (name == NULL) {
        sort->status = DUEQ_NOMEM;
        return false;
    }
    memcpy(name, pattern.data, head);
    memcpy(name + head, element->bytes, element->size);
    memcpy(name + head + element->size, star + 1, tail);
    if (field > 0)
        status = hash_get(&view, dueq_slice(name, head + element->size + tail),
                          dueq_slice(arrow + 2, field), ret_value);
    else
        status = string_get(&view, dueq_slice(name, head + element->size + tail), ret_value);
    free(name);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND && status != DUEQ_WRONGTYPE)
        sort->status = status;
    return status == DUEQ_OK;
}

/* ---- order */

/* As in Redis a NUL ends the number and the bytes after it are ignored. */
static bool parse_score(const char *text, double *ret_score)
{
    char *end;

    errno = 0;
    *ret_score = strtod(text, &end);
    return *end == '\0' && errno != ERANGE && !isnan(*ret_score);
}

/* Sets the key by which the element is compared. False: its score is not a number. */
static bool weigh_one(struct sort *sort, struct gathered_item *element)
{
    struct dueq_slice value;
    const char *text = element->bytes;

    if (sort->by > 0) {
        spend(sort, LOOKUP_STEPS);
        if (!look_up(sort, context_argument(sort->context, sort->by), element, &value))
            return true;
        element->by = gathered_keep(&sort->elements, value);
        if (element->by == NULL) {
            sort->status = DUEQ_NOMEM;
            return true;
        }
        text = element->by->bytes;
    }
    return sort->alpha || parse_score(text, &element->score);
}

/* False: a score is not a number. */
static bool weigh(struct sort *sort)
{
    if (sort->alpha && sort->by == 0)
        sort->weighed = sort->elements.count;
    while (sort->weighed < sort->elements.count && sort->budget > 0 &&
           sort->status == DUEQ_OK) {
        if (!weigh_one(sort, sort->elements.slots[sort->weighed++].item))
            return false;
        spend(sort, 1);
    }
    if (sort->weighed == sort->elements.count)
        sort->phase = SORT_ORDERS;
    return true;
}

static struct dueq_slice text_of(const struct gathered_text *text)
{
    return dueq_slice(text->bytes, text->size);
}

/* Compares by the locale for a reply and by bytes for STORE, as Redis does. */
static int compare_texts(const struct sort *sort, struct dueq_slice a, struct dueq_slice b)
{
    return sort->store > 0 ? dueq_slice_compare(a, b) : strcoll(a.data, b.data);
}

static int compare_alpha(const struct sort *sort, const struct gathered_item *a,
                         const struct gathered_item *b)
{
    if (sort->by == 0)
        return compare_texts(sort, gathered_bytes(a), gathered_bytes(b));
    if (a->by == NULL || b->by == NULL)
        return (a->by != NULL) - (b->by != NULL);
    return compare_texts(sort, text_of(a->by), text_of(b->by));
}

/* Equal elements are ordered by their bytes, as in Redis. */
static int compare(const struct gathered_slot *a, const struct gathered_slot *b,
                   const void *arg)
{
    const struct sort *sort = arg;
    int order = sort->alpha ? compare_alpha(sort, a->item, b->item)
                            : (a->score > b->score) - (a->score < b->score);

    if (order == 0 && !sort->alpha)
        order = dueq_slice_compare(gathered_bytes(a->item), gathered_bytes(b->item));
    return sort->direction == SORT_DESCENDS ? -order : order;
}

static void put_in_order(struct sort *sort)
{
    unsigned budget = sort->budget == GATHERED_WHOLE ? GATHERED_WHOLE : SORT_STEPS;

    sort->order.compare = compare;
    sort->order.arg = sort;
    if (!gathered_sort_step(&sort->elements, &sort->order, budget))
        return;
    if (sort->elements.failed)
        sort->status = DUEQ_NOMEM;
    sort->phase = SORT_GIVES;
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
    spend(sort, LOOKUP_STEPS);
    return look_up(sort, context_argument(sort->context, sort->gets[get]), element, ret_value);
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
    spend(sort, 1 + value.size / STEP_BYTES);
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
    for (; sort->given < sort->end && sort->budget > 0; sort->given++)
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
        read_elements(sort);
    if (sort->phase == SORT_WEIGHS && !weigh(sort)) {
        resp_error(context->reply, "ERR One or more scores can't be converted into double");
        return true;
    }
    if (sort->phase == SORT_ORDERS && sort->status == DUEQ_OK)
        put_in_order(sort);
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
    uint64_t each = 1 + (uint64_t)LOOKUP_STEPS * ((sort->by > 0) + sort->get_count);

    return sort->count > UINT64_MAX / each ? UINT64_MAX : sort->count * each;
}

static enum outcome run_whole(struct sort *sort)
{
    sort->made.in_memory = true;
    advance(sort, GATHERED_WHOLE);
    undo(sort);
    return OUTCOME_DONE;
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

/* Begins again, as if the command came now. False: the error is written. */
static bool begin_again(struct sort *sort)
{
    undo(sort);
    sort->order = (struct gathered_sort){.width = 0};
    sort->made = (struct made_key){.type = KEYS_NONE};
    sort->phase = SORT_READS;
    sort->weighed = 0;
    return begin(sort);
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
    context_state_holds(context, sort->elements.memory + sort->made.gathered.memory);
    return long_work_continue(context, sort, free_sort, LONG_HOLDS_SOURCES);
}

static enum outcome sort_key(struct context *context, bool read_only)
{
    struct sort sort = {.context = context, .limit.count = -1};

    if (long_work_state(context) != NULL)
        return go_on(context, long_work_state(context));
    if (!parse(context, &sort, read_only) || !begin(&sort))
        return OUTCOME_DONE;
    if (steps_of(&sort) <= LONG_ENOUGH)
        return run_whole(&sort);
    if (context->may_wait)
        return put_off(context, &sort);
    return long_work_fits_transaction(context, sort.count) ? run_whole(&sort) : OUTCOME_DONE;
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
