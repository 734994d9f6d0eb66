#include "server/acl/acl_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    WHY_MOST = 64 * 1024, /* bytes of errors: a file may have a million of them */
    BYTES_AT_ONCE = 32 * 1024
};

struct acl_reading {
    struct acl *acl;
    enum acl_channels channels;
    char *path;
    FILE *file;
    char *text; /* the line that was read, */
    size_t room;
    size_t line;           /* and its number */
    struct acl_user *user; /* that this line defines */
    struct buffer why;
    uint64_t hash;
    bool failed; /* somewhere */
    bool told;   /* an error of this line other than an unknown command */
};

static void say(struct buffer *why, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    int size;

    if (buffer_size(why) > WHY_MOST)
        return;
    va_start(arguments, format);
    size = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    buffer_append(why, text, size < (int)sizeof(text) ? (size_t)size : sizeof(text) - 1);
}

/* ---- one user of a file */

/* rule: at which it was found. */
static void note_error(struct acl_reading *reading, struct dueq_slice rule,
                       enum acl_error error)
{
    reading->failed = true;
    if (error == ACL_UNKNOWN)
        say(&reading->why, "%.300s:%zu: Error in applying operation '%.*s': %s. ",
            reading->path, reading->line, (int)(rule.size < 128 ? rule.size : 128),
            (const char *)rule.data, acl_error_text(error));
    else if (!reading->told)
        say(&reading->why, "%.300s:%zu: %s. ", reading->path, reading->line,
            acl_error_text(error));
    reading->told |= error != ACL_UNKNOWN;
}

/* Goes on after an error, because a file is told all of its errors; but not when it is too
 * much.
 */
static bool apply_rule(void *arg, struct dueq_slice rule)
{
    struct acl_reading *reading = arg;
    enum acl_error error = acl_user_apply(reading->user, rule, reading->channels);

    if (reading->user->steps > ACL_LINE_STEPS_MOST)
        error = ACL_TOO_MUCH;
    if (error != ACL_GOOD)
        note_error(reading, rule, error);
    return reading->user->steps <= ACL_LINE_STEPS_MOST;
}

/* The user that the line defines: new, or the default one. NULL: the error is told. */
static struct acl_user *begin_user(struct acl_reading *reading, struct argument word)
{
    struct dueq_slice name = dueq_slice(word.data, word.size);
    struct acl_user *user = NULL;

    if (!acl_user_name_is_good(name))
        say(&reading->why, "%.300s:%zu: username '%.128s' contains invalid characters. ",
            reading->path, reading->line, word.data);
    else if (acl_find(reading->acl, name) != NULL)
        say(&reading->why, "WARNING: Duplicate user '%.128s' found on line %zu. ", word.data,
            reading->line);
    else
        user = acl_user_new(name, reading->channels);
    return user;
}

static void read_user(struct acl_reading *reading, const struct argument *words, size_t count)
{
    size_t open;

    if (count < 2 || strcmp(words[0].data, "user") != 0) {
        say(&reading->why,
            "%.300s:%zu should start with user keyword followed by the username. ",
            reading->path, reading->line);
        reading->failed = true;
        return;
    }
    reading->user = begin_user(reading, words[1]);
    reading->told = false;
    if (reading->user == NULL) {
        reading->failed = true;
    } else if (acl_user_find_open(words + 2, count - 2, &open)) {
        say(&reading->why, "%.300s:%zu: Unmatched parenthesis in selector definition.",
            reading->path, reading->line);
        reading->failed = true;
        acl_user_free(reading->user);
    } else {
        reading->failed |= !acl_user_each_rule(words + 2, count - 2, apply_rule, reading);
        if (!reading->failed && !acl_user_fits(reading->user))
            note_error(reading, dueq_slice(NULL, 0), ACL_TOO_MUCH);
        reading->failed |= !acl_add(reading->acl, reading->user);
    }
}

/* ---- lines */

/* Splits at each space; two of them are around an empty word. Returns how many. */
static size_t split(char *line, size_t size, struct argument *words)
{
    char *end = line + size;
    size_t count = 0;

    for (;;) {
        char *space = memchr(line, ' ', (size_t)(end - line));

        words[count++] =
            (struct argument){line, (size_t)((space == NULL ? end : space) - line)};
        if (space == NULL)
            return count;
        *space = '\0';
        line = space + 1;
    }
}

static bool is_blank(char byte)
{
    return strchr(" \t\r\n", byte) != NULL && byte != '\0';
}

static void read_line(struct acl_reading *reading, char *line, size_t size)
{
    struct argument *words;

    reading->line++;
    while (size > 0 && is_blank(line[size - 1]))
        line[--size] = '\0';
    while (size > 0 && is_blank(*line)) {
        line++;
        size--;
    }
    if (size == 0)
        return;
    words = size > ACL_RULES_BYTES ? NULL : malloc((size + 1) * sizeof(*words));
    if (words == NULL) {
        say(&reading->why, "%.300s:%zu: %s. ", reading->path, reading->line,
            acl_error_text(size > ACL_RULES_BYTES ? ACL_TOO_MUCH : ACL_NO_MEMORY));
        reading->failed = true;
        return;
    }
    read_user(reading, words, split(line, size, words));
    free(words);
}

bool acl_file_read_on(struct acl_reading *reading, size_t most)
{
    size_t bytes = 0;
    ssize_t size = 0;

    for (; most > 0 && bytes < BYTES_AT_ONCE; most--) {
        size = getline(&reading->text, &reading->room, reading->file);
        if (size < 0)
            break;
        bytes += (size_t)size;
        reading->hash = XXH3_64bits_withSeed(reading->text, (size_t)size, reading->hash);
        read_line(reading, reading->text, (size_t)size);
    }
    if (size >= 0)
        return false;
    if (ferror(reading->file)) {
        say(&reading->why, "Error loading ACLs, reading file '%.300s': %s. ", reading->path,
            strerror(errno));
        reading->failed = true;
    }
    return true;
}

/* ---- the default user */

/* While a file is read there is no default user, so that a second line of it is a duplicate. A
 * file that does not define it gets the one of a new server. */
static bool begin_users(struct acl_reading *reading)
{
    reading->acl = acl_new();
    if (reading->acl == NULL)
        return false;
    acl_remove(reading->acl, reading->acl->standard);
    return true;
}

static bool end_users(struct acl_reading *reading)
{
    reading->acl->standard = acl_find(reading->acl, dueq_slice("default", 7));
    return reading->acl->standard != NULL || acl_add_default(reading->acl);
}

/* ---- a file */

void acl_file_abandon(struct acl_reading *reading)
{
    fclose(reading->file);
    acl_free(reading->acl);
    buffer_release(&reading->why);
    free(reading->text);
    free(reading->path);
    free(reading);
}

/* Owns the file, which is open; NULL: out of memory. */
static struct acl_reading *begin(FILE *file, const char *path, enum acl_channels channels)
{
    struct acl_reading *reading = calloc(1, sizeof(*reading));

    if (reading == NULL) {
        fclose(file);
        return NULL;
    }
    buffer_init(&reading->why, SIZE_MAX);
    reading->file = file;
    reading->channels = channels;
    reading->path = strdup(path);
    if (reading->path != NULL && begin_users(reading))
        return reading;
    acl_file_abandon(reading);
    return NULL;
}

struct acl_reading *acl_file_open(const char *path, enum acl_channels channels,
                                  struct buffer *why)
{
    FILE *file = fopen(path, "re");

    if (file != NULL)
        return begin(file, path, channels);
    say(why, "Error loading ACLs, opening file '%.300s': %s", path, strerror(errno));
    return NULL;
}

struct acl *acl_file_end(struct acl_reading *reading, struct buffer *why)
{
    struct acl *acl = reading->acl;

    if (end_users(reading) && !reading->failed) {
        acl->file_hash = reading->hash;
        reading->acl = NULL;
    } else {
        acl = NULL;
        say(&reading->why, "WARNING: ACL errors detected, no change to the previously active "
                           "ACL rules was performed");
        buffer_append(why, buffer_content(&reading->why), buffer_size(&reading->why));
    }
    acl_file_abandon(reading);
    return acl;
}

/* reading: NULL when it could not begin. */
static struct acl *read_all(struct acl_reading *reading, struct buffer *why)
{
    if (reading == NULL)
        return NULL;
    while (!acl_file_read_on(reading, SIZE_MAX))
        ;
    return acl_file_end(reading, why);
}

struct acl *acl_file_read(const char *path, enum acl_channels channels, struct buffer *why)
{
    return read_all(acl_file_open(path, channels, why), why);
}

struct acl *acl_file_read_text(const char *text, size_t size, struct buffer *why)
{
    FILE *file = fmemopen((char *)(uintptr_t)text, size, "r");

    return file == NULL ? NULL : read_all(begin(file, "users", ACL_NO_CHANNELS), why);
}

struct acl_reading *acl_file_check(const struct buffer *text, const char *path)
{
    FILE *file = fmemopen((char *)buffer_content(text), buffer_size(text), "r");

    return file == NULL ? NULL : begin(file, path, ACL_NO_CHANNELS);
}

/* ---- lines of the configuration */

struct definition {
    struct acl_user *user;
    enum acl_channels channels;
    enum acl_error error;
};

static bool apply_word(void *arg, struct dueq_slice rule)
{
    struct definition *definition = arg;

    definition->error = acl_user_apply(definition->user, rule, definition->channels);
    return definition->error == ACL_GOOD;
}

static enum acl_error define(struct acl *acl, const struct argument *words, size_t count,
                             enum acl_channels channels)
{
    struct dueq_slice name = dueq_slice(words[0].data, words[0].size);
    struct definition definition = {NULL, channels, ACL_UNKNOWN}; /* an open parenthesis */
    bool is_default = dueq_slice_equal(name, dueq_slice("default", 7));

    if (!acl_user_name_is_good(name))
        return ACL_SYNTAX;
    if (is_default ? acl->standard_is_defined : acl_find(acl, name) != NULL)
        return ACL_DUPLICATE_USER;
    definition.user = acl_user_new(name, channels);
    if (definition.user == NULL)
        return ACL_NO_MEMORY;
    if (!acl_user_each_rule(words + 1, count - 1, apply_word, &definition) && count > 1) {
        acl_user_free(definition.user);
        return definition.error == ACL_GOOD ? ACL_UNKNOWN : definition.error;
    }
    if (!acl_user_fits(definition.user)) {
        acl_user_free(definition.user);
        return ACL_TOO_MUCH;
    }
    if (!is_default)
        return acl_add(acl, definition.user) ? ACL_GOOD : ACL_NO_MEMORY;
    acl->standard_is_defined = true;
    acl_user_take(acl_default(acl), definition.user);
    acl_note_change(acl, acl_default(acl));
    acl_user_free(definition.user);
    return ACL_GOOD;
}

bool acl_file_define(struct acl *acl, const struct argument *words, size_t count,
                     enum acl_channels channels, struct buffer *why)
{
    enum acl_error error = define(acl, words, count, channels);

    if (error != ACL_GOOD)
        say(why, "Error in user declaration '%.128s': %s", words[0].data,
            acl_error_text(error));
    return error == ACL_GOOD;
}
