/* Each job is looked up in its key, which is read as a whole: a list has no question for one
 * element. */
#include "tools/move/held_jobs.h"
#include "tools/move/job_fields.h"
#include "tools/move/layout_export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 1000, ASKED = 50, SHOWN = 20, SAMPLE = 1000 };

struct export_verify {
    struct layout_export *all;
    struct seen elements; /* of all keys; the content is a score or a body */
    uint64_t step, met, compared, different;
};

/* ---- what is there */

static struct dueq_slice score_of(const redisReply *text, double *room)
{
    *room = text->str == NULL ? 0 : strtod(text->str, NULL);
    return dueq_slice(room, sizeof(*room));
}

static bool note_elements(struct export_verify *verify, const struct shelf *shelf,
                          const redisReply *elements)
{
    size_t each = shelf->type == VALUE_LIST ? 1 : 2;
    bool same;

    for (size_t i = 0; i + each <= elements->elements; i += each) {
        double room;
        struct dueq_slice content = each == 1 ? dueq_slice(NULL, 0)
                                    : shelf->type == VALUE_ZSET
                                        ? score_of(elements->element[i + 1], &room)
                                        : reply_slice(elements->element[i + 1]);

        if (seen_count(&verify->elements, shelf_name(shelf), reply_slice(elements->element[i]),
                       content, &same) == 0)
            return peer_fail(&verify->all->move->to, "out of memory");
    }
    return true;
}

static bool read_shelf(struct export_verify *verify, const struct shelf *shelf)
{
    struct peer *to = &verify->all->move->to;
    const redisReply *elements;
    struct value_pages pages;
    redisReply *reply;
    bool going = true;

    value_begin(&pages, to, shelf->type, shelf_name(shelf), PAGE);
    while (going && (reply = value_next(&pages, &elements)) != NULL) {
        going = note_elements(verify, shelf, elements);
        freeReplyObject(reply);
    }
    return going && !to->failed;
}

/* Reads the key of the put, if it was not read yet: one that an earlier run has filled is not
 * known before. */
static bool need_shelf(struct export_verify *verify, const struct layout_put *put)
{
    struct layout_export *all = verify->all;
    struct shelf *shelf;

    if (!shelves_ask(&all->shelves, &all->move->to, put) ||
        !shelves_hear(all->shelves, &all->move->to))
        return false;
    shelf = shelves_find(all->shelves, put->key);
    if (shelf->is_read)
        return true;
    shelf->is_read = true;
    return read_shelf(verify, shelf);
}

/* ---- what is to be there */

/* NULL: nothing. */
static const char *difference(const struct export_verify *verify, const struct layout_put *put)
{
    struct dueq_slice element = put->kind == PUT_FIELD ? put->field : put->value,
                      content = put->kind == PUT_FIELD ? put->value : dueq_slice(NULL, 0);
    bool same = true;

    if (put->kind == PUT_SCORE)
        content = dueq_slice(&put->score, sizeof(put->score));
    if (seen_look(&verify->elements, put->key, element, content, &same) == 0)
        return "it is not there";
    return same ? NULL : put->kind == PUT_SCORE ? "the due time" : "the body";
}

static void tell(struct export_verify *verify, const struct placed_job *job, const char *what)
{
    if (what == NULL || verify->different++ >= SHOWN)
        return;
    fputs("differs: job ", stdout);
    move_print_name(job->id);
    printf(": %s\n", what);
}

static bool compare(struct export_verify *verify, const struct placed_job *job)
{
    struct layout_puts puts;
    const char *what = NULL;
    bool going = true;

    layout_place(&verify->all->style, job, &puts);
    for (size_t i = 0; i < puts.count && going && what == NULL; i++) {
        if (puts.puts[i].is_note)
            continue;
        going = need_shelf(verify, &puts.puts[i]);
        what = going ? difference(verify, &puts.puts[i]) : NULL;
    }
    verify->compared += puts.count > 0;
    tell(verify, job, what);
    layout_puts_release(&puts);
    return going;
}

static bool compare_some(struct export_verify *verify, struct dueq_slice topic,
                         const struct dueq_slice *ids, size_t count)
{
    struct peer *from = &verify->all->move->from;
    bool going = true;

    for (size_t i = 0; i < count; i++)
        peer_say(from, 3, (struct dueq_slice[]){text_slice("Q.GET"), topic, ids[i]});
    for (size_t i = 0; i < count && going; i++) {
        redisReply *reply = peer_take(from);
        struct placed_job job;

        if (reply == NULL)
            return false;
        if (reply->type == REDIS_REPLY_ARRAY && !job_is(reply, "done")) {
            held_read(topic, reply, &job);
            going = compare(verify, &job);
        }
        freeReplyObject(reply);
    }
    return going;
}

static bool compare_page(void *arg, struct dueq_slice topic, const redisReply *page)
{
    struct export_verify *verify = arg;
    struct dueq_slice ids[ASKED];
    size_t count = 0;
    bool going = true;

    for (size_t i = 0; i < page->elements && going; i++) {
        if (verify->met++ % verify->step == 0)
            ids[count++] = job_text(page->element[i], "id");
        if (count == ASKED) {
            going = compare_some(verify, topic, ids, count);
            count = 0;
        }
    }
    progress_add(&verify->all->move->progress, page->elements);
    return going && compare_some(verify, topic, ids, count);
}

bool layout_export_verify(struct layout_export *all, uint64_t *ret_different)
{
    struct export_verify verify = {.all = all, .step = 1};
    bool done;

    if (all->move->options->verify == VERIFY_SAMPLE && all->found > SAMPLE)
        verify.step = all->found / SAMPLE;
    progress_begin(&all->move->progress, "verify", all->found);
    done = held_jobs(all->move, compare_page, &verify);
    progress_end(&all->move->progress);
    move_count(all->move, "compared", verify.compared);
    move_count(all->move, "different", verify.different);
    if (done)
        printf("verified: %llu of %llu jobs; %llu differ\n",
               (unsigned long long)verify.compared, (unsigned long long)verify.met,
               (unsigned long long)verify.different);
    *ret_different = verify.different;
    seen_release(&verify.elements);
    return done;
}
