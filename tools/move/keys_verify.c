#include "tools/move/keys_verify.h"

#include "tools/move/keys_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE = 1000, /* keys whose values are compared */
    SHOWN = 20     /* differences that are printed */
};

struct verify {
    struct move *move;
    uint64_t seen, compared, different, step; /* each step-th value is compared */
};

static void tell(struct verify *verify, struct dueq_slice name, const char *what)
{
    if (verify->different++ >= SHOWN)
        return;
    fputs("differs: ", stdout);
    move_print_name(name);
    printf(": %s\n", what);
}

/* ---- elements: what the source has, the target has as well; and their numbers are equal */

static bool same_text(const redisReply *one, const redisReply *other)
{
    return one->type == other->type &&
           dueq_slice_equal(reply_slice(one), reply_slice(other)) != 0;
}

static bool same_scores(const redisReply *one, const redisReply *other)
{
    return one->str != NULL && other->str != NULL &&
           strtod(one->str, NULL) == strtod(other->str, NULL);
}

/* Elements of a reply that are one of the value. */
static size_t step_of(enum value_type type)
{
    return type == VALUE_HASH || type == VALUE_ZSET ? 2 : 1;
}

static void ask_same(struct peer *to, const struct moved_key *key, const redisReply *elements,
                     long long at)
{
    static const char *const commands[VALUE_TYPES] = {"GET", "LRANGE", "SMISMEMBER", "ZMSCORE",
                                                      "HMGET"};
    size_t step = step_of(key->type);

    if (key->type == VALUE_STRING) {
        value_ask_whole(to, key->type, key->name);
        return;
    }
    peer_begin(to, key->type == VALUE_LIST ? 4 : 2 + elements->elements / step);
    peer_text(to, commands[key->type]);
    peer_word(to, key->name);
    if (key->type == VALUE_LIST) {
        peer_number(to, at);
        peer_number(to, at + (long long)elements->elements - 1);
        return;
    }
    for (size_t i = 0; i + step <= elements->elements; i += step) /* as many as were said */
        peer_word(to, reply_slice(elements->element[i]));
}

static bool element_is_same(enum value_type type, const redisReply *elements, size_t i,
                            const redisReply *found)
{
    switch (type) {
    case VALUE_SET:
        return found->type == REDIS_REPLY_INTEGER && found->integer == 1;
    case VALUE_ZSET:
        return same_scores(elements->element[2 * i + 1], found);
    case VALUE_HASH:
        return same_text(elements->element[2 * i + 1], found);
    default:
        return same_text(elements->element[i], found);
    }
}

static bool is_same(enum value_type type, const redisReply *elements, const redisReply *found)
{
    if (type == VALUE_STRING)
        return same_text(elements, found);
    if (found->type != REDIS_REPLY_ARRAY ||
        found->elements * step_of(type) != elements->elements)
        return false;
    for (size_t i = 0; i < found->elements; i++)
        if (!element_is_same(type, elements, i, found->element[i]))
            return false;
    return true;
}

/* Asks for what the elements should be at the target. False: there is nothing to ask for. */
static bool begin_compare(struct verify *verify, const struct moved_key *key,
                          const redisReply *elements, long long at)
{
    bool any = key->type == VALUE_STRING ? elements->type == REDIS_REPLY_STRING
                                         : elements->elements >= step_of(key->type);

    if (any)
        ask_same(&verify->move->to, key, elements, at);
    return any;
}

/* False: the target has failed. */
static bool end_compare(struct verify *verify, const struct moved_key *key,
                        const redisReply *elements, bool *ret_same)
{
    redisReply *found = peer_hear(&verify->move->to);

    if (found == NULL)
        return false;
    *ret_same = is_same(key->type, elements, found);
    freeReplyObject(found);
    return true;
}

static bool compare_large(struct verify *verify, const struct moved_key *key)
{
    struct value_pages pages;
    const redisReply *elements;
    redisReply *reply;
    bool same = true, going = true;
    long long at = 0;

    value_begin(&pages, &verify->move->from, key->type, key->name, moved_key_page(key));
    while (going && same && (reply = value_next(&pages, &elements)) != NULL) {
        if (begin_compare(verify, key, elements, at))
            going = end_compare(verify, key, elements, &same);
        at += (long long)elements->elements;
        freeReplyObject(reply);
    }
    if (!same)
        tell(verify, key->name, "the value");
    verify->compared++;
    return going && !verify->move->from.failed;
}

/* Small keys, all of which are asked for before the first reply is read. `there` says which are
 * to be compared. */
static bool compare_group(struct verify *verify, const struct moved_key *keys, size_t count)
{
    redisReply **values = calloc(count, sizeof(redisReply *));
    bool going = true, same;

    if (values == NULL)
        return peer_fail(&verify->move->from, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (keys[i].there)
            value_ask_whole(&verify->move->from, keys[i].type, keys[i].name);
    for (size_t i = 0; i < count && going; i++) {
        values[i] = keys[i].there ? peer_hear(&verify->move->from) : NULL;
        if (values[i] != NULL && !begin_compare(verify, &keys[i], values[i], 0)) {
            freeReplyObject(values[i]);
            values[i] = NULL;
        }
    }
    for (size_t i = 0; i < count && going; i++) {
        if (values[i] == NULL)
            continue;
        going = end_compare(verify, &keys[i], values[i], &same);
        if (going && !same)
            tell(verify, keys[i].name, "the value");
        verify->compared++;
    }
    for (size_t i = 0; i < count; i++)
        freeReplyObject(values[i]);
    free(values);
    return going && !verify->move->from.failed;
}

static bool compare_batch(struct verify *verify, const struct keys_batch *batch)
{
    bool going = true;

    for (size_t at = 0; at < batch->count && going;) {
        const struct moved_key *key = &batch->keys[at];
        size_t end = keys_batch_group(batch, at);

        if (end > at)
            going = compare_group(verify, key, end - at);
        else if (key->there)
            going = compare_large(verify, key);
        at = end > at ? end : at + 1;
    }
    return going;
}

/* ---- keys */

static void ask_target(struct peer *to, const struct moved_key *key)
{
    peer_say(to, 2, (struct dueq_slice[]){text_slice("TYPE"), key->name});
    peer_say(to, 2, (struct dueq_slice[]){text_slice("PTTL"), key->name});
    value_ask_size(to, key->type, key->name);
}

/* NULL: nothing, or the target has failed. */
static const char *difference(struct peer *to, const struct moved_key *key)
{
    redisReply *type = peer_hear(to), *left = peer_hear(to), *size = peer_hear(to);
    const char *what = NULL;

    if (type != NULL && left != NULL && size != NULL) {
        if (type->str == NULL || strcmp(type->str, "none") == 0)
            what = key->expires != 0 ? NULL : "it is not there";
        else if (strcmp(type->str, key->type_name) != 0)
            what = "the type";
        else if (size->type != REDIS_REPLY_INTEGER || size->integer != key->size)
            what = key->type == VALUE_STRING ? "the length" : "the number of elements";
        else if ((left->integer >= 0) != (key->expires != 0))
            what = "the expiry";
    }
    freeReplyObject(type);
    freeReplyObject(left);
    freeReplyObject(size);
    return what;
}

static bool is_compared(const struct moved_key *key)
{
    return !key->gone && key->type != VALUE_TYPES;
}

static bool verify_batch(struct verify *verify, const struct keys_batch *batch)
{
    struct peer *to = &verify->move->to;

    for (size_t i = 0; i < batch->count; i++)
        if (is_compared(&batch->keys[i]))
            ask_target(to, &batch->keys[i]);
    for (size_t i = 0; i < batch->count; i++) {
        struct moved_key *key = &batch->keys[i];
        const char *what = is_compared(key) ? difference(to, key) : NULL;

        key->there = is_compared(key) && what == NULL && verify->seen++ % verify->step == 0 &&
                     key->expires == 0;
        if (what != NULL)
            tell(verify, key->name, what);
    }
    if (to->failed || !compare_batch(verify, batch))
        return false;
    progress_add(&verify->move->progress, batch->count);
    return !to->failed;
}

static bool verify_page(void *arg, const redisReply *names)
{
    struct verify *verify = arg;
    struct keys_batch batch = {NULL, 0};
    bool done =
        keys_batch_read(verify->move, names, false, &batch) && verify_batch(verify, &batch);

    free(batch.keys);
    return done;
}

bool keys_compare_all(struct move *move, uint64_t found, uint64_t *ret_different)
{
    struct verify verify = {.move = move, .step = 1};
    bool done;

    if (move->options->verify == VERIFY_SAMPLE && found > SAMPLE)
        verify.step = found / SAMPLE;
    progress_begin(&move->progress, "verify", found);
    done = move_scan(move, verify_page, &verify);
    progress_end(&move->progress);
    *ret_different = verify.different;
    move_count(move, "compared", verify.compared);
    move_count(move, "different", verify.different);
    if (done)
        printf("verified: %" PRIu64 " keys, the values of %" PRIu64 "; %" PRIu64 " differ\n",
               verify.seen, verify.compared, verify.different);
    return done;
}
