#include "tools/top/server_figures.h"

#include "protocol/number.h"

#include <stdio.h>
#include <string.h>

static void take(struct server_figures *figures, const char *name, size_t name_size,
                 const char *value, size_t size)
{
    int64_t micros = 0;
    const struct {
        const char *name;
        int64_t *place;
    } numbers[] = {{"server_time_usec", &micros},
                   {"uptime_in_seconds", &figures->uptime},
                   {"used_memory_rss", &figures->memory},
                   {"journal_bytes", &figures->journal},
                   {"connected_clients", &figures->clients},
                   {"longest_turn_usec", &figures->longest},
                   {"pressure", &figures->pressure}};

    if (name_size == strlen("dueq_version") && memcmp(name, "dueq_version", name_size) == 0)
        snprintf(figures->version, sizeof(figures->version), "%.*s", (int)size, value);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (name_size == strlen(numbers[i].name) &&
            memcmp(name, numbers[i].name, name_size) == 0)
            number_parse_integer(value, size, numbers[i].place);
    if (micros != 0)
        figures->now = micros / 1000;
}

void server_figures_read(struct server_figures *figures, const char *info)
{
    *figures = (struct server_figures){0};
    while (*info != '\0') {
        size_t size = strcspn(info, "\r\n");
        const char *colon = memchr(info, ':', size);

        if (colon != NULL)
            take(figures, info, (size_t)(colon - info), colon + 1,
                 size - (size_t)(colon - info) - 1);
        info += size + strspn(info + size, "\r\n");
    }
}
