/* What INFO says about a server as a whole. */
#ifndef DUEQ_SERVER_FIGURES_H
#define DUEQ_SERVER_FIGURES_H

#include <stdint.h>

struct server_figures {
    char version[32];
    int64_t now;      /* of its clock, unix ms */
    int64_t uptime;   /* s */
    int64_t memory;   /* bytes it has of the machine */
    int64_t journal;  /* bytes */
    int64_t clients;  /* connections */
    int64_t longest;  /* its longest turn, us */
    int64_t pressure; /* 0 to 2,000; from 1,000 on pushes wait */
};

/* Reads the text of INFO; what is missing in it is 0. */
void server_figures_read(struct server_figures *figures, const char *info);

#endif
