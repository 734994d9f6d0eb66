/* The kinds of value: how each is parsed and written. */
#include "server/config/config_options.h"

#include "protocol/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool config_fail(struct config_error *error, const char *why)
{
    snprintf(error->text, sizeof(error->text), "%s", why);
    return false;
}

static int64_t *number_at(const struct config *config, const struct option *option)
{
    return (int64_t *)(void *)((char *)(uintptr_t)config + option->offset);
}

char **config_option_text(const struct config *config, const struct option *option)
{
    return (char **)(void *)((char *)(uintptr_t)config + option->offset);
}

bool config_option_owns_text(const struct option *option)
{
    return option->kind == &config_kind_text || option->kind == &config_kind_words ||
           option->kind == &config_kind_secret;
}

bool config_option_set(struct config *config, const struct option *option,
                       const struct argument *values, size_t count, struct config_error *error)
{
    if (count == 0 || (count > 1 && !option->kind->several))
        return config_fail(error, "wrong number of arguments");
    return option->kind->parse(config, option, values, count, error);
}

/* ---- names */

/* -1: none of them. */
static int find_name(const char *const *names, struct argument value)
{
    for (int i = 0; names[i] != NULL; i++)
        if (argument_is(value, names[i]))
            return i;
    return -1;
}

static bool refuse_word(struct config_error *error, const char *const *names)
{
    size_t used = (size_t)snprintf(error->text, sizeof(error->text),
                                   "argument(s) must be one of the following: ");

    for (int i = 0; names[i] != NULL; i++)
        used += (size_t)snprintf(error->text + used, sizeof(error->text) - used, "%s%s",
                                 i > 0 ? ", " : "", names[i]);
    return false;
}

/* ---- text */

static size_t copy_text(char *text, const char *from)
{
    return (size_t)snprintf(text, CONFIG_TEXT_MAX, "%s", from);
}

/* Joins the values with spaces. False: the text is too long or contains a zero. */
static bool join(const struct argument *values, size_t count, char *text)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        if (size + values[i].size + 2 > CONFIG_TEXT_MAX ||
            memchr(values[i].data, '\0', values[i].size) != NULL)
            return false;
        if (i > 0)
            text[size++] = ' ';
        memcpy(text + size, values[i].data, values[i].size);
        size += values[i].size;
    }
    text[size] = '\0';
    return true;
}

static bool parse_text(struct config *config, const struct option *option,
                       const struct argument *values, size_t count, struct config_error *error)
{
    char text[CONFIG_TEXT_MAX], *copy;

    if (!join(values, count, text))
        return config_fail(error, "argument is too long, or has a zero byte");
    copy = strdup(text);
    if (copy == NULL)
        return config_fail(error, "out of memory");
    free(*config_option_text(config, option));
    *config_option_text(config, option) = copy;
    return true;
}

static size_t format_text(const struct config *config, const struct option *option, char *text)
{
    return (size_t)snprintf(text, CONFIG_TEXT_MAX, "%s", *config_option_text(config, option));
}

const struct option_kind config_kind_text = {.parse = parse_text, .format = format_text};

/* Leaves one space between two words, and none around them: CONFIG GET and a rewritten file
 * show what the listener reads. */
static void squeeze(char *text)
{
    const char *from = text;
    char *to = text;

    while (*(from += strspn(from, " ")) != '\0') {
        size_t size = strcspn(from, " ");

        if (to > text)
            *to++ = ' ';
        memmove(to, from, size);
        to += size;
        from += size;
    }
    *to = '\0';
}

/* bind and http-bind. */
static bool parse_words(struct config *config, const struct option *option,
                        const struct argument *values, size_t count, struct config_error *error)
{
    if (count > (size_t)option->most)
        return config_fail(error, "Too many bind addresses specified.");
    if (!parse_text(config, option, values, count, error))
        return false;
    squeeze(*config_option_text(config, option));
    return true;
}

const struct option_kind config_kind_words = {
    .several = true, .parse = parse_words, .format = format_text};

/* A password may hold any byte. */
static bool parse_secret(struct config *config, const struct option *option,
                         const struct argument *values, size_t count,
                         struct config_error *error)
{
    char *copy;

    (void)count;
    if (values[0].size >= CONFIG_TEXT_MAX)
        return config_fail(error, "argument is too long");
    copy = malloc(values[0].size + 1);
    if (copy == NULL)
        return config_fail(error, "out of memory");
    memcpy(copy, values[0].data, values[0].size);
    copy[values[0].size] = '\0';
    free(*config_option_text(config, option));
    *config_option_text(config, option) = copy;
    config->requirepass_size = values[0].size;
    return true;
}

static size_t format_secret(const struct config *config, const struct option *option,
                            char *text)
{
    memcpy(text, *config_option_text(config, option), config->requirepass_size + 1);
    return config->requirepass_size;
}

const struct option_kind config_kind_secret = {.parse = parse_secret, .format = format_secret};

/* ---- numbers */

static bool store_number(struct config *config, const struct option *option, int64_t number,
                         struct config_error *error)
{
    if (number >= option->least && number <= option->most) {
        *number_at(config, option) = number;
        return true;
    }
    snprintf(error->text, sizeof(error->text),
             "argument must be between %" PRId64 " and %" PRId64 " inclusive", option->least,
             option->most);
    return false;
}

static bool parse_number(struct config *config, const struct option *option,
                         const struct argument *values, size_t count,
                         struct config_error *error)
{
    int64_t number;

    (void)count;
    if (!number_parse_integer(values[0].data, values[0].size, &number))
        return config_fail(error, "argument couldn't be parsed into an integer");
    return store_number(config, option, number, error);
}

static size_t format_number(const struct config *config, const struct option *option,
                            char *text)
{
    return (size_t)snprintf(text, CONFIG_TEXT_MAX, "%" PRId64, *number_at(config, option));
}

const struct option_kind config_kind_number = {.parse = parse_number, .format = format_number};

static bool parse_octal(struct config *config, const struct option *option,
                        const struct argument *values, size_t count, struct config_error *error)
{
    int64_t number = 0;

    (void)count;
    for (size_t i = 0; i < values[0].size; i++) {
        if (values[0].data[i] < '0' || values[0].data[i] > '7' || i > 8)
            return config_fail(error, "argument couldn't be parsed as an octal number");
        number = number * 8 + (values[0].data[i] - '0');
    }
    if (number <= option->most)
        return store_number(config, option, number, error);
    snprintf(error->text, sizeof(error->text),
             "argument must be between %" PRIo64 " and %" PRIo64 " inclusive",
             (uint64_t)option->least, (uint64_t)option->most);
    return false;
}

static size_t format_octal(const struct config *config, const struct option *option, char *text)
{
    return (size_t)snprintf(text, CONFIG_TEXT_MAX, "%" PRIo64,
                            (uint64_t)*number_at(config, option));
}

const struct option_kind config_kind_octal = {.parse = parse_octal, .format = format_octal};

/* Writes a number with the largest unit that divides it; the last unit is 1. */
struct unit {
    int64_t size;
    const char *name;
};

static size_t format_units(const struct unit *unit, int64_t number, char *text)
{
    while (number == 0 ? unit->size > 1 : number % unit->size != 0)
        unit++;
    return (size_t)snprintf(text, CONFIG_TEXT_MAX, "%" PRId64 "%s", number / unit->size,
                            unit->name);
}

static bool parse_bytes(struct config *config, const struct option *option,
                        const struct argument *values, size_t count, struct config_error *error)
{
    uint64_t bytes;

    (void)count;
    if (!number_parse_bytes(values[0].data, values[0].size, &bytes) || bytes > INT64_MAX)
        return config_fail(error, "argument must be a memory value");
    return store_number(config, option, (int64_t)bytes, error);
}

static size_t format_bytes_line(const struct config *config, const struct option *option,
                                char *text)
{
    static const struct unit units[] = {
        {(int64_t)1 << 30, "gb"}, {1 << 20, "mb"}, {1 << 10, "kb"}, {1, ""}};

    return format_units(units, *number_at(config, option), text);
}

const struct option_kind config_kind_bytes = {
    .parse = parse_bytes, .format = format_number, .format_line = format_bytes_line};

static bool parse_percent(struct argument value, int64_t *ret_percent)
{
    return value.size > 1 && value.data[value.size - 1] == '%' &&
           number_parse_integer(value.data, value.size - 1, ret_percent) && *ret_percent > 0 &&
           *ret_percent <= 100;
}

static bool parse_share(struct config *config, const struct option *option,
                        const struct argument *values, size_t count, struct config_error *error)
{
    uint64_t bytes;
    int64_t percent;

    (void)count;
    if (parse_percent(values[0], &percent))
        *number_at(config, option) = -percent;
    else if (number_parse_bytes(values[0].data, values[0].size, &bytes) && bytes <= INT64_MAX)
        *number_at(config, option) = (int64_t)bytes;
    else
        return config_fail(error, "argument must be a memory or percent value");
    return true;
}

static size_t format_share(const struct config *config, const struct option *option, char *text)
{
    int64_t number = *number_at(config, option);

    if (number >= 0)
        return format_number(config, option, text);
    return (size_t)snprintf(text, CONFIG_TEXT_MAX, "%" PRId64 "%%", -number);
}

static size_t format_share_line(const struct config *config, const struct option *option,
                                char *text)
{
    if (*number_at(config, option) < 0)
        return format_share(config, option, text);
    return format_bytes_line(config, option, text);
}

const struct option_kind config_kind_share = {
    .parse = parse_share, .format = format_share, .format_line = format_share_line};

static bool parse_duration(struct config *config, const struct option *option,
                           const struct argument *values, size_t count,
                           struct config_error *error)
{
    (void)count;
    return number_parse_duration(values[0].data, values[0].size, number_at(config, option)) ||
           config_fail(error,
                       "argument must be a duration: milliseconds, or with ms, s, m, h, d");
}

static size_t format_duration_line(const struct config *config, const struct option *option,
                                   char *text)
{
    static const struct unit units[] = {
        {86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, ""}};

    return format_units(units, *number_at(config, option), text);
}

const struct option_kind config_kind_duration = {
    .parse = parse_duration, .format = format_number, .format_line = format_duration_line};

/* ---- one of several names */

static bool parse_yesno(struct config *config, const struct option *option,
                        const struct argument *values, size_t count, struct config_error *error)
{
    static const char *const names[] = {"no", "yes", NULL};
    int found = find_name(names, values[0]);

    (void)count;
    if (found < 0)
        return config_fail(error, "argument must be 'yes' or 'no'");
    *number_at(config, option) = found;
    return true;
}

static size_t format_yesno(const struct config *config, const struct option *option, char *text)
{
    return copy_text(text, *number_at(config, option) ? "yes" : "no");
}

const struct option_kind config_kind_yesno = {.parse = parse_yesno, .format = format_yesno};

/* The number of the name in the list. */
static bool parse_name(struct config *config, const struct option *option,
                       const struct argument *values, const char *const *names,
                       struct config_error *error)
{
    int found = find_name(names, values[0]);

    if (found < 0)
        return refuse_word(error, names);
    *number_at(config, option) = found;
    return true;
}

static bool parse_word(struct config *config, const struct option *option,
                       const struct argument *values, size_t count, struct config_error *error)
{
    (void)count;
    return parse_name(config, option, values, option->kind->names, error);
}

static size_t format_word(const struct config *config, const struct option *option, char *text)
{
    return copy_text(text, option->kind->names[*number_at(config, option)]);
}

/* By the enum of the option in config.h. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct option_kind config_kind_level = {
    .parse = parse_word,
    .format = format_word,
    .names = WORDS("debug", "verbose", "notice", "warning")};
const struct option_kind config_kind_log_format = {
    .parse = parse_word, .format = format_word, .names = WORDS("text", "json")};
const struct option_kind config_kind_tls_clients = {
    .parse = parse_word, .format = format_word, .names = WORDS("no", "yes", "optional")};
const struct option_kind config_kind_http_tls_clients = {
    .parse = parse_word,
    .format = format_word,
    .names = WORDS("no", "yes", "optional", "same")};
const struct option_kind config_kind_http_api = {
    .parse = parse_word, .format = format_word, .names = WORDS("no", "yes", "read")};
const struct option_kind config_kind_password_hash = {
    .parse = parse_word, .format = format_word, .names = WORDS("sha256", "argon2id")};

/* As syslog(3) numbers them. */
enum { FACILITY_USER = 1, FACILITY_LOCAL0 = 16 };

static const char *const facility_names[] = {"user",   "local0", "local1", "local2", "local3",
                                             "local4", "local5", "local6", "local7", NULL};

static bool parse_facility(struct config *config, const struct option *option,
                           const struct argument *values, size_t count,
                           struct config_error *error)
{
    int64_t *number = number_at(config, option);

    (void)count;
    if (!parse_name(config, option, values, facility_names, error))
        return false;
    *number = *number == 0 ? FACILITY_USER : FACILITY_LOCAL0 + *number - 1;
    return true;
}

static size_t format_facility(const struct config *config, const struct option *option,
                              char *text)
{
    int64_t number = *number_at(config, option);

    return copy_text(
        text, facility_names[number == FACILITY_USER ? 0 : number - FACILITY_LOCAL0 + 1]);
}

const struct option_kind config_kind_facility = {.parse = parse_facility,
                                                 .format = format_facility};

/* In the order of Redis' error; the values are those of enum acl_channels. */
static const char *const channel_names[] = {"allchannels", "resetchannels", NULL};

static bool parse_channels(struct config *config, const struct option *option,
                           const struct argument *values, size_t count,
                           struct config_error *error)
{
    int found = find_name(channel_names, values[0]);

    (void)count;
    if (found < 0)
        return refuse_word(error, channel_names);
    *number_at(config, option) = found == 0;
    return true;
}

static size_t format_channels(const struct config *config, const struct option *option,
                              char *text)
{
    return copy_text(text, channel_names[*number_at(config, option) == 0]);
}

const struct option_kind config_kind_channels = {.parse = parse_channels,
                                                 .format = format_channels};

/* ---- durability */

enum { INTERVAL_DEFAULT = 1000, INTERVAL_MAX = 3600000 };

static const char *const durability_names[] = {"always", "interval", "none", NULL};

static bool parse_durability(struct config *config, const struct option *option,
                             const struct argument *values, size_t count,
                             struct config_error *error)
{
    int mode = find_name(durability_names, values[0]);
    int64_t interval = INTERVAL_DEFAULT;

    (void)option;
    if (mode < 0 || count > 2 || (count == 2 && mode != DUEQ_SYNC_INTERVAL) ||
        (count == 2 && (!number_parse_duration(values[1].data, values[1].size, &interval) ||
                        interval < 1 || interval > INTERVAL_MAX)))
        return config_fail(error, "must be: always, interval MS (1 to 3600000), or none");
    config->durability = mode;
    config->durability_interval = interval;
    return true;
}

static size_t format_durability(const struct config *config, const struct option *option,
                                char *text)
{
    (void)option;
    if (config->durability != DUEQ_SYNC_INTERVAL)
        return copy_text(text, durability_names[config->durability]);
    return (size_t)snprintf(text, CONFIG_TEXT_MAX, "interval %" PRId64,
                            config->durability_interval);
}

const struct option_kind config_kind_durability = {
    .several = true, .parse = parse_durability, .format = format_durability};

/* By enum dueq_durability, and in the order in which Redis' error lists them. */
static const char *const fsync_of_modes[] = {"always", "everysec", "no"};
static const char *const fsync_names[] = {"everysec", "always", "no", NULL};
static const enum dueq_durability fsync_modes[] = {DUEQ_SYNC_INTERVAL, DUEQ_SYNC_ALWAYS,
                                                   DUEQ_SYNC_NONE};

static bool parse_appendfsync(struct config *config, const struct option *option,
                              const struct argument *values, size_t count,
                              struct config_error *error)
{
    int found = find_name(fsync_names, values[0]);

    (void)option;
    (void)count;
    if (found < 0)
        return refuse_word(error, fsync_names);
    if (config->durability != (int64_t)fsync_modes[found])
        config->durability_interval = INTERVAL_DEFAULT;
    config->durability = fsync_modes[found];
    return true;
}

static size_t format_appendfsync(const struct config *config, const struct option *option,
                                 char *text)
{
    (void)option;
    return copy_text(text, fsync_of_modes[config->durability]);
}

const struct option_kind config_kind_appendfsync = {.parse = parse_appendfsync,
                                                    .format = format_appendfsync};

/* ---- kinds that have files of their own */

static bool parse_output_limits(struct config *config, const struct option *option,
                                const struct argument *values, size_t count,
                                struct config_error *error)
{
    const char *why = output_limits_parse(&config->output_limits, values, count);

    (void)option;
    return why == NULL || config_fail(error, why);
}

static size_t format_output_limits(const struct config *config, const struct option *option,
                                   char *text)
{
    (void)option;
    output_limits_format(&config->output_limits, text, CONFIG_TEXT_MAX);
    return strlen(text);
}

const struct option_kind config_kind_output_limits = {
    .several = true, .parse = parse_output_limits, .format = format_output_limits};

static bool parse_events(struct config *config, const struct option *option,
                         const struct argument *values, size_t count,
                         struct config_error *error)
{
    unsigned events;

    (void)count;
    if (!keyspace_events_parse(values[0].data, values[0].size, &events))
        return config_fail(error, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
    *number_at(config, option) = events;
    return true;
}

static size_t format_events(const struct config *config, const struct option *option,
                            char *text)
{
    keyspace_events_format((unsigned)*number_at(config, option), text);
    return strlen(text);
}

const struct option_kind config_kind_events = {.parse = parse_events, .format = format_events};

/* ---- fixed values */

static bool parse_fixed(struct config *config, const struct option *option,
                        const struct argument *values, size_t count, struct config_error *error)
{
    (void)config;
    if (count == 1 && argument_is(values[0], option->initial))
        return true;
    snprintf(error->text, sizeof(error->text), "dueq has this one way only: '%s'",
             option->initial);
    return false;
}

static size_t format_fixed(const struct config *config, const struct option *option, char *text)
{
    (void)config;
    return copy_text(text, option->initial);
}

const struct option_kind config_kind_fixed = {
    .several = true, .parse = parse_fixed, .format = format_fixed};
