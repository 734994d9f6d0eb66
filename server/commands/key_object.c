#include "server/commands/key_object.h"

#include "protocol/number.h"
#include "storage/keys/keys.h"
#include "storage/keys/string.h"

enum { SHARED_INTEGERS = 10000 };

int64_t key_object_references(const struct keys_view *view, struct dueq_slice name,
                              const struct keys_info *info)
{
    struct dueq_slice value = {NULL, 0};
    int64_t number;

    if (info->encoding == KEYS_INT)
        string_get(view, name, &value);
    return number_parse_integer(value.data, value.size, &number) && number >= 0 &&
                   number < SHARED_INTEGERS
               ? INT32_MAX
               : 1;
}

int64_t key_object_idle(const struct keys_view *view, struct dueq_slice name)
{
    int64_t used = 0;

    keys_last_used(view, name, &used);
    return used < view->time.now ? (view->time.now - used) / 1000 : 0;
}
