/* Reads the notation of a command's arguments ("key [NX|XX] score member [score member ...]")
 * into the tree that COMMAND DOCS shows and redis-cli makes its hints from. */
#ifndef DUEQ_SYNTAX_H
#define DUEQ_SYNTAX_H

#include <stdbool.h>

enum { SYNTAX_NODES = 48, SYNTAX_NAME = 40 };

struct syntax_node {
    char name[SYNTAX_NAME];
    char token[SYNTAX_NAME]; /* "" : none */
    const char *type;        /* string integer key pattern pure-token oneof block */
    bool optional, multiple;
    int child, next; /* -1: none */
};

struct syntax {
    struct syntax_node nodes[SYNTAX_NODES];
    int count;
    int first; /* -1: no arguments */
};

void syntax_parse(const char *text, struct syntax *ret_syntax);

#endif
