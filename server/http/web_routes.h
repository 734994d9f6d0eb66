/* The paths that the dashboard has besides the API: of each its parameters, as the description
 * (openapi.h) tells them. Only logins of the dashboard may ask for them. */
#ifndef DUEQ_WEB_ROUTES_H
#define DUEQ_WEB_ROUTES_H

#include "server/http/api_routes.h"

enum web_route {
    WEB_SERVER,
    WEB_OVERVIEW,
    WEB_LIVE,
    WEB_CLIENTS,
    WEB_SLOWLOG,
    WEB_HISTORY,
    WEB_TOPIC_HISTORY,
    WEB_VIEWS,
    WEB_SESSION = WEB_VIEWS, /* three methods */
    WEB_ROUTES = WEB_SESSION + 3
};

/* WEB_ROUTES of them. `command` is the one whose right is needed; NULL: it is looked at there.
 */
const struct route *web_routes(void);

#endif
