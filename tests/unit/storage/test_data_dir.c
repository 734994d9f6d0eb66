/* A data directory belongs to one process and has one format. */
#include "storage/kv/data_dir.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/faults/sync_log.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static char *parent;
static char dir[PATH_MAX / 2], format_path[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    parent = temp_dir_new();
    snprintf(dir, sizeof(dir), "%s/data", parent);
    snprintf(format_path, sizeof(format_path), "%s/FORMAT", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_dir_remove(parent);
    return 0;
}

static void write_format(const char *bytes, size_t size)
{
    int fd;

    mkdir(dir, 0700);
    fd = open(format_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static void expect_format(void)
{
    char found[64] = "";
    int fd = open(format_path, O_RDONLY);

    assert_int_equal(read(fd, found, sizeof(found)), 7);
    assert_string_equal(found, "dueq 1\n");
    close(fd);
}

static void expect_lock(void)
{
    struct dueq_error error = {""};
    int fd = -1;

    if (data_dir_lock(dir, &io_system, &fd, &error) != DUEQ_OK)
        fail_msg("%s", error.text);
    assert_true(fd >= 0);
    data_dir_unlock(fd);
}

static void expect_refusal(enum dueq_status status, const char *words)
{
    struct dueq_error error = {""};
    int fd = -7;

    assert_int_equal(data_dir_lock(dir, &io_system, &fd, &error), status);
    assert_int_equal(fd, -7);
    if (strstr(error.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
}

static void a_missing_directory_is_made(void **state)
{
    struct stat stats;

    (void)state;
    expect_lock();
    expect_format();
    assert_int_equal(stat(dir, &stats), 0);
    assert_int_equal(stats.st_mode & 0777, 0700);
}

static void a_directory_that_is_there_is_taken(void **state)
{
    (void)state;
    expect_lock();
    expect_lock();
    expect_format();
}

/* The one that made it may have been killed right after. */
static void the_name_is_synced_before_the_directory_counts_as_made(void **state)
{
    struct fake_disk *disk = fake_disk_new();
    int fd = -7;

    (void)state;
    for (int tries = 0; tries < 2; tries++) {
        fake_disk_fail(disk, DISK_SYNC_NAMES, 0, 1, EIO);
        assert_int_equal(data_dir_lock(dir, fake_disk_io(disk), &fd, NULL), DUEQ_IO);
    }
    assert_int_equal(data_dir_lock(dir, fake_disk_io(disk), &fd, NULL), DUEQ_OK);
    data_dir_unlock(fd);
    assert_int_equal(fake_disk_count(disk, DISK_SYNC_NAMES), 3);
    assert_int_equal(data_dir_lock(dir, fake_disk_io(disk), &fd, NULL), DUEQ_OK);
    data_dir_unlock(fd);
    assert_int_equal(fake_disk_count(disk, DISK_SYNC_NAMES), 3);
    fake_disk_free(disk);
}

/* A later version that has another format must find it, and `dueq check` misses a lost one. */
static void the_format_is_synced_after_the_name(void **state)
{
    (void)state;
    sync_log_begin();
    expect_lock();
    assert_string_equal(sync_log_text(), " directory file:7");
    sync_log_begin();
    expect_lock();
    assert_string_equal(sync_log_text(), "");
}

static void a_format_that_is_not_synced_is_refused(void **state)
{
    (void)state;
    sync_log_begin();
    sync_log_fail(1);
    expect_refusal(DUEQ_IO, "cannot write");
    expect_lock();
}

static void a_directory_in_use_is_refused_until_it_is_let_go(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(data_dir_lock(dir, &io_system, &fd, NULL), DUEQ_OK);
    expect_refusal(DUEQ_LOCKED, "in use");
    data_dir_unlock(fd);
    expect_lock();
    data_dir_unlock(-1);
}

static void another_format_is_refused_and_left_alone(void **state)
{
    static const char *formats[] = {"dueq 2\n", "dueq 1", "dueq 1\nmore", "something else\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char found[64] = "";
        int fd;

        write_format(formats[i], strlen(formats[i]));
        expect_refusal(DUEQ_FORMAT, "FORMAT says \"");
        fd = open(format_path, O_RDONLY);
        assert_true(read(fd, found, sizeof(found)) > 0);
        assert_string_equal(found, formats[i]);
        close(fd);
    }
    expect_refusal(DUEQ_FORMAT, "something else");
    write_format("dueq 1\n", 7);
    expect_lock(); /* a refused opening keeps no lock */
}

/* A power cut came when the file had its size but not its bytes. */
static void a_format_never_written_is_written(void **state)
{
    (void)state;
    write_format("", 0);
    expect_lock();
    expect_format();
    write_format("\0\0\0\0\0\0\0", 7);
    expect_lock();
    expect_format();
}

static void what_is_no_directory_is_refused(void **state)
{
    int fd = open(dir, O_WRONLY | O_CREAT, 0600);

    (void)state;
    close(fd);
    expect_refusal(DUEQ_IO, "/data");
}

static void a_missing_parent_is_refused(void **state)
{
    (void)state;
    strcat(dir, "/deeper/still");
    expect_refusal(DUEQ_IO, "deeper");
}

static void a_path_too_long_is_refused(void **state)
{
    char path[PATH_MAX + 1];
    int fd;

    (void)state;
    memset(path, 'p', PATH_MAX);
    path[PATH_MAX] = '\0';
    assert_int_equal(data_dir_lock(path, &io_system, &fd, NULL), DUEQ_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_missing_directory_is_made),
        TEST(a_directory_that_is_there_is_taken),
        TEST(the_name_is_synced_before_the_directory_counts_as_made),
        TEST(the_format_is_synced_after_the_name),
        TEST(a_format_that_is_not_synced_is_refused),
        TEST(a_directory_in_use_is_refused_until_it_is_let_go),
        TEST(another_format_is_refused_and_left_alone),
        TEST(a_format_never_written_is_written),
        TEST(what_is_no_directory_is_refused),
        TEST(a_missing_parent_is_refused),
        TEST(a_path_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
