/* The routes of the API: of each its path, the command that it stands for, its parameters and
 * the form of its reply. One table, from which requests are served and the OpenAPI description
 * is made. */
#ifndef DUEQ_API_ROUTES_H
#define DUEQ_API_ROUTES_H

#include "protocol/http_head.h"
#include "server/http/api_reply.h"

#include <stdbool.h>
#include <stddef.h>

enum param_kind {
    PARAM_BYTES,    /* a string, or {"base64": "..."} */
    PARAM_INTEGER,  /* or its digits */
    PARAM_DURATION, /* an integer of ms, or a string with a suffix */
    PARAM_WAIT,     /* the same, and bounded: how long the request waits for a job */
    PARAM_FLAG,     /* true: the keyword */
    PARAM_CHOICE,   /* one of the words in `choices` */
    PARAM_WORDS,    /* a string of words, each an argument */
    PARAM_LIST,     /* strings, each an argument */
    PARAM_AFTER,    /* the same behind the keyword, more of them, or none */
    PARAM_TOPICS,   /* the same with their number before them */
    PARAM_CLAIMS,   /* objects with `id` and `token` */
    PARAM_PUSHES,   /* objects with `body`, `id`, `delay` and `priority` */
    PARAM_NEXT,     /* objects with `topic` and what a push has */
    PARAM_SETTINGS, /* the whole object: names and values */
    PARAM_ALWAYS    /* the keyword; no client names it */
};

/* Its argument follows those of the parameters before it. */
struct param {
    const char *name;
    enum param_kind kind;
    bool is_needed;
    const char *keyword; /* the argument before it; NULL: none */
    const char *choices; /* "a|b"; of PARAM_BYTES and PARAM_INTEGER: what it is when absent */
    const char *what;
};

struct route {
    enum http_method method;
    const char *path;    /* "/v1/topics/{topic}"; of its names each is a part of the path */
    const char *command; /* "Q.LEN {topic}" */
    const struct param *params; /* until one without a name; NULL: none */
    struct reply_shape shape;
    bool may_be_raw;     /* the body may be sent as application/octet-stream */
    const char *missing; /* a null, and 0, is 404 with that error; NULL: they are replies */
    const char *what;
};

/* What each member of PARAM_NEXT may have. */
const struct param *api_follower_params(void);

const struct route *api_routes(size_t *ret_count);

enum { API_PARTS = 2, API_NAME_MAX = 255, API_COMMAND_WORDS = 4 };

/* The values of {topic} and {id}, or of other names, decoded. */
struct route_values {
    size_t sizes[API_PARTS];
    char bytes[API_PARTS][API_NAME_MAX];
};

/* NULL: no route has the path (*ret_methods is empty), or none with that method: then these are
 * the methods, "GET, POST". *ret_bad: a part of the path is too long, or is no text. */
const struct route *api_find_route(enum http_method method, struct http_part path,
                                   struct route_values *ret_values, char *ret_methods,
                                   size_t room, bool *ret_bad);
const char *api_method_name(enum http_method method);

#endif
