#include "server/config/config_file.h"

#include "server/config/config_options.h"

#include "protocol/tokens.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INCLUDE_DEPTH = 8, SHOWN_MOST = 120 };

#define BLANKS     " \t\r\n\f\v"
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

bool config_file_is_comment(const char *line)
{
    line += strspn(line, BLANKS);
    return *line == '\0' || *line == '#';
}

static bool read_lines(struct config *config, FILE *stream, const char *path, int depth,
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
    config->is_from_stdin |= stream == stdin;
    good = depth < INCLUDE_DEPTH ? read_lines(config, stream, path, depth, error)
                                 : config_fail(error, "too many files include each other");
    if (stream != stdin)
        fclose(stream);
    return good;
}

static bool take_words(struct config *config, const struct argument *words, int count,
                       int depth, struct config_error *error)
{
    if (count < 0)
        return config_fail(error, "Unbalanced quotes in configuration line");
    if (count == 2 && argument_is(words[0], "include"))
        return include(config, words[1].data, depth + 1, error);
    return config_set(config, words[0].data, words + 1, (size_t)count - 1, error);
}

static bool take_line(struct config *config, const char *line, size_t size, int depth,
                      struct config_error *error)
{
    size_t most = size / 2 + 1; /* words: a line of a user may have many */
    struct argument *words;
    char *space;
    bool good;

    if (config_file_is_comment(line))
        return true;
    words = malloc(most * sizeof(*words));
    space = malloc(size * 2 + 1);
    if (space == NULL || words == NULL)
        good = config_fail(error, "out of memory");
    else
        good = take_words(config, words, tokens_split(line, size, space, words, most), depth,
                          error);
    free(space);
    free(words);
    return good;
}

static bool may_be_shown(struct argument name)
{
    int index = config_find(name);

    return argument_is(name, "include") || (index >= 0 && !config_is_secret((size_t)index));
}

/* What follows a name may be a secret: after that of an option that has one, of a user, or
 * after one that nobody knows, because it is misspelt. */
static void tell_line(struct config_error *error, const char *path, int number,
                      const char *line, const char *why)
{
    size_t start = strspn(line, BLANKS);
    size_t size = strspn(line + start, NAME_BYTES);
    const char *end = line + start + size, *rest = "";

    if ((*end != '\0' && strchr(BLANKS, *end) == NULL) ||
        !may_be_shown((struct argument){line + start, size}))
        rest = *end == '\0' ? "" : " ...";
    else
        size = strlen(line + start);
    snprintf(error->text, sizeof(error->text), "*** %.200s:%d: '%.*s%s': %.120s", path, number,
             (int)(size < SHOWN_MOST ? size : SHOWN_MOST), line + start, rest, why);
}

/* Errors name file, line and, as far as it is no secret, the line itself. */
static bool read_lines(struct config *config, FILE *stream, const char *path, int depth,
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
            tell_line(error, path, number, line, why.text);
    }
    if (good && ferror(stream)) {
        snprintf(error->text, sizeof(error->text), "cannot read %s: %s", path, strerror(errno));
        good = false;
    }
    free(line);
    return good;
}

bool config_file_read(struct config *config, FILE *stream, const char *path,
                      struct config_error *error)
{
    return read_lines(config, stream, path, 0, error);
}

bool config_read_file(struct config *config, const char *path, struct config_error *error)
{
    if (!include(config, path, 0, error))
        return false;
    free(config->file);
    config->file = strcmp(path, "-") == 0 ? NULL : realpath(path, NULL);
    return true;
}

/* ---- credentials */

/* -1: no such file, or it is too large. */
static ssize_t read_secret(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "re");
    size_t size;

    if (file == NULL)
        return -1;
    size = fread(text, 1, room, file);
    fclose(file);
    if (size > 0 && size < room && text[size - 1] == '\n')
        size--;
    return size < room ? (ssize_t)size : -1;
}

/* CONFIG REWRITE compares with it: the directory may be closed to the user of run-as. */
static bool note_credential(struct config *config, const char *name)
{
    size_t before = config->credentials == NULL ? 0 : strlen(config->credentials);
    char line[CONFIG_OPTION_LINE_MAX];
    char *lines;
    int index = config_find((struct argument){name, strlen(name)});

    config_option_line(config, config_option_at((size_t)index), line);
    lines = realloc(config->credentials, before + strlen(line) + sizeof("\n"));
    if (lines == NULL)
        return false;
    sprintf(lines + before, "%s\n", line);
    config->credentials = lines;
    return true;
}

static bool read_credential(struct config *config, const char *path, const char *name,
                            bool is_text, struct config_error *error)
{
    char text[CONFIG_TEXT_MAX];
    struct argument value = {path, strlen(path)};
    ssize_t size;

    if (is_text) {
        size = read_secret(path, text, sizeof(text));
        if (size < 0) {
            snprintf(error->text, sizeof(error->text), "cannot read %.400s", path);
            return false;
        }
        value = (struct argument){text, (size_t)size};
    }
    return config_set(config, name, &value, 1, error) &&
           (note_credential(config, name) || config_fail(error, "out of memory"));
}

bool config_read_credentials(struct config *config, const char *dir, struct config_error *error)
{
    static const struct {
        const char *name;
        bool is_text;
    } credentials[] = {{"requirepass", true},
                       {"tls-key-file-pass", true},
                       {"tls-cert-file", false},
                       {"tls-key-file", false},
                       {"tls-ca-cert-file", false}};
    char path[PATH_MAX];

    for (size_t i = 0; dir != NULL && i < sizeof(credentials) / sizeof(credentials[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, credentials[i].name);
        if (access(path, F_OK) == 0 &&
            !read_credential(config, path, credentials[i].name, credentials[i].is_text, error))
            return false;
    }
    return true;
}
