#include "server/process/sandbox.h"

#include "server/process/log.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>

/* By purpose. A name that the architecture does not have is passed over. */
static const char *const allowed[] = {
    /* files */
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2",
    "pwritev2", "open", "openat", "close", "fstat", "fstat64", "newfstatat", "fstatat64",
    "stat", "stat64", "lstat", "lstat64", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64",
    "lseek", "_llseek", "fsync", "fdatasync", "sync_file_range", "sync_file_range2",
    "ftruncate", "ftruncate64", "fallocate", "fadvise64", "fadvise64_64", "arm_fadvise64_64",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir",
    "getcwd", "link", "linkat", "readlink", "readlinkat", "access", "faccessat", "faccessat2",
    "flock", "fcntl", "fcntl64", "getdents", "getdents64", "copy_file_range", "sendfile",
    "sendfile64", "umask", "fchmod", "fchown", "fchown32", "dup", "dup2", "dup3",
    /* memory */
    "munmap", "mremap", "madvise", "msync", "brk", "mincore", "membarrier",
    /* threads and time */
    "futex", "futex_time64", "set_robust_list", "rseq", "sched_yield", "sched_getaffinity",
    "sched_getattr", "sched_setattr", "gettid", "getpid", "getppid", "tgkill", "exit",
    "exit_group", "restart_syscall", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
    "sigreturn", "sigaltstack", "clock_gettime", "clock_gettime64", "clock_getres",
    "clock_nanosleep", "clock_nanosleep_time64", "nanosleep", "gettimeofday", "time",
    "getrusage", "times",
    /* the loop and its sockets */
    "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_wait", "epoll_pwait", "epoll_pwait2",
    "eventfd2", "pipe2", "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6",
    "pselect6_time64", "timerfd_create", "timerfd_settime", "timerfd_settime64", "bind",
    "listen", "accept", "accept4", "connect", "getsockname", "getpeername", "getsockopt",
    "setsockopt", "socketpair", "sendto", "send", "recvfrom", "recv", "sendmsg", "recvmsg",
    "shutdown",
    /* what it asks the system */
    "getrandom", "getrlimit", "ugetrlimit", "setrlimit", "prlimit64", "uname", "sysinfo",
    "getuid", "geteuid", "getgid", "getegid", "getuid32", "geteuid32", "getgid32", "getegid32"};

static const int families[] = {AF_INET, AF_INET6, AF_UNIX};

/* Of libevent and OpenSSL; of the connections; is it a terminal (glibc, musl)? */
static const unsigned long controls[] = {FIONREAD, FIONBIO, SIOCOUTQ, TCGETS, TIOCGWINSZ};

/* ---- what is refused */

/* The place of a call's result in the state that the handler returns to. Where it is not known,
 * the kernel gives the result, and the log does not name the call. */
#if defined(__x86_64__)
#define RESULT(context) (context)->uc_mcontext.gregs[REG_RAX]
#elif defined(__i386__)
#define RESULT(context) (context)->uc_mcontext.gregs[REG_EAX]
#elif defined(__aarch64__)
#define RESULT(context) (context)->uc_mcontext.regs[0]
#elif defined(__arm__)
#define RESULT(context) (context)->uc_mcontext.arm_r0
#elif defined(__riscv)
#define RESULT(context) (context)->uc_mcontext.__gregs[REG_A0]
#endif

#ifdef RESULT
#define REFUSAL SCMP_ACT_TRAP

enum { CALLS = 1024, FROM_FILTER = 1 /* SYS_SECCOMP, which not every libc names */ };

static atomic_bool told[CALLS];

/* It comes in the thread that made the call, in the place of the call. A process that sends the
 * signal interrupts anything: no register is touched. */
static void on_refused(int number, siginfo_t *info, void *arg)
{
    unsigned call = (unsigned)info->si_syscall;
    int error = errno;
    char *name;

    (void)number;
    if (info->si_code != FROM_FILTER)
        return;
    RESULT((ucontext_t *)arg) = (unsigned long)-EPERM;
    if (call >= CALLS || !atomic_exchange(&told[call], true)) {
        name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)call);
        log_write(LOG_WARNING, "The sandbox refused the system call %s (%u)",
                  name == NULL ? "?" : name, call);
        free(name);
    }
    errno = error;
}

static void catch_refusals(void)
{
    struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    sigaction(SIGSYS, &action, NULL);
}

#else
#define REFUSAL SCMP_ACT_ERRNO(EPERM)

static void catch_refusals(void)
{
}
#endif

/* ---- the filter */

static bool allow_all(scmp_filter_ctx filter)
{
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        int call = seccomp_syscall_resolve_name(allowed[i]);

        if (call >= 0 && seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) != 0)
            return false;
    }
    return true;
}

/* Allows the call while `mask` of its argument has this value. */
static bool allow_if(scmp_filter_ctx filter, const char *name, unsigned argument, uint64_t mask,
                     uint64_t value)
{
    int call = seccomp_syscall_resolve_name(name);

    return call < 0 ||
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
                            SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value)) == 0;
}

static bool allow_families(scmp_filter_ctx filter)
{
    bool good = true;

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        good = good && allow_if(filter, "socket", 0, UINT32_MAX, (uint64_t)families[i]);
    return good;
}

/* Not TIOCSTI, which types into the terminal of whoever started the server. */
static bool allow_controls(scmp_filter_ctx filter)
{
    bool good = true;

    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
        good = good && allow_if(filter, "ioctl", 1, UINT32_MAX, (uint64_t)controls[i]);
    return good;
}

/* Threads, but no processes. The flags of clone3 cannot be seen, and without it libc takes
 * clone.
 */
static bool allow_threads(scmp_filter_ctx filter)
{
    return allow_if(filter, "clone", 0, CLONE_THREAD, CLONE_THREAD) &&
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
}

static bool allow_data_memory(scmp_filter_ctx filter)
{
    return allow_if(filter, "mmap", 2, PROT_EXEC, 0) &&
           allow_if(filter, "mmap2", 2, PROT_EXEC, 0) &&
           allow_if(filter, "mprotect", 2, PROT_EXEC, 0);
}

bool sandbox_enter(const char **ret_why)
{
    scmp_filter_ctx filter = seccomp_init(REFUSAL);
    int error = -ENOMEM;

    if (filter != NULL && allow_all(filter) && allow_families(filter) &&
        allow_controls(filter) && allow_threads(filter) && allow_data_memory(filter)) {
        seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, not a list */
        catch_refusals();
        error = seccomp_load(filter);
    }
    if (filter != NULL)
        seccomp_release(filter);
    *ret_why = error == 0 ? NULL : strerror(-error);
    return error == 0;
}
