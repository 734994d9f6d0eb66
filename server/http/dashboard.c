#include "server/http/dashboard.h"

#include "server/http/charts.h"
#include "server/http/live.h"
#include "server/http/overview.h"

#include <stdlib.h>

static void follow_charts(struct server *server)
{
    struct dashboard *dashboard = server->dashboard;

    if (!server->config.dashboard_history) {
        charts_free(dashboard->charts);
        dashboard->charts = NULL;
    } else if (dashboard->charts == NULL) {
        dashboard->charts = charts_new(server);
    }
}

bool dashboard_follow(struct server *server)
{
    bool is_wanted = server->http != NULL && server->config.dashboard;

    if (is_wanted && server->dashboard == NULL)
        server->dashboard = calloc(1, sizeof(*server->dashboard));
    else if (!is_wanted)
        dashboard_close(server);
    if (is_wanted && server->dashboard != NULL)
        follow_charts(server);
    return !is_wanted || server->dashboard != NULL;
}

void dashboard_note_work(struct server *server)
{
    if (server->dashboard->charts != NULL)
        charts_wake(server->dashboard->charts);
}

void dashboard_close(struct server *server)
{
    if (server->dashboard == NULL)
        return;
    charts_free(server->dashboard->charts);
    live_free(server->dashboard->live, "off");
    overview_free(server->dashboard->overview);
    web_sessions_release(&server->dashboard->sessions);
    free(server->dashboard);
    server->dashboard = NULL;
}
