/* Connections of `dueq bench`. */
#ifndef DUEQ_DIAL_H
#define DUEQ_DIAL_H

#include <stdbool.h>
#include <stddef.h>

struct dial {
    const char *host;
    int port;
    const char *unix_path; /* NULL: host and port */
    const char *user;      /* with a password only; NULL: the default one */
    const char *password;  /* NULL: no AUTH */
};

/* A socket that does not block, connected and logged in. -1: *why, `size` bytes. */
int dial(const struct dial *place, char *why, size_t size);

#endif
