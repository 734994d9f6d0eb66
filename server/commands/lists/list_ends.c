#include "server/commands/lists/list_ends.h"

#include "server/dispatch/arguments.h"

void list_ends_notify_popped(struct context *context, struct dueq_slice key, enum list_end end)
{
    database_notify(context, EVENT_LIST, end == LIST_HEAD ? "lpop" : "rpop", key);
    database_notify_if_removed(context, key);
}

bool list_ends_read(struct context *context, size_t index, enum list_end *ret_end)
{
    static const char *const words[] = {"left", "right", NULL};
    unsigned end;

    if (!arguments_choice(context, index, words, &end))
        return false;
    *ret_end = end == 0 ? LIST_HEAD : LIST_TAIL;
    return true;
}
