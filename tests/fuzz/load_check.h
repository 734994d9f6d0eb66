/* What is true for any text as a dump: load takes it, or refuses it with words. Of what it
 * took, the dump is loaded again, and the dump of that is the same, byte for byte. The fuzzer
 * and the test that replays the corpus share this. */
#ifndef DUEQ_LOAD_CHECK_H
#define DUEQ_LOAD_CHECK_H

#include "server/subcommands.h"
#include "tests/support/temp_dir.h"
#include "tools/offline/offline.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Standard input and output are memory meanwhile; what is said is not shown, but counted. */
static inline int load_from(const char *dir, const char *text, size_t size, size_t *ret_said)
{
    FILE *input = stdin, *errors = stderr;
    char *said = NULL;
    int status;

    stdin = fmemopen((void *)(uintptr_t)text, size, "r");
    stderr = open_memstream(&said, ret_said);
    if (stdin == NULL || stderr == NULL)
        abort();
    status = load_main(dir);
    fclose(stdin);
    fclose(stderr);
    stdin = input;
    stderr = errors;
    if (getenv("LOAD_SAYS") != NULL)
        fputs(said, stderr);
    free(said);
    return status;
}

/* The caller frees it. NULL: the dump failed. */
static inline char *load_dump(const char *dir, size_t *ret_size)
{
    FILE *output = stdout;
    char *text = NULL;
    int status;

    stdout = open_memstream(&text, ret_size);
    if (stdout == NULL)
        abort();
    status = dump_main(dir);
    fclose(stdout);
    stdout = output;
    if (status == OFFLINE_DONE)
        return text;
    free(text);
    return NULL;
}

static inline bool load_reads_back(const char *dir, const char *again)
{
    size_t size, other_size = 0, said;
    char *text = load_dump(dir, &size), *other = NULL;
    bool same;

    if (text != NULL && load_from(again, text, size, &said) == OFFLINE_DONE)
        other = load_dump(again, &other_size);
    same = other != NULL && size == other_size && memcmp(text, other, size) == 0;
    if (!same)
        fprintf(stderr, "%s\nbecomes\n%s\n", text == NULL ? "?" : text,
                other == NULL ? "?" : other);
    free(text);
    free(other);
    return same;
}

static inline bool load_holds_up(const uint8_t *data, size_t size)
{
    char *dir = temp_dir_new(), first[PATH_MAX], second[PATH_MAX];
    size_t said = 0;
    bool good;

    if (size == 0) {
        temp_dir_remove(dir);
        return true; /* fmemopen takes no empty text */
    }
    snprintf(first, sizeof(first), "%s/first", dir);
    snprintf(second, sizeof(second), "%s/second", dir);
    if (load_from(first, (const char *)data, size, &said) == OFFLINE_DONE)
        good = check_main(first) == OFFLINE_DONE && load_reads_back(first, second);
    else
        good = said > 0;
    temp_dir_remove(dir);
    return good;
}

#endif
