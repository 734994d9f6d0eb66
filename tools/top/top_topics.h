/* The topics that `dueq top` shows: what is known of each, in which order they stand, and which
 * are to be asked about next. No sockets, no clock, no terminal. */
#ifndef DUEQ_TOP_TOPICS_H
#define DUEQ_TOP_TOPICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum topic_column {
    TOPIC_NAME,
    TOPIC_READY,
    TOPIC_DELAYED,
    TOPIC_WAITING,
    TOPIC_CLAIMED,
    TOPIC_DEAD,
    TOPIC_OLDEST,
    TOPIC_NEXT,
    TOPIC_IN,
    TOPIC_OUT,
    TOPIC_PAUSED,
    TOPIC_COLUMNS,
};

/* What Q.STATS says. */
struct topic_figures {
    int64_t ready, delayed, waiting, claimed, dead;
    int64_t oldest;        /* ms since the oldest ready job fell due; 0: there is none */
    int64_t next_due;      /* unix ms; -1: there is none */
    int64_t pushed, acked; /* since the topic exists */
    char paused[8];        /* "in", "out", "all", or "" */
};

struct top_topic {
    char *name; /* any bytes */
    size_t size;
    struct topic_figures now;
    int64_t asked;  /* ms of any clock that runs on; 0: no figures yet */
    bool forbidden; /* the user may not read it */
    double in, out; /* jobs a second that were pushed, acked; negative: not known yet */
};

enum { TOPIC_FILTER_MAX = 128 };

struct top_topics {
    struct top_topic **all; /* in the order of their names */
    size_t count;
    struct top_topic **shown; /* those that the filter lets through, in the order wanted */
    size_t shown_count;
    enum topic_column order;
    bool reverse;
    char filter[TOPIC_FILTER_MAX]; /* a part of the name, capital or small; "": all */
    struct top_topic *selected;    /* one of `shown`; NULL: there is none */
    size_t turn;                   /* of `all`: who is asked about next */
};

void top_topics_release(struct top_topics *rows);

/* Takes the names of all topics, each once, in the order of their bytes. What is known of those
 * that stay is kept. */
void top_topics_list(struct top_topics *rows, const char *const *names, const size_t *sizes,
                     size_t count);

/* Takes figures, and makes rates of them and those before. */
void top_topic_take(struct top_topic *row, const struct topic_figures *figures, int64_t now);

/* Filters and sorts. The selected topic stays selected, or the one that comes to its place is.
 */
void top_topics_arrange(struct top_topics *rows);

/* Where the selected topic stands in `shown`; 0 when there is none. */
size_t top_topics_selected(const struct top_topics *rows);
void top_topics_select(struct top_topics *rows, size_t at); /* the last one, if too far */

/* Whom to ask about: `visible` rows from `from` on, and `others` more in turn, so that in time
 * all have been asked about. Writes visible + others pointers at most; returns how many. */
size_t top_topics_choose(struct top_topics *rows, size_t from, size_t visible, size_t others,
                         struct top_topic **ret_chosen);

#endif
