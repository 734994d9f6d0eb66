#include "tools/cli/words.h"

#include "tools/client/client_call.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct splitting {
    const char *at, *end;
    char *text; /* of the word so far */
    size_t size, room;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\v' ||
           byte == '\f' || byte == '\0';
}

static void put(struct splitting *split, char byte)
{
    if (split->size + 1 >= split->room) {
        split->room = 2 * split->room + 16;
        split->text = client_allocate(split->text, split->room);
    }
    split->text[split->size++] = byte;
    split->text[split->size] = '\0';
}

static int hex_digit(const struct splitting *split, int offset)
{
    static const char digits[] = "0123456789abcdef";
    const char *found;
    char byte;

    if (split->end - split->at <= offset || split->at[offset] == '\0')
        return -1;
    byte = split->at[offset];
    found = strchr(digits, byte >= 'A' && byte <= 'F' ? byte + 'a' - 'A' : byte);
    return found == NULL ? -1 : (int)(found - digits);
}

/* After a backslash in "...". */
static void put_escaped(struct splitting *split)
{
    static const char names[] = "nrtba", bytes[] = "\n\r\t\b\a";
    const char *found;
    char byte = *split->at;
    int high = hex_digit(split, 1), low = hex_digit(split, 2);

    if (byte == 'x' && high >= 0 && low >= 0) {
        put(split, (char)(high << 4 | low));
        split->at += 3;
        return;
    }
    found = byte == '\0' ? NULL : strchr(names, byte);
    put(split, found == NULL ? byte : bytes[found - names]);
    split->at++;
}

/* From behind the opening quote to behind the closing one. False: there is none, or something
 * stands right behind it. */
static bool read_quoted(struct splitting *split, char quote)
{
    while (split->at < split->end && *split->at != quote) {
        bool escapes = *split->at == '\\' && split->at + 1 < split->end;

        if (escapes && quote == '"') {
            split->at++;
            put_escaped(split);
        } else {
            split->at += escapes && split->at[1] == '\'' && quote == '\'';
            put(split, *split->at++);
        }
    }
    if (split->at == split->end)
        return false;
    split->at++;
    return split->at == split->end || is_blank(*split->at);
}

static bool read_word(struct splitting *split)
{
    split->text = NULL;
    split->size = split->room = 0;
    put(split, '\0'); /* an empty word is one, too */
    split->size = 0;
    while (split->at < split->end && !is_blank(*split->at)) {
        char byte = *split->at++;

        if (byte == '"' || byte == '\'')
            return read_quoted(split, byte);
        put(split, byte);
    }
    return true;
}

static void keep(struct words *words, const struct splitting *split)
{
    if ((words->count & (words->count + 1)) == 0) { /* at the powers of two */
        size_t room = 2 * ((size_t)words->count + 1);

        words->texts = client_allocate(words->texts, room * sizeof(*words->texts));
        words->sizes = client_allocate(words->sizes, room * sizeof(*words->sizes));
    }
    words->texts[words->count] = split->text;
    words->sizes[words->count++] = split->size;
}

bool words_split(const char *line, size_t size, struct words *ret_words)
{
    struct splitting split = {.at = line, .end = line + size};

    *ret_words = (struct words){0};
    for (;;) {
        while (split.at < split.end && is_blank(*split.at))
            split.at++;
        if (split.at == split.end)
            return true;
        if (!read_word(&split)) {
            free(split.text);
            words_release(ret_words);
            return false;
        }
        split.text[split.size] = '\0';
        keep(ret_words, &split);
    }
}

void words_release(struct words *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->texts[i]);
    free(words->texts);
    free(words->sizes);
    *words = (struct words){0};
}

bool words_is(const struct words *words, int at, const char *word)
{
    return at < words->count && words->sizes[at] == strlen(word) &&
           strcasecmp(words->texts[at], word) == 0;
}

static bool contains(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

bool words_are_secret(const struct words *words)
{
    bool is_config = words_is(words, 0, "config") && words_is(words, 1, "set");

    if (words_is(words, 0, "acl") && words_is(words, 1, "setuser"))
        return true;
    for (int i = 0; i < words->count; i++)
        if (words_is(words, i, "auth") || words_is(words, i, "auth2") ||
            (is_config &&
             (contains(words->texts[i], "pass") || contains(words->texts[i], "auth"))))
            return true;
    return false;
}
