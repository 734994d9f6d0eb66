/* Keys of one server into another one, as they are. A collection is renamed when it is whole:
 * no half of one is ever taken for all, and a second run leaves alone what the first one has
 * moved.
 */
#include "tools/move/keys_batch.h"
#include "tools/move/keys_verify.h"
#include "tools/move/move.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    AHEAD = 64,  /* replies of the target that may be missing while a collection is copied */
    NO_TYPES = 8 /* of types that do not move; for the report */
};

struct keys_move {
    struct move *move;
    uint64_t found, moved, there, gone, changed, bytes;
    uint64_t by_type[VALUE_TYPES];
    struct {
        char name[24];
        uint64_t count;
    } foreign[NO_TYPES];
};

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void count_foreign(struct keys_move *keys, const char *type)
{
    size_t i = 0;

    while (i + 1 < NO_TYPES && keys->foreign[i].count > 0 &&
           strcmp(keys->foreign[i].name, type) != 0)
        i++;
    snprintf(keys->foreign[i].name, sizeof(keys->foreign[i].name), "%.23s", type);
    keys->foreign[i].count++;
}

/* ---- writing */

/* In a transaction, since a key without its expiry would stay for ever. */
static void end_part(struct keys_move *keys, const struct moved_key *key)
{
    part_place(&keys->move->to, keys->move->part, key->name, key->expires,
               keys->move->options->replace);
    peer_say_text(&keys->move->to, "EXEC", (const char *)NULL);
}

static void write_string(struct keys_move *keys, const struct moved_key *key,
                         const redisReply *value)
{
    struct peer *to = &keys->move->to;
    bool replace = keys->move->options->replace;

    peer_begin(to, 3 + (key->expires != 0 ? 2 : 0) + (replace ? 0 : 1));
    peer_text(to, "SET");
    peer_word(to, key->name);
    peer_word(to, reply_slice(value));
    if (key->expires != 0) {
        peer_text(to, "PXAT");
        peer_number(to, key->expires);
    }
    if (!replace)
        peer_text(to, "NX");
}

static void write_small(struct keys_move *keys, const struct moved_key *key,
                        const redisReply *value)
{
    if (key->type == VALUE_STRING) {
        write_string(keys, key, value);
        return;
    }
    peer_say_text(&keys->move->to, "MULTI", (const char *)NULL);
    value_add(&keys->move->to, key->type, text_slice(keys->move->part), value);
    end_part(keys, key);
}

/* ---- what became of it */

enum fate { MOVED, THERE, GONE, FAILED };

static enum fate fate_of(struct peer *to, const redisReply *reply)
{
    /* The last request of a transaction but one is the rename. */
    const redisReply *last = reply->type == REDIS_REPLY_ARRAY && reply->elements > 1
                                 ? reply->element[reply->elements - 2]
                                 : reply;

    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        if (reply->element[i]->type == REDIS_REPLY_ERROR)
            last = reply->element[i];
    if (last->type == REDIS_REPLY_NIL ||
        (last->type == REDIS_REPLY_INTEGER && last->integer == 0))
        return THERE;
    if (last->type != REDIS_REPLY_ERROR)
        return MOVED;
    if (strcmp(last->str, "ERR no such key") == 0)
        return GONE; /* it has expired on its way, or was deleted while it was read */
    to->refused = true;
    peer_fail(to, last->str);
    return FAILED;
}

/* `before`: replies to requests before the one that tells. */
static enum fate hear_fate(struct peer *to, size_t before)
{
    redisReply *reply;
    enum fate fate;

    for (size_t i = 0; i < before; i++) {
        reply = peer_hear(to);
        /* An error among them is told by EXEC, better. */
        if (reply == NULL)
            return FAILED;
        if (reply->type == REDIS_REPLY_ERROR) {
            to->refused = true;
            peer_fail(to, reply->str);
        }
        freeReplyObject(reply);
    }
    reply = peer_hear(to);
    if (reply == NULL)
        return FAILED;
    fate = fate_of(to, reply);
    freeReplyObject(reply);
    return fate;
}

static bool count_fate(struct keys_move *keys, const struct moved_key *key, enum fate fate)
{
    switch (fate) {
    case MOVED:
        keys->moved++;
        keys->by_type[key->type]++;
        break;
    case THERE:
        keys->there++;
        break;
    case GONE:
        keys->gone++;
        break;
    case FAILED:
        return false;
    }
    progress_add(&keys->move->progress, 1);
    return true;
}

/* ---- small keys */

static bool is_wanted(const struct moved_key *key)
{
    return !key->gone && !key->there && key->type != VALUE_TYPES;
}

/* The value, if it is still of that type. NULL: it is not, or the source has failed. */
static redisReply *hear_value(struct keys_move *keys, struct moved_key *key)
{
    redisReply *reply = peer_hear(&keys->move->from);

    if (reply == NULL)
        return NULL;
    if (reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "WRONGTYPE", 9) != 0)
        peer_fail(&keys->move->from, reply->str);
    if (reply->type != REDIS_REPLY_ERROR && reply->type != REDIS_REPLY_NIL &&
        (reply->type != REDIS_REPLY_ARRAY || reply->elements > 0) &&
        (key->expires == 0 || key->expires > wall_ms()))
        return reply;
    keys->changed += reply->type == REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    key->gone = true;
    return NULL;
}

static bool move_group(struct keys_move *keys, struct moved_key *from,
                       const struct moved_key *end)
{
    struct peer *to = &keys->move->to;

    for (struct moved_key *key = from; key < end; key++)
        if (is_wanted(key))
            value_ask_whole(&keys->move->from, key->type, key->name);
    for (struct moved_key *key = from; key < end; key++) {
        redisReply *value = is_wanted(key) ? hear_value(keys, key) : NULL;

        if (value != NULL) {
            write_small(keys, key, value);
            freeReplyObject(value);
        } else if (key->gone && key->type != VALUE_TYPES) {
            keys->gone++;
        }
    }
    if (keys->move->from.failed)
        return false;
    for (struct moved_key *key = from; key < end; key++) {
        size_t before = key->type == VALUE_STRING ? 0 : 2 + PART_REQUESTS; /* MULTI, add */

        if (is_wanted(key) && !count_fate(keys, key, hear_fate(to, before)))
            return false;
    }
    return true;
}

/* ---- large ones */

static bool copy_pages(struct keys_move *keys, const struct moved_key *key,
                       long long *ret_copied)
{
    struct value_pages pages;
    const redisReply *elements = NULL;
    redisReply *reply;
    bool paired = key->type == VALUE_HASH || key->type == VALUE_ZSET;

    *ret_copied = 0;
    value_begin(&pages, &keys->move->from, key->type, key->name, moved_key_page(key));
    while ((reply = value_next(&pages, &elements)) != NULL) {
        *ret_copied += (long long)elements->elements / (paired ? 2 : 1);
        value_add(&keys->move->to, key->type, text_slice(keys->move->part), elements);
        freeReplyObject(reply);
        part_hold(&keys->move->to, keys->move->part);
        if (!peer_settle(&keys->move->to, AHEAD))
            return false;
    }
    return !keys->move->from.failed;
}

static bool move_large(struct keys_move *keys, const struct moved_key *key)
{
    struct peer *from = &keys->move->from, *to = &keys->move->to;
    long long copied;

    if (!copy_pages(keys, key, &copied) || !peer_settle(to, 0))
        return false;
    value_ask_size(from, key->type, key->name);
    if (key->type == VALUE_LIST && peer_take_integer(from) != copied)
        keys->changed++;
    else if (key->type != VALUE_LIST)
        peer_settle(from, 0);
    peer_say_text(to, "MULTI", (const char *)NULL);
    end_part(keys, key);
    return count_fate(keys, key, hear_fate(to, 1 + PART_REQUESTS));
}

/* ---- a page of SCAN */

static void count_key(struct keys_move *keys, const struct moved_key *key)
{
    keys->found++;
    if (key->type == VALUE_TYPES && !key->gone)
        count_foreign(keys, key->type_name);
    else if (key->there)
        keys->there++;
    if (key->there || key->type == VALUE_TYPES)
        progress_add(&keys->move->progress, 1);
    keys->bytes += (uint64_t)key->weight;
    if (keys->move->options->dry_run && is_wanted(key))
        keys->by_type[key->type]++;
}

static bool move_batch(struct keys_move *keys, const struct keys_batch *batch)
{
    size_t at = 0;

    for (size_t i = 0; i < batch->count; i++)
        count_key(keys, &batch->keys[i]);
    while (at < batch->count && !keys->move->options->dry_run) {
        size_t end = keys_batch_group(batch, at);

        if (end > at) {
            if (!move_group(keys, &batch->keys[at], &batch->keys[end]))
                return false;
            at = end;
        } else if (is_wanted(&batch->keys[at]) && !move_large(keys, &batch->keys[at])) {
            return false;
        } else {
            at++;
        }
    }
    return true;
}

static bool move_page(void *arg, const redisReply *names)
{
    struct keys_move *keys = arg;
    struct keys_batch batch = {NULL, 0};
    bool moved = keys_batch_read(keys->move, names, !keys->move->options->replace, &batch) &&
                 move_batch(keys, &batch);

    free(batch.keys);
    return moved;
}

/* ---- the report */

static void report(const struct keys_move *keys)
{
    const char *verb = keys->move->options->dry_run ? "would be moved" : "moved";
    uint64_t moved = 0;

    for (int i = 0; i < VALUE_TYPES; i++)
        moved += keys->by_type[i];
    printf("%" PRIu64 " keys found, %" PRIu64 " %s", keys->found, moved, verb);
    for (int i = 0, shown = 0; i < VALUE_TYPES; i++)
        if (keys->by_type[i] > 0)
            printf("%s%" PRIu64 " %s", shown++ == 0 ? " (" : ", ", keys->by_type[i],
                   value_type_name((enum value_type)i));
    printf("%s, %" PRIu64 " were there already, about %" PRIu64 " bytes\n",
           moved > 0 ? ")" : "", keys->there, keys->bytes);
    move_count(keys->move, "found", keys->found);
    move_count(keys->move, "moved", moved);
    move_count(keys->move, "there", keys->there);
    move_count(keys->move, "gone", keys->gone);
    move_count(keys->move, "changed", keys->changed);
    if (keys->gone > 0)
        printf("%" PRIu64 " keys expired or were deleted meanwhile\n", keys->gone);
    if (keys->changed > 0)
        printf("%" PRIu64 " keys changed while they were read: run it again with --replace\n",
               keys->changed);
    for (size_t i = 0; i < NO_TYPES && keys->foreign[i].count > 0; i++)
        printf("%" PRIu64 " keys of type %s do not move\n", keys->foreign[i].count,
               keys->foreign[i].name);
}

static uint64_t count_keys(struct peer *from)
{
    long long count;

    peer_say_text(from, "DBSIZE", (const char *)NULL);
    count = peer_take_integer(from);
    return count < 0 ? 0 : (uint64_t)count;
}

int move_keys(struct move *move)
{
    struct keys_move keys = {.move = move};
    bool done, partly;

    progress_begin(&move->progress, "keys",
                   move->options->pattern == NULL ? count_keys(&move->from) : 0);
    done = move_scan(move, move_page, &keys);
    progress_end(&move->progress);
    report(&keys);
    partly = keys.changed > 0 || keys.foreign[0].count > 0;
    if (done && !move->options->dry_run && move->options->verify != VERIFY_NONE) {
        uint64_t different = 0;

        done = keys_compare_all(move, keys.found, &different);
        partly = partly || different > 0;
    }
    if (!done)
        return move_tell_failure(move);
    return partly && !move->options->dry_run ? MOVE_PARTLY : MOVE_DONE;
}
