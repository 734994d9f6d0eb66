#include "storage/queue/look.h"

enum dueq_status look_at_job(struct look *look, uint64_t seq)
{
    struct dueq_job shown;
    struct job job;
    enum dueq_status status = job_load(look->queue, look->topic, seq, &job);

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    lookup_show(look->queue, look->topic, &job, look->time, &shown);
    look->bytes += shown.body.size;
    look->is_over = look->bytes >= LOOK_BYTES;
    if ((look->state != DUEQ_DEFAULT && look->state != (int)shown.state) ||
        shown.due < look->from || shown.due > look->to)
        return DUEQ_OK;
    if (!look->fn(look->arg, &shown))
        look->is_over = true;
    return DUEQ_OK;
}

uint8_t look_class(enum dueq_state state)
{
    switch (state) {
    case DUEQ_CLAIMED:
        return CLASS_CLAIMED;
    case DUEQ_DEAD:
        return CLASS_DEAD;
    case DUEQ_DONE:
        return CLASS_DONE;
    case DUEQ_WAITING:
        return CLASS_WAITING;
    case DUEQ_DELAYED:
    case DUEQ_READY:
        break;
    }
    return 0;
}
