#include "server/acl/hasher.h"

#include "server/acl/acl_hash.h"
#include "server/process/file_replace.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct hasher {
    pthread_mutex_t lock; /* for waiting, running and done, the states of jobs, and stops */
    pthread_cond_t work, ended;
    struct hash_job *waiting, *running, *done;
    struct hash_job *told; /* done, and handed out; the owner's, as is */
    size_t count;          /* jobs that wait or run, or whose end is not seen */
    uint64_t files_begun, files_ended;
    uint64_t newest, newest_hash; /* number and hash of the newest file that is written */
    bool newest_is_new;           /* hasher_take_file has not told it */
    bool stops;
    void (*notify)(void *arg);
    void *arg;
    pthread_t thread;
    bool thread_runs;
};

/* ---- jobs */

struct hash_job *hash_job_new(enum hash_kind kind, void *owner)
{
    struct hash_job *job = calloc(1, sizeof(*job));

    if (job == NULL)
        return NULL;
    job->kind = kind;
    job->owner = owner;
    return job;
}

bool hash_job_add(struct hash_job *job, struct dueq_slice password, const char *text)
{
    struct hash_item *item = &job->items[job->count];
    char *copy = malloc(password.size + 1);

    assert(job->count < HASH_ITEMS_MOST && password.size <= ACL_ARGON_PASSWORD_MAX);
    if (copy == NULL)
        return false;
    if (password.size > 0)
        memcpy(copy, password.data, password.size);
    item->password = dueq_slice(copy, password.size);
    if (text != NULL)
        memcpy(item->text, text, strlen(text) + 1);
    job->count++;
    return true;
}

struct hash_job *hash_job_new_write(const char *path, struct buffer *content, void *owner)
{
    struct hash_job *job = hash_job_new(HASH_WRITE, owner);

    if (job != NULL)
        job->path = strdup(path);
    if (job == NULL || job->path == NULL) {
        buffer_release(content);
        hash_job_free(job);
        return NULL;
    }
    job->content = *content;
    buffer_init(content, content->maximum);
    return job;
}

void hash_job_free(struct hash_job *job)
{
    for (size_t i = 0; job != NULL && i < job->count; i++) {
        void *copy = (void *)(uintptr_t)job->items[i].password.data;

        acl_hash_forget(copy, job->items[i].password.size);
        free(copy);
    }
    if (job != NULL && job->kind == HASH_WRITE) {
        buffer_release(&job->content);
        free(job->path);
    }
    free(job);
}

static void write_file(struct hash_job *job)
{
    bool good =
        file_replace(job->path, buffer_content(&job->content), buffer_size(&job->content));

    job->error = good ? 0 : errno;
}

/* All items, also after one that fits: how long it takes tells nothing. */
static void run(struct hash_job *job)
{
    if (job->kind == HASH_WRITE)
        write_file(job);
    for (size_t i = 0; i < job->count; i++) {
        struct hash_item *item = &job->items[i];

        if (job->kind == HASH_CHECK)
            item->result = acl_argon_check(item->text, item->password);
        else
            item->result =
                acl_argon_make(item->password, item->text) ? ACL_ARGON_SAME : ACL_ARGON_FAILED;
    }
}

/* Under the lock. */
static void end_run(struct hasher *hasher, struct hash_job *job)
{
    job->state = HASH_DONE;
    DL_APPEND(hasher->done, job);
    hasher->notify(hasher->arg);
}

/* ---- the thread */

/* Under the lock, which a run releases. */
static void run_first(struct hasher *hasher)
{
    struct hash_job *job = hasher->waiting;

    DL_DELETE(hasher->waiting, job);
    job->state = HASH_RUNS;
    hasher->running = job;
    pthread_mutex_unlock(&hasher->lock);
    run(job);
    pthread_mutex_lock(&hasher->lock);
    hasher->running = NULL;
    end_run(hasher, job);
    pthread_cond_signal(&hasher->ended);
}

static void *run_thread(void *arg)
{
    struct hasher *hasher = arg;

    pthread_mutex_lock(&hasher->lock);
    while (!hasher->stops) {
        if (hasher->waiting != NULL)
            run_first(hasher);
        else
            pthread_cond_wait(&hasher->work, &hasher->lock);
    }
    pthread_mutex_unlock(&hasher->lock);
    return NULL;
}

/* ---- life */

struct hasher *hasher_new(void (*notify)(void *arg), void *arg)
{
    struct hasher *hasher = calloc(1, sizeof(*hasher));

    if (hasher == NULL)
        return NULL;
    hasher->notify = notify;
    hasher->arg = arg;
    pthread_mutex_init(&hasher->lock, NULL);
    pthread_cond_init(&hasher->work, NULL);
    pthread_cond_init(&hasher->ended, NULL);
    return hasher;
}

static void free_all(struct hash_job **list)
{
    struct hash_job *job, *next;

    DL_FOREACH_SAFE(*list, job, next) {
        DL_DELETE(*list, job);
        hash_job_free(job);
    }
}

void hasher_free(struct hasher *hasher)
{
    if (hasher == NULL)
        return;
    pthread_mutex_lock(&hasher->lock);
    hasher->stops = true;
    pthread_cond_signal(&hasher->work);
    pthread_mutex_unlock(&hasher->lock);
    if (hasher->thread_runs)
        pthread_join(hasher->thread, NULL);
    free_all(&hasher->waiting);
    free_all(&hasher->done);
    free_all(&hasher->told);
    pthread_cond_destroy(&hasher->work);
    pthread_cond_destroy(&hasher->ended);
    pthread_mutex_destroy(&hasher->lock);
    free(hasher);
}

/* ---- for the owner */

bool hasher_has_room(const struct hasher *hasher)
{
    return hasher->count < HASHER_JOBS_MOST;
}

size_t hasher_waiting(const struct hasher *hasher)
{
    return hasher->count;
}

bool hasher_give(struct hasher *hasher, struct hash_job *job)
{
    assert(hasher_has_room(hasher));
    if (!hasher->thread_runs)
        hasher->thread_runs = pthread_create(&hasher->thread, NULL, run_thread, hasher) == 0;
    if (!hasher->thread_runs)
        return false;
    if (job->kind == HASH_WRITE)
        job->number = ++hasher->files_begun;
    pthread_mutex_lock(&hasher->lock);
    DL_APPEND(hasher->waiting, job);
    pthread_cond_signal(&hasher->work);
    pthread_mutex_unlock(&hasher->lock);
    hasher->count++;
    return true;
}

/* The one that runs is freed when it is done. */
void hasher_drop(struct hasher *hasher, struct hash_job *job)
{
    bool frees = true;

    pthread_mutex_lock(&hasher->lock);
    if (job->state == HASH_WAITS) {
        DL_DELETE(hasher->waiting, job);
        hasher->count--;
        hasher->files_ended += job->kind == HASH_WRITE;
    } else if (job->state == HASH_DONE && job->is_told) {
        DL_DELETE(hasher->told, job);
    } else {
        job->is_dropped = true;
        frees = false;
    }
    pthread_mutex_unlock(&hasher->lock);
    if (frees)
        hash_job_free(job);
}

static struct hash_job *take_done(struct hasher *hasher)
{
    struct hash_job *job;

    pthread_mutex_lock(&hasher->lock);
    job = hasher->done;
    if (job != NULL)
        DL_DELETE(hasher->done, job);
    pthread_mutex_unlock(&hasher->lock);
    return job;
}

static void note_end(struct hasher *hasher, const struct hash_job *job)
{
    hasher->count--;
    if (job->kind != HASH_WRITE)
        return;
    hasher->files_ended++;
    if (job->error != 0 || job->number < hasher->newest)
        return;
    hasher->newest = job->number;
    hasher->newest_hash = job->hash;
    hasher->newest_is_new = true;
}

struct hash_job *hasher_next_done(struct hasher *hasher)
{
    struct hash_job *job;

    while ((job = take_done(hasher)) != NULL) {
        note_end(hasher, job);
        if (!job->is_dropped) {
            job->is_told = true;
            DL_APPEND(hasher->told, job);
            return job;
        }
        hash_job_free(job);
    }
    return NULL;
}

/* ---- files */

bool hasher_is_writing(const struct hasher *hasher)
{
    return hasher->files_begun != hasher->files_ended;
}

uint64_t hasher_files(const struct hasher *hasher)
{
    return hasher->files_ended;
}

bool hasher_has_written(const struct hasher *hasher, uint64_t files)
{
    return hasher->files_begun != files;
}

/* In their order. None is being written then. Under the lock. */
static struct hash_job *take_files(struct hasher *hasher)
{
    struct hash_job *files = NULL, *job, *next;

    while (hasher->running != NULL && hasher->running->kind == HASH_WRITE)
        pthread_cond_wait(&hasher->ended, &hasher->lock);
    DL_FOREACH_SAFE(hasher->waiting, job, next) {
        if (job->kind != HASH_WRITE)
            continue;
        DL_DELETE(hasher->waiting, job);
        DL_APPEND(files, job);
    }
    return files;
}

void hasher_finish_files(struct hasher *hasher)
{
    struct hash_job *files, *job, *next;

    pthread_mutex_lock(&hasher->lock);
    files = take_files(hasher);
    pthread_mutex_unlock(&hasher->lock);
    DL_FOREACH_SAFE(files, job, next) {
        DL_DELETE(files, job);
        run(job);
        pthread_mutex_lock(&hasher->lock);
        end_run(hasher, job);
        pthread_mutex_unlock(&hasher->lock);
    }
}

void hasher_note_file(struct hasher *hasher)
{
    hasher->newest = ++hasher->files_begun;
    hasher->files_ended++;
    hasher->newest_is_new = false;
}

bool hasher_take_file(struct hasher *hasher, uint64_t *ret_hash)
{
    bool is_new = hasher->newest_is_new;

    hasher->newest_is_new = false;
    *ret_hash = hasher->newest_hash;
    return is_new;
}
