/* What `dueq import` and `dueq export` share: two servers, what is to be done, and what was. */
#ifndef DUEQ_MOVE_H
#define DUEQ_MOVE_H

#include "tools/move/part.h"
#include "tools/move/peer.h"
#include "tools/move/place.h"
#include "tools/move/progress.h"

#include <stdint.h>

enum {
    MOVE_DONE = 0,
    MOVE_FAILED = 1,    /* in the middle: run it again */
    MOVE_NOT_BEGUN = 2, /* usage, or a login that a server refuses */
    MOVE_PARTLY = 3,    /* it came to its end, but not all is there, or not all is equal */
    MOVE_UNREACHABLE = 4
};

enum move_verify { VERIFY_NONE, VERIFY_SAMPLE, VERIFY_ALL };

struct move_options {
    const char *command; /* "dueq import", for messages */
    const char *pattern; /* NULL: all keys */
    const char *layout;  /* NULL: keys as they are */
    const char *topic;   /* NULL: the name in the layout */
    const char *names;   /* of two keys of a layout, FIRST=SECOND; NULL: the known ones */
    const char *window;  /* how long ids stay taken after a job; a duration */
    const char *prefix;  /* of the keys of a layout; NULL: none */
    const char *scores;  /* what the scores of a layout count; NULL: seconds */
    enum move_verify verify;
    bool dry_run, replace, keep, json;
};

struct move {
    const struct move_options *options;
    struct peer from, to;
    struct progress progress;
    char part[PART_NAME];
    void *counts; /* JSON; NULL: nobody asks for it */
};

/* For --json: how many there were of what. */
void move_count(struct move *move, const char *name, uint64_t count);

/* Prints what has failed, of whichever peer. Returns MOVE_FAILED. */
int move_tell_failure(const struct move *move);

/* Keys as they are. Returns the exit status. */
int move_keys(struct move *move);

/* Queues, as options->layout says, into topics. Returns the exit status. */
int move_jobs(struct move *move);
bool move_knows_layout(const char *name);

/* Topics into queues, as options->layout says. Returns the exit status. */
int export_jobs(struct move *move);
/* NULL: the options fit each other. Else a sentence. */
const char *export_jobs_check(const struct move_options *options);

/* To standard output, with \xHH for what does not print. */
void move_print_name(struct dueq_slice name);

/* Calls `page` for replies of SCAN: names in an array. False: a peer has failed, or `page` said
 * so. */
typedef bool (*scan_fn)(void *arg, const redisReply *names);
bool move_scan(struct move *move, scan_fn page, void *arg);

#endif
