/* What time brings: jobs fall due, leases and lives end. */
#include "storage/kv/kv.h"
#include "storage/queue/after.h"
#include "storage/queue/cron_entries.h"
#include "storage/queue/job_end.h"
#include "storage/queue/queue.h"

enum {
    RETRY_MS = 1000,
    REMOVAL_STEPS = 4 /* to remove a dead job's records, and to find it */
};

/* ---- one topic. What a budget was not enough for goes on from where it stopped: from the
 * first position that may still hold something, not among what is gone. */

static enum dueq_status count_lanes(struct queue *queue, struct topic *topic,
                                    struct dueq_time time, unsigned *budget)
{
    enum dueq_status failed = DUEQ_OK;
    uint64_t moved = 0;

    for (size_t i = 0; *budget > 0 && i < topic->lane_count; i++) {
        enum dueq_status status =
            schedule_count(queue, topic, &topic->lanes[i], time, budget, &moved);

        if (status != DUEQ_OK)
            failed = status;
    }
    if (moved > 0)
        queue_signal(queue, topic);
    return failed;
}

static enum dueq_status end_lease(struct queue *queue, struct topic *topic, uint64_t seq,
                                  struct dueq_time time, unsigned *budget)
{
    struct job job;
    enum dueq_status status = queue_load_within(queue, topic, seq, budget, &job);

    return status == DUEQ_OK ? job_end_lease(queue, topic, &job, job.state.due, time) : status;
}

/* One that cannot be read is passed over, so that the others go on. */
static bool is_damage(enum dueq_status status)
{
    return status == DUEQ_NOTFOUND || status == DUEQ_CORRUPT;
}

/* The first entry that is due; DUEQ_NOTFOUND: there is none, or the budget is spent. *from: no
 * entry comes before. */
static enum dueq_status next_due(struct queue *queue, struct topic *topic, uint8_t class,
                                 int64_t now, unsigned *budget, struct position *from)
{
    enum dueq_status status;

    if (*budget == 0 || from->due > now)
        return DUEQ_NOTFOUND;
    --*budget;
    status = schedule_class_first(queue, topic, class, *from, budget, from);
    if (status == DUEQ_NOTFOUND && *budget > 0)
        *from = POSITION_NEVER;
    if (status == DUEQ_OK && from->due > now)
        return DUEQ_NOTFOUND;
    return status;
}

static void pay(uint64_t steps, unsigned *budget)
{
    *budget -= steps < *budget ? (unsigned)steps : *budget;
}

/* Large bodies cost more than a step each. */
static void pay_for_bodies(const struct queue *queue, uint64_t *paid, unsigned *budget)
{
    pay(queue->body_steps - *paid, budget);
    *paid = queue->body_steps;
}

static enum dueq_status end_leases(struct queue *queue, struct topic *topic,
                                   struct dueq_time time, unsigned *budget)
{
    struct position *at = &topic->next_lease;
    uint64_t bodies = queue->body_steps;
    enum dueq_status status;

    while ((status = next_due(queue, topic, CLASS_CLAIMED, time.now, budget, at)) == DUEQ_OK) {
        status = end_lease(queue, topic, at->seq, time, budget);
        if (status != DUEQ_OK && !is_damage(status))
            return status;
        pay_for_bodies(queue, &bodies, budget);
        *at = position_after(*at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* A claimed job's life is looked at again when it is given back. */
static enum dueq_status expire_job(struct queue *queue, struct topic *topic,
                                   struct position position, struct dueq_time time,
                                   unsigned *budget)
{
    struct kv_key key;
    struct job job;
    enum dueq_status status = queue_load_within(queue, topic, position.seq, budget, &job);

    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    if (status == DUEQ_OK && job.state.state == PHASE_PENDING &&
        job.state.expires == position.due) {
        if (job_has_expired(queue, topic, &job, time))
            job_expire(queue, topic, &job, time);
        return DUEQ_OK;
    }
    queue_key_class(&key, topic->id, CLASS_TTL);
    kv_del(queue->kv, queue_key_add_position(&key, position.due, position.seq));
    return DUEQ_OK;
}

static enum dueq_status expire_jobs(struct queue *queue, struct topic *topic,
                                    struct dueq_time time, unsigned *budget)
{
    struct position *at = &topic->next_ttl;
    uint64_t bodies = queue->body_steps;
    enum dueq_status status;

    while ((status = next_due(queue, topic, CLASS_TTL, time.now, budget, at)) == DUEQ_OK) {
        status = expire_job(queue, topic, *at, time, budget);
        if (status != DUEQ_OK && !is_damage(status))
            return status;
        pay_for_bodies(queue, &bodies, budget);
        *at = position_after(*at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status remove_done(struct queue *queue, struct topic *topic,
                                    struct dueq_time time, unsigned *budget)
{
    struct position *at = &topic->next_done;
    uint64_t bodies = queue->body_steps;
    enum dueq_status status;

    while ((status = next_due(queue, topic, CLASS_DONE, time.now, budget, at)) == DUEQ_OK) {
        struct job job;

        status = queue_load_within(queue, topic, at->seq, budget, &job);
        if (status == DUEQ_OK)
            job_remove(queue, topic, &job);
        else if (!is_damage(status))
            return status;
        pay_for_bodies(queue, &bodies, budget);
        *at = position_after(*at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* The oldest go, as long as the topic's settings say so. */
static enum dueq_status remove_dead(struct queue *queue, struct topic *topic,
                                    struct dueq_time time, unsigned *budget)
{
    struct position *at = &topic->next_dead;
    uint64_t bodies = queue->body_steps;
    enum dueq_status status = DUEQ_OK;

    while (schedule_dead_end(queue, topic) <= time.now) {
        struct job job;

        status = next_due(queue, topic, CLASS_DEAD, SAFE_TIME_MAX, budget, at);
        if (status != DUEQ_OK || schedule_dead_end(queue, topic) > time.now)
            break;
        status = queue_load_within(queue, topic, at->seq, budget, &job);
        if (status == DUEQ_OK) {
            QUEUE_COUNT(queue, topic, dead_removed);
            job_remove(queue, topic, &job);
            pay(REMOVAL_STEPS - 1, budget);
        } else if (!is_damage(status)) {
            return status;
        }
        pay_for_bodies(queue, &bodies, budget);
        *at = position_after(*at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static void end_pause(struct queue *queue, struct topic *topic, struct dueq_time time)
{
    if (topic->paused == 0 || topic->paused_until > time.now)
        return;
    topic->paused = 0;
    queue_mark_dirty(queue, topic);
    queue_signal(queue, topic);
}

/* What fails is tried again in a while: the others go on, and the ticks do not spin. */
static void run_topic(struct queue *queue, struct topic *topic, struct dueq_time time,
                      unsigned *budget)
{
    enum dueq_status lives = expire_jobs(queue, topic, time, budget),
                     leases = end_leases(queue, topic, time, budget),
                     done = remove_done(queue, topic, time, budget),
                     dead = remove_dead(queue, topic, time, budget),
                     lanes = count_lanes(queue, topic, time, budget),
                     groups = groups_follow(queue, topic, budget),
                     permits = groups_release(queue, topic, time.now, budget),
                     events = rings_follow(queue, topic, budget);
    bool put_off = topic->put_off;
    bool failed = lives != DUEQ_OK || leases != DUEQ_OK || done != DUEQ_OK || dead != DUEQ_OK ||
                  lanes != DUEQ_OK || groups != DUEQ_OK || permits != DUEQ_OK ||
                  events != DUEQ_OK;
    int64_t at;

    settings_note_use(queue, topic);
    schedule_freed(queue, topic, topic->claimed);
    rates_tick(queue, topic, time.now);
    end_pause(queue, topic, time);
    at = schedule_next_event(queue, topic);
    topic->put_off = false;
    if (put_off)
        queue_signal(queue, topic);
    if (*budget == 0)
        at = time.now;
    else if (failed && at <= time.now)
        at = safe_time_add(time.now, RETRY_MS);
    topic->unsaved = true;
    wheel_cancel(&queue->wheel, &topic->entry->timer);
    queue_event_at(queue, topic, at);
}

/* ---- all topics */

/* With another offset between the clocks, jobs on the wall clock are due at other moments. */
static void follow_wall(struct queue *queue)
{
    if (queue->offset == queue->timers_offset)
        return;
    queue->timers_offset = queue->offset;
    topic_sweep_begin(queue);
}

/* One that cannot be read is looked at again in a while. */
static void run_entry(struct queue *queue, struct topic_entry *entry, struct dueq_time time,
                      unsigned *budget)
{
    struct topic *topic;

    if (topics_wake(queue, entry, &topic) == DUEQ_OK)
        run_topic(queue, topic, time, budget);
    else
        topics_event_at(queue, entry, safe_time_add(time.now, RETRY_MS));
}

static void run_due(struct queue *queue, struct dueq_time time, unsigned *budget)
{
    while (*budget > 0) {
        struct wheel_timer *timer = wheel_expire(&queue->wheel, time.now);

        if (timer == NULL && wheel_next(&queue->wheel) > time.now)
            return;
        --*budget;
        if (timer != NULL)
            run_entry(queue, topic_entry_of_timer(timer), time, budget);
    }
}

static void fill_id_filter(struct queue *queue, unsigned *budget)
{
    if (id_index_wants_filter(&queue->ids))
        id_index_begin_filter(&queue->ids, queue->jobs.pending + queue->jobs.claimed +
                                               queue->jobs.dead + queue->jobs.done +
                                               (AFTERS_KNOWN ? queue->jobs.waiting : 0));
    id_index_fill_filter(&queue->ids, queue->cursor, budget);
}

/* Erasing fills a memtable with tombstones; it is not urgent. */
static bool may_collect(const struct queue *queue)
{
    return garbage_any(queue) && !kv_is_behind(queue->kv);
}

void queue_tick(struct queue *queue, struct dueq_time time, unsigned *budget)
{
    kv_renew_slices(queue->kv); /* a caller may tick until nothing is left */
    follow_wall(queue);
    topic_sweep_run(queue, budget);
    cron_tick(queue, time, budget);
    run_due(queue, time, budget);
    while (AFTERS_KNOWN && *budget > 0 && after_settle(queue, time, budget))
        run_due(queue, time, budget); /* those who waited may lapse at once */
    if (*budget > 0 && may_collect(queue))
        garbage_collect(queue, budget);
    if (*budget > 0)
        fill_id_filter(queue, budget);
}

int64_t queue_next_tick(const struct queue *queue, struct dueq_time time)
{
    int64_t next = wheel_next(&queue->wheel), cron = cron_next_tick(queue),
            after = AFTERS_KNOWN ? after_next(queue) : DUEQ_NEVER,
            now = time.now > queue->now ? time.now : queue->now;

    if (may_collect(queue) || id_index_busy(&queue->ids) || queue->sweep.any ||
        queue->offset != queue->timers_offset)
        return 0;
    next = cron < next ? cron : next;
    if (next == DUEQ_NEVER)
        return after;
    next = next > now ? next - now : 0;
    return after < next ? after : next;
}
