#include "server/commands/key_size.h"

#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"

enum { KEY_COST = 64, ELEMENT_COST = 48 }; /* bytes, roughly */

struct sampling {
    uint64_t left, seen, bytes;
};

static bool sample_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct sampling *sampling = arg;

    sampling->seen++;
    sampling->bytes += element.size + value.size;
    return --sampling->left > 0;
}

static bool sample_scored(void *arg, const struct zset_entry *entry)
{
    return sample_element(arg, entry->member, dueq_slice(NULL, 8));
}

static void sample(const struct keys_view *view, struct dueq_slice name, enum keys_type type,
                   struct sampling *sampling)
{
    uint64_t next;

    if (type == KEYS_LIST)
        list_each(view, name, 0, LIST_TAIL, sample_element, sampling);
    else if (type == KEYS_SET)
        set_each(view, name, sample_element, sampling);
    else if (type == KEYS_HASH)
        hash_each(view, name, sample_element, sampling);
    else if (type == KEYS_ZSET)
        zset_scan(view, name, 0, UINT64_MAX, sample_scored, sampling, &next);
}

int64_t key_size_estimate(struct dueq_slice name, const struct keys_info *info, uint64_t seen,
                          uint64_t bytes)
{
    uint64_t size = KEY_COST + name.size;

    if (info->type == KEYS_STRING)
        size += info->count;
    else if (seen > 0)
        size += info->count * (ELEMENT_COST + bytes / seen);
    return (int64_t)size;
}

uint64_t key_size_estimate_value(const struct keys_view *view, struct dueq_slice name,
                                 const struct keys_info *info)
{
    struct sampling sampling = {.left = KEY_SIZE_SAMPLES};

    if (info->type == KEYS_STRING)
        return info->count;
    sample(view, name, info->type, &sampling);
    return sampling.seen == 0 ? 0 : info->count * sampling.bytes / sampling.seen;
}
