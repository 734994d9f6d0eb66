/* A build without TLS. */
#include "server/net/tls.h"

#include <stdio.h>

struct tls_context *tls_context_new(const struct config *config, struct config_error *error)
{
    (void)config;
    snprintf(error->text, sizeof(error->text), "this dueq was built without TLS (make TLS=no)");
    return NULL;
}

void tls_context_free(struct tls_context *context)
{
    (void)context;
}

struct tls *tls_new(struct tls_context *context, int fd, bool is_http)
{
    (void)context;
    (void)fd;
    (void)is_http;
    return NULL;
}

void tls_free(struct tls *tls)
{
    (void)tls;
}

size_t tls_memory(const struct tls *tls)
{
    (void)tls;
    return 0;
}

enum tls_result tls_handshake(struct tls *tls)
{
    (void)tls;
    return TLS_BROKEN;
}

enum tls_result tls_read(struct tls *tls, void *bytes, size_t size, size_t *ret_got)
{
    (void)tls;
    (void)bytes;
    (void)size;
    *ret_got = 0;
    return TLS_BROKEN;
}

enum tls_result tls_write(struct tls *tls, const void *bytes, size_t size, size_t *ret_put)
{
    (void)tls;
    (void)bytes;
    (void)size;
    *ret_put = 0;
    return TLS_BROKEN;
}

void tls_end(struct tls *tls)
{
    (void)tls;
}

const char *tls_error(const struct tls *tls)
{
    (void)tls;
    return "no TLS";
}
