#include "storage/queue/job_move.h"

#include "storage/kv/kv.h"
#include "storage/kv/room.h"
#include "storage/queue/push.h"

enum { RECORDS_USUAL = 2048 }; /* keys, numbers, and the id three times */

struct dueq_slice job_move_id(const struct job *job, char *text)
{
    if (job->body.id.size > 0)
        return job->body.id;
    given_id_write(text, job->body.stamp, job->seq);
    return dueq_slice(text, GIVEN_ID_SIZE);
}

size_t job_move_room(const struct job *job)
{
    return RECORDS_USUAL + job->body.body.size + job->state.error.size +
           job->state.history.size;
}

enum dueq_status job_move_check(struct queue *queue, const struct job *job, struct topic *to)
{
    char text[GIVEN_ID_SIZE];
    struct id_index_key name;

    return push_take_id(queue, to, job_move_id(job, text), &name);
}

/* The body as it is there: an id of size 0 asks for one of the store's. */
static struct job_body body_there(const struct job *job, struct dueq_slice id, int64_t due,
                                  struct dueq_time time)
{
    struct job_body body = job->body;

    body.id = id;
    body.clock = CLOCK_QUEUE;
    body.due = due;
    body.stamp = time.now;
    return body;
}

static void add(struct queue *queue, struct topic *to, const struct job_body *body,
                const struct job_state *from, const struct id_index_key *name,
                struct dueq_time time)
{
    struct job job = {.seq = to->next_seq, .body = *body};

    job.state = job_record_first_state(body);
    job.state.expires = DUEQ_NEVER;
    push_add(queue, to, body, &job.state, name, time);
    job.state.error = from->error;
    job.state.history = from->history;
    job_save_state(queue, to, &job);
}

enum dueq_status job_move(struct queue *queue, struct topic *from, struct job *job,
                          struct topic *to, int64_t due, enum job_move_taken taken,
                          struct dueq_time time)
{
    char text[GIVEN_ID_SIZE];
    struct id_index_key name;
    struct job_body body = body_there(job, job_move_id(job, text), due, time);
    struct job_state state = job_record_first_state(&body);
    enum dueq_status status = kv_room(queue->kv, job_move_room(job));

    if (status == DUEQ_OK)
        status = push_take_id(queue, to, body.id, &name);
    if (status == DUEQ_DUPLICATE && taken == JOB_MOVE_RENAMES) {
        body.id = dueq_slice(NULL, 0);
        status = push_give_id(queue, to, time.now);
    }
    if (status == DUEQ_OK)
        status = schedule_reserve(to, &state, time);
    if (status != DUEQ_OK)
        return status;
    queue->moved_bytes += body.body.size;
    add(queue, to, &body, &job->state, &name, time);
    job_remove(queue, from, job);
    return DUEQ_OK;
}
