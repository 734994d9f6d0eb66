/* The public functions on jobs and topics. */
#include "storage/queue/after.h"
#include "storage/queue/pick.h"
#include "storage/queue/push_batch.h"
#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdlib.h>

/* A job may have ended: those that waited for it go on. */
static enum dueq_status followed(struct dueq *store, enum dueq_status status,
                                 struct dueq_time time)
{
    after_follow(store->queue, time);
    return status;
}

/* ---- jobs */

enum dueq_status dueq_push(struct dueq *store, const struct dueq_push *push,
                           struct dueq_time time, struct dueq_slice *ret_id)
{
    struct dueq_pushed pushed;
    enum dueq_status status = queue_push(store->queue, push, time, &pushed);

    after_follow(store->queue, time);
    if (status != DUEQ_OK)
        return status;
    *ret_id = push->id.size > 0 ? push->id : queue_given_id(store->queue);
    return DUEQ_OK;
}

enum dueq_status dueq_push_unique(struct dueq *store, const struct dueq_push *push,
                                  struct dueq_time time, struct dueq_pushed *ret_pushed)
{
    return followed(store, queue_push(store->queue, push, time, ret_pushed), time);
}

enum dueq_status dueq_push_many(struct dueq *store, const struct dueq_push *pushes,
                                size_t count, struct dueq_time time,
                                struct dueq_pushed *ret_pushed)
{
    struct push_batch batch;
    enum dueq_status status = push_batch_begin(store->queue, pushes, count, time, &batch);

    return followed(store, push_batch_run(&batch, status, ret_pushed), time);
}

/* A batch, and the job that hands over, if there is one. */
struct parts {
    struct push_batch batch;
    struct dueq_time time;
    struct leaving_job leaving;
    struct dueq_done done;
};

enum dueq_status store_push_begin(struct dueq *store, const struct dueq_push *pushes,
                                  size_t count, struct dueq_time time,
                                  struct push_batch **ret_batch)
{
    struct parts *parts = malloc(sizeof(*parts));

    *ret_batch = (struct push_batch *)parts;
    if (parts == NULL)
        return DUEQ_NOMEM;
    parts->time = time;
    return push_batch_begin(store->queue, pushes, count, time, &parts->batch);
}

static const struct dueq_done plain = {.keep = DUEQ_DEFAULT};

enum dueq_status store_hand_over_begin(struct dueq *store, struct dueq_slice topic,
                                       struct dueq_slice id, int64_t token,
                                       const struct dueq_done *done,
                                       const struct dueq_push *pushes, size_t count,
                                       struct dueq_time time, struct push_batch **ret_batch)
{
    enum dueq_status status = store_push_begin(store, pushes, count, time, ret_batch);
    struct parts *parts = (struct parts *)*ret_batch;

    if (status != DUEQ_OK)
        return status;
    parts->done = done == NULL ? plain : *done;
    parts->leaving = (struct leaving_job){
        .topic = topic, .id = id, .token = token, .done = &parts->done, .time = time};
    return followed(store, push_batch_follow(&parts->batch, &parts->leaving), time);
}

enum dueq_status store_push_check(struct push_batch *batch, size_t bytes)
{
    return push_batch_check(batch, bytes);
}

bool store_push_some(struct dueq *store, struct push_batch *batch, size_t bytes,
                     struct dueq_pushed *ret_pushed)
{
    if (!push_batch_add_some(batch, bytes, ret_pushed))
        return false;
    after_follow(store->queue, ((struct parts *)batch)->time);
    return true;
}

void store_push_end(struct push_batch *batch)
{
    if (batch != NULL)
        push_batch_release(batch);
    free(batch);
}

enum dueq_status dueq_claim_with(struct dueq *store, const struct dueq_claim *claim,
                                 struct dueq_time time, struct dueq_job *ret_job)
{
    return queue_claim(store->queue, claim, time, ret_job);
}

bool dueq_claims_are_enough(const struct dueq *store)
{
    return pick_is_enough(store->queue);
}

enum dueq_status dueq_claim_as(struct dueq *store, struct dueq_slice topic, int64_t lease,
                               struct dueq_slice worker, struct dueq_time time,
                               struct dueq_job *ret_job)
{
    struct dueq_claim claim = {
        .topic = topic, .lease = lease, .worker = worker, .waits_since = DUEQ_NEVER};

    return queue_claim(store->queue, &claim, time, ret_job);
}

enum dueq_status dueq_claim(struct dueq *store, struct dueq_slice topic, int64_t lease,
                            struct dueq_time time, struct dueq_job *ret_job)
{
    return dueq_claim_as(store, topic, lease, dueq_slice(NULL, 0), time, ret_job);
}

enum dueq_status dueq_claim_to_ack(struct dueq *store, struct dueq_slice topic,
                                   struct dueq_time time, struct dueq_job *ret_job)
{
    struct dueq_claim claim = {
        .topic = topic, .lease = DUEQ_DEFAULT, .waits_since = DUEQ_NEVER, .leaves = true};

    return queue_claim(store->queue, &claim, time, ret_job);
}

enum dueq_status dueq_ack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          int64_t token, struct dueq_time time)
{
    return followed(store, queue_ack(store->queue, topic, id, token, time), time);
}

enum dueq_status dueq_finish(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token, const struct dueq_done *done, struct dueq_time time)
{
    return followed(store, queue_finish(store->queue, topic, id, token, done, time), time);
}

enum dueq_status dueq_holds(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                            int64_t token)
{
    return queue_holds(store->queue, topic, id, token);
}

enum dueq_status dueq_hand_over(struct dueq *store, struct dueq_slice topic,
                                struct dueq_slice id, int64_t token,
                                const struct dueq_done *done, const struct dueq_push *pushes,
                                size_t count, struct dueq_time time,
                                struct dueq_pushed *ret_pushed)
{
    struct leaving_job leaving = {.topic = topic,
                                  .id = id,
                                  .token = token,
                                  .done = done == NULL ? &plain : done,
                                  .time = time};

    struct push_batch batch;
    enum dueq_status status = push_batch_begin(store->queue, pushes, count, time, &batch);

    if (status == DUEQ_OK)
        status = push_batch_follow(&batch, &leaving);
    return followed(store, push_batch_run(&batch, status, ret_pushed), time);
}

enum dueq_status dueq_nack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                           enum dueq_state *ret_state)
{
    return followed(store, queue_nack(store->queue, topic, id, token, nack, time, ret_state),
                    time);
}

enum dueq_status dueq_extend(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token, int64_t lease, struct dueq_time time,
                             int64_t *ret_end)
{
    return queue_extend(store->queue, topic, id, token, lease, dueq_slice(NULL, 0), time,
                        ret_end);
}

enum dueq_status dueq_extend_with(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_slice id, int64_t token, int64_t lease,
                                  struct dueq_slice progress, struct dueq_time time,
                                  int64_t *ret_end)
{
    return queue_extend(store->queue, topic, id, token, lease, progress, time, ret_end);
}

enum dueq_status dueq_end_lease(struct dueq *store, struct dueq_slice topic,
                                struct dueq_slice id, int64_t token, struct dueq_time time)
{
    return followed(store, queue_end_lease(store->queue, topic, id, token, time), time);
}

enum dueq_status dueq_get(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time, struct dueq_job *ret_job)
{
    return queue_get(store->queue, topic, id, time, ret_job);
}

enum dueq_status dueq_del(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time)
{
    return followed(store, queue_del(store->queue, topic, id, time), time);
}

enum dueq_status dueq_reschedule(struct dueq *store, struct dueq_slice topic,
                                 struct dueq_slice id, bool absolute, int64_t when,
                                 struct dueq_time time, int64_t *ret_due)
{
    return followed(
        store, queue_reschedule(store->queue, topic, id, absolute, when, time, ret_due), time);
}

enum dueq_status dueq_update(struct dueq *store, const struct dueq_push *changes,
                             bool with_body, struct dueq_time time)
{
    return followed(store, queue_update(store->queue, changes, with_body, time), time);
}

enum dueq_status dueq_move(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_slice other, struct dueq_time time)
{
    return followed(store, queue_move(store->queue, topic, id, other, time), time);
}

enum dueq_status dueq_cancel(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             struct dueq_time time, bool *ret_claimed)
{
    return followed(store, queue_cancel(store->queue, topic, id, time, ret_claimed), time);
}

enum dueq_status dueq_dead(struct dueq *store, const struct dueq_dead *query,
                           struct dueq_time time, unsigned budget, dueq_job_fn fn, void *arg,
                           struct dueq_dead_progress *progress)
{
    return followed(store, queue_dead(store->queue, query, time, budget, fn, arg, progress),
                    time);
}

enum dueq_status dueq_watch_end(struct dueq *store, struct dueq_slice topic,
                                struct dueq_slice id, void *arg, struct dueq_watch **ret_watch)
{
    return queue_watch_end(store->queue, topic, id, arg, ret_watch);
}

void dueq_unwatch(struct dueq *store, struct dueq_watch *watch)
{
    endings_remove(store->queue, watch);
}

bool dueq_next_end(struct dueq *store, void **ret_arg, enum dueq_end *ret_end)
{
    return endings_next(store->queue, ret_arg, ret_end);
}

/* ---- topics */

enum dueq_status dueq_topic_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_time time, struct dueq_topic_stats *ret_stats)
{
    return queue_topic_stats(store->queue, topic, time, ret_stats);
}

enum dueq_status dueq_topic_latencies(struct dueq *store, struct dueq_slice topic,
                                      struct dueq_time time,
                                      struct dueq_latencies *ret_latencies)
{
    return queue_topic_latencies(store->queue, topic, time, ret_latencies);
}

enum dueq_status dueq_total_stats(struct dueq *store, struct dueq_time time,
                                  struct dueq_topic_stats *ret_stats)
{
    return queue_total_stats(store->queue, time, ret_stats);
}

enum dueq_status dueq_claimed_topic_after(struct dueq *store, struct dueq_slice after,
                                          unsigned *budget, struct dueq_slice *ret_name)
{
    return queue_claimed_topic_after(store->queue, after, budget, ret_name);
}

enum dueq_status dueq_topic_after(struct dueq *store, struct dueq_slice after,
                                  struct dueq_slice *ret_name)
{
    return queue_topic_after(store->queue, after, ret_name);
}

size_t dueq_topic_count(const struct dueq *store)
{
    return queue_topic_count(store->queue);
}

bool store_has_signal(const struct dueq *store)
{
    return queue_has_signal(store->queue);
}

enum dueq_status dueq_next_signal(struct dueq *store, struct dueq_slice *ret_topic)
{
    return queue_next_signal(store->queue, ret_topic);
}

enum dueq_status dueq_purge(struct dueq *store, const struct dueq_purge *purge,
                            struct dueq_time time, unsigned budget,
                            struct dueq_purge_progress *progress)
{
    return followed(store, queue_purge(store->queue, purge, time, budget, progress), time);
}

enum dueq_status dueq_drop(struct dueq *store, struct dueq_slice topic, struct dueq_time time)
{
    return followed(store, queue_drop(store->queue, topic, time), time);
}

enum dueq_status dueq_pause(struct dueq *store, struct dueq_slice topic, bool in, bool out,
                            int64_t wait, struct dueq_time time)
{
    return queue_pause(store->queue, topic, in, out, wait, time);
}

/* ---- settings */

enum dueq_status dueq_put_settings(struct dueq *store, struct dueq_slice scope,
                                   const struct dueq_settings *settings)
{
    return settings_put(store->queue, scope, settings);
}

enum dueq_status dueq_get_settings(struct dueq *store, struct dueq_slice scope,
                                   struct dueq_settings *ret_settings)
{
    return settings_get(store->queue, scope, ret_settings);
}

struct dueq_slice dueq_setting_source(struct dueq *store, struct dueq_slice topic,
                                      unsigned setting)
{
    return settings_source(store->queue, topic, setting);
}

enum dueq_status dueq_settings_after(struct dueq *store, struct dueq_slice after,
                                     struct dueq_slice *ret_scope)
{
    return settings_after(store->queue, after, ret_scope);
}

void dueq_listen(struct dueq *store, bool listens)
{
    events_want(store->queue, listens);
}

bool dueq_next_event(struct dueq *store, struct dueq_event *ret_event)
{
    return events_next(store->queue, ret_event);
}
