#include "storage/keys/garbage/cuts.h"

#include "storage/bytes.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <assert.h>

/* ---- records of cuts. Their keys are the ends of the cuts, so that the first one whose end is
 * after a key is the only one that may contain it. */

static struct kv_key record_of(const struct kv_key *end)
{
    struct kv_key record = *end;

    record.bytes[0] = TABLE_CUT;
    return record;
}

static struct kv_key flag_of(uint64_t object)
{
    return garbage_record_key(object, GARBAGE_CUTS);
}

/* Reads the cut at the cursor. False: it is no cut of the object. */
static bool read_cut(const struct kv_cursor *at, uint64_t object, struct cut *ret_cut)
{
    struct kv_key prefix = object_key_prefix(TABLE_CUT, object);
    struct dueq_slice key = kv_cursor_key(at), from = kv_cursor_value(at);

    if (!kv_key_begins(key, &prefix) || from.size == 0 || from.size > KV_KEY_MAX)
        return false;
    kv_key_copy(&ret_cut->from, from);
    kv_key_copy(&ret_cut->to, key);
    ret_cut->to.bytes[0] = ret_cut->from.bytes[0];
    return true;
}

/* Finds the object's first cut that ends at the key or after it. DUEQ_NOTFOUND: none does. */
static enum dueq_status find_cut(struct keys *keys, const struct kv_key *key,
                                 struct cut *ret_cut)
{
    struct kv_key record = record_of(key);
    struct kv_cursor *at = keys_take_cursor(keys);
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    status = kv_cursor_seek(at, kv_key_slice(&record));
    if (status == DUEQ_OK && !read_cut(at, bytes_read_u64(key->bytes + 1), ret_cut))
        status = DUEQ_NOTFOUND;
    keys_give_cursor(keys);
    return status;
}

static int compare(const struct kv_key *left, const struct kv_key *right)
{
    return dueq_slice_compare(kv_key_slice(left), kv_key_slice(right));
}

static void put_cut(struct keys *keys, const struct kv_key *from, const struct kv_key *to)
{
    struct kv_key record = record_of(to);

    kv_put(keys->kv, kv_key_slice(&record), kv_key_slice(from), false);
}

enum dueq_status cuts_first(struct keys *keys, uint64_t object, struct cut *ret_cut)
{
    struct kv_key first = object_key_prefix(TABLE_CUT, object);

    return find_cut(keys, &first, ret_cut);
}

void cuts_forget(struct keys *keys, const struct cut *cut)
{
    struct kv_key record = record_of(&cut->to);

    kv_del(keys->kv, kv_key_slice(&record));
}

/* ---- reading */

bool cuts_exist(struct keys *keys, struct keys_entry *entry)
{
    struct dueq_slice value;
    struct kv_key flag;

    if ((!keys->garbage && !keys->garbage_stays) || entry->packed || entry->uncut ||
        (entry->type != KEYS_SET && entry->type != KEYS_ZSET))
        return false;
    flag = flag_of(entry->object);
    entry->uncut = kv_get(keys->kv, kv_key_slice(&flag), &value) == DUEQ_NOTFOUND;
    return !entry->uncut;
}

void cuts_begin(struct cuts *cuts, struct keys *keys, struct keys_entry *entry)
{
    cuts->keys = keys;
    cuts->any = cuts_exist(keys, entry);
    cuts->known = cuts->gone = false;
}

static bool is_known_uncut(const struct cuts *cuts, struct dueq_slice key)
{
    return cuts->known && dueq_slice_compare(key, kv_key_slice(&cuts->from)) >= 0 &&
           dueq_slice_compare(key, kv_key_slice(&cuts->to)) < 0;
}

enum dueq_status cuts_check(struct cuts *cuts, struct dueq_slice key)
{
    struct kv_key here, after;
    struct cut cut;
    enum dueq_status status;

    cuts->gone = false;
    if (!cuts->any || is_known_uncut(cuts, key))
        return DUEQ_OK;
    kv_key_copy(&here, key);
    after = here;
    kv_key_follow(&after);
    status = find_cut(cuts->keys, &after, &cut);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    if (status == DUEQ_NOTFOUND)
        cut.from = object_key_prefix(here.bytes[0], bytes_read_u64(here.bytes + 1) + 1);
    cuts->gone = compare(&cut.from, &here) <= 0;
    cuts->known = !cuts->gone;
    cuts->from = cuts->gone ? cut.from : here;
    cuts->to = cuts->gone ? cut.to : cut.from;
    return DUEQ_OK;
}

/* ---- changing */

/* The position of the present tick may now be inside the new cut: it starts again. */
static void restart_erasing(struct keys *keys, const struct kv_key *flag)
{
    keys_lower_bound(&keys->garbage_first, flag);
    keys->garbage = true;
    if (compare(&keys->garbage_now, flag) == 0)
        keys->garbage_at.size = 0;
}

/* Extends the cut by the cuts that touch it, and deletes their records. */
static enum dueq_status join(struct keys *keys, struct cut *cut)
{
    struct kv_key from = cut->from;
    struct cut other;
    enum dueq_status status;

    while ((status = find_cut(keys, &from, &other)) == DUEQ_OK &&
           compare(&other.from, &cut->to) <= 0) {
        if (compare(&other.from, &cut->from) < 0)
            cut->from = other.from;
        if (compare(&other.to, &cut->to) > 0)
            cut->to = other.to;
        cuts_forget(keys, &other);
        from = other.to;
        kv_key_follow(&from);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status cuts_add(struct keys *keys, struct keys_entry *entry,
                          const struct kv_key *from, const struct kv_key *to)
{
    struct kv_key flag = flag_of(entry->object);
    struct cut cut = {*from, *to};
    enum dueq_status status;

    assert(compare(from, to) <= 0);
    status = join(keys, &cut);
    if (status != DUEQ_OK)
        return status;
    put_cut(keys, &cut.from, &cut.to);
    kv_put(keys->kv, kv_key_slice(&flag), dueq_slice(NULL, 0), false);
    restart_erasing(keys, &flag);
    entry->uncut = false;
    return DUEQ_OK;
}

enum dueq_status cuts_split(struct keys *keys, struct keys_entry *entry,
                            const struct kv_key *key, bool *ret_absent)
{
    struct kv_key after = *key;
    struct cuts cuts;
    enum dueq_status status;

    *ret_absent = true;
    cuts_begin(&cuts, keys, entry);
    status = cuts_check(&cuts, kv_key_slice(key));
    if (status != DUEQ_OK || !cuts.gone)
        return status;
    *ret_absent = false;
    kv_key_follow(&after);
    if (compare(&after, &cuts.to) < 0)
        put_cut(keys, &after, &cuts.to);
    else
        cuts_forget(keys, &(struct cut){cuts.from, cuts.to});
    if (compare(&cuts.from, key) < 0)
        put_cut(keys, &cuts.from, key);
    return DUEQ_OK;
}
