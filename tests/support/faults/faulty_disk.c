#include "tests/support/faults/faulty_disk.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *trigger_path(const struct server_process *server)
{
    char *path = NULL;
    if (asprintf(&path, "%s/fault", server->directory) < 0)
        abort();
    return path;
}

void faulty_disk_prepare(struct server_process *server, long countdown)
{
    char *binary = strdup(server_binary()), *trigger = trigger_path(server);
    char library[4096], count[32];
    snprintf(library, sizeof(library), "%s/tests/fault/preload/preload_faulty_disk.so",
             dirname(binary));
    snprintf(count, sizeof(count), "%ld", countdown);
    server_process_environment(server, "LD_PRELOAD", library);
    server_process_environment(server, "ASAN_OPTIONS", "verify_asan_link_order=0");
    server_process_environment(server, "FAULTY_DISK_PATH", server->data);
    server_process_environment(server, "FAULTY_DISK_TRIGGER", trigger);
    server_process_environment(server, "FAULTY_DISK_COUNTDOWN", count);
    free(binary);
    free(trigger);
}

/* Renames the file, so that the server never reads half of it. */
void faulty_disk_break(const struct server_process *server, const char *faults)
{
    char *trigger = trigger_path(server), *half = NULL;
    if (asprintf(&half, "%s.new", trigger) < 0)
        abort();
    FILE *file = fopen(half, "w");
    if (!file || fprintf(file, "%s\n", faults) < 0 || fclose(file) != 0 ||
        rename(half, trigger) != 0)
        abort();
    free(half);
    free(trigger);
}

void faulty_disk_repair(const struct server_process *server)
{
    char *trigger = trigger_path(server);
    unlink(trigger);
    free(trigger);
}
