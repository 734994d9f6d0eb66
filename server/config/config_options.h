/* The table of options, and the kinds of their values. Only files of config/ include this. */
#ifndef DUEQ_CONFIG_OPTIONS_H
#define DUEQ_CONFIG_OPTIONS_H

#include "server/config/config.h"

struct option;

/* How a value is read and shown. */
struct option_kind {
    bool several; /* takes any number of values; otherwise exactly one */
    /* False: *error has Redis' text, and the configuration has not changed. */
    bool (*parse)(struct config *config, const struct option *option,
                  const struct argument *values, size_t count, struct config_error *error);
    /* Writes at most CONFIG_TEXT_MAX bytes with the zero after them; returns the size without
     * it. */
    size_t (*format)(const struct config *config, const struct option *option, char *text);
    /* The same for a line of a file; NULL: as `format`. */
    size_t (*format_line)(const struct config *config, const struct option *option, char *text);
    const char *const *names; /* NULL-terminated: the value is the number of one; or NULL */
};

extern const struct option_kind config_kind_text;   /* one value */
extern const struct option_kind config_kind_words;  /* several, kept with spaces between them */
extern const struct option_kind config_kind_secret; /* one value of any bytes: requirepass */
extern const struct option_kind config_kind_number, config_kind_octal, config_kind_bytes,
    config_kind_duration;
extern const struct option_kind config_kind_share; /* bytes, or percent as a negative number */
extern const struct option_kind config_kind_yesno, config_kind_level, config_kind_tls_clients,
    config_kind_http_tls_clients, config_kind_log_format, config_kind_facility;
extern const struct option_kind config_kind_http_api;
extern const struct option_kind config_kind_channels; /* of a new user */
extern const struct option_kind config_kind_password_hash;
extern const struct option_kind config_kind_durability;
extern const struct option_kind config_kind_appendfsync; /* durability by Redis' names */
extern const struct option_kind config_kind_output_limits, config_kind_events;
extern const struct option_kind config_kind_profile; /* sets the options that nobody chose */
extern const struct option_kind config_kind_fixed;   /* accepts only its default */

enum option_change {
    CHANGE_NEVER,   /* not while the server runs, as in Redis */
    CHANGE_TO_SAME, /* Redis can change it: accepted when the value is the same */
    CHANGE_FREELY
};

struct option {
    const char *name;
    const char *alias_of;           /* NULL: it is no alias */
    const struct option_kind *kind; /* an alias leaves this and what follows empty */
    size_t offset;                  /* in struct config */
    const char *initial;
    int64_t least, most;
    enum option_change change;
    const char *what; /* for help; NULL: not listed */
};

extern const struct option config_options[];
extern const size_t config_option_count;

/* The option at `index` of the table; for an alias, the option that it means. */
const struct option *config_option_at(size_t index);

/* Calls the parser of the option's kind after a check of the number of values. */
bool config_option_set(struct config *config, const struct option *option,
                       const struct argument *values, size_t count, struct config_error *error);

/* The same from one text, as in the table: values separated by spaces; "": one empty value. */
bool config_option_set_text(struct config *config, const struct option *option,
                            const char *text, struct config_error *error);

/* Is the value a text that config_release frees? */
bool config_option_owns_text(const struct option *option);
char **config_option_text(const struct config *config, const struct option *option);

/* Writes "name value" as a line of a file, quoted where needed, so that reading it gives the
 * same value. `line` has CONFIG_OPTION_LINE_MAX bytes. */
enum { CONFIG_OPTION_LINE_MAX = 4 * CONFIG_TEXT_MAX + 64 };
void config_option_line(const struct config *config, const struct option *option, char *line);

/* Writes error->text and returns false. */
bool config_fail(struct config_error *error, const char *why);

#endif
