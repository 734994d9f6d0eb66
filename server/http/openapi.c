#include "server/http/openapi.h"

#include "protocol/json_text.h"
#include "server/http/api_routes.h"
#include "server/http/web_routes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void put(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

static void put_text(struct buffer *out, const char *text)
{
    json_write_text(out, text, strlen(text));
}

/* ---- schemas */

#define BYTES     "{\"$ref\":\"#/components/schemas/Bytes\"}"
#define DURATION  "{\"$ref\":\"#/components/schemas/Duration\"}"
#define ARRAY(of) "{\"type\":\"array\",\"minItems\":1,\"maxItems\":1000,\"items\":" of "}"
#define AFTER     "{\"type\":\"array\",\"maxItems\":10000,\"items\":" BYTES "}"
#define CLAIM                                                                                  \
    "{\"type\":\"object\",\"required\":[\"id\",\"token\"],\"properties\":{\"id\":" BYTES       \
    ",\"token\":{\"type\":\"integer\"}}}"
#define PUSH                                                                                   \
    "{\"type\":\"object\",\"required\":[\"body\"],\"properties\":{\"body\":" BYTES             \
    ",\"id\":" BYTES ",\"delay\":" DURATION ",\"priority\":{\"type\":\"integer\"}}}"
#define SETTINGS                                                                               \
    "{\"type\":\"object\",\"additionalProperties\":{\"oneOf\":[{\"type\":\"string\"},"         \
    "{\"type\":\"integer\"}]}}"

static const char *const schemas[] = {[PARAM_BYTES] = BYTES,
                                      [PARAM_INTEGER] = "{\"type\":\"integer\"}",
                                      [PARAM_DURATION] = DURATION,
                                      [PARAM_WAIT] = DURATION,
                                      [PARAM_FLAG] = "{\"type\":\"boolean\"}",
                                      [PARAM_WORDS] = "{\"type\":\"string\"}",
                                      [PARAM_LIST] = ARRAY(BYTES),
                                      [PARAM_AFTER] = AFTER,
                                      [PARAM_TOPICS] = ARRAY(BYTES),
                                      [PARAM_CLAIMS] = ARRAY(CLAIM),
                                      [PARAM_PUSHES] = ARRAY(PUSH),
                                      [PARAM_SETTINGS] = SETTINGS};

static const char schemas_text[] =
    "},\"schemas\":{"
    "\"Bytes\":{\"description\":\"A string when the bytes are UTF-8 and at most 262144; else "
    "an object\",\"oneOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"required\":"
    "[\"base64\"],\"properties\":{\"base64\":{\"type\":\"string\"}}}]},"
    "\"Duration\":{\"description\":\"ms, or a string with ms, s, m, h or d\",\"oneOf\":"
    "[{\"type\":\"integer\"},{\"type\":\"string\"}]},"
    "\"Error\":{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":"
    "{\"type\":\"string\"}}}}}";

static void write_words(struct buffer *out, const char *words)
{
    put(out, "{\"type\":\"string\",\"enum\":[");
    while (*words != '\0') {
        size_t size = strcspn(words, "|");

        json_write_text(out, words, size);
        words += size + (words[size] == '|');
        put(out, *words == '\0' ? "" : ",");
    }
    put(out, "]}");
}

static void write_properties(struct buffer *out, const struct param *params);

static void write_schema(struct buffer *out, const struct param *param)
{
    if (param->kind == PARAM_CHOICE) {
        write_words(out, param->choices);
    } else if (param->kind == PARAM_NEXT) {
        put(out, "{\"type\":\"array\",\"minItems\":1,\"maxItems\":1000,\"items\":");
        write_properties(out, api_follower_params());
        put(out, "}");
    } else {
        put(out, schemas[param->kind]);
    }
}

/* ---- requests */

static bool has_body(const struct route *route)
{
    return route->method == HTTP_POST || route->method == HTTP_PUT ||
           route->method == HTTP_PATCH;
}

/* Those that a client names. */
static bool is_named(const struct param *param)
{
    return param->kind != PARAM_ALWAYS;
}

static void write_parameter(struct buffer *out, const char *name, size_t size,
                            const char *where, bool is_needed)
{
    put(out, "{\"name\":");
    json_write_text(out, name, size);
    put(out, ",\"in\":");
    put_text(out, where);
    put(out, is_needed ? ",\"required\":true" : "");
    put(out, ",\"schema\":");
}

static void write_path_parameters(struct buffer *out, const char *path, const char **comma)
{
    while ((path = strchr(path, '{')) != NULL) {
        size_t size = strcspn(++path, "}");

        put(out, *comma);
        *comma = ",";
        write_parameter(out, path, size, "path", true);
        put(out, "{\"type\":\"string\"}}");
    }
}

static void write_parameters(struct buffer *out, const struct route *route)
{
    const char *comma = "";

    put(out, ",\"parameters\":[");
    write_path_parameters(out, route->path, &comma);
    for (const struct param *param = route->params;
         !has_body(route) && param != NULL && param->name != NULL; param++) {
        put(out, comma);
        comma = ",";
        write_parameter(out, param->name, strlen(param->name), "query", param->is_needed);
        if (param->kind == PARAM_LIST)
            put(out, schemas[param->kind]);
        else if (param->kind == PARAM_CHOICE)
            write_words(out, param->choices);
        else
            put(out, param->kind == PARAM_INTEGER ? "{\"type\":\"integer\"}"
                                                  : "{\"type\":\"string\"}");
        put(out, ",\"description\":");
        put_text(out, param->what);
        put(out, "}");
    }
    put(out, "]");
}

static void write_needed(struct buffer *out, const struct param *params)
{
    const char *comma = "";

    put(out, "\"required\":[");
    for (const struct param *param = params; param->name != NULL; param++) {
        if (!param->is_needed)
            continue;
        put(out, comma);
        put_text(out, param->name);
        comma = ",";
    }
    put(out, "],");
}

static bool has_needed(const struct param *params)
{
    for (; params != NULL && params->name != NULL; params++)
        if (params->is_needed)
            return true;
    return false;
}

static void write_properties(struct buffer *out, const struct param *params)
{
    const char *comma = "";

    put(out, "{\"type\":\"object\",");
    if (has_needed(params))
        write_needed(out, params);
    put(out, "\"additionalProperties\":false,\"properties\":{");
    for (const struct param *param = params; param != NULL && param->name != NULL; param++) {
        if (!is_named(param))
            continue;
        put(out, comma);
        comma = ",";
        put_text(out, param->name);
        put(out, ":{\"allOf\":[");
        write_schema(out, param);
        put(out, "],\"description\":");
        put_text(out, param->what);
        put(out, "}");
    }
    put(out, "}}");
}

static void write_body(struct buffer *out, const struct route *route)
{
    if (!has_body(route))
        return;
    put(out, ",\"requestBody\":{\"content\":{\"application/json\":{\"schema\":");
    if (route->params != NULL && route->params->kind == PARAM_SETTINGS)
        put(out, SETTINGS);
    else
        write_properties(out, route->params);
    put(out, "}");
    if (route->may_be_raw)
        put(out, ",\"application/octet-stream\":{\"schema\":{\"type\":\"string\",\"format\":"
                 "\"binary\"}}");
    put(out, "}}");
}

/* ---- replies */

static void write_reply_schema(struct buffer *out, const struct reply_shape *shape)
{
    put(out, "{\"type\":\"object\"");
    if (shape->wrap != NULL) {
        put(out, ",\"required\":[");
        put_text(out, shape->wrap);
        put(out, "]");
    }
    for (size_t i = 0; shape->depth == 0 && shape->fields != NULL && shape->fields[i] != NULL;
         i++) {
        put(out, i == 0 ? ",\"required\":[" : ",");
        put_text(out, shape->fields[i]);
        put(out, shape->fields[i + 1] == NULL ? "]" : "");
    }
    put(out, "}");
}

static void write_responses(struct buffer *out, const struct route *route)
{
    put(out, ",\"responses\":{\"200\":{\"description\":\"done, and as durable as the topic "
             "asks\",\"content\":{");
    if (route == &web_routes()[WEB_LIVE]) {
        put(out, "\"text/event-stream\":{\"schema\":{\"type\":\"string\"}");
    } else {
        put(out, "\"application/json\":{\"schema\":");
        write_reply_schema(out, &route->shape);
    }
    put(out, "}}},\"default\":{\"description\":\"refused: nothing is changed\",\"content\":"
             "{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}}}");
}

/* ---- operations */

static void write_id(struct buffer *out, const struct route *route, const char *method)
{
    put(out, "\"operationId\":\"");
    put(out, method);
    for (const char *at = route->path + strlen("/v1"); *at != '\0'; at++)
        if (isalnum((unsigned char)*at))
            buffer_append(out, at, 1);
        else if (at[1] != '{' && at[1] != '\0')
            buffer_append(out, "_", 1);
    put(out, "\"");
}

/* It is served to logins of the page; only to log in needs none. */
static bool is_of_dashboard(const struct route *route)
{
    for (size_t i = 0; i < WEB_ROUTES; i++)
        if (route == &web_routes()[i])
            return true;
    return false;
}

static void write_operation(struct buffer *out, const struct route *route)
{
    const char *method = api_method_name(route->method);
    char lower[8] = "";

    for (size_t i = 0; method[i] != '\0' && i + 1 < sizeof(lower); i++)
        lower[i] = (char)tolower((unsigned char)method[i]);
    put_text(out, lower);
    put(out, ":{");
    write_id(out, route, lower);
    put(out, ",\"summary\":");
    put_text(out, route->what);
    if (route->command != NULL) {
        put(out, ",\"description\":");
        put_text(out, route->command);
    }
    if (is_of_dashboard(route))
        put(out, route->method == HTTP_POST
                     ? ",\"tags\":[\"dashboard\"],\"security\":[]"
                     : ",\"tags\":[\"dashboard\"],\"security\":[{\"cookie\":[]}]");
    write_parameters(out, route);
    write_body(out, route);
    write_responses(out, route);
    put(out, "}");
}

static bool is_first(const struct route *routes, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(routes[i].path, routes[index].path) == 0)
            return false;
    return true;
}

static void write_path(struct buffer *out, const struct route *routes, size_t count,
                       size_t index)
{
    put_text(out, routes[index].path);
    put(out, ":{");
    for (size_t i = index; i < count; i++) {
        if (strcmp(routes[i].path, routes[index].path) != 0)
            continue;
        put(out, i > index ? "," : "");
        write_operation(out, &routes[i]);
    }
    put(out, "}");
}

static void write_paths(struct buffer *out, const struct route *routes, size_t count,
                        const char **comma)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_first(routes, i))
            continue;
        put(out, *comma);
        *comma = ",";
        write_path(out, routes, count, i);
    }
}

/* A browser has one cookie for each port of a host. */
static void write_schemes(struct buffer *out, int dashboard_port)
{
    char cookie[128];

    put(out, "\"components\":{\"securitySchemes\":{\"basic\":{\"type\":\"http\",\"scheme\":"
             "\"basic\"}");
    snprintf(cookie, sizeof(cookie),
             ",\"cookie\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"dueq-session-%d\"}",
             dashboard_port);
    put(out, dashboard_port > 0 ? cookie : "");
    put(out, schemas_text);
}

void openapi_write(struct buffer *out, int dashboard_port)
{
    size_t count;
    const struct route *routes = api_routes(&count);
    const char *comma = "";

    put(out, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"dueq\",\"version\":");
    put_text(out, DUEQ_VERSION);
    put(out,
        ",\"description\":\"Each operation stands for the command in its description, with "
        "its rights, errors and promise of durability. Those of the dashboard may change.\"},"
        "\"security\":[{},{\"basic\":[]}],\"paths\":{");
    write_paths(out, routes, count, &comma);
    if (dashboard_port > 0)
        write_paths(out, web_routes(), WEB_ROUTES, &comma);
    put(out, "},");
    write_schemes(out, dashboard_port);
    put(out, "}\n");
}
