#include "server/config.h"

#include "protocol/glob.h"
#include "protocol/number.h"
#include "protocol/words.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORDS_MAX = 64, INCLUDE_DEPTH = 8 };

enum kind {
    KIND_TEXT,  /* one word */
    KIND_WORDS, /* several, kept with spaces between */
    KIND_NUMBER,
    KIND_BYTES,
    KIND_DURATION, /* ms */
    KIND_YESNO,
    KIND_LEVEL,
    KIND_DURABILITY,
    KIND_OUTPUT_LIMIT,
    KIND_OCTAL,
    KIND_FIXED /* answered, and accepted when it is the same */
};

struct option {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *initial;
    int64_t least, most;
    bool mutable;
    const char *what;
};

#define AT(field) offsetof(struct config, field)
#define GIB       ((int64_t)1 << 30)
#define TIB       ((int64_t)1 << 40)

static const struct option options[] = {
    {"bind", KIND_WORDS, AT(bind), "127.0.0.1 -::1", 0, 0, false,
     "addresses; - before: may fail"},
    {"port", KIND_NUMBER, AT(port), "6379", 0, 65535, false, "TCP port; 0: none"},
    {"unixsocket", KIND_TEXT, AT(unixsocket), "", 0, 0, false, "path of a unix socket"},
    {"unixsocketperm", KIND_OCTAL, AT(unixsocketperm), "0", 0, 0777, false, "its mode, octal"},
    {"dir", KIND_TEXT, AT(dir), "./data", 0, 0, false, "data directory"},
    {"requirepass", KIND_TEXT, AT(requirepass), "", 0, 0, true, "password of the default user"},
    {"maxclients", KIND_NUMBER, AT(maxclients), "10000", 1, 1000000, true, "connections"},
    {"timeout", KIND_NUMBER, AT(timeout), "0", 0, INT_MAX, true, "s of idleness; 0: for ever"},
    {"tcp-backlog", KIND_NUMBER, AT(tcp_backlog), "511", 1, 65535, false, "of listen(2)"},
    {"tcp-keepalive", KIND_NUMBER, AT(tcp_keepalive), "300", 0, INT_MAX, true, "s; 0: off"},
    {"loglevel", KIND_LEVEL, AT(loglevel), "notice", 0, 0, true,
     "debug verbose notice warning"},
    {"logfile", KIND_TEXT, AT(logfile), "", 0, 0, false, "path; empty: standard output"},
    {"daemonize", KIND_YESNO, AT(daemonize), "no", 0, 1, false, "go to the background"},
    {"pidfile", KIND_TEXT, AT(pidfile), "", 0, 0, false, "path"},
    {"databases", KIND_NUMBER, AT(databases), "16", 1, 16, false, "numbers for SELECT"},
    {"proto-max-bulk-len", KIND_BYTES, AT(proto_max_bulk_len), "512mb", 1024 * 1024, GIB / 2,
     true, "largest argument"},
    {"client-query-buffer-limit", KIND_BYTES, AT(client_query_buffer_limit), "1gb", 1024 * 1024,
     2 * GIB, true, "largest request"},
    {"client-output-buffer-limit", KIND_OUTPUT_LIMIT, AT(output_limit), "normal 1gb 0 0", 0, 0,
     true, "unread replies at which a client is closed"},
    {"pipeline-limit", KIND_NUMBER, AT(pipeline_limit), "1000", 1, 1000000, true,
     "requests of one client in one turn"},
    {"shutdown-timeout", KIND_NUMBER, AT(shutdown_timeout), "10", 0, INT_MAX, true,
     "s to deliver what is settled"},
    {"slowlog-log-slower-than", KIND_NUMBER, AT(slowlog_slower_than), "10000", -1, INT64_MAX,
     true, "usec"},
    {"slowlog-max-len", KIND_NUMBER, AT(slowlog_max_len), "128", 0, INT_MAX, true, "entries"},
    {"durability", KIND_DURABILITY, AT(durability), "always", 0, 0, true,
     "always | interval MS | none"},
    {"memtable-size", KIND_BYTES, AT(memtable_size), "48mb", 64 * 1024, 4 * GIB, false,
     "changes held in RAM before a checkpoint; twice that at most"},
    {"segment-size", KIND_BYTES, AT(segment_size), "64mb", 1024 * 1024, GIB, false,
     "of the journal's files"},
    {"journal-size", KIND_BYTES, AT(journal_size), "512mb", 2 * 1024 * 1024, TIB, false,
     "journal length that brings a checkpoint"},
    {"map-size", KIND_BYTES, AT(map_size), sizeof(void *) == 8 ? "1tb" : "1gb", 8 * 1024 * 1024,
     64 * TIB, false, "most that data.mdb can grow to"},
    {"disk-reserve", KIND_BYTES, AT(disk_reserve), "256mb", 0, TIB, false,
     "free disk below which pushes are refused"},
    {"high-water-percent", KIND_NUMBER, AT(high_water_percent), "90", 10, 99, false,
     "of the map, above which pushes are refused"},
    {"queue-lease", KIND_DURATION, AT(queue_lease), "60s", 0, 0, true, "default LEASE"},
    {"queue-retries", KIND_NUMBER, AT(queue_retries), "20", 0, INT_MAX, true,
     "default RETRIES"},
    {"queue-backoff", KIND_DURATION, AT(queue_backoff), "1s", 0, 0, true, "default BACKOFF"},
    {"queue-backoff-max", KIND_DURATION, AT(queue_backoff_max), "1h", 0, 0, true,
     "and its limit"},
    /* what clients ask for and what the answer is here */
    {"appendonly", KIND_FIXED, 0, "yes", 0, 0, false, NULL},
    {"appendfsync", KIND_FIXED, 0, "always", 0, 0, false, NULL},
    {"save", KIND_FIXED, 0, "", 0, 0, false, NULL},
    {"maxmemory", KIND_FIXED, 0, "0", 0, 0, false, NULL},
    {"maxmemory-policy", KIND_FIXED, 0, "noeviction", 0, 0, false, NULL},
    {"replica-read-only", KIND_FIXED, 0, "yes", 0, 0, false, NULL},
    {"slave-read-only", KIND_FIXED, 0, "yes", 0, 0, false, NULL},
    {"cluster-enabled", KIND_FIXED, 0, "no", 0, 0, false, NULL},
};

enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

static const char *const level_names[] = {"debug", "verbose", "notice", "warning"};
static const char *const durability_names[] = {"always", "interval", "none"};

size_t config_count(void)
{
    return OPTIONS;
}

const char *config_name(size_t index)
{
    return options[index].name;
}

int config_find(struct argument name)
{
    for (int i = 0; i < OPTIONS; i++)
        if (argument_is(name, options[i].name))
            return i;
    return -1;
}

bool config_mutable(size_t index)
{
    return options[index].mutable;
}

static int64_t *number_at(const struct config *config, const struct option *option)
{
    return (int64_t *)(void *)((char *)(uintptr_t)config + option->offset);
}

static char **text_at(const struct config *config, const struct option *option)
{
    return (char **)(void *)((char *)(uintptr_t)config + option->offset);
}

static bool refuse(struct config_error *error, const char *why)
{
    snprintf(error->text, sizeof(error->text), "%s", why);
    return false;
}

/* ---- setting, by kind */

static int find_word(const char *const *names, size_t count, struct argument word)
{
    for (size_t i = 0; i < count; i++)
        if (argument_is(word, names[i]))
            return (int)i;
    return -1;
}

static bool set_text(struct config *config, const struct option *option,
                     const struct argument *words, size_t count)
{
    char text[CONFIG_TEXT_MAX];
    size_t size = 0;
    char *copy;

    for (size_t i = 0; i < count; i++) {
        if (size + words[i].size + 2 > sizeof(text))
            return false;
        if (i > 0)
            text[size++] = ' ';
        memcpy(text + size, words[i].data, words[i].size);
        size += words[i].size;
    }
    text[size] = '\0';
    copy = strdup(text);
    if (copy == NULL)
        return false;
    free(*text_at(config, option));
    *text_at(config, option) = copy;
    return true;
}

static bool set_number(struct config *config, const struct option *option, struct argument word,
                       struct config_error *error)
{
    uint64_t bytes;
    int64_t number;
    bool good = option->kind == KIND_BYTES
                    ? number_parse_bytes(word.data, word.size, &bytes) &&
                          (number = (int64_t)bytes, true)
                    : number_parse_integer(word.data, word.size, &number);

    if (good && number >= option->least && number <= option->most) {
        *number_at(config, option) = number;
        return true;
    }
    if (!good)
        return refuse(error, option->kind == KIND_BYTES
                                 ? "argument must be a memory value"
                                 : "argument couldn't be parsed into an integer");
    snprintf(error->text, sizeof(error->text),
             "argument must be between %" PRId64 " and %" PRId64 " inclusive", option->least,
             option->most);
    return false;
}

static bool set_octal(struct config *config, const struct option *option, struct argument word,
                      struct config_error *error)
{
    char *end;
    long mode = strtol(word.data, &end, 8);

    if (word.size == 0 || *end != '\0' || mode < 0 || mode > option->most)
        return refuse(error, "argument must be an octal mode");
    *number_at(config, option) = mode;
    return true;
}

static bool set_durability(struct config *config, const struct argument *words, size_t count,
                           struct config_error *error)
{
    int mode = find_word(durability_names, 3, words[0]);
    int64_t interval = 1000;

    if (mode < 0 || count > 2 || (count == 2 && mode != KV_SYNC_INTERVAL) ||
        (count == 2 && (!number_parse_duration(words[1].data, words[1].size, &interval) ||
                        interval < 1 || interval > 3600000)))
        return refuse(error, "must be: always, interval MS (1 to 3600000), or none");
    config->durability = mode;
    config->durability_interval = interval;
    return true;
}

/* redis.conf's form: class, hard limit, soft limit, seconds. Only `normal` and the hard limit
 * have a meaning here. */
static bool set_output_limit(struct config *config, const struct argument *words, size_t count,
                             struct config_error *error)
{
    uint64_t hard;

    for (size_t i = 0; i + 3 < count; i += 4) {
        bool normal = argument_is(words[i], "normal");

        if (!normal && !argument_is(words[i], "pubsub") && !argument_is(words[i], "replica") &&
            !argument_is(words[i], "slave"))
            return refuse(error,
                          "Invalid client class specified in buffer limit configuration.");
        if (!number_parse_bytes(words[i + 1].data, words[i + 1].size, &hard))
            return refuse(error, "Error in hard, soft or soft_seconds setting in buffer limit "
                                 "configuration.");
        if (normal)
            config->output_limit = (int64_t)hard;
    }
    return count % 4 == 0
               ? true
               : refuse(error, "Wrong number of arguments in buffer limit configuration.");
}

static bool set_option(struct config *config, const struct option *option,
                       const struct argument *words, size_t count, struct config_error *error)
{
    bool many = option->kind == KIND_WORDS || option->kind == KIND_DURABILITY ||
                option->kind == KIND_OUTPUT_LIMIT || option->kind == KIND_FIXED;
    int word;

    if (count == 0 || (count > 1 && !many))
        return refuse(error, "wrong number of arguments");
    switch (option->kind) {
    case KIND_TEXT:
    case KIND_WORDS:
        return set_text(config, option, words, count) || refuse(error, "value is too long");
    case KIND_NUMBER:
    case KIND_BYTES:
        return set_number(config, option, words[0], error);
    case KIND_DURATION:
        return number_parse_duration(words[0].data, words[0].size, number_at(config, option)) ||
               refuse(error,
                      "argument must be a duration: milliseconds, or with ms, s, m, h, d");
    case KIND_YESNO:
        word = find_word((const char *const[]){"no", "yes"}, 2, words[0]);
        *number_at(config, option) = word;
        return word >= 0 || refuse(error, "argument must be 'yes' or 'no'");
    case KIND_LEVEL:
        word = find_word(level_names, 4, words[0]);
        if (word >= 0)
            *number_at(config, option) = word;
        return word >= 0 ||
               refuse(error, "argument must be one of the following: debug, verbose, "
                             "notice, warning");
    case KIND_DURABILITY:
        return set_durability(config, words, count, error);
    case KIND_OUTPUT_LIMIT:
        return set_output_limit(config, words, count, error);
    case KIND_OCTAL:
        return set_octal(config, option, words[0], error);
    case KIND_FIXED:
        return (count == 1 && argument_is(words[0], option->initial)) ||
               refuse(error, "dueq has this one way only");
    }
    return false;
}

bool config_set(struct config *config, const char *name, const struct argument *words,
                size_t count, struct config_error *error)
{
    int index = config_find((struct argument){name, strlen(name)});

    if (index < 0)
        return refuse(error, "Bad directive or wrong number of arguments");
    return set_option(config, &options[index], words, count, error);
}

/* ---- defaults */

void config_init(struct config *config)
{
    struct config_error error;

    memset(config, 0, sizeof(*config));
    for (int i = 0; i < OPTIONS; i++) {
        char line[256], space[520];
        struct argument words[8];
        int count;

        if (options[i].kind == KIND_FIXED)
            continue;
        snprintf(line, sizeof(line), "%s",
                 options[i].initial[0] == '\0' ? "\"\"" : options[i].initial);
        count = words_split(line, strlen(line), space, words, 8);
        set_option(config, &options[i], words, (size_t)count, &error);
    }
}

void config_release(struct config *config)
{
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].kind == KIND_TEXT || options[i].kind == KIND_WORDS)
            free(*text_at(config, &options[i]));
    free(config->file);
    memset(config, 0, sizeof(*config));
}

/* ---- files */

static bool read_stream(struct config *config, FILE *stream, const char *path, int depth,
                        struct config_error *error);

static bool include(struct config *config, const char *path, int depth,
                    struct config_error *error)
{
    FILE *stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    bool good;

    if (stream == NULL) {
        snprintf(error->text, sizeof(error->text), "cannot open %s: %s", path, strerror(errno));
        return false;
    }
    good = depth < INCLUDE_DEPTH ? read_stream(config, stream, path, depth, error)
                                 : refuse(error, "too many files include each other");
    if (stream != stdin)
        fclose(stream);
    return good;
}

static bool take_line(struct config *config, const char *line, size_t size, int depth,
                      struct config_error *error)
{
    struct argument words[WORDS_MAX];
    char *space = malloc(size * 2 + 1);
    int count;
    bool good = true;

    if (space == NULL)
        return refuse(error, "out of memory");
    count = words_split(line, size, space, words, WORDS_MAX);
    if (count < 0)
        good = refuse(error, "Unbalanced quotes in configuration line");
    else if (count > 0 && words[0].data[0] != '#')
        good = argument_is(words[0], "include") && count == 2
                   ? include(config, words[1].data, depth + 1, error)
                   : config_set(config, words[0].data, words + 1, (size_t)count - 1, error);
    free(space);
    return good;
}

/* Errors name file, line and the line itself. */
static bool read_stream(struct config *config, FILE *stream, const char *path, int depth,
                        struct config_error *error)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int number = 0;
    bool good = true;

    while (good && (size = getline(&line, &room, stream)) >= 0) {
        struct config_error why;

        number++;
        while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
            line[--size] = '\0';
        good = take_line(config, line, (size_t)size, depth, &why);
        if (!good && strncmp(why.text, "*** ", 4) == 0)
            *error = why; /* from a file that this one includes */
        else if (!good)
            snprintf(error->text, sizeof(error->text), "*** %.200s:%d: '%.120s': %.120s", path,
                     number, line, why.text);
    }
    free(line);
    return good;
}

bool config_read_file(struct config *config, const char *path, struct config_error *error)
{
    if (!include(config, path, 0, error))
        return false;
    free(config->file);
    config->file = strcmp(path, "-") == 0 ? NULL : realpath(path, NULL);
    return true;
}

/* ---- getting */

static void get_durability(const struct config *config, char *text)
{
    if (config->durability == KV_SYNC_INTERVAL)
        sprintf(text, "interval %" PRId64, config->durability_interval);
    else
        strcpy(text, durability_names[config->durability]);
}

static const char *fixed_value(const struct config *config, const struct option *option)
{
    static const char *const fsync_names[] = {"always", "everysec", "no"};

    return strcmp(option->name, "appendfsync") == 0 ? fsync_names[config->durability]
                                                    : option->initial;
}

void config_get(const struct config *config, size_t index, char *text)
{
    const struct option *option = &options[index];

    text[0] = '\0';
    switch (option->kind) {
    case KIND_TEXT:
    case KIND_WORDS:
        snprintf(text, CONFIG_TEXT_MAX, "%s", *text_at(config, option));
        break;
    case KIND_NUMBER:
    case KIND_BYTES:
    case KIND_DURATION:
        sprintf(text, "%" PRId64, *number_at(config, option));
        break;
    case KIND_OCTAL:
        sprintf(text, "%o", (unsigned)*number_at(config, option));
        break;
    case KIND_YESNO:
        strcpy(text, *number_at(config, option) ? "yes" : "no");
        break;
    case KIND_LEVEL:
        strcpy(text, level_names[config->loglevel]);
        break;
    case KIND_DURABILITY:
        get_durability(config, text);
        break;
    case KIND_OUTPUT_LIMIT:
        sprintf(text, "normal %" PRId64 " 0 0", config->output_limit);
        break;
    case KIND_FIXED:
        strcpy(text, fixed_value(config, option));
        break;
    }
}

void config_store_options(const struct config *config, struct kv_options *kv)
{
    kv_options_init(kv);
    kv->durability = (enum kv_durability)config->durability;
    kv->interval_ms = (unsigned)config->durability_interval;
    kv->memtable_bytes = (size_t)config->memtable_size;
    kv->segment_bytes = (size_t)config->segment_size;
    kv->journal_bytes = (uint64_t)config->journal_size;
    kv->map_bytes = (uint64_t)config->map_size;
    kv->disk_reserve_bytes = (uint64_t)config->disk_reserve;
    kv->high_water_percent = (unsigned)config->high_water_percent;
}

void config_print_options(void)
{
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].what != NULL)
            printf("  --%-27s %s (%s)\n", options[i].name, options[i].what,
                   options[i].initial[0] == '\0' ? "none" : options[i].initial);
}
