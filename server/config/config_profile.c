/* Profiles: values of several options for a kind of machine. An option that a file, the command
 * line or CONFIG SET gives keeps its value, before and after the profile. */
#include "server/config/config_options.h"

#include <string.h>

struct preset {
    const char *name, *value;
};

/* A device: 8 MB of memory with 100,000 jobs; a disk of some hundred MB. */
static const struct preset edge[] = {
    {"maxclients", "64"},
    {"tcp-backlog", "16"},
    {"proto-max-bulk-len", "1mb"},
    {"client-query-buffer-limit", "1mb"},
    {"client-output-buffer-limit", "normal 1mb 0 0 replica 1mb 0 0 pubsub 1mb 256kb 60"},
    {"maxmemory-clients", "2mb"},
    {"slowlog-max-len", "16"},
    {"dashboard-history", "no"},
    {"memtable-size", "256kb"},
    {"segment-size", "1mb"},
    {"journal-size", "4mb"},
    {"map-size", "512mb"},
    {"disk-reserve", "8mb"},
    {"auto-compact-min-size", "4mb"},
    {"drop-pages", "yes"},
    {NULL, NULL},
};

static const struct preset none[] = {{NULL, NULL}};

static const struct {
    const char *name;
    const struct preset *presets;
} profiles[] = {{"default", none}, {"edge", edge}};

enum { PROFILES = sizeof(profiles) / sizeof(profiles[0]) };

/* The values of the presets, or the table's. */
static bool take(struct config *config, const struct preset *presets, bool initial,
                 struct config_error *error)
{
    for (; presets->name != NULL; presets++) {
        int index = config_find((struct argument){presets->name, strlen(presets->name)});
        const struct option *option = &config_options[index];

        if (!config->chosen[index] &&
            !config_option_set_text(config, option, initial ? option->initial : presets->value,
                                    error))
            return false;
    }
    return true;
}

static bool parse_profile(struct config *config, const struct option *option,
                          const struct argument *values, size_t count,
                          struct config_error *error)
{
    (void)option;
    (void)count;
    for (int i = 0; i < PROFILES; i++) {
        if (!argument_is(values[0], profiles[i].name))
            continue;
        if (!take(config, profiles[config->profile].presets, true, error) ||
            !take(config, profiles[i].presets, false, error))
            return false;
        config->profile = i;
        return true;
    }
    return config_fail(error, "must be: default or edge");
}

static size_t format_profile(const struct config *config, const struct option *option,
                             char *text)
{
    const char *name = profiles[config->profile].name;

    (void)option;
    strcpy(text, name);
    return strlen(name);
}

const struct option_kind config_kind_profile = {.parse = parse_profile,
                                                .format = format_profile};
