/* A job that is done hands over to others: its ack and their pushes are one step. */
#include "storage/queue/push_batch.h"

enum dueq_status queue_hand_over(struct queue *queue, struct dueq_slice topic,
                                 struct dueq_slice id, int64_t token,
                                 const struct dueq_done *done, const struct dueq_push *pushes,
                                 size_t count, struct dueq_time time,
                                 struct dueq_pushed *ret_pushed)
{
    static const struct dueq_done plain = {.keep = DUEQ_DEFAULT};
    struct leaving_job leaving = {.topic = topic, .id = id};
    struct push_batch batch;
    enum dueq_status status =
        queue_foresee_ack(queue, topic, id, token, done, time, &leaving.held);

    if (status == DUEQ_CANCELLED)
        return queue_ack(queue, topic, id, token, time);
    if (status != DUEQ_OK)
        return status;
    if (done == NULL)
        done = &plain;
    leaving.room = queue_finish_room(done);
    status = push_batch_plan(queue, pushes, count, &leaving, time, &batch);
    if (status == DUEQ_OK)
        status = queue_finish(queue, topic, id, token, done, time);
    if (status == DUEQ_OK)
        push_batch_add(&batch, ret_pushed);
    push_batch_release(&batch);
    return status;
}
