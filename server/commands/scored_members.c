#include "server/commands/scored_members.h"

#include <stdlib.h>

void scored_members_release(struct scored_members *members)
{
    struct scored_member *member = members->first;

    HASH_CLEAR(hh, members->first);
    while (member != NULL) {
        struct scored_member *next = member->hh.next;

        free(member);
        member = next;
    }
}

struct scored_member *scored_members_find(const struct scored_members *members,
                                          struct dueq_slice member)
{
    struct scored_member *found;

    HASH_FIND(hh, members->first, member.data, member.size, found);
    return found;
}

void scored_members_add(struct scored_members *members, struct dueq_slice member, double score)
{
    struct scored_member *added = malloc(sizeof(*added) + member.size);

    if (added == NULL) {
        members->failed = true;
        return;
    }
    added->score = score;
    added->size = member.size;
    if (member.size > 0)
        memcpy(added->bytes, member.data, member.size);
    HASH_ADD_KEYPTR(hh, members->first, added->bytes, added->size, added);
    if (seeded_table_holds(added))
        return;
    free(added);
    members->failed = true;
}

static struct dueq_slice bytes_of(const struct scored_member *member)
{
    return dueq_slice(member->bytes, member->size);
}

static int compare(const struct scored_member *a, const struct scored_member *b)
{
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return dueq_slice_compare(bytes_of(a), bytes_of(b));
}

void scored_members_sort(struct scored_members *members)
{
    HASH_SORT(members->first, compare);
}

/* ---- as a sorted set */

static enum dueq_status replace(const struct keys_view *view, struct dueq_slice name,
                                const struct scored_members *members, bool grown)
{
    size_t count = HASH_COUNT(members->first), i = 0;
    struct zset_entry *entries = malloc(count * sizeof(*entries));
    enum dueq_status status;

    if (entries == NULL)
        return DUEQ_NOMEM;
    for (const struct scored_member *member = members->first; member != NULL;
         member = member->hh.next)
        entries[i++] = (struct zset_entry){bytes_of(member), member->score};
    status = zset_replace(view, name, entries, count, grown);
    free(entries);
    return status;
}

enum outcome scored_members_store(struct context *context, struct dueq_slice name,
                                  struct scored_members *members, const char *event, bool grown)
{
    struct keys_view view = context_view(context);
    unsigned count = HASH_COUNT(members->first);
    enum dueq_status status;

    if (members->failed)
        status = DUEQ_NOMEM;
    else
        status = count > 0 ? replace(&view, name, members, grown) : keys_del(&view, name);
    scored_members_release(members);
    if (!context_check(context, status))
        return OUTCOME_DONE;
    if (count > 0)
        context_notify(context, EVENT_ZSET, event, name);
    else if (status == DUEQ_OK)
        context_notify(context, EVENT_GENERIC, "del", name);
    return context_integer_reply(context, count);
}

/* ---- as a reply */

void scored_member_write(struct resp_writer *writer, struct dueq_slice member, double score,
                         bool with_score)
{
    if (with_score && writer->version >= 3)
        resp_array(writer, 2);
    resp_slice(writer, member);
    if (with_score)
        resp_double(writer, score);
}

enum outcome scored_members_reply(struct context *context, struct scored_members *members,
                                  bool with_scores)
{
    size_t count = HASH_COUNT(members->first);

    if (members->failed) {
        scored_members_release(members);
        return context_status(context, DUEQ_NOMEM);
    }
    scored_members_sort(members);
    resp_array(context->reply, with_scores && context->reply->version < 3 ? count * 2 : count);
    for (const struct scored_member *member = members->first; member != NULL;
         member = member->hh.next)
        scored_member_write(context->reply, bytes_of(member), member->score, with_scores);
    scored_members_release(members);
    return OUTCOME_DONE;
}
