/* The main thread of `dueq work`: its options and signals. */
#include "tools/client/work.h"

#include "protocol/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS_MOST = 1000, STACK = 512 * 1024, LEASE_LEAST = 1000, LEASE_MOST = 86400000 };

/* ---- options */

static bool can_run(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

/* Where the command is, as a shell finds it. NULL: nowhere. */
static char *find_program(const char *name)
{
    const char *folders = getenv("PATH");
    char path[PATH_MAX];

    if (strchr(name, '/') != NULL)
        return can_run(name) ? strdup(name) : NULL;
    for (folders = folders == NULL ? "/bin:/usr/bin" : folders; name[0] != '\0';) {
        size_t size = strcspn(folders, ":");

        snprintf(path, sizeof(path), "%.*s%s%s", (int)size, folders, size == 0 ? "./" : "/",
                 name);
        if (can_run(path))
            return strdup(path);
        if (folders[size] == '\0')
            break;
        folders += size + 1;
    }
    return NULL;
}

static bool read_program(const struct client_call *call, struct work *work)
{
    if (call->rest == NULL || call->rest[0] == NULL) {
        client_misused(call->command, "which command? It stands after --");
        return false;
    }
    work->arguments = call->rest;
    work->path = find_program(call->rest[0]);
    if (work->path == NULL)
        client_misused(call->command, "%s is no program that can be run", call->rest[0]);
    return work->path != NULL;
}

static bool read_work(const struct client_call *call, struct work *work, int64_t *ret_slots)
{
    const int64_t century = INT64_C(100) * 366 * 86400000;

    work->where = call->where;
    work->where.patience_ms = 5000;
    work->topic = call->words[0];
    work->topic_size = call->sizes[0];
    work->name = client_worker(call);
    work->drains = client_option(call, "drain") != NULL;
    work->verbose = client_option(call, "verbose") != NULL;
    return client_number(call, "n", 1, 1, SLOTS_MOST, ret_slots) && read_program(call, work) &&
           client_duration(call, "lease", 60000, LEASE_LEAST, LEASE_MOST, &work->lease_ms) &&
           client_duration(call, "time-limit", 0, 1, century, &work->limit_ms) &&
           client_duration(call, "grace", 10000, 0, century, &work->grace_ms) &&
           client_duration(call, "later", 10000, 0, century, &work->later_ms);
}

/* ---- signals */

static void wake(int fd)
{
    const uint64_t one = 1;
    ssize_t put = write(fd, &one, sizeof(one)); /* cannot fail: the counter is far from full */

    (void)put;
}

void work_stop(struct work *work)
{
    if (!atomic_exchange(&work->stopping, true))
        wake(work->stop_fd);
}

static void take_signal(struct work *work)
{
    if (!atomic_load(&work->stopping)) {
        client_log("finishing what runs; a second signal gives it back");
        work_stop(work);
    } else if (!atomic_exchange(&work->abandoning, true)) {
        client_log("giving back what runs");
        wake(work->abandon_fd);
    }
}

/* Until the last slot has ended. */
static void await_slots(struct work *work, int signals)
{
    struct pollfd events[] = {{.fd = work->ended_fd, .events = POLLIN},
                              {.fd = signals, .events = POLLIN}};
    struct signalfd_siginfo signal_info;
    uint64_t ended;

    while (atomic_load(&work->slots) > 0) {
        if (poll(events, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        if ((events[0].revents & POLLIN) != 0 &&
            read(work->ended_fd, &ended, sizeof(ended)) != (ssize_t)sizeof(ended))
            break;
        if ((events[1].revents & POLLIN) != 0 &&
            read(signals, &signal_info, sizeof(signal_info)) == (ssize_t)sizeof(signal_info))
            take_signal(work);
    }
}

/* ---- all slots */

static void *slot_begin(void *arg)
{
    struct slot *slot = arg;
    struct work *work = slot->work;

    slot_main(slot);
    atomic_fetch_sub(&work->slots, 1);
    wake(work->ended_fd);
    return NULL;
}

/* Returns how many have begun. */
static int begin_slots(struct work *work, struct slot *slots, int count)
{
    pthread_attr_t attributes;
    int begun = 0;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (; begun < count; begun++) {
        slots[begun] = (struct slot){.work = work, .random = (unsigned)(getpid() + begun)};
        atomic_fetch_add(&work->slots, 1);
        if (pthread_create(&slots[begun].thread, &attributes, slot_begin, &slots[begun]) != 0) {
            atomic_fetch_sub(&work->slots, 1);
            client_log("there is room for %d slots only", begun);
            break;
        }
    }
    pthread_attr_destroy(&attributes);
    return begun;
}

static int run_slots(struct work *work, int count)
{
    struct slot *slots = client_allocate(NULL, (size_t)count * sizeof(*slots));
    int signals = client_open_signals(), begun;

    work->stop_fd = eventfd(0, EFD_CLOEXEC);
    work->abandon_fd = eventfd(0, EFD_CLOEXEC);
    work->ended_fd = eventfd(0, EFD_CLOEXEC);
    begun = signals < 0 || work->ended_fd < 0 ? 0 : begin_slots(work, slots, count);
    await_slots(work, signals);
    for (int i = 0; i < begun; i++)
        pthread_join(slots[i].thread, NULL);
    free(slots);
    close(signals);
    close(work->stop_fd);
    close(work->abandon_fd);
    close(work->ended_fd);
    return begun == 0 || atomic_load(&work->failed) ? CLIENT_REFUSED : CLIENT_DONE;
}

int client_work(struct client_call *call)
{
    static struct work work;
    int64_t slots;
    int status;

    client_log_as("work");
    if (!read_work(call, &work, &slots))
        return CLIENT_USAGE;
    status = run_slots(&work, (int)slots);
    free((void *)(uintptr_t)work.path);
    return status;
}
