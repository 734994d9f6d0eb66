#include "server/acl/acl_log.h"

#include <stdlib.h>
#include <utlist.h>

enum { LOOKED_AT = 10, GROUPING_MS = 60000 }; /* as Redis */

const char *acl_reason_name(enum acl_reason reason)
{
    static const char *const names[] = {"", "command", "key", "auth", "channel"};

    return names[reason];
}

static void drop(struct acl_log *log, struct acl_entry *entry)
{
    DL_DELETE(log->newest, entry);
    log->count--;
    free(entry);
}

/* The bytes follow the entry, in its allocation. */
static struct dueq_slice keep(char **space, struct dueq_slice text)
{
    char *bytes = *space;

    if (text.size > 0)
        memcpy(bytes, text.data, text.size);
    *space += text.size;
    return dueq_slice(bytes, text.size);
}

static struct dueq_slice cut(struct dueq_slice text)
{
    return dueq_slice(text.data, text.size < ACL_LOG_TEXT_MAX ? text.size : ACL_LOG_TEXT_MAX);
}

/* NULL: out of memory. */
static struct acl_entry *copy(const struct acl_entry *entry)
{
    struct dueq_slice object = cut(entry->object), user = cut(entry->user);
    struct acl_entry *made =
        malloc(sizeof(*made) + object.size + user.size + entry->client.size);
    char *space;

    if (made == NULL)
        return NULL;
    space = (char *)(made + 1);
    *made = *entry;
    made->object = keep(&space, object);
    made->user = keep(&space, user);
    made->client = keep(&space, entry->client);
    made->count = 1;
    return made;
}

static bool is_same(const struct acl_entry *one, const struct acl_entry *other)
{
    int64_t apart = one->time - other->time;

    return one->reason == other->reason && one->in_multi == other->in_multi &&
           apart <= GROUPING_MS && apart >= -GROUPING_MS &&
           dueq_slice_equal(one->object, other->object) &&
           dueq_slice_equal(one->user, other->user);
}

static struct acl_entry *find_same(const struct acl_log *log, const struct acl_entry *entry)
{
    struct acl_entry *at = log->newest;

    for (unsigned i = 0; at != NULL && i < LOOKED_AT; i++, at = at->next)
        if (is_same(at, entry))
            return at;
    return NULL;
}

void acl_log_add(struct acl_log *log, const struct acl_entry *entry, uint64_t most)
{
    struct acl_entry *made = copy(entry), *same;

    if (made == NULL)
        return;
    same = find_same(log, made);
    if (same != NULL) {
        made->count = same->count + 1;
        drop(log, same);
    }
    DL_PREPEND(log->newest, made);
    log->count++;
    acl_log_trim(log, most);
}

void acl_log_trim(struct acl_log *log, uint64_t most)
{
    while (log->newest != NULL &&
           log->count > most) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
        drop(log, log->newest->prev);
}

void acl_log_reset(struct acl_log *log)
{
    acl_log_trim(log, 0);
}
