/* `dueq forward`: claims jobs of a topic, brings them to a target, and acks what the target has
 * confirmed. forwarding.c is the loop, source.h the server, target.h the other end; keeper.h
 * extends the leases meanwhile, on a thread of its own. */
#ifndef DUEQ_FORWARD_H
#define DUEQ_FORWARD_H

#include "tools/client/client_call.h"
#include "tools/forward/pace.h"
#include "tools/forward/target.h"

enum {
    FORWARD_BATCH_MOST = 1000,
    FORWARD_PARTLY = 3,      /* --once: jobs were refused or put off */
    FORWARD_SERVER_AWAY = 4, /* --once: the server cannot be reached */
    FORWARD_TARGET_AWAY = 5, /* --once: the target cannot be reached */
};

struct forward_options {
    struct online_options where; /* the server */
    struct dueq_slice topic;
    const char *worker;
    struct target_options target;
    struct pace pace;
    int64_t batch, lease_ms, grace_ms, later_most_ms, away_most_ms;
    bool once, refused_dies, later_fails, verbose;
};

/* Until a signal, or with `once` until no job is due. Returns the exit status. */
int forward_run(const struct forward_options *options, struct target *target);

#endif
