#include "tools/online/online_tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct online_tls {
    SSL_CTX *context;
    SSL *ssl;
};

static bool fail(const char *what, char *why)
{
    char text[128] = "";

    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    snprintf(why, ONLINE_WHY, "TLS: %.90s: %s", what, text);
    return false;
}

static bool load_files(SSL_CTX *context, const struct online_options *options, char *why)
{
    if ((options->ca != NULL ? SSL_CTX_load_verify_locations(context, options->ca, NULL)
                             : SSL_CTX_set_default_verify_paths(context)) != 1)
        return fail("the certificates of authorities", why);
    if (options->cert != NULL &&
        SSL_CTX_use_certificate_chain_file(context, options->cert) != 1)
        return fail(options->cert, why);
    if (options->key != NULL &&
        SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) != 1)
        return fail(options->key, why);
    SSL_CTX_set_verify(context, options->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    return true;
}

/* The certificate must be for this name or address. */
static bool expect_host(SSL *ssl, const char *host)
{
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1 ||
           SSL_set1_host(ssl, host) == 1;
}

static bool make_context(struct online_tls *tls, const struct online_options *options,
                         const struct online_tls *like, char *why)
{
    if (like != NULL) {
        SSL_CTX_up_ref(like->context);
        tls->context = like->context;
        return true;
    }
    tls->context = SSL_CTX_new(TLS_client_method());
    if (tls->context == NULL || !load_files(tls->context, options, why))
        return false;
    SSL_CTX_set_mode(tls->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return true;
}

static bool shake_hands(struct online_tls *tls, int fd, const struct online_options *options,
                        char *why)
{
    tls->ssl = SSL_new(tls->context);
    if (tls->ssl == NULL || SSL_set_fd(tls->ssl, fd) != 1 ||
        (options->unix_path == NULL && !options->insecure &&
         !expect_host(tls->ssl, options->host)))
        return fail("out of memory", why);
    return SSL_connect(tls->ssl) == 1 || fail("the handshake", why);
}

struct online_tls *online_tls_start(int fd, const struct online_options *options,
                                    const struct online_tls *like, char *why)
{
    struct online_tls *tls = calloc(1, sizeof(*tls));

    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    if (tls != NULL && make_context(tls, options, like, why) &&
        shake_hands(tls, fd, options, why))
        return tls;
    online_tls_end(tls);
    return NULL;
}

void online_tls_end(struct online_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->context);
    free(tls);
}

/* What read and write would say: 0 at the end, -1 with EAGAIN or EINTR, -1 with another errno.
 */
static ssize_t outcome(struct online_tls *tls, int done)
{
    int error = done > 0 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, done);

    if (error == SSL_ERROR_NONE)
        return done;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        errno = errno == EINTR ? EINTR : EAGAIN;
    else if (error != SSL_ERROR_SYSCALL || errno == 0)
        errno = ECONNRESET;
    return -1;
}

ssize_t online_tls_read(struct online_tls *tls, void *bytes, size_t size)
{
    ERR_clear_error();
    errno = 0;
    return outcome(tls, SSL_read(tls->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX));
}

ssize_t online_tls_write(struct online_tls *tls, const void *bytes, size_t size)
{
    ERR_clear_error();
    errno = 0;
    return outcome(tls, SSL_write(tls->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX));
}

bool online_tls_has_more(const struct online_tls *tls)
{
    return SSL_pending(tls->ssl) > 0;
}
