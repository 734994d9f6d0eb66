/* Parses the notation of a command's arguments ("key [NX|XX] score member [score member ...]")
 * into the tree that COMMAND DOCS shows and from which redis-cli makes its hints. */
#ifndef DUEQ_SYNTAX_H
#define DUEQ_SYNTAX_H

#include <stdbool.h>

enum { SYNTAX_NODES = 64, SYNTAX_NAME = 40 };

struct syntax_node {
    char name[SYNTAX_NAME];
    char token[SYNTAX_NAME]; /* "" : none */
    const char *type;        /* string integer key pattern pure-token oneof block */
    bool optional, multiple;
    int child, next; /* indexes of nodes; -1: none */
};

struct syntax {
    struct syntax_node nodes[SYNTAX_NODES];
    int count;
    int first; /* -1: no arguments */
};

/* Parses an entry's syntax, which is part of the program. */
void syntax_parse(const char *text, struct syntax *ret_syntax);

#endif
