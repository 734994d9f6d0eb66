#include "server/dispatch/docs/syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct parser {
    const char *at;
    struct syntax *syntax;
};

/* A run of siblings under construction. */
struct run {
    int first, last;
    int count;
};

static int parse_items(struct parser *parser, char end);

/* ---- nodes */

static int new_node(struct parser *parser, const char *name, const char *type)
{
    struct syntax *syntax = parser->syntax;
    struct syntax_node *node;

    if (syntax->count == SYNTAX_NODES)
        return -1;
    node = &syntax->nodes[syntax->count];
    *node = (struct syntax_node){.type = type, .child = -1, .next = -1};
    snprintf(node->name, sizeof(node->name), "%s", name);
    return syntax->count++;
}

static void append(struct parser *parser, struct run *run, int node)
{
    if (node < 0)
        return;
    if (run->last < 0)
        run->first = node;
    else
        parser->syntax->nodes[run->last].next = node;
    run->last = node;
    run->count++;
}

static const char *type_of(const char *name)
{
    static const char *const integers[] = {
        "count",   "numtopics",    "numkeys",     "index",         "protover", "client-id",
        "token",   "unix-ms",      "start",       "stop",          "end",      "offset",
        "seconds", "milliseconds", "cursor",      "bit",           "db",       "rank",
        "len",     "limit",        "numreplicas", "destination-db"};

    if (strcmp(name, "key") == 0 || strcmp(name, "topic") == 0)
        return "key";
    if (strcmp(name, "score") == 0 || strcmp(name, "timeout") == 0 ||
        strcmp(name, "weight") == 0)
        return "double";
    if (isdigit((unsigned char)name[0])) /* a range: 0-255 */
        return "integer";
    if (strncmp(name, "unix-time", 9) == 0)
        return "unix-time";
    if (strcmp(name, "pattern") == 0)
        return "pattern";
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
        if (strcmp(name, integers[i]) == 0)
            return "integer";
    return "string";
}

/* ---- words */

static void skip_spaces(struct parser *parser)
{
    while (*parser->at == ' ')
        parser->at++;
}

static void take_word(struct parser *parser, char *word)
{
    size_t size = strcspn(parser->at, " []<>|");

    snprintf(word, SYNTAX_NAME, "%.*s", (int)size, parser->at);
    parser->at += size;
}

static bool is_token(const char *word)
{
    bool letters = false;

    for (; *word != '\0'; word++) {
        if (islower((unsigned char)*word))
            return false;
        letters |= isupper((unsigned char)*word) != 0;
    }
    return letters;
}

static bool argument_follows(const struct parser *parser)
{
    unsigned char first = (unsigned char)(parser->at[0] == ' ' ? parser->at[1] : '\0');

    return islower(first) || isdigit(first);
}

static void lower(char *text)
{
    for (; *text != '\0'; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* A plain name, a token alone, or a token with its value. */
static int parse_word(struct parser *parser)
{
    char word[SYNTAX_NAME], token[SYNTAX_NAME];
    int node;

    take_word(parser, word);
    if (!is_token(word))
        return new_node(parser, word, type_of(word));
    snprintf(token, sizeof(token), "%s", word);
    if (argument_follows(parser)) {
        parser->at++;
        take_word(parser, word);
        node = new_node(parser, word, type_of(word));
    } else {
        lower(word);
        node = new_node(parser, word, "pure-token");
    }
    if (node >= 0)
        snprintf(parser->syntax->nodes[node].token, SYNTAX_NAME, "%s", token);
    return node;
}

/* ---- groups */

static int wrap(struct parser *parser, const struct run *run, const char *type)
{
    int node =
        new_node(parser, run->first < 0 ? "" : parser->syntax->nodes[run->first].name, type);

    if (node >= 0)
        parser->syntax->nodes[node].child = run->first;
    return node;
}

/* Alternatives up to the closing character: one node, a oneof when there are several. */
static int parse_choice(struct parser *parser, char end)
{
    struct run choices = {-1, -1, 0};

    for (;;) {
        append(parser, &choices, parse_items(parser, end));
        if (*parser->at != '|')
            break;
        parser->at++;
    }
    if (*parser->at == end)
        parser->at++;
    return choices.count == 1 ? choices.first : wrap(parser, &choices, "oneof");
}

/* "[name ...]" repeats the names before it. Returns how many names it contains; 0: it is not of
 * that form. */
static int repeat_length(const char *at)
{
    const char *end = strchr(at, ']');
    int words = 1;

    if (end == NULL || end - at < 4 || strncmp(end - 4, " ...", 4) != 0)
        return 0;
    for (const char *p = at; p < end - 4; p++) {
        if (*p == '[')
            return 0; /* the dots belong to a group inside */
        words += *p == ' ';
    }
    return words;
}

/* Marks the last nodes of the run as repeated; several become a block. */
static void repeat(struct parser *parser, struct run *run, int length)
{
    struct syntax_node *nodes = parser->syntax->nodes;
    struct run tail = {-1, run->last, length};
    int before = -1, node;

    parser->at = strchr(parser->at, ']') + 1;
    if (length <= 1 || length > run->count) {
        if (run->last >= 0)
            nodes[run->last].multiple = true;
        return;
    }
    tail.first = run->first;
    for (int i = run->count - length; i > 0; i--) {
        before = tail.first;
        tail.first = nodes[tail.first].next;
    }
    node = wrap(parser, &tail, "block");
    if (node < 0)
        return;
    nodes[node].multiple = true;
    if (before < 0)
        run->first = node;
    else
        nodes[before].next = node;
    run->last = node;
    run->count -= length - 1;
}

static int parse_optional(struct parser *parser)
{
    int node = parse_choice(parser, ']');

    if (node >= 0)
        parser->syntax->nodes[node].optional = true;
    return node;
}

static void parse_item(struct parser *parser, struct run *run)
{
    int length;

    if (*parser->at == '[') {
        parser->at++;
        length = repeat_length(parser->at);
        if (length > 0)
            repeat(parser, run, length);
        else
            append(parser, run, parse_optional(parser));
    } else if (*parser->at == '<') {
        parser->at++;
        append(parser, run, parse_choice(parser, '>'));
    } else {
        append(parser, run, parse_word(parser));
    }
}

/* A sequence up to `end` or a bar: one node, a block when there are several. */
static int parse_items(struct parser *parser, char end)
{
    struct run run = {-1, -1, 0};

    for (skip_spaces(parser); *parser->at != '\0' && *parser->at != end && *parser->at != '|';
         skip_spaces(parser)) {
        const char *before = parser->at;

        parse_item(parser, &run);
        if (parser->at == before)
            parser->at++; /* a stray bracket in an entry: go on */
    }
    return run.count <= 1 ? run.first : wrap(parser, &run, "block");
}

void syntax_parse(const char *text, struct syntax *ret_syntax)
{
    struct parser parser = {text, ret_syntax};
    struct run run = {-1, -1, 0};

    ret_syntax->count = 0;
    for (skip_spaces(&parser); *parser.at != '\0'; skip_spaces(&parser)) {
        const char *before = parser.at;

        parse_item(&parser, &run);
        if (parser.at == before)
            parser.at++;
    }
    ret_syntax->first = run.first;
}
