/* Ids of beanstalkd are numbers that only grow. A job that is put into a tube of our own tells
 * the last one; all of those below are asked for, since nothing lists jobs. A job is deleted
 * there when the reply to its push has come. */
#include "tools/move/move_beanstalk.h"

#include "tools/move/beanstalk.h"
#include "tools/move/import_lock.h"
#include "tools/move/job_push.h"
#include "tools/move/layout.h"
#include "tools/online/online_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ASKED = 1000, /* ids at a time */
    BATCH = 500,  /* jobs at a time */
    TUBE_MAX = 200,
    INSTANCE = 16 /* of the server's own id, that is in the ids of jobs */
};

struct bean {
    uint64_t id;
    char tube[TUBE_MAX + MOVED_DEAD_SIZE + 1];
    int priority;
    int64_t due, lease;
    bool dead;
};

struct bean_move {
    struct move *move;
    struct beanstalk from;
    struct job_push push;
    struct seen seen;
    char instance[INSTANCE + 1];
    uint64_t last, expected;
    uint64_t *ids; /* of jobs, descending */
    size_t count, room;
    uint64_t found, held, gone, deleted, taken, twice;
    uint64_t ready, delayed, buried;
};

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int beanstalk_priority(uint64_t priority)
{
    uint64_t power = 1024;
    int step = 128;

    if (priority < 1024)
        return (int)(priority / 8);
    /* 5 steps for each doubling. */
    while (priority >= 2 * power && step < 250) {
        power *= 2;
        step += 5;
    }
    step += (int)((priority - power) * 5 / power);
    return step > 255 ? 255 : step;
}

/* ---- which jobs there are */

static bool read_server(struct bean_move *beans)
{
    struct dueq_slice stats;
    char id[64];

    beanstalk_say(&beans->from, "stats");
    if (beanstalk_data(&beans->from, "OK ", &stats) == NULL)
        return false;
    beans->expected = beanstalk_number(stats, "current-jobs-ready") +
                      beanstalk_number(stats, "current-jobs-delayed") +
                      beanstalk_number(stats, "current-jobs-buried") +
                      beanstalk_number(stats, "current-jobs-reserved");
    beanstalk_field(stats, "id", id, sizeof(id));
    snprintf(beans->instance, sizeof(beans->instance), "%.*s", INSTANCE, id);
    return id[0] != '\0' || beanstalk_fail(&beans->from, "this is no beanstalkd");
}

/* Puts a job where nobody looks and deletes it: its id is the last one. */
static bool find_last(struct bean_move *beans)
{
    const char *line;

    beanstalk_say(&beans->from, "use dueq-import");
    beanstalk_say(&beans->from, "put 0 3600 60 0");
    beanstalk_say(&beans->from, "%s", ""); /* the body */
    if (beanstalk_line(&beans->from) == NULL)
        return false;
    line = beanstalk_line(&beans->from);
    if (line == NULL)
        return false;
    if (sscanf(line, "INSERTED %" SCNu64, &beans->last) != 1)
        return beanstalk_fail(&beans->from, line);
    beanstalk_say(&beans->from, "delete %" PRIu64, beans->last);
    return beanstalk_line(&beans->from) != NULL;
}

static bool note_id(struct bean_move *beans, uint64_t id)
{
    if (beans->count == beans->room) {
        size_t room = beans->room == 0 ? 1024 : 2 * beans->room;
        uint64_t *ids = realloc(beans->ids, room * sizeof(*ids));

        if (ids == NULL)
            return beanstalk_fail(&beans->from, "out of memory");
        beans->ids = ids;
        beans->room = room;
    }
    beans->ids[beans->count++] = id;
    return true;
}

/* From the last one down: what is there is most often new. */
static bool find_jobs(struct bean_move *beans)
{
    uint64_t at = beans->last;

    progress_begin(&beans->move->progress, "ids", beans->last);
    while (at > 1 && beans->count < beans->expected && !beans->from.failed) {
        uint64_t end = at > ASKED ? at - ASKED : 1;

        for (uint64_t id = at - 1; id >= end; id--)
            beanstalk_say(&beans->from, "stats-job %" PRIu64, id);
        for (uint64_t id = at - 1; id >= end; id--) {
            struct dueq_slice stats;

            if (beanstalk_data(&beans->from, "OK ", &stats) == NULL ||
                (stats.size > 0 && !note_id(beans, id)))
                return false;
        }
        progress_add(&beans->move->progress, at - end);
        at = end;
    }
    progress_end(&beans->move->progress);
    return !beans->from.failed;
}

/* ---- a batch: what the jobs are */

/* In ms. A server takes no duration of more than a century; beanstalkd has 136 years. */
static int64_t lease_of(uint64_t seconds)
{
    const uint64_t century = UINT64_C(100) * 366 * 86400;

    return (int64_t)(seconds < century ? seconds : century) * 1000;
}

/* False: it is not to be moved now. */
static bool read_bean(struct bean_move *beans, struct dueq_slice stats, struct bean *bean)
{
    const char *topic = beans->move->options->topic;
    char state[16], tube[TUBE_MAX + 1];

    beanstalk_field(stats, "state", state, sizeof(state));
    beanstalk_field(stats, "tube", tube, sizeof(tube));
    bean->dead = strcmp(state, "buried") == 0;
    bean->priority = beanstalk_priority(beanstalk_number(stats, "pri"));
    bean->lease = lease_of(beanstalk_number(stats, "ttr"));
    bean->due = strcmp(state, "delayed") == 0
                    ? wall_ms() + (int64_t)beanstalk_number(stats, "time-left") * 1000
                    : 0;
    snprintf(bean->tube, sizeof(bean->tube), "%.200s%s", topic != NULL ? topic : tube,
             bean->dead ? MOVED_DEAD : "");
    beans->gone += state[0] == '\0';
    beans->held += strcmp(state, "reserved") == 0;
    beans->ready += strcmp(state, "ready") == 0;
    beans->delayed += bean->due > 0;
    beans->buried += bean->dead;
    return state[0] != '\0' && strcmp(state, "reserved") != 0;
}

static size_t read_batch(struct bean_move *beans, const uint64_t *ids, size_t count,
                         struct bean *batch)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++)
        beanstalk_say(&beans->from, "stats-job %" PRIu64, ids[count - 1 - i]);
    for (size_t i = 0; i < count; i++) {
        struct dueq_slice stats;

        if (beanstalk_data(&beans->from, "OK ", &stats) == NULL)
            return 0;
        batch[used].id = ids[count - 1 - i];
        used += read_bean(beans, stats, &batch[used]);
    }
    return used;
}

/* ---- a batch: over */

static size_t write_id(const struct bean_move *beans, const struct bean *bean, char *id,
                       size_t size)
{
    return (size_t)snprintf(id, size, "%" PRIu64 "-%s", bean->id, beans->instance);
}

/* Empty tubes are dropped when their job is gone: id 0. */
static bool push_bean(struct bean_move *beans, struct bean *bean)
{
    struct dueq_slice body;
    const char *line = beanstalk_data(&beans->from, "FOUND ", &body);
    char id[64];
    bool same;
    struct moved_job job = {.topic = text_slice(bean->tube),
                            .id = dueq_slice(id, write_id(beans, bean, id, sizeof(id))),
                            .body = body,
                            .due = bean->due,
                            .lease = bean->lease,
                            .priority = bean->priority,
                            .dead = bean->dead};

    if (line == NULL)
        return false;
    if (strncmp(line, "FOUND ", 6) != 0) {
        beans->gone++;
        bean->id = 0;
        return true;
    }
    beans->found++;
    return seen_count(&beans->seen, job.topic, job.id, body, &same) > 0 &&
           job_push(&beans->push, &job);
}

/* A worker there took it after it was read: it is not ours. */
static bool take_back(struct bean_move *beans, const struct bean *bean)
{
    struct peer *to = &beans->move->to;
    char id[64];
    size_t size = write_id(beans, bean, id, sizeof(id));
    redisReply *reply;

    peer_say(to, 3,
             (struct dueq_slice[]){text_slice("Q.DEL"), text_slice(bean->tube),
                                   dueq_slice(id, size)});
    reply = peer_hear(to);
    if (reply == NULL)
        return false;
    beans->taken += reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    beans->twice += reply->type != REDIS_REPLY_INTEGER || reply->integer != 1;
    freeReplyObject(reply);
    return true;
}

static bool delete_batch(struct bean_move *beans, const struct bean *batch, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (batch[i].id != 0)
            beanstalk_say(&beans->from, "delete %" PRIu64, batch[i].id);
    for (size_t i = 0; i < count; i++) {
        const char *line = batch[i].id != 0 ? beanstalk_line(&beans->from) : "";

        if (line == NULL)
            return false;
        beans->deleted += strcmp(line, "DELETED") == 0;
        if (strcmp(line, "NOT_FOUND") == 0 && !take_back(beans, &batch[i]))
            return false;
    }
    return true;
}

static bool move_batch(struct bean_move *beans, const uint64_t *ids, size_t count)
{
    static struct bean batch[BATCH];
    size_t used = read_batch(beans, ids, count, batch);

    if (beans->move->options->dry_run || beans->from.failed) {
        beans->found += used;
        return !beans->from.failed;
    }
    for (size_t i = 0; i < used; i++)
        beanstalk_say(&beans->from, "peek %" PRIu64, batch[i].id);
    for (size_t i = 0; i < used; i++)
        if (!push_bean(beans, &batch[i]))
            return false;
    return job_push_settle(&beans->push) && job_push_bury(&beans->push, &beans->seen) &&
           (beans->move->options->keep || delete_batch(beans, batch, used));
}

static bool move_all(struct bean_move *beans)
{
    bool going = true;

    progress_begin(&beans->move->progress, "jobs", beans->count);
    while (beans->count > 0 && going) {
        size_t count = beans->count < BATCH ? beans->count : BATCH;

        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): move_beanstalk() frees the ids */
        going = move_batch(beans, beans->ids + beans->count - count, count);
        beans->count -= count;
    }
    progress_end(&beans->move->progress);
    return going;
}

/* ---- the report */

static void report(const struct bean_move *beans)
{
    printf("%" PRIu64 " jobs found (%" PRIu64 " ready, %" PRIu64 " delayed, %" PRIu64
           " buried)",
           beans->found, beans->ready, beans->delayed, beans->buried);
    if (!beans->move->options->dry_run)
        printf(", %" PRIu64 " pushed, %" PRIu64 " were there already, %" PRIu64
               " deleted in the beanstalkd",
               beans->push.pushed, beans->push.there, beans->deleted);
    puts("");
    move_count(beans->move, "found", beans->found);
    move_count(beans->move, "moved", beans->push.pushed);
    move_count(beans->move, "there", beans->push.there);
    move_count(beans->move, "deleted", beans->deleted);
    move_count(beans->move, "held", beans->held);
    move_count(beans->move, "taken", beans->taken);
    if (beans->held > 0)
        printf("%" PRIu64 " jobs are with workers of the beanstalkd, and stay there\n",
               beans->held);
    if (beans->taken > 0)
        printf("%" PRIu64 " jobs were taken by workers there meanwhile, and are not here\n",
               beans->taken);
    if (beans->twice > 0)
        printf("%" PRIu64 " jobs were begun here and there\n", beans->twice);
}

static int tell_not_open(struct bean_move *beans, const char *name)
{
    bool unreachable = beans->from.fd < 0;

    fprintf(stderr, "%s: %s: %s\n", beans->move->options->command, name, beans->from.why);
    if (unreachable)
        fputs(online_where_to_look(NULL), stderr);
    beanstalk_close(&beans->from);
    return unreachable ? MOVE_UNREACHABLE : MOVE_NOT_BEGUN;
}

int move_beanstalk(struct move *move, const struct place *place)
{
    struct bean_move beans = {.move = move, .push = {.move = move}};
    struct import_lock lock = {.held = false};
    bool done;

    move->from.name = place->name;
    if (!beanstalk_open(&beans.from, &place->options) || !read_server(&beans))
        return tell_not_open(&beans, place->name);
    done = (move->options->dry_run ||
            import_lock_take(&lock, &move->to, "beanstalkd", beans.instance)) &&
           find_last(&beans) && find_jobs(&beans) && move_all(&beans);
    import_lock_release(&lock, &move->to);
    report(&beans);
    if (beans.from.failed)
        peer_fail(&move->from, beans.from.why);
    beanstalk_close(&beans.from);
    seen_release(&beans.seen);
    job_push_release(&beans.push);
    free(beans.ids);
    if (!done)
        return move_tell_failure(move);
    return beans.held + beans.twice > 0 && !move->options->dry_run ? MOVE_PARTLY : MOVE_DONE;
}
