/* OBJECT: what Redis would say of how a key is kept. dueq keeps all of a type alike; encodings
 * are those that Redis would have chosen, as tools look at them. */
#include "server/clients.h"
#include "server/commands/handlers.h"
#include "server/keyspace.h"
#include "server/server.h"

#include "protocol/number.h"

enum { EMBEDDED_MAX = 44, SHARED_INTEGERS = 10000 };

static bool is_integer(struct dueq_slice value, int64_t *ret_number)
{
    return value.size <= 20 && number_parse_integer(value.data, value.size, ret_number);
}

static const char *string_encoding(const struct keys_view *view, struct dueq_slice name)
{
    struct dueq_slice value = {NULL, 0};
    int64_t number;

    string_get(view, name, &value);
    if (is_integer(value, &number))
        return "int";
    return value.size <= EMBEDDED_MAX ? "embstr" : "raw";
}

/* What the elements of a small collection are like. */
struct elements {
    size_t largest;
    bool integers;
};

static bool look_at(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct elements *elements = arg;
    int64_t number;

    if (element.size > elements->largest)
        elements->largest = element.size;
    if (value.size > elements->largest)
        elements->largest = value.size;
    elements->integers = elements->integers && is_integer(element, &number);
    return true;
}

static bool look_at_scored(void *arg, const struct zset_entry *entry)
{
    return look_at(arg, entry->member, dueq_slice(NULL, 0));
}

static const char *set_encoding(const struct config *config, const struct keys_view *view,
                                struct dueq_slice name, uint64_t count)
{
    struct elements elements = {0, true};

    if (count > (uint64_t)config->set_max_intset_entries)
        return "hashtable";
    set_each(view, name, look_at, &elements);
    return elements.integers ? "intset" : "hashtable";
}

static const char *hash_encoding(const struct config *config, const struct keys_view *view,
                                 struct dueq_slice name, uint64_t count)
{
    struct elements elements = {0, true};

    if (count > (uint64_t)config->hash_max_listpack_entries)
        return "hashtable";
    hash_each(view, name, look_at, &elements);
    return elements.largest <= (size_t)config->hash_max_listpack_value ? "listpack"
                                                                       : "hashtable";
}

static const char *zset_encoding(const struct config *config, const struct keys_view *view,
                                 struct dueq_slice name, uint64_t count)
{
    struct elements elements = {0, true};
    uint64_t next;

    if (count > (uint64_t)config->zset_max_listpack_entries)
        return "skiplist";
    zset_scan(view, name, 0, UINT64_MAX, look_at_scored, &elements, &next);
    return elements.largest <= (size_t)config->zset_max_listpack_value ? "listpack"
                                                                       : "skiplist";
}

static const char *encoding(const struct context *context, const struct keys_view *view,
                            struct dueq_slice name, const struct keys_info *info)
{
    const struct config *config = &context->server->config;

    switch (info->type) {
    case KEYS_STRING:
        return string_encoding(view, name);
    case KEYS_LIST:
        return "quicklist";
    case KEYS_SET:
        return set_encoding(config, view, name, info->count);
    case KEYS_ZSET:
        return zset_encoding(config, view, name, info->count);
    case KEYS_HASH:
        return hash_encoding(config, view, name, info->count);
    case KEYS_NONE:
        break;
    }
    return "unknown";
}

/* False: the reply is written. */
static bool find(struct context *context, struct keys_info *ret_info)
{
    struct keys_view view = context_view(context);
    enum dueq_status status = keys_info(&view, context_slice(context, 2), ret_info);

    if (status == DUEQ_NOTFOUND)
        resp_null(context->reply);
    return context_check(context, status) && status == DUEQ_OK;
}

enum outcome run_object_encoding(struct context *context)
{
    struct keys_view view = context_view(context);
    struct keys_info info;

    if (find(context, &info))
        resp_string(context->reply, encoding(context, &view, context_slice(context, 2), &info));
    return OUTCOME_DONE;
}

/* Redis shares the small integers among all strings, and says so by the greatest number. */
enum outcome run_object_refcount(struct context *context)
{
    struct keys_view view = context_view(context);
    struct keys_info info;
    struct dueq_slice value = {NULL, 0};
    int64_t number;

    if (!find(context, &info))
        return OUTCOME_DONE;
    if (info.type == KEYS_STRING)
        string_get(&view, context_slice(context, 2), &value);
    if (info.type == KEYS_STRING && is_integer(value, &number) && number >= 0 &&
        number < SHARED_INTEGERS)
        return context_integer_reply(context, INT32_MAX);
    return context_integer_reply(context, 1);
}

/* Nothing is evicted, so nobody notes when a key was used. */
enum outcome run_object_idletime(struct context *context)
{
    struct keys_info info;

    if (find(context, &info))
        resp_integer(context->reply, 0);
    return OUTCOME_DONE;
}

enum outcome run_object_freq(struct context *context)
{
    struct keys_info info;

    if (find(context, &info))
        resp_error(context->reply,
                   "ERR An LFU maxmemory policy is not selected, access frequency not tracked. "
                   "Please note that when switching between policies at runtime LRU and LFU "
                   "data will take some time to adjust.");
    return OUTCOME_DONE;
}

enum outcome run_object_help(struct context *context)
{
    return write_help(context);
}
