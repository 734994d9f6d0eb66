/* A URL of a target, in parts: SCHEME://[USER[:PASSWORD]@]HOST[:PORT][/PATH][?NAME=VALUE&...].
 */
#ifndef DUEQ_TARGET_URL_H
#define DUEQ_TARGET_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { URL_OPTIONS = 8, URL_TEXT = 1024 };

struct target_url {
    char text[URL_TEXT];
    const char *scheme;
    char *place; /* from the user on, without the path; of a unix socket its path */
    char *path;  /* after the first slash, as it is written; "": none */
    struct {
        const char *name;
        const char *value;
    } options[URL_OPTIONS];
    int option_count;
};

/* known: the names that may stand after the question mark; NULL ends them. Values have %XX
 * replaced. False: *ret_why, a sentence. */
bool target_url_parse(struct target_url *url, const char *text, const char *const *known,
                      const char **ret_why);
/* NULL: it is not given. */
const char *target_url_option(const struct target_url *url, const char *name);
/* The same of a duration in ms. False: *ret_why. */
bool target_url_duration(const struct target_url *url, const char *name, int64_t otherwise,
                         int64_t *ret_ms, const char **ret_why);

#endif
