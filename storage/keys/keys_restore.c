#include "storage/keys/keys_restore.h"

#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/state/keys_internal.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "storage/kv/room.h"

enum { RECORDS_USUAL = 4096 }; /* bytes: keys, the entry, a place in an order */

struct keys_view keys_restore_view(struct keys *keys, unsigned database)
{
    return (struct keys_view){keys, database, EXPIRY_LONG_AGO};
}

/* Within limits without an end a value stays compact; above limits of 0 it never is. */
void keys_restore_begin(struct keys *keys, const struct keys_restored *key)
{
    bool compact = key->encoding == KEYS_LISTPACK || key->encoding == KEYS_INTSET;
    uint64_t most = compact ? UINT64_MAX : 0;
    struct keys_limits limits = {most, most, most, most, most, UINT64_MAX};

    keys_set_limits(keys, &limits);
}

static enum dueq_status add_string(const struct keys_view *view, struct dueq_slice name,
                                   const struct keys_restored *key, struct dueq_slice value)
{
    enum string_origin origin = key->encoding == KEYS_INT   ? STRING_GIVEN
                                : key->encoding == KEYS_RAW ? STRING_EDITED
                                                            : STRING_MADE;

    return string_set(view, name, value, key->expires, origin);
}

static enum dueq_status add(const struct keys_view *view, struct dueq_slice name,
                            const struct keys_restored *key, struct dueq_slice element,
                            struct dueq_slice value, double score)
{
    const struct zset_rule rule = {.if_absent = false};
    enum zset_effect effect;
    bool added;

    switch (key->type) {
    case KEYS_STRING:
        return add_string(view, name, key, element);
    case KEYS_LIST:
        return list_push(view, name, LIST_TAIL, element);
    case KEYS_SET:
        return set_add(view, name, element, &added);
    case KEYS_HASH:
        return hash_set(view, name, element, value, &added);
    default:
        return zset_add(view, name, element, &rule, &score, &effect);
    }
}

enum dueq_status keys_restore_add(const struct keys_view *view, struct dueq_slice name,
                                  const struct keys_restored *key, struct dueq_slice element,
                                  struct dueq_slice value, double score)
{
    enum dueq_status status =
        kv_room(view->keys->kv, RECORDS_USUAL + name.size + element.size + value.size);

    return status == DUEQ_OK ? add(view, name, key, element, value, score) : status;
}

enum dueq_status keys_restore_end(const struct keys_view *view, struct dueq_slice name,
                                  const struct keys_restored *key)
{
    return key->expires == DUEQ_NEVER || key->type == KEYS_STRING
               ? DUEQ_OK
               : keys_expire(view, name, key->expires);
}
