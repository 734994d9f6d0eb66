#include "storage/kv/kv_options.h"

#include <inttypes.h>
#include <stdbool.h>
#include <sys/random.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct limit {
    const char *name;
    uint64_t value, least, most;
};

static enum dueq_status check(const struct limit *limit, struct dueq_error *error)
{
    if (limit->value >= limit->least && limit->value <= limit->most)
        return DUEQ_OK;
    return dueq_fail(error, DUEQ_INVALID,
                     "%s is %" PRIu64 ", it must be %" PRIu64 " to %" PRIu64, limit->name,
                     limit->value, limit->least, limit->most);
}

enum dueq_status kv_options_check(const struct dueq_options *options, struct dueq_error *error)
{
    bool paced = options->durability == DUEQ_SYNC_INTERVAL;
    const struct limit limits[] = {
        {"durability", (uint64_t)options->durability, DUEQ_SYNC_ALWAYS, DUEQ_SYNC_NONE},
        {"interval_ms", options->interval_ms, paced ? 1 : 0, paced ? 3600000 : UINT64_MAX},
        {"memtable_bytes", options->memtable_bytes, 32 * KIB, DUEQ_MEMTABLE_MAX},
        {"segment_bytes", options->segment_bytes, 64 * KIB, GIB},
        {"record_bytes", options->record_bytes, 64 * KIB, DUEQ_RECORD_MAX},
        {"journal_bytes", options->journal_bytes, 128 * KIB, UINT64_MAX},
        {"map_bytes", options->map_bytes, MIB, DUEQ_MAP_MAX},
        {"high_water_percent", options->high_water_percent, 1, 100},
        {"stage_bytes", options->stage_bytes, 0, GIB},
    };
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && status == DUEQ_OK; i++)
        status = check(&limits[i], error);
    return status;
}

enum dueq_status kv_options_random(uint64_t *ret_random)
{
    return getrandom(ret_random, sizeof(*ret_random), 0) == (ssize_t)sizeof(*ret_random)
               ? DUEQ_OK
               : DUEQ_IO;
}

enum dueq_status kv_options_seed(const struct dueq_options *options, uint64_t *ret_seed)
{
    *ret_seed = options->seed;
    return options->seed != 0 ? DUEQ_OK : kv_options_random(ret_seed);
}
