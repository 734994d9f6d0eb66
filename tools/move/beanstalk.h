/* A beanstalkd, with requests in pipelines. */
#ifndef DUEQ_BEANSTALK_H
#define DUEQ_BEANSTALK_H

#include "storage/slice.h"
#include "tools/online/online_client.h"

#include <stdint.h>

struct beanstalk {
    int fd;
    char *out, *in; /* what is not sent yet; what is not read yet, from `at` to `end` */
    size_t out_used, out_room, at, end, in_room;
    bool failed;
    char why[ONLINE_WHY];
};

/* False: *why of it. */
bool beanstalk_open(struct beanstalk *client, const struct online_options *options);
void beanstalk_close(struct beanstalk *client); /* zeroes are fine */

void beanstalk_say(struct beanstalk *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The next reply's line, without CRLF, valid until the next call. NULL: failed. */
const char *beanstalk_line(struct beanstalk *client);
/* The next reply and the bytes that follow it, if its line is "WORD ... <bytes>"; else
 * *ret_data is empty. NULL: failed. Valid until the next call. */
const char *beanstalk_data(struct beanstalk *client, const char *word,
                           struct dueq_slice *ret_data);
bool beanstalk_fail(struct beanstalk *client, const char *why);

/* A line "name: value" of the replies to stats; "": there is none. */
bool beanstalk_field(struct dueq_slice stats, const char *name, char *value, size_t size);
uint64_t beanstalk_number(struct dueq_slice stats, const char *name);

#endif
