/* SORT, SORT_RO. */
#include "server/commands/handlers.h"
#include "server/keyspace.h"

#include "protocol/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GETS_MAX = 1024 };

struct sort_element {
    char *bytes; /* NUL behind them */
    size_t size;
    char *by; /* ALPHA with BY: what is compared; NULL: there is none */
    size_t by_size;
    double score;
};

struct sort {
    struct context *context;
    struct sort_element *elements;
    size_t count, capacity;
    size_t gets[GETS_MAX]; /* arguments */
    size_t get_count;
    size_t by, store; /* arguments; 0: none */
    int64_t offset, limit;
    bool descending, alpha, unsorted;
    enum dueq_status failure; /* what could not be read, or out of memory */
};

/* ---- options */

static bool parse_limit(struct context *context, size_t at, struct sort *sort)
{
    return context_integer(context, at + 1, &sort->offset) &&
           context_integer(context, at + 2, &sort->limit);
}

/* Words without values, and with one. False: none of them. */
static bool parse_word(struct context *context, size_t *at, struct sort *sort, bool read_only)
{
    size_t left = context_count(context) - *at - 1;

    if (context_is(context, *at, "asc"))
        sort->descending = false;
    else if (context_is(context, *at, "desc"))
        sort->descending = true;
    else if (context_is(context, *at, "alpha"))
        sort->alpha = true;
    else if (context_is(context, *at, "store") && left >= 1 && !read_only)
        sort->store = ++*at;
    else if (context_is(context, *at, "by") && left >= 1)
        sort->by = ++*at;
    else if (context_is(context, *at, "get") && left >= 1 && sort->get_count < GETS_MAX)
        sort->gets[sort->get_count++] = ++*at;
    else
        return false;
    return true;
}

/* A pattern without a star asks for no order at all. */
static void read_by(struct sort *sort)
{
    struct argument pattern;

    if (sort->by == 0)
        return;
    pattern = context_argument(sort->context, sort->by);
    if (memchr(pattern.data, '*', pattern.size) == NULL) {
        sort->unsorted = true;
        sort->by = 0;
    }
}

static bool parse(struct context *context, struct sort *sort, bool read_only)
{
    for (size_t at = 2; at < context_count(context); at++) {
        if (parse_word(context, &at, sort, read_only))
            continue;
        if (!context_is(context, at, "limit") || at + 2 >= context_count(context)) {
            context_syntax_error(context);
            return false;
        }
        if (!parse_limit(context, at, sort))
            return false;
        at += 2;
    }
    read_by(sort);
    return true;
}

/* ---- elements */

static char *duplicate(struct dueq_slice value)
{
    char *bytes = malloc(value.size + 1);

    if (bytes == NULL)
        return NULL;
    if (value.size > 0)
        memcpy(bytes, value.data, value.size);
    bytes[value.size] = '\0';
    return bytes;
}

static bool grow(struct sort *sort)
{
    size_t capacity = sort->capacity == 0 ? 64 : sort->capacity * 2;
    struct sort_element *grown;

    if (sort->count < sort->capacity)
        return true;
    grown = realloc(sort->elements, capacity * sizeof(*grown));
    if (grown == NULL)
        return false;
    sort->elements = grown;
    sort->capacity = capacity;
    return true;
}

static bool collect(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct sort *sort = arg;
    char *bytes = grow(sort) ? duplicate(element) : NULL;

    (void)value;
    if (bytes == NULL) {
        sort->failure = DUEQ_NOMEM;
        return false;
    }
    sort->elements[sort->count++] = (struct sort_element){.bytes = bytes, .size = element.size};
    return true;
}

static bool collect_scored(void *arg, const struct zset_entry *entry)
{
    return collect(arg, entry->member, dueq_slice(NULL, 0));
}

/* A set has no order of its own, but what is stored must be the same each time. */
static void sort_for_store(struct sort *sort)
{
    if (!sort->unsorted || sort->store == 0)
        return;
    sort->unsorted = false;
    sort->alpha = true;
}

/* Lists and zsets are read in their order, which DESC turns around when nothing else is asked
 * for. */
static enum dueq_status load(struct sort *sort, const struct keys_view *view,
                             struct dueq_slice name)
{
    struct keys_info info;
    enum dueq_status status = keys_info(view, name, &info);
    bool reverse = sort->unsorted && sort->descending;

    if (status != DUEQ_OK)
        return status;
    switch (info.type) {
    case KEYS_LIST:
        return reverse ? list_each(view, name, info.count - 1, LIST_HEAD, collect, sort)
                       : list_each(view, name, 0, LIST_TAIL, collect, sort);
    case KEYS_SET:
        sort_for_store(sort);
        return set_each(view, name, collect, sort);
    case KEYS_ZSET:
        return zset_each_from(view, name, 0, reverse, collect_scored, sort);
    case KEYS_STRING:
    case KEYS_HASH:
    case KEYS_NONE:
        break;
    }
    return DUEQ_WRONGTYPE;
}

static void release(struct sort *sort)
{
    for (size_t i = 0; i < sort->count; i++) {
        free(sort->elements[i].bytes);
        free(sort->elements[i].by);
    }
    free(sort->elements);
}

/* ---- patterns: weight_* and object_*->field, the star being the element */

/* Looks the pattern up for an element; false: there is no such key or field. */
static bool look_up(struct sort *sort, struct argument pattern,
                    const struct sort_element *element, struct dueq_slice *ret_value)
{
    struct keys_view view = context_view(sort->context);
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
    if (name == NULL)
        return false;
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
        sort->failure = status;
    return status == DUEQ_OK;
}

/* ---- order */

/* As in Redis a NUL ends the number, and the rest is not looked at. */
static bool parse_score(const char *text, double *ret_score)
{
    char *end;

    errno = 0;
    *ret_score = strtod(text, &end);
    return *end == '\0' && errno != ERANGE && !isnan(*ret_score);
}

/* What each element is compared by. False: some score is no number. */
static bool weigh(struct sort *sort)
{
    for (size_t i = 0; i < sort->count; i++) {
        struct sort_element *element = &sort->elements[i];
        struct dueq_slice value = {element->bytes, element->size};
        bool found = true;
        char *text;

        if (sort->by > 0)
            found = look_up(sort, context_argument(sort->context, sort->by), element, &value);
        if (!found || (sort->alpha && sort->by == 0))
            continue;
        text = duplicate(value);
        if (text == NULL) {
            sort->failure = DUEQ_NOMEM;
            return true;
        }
        element->by = text;
        element->by_size = value.size;
        if (!sort->alpha && !parse_score(text, &element->score))
            return false;
    }
    return true;
}

static int compare_bytes(const char *a, size_t a_size, const char *b, size_t b_size)
{
    return dueq_slice_compare(dueq_slice(a, a_size), dueq_slice(b, b_size));
}

/* By the locale what is shown, by the bytes what is stored. */
static int compare_texts(const struct sort *sort, const char *a, size_t a_size, const char *b,
                         size_t b_size)
{
    return sort->store > 0 ? compare_bytes(a, a_size, b, b_size) : strcoll(a, b);
}

static int compare_alpha(const struct sort *sort, const struct sort_element *a,
                         const struct sort_element *b)
{
    if (sort->by == 0)
        return compare_texts(sort, a->bytes, a->size, b->bytes, b->size);
    if (a->by == NULL || b->by == NULL)
        return (a->by != NULL) - (b->by != NULL);
    return compare_texts(sort, a->by, a->by_size, b->by, b->by_size);
}

/* qsort_r: elements that compare alike are put into the order of their bytes, as Redis does. */
static int compare(const void *left, const void *right, void *arg)
{
    const struct sort *sort = arg;
    const struct sort_element *a = left, *b = right;
    int order =
        sort->alpha ? compare_alpha(sort, a, b) : (a->score > b->score) - (a->score < b->score);

    if (order == 0 && !sort->alpha)
        order = compare_bytes(a->bytes, a->size, b->bytes, b->size);
    return sort->descending ? -order : order;
}

/* ---- the result */

static void clamp(const struct sort *sort, size_t *ret_first, size_t *ret_end)
{
    int64_t count = (int64_t)sort->count, first = sort->offset < 0 ? 0 : sort->offset;
    int64_t end = sort->limit < 0 || sort->limit > count - first ? count : first + sort->limit;

    *ret_first = (size_t)(first > count ? count : first);
    *ret_end = (size_t)(end < (int64_t)*ret_first ? (int64_t)*ret_first : end);
}

static size_t values_of_each(const struct sort *sort)
{
    return sort->get_count == 0 ? 1 : sort->get_count;
}

static void write_one(struct sort *sort, const struct sort_element *element)
{
    struct dueq_slice value;

    if (sort->get_count == 0)
        resp_bulk(sort->context->reply, element->bytes, element->size);
    for (size_t i = 0; i < sort->get_count; i++) {
        if (look_up(sort, context_argument(sort->context, sort->gets[i]), element, &value))
            resp_slice(sort->context->reply, value);
        else
            resp_null(sort->context->reply);
    }
}

static enum outcome write_result(struct sort *sort, size_t first, size_t end)
{
    resp_array(sort->context->reply, (end - first) * values_of_each(sort));
    for (size_t i = first; i < end; i++)
        write_one(sort, &sort->elements[i]);
    return sort->failure == DUEQ_OK ? OUTCOME_DONE
                                    : context_status(sort->context, sort->failure);
}

/* ---- STORE */

struct stored_value {
    char *bytes;
    size_t size;
};

static bool read_value(struct sort *sort, const struct sort_element *element, size_t get,
                       struct stored_value *value)
{
    struct dueq_slice found = {element->bytes, element->size};

    if (sort->get_count > 0 &&
        !look_up(sort, context_argument(sort->context, sort->gets[get]), element, &found))
        found = dueq_slice(NULL, 0);
    *value = (struct stored_value){duplicate(found), found.size};
    return value->bytes != NULL;
}

/* All of them, before anything changes: the target may be one of the keys that are looked up.
 */
static bool read_values(struct sort *sort, size_t first, size_t end,
                        struct stored_value *values)
{
    size_t each = values_of_each(sort);

    for (size_t i = first; i < end; i++)
        for (size_t get = 0; get < each; get++)
            if (!read_value(sort, &sort->elements[i], get, values++))
                return false;
    return true;
}

static void store_values(struct context *context, struct dueq_slice name,
                         const struct stored_value *values, size_t count)
{
    struct keys_view view = context_view(context);
    bool was_there =
        (count > 0 ? keys_make_way(&view, name) : keys_del(&view, name)) == DUEQ_OK;

    for (size_t i = 0; i < count; i++)
        list_push(&view, name, LIST_TAIL, dueq_slice(values[i].bytes, values[i].size));
    if (count > 0)
        context_notify(context, EVENT_LIST, "sortstore", name);
    else if (was_there)
        context_notify(context, EVENT_GENERIC, "del", name);
    context_integer_reply(context, (int64_t)count);
}

static enum outcome store_result(struct sort *sort, size_t first, size_t end)
{
    struct context *context = sort->context;
    size_t count = (end - first) * values_of_each(sort);
    struct stored_value *values = calloc(count + 1, sizeof(*values));

    if ((values == NULL || !read_values(sort, first, end, values)) && sort->failure == DUEQ_OK)
        sort->failure = DUEQ_NOMEM;
    if (sort->failure == DUEQ_OK)
        store_values(context, context_slice(context, sort->store), values, count);
    else
        context_status(context, sort->failure);
    for (size_t i = 0; values != NULL && i < count; i++)
        free(values[i].bytes);
    free(values);
    return OUTCOME_DONE;
}

static enum outcome run(struct sort *sort)
{
    size_t first, end;

    if (!sort->unsorted && !weigh(sort)) {
        resp_error(sort->context->reply,
                   "ERR One or more scores can't be converted into double");
        return OUTCOME_DONE;
    }
    if (sort->failure != DUEQ_OK)
        return context_status(sort->context, sort->failure);
    if (!sort->unsorted && sort->count > 1)
        qsort_r(sort->elements, sort->count, sizeof(*sort->elements), compare, sort);
    clamp(sort, &first, &end);
    return sort->store > 0 ? store_result(sort, first, end) : write_result(sort, first, end);
}

static enum outcome sort_key(struct context *context, bool read_only)
{
    struct keys_view view = context_view(context);
    struct sort sort = {.context = context, .limit = -1};
    enum outcome outcome = OUTCOME_DONE;

    if (!parse(context, &sort, read_only))
        return OUTCOME_DONE;
    if (context_check(context, load(&sort, &view, context_slice(context, 1))))
        outcome = run(&sort);
    release(&sort);
    return outcome;
}

enum outcome run_sort(struct context *context)
{
    return sort_key(context, false);
}

enum outcome run_sort_ro(struct context *context)
{
    return sort_key(context, true);
}
