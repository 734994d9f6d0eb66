#include "server/http/api_login.h"

#include "server/http/api_reply.h"

#include <event2/buffer.h>
#include <string.h>
#include <strings.h>

enum { LINE_MOST = 4096, USER_MOST = 8192 /* as long as a head */ };

void api_login_write(struct evbuffer *requests)
{
    evbuffer_add_printf(requests, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
}

void api_login_write_user(struct evbuffer *requests, struct http_part user,
                          struct http_part password)
{
    if (user.size == 0)
        user = (struct http_part){"default", 7};
    evbuffer_add_printf(requests, "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$%zu\r\n",
                        user.size);
    evbuffer_add(requests, user.data, user.size);
    evbuffer_add_printf(requests, "\r\n$%zu\r\n", password.size);
    evbuffer_add(requests, password.data, password.size);
    evbuffer_add(requests, "\r\n", 2);
}

/* Reads "Basic dXNlcjpwYXNzd29yZA==". text: USER_MOST bytes, in which the parts are. */
static bool read_basic(struct http_part login, char *text, struct http_part *ret_user,
                       struct http_part *ret_password)
{
    struct http_part coded = {login.data + 6, login.size - 6};
    const char *colon;
    size_t size;

    if (login.size < 6 || strncasecmp(login.data, "Basic ", 6) != 0 || coded.size > USER_MOST ||
        !http_read_base64(coded, text, &size))
        return false;
    colon = memchr(text, ':', size);
    if (colon == NULL)
        return false;
    *ret_user = (struct http_part){text, (size_t)(colon - text)};
    *ret_password = (struct http_part){colon + 1, size - ret_user->size - 1};
    return true;
}

bool api_login_write_basic(struct evbuffer *requests, struct http_part authorization)
{
    char text[USER_MOST];
    struct http_part user, password;

    if (!read_basic(authorization, text, &user, &password))
        return false;
    api_login_write_user(requests, user, password);
    explicit_bzero(text, sizeof(text));
    return true;
}

char *api_login_error(struct evbuffer *replies)
{
    char kind;

    if (evbuffer_copyout(replies, &kind, 1) != 1 || kind != '-')
        return NULL;
    return evbuffer_readln(replies, NULL, EVBUFFER_EOL_CRLF);
}

bool api_login_skip(struct evbuffer *replies)
{
    static const struct reply_shape shape = {0};
    size_t size = evbuffer_get_length(replies), used, wanted;
    const char *bytes = (const char *)evbuffer_pullup(replies, -1);
    struct api_reply reply;
    struct buffer out;
    enum reply_step step;

    api_reply_init(&reply, &shape);
    buffer_init(&out, LINE_MOST);
    step = api_reply_run(&reply, bytes, size, &out, &used, &wanted);
    buffer_release(&out);
    if (step == REPLY_DONE)
        evbuffer_drain(replies, used);
    return step == REPLY_DONE;
}
