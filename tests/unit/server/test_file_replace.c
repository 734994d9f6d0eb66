/* A file of settings is the old one or the new one, whole, whenever the power fails. */
#include "server/process/file_replace.h"
#include "tests/support/faults/sync_log.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/support/cmocka.h"

static char *dir;
static char path[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    dir = temp_dir_new();
    snprintf(path, sizeof(path), "%s/dueq.conf", dir);
    assert_true(file_replace(path, "old", 3));
    sync_log_begin();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sync_log_begin();
    temp_dir_remove(dir);
    return 0;
}

static void expect_content(const char *wanted)
{
    char found[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_non_null(fgets(found, sizeof(found), file));
    fclose(file);
    assert_string_equal(found, wanted);
}

static void the_file_is_synced_before_its_name_and_the_name_after(void **state)
{
    (void)state;
    assert_true(file_replace(path, "newer", 5));
    assert_string_equal(sync_log_text(), " file:5 rename directory");
    expect_content("newer");
}

static void a_file_that_is_not_synced_does_not_replace_the_old_one(void **state)
{
    (void)state;
    sync_log_fail(0);
    assert_false(file_replace(path, "newer", 5));
    assert_int_equal(errno, EIO);
    expect_content("old");
}

static void a_name_that_is_not_synced_is_told(void **state)
{
    (void)state;
    sync_log_fail(1);
    assert_false(file_replace(path, "newer", 5));
    assert_int_equal(errno, EIO);
}

static void the_mode_stays(void **state)
{
    struct stat found;

    (void)state;
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(file_replace(path, "newer", 5));
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_file_is_synced_before_its_name_and_the_name_after),
        TEST(a_file_that_is_not_synced_does_not_replace_the_old_one),
        TEST(a_name_that_is_not_synced_is_told),
        TEST(the_mode_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
