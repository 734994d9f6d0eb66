#include "tools/move/layout_export.h"

#include "storage/xxh3.h"
#include "tools/move/held_jobs.h"
#include "tools/move/job_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP_FIRST = 50,
    GROUP_MAX = 1000,
    GROUP_BYTES = 1 << 20,
    TRIES = 1000, /* of a group that another export changes */
    NOTE = 16,    /* bytes that stand for a job */
    DAY_MS = 86400000
};

static const char notes_key[] = "dueq:exported";

struct held {
    struct dueq_slice id;
    unsigned char note[NOTE];
    bool there; /* an earlier run has written it */
    redisReply *reply;
    struct placed_job job;
    struct layout_puts puts;
};

struct group {
    struct held *jobs;
    size_t count;
};

/* ---- a job */

/* One note for each place where a job may be put: it may go into two layouts. */
static void make_note(const struct layout_export *all, struct held *held)
{
    const struct layout_style *style = &all->style;
    const char *names = style->names == NULL ? "" : style->names;
    XXH64_hash_t seed =
        XXH3_64bits_withSeed(all->topic.data, all->topic.size,
                             XXH3_64bits_withSeed(style->prefix, strlen(style->prefix) + 1,
                                                  XXH3_64bits(names, strlen(names) + 1))) +
        (XXH64_hash_t)style->layout;
    XXH128_hash_t hash = XXH3_128bits_withSeed(held->id.data, held->id.size, seed);

    memcpy(held->note, &hash.low64, 8);
    memcpy(held->note + 8, &hash.high64, 8);
}

static struct dueq_slice note_of(const struct held *held)
{
    return dueq_slice(held->note, NOTE);
}

/* Two jobs cannot be one member of a zset. */
static bool is_taken(struct layout_export *all, const struct held *held)
{
    const struct layout_put *put = &held->puts.puts[held->puts.count - 1];
    bool same = true;

    if (put->kind == PUT_SCORE &&
        seen_count(&all->members, put->key, put->value, held->id, &same) == 0)
        peer_fail(&all->move->from, "out of memory");
    return !same;
}

/* Says where the job goes. A job that is gone or done has no place, and is not told. */
static void place_held(struct layout_export *all, struct held *held)
{
    held->puts.count = 0;
    held->puts.why = NULL;
    if (held->reply->type != REDIS_REPLY_ARRAY || job_is(held->reply, "done"))
        return;
    held_read(all->topic, held->reply, &held->job);
    layout_place(&all->style, &held->job, &held->puts);
    if (held->puts.count > 0 && is_taken(all, held)) {
        held->puts.count = 0;
        held->puts.why = "another job has the same body, and a zset has it once";
    }
}

static void release_group(struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->jobs[i].reply != NULL)
            layout_puts_release(&group->jobs[i].puts);
        freeReplyObject(group->jobs[i].reply);
        group->jobs[i].reply = NULL;
        group->jobs[i].puts.count = 0; /* it has no place until it is read again */
    }
}

/* ---- a group: what is there, what the jobs are, and where they go */

static bool read_notes(struct layout_export *all, struct group *group)
{
    struct peer *to = &all->move->to;

    peer_say_text(to, "WATCH", notes_key, (const char *)NULL);
    for (size_t i = 0; i < group->count; i++)
        peer_say(to, 3,
                 (struct dueq_slice[]){text_slice("SISMEMBER"), text_slice(notes_key),
                                       note_of(&group->jobs[i])});
    if (!peer_settle(to, group->count))
        return false;
    for (size_t i = 0; i < group->count; i++)
        group->jobs[i].there = peer_take_integer(to) == 1;
    return !to->failed;
}

static bool read_jobs(struct layout_export *all, struct group *group)
{
    struct peer *from = &all->move->from;
    size_t bytes = 0, read = 0;

    for (size_t i = 0; i < group->count; i++)
        if (!group->jobs[i].there)
            peer_say(from, 3,
                     (struct dueq_slice[]){text_slice("Q.GET"), all->topic, group->jobs[i].id});
    for (size_t i = 0; i < group->count; i++) {
        struct held *held = &group->jobs[i];

        if (held->there)
            continue;
        held->reply = peer_take(from);
        if (held->reply == NULL)
            return false;
        place_held(all, held);
        bytes +=
            held->reply->type == REDIS_REPLY_ARRAY ? job_text(held->reply, "body").size : 0;
        read++;
    }
    if (read > 0)
        all->group = GROUP_BYTES / (bytes / read + 1);
    all->group = all->group > GROUP_MAX ? GROUP_MAX : all->group < 1 ? 1 : all->group;
    return !from->failed;
}

static bool find_shelves(struct layout_export *all, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++)
        for (size_t j = 0; j < group->jobs[i].puts.count; j++)
            if (!shelves_ask(&all->shelves, &all->move->to, &group->jobs[i].puts.puts[j]))
                return false;
    return shelves_hear(all->shelves, &all->move->to);
}

/* ---- a group: written */

static void say_put(struct peer *to, const struct layout_put *put)
{
    static const char *const commands[] = {[PUT_HEAD] = "LPUSH",
                                           [PUT_TAIL] = "RPUSH",
                                           [PUT_SCORE] = "ZADD",
                                           [PUT_FIELD] = "HSET",
                                           [PUT_MEMBER] = "SADD"};
    char score[32];

    peer_begin(to, put->kind == PUT_SCORE || put->kind == PUT_FIELD ? 4 : 3);
    peer_text(to, commands[put->kind]);
    peer_word(to, put->key);
    snprintf(score, sizeof(score), "%.17g", put->score);
    if (put->kind == PUT_SCORE)
        peer_text(to, score);
    if (put->kind == PUT_FIELD)
        peer_word(to, put->field);
    peer_word(to, put->value);
}

static void say_notes(struct layout_export *all, const struct group *group, size_t count)
{
    struct peer *to = &all->move->to;

    peer_begin(to, 2 + count);
    peer_text(to, "SADD");
    peer_text(to, notes_key);
    for (size_t i = 0; i < group->count; i++)
        if (group->jobs[i].puts.count > 0)
            peer_word(to, note_of(&group->jobs[i]));
    peer_begin(to, 3);
    peer_text(to, "PEXPIRE");
    peer_text(to, notes_key);
    peer_number(to, all->window == 0 ? DAY_MS : all->window);
}

/* The replies to all of a transaction. *ret_done: it was run; else somebody else has changed
 * the notes. False: failed. */
static bool hear_transaction(struct peer *to, bool *ret_done)
{
    redisReply *reply;

    if (!peer_settle(to, 1))
        return false;
    reply = peer_take(to);
    if (reply == NULL)
        return false;
    *ret_done = reply->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; *ret_done && i < reply->elements; i++)
        if (reply->element[i]->type == REDIS_REPLY_ERROR) {
            to->refused = true;
            peer_fail(to, reply->element[i]->str);
        }
    freeReplyObject(reply);
    return !to->failed;
}

static bool write_group(struct layout_export *all, const struct group *group, bool *ret_done)
{
    struct peer *to = &all->move->to;
    size_t count = 0;

    *ret_done = true;
    for (size_t i = 0; i < group->count; i++)
        count += group->jobs[i].puts.count > 0;
    if (count == 0 || all->move->options->dry_run) {
        peer_say_text(to, "UNWATCH", (const char *)NULL);
        return peer_settle(to, 0);
    }
    peer_say_text(to, "MULTI", (const char *)NULL);
    for (size_t i = 0; i < group->count; i++)
        for (size_t j = 0; j < group->jobs[i].puts.count; j++)
            say_put(to, &group->jobs[i].puts.puts[j]);
    say_notes(all, group, count);
    peer_say_text(to, "EXEC", (const char *)NULL);
    return hear_transaction(to, ret_done);
}

static void count_group(struct layout_export *all, const struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct held *held = &group->jobs[i];

        all->there += held->there;
        all->found += held->there || held->puts.count > 0 || held->puts.why != NULL;
        if (held->there)
            continue;
        if (held->puts.count > 0) {
            const struct layout_put *put = &held->puts.puts[held->puts.count - 1];

            all->written++;
            all->claimed += held->job.state == PLACED_CLAIMED;
            shelves_find(all->shelves, put->key)->put++;
        } else if (held->puts.why != NULL) {
            all->left_out++;
            all->why = held->puts.why;
        }
    }
}

static bool export_group(struct layout_export *all, struct group *group)
{
    bool done = false, going = true;

    for (int i = 0; i < TRIES && going && !done; i++) {
        going = read_notes(all, group) && read_jobs(all, group) && find_shelves(all, group) &&
                write_group(all, group, &done);
        if (going && done)
            count_group(all, group);
        release_group(group);
    }
    progress_add(&all->move->progress, group->count);
    return going && (done || peer_fail(&all->move->to, "others write there all the time"));
}

/* ---- a page of jobs */

/* False: it was there before in this run, or memory is out. */
static bool is_new(struct layout_export *all, struct dueq_slice id)
{
    bool same;
    uint64_t count = seen_count(&all->jobs, all->topic, id, dueq_slice(NULL, 0), &same);

    if (count == 0)
        peer_fail(&all->move->from, "out of memory");
    return count == 1;
}

static bool export_page(void *arg, struct dueq_slice topic, const redisReply *page)
{
    struct layout_export *all = arg;
    struct group group = {calloc(GROUP_MAX, sizeof(*group.jobs)), 0};
    bool going = true;

    if (group.jobs == NULL)
        return peer_fail(&all->move->from, "out of memory");
    all->topic = topic;
    for (size_t i = 0; i < page->elements && going; i++) {
        struct dueq_slice id = job_text(page->element[i], "id");

        if (is_new(all, id)) {
            group.jobs[group.count] = (struct held){.id = id};
            make_note(all, &group.jobs[group.count++]);
        }
        if (group.count >= all->group || (i + 1 == page->elements && group.count > 0)) {
            going = export_group(all, &group);
            group.count = 0;
        }
    }
    free(group.jobs);
    return going && !all->move->from.failed;
}

bool layout_export_write(struct layout_export *all)
{
    all->group = GROUP_FIRST;
    return held_jobs(all->move, export_page, all);
}

bool layout_export_end(struct layout_export *all)
{
    if (all->window > 0 || all->move->options->dry_run)
        return true;
    peer_say_text(&all->move->to, "DEL", notes_key, (const char *)NULL);
    return peer_settle(&all->move->to, 0);
}
