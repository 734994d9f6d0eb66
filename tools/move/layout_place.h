/* The way back: which keys of a Redis a job of a dueq is to be in, as the layouts of layout.h
 * have them. */
#ifndef DUEQ_LAYOUT_PLACE_H
#define DUEQ_LAYOUT_PLACE_H

#include "tools/move/layout.h"

#include <stdint.h>

/* How the keys are named, and what their scores are. */
struct layout_style {
    enum layout layout;
    const char *prefix; /* before each name of a key; "" */
    const char *names;  /* FIRST=SECOND; NULL: the default ones */
    double scores;      /* ms in one of a score: 1000 is seconds */
};

/* NULL: fine. Else a sentence: the names do not fit the layout, or are too long. */
const char *layout_style_check(const struct layout_style *style);

/* A job as Q.GET tells it. */
struct placed_job {
    struct dueq_slice topic, id, body, error;
    enum { PLACED_READY, PLACED_LATER, PLACED_CLAIMED, PLACED_DEAD, PLACED_WAITING } state;
    int64_t due; /* unix ms; claimed: the end of the lease; dead: since when */
    int priority;
};

enum put_kind {
    PUT_HEAD,  /* LPUSH */
    PUT_TAIL,  /* RPUSH */
    PUT_SCORE, /* ZADD */
    PUT_FIELD, /* HSET */
    PUT_MEMBER /* SADD */
};

enum { PUTS_MAX = 2, PUT_NAME = 1024 };

struct layout_put {
    enum put_kind kind;
    bool is_note; /* it says that there is something, and is no job; a worker may take it */
    struct dueq_slice key, field, value; /* field: PUT_FIELD */
    double score;                        /* PUT_SCORE */
};

struct layout_puts {
    struct layout_put puts[PUTS_MAX];
    size_t count; /* 0: the job is left out; `why` is a sentence */
    const char *why;
    char names[PUTS_MAX][PUT_NAME]; /* where the keys are */
    char *made;                     /* a body that is not the job's own */
};

/* What is to be written, the job itself last. Points into the job and into *ret_puts until it
 * is released. */
void layout_place(const struct layout_style *style, const struct placed_job *job,
                  struct layout_puts *ret_puts);
void layout_puts_release(struct layout_puts *puts);

enum value_type put_type(enum put_kind kind);

#endif
