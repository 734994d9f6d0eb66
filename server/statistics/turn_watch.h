/* How long turns of the loop take, and what the longest one did: a client waits at least as
 * long as the turn in which its request arrives. The busiest one took the most of the
 * processor: on a machine with other work that is what the server can answer for. `now`:
 * microseconds of any one clock; `cpu`: of the loop's thread. */
#ifndef DUEQ_TURN_WATCH_H
#define DUEQ_TURN_WATCH_H

#include "storage/stats.h"

#include <stdbool.h>
#include <stdint.h>

struct command;

enum turn_part {
    TURN_EVENTS,  /* sockets: reading requests, running them, sending replies */
    TURN_SECOND,  /* what is done once a second */
    TURN_RESUMED, /* requests that were held or had no time before */
    TURN_WORKS,   /* a slice of long work */
    TURN_TICK,    /* what time brings, and erasing */
    TURN_WAITERS, /* commands that were blocked */
    TURN_COMMIT,
    TURN_RELEASE, /* sending replies whose records are durable */
    TURN_FILL,    /* copying large values into replies, closing connections */
    TURN_STORE,   /* opening the store anew, changing memtables */
    TURN_PARTS
};

enum { TURN_LONG_USEC = 5000 };

struct turn {
    uint64_t usec;
    uint64_t cpu_usec; /* of these, of the loop's thread; in the others it waited for a core or
                          for the disk */
    uint64_t parts[TURN_PARTS];
    uint64_t commands;
    const struct command *command; /* the one that took the longest; NULL: none ran */
    uint64_t command_usec;
};

struct turn_watch {
    uint64_t began; /* 0: the turn has not begun, the loop waits */
    uint64_t marked;
    uint64_t seen; /* the end of its last command, or later the beginning of more requests: a
                      look at the clock that costs nothing */
    bool in_row;   /* requests of one client run, one right after the other */
    uint64_t cpu_began;
    struct turn now, longest, busiest;
    uint64_t long_turns;    /* of TURN_LONG_USEC and more */
    uint64_t busy_turns;    /* with so much of it on the processor */
    struct dueq_spans took; /* us: all turns since the start */
};

/* The loop has something to do; no turn has begun. */
void turn_watch_begin(struct turn_watch *watch, uint64_t now, uint64_t cpu);
static inline bool turn_watch_runs(const struct turn_watch *watch)
{
    return watch->began > 0;
}
/* The part has ended, and the next one begins. */
void turn_watch_mark(struct turn_watch *watch, enum turn_part part, uint64_t now);
/* From now on requests of one client run, until turn_watch_end_row. To look at the clock costs
 * as much as a short command, so each of them begins when the one before it has ended: the time
 * to parse it is its own. */
void turn_watch_begin_row(struct turn_watch *watch, uint64_t now);
void turn_watch_end_row(struct turn_watch *watch);
/* The command has ended at `now`, and took so long. */
void turn_watch_command(struct turn_watch *watch, const struct command *command, uint64_t usec,
                        uint64_t now);
void turn_watch_end(struct turn_watch *watch, uint64_t cpu);
/* Forgets the longest and the busiest turn, and how many were long. */
void turn_watch_reset(struct turn_watch *watch);

/* The part of the turn that took the longest. */
enum turn_part turn_longest_part(const struct turn *turn);
const char *turn_part_name(enum turn_part part);

#endif
