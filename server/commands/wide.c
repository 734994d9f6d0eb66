#include "server/commands/wide.h"

#include "server/commands/database.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"

#include <stdlib.h>

bool wide_has_begun(const struct context *context)
{
    return long_work_state(context) != NULL;
}

/* Arguments that may be taken now. */
static size_t budget_of(const struct context *context, const struct wide_form *form)
{
    size_t steps = wide_has_begun(context) ? LONG_STEPS : LONG_ENOUGH;

    if (!form->lets_others)
        steps = alone_budget(context);
    return form->weight > 0 ? steps / form->weight : steps;
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

/* False: the error is written. */
static bool take_some(struct context *context, const struct wide_form *form, struct wide *wide,
                      size_t budget)
{
    size_t count = context_count(context), left = count - wide->at;
    size_t end = left > budget ? wide->at + budget : count;

    for (; wide->at < end; wide->at += form->stride) {
        look_ahead(context, form, wide);
        if (!form->take(context, wide))
            return false;
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
    if (context_count(context) - wide.at > budget_of(context, form) &&
        put_off(context, form, &wide))
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
