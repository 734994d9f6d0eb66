#include "protocol/tokens.h"

#include <ctype.h>

struct splitter {
    const char *at, *end;
    char *out;
};

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static char unescape(char byte)
{
    switch (byte) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return byte;
    }
}

/* Takes an escape, after the backslash, within double quotes. */
static void take_escape(struct splitter *splitter)
{
    const char *at = splitter->at;

    if (splitter->end - at >= 4 && at[1] == 'x' && hex_value(at[2]) >= 0 &&
        hex_value(at[3]) >= 0) {
        *splitter->out++ = (char)(hex_value(at[2]) << 4 | hex_value(at[3]));
        splitter->at += 4;
        return;
    }
    *splitter->out++ = unescape(at[1]);
    splitter->at += 2;
}

/* Takes a quoted token after its opening quote, and the closing quote. False: no closing quote,
 * or the token does not end after it. */
static bool take_quoted(struct splitter *splitter, char quote)
{
    while (splitter->at < splitter->end) {
        const char *at = splitter->at;

        if (*at == '\\' && splitter->end - at >= 2 && quote == '"') {
            take_escape(splitter);
        } else if (*at == '\\' && splitter->end - at >= 2 && at[1] == '\'') {
            *splitter->out++ = '\'';
            splitter->at += 2;
        } else if (*at == quote) {
            splitter->at++;
            return splitter->at == splitter->end || isspace((unsigned char)*splitter->at);
        } else {
            *splitter->out++ = *at;
            splitter->at++;
        }
    }
    return false;
}

static bool take_token(struct splitter *splitter)
{
    while (splitter->at < splitter->end && !isspace((unsigned char)*splitter->at)) {
        char byte = *splitter->at++;

        if (byte == '"' || byte == '\'') {
            if (!take_quoted(splitter, byte))
                return false;
            break;
        }
        *splitter->out++ = byte;
    }
    return true;
}

int tokens_split(const char *line, size_t line_size, char *space, struct argument *tokens,
                 size_t maximum)
{
    struct splitter splitter = {line, line + line_size, space};
    size_t count = 0;

    for (;;) {
        char *token;

        while (splitter.at < splitter.end && isspace((unsigned char)*splitter.at))
            splitter.at++;
        if (splitter.at == splitter.end)
            return (int)count;
        if (count == maximum)
            return -1;
        token = splitter.out;
        if (!take_token(&splitter))
            return -1;
        tokens[count++] = (struct argument){token, (size_t)(splitter.out - token)};
        *splitter.out++ = '\0';
    }
}
