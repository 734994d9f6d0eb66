#include "server/commands/queue/after_rights.h"

#include "server/acl/acl.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/dispatch/permission.h"
#include "server/server.h"
#include "server/session/session.h"

#include <stdlib.h>
#include <string.h>

#define TO_READ "RO,access"

enum { IN_EXEC = 4 }; /* a turn of an EXEC takes several slices */

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_UNKNOWN };

/* ---- what is asked */

static bool add(struct after_rights *rights, size_t text, size_t size)
{
    size_t capacity = rights->capacity == 0 ? 16 : rights->capacity * 2;
    struct acl_head *grown;

    if (rights->count == rights->capacity) {
        grown = realloc(rights->heads, capacity * sizeof(*grown));
        if (grown == NULL)
            return false;
        rights->heads = grown;
        rights->capacity = capacity;
    }
    rights->heads[rights->count++] =
        (struct acl_head){.text = (uint32_t)text, .size = (uint16_t)size};
    return true;
}

/* All that may be asked about the name. False: out of memory. */
static bool list(struct after_rights *rights, const struct context *context, size_t argument)
{
    struct dueq_slice name = context_slice(context, argument);
    const char *text = name.data;

    if (rights->listed == argument)
        return true;
    for (size_t at = 1; at < name.size && at <= DUEQ_NAME_MAX; at++)
        if (text[at] == ':' && !add(rights, argument, at))
            return false;
    rights->listed = argument;
    return true;
}

static int compare(const void *one, const void *other)
{
    const struct acl_head *a = one, *b = other;

    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static enum answer ask(struct context *context, struct after_rights *rights, size_t argument,
                       size_t size)
{
    struct acl_head key = {.text = (uint32_t)argument, .size = (uint16_t)size};
    const struct acl_head *head = NULL;

    if (context->session->user->unrestricted)
        return ANSWER_YES;
    if (rights->known > 0)
        head = bsearch(&key, rights->heads, rights->known, sizeof(key), compare);
    if (head != NULL)
        return head->allowed ? ANSWER_YES : ANSWER_NO;
    if (list(rights, context, argument))
        return ANSWER_UNKNOWN;
    return permission_covers_key(
               context, dueq_slice(context_slice(context, argument).data, size), TO_READ)
               ? ANSWER_YES
               : ANSWER_NO;
}

bool after_rights_cover(struct context *context, struct after_rights *rights, size_t argument,
                        size_t size)
{
    return ask(context, rights, argument, size) == ANSWER_YES;
}

bool after_rights_allow(struct context *context, struct after_rights *rights, size_t argument,
                        size_t size)
{
    if (ask(context, rights, argument, size) != ANSWER_NO)
        return true;
    permission_deny_key(context, dueq_slice(context_slice(context, argument).data, size));
    return false;
}

/* False: out of memory. */
static bool list_topic(struct after_rights *rights, struct dueq_slice topic)
{
    size_t number = rights->count;

    if (!add(rights, number, topic.size))
        return false;
    if (gathered_add(&rights->topics, topic, (double)number, true) != NULL)
        return true;
    rights->count--;
    return false;
}

bool after_rights_show(struct context *context, struct after_rights *rights,
                       struct dueq_slice topic)
{
    const struct gathered_item *item;

    if (context->session->user->unrestricted)
        return true;
    item = gathered_find(&rights->topics, topic);
    if (item != NULL)
        return rights->heads[(size_t)item->score].allowed;
    return !list_topic(rights, topic) && permission_covers_key(context, topic, TO_READ);
}

bool after_rights_known(const struct after_rights *rights)
{
    return rights->known == rights->count;
}

bool after_rights_is_alone(struct context *context)
{
    bool is_slice = long_work_state(context) != NULL, is_alone = is_slice && alone_has(context);

    if (is_slice && !is_alone)
        alone_enter(context);
    return is_alone;
}

void after_rights_keep(struct after_rights *rights, void *work, void (*free_work)(void *))
{
    rights->work = work;
    rights->free_work = free_work;
}

/* ---- the answers, in slices */

/* What is written so far is taken back. mark: where the reply begins. */
static void begin_again(struct context *context, struct after_rights *rights, size_t mark)
{
    buffer_truncate(context->reply->out, mark);
    context->failed = DUEQ_OK;
    rights->progress = (struct after_progress){.slices = 0};
}

/* What another user may read, or was allowed to before a change, says nothing. */
static void forget_if_changed(struct context *context, struct after_rights *rights, size_t mark)
{
    const struct acl_user *user = context->session->user;
    uint64_t version = context->server->acl->version;

    if (rights->user == user && rights->version == version)
        return;
    begin_again(context, rights, mark);
    rights->needs_slices = false;
    rights->user = user;
    rights->version = version;
    rights->known = rights->count = rights->listed = 0;
    rights->pace = (struct acl_heads_pace){.sets = 0};
    gathered_release(&rights->topics);
}

static const char *argument_text(const void *request, size_t number)
{
    return ((const struct request *)request)->arguments[number].data;
}

static const char *topic_text(const void *topics, size_t number)
{
    return ((const struct gathered *)topics)->slots[number].item->bytes;
}

static struct acl_heads heads_of(const struct context *context,
                                 const struct after_rights *rights)
{
    struct acl_heads heads = {rights->heads, rights->count, argument_text, context->request};

    if (rights->topics.count > 0) {
        heads.text = topic_text;
        heads.arg = &rights->topics;
    }
    return heads;
}

/* False: there is more to ask. */
static bool answer_some(struct context *context, struct after_rights *rights)
{
    const struct acl_heads heads = heads_of(context, rights);

    if (after_rights_known(rights))
        return true;
    rights->pace.pace.steps = ACL_SLICE_STEPS / (context->nested == NULL ? 1 : IN_EXEC);
    if (!acl_check_heads(rights->user, context->command, context->request, TO_READ, &heads,
                         &rights->pace))
        return false;
    /* a job that went while others were asked for has let its name be added behind them */
    qsort(rights->heads, rights->count, sizeof(*rights->heads), compare);
    rights->known = rights->count;
    rights->pace = (struct acl_heads_pace){.sets = 0};
    return true;
}

/* A slice of a look. */
static enum outcome run_once(struct context *context, struct after_rights *rights,
                             after_rights_fn fn, void *arg)
{
    enum outcome outcome;

    rights->listed = 0;
    if (rights->progress.slices == 0)
        rights->progress.began = context->now;
    context->now = rights->progress.began;
    outcome = fn(context, rights, arg);
    rights->progress.slices++;
    return outcome;
}

static void release(struct after_rights *rights)
{
    if (rights->work != NULL)
        rights->free_work(rights->work);
    gathered_release(&rights->topics);
    free(rights->heads);
}

static void free_rights(void *state)
{
    release(state);
    free(state);
}

/* At the beginning of a look at all of it. False: there is more to ask before. */
static bool begin_look(struct context *context, struct after_rights *rights)
{
    if (!answer_some(context, rights))
        return false;
    if (rights->needs_slices && !alone_has(context))
        alone_enter(context);
    return true;
}

/* A look that takes several slices, which others see between, only finds out what to ask for.
 * The next one shows. If it finds more to ask for, all begins again: that may take long. */
static enum outcome go_on(struct context *context, struct after_rights *rights,
                          after_rights_fn fn, void *arg)
{
    size_t mark = long_work_reply_begin(context);
    enum outcome outcome;
    bool shows;

    if (rights->work != NULL)
        return run_once(context, rights, fn, arg);
    forget_if_changed(context, rights, mark);
    shows = rights->needs_slices;
    long_work_state_holds(context,
                          rights->capacity * sizeof(*rights->heads) + rights->topics.memory);
    if (rights->progress.slices == 0 && !begin_look(context, rights))
        return OUTCOME_WAIT;
    outcome = run_once(context, rights, fn, arg);
    if (outcome == OUTCOME_WAIT && (!shows || after_rights_known(rights)))
        return OUTCOME_WAIT;
    if (after_rights_known(rights) &&
        (shows || rights->progress.slices == 1 || alone_has(context)))
        return outcome;
    rights->needs_slices = !shows && rights->progress.slices > 1;
    alone_leave(context);
    begin_again(context, rights, mark);
    return OUTCOME_WAIT;
}

/* No key is held, so the time of the push is that of its last slice. Where nothing has to be
 * asked for, it need not be done twice. */
static enum outcome put_off(struct context *context, struct after_rights *rights)
{
    struct after_rights *copy;

    if (context->session->user->unrestricted) {
        rights->needs_slices = true;
        if (alone_put_off(context, rights, sizeof(*rights), free_rights))
            return OUTCOME_WAIT;
        release(rights);
        return context_status(context, DUEQ_NOMEM);
    }
    copy = malloc(sizeof(*copy));
    if (copy == NULL) {
        release(rights);
        return context_status(context, DUEQ_NOMEM);
    }
    *copy = *rights;
    return long_work_continue(context, copy, free_rights, LONG_HOLDS_NOTHING);
}

enum outcome after_rights_run(struct context *context, after_rights_fn fn, void *arg)
{
    struct after_rights *begun = long_work_state(context), rights = {.count = 0};
    size_t mark = buffer_size(context->reply->out);
    enum outcome outcome;

    if (begun != NULL)
        return go_on(context, begun, fn, arg);
    forget_if_changed(context, &rights, mark);
    outcome = run_once(context, &rights, fn, arg);
    while (!after_rights_known(&rights)) {
        begin_again(context, &rights, mark);
        if (!answer_some(context, &rights))
            return put_off(context, &rights);
        outcome = run_once(context, &rights, fn, arg);
    }
    if (outcome == OUTCOME_WAIT) {
        begin_again(context, &rights, mark);
        return put_off(context, &rights);
    }
    release(&rights);
    return outcome;
}
