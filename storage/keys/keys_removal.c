#include "storage/keys/keys_removal.h"

#include "storage/keys/index/key_index.h"
#include "storage/keys/index/member.h"
#include "storage/keys/state/name_hash.h"
#include "storage/keys/record/object_key.h"
#include "storage/keys/state/unfinished.h"
#include "storage/keys/list.h"
#include "storage/keys/zset/zset_walk.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <stdlib.h>

/* A larger element counts as several. */
enum {
    STEP_BYTES = 4096,
    GIVEN_STEP_BYTES = 512 /* that the caller copies */
};

struct keys_removal {
    struct unfinished work;
    struct keys_removal_part part;
    bool to_the_end;     /* all elements that are not skipped will be removed */
    uint64_t left, skip; /* elements to find, and to skip before them */
    uint64_t found;
    double score; /* of the first one found, for ranges by member */
    bool begun;   /* `edge` is where the next slice continues */
    bool sure;    /* `edge` is valid: no tie is on both sides of it */
    bool around;  /* of a set: the last member is passed, it continued from the first */
    struct kv_key edge, near; /* near: where the part begins in its direction */
    size_t name_size;
    uint8_t name[];
};

/* ---- life */

/* Ranks are counted from the end with fewer entries to pass. */
static void plan_ranks(struct keys_removal *removal, uint64_t size)
{
    struct keys_removal_part *part = &removal->part;
    uint64_t after = size - part->first - part->most;
    uint64_t up = part->first + (after == 0 ? 0 : part->most);
    uint64_t down = after + (part->first == 0 ? 0 : part->most);

    part->reverse = down < up;
    removal->skip = part->reverse ? after : part->first;
    removal->to_the_end = (part->reverse ? part->first : after) == 0;
}

static void plan(struct keys_removal *removal, const struct keys_entry *entry)
{
    struct keys_removal_part *part = &removal->part;

    if (part->kind == KEYS_REMOVAL_RANKS && part->most > entry->count - part->first)
        part->most = entry->count - part->first;
    removal->left = part->most < entry->count ? part->most : entry->count;
    if (part->kind == KEYS_REMOVAL_RANKS)
        plan_ranks(removal, entry->count);
    if (entry->type != KEYS_SET)
        return;
    removal->edge = object_key_prefix(TABLE_MEMBER, entry->object);
    name_hash_append(&removal->edge, part->random >> 16);
    removal->near = removal->edge;
}

enum dueq_status keys_removal_new(const struct keys_view *view, struct dueq_slice name,
                                  enum keys_type type, const struct keys_removal_part *part,
                                  struct keys_removal **ret_removal)
{
    struct keys_removal *removal;
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, type, &entry);

    if (status != DUEQ_OK)
        return status;
    if (entry->packed || (part->kind == KEYS_REMOVAL_RANKS && part->first >= entry->count))
        return DUEQ_INVALID;
    removal = calloc(1, sizeof(*removal) + name.size);
    if (removal == NULL)
        return DUEQ_NOMEM;
    removal->name_size = name.size;
    if (name.size > 0)
        memcpy(removal->name, name.data, name.size);
    removal->part = *part;
    plan(removal, entry);
    unfinished_begin(&removal->work, view->keys, entry->object, 0);
    *ret_removal = removal;
    return DUEQ_OK;
}

void keys_removal_free(struct keys_removal *removal)
{
    if (removal == NULL)
        return;
    unfinished_end(&removal->work);
    free(removal);
}

/* ---- slices */

static struct dueq_slice name_of(const struct keys_removal *removal)
{
    return dueq_slice(removal->name, removal->name_size);
}

/* DUEQ_NOTFOUND: the key is not what it was when the removal began. */
static enum dueq_status find_source(const struct keys_removal *removal,
                                    const struct keys_view *view, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status;

    if (removal->work.keys == NULL || removal->work.stale)
        return DUEQ_NOTFOUND;
    status = key_index_find(view, name_of(removal), KEYS_NONE, &entry);
    if (status == DUEQ_OK && (entry->packed || entry->object != removal->work.source))
        return DUEQ_NOTFOUND;
    if (status == DUEQ_OK)
        *ret_entry = entry;
    return status;
}

/* The slice that runs now. */
struct slice {
    struct keys_removal *removal;
    unsigned budget;
    keys_removal_fn fn;
    void *arg;
    bool stopped; /* by fn */
};

static void take(struct slice *slice, const struct zset_entry *entry)
{
    size_t step = slice->fn != NULL ? GIVEN_STEP_BYTES : STEP_BYTES;
    size_t cost = 1 + entry->member.size / step;

    slice->budget -= cost < slice->budget ? (unsigned)cost : slice->budget;
    slice->removal->found++;
    slice->removal->left--;
    if (slice->fn != NULL && !slice->fn(slice->arg, entry))
        slice->stopped = true;
}

static bool goes_on(const struct slice *slice)
{
    return slice->budget > 0 && !slice->stopped && slice->removal->left > 0;
}

/* ---- of a list: from one end */

static bool take_element(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct slice *slice = arg;

    (void)unused;
    take(slice, &(struct zset_entry){value, 0});
    return goes_on(slice);
}

static enum dueq_status step_list(struct slice *slice, const struct keys_view *view,
                                  const struct keys_entry *entry)
{
    const struct keys_removal *removal = slice->removal;
    bool reverse = removal->part.reverse;

    return list_each(view, name_of(removal),
                     reverse ? entry->count - 1 - removal->found : removal->found,
                     reverse ? LIST_HEAD : LIST_TAIL, take_element, slice);
}

/* ---- of a set: from a random hash on; after the last member it continues with the first */

static enum dueq_status go_around(struct keys_removal *removal)
{
    if (removal->around)
        return DUEQ_CORRUPT; /* the set has fewer members than its count */
    removal->around = true;
    removal->edge = object_key_prefix(TABLE_MEMBER, removal->work.source);
    return DUEQ_OK;
}

static enum dueq_status take_member(struct slice *slice, struct keys_entry *owner,
                                    struct cuts *cuts, const struct kv_cursor *at)
{
    struct dueq_slice key = kv_cursor_key(at), value;
    struct keys_removal *removal = slice->removal;
    struct zset_entry member = {.score = 0};
    enum dueq_status status = member_check_cut(cuts, owner, key, kv_cursor_value(at));

    if (status != DUEQ_OK)
        return status;
    if (cuts->gone) {
        removal->edge = cuts->to;
        return DUEQ_OK;
    }
    if (!member_read(owner->type, key, kv_cursor_value(at), &member.member, &value))
        return DUEQ_CORRUPT;
    kv_key_copy(&removal->edge, key);
    kv_key_follow(&removal->edge);
    take(slice, &member);
    return DUEQ_OK;
}

static enum dueq_status step_set(struct slice *slice, struct keys_entry *entry)
{
    struct keys_removal *removal = slice->removal;
    struct kv_key prefix = object_key_prefix(TABLE_MEMBER, removal->work.source);
    struct kv_cursor *at = keys_take_cursor(removal->work.keys);
    enum dueq_status status = DUEQ_OK;
    struct cuts cuts;

    if (at == NULL)
        return DUEQ_NOMEM;
    cuts_begin(&cuts, removal->work.keys, entry);
    while (status == DUEQ_OK && goes_on(slice)) {
        status = kv_cursor_seek(at, kv_key_slice(&removal->edge));
        if (status == DUEQ_NOTFOUND ||
            (status == DUEQ_OK && !kv_key_begins(kv_cursor_key(at), &prefix)))
            status = go_around(removal);
        else if (status == DUEQ_OK)
            status = take_member(slice, entry, &cuts, at);
    }
    keys_give_cursor(removal->work.keys);
    return status;
}

/* ---- of a sorted set: in its order */

/* DUEQ_INVALID: the part begins among ties, whose keys are in another order. */
static enum dueq_status take_first(struct keys_removal *removal, const struct zset_walk *walk)
{
    removal->score = walk->here.score;
    return zset_walk_edge(walk, false, &removal->near) ? DUEQ_OK : DUEQ_INVALID;
}

static bool is_by_member(const struct zset_range *range)
{
    return range->least.kind == ZSET_LEX || range->most.kind == ZSET_LEX;
}

/* Skips or takes the present entry. A range by member is one range of keys only if all scores
 * are equal. */
static enum dueq_status take_entry(struct slice *slice, const struct zset_walk *walk)
{
    struct keys_removal *removal = slice->removal;
    enum dueq_status status = DUEQ_OK;

    if (removal->skip > 0) {
        removal->skip--;
        slice->budget -= slice->budget > 0;
    } else {
        if (removal->found == 0)
            status = take_first(removal, walk);
        else if (is_by_member(walk->range) && walk->here.score != removal->score)
            status = DUEQ_INVALID;
        if (status == DUEQ_OK)
            take(slice, &walk->here);
    }
    removal->sure = zset_walk_edge(walk, true, &removal->edge);
    removal->begun = true;
    return status;
}

static bool is_long(const struct zset_bound *bound)
{
    return bound->kind == ZSET_LEX && bound->member.size >= ZSET_ORDER_MEMBER_SURE;
}

static const struct zset_range *range_of(const struct keys_removal *removal,
                                         const struct zset_range *range)
{
    static const struct zset_range up = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, false};
    static const struct zset_range down = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, true};

    if (removal->part.kind == KEYS_REMOVAL_RANGE)
        return range;
    return removal->part.reverse ? &down : &up;
}

/* The part is known without looking at more entries. */
static bool knows_all(const struct keys_removal *removal)
{
    return removal->left == 0 || (removal->to_the_end && removal->skip == 0);
}

/* Continues at `edge`. Stops only where entries are in the order of their keys. */
static enum dueq_status walk_on(struct slice *slice, struct keys_entry *entry,
                                const struct zset_range *range)
{
    struct keys_removal *removal = slice->removal;
    struct zset_walk walk;
    enum dueq_status status =
        removal->begun
            ? zset_walk_resume(&walk, removal->work.keys, entry, range, &removal->edge)
            : zset_walk_begin(&walk, removal->work.keys, entry, range);

    while (status == DUEQ_OK) {
        status = take_entry(slice, &walk);
        if (status != DUEQ_OK || knows_all(removal) || slice->stopped ||
            (slice->budget == 0 && removal->sure))
            break;
        status = zset_walk_step(&walk);
    }
    zset_walk_end(&walk);
    return status;
}

/* The part ends where the walk ended: at the end of the range, or after enough entries. */
static enum dueq_status end_walk(struct keys_removal *removal, enum dueq_status status)
{
    if (status == DUEQ_NOTFOUND && removal->part.kind != KEYS_REMOVAL_RANGE)
        return DUEQ_CORRUPT; /* the set has fewer members than its count */
    if (status == DUEQ_NOTFOUND)
        removal->left = 0;
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    return knows_all(removal) && removal->begun && !removal->sure ? DUEQ_INVALID : DUEQ_OK;
}

static enum dueq_status step_zset(struct slice *slice, struct keys_entry *entry,
                                  const struct zset_range *asked)
{
    struct keys_removal *removal = slice->removal;
    const struct zset_range *range = range_of(removal, asked);
    enum dueq_status status = DUEQ_OK;

    if (is_long(&range->least) || is_long(&range->most))
        return DUEQ_INVALID;
    if (!knows_all(removal))
        status = end_walk(removal, walk_on(slice, entry, range));
    if (status != DUEQ_OK || removal->left == 0 || !knows_all(removal))
        return status;
    removal->near = removal->edge;
    removal->found = removal->left;
    removal->left = 0;
    return DUEQ_OK;
}

enum dueq_status keys_removal_step(struct keys_removal *removal, const struct keys_view *view,
                                   const struct zset_range *range, unsigned budget,
                                   keys_removal_fn fn, void *arg, bool *ret_finished)
{
    struct slice slice = {removal, budget, fn, arg, false};
    struct keys_entry *entry;
    enum dueq_status status = find_source(removal, view, &entry);

    if (status != DUEQ_OK)
        return status;
    if (entry->type == KEYS_LIST)
        status = step_list(&slice, view, entry);
    else if (entry->type == KEYS_SET)
        status = step_set(&slice, entry);
    else
        status = step_zset(&slice, entry, range);
    *ret_finished = status == DUEQ_OK && removal->left == 0;
    return status;
}

uint64_t keys_removal_found(const struct keys_removal *removal)
{
    return removal->found;
}

/* ---- the last step */

/* The greatest key that has the prefix; no record has it. */
static struct kv_key greatest_key(const struct kv_key *prefix)
{
    struct kv_key end = *prefix;

    memset(end.bytes + end.size, UINT8_MAX, (size_t)(KV_KEY_MAX - end.size));
    end.size = KV_KEY_MAX;
    return end;
}

static enum dueq_status cut_set(struct keys_removal *removal, struct keys_entry *entry)
{
    struct kv_key first = object_key_prefix(TABLE_MEMBER, removal->work.source);
    struct kv_key end = greatest_key(&first);
    enum dueq_status status;

    if (!removal->around)
        return cuts_add(removal->work.keys, entry, &removal->near, &removal->edge);
    status = cuts_add(removal->work.keys, entry, &removal->near, &end);
    return status == DUEQ_OK ? cuts_add(removal->work.keys, entry, &first, &removal->edge)
                             : status;
}

static enum dueq_status cut_zset(struct keys_removal *removal, struct keys_entry *entry)
{
    struct kv_key first = zset_order_first(entry), end = greatest_key(&first);
    bool reverse = removal->part.reverse;

    if (removal->to_the_end)
        return reverse ? cuts_add(removal->work.keys, entry, &first, &removal->near)
                       : cuts_add(removal->work.keys, entry, &removal->near, &end);
    return reverse ? cuts_add(removal->work.keys, entry, &removal->edge, &removal->near)
                   : cuts_add(removal->work.keys, entry, &removal->near, &removal->edge);
}

static enum dueq_status cut_out(struct keys_removal *removal, const struct keys_view *view,
                                struct keys_entry *entry)
{
    uint64_t remaining = entry->count - removal->found;
    enum dueq_status status;

    if (remaining == 0) {
        key_index_remove(removal->work.keys, entry, false);
        return DUEQ_OK;
    }
    if (entry->type == KEYS_LIST)
        return list_trim(view, name_of(removal), removal->part.reverse ? 0 : removal->found,
                         remaining);
    status = entry->type == KEYS_SET ? cut_set(removal, entry) : cut_zset(removal, entry);
    if (status != DUEQ_OK)
        return status;
    entry->count = remaining;
    key_index_changed(view, entry);
    return DUEQ_OK;
}

enum dueq_status keys_removal_finish(struct keys_removal *removal, const struct keys_view *view)
{
    struct keys_entry *entry;
    enum dueq_status status = find_source(removal, view, &entry);

    return status == DUEQ_OK && removal->found > 0 ? cut_out(removal, view, entry) : status;
}
