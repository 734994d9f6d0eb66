#include "tools/online/online_advice.h"

#include <string.h>

static const char no_password[] = "no password in ";

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

const char *online_advice(const char *why)
{
    static const struct {
        const char *begins, *advice;
    } known[] = {
        {"NOAUTH", "Log in: set DUEQ_PASSWORD, and --user NAME for a user other than default."},
        {"WRONGPASS", "Is DUEQ_PASSWORD (or --password-file) that of --user?"},
        {"NOPERM", "An administrator gives rights with ACL SETUSER; docs/security.md."},
        {"ERR unknown command", "Is this a dueq server, and not older than this program?"},
        {"ERR max number of clients",
         "Every connection has a client: close some, or raise maxclients."},
        {"DUPLICATE", "--ondup says what to do with a job that is there."},
        {"PAUSED", "dueq resume TOPIC ends the pause."},
        {"LIMIT", "dueq config TOPIC shows the limits of the topic."},
        {"FULL", "The server's disk is full: what removes jobs still works."},
        {"STALE", "Whoever has the newer token works on the job now."},
        {"WRONGSTATE", "dueq get TOPIC ID shows the state of the job."},
        {"LOADING", "The server reads its data; try again in a moment."},
        {"MISCONF", "The server's disk has failed; its log says how."},
        {no_password, "--password-file names a file whose first line is the password."},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (begins(why, known[i].begins))
            return known[i].advice;
    return NULL;
}

/* Errors of servers begin with a word in capitals; what online_connect says of its own never
 * does: "TLS:" is followed by a colon. */
enum online_blame online_blame(const char *why)
{
    size_t capitals = strspn(why, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    if (begins(why, no_password) ||
        (begins(why, "TLS: ") && !begins(why, "TLS: the handshake")))
        return ONLINE_MISUSED;
    return capitals > 0 && why[capitals] == ' ' ? ONLINE_REFUSED : ONLINE_UNREACHABLE;
}

const char *online_where_to_look(const struct online_options *where)
{
    if (where == NULL)
        return "Does a server run there? The URL says where; rediss:// is for TLS.\n";
    if (where->unix_path != NULL)
        return "Does a server run there? --unix PATH says where.\n";
    if (where->tls)
        return "Does the port speak TLS (tls-port), and is --cacert the authority of its "
               "certificate?\n";
    return "Does a server run there? --host and --port say where (DUEQ_HOST, DUEQ_PORT);\n"
           "--tls if the port speaks TLS; dueq server starts one.\n";
}
