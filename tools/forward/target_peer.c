#include "tools/forward/target_peer.h"

#include "tools/client/client_log.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct target_peer *of(struct target *target)
{
    return (struct target_peer *)target;
}

const char target_needs_prefix[] =
    "--prefix is needed: a word that no other source has (--prefix dev7-), as the target takes "
    "an id that it knows for a repeat, and drops it; --prefix '' when ids differ everywhere";

/* ---- where it is */

/* The place as the other tools read it: dueq speaks RESP, too. */
static void write_place(const struct target_url *url, char *text, size_t size,
                        bool has_database)
{
    const char *scheme =
        strstr(url->scheme, "+unix") != NULL                                      ? "redis+unix"
        : strcmp(url->scheme, "dueqs") == 0 || strcmp(url->scheme, "rediss") == 0 ? "rediss"
                                                                                  : "redis";

    snprintf(text, size, "%s://%s%s%s", scheme, url->place, has_database ? "/" : "",
             has_database ? url->path : "");
}

bool target_peer_init(struct target_peer *target, const struct target_options *options,
                      char *why)
{
    char text[2 * URL_TEXT];
    const char *wrong;
    struct online_options *where = &target->place.options;
    bool has_database = target->target.kind == &target_redis && target->url.path[0] != '\0';

    write_place(&target->url, text, sizeof(text), has_database);
    if (!place_parse(&target->place, text, &wrong)) {
        snprintf(why, TARGET_WHY, "%s", wrong);
        return false;
    }
    target->options = options;
    if (where->password == NULL)
        where->password = getenv("DUEQ_OTHER_PASSWORD");
    where->password_file = options->password_file;
    where->ca = options->ca;
    where->cert = options->cert;
    where->key = options->key;
    where->insecure = options->insecure;
    where->patience_ms = (int)options->timeout_ms;
    return true;
}

struct target *target_peer_new(size_t size, const struct target_kind *kind,
                               enum outcome (*judge)(const char *error),
                               bool (*read_url)(struct target_peer *target,
                                                const struct target_options *options,
                                                char *why),
                               const struct target_options *options, char *why)
{
    struct target_peer *target = calloc(1, size);

    snprintf(why, TARGET_WHY, "out of memory");
    if (target == NULL)
        return NULL;
    target->target.kind = kind;
    target->judge = judge;
    if (read_url(target, options, why))
        return &target->target;
    free(target);
    return NULL;
}

/* ---- the connection */

bool target_peer_open(struct target *base)
{
    struct target_peer *target = of(base);

    base->away = false;
    target->hears = false;
    if (peer_open(&target->peer, &target->place.options, target->place.name,
                  target->place.database))
        return true;
    target_leave(base, "%s", target->peer.why);
    peer_close(&target->peer);
    return false;
}

void target_peer_shut(struct target *base)
{
    peer_close(&of(base)->peer);
}

void target_peer_free(struct target *base)
{
    target_peer_shut(base);
    free(base);
}

/* ---- jobs */

/* A connection without requests becomes readable when the other side has closed it. */
static bool is_stale(const struct target_peer *target)
{
    struct pollfd event = {.fd = online_descriptor(target->peer.client), .events = POLLIN};

    return target->count == 0 && poll(&event, 1, 0) > 0;
}

static bool open_anew(struct target_peer *target)
{
    target_peer_shut(&target->target);
    return target_peer_open(&target->target);
}

struct peer *target_peer_begin(struct target *base, struct forward_job *job)
{
    struct target_peer *target = of(base);

    if (target->count == TARGET_PIPELINE)
        return NULL;
    if (is_stale(target) && !open_anew(target)) {
        job_settle(job, OUTCOME_AWAY, "%.200s", target->target.why);
        return NULL;
    }
    target->spoke = true;
    target->waiting[(target->first + target->count++) % TARGET_PIPELINE] = job;
    return &target->peer;
}

static struct forward_job *take_first(struct target_peer *target)
{
    struct forward_job *job = target->waiting[target->first];

    target->first = (target->first + 1) % TARGET_PIPELINE;
    target->count--;
    return job;
}

static void lose(struct target_peer *target, const char *why)
{
    target_leave(&target->target, "%s", why);
    while (target->count > 0)
        job_settle(take_first(target), OUTCOME_AWAY, "%.200s", why);
}

static void take_reply(struct target_peer *target, const redisReply *reply)
{
    struct forward_job *job = take_first(target);
    enum outcome outcome = OUTCOME_SENT;

    if (reply->type == REDIS_REPLY_ERROR)
        outcome = target->judge(reply->str);
    job_settle(job, outcome, "%.200s", outcome == OUTCOME_SENT ? "" : reply->str);
    if (outcome == OUTCOME_AWAY) /* the same would happen to all others */
        target_leave(&target->target, "%s: %.300s", target->place.name, reply->str);
}

/* False: nothing has come yet. */
static bool await_reply(struct target_peer *target, int wait_ms)
{
    struct pollfd event = {.fd = online_descriptor(target->peer.client), .events = POLLIN};
    int64_t left = target->heard_at + target->options->timeout_ms - client_monotonic();

    if (target->hears || poll(&event, 1, wait_ms < left || left < 0 ? wait_ms : (int)left) > 0)
        return true;
    if (client_monotonic() - target->heard_at >= target->options->timeout_ms)
        lose(target, "the target does not answer");
    return false;
}

void target_peer_turn(struct target *base, int wait_ms)
{
    struct target_peer *target = of(base);
    int64_t end = client_monotonic() + wait_ms;

    if (target->count > 0 && !peer_flush(&target->peer))
        lose(target, target->peer.why);
    if (target->spoke) /* to send may have taken long */
        target->heard_at = client_monotonic();
    target->spoke = false;
    if (target->count == 0 || !await_reply(target, wait_ms))
        return;
    do {
        redisReply *reply = peer_hear(&target->peer);

        target->heard_at = client_monotonic();
        if (reply == NULL) {
            lose(target, target->peer.why);
        } else {
            take_reply(target, reply);
            freeReplyObject(reply);
        }
    } while (target->count > 0 && target->heard_at < end);
    target->hears = target->count > 0;
}
