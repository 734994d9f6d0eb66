/* TLS of a subcommand's connection. online_tls_none.c takes the place of online_tls.c in
 * programs without OpenSSL. */
#ifndef DUEQ_ONLINE_TLS_H
#define DUEQ_ONLINE_TLS_H

#include "tools/online/online_client.h"

#include <sys/types.h>

struct online_tls;

/* Makes the handshake on a connected socket, and checks the server's certificate. The files of
 * the options were read for `like`, if it is not NULL. NULL: *why says why. */
struct online_tls *online_tls_start(int fd, const struct online_options *options,
                                    const struct online_tls *like, char *why);
void online_tls_end(struct online_tls *tls); /* NULL is fine */
/* As read and write: -1 with EAGAIN if the socket does not block, or its time is over. */
ssize_t online_tls_read(struct online_tls *tls, void *bytes, size_t size);
ssize_t online_tls_write(struct online_tls *tls, const void *bytes, size_t size);
bool online_tls_has_more(const struct online_tls *tls); /* bytes that are decrypted already */

#endif
