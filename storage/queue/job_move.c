#include "storage/queue/job_move.h"

#include "storage/kv/kv.h"
#include "storage/kv/room.h"
#include "storage/queue/push.h"

enum { RECORDS_USUAL = 2048 }; /* keys, numbers, and the id three times */

size_t job_move_room(const struct job *job)
{
    return RECORDS_USUAL + job->body.body.size + job->state.error.size +
           job->state.history.size + job->state.progress.size + job->state.worker.size;
}

enum dueq_status job_move_open(struct queue *queue, const struct job *job,
                               struct dueq_slice name, struct topic **ret_to)
{
    enum dueq_status status = kv_room(queue->kv, job_move_room(job));

    return status == DUEQ_OK ? topics_open(queue, name, ret_to) : status;
}

enum dueq_status job_move_check(struct queue *queue, const struct job *job, struct topic *to)
{
    char text[GIVEN_ID_SIZE];
    struct id_index_key name;

    return push_take_id(queue, to, job_id(job, text), &name);
}

void job_move_anew(struct job_move *move, int64_t due, struct dueq_time time)
{
    struct job *moved = &move->moved;

    moved->body = move->job->body;
    moved->body.clock = CLOCK_QUEUE;
    moved->body.due = due;
    moved->body.stamp = time.now;
    moved->state = job_record_first_state(&moved->body);
    moved->state.expires = DUEQ_NEVER;
    moved->state.error = move->job->state.error;
    moved->state.history = move->job->state.history;
    moved->moved = true;
}

/* An id that the store gave becomes one of a caller. */
static enum dueq_status plan_id(struct queue *queue, struct job_move *move,
                                enum job_move_taken taken, struct dueq_time time)
{
    struct job_body *body = &move->moved.body;
    enum dueq_status status;

    body->id = job_id(move->job, move->id);
    status = push_take_id(queue, move->to, body->id, &move->name);
    if (status != DUEQ_DUPLICATE || taken == JOB_MOVE_REFUSES)
        return status;
    body->id = dueq_slice(NULL, 0);
    return push_give_id(queue, move->to, time.now);
}

enum dueq_status job_move_plan(struct queue *queue, struct job_move *move,
                               enum job_move_taken taken, struct dueq_time time)
{
    enum dueq_status status = kv_room(queue->kv, job_move_room(move->job));

    if (status == DUEQ_OK)
        status = plan_id(queue, move, taken, time);
    return status == DUEQ_OK ? schedule_reserve(queue, move->to, &move->moved.state, time)
                             : status;
}

void job_move_do(struct queue *queue, struct job_move *move, struct dueq_time time)
{
    struct job *moved = &move->moved;
    bool has_record = moved->moved;

    moved->seq = move->to->next_seq;
    moved->moved = false;
    queue->body_steps += queue_move_steps(moved->body.body.size);
    push_add(queue, move->to, &moved->body, &moved->state, &move->name, time);
    if (has_record)
        job_save_state(queue, move->to, moved);
    job_remove(queue, move->from, move->job);
}
