#include "tools/bench/resp_scan.h"

#include <stdlib.h>
#include <string.h>

/* Reads the line at *offset. Returns 0 while it is incomplete. */
static int scan_line(const char *data, size_t size, size_t *offset, struct resp_token *token)
{
    const char *line = data + *offset;
    const char *end = *offset < size ? memchr(line, '\r', size - *offset) : NULL;

    if (end == NULL || (size_t)(end - data) + 2 > size)
        return 0;
    token->type = line[0];
    token->data = line + 1;
    token->size = (size_t)(end - line) - 1;
    token->number = strtoll(line + 1, NULL, 10);
    *offset = (size_t)(end - data) + 2;
    return 1;
}

static int scan_bulk(const char *data, size_t size, size_t *offset, struct resp_token *token)
{
    if (token->number < 0) {
        token->data = NULL;
        token->size = 0;
        return 1;
    }
    token->size = (size_t)token->number;
    if (size - *offset < token->size + 2)
        return 0;
    token->data = data + *offset;
    *offset += token->size + 2;
    return 1;
}

size_t resp_scan(const char *data, size_t size, struct resp_token *tokens, size_t maximum,
                 size_t *ret_count)
{
    size_t offset = 0, count = 0;
    int64_t left = 1; /* elements to read, of all levels together */

    while (left > 0) {
        struct resp_token token;

        if (!scan_line(data, size, &offset, &token))
            return 0;
        if (token.type == '$' && !scan_bulk(data, size, &offset, &token))
            return 0;
        left--;
        if (token.type == '*' && token.number > 0)
            left += token.number;
        if (count < maximum)
            tokens[count++] = token;
    }
    *ret_count = count;
    return offset;
}
