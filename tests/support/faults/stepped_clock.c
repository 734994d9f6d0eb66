#include "tests/support/faults/stepped_clock.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct stepped_clock *stepped_clock_prepare(struct server_process *server)
{
    char *binary = strdup(server_binary()), *path = NULL;
    char library[4096];
    if (asprintf(&path, "%s/clock", server->directory) < 0)
        abort();
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct stepped_clock)) != 0)
        abort();
    struct stepped_clock *clock =
        mmap(NULL, sizeof(*clock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (clock == MAP_FAILED)
        abort();
    close(fd);
    clock->boot = 1;
    snprintf(library, sizeof(library), "%s/tests/fault/preload/preload_stepped_clock.so",
             dirname(binary));
    server_process_environment(server, "LD_PRELOAD", library);
    server_process_environment(server, "ASAN_OPTIONS", "verify_asan_link_order=0");
    server_process_environment(server, "STEPPED_CLOCK", path);
    free(binary);
    free(path);
    return clock;
}

void stepped_clock_reboot(struct stepped_clock *clock)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    clock->boot_ahead = 30 - (int64_t)now.tv_sec;
    clock->boot++;
}
