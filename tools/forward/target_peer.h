/* What targets that speak RESP share: a connection, and jobs whose replies come in their order.
 */
#ifndef DUEQ_TARGET_PEER_H
#define DUEQ_TARGET_PEER_H

#include "tools/forward/target.h"
#include "tools/forward/target_url.h"
#include "tools/move/peer.h"
#include "tools/move/place.h"

enum { TARGET_PIPELINE = 1000 /* jobs without a reply */ };

struct target_peer {
    struct target target; /* the first one: a target is one of these */
    const struct target_options *options;
    struct target_url url;
    struct place place;
    struct peer peer;
    struct forward_job *waiting[TARGET_PIPELINE]; /* a ring */
    size_t first, count;
    bool hears; /* replies may be in memory already, where poll sees none */
    bool spoke; /* since it was heard last */
    int64_t heard_at;
    /* What an error in place of a confirmation means for the job: refused or away. */
    enum outcome (*judge)(const char *error);
};

/* What is said when a target that takes an id that it knows for a repeat is given no prefix. */
extern const char target_needs_prefix[];

/* A target of `size` bytes, which begins with a target_peer, of this kind. `read_url` reads the
 * rest of it. NULL: *why. */
struct target *target_peer_new(size_t size, const struct target_kind *kind,
                               enum outcome (*judge)(const char *error),
                               bool (*read_url)(struct target_peer *target,
                                                const struct target_options *options,
                                                char *why),
                               const struct target_options *options, char *why);
/* Reads where the server is, of a URL that is parsed. False: *why. */
bool target_peer_init(struct target_peer *target, const struct target_options *options,
                      char *why);
bool target_peer_open(struct target *target);
void target_peer_shut(struct target *target);
void target_peer_free(struct target *target);
/* NULL: there is no room, or the job has its outcome. Else the request of the job is to be
 * written to it. */
struct peer *target_peer_begin(struct target *target, struct forward_job *job);
void target_peer_turn(struct target *target, int wait_ms);

#endif
