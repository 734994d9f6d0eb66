#include "server/config/config_options.h"
#include "storage/dueq.h"

#include "protocol/tokens.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- life */

bool config_option_set_text(struct config *config, const struct option *option,
                            const char *text, struct config_error *error)
{
    const char *value = text[0] == '\0' ? "\"\"" : text;
    char space[520];
    struct argument values[16];
    int count = tokens_split(value, strlen(value), space, values, 16);

    return config_option_set(config, option, values, (size_t)count, error);
}

void config_init(struct config *config)
{
    struct config_error error;

    assert(config_option_count <= CONFIG_OPTIONS_MOST);
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; i < config_option_count; i++)
        config_option_set_text(config, config_option_at(i), config_option_at(i)->initial,
                               &error);
}

void config_release_users(struct config *config)
{
    struct config_user *user, *next;

    DL_FOREACH_SAFE(config->users, user, next)
        free(user);
    config->users = NULL;
}

/* Keeps a copy of the words; the rules are checked by those who know them. */
static bool add_user(struct config *config, const struct argument *words, size_t count,
                     struct config_error *error)
{
    size_t bytes = sizeof(struct config_user) + count * sizeof(*words);
    struct config_user *user;
    char *at;

    if (count == 0)
        return config_fail(error, "wrong number of arguments");
    for (size_t i = 0; i < count; i++)
        bytes += words[i].size + 1;
    user = malloc(bytes);
    if (user == NULL)
        return config_fail(error, "out of memory");
    user->count = count;
    at = (char *)(user->words + count);
    for (size_t i = 0; i < count; i++) {
        memcpy(at, words[i].data, words[i].size + 1);
        user->words[i] = (struct argument){at, words[i].size};
        at += words[i].size + 1;
        config->users_hash = XXH3_64bits_withSeed(words[i].data, words[i].size + 1,
                                                  config->users_hash + (i == 0));
    }
    DL_APPEND(config->users, user);
    return true;
}

void config_release(struct config *config)
{
    config_release_users(config);
    for (size_t i = 0; i < config_option_count; i++)
        if (config_option_owns_text(config_option_at(i)))
            free(*config_option_text(config, config_option_at(i)));
    free(config->file);
    free(config->credentials);
    memset(config, 0, sizeof(*config));
}

/* Replaces *text by a copy. False: out of memory, and *text is NULL. */
static bool own(char **text, size_t size)
{
    char *copy = *text == NULL ? NULL : malloc(size + 1);
    bool good = copy != NULL || *text == NULL;

    if (copy != NULL)
        memcpy(copy, *text, size + 1);
    *text = copy;
    return good;
}

static bool own_text(struct config *copy, const struct option *option)
{
    char **text = config_option_text(copy, option);
    size_t size = *text == NULL ? 0 : strlen(*text);

    return own(text, option->kind == &config_kind_secret ? copy->requirepass_size : size);
}

bool config_copy(const struct config *config, struct config *ret_copy)
{
    struct config copy = *config;
    bool good;

    copy.users = NULL;
    good = own(&copy.file, copy.file == NULL ? 0 : strlen(copy.file));
    good &= own(&copy.credentials, copy.credentials == NULL ? 0 : strlen(copy.credentials));
    for (size_t i = 0; i < config_option_count; i++)
        if (config_option_owns_text(config_option_at(i)))
            good &= own_text(&copy, config_option_at(i));
    if (good)
        *ret_copy = copy;
    else
        config_release(&copy);
    return good;
}

/* ---- setting */

enum { SPLIT_VALUES_MAX = 64 };

/* Splits at spaces; an empty text is one empty value. Returns how many; -1: too many. */
static int split(struct argument argument, struct argument *values)
{
    const char *at = argument.data, *end = argument.data + argument.size;
    int count = 0;

    for (;;) {
        const char *start;

        while (at < end && *at == ' ')
            at++;
        for (start = at; at < end && *at != ' ';)
            at++;
        if (at == start)
            break;
        if (count == SPLIT_VALUES_MAX)
            return -1;
        values[count++] = (struct argument){start, (size_t)(at - start)};
    }
    if (count == 0)
        values[count++] = (struct argument){argument.data, 0};
    return count;
}

/* Several values may be one argument, with spaces between them. */
static bool set_parts(struct config *config, const struct option *option,
                      const struct argument *values, size_t count, struct config_error *error)
{
    struct argument parts[SPLIT_VALUES_MAX];
    int part_count;

    if (count != 1 || !option->kind->several)
        return config_option_set(config, option, values, count, error);
    part_count = split(values[0], parts);
    if (part_count < 0)
        return config_fail(error, "wrong number of arguments");
    return config_option_set(config, option, parts, (size_t)part_count, error);
}

static bool set_values(struct config *config, const struct option *option,
                       const struct argument *values, size_t count, struct config_error *error)
{
    bool good = set_parts(config, option, values, count, error);

    if (good)
        config->chosen[option - config_options] = 1;
    return good;
}

bool config_set(struct config *config, const char *name, const struct argument *values,
                size_t count, struct config_error *error)
{
    int index = config_find((struct argument){name, strlen(name)});

    if (strcasecmp(name, "user") == 0)
        return add_user(config, values, count, error);
    if (index < 0)
        return config_fail(error, "Bad directive or wrong number of arguments");
    return set_values(config, config_option_at((size_t)index), values, count, error);
}

bool config_set_value(struct config *config, size_t index, struct argument value,
                      struct config_error *error)
{
    return set_values(config, config_option_at(index), &value, 1, error);
}

bool config_may_change(const struct config *config, size_t index, struct argument value)
{
    const struct option *option = config_option_at(index);
    char now[CONFIG_TEXT_MAX];
    size_t size;

    /* config_kind_fixed has an error text of its own */
    if (option->change != CHANGE_TO_SAME || option->kind == &config_kind_fixed)
        return option->change != CHANGE_NEVER;
    size = config_get(config, index, now);
    return value.size == size && memcmp(value.data, now, size) == 0;
}

/* ---- getting */

size_t config_get(const struct config *config, size_t index, char *text)
{
    const struct option *option = config_option_at(index);

    return option->kind->format(config, option, text);
}

void config_store_options(const struct config *config, struct dueq_options *options)
{
    dueq_options_init(options);
    options->durability = (enum dueq_durability)config->durability;
    options->interval_ms = (unsigned)config->durability_interval;
    options->memtable_bytes = (size_t)config->memtable_size;
    options->segment_bytes = (size_t)config->segment_size;
    options->journal_bytes = (uint64_t)config->journal_size;
    options->map_bytes = (uint64_t)config->map_size;
    options->disk_reserve_bytes = (uint64_t)config->disk_reserve;
    options->high_water_percent = (unsigned)config->high_water_percent;
    options->auto_compact_percent = (unsigned)config->auto_compact_percentage;
    options->auto_compact_bytes = (uint64_t)config->auto_compact_min_size;
    options->drop_pages = config->drop_pages != 0;
    options->archive_dir = config->archive_dir[0] == '\0' ? NULL : config->archive_dir;
    options->archive_max_lag = (uint64_t)config->archive_max_lag;
    options->archive_interval_ms = (unsigned)config->archive_interval * 1000;
}

bool config_wants_tls(const struct config *config)
{
    return config->tls_port > 0 || (config->http_port > 0 && config->http_tls);
}

void config_print_options(void)
{
    for (size_t i = 0; i < config_option_count; i++) {
        const struct option *option = &config_options[i];

        if (option->what != NULL)
            printf("  --%-27s %s (%s)\n", option->name, option->what,
                   option->initial[0] == '\0' ? "none" : option->initial);
    }
}
