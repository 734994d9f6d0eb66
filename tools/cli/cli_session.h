/* What `dueq cli` has of a server: the connection, what was set on it, and one command after
 * the other. */
#ifndef DUEQ_CLI_SESSION_H
#define DUEQ_CLI_SESSION_H

#include "tools/cli/reply_lines.h"
#include "tools/cli/resp3_reply.h"
#include "tools/cli/words.h"
#include "tools/client/client_call.h"

struct cli_session {
    struct client_call *call;
    struct resp3_reader *reader; /* NULL: no connection */
    enum reply_form form;
    bool terminal;    /* standard output is one */
    bool interactive; /* Ctrl-C ends a wait, and not the program */
    int protocol;     /* 2 or 3 */
    int64_t database;
    bool in_multi;
    char *user, *password; /* of an AUTH that was typed */
};

/* CLIENT_DONE, or another status after it has said why. Does nothing when connected. */
int cli_connect(struct cli_session *session);
/* Sends a command and prints what comes; MONITOR and the like print until Ctrl-C. Returns the
 * exit status. */
int cli_run(struct cli_session *session, const struct words *words);
/* The reply, unprinted, for resp3_free; NULL: there is none. It says nothing. */
redisReply *cli_ask_quietly(struct cli_session *session, int count, const char **words);
void cli_session_release(struct cli_session *session);

#endif
