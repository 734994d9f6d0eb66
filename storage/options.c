#include "storage/options.h"

#include <string.h>

#define MIB ((size_t)1 << 20)

void dueq_options_init_sized(struct dueq_options *options, size_t size)
{
    const struct dueq_options defaults = {
        .size = size,
        .durability = DUEQ_SYNC_ALWAYS,
        .interval_ms = 1000,
        .memtable_bytes = 40 * MIB,
        .segment_bytes = 64 * MIB,
        .record_bytes = DUEQ_RECORD_MAX,
        .journal_bytes = 512 * MIB,
        .map_bytes = sizeof(void *) == 8 ? (uint64_t)1 << 40 : 512 * MIB,
        .disk_reserve_bytes = 256 * MIB,
        .high_water_percent = 90,
        .auto_compact_percent = 100,
        .auto_compact_bytes = 64 * MIB,
    };

    memset(options, 0, size);
    memcpy(options, &defaults, size < sizeof(defaults) ? size : sizeof(defaults));
}
