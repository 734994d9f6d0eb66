#include "server/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = 32 };

/* An option takes the values up to the next option; "--save ''" has one empty value. */
static int option_values(int argc, char **argv, int at, struct argument *values)
{
    int count = 0;

    while (at + count < argc && count < VALUES_MOST &&
           strncmp(argv[at + count], "--", 2) != 0) {
        values[count] = (struct argument){argv[at + count], strlen(argv[at + count])};
        count++;
    }
    return count;
}

static bool fail(struct config_error *error, const char *text)
{
    snprintf(error->text, sizeof(error->text), "%s", text);
    return false;
}

/* Of a secret, or of a misspelt name, which may be that of one, the value is not shown. */
static const char *shown_value(const char *name, const struct argument *values, size_t count)
{
    int index = config_find((struct argument){name, strlen(name)});

    if (count == 0)
        return "";
    return index < 0 || config_is_secret((size_t)index) ? "..." : values[0].data;
}

static bool take_option(struct config *config, const char *name, const struct argument *values,
                        size_t count, struct config_error *error)
{
    struct config_error why;

    if (strcmp(name, "config") == 0)
        return count == 1 ? config_read_file(config, values[0].data, error)
                          : fail(error, "--config takes one file");
    if (config_set(config, name, values, count, &why))
        return true;
    snprintf(error->text, sizeof(error->text), "*** command line: '--%.100s%s%.200s': %.120s",
             name, count > 0 ? " " : "", shown_value(name, values, count), why.text);
    return false;
}

static bool read_arguments(struct config *config, int argc, char **argv,
                           struct config_error *error)
{
    struct argument values[VALUES_MOST];
    int at = 0;

    if (argc > 0 && strncmp(argv[0], "--", 2) != 0) {
        if (!config_read_file(config, argv[0], error))
            return false;
        at = 1;
    }
    while (at < argc) {
        int count = option_values(argc, argv, at + 1, values);

        if (strncmp(argv[at], "--", 2) != 0) {
            snprintf(error->text, sizeof(error->text),
                     "*** command line: '%.200s' is not an option", argv[at]);
            return false;
        }
        if (!take_option(config, argv[at] + 2, values, (size_t)count, error))
            return false;
        at += 1 + count;
    }
    return true;
}

bool config_read_all(struct config *config, int argc, char **argv, struct config_error *error)
{
    struct config_error why;

    config->argc = argc;
    config->argv = argv;
    if (config_read_credentials(config, getenv("CREDENTIALS_DIRECTORY"), &why))
        return read_arguments(config, argc, argv, error);
    snprintf(error->text, sizeof(error->text), "credentials: %.400s", why.text);
    return false;
}
