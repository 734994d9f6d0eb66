#include "tools/forward/source.h"

#include "tools/client/client_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE_LEAST = 100, PAUSE_MOST = 10000, REFUSED_MS = 1000, ID_MOST = 255 };

void job_list_add(struct job_list *list, struct forward_job *job)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 64 : 2 * list->room;
        list->jobs = client_allocate(list->jobs, list->room * sizeof(struct forward_job *));
    }
    list->jobs[list->count++] = job;
}

void forward_job_free(struct forward_job *job)
{
    freeReplyObject(job->reply);
    free(job);
}

int64_t lengthen(int64_t pause_ms, int64_t most, unsigned *random)
{
    int64_t pause = pause_ms == 0 ? PAUSE_LEAST : 2 * pause_ms;

    if (pause > most)
        pause = most;
    return pause - (pause < 4 ? 0 : rand_r(random) % (pause / 4));
}

/* ---- the connection */

void source_init(struct source *source, const struct forward_options *options)
{
    *source = (struct source){.options = options, .random = (unsigned)getpid()};
}

static void disconnect(struct source *source)
{
    if (source->connected)
        peer_close(&source->peer);
    source->connected = false;
}

void source_release(struct source *source)
{
    disconnect(source);
}

int64_t source_wait(const struct source *source)
{
    int64_t left = source->try_at - client_monotonic();

    return left > 0 ? left : 0;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static void put_off(struct source *source)
{
    source->pause_ms = lengthen(source->pause_ms, PAUSE_MOST, &source->random);
    source->try_at = client_monotonic() + source->pause_ms;
}

static bool lose(struct source *source)
{
    const char *why = strstr(source->peer.why, ": ");

    if (client_is_final(why == NULL ? "" : why + 2)) {
        client_log("%s", source->peer.why);
        source->failed = true;
    } else if (!source->told) {
        client_log("%s; trying again", source->peer.why);
    }
    source->told = true;
    disconnect(source);
    put_off(source);
    return false;
}

static bool connect_source(struct source *source)
{
    if (source->connected)
        return true;
    source->connected = peer_open(&source->peer, &source->options->where, "the server", 0);
    if (!source->connected) {
        lose(source);
        peer_close(&source->peer);
        return false;
    }
    if (source->told)
        client_log("the server is back");
    source->told = false;
    return true;
}

/* ---- what became of jobs */

/* By the attempts, so that one that is put off again and again waits longer. */
static int64_t later_ms(struct source *source, const struct forward_job *job)
{
    int64_t most = source->options->later_most_ms, wait = 1000;
    long long exponent = job->attempt - 1;

    if (job->later_ms > 0)
        return job->later_ms < most ? job->later_ms : most;
    for (; exponent > 0 && wait < most; exponent--)
        wait *= 2;
    if (wait > most)
        wait = most;
    return wait - (wait < 4 ? 0 : rand_r(&source->random) % (wait / 4));
}

static void write_nack(struct source *source, const struct forward_job *job)
{
    struct peer *peer = &source->peer;
    bool fails = job->outcome == OUTCOME_REFUSED ||
                 (job->outcome == OUTCOME_LATER && source->options->later_fails);
    bool dies = job->outcome == OUTCOME_REFUSED && source->options->refused_dies;
    bool waits = job->outcome == OUTCOME_LATER && (!fails || job->later_ms > 0);

    peer_begin(peer, 7 + (waits ? 2 : 0));
    peer_text(peer, "Q.NACK");
    peer_word(peer, source->options->topic);
    peer_word(peer, job->id);
    peer_number(peer, job->token);
    peer_text(peer, "ERROR");
    peer_text(peer, job->why);
    peer_text(peer, dies ? "FATAL" : fails ? "FAIL" : "SILENT");
    if (waits) {
        peer_text(peer, "DELAY");
        peer_number(peer, later_ms(source, job));
    }
}

static void write_verdict(struct source *source, const struct forward_job *job)
{
    struct peer *peer = &source->peer;

    if (job->outcome != OUTCOME_SENT) {
        write_nack(source, job);
        return;
    }
    peer_begin(peer, 4);
    peer_text(peer, "Q.ACK");
    peer_word(peer, source->options->topic);
    peer_word(peer, job->id);
    peer_number(peer, job->token);
}

static void log_lost(const struct forward_job *job, const char *error)
{
    client_log("%.*s: %s", (int)job->id.size, (const char *)job->id.data, error);
}

/* Has the server heard it? */
static bool is_heard(struct source *source, const struct forward_job *job,
                     const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return true;
    if (begins(reply->str, "CANCELLED") || begins(reply->str, "NOJOB"))
        return true; /* removed meanwhile, which is no fault */
    if (!begins(reply->str, "STALE") && !client_is_final(reply->str))
        return false; /* LOADING, MISCONF, FULL: again, later */
    source->failed = source->failed || client_is_final(reply->str);
    log_lost(job, reply->str);
    return true;
}

/* Replies to all verdicts; those that were not heard stay, in order. */
static bool hear_verdicts(struct source *source, struct job_list *told, struct job_list *ended)
{
    size_t at = 0, kept = 0;
    bool heard = true;

    for (; at < told->count; at++) {
        redisReply *reply = peer_hear(&source->peer);

        if (reply == NULL)
            break;
        if (is_heard(source, told->jobs[at], reply)) {
            job_list_add(ended, told->jobs[at]);
        } else {
            told->jobs[kept++] = told->jobs[at];
            heard = false;
        }
        freeReplyObject(reply);
    }
    for (; at < told->count; at++)
        told->jobs[kept++] = told->jobs[at];
    told->count = kept;
    return heard;
}

/* ---- claims */

static void write_claim(struct source *source, size_t count, int block_ms)
{
    struct peer *peer = &source->peer;

    peer_begin(peer, 9 + (block_ms > 0 ? 2 : 0));
    peer_text(peer, "Q.CLAIM");
    peer_word(peer, source->options->topic);
    peer_text(peer, "COUNT");
    peer_number(peer, (long long)count);
    peer_text(peer, "LEASE");
    peer_number(peer, source->options->lease_ms);
    if (block_ms > 0) {
        peer_text(peer, "BLOCK");
        peer_number(peer, block_ms);
    }
    peer_text(peer, "WORKER");
    peer_text(peer, source->options->worker);
    peer_text(peer, "BOUND");
}

/* Takes the job out of the reply. */
static void take_job(redisReply **element, struct job_list *claimed)
{
    redisReply *reply = *element;
    struct forward_job *job;

    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 ||
        reply->element[0]->len > ID_MOST)
        return;
    job = client_allocate(NULL, sizeof(*job));
    *job = (struct forward_job){.reply = reply,
                                .id = reply_slice(reply->element[0]),
                                .token = reply->element[1]->integer,
                                .body = reply_slice(reply->element[2]),
                                .attempt = reply->element[3]->integer};
    *element = NULL;
    job_list_add(claimed, job);
}

static bool hear_claim(struct source *source, struct job_list *claimed)
{
    redisReply *reply = peer_hear(&source->peer);
    bool heard = reply != NULL && reply->type != REDIS_REPLY_ERROR;

    if (heard && reply->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i < reply->elements; i++)
            take_job(&reply->element[i], claimed);
    if (reply != NULL && !heard && client_is_final(reply->str)) {
        if (!source->failed)
            client_log("%s", reply->str);
        source->failed = true;
    }
    if (reply != NULL)
        freeReplyObject(reply);
    return heard;
}

bool source_ask(struct source *source, struct job_list *told, struct job_list *ended,
                size_t count, int block_ms, struct job_list *claimed)
{
    bool heard;

    if (source_wait(source) > 0 || !connect_source(source))
        return false;
    for (size_t i = 0; i < told->count; i++)
        write_verdict(source, told->jobs[i]);
    if (count > 0)
        write_claim(source, count, block_ms);
    heard = hear_verdicts(source, told, ended);
    if (count > 0)
        heard = hear_claim(source, claimed) && heard;
    if (source->peer.failed)
        return lose(source);
    source->pause_ms = 0;
    source->try_at = heard ? 0 : client_monotonic() + REFUSED_MS;
    return heard;
}
