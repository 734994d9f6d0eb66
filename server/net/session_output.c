#include "server/session/session_output.h"

#include "server/net/client_line.h"
#include "server/net/connection.h"

enum outcome session_run(struct session *session, const struct request *request,
                         const struct waiter *waiter, bool timed_out)
{
    return connection_run(connection_of(session), request, waiter, timed_out);
}

void session_resume(struct session *session)
{
    if (session->ends_after_wait)
        connection_close(connection_of(session));
    connection_mark_resumed(connection_of(session));
}

void session_check_peer(struct session *session)
{
    connection_check_peer(connection_of(session));
}

void session_check_blocked_peer(struct session *session)
{
    connection_check_blocked_peer(connection_of(session));
}

void session_account(struct session *session)
{
    connection_account(connection_of(session));
}

void session_describe(struct session *session, struct buffer *text)
{
    client_line_write(connection_of(session)->server, session, text);
}

void session_reply_error(struct session *session, const char *text)
{
    connection_reply_error(connection_of(session), text);
}

struct resp_writer *session_push_begin(struct session *session)
{
    return connection_push_begin(connection_of(session));
}

void session_push_end(struct session *session)
{
    connection_push_end(connection_of(session));
}

size_t session_reply_begin(const struct session *session)
{
    return ((const struct connection *)(const void *)session)->run_mark;
}

void session_restore_reply(struct session *session)
{
    connection_restore_reply(connection_of(session));
}

void session_drop_reply(struct session *session)
{
    connection_drop_part(connection_of(session));
}
