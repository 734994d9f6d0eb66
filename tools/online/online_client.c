#include "tools/online/online_client.h"

#include "tools/online/online_tls.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_STEP = 64 * 1024 };

struct online_client {
    int fd;
    redisReader *reader;
    struct online_tls *tls; /* NULL: none */
    bool lost;
};

/* ---- what the environment says */

static const char *either(const char *one, const char *other)
{
    return one != NULL && one[0] != '\0' ? one : other;
}

void online_take_environment(struct online_options *options)
{
    options->host = either(getenv("DUEQ_HOST"), "127.0.0.1");
    options->port = either(getenv("DUEQ_PORT"), "6379");
    options->unix_path = either(getenv("DUEQ_UNIX"), NULL);
    options->user = either(getenv("DUEQ_USER"), NULL);
    options->password = either(getenv("DUEQ_PASSWORD"), getenv("REDISCLI_AUTH"));
}

static const char **text_of(struct online_options *options, const char *name)
{
    const struct {
        const char *name;
        const char **value;
    } texts[] = {{"host", &options->host},      {"port", &options->port},
                 {"unix", &options->unix_path}, {"user", &options->user},
                 {"cacert", &options->ca},      {"cert", &options->cert},
                 {"key", &options->key},        {"password-file", &options->password_file}};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(name, texts[i].name) == 0)
            return texts[i].value;
    return NULL;
}

bool online_take_text(struct online_options *options, const char *name, const char *value)
{
    const char **text = text_of(options, name);

    if (text == NULL)
        return false;
    if (text == &options->unix_path)
        options->unix_said = true;
    else if ((text == &options->host || text == &options->port) && !options->unix_said)
        options->unix_path = NULL;
    *text = value;
    return true;
}

bool online_take_flag(struct online_options *options, const char *name)
{
    bool is_tls = strcmp(name, "tls") == 0, is_insecure = strcmp(name, "insecure") == 0;

    options->tls = options->tls || is_tls;
    options->insecure = options->insecure || is_insecure;
    return is_tls || is_insecure;
}

/* ---- the socket */

/* Linux holds a connect to the time for sending, too. */
static int new_socket(int family, int protocol, int patience_ms)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
    struct timeval patience = {patience_ms / 1000, patience_ms % 1000 * 1000};

    if (fd >= 0 && patience_ms > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    }
    return fd;
}

/* A connect that takes too long ends with EINPROGRESS. */
static const char *reason(void)
{
    return strerror(errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno);
}

static int connect_unix(const char *path, int patience_ms, char *why)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = -1;

    if (strlen(path) >= sizeof(address.sun_path))
        errno = ENAMETOOLONG;
    else
        fd = new_socket(AF_UNIX, 0, patience_ms);
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    snprintf(why, ONLINE_WHY, "cannot connect to %.150s: %s", path, reason());
    if (fd >= 0)
        close(fd);
    return -1;
}

static int connect_host(const char *host, const char *port, int patience_ms, char *why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all, *at;
    int found = getaddrinfo(host, port, &hints, &all), fd = -1;

    if (found != 0) {
        snprintf(why, ONLINE_WHY, "cannot find %.100s port %.20s: %s", host, port,
                 gai_strerror(found));
        return -1;
    }
    for (at = all; at != NULL && fd < 0; at = at->ai_next) {
        fd = new_socket(at->ai_family, at->ai_protocol, patience_ms);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
            break;
        snprintf(why, ONLINE_WHY, "cannot connect to %.100s port %.20s: %s", host, port,
                 reason());
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(all);
    return fd;
}

static ssize_t read_some(struct online_client *client, void *bytes, size_t size)
{
    return client->tls != NULL ? online_tls_read(client->tls, bytes, size)
                               : read(client->fd, bytes, size);
}

static ssize_t write_some(struct online_client *client, const void *bytes, size_t size)
{
    return client->tls != NULL ? online_tls_write(client->tls, bytes, size)
                               : send(client->fd, bytes, size, MSG_NOSIGNAL);
}

/* ---- requests */

static bool send_all(struct online_client *client, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = write_some(client, bytes, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

/* NULL: the server has closed, or does not speak RESP. */
static redisReply *receive(struct online_client *client)
{
    char bytes[READ_STEP];
    void *reply = NULL;

    while (redisReaderGetReply(client->reader, &reply) == REDIS_OK && reply == NULL) {
        ssize_t got = read_some(client, bytes, sizeof(bytes));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || redisReaderFeed(client->reader, bytes, (size_t)got) != REDIS_OK)
            return NULL;
    }
    return reply;
}

static void lose(struct online_client *client, char *why)
{
    client->lost = true;
    snprintf(why, ONLINE_WHY, "the server has closed the connection");
}

bool online_is_lost(const struct online_client *client)
{
    return client != NULL && client->lost;
}

bool online_send(struct online_client *client, const char *bytes, size_t size, char *why)
{
    if (send_all(client, bytes, size))
        return true;
    lose(client, why);
    return false;
}

redisReply *online_hear(struct online_client *client, char *why)
{
    redisReply *reply = receive(client);

    if (reply == NULL)
        lose(client, why);
    return reply;
}

ssize_t online_read(struct online_client *client, void *bytes, size_t size)
{
    return read_some(client, bytes, size);
}

ssize_t online_write(struct online_client *client, const void *bytes, size_t size)
{
    return write_some(client, bytes, size);
}

bool online_has_more(const struct online_client *client)
{
    return client->tls != NULL && online_tls_has_more(client->tls);
}

redisReply *online_ask(struct online_client *client, int count, const char **arguments,
                       char *why)
{
    char *request = NULL;
    long long size = redisFormatCommandArgv(&request, count, arguments, NULL);
    redisReply *reply = NULL;

    if (size > 0 && send_all(client, request, (size_t)size))
        reply = receive(client);
    if (request != NULL)
        redisFreeCommand(request);
    if (reply == NULL)
        lose(client, why);
    return reply;
}

bool online_say(struct online_client *client, int count, const char **arguments,
                const size_t *sizes, char *why)
{
    char *request = NULL;
    long long size = redisFormatCommandArgv(&request, count, arguments, sizes);
    bool said = size > 0 && online_send(client, request, (size_t)size, why);

    if (request != NULL)
        redisFreeCommand(request);
    return said;
}

redisReply *online_ask_sized(struct online_client *client, int count, const char **arguments,
                             const size_t *sizes, char *why)
{
    return online_say(client, count, arguments, sizes, why) ? online_hear(client, why) : NULL;
}

int online_descriptor(const struct online_client *client)
{
    return client->fd;
}

/* ---- the login */

enum { PASSWORD_MAX = 4096 };

static bool read_password(const char *path, char *password, char *why)
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(password, PASSWORD_MAX, file) != NULL;

    if (read)
        password[strcspn(password, "\r\n")] = '\0';
    else
        snprintf(why, ONLINE_WHY, "no password in %.150s: %s", path,
                 file == NULL ? strerror(errno) : "it is empty");
    if (file != NULL)
        fclose(file);
    return read;
}

static bool log_in(struct online_client *client, const struct online_options *options,
                   char *why)
{
    const char *arguments[3] = {"AUTH"}, *password = options->password;
    char line[PASSWORD_MAX];
    int count = 1;
    redisReply *reply;
    bool done;

    if (options->password_file != NULL) {
        if (!read_password(options->password_file, line, why))
            return false;
        password = line;
    }
    if (password == NULL && options->user != NULL)
        snprintf(why, ONLINE_WHY, "NOAUTH there is no password for %.100s", options->user);
    if (password == NULL)
        return options->user == NULL;
    if (options->user != NULL)
        arguments[count++] = options->user;
    arguments[count++] = password;
    reply = online_ask(client, count, arguments, why);
    if (reply == NULL)
        return false;
    done = reply->type != REDIS_REPLY_ERROR;
    if (!done)
        snprintf(why, ONLINE_WHY, "%.200s", reply->str);
    freeReplyObject(reply);
    return done;
}

struct online_client *online_connect(const struct online_options *options, char *why)
{
    struct online_client *client = calloc(1, sizeof(*client));

    snprintf(why, ONLINE_WHY, "out of memory");
    if (client == NULL)
        return NULL;
    client->reader = redisReaderCreate();
    client->fd = client->reader == NULL ? -1
                 : options->unix_path != NULL
                     ? connect_unix(options->unix_path, options->patience_ms, why)
                     : connect_host(options->host, options->port, options->patience_ms, why);
    if (client->fd >= 0 && options->tls)
        client->tls = online_tls_start(client->fd, options,
                                       options->like == NULL ? NULL : options->like->tls, why);
    if (client->fd >= 0 && (client->tls != NULL) == options->tls &&
        log_in(client, options, why))
        return client;
    online_close(client);
    return NULL;
}

void online_close(struct online_client *client)
{
    if (client == NULL)
        return;
    online_tls_end(client->tls);
    if (client->reader != NULL)
        redisReaderFree(client->reader);
    if (client->fd >= 0)
        close(client->fd);
    free(client);
}
