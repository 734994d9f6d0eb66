/* OBJECT: what Redis would say of how a key is kept. */
#include "server/clients.h"
#include "server/commands/handlers.h"
#include "server/keyspace.h"
#include "server/server.h"

#include "protocol/number.h"

enum { SHARED_INTEGERS = 10000 };

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
    struct keys_info info;

    if (find(context, &info))
        resp_string(context->reply, keys_encoding_name(info.encoding));
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
    if (info.encoding == KEYS_INT)
        string_get(&view, context_slice(context, 2), &value);
    if (number_parse_integer(value.data, value.size, &number) && number >= 0 &&
        number < SHARED_INTEGERS)
        return context_integer_reply(context, INT32_MAX);
    return context_integer_reply(context, 1);
}

/* At the least, for a key that is not among those used of late. */
enum outcome run_object_idletime(struct context *context)
{
    struct keys_view view = context_view(context);
    struct keys_info info;
    int64_t used = 0;

    if (!find(context, &info))
        return OUTCOME_DONE;
    keys_last_use(&view, context_slice(context, 2), &used);
    return context_integer_reply(context, used < view.now ? (view.now - used) / 1000 : 0);
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
