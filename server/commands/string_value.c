#include "server/commands/string_value.h"

#include "server/commands/database.h"
#include "server/server.h"
#include "storage/keys/string.h"
#include "storage/store.h"

size_t string_value_max(const struct context *context)
{
    int64_t most = context->server->config.proto_max_bulk_len;

    return most < (int64_t)DUEQ_BODY_MAX ? (size_t)most : DUEQ_BODY_MAX;
}

bool string_value_read(struct context *context, struct dueq_slice name,
                       struct dueq_slice *ret_value, bool *ret_found)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = string_get(&view, name, ret_value);

    if (!context_check_status(context, status))
        return false;
    if (status == DUEQ_NOTFOUND)
        *ret_value = dueq_slice("", 0);
    if (ret_found != NULL)
        *ret_found = status == DUEQ_OK;
    return true;
}

bool string_value_write(struct context *context, struct dueq_slice name,
                        struct dueq_slice value, int64_t expires, enum string_origin origin,
                        const char *event)
{
    struct keys_view view = database_view(context);

    if (!context_check_status(context, dueq_room(context->store, value.size)) ||
        !context_check_status(context, string_set(&view, name, value, expires, origin)))
        return false;
    database_notify(context, EVENT_STRING, event, name);
    return true;
}
