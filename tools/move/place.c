#include "tools/move/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATABASES = 1 << 20 };

static int hex(char digit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = digit == '\0' ? NULL : strchr(digits, digit);

    return at == NULL ? -1 : (int)((at - digits) % 16);
}

bool place_unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++, to++) {
        int high, low;

        *to = *from;
        if (*from != '%')
            continue;
        high = hex(from[1]);
        low = high < 0 ? -1 : hex(from[2]);
        if (low < 0)
            return false;
        *to = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

static bool read_login(struct place *place, char *login)
{
    char *colon = strchr(login, ':');

    place->options.password = colon == NULL ? login : colon + 1;
    if (colon != NULL) {
        *colon = '\0';
        place->options.user = colon == login ? NULL : login;
    }
    return place_unescape(login) && (colon == NULL || place_unescape(colon + 1));
}

static bool read_number(const char *text, long most, long *ret_number)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    *ret_number = strtol(text, &end, 10);
    return *end == '\0' && *ret_number <= most;
}

/* host, host:port, [address]:port */
static bool read_host(struct place *place, char *host)
{
    char *end = host[0] == '[' ? strchr(host, ']') : NULL, *colon;
    long port;

    place->options.host = host;
    colon = strchr(end != NULL ? end : host, ':');
    if (colon != NULL)
        *colon = '\0';
    if (end != NULL) {
        *end = '\0';
        place->options.host = host + 1;
    }
    if (colon != NULL)
        place->options.port = colon + 1;
    return place->options.host[0] != '\0' &&
           (colon == NULL || (read_number(colon + 1, 65535, &port) && port > 0));
}

static bool read_kind(struct place *place, const char *url, const char **ret_rest)
{
    static const struct {
        const char *scheme, *port;
        int kind;
        bool tls, unix_path;
    } kinds[] = {{"redis://", "6379", PLACE_REDIS, false, false},
                 {"rediss://", "6379", PLACE_REDIS, true, false},
                 {"redis+unix://", "", PLACE_REDIS, false, true},
                 {"beanstalkd://", "11300", PLACE_BEANSTALKD, false, false}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t size = strlen(kinds[i].scheme);

        if (strncmp(url, kinds[i].scheme, size) != 0)
            continue;
        place->kind = kinds[i].kind == PLACE_REDIS ? PLACE_REDIS : PLACE_BEANSTALKD;
        place->options.port = kinds[i].port;
        place->options.tls = kinds[i].tls;
        place->options.unix_path = kinds[i].unix_path ? place->text : NULL;
        *ret_rest = url + size;
        return true;
    }
    return false;
}

static void name_it(struct place *place)
{
    if (place->options.unix_path != NULL)
        snprintf(place->name, sizeof(place->name), "%s", place->options.unix_path);
    else
        snprintf(place->name, sizeof(place->name), "%s:%s", place->options.host,
                 place->options.port);
}

static bool read_rest(struct place *place, const char **ret_why)
{
    char *at = strrchr(place->text, '@'), *host = at == NULL ? place->text : at + 1;
    char *slash = strchr(host, '/');
    long database = 0;

    *ret_why = "the user or the password has a % that is not the beginning of %XX";
    if (at != NULL) {
        *at = '\0';
        if (!read_login(place, place->text))
            return false;
    }
    *ret_why = "the part after the port is not the number of a database";
    if (slash != NULL) {
        *slash = '\0';
        if (slash[1] != '\0' && !read_number(slash + 1, DATABASES, &database))
            return false;
    }
    place->database = (unsigned)database;
    *ret_why = "there is no host, or its port is not 1 to 65535";
    return read_host(place, host);
}

bool place_parse(struct place *place, const char *url, const char **ret_why)
{
    const char *rest;

    memset(place, 0, sizeof(*place));
    *ret_why = "it does not begin with redis://, rediss://, redis+unix:// or beanstalkd://";
    if (!read_kind(place, url, &rest))
        return false;
    *ret_why = "it is too long";
    if (strlen(rest) >= sizeof(place->text))
        return false;
    strcpy(place->text, rest);
    if (place->options.unix_path == NULL && !read_rest(place, ret_why))
        return false;
    name_it(place);
    return true;
}
