#include "server/commands/clients/client_walk.h"

#include "protocol/number.h"
#include "server/commands/clients/client_filter.h"
#include "server/commands/wide.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/long_work.h"
#include "server/net/client_line.h"
#include "server/net/connection.h"
#include "server/server.h"

#include <stdlib.h>
#include <utlist.h>

/* A line takes 2 us, to end a client 5 us, to see whether it has ended less. */
enum { LINES = 200, KILLS = 100, TEXT_MOST = 64 << 20 };

struct client_walk {
    struct client_filter filter;
    const struct walk_form *form;
    uint64_t *ids; /* `count` of them, owned; NULL: they are not chosen yet */
    size_t count, done;
    bool with_self;
    int64_t killed;
    struct buffer text;
};

struct walk_form {
    size_t slice; /* clients */
    /* False: the client is not done with yet. */
    bool (*step)(struct context *context, struct client_walk *walk, struct session *session);
    void (*finish)(struct context *context, const struct client_walk *walk);
};

static void free_walk(void *state)
{
    struct client_walk *walk = state;

    client_filter_release(&walk->filter);
    buffer_release(&walk->text);
    free(walk->ids);
    free(walk);
}

/* NULL: out of memory. */
static struct client_walk *new_walk(struct client_filter filter)
{
    struct client_walk *walk = calloc(1, sizeof(*walk));

    if (walk == NULL)
        return NULL;
    walk->filter = filter;
    buffer_init(&walk->text, TEXT_MOST);
    return walk;
}

/* False: out of memory. */
static bool choose(struct context *context, struct client_walk *walk)
{
    struct server *server = context->server;
    const struct client_filter *filter = &walk->filter;
    struct session *session;

    walk->ids = calloc((size_t)server->session_count + 1, sizeof(*walk->ids));
    if (walk->ids == NULL)
        return false;
    DL_FOREACH(server->sessions, session) {
        if (!client_filter_passes(context, filter, session) ||
            (session == context->session && filter->skip_me))
            continue;
        walk->ids[walk->count++] = session->id;
        walk->with_self |= session == context->session;
    }
    return true;
}

/* ---- its slices */

static enum outcome put_off(struct context *context, struct client_walk *walk)
{
    enum outcome outcome = long_work_continue(context, walk, free_walk, LONG_HOLDS_NOTHING);

    if (outcome == OUTCOME_WAIT)
        long_work_state_holds(context, sizeof(*walk) + walk->count * sizeof(*walk->ids) +
                                           walk->filter.ids.memory + walk->text.capacity);
    return outcome;
}

/* The reply is written. */
static enum outcome end(struct context *context, struct client_walk *walk)
{
    if (long_work_state(context) == NULL)
        free_walk(walk); /* else the work does it */
    return OUTCOME_DONE;
}

/* True: all is done, and the reply is written. */
static bool walk_on(struct context *context, struct client_walk *walk, size_t most)
{
    for (; walk->done < walk->count && most > 0; walk->done++, most--) {
        struct session *session = server_find_session(context->server, walk->ids[walk->done]);

        if (session != NULL && session->life != SESSION_GONE &&
            !walk->form->step(context, walk, session))
            return false;
    }
    if (walk->done < walk->count)
        return false;
    walk->form->finish(context, walk);
    return true;
}

static enum outcome go_on(struct context *context, struct client_walk *walk)
{
    return walk_on(context, walk, walk->form->slice) ? end(context, walk)
                                                     : put_off(context, walk);
}

/* ---- LIST */

static bool write_line(struct context *context, struct client_walk *walk,
                       struct session *session)
{
    client_line_write(context->server, session, &walk->text);
    buffer_append(&walk->text, "\n", 1);
    return true;
}

static void reply_list(struct context *context, const struct client_walk *walk)
{
    resp_verbatim(context->reply, "txt", buffer_content(&walk->text), buffer_size(&walk->text));
}

static const struct walk_form list_form = {LINES, write_line, reply_list};

enum { LINE_STEPS = 8 }; /* of a line, against an id that nobody has */

static bool take_id(struct context *context, struct wide *wide)
{
    struct argument text = context_argument(context, wide->at);
    const struct session *session;
    int64_t id;

    if (!number_parse_integer(text.data, text.size, &id))
        return wide_fail(context, wide, "ERR Invalid client ID");
    session = server_find_session(context->server, (uint64_t)id);
    if (session == NULL || session->life == SESSION_GONE)
        return true;
    client_line_write(context->server, session, context->reply->out);
    buffer_append(context->reply->out, "\n", 1);
    return true;
}

/* A line for each id, in their order: again for one that is given again. */
static enum outcome list_ids(struct context *context)
{
    static const struct wide_form form = {.first = 3,
                                          .stride = 1,
                                          .weight = LINE_STEPS,
                                          .lets_others = true,
                                          .begin = wide_begin_text,
                                          .take = take_id,
                                          .end = wide_end_text};

    return wide_run(context, &form);
}

static enum outcome begin_list(struct context *context)
{
    struct client_filter filter = {0};
    struct client_walk *walk;

    if (!client_filter_read_list(context, &filter))
        return OUTCOME_DONE;
    walk = new_walk(filter);
    if (walk == NULL)
        return context_status(context, DUEQ_NOMEM);
    walk->form = &list_form;
    if (choose(context, walk))
        return go_on(context, walk);
    free_walk(walk);
    return context_status(context, DUEQ_NOMEM);
}

enum outcome client_list(struct context *context)
{
    struct client_walk *walk;

    if (context_count(context) > 3 && arguments_is(context, 2, "id"))
        return list_ids(context);
    walk = long_work_state(context);
    return walk == NULL ? begin_list(context) : go_on(context, walk);
}

/* ---- KILL */

/* Another client stops waiting and listening at once, so that later commands of this pipeline
 * do not reach it. A client that kills itself gets its reply first. */
static bool end_client(struct context *context, struct client_walk *walk,
                       struct session *session)
{
    walk->killed++;
    if (session == context->session)
        return true;
    connection_doom(connection_of(session));
    session_leave(context->server, session);
    return true;
}

static bool has_ended(struct context *context, struct client_walk *walk,
                      struct session *session)
{
    (void)context;
    (void)walk;
    return !connection_of(session)->is_killed;
}

/* CLIENT KILL ip:port */
static bool is_old_form(const struct context *context)
{
    return context_count(context) == 3;
}

static void reply_killed(struct context *context, const struct client_walk *walk)
{
    if (!is_old_form(context))
        resp_integer(context->reply, walk->killed);
    else if (walk->killed > 0)
        context_ok(context);
    else
        resp_error(context->reply, "ERR No such client");
}

/* While it waits, to end it would free what runs. */
static void end_self(struct session *session)
{
    if (session->waiter != NULL)
        session->ends_after_wait = true;
    else
        connection_close(connection_of(session));
}

static void finish_kill(struct context *context, const struct client_walk *walk)
{
    if (walk->with_self)
        end_self(context->session);
    reply_killed(context, walk);
}

static const struct walk_form kill_form = {KILLS, end_client, finish_kill},
                              killed_form = {LINES, has_ended, finish_kill};

/* Many are ended by the server, some a turn, also when this client goes meanwhile. */
static void kill_later(struct context *context, struct client_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct session *session = server_find_session(context->server, walk->ids[i]);

        if (session == NULL)
            continue;
        if (session != context->session)
            connection_kill(connection_of(session));
        walk->killed++;
    }
}

/* An EXEC ends them itself: it goes on without its client, too. */
static enum outcome kill_chosen(struct context *context, struct client_walk *walk)
{
    walk->form = &kill_form;
    if (walk->count <= KILLS || context->nested != NULL)
        return go_on(context, walk);
    kill_later(context, walk);
    walk->form = &killed_form;
    return put_off(context, walk);
}

static struct client_walk *new_kill(const struct context *context)
{
    if (is_old_form(context))
        return new_walk((struct client_filter){.read = 3, .address = 2});
    return new_walk((struct client_filter){.read = 2, .skip_me = true});
}

static enum outcome read_on(struct context *context, struct client_walk *walk, size_t most)
{
    if (!client_filter_read_kill(context, &walk->filter, most))
        return end(context, walk);
    if (walk->filter.read < context_count(context))
        return put_off(context, walk);
    if (choose(context, walk))
        return kill_chosen(context, walk);
    context_status(context, DUEQ_NOMEM);
    return end(context, walk);
}

enum outcome client_kill(struct context *context)
{
    struct client_walk *walk = long_work_state(context);

    if (walk == NULL) {
        walk = new_kill(context);
        return walk == NULL ? context_status(context, DUEQ_NOMEM)
                            : read_on(context, walk, LONG_ENOUGH);
    }
    return walk->ids == NULL ? read_on(context, walk, LONG_STEPS) : go_on(context, walk);
}
