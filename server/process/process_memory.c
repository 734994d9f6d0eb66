#include "server/process/process_memory.h"

#include <stdio.h>
#include <unistd.h>

/* The kernel keeps one of `resident` only, and that grows with each page of data.mdb. */
static uint64_t peak;

struct process_memory process_memory_read(void)
{
    unsigned long long total, resident = 0, shared = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    struct process_memory memory = {0};

    if (file != NULL) {
        if (fscanf(file, "%llu %llu %llu", &total, &resident, &shared) != 3 ||
            shared > resident)
            resident = shared = 0;
        fclose(file);
    }
    memory.resident = resident * page;
    memory.own = (resident - shared) * page;
    if (memory.own > peak)
        peak = memory.own;
    memory.peak = peak;
    return memory;
}
