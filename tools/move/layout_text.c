/* What the text of a job says about it. */
#include "tools/move/layout.h"
#include "tools/offline/moment.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *parse(struct dueq_slice text)
{
    return text.size == 0 || ((const char *)text.data)[0] == '"'
               ? NULL
               : json_loadb(text.data, text.size, JSON_ALLOW_NUL, NULL);
}

static struct dueq_slice string_in(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return dueq_slice(json_string_value(value), json_string_length(value));
}

static struct dueq_slice first_of(struct dueq_slice one, struct dueq_slice other)
{
    return one.size > 0 ? one : other;
}

static struct dueq_slice laravel_id(const json_t *json)
{
    return first_of(first_of(string_in(json, "uuid"), string_in(json, "id")),
                    string_in(json_object_get(json, "job"), "id")); /* the published one */
}

/* 2026-11-23T08:00:00.123456+00:00: more digits than a moment takes. */
static int64_t eta_of(struct dueq_slice eta)
{
    char text[MOMENT_TEXT];
    const char *bytes = eta.data;
    size_t used = 0;
    int decimals = -1;
    int64_t due;

    for (size_t i = 0; i < eta.size && used + 1 < sizeof(text); i++) {
        bool digit = bytes[i] >= '0' && bytes[i] <= '9';

        decimals = bytes[i] == '.' ? 0 : digit && decimals >= 0 ? decimals + 1 : -1;
        if (decimals <= 3)
            text[used++] = bytes[i];
    }
    text[used] = '\0';
    if (eta.size == 0)
        return 0;
    if (moment_parse(text, &due))
        return due;
    strncat(text, "Z", sizeof(text) - used - 1); /* Celery's times without a zone are UTC */
    return moment_parse(text, &due) ? due : 0;
}

static void read_celery(const json_t *message, struct layout_text *text)
{
    const json_t *headers = json_object_get(message, "headers"),
                 *properties = json_object_get(message, "properties");

    text->id = first_of(string_in(headers, "id"), string_in(properties, "correlation_id"));
    text->topic = string_in(json_object_get(properties, "delivery_info"), "routing_key");
    text->due = eta_of(string_in(headers, "eta"));
}

/* [message, exchange, routing key] */
static void read_unacked(struct layout_text *text)
{
    json_t *message = json_array_get(text->json, 0), *key = json_array_get(text->json, 2);
    char *bytes = json_is_object(message) ? json_dumps(message, JSON_COMPACT) : NULL;
    json_t *body = bytes == NULL ? NULL : json_string(bytes);

    free(bytes);
    /* The text of the message lives in the array, too. */
    if (body == NULL || json_array_append_new(text->json, body) != 0)
        return;
    read_celery(message, text);
    text->body = dueq_slice(json_string_value(body), json_string_length(body));
    text->topic =
        first_of(text->topic, dueq_slice(json_string_value(key), json_string_length(key)));
}

void layout_text_read(enum layout layout, enum layout_role role, struct dueq_slice bytes,
                      struct layout_text *ret_text)
{
    *ret_text = (struct layout_text){.body = bytes};
    if (layout != LAYOUT_SIDEKIQ && layout != LAYOUT_LARAVEL && layout != LAYOUT_CELERY)
        return;
    ret_text->json = parse(bytes);
    if (layout == LAYOUT_CELERY && role == ROLE_UNACKED) {
        read_unacked(ret_text);
    } else if (layout == LAYOUT_CELERY) {
        read_celery(ret_text->json, ret_text);
    } else if (layout == LAYOUT_LARAVEL) {
        ret_text->id = laravel_id(ret_text->json);
    } else {
        ret_text->id = string_in(ret_text->json, "jid");
        ret_text->topic = string_in(ret_text->json, "queue");
    }
}

void layout_text_release(struct layout_text *text)
{
    json_decref(text->json);
    text->json = NULL;
}

bool layout_text_fits(enum layout layout, struct dueq_slice bytes)
{
    json_t *json = parse(bytes);
    bool fits = true;

    if (layout == LAYOUT_SIDEKIQ)
        fits = string_in(json, "jid").size > 0;
    else if (layout == LAYOUT_CELERY)
        fits = json_is_object(json_object_get(json, "properties")) ||
               json_is_object(json_object_get(json_array_get(json, 0), "properties"));
    json_decref(json);
    return fits;
}
