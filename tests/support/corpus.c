#include "tests/support/corpus.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

/* Reads the file into memory of exactly its size, so that the sanitizers find a read past its
 * end. */
static uint8_t *read_input(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;
    long size;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    bytes = malloc(size > 0 ? (size_t)size : 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    fclose(file);
    *ret_size = (size_t)size;
    return bytes;
}

static void replay(const char *path, bool (*check)(const uint8_t *data, size_t size))
{
    size_t size;
    uint8_t *bytes = read_input(path, &size);

    if (!check(bytes, size))
        fail_msg("%s", path);
    free(bytes);
}

void corpus_replay(const char *name, bool (*check)(const uint8_t *data, size_t size), int least)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    struct dirent *found;
    int count = 0;
    DIR *dir;

    snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s", name);
    dir = opendir(folder);
    assert_non_null(dir);
    while ((found = readdir(dir)) != NULL) {
        if (found->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, found->d_name);
        replay(path, check);
        count++;
    }
    closedir(dir);
    assert_in_range(count, least, INT_MAX);
}
