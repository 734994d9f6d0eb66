#include "server/commands/wide.h"

#include "server/commands/database.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/server.h"

#include <stdlib.h>

enum {
    LOOK_AFTER = 8,  /* arguments, at the clock */
    JOBS_USEC = 2000 /* of a slice */
};

bool wide_has_begun(const struct context *context)
{
    return long_work_state(context) != NULL;
}

/* Steps that may be taken now. */
static size_t budget_of(const struct context *context, const struct wide_form *form)
{
    if (!form->lets_others)
        return alone_budget(context);
    return wide_has_begun(context) ? LONG_STEPS : LONG_ENOUGH;
}

/* Keys that are next are looked for together. */
static void look_ahead(const struct context *context, const struct wide_form *form,
                       const struct wide *wide)
{
    struct dueq_slice names[KEYS_PREFETCH_MOST];
    struct keys_view view;
    size_t count = 0;

    if (!form->takes_keys || (wide->at - form->first) / form->stride % KEYS_PREFETCH_MOST != 0)
        return;
    view = database_view(context);
    for (size_t at = wide->at; at < context_count(context) && count < KEYS_PREFETCH_MOST;
         at += form->stride)
        names[count++] = context_slice(context, at);
    keys_prefetch(&view, names, count);
}

static size_t weight_of(const struct wide_form *form)
{
    return form->weight > 0 ? form->weight : 1;
}

/* So many arguments, or so many bytes. */
static size_t steps_of(size_t arguments, size_t bytes, const struct wide_form *form)
{
    size_t steps = arguments * weight_of(form);

    return bytes / LONG_STEP_BYTES > steps ? bytes / LONG_STEP_BYTES : steps;
}

/* Of all arguments; what the reply takes is yet to be seen. */
static bool is_long(const struct context *context, const struct wide_form *form,
                    const struct wide *wide)
{
    return steps_of(context_count(context) - wide->at, context_copied_of_all(context), form) >
           budget_of(context, form);
}

static size_t bytes_of(const struct context *context, size_t at, size_t stride)
{
    size_t bytes = 0;

    for (size_t end = at + stride; at < end && at < context_count(context); at++)
        bytes += context_copied(context, at);
    return bytes;
}

/* Some arguments cost more than their steps: a key may have a large value on the disk. */
static bool is_late(const struct context *context, const struct wide_form *form,
                    const struct wide *wide, size_t taken)
{
    if (form->takes_jobs)
        return clock_usec() - wide->since >= JOBS_USEC;
    return taken % LOOK_AFTER == 0 && server_part_is_long(context->server);
}

/* A request whose memory the store has taken over in part would have to be copied. */
static bool may_take(const struct context *context, const struct wide_form *form,
                     const struct wide *wide, size_t taken, size_t steps, size_t budget)
{
    return steps < budget && (taken == 0 || budget == SIZE_MAX || context->loan_count > 0 ||
                              !is_late(context, form, wide, taken));
}

/* Takes arguments, `budget` steps at most, but one in any case. False: the error is written. */
static bool take_some(struct context *context, const struct wide_form *form, struct wide *wide,
                      size_t budget)
{
    size_t taken = 0, bytes = 0;

    if (form->takes_jobs)
        wide->since = clock_usec();
    while (wide->at < context_count(context) &&
           may_take(context, form, wide, taken, steps_of(taken * form->stride, bytes, form),
                    budget)) {
        size_t before = buffer_size(context->reply->out), after;

        look_ahead(context, form, wide);
        bytes += bytes_of(context, wide->at, form->stride);
        if (!form->take(context, wide))
            return false;
        wide->at += form->stride;
        taken++;
        after = buffer_size(context->reply->out);
        bytes += after > before ? after - before : 0;
    }
    return true;
}

/* A command that only reads fails for damage: the dispatcher looks for it when the command
 * ends. */
static bool has_met_damage(const struct context *context)
{
    return (context->command->flags & COMMAND_READONLY) != 0 &&
           dueq_damage(context->store)[0] != '\0';
}

static enum outcome go_on(struct context *context, const struct wide_form *form,
                          struct wide *wide)
{
    context->now = wide->began;
    if (!take_some(context, form, wide, budget_of(context, form)) || has_met_damage(context))
        return OUTCOME_DONE;
    return wide->at < context_count(context) ? OUTCOME_WAIT : form->end(context, wide);
}

/* False: there is no memory for that. */
static bool put_off(struct context *context, const struct wide_form *form,
                    const struct wide *wide)
{
    return form->lets_others ? long_work_try(context, wide, sizeof(*wide), free)
                             : alone_put_off(context, wide, sizeof(*wide), free);
}

enum outcome wide_run(struct context *context, const struct wide_form *form)
{
    return wide_run_with(context, form, NULL);
}

enum outcome wide_run_with(struct context *context, const struct wide_form *form, void *arg)
{
    struct wide wide = {.at = form->first, .began = context->now, .arg = arg},
                *begun = long_work_state(context);

    if (begun != NULL) {
        begun->arg = arg;
        return go_on(context, form, begun);
    }
    if (form->begin != NULL && !form->begin(context, &wide))
        return OUTCOME_DONE;
    if (is_long(context, form, &wide) && put_off(context, form, &wide))
        return OUTCOME_WAIT;
    if (!take_some(context, form, &wide, budget_of(context, form)))
        return OUTCOME_DONE;
    if (wide.at < context_count(context) && put_off(context, form, &wide))
        return OUTCOME_WAIT;
    return take_some(context, form, &wide, SIZE_MAX) ? form->end(context, &wide) : OUTCOME_DONE;
}

/* ---- beginnings */

bool wide_begin_array(struct context *context, struct wide *wide)
{
    resp_array(context->reply, context_count(context) - wide->at);
    return true;
}

bool wide_begin_map(struct context *context, struct wide *wide)
{
    wide->more_count = (int64_t)resp_reserved(context->reply); /* for the first slice only */
    return true;
}

bool wide_begin_text(struct context *context, struct wide *wide)
{
    return wide_begin_map(context, wide);
}

/* ---- ends */

/* Where the reply begins for which room was reserved. */
static size_t mark_of(const struct context *context, const struct wide *wide)
{
    return wide_has_begun(context) ? long_work_reply_begin(context) : (size_t)wide->more_count;
}

enum outcome wide_end(struct context *context, const struct wide *wide)
{
    (void)context;
    (void)wide;
    return OUTCOME_DONE;
}

enum outcome wide_end_count(struct context *context, const struct wide *wide)
{
    return context_reply_integer(context, wide->count);
}

enum outcome wide_end_ok(struct context *context, const struct wide *wide)
{
    (void)wide;
    return context_ok(context);
}

enum outcome wide_end_map(struct context *context, const struct wide *wide)
{
    resp_reserved_map(context->reply, mark_of(context, wide), (uint64_t)wide->count);
    return OUTCOME_DONE;
}

enum outcome wide_end_text(struct context *context, const struct wide *wide)
{
    resp_reserved_verbatim(context->reply, mark_of(context, wide), "txt");
    return OUTCOME_DONE;
}

bool wide_fail(struct context *context, const struct wide *wide, const char *error)
{
    buffer_truncate(context->reply->out, mark_of(context, wide));
    resp_error(context->reply, error);
    return false;
}
