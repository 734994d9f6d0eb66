#include "tests/support/client/tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

/* `days`: 0 makes one that has expired. */
static const char make[] =
    "cd %s && authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
    "-nodes "
    "-days 30 -subj /CN=$1 -keyout $1.key -out $1.crt; } && "
    "signed_by() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$2 "
    "-addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout $2.key -out $2.csr && "
    "openssl x509 -req -in $2.csr -CA $1.crt -CAkey $1.key -CAcreateserial -copy_extensions "
    "copy -days $3 -out $2.crt; } && "
    "authority ca && authority other && signed_by ca server 30 && signed_by ca second 30 && "
    "signed_by ca client 30 && signed_by ca expired -1 && signed_by other stranger 30";

void tls_make_certificates(const char *directory)
{
    char output[8192];
    if (run_shell(output, sizeof(output), make, directory) != 0)
        fail_at(__FILE__, __LINE__, "openssl failed:\n%s", output);
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    struct timeval patience = {60, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        fail_at(__FILE__, __LINE__, "cannot connect to port %d", port);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
}

bool tls_open(struct tls_client *client, int port, const struct tls_identity *identity)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *ssl;
    assert_non_null(context);
    signal(SIGPIPE, SIG_IGN);
    if (identity->authority != NULL) {
        assert_int_equal(SSL_CTX_load_verify_locations(context, identity->authority, NULL), 1);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    }
    if (identity->certificate != NULL) {
        assert_int_equal(
            SSL_CTX_use_certificate_file(context, identity->certificate, SSL_FILETYPE_PEM), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(context, identity->key, SSL_FILETYPE_PEM),
                         1);
    }
    if (identity->version != 0) {
        SSL_CTX_set_min_proto_version(context, identity->version);
        SSL_CTX_set_max_proto_version(context, identity->version);
    }
    ssl = SSL_new(context);
    assert_non_null(ssl);
    *client = (struct tls_client){connect_to(port), context, ssl};
    SSL_set_fd(ssl, client->fd);
    if (identity->session != NULL)
        SSL_set_session(ssl, identity->session);
    if (SSL_connect(ssl) == 1)
        return true;
    tls_close(client);
    return false;
}

void tls_close(struct tls_client *client)
{
    SSL_free(client->ssl);
    SSL_CTX_free(client->context);
    close(client->fd);
    *client = (struct tls_client){.fd = -1};
}

void tls_end_output(struct tls_client *client)
{
    SSL_shutdown(client->ssl);
}

void tls_say(struct tls_client *client, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        size_t piece = 0;
        if (SSL_write_ex(client->ssl, bytes + sent, size - sent, &piece) != 1)
            fail_at(__FILE__, __LINE__, "the server takes no more, after %zu bytes", sent);
        sent += piece;
    }
}

bool tls_get(struct tls_client *client, char *bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        size_t piece = 0;
        if (SSL_read_ex(client->ssl, bytes + got, size - got, &piece) != 1)
            return false;
        got += piece;
    }
    return true;
}

void tls_expect_at(const char *file, int line, struct tls_client *client, const char *reply,
                   const char *text)
{
    size_t size = strlen(reply);
    char *got = calloc(1, size + 1);
    assert_non_null(got);
    tls_say(client, text, strlen(text));
    if (!tls_get(client, got, size) || memcmp(got, reply, size) != 0)
        fail_at(file, line, "expected %s\n     got %s", reply, got);
    free(got);
}

const char *tls_server_name(const struct tls_client *client)
{
    static char name[64];
    X509 *certificate = SSL_get1_peer_certificate(client->ssl);
    assert_non_null(certificate);
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                              sizeof(name));
    X509_free(certificate);
    return name;
}
