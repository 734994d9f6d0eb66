/* Which job each of the last claims took. An ack names its job by id and token, and mostly
 * comes soon after the claim: it then needs no search in the index of ids. A table in RAM in
 * which a new claim takes the place of an old one; what it says is only a hint, and the caller
 * looks whether the job's state has the token. Private to storage/queue. */
#ifndef DUEQ_RECENT_CLAIMS_H
#define DUEQ_RECENT_CLAIMS_H

#include "storage/queue/core/id_index.h"

struct recent_claim;

struct recent_claims {
    struct recent_claim *claims; /* NULL: none yet */
    uint64_t count;              /* a power of two */
};

/* most: bytes that it may have. It takes none before the first claim. */
void recent_claims_init(struct recent_claims *recent, size_t most);
void recent_claims_release(struct recent_claims *recent);

/* topic: of which the id and the token are. Without memory nothing is noted. O(1). */
void recent_claims_note(struct recent_claims *recent, uint64_t topic,
                        const struct id_index_key *id, int64_t token, uint64_t seq);
/* The seq of the job that was claimed so; 0: it is not known. O(1). */
uint64_t recent_claims_find(const struct recent_claims *recent, uint64_t topic,
                            const struct id_index_key *id, int64_t token);

#endif
