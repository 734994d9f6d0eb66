#include "server/commands/hashes/hash_fields.h"

#include "server/commands/database.h"
#include "storage/keys/hash.h"

bool hash_fields_read(struct context *context, struct dueq_slice field,
                      struct dueq_slice *ret_value, bool *ret_found)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = hash_get(&view, context_slice(context, 1), field, ret_value);

    *ret_found = status == DUEQ_OK;
    return context_check_status(context, status);
}

bool hash_fields_write(struct context *context, struct dueq_slice field,
                       struct dueq_slice value, bool *ret_added)
{
    struct keys_view view = database_view(context);

    return context_check_status(
        context, hash_set(&view, context_slice(context, 1), field, value, ret_added));
}
