/* What people are told when a server was not reached, or has said no. */
#ifndef DUEQ_ONLINE_ADVICE_H
#define DUEQ_ONLINE_ADVICE_H

#include "tools/online/online_client.h"

/* Whose fault is it that online_connect has failed? */
enum online_blame {
    ONLINE_UNREACHABLE, /* nobody listens, or TLS was not agreed on */
    ONLINE_REFUSED,     /* the server has replied an error */
    ONLINE_MISUSED      /* a file of the options is missing: of the password, or of TLS */
};
enum online_blame online_blame(const char *why);

/* What to do about an error of the server, or about a password that is not there; a sentence.
 * NULL: the error says it all. */
const char *online_advice(const char *why);

/* What to do when a dueq is not reached: sentences that end with a new line. NULL: it is
 * another server, which a URL names. */
const char *online_where_to_look(const struct online_options *where);

#endif
