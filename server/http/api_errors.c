#include "server/http/api_errors.h"

#include <string.h>

struct word {
    const char *word;
    int status;
};

static const struct word words[] = {
    {"ERR", 400},       {"DUPLICATE", 409}, {"WRONGSTATE", 409}, {"CANCELLED", 409},
    {"PAUSED", 409},    {"STALE", 412},     {"NOJOB", 404},      {"LIMIT", 507},
    {"FULL", 507},      {"OOM", 507},       {"TOOBIG", 413},     {"NOAUTH", 401},
    {"WRONGPASS", 401}, {"NOPERM", 403},    {"DENIED", 403},     {"LOADING", 503},
    {"MISCONF", 503},   {"UNBLOCKED", 503}, {"NOENTRY", 404},    {NULL, 500}};

/* "ERR" is there that it has too many failures, or finds no place. */
static const struct word login_words[] = {
    {"NOAUTH", 401}, {"WRONGPASS", 401}, {"NOPERM", 403}, {"DENIED", 403}, {NULL, 503}};

static bool has(const char *text, size_t size, const char *part)
{
    return memmem(text, size, part, strlen(part)) != NULL;
}

int api_status_of(const char *error, size_t size, bool at_login)
{
    const struct word *at = at_login ? login_words : words;
    const char *space = memchr(error, ' ', size);
    size_t length = space == NULL ? size : (size_t)(space - error);

    if (at_login && has(error, size, "failed logins"))
        return 429;
    while (at->word != NULL &&
           (strlen(at->word) != length || memcmp(at->word, error, length) != 0))
        at++;
    return at->status;
}
