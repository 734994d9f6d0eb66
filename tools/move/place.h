/* Where a server is, as a URL has it. */
#ifndef DUEQ_PLACE_H
#define DUEQ_PLACE_H

#include "tools/online/online_client.h"

enum { PLACE_TEXT = 1024 };

struct place {
    enum { PLACE_REDIS, PLACE_BEANSTALKD } kind;
    struct online_options options; /* points into `text` */
    unsigned database;
    char text[PLACE_TEXT];
    char name[PLACE_TEXT]; /* without user and password, for messages */
};

/* redis://[[user:]password@]host[:port][/db], rediss:// with TLS, redis+unix:///path, or
 * beanstalkd://host[:port]; %XX in user and password. False: *ret_why, a sentence. */
bool place_parse(struct place *place, const char *url, const char **ret_why);

/* Replaces %XX, in place. False: a percent sign without two digits. */
bool place_unescape(char *text);

#endif
