/* Which keyspace notifications are published: the letters of notify-keyspace-events, as a set
 * of bits. */
#ifndef DUEQ_KEYSPACE_EVENTS_H
#define DUEQ_KEYSPACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>

/* In the order in which Redis prints them. */
enum keyspace_event {
    EVENT_GENERIC = 1 << 0,    /* g: DEL, EXPIRE, RENAME, ... */
    EVENT_STRING = 1 << 1,     /* $ */
    EVENT_LIST = 1 << 2,       /* l */
    EVENT_SET = 1 << 3,        /* s */
    EVENT_HASH = 1 << 4,       /* h */
    EVENT_ZSET = 1 << 5,       /* z */
    EVENT_EXPIRED = 1 << 6,    /* x */
    EVENT_EVICTED = 1 << 7,    /* e */
    EVENT_STREAM = 1 << 8,     /* t */
    EVENT_MODULE = 1 << 9,     /* d */
    EVENT_ALL = (1 << 10) - 1, /* A: all of these */

    EVENT_NEW = 1 << 10,      /* n: a key that did not exist is written */
    EVENT_KEYSPACE = 1 << 11, /* K: on __keyspace@<db>__:<key> */
    EVENT_KEYEVENT = 1 << 12, /* E: on __keyevent@<db>__:<event> */
    EVENT_MISS = 1 << 13      /* m: a key that does not exist is read */
};

enum { KEYSPACE_EVENTS_TEXT_MAX = 16 };

/* Reads `count` letters. False: a letter is none of these; *ret_events has not changed. */
bool keyspace_events_parse(const char *letters, size_t count, unsigned *ret_events);

/* Writes the letters and a zero as Redis prints them: "AKE". `text` has
 * KEYSPACE_EVENTS_TEXT_MAX bytes. */
void keyspace_events_format(unsigned events, char *text);

/* Is the event published? Its class must be in the set, and at least one kind of channel. */
static inline bool keyspace_events_include(unsigned events, enum keyspace_event event)
{
    return (events & (unsigned)event) != 0 && (events & (EVENT_KEYSPACE | EVENT_KEYEVENT)) != 0;
}

#endif
