#include "server/http/web_routes.h"

#define END                                                                                    \
    {                                                                                          \
        NULL, PARAM_ALWAYS, false, NULL, NULL, NULL                                            \
    }
#define TEXT(name, what)                                                                       \
    {                                                                                          \
        name, PARAM_BYTES, false, NULL, NULL, what                                             \
    }
#define NUMBER(name, what)                                                                     \
    {                                                                                          \
        name, PARAM_INTEGER, false, NULL, NULL, what                                           \
    }
#define CHOICE(name, choices, what)                                                            \
    {                                                                                          \
        name, PARAM_CHOICE, false, NULL, choices, what                                         \
    }
#define NEEDED(name, what)                                                                     \
    {                                                                                          \
        name, PARAM_BYTES, true, NULL, NULL, what                                              \
    }

static const struct param overview_params[] = {
    TEXT("match", "only names that match the glob"),
    CHOICE("only", "paused|limited|ready|delayed|claimed|dead|waiting",
           "only topics that are, or have such jobs"),
    CHOICE("sort", "name|ready|delayed|claimed|dead|waiting|oldest|due|in|out", "by what"),
    CHOICE("order", "asc|desc", "up or down"),
    NUMBER("offset", "so many are left out first"),
    NUMBER("limit", "at most so many, 1 to 1000; 100"),
    END};
static const struct param live_params[] = {
    TEXT("topic", "what changes in it"),
    CHOICE("topics", "0|1|true|false", "which topics have changed"),
    CHOICE("events", "0|1|true|false", "what happens to jobs: of the topic, or of all"), END};
static const struct param clients_params[] = {NUMBER("after", "the last id of the page before"),
                                              NUMBER("limit", "at most so many, 1 to 250"),
                                              END};
static const struct param slowlog_params[] = {NUMBER("count", "at most so many, 1 to 100"),
                                              END};
static const struct param history_params[] = {
    CHOICE("range", "minutes|hours|day", "15 minutes, 3 hours, or 24 hours"), END};
static const struct param session_params[] = {NEEDED("user", "of the server"),
                                              NEEDED("password", "one of that user"), END};

#define VIEW(path, command, params, what)                                                      \
    {                                                                                          \
        HTTP_GET, path, command, params, {.wrap = NULL}, false, NULL, what                     \
    }
#define SESSION "/v1/session"

static const struct route routes[WEB_ROUTES] = {
    [WEB_SERVER] = VIEW("/v1/server", "INFO", NULL, "The server in figures"),
    [WEB_OVERVIEW] = VIEW("/v1/overview", "Q.STATS", overview_params,
                          "Topics in figures, sorted, a page of them"),
    [WEB_LIVE] = VIEW("/v1/live", NULL, live_params,
                      "Server-sent events: what changes, second by second"),
    [WEB_CLIENTS] = VIEW("/v1/clients", "CLIENT LIST", clients_params, "The connections"),
    [WEB_SLOWLOG] = VIEW("/v1/slowlog", "SLOWLOG GET", slowlog_params, "The slow log"),
    [WEB_HISTORY] = VIEW("/v1/history", NULL, history_params, "What was, of all topics"),
    [WEB_TOPIC_HISTORY] =
        VIEW("/v1/topics/{topic}/history", NULL, history_params, "What was, of a topic"),
    [WEB_SESSION] = VIEW(SESSION, NULL, NULL, "Who is logged in, and what this user may do"),
    {HTTP_POST, SESSION, NULL, session_params, {.wrap = NULL}, false, NULL, "Logs in"},
    {HTTP_DELETE, SESSION, NULL, NULL, {.wrap = NULL}, false, NULL, "Logs out"},
};

const struct route *web_routes(void)
{
    return routes;
}
