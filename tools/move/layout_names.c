/* Names of keys, and what they mean. */
#include "tools/move/layout.h"

#include <stdio.h>
#include <string.h>

static const char *const names[LAYOUTS] = {"sidekiq",   "laravel",   "celery",
                                           "zset-hash", "zset-list", "zset"};

const char *layout_name(enum layout layout)
{
    return names[layout];
}

enum layout layout_of(const char *name)
{
    int layout = 0;

    while (layout < LAYOUTS && strcmp(names[layout], name) != 0)
        layout++;
    return (enum layout)layout;
}

enum value_type layout_role_type(enum layout_role role)
{
    switch (role) {
    case ROLE_READY_FIRST:
    case ROLE_READY_LAST:
        return VALUE_LIST;
    case ROLE_UNACKED:
        return VALUE_HASH;
    default:
        return VALUE_ZSET;
    }
}

static bool ends_with(struct dueq_slice name, const char *end)
{
    size_t size = strlen(end);

    return name.size >= size &&
           memcmp((const char *)name.data + name.size - size, end, size) == 0;
}

/* Where the part after the last `word` begins. 0: the word is not there. */
static size_t after_word(struct dueq_slice name, const char *word)
{
    size_t size = strlen(word);

    for (size_t at = name.size; at >= size && at > 0; at--)
        if (memcmp((const char *)name.data + at - size, word, size) == 0)
            return at;
    return 0;
}

static bool set_topic(struct layout_match *match, size_t begin, size_t end)
{
    match->topic_at = begin;
    match->topic_size = end > begin ? end - begin : 0;
    return end > begin;
}

/* ---- Sidekiq: all names may have a namespace before them, with a colon */

static bool is_word(struct dueq_slice name, const char *word)
{
    size_t size = strlen(word);

    return ends_with(name, word) &&
           (name.size == size || ((const char *)name.data)[name.size - size - 1] == ':');
}

static bool match_sidekiq(struct dueq_slice name, struct layout_match *match)
{
    static const char list[] = "queue:";
    size_t at = after_word(name, list), before = at - strlen(list);

    match->role = ROLE_READY_LAST;
    if (at > 0 && (before == 0 || ((const char *)name.data)[before - 1] == ':'))
        return set_topic(match, at, name.size);
    match->role = is_word(name, "dead") ? ROLE_DEAD : ROLE_TIMES;
    return is_word(name, "schedule") || is_word(name, "retry") || is_word(name, "dead");
}

/* ---- Laravel: all names may have a prefix */

static bool match_laravel(struct dueq_slice name, struct layout_match *match)
{
    size_t at = after_word(name, "queues:"), end = name.size;

    if (at == 0 || ends_with(name, ":notify"))
        return false;
    match->role = ROLE_READY_FIRST;
    if (ends_with(name, ":delayed"))
        end -= strlen(":delayed");
    else if (ends_with(name, ":reserved"))
        end -= strlen(":reserved");
    if (end < name.size)
        match->role = ROLE_TIMES;
    return set_topic(match, at, end);
}

/* ---- Celery: lists, a less urgent one has its number after two separators */

static bool match_celery(struct dueq_slice name, struct layout_match *match)
{
    size_t at = after_word(name, "\x06\x16");

    match->role = ROLE_UNACKED;
    if (is_word(name, "unacked") || ends_with(name, "_unacked"))
        return true;
    match->role = ROLE_READY_LAST;
    if (at == 0)
        return set_topic(match, 0, name.size);
    if (at + 1 != name.size || ((const char *)name.data)[at] < '0' ||
        ((const char *)name.data)[at] > '9')
        return false;
    match->priority = 128 + (((const char *)name.data)[at] - '0');
    return set_topic(match, 0, at - 2);
}

/* ---- pairs of names, with * for the topic */

struct pair {
    const char *first, *second;
};

static const struct pair hash_pairs[] = {{"*:z", "*:h"},
                                         {"*:zset", "*:hash"},
                                         {"delay_queue:*", "task_meta_data:*"},
                                         {"unack_queue:*", "task_meta_data:*"}};
static const struct pair list_pairs[] = {
    {"*:delay", "*:ready"}, {"*:delayed", "*:ready"}, {"*:delayed", "*"}};

/* Does the name match a pattern of so many bytes with one star? *ret_at: where the topic is. */
static bool fits(struct dueq_slice name, const char *pattern, size_t size, size_t *ret_at,
                 size_t *ret_size)
{
    const char *star = memchr(pattern, '*', size), *bytes = name.data;
    size_t before = star == NULL ? size : (size_t)(star - pattern), after;

    if (star == NULL)
        return false;
    after = size - before - 1;
    if (name.size <= before + after || memcmp(bytes, pattern, before) != 0 ||
        memcmp(bytes + name.size - after, star + 1, after) != 0)
        return false;
    *ret_at = before;
    *ret_size = name.size - before - after;
    return true;
}

/* Writes the second pattern with the topic in it. */
static bool fill_in(const char *pattern, size_t size, struct dueq_slice topic,
                    struct layout_match *match)
{
    const char *star = memchr(pattern, '*', size);
    size_t before = star == NULL ? 0 : (size_t)(star - pattern);

    if (star == NULL || size - 1 + topic.size > sizeof(match->bodies))
        return false;
    memcpy(match->bodies, pattern, before);
    memcpy(match->bodies + before, topic.data, topic.size);
    memcpy(match->bodies + before + topic.size, star + 1, size - before - 1);
    match->bodies_size = size - 1 + topic.size;
    return true;
}

/* topic:0:z, topic:1:z ... are the partitions of one topic. */
static void strip_partition(struct dueq_slice name, struct layout_match *match)
{
    const char *bytes = (const char *)name.data + match->topic_at;
    size_t at = match->topic_size;

    while (at > 0 && bytes[at - 1] >= '0' && bytes[at - 1] <= '9')
        at--;
    if (at > 1 && at < match->topic_size && bytes[at - 1] == ':')
        match->topic_size = at - 1;
}

static bool match_hash(struct dueq_slice name, const char *first, size_t first_size,
                       const char *second, size_t second_size, struct layout_match *match)
{
    match->role = ROLE_IDS;
    if (!fits(name, first, first_size, &match->topic_at, &match->topic_size) ||
        !fill_in(second, second_size,
                 dueq_slice((const char *)name.data + match->topic_at, match->topic_size),
                 match))
        return false;
    if (first_size == 3 && memcmp(first, "*:z", 3) == 0)
        strip_partition(name, match);
    return true;
}

static bool match_list(struct dueq_slice name, const char *first, size_t first_size,
                       const char *second, size_t second_size, struct layout_match *match)
{
    match->role = ROLE_TIMES;
    if (fits(name, first, first_size, &match->topic_at, &match->topic_size))
        return true;
    match->role = ROLE_READY_LAST;
    return second_size > 1 &&
           fits(name, second, second_size, &match->topic_at, &match->topic_size);
}

typedef bool (*pair_fn)(struct dueq_slice name, const char *first, size_t first_size,
                        const char *second, size_t second_size, struct layout_match *match);

static bool match_pairs(struct dueq_slice name, const char *given, const struct pair *pairs,
                        size_t count, pair_fn match_pair, struct layout_match *match)
{
    const char *equals = given == NULL ? NULL : strchr(given, '=');

    if (equals != NULL)
        return match_pair(name, given, (size_t)(equals - given), equals + 1, strlen(equals + 1),
                          match);
    for (size_t i = 0; i < count; i++)
        if (match_pair(name, pairs[i].first, strlen(pairs[i].first), pairs[i].second,
                       strlen(pairs[i].second), match))
            return true;
    return false;
}

/* ---- all */

bool layout_match(enum layout layout, struct dueq_slice name, const char *given,
                  struct layout_match *ret_match)
{
    *ret_match = (struct layout_match){.priority = -1};
    switch (layout) {
    case LAYOUT_SIDEKIQ:
        return match_sidekiq(name, ret_match);
    case LAYOUT_LARAVEL:
        return match_laravel(name, ret_match);
    case LAYOUT_CELERY:
        return match_celery(name, ret_match);
    case LAYOUT_ZSET_HASH:
        return match_pairs(name, given, hash_pairs, sizeof(hash_pairs) / sizeof(hash_pairs[0]),
                           match_hash, ret_match);
    case LAYOUT_ZSET_LIST:
        return match_pairs(name, given, list_pairs, sizeof(list_pairs) / sizeof(list_pairs[0]),
                           match_list, ret_match);
    default:
        ret_match->role = ROLE_TIMES;
        return set_topic(ret_match, 0, name.size);
    }
}
