/* What is true for a repair of any damaged directory: it says what is wrong and makes nothing,
 * or makes a store that is sound. The fuzzer and the test that replays the corpus share this.
 *
 * Input: flags (1 byte), then changes: of files (files_check.h), or with REPAIR_RECORDS of
 * records in a sound data.mdb (table_check.h, whose input begins with the flags, too).
 * REPAIR_SEAL: checksums of the journal are corrected. */
#ifndef DUEQ_REPAIR_CHECK_H
#define DUEQ_REPAIR_CHECK_H

#include "storage/salvage.h"
#include "tests/fuzz/files_check.h"
#include "tests/fuzz/table_check.h"

enum { REPAIR_SEAL = 2, REPAIR_RECORDS = 4 };

/* FORMAT, data.mdb and a journal with jobs and keys that only it has, as a crash leaves them.
 */
static inline const struct kept_files *repair_pattern(void)
{
    static struct kept_files pattern;
    struct store_fixture fixture;

    if (pattern.count > 0)
        return &pattern;
    store_fixture_init(&fixture);
    fixture.options.seed = CHECK_SALT;
    fixture.options.segment_bytes = 65536;
    store_fixture_open(&fixture);
    full_store_fill(&fixture);
    store_fixture_checkpoint(&fixture);
    for (int i = 0; i < 20; i++) {
        struct dueq_push push;
        struct dueq_slice id;

        dueq_push_init(&push);
        push.topic = dueq_slice("tail", 4);
        push.body = dueq_slice("of the journal", (size_t)i % 14);
        push.delay = i % 2 * 1000;
        if (dueq_push(fixture.store, &push, fixture.time, &id) != DUEQ_OK)
            abort();
        store_fixture_commit(&fixture);
    }
    store_fixture_abandon(&fixture);
    kept_files_take(&pattern, fixture.dir);
    files_sort(&pattern);
    store_fixture_release(&fixture);
    return &pattern;
}

static inline void repair_damage(const char *dir, const uint8_t *data, size_t size)
{
    struct kept_files files;

    if (data[0] & REPAIR_RECORDS) {
        const struct store_pattern *pattern = store_pattern();

        store_save(dir, "FORMAT", pattern->format, pattern->format_size);
        store_save(dir, "data.mdb", pattern->data, pattern->data_size);
        table_change(dir, data, size);
        return;
    }
    files_change(repair_pattern(), data + 1, size - 1, data[0] & REPAIR_SEAL, &files);
    files_save(&files, dir);
    kept_files_release(&files);
}

static inline void repair_count(void *arg, enum salvage_finding finding, const char *text)
{
    size_t *words = arg;

    (void)finding;
    *words += strlen(text);
}

static inline bool repair_is_sound(const char *dir)
{
    struct dueq_time time = {STORE_FIXTURE_START, STORE_FIXTURE_START, STORE_FIXTURE_START};
    struct dueq_options options = command_options();
    struct dueq_verify verify = {.on_finding = command_show_finding};
    struct dueq_error error = {""};
    struct dueq *store;
    bool sound;

    if (dueq_open(dir, &options, time, &store, &error) != DUEQ_OK) {
        fprintf(stderr, "the repaired store: %s\n", error.text);
        return false;
    }
    sound = dueq_verify(store, &verify) == DUEQ_OK;
    dueq_abandon(store);
    return sound;
}

static inline bool repair_holds_up(const uint8_t *data, size_t size)
{
    size_t words = 0;
    struct salvage salvage = {.on_finding = repair_count, .arg = &words};
    char *dir = temp_dir_new(), damaged[PATH_MAX], scratch[PATH_MAX], made[PATH_MAX];
    struct dueq_error error = {""};
    enum dueq_status status;
    bool good;

    if (size < 1 + TABLE_CHANGE_HEAD) {
        temp_dir_remove(dir);
        return true;
    }
    snprintf(damaged, sizeof(damaged), "%s/damaged", dir);
    snprintf(scratch, sizeof(scratch), "%s/scratch", dir);
    snprintf(made, sizeof(made), "%s/made", dir);
    mkdir(damaged, 0700);
    repair_damage(damaged, data, size);
    status = salvage_store(damaged, scratch, made, &salvage, &error);
    if (status == DUEQ_OK)
        good = repair_is_sound(made);
    else
        good = (status == DUEQ_CORRUPT || status == DUEQ_FORMAT) && error.text[0] != '\0';
    if (!good)
        fprintf(stderr, "repair: %s: %s\n", dueq_status_text(status), error.text);
    temp_dir_remove(dir);
    return good;
}

#endif
