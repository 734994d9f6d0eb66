#include "server/session/job_waits.h"

#include "server/containers/seeded_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    NAME_MAX_SIZE = 1 + 2 * DUEQ_NAME_MAX, /* size of the topic, topic, id */
    STORE_BYTES = 128                      /* that the store needs for a watch, about */
};

/* One job of one waiter. */
struct job_wait {
    struct watched_job *job; /* NULL: it does not wait, or no longer */
    struct job_waits *owner;
    struct job_wait *prev, *next; /* of the same job, in order of arrival */
    struct job_wait *first;       /* the same waiter's wait for the same job; NULL: this one */
    enum job_wait_state state;
};

struct job_waits {
    struct session *session;
    size_t count, open, bytes;
    bool is_finished; /* it is in the list of those to be answered */
    struct job_waits *prev, *next;
    struct job_wait entries[];
};

struct watched_job {
    UT_hash_handle hh;
    struct dueq_watch *watch; /* NULL: it has ended */
    struct job_wait *waits;
    size_t name_size;
    char name[];
};

/* ---- of one waiter */

struct job_waits *job_waits_new(struct session *session, size_t count)
{
    size_t bytes = sizeof(struct job_waits) + count * sizeof(struct job_wait);
    struct job_waits *waits = calloc(1, bytes);

    if (waits == NULL)
        return NULL;
    waits->session = session;
    waits->count = waits->open = count;
    waits->bytes = bytes;
    return waits;
}

size_t job_waits_open(const struct job_waits *waits)
{
    return waits->open;
}

size_t job_waits_count(const struct job_waits *waits)
{
    return waits->count;
}

size_t job_waits_bytes(const struct job_waits *waits)
{
    return waits->bytes;
}

enum job_wait_state job_waits_state(const struct job_waits *waits, size_t index)
{
    const struct job_wait *wait = &waits->entries[index];

    assert(index < waits->count);
    return wait->first == NULL ? wait->state : wait->first->state;
}

void job_waits_set(struct job_waits *waits, size_t index, enum job_wait_state state)
{
    struct job_wait *wait = &waits->entries[index];

    assert(index < waits->count && wait->state == JOB_WAIT_OPEN && wait->job == NULL);
    wait->state = state;
    waits->open -= state != JOB_WAIT_OPEN;
}

/* ---- jobs */

static size_t write_name(char *name, struct dueq_slice topic, struct dueq_slice id)
{
    name[0] = (char)(unsigned char)topic.size;
    memcpy(name + 1, topic.data, topic.size);
    memcpy(name + 1 + topic.size, id.data, id.size);
    return 1 + topic.size + id.size;
}

static struct watched_job *find_job(struct job_watches *watches, const char *name, size_t size)
{
    struct watched_job *job;

    HASH_FIND(hh, watches->jobs, name, size, job);
    return job;
}

static struct watched_job *new_job(struct job_watches *watches, const char *name, size_t size)
{
    struct watched_job *job = calloc(1, sizeof(*job) + size);

    if (job == NULL)
        return NULL;
    job->name_size = size;
    memcpy(job->name, name, size);
    HASH_ADD_KEYPTR(hh, watches->jobs, job->name, job->name_size, job);
    if (seeded_table_holds(job))
        return job;
    free(job);
    return NULL;
}

static void free_job(struct job_watches *watches, struct dueq *store, struct watched_job *job)
{
    if (job->watch != NULL)
        dueq_unwatch(store, job->watch);
    assert(watches->jobs != NULL);
    HASH_DEL(watches->jobs, job);
    free(job);
}

/* A job that nobody waits for yet is watched. */
static enum dueq_status open_job(struct job_watches *watches, struct dueq *store,
                                 struct dueq_slice topic, struct dueq_slice id,
                                 struct watched_job **ret_job)
{
    char name[NAME_MAX_SIZE];
    size_t size = write_name(name, topic, id);
    struct watched_job *job = find_job(watches, name, size);
    enum dueq_status status = DUEQ_OK;

    if (job == NULL) {
        job = new_job(watches, name, size);
        if (job == NULL)
            return DUEQ_NOMEM;
        status = dueq_watch_end(store, topic, id, job, &job->watch);
        if (status != DUEQ_OK)
            free_job(watches, store, job);
    }
    *ret_job = job;
    return status;
}

/* ---- joining and leaving */

enum dueq_status job_waits_join(struct job_watches *watches, struct dueq *store,
                                struct job_waits *waits, size_t index, struct dueq_slice topic,
                                struct dueq_slice id)
{
    struct job_wait *wait = &waits->entries[index], *last;
    enum dueq_status status = open_job(watches, store, topic, id, &wait->job);

    watches->steps++;
    if (status != DUEQ_OK) {
        wait->job = NULL;
        return status;
    }
    last = wait->job->waits == NULL ? NULL : wait->job->waits->prev;
    if (last != NULL && last->owner == waits) {
        wait->job = NULL;
        wait->first = last;
        waits->open--;
        return DUEQ_OK;
    }
    wait->owner = waits;
    waits->bytes += sizeof(*wait->job) + wait->job->name_size + STORE_BYTES;
    assert(wait->job->waits == NULL || last != NULL);
    DL_APPEND(wait->job->waits, wait);
    return DUEQ_OK;
}

static void leave(struct job_watches *watches, struct dueq *store, struct job_wait *wait)
{
    struct watched_job *job = wait->job;

    assert(wait->prev != NULL);
    DL_DELETE(job->waits, wait);
    if (job->waits == NULL)
        free_job(watches, store, job);
}

void job_waits_free(struct job_watches *watches, struct dueq *store, struct job_waits *waits)
{
    if (waits == NULL)
        return;
    for (size_t i = 0; i < waits->count; i++)
        if (waits->entries[i].job != NULL)
            leave(watches, store, &waits->entries[i]);
    if (waits->is_finished)
        DL_DELETE(watches->finished, waits);
    free(waits);
}

/* ---- ends */

static enum job_wait_state state_of(enum dueq_end end)
{
    switch (end) {
    case DUEQ_END_DONE:
        return JOB_WAIT_DONE;
    case DUEQ_END_DEAD:
        return JOB_WAIT_DEAD;
    case DUEQ_END_CANCELLED:
        return JOB_WAIT_CANCELLED;
    case DUEQ_END_NONE:
    case DUEQ_END_GONE:
        break;
    }
    return JOB_WAIT_GONE;
}

static void end_wait(struct job_watches *watches, struct watched_job *job,
                     struct job_wait *wait, enum job_wait_state state)
{
    struct job_waits *waits = wait->owner;

    watches->steps++;
    assert(wait->prev != NULL);
    DL_DELETE(job->waits, wait);
    wait->job = NULL;
    wait->state = state;
    if (--waits->open > 0)
        return;
    waits->is_finished = true;
    DL_APPEND(watches->finished, waits);
}

void job_watches_note_ends(struct job_watches *watches, struct dueq *store)
{
    void *arg;
    enum dueq_end end;

    while (dueq_next_end(store, &arg, &end)) {
        struct watched_job *job = arg;

        job->watch = NULL;
        while (job->waits != NULL)
            end_wait(watches, job, job->waits, state_of(end));
        free_job(watches, store, job);
    }
}

struct session *job_watches_next(struct job_watches *watches)
{
    struct job_waits *waits = watches->finished;

    if (waits == NULL)
        return NULL;
    DL_DELETE(watches->finished, waits);
    waits->is_finished = false;
    return waits->session;
}

bool job_watches_any(const struct job_watches *watches)
{
    return watches->finished != NULL;
}
