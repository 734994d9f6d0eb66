#include "server/net/tls.h"

#include "protocol/tokens.h"

#include <errno.h>
#include <openssl/decoder.h>
#include <openssl/dh.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SSL_CTX counts who uses it: a connection keeps the one it was made with. */
struct tls_context {
    SSL_CTX *ssl;
    int http_verify; /* SSL_VERIFY_..., of the HTTP port; that of tls-port is in ssl */
};

/* Records in a row that bring no data: pieces of a handshake, new keys, what is refused. Each
 * costs work, and none needs a login. */
enum { EMPTY_MOST = 100 };

struct tls {
    SSL *ssl;
    SSL_CTX *context;
    int fd;
    bool is_http;
    int http_verify;
    unsigned empty; /* records since the last data, or in the handshake, which takes some ten */
    bool ended;     /* nothing may be sent any more */
    char error[200];
};

/* ---- the context */

static bool fail(struct config_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds what OpenSSL has to say: its first error is the cause. */
static bool fail(struct config_error *error, const char *format, ...)
{
    unsigned long code = ERR_peek_error();
    char why[160] = "";
    va_list args;
    int used;

    va_start(args, format);
    used = vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    if (code != 0 && used >= 0 && (size_t)used < sizeof(error->text)) {
        const char *reason = ERR_reason_error_string(code);

        ERR_error_string_n(code, why, sizeof(why));
        snprintf(error->text + used, sizeof(error->text) - (size_t)used, ": %s",
                 reason != NULL ? reason : why);
    }
    ERR_clear_error();
    return false;
}

static int give_password(char *room, int size, int writing, void *arg)
{
    const struct config *config = arg;
    size_t length = strlen(config->tls_key_file_pass);

    (void)writing;
    if (size < 0 || length > (size_t)size)
        return -1;
    memcpy(room, config->tls_key_file_pass, length);
    return (int)length;
}

static bool load_certificate(SSL_CTX *ssl, const struct config *config,
                             struct config_error *error)
{
    if (config->tls_cert_file[0] == '\0')
        return fail(error, "No tls-cert-file configured!");
    if (config->tls_key_file[0] == '\0')
        return fail(error, "No tls-key-file configured!");
    SSL_CTX_set_default_passwd_cb(ssl, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(ssl, (void *)(uintptr_t)config);
    if (SSL_CTX_use_certificate_chain_file(ssl, config->tls_cert_file) != 1)
        return fail(error, "Failed to load certificate: %s", config->tls_cert_file);
    if (SSL_CTX_use_PrivateKey_file(ssl, config->tls_key_file, SSL_FILETYPE_PEM) != 1)
        return fail(error, "Failed to load private key: %s", config->tls_key_file);
    if (SSL_CTX_check_private_key(ssl) != 1)
        return fail(error, "%s is not the key of %s", config->tls_key_file,
                    config->tls_cert_file);
    SSL_CTX_set_default_passwd_cb(ssl, NULL); /* the configuration may end before the context */
    SSL_CTX_set_default_passwd_cb_userdata(ssl, NULL);
    return true;
}

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

/* Clients choose their certificate by the names of the authorities. */
static bool name_authorities(SSL_CTX *ssl, const char *file, struct config_error *error)
{
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(file);

    if (names == NULL)
        return fail(error, "Failed to load CA certificates: %s", file);
    SSL_CTX_set_client_CA_list(ssl, names);
    return true;
}

static int64_t http_clients(const struct config *config)
{
    return config->http_tls_auth_clients == TLS_CLIENTS_SAME ? config->tls_auth_clients
                                                             : config->http_tls_auth_clients;
}

/* Does a port that is open ask for certificates? */
static bool needs_authorities(const struct config *config)
{
    return (config->tls_auth_clients != TLS_CLIENTS_NO && config->tls_port > 0) ||
           (http_clients(config) != TLS_CLIENTS_NO && config->http_tls &&
            config->http_port > 0);
}

static int verify_mode(int64_t clients)
{
    if (clients == TLS_CLIENTS_NO)
        return SSL_VERIFY_NONE;
    return clients == TLS_CLIENTS_YES ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                      : SSL_VERIFY_PEER;
}

static bool load_authorities(SSL_CTX *ssl, const struct config *config,
                             struct config_error *error)
{
    const char *file = text_or_null(config->tls_ca_cert_file);
    const char *dir = text_or_null(config->tls_ca_cert_dir);

    if (needs_authorities(config) && file == NULL && dir == NULL)
        return fail(error, "Either tls-ca-cert-file or tls-ca-cert-dir must be specified when "
                           "tls-cluster, tls-replication or tls-auth-clients are enabled!");
    if ((file != NULL || dir != NULL) && SSL_CTX_load_verify_locations(ssl, file, dir) != 1)
        return fail(error, "Failed to configure CA certificate(s) file/directory");
    SSL_CTX_set_verify(ssl, verify_mode(config->tls_auth_clients), NULL);
    return file == NULL || !needs_authorities(config) || name_authorities(ssl, file, error);
}

/* The versions that are not named are switched off. */
static bool set_protocols(SSL_CTX *ssl, const struct config *config, struct config_error *error)
{
    static const struct {
        const char *name;
        uint64_t off;
    } versions[] = {{"TLSv1", SSL_OP_NO_TLSv1},
                    {"TLSv1.1", SSL_OP_NO_TLSv1_1},
                    {"TLSv1.2", SSL_OP_NO_TLSv1_2},
                    {"TLSv1.3", SSL_OP_NO_TLSv1_3}};
    enum { VERSIONS = sizeof(versions) / sizeof(versions[0]) };
    const char *text =
        config->tls_protocols[0] == '\0' ? "TLSv1.2 TLSv1.3" : config->tls_protocols;
    struct argument words[2 * VERSIONS];
    uint64_t off = SSL_OP_NO_SSLv3;
    char space[CONFIG_TEXT_MAX];
    int count = tokens_split(text, strlen(text), space, words, 2 * VERSIONS);
    bool named[VERSIONS] = {false};

    for (int i = 0; i < count; i++) {
        int version = 0;

        while (version < VERSIONS && !argument_is(words[i], versions[version].name))
            version++;
        if (version == VERSIONS)
            count = -1;
        else
            named[version] = true;
    }
    if (count <= 0)
        return fail(error, "Invalid tls-protocols specified. Use a combination of 'TLSv1', "
                           "'TLSv1.1', 'TLSv1.2' and 'TLSv1.3'.");
    for (int i = 0; i < VERSIONS; i++)
        off |= named[i] ? 0 : versions[i].off;
    SSL_CTX_set_options(ssl, off);
    return true;
}

static bool set_ciphers(SSL_CTX *ssl, const struct config *config, struct config_error *error)
{
    const char *ciphers = text_or_null(config->tls_ciphers);
    const char *suites = text_or_null(config->tls_ciphersuites);

    if (ciphers != NULL && SSL_CTX_set_cipher_list(ssl, ciphers) != 1)
        return fail(error, "Failed to configure ciphers: %s", ciphers);
    if (suites != NULL && SSL_CTX_set_ciphersuites(ssl, suites) != 1)
        return fail(error, "Failed to configure ciphersuites: %s", suites);
    if (config->tls_prefer_server_ciphers)
        SSL_CTX_set_options(ssl, SSL_OP_CIPHER_SERVER_PREFERENCE);
    return true;
}

/* Without a file OpenSSL chooses parameters that fit the key. */
static bool set_dh_parameters(SSL_CTX *ssl, const struct config *config,
                              struct config_error *error)
{
    const char *path = config->tls_dh_params_file;
    EVP_PKEY *parameters = NULL;
    BIO *file;

    if (path[0] == '\0') {
        SSL_CTX_set_dh_auto(ssl, 1);
        return true;
    }
    file = BIO_new_file(path, "r");
    if (file != NULL)
        parameters = PEM_read_bio_Parameters(file, NULL);
    BIO_free(file);
    if (parameters != NULL && SSL_CTX_set0_tmp_dh_pkey(ssl, parameters) == 1)
        return true;
    EVP_PKEY_free(parameters);
    return fail(error, "Failed to load DH parameters file: %s", path);
}

/* A session of an older context is not resumed: the keys of its tickets went with that. */
static void set_sessions(SSL_CTX *ssl, const struct config *config)
{
    static const unsigned char name[] = "dueq";

    SSL_CTX_set_session_id_context(ssl, name, sizeof(name) - 1);
    if (config->tls_session_caching) {
        SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_SERVER);
        SSL_CTX_sess_set_cache_size(ssl, (long)config->tls_session_cache_size);
        SSL_CTX_set_timeout(ssl, (long)config->tls_session_cache_timeout);
        return;
    }
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ssl, 0);
}

/* A client that closes without the word of TLS for it has closed: requests have ends of their
 * own. Bytes that were not sent may have moved when they are sent again. */
static void set_rules(SSL_CTX *ssl)
{
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_SINGLE_DH_USE);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_clear_mode(ssl, SSL_MODE_AUTO_RETRY); /* a read takes one message without data */
    SSL_CTX_set_read_ahead(ssl, 0);
}

static bool set_up(SSL_CTX *ssl, const struct config *config, struct config_error *error)
{
    set_rules(ssl);
    set_sessions(ssl, config);
    return set_protocols(ssl, config, error) && load_certificate(ssl, config, error) &&
           load_authorities(ssl, config, error) && set_ciphers(ssl, config, error) &&
           set_dh_parameters(ssl, config, error);
}

struct tls_context *tls_context_new(const struct config *config, struct config_error *error)
{
    struct tls_context *context = calloc(1, sizeof(*context));

    ERR_clear_error();
    if (context != NULL)
        context->ssl = SSL_CTX_new(TLS_server_method());
    if (context == NULL || context->ssl == NULL) {
        fail(error, "no memory for TLS");
    } else if (set_up(context->ssl, config, error)) {
        context->http_verify = verify_mode(http_clients(config));
        return context;
    }
    tls_context_free(context);
    return NULL;
}

void tls_context_free(struct tls_context *context)
{
    if (context == NULL)
        return;
    SSL_CTX_free(context->ssl);
    free(context);
}

/* ---- a connection */

struct tls *tls_new(struct tls_context *context, int fd, bool is_http)
{
    struct tls *tls = calloc(1, sizeof(*tls));

    if (tls == NULL)
        return NULL;
    SSL_CTX_up_ref(context->ssl);
    tls->context = context->ssl;
    tls->fd = fd;
    tls->is_http = is_http;
    tls->http_verify = context->http_verify;
    return tls;
}

/* OpenSSL has received the header of a record. */
static void count_record(int is_sent, int version, int kind, const void *bytes, size_t size,
                         SSL *ssl, void *arg)
{
    struct tls *tls = arg;

    (void)version;
    (void)bytes;
    (void)size;
    (void)ssl;
    if (!is_sent && kind == SSL3_RT_HEADER)
        tls->empty++;
}

static bool is_empty_talk(const struct tls *tls)
{
    return tls->empty > EMPTY_MOST;
}

/* Before a read from the socket. Some records, as a ClientHello in TLS 1.2, do not end the call
 * of SSL_read: so the reads have to end. */
static long limit_reads(BIO *bio, int what, const char *bytes, size_t size, int number,
                        long detail, int returned, size_t *done)
{
    const struct tls *tls = (const void *)BIO_get_callback_arg(bio);

    (void)bytes;
    (void)size;
    (void)number;
    (void)detail;
    (void)done;
    if (what != BIO_CB_READ || !is_empty_talk(tls))
        return returned;
    BIO_clear_retry_flags(bio);
    return -1;
}

static void watch_records(struct tls *tls)
{
    BIO *bio = SSL_get_rbio(tls->ssl);

    SSL_set_msg_callback(tls->ssl, count_record);
    SSL_set_msg_callback_arg(tls->ssl, tls);
    BIO_set_callback_ex(bio, limit_reads);
    BIO_set_callback_arg(bio, (char *)tls);
}

/* The other port resumes no session of this one: that would ask for no certificate. */
static bool ask_as_http(const struct tls *tls)
{
    static const unsigned char name[] = "dueq http";

    SSL_set_verify(tls->ssl, tls->http_verify, NULL);
    return SSL_set_session_id_context(tls->ssl, name, sizeof(name) - 1) == 1;
}

/* Its buffers and hashes are made when the first bytes are there: a peer that sends nothing
 * costs nothing. */
static bool begin(struct tls *tls)
{
    tls->ssl = SSL_new(tls->context);
    SSL_CTX_free(tls->context);
    tls->context = NULL;
    if (tls->ssl == NULL || SSL_set_fd(tls->ssl, tls->fd) != 1)
        return false;
    if (tls->is_http && !ask_as_http(tls))
        return false;
    SSL_set_accept_state(tls->ssl);
    watch_records(tls);
    return true;
}

void tls_free(struct tls *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->context);
    free(tls);
}

/* Measured with OpenSSL 3.0: resident memory of 500 peers that said hello and no more, and of
 * as many that are idle. */
size_t tls_memory(const struct tls *tls)
{
    if (tls->ssl == NULL)
        return 0;
    return SSL_is_init_finished(tls->ssl) ? 14 * 1024 : 42 * 1024;
}

static enum tls_result broken(struct tls *tls, const char *why)
{
    snprintf(tls->error, sizeof(tls->error), "%s", why);
    tls->ended = true;
    return TLS_BROKEN;
}

static enum tls_result explain(struct tls *tls)
{
    unsigned long code = ERR_peek_error();
    const char *why = code == 0 ? NULL : ERR_reason_error_string(code);
    const char *detail = NULL;
    char text[160];
    int flags = 0;

    if (why == NULL)
        return broken(tls, errno == 0 ? "the peer has closed" : strerror(errno));
    ERR_peek_error_all(NULL, NULL, NULL, &detail, &flags);
    if (detail == NULL || detail[0] == '\0' || !(flags & ERR_TXT_STRING))
        return broken(tls, why);
    snprintf(text, sizeof(text), "%s (%s)", why, detail);
    return broken(tls, text);
}

/* What the return value of a function of OpenSSL means, which is 0 or less. */
static enum tls_result result_of(struct tls *tls, int returned)
{
    switch (SSL_get_error(tls->ssl, returned)) {
    case SSL_ERROR_WANT_READ:
        return TLS_WANTS_INPUT;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WANTS_OUTPUT;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_ENDED;
    default:
        return explain(tls);
    }
}

/* The errors of the thread are one list, and the calls look at its end. */
static void forget_errors(void)
{
    ERR_clear_error();
    errno = 0;
}

enum tls_result tls_handshake(struct tls *tls)
{
    enum tls_result result;
    int returned;

    forget_errors();
    if (tls->ssl == NULL && !begin(tls))
        return broken(tls, "no memory");
    returned = SSL_do_handshake(tls->ssl);
    if (returned == 1) {
        tls->empty = 0;
        return TLS_DONE;
    }
    if (is_empty_talk(tls))
        return broken(tls, "too many records in the handshake");
    result = result_of(tls, returned);
    return result == TLS_ENDED ? broken(tls, "the peer has closed") : result;
}

enum tls_result tls_read(struct tls *tls, void *bytes, size_t size, size_t *ret_got)
{
    int returned;

    forget_errors();
    returned = SSL_read_ex(tls->ssl, bytes, size, ret_got);
    if (returned > 0) {
        tls->empty = 0;
        return TLS_DONE;
    }
    *ret_got = 0;
    if (is_empty_talk(tls))
        return broken(tls, "too many records without data");
    return result_of(tls, returned);
}

enum tls_result tls_write(struct tls *tls, const void *bytes, size_t size, size_t *ret_put)
{
    int returned;

    forget_errors();
    returned = SSL_write_ex(tls->ssl, bytes, size, ret_put);
    if (returned > 0)
        return TLS_DONE;
    *ret_put = 0;
    return result_of(tls, returned);
}

void tls_end(struct tls *tls)
{
    if (tls->ssl == NULL || tls->ended || !SSL_is_init_finished(tls->ssl))
        return;
    tls->ended = true;
    forget_errors();
    SSL_shutdown(tls->ssl);
}

const char *tls_error(const struct tls *tls)
{
    return tls->error;
}
