#include "tools/forward/keeper.h"

#include "tools/client/client_log.h"
#include "tools/move/peer.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

enum {
    AT_ONCE = 200, /* so that all of them fit into the buffer of a peer */
    RETRY_MS = 1000,
    STACK = 512 * 1024,
    NEVER_MS = 3600000
};

struct keeper {
    const struct forward_options *options;
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    struct forward_job *jobs;
    bool ends;
    /* The thread's own. */
    struct peer peer;
    bool connected;
};

/* ---- the list */

void keeper_add(struct keeper *keeper, struct forward_job *job)
{
    pthread_mutex_lock(&keeper->mutex);
    job->extend_at = client_monotonic() + keeper->options->lease_ms / 3;
    DL_APPEND(keeper->jobs, job);
    if (keeper->jobs == job) /* else it knows an earlier one */
        pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
}

void keeper_drop(struct keeper *keeper, struct forward_job *job)
{
    pthread_mutex_lock(&keeper->mutex);
    DL_DELETE(keeper->jobs, job);
    pthread_mutex_unlock(&keeper->mutex);
}

/* The list is in the order of extend_at, but for a round that failed. */
static int64_t next_at(const struct keeper *keeper)
{
    return keeper->jobs == NULL ? client_monotonic() + NEVER_MS : keeper->jobs->extend_at;
}

/* ---- extensions */

static bool connect_keeper(struct keeper *keeper)
{
    if (!keeper->connected)
        keeper->connected = peer_open(&keeper->peer, &keeper->options->where, "the server", 0);
    if (!keeper->connected)
        peer_close(&keeper->peer);
    return keeper->connected;
}

static void write_extend(struct keeper *keeper, const struct forward_job *job)
{
    peer_begin(&keeper->peer, 5);
    peer_text(&keeper->peer, "Q.EXTEND");
    peer_word(&keeper->peer, keeper->options->topic);
    peer_word(&keeper->peer, job->id);
    peer_number(&keeper->peer, job->token);
    peer_number(&keeper->peer, keeper->options->lease_ms);
}

/* With the mutex. Returns how many requests were written. */
static int write_due(struct keeper *keeper)
{
    int64_t now = client_monotonic();
    int count = 0;

    while (count < AT_ONCE && keeper->jobs != NULL && keeper->jobs->extend_at <= now) {
        struct forward_job *job = keeper->jobs;

        write_extend(keeper, job);
        job->extend_at = now + keeper->options->lease_ms / 3;
        DL_DELETE(keeper->jobs, job);
        DL_APPEND(keeper->jobs, job);
        count++;
    }
    return count;
}

/* With the mutex: all of them again, soon. */
static void put_off(struct keeper *keeper)
{
    struct forward_job *job;
    int64_t at = client_monotonic() + RETRY_MS;

    DL_FOREACH(keeper->jobs, job)
        job->extend_at = at;
}

/* Whose lease somebody else has now is found out by the ack. */
static bool hear_all(struct keeper *keeper, int count)
{
    for (; count > 0; count--) {
        redisReply *reply = peer_hear(&keeper->peer);

        if (reply == NULL)
            return false;
        freeReplyObject(reply);
    }
    return true;
}

/* Without the mutex. */
static void extend_due(struct keeper *keeper)
{
    bool connected = connect_keeper(keeper);
    int count = 0;

    pthread_mutex_lock(&keeper->mutex);
    if (connected)
        count = write_due(keeper);
    pthread_mutex_unlock(&keeper->mutex);
    if (connected && hear_all(keeper, count))
        return;
    if (connected)
        peer_close(&keeper->peer);
    keeper->connected = false;
    pthread_mutex_lock(&keeper->mutex);
    put_off(keeper);
    pthread_mutex_unlock(&keeper->mutex);
}

static void *keeper_main(void *arg)
{
    struct keeper *keeper = arg;

    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->ends) {
        int64_t at = next_at(keeper);
        struct timespec until = {at / 1000, at % 1000 * 1000000};

        if (at > client_monotonic()) {
            pthread_cond_timedwait(&keeper->changed, &keeper->mutex, &until);
            continue;
        }
        pthread_mutex_unlock(&keeper->mutex);
        extend_due(keeper);
        pthread_mutex_lock(&keeper->mutex);
    }
    pthread_mutex_unlock(&keeper->mutex);
    if (keeper->connected)
        peer_close(&keeper->peer);
    return NULL;
}

/* ---- its life */

struct keeper *keeper_new(const struct forward_options *options)
{
    struct keeper *keeper = client_allocate(NULL, sizeof(*keeper));
    pthread_condattr_t clock;
    pthread_attr_t attributes;
    bool begun;

    *keeper = (struct keeper){.options = options};
    pthread_mutex_init(&keeper->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    begun = pthread_create(&keeper->thread, &attributes, keeper_main, keeper) == 0;
    pthread_attr_destroy(&attributes);
    if (begun)
        return keeper;
    free(keeper);
    return NULL;
}

void keeper_free(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->ends = true;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->mutex);
    pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->mutex);
    free(keeper);
}
