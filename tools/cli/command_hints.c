#include "tools/cli/command_hints.h"

#include "tools/client/client_call.h"
#include "tools/client/columns.h"
#include "tools/client/reply_json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_ROOM = 80, DEPTH = 8 };

struct argument {
    char *text;   /* as it is shown */
    char *tokens; /* the words that may begin it, each followed by a blank */
    bool optional, multiple;
    int values; /* words behind the token */
};

struct entry {
    char name[NAME_ROOM]; /* "Q.DEAD LIST" */
    int name_words;
    char *summary, *group, *since;
    struct argument *arguments;
    size_t count;
};

struct command_hints {
    struct entry *entries;
    size_t count;
};

/* ---- arguments as text */

static const char *text_of(const redisReply *map, const char *name)
{
    const redisReply *member = reply_member(map, name);

    return member == NULL || member->str == NULL ? NULL : member->str;
}

static bool has_flag(const redisReply *map, const char *flag)
{
    const redisReply *flags = reply_member(map, "flags");

    for (size_t i = 0; flags != NULL && i < flags->elements; i++)
        if (flags->element[i]->str != NULL && strcmp(flags->element[i]->str, flag) == 0)
            return true;
    return false;
}

static void write_argument(FILE *to, const redisReply *argument, int depth);

static void write_parts(FILE *to, const redisReply *argument, const char *between, int depth)
{
    const redisReply *parts = reply_member(argument, "arguments");

    for (size_t i = 0; parts != NULL && i < parts->elements; i++) {
        fputs(i == 0 ? "" : between, to);
        write_argument(to, parts->element[i], depth + 1);
    }
}

static void write_text(FILE *to, const char *text)
{
    columns_write_bytes(to, text, strlen(text), false);
}

/* Without brackets. */
static void write_core(FILE *to, const redisReply *argument, int depth)
{
    const char *type = text_of(argument, "type"), *token = text_of(argument, "token"),
               *name = text_of(argument, "name");

    if (token != NULL) {
        write_text(to, token);
        fputs(type != NULL && strcmp(type, "pure-token") == 0 ? "" : " ", to);
    }
    if (type == NULL || strcmp(type, "pure-token") == 0 || depth > DEPTH)
        return;
    if (strcmp(type, "oneof") == 0)
        write_parts(to, argument, "|", depth);
    else if (strcmp(type, "block") == 0)
        write_parts(to, argument, " ", depth);
    else
        write_text(to, name == NULL ? "" : name);
}

static void write_argument(FILE *to, const redisReply *argument, int depth)
{
    bool optional = has_flag(argument, "optional");

    fputs(optional ? "[" : "", to);
    write_core(to, argument, depth);
    if (has_flag(argument, "multiple")) {
        fputs(" [", to);
        write_core(to, argument, depth);
        fputs(" ...]", to);
    }
    fputs(optional ? "]" : "", to);
}

/* ---- reading the reply */

/* The text comes from a server: it must not disturb a terminal. */
static char *copy(const char *text)
{
    char *copied = NULL;
    size_t size;
    FILE *memory = text == NULL ? NULL : open_memstream(&copied, &size);

    if (memory == NULL)
        return NULL;
    columns_write_bytes(memory, text, strlen(text), false);
    fclose(memory);
    return copied;
}

/* The words with which an argument begins, if it always begins with one. */
static void write_tokens(FILE *to, const redisReply *argument, int depth)
{
    const char *token = text_of(argument, "token"), *type = text_of(argument, "type");
    const redisReply *parts = reply_member(argument, "arguments");
    size_t count = parts == NULL || type == NULL || depth > DEPTH ? 0 : parts->elements;

    if (token != NULL) {
        write_text(to, token);
        fputc(' ', to);
        return;
    }
    if (count > 0 && strcmp(type, "block") == 0)
        write_tokens(to, parts->element[0], depth + 1);
    for (size_t i = 0; i < count && strcmp(type, "oneof") == 0; i++)
        write_tokens(to, parts->element[i], depth + 1);
}

static int values_of(const redisReply *argument)
{
    const char *type = text_of(argument, "type");
    const redisReply *parts = reply_member(argument, "arguments");
    int values = 0;

    if (type == NULL || strcmp(type, "pure-token") == 0)
        return 0;
    if (strcmp(type, "oneof") == 0 && parts != NULL && parts->elements > 0)
        return values_of(parts->element[0]);
    if (strcmp(type, "block") != 0 || parts == NULL)
        return 1;
    for (size_t i = 0; i < parts->elements; i++)
        values += (text_of(parts->element[i], "token") != NULL) + values_of(parts->element[i]);
    return text_of(argument, "token") == NULL && values > 0 ? values - 1 : values;
}

static void read_argument(struct argument *argument, const redisReply *from)
{
    size_t size;
    FILE *memory = open_memstream(&argument->text, &size);

    if (memory == NULL)
        return;
    write_argument(memory, from, 0);
    fclose(memory);
    memory = open_memstream(&argument->tokens, &size);
    if (memory == NULL)
        return;
    write_tokens(memory, from, 0);
    fclose(memory);
    argument->optional = has_flag(from, "optional");
    argument->multiple = has_flag(from, "multiple");
    argument->values = values_of(from);
}

static void read_name(struct entry *entry, const char *name)
{
    size_t i;

    entry->name_words = 1;
    for (i = 0; name[i] != '\0' && i + 1 < NAME_ROOM; i++) {
        entry->name[i] = name[i] == '|' ? ' '
                         : name[i] > ' ' && name[i] < 0x7f
                             ? (char)toupper((unsigned char)name[i])
                             : '?';
        entry->name_words += name[i] == '|';
    }
    entry->name[i] = '\0';
}

static void read_commands(struct command_hints *hints, const redisReply *map, int depth);

static void read_command(struct command_hints *hints, const char *name, const redisReply *map,
                         int depth)
{
    const redisReply *arguments = reply_member(map, "arguments"),
                     *parts = reply_member(map, "subcommands");
    struct entry *entry;

    if (parts != NULL && depth == 0) {
        read_commands(hints, parts, depth + 1);
        return;
    }
    hints->entries =
        client_allocate(hints->entries, (hints->count + 1) * sizeof(*hints->entries));
    entry = &hints->entries[hints->count++];
    *entry = (struct entry){.summary = copy(text_of(map, "summary")),
                            .group = copy(text_of(map, "group")),
                            .since = copy(text_of(map, "since"))};
    read_name(entry, name);
    entry->count = arguments == NULL ? 0 : arguments->elements;
    entry->arguments = client_allocate(NULL, entry->count * sizeof(*entry->arguments));
    for (size_t i = 0; i < entry->count; i++) {
        entry->arguments[i] = (struct argument){0};
        read_argument(&entry->arguments[i], arguments->element[i]);
    }
}

static void read_commands(struct command_hints *hints, const redisReply *map, int depth)
{
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (map->element[i]->str != NULL)
            read_command(hints, map->element[i]->str, map->element[i + 1], depth);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(((const struct entry *)one)->name, ((const struct entry *)other)->name);
}

struct command_hints *command_hints_new(const redisReply *reply)
{
    struct command_hints *hints;

    if (reply == NULL || (reply->type != REDIS_REPLY_ARRAY && reply->type != REDIS_REPLY_MAP))
        return NULL;
    hints = client_allocate(NULL, sizeof(*hints));
    *hints = (struct command_hints){0};
    read_commands(hints, reply, 0);
    if (hints->count > 0)
        qsort(hints->entries, hints->count, sizeof(*hints->entries), by_name);
    return hints;
}

static void release_entry(struct entry *entry)
{
    for (size_t i = 0; i < entry->count; i++) {
        free(entry->arguments[i].text);
        free(entry->arguments[i].tokens);
    }
    free(entry->arguments);
    free(entry->summary);
    free(entry->group);
    free(entry->since);
}

void command_hints_free(struct command_hints *hints)
{
    for (size_t i = 0; hints != NULL && i < hints->count; i++)
        release_entry(&hints->entries[i]);
    if (hints != NULL)
        free(hints->entries);
    free(hints);
}

/* ---- finding */

/* Do the first words make this name? */
static bool is_named(const struct entry *entry, const struct words *words, int from)
{
    const char *space = strchr(entry->name, ' ');
    char first[NAME_ROOM];

    if (words->count - from < entry->name_words)
        return false;
    if (space == NULL)
        return words_is(words, from, entry->name);
    snprintf(first, sizeof(first), "%.*s", (int)(space - entry->name), entry->name);
    return words_is(words, from, first) && words_is(words, from + 1, space + 1);
}

static const struct entry *find(const struct command_hints *hints, const struct words *words)
{
    for (size_t i = 0; hints != NULL && i < hints->count; i++)
        if (is_named(&hints->entries[i], words, 0))
            return &hints->entries[i];
    return NULL;
}

/* Splits what was typed; a quote that is open yet is closed for it. */
static bool split_typed(const char *line, size_t size, struct words *words)
{
    static const char *const ends[] = {"", "\"", "'"};
    char *text = client_allocate(NULL, size + 2);
    bool split = false;

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && !split; i++) {
        memcpy(text, line, size);
        memcpy(text + size, ends[i], strlen(ends[i]));
        split = words_split(text, size + strlen(ends[i]), words);
    }
    free(text);
    return split;
}

/* ---- hints */

/* Tells each token of an argument that begins so. */
static size_t find_tokens(const struct argument *argument, const char *word, size_t size,
                          command_hints_fn tell, void *context)
{
    const char *at = argument->tokens == NULL ? "" : argument->tokens;
    char token[NAME_ROOM];
    size_t found = 0;

    for (; *at != '\0'; at += strcspn(at, " ") + 1) {
        snprintf(token, sizeof(token), "%.*s", (int)strcspn(at, " "), at);
        if (strncasecmp(token, word, size) != 0)
            continue;
        found += strlen(token) == size;
        if (tell != NULL)
            tell(context, token);
    }
    return found;
}

static bool has_token(const struct argument *argument)
{
    return argument->tokens != NULL && argument->tokens[0] != '\0';
}

/* Which arguments are there already. */
static void mark_typed(const struct entry *entry, const struct words *words, bool *typed)
{
    size_t next = 0; /* of those without a token */

    for (int i = entry->name_words; i < words->count; i++) {
        size_t found = entry->count;

        for (size_t k = 0; k < entry->count && found == entry->count; k++)
            if (!typed[k] && find_tokens(&entry->arguments[k], words->texts[i],
                                         strlen(words->texts[i]), NULL, NULL) > 0)
                found = k;
        if (found < entry->count) {
            typed[found] = true;
            i += entry->arguments[found].values;
            continue;
        }
        while (next < entry->count && (typed[next] || (entry->arguments[next].optional &&
                                                       has_token(&entry->arguments[next]))))
            next++;
        if (next < entry->count && !entry->arguments[next].multiple)
            typed[next++] = true;
    }
}

void command_hints_show(const struct command_hints *hints, const char *line, size_t size,
                        char *text, size_t room)
{
    struct words words;
    const struct entry *entry;
    size_t used = 0;
    bool *typed;

    text[0] = '\0';
    if (!split_typed(line, size, &words))
        return;
    entry = find(hints, &words);
    typed = client_allocate(NULL, entry == NULL ? 1 : entry->count + 1);
    if (entry != NULL) {
        memset(typed, 0, entry->count + 1);
        mark_typed(entry, &words, typed);
    }
    for (size_t i = 0; entry != NULL && i < entry->count; i++) {
        size_t length = strlen(entry->arguments[i].text);

        if (typed[i])
            continue;
        if (used + length + 2 > room)
            break;
        used += (size_t)snprintf(text + used, room - used, "%s%s", used == 0 ? "" : " ",
                                 entry->arguments[i].text);
    }
    free(typed);
    words_release(&words);
}

/* ---- completion */

/* The names, and their second words. */
static void complete_name(const struct command_hints *hints, const char *line, size_t size,
                          command_hints_fn tell, void *context)
{
    char last[NAME_ROOM] = "";

    for (size_t i = 0; i < hints->count; i++) {
        const char *name = hints->entries[i].name;
        size_t end = size > strlen(name) ? 0 : size + strcspn(name + size, " ");
        char word[NAME_ROOM];

        if (end == 0 || strncasecmp(name, line, size) != 0)
            continue;
        snprintf(word, sizeof(word), "%.*s", (int)end, name);
        if (strcmp(word, last) != 0)
            tell(context, strrchr(word, ' ') == NULL ? word : strrchr(word, ' ') + 1);
        memcpy(last, word, sizeof(last));
    }
}

static void complete_option(const struct entry *entry, const char *word, size_t size,
                            command_hints_fn tell, void *context)
{
    for (size_t i = 0; i < entry->count; i++)
        find_tokens(&entry->arguments[i], word, size, tell, context);
}

void command_hints_complete(const struct command_hints *hints, const char *line, size_t size,
                            command_hints_fn tell, void *context)
{
    struct words words;
    const struct entry *entry;
    size_t word = size;

    while (word > 0 && line[word - 1] != ' ')
        word--;
    if (hints == NULL || !split_typed(line, word, &words))
        return;
    entry = find(hints, &words);
    if (entry != NULL && word < size)
        complete_option(entry, line + word, size - word, tell, context);
    else if (entry == NULL && words.count <= 1)
        complete_name(hints, line, size, tell, context);
    words_release(&words);
}

/* ---- help */

static void print_help(const struct entry *entry)
{
    printf("\n  %s%s%s", paint_begin(PAINT_HEAD), entry->name, paint_end());
    for (size_t i = 0; i < entry->count; i++)
        printf(" %s", entry->arguments[i].text);
    printf("\n  %s\n", entry->summary == NULL ? "" : entry->summary);
    if (entry->since != NULL && entry->group != NULL)
        printf("  since %s, group @%s\n", entry->since, entry->group);
}

/* The words may be the first of a name's. */
static bool is_asked(const struct entry *entry, const struct words *words, int from)
{
    size_t at = 0;

    if (words->texts[from][0] == '@')
        return entry->group != NULL && strcasecmp(entry->group, words->texts[from] + 1) == 0;
    for (int i = from; i < words->count; i++) {
        size_t size = strlen(words->texts[i]);

        if (strncasecmp(entry->name + at, words->texts[i], size) != 0 ||
            strchr(" ", entry->name[at + size]) == NULL)
            return false;
        at += size + (entry->name[at + size] == ' ');
    }
    return true;
}

bool command_hints_help(const struct command_hints *hints, const struct words *words, int from)
{
    bool found = false;

    for (size_t i = 0; hints != NULL && i < hints->count; i++)
        if (is_asked(&hints->entries[i], words, from)) {
            print_help(&hints->entries[i]);
            found = true;
        }
    if (found)
        putchar('\n');
    return found;
}
