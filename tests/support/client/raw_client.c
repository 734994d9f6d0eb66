#include "tests/support/client/raw_client.h"

#include "tests/support/client/reply_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

enum { PATIENCE_S = 120 };

void raw_open(struct raw_client *raw, const struct server_process *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    raw->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(raw->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(raw->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(raw->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        fail_at(__FILE__, __LINE__, "connect: %s", strerror(errno));
    raw->input = fdopen(raw->fd, "r");
    assert_non_null(raw->input);
}

void raw_close(struct raw_client *raw)
{
    fclose(raw->input);
}

void raw_send(struct raw_client *raw, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(raw->fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            fail_at(__FILE__, __LINE__, "send: %s", strerror(errno));
        bytes += sent;
        size -= (size_t)sent;
    }
}

void raw_say(struct raw_client *raw, const char *line)
{
    raw_send(raw, line, strlen(line));
    raw_send(raw, "\r\n", 2);
}

/* ---- replies */

static void read_line(struct raw_client *raw, char *ret_line, int size)
{
    if (!fgets(ret_line, size, raw->input))
        fail_at(__FILE__, __LINE__, "no reply: the connection %s",
                feof(raw->input) ? "was closed" : strerror(errno));
    ret_line[strcspn(ret_line, "\r\n")] = '\0';
}

static void copy_bulk(struct raw_client *raw, FILE *out, size_t size, bool verbatim)
{
    char *data = calloc(1, size + 2);
    if (!data || fread(data, 1, size + 2, raw->input) != size + 2)
        fail_at(__FILE__, __LINE__, "a bulk string breaks off");
    size_t skip = verbatim ? 4 : 0; /* "txt:" */
    fwrite(data, 1, skip, out);
    reply_text_quote(out, data + skip, size - skip);
    free(data);
}

static void copy_reply(struct raw_client *raw, FILE *out);

static void copy_elements(struct raw_client *raw, FILE *out, long count, const char *ends)
{
    fputc(ends[0], out);
    for (long i = 0; i < count; i++) {
        fputs(i ? " " : "", out);
        copy_reply(raw, out);
        if (ends[0] == '{') {
            fputs(": ", out);
            copy_reply(raw, out);
        }
    }
    fputc(ends[1], out);
}

static void copy_reply(struct raw_client *raw, FILE *out)
{
    char line[4096];
    read_line(raw, line, sizeof(line));
    long count = strtol(line + 1, NULL, 10);
    if (line[0] == '+' || line[0] == ':')
        fputs(line + 1, out);
    else if (line[0] == '-')
        fprintf(out, "!%s", line + 1);
    else if ((line[0] == '$' || line[0] == '*') && count < 0)
        fputs("nil", out);
    else if (line[0] == '$' || line[0] == '=')
        copy_bulk(raw, out, (size_t)count, line[0] == '=');
    else if (line[0] == '%')
        copy_elements(raw, out, count, "{}");
    else if (line[0] == '*')
        copy_elements(raw, out, count, "[]");
    else if (line[0] == '~' || line[0] == '>') {
        fputc(line[0], out);
        copy_elements(raw, out, count, "[]");
    } else {
        fputs(line, out); /* _ ,1.5 #t (12 and unknown types: the line as it is */
    }
}

char *raw_reply(struct raw_client *raw)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    copy_reply(raw, out);
    fclose(out);
    return text;
}

void raw_expect_at(const char *file, int line_number, struct raw_client *raw,
                   const char *pattern, const char *line)
{
    if (line)
        raw_say(raw, line);
    char *text = raw_reply(raw);
    if (!reply_text_matches(pattern, text))
        fail_at(file, line_number, "expected %s\n     got %.2000s", pattern, text);
    free(text);
}

void raw_expect_bytes_at(const char *file, int line, struct raw_client *raw, const char *bytes)
{
    for (size_t i = 0; bytes[i]; i++) {
        int got = fgetc(raw->input);
        if (got != (unsigned char)bytes[i])
            fail_at(file, line, "byte %zu: expected %d, got %d", i, bytes[i], got);
    }
}

void raw_expect_closed_at(const char *file, int line, struct raw_client *raw)
{
    int got = fgetc(raw->input);
    if (got != EOF)
        fail_at(file, line, "expected the connection to close, got byte %d", got);
    if (!feof(raw->input) && errno != ECONNRESET)
        fail_at(file, line, "the connection stays open");
}
