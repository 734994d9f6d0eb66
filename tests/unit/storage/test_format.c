/* This version reads data directories that earlier versions wrote. */
#include "storage/kv/kv.h"
#include "tests/support/store/old_jobs.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

static void unpack(const char *archive, const char *dir)
{
    char command[1024];

    snprintf(command, sizeof(command), "tar -xzf tests/fixtures/%s -C '%s'", archive, dir);
    assert_int_equal(system(command), 0);
}

static void check_directory(const char *dir, bool replays)
{
    struct dueq_time time = {.now = 1, .wall = 1};
    struct dueq_error error = {""};
    struct dueq_options options;
    struct dueq_stats stats;
    struct dueq *store;

    old_jobs_options(&options);
    options.seed = 1; /* ignored: the directory has a seed */
    if (dueq_open(dir, &options, time, &store, &error) != DUEQ_OK)
        fail_msg("dueq_open: %s", error.text);
    dueq_get_stats(store, &stats);
    assert_int_equal(stats.replayed_records > 0, replays);
    old_jobs_check(store);
    assert_int_equal(dueq_close(store), DUEQ_OK);
}

static void check_archive(const char *archive)
{
    char *dir = temp_dir_new();

    unpack(archive, dir);
    check_directory(dir, true);
    temp_dir_remove(dir);
}

static void a_directory_of_format_1_is_read(void **state)
{
    (void)state;
    check_archive("format-1.tar.gz");
}

static void topics_of_version_2_are_read(void **state)
{
    (void)state;
    check_archive("format-1-topic-2.tar.gz");
}

static void a_directory_made_now_is_read_the_same(void **state)
{
    char *dir = temp_dir_new();

    (void)state;
    old_jobs_make(dir);
    check_directory(dir, true);
    temp_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_of_format_1_is_read),
        cmocka_unit_test(topics_of_version_2_are_read),
        cmocka_unit_test(a_directory_made_now_is_read_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
