/* The filter of system calls, in a child of the test: what is refused fails with EPERM, and
 * goes into the log once. */
#include "server/process/log.h"
#include "server/process/sandbox.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static char output[4096];

/* Runs `work` in a process with the filter; its log is in `output`. Returns its exit status. */
static int run_in_sandbox(int (*work)(void))
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        const char *why;
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        if (!sandbox_enter(&why))
            _exit(99);
        status = work();
        fflush(NULL);
        _exit(status);
    }
    close(ends[1]);
    size_t size = 0;
    ssize_t got;
    while ((got = read(ends[0], output + size, sizeof(output) - 1 - size)) > 0)
        size += (size_t)got;
    output[size] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool refused(long result)
{
    return result == -1 && errno == EPERM;
}

static int run_forbidden(void)
{
    char *const arguments[] = {(char *)(uintptr_t) "true", NULL};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    if (!refused(execv("/bin/true", arguments)))
        return 2;
    if (!refused(fork()))
        return 3;
    if (!refused(socket(AF_NETLINK, SOCK_RAW, 0)) || !refused(socket(AF_PACKET, SOCK_RAW, 0)))
        return 4;
    if (!refused(mprotect(page, 4096, PROT_READ | PROT_EXEC)))
        return 5;
    if (!refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL)))
        return 6;
    if (!refused(chroot("/")) || !refused(setuid(1)) || !refused(kill(getppid(), 0)))
        return 7;
    if (!refused(ioctl(STDIN_FILENO, TIOCSTI, "x")))
        return 8;
    return execv("/bin/true", arguments) == -1 ? 0 : 9;
}

/* An emulator of programs (qemu-user) has no filter. On i386 one call stands for all of
 * sockets, so the filter cannot tell what they ask for and refuses it. */
static bool has_filter(void)
{
#ifdef __i386__
    return false;
#else
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
#endif
}

static void what_no_server_needs_is_refused_and_logged(void **state)
{
    (void)state;
    if (!has_filter())
        skip();
    assert_int_equal(run_in_sandbox(run_forbidden), 0);
    assert_non_null(strstr(output, "The sandbox refused the system call execve ("));
    assert_null(strstr(strstr(output, "call execve (") + 1, "call execve ("));
    assert_non_null(strstr(output, "The sandbox refused the system call ptrace ("));
}

static void *do_nothing(void *arg)
{
    return arg;
}

/* FIONREAD is of libevent, SIOCOUTQ of the connections; realpath() asks for the directory. */
static bool asks_of_descriptors(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    int bytes = -1, fd = socket(AF_INET, SOCK_DGRAM, 0);
    char here[4096];
    if (bind(fd, (struct sockaddr *)&any, sizeof(any)) != 0)
        return false;
    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes == 0 && ioctl(fd, SIOCOUTQ, &bytes) == 0 &&
           getcwd(here, sizeof(here)) != NULL;
}

static int run_allowed(void)
{
    pthread_t thread;
    FILE *file = tmpfile();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (file == NULL || fprintf(file, "x") != 1 || fclose(file) != 0 || fd < 0)
        return 1;
    if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    free(malloc(100 << 20));
    return asks_of_descriptors() ? 0 : 3;
}

static void files_threads_and_sockets_work(void **state)
{
    (void)state;
    if (!has_filter())
        skip();
    assert_int_equal(run_in_sandbox(run_allowed), 0);
    assert_string_equal(output, "");
}

/* The call that the signal comes in keeps its result. */
static int send_the_signal(void)
{
    return syscall(SYS_tgkill, getpid(), gettid(), SIGSYS) == 0 ? 0 : 1;
}

static void the_signal_of_a_process_is_no_refusal(void **state)
{
    (void)state;
    if (!has_filter())
        skip();
    assert_int_equal(run_in_sandbox(send_the_signal), 0);
    assert_string_equal(output, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_server_needs_is_refused_and_logged),
        cmocka_unit_test(files_threads_and_sockets_work),
        cmocka_unit_test(the_signal_of_a_process_is_no_refusal),
    };
    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
