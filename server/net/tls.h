/* TLS on the sockets of clients, by OpenSSL. tls.c has it; a build without it (`make TLS=no`)
 * has tls_none.c instead, which refuses the configuration.
 *
 * A record is begun only when all of it finds room with the caller, and no more is read from
 * the socket than that record: so nothing that was received ever waits inside of OpenSSL while
 * the loop waits for the socket. */
#ifndef DUEQ_TLS_H
#define DUEQ_TLS_H

#include "server/config/config.h"

#include <stddef.h>
#include <sys/types.h>

/* Certificates, keys and rules. Those who made connections with it keep it. */
struct tls_context;
/* The TLS of one connection. */
struct tls;

enum tls_result {
    TLS_DONE,
    TLS_WANTS_INPUT,  /* again when the socket is readable */
    TLS_WANTS_OUTPUT, /* again when the socket is writable */
    TLS_ENDED,        /* the peer has ended its side in order */
    TLS_BROKEN        /* tls_error says why; nothing more can be sent or received */
};

enum {
    TLS_READ_LEAST = 16384 /* room that tls_read needs: the largest record */
};

/* Reads the files of the configuration (blocks for that). NULL: *error says why. */
struct tls_context *tls_context_new(const struct config *config, struct config_error *error);
void tls_context_free(struct tls_context *context); /* NULL: no-op */

/* The server's side of a connection, whose socket does not block and stays the caller's; at the
 * HTTP port http-tls-auth-clients says who is let in. NULL: no memory. Costs little until the
 * first bytes are there. */
struct tls *tls_new(struct tls_context *context, int fd, bool is_http);
void tls_free(struct tls *tls); /* NULL: no-op */

/* Bytes that OpenSSL takes for it, about: most of them in the handshake. O(1). */
size_t tls_memory(const struct tls *tls);

/* A step of the handshake: a millisecond at most. TLS_DONE: it has ended. TLS_BROKEN after a
 * hundred records. */
enum tls_result tls_handshake(struct tls *tls);
/* Reads up to `size` bytes, at least TLS_READ_LEAST. *ret_got > 0 exactly for TLS_DONE. Takes
 * one record at most that brings none (new keys): TLS_WANTS_INPUT, though the socket may be
 * readable. TLS_BROKEN after a hundred of these in a row. */
enum tls_result tls_read(struct tls *tls, void *bytes, size_t size, size_t *ret_got);
/* Writes some of the bytes. After TLS_WANTS_OUTPUT the next call must begin with the same
 * bytes, at any address, and have as many or more. *ret_put > 0 exactly for TLS_DONE. */
enum tls_result tls_write(struct tls *tls, const void *bytes, size_t size, size_t *ret_put);
/* Tells the peer that nothing more comes, if the socket takes that at once. */
void tls_end(struct tls *tls);
/* Why the last call returned TLS_BROKEN. */
const char *tls_error(const struct tls *tls);

#endif
