#include "tools/cli/cli_session.h"

#include "protocol/number.h"
#include "tools/terminal/end_signals.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { READ_STEP = 64 * 1024 };

/* ---- the connection */

static void forget_connection(struct cli_session *session)
{
    online_close(session->call->client);
    resp3_reader_free(session->reader);
    session->call->client = NULL;
    session->reader = NULL;
    session->in_multi = false;
}

static void print(const struct cli_session *session, const redisReply *reply)
{
    reply_lines_print(stdout, reply, session->form, session->terminal);
}

static const char lost[] = "the server has closed the connection";

/* Takes a reply that has come; NULL: there is none yet. False: the connection is lost. */
static bool take(struct cli_session *session, bool may_read, redisReply **ret_reply)
{
    ssize_t got = 0;

    *ret_reply = NULL;
    if (may_read)
        got = online_read(session->call->client, resp3_room(session->reader, READ_STEP),
                          READ_STEP);
    if (may_read && got < 0 && errno == EINTR)
        return true;
    if (got > 0)
        resp3_came(session->reader, (size_t)got);
    if ((!may_read || got > 0) && resp3_next(session->reader, ret_reply))
        return true;
    snprintf(session->call->why, ONLINE_WHY, "%s", lost);
    return false;
}

/* NULL: the connection is lost (*why), or Ctrl-C was pressed (why is empty). */
static redisReply *hear(struct cli_session *session)
{
    struct client_call *call = session->call;
    struct pollfd socket = {online_descriptor(call->client), POLLIN, 0};
    redisReply *reply = NULL;
    bool may_read = false;

    while (take(session, may_read, &reply) && reply == NULL) {
        fflush(stdout);
        may_read = signals_poll(&socket, 1, -1, true) > 0;
        if (!may_read && session->interactive && signals_are_there(true)) {
            call->why[0] = '\0';
            return NULL;
        }
    }
    return reply;
}

redisReply *cli_ask_quietly(struct cli_session *session, int count, const char **words)
{
    struct client_call *call = session->call;
    redisReply *reply = NULL;

    if (call->client != NULL && online_say(call->client, count, words, NULL, call->why))
        reply = hear(session);
    if (reply == NULL)
        forget_connection(session);
    return reply;
}

/* The connection of before had it, so this one gets it. False: the server refuses. */
static bool set(struct cli_session *session, const char *command, int64_t value)
{
    char text[NUMBER_TEXT_MAX + 1];
    const char *words[] = {command, text};
    redisReply *reply;
    bool done;

    text[number_format_integer(text, value)] = '\0';
    reply = cli_ask_quietly(session, 2, words);
    done = reply != NULL && reply->type != REDIS_REPLY_ERROR;
    if (reply != NULL && !done)
        client_complain(session->call, reply->str);
    resp3_free(reply);
    return done;
}

int cli_connect(struct cli_session *session)
{
    int status;

    if (session->call->client != NULL)
        return CLIENT_DONE;
    status = client_connect(session->call);
    if (status != CLIENT_DONE)
        return status;
    session->reader = resp3_reader_new();
    if ((session->protocol != 3 || set(session, "HELLO", 3)) &&
        (session->database == 0 || set(session, "SELECT", session->database)))
        return CLIENT_DONE;
    if (session->call->client == NULL)
        client_complain(session->call, session->call->why);
    forget_connection(session);
    return CLIENT_REFUSED;
}

/* A server that was restarted has closed the connection while nothing was asked. */
static void notice_loss(struct cli_session *session)
{
    struct pollfd socket = {.events = POLLIN};
    bool was_in_multi = session->in_multi, is_there = true;

    if (session->call->client == NULL || !session->interactive)
        return;
    socket.fd = online_descriptor(session->call->client);
    while (is_there && poll(&socket, 1, 0) > 0) {
        redisReply *reply = NULL;

        is_there = take(session, true, &reply);
        while (is_there && reply != NULL) { /* a message of RESP3 */
            print(session, reply);
            resp3_free(reply);
            is_there = take(session, false, &reply);
        }
    }
    if (is_there)
        return;
    forget_connection(session);
    fprintf(stderr, "The server has closed the connection meanwhile; connecting anew.%s\n",
            was_in_multi ? " The transaction is gone." : "");
}

/* Says why there is no reply. */
static int tell_end(struct cli_session *session, bool streams)
{
    bool interrupted = session->call->why[0] == '\0';

    if (interrupted && signals_take() == HEARD_INTERRUPT)
        fputc('\n', stderr);
    if (interrupted && !streams)
        fputs("Interrupted: the connection was closed, and nobody waits any more. Whether the "
              "command was done,\nnobody knows.\n",
              stderr);
    if (!interrupted) {
        client_complain(session->call, session->call->why);
        if (!streams)
            fputs("Nobody knows whether the server has done it: look before you repeat it.\n",
                  stderr);
    }
    forget_connection(session);
    if (interrupted && !signals_are_there(true))
        cli_connect(session);
    if (interrupted)
        return streams ? CLIENT_DONE : CLIENT_REFUSED;
    return CLIENT_UNREACHABLE;
}

/* ---- what commands change on the connection */

static void keep_text(char **place, const char *text)
{
    free(*place);
    *place = text == NULL ? NULL : strdup(text);
}

/* The next connection logs in like this one. */
static void keep_login(struct cli_session *session, const struct words *words)
{
    struct online_options *where = &session->call->where;
    int last = words->count - 1;

    keep_text(&session->user, words->count == 3 ? words->texts[1] : NULL);
    keep_text(&session->password, words->texts[last]);
    where->user = session->user;
    where->password = session->password;
    where->password_file = NULL;
}

static void note_change(struct cli_session *session, const struct words *words)
{
    if (words_is(words, 0, "select") && words->count == 2)
        session->database = strtoll(words->texts[1], NULL, 10);
    else if (words_is(words, 0, "multi"))
        session->in_multi = true;
    else if (words_is(words, 0, "exec") || words_is(words, 0, "discard"))
        session->in_multi = false;
    else if (words_is(words, 0, "hello") && words->count > 1)
        session->protocol = words_is(words, 1, "3") ? 3 : 2;
    else if (words_is(words, 0, "auth") && (words->count == 2 || words->count == 3))
        keep_login(session, words);
    else if (words_is(words, 0, "reset")) {
        session->database = 0;
        session->in_multi = false;
        session->protocol = 2;
    }
}

/* Messages follow its reply, or are all of its replies. */
static bool is_stream(const struct words *words)
{
    return words_is(words, 0, "monitor") || words_is(words, 0, "subscribe") ||
           words_is(words, 0, "psubscribe") || words_is(words, 0, "ssubscribe");
}

/* A transaction that the server has given up is over, too. */
static bool ends_multi(const struct words *words, const redisReply *reply)
{
    return words_is(words, 0, "exec") && reply->type == REDIS_REPLY_ERROR;
}

/* ---- commands */

static int stream(struct cli_session *session)
{
    if (session->interactive)
        fputs("Reading messages until Ctrl-C.\n", stderr);
    while (!ferror(stdout)) {
        redisReply *reply = hear(session);

        if (reply == NULL)
            return tell_end(session, true);
        print(session, reply);
        resp3_free(reply);
    }
    return CLIENT_REFUSED;
}

/* Messages that come in between are no reply. */
static redisReply *hear_reply(struct cli_session *session, bool streams)
{
    redisReply *reply = hear(session);

    while (reply != NULL && reply->type == REDIS_REPLY_PUSH && !streams) {
        print(session, reply);
        resp3_free(reply);
        reply = hear(session);
    }
    return reply;
}

static int take_reply(struct cli_session *session, const struct words *words)
{
    bool streams = is_stream(words) && !session->in_multi;
    redisReply *reply = hear_reply(session, streams);
    int status = CLIENT_DONE;

    if (reply == NULL)
        return tell_end(session, false);
    print(session, reply);
    if (reply->type == REDIS_REPLY_ERROR)
        status = CLIENT_REFUSED;
    if (reply->type != REDIS_REPLY_ERROR &&
        (!session->in_multi || reply->type != REDIS_REPLY_STATUS ||
         strcmp(reply->str, "QUEUED") != 0))
        note_change(session, words);
    if (ends_multi(words, reply))
        session->in_multi = false;
    resp3_free(reply);
    return streams && status == CLIENT_DONE ? stream(session) : status;
}

int cli_run(struct cli_session *session, const struct words *words)
{
    struct client_call *call = session->call;
    int status;

    notice_loss(session);
    status = cli_connect(session);
    if (status != CLIENT_DONE)
        return status;
    if (!online_say(call->client, words->count, (const char **)words->texts, words->sizes,
                    call->why))
        return tell_end(session, false);
    return take_reply(session, words);
}

void cli_session_release(struct cli_session *session)
{
    forget_connection(session);
    free(session->user);
    free(session->password);
}
