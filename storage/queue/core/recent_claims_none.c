/* For libdueq-small: an ack searches the index of ids, and no memory is kept for claims. */
#include "storage/queue/core/recent_claims.h"

void recent_claims_init(struct recent_claims *recent, size_t most)
{
    (void)recent;
    (void)most;
}

void recent_claims_release(struct recent_claims *recent)
{
    (void)recent;
}

void recent_claims_note(struct recent_claims *recent, uint64_t topic,
                        const struct id_index_key *id, int64_t token, uint64_t seq)
{
    (void)recent;
    (void)topic;
    (void)id;
    (void)token;
    (void)seq;
}

uint64_t recent_claims_find(const struct recent_claims *recent, uint64_t topic,
                            const struct id_index_key *id, int64_t token)
{
    (void)recent;
    (void)topic;
    (void)id;
    (void)token;
    return 0;
}
