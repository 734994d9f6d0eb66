/* Another dueq: each job is pushed under its own id, and a repeat finds that id taken. */
#include "tools/forward/target_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_SIZE = 255, DAY_MS = 86400000 };

struct dueq_target {
    struct target_peer peer;
    struct dueq_slice topic;
    const char *group;
    int64_t window_ms;
};

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* The replies of a dueq that are about the job, not about the topic or the server. */
static enum outcome judge(const char *error)
{
    return begins(error, "TOOBIG") || begins(error, "ERR id must") ||
                   begins(error, "ERR Protocol error")
               ? OUTCOME_REFUSED
               : OUTCOME_AWAY;
}

static bool read_url(struct target_peer *peer, const struct target_options *options, char *why)
{
    struct dueq_target *target = (struct dueq_target *)peer;
    static const char *const known[] = {"topic", "group", "window", NULL};
    struct target_url *url = &target->peer.url;
    const char *wrong = "its path has a % that is not the beginning of %XX", *topic;

    if (!target_url_parse(url, options->url, known, &wrong) || !place_unescape(url->path) ||
        !target_url_duration(url, "window", DAY_MS, &target->window_ms, &wrong)) {
        snprintf(why, TARGET_WHY, "%s", wrong);
        return false;
    }
    topic = url->path[0] != '\0' ? url->path : target_url_option(url, "topic");
    target->topic = topic == NULL ? options->topic : text_slice(topic);
    target->group = target_url_option(url, "group");
    snprintf(why, TARGET_WHY, "%s", target_needs_prefix);
    return options->prefix != NULL && target_peer_init(&target->peer, options, why);
}

static struct target *new (const struct target_options *options, char *why)
{
    return target_peer_new(sizeof(struct dueq_target), &target_dueq, judge, read_url, options,
                           why);
}

static void say_options(const struct dueq_target *target, struct peer *peer)
{
    if (target->window_ms > 0) {
        peer_text(peer, "WINDOW");
        peer_number(peer, target->window_ms);
    }
    if (target->group != NULL) {
        peer_text(peer, "GROUP");
        peer_text(peer, target->group);
    }
}

static bool begin(struct target *base, struct forward_job *job)
{
    struct dueq_target *target = (struct dueq_target *)base;
    char room[TARGET_ID];
    struct dueq_slice id = target_id(target->peer.options, job, room);
    struct peer *peer;

    if (id.size > NAME_MAX_SIZE) {
        job_settle(job, OUTCOME_REFUSED, "its id is too long for the prefix");
        return true;
    }
    peer = target_peer_begin(base, job);
    if (peer == NULL)
        return job->outcome != OUTCOME_NONE;
    peer_begin(peer, 7 + (target->window_ms > 0 ? 2 : 0) + (target->group != NULL ? 2 : 0));
    peer_text(peer, "Q.PUSH");
    peer_word(peer, target->topic);
    peer_word(peer, job->body);
    peer_text(peer, "ID");
    peer_word(peer, id);
    peer_text(peer, "ONDUP");
    peer_text(peer, "IGNORE");
    say_options(target, peer);
    return true;
}

const struct target_kind target_dueq = {
    .schemes = "dueq dueqs dueq+unix",
    .new = new,
    .free = target_peer_free,
    .open = target_peer_open,
    .shut = target_peer_shut,
    .begin = begin,
    .turn = target_peer_turn,
};
