/* The calls of the system, on a file system that does not have all of them: to this process
 * fallocate says that it is not supported. */
#include "storage/io.h"
#include "tests/support/temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { BLOCK = 4096, BLOCKS = 2000, ROUNDS = 20 };

static struct {
    char *dir;
    int fd;
} test;

/* False: a kernel or an emulator without filters. */
static bool refuse_fallocate(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

static int set_up(void **state)
{
    char path[PATH_MAX];

    (void)state;
    test.dir = temp_dir_new();
    snprintf(path, sizeof(path), "%s/file", test.dir);
    test.fd = open(path, O_RDWR | O_CREAT, 0600);
    return test.fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(test.fd);
    temp_dir_remove(test.dir);
    return 0;
}

static off_t size(void)
{
    struct stat stats;

    assert_int_equal(fstat(test.fd, &stats), 0);
    return stats.st_size;
}

static int allocate(off_t offset, off_t bytes)
{
    return io_system.fallocate(io_system.arg, test.fd, offset, bytes);
}

static void a_file_gets_its_length_and_keeps_what_it_has(void **state)
{
    char bytes[8];

    (void)state;
    assert_int_equal(pwrite(test.fd, "content", 7, 0), 7);
    assert_int_equal(allocate(0, 300000), 0);
    assert_int_equal(size(), 300000);
    assert_int_equal(pread(test.fd, bytes, 8, 0), 8);
    assert_memory_equal(bytes, "content", 8);
    assert_int_equal(allocate(100, 200), 0);
    assert_int_equal(allocate(300000, 1), 0);
    assert_int_equal(size(), 300001);
    assert_int_equal(lseek(test.fd, 0, SEEK_CUR), 0);
}

static void *write_blocks(void *arg)
{
    uint8_t block[BLOCK];

    memset(block, 'x', sizeof(block));
    for (int at = 0; at < BLOCKS; at++)
        if (pwrite(test.fd, block, sizeof(block), (off_t)at * BLOCK) != BLOCK)
            return arg;
    return NULL;
}

/* LMDB's pages, while the owner makes data.mdb longer. */
static void what_another_thread_writes_meanwhile_stays(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t writer;
        void *failed;

        assert_int_equal(ftruncate(test.fd, 0), 0);
        assert_int_equal(pthread_create(&writer, NULL, write_blocks, &test), 0);
        assert_int_equal(allocate(0, (off_t)BLOCKS * BLOCK), 0);
        assert_int_equal(pthread_join(writer, &failed), 0);
        assert_null(failed);
        assert_true(size() >= (off_t)BLOCKS * BLOCK);
        for (int at = 0; at < BLOCKS; at++) {
            char last;

            assert_int_equal(pread(test.fd, &last, 1, (off_t)at * BLOCK + BLOCK - 1), 1);
            assert_int_equal(last, 'x');
        }
    }
}

static void a_descriptor_that_takes_no_bytes_is_refused(void **state)
{
    int fd = open("/dev/null", O_RDONLY);

    (void)state;
    assert_int_equal(io_system.fallocate(io_system.arg, fd, 0, 100), -1);
    assert_int_equal(errno, EBADF);
    close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(a_file_gets_its_length_and_keeps_what_it_has),
        TEST(what_another_thread_writes_meanwhile_stays),
        TEST(a_descriptor_that_takes_no_bytes_is_refused),
#undef TEST
    };

    if (!refuse_fallocate())
        printf("no filters here: the calls of the file system are tested\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
