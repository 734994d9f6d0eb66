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
    size_t count, done;
    bool with_self;
    int64_t killed;
    struct buffer text;
    uint64_t ids[]; /* `count` of them */
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

    buffer_release(&walk->text);
    free(walk);
}

/* NULL: out of memory. */
static struct client_walk *choose(struct context *context, const struct client_filter *filter)
{
    struct server *server = context->server;
    struct client_walk *walk =
        calloc(1, sizeof(*walk) + (size_t)server->session_count * sizeof(walk->ids[0]));
    struct session *session;

    if (walk == NULL)
        return NULL;
    buffer_init(&walk->text, TEXT_MOST);
    DL_FOREACH(server->sessions, session) {
        if (!client_filter_passes(filter, session) ||
            (session == context->session && filter->skip_me))
            continue;
        walk->ids[walk->count++] = session->id;
        walk->with_self |= session == context->session;
    }
    return walk;
}

/* True: all is done, and the reply is written. */
static bool walk_on(struct context *context, struct client_walk *walk,
                    const struct walk_form *form, size_t most)
{
    for (; walk->done < walk->count && most > 0; walk->done++, most--) {
        struct session *session = server_find_session(context->server, walk->ids[walk->done]);

        if (session != NULL && session->life != SESSION_GONE &&
            !form->step(context, walk, session))
            return false;
    }
    if (walk->done < walk->count)
        return false;
    form->finish(context, walk);
    return true;
}

static enum outcome begin(struct context *context, struct client_walk *walk,
                          const struct walk_form *form, size_t most)
{
    if (!walk_on(context, walk, form, most))
        return long_work_continue(context, walk, free_walk, LONG_HOLDS_NOTHING);
    free_walk(walk);
    return OUTCOME_DONE;
}

static enum outcome go_on(struct context *context, const struct walk_form *form)
{
    struct client_walk *walk = long_work_state(context);

    if (walk_on(context, walk, form, form->slice))
        return OUTCOME_DONE;
    long_work_state_holds(context, sizeof(*walk) + walk->count * sizeof(walk->ids[0]) +
                                       walk->text.capacity);
    return OUTCOME_WAIT;
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

enum outcome client_list(struct context *context)
{
    struct client_filter filter = {0};
    struct client_walk *walk;

    if (context_count(context) > 3 && arguments_is(context, 2, "id"))
        return list_ids(context);
    if (long_work_state(context) != NULL)
        return go_on(context, &list_form);
    if (!client_filter_read_list(context, &filter))
        return OUTCOME_DONE;
    walk = choose(context, &filter);
    client_filter_release(&filter);
    if (walk == NULL)
        return context_status(context, DUEQ_NOMEM);
    return begin(context, walk, &list_form, LINES);
}

/* ---- KILL */

/* A client that kills itself gets its reply first. Another one stops waiting and listening at
 * once, so that later commands of this pipeline do not reach it. */
static bool end_client(struct context *context, struct client_walk *walk,
                       struct session *session)
{
    walk->killed++;
    if (session == context->session) {
        connection_close(connection_of(session));
        return true;
    }
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

static void reply_kill(struct context *context, const struct client_walk *walk)
{
    if (!is_old_form(context))
        resp_integer(context->reply, walk->killed);
    else if (walk->killed > 0)
        context_ok(context);
    else
        resp_error(context->reply, "ERR No such client");
}

static const struct walk_form kill_form = {KILLS, end_client, reply_kill},
                              killed_form = {LINES, has_ended, reply_kill};

/* Many are ended by the server, some a turn, also when this client goes meanwhile. */
static void kill_later(struct context *context, struct client_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        struct session *session = server_find_session(context->server, walk->ids[i]);

        if (session == NULL)
            continue;
        connection_kill(connection_of(session));
        walk->killed++;
    }
}

/* It would end its own wait if it did not end all at once. */
static enum outcome kill_all(struct context *context, struct client_walk *walk)
{
    if (walk->count <= KILLS || !context->may_wait || walk->with_self)
        return begin(context, walk, &kill_form, SIZE_MAX);
    kill_later(context, walk);
    return long_work_continue(context, walk, free_walk, LONG_HOLDS_NOTHING);
}

enum outcome client_kill(struct context *context)
{
    struct client_filter filter = {.skip_me = true};
    struct client_walk *walk;

    if (long_work_state(context) != NULL)
        return go_on(context, &killed_form);
    if (is_old_form(context)) {
        filter.address = context_slice(context, 2);
        filter.skip_me = false;
    } else if (!client_filter_read_kill(context, &filter)) {
        return OUTCOME_DONE;
    }
    walk = choose(context, &filter);
    client_filter_release(&filter);
    return walk == NULL ? context_status(context, DUEQ_NOMEM) : kill_all(context, walk);
}
