#include "server/process/process_memory.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

struct process_memory process_memory_read(void)
{
    unsigned long long total, resident = 0, shared = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    struct process_memory memory = {0};
    struct rusage usage = {0};

    if (file != NULL) {
        if (fscanf(file, "%llu %llu %llu", &total, &resident, &shared) != 3 ||
            shared > resident)
            resident = shared = 0;
        fclose(file);
    }
    getrusage(RUSAGE_SELF, &usage);
    memory.resident = resident * page;
    memory.own = (resident - shared) * page;
    memory.peak = (uint64_t)usage.ru_maxrss * 1024;
    if (memory.peak < memory.resident)
        memory.peak = memory.resident;
    return memory;
}
