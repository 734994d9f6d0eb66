#include "tools/online/online_tls.h"

#include <stdio.h>

struct online_tls *online_tls_start(int fd, const struct online_options *options,
                                    const struct online_tls *like, char *why)
{
    (void)like;
    (void)fd;
    (void)options;
    snprintf(why, ONLINE_WHY, "this dueq is built without TLS");
    return NULL;
}

void online_tls_end(struct online_tls *tls)
{
    (void)tls;
}

ssize_t online_tls_read(struct online_tls *tls, void *bytes, size_t size)
{
    (void)tls;
    (void)bytes;
    (void)size;
    return -1;
}

ssize_t online_tls_write(struct online_tls *tls, const void *bytes, size_t size)
{
    (void)tls;
    (void)bytes;
    (void)size;
    return -1;
}

bool online_tls_has_more(const struct online_tls *tls)
{
    (void)tls;
    return false;
}
