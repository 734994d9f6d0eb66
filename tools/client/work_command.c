/* One run of the command of `dueq work`: the body goes in, standard error comes out, the lease
 * is extended, and what takes too long is ended. */
#include "tools/client/work.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { STEP = 64 * 1024, TICK_MS = 50, RETRY_MS = 1000, NEVER_MS = 1000000 };
enum { ENVIRONMENT_MORE = 5, CANNOT_RUN = 126, ROUNDS_AT_END = 64 };

struct child {
    struct slot *slot;
    const struct held_job *job;
    struct run_result *result;
    pid_t pid;      /* also of its process group */
    int process_fd; /* readable when it has ended; -1: the kernel has no such thing */
    int in, err;    /* our ends; -1: closed */
    size_t written; /* of the body */
    int64_t extend_at, limit_at, kill_at; /* INT64_MAX: never */
    bool is_over;
};

static void close_once(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- its environment */

static char *variable(const char *name, const char *value, size_t size)
{
    char *text = client_allocate(NULL, strlen(name) + size + 2);

    sprintf(text, "%s=", name);
    memcpy(text + strlen(text) + 0, value, size);
    text[strlen(name) + 1 + size] = '\0';
    return text;
}

/* What is set for each job, and passwords: whatever the command runs could read these, and has
 * more use for a login of its own. */
static bool is_ours(const char *text)
{
    static const char *const names[] = {
        "DUEQ_ID=",     "DUEQ_TOPIC=",    "DUEQ_TOKEN=",          "DUEQ_ATTEMPT=",
        "DUEQ_WORKER=", "DUEQ_PASSWORD=", "DUEQ_OTHER_PASSWORD=", "REDISCLI_AUTH="};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* A name with a zero in it cannot be a variable, and is left out. */
static void add_name(char **all, size_t *count, const char *name, const char *bytes,
                     size_t size)
{
    if (memchr(bytes, 0, size) == NULL)
        all[(*count)++] = variable(name, bytes, size);
}

/* The first *ret_own of them are to be freed. */
static char **make_environment(const struct slot *slot, const struct held_job *job,
                               size_t *ret_own)
{
    const struct work *work = slot->work;
    size_t inherited = 0, count = 0;
    char **all, number[32];

    while (environ[inherited] != NULL)
        inherited++;
    all = client_allocate(NULL, (inherited + ENVIRONMENT_MORE + 1) * sizeof(*all));
    add_name(all, &count, "DUEQ_ID", job->id.data, job->id.size);
    add_name(all, &count, "DUEQ_TOPIC", work->topic, work->topic_size);
    snprintf(number, sizeof(number), "%lld", job->token);
    all[count++] = variable("DUEQ_TOKEN", number, strlen(number));
    snprintf(number, sizeof(number), "%lld", job->attempt);
    all[count++] = variable("DUEQ_ATTEMPT", number, strlen(number));
    all[count++] = variable("DUEQ_WORKER", work->name, strlen(work->name));
    *ret_own = count;
    for (size_t i = 0; i < inherited; i++)
        if (!is_ours(environ[i]))
            all[count++] = environ[i];
    all[count] = NULL;
    return all;
}

/* ---- its start */

/* After the fork: only calls that a signal handler may make, as other threads may have held
 * locks. The command ends with the worker, whose jobs are given back then. */
static void become_command(const struct work *work, char **environment, int in, int err,
                           pid_t parent)
{
    static const char failure[] = "dueq work: cannot run the command\n";
    sigset_t none;
    ssize_t put;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CANNOT_RUN);
    dup2(in, STDIN_FILENO);
    dup2(err, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(work->path, work->arguments, environment);
    put = write(STDERR_FILENO, failure, sizeof(failure) - 1);
    (void)put;
    _exit(CANNOT_RUN);
}

static bool open_pipes(int *in, int *err)
{
    if (pipe2(in, O_CLOEXEC) != 0)
        return false;
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    return true;
}

static void fork_command(struct child *child, int in, int err)
{
    const struct work *work = child->slot->work;
    size_t own;
    char **environment = make_environment(child->slot, child->job, &own);
    pid_t parent = getpid();

    child->pid = fork();
    if (child->pid == 0)
        become_command(work, environment, in, err, parent);
    if (child->pid > 0)
        setpgid(child->pid, child->pid); /* whoever comes first */
    for (size_t i = 0; i < own; i++)
        free(environment[i]);
    free(environment);
}

static bool start(struct child *child)
{
    int in[2], err[2];

    if (!open_pipes(in, err))
        return false;
    fork_command(child, in[0], err[1]);
    close(in[0]);
    close(err[1]);
    child->in = in[1];
    child->err = err[0];
    fcntl(child->in, F_SETFL, O_NONBLOCK);
    fcntl(child->err, F_SETFL, O_NONBLOCK);
    if (child->pid > 0) {
        child->process_fd = (int)syscall(SYS_pidfd_open, child->pid, 0);
        return true;
    }
    close_once(&child->in);
    close_once(&child->err);
    return false;
}

/* ---- what goes in and comes out */

/* A command may end its input before it has all of it. */
static void feed(struct child *child)
{
    const struct dueq_bytes *body = &child->job->body;
    ssize_t put = 0;

    if (child->written < body->size)
        put = write(child->in, body->data + child->written, body->size - child->written);
    if (put > 0)
        child->written += (size_t)put;
    if (child->written == body->size || (put < 0 && errno != EAGAIN && errno != EINTR))
        close_once(&child->in);
}

static void keep_tail(struct run_result *result, const char *bytes, size_t size)
{
    if (size > WORK_TAIL) {
        bytes += size - WORK_TAIL;
        size = WORK_TAIL;
    }
    if (result->tail_size + size > WORK_TAIL) {
        size_t drop = result->tail_size + size - WORK_TAIL;

        memmove(result->tail, result->tail + drop, result->tail_size - drop);
        result->tail_size -= drop;
    }
    memcpy(result->tail + result->tail_size, bytes, size);
    result->tail_size += size;
    result->tail[result->tail_size] = '\0';
}

/* False: there is nothing more at the moment. */
static bool drain(struct child *child)
{
    char bytes[STEP];
    ssize_t got = read(child->err, bytes, sizeof(bytes));

    if (got > 0) {
        keep_tail(child->result, bytes, (size_t)got);
        client_pass_on(bytes, (size_t)got);
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        close_once(&child->err);
    return false;
}

/* ---- its end */

/* It stays a zombie, so that nobody else gets its number before the group is killed. */
static bool has_ended(const struct child *child)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == child->pid;
}

/* What ended by itself before that was to be has a status that counts. */
static void end_it(struct child *child, enum ended_by by)
{
    if (child->result->by != ENDED_ITSELF || has_ended(child))
        return;
    child->result->by = by;
    kill(-child->pid, SIGTERM);
    child->kill_at = client_monotonic() + child->slot->work->grace_ms;
    child->extend_at =
        by == ENDED_BY_LOSS || by == ENDED_BY_CANCEL ? INT64_MAX : child->extend_at;
    child->limit_at = INT64_MAX;
}

static void extend(struct child *child)
{
    switch (slot_extend(child->slot, child->job)) {
    case HELD_OK:
        child->extend_at = client_monotonic() + child->slot->work->lease_ms / 3;
        break;
    case HELD_UNKNOWN:
        child->extend_at = client_monotonic() + RETRY_MS;
        break;
    case HELD_LOST:
        end_it(child, ENDED_BY_LOSS);
        child->extend_at = INT64_MAX;
        break;
    case HELD_CANCELLED:
        end_it(child, ENDED_BY_CANCEL);
        child->extend_at = INT64_MAX;
        break;
    }
}

static void look_at_clock(struct child *child)
{
    int64_t now = client_monotonic();

    if (now >= child->limit_at)
        end_it(child, ENDED_BY_LIMIT);
    if (now >= child->kill_at) {
        kill(-child->pid, SIGKILL);
        child->kill_at = INT64_MAX;
    }
    if (now >= child->extend_at)
        extend(child);
}

static int time_left(const struct child *child)
{
    int64_t next = child->extend_at, left;

    if (child->limit_at < next)
        next = child->limit_at;
    if (child->kill_at < next)
        next = child->kill_at;
    left = next == INT64_MAX ? NEVER_MS : next - client_monotonic();
    if (child->process_fd < 0 && left > TICK_MS)
        left = TICK_MS;
    return left < 0 ? 0 : left > NEVER_MS ? NEVER_MS : (int)left;
}

static void take_turn(struct child *child)
{
    bool stops = child->result->by != ENDED_ITSELF;
    struct pollfd events[] = {
        {.fd = child->in, .events = POLLOUT},
        {.fd = child->err, .events = POLLIN},
        {.fd = child->process_fd, .events = POLLIN},
        {.fd = stops ? -1 : child->slot->work->abandon_fd, .events = POLLIN}};

    if (poll(events, 4, time_left(child)) < 0 && errno != EINTR)
        end_it(child, ENDED_BY_STOP);
    if (events[0].revents != 0)
        feed(child);
    if (events[1].revents != 0)
        drain(child);
    if (events[3].revents != 0)
        end_it(child, ENDED_BY_STOP);
    look_at_clock(child);
    child->is_over = has_ended(child);
}

/* What it has started and left behind may still hold its standard error: that is not waited
 * for. After a run that was ended nothing of it stays. */
static void finish(struct child *child)
{
    int status = 0;

    if (child->result->by != ENDED_ITSELF)
        kill(-child->pid, SIGKILL);
    for (int i = 0; i < ROUNDS_AT_END && child->err >= 0 && drain(child); i++)
        continue;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    child->result->status = status;
    close_once(&child->in);
    close_once(&child->err);
    close_once(&child->process_fd);
}

void slot_run_command(struct slot *slot, const struct held_job *job,
                      struct run_result *ret_result)
{
    const struct work *work = slot->work;
    int64_t now = client_monotonic();
    struct child child = {.slot = slot,
                          .job = job,
                          .result = ret_result,
                          .extend_at = now + work->lease_ms / 3,
                          .limit_at = work->limit_ms == 0 ? INT64_MAX : now + work->limit_ms,
                          .kill_at = INT64_MAX};

    *ret_result = (struct run_result){.by = ENDED_ITSELF, .status = -1};
    if (!start(&child)) {
        keep_tail(ret_result, strerror(errno), strlen(strerror(errno)));
        return;
    }
    while (!child.is_over)
        take_turn(&child);
    finish(&child);
}
