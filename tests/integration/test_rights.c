/* Rights: of others on the data, and of the server on the machine. */
#include "tests/support/client/client.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum { NOBODY = 65534, OUTPUT = 8192 };

static char output[OUTPUT];

static mode_t mode_of(const char *path)
{
    struct stat found;
    assert_int_equal(lstat(path, &found), 0);
    return found.st_mode & 0777;
}

static void a_directory_that_all_may_write_is_refused(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    assert_int_equal(mkdir(server->data, 0700), 0);
    assert_int_equal(chmod(server->data, 0777), 0);
    assert_int_equal(run_shell(output, OUTPUT, "timeout 60 %s server --port %d --dir %s",
                               server_binary(), free_port(), server->data),
                     1);
    assert_non_null(strstr(output, "chmod o-w"));
    assert_non_null(strstr(output, server->data));
    assert_int_equal(chmod(server->data, 0770), 0);
    server_process_run(server);
}

static void others_get_no_rights_on_its_files(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *log = server_process_path(server, "its.log");
    mode_t before = umask(0);
    struct dirent *entry;
    server_process_option(server, "logfile", log);
    server_process_run(server);
    umask(before);
    assert_int_equal(mode_of(log) & 0007, 0);
    DIR *directory = opendir(server->data);
    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", server->data, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(mode_of(path) & 0007, 0);
    }
    closedir(directory);
    free(log);
}

/* The line of /proc/PID/status. */
static void expect_status(const struct server_process *server, const char *line)
{
    run_shell(output, OUTPUT, "cat /proc/%d/status", (int)server->pid);
    if (strstr(output, line) == NULL)
        fail_at(__FILE__, __LINE__, "no '%s' in %s", line, output);
}

static void root_becomes_somebody_else(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *log = server_process_path(server, "its.log");
    char *data = server_process_path(server, "its-data");
    struct stat found;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(server->directory, 0755), 0);
    server_process_option(server, "dir", data);
    server_process_option(server, "run-as", "65534:65533");
    server_process_option(server, "logfile", log);
    server_process_run(server);
    expect_status(server, "Uid:\t65534\t65534\t65534\t65534\n");
    expect_status(server, "Gid:\t65533\t65533\t65533\t65533\n");
    expect_status(server, "CapEff:\t0000000000000000\n");
    expect_status(server, "CapPrm:\t0000000000000000\n");
    expect_status(server, "NoNewPrivs:\t1\n");
    assert_int_equal(stat(data, &found), 0);
    assert_int_equal(found.st_uid, NOBODY);
    assert_int_equal(stat(log, &found), 0);
    assert_int_equal(found.st_uid, NOBODY);
    expect(client_open(server), "*", "Q.PUSH mail body");
    server_process_stop(server);
    server_process_run(server);
    expect(client_open(server), "1", "Q.LEN mail");
    free(log);
    free(data);
}

/* What is no file stays whose it is: /dev/null is everybody's. A pipe takes its place. */
static void only_a_log_that_is_a_file_is_given_away(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *log = server_process_path(server, "pipe");
    char *data = server_process_path(server, "its-data");
    struct stat found;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(server->directory, 0755), 0);
    assert_int_equal(mkfifo(log, 0600), 0);
    int fd = open(log, O_RDWR | O_CLOEXEC);
    server_process_option(server, "dir", data);
    server_process_option(server, "run-as", "65534:65533");
    server_process_option(server, "logfile", log);
    server_process_run(server);
    assert_int_equal(stat(log, &found), 0);
    assert_int_equal(found.st_uid, 0);
    assert_int_equal(stat(data, &found), 0);
    assert_int_equal(found.st_uid, NOBODY);
    close(fd);
    free(log);
    free(data);
}

static void only_root_becomes_somebody_else(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    run_shell(output, OUTPUT,
              "chmod 755 %s; %s timeout 60 %s server --port %d --dir %s --run-as daemon",
              server->directory,
              geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups" : "",
              server_binary(), free_port(), server->data);
    assert_non_null(strstr(output, "run-as: only root can become daemon"));
    assert_int_equal(run_shell(output, OUTPUT,
                               "timeout 60 %s server --port %d --dir %s --run-as no-such-user",
                               server_binary(), free_port(), server->data),
                     1);
    assert_non_null(strstr(output, "run-as: there is no user no-such-user"));
}

/* What the filter refuses: tests/unit/server/test_sandbox.c. */
static void a_server_in_a_sandbox_starts_no_program(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* at the end it looks for leaks with a process of its own */
#endif
    if (server_is_emulated()) {
        print_message("an emulator has no filter of system calls\n");
        skip();
    }
    struct server_process *server = server_process_start("sandbox yes");
    expect_status(server, "Seccomp:\t2\n");
    expect_status(server, "NoNewPrivs:\t1\n");
    redisContext *client = client_open(server);
    expect(client, "*", "Q.PUSH mail body");
    expect(client, "OK", "CONFIG SET port %d", free_port());
    char *log = server_process_log(server);
    assert_null(strstr(log, "refused"));
    free(log);
    server_process_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(a_directory_that_all_may_write_is_refused),
        serving_test(others_get_no_rights_on_its_files),
        serving_test(root_becomes_somebody_else),
        serving_test(only_a_log_that_is_a_file_is_given_away),
        serving_test(only_root_becomes_somebody_else),
        serving_test(a_server_in_a_sandbox_starts_no_program),
    };
    return cmocka_run_group_tests_name("rights", tests, NULL, NULL);
}
