#include "server/http/api_command.h"

#include "protocol/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORDS_MAX = 20, HEAD_MAX = 64 };

static bool fail(struct api_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(struct api_error *error, const char *format, ...)
{
    va_list rest;

    va_start(rest, format);
    vsnprintf(error->text, sizeof(error->text), format, rest);
    va_end(rest);
    return false;
}

/* ---- parameters */

/* A name that comes again makes a list. False: out of memory. */
static bool add_value(json_t *params, const char *name, json_t *value)
{
    json_t *before = json_object_get(params, name), *list;

    if (before == NULL)
        return json_object_set_new_nocheck(params, name, value) == 0;
    if (json_is_array(before))
        return json_array_append_new(before, value) == 0;
    list = json_array();
    if (list == NULL || json_array_append(list, before) != 0 ||
        json_array_append_new(list, value) != 0) {
        json_decref(list);
        return false;
    }
    return json_object_set_new_nocheck(params, name, list) == 0;
}

/* "name=value" */
static bool read_pair(json_t *params, struct http_part pair, struct api_error *error)
{
    const char *equals = pair.size == 0 ? NULL : memchr(pair.data, '=', pair.size);
    struct http_part name = pair, value = {pair.data + pair.size, 0};
    char *text = malloc(2 * pair.size + 2);
    size_t name_size = 0, value_size = 0;
    bool good = text != NULL;

    if (equals != NULL) {
        name.size = (size_t)(equals - pair.data);
        value = (struct http_part){equals + 1, pair.size - name.size - 1};
    }
    if (!good)
        fail(error, "ERR out of memory");
    else if (!http_decode(name, true, text, &name_size) ||
             !http_decode(value, true, text + pair.size + 1, &value_size) ||
             memchr(text, '\0', name_size) != NULL)
        good = fail(error, "ERR the query is not encoded as it should be");
    if (good) {
        text[name_size] = '\0';
        good =
            add_value(params, text, json_stringn_nocheck(text + pair.size + 1, value_size)) ||
            fail(error, "ERR out of memory");
    }
    free(text);
    return good;
}

json_t *api_read_query(struct http_part query, struct api_error *error)
{
    json_t *params = json_object();
    bool good = params != NULL || fail(error, "ERR out of memory");

    while (good && query.size > 0) {
        const char *end = memchr(query.data, '&', query.size);
        size_t size = end == NULL ? query.size : (size_t)(end - query.data);

        if (size > 0)
            good = read_pair(params, (struct http_part){query.data, size}, error);
        query.data += size + (end != NULL);
        query.size -= size + (end != NULL);
    }
    if (good)
        return params;
    json_decref(params);
    return NULL;
}

bool api_read_json(json_t *params, const char *bytes, size_t size, struct api_error *error)
{
    json_error_t where;
    json_t *body = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where),
           *value;
    const char *name;
    bool good = true;

    if (!json_is_object(body)) {
        json_decref(body);
        return fail(error,
                    body == NULL ? "ERR the body is no JSON: %.120s"
                                 : "ERR the body must be an object of JSON",
                    where.text);
    }
    json_object_foreach(body, name, value)
    {
        if (json_is_null(value))
            continue;
        if (json_object_get(params, name) != NULL)
            good = fail(error, "ERR the parameter '%.64s' is given twice", name);
        else if (json_object_set_nocheck(params, name, value) != 0)
            good = fail(error, "ERR out of memory");
        if (!good)
            break;
    }
    json_decref(body);
    return good;
}

/* ---- arguments */

struct build {
    struct api_command *command;
    struct api_error *error;
    int64_t raw;
};

static struct buffer *place(struct build *build)
{
    return build->command->has_raw ? &build->command->tail : &build->command->head;
}

static void add_size(struct build *build, size_t size)
{
    char text[HEAD_MAX];
    int length = snprintf(text, sizeof(text), "$%zu\r\n", size);

    buffer_append(place(build), text, (size_t)length);
    build->command->count++;
}

static void add(struct build *build, const char *bytes, size_t size)
{
    add_size(build, size);
    buffer_append(place(build), bytes, size);
    buffer_append(place(build), "\r\n", 2);
}

static void add_text(struct build *build, const char *text)
{
    add(build, text, strlen(text));
}

static void add_number(struct build *build, int64_t number)
{
    char text[NUMBER_TEXT_MAX];

    add(build, text, number_format_integer(text, number));
}

static void add_keyword(struct build *build, const struct param *param)
{
    if (param->keyword != NULL)
        add_text(build, param->keyword);
}

/* ---- values */

static bool wrong(struct build *build, const char *name, const char *wanted)
{
    return fail(build->error, "ERR the parameter '%.64s' must be %s", name, wanted);
}

/* The bytes of {"base64": ...} are written over its text. */
static bool bytes_of(json_t *value, struct http_part *ret_bytes)
{
    json_t *coded = json_object_size(value) == 1 ? json_object_get(value, "base64") : NULL;
    json_t *text = coded != NULL ? coded : value;

    if (!json_is_string(text))
        return false;
    *ret_bytes = (struct http_part){json_string_value(text), json_string_length(text)};
    return coded == NULL ||
           http_read_base64(*ret_bytes, (char *)(uintptr_t)ret_bytes->data, &ret_bytes->size);
}

/* So it could not be read a second time. */
static bool add_bytes(struct build *build, const char *name, json_t *value)
{
    struct http_part bytes;

    if (!bytes_of(value, &bytes))
        return wrong(build, name, "a string or {\"base64\": \"...\"}");
    add(build, bytes.data, bytes.size);
    return true;
}

static bool add_integer(struct build *build, const char *name, json_t *value)
{
    if (json_is_integer(value))
        add_number(build, json_integer_value(value));
    else if (json_is_string(value))
        add(build, json_string_value(value), json_string_length(value));
    else
        return wrong(build, name, "an integer");
    return true;
}

static bool add_duration(struct build *build, const char *name, json_t *value)
{
    if (!json_is_integer(value) && !json_is_string(value))
        return wrong(build, name, "a duration: an integer of ms, or a string like \"30s\"");
    return add_integer(build, name, value);
}

static bool add_wait(struct build *build, const struct param *param, json_t *value)
{
    int64_t ms = json_integer_value(value);

    if (json_is_string(value) &&
        !number_parse_duration(json_string_value(value), json_string_length(value), &ms))
        ms = -1;
    if ((!json_is_string(value) && !json_is_integer(value)) || ms < 0 || ms > API_WAIT_MAX_MS)
        return wrong(build, param->name, "a duration of 10 minutes at most");
    build->command->wait_ms = ms;
    if (ms == 0)
        return true;
    add_keyword(build, param);
    add_number(build, ms);
    return true;
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcasecmp(word, *words) != 0)
        words++;
    return *words != NULL;
}

static bool add_flag(struct build *build, const struct param *param, json_t *value)
{
    static const char *const yes[] = {"", "1", "true", "yes", NULL}, *const no[] = {"0",
                                                                                    "false",
                                                                                    "no", NULL};
    const char *text = json_is_string(value) ? json_string_value(value) : NULL;

    if (!json_is_boolean(value) &&
        (text == NULL || (!is_one_of(text, yes) && !is_one_of(text, no))))
        return wrong(build, param->name, "true or false");
    if (json_is_true(value) || (text != NULL && is_one_of(text, yes)))
        add_keyword(build, param);
    return true;
}

/* The word as the list has it. Its size is 0: it is not there. */
static struct http_part find_word(const char *words, const char *word, size_t size)
{
    while (words != NULL && *words != '\0') {
        size_t length = strcspn(words, "|");

        if (length == size && strncasecmp(words, word, size) == 0)
            return (struct http_part){words, length};
        words += length + (words[length] == '|');
    }
    return (struct http_part){NULL, 0};
}

static bool add_choice(struct build *build, const struct param *param, json_t *value)
{
    struct http_part word =
        find_word(param->choices, json_is_string(value) ? json_string_value(value) : "",
                  json_string_length(value));

    if (word.size == 0)
        return wrong(build, param->name, param->choices);
    add_keyword(build, param);
    add(build, word.data, word.size);
    return true;
}

/* Each is a number, a duration or one of the parameter's own words: no other option of the
 * command. */
static bool add_words(struct build *build, const struct param *param, json_t *value)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    size_t count = 0;

    add_keyword(build, param);
    for (; *(text += strspn(text, " ")) != '\0'; count++) {
        size_t size = strcspn(text, " ");

        if (count == WORDS_MAX || ((text[0] < '0' || text[0] > '9') &&
                                   find_word(param->choices, text, size).size == 0))
            return wrong(build, param->name, param->what);
        add(build, text, size);
        text += size;
    }
    return count > 0 || wrong(build, param->name, param->what);
}

/* ---- lists */

/* Q.WAIT would take the last two of such ids for its option: it would wait without an end, and
 * nobody would see the client go. */
static bool is_an_option(json_t *list)
{
    size_t size = json_array_size(list);
    const char *word = size < 3 ? NULL : json_string_value(json_array_get(list, size - 2));

    return word != NULL && strcasecmp(word, "block") == 0;
}

static bool add_list(struct build *build, const struct param *param, json_t *value)
{
    size_t size = json_is_array(value) ? json_array_size(value) : 1;

    if (size == 0 || size > API_JOBS_MAX)
        return wrong(build, param->name, "a list of 1 to 1000 strings");
    if (param->kind == PARAM_LIST && is_an_option(value))
        return wrong(build, param->name, "in another order: the last but one is 'BLOCK'");
    if (param->kind == PARAM_TOPICS)
        add_number(build, (int64_t)size);
    for (size_t i = 0; i < size; i++)
        if (!add_bytes(build, param->name,
                       json_is_array(value) ? json_array_get(value, i) : value))
            return false;
    return true;
}

static bool is_word(struct http_part bytes, const char *word)
{
    return bytes.size == strlen(word) && strncasecmp(bytes.data, word, bytes.size) == 0;
}

/* An ack would take THEN PUSH among the ids for another push. An empty list waits for nothing.
 */
static bool add_after(struct build *build, const struct param *param, json_t *value)
{
    size_t size = json_is_array(value) ? json_array_size(value) : 1;
    bool then = false;

    if (size > API_AFTER_MAX)
        return wrong(build, param->name, "a list of 10000 strings at most");
    if (size > 0)
        add_keyword(build, param);
    for (size_t i = 0; i < size; i++) {
        struct http_part bytes;

        if (!bytes_of(json_is_array(value) ? json_array_get(value, i) : value, &bytes))
            return wrong(build, param->name, "a list of strings or {\"base64\": \"...\"}");
        if (then && is_word(bytes, "push"))
            return wrong(build, param->name, "in another order: 'then' is before 'push'");
        then = is_word(bytes, "then");
        add(build, bytes.data, bytes.size);
    }
    return true;
}

static bool is_member(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* A member that is unknown, or has another case, is a mistake that nobody would see. */
static bool has_only(struct build *build, json_t *object, const char *const *names)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object))
        return fail(build->error, "ERR a job must be an object of JSON");
    json_object_foreach(object, name, value) if (!is_member(name, names)) return fail(
        build->error, "ERR a job has no '%.64s' here", name);
    return true;
}

static bool add_claims(struct build *build, const struct param *param, json_t *value)
{
    static const char *const names[] = {"id", "token", NULL};

    if (!json_is_array(value) || json_array_size(value) == 0 ||
        json_array_size(value) > API_JOBS_MAX)
        return wrong(build, param->name, "a list of 1 to 1000 jobs");
    add_keyword(build, param);
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *job = json_array_get(value, i);

        if (!has_only(build, job, names) ||
            !add_bytes(build, "id", json_object_get(job, "id")) ||
            !add_integer(build, "token", json_object_get(job, "token")))
            return false;
    }
    return true;
}

/* An absent one is that of the options. */
static bool add_member(struct build *build, json_t *job, const char *name,
                       bool (*add_it)(struct build *build, const char *name, json_t *value))
{
    json_t *value = json_object_get(job, name);

    if (value != NULL && !json_is_null(value))
        return add_it(build, name, value);
    add(build, "", 0);
    return true;
}

static bool add_pushes(struct build *build, const struct param *param, json_t *value)
{
    static const char *const names[] = {"body", "id", "delay", "priority", NULL};

    if (!json_is_array(value) || json_array_size(value) == 0 ||
        json_array_size(value) > API_JOBS_MAX)
        return wrong(build, param->name, "a list of 1 to 1000 jobs");
    add_text(build, "EACH");
    add_number(build, (int64_t)json_array_size(value));
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *job = json_array_get(value, i);

        if (!has_only(build, job, names) || !add_member(build, job, "id", add_bytes) ||
            !add_member(build, job, "delay", add_duration) ||
            !add_member(build, job, "priority", add_integer) ||
            !add_bytes(build, "body", json_object_get(job, "body")))
            return false;
    }
    return true;
}

/* All parameters are settings. */
static bool add_settings(struct build *build, json_t *params)
{
    const char *name;
    json_t *value;

    if (json_object_size(params) == 0)
        return fail(build->error, "ERR there is no setting");
    json_object_foreach(params, name, value)
    {
        add_text(build, name);
        if (!add_duration(build, name, value))
            return fail(build->error, "ERR the setting '%.64s' must be a string or an integer",
                        name);
    }
    return true;
}

/* ---- the command */

static bool knows(const struct param *params, const char *name)
{
    for (const struct param *param = params; param != NULL && param->name != NULL; param++)
        if (param->kind == PARAM_SETTINGS || strcmp(param->name, name) == 0)
            return true;
    return false;
}

static bool knows_all(const struct param *known, json_t *params, struct api_error *error)
{
    const char *name;
    json_t *value;

    json_object_foreach(
        params, name,
        value) if (name[0] == '\0' ||
                   !knows(known, name)) return fail(error,
                                                    "ERR there is no parameter '%.64s' here",
                                                    name);
    return true;
}

static bool add_params(struct build *build, const struct param *param, json_t *params);

/* Those of a push each, as the ack of a job reads them. */
static bool add_followers(struct build *build, const struct param *param, json_t *value)
{
    const struct param *known = api_follower_params();

    if (!json_is_array(value) || json_array_size(value) == 0 ||
        json_array_size(value) > API_JOBS_MAX)
        return wrong(build, param->name, "a list of 1 to 1000 jobs");
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *job = json_array_get(value, i);

        if (!json_is_object(job))
            return fail(build->error, "ERR a job must be an object of JSON");
        add_text(build, "THEN");
        add_text(build, "PUSH");
        if (!knows_all(known, job, build->error) || !add_params(build, known, job))
            return false;
    }
    return true;
}

static bool add_param(struct build *build, const struct param *param, json_t *value)
{
    switch (param->kind) {
    case PARAM_WAIT:
        return add_wait(build, param, value);
    case PARAM_FLAG:
        return add_flag(build, param, value);
    case PARAM_CHOICE:
        return add_choice(build, param, value);
    case PARAM_WORDS:
        return add_words(build, param, value);
    case PARAM_LIST:
    case PARAM_TOPICS:
        return add_list(build, param, value);
    case PARAM_AFTER:
        return add_after(build, param, value);
    case PARAM_CLAIMS:
        return add_claims(build, param, value);
    case PARAM_PUSHES:
        return add_pushes(build, param, value);
    case PARAM_NEXT:
        return add_followers(build, param, value);
    case PARAM_BYTES:
        add_keyword(build, param);
        return add_bytes(build, param->name, value);
    case PARAM_INTEGER:
        add_keyword(build, param);
        return add_integer(build, param->name, value);
    case PARAM_DURATION:
        add_keyword(build, param);
        return add_duration(build, param->name, value);
    case PARAM_SETTINGS:
    case PARAM_ALWAYS:
        break;
    }
    add_keyword(build, param);
    return true;
}

/* The size stands before the raw body, what comes after it in the tail. */
static void leave_room_for_raw(struct build *build)
{
    add_size(build, (size_t)build->raw);
    build->command->has_raw = true;
    buffer_append(&build->command->tail, "\r\n", 2);
}

static bool add_params(struct build *build, const struct param *param, json_t *params)
{
    for (; param != NULL && param->name != NULL; param++) {
        json_t *value =
            param->kind == PARAM_ALWAYS ? NULL : json_object_get(params, param->name);

        value = json_is_null(value) ? NULL : value;
        if (param->kind == PARAM_SETTINGS)
            return add_settings(build, params);
        if (build->raw >= 0 && value == NULL && strcmp(param->name, "body") == 0)
            leave_room_for_raw(build);
        else if (value != NULL || param->kind == PARAM_ALWAYS) {
            if (!add_param(build, param, value))
                return false;
        } else if (param->is_needed) {
            return fail(build->error, "ERR the parameter '%s' is missing", param->name);
        } else if ((param->kind == PARAM_BYTES || param->kind == PARAM_INTEGER) &&
                   param->choices != NULL) {
            add_keyword(build, param);
            add_text(build, param->choices);
        }
    }
    return true;
}

static void add_names(struct build *build, const struct route *route,
                      const struct route_values *values)
{
    const char *at = route->command;
    size_t value = 0;

    while (*at != '\0') {
        size_t size = strcspn(at, " ");

        if (*at == '{') {
            add(build, values->bytes[value], values->sizes[value]);
            value++;
        } else {
            add(build, at, size);
        }
        at += size + (at[size] == ' ');
    }
}

static void add_header(struct api_command *command)
{
    char text[HEAD_MAX];
    int size = snprintf(text, sizeof(text), "*%zu\r\n", command->count);

    buffer_insert(&command->head, 0, text, (size_t)size);
}

bool api_command_build(const struct route *route, const struct route_values *values,
                       json_t *params, int64_t raw, struct api_command *ret_command,
                       struct api_error *error)
{
    struct build build = {ret_command, error, raw};

    *ret_command = (struct api_command){0};
    buffer_init(&ret_command->head, SIZE_MAX / 2);
    buffer_init(&ret_command->tail, SIZE_MAX / 2);
    if (!knows_all(route->params, params, error))
        return false;
    add_names(&build, route, values);
    if (!add_params(&build, route->params, params))
        return false;
    if (raw >= 0 && !ret_command->has_raw)
        return fail(error, "ERR the body is given twice");
    add_header(ret_command);
    return (!ret_command->head.overflowed && !ret_command->tail.overflowed) ||
           fail(error, "ERR out of memory");
}

void api_command_release(struct api_command *command)
{
    buffer_release(&command->head);
    buffer_release(&command->tail);
}
