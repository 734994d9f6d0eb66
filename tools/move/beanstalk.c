#include "tools/move/beanstalk.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    OUT_ROOM = 64 * 1024,
    IN_ROOM = 64 * 1024,
    WORDS_MAX = 256, /* a request, without a body */
    LINE_MAX_BYTES = 1024,
    BODY_MAX = 1 << 30 /* the most that it can be told to take */
};

bool beanstalk_fail(struct beanstalk *client, const char *why)
{
    if (!client->failed)
        snprintf(client->why, sizeof(client->why), "%s", why);
    client->failed = true;
    return false;
}

/* ---- the socket */

static int connect_to(const struct online_options *options, char *why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all, *at;
    int found = getaddrinfo(options->host, options->port, &hints, &all), fd = -1;

    snprintf(why, ONLINE_WHY, "%s", found == 0 ? "" : gai_strerror(found));
    if (found != 0)
        return -1;
    for (at = all; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
            break;
        snprintf(why, ONLINE_WHY, "cannot connect: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(all);
    return fd;
}

bool beanstalk_open(struct beanstalk *client, const struct online_options *options)
{
    char why[ONLINE_WHY];

    *client = (struct beanstalk){.fd = -1, .out_room = OUT_ROOM, .in_room = IN_ROOM};
    client->out = malloc(client->out_room);
    client->in = malloc(client->in_room);
    if (client->out == NULL || client->in == NULL)
        return beanstalk_fail(client, "out of memory");
    client->fd = connect_to(options, why);
    return client->fd >= 0 || beanstalk_fail(client, why);
}

void beanstalk_close(struct beanstalk *client)
{
    if (client->out != NULL && client->fd >= 0)
        close(client->fd);
    free(client->out);
    free(client->in);
    client->out = client->in = NULL;
}

/* ---- requests */

static void flush(struct beanstalk *client)
{
    size_t sent = 0;

    while (sent < client->out_used && !client->failed) {
        ssize_t put =
            send(client->fd, client->out + sent, client->out_used - sent, MSG_NOSIGNAL);

        if (put > 0)
            sent += (size_t)put;
        else if (errno != EINTR)
            beanstalk_fail(client, "the server has closed the connection");
    }
    client->out_used = 0;
}

void beanstalk_say(struct beanstalk *client, const char *format, ...)
{
    char text[WORDS_MAX + 2];
    va_list values;
    int size;

    va_start(values, format);
    size = vsnprintf(text, WORDS_MAX, format, values);
    va_end(values);
    if (size < 0 || size >= WORDS_MAX) {
        beanstalk_fail(client, "a request is too long");
        return;
    }
    memcpy(text + size, "\r\n", 2);
    if (client->out_room - client->out_used < (size_t)size + 2)
        flush(client);
    memcpy(client->out + client->out_used, text, (size_t)size + 2);
    client->out_used += (size_t)size + 2;
}

/* ---- replies */

/* Reads on until there are `size` bytes. */
static bool await_bytes(struct beanstalk *client, size_t size)
{
    flush(client);
    if (client->at > 0) {
        memmove(client->in, client->in + client->at, client->end - client->at);
        client->end -= client->at;
        client->at = 0;
    }
    if (size > client->in_room) {
        char *larger = realloc(client->in, size);

        if (larger == NULL)
            return beanstalk_fail(client, "out of memory");
        client->in = larger;
        client->in_room = size;
    }
    while (client->end < size && !client->failed) {
        ssize_t got = read(client->fd, client->in + client->end, client->in_room - client->end);

        if (got > 0)
            client->end += (size_t)got;
        else if (got == 0 || errno != EINTR)
            beanstalk_fail(client, "the server has closed the connection");
    }
    return !client->failed;
}

const char *beanstalk_line(struct beanstalk *client)
{
    const char *line;
    char *end = NULL;

    while (!client->failed) {
        size_t size = client->end - client->at;

        end = memchr(client->in + client->at, '\n', size);
        if (end != NULL)
            break;
        if (size > LINE_MAX_BYTES)
            beanstalk_fail(client, "this is no beanstalkd");
        else
            await_bytes(client, size + 1);
    }
    if (client->failed)
        return NULL;
    line = client->in + client->at;
    client->at = (size_t)(end - client->in) + 1;
    end[end > line && end[-1] == '\r' ? -1 : 0] = '\0';
    return line;
}

const char *beanstalk_data(struct beanstalk *client, const char *word,
                           struct dueq_slice *ret_data)
{
    static char line[LINE_MAX_BYTES + 2];
    const char *got = beanstalk_line(client), *last;
    unsigned long size;

    *ret_data = dueq_slice("", 0);
    if (got == NULL)
        return NULL;
    snprintf(line, sizeof(line), "%s", got);
    last = strrchr(line, ' ');
    if (strncmp(line, word, strlen(word)) != 0 || last == NULL)
        return line;
    size = strtoul(last, NULL, 10);
    if (size > BODY_MAX) {
        beanstalk_fail(client, "this is no beanstalkd");
        return NULL;
    }
    if (client->end - client->at < size + 2 && !await_bytes(client, size + 2))
        return NULL;
    *ret_data = dueq_slice(client->in + client->at, size);
    client->at += size + 2;
    return line;
}

/* ---- what stats say */

bool beanstalk_field(struct dueq_slice stats, const char *name, char *value, size_t size)
{
    const char *at = stats.data, *end = at + stats.size;
    size_t length = strlen(name);

    while (at != NULL && at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t line = next == NULL ? (size_t)(end - at) : (size_t)(next - at);

        if (line > length + 2 && memcmp(at, name, length) == 0 && at[length] == ':') {
            /* Some versions put names and ids into quotes. */
            const char *from = at + length + 2;
            int used = (int)(line - length - 2);

            if (used > 1 && from[0] == '"') {
                from++;
                used -= 2;
            }
            snprintf(value, size, "%.*s", used, from);
            return true;
        }
        at = next == NULL ? NULL : next + 1;
    }
    value[0] = '\0';
    return false;
}

uint64_t beanstalk_number(struct dueq_slice stats, const char *name)
{
    char value[32];

    return beanstalk_field(stats, name, value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}
