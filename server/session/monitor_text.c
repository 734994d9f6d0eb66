#include "server/session/monitor_text.h"

#include "protocol/buffer.h"
#include "server/containers/spent.h"
#include "server/dispatch/redaction.h"

#include <stdlib.h>
#include <string.h>

enum { SLICE_BYTES = 128 * 1024 }; /* of arguments: a millisecond when all must be quoted */

struct monitor_text {
    struct buffer line;
    const struct argument *arguments; /* of the request, to know it again */
    size_t count, bytes;
    size_t next, at; /* the first byte that is missing: argument, and byte of it */
};

/* ---- quoting */

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

/* ---- its life */

static struct monitor_text *new_text(const struct request *request, size_t most)
{
    struct monitor_text *text = calloc(1, sizeof(*text));

    if (text == NULL)
        return NULL;
    buffer_init(&text->line, most);
    text->arguments = request->arguments;
    text->count = request->count;
    text->bytes = request->bytes;
    return text;
}

void monitor_text_drop(struct monitor_text **text)
{
    if (*text == NULL)
        return;
    spent_grown_memory((*text)->line.data, (*text)->line.capacity);
    free(*text);
    *text = NULL;
}

static bool is_of(const struct monitor_text *text, const struct request *request)
{
    return text->arguments == request->arguments && text->count == request->count &&
           text->bytes == request->bytes;
}

/* What there is of the text of this request. NULL: out of memory. */
static struct monitor_text *text_of(struct monitor_text **text, const struct request *request,
                                    size_t most)
{
    if (*text != NULL && !is_of(*text, request))
        monitor_text_drop(text);
    if (*text == NULL)
        *text = new_text(request, most);
    return *text;
}

bool monitor_text_is_shown(const struct command *command)
{
    return (command->flags & (COMMAND_SKIP_MONITOR | COMMAND_ADMIN)) == 0;
}

bool monitor_text_prepare(struct monitor_text **text, const struct request *request,
                          size_t most)
{
    const struct command *command = command_find_request(request);
    struct monitor_text *begun;

    if (command == NULL || !monitor_text_is_shown(command) ||
        !command_arity_fits(command, request->count))
        return true;
    begun = text_of(text, request, most);
    return begun == NULL || add_to_text(begun, command, request, SLICE_BYTES);
}

struct buffer *monitor_text_complete(struct monitor_text **text, const struct command *command,
                                     const struct request *request, size_t most)
{
    struct monitor_text *begun = text_of(text, request, most);

    if (begun == NULL)
        return NULL;
    add_to_text(begun, command, request, SIZE_MAX);
    return &begun->line;
}

size_t monitor_text_bytes(const struct monitor_text *text)
{
    return text == NULL ? 0 : sizeof(*text) + text->line.capacity;
}
