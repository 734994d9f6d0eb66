/* The table of options, and the kinds of value they have. For the files of config only. */
#ifndef DUEQ_CONFIG_OPTIONS_H
#define DUEQ_CONFIG_OPTIONS_H

#include "server/config/config.h"

#include <stdio.h>

struct option;

/* How a value is read and shown. */
struct option_kind {
    bool several; /* takes any number of words; else exactly one */
    /* Untouched on failure, with *error in Redis' words. */
    bool (*parse)(struct config *config, const struct option *option,
                  const struct argument *words, size_t count, struct config_error *error);
    /* Writes CONFIG_TEXT_MAX bytes at most, a zero behind them included; returns the size. */
    size_t (*format)(const struct config *config, const struct option *option, char *text);
    /* As a file has it; NULL: as `format` has it. */
    size_t (*format_line)(const struct config *config, const struct option *option, char *text);
};

extern const struct option_kind config_kind_text;   /* one word */
extern const struct option_kind config_kind_words;  /* several, kept with spaces between */
extern const struct option_kind config_kind_secret; /* one word of any bytes: requirepass */
extern const struct option_kind config_kind_number, config_kind_octal, config_kind_bytes,
    config_kind_duration;
extern const struct option_kind config_kind_share; /* bytes, or percent as a negative number */
extern const struct option_kind config_kind_yesno, config_kind_level;
extern const struct option_kind config_kind_durability;
extern const struct option_kind config_kind_appendfsync; /* the same thing, in Redis' words */
extern const struct option_kind config_kind_output_limits, config_kind_events;
extern const struct option_kind config_kind_fixed; /* accepted when it is what it is */

enum option_change {
    CHANGE_NEVER,   /* while running, as in Redis */
    CHANGE_TO_SAME, /* Redis can: accepted when it changes nothing */
    CHANGE_FREELY
};

struct option {
    const char *name;
    const char *alias_of;           /* NULL: an option of its own */
    const struct option_kind *kind; /* from here on: of an alias, nothing */
    size_t offset;                  /* in struct config */
    const char *initial;
    int64_t least, most;
    enum option_change change;
    const char *what; /* for help; NULL: not listed */
};

extern const struct option config_options[];
extern const size_t config_option_count;

/* The option itself, for an alias. */
const struct option *config_option_at(size_t index);

bool config_option_set(struct config *config, const struct option *option,
                       const struct argument *words, size_t count, struct config_error *error);

/* Allocated by a value that config_release frees. */
bool config_option_owns_text(const struct option *option);
char **config_option_text(const struct config *config, const struct option *option);

/* Writes "name value" as a file has it, quoted where needed, so that it says the same when read
 * again. */
enum { CONFIG_OPTION_LINE_MAX = 4 * CONFIG_TEXT_MAX + 64 };
void config_option_line(const struct config *config, const struct option *option, char *line);

/* error->text, and false. */
bool config_fail(struct config_error *error, const char *why);

/* Nothing, or nothing but a comment. */
bool config_line_is_comment(const char *line);

/* Reads lines up to the end of the stream; path is for errors. */
bool config_read_stream(struct config *config, FILE *stream, const char *path,
                        struct config_error *error);

#endif
