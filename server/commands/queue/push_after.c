#include "server/commands/queue/push_after.h"

#include "server/containers/seeded_table.h"
#include "server/dispatch/arguments.h"

#include <stdlib.h>
#include <string.h>

static bool is_there(struct context *context, struct dueq_slice topic, struct dueq_slice id)
{
    struct dueq_job job;

    return topic.size > 0 && id.size > 0 &&
           dueq_get(context->store, topic, id, context->now, &job) == DUEQ_OK;
}

/* Where a name can be taken apart into a topic and an id. */
static bool split(struct dueq_slice name, size_t at, struct dueq_prerequisite *ret_of)
{
    const char *text = name.data;

    *ret_of = (struct dueq_prerequisite){.topic = dueq_slice(text, at),
                                         .id = dueq_slice(text + at + 1, name.size - at - 1)};
    return text[at] == ':' && at > 0 && at <= DUEQ_NAME_MAX;
}

/* A name behind AFTER, and the topic of the push that waits. */
struct awaited {
    struct push_after_place *place;
    struct dueq_slice topic, name;
    size_t index; /* argument */
};

static bool may_read(struct context *context, const struct awaited *awaited, size_t size)
{
    return after_rights_cover(context, awaited->place->rights, awaited->index, size);
}

/* Nothing tells whether a topic that the user may not read has a job: a name that can mean one
 * there, and nothing else, is refused either way. False: the error is written. */
static bool may_be_done(struct context *context, const struct awaited *awaited)
{
    struct dueq_slice name = awaited->name;
    struct dueq_prerequisite of;

    for (size_t at = 0; at < name.size; at++)
        if (split(name, at, &of) && dueq_slice_equal(of.topic, awaited->topic))
            return true;
    for (size_t at = name.size; at-- > 0;)
        if (split(name, at, &of) &&
            !after_rights_allow(context, awaited->place->rights, awaited->index, at))
            return false;
    return true;
}

struct push_after_name push_after_name_of(const struct dueq_push *push)
{
    struct push_after_name name = {0, 0}; /* without an id nothing has its name */
    char joined[2 * DUEQ_NAME_MAX + 1];

    if (push->id.size == 0)
        return name;
    memcpy(joined, push->topic.data, push->topic.size);
    joined[push->topic.size] = ':';
    memcpy(joined + push->topic.size + 1, push->id.data, push->id.size);
    name.id = seeded_table_hash(push->id.data, push->id.size);
    name.joined = seeded_table_hash(joined, push->topic.size + 1 + push->id.size);
    return name;
}

/* Is it the name of that push, with its topic? */
static bool is_joined(const struct dueq_push *push, struct dueq_slice name)
{
    struct dueq_prerequisite of;

    return push->id.size > 0 && name.size == push->topic.size + 1 + push->id.size &&
           split(name, push->topic.size, &of) && dueq_slice_equal(of.topic, push->topic) &&
           dueq_slice_equal(of.id, push->id);
}

/* A job that the command itself has pushed before. */
static bool find_earlier(struct context *context, const struct awaited *awaited,
                         struct dueq_prerequisite *ret_of)
{
    const struct push_after_place *place = awaited->place;
    uint64_t hash = seeded_table_hash(awaited->name.data, awaited->name.size);

    for (size_t i = 0; i < place->earlier_count; i++) {
        const struct dueq_push *push = &place->earlier[i];
        bool is_here;

        if (place->names[i].id != hash && place->names[i].joined != hash)
            continue;
        is_here = dueq_slice_equal(push->topic, awaited->topic);
        if (is_here && dueq_slice_equal(push->id, awaited->name))
            return true;
        if (is_joined(push, awaited->name) &&
            (is_here || may_read(context, awaited, push->topic.size))) {
            *ret_of = (struct dueq_prerequisite){.topic = push->topic, .id = push->id};
            return true;
        }
    }
    return false;
}

/* False: the error is written. */
static bool count_colons(struct context *context, const struct awaited *awaited)
{
    const char *text = awaited->name.data;

    for (size_t i = 0; i < awaited->name.size; i++) {
        if (text[i] != ':')
            continue;
        if (awaited->place->colons == 0) {
            resp_errorf(context->reply, "ERR the names of AFTER have more than %d colons",
                        PUSH_AFTER_COLONS_MAX);
            return false;
        }
        awaited->place->colons--;
    }
    return true;
}

/* An id of the topic itself, as it stands; else topic:id, where there is such a job: ids and
 * topics may have colons. What is nowhere counts as done. False: the error is written. */
static bool find(struct context *context, const struct awaited *awaited,
                 struct dueq_prerequisite *ret_of)
{
    struct dueq_slice name = awaited->name;
    struct dueq_prerequisite of;

    *ret_of = (struct dueq_prerequisite){.id = name};
    if (memchr(name.data, ':', name.size) == NULL || is_there(context, awaited->topic, name))
        return true;
    if (!count_colons(context, awaited))
        return false;
    for (size_t at = name.size; at-- > 0;)
        if (split(name, at, &of) &&
            (dueq_slice_equal(of.topic, awaited->topic) || may_read(context, awaited, at)) &&
            is_there(context, of.topic, of.id)) {
            *ret_of = of;
            return true;
        }
    return find_earlier(context, awaited, ret_of) || may_be_done(context, awaited);
}

static bool read_one(struct context *context, size_t index, struct push_after_place *place,
                     const struct dueq_push *push, struct dueq_prerequisite *ret_of)
{
    struct awaited awaited = {.place = place,
                              .topic = push->topic,
                              .name = context_slice(context, index),
                              .index = index};

    if (awaited.name.size == 0 || awaited.name.size > 2 * DUEQ_NAME_MAX + 1) {
        resp_error(context->reply, "ERR AFTER needs ids of 1 to 255 bytes");
        return false;
    }
    if (!find(context, &awaited, ret_of))
        return false;
    if (ret_of->id.size > DUEQ_NAME_MAX)
        ret_of->id.size = DUEQ_NAME_MAX; /* there is none like that */
    if (push->id.size == 0 || ret_of->topic.size > 0 || !dueq_slice_equal(ret_of->id, push->id))
        return true;
    resp_error(context->reply, "ERR a job cannot wait for itself");
    return false;
}

static bool read_after(struct context *context, size_t *at, struct push_after_place *place,
                       struct dueq_push *push)
{
    size_t count = place->end - *at;
    struct dueq_prerequisite *after;

    if (count == 0 || push->after != NULL) {
        context_syntax_error(context);
        return false;
    }
    if (count > place->most) {
        resp_errorf(context->reply, "ERR AFTER takes 1 to %d jobs", DUEQ_AFTER_MAX);
        return false;
    }
    after = calloc(count, sizeof(*after));
    if (after == NULL) {
        context_status(context, DUEQ_NOMEM);
        return false;
    }
    push->after = after;
    push->after_count = count;
    for (size_t i = 0; i < count; i++, ++*at)
        if (!read_one(context, *at, place, push, &after[i]))
            return false;
    return true;
}

static bool fits(struct context *context, const struct dueq_push *push)
{
    if (push->on_duplicate != DUEQ_REPLACE && push->on_duplicate != DUEQ_DEBOUNCE)
        return true;
    resp_error(context->reply,
               "ERR AFTER is for new jobs, and not with ONDUP REPLACE or DEBOUNCE");
    return false;
}

struct push_after_place push_after_alone(const struct context *context,
                                         struct after_rights *rights)
{
    return (struct push_after_place){.rights = rights,
                                     .end = context_count(context),
                                     .most = DUEQ_AFTER_MAX,
                                     .colons = PUSH_AFTER_COLONS_MAX};
}

bool push_after_read(struct context *context, size_t *at, struct push_after_place *place,
                     struct dueq_push *push, bool *ret_is)
{
    static const char *const words[] = {"fail", "run", "wait", NULL};
    unsigned word;

    *ret_is = true;
    if (arguments_is(context, *at, "on-dead")) {
        if (!arguments_choice(context, *at + 1, words, &word))
            return false;
        push->on_dead = (enum dueq_on_dead)word;
        *at += 2;
        return true;
    }
    *ret_is = arguments_is(context, *at, "after");
    if (!*ret_is)
        return true;
    ++*at;
    return fits(context, push) && read_after(context, at, place, push);
}

void push_after_release(struct dueq_push *push)
{
    free((void *)push->after);
}
