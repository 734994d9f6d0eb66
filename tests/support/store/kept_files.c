#include "tests/support/store/kept_files.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static void keep(struct kept_files *kept, const char *name)
{
    struct kept_file *entry = &kept->files[kept->count];
    char path[PATH_MAX * 2];
    struct stat stats = {0};
    FILE *file;

    assert_true(kept->count < KEPT_FILES_MOST);
    snprintf(path, sizeof(path), "%s/%s", kept->dir, name);
    file = fopen(path, "re");
    assert_true(file != NULL && fstat(fileno(file), &stats) == 0);
    entry->size = (size_t)stats.st_size;
    entry->bytes = malloc((size_t)stats.st_size + 1);
    assert_non_null(entry->bytes);
    assert_int_equal(fread(entry->bytes, 1, (size_t)stats.st_size, file), stats.st_size);
    strcpy(entry->name, name);
    kept->count++;
    fclose(file);
}

static void discard(struct kept_files *kept, const char *name)
{
    char path[PATH_MAX * 2];

    snprintf(path, sizeof(path), "%s/%s", kept->dir, name);
    assert_int_equal(unlink(path), 0);
}

static void each_file(struct kept_files *kept, const char *folder,
                      void (*fn)(struct kept_files *kept, const char *name))
{
    char path[PATH_MAX * 2], name[PATH_MAX];
    struct dirent *found;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/%s", kept->dir, folder);
    dir = opendir(path);
    assert_non_null(dir);
    while ((found = readdir(dir)) != NULL) {
        if (found->d_type != DT_REG)
            continue;
        snprintf(name, sizeof(name), "%s%s%s", folder, folder[0] == '\0' ? "" : "/",
                 found->d_name);
        fn(kept, name);
    }
    closedir(dir);
}

void kept_files_take(struct kept_files *kept, const char *dir)
{
    kept_files_release(kept);
    kept->dir = dir;
    each_file(kept, "", keep);
    each_file(kept, "journal", keep);
}

static bool has_note(const struct kept_files *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        if (memmem(kept->files[i].bytes, kept->files[i].size, "DUEQNOTE", 8) != NULL)
            return true;
    return false;
}

void kept_files_take_at_rest(struct kept_files *kept, const char *dir)
{
    kept_files_take(kept, dir);
    for (int tries = 0; !has_note(kept); tries++) {
        assert_true(tries < 1000);
        usleep(20000);
        kept_files_take(kept, dir);
    }
}

void kept_files_put_back(const struct kept_files *kept)
{
    struct kept_files there = {.dir = kept->dir};
    char path[PATH_MAX * 2];

    each_file(&there, "", discard);
    each_file(&there, "journal", discard);
    for (size_t i = 0; i < kept->count; i++) {
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", kept->dir, kept->files[i].name);
        file = fopen(path, "we");
        assert_non_null(file);
        assert_int_equal(fwrite(kept->files[i].bytes, 1, kept->files[i].size, file),
                         kept->files[i].size);
        assert_int_equal(fclose(file), 0);
    }
}

void kept_files_release(struct kept_files *kept)
{
    while (kept->count > 0)
        free(kept->files[--kept->count].bytes);
}

struct kept_file *kept_files_find(struct kept_files *kept, const char *name)
{
    for (size_t i = 0; i < kept->count; i++)
        if (strcmp(kept->files[i].name, name) == 0)
            return &kept->files[i];
    return NULL;
}
