#include "tools/forward/target_url.h"

#include "protocol/number.h"
#include "tools/move/place.h"

#include <stdio.h>
#include <string.h>

const char *target_url_option(const struct target_url *url, const char *name)
{
    for (int i = 0; i < url->option_count; i++)
        if (strcmp(url->options[i].name, name) == 0)
            return url->options[i].value;
    return NULL;
}

bool target_url_duration(const struct target_url *url, const char *name, int64_t otherwise,
                         int64_t *ret_ms, const char **ret_why)
{
    const char *text = target_url_option(url, name);

    *ret_ms = otherwise;
    if (text == NULL || number_parse_duration(text, strlen(text), ret_ms))
        return true;
    *ret_why = "what is to be a duration is none: 90s, 5m, 1h or 7d";
    return false;
}

static bool is_known(const char *const *known, const char *name)
{
    for (; *known != NULL; known++)
        if (strcmp(*known, name) == 0)
            return true;
    return false;
}

/* name=value, or name alone. */
static bool read_option(struct target_url *url, char *text, const char *const *known,
                        const char **ret_why)
{
    char *equals = strchr(text, '=');

    *ret_why = "it has a %XX after the question mark that is none";
    if (equals != NULL) {
        *equals = '\0';
        if (!place_unescape(equals + 1))
            return false;
    }
    *ret_why = "what it has after the question mark is not known for such a target";
    if (!is_known(known, text) || url->option_count == URL_OPTIONS)
        return false;
    url->options[url->option_count].name = text;
    url->options[url->option_count++].value = equals == NULL ? "" : equals + 1;
    return true;
}

static bool read_options(struct target_url *url, char *text, const char *const *known,
                         const char **ret_why)
{
    for (char *next; text != NULL && *text != '\0'; text = next) {
        next = strchr(text, '&');
        if (next != NULL)
            *next++ = '\0';
        if (!read_option(url, text, known, ret_why))
            return false;
    }
    return true;
}

bool target_url_parse(struct target_url *url, const char *text, const char *const *known,
                      const char **ret_why)
{
    char *end, *question, *slash;

    memset(url, 0, sizeof(*url));
    *ret_why = "it is too long";
    if (strlen(text) >= sizeof(url->text))
        return false;
    strcpy(url->text, text);
    end = strstr(url->text, "://"); /* it is there: by it the kind was found */
    *end = '\0';
    url->scheme = url->text;
    url->place = end + 3;
    question = strchr(url->place, '?');
    if (question != NULL)
        *question++ = '\0';
    slash = strrchr(url->place, '@'); /* a password may have a slash */
    slash = strchr(slash == NULL ? url->place : slash, '/');
    url->path = url->place + strlen(url->place);
    if (slash != NULL && strstr(url->scheme, "+unix") == NULL) {
        *slash = '\0';
        url->path = slash + 1;
    }
    return read_options(url, question, known, ret_why);
}
