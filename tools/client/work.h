/* `dueq work`: a command for each job. Each slot is a thread with a connection of its own,
 * which claims a job, runs the command, and tells the server what came of it; the main thread
 * waits for signals. */
#ifndef DUEQ_WORK_H
#define DUEQ_WORK_H

#include "tools/client/client_call.h"
#include "tools/client/client_log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { WORK_TAIL = 1000 /* bytes of standard error that are kept with the job */ };

struct work {
    struct online_options where;
    const char *topic;
    size_t topic_size;
    const char *path;                               /* of the command */
    char **arguments;                               /* the command's, its name first */
    const char *name;                               /* of the worker */
    int64_t lease_ms, limit_ms, grace_ms, later_ms; /* limit_ms 0: none */
    bool drains, verbose;
    int stop_fd, abandon_fd, ended_fd; /* eventfd: readable from then on */
    atomic_bool stopping;              /* claim no more */
    atomic_bool abandoning;            /* give back what is held */
    atomic_bool failed;                /* the server refuses claims for good */
    atomic_int slots;                  /* that still run */
};

void work_stop(struct work *work);

struct slot {
    struct work *work;
    pthread_t thread;
    struct online_client *client; /* NULL: there is no connection */
    int64_t pause_ms;             /* before the next try to connect */
    bool told;                    /* that the server is away */
    unsigned random;
    char why[ONLINE_WHY];
};

void *slot_main(void *slot);

/* A job that a slot holds. */
struct held_job {
    struct dueq_bytes {
        const char *data;
        size_t size;
    } id, body;
    long long token, attempt;
};

enum held_state { HELD_OK, HELD_UNKNOWN /* try again */, HELD_LOST, HELD_CANCELLED };
/* Extends the lease. */
enum held_state slot_extend(struct slot *slot, const struct held_job *job);

/* Why a command was ended. */
enum ended_by { ENDED_ITSELF, ENDED_BY_LIMIT, ENDED_BY_STOP, ENDED_BY_LOSS, ENDED_BY_CANCEL };

struct run_result {
    enum ended_by by;
    int status; /* as of waitpid; -1: it was not started */
    char tail[WORK_TAIL + 1];
    size_t tail_size;
};

/* Runs the command with the job and extends the lease meanwhile. */
void slot_run_command(struct slot *slot, const struct held_job *job,
                      struct run_result *ret_result);

#endif
