#include "tests/support/client/reply_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void reply_text_quote(FILE *out, const char *data, size_t size)
{
    fputc('"', out);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)data[i];
        if (byte == '\r')
            fputs("\\r", out);
        else if (byte == '\n')
            fputs("\\n", out);
        else if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (isprint(byte))
            fputc(byte, out);
        else
            fprintf(out, "\\x%02x", byte);
    }
    fputc('"', out);
}

static void print_reply(FILE *out, const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_STATUS:
        fprintf(out, "%s", reply->str);
        break;
    case REDIS_REPLY_ERROR:
        fprintf(out, "!%s", reply->str);
        break;
    case REDIS_REPLY_INTEGER:
        fprintf(out, "%lld", reply->integer);
        break;
    case REDIS_REPLY_STRING:
        reply_text_quote(out, reply->str, (size_t)reply->len);
        break;
    case REDIS_REPLY_NIL:
        fputs("nil", out);
        break;
    case REDIS_REPLY_ARRAY:
        fputc('[', out);
        for (size_t i = 0; i < reply->elements; i++) {
            fputs(i ? " " : "", out);
            print_reply(out, reply->element[i]);
        }
        fputc(']', out);
        break;
    default:
        fprintf(out, "?%d", reply->type);
        break;
    }
}

char *reply_text(const redisReply *reply)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    print_reply(out, reply);
    fclose(out);
    return text;
}

bool reply_text_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star; /* the last star matches one more character */
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
