/* Queues as other programs lay them out in the keys of a Redis. */
#ifndef DUEQ_LAYOUT_H
#define DUEQ_LAYOUT_H

#include "tools/move/move.h"
#include "tools/move/moved_job.h"
#include "tools/move/seen.h"
#include "tools/move/value.h"

enum layout {
    LAYOUT_SIDEKIQ,   /* queue:X lists, and the zsets schedule, retry and dead */
    LAYOUT_LARAVEL,   /* queues:X lists, with :delayed and :reserved zsets */
    LAYOUT_CELERY,    /* lists of messages, and the hash unacked */
    LAYOUT_ZSET_HASH, /* zsets of ids, and hashes of bodies */
    LAYOUT_ZSET_LIST, /* zsets of what is delayed, and lists of what is ready */
    LAYOUT_ZSET,      /* zsets of bodies */
    LAYOUTS
};

const char *layout_name(enum layout layout);
/* LAYOUTS: there is none of that name. */
enum layout layout_of(const char *name);

/* What a key has in its layout. */
enum layout_role {
    ROLE_READY_FIRST, /* a list; the head is the next one */
    ROLE_READY_LAST,  /* a list; the tail is the next one */
    ROLE_TIMES,       /* a zset of bodies, by time */
    ROLE_IDS,         /* a zset of ids, by time; the bodies are in the hash `bodies` */
    ROLE_DEAD,        /* a zset of bodies that are dead */
    ROLE_UNACKED      /* a hash of messages that a worker has */
};

struct layout_key {
    enum layout layout;
    enum layout_role role;
    struct dueq_slice name;
    struct dueq_slice topic; /* empty: each job says it */
    struct dueq_slice bodies;
    int priority; /* -1: default */
    long long size;
};

struct layout_plan {
    struct layout_key *keys;
    size_t count;
    uint64_t foreign; /* names of the layout, with values of other types */
};

enum value_type layout_role_type(enum layout_role role);

/* Finds the keys of one layout, or of any (LAYOUTS). False: the source has failed. */
bool layout_find(struct move *move, enum layout layout, struct layout_plan *ret_plan);
void layout_plan_release(struct layout_plan *plan);
void layout_plan_print(const struct layout_plan *plan);

/* A key as its name and type say. False: it is not of the layout. The topic is within the name.
 */
struct layout_match {
    enum layout_role role;
    size_t topic_at, topic_size; /* size 0: the jobs say it */
    int priority;
    char bodies[512]; /* ROLE_IDS: the hash, `bodies_size` bytes */
    size_t bodies_size;
};
bool layout_match(enum layout layout, struct dueq_slice name, const char *names,
                  struct layout_match *ret_match);

/* What a job's own text says about it, in JSON. The slices live until layout_text_release. */
struct layout_text {
    void *json;
    struct dueq_slice id, topic, body; /* empty: it does not say; body: the text itself */
    int64_t due;                       /* 0: it does not say */
};
void layout_text_read(enum layout layout, enum layout_role role, struct dueq_slice text,
                      struct layout_text *ret_text);
void layout_text_release(struct layout_text *text);
/* Does the text look like a job of this layout? */
bool layout_text_fits(enum layout layout, struct dueq_slice text);

/* Reads the jobs of all keys. */
struct layout_walk {
    struct move *move;
    const struct layout_plan *plan;
    job_fn job;
    void *arg;
    struct seen seen;
    uint64_t found, left_out, changed;
    const char *why; /* of the last one that was left out */
};
/* False: the source has failed, or `job` ended it. */
bool layout_walk(struct layout_walk *walk);

#endif
