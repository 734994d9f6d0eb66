/* What is true for any text as a configuration file: it is taken, or refused with words. What
 * was taken can be shown, set again and written back, and is the same then. The fuzzer and the
 * test that replays the corpus share this.
 *
 * Lines that include other files are not read: they would leave the test. */
#ifndef DUEQ_CONFIG_CHECK_H
#define DUEQ_CONFIG_CHECK_H

#include "server/config/config.h"
#include "server/config/config_file.h"
#include "tests/support/temp_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline bool config_has_same(const struct config *one, const struct config *other)
{
    char left[CONFIG_TEXT_MAX], right[CONFIG_TEXT_MAX];

    for (size_t i = 0; i < config_count(); i++) {
        config_get(one, i, left);
        config_get(other, i, right);
        if (strcmp(left, right) != 0) {
            fprintf(stderr, "%s was '%s', is '%s'\n", config_name(i), left, right);
            return false;
        }
    }
    return true;
}

/* What CONFIG GET shows is what CONFIG SET takes. */
static inline bool config_sets_again(const struct config *config)
{
    char text[CONFIG_TEXT_MAX];
    struct config_error error;
    struct config other;
    bool good = true;

    config_init(&other);
    for (size_t i = 0; i < config_count() && good; i++) {
        size_t size = config_get(config, i, text);

        good = config_set_value(&other, i, (struct argument){text, size}, &error);
        if (!good)
            fprintf(stderr, "%s '%s': %s\n", config_name(i), text, error.text);
    }
    good = good && config_has_same(config, &other);
    config_release(&other);
    return good;
}

static inline bool config_reads_file(struct config *config, const char *path,
                                     struct config_error *error)
{
    config_init(config);
    return config_read_file(config, path, error);
}

static inline bool config_writes_back(const struct config *config)
{
    struct config_error error = {""};
    struct config other;
    bool good = config_rewrite(config, "", &error);

    if (!good) {
        fprintf(stderr, "not written: %s\n", error.text);
        return false;
    }
    good = config_reads_file(&other, config->file, &error) && config_has_same(config, &other);
    if (!good)
        fprintf(stderr, "read back: %s\n", error.text);
    config_release(&other);
    return good;
}

static inline void config_write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static inline bool config_check_file(const char *path)
{
    struct config_error error = {""};
    struct config config;
    bool good;

    if (config_reads_file(&config, path, &error))
        good = config_sets_again(&config) && config_writes_back(&config);
    else
        good = error.text[0] != '\0';
    config_release(&config);
    return good;
}

static inline bool config_holds_up(const uint8_t *data, size_t size)
{
    char path[PATH_MAX], *dir, *text = strndup((const char *)data, size);
    bool good = true;

    if (text == NULL)
        abort();
    if (strcasestr(text, "include") == NULL && strlen(text) == size) {
        dir = temp_dir_new();
        snprintf(path, sizeof(path), "%s/dueq.conf", dir);
        config_write_file(path, data, size);
        good = config_check_file(path);
        temp_dir_remove(dir);
    }
    free(text);
    return good;
}

#endif
