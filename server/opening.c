#include "server/opening.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct opening {
    char *dir;
    struct dueq_options options;
    struct dueq_time time;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t end;
    struct dueq_progress progress;
    bool stop, ended;
    enum dueq_status status; /* from here on: since the end */
    struct dueq *store;
    struct dueq_error error;
};

/* ---- in the thread */

static bool note_progress(void *arg, const struct dueq_progress *progress)
{
    struct opening *opening = arg;
    bool stop;

    pthread_mutex_lock(&opening->lock);
    opening->progress = *progress;
    stop = opening->stop;
    pthread_mutex_unlock(&opening->lock);
    return !stop;
}

static void *run(void *arg)
{
    struct opening *opening = arg;
    const struct dueq_options *options = &opening->options;
    enum dueq_status status =
        dueq_open(opening->dir, options, opening->time, &opening->store, &opening->error);

    pthread_mutex_lock(&opening->lock);
    opening->status = status;
    opening->ended = true;
    pthread_cond_signal(&opening->end);
    pthread_mutex_unlock(&opening->lock);
    options->notify(options->notify_arg);
    return NULL;
}

/* ---- life */

static void release(struct opening *opening)
{
    pthread_cond_destroy(&opening->end);
    pthread_mutex_destroy(&opening->lock);
    free(opening->dir);
    free(opening);
}

static void init_end(pthread_cond_t *end)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(end, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct opening *opening_start(const char *dir, const struct dueq_options *options,
                              struct dueq_time time)
{
    struct opening *opening = calloc(1, sizeof(*opening));

    if (opening == NULL)
        return NULL;
    opening->dir = strdup(dir);
    opening->options = *options;
    opening->options.on_progress = note_progress;
    opening->options.progress_arg = opening;
    opening->time = time;
    pthread_mutex_init(&opening->lock, NULL);
    init_end(&opening->end);
    if (opening->dir != NULL && pthread_create(&opening->thread, NULL, run, opening) == 0)
        return opening;
    release(opening);
    return NULL;
}

enum dueq_status opening_finish(struct opening *opening, struct dueq **ret_store,
                                struct dueq_error *ret_error)
{
    enum dueq_status status;

    pthread_join(opening->thread, NULL);
    status = opening->status;
    *ret_store = opening->store;
    *ret_error = opening->error;
    release(opening);
    return status;
}

/* ---- meanwhile */

bool opening_has_ended(struct opening *opening)
{
    return opening_await(opening, 0);
}

bool opening_await(struct opening *opening, int ms)
{
    struct timespec until;
    int64_t nsec;
    bool ended;

    clock_gettime(CLOCK_MONOTONIC, &until);
    nsec = until.tv_nsec + (int64_t)ms * 1000000;
    until.tv_sec += (time_t)(nsec / 1000000000);
    until.tv_nsec = (long)(nsec % 1000000000);
    pthread_mutex_lock(&opening->lock);
    while (!opening->ended && ms > 0 &&
           pthread_cond_timedwait(&opening->end, &opening->lock, &until) == 0)
        continue;
    ended = opening->ended;
    pthread_mutex_unlock(&opening->lock);
    return ended;
}

void opening_get_progress(struct opening *opening, struct dueq_progress *ret_progress)
{
    pthread_mutex_lock(&opening->lock);
    *ret_progress = opening->progress;
    pthread_mutex_unlock(&opening->lock);
}

void opening_stop(struct opening *opening)
{
    pthread_mutex_lock(&opening->lock);
    opening->stop = true;
    pthread_mutex_unlock(&opening->lock);
}
