#include "server/session/monitors.h"

#include "server/containers/shared_bytes.h"
#include "server/dispatch/redaction.h"
#include "server/server.h"
#include "server/session/session_output.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    LINE_MOST = 1 << 30,
    LARGE_REQUEST = 256 * 1024, /* bytes: its line is prepared in slices ... */
    SLICE_BYTES = 128 * 1024    /* of so many: up to a millisecond when all must be quoted */
};

static void append_text(struct buffer *line, const char *text)
{
    buffer_append(line, text, strlen(text));
}

static bool is_plain(unsigned char byte)
{
    return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
}

static uint64_t eight(unsigned char byte)
{
    return byte * UINT64_C(0x0101010101010101);
}

/* Not 0: one of the eight bytes is 0. From Warren, Hacker's Delight, 6-1. */
static uint64_t has_zero(uint64_t word)
{
    return (word - eight(1)) & ~word & eight(0x80);
}

/* Are all eight bytes plain? One before ' ' or after '~' has a high bit in one of the sums. */
static bool are_plain(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return ((word | (word - eight(' ')) | (word + eight(1))) & eight(0x80)) == 0 &&
           has_zero(word ^ eight('"')) == 0 && has_zero(word ^ eight('\\')) == 0;
}

/* The first byte from `at` on that needs quoting. To look at each byte of 16 MiB takes 20 ms.
 */
static size_t plain_end(struct argument argument, size_t at)
{
    while (argument.size - at >= sizeof(uint64_t) && are_plain(argument.data + at))
        at += sizeof(uint64_t);
    while (at < argument.size && is_plain((unsigned char)argument.data[at]))
        at++;
    return at;
}

/* As redis-cli quotes. Returns how many bytes `text` has then, 4 at most. */
static size_t quote(char *text, unsigned char byte)
{
    static const char names[] = "\n\r\t\a\b\\\"", letters[] = "nrtab\\\"";
    static const char digits[] = "0123456789abcdef";
    const char *name = byte == '\0' ? NULL : strchr(names, byte);

    text[0] = '\\';
    if (name != NULL) {
        text[1] = letters[name - names];
        return 2;
    }
    text[1] = 'x';
    text[2] = digits[byte >> 4];
    text[3] = digits[byte & 15];
    return 4;
}

/* Bytes one by one, up to a run that needs no quoting. Returns where it begins. */
static size_t append_mixed(struct buffer *line, struct argument argument, size_t at)
{
    char text[1024];
    size_t used = 0;

    while (at < argument.size && used + 4 <= sizeof(text)) {
        unsigned char byte = (unsigned char)argument.data[at];

        if (argument.size - at >= sizeof(uint64_t) && are_plain(argument.data + at))
            break;
        if (is_plain(byte))
            text[used++] = (char)byte;
        else
            used += quote(text + used, byte);
        at++;
    }
    buffer_append(line, text, used);
    return at;
}

static void append_bytes(struct buffer *line, struct argument argument)
{
    for (size_t at = 0; at < argument.size && !line->overflowed;) {
        size_t end = plain_end(argument, at);

        buffer_append(line, argument.data + at, end - at);
        at = append_mixed(line, argument, end);
    }
}

/* ---- the line of a request */

/* The arguments, of a large request bit by bit. */
struct monitor_text {
    struct buffer line;
    const struct argument *arguments; /* of the request, to know it again */
    size_t count, bytes;
    size_t next, at; /* the first byte that is missing: argument, and byte of it */
};

static struct monitor_text *new_text(const struct request *request)
{
    struct monitor_text *text = calloc(1, sizeof(*text));

    if (text == NULL)
        return NULL;
    buffer_init(&text->line, LINE_MOST);
    text->arguments = request->arguments;
    text->count = request->count;
    text->bytes = request->bytes;
    return text;
}

void monitors_forget(struct session *session)
{
    if (session->monitor_text == NULL)
        return;
    buffer_release(&session->monitor_text->line);
    free(session->monitor_text);
    session->monitor_text = NULL;
}

static bool is_of(const struct monitor_text *text, const struct request *request)
{
    return text->arguments == request->arguments && text->count == request->count &&
           text->bytes == request->bytes;
}

/* Adds what about `most` bytes of the arguments make. True: the text is complete. */
static bool add_to_text(struct monitor_text *text, const struct command *command,
                        const struct request *request, size_t most)
{
    while (text->next < text->count && most > 0 && !text->line.overflowed) {
        struct argument shown = redaction_shown(command, request, text->next);
        size_t left = shown.size - text->at, size = left < most ? left : most;

        if (text->at == 0)
            append_text(&text->line, " \"");
        append_bytes(&text->line, (struct argument){shown.data + text->at, size});
        text->at += size;
        most -= size < most ? size + 1 : most;
        if (size < left)
            continue;
        append_text(&text->line, "\"");
        text->next++;
        text->at = 0;
    }
    return text->next == text->count || text->line.overflowed;
}

static bool is_shown(const struct command *command)
{
    return (command->flags & (COMMAND_SKIP_MONITOR | COMMAND_ADMIN)) == 0;
}

bool monitors_prepare(const struct server *server, struct session *session,
                      const struct request *request)
{
    const struct command *command;

    if (session->monitor_text != NULL && !is_of(session->monitor_text, request))
        monitors_forget(session);
    if (server->monitors == NULL || request->bytes < LARGE_REQUEST ||
        session->transaction != NULL)
        return true;
    command = command_find_request(request);
    if (command == NULL || !is_shown(command) || !command_arity_fits(command, request->count))
        return true;
    if (session->monitor_text == NULL)
        session->monitor_text = new_text(request);
    return session->monitor_text == NULL ||
           add_to_text(session->monitor_text, command, request, SLICE_BYTES);
}

void monitors_add(struct server *server, struct session *session)
{
    if (session->monitors)
        return;
    session->monitors = true;
    DL_APPEND2(server->monitors, session, monitor_prev, monitor_next);
}

void monitors_remove(struct server *server, struct session *session)
{
    if (!session->monitors)
        return;
    session->monitors = false;
    DL_DELETE2(server->monitors, session, monitor_prev, monitor_next);
}

static void write_head(const struct context *context, char *head, size_t size)
{
    const struct session *session = context->session;
    int64_t usec = context->server->clock.wall_usec;

    snprintf(head, size, "+%" PRId64 ".%06d [%u %s]", usec / 1000000, (int)(usec % 1000000),
             session->database, session->address);
}

/* All of them get the memory of a large line, and copy it in later turns. False: out of memory.
 */
static bool share(const struct server *server, const char *head, struct buffer *line)
{
    struct shared_bytes *shared = shared_bytes_new(line->data, buffer_size(line));
    struct session *session;

    assert(line->start == 0);
    if (shared == NULL)
        return false;
    shared_bytes_own_buffer(shared, line);
    DL_FOREACH2(server->monitors, session, monitor_next) {
        struct resp_writer *writer = session_push_begin(session);

        append_text(writer->out, head);
        shared_bytes_write_plain(shared, writer);
        session_push_end(session);
    }
    shared_bytes_let_go(shared);
    return true;
}

static void send_line(const struct server *server, const char *head, struct buffer *line)
{
    struct session *session;

    append_text(line, "\r\n");
    if (buffer_size(line) >= RESP_LARGE_BULK && share(server, head, line))
        return;
    DL_FOREACH2(server->monitors, session, monitor_next) {
        struct buffer *out = session_push_begin(session)->out;

        append_text(out, head);
        buffer_append(out, buffer_content(line), buffer_size(line));
        session_push_end(session);
    }
}

void monitors_show(const struct context *context)
{
    struct monitor_text *begun = context->session->monitor_text;
    struct monitor_text text = {.count = context->request->count};
    char head[128];

    if (context->server->monitors == NULL || !is_shown(context->command))
        return;
    if (begun == NULL || !is_of(begun, context->request) || context->queued) {
        begun = &text;
        buffer_init(&text.line, LINE_MOST);
    }
    add_to_text(begun, context->command, context->request, SIZE_MAX);
    write_head(context, head, sizeof(head));
    send_line(context->server, head, &begun->line);
    buffer_release(&text.line);
    if (begun != &text)
        monitors_forget(context->session);
}
