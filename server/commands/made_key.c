#include "server/commands/made_key.h"

#include "storage/keys/keys_build.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { KEPT_BYTES = 256 * 1024 };

/* A key with more elements, or more bytes, is not packed, not a set of integers and, with
 * Redis' usual options, not a small sorted set: a key that grows in the store has its final
 * form from the start. */
static bool may_be_kept(const struct made_key *made)
{
    size_t most = made->type == KEYS_SET ? 2048 : 512;

    return made->in_memory ||
           (made->gathered.count < most && made->gathered.memory < KEPT_BYTES);
}

void made_key_release(struct made_key *made)
{
    gathered_release(&made->gathered);
    keys_build_free(made->build);
    made->build = NULL;
}

enum dueq_status made_key_find(struct made_key *made, struct dueq_slice member,
                               double *ret_score)
{
    if (made->build != NULL)
        return keys_build_find(made->build, member, ret_score);
    made->found = gathered_find(&made->gathered, member);
    if (made->found == NULL)
        return DUEQ_NOTFOUND;
    *ret_score = made->found->score;
    return DUEQ_OK;
}

static enum dueq_status build_one(struct made_key *made, struct dueq_slice member, double score)
{
    return made->type == KEYS_LIST ? keys_build_push(made->build, member)
                                   : keys_build_put(made->build, member, score, NULL);
}

/* Moves the gathered elements into the store. */
static enum dueq_status begin_build(struct made_key *made, const struct keys_view *view)
{
    uint64_t least = made->grown ? 0 : made->gathered.count + 1;
    enum dueq_status status = keys_build_empty(view, made->type, least, &made->build);

    for (size_t i = 0; status == DUEQ_OK && i < made->gathered.count; i++) {
        const struct gathered_item *item = made->gathered.slots[i].item;

        status = build_one(made, gathered_bytes(item), item->score);
    }
    gathered_release(&made->gathered);
    return status;
}

enum dueq_status made_key_add(struct made_key *made, const struct keys_view *view,
                              struct dueq_slice member, double score, bool found)
{
    enum dueq_status status = DUEQ_OK;

    if (made->build == NULL && may_be_kept(made))
        return gathered_add(&made->gathered, member, score, found) == NULL ? DUEQ_NOMEM
                                                                           : DUEQ_OK;
    if (made->build == NULL)
        status = begin_build(made, view);
    return status == DUEQ_OK ? build_one(made, member, score) : status;
}

enum dueq_status made_key_change(struct made_key *made, struct dueq_slice member, double score,
                                 double old)
{
    bool same = score == old && !signbit(score) == !signbit(old);

    if (made->build != NULL)
        return same ? DUEQ_OK : keys_build_put(made->build, member, score, &old);
    assert(made->found != NULL);
    made->found->score = score;
    return DUEQ_OK;
}

/* ---- stored at once */

static enum dueq_status replace_by_zset(const struct keys_view *view, struct dueq_slice name,
                                        const struct made_key *made)
{
    const struct gathered *gathered = &made->gathered;
    struct zset_entry *entries = malloc(gathered->count * sizeof(*entries));
    enum dueq_status status;

    if (entries == NULL)
        return DUEQ_NOMEM;
    for (size_t i = 0; i < gathered->count; i++)
        entries[i] = (struct zset_entry){gathered_bytes(gathered->slots[i].item),
                                         gathered->slots[i].item->score};
    status = zset_replace(view, name, entries, gathered->count, made->grown);
    free(entries);
    return status;
}

static enum dueq_status replace(const struct keys_view *view, struct dueq_slice name,
                                const struct made_key *made)
{
    enum dueq_status status;
    bool added;

    if (made->type == KEYS_ZSET)
        return replace_by_zset(view, name, made);
    status = keys_make_way(view, name);
    if (status == DUEQ_NOTFOUND)
        status = DUEQ_OK;
    for (size_t i = 0; status == DUEQ_OK && i < made->gathered.count; i++) {
        struct dueq_slice bytes = gathered_bytes(made->gathered.slots[i].item);

        status = made->type == KEYS_LIST ? list_push(view, name, LIST_TAIL, bytes)
                                         : set_add(view, name, bytes, &added);
    }
    return status;
}

/* ---- the end */

static enum dueq_status put_in_place(struct made_key *made, const struct keys_view *view,
                                     struct dueq_slice name, uint64_t *ret_count)
{
    *ret_count = made->gathered.count;
    if (made->build != NULL)
        return keys_build_store(made->build, view, name, ret_count);
    return *ret_count > 0 ? replace(view, name, made) : keys_del(view, name);
}

static enum keyspace_event event_of(enum keys_type type)
{
    return type == KEYS_LIST ? EVENT_LIST : type == KEYS_SET ? EVENT_SET : EVENT_ZSET;
}

enum outcome made_key_store(struct made_key *made, struct context *context,
                            struct dueq_slice name, const char *event)
{
    struct keys_view view = database_view(context);
    uint64_t count;
    enum dueq_status status = put_in_place(made, &view, name, &count);

    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (count > 0)
        database_notify(context, event_of(made->type), event, name);
    else if (status == DUEQ_OK)
        database_notify(context, EVENT_GENERIC, "del", name);
    return context_reply_integer(context, (int64_t)count);
}
