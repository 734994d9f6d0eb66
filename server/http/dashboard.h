/* What the dashboard keeps while the option `dashboard` says yes: the logins of its users, and
 * what they have asked for. The
 * page is page.h; what it asks for is the API, to which it logs in by a cookie (web_login.h).
 * Without the option nothing of it is there. */
#ifndef DUEQ_DASHBOARD_H
#define DUEQ_DASHBOARD_H

#include "server/http/server_view.h"
#include "server/http/web_sessions.h"
#include "server/server.h"

struct overview;
struct live;
struct charts;

struct dashboard {
    struct web_sessions sessions;
    struct server_rates rates;
    struct overview *overview; /* NULL: nobody has asked */
    struct live *live;         /* the same */
    struct charts *charts;     /* NULL: it is not wanted */
};

/* To be called when the HTTP port is open, and after each change of the configuration: is
 * server->dashboard there as that wants it? False: no memory, and it is off. */
bool dashboard_follow(struct server *server);
/* To be called in each turn that has run a command. O(1). */
void dashboard_note_work(struct server *server);
/* No-op when it is off. */
void dashboard_close(struct server *server);

#endif
