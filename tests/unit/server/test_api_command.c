/* From a route, a path, a query and JSON to the request of RESP. */
#include "server/http/api_command.h"
#include "server/http/api_errors.h"
#include "server/http/api_guard.h"
#include "server/http/openapi.h"
#include "server/http/web_routes.h"
#include "server/dispatch/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/support/cmocka.h"

static struct http_part part(const char *text)
{
    return (struct http_part){text, strlen(text)};
}

/* "Q.PUSH|mail|hello" or the error. */
static const char *build(enum http_method method, const char *path, const char *query,
                         const char *json, int64_t raw)
{
    static char text[8192];
    char methods[64];
    struct route_values values;
    struct api_command command;
    struct api_error error = {""};
    bool is_bad;
    const struct route *route =
        api_find_route(method, part(path), &values, methods, sizeof(methods), &is_bad);
    json_t *params;

    assert_non_null(route);
    assert_false(is_bad);
    params = api_read_query(part(query), &error);
    if (params == NULL ||
        (json[0] != '\0' && !api_read_json(params, json, strlen(json), &error))) {
        json_decref(params);
        snprintf(text, sizeof(text), "%s", error.text);
        return text;
    }
    if (api_command_build(route, &values, params, raw, &command, &error)) {
        size_t size = 0;

        buffer_append(&command.head, command.has_raw ? "(raw)" : "", command.has_raw ? 5 : 0);
        buffer_append(&command.head, buffer_content(&command.tail), buffer_size(&command.tail));
        buffer_append(&command.head, "", 1);
        for (char *rest, *line = strtok_r(buffer_content(&command.head), "\n", &rest);
             line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            if (line[0] == '*' || line[0] == '$')
                continue;
            line[strcspn(line, "\r")] = '\0';
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s",
                                     size == 0 ? "" : "|", line);
        }
    } else {
        snprintf(text, sizeof(text), "%s", error.text);
    }
    api_command_release(&command);
    json_decref(params);
    return text;
}

#define PUSH "/v1/topics/mail/jobs"

static void a_push_is_q_push(void **state)
{
    (void)state;
    assert_string_equal(build(HTTP_POST, PUSH, "", "{\"body\":\"hello\"}", -1),
                        "Q.PUSH|mail|hello|WITHSTATUS");
    assert_string_equal(
        build(HTTP_POST, "/v1/topics/a%2Fb/jobs", "delay=5s",
              "{\"priority\":3,\"body\":{\"base64\":\"YWI=\"},\"id\":\"x\",\"ignoredead\":true,"
              "\"ondup\":\"replace\",\"backoff\":\"exp 1s 2s jitter 5\",\"group\":null}",
              -1),
        "Q.PUSH|a/b|ab|ID|x|DELAY|5s|PRIORITY|3|BACKOFF|exp|1s|2s|jitter|5|ONDUP|REPLACE|"
        "IGNOREDEAD|WITHSTATUS");
    assert_string_equal(build(HTTP_POST, PUSH, "id=a+b%26&at=7", "", 3),
                        "Q.PUSH|mail|(raw)|ID|a b&|AT|7|WITHSTATUS");
    assert_string_equal(
        build(HTTP_POST, "/v1/topics/mail/push-many", "",
              "{\"jobs\":[{\"body\":\"x\"},{\"id\":\"a\",\"delay\":5,\"priority\":1,"
              "\"body\":\"y\"}],\"retries\":2}",
              -1),
        "Q.MPUSH|mail|EACH|2||||x|a|5|1|y|RETRIES|2");
}

static void a_push_waits_for_others(void **state)
{
    static const struct {
        const char *json, *wanted;
    } cases[] = {
        {"{\"body\":\"x\",\"after\":[\"a\",\"t:b\"],\"on-dead\":\"wait\",\"retries\":2}",
         "Q.PUSH|mail|x|RETRIES|2|WITHSTATUS|ON-DEAD|WAIT|AFTER|a|t:b"},
        {"{\"after\":\"a\",\"body\":\"x\"}", "Q.PUSH|mail|x|WITHSTATUS|AFTER|a"},
        {"{\"after\":[{\"base64\":\"YWI=\"}],\"body\":\"x\"}",
         "Q.PUSH|mail|x|WITHSTATUS|AFTER|ab"},
        {"{\"after\":[],\"body\":\"x\"}", "Q.PUSH|mail|x|WITHSTATUS"},
        {"{\"after\":null,\"body\":\"x\"}", "Q.PUSH|mail|x|WITHSTATUS"},
        {"{\"after\":[\"then\",\"then\"],\"body\":\"x\"}",
         "Q.PUSH|mail|x|WITHSTATUS|AFTER|then|then"},
        {"{\"after\":[7],\"body\":\"x\"}",
         "ERR the parameter 'after' must be a list of strings or {\"base64\": \"...\"}"},
        {"{\"after\":{\"a\":1},\"body\":\"x\"}",
         "ERR the parameter 'after' must be a list of strings or {\"base64\": \"...\"}"},
        {"{\"after\":[\"a\",{\"base64\":\"dGhlbg==\"},\"PUSH\",\"t\"],\"body\":\"x\"}",
         "ERR the parameter 'after' must be in another order: 'then' is before 'push'"},
        {"{\"on-dead\":\"never\",\"body\":\"x\"}",
         "ERR the parameter 'on-dead' must be FAIL|RUN|WAIT"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(build(HTTP_POST, PUSH, "", cases[i].json, -1), cases[i].wanted);
    assert_string_equal(build(HTTP_POST, PUSH, "after=a&on-dead=run&after=b", "", 3),
                        "Q.PUSH|mail|(raw)|WITHSTATUS|ON-DEAD|RUN|AFTER|a|b");
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/push-many", "",
                              "{\"jobs\":[{\"body\":\"x\"}],\"after\":[\"a\"],\"ttl\":5}", -1),
                        "Q.MPUSH|mail|EACH|1||||x|TTL|5|AFTER|a");
    assert_string_equal(
        build(HTTP_POST, "/v1/topics/mail/jobs/a/ack-push", "",
              "{\"token\":7,\"jobs\":[{\"topic\":\"t\",\"body\":\"x\",\"after\":[\"b\","
              "\"then\"]},"
              "{\"topic\":\"push\",\"body\":\"y\",\"after\":\"push\",\"on-dead\":\"FAIL\"}]}",
              -1),
        "Q.ACK|mail|a|7|THEN|PUSH|t|x|AFTER|b|then|THEN|PUSH|push|y|ON-DEAD|FAIL|AFTER|push");
}

/* One more than a push takes. */
static void a_push_waits_for_so_many_at_most(void **state)
{
    static char json[API_AFTER_MAX * 4 + 64] = "{\"body\":\"x\",\"after\":[\"a\"";
    size_t size = strlen(json);

    (void)state;
    for (int i = 0; i < API_AFTER_MAX; i++, size += 4)
        memcpy(json + size, ",\"a\"", 4);
    memcpy(json + size, "]}", 3);
    assert_string_equal(build(HTTP_POST, PUSH, "", json, -1),
                        "ERR the parameter 'after' must be a list of 10000 strings at most");
}

static void other_commands_are_built(void **state)
{
    (void)state;
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/claim", "",
                              "{\"count\":2,\"wait\":\"5s\",\"worker\":\"w\","
                              "\"ack\":[{\"id\":\"a\",\"token\":7}]}",
                              -1),
                        "Q.CLAIM|mail|COUNT|2|BLOCK|5000|WORKER|w|ACK|a|7");
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/claim", "", "{\"wait\":0}", -1),
                        "Q.CLAIM|mail");
    assert_string_equal(build(HTTP_POST, "/v1/claim", "", "{\"topics\":[\"a\",\"b\"]}", -1),
                        "Q.MCLAIM|2|a|b");
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/jobs/a/nack", "",
                              "{\"token\":7,\"outcome\":\"fatal\",\"error\":\"no\"}", -1),
                        "Q.NACK|mail|a|7|ERROR|no|FATAL");
    assert_string_equal(build(HTTP_GET, PUSH, "", "", -1), "Q.SCAN|mail|0");
    assert_string_equal(build(HTTP_GET, PUSH, "cursor=7&withbody&state=dead", "", -1),
                        "Q.SCAN|mail|7|STATE|dead|WITHBODY");
    assert_string_equal(build(HTTP_GET, PUSH, "withbody=0", "", -1), "Q.SCAN|mail|0");
    assert_string_equal(build(HTTP_GET, "/v1/topics/mail/wait", "id=a&id=b&wait=100ms", "", -1),
                        "Q.WAIT|mail|a|b|BLOCK|100");
    assert_string_equal(build(HTTP_PATCH, "/v1/topics/mail*/settings", "",
                              "{\"lease\":\"5m\",\"retries\":3}", -1),
                        "Q.CONFIG|SET|mail*|lease|5m|retries|3");
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/dead/redrive", "",
                              "{\"rate\":\"100 1s\",\"dryrun\":true}", -1),
                        "Q.DEAD|mail|REDRIVE|DRYRUN|RATE|100|1s");
}

static void the_rest_of_the_queue_is_built(void **state)
{
    (void)state;
    assert_string_equal(
        build(HTTP_POST, "/v1/topics/mail/pop", "", "{\"count\":2,\"wait\":\"1s\"}", -1),
        "Q.POP|mail|COUNT|2|BLOCK|1000");
    assert_string_equal(build(HTTP_GET, "/v1/topics/mail/events", "", "", -1),
                        "Q.EVENTS|mail|FROM|0");
    assert_string_equal(
        build(HTTP_GET, "/v1/topics/mail/events", "from=7&count=5&wait=9", "", -1),
        "Q.EVENTS|mail|FROM|7|COUNT|5|BLOCK|9");
    assert_string_equal(build(HTTP_GET, "/v1/topics/mail/count", "", "", -1), "Q.LEN|mail");
    assert_string_equal(build(HTTP_GET, "/v1/topics/mail/count", "state=READY", "", -1),
                        "Q.LEN|mail|ready");
    assert_string_equal(build(HTTP_POST, "/v1/workers/host%2F7/release", "", "", -1),
                        "Q.RELEASE|WORKER|host/7");
    assert_string_equal(
        build(HTTP_POST, "/v1/workers/h/release", "", "{\"topic\":\"mail\"}", -1),
        "Q.RELEASE|WORKER|h|TOPIC|mail");
    assert_string_equal(
        build(HTTP_POST, "/v1/topics/mail/jobs/a/ack-push", "",
              "{\"token\":7,\"result\":\"r\",\"jobs\":[{\"topic\":\"sent\",\"body\":\"then\","
              "\"delay\":\"1d\",\"id\":null},{\"body\":\"x\",\"topic\":\"t\",\"id\":\"b\","
              "\"ignoredead\":true}]}",
              -1),
        "Q.ACK|mail|a|7|RESULT|r|THEN|PUSH|sent|then|DELAY|1d|THEN|PUSH|t|x|ID|b|IGNOREDEAD");
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/jobs/a/ack-push", "",
                              "{\"token\":7,\"jobs\":[{\"topic\":\"t\"}]}", -1),
                        "ERR the parameter 'body' is missing");
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/jobs/a/ack-push", "",
                              "{\"token\":7,\"jobs\":[]}", -1),
                        "ERR the parameter 'jobs' must be a list of 1 to 1000 jobs");
    assert_string_equal(
        build(HTTP_POST, "/v1/topics/mail/jobs/a/ack-push", "",
              "{\"token\":7,\"jobs\":[{\"topic\":\"t\",\"body\":\"b\",\"x\":1}]}", -1),
        "ERR there is no parameter 'x' here");
}

static void recurring_jobs_are_built(void **state)
{
    (void)state;
    assert_string_equal(build(HTTP_GET, "/v1/cron", "after=a&count=5", "", -1),
                        "Q.CRON|LIST|AFTER|a|COUNT|5");
    assert_string_equal(
        build(HTTP_PUT, "/v1/cron/report", "",
              "{\"topic\":\"reports\",\"body\":\"weekly\",\"spec\":"
              "\"0 6 * * mon\",\"tz\":\"UTC\",\"catchup\":\"one\",\"retries\":2}",
              -1),
        "Q.CRON|SET|report|reports|weekly|SPEC|0 6 * * mon|TZ|UTC|CATCHUP|ONE|"
        "RETRIES|2");
    assert_string_equal(build(HTTP_GET, "/v1/cron/a", "", "", -1), "Q.CRON|GET|a");
    assert_string_equal(build(HTTP_DELETE, "/v1/cron/a", "", "", -1), "Q.CRON|DEL|a");
    assert_string_equal(build(HTTP_POST, "/v1/cron/a/pause", "", "", -1), "Q.CRON|PAUSE|a");
    assert_string_equal(build(HTTP_POST, "/v1/cron/a/resume", "", "", -1), "Q.CRON|RESUME|a");
    assert_string_equal(build(HTTP_GET, "/v1/cron/a/next", "", "", -1), "Q.CRON|NEXT|a|1");
    assert_string_equal(build(HTTP_GET, "/v1/cron/a/next", "count=9", "", -1),
                        "Q.CRON|NEXT|a|9");
    assert_string_equal(build(HTTP_POST, "/v1/cron/a/run", "", "", -1), "Q.CRON|RUN|a");
}

static void mistakes_are_told(void **state)
{
    static const struct {
        const char *query, *json, *error;
    } mistakes[] = {
        {"", "", "ERR the parameter 'body' is missing"},
        {"", "{\"body\":\"a\",\"what\":1}", "ERR there is no parameter 'what' here"},
        {"=1", "{\"body\":\"a\"}", "ERR there is no parameter '' here"},
        {"id=1", "{\"body\":\"a\",\"id\":\"2\"}", "ERR the parameter 'id' is given twice"},
        {"id=1&id=2", "{\"body\":\"a\"}",
         "ERR the parameter 'id' must be a string or {\"base64\": \"...\"}"},
        {"id=%zz", "{\"body\":\"a\"}", "ERR the query is not encoded as it should be"},
        {"", "{\"body\":7}",
         "ERR the parameter 'body' must be a string or {\"base64\": \"...\"}"},
        {"", "{\"body\":{\"base64\":\"?\"}}",
         "ERR the parameter 'body' must be a string or {\"base64\": \"...\"}"},
        {"", "{\"body\":\"a\",\"priority\":1.5}",
         "ERR the parameter 'priority' must be an integer"},
        {"", "{\"body\":\"a\",\"ignoredead\":3}",
         "ERR the parameter 'ignoredead' must be true or false"},
        {"", "{\"body\":\"a\",\"backoff\":\"1s ID x\"}",
         "ERR the parameter 'backoff' must be words: 5s 1h, FIXED 10s, EXP 1s 1h JITTER 10, "
         "STEPS 2m 10m 1h"},
        {"", "[]", "ERR the body must be an object of JSON"},
        {"", "{\"body\":\"a\"} x", "ERR the body is no JSON: end of file expected near 'x'"}};

    (void)state;
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++)
        assert_string_equal(build(HTTP_POST, PUSH, mistakes[i].query, mistakes[i].json, -1),
                            mistakes[i].error);
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/claim", "", "{\"wait\":\"11m\"}", -1),
                        "ERR the parameter 'wait' must be a duration of 10 minutes at most");
    assert_string_equal(
        build(HTTP_POST, "/v1/topics/mail/ack", "", "{\"jobs\":[{\"id\":\"a\"}]}", -1),
        "ERR the parameter 'token' must be an integer");
    assert_string_equal(
        build(HTTP_GET, "/v1/topics/mail/wait", "id=a&id=block&id=5", "", -1),
        "ERR the parameter 'id' must be in another order: the last but one is 'BLOCK'");
    assert_string_equal(build(HTTP_GET, "/v1/topics/mail/wait", "id=block&id=5", "", -1),
                        "Q.WAIT|mail|block|5");
    assert_string_equal(build(HTTP_POST, "/v1/topics/mail/push-many", "",
                              "{\"jobs\":[{\"body\":\"x\",\"ID\":\"a\"}]}", -1),
                        "ERR a job has no 'ID' here");
    assert_string_equal(build(HTTP_POST, PUSH, "", "{\"body\":\"a\"}", 3),
                        "ERR the body is given twice");
}

/* Each route's command is in the table of commands, and its path is found. */
static void every_route_has_a_command(void **state)
{
    size_t count;
    const struct route *routes = api_routes(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        char name[32], methods[64];
        struct route_values values;
        bool is_bad;
        struct argument argument = {name, 0};
        struct request request = {.count = 1, .arguments = &argument};

        argument.size =
            (size_t)snprintf(name, sizeof(name), "%.*s", (int)strcspn(routes[i].command, " "),
                             routes[i].command);
        assert_non_null(command_find_request(&request));
        assert_ptr_equal(api_find_route(routes[i].method, part(routes[i].path), &values,
                                        methods, sizeof(methods), &is_bad),
                         &routes[i]);
    }
}

static bool has_route(const char *name)
{
    size_t count;
    const struct route *routes = api_routes(&count);

    for (size_t i = 0; i < count; i++)
        if (strncasecmp(routes[i].command, name, strlen(name)) == 0 &&
            (routes[i].command[strlen(name)] == ' ' || routes[i].command[strlen(name)] == '\0'))
            return true;
    return false;
}

static void every_command_of_the_queue_has_a_route(void **state)
{
    size_t found = 0;

    (void)state;
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i);

        if (strcmp(command->group, "queue") != 0 || command->name[0] != 'q')
            continue;
        found++;
        if (!has_route(command->name))
            fail_msg("%s has no route", command->name);
    }
    assert_true(found > 30);
}

static void paths_are_checked(void **state)
{
    static const char *const unknown[] = {"/v1",
                                          "/v1/",
                                          "/v1/topic",
                                          "/v1/topics/a/b",
                                          "/v1/topics/a/jobs/b/c",
                                          "/v1/topics/a/jobs/b/ack/",
                                          "//v1/topics"};
    struct route_values values;
    char methods[64];
    bool is_bad;

    (void)state;
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_null(api_find_route(HTTP_GET, part(unknown[i]), &values, methods,
                                   sizeof(methods), &is_bad));
        assert_string_equal(methods, "");
    }
    assert_null(
        api_find_route(HTTP_PUT, part(PUSH), &values, methods, sizeof(methods), &is_bad));
    assert_string_equal(methods, "POST, GET");
    assert_non_null(api_find_route(HTTP_GET, part("/v1/topics/"), &values, methods,
                                   sizeof(methods), &is_bad));
    assert_true(is_bad);
    assert_non_null(api_find_route(HTTP_GET, part("/v1/topics/%2"), &values, methods,
                                   sizeof(methods), &is_bad));
    assert_true(is_bad);
}

/* Among the members of the body, or in the query. */
static bool is_described(json_t *operation, const char *name)
{
    json_t *schema = json_object_get(
        json_object_get(json_object_get(json_object_get(operation, "requestBody"), "content"),
                        "application/json"),
        "schema");
    json_t *parameters = json_object_get(operation, "parameters");

    if (json_object_get(json_object_get(schema, "properties"), name) != NULL)
        return true;
    for (size_t i = 0; i < json_array_size(parameters); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(parameters, i), "name")),
                   name) == 0)
            return true;
    return false;
}

static void expect_described(json_t *paths, const struct route *route)
{
    char method[8] = "";
    json_t *operation;

    for (size_t j = 0; api_method_name(route->method)[j] != '\0'; j++)
        method[j] = (char)(api_method_name(route->method)[j] | 0x20);
    operation = json_object_get(json_object_get(paths, route->path), method);
    assert_non_null(operation);
    if (route->command != NULL)
        assert_string_equal(json_string_value(json_object_get(operation, "description")),
                            route->command);
    for (const struct param *param = route->params; param != NULL && param->name != NULL;
         param++)
        if (param->kind != PARAM_ALWAYS && param->kind != PARAM_SETTINGS &&
            !is_described(operation, param->name))
            fail_msg("%s %s: %s is not described", method, route->path, param->name);
}

/* Of the description nothing is missing, and it is JSON. Those of the dashboard are there while
 * it is. */
static void the_description_has_every_route(void **state)
{
    size_t count;
    const struct route *routes = api_routes(&count);

    (void)state;
    for (int port = 0; port < 2; port++) {
        size_t described = 0;
        struct buffer out;
        json_t *root, *paths, *methods;
        const char *path;

        buffer_init(&out, SIZE_MAX / 2);
        openapi_write(&out, port);
        root =
            json_loadb(buffer_content(&out), buffer_size(&out), JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        paths = json_object_get(root, "paths");
        for (size_t i = 0; i < count; i++)
            expect_described(paths, &routes[i]);
        for (size_t i = 0; port > 0 && i < WEB_ROUTES; i++)
            expect_described(paths, &web_routes()[i]);
        json_object_foreach(paths, path, methods) described += json_object_size(methods);
        assert_int_equal(described, count + (port > 0 ? WEB_ROUTES : 0));
        json_decref(root);
        buffer_release(&out);
    }
}

static void strange_pages_are_refused(void **state)
{
    static const struct {
        const char *fields;
        int host, origin;
    } asked[] = {{"", 400, 0},
                 {"Host: localhost:1\r\n", 0, 0},
                 {"Host: 10.1.2.3:80\r\n", 0, 0},
                 {"Host: [::1]:80\r\n", 0, 0},
                 {"Host: queue.example\r\n", 0, 0},
                 {"Host: queue.example.evil\r\n", 403, 0},
                 {"Host: evil:1\r\n", 403, 0},
                 {"Host: 10.1.2.3.evil\r\n", 403, 0},
                 {"Host: a\r\nOrigin: http://a\r\n", 403, 0},
                 {"Host: a:1\r\nOrigin: http://a\r\n", 403, 403},
                 {"Host: localhost\r\nOrigin: null\r\n", 0, 403},
                 {"Host: localhost\r\nOrigin: http://evil\r\n", 0, 403},
                 {"Host: localhost\r\nOrigin: https://localhost\r\n", 0, 0},
                 {"Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 0, 403},
                 {"Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", 0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct http_head head;
        const char *why;
        char text[256];
        int size = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n", asked[i].fields);

        assert_int_equal(http_head_read(text, (size_t)size, &head), 0);
        assert_int_equal(api_check_host(&head, "queue.example other", &why), asked[i].host);
        assert_int_equal(api_check_origin(&head, &why), asked[i].origin);
        assert_int_equal(api_check_host(&head, "*", &why), i == 0 ? 400 : 0);
    }
}

static void errors_have_statuses(void **state)
{
    static const struct {
        const char *error;
        int status, at_login;
    } errors[] = {{"DUPLICATE the id", 409, 503},
                  {"STALE x", 412, 503},
                  {"FULL x", 507, 503},
                  {"OOM x", 507, 503},
                  {"LOADING x", 503, 503},
                  {"NOPERM x", 403, 403},
                  {"NOAUTH x", 401, 401},
                  {"WRONGPASS", 401, 401},
                  {"NOJOB x", 404, 503},
                  {"ERR x", 400, 503},
                  {"TOOBIG x", 413, 503},
                  {"ERRX x", 500, 503},
                  {"ERR too many failed logins from this address", 400, 429}};

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        size_t size = strlen(errors[i].error);

        assert_int_equal(api_status_of(errors[i].error, size, false), errors[i].status);
        assert_int_equal(api_status_of(errors[i].error, size, true), errors[i].at_login);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_push_is_q_push),
                                       cmocka_unit_test(a_push_waits_for_others),
                                       cmocka_unit_test(a_push_waits_for_so_many_at_most),
                                       cmocka_unit_test(other_commands_are_built),
                                       cmocka_unit_test(the_rest_of_the_queue_is_built),
                                       cmocka_unit_test(recurring_jobs_are_built),
                                       cmocka_unit_test(mistakes_are_told),
                                       cmocka_unit_test(every_route_has_a_command),
                                       cmocka_unit_test(every_command_of_the_queue_has_a_route),
                                       cmocka_unit_test(paths_are_checked),
                                       cmocka_unit_test(the_description_has_every_route),
                                       cmocka_unit_test(strange_pages_are_refused),
                                       cmocka_unit_test(errors_have_statuses)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
