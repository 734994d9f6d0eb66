#include "server/commands/database.h"
#include "storage/store.h"

#include "server/server.h"
#include "server/session/notifications.h"
#include "server/session/waiters.h"

struct keys_view database_view(const struct context *context)
{
    return (struct keys_view){store_keys(context->store), context->session->database,
                              context->now};
}

void database_notify(struct context *context, enum keyspace_event type, const char *event,
                     struct dueq_slice key)
{
    notifications_publish(context->server, type, event, context->session->database, key);
}

void database_notify_in(struct context *context, unsigned database, enum keyspace_event type,
                        const char *event, struct dueq_slice key)
{
    notifications_publish(context->server, type, event, database, key);
}

bool database_contains(const struct keys_view *view, struct dueq_slice key)
{
    struct keys_info info;

    return keys_find(view, key, &info) == DUEQ_OK;
}

enum dueq_status database_count_elements(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count)
{
    struct keys_view view = database_view(context);
    struct keys_info info = {.count = 0};
    enum dueq_status status = keys_info(&view, key, &info);

    if (status == DUEQ_OK && info.type != type)
        return DUEQ_WRONGTYPE;
    *ret_count = info.count;
    return status;
}

enum dueq_status database_count_for_wait(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count)
{
    enum dueq_status status = database_count_elements(context, key, type, ret_count);

    return status == DUEQ_WRONGTYPE && waiters_is_woken(context) ? DUEQ_NOTFOUND : status;
}

bool database_read_count(struct context *context, struct dueq_slice key, enum keys_type type,
                         uint64_t *ret_count)
{
    return context_check_status(context,
                                database_count_elements(context, key, type, ret_count));
}

void database_notify_if_removed(struct context *context, struct dueq_slice key)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    if (keys_info(&view, key, &info) == DUEQ_NOTFOUND)
        database_notify(context, EVENT_GENERIC, "del", key);
}
