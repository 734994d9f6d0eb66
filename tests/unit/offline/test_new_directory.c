/* A directory that an offline command makes gets its name when it is whole, also for the disk.
 */
#include "tests/support/faults/sync_log.h"
#include "tests/support/temp_dir.h"
#include "tools/offline/new_directory.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/support/cmocka.h"

static char *dir;
static char name[PATH_MAX];
static struct new_directory made;

static int set_up(void **state)
{
    (void)state;
    dir = temp_dir_new();
    snprintf(name, sizeof(name), "%s/data", dir);
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

static void the_name_is_synced_after_the_rename(void **state)
{
    struct stat found;

    (void)state;
    assert_true(new_directory_begin(&made, name, "load"));
    assert_true(new_directory_put(&made));
    assert_string_equal(sync_log_text(), " rename directory");
    assert_int_equal(stat(name, &found), 0);
}

/* Owner and mode of the directory that it replaces are those of its files too. */
static void what_replaces_a_directory_is_synced_before_it_has_its_name(void **state)
{
    struct stat found;

    (void)state;
    assert_int_equal(mkdir(name, 0750), 0);
    assert_true(new_directory_begin(&made, name, "load"));
    assert_true(new_directory_put(&made));
    assert_string_equal(sync_log_text(), " all rename directory");
    assert_int_equal(stat(name, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0750);
}

static void what_is_not_synced_is_no_success(void **state)
{
    (void)state;
    assert_true(new_directory_begin(&made, name, "load"));
    sync_log_fail(0);
    assert_false(new_directory_put(&made));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_name_is_synced_after_the_rename),
        TEST(what_replaces_a_directory_is_synced_before_it_has_its_name),
        TEST(what_is_not_synced_is_no_success),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
