/* What is sent to the server, and what is told when it refuses. */
#include "tools/client/client_call.h"
#include "tools/client/client_time.h"
#include "tools/online/online_advice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments */

void client_request_add(struct client_request *request, const char *word, size_t size)
{
    size_t room = (size_t)request->count + 1;

    request->words = client_allocate(request->words, room * sizeof(*request->words));
    request->sizes = client_allocate(request->sizes, room * sizeof(*request->sizes));
    request->words[request->count] = word;
    request->sizes[request->count++] = size;
}

void client_request_say(struct client_request *request, const char *word)
{
    client_request_add(request, word, strlen(word));
}

char *client_request_keep(struct client_request *request, char *text)
{
    size_t room = (size_t)request->owned_count + 1;

    request->owned = client_allocate(request->owned, room * sizeof(*request->owned));
    request->owned[request->owned_count++] = text;
    return text;
}

void client_request_release(struct client_request *request)
{
    for (int i = 0; i < request->owned_count; i++)
        free(request->owned[i]);
    free(request->owned);
    free(request->words);
    free(request->sizes);
    *request = (struct client_request){0};
}

static void say_words(struct client_request *request, const char *value)
{
    char *text = client_request_keep(request, strdup(value)), *rest = NULL;

    for (char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        client_request_say(request, word);
}

static bool say_moment(struct client_request *request, const char *value)
{
    char *text = client_request_keep(request, client_allocate(NULL, 32));
    int64_t ms;

    if (!client_read_moment(value, &ms))
        return false;
    snprintf(text, 32, "%" PRId64, ms);
    client_request_say(request, text);
    return true;
}

static bool say_option(struct client_request *request, const struct client_call *call,
                       size_t at)
{
    const struct client_option *option = &call->command->options[at];
    const char *value = call->values[at];

    if (value == NULL || option->word == NULL)
        return true;
    client_request_say(request, option->word);
    for (int i = 0; option->kind == CLIENT_EACH && i < call->each_count; i++)
        client_request_say(request, call->each[i]);
    if (option->kind == CLIENT_WORDS)
        say_words(request, value);
    else if (option->kind == CLIENT_AS_IT_IS)
        client_request_say(request, value);
    return option->kind != CLIENT_MOMENT || say_moment(request, value);
}

bool client_request_make(struct client_request *request, const struct client_call *call)
{
    const struct client_command *command = call->command;
    const struct client_option *options = command->options;

    client_request_say(request, command->sends);
    for (int i = 0; i < call->count; i++) {
        client_request_add(request, call->words[i], call->sizes[i]);
        if (i == 0 && command->action != NULL)
            client_request_say(request, command->action);
    }
    for (size_t i = 0; options != NULL && options[i].name != NULL; i++)
        if (!say_option(request, call, i)) {
            client_misused(command,
                           "--%s %s is no time: '2026-12-01 09:00' (here), "
                           "2026-12-01T09:00:00Z, @unix-seconds or unix milliseconds",
                           options[i].name, call->values[i]);
            return false;
        }
    return true;
}

/* ---- what goes wrong */

size_t client_control_size(const char *text)
{
    unsigned char byte = (unsigned char)text[0], next = byte == 0 ? 0 : (unsigned char)text[1];

    if (byte == 0xc2 && next >= 0x80 && next < 0xa0)
        return 2; /* U+0080 to U+009F, in UTF-8 */
    return byte < 0x20 || byte == 0x7f;
}

void client_complain(const struct client_call *call, const char *text)
{
    const char *advice = online_advice(text);
    size_t control;

    fprintf(stderr, "dueq %s: ", call->command->name);
    for (; *text != '\0'; text += control > 0 ? control : 1) {
        control = client_control_size(text); /* an error may quote bytes of others */
        fputc(control > 0 ? '?' : *text, stderr);
    }
    fputc('\n', stderr);
    if (advice != NULL)
        fprintf(stderr, "%s\n", advice);
}

bool client_told_error(const struct client_call *call, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return false;
    client_complain(call, reply->str);
    return true;
}

int client_connect(struct client_call *call)
{
    if (call->client != NULL)
        return CLIENT_DONE;
    call->client = online_connect(&call->where, call->why);
    if (call->client != NULL)
        return CLIENT_DONE;
    client_complain(call, call->why);
    switch (online_blame(call->why)) {
    case ONLINE_MISUSED:
        return CLIENT_USAGE;
    case ONLINE_REFUSED:
        return CLIENT_REFUSED;
    default:
        fputs(online_where_to_look(&call->where), stderr);
        return CLIENT_UNREACHABLE;
    }
}

redisReply *client_ask(struct client_call *call, const struct client_request *request,
                       int *ret_status)
{
    redisReply *reply;

    *ret_status = client_connect(call);
    if (*ret_status != CLIENT_DONE)
        return NULL;
    reply = online_ask_sized(call->client, request->count, request->words, request->sizes,
                             call->why);
    if (reply == NULL) {
        client_complain(call, call->why);
        fputs("Nobody knows whether the server has done it: look (dueq get, dueq stats) before "
              "you repeat it.\n",
              stderr);
        *ret_status = CLIENT_UNREACHABLE;
        return NULL;
    }
    if (!client_told_error(call, reply))
        return reply;
    freeReplyObject(reply);
    *ret_status = CLIENT_REFUSED;
    return NULL;
}

/* ---- bodies */

static bool read_all(struct client_call *call, FILE *file, size_t *ret_size)
{
    size_t size = 0, room = 64 * 1024, got;

    call->body = client_allocate(call->body, room);
    while ((got = fread(call->body + size, 1, room - size, file)) > 0) {
        size += got;
        if (size > ONLINE_BODY_MAX) {
            errno = EFBIG;
            return false;
        }
        if (size == room)
            call->body = client_allocate(call->body, room *= 2);
    }
    *ret_size = size;
    return ferror(file) == 0;
}

static bool read_file(struct client_call *call, const char *path, int at)
{
    FILE *file = path == NULL ? stdin : fopen(path, "re");
    size_t size = 0;
    bool read = file != NULL && read_all(call, file, &size);

    if (!read)
        fprintf(stderr, "dueq %s: cannot read %s: %s\n", call->command->name,
                path == NULL ? "standard input" : path, strerror(errno));
    if (file != NULL && file != stdin)
        fclose(file);
    call->words[at] = call->body;
    call->sizes[at] = size;
    return read;
}

bool client_read_body(struct client_call *call, int at)
{
    const char *path = client_option(call, "file");

    if (path != NULL) {
        call->count = at + 1;
        return read_file(call, path, at);
    }
    return strcmp(call->words[at], "-") != 0 || read_file(call, NULL, at);
}
