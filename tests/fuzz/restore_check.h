/* What is true for a restore from any backup, increments and archive: it says what is wrong and
 * leaves nothing, or makes a store that opens and has what it says. The fuzzer and the test
 * that replays the corpus share this.
 *
 * Input: flags (1 byte), then changes of the files (files_check.h). RESTORE_SEAL: checksums of
 * segments are corrected. RESTORE_INCREMENT: from the increment, else from the backup with the
 * archive. RESTORE_TIME: to a time, else to the end. */
#ifndef DUEQ_RESTORE_CHECK_H
#define DUEQ_RESTORE_CHECK_H

#include "storage/recovery.h"
#include "tests/fuzz/files_check.h"
#include "tests/fuzz/store_check.h"

#include <dirent.h>
#include <unistd.h>

enum { RESTORE_SEAL = 1, RESTORE_INCREMENT = 2, RESTORE_TIME = 4, RESTORE_TURNS = 20000 };

static inline void restore_push(struct store_fixture *fixture, int count)
{
    for (int i = 0; i < count; i++) {
        struct dueq_push push;
        struct dueq_slice id;

        dueq_push_init(&push);
        push.topic = dueq_slice("later", 5);
        push.body = dueq_slice("a body of some bytes", 20);
        if (dueq_push(fixture->store, &push, fixture->time, &id) != DUEQ_OK)
            abort();
        store_fixture_pass(fixture, 1000);
        store_fixture_commit(fixture);
    }
}

static inline void restore_back_up(struct store_fixture *fixture, const char *dir,
                                   const char *name, const char *base)
{
    char path[PATH_MAX], base_path[PATH_MAX];
    struct dueq_stats stats;
    int turns = 0;

    store_path(path, dir, name);
    store_path(base_path, dir, base == NULL ? "" : base);
    if (dueq_backup_from(fixture->store, path, base == NULL ? NULL : base_path) != DUEQ_OK)
        abort();
    do {
        dueq_maintain(fixture->store, false);
        usleep(1000);
        dueq_get_stats(fixture->store, &stats);
        if (++turns > RESTORE_TURNS)
            abort();
    } while (stats.backup_running);
    if (stats.backup_status != DUEQ_OK)
        abort();
}

/* The files of a folder. Those in an archive sort by their first record: what is random in
 * their names comes after it. */
static inline void restore_take(struct kept_files *files, const char *dir, const char *folder)
{
    char path[PATH_MAX], as[PATH_MAX];
    struct dirent **found;
    int count;

    store_path(path, dir, folder);
    count = scandir(path, &found, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (found[i]->d_name[0] != '.') {
            snprintf(as, sizeof(as), "%s/%s", folder, found[i]->d_name);
            files_add(files, path, found[i]->d_name, as);
        }
        free(found[i]);
    }
    free(found);
}

/* A backup, two increments and an archive. */
static inline const struct kept_files *restore_pattern(void)
{
    static struct kept_files pattern;
    struct store_fixture fixture;
    char *dir, archive[PATH_MAX];

    if (pattern.count > 0)
        return &pattern;
    dir = temp_dir_new();
    store_path(archive, dir, "archive");
    mkdir(archive, 0700);
    store_fixture_init(&fixture);
    fixture.options.seed = CHECK_SALT;
    fixture.options.archive_dir = archive;
    store_fixture_open(&fixture);
    full_store_fill(&fixture);
    restore_back_up(&fixture, dir, "backup", NULL);
    restore_push(&fixture, 5);
    restore_back_up(&fixture, dir, "one", "backup");
    restore_push(&fixture, 5);
    restore_back_up(&fixture, dir, "two", "one");
    restore_push(&fixture, 5);
    store_fixture_close(&fixture);
    restore_take(&pattern, dir, "archive");
    restore_take(&pattern, dir, "backup");
    restore_take(&pattern, dir, "one");
    restore_take(&pattern, dir, "two");
    store_fixture_release(&fixture);
    temp_dir_remove(dir);
    return &pattern;
}

/* What no dueq has written may be in the records: then words say so. */
static inline bool restore_opens(const struct dueq_recovery *made)
{
    struct dueq_time time = {STORE_FIXTURE_START, STORE_FIXTURE_START, STORE_FIXTURE_START};
    struct dueq_options options = command_options();
    struct dueq_verify verify = {.on_finding = NULL};
    struct dueq_error error = {""};
    struct dueq_stats stats;
    struct dueq *store;
    bool good;

    if (dueq_open(made->dir, &options, time, &store, &error) != DUEQ_OK)
        return error.text[0] != '\0';
    dueq_get_stats(store, &stats);
    good = stats.lsn >= made->lsn; /* the opening may write */
    dueq_verify(store, &verify);
    dueq_abandon(store);
    return good;
}

static inline bool restore_leaves_nothing(const struct dueq_recovery *recovery)
{
    char partial[PATH_MAX];

    snprintf(partial, sizeof(partial), "%.3000s.partial", recovery->dir);
    return access(recovery->dir, F_OK) != 0 && access(partial, F_OK) != 0;
}

static inline bool restore_run(const char *dir, uint8_t flags)
{
    char backup[PATH_MAX], made[PATH_MAX], archive[PATH_MAX];
    const char *archives[] = {archive};
    struct dueq_recovery recovery = {.backup = backup,
                                     .dir = made,
                                     .archives = archives,
                                     .archive_count = flags & RESTORE_INCREMENT ? 0 : 1,
                                     .to_lsn = UINT64_MAX,
                                     .to_time = INT64_MAX};
    struct dueq_error error = {""};
    bool good;

    store_path(backup, dir, flags & RESTORE_INCREMENT ? "two" : "backup");
    store_path(made, dir, "made");
    store_path(archive, dir, "archive");
    if (flags & RESTORE_TIME)
        recovery.to_time = STORE_FIXTURE_START + 7500;
    if (recovery_run(&recovery, &error) == DUEQ_OK)
        good = restore_opens(&recovery);
    else
        good = error.text[0] != '\0' && restore_leaves_nothing(&recovery);
    if (!good)
        fprintf(stderr, "restore: %s\n", error.text);
    return good;
}

static inline bool restore_holds_up(const uint8_t *data, size_t size)
{
    struct kept_files files;
    char *dir;
    bool good;

    if (size < 1)
        return true;
    dir = temp_dir_new();
    files_change(restore_pattern(), data + 1, size - 1, data[0] & RESTORE_SEAL, &files);
    files_save(&files, dir);
    kept_files_release(&files);
    good = restore_run(dir, data[0]);
    temp_dir_remove(dir);
    return good;
}

#endif
