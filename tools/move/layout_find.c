/* Which keys of a server are queues. */
#include "tools/move/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCORE_MIN = 1000000000 }; /* the year 2001 in seconds: a smaller one is no time */

struct finder {
    struct move *move;
    enum layout layout; /* LAYOUTS: any */
    struct layout_plan *plan;
    size_t room;
};

/* ---- a key of a page */

struct candidate {
    struct dueq_slice name;
    enum value_type type;
    long long size;
    redisReply *sample; /* of lists: the first one; of zsets: the first and its score */
};

/* A copy of the bytes, which the plan owns. */
static bool copy(struct dueq_slice bytes, struct dueq_slice *ret_copy)
{
    char *room = malloc(bytes.size + 1);

    if (room == NULL)
        return false;
    memcpy(room, bytes.data, bytes.size);
    *ret_copy = dueq_slice(room, bytes.size);
    return true;
}

static bool add_key(struct finder *finder, enum layout layout,
                    const struct candidate *candidate, const struct layout_match *match)
{
    struct layout_plan *plan = finder->plan;
    struct layout_key key = {.layout = layout,
                             .role = match->role,
                             .priority = match->priority,
                             .size = candidate->size};

    if (plan->count == finder->room) {
        size_t room = finder->room == 0 ? 64 : 2 * finder->room;
        struct layout_key *keys = realloc(plan->keys, room * sizeof(*keys));

        if (keys == NULL)
            return peer_fail(&finder->move->from, "out of memory");
        plan->keys = keys;
        finder->room = room;
    }
    if (!copy(candidate->name, &key.name) ||
        !copy(dueq_slice(match->bodies, match->bodies_size), &key.bodies)) {
        free((void *)(uintptr_t)key.name.data);
        return peer_fail(&finder->move->from, "out of memory");
    }
    key.topic = dueq_slice((const char *)key.name.data + match->topic_at, match->topic_size);
    plan->keys[plan->count++] = key;
    return true;
}

/* ---- does it look like a queue? */

static struct dueq_slice sample_of(const struct candidate *candidate, const char **ret_score)
{
    const redisReply *sample = candidate->sample;

    *ret_score = NULL;
    if (sample == NULL)
        return dueq_slice(NULL, 0);
    if (sample->type == REDIS_REPLY_ARRAY && sample->elements == 2) {
        *ret_score = sample->element[1]->str;
        return reply_slice(sample->element[0]);
    }
    return reply_slice(sample);
}

static bool bodies_are_there(struct finder *finder, const struct layout_match *match)
{
    redisReply *reply;
    bool there;

    peer_say(&finder->move->from, 2,
             (struct dueq_slice[]){text_slice("TYPE"),
                                   dueq_slice(match->bodies, match->bodies_size)});
    reply = peer_take(&finder->move->from);
    there = reply != NULL && reply->str != NULL && strcmp(reply->str, "hash") == 0;
    freeReplyObject(reply);
    return there;
}

/* `guessed`: nobody said that this is the layout. */
static bool looks_like(struct finder *finder, enum layout layout,
                       const struct candidate *candidate, const struct layout_match *match,
                       bool guessed)
{
    const char *score;
    struct dueq_slice sample = sample_of(candidate, &score);

    switch (layout) {
    case LAYOUT_SIDEKIQ:
        return !guessed || layout_text_fits(layout, sample);
    case LAYOUT_CELERY:
        return match->role == ROLE_UNACKED || layout_text_fits(layout, sample);
    case LAYOUT_ZSET_HASH:
        return bodies_are_there(finder, match);
    case LAYOUT_ZSET:
        return !guessed || (score != NULL && strtod(score, NULL) >= SCORE_MIN);
    default:
        return true;
    }
}

/* Celery's and plain names are any names: those of other types mean nothing. */
static bool has_names(enum layout layout)
{
    return layout != LAYOUT_CELERY && layout != LAYOUT_ZSET;
}

/* *ret_taken: it is a queue of this layout. False: the source has failed. */
static bool try_layout(struct finder *finder, enum layout layout,
                       const struct candidate *candidate, bool guessed, bool *ret_taken)
{
    struct layout_match match;

    *ret_taken = false;
    if (!layout_match(layout, candidate->name, finder->move->options->names, &match))
        return true;
    if (layout_role_type(match.role) != candidate->type) {
        finder->plan->foreign += !guessed && has_names(layout);
        return true;
    }
    *ret_taken = looks_like(finder, layout, candidate, &match, guessed);
    if (!*ret_taken)
        finder->plan->foreign += !guessed && has_names(layout);
    return !finder->move->from.failed &&
           (!*ret_taken || add_key(finder, layout, candidate, &match));
}

static bool classify(struct finder *finder, const struct candidate *candidate)
{
    bool taken = false, going = true;

    if (finder->layout != LAYOUTS)
        return try_layout(finder, finder->layout, candidate, false, &taken);
    for (int i = 0; i < LAYOUTS && going && !taken; i++)
        going = try_layout(finder, (enum layout)i, candidate, true, &taken);
    return going;
}

/* ---- a page of SCAN */

static bool is_asked(const struct candidate *candidate)
{
    return candidate->type == VALUE_LIST || candidate->type == VALUE_ZSET ||
           candidate->type == VALUE_HASH;
}

static bool hear_type(struct peer *from, struct candidate *candidate)
{
    redisReply *reply = peer_take(from);

    if (reply == NULL)
        return false;
    candidate->type = value_type_of(reply->str == NULL ? "" : reply->str);
    freeReplyObject(reply);
    return true;
}

static void ask_sample(struct peer *from, const struct candidate *candidate)
{
    struct dueq_slice zero = text_slice("0");

    value_ask_size(from, candidate->type, candidate->name);
    if (candidate->type == VALUE_LIST)
        peer_say(from, 3, (struct dueq_slice[]){text_slice("LINDEX"), candidate->name, zero});
    else if (candidate->type == VALUE_ZSET)
        peer_say(from, 5,
                 (struct dueq_slice[]){text_slice("ZRANGE"), candidate->name, zero, zero,
                                       text_slice("WITHSCORES")});
}

static bool hear_sample(struct peer *from, struct candidate *candidate)
{
    redisReply *size = peer_hear(from);

    if (size == NULL)
        return false;
    candidate->size = size->type == REDIS_REPLY_INTEGER ? size->integer : 0;
    freeReplyObject(size);
    if (candidate->type != VALUE_HASH)
        candidate->sample = peer_hear(from);
    return !from->failed;
}

static bool read_candidates(struct peer *from, const redisReply *page,
                            struct candidate *candidates)
{
    for (size_t i = 0; i < page->elements; i++) {
        candidates[i].name = reply_slice(page->element[i]);
        peer_say(from, 2, (struct dueq_slice[]){text_slice("TYPE"), candidates[i].name});
    }
    for (size_t i = 0; i < page->elements; i++)
        if (!hear_type(from, &candidates[i]))
            return false;
    for (size_t i = 0; i < page->elements; i++)
        if (is_asked(&candidates[i]))
            ask_sample(from, &candidates[i]);
    for (size_t i = 0; i < page->elements; i++)
        if (is_asked(&candidates[i]) && !hear_sample(from, &candidates[i]))
            return false;
    return true;
}

static bool find_in_page(void *arg, const redisReply *page)
{
    struct finder *finder = arg;
    struct candidate *candidates = calloc(page->elements, sizeof(*candidates));
    bool going;

    if (candidates == NULL)
        return peer_fail(&finder->move->from, "out of memory");
    going = read_candidates(&finder->move->from, page, candidates);
    for (size_t i = 0; i < page->elements && going; i++)
        going = classify(finder, &candidates[i]);
    for (size_t i = 0; i < page->elements; i++)
        freeReplyObject(candidates[i].sample);
    free(candidates);
    return going;
}

/* By layout, then name: SCAN has no order, and may return a key twice. */
static int compare_keys(const void *one, const void *other)
{
    const struct layout_key *a = one, *b = other;

    if (a->layout != b->layout)
        return (a->layout > b->layout) - (a->layout < b->layout);
    return dueq_slice_compare(a->name, b->name);
}

static void release_key(struct layout_key *key)
{
    free((void *)(uintptr_t)key->name.data);
    free((void *)(uintptr_t)key->bodies.data);
}

static void sort(struct layout_plan *plan)
{
    size_t kept = 0;

    if (plan->count > 0)
        qsort(plan->keys, plan->count, sizeof(*plan->keys), compare_keys);
    for (size_t i = 0; i < plan->count; i++) {
        if (kept > 0 && compare_keys(&plan->keys[kept - 1], &plan->keys[i]) == 0)
            release_key(&plan->keys[i]);
        else
            plan->keys[kept++] = plan->keys[i];
    }
    plan->count = kept;
}

bool layout_find(struct move *move, enum layout layout, struct layout_plan *ret_plan)
{
    struct finder finder = {.move = move, .layout = layout, .plan = ret_plan};
    bool found;

    *ret_plan = (struct layout_plan){NULL, 0, 0};
    found = move_scan(move, find_in_page, &finder);
    sort(ret_plan);
    return found;
}

void layout_plan_release(struct layout_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        release_key(&plan->keys[i]);
    free(plan->keys);
    *plan = (struct layout_plan){NULL, 0, 0};
}

/* ---- the plan in words */

static const char *role_words(enum layout_role role)
{
    switch (role) {
    case ROLE_READY_FIRST:
    case ROLE_READY_LAST:
        return "ready";
    case ROLE_DEAD:
        return "dead";
    case ROLE_UNACKED:
        return "with a worker";
    default:
        return "by their times";
    }
}

void layout_plan_print(const struct layout_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct layout_key *key = &plan->keys[i];

        printf("%s: ", layout_name(key->layout));
        move_print_name(key->name);
        printf(": %lld %s, to ", key->size, role_words(key->role));
        if (key->topic.size > 0) {
            printf("topic ");
            move_print_name(key->topic);
        } else {
            printf("the topics that they name");
        }
        puts("");
    }
    if (plan->count == 0)
        puts("no queues found");
    if (plan->foreign > 0)
        printf("%" PRIu64 " keys are named like the layout, but are something else\n",
               plan->foreign);
}
