/* A Redis: a list or a stream. */
#include "tools/forward/target_peer.h"

#include "protocol/number.h"

#include <stdio.h>
#include <string.h>

struct redis_target {
    struct target_peer peer;
    const char *command; /* RPUSH, LPUSH or XADD */
    struct dueq_slice key, topic;
    int64_t once_ms;    /* an id comes once in that time; 0: none is remembered */
    const char *maxlen; /* of a stream; NULL: it grows */
};

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* All other errors are about the server or the key. */
static enum outcome judge(const char *error)
{
    return begins(error, "ERR Protocol error") || begins(error, "ERR string exceeds")
               ? OUTCOME_REFUSED
               : OUTCOME_AWAY;
}

/* ---- the URL */

static bool choose_key(struct redis_target *target, const char **ret_why)
{
    const struct target_url *url = &target->peer.url;
    const char *list = target_url_option(url, "list"), *left = target_url_option(url, "left"),
               *stream = target_url_option(url, "stream");

    *ret_why = "it needs one of ?list=KEY, ?left=KEY and ?stream=KEY";
    if ((list != NULL) + (left != NULL) + (stream != NULL) != 1)
        return false;
    target->command = list != NULL ? "RPUSH" : left != NULL ? "LPUSH" : "XADD";
    target->key = text_slice(list != NULL ? list : left != NULL ? left : stream);
    *ret_why = "the key is empty";
    return target->key.size > 0;
}

static bool choose_length(struct redis_target *target, const char **ret_why)
{
    int64_t length = 1;

    target->maxlen = target_url_option(&target->peer.url, "maxlen");
    *ret_why = "maxlen is a number from 1 on, and for a stream";
    return target->maxlen == NULL ||
           (strcmp(target->command, "XADD") == 0 &&
            number_parse_integer(target->maxlen, strlen(target->maxlen), &length) &&
            length > 0);
}

static bool may_know_ids(const struct redis_target *target,
                         const struct target_options *options, const char **ret_why)
{
    *ret_why = target_needs_prefix;
    return target->once_ms == 0 || options->prefix != NULL;
}

static bool read_url(struct target_peer *peer, const struct target_options *options, char *why)
{
    struct redis_target *target = (struct redis_target *)peer;
    static const char *const known[] = {"list", "left", "stream", "once", "maxlen", NULL};
    struct target_url *url = &target->peer.url;
    const char *wrong;

    target->topic = options->topic;
    if (target_url_parse(url, options->url, known, &wrong) && choose_key(target, &wrong) &&
        choose_length(target, &wrong) &&
        target_url_duration(url, "once", 0, &target->once_ms, &wrong) &&
        may_know_ids(target, options, &wrong))
        return target_peer_init(&target->peer, options, why);
    snprintf(why, TARGET_WHY, "%s", wrong);
    return false;
}

static struct target *new (const struct target_options *options, char *why)
{
    return target_peer_new(sizeof(struct redis_target), &target_redis, judge, read_url, options,
                           why);
}

/* ---- jobs */

static bool is_stream(const struct redis_target *target)
{
    return strcmp(target->command, "XADD") == 0;
}

/* What follows the key. */
static size_t element_words(const struct redis_target *target)
{
    return is_stream(target) ? 7 + (target->maxlen != NULL ? 3 : 0) : 1;
}

static void say_element(const struct redis_target *target, struct peer *peer,
                        const struct forward_job *job)
{
    char room[TARGET_ID];

    if (is_stream(target)) {
        if (target->maxlen != NULL) {
            peer_text(peer, "MAXLEN");
            peer_text(peer, "~");
            peer_text(peer, target->maxlen);
        }
        peer_text(peer, "*");
        peer_text(peer, "topic");
        peer_word(peer, target->topic);
        peer_text(peer, "id");
        peer_word(peer, target_id(target->peer.options, job, room));
        peer_text(peer, "body");
    }
    peer_word(peer, job->body);
}

/* The mark comes after the element: a push that fails ends the script, and leaves none. */
static const char once_script[] = "if redis.call('EXISTS', KEYS[2]) == 0 then "
                                  "redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3)) "
                                  "redis.call('SET', KEYS[2], '', 'PX', ARGV[1]) end return 1";

/* {KEY}:ID, which a cluster keeps where the key is. */
static void say_mark(const struct redis_target *target, struct peer *peer,
                     const struct forward_job *job)
{
    char mark[URL_TEXT + TARGET_ID + 8], room[TARGET_ID];
    struct dueq_slice id = target_id(target->peer.options, job, room);
    size_t size = (size_t)snprintf(mark, URL_TEXT + 8, "{%.*s}:", (int)target->key.size,
                                   (const char *)target->key.data);

    memcpy(mark + size, id.data, id.size);
    peer_word(peer, dueq_slice(mark, size + id.size));
}

static void say_once(const struct redis_target *target, struct peer *peer,
                     const struct forward_job *job)
{
    peer_begin(peer, 7 + element_words(target));
    peer_text(peer, "EVAL");
    peer_text(peer, once_script);
    peer_text(peer, "2");
    peer_word(peer, target->key);
    say_mark(target, peer, job);
    peer_number(peer, target->once_ms);
    peer_text(peer, target->command);
    say_element(target, peer, job);
}

static bool begin(struct target *base, struct forward_job *job)
{
    struct redis_target *target = (struct redis_target *)base;
    struct peer *peer = target_peer_begin(base, job);

    if (peer == NULL)
        return job->outcome != OUTCOME_NONE;
    if (target->once_ms > 0) {
        say_once(target, peer, job);
        return true;
    }
    peer_begin(peer, 2 + element_words(target));
    peer_text(peer, target->command);
    peer_word(peer, target->key);
    say_element(target, peer, job);
    return true;
}

const struct target_kind target_redis = {
    .schemes = "redis rediss redis+unix",
    .new = new,
    .free = target_peer_free,
    .open = target_peer_open,
    .shut = target_peer_shut,
    .begin = begin,
    .turn = target_peer_turn,
};
