#include "storage/queue/core/recent_claims.h"

#include <stdlib.h>

enum { TOPIC_STEP = 1021 };

/* The hash is that of the topic and the id. */
struct recent_claim {
    uint64_t hash, seq;
    int64_t token;
};

void recent_claims_init(struct recent_claims *recent, size_t most)
{
    *recent = (struct recent_claims){.count = 1};
    while (recent->count * 2 * sizeof(*recent->claims) <= most)
        recent->count *= 2;
}

void recent_claims_release(struct recent_claims *recent)
{
    free(recent->claims);
    recent->claims = NULL;
}

/* Tokens of a topic come one after the other, so the place of a claim is beside that of the one
 * before, and the oldest goes. Topics whose tokens are alike begin at different places. */
static struct recent_claim *place_of(const struct recent_claims *recent, uint64_t topic,
                                     int64_t token)
{
    return &recent->claims[(topic * TOPIC_STEP + (uint64_t)token) & (recent->count - 1)];
}

void recent_claims_note(struct recent_claims *recent, uint64_t topic,
                        const struct id_index_key *id, int64_t token, uint64_t seq)
{
    if (recent->claims == NULL)
        recent->claims = calloc(recent->count, sizeof(*recent->claims));
    if (recent->claims != NULL)
        *place_of(recent, topic, token) = (struct recent_claim){id->hash, seq, token};
}

uint64_t recent_claims_find(const struct recent_claims *recent, uint64_t topic,
                            const struct id_index_key *id, int64_t token)
{
    const struct recent_claim *claim;

    if (recent->claims == NULL)
        return 0;
    claim = place_of(recent, topic, token);
    return claim->hash == id->hash && claim->token == token ? claim->seq : 0;
}
