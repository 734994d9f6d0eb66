#include "tools/move/moved_job.h"

#include "storage/xxh3.h"

#include <inttypes.h>
#include <stdio.h>

int64_t moved_due(double score)
{
    /* 100,000,000,000 is the year 5138 in seconds and 1973 in ms; and so on. */
    if (!(score > 0))
        return 0;
    if (score < 1e11)
        return (int64_t)(score * 1000 + 0.5);
    if (score < 1e14)
        return (int64_t)score;
    if (score < 1e17)
        return (int64_t)(score / 1e3);
    return score < 9e18 ? (int64_t)(score / 1e6) : 0;
}

void moved_make_id(struct dueq_slice bytes, char *ret_id)
{
    XXH128_hash_t hash = XXH3_128bits(bytes.data, bytes.size);
    char text[MADE_ID + 1];

    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
    memcpy(ret_id, text, MADE_ID);
}
