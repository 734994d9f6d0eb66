#include "server/http/dashboard.h"

#include "server/http/live.h"
#include "server/http/overview.h"

#include <stdlib.h>

bool dashboard_follow(struct server *server)
{
    bool is_wanted = server->http != NULL && server->config.dashboard;

    if (is_wanted && server->dashboard == NULL)
        server->dashboard = calloc(1, sizeof(*server->dashboard));
    else if (!is_wanted)
        dashboard_close(server);
    return !is_wanted || server->dashboard != NULL;
}

void dashboard_close(struct server *server)
{
    if (server->dashboard == NULL)
        return;
    live_free(server->dashboard->live, "off");
    overview_free(server->dashboard->overview);
    web_sessions_release(&server->dashboard->sessions);
    free(server->dashboard);
    server->dashboard = NULL;
}
