/* A client of TLS that shows what redis-cli hides: certificates, exact bytes, half handshakes.
 * An error fails the running test, unless the function returns it. */
#ifndef DUEQ_TLS_CLIENT_H
#define DUEQ_TLS_CLIENT_H

#include "tests/support/client/client.h"

struct tls_client {
    int fd;
    void *context, *ssl; /* SSL_CTX, SSL */
};

/* What the client brings; each may be NULL or 0. */
struct tls_identity {
    const char *authority;         /* file: who may have signed the server's certificate */
    const char *certificate, *key; /* files */
    void *session;                 /* SSL_SESSION, to be resumed */
    int version; /* the only version of TLS that it speaks: TLS1_2_VERSION ... */
};

/* Makes a directory of certificates with the openssl program: an authority (ca), signed by it
 * server, second (also for a server), client and expired, and another authority (other) with a
 * client of its own (stranger); NAME.crt and NAME.key, all below `directory`. */
void tls_make_certificates(const char *directory);

/* Connects and shakes hands. False: the server refused; the client is closed. With TLS 1.3 a
 * server refuses a certificate after the handshake: a PING shows that. */
bool tls_open(struct tls_client *client, int port, const struct tls_identity *identity);
void tls_close(struct tls_client *client); /* without a word of TLS for it */
/* Says that nothing more comes, and reads on. */
void tls_end_output(struct tls_client *client);

void tls_say(struct tls_client *client, const char *bytes, size_t size);
/* Reads exactly so many bytes. False: the connection ended before. */
bool tls_get(struct tls_client *client, char *bytes, size_t size);
/* Sends the text; the reply must be exactly these bytes. */
#define tls_expect(client, reply, text)                                                        \
    tls_expect_at(__FILE__, __LINE__, (client), (reply), (text))
void tls_expect_at(const char *file, int line, struct tls_client *client, const char *reply,
                   const char *text);

/* The name in the server's certificate; valid until the next call. */
const char *tls_server_name(const struct tls_client *client);

#endif
