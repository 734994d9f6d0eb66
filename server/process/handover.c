#include "server/process/handover.h"

#include "server/process/zones.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The descriptor of a file in memory with lines "KIND FD PORT TEXT"; the descriptor of the
 * program that leaves, and its arguments, in lines. Both begin with the number of the process,
 * so that no child takes them for its own. */
#define SOCKETS "DUEQ_SOCKETS"
#define PROGRAM "DUEQ_OLD_PROGRAM"

enum { TEXT_MOST = 1000 };

struct handed {
    char kind[16];
    char *text;
    int port;
    int fd;
    bool is_taken;
};

static struct {
    struct handed *sockets;
    size_t count, capacity;
    bool is_pending;
    int program_fd;               /* of the program that has left; 0: unknown */
    char *old_lines, **old_words; /* its descriptor, and its arguments */
    int argc;
    char **argv;
    char program[4096];
} handover;

/* ---- taking over */

/* Room for one more. NULL: out of memory. */
static struct handed *next_place(void)
{
    size_t capacity = handover.capacity == 0 ? 64 : 2 * handover.capacity;
    struct handed *grown;

    if (handover.count == handover.capacity) {
        grown = realloc(handover.sockets, capacity * sizeof(*grown));
        if (grown == NULL)
            return NULL;
        handover.sockets = grown;
        handover.capacity = capacity;
    }
    handover.sockets[handover.count] = (struct handed){.fd = -1};
    return &handover.sockets[handover.count];
}

static void read_line(char *line)
{
    struct handed *handed = next_place();
    int used = 0;

    line[strcspn(line, "\n")] = '\0';
    if (handed != NULL &&
        sscanf(line, "%15s %d %d %n", handed->kind, &handed->fd, &handed->port, &used) == 3 &&
        fcntl(handed->fd, F_SETFD, FD_CLOEXEC) == 0) {
        handed->text = strdup(line + used);
        handover.count += handed->text != NULL;
    }
}

static void read_lines(int fd)
{
    FILE *file = lseek(fd, 0, SEEK_SET) == 0 ? fdopen(fd, "r") : NULL;
    char *line = NULL;
    size_t room = 0;

    while (file != NULL && getline(&line, &room, file) >= 0)
        read_line(line);
    free(line);
    if (file != NULL)
        fclose(file);
}

/* The rest of a variable that begins with the number of this process; NULL: it does not. */
static char *own_value(const char *name)
{
    const char *value = getenv(name);
    char *rest = NULL;

    if (value != NULL && strtol(value, &rest, 10) == (long)getpid() && *rest == '\n')
        rest = strdup(rest + 1);
    else
        rest = NULL;
    unsetenv(name);
    return rest;
}

/* Cuts the lines up, which stay in use. NULL: out of memory. */
static char **split_lines(char *lines)
{
    size_t count = 2;
    char **list, **at;

    for (const char *byte = lines; *byte != '\0'; byte++)
        count += *byte == '\n';
    at = list = calloc(count, sizeof(*list));
    while (list != NULL && lines != NULL)
        *at++ = strsep(&lines, "\n");
    return list;
}

/* The descriptor, then the arguments; owns the lines. */
static void read_program(char *lines)
{
    char **words = lines == NULL ? NULL : split_lines(lines);

    handover.old_lines = lines;
    handover.old_words = words;
    if (words != NULL && words[0] != NULL && fcntl(atoi(words[0]), F_SETFD, FD_CLOEXEC) == 0)
        handover.program_fd = atoi(words[0]);
}

void handover_open(void)
{
    char *lines = own_value(SOCKETS), *program = own_value(PROGRAM);

    handover.is_pending = lines != NULL;
    if (lines != NULL)
        read_lines(atoi(lines));
    free(lines);
    read_program(program);
}

bool handover_is_pending(void)
{
    return handover.is_pending;
}

int handover_take(const char *kind, const char *text, int port)
{
    for (size_t i = 0; i < handover.count; i++) {
        struct handed *handed = &handover.sockets[i];

        if (!handed->is_taken && handed->port == port && strcmp(handed->kind, kind) == 0 &&
            strcmp(handed->text, text) == 0) {
            handed->is_taken = true;
            return fcntl(handed->fd, F_DUPFD_CLOEXEC, 0);
        }
    }
    return -1;
}

const char *handover_look(const char *kind, size_t *at)
{
    while (*at < handover.count && strcmp(handover.sockets[*at].kind, kind) != 0)
        (*at)++;
    return *at < handover.count ? handover.sockets[*at].text : NULL;
}

int handover_keep(size_t at)
{
    int fd = handover.sockets[at].fd;

    handover.sockets[at].fd = -1;
    return fd;
}

/* NULL: errno says why. */
static char *read_whole(int fd, size_t size)
{
    char *bytes = malloc(size + 1);
    size_t have = 0;

    while (bytes != NULL && have < size) {
        ssize_t got = pread(fd, bytes + have, size - have, (off_t)have);

        if (got <= 0) {
            free(bytes);
            return NULL;
        }
        have += (size_t)got;
    }
    if (bytes != NULL)
        bytes[size] = '\0';
    return bytes;
}

char *handover_read(const char *kind, size_t *ret_size, bool *ret_failed)
{
    size_t at = 0;
    struct stat found;
    char *bytes = NULL;

    *ret_failed = false;
    if (handover_look(kind, &at) == NULL)
        return NULL;
    if (fstat(handover.sockets[at].fd, &found) == 0)
        bytes = read_whole(handover.sockets[at].fd, (size_t)found.st_size);
    *ret_failed = bytes == NULL;
    *ret_size = *ret_failed ? 0 : (size_t)found.st_size;
    return bytes;
}

static void forget_sockets(void)
{
    for (size_t i = 0; i < handover.count; i++) {
        if (handover.sockets[i].fd >= 0)
            close(handover.sockets[i].fd);
        free(handover.sockets[i].text);
    }
    free(handover.sockets);
    handover.sockets = NULL;
    handover.count = handover.capacity = 0;
}

void handover_settle(void)
{
    forget_sockets();
    if (handover.program_fd > 0)
        close(handover.program_fd);
    handover.program_fd = 0;
    free(handover.old_words);
    free(handover.old_lines);
    handover.old_words = NULL;
    handover.old_lines = NULL;
    handover.is_pending = false;
}

/* ---- leaving */

/* A program that has come back has no file any more, but the next one has its path. */
static void drop_mark(char *path)
{
    static const char mark[] = " (deleted)";
    size_t size = strlen(path), most = sizeof(mark) - 1;

    if (size > most && strcmp(path + size - most, mark) == 0 && access(path, F_OK) != 0)
        path[size - most] = '\0';
}

void handover_remember(int argc, char **argv)
{
    ssize_t size;

    handover.argc = argc;
    handover.argv = argv;
    if (strchr(argv[0], '/') != NULL) {
        snprintf(handover.program, sizeof(handover.program), "%s", argv[0]);
        return;
    }
    size = readlink("/proc/self/exe", handover.program, sizeof(handover.program) - 1);
    handover.program[size < 0 ? 0 : size] = '\0';
    drop_mark(handover.program);
}

const char *handover_program(void)
{
    return handover.program;
}

extern char **environ;

static int spawn_check(int output, char **argv, int *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int error;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    error = posix_spawn(ret_pid, handover.program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int handover_start_check(int *ret_pid)
{
    char **argv = calloc((size_t)handover.argc + 1, sizeof(*argv));
    char check[] = "check-config";
    int ends[2], error = ENOMEM;

    if (argv == NULL || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        free(argv);
        return -1;
    }
    memcpy(argv, handover.argv, (size_t)handover.argc * sizeof(*argv));
    argv[1] = check;
    error = spawn_check(ends[1], argv, ret_pid);
    free(argv);
    close(ends[1]);
    if (error == 0)
        return ends[0];
    close(ends[0]);
    errno = error;
    return -1;
}

bool handover_give(const char *kind, const char *text, int port, int fd)
{
    struct handed *handed =
        strlen(text) > TEXT_MOST || strchr(text, '\n') != NULL ? NULL : next_place();

    if (handed == NULL || (handed->text = strdup(text)) == NULL)
        return false;
    snprintf(handed->kind, sizeof(handed->kind), "%s", kind);
    handed->port = port;
    handed->fd = fd;
    handover.count++;
    return true;
}

bool handover_add(const char *kind, const char *text, int port, int fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

    if (own >= 0 && handover_give(kind, text, port, own))
        return true;
    if (own >= 0)
        close(own);
    return false;
}

/* -1: errno says why. */
static int file_of(const char *kind, const char *bytes, size_t size)
{
    int fd = memfd_create(kind, MFD_CLOEXEC);
    size_t done = 0;

    while (fd >= 0 && done < size) {
        ssize_t put = write(fd, bytes + done, size - done);

        if (put <= 0) {
            close(fd);
            return -1;
        }
        done += (size_t)put;
    }
    return fd;
}

bool handover_leave(const char *kind, const void *bytes, size_t size)
{
    int fd = file_of(kind, bytes, size);
    size_t at = 0;

    if (fd < 0)
        return false;
    if (handover_look(kind, &at) == NULL) {
        if (handover_give(kind, "", 0, fd))
            return true;
        close(fd);
        errno = ENOMEM;
        return false;
    }
    close(handover.sockets[at].fd);
    handover.sockets[at].fd = fd;
    return true;
}

/* Without memory, and with an argument that cannot be a line, there is no way back. */
static void pass_program(int fd)
{
    size_t room = 64;
    char *text;

    for (int i = 0; i < handover.argc; i++) {
        room += strlen(handover.argv[i]) + 1;
        if (strchr(handover.argv[i], '\n') != NULL)
            return;
    }
    text = malloc(room);
    if (text == NULL)
        return;
    snprintf(text, room, "%d\n%d", (int)getpid(), fd);
    for (int i = 0; i < handover.argc; i++)
        strcat(strcat(text, "\n"), handover.argv[i]);
    setenv(PROGRAM, text, 1);
    fcntl(fd, F_SETFD, 0);
    free(text);
}

static void write_lines(FILE *file)
{
    for (size_t i = 0; i < handover.count; i++) {
        const struct handed *handed = &handover.sockets[i];

        if (handed->fd < 0)
            continue;
        fprintf(file, "%s %d %d %s\n", handed->kind, handed->fd, handed->port, handed->text);
        fcntl(handed->fd, F_SETFD, 0);
    }
}

/* The file in memory stays open in the next program. */
static bool pass_sockets(void)
{
    int fd = memfd_create("dueq-sockets", 0), writing = fd < 0 ? -1 : dup(fd);
    FILE *file = writing < 0 ? NULL : fdopen(writing, "w");
    char value[64];

    if (file == NULL)
        return false;
    write_lines(file);
    snprintf(value, sizeof(value), "%d\n%d", (int)getpid(), fd);
    return fclose(file) == 0 && setenv(SOCKETS, value, 1) == 0;
}

/* Until the next program has its handlers, the default of these would end the process. */
static void ignore_signals(void)
{
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
}

static void run_descriptor(int fd, char **argv)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    zones_leave();
    execv(path, argv);
}

bool handover_go_back(void)
{
    if (!handover.is_pending || handover.program_fd == 0)
        return false;
    ignore_signals();
    if (pass_sockets())
        run_descriptor(handover.program_fd, handover.old_words + 1);
    return true;
}

void handover_run(void)
{
    int own = open("/proc/self/exe", O_PATH | O_CLOEXEC), error;

    ignore_signals();
    if (!pass_sockets())
        return;
    if (own >= 0)
        pass_program(own);
    zones_leave();
    execv(handover.program, handover.argv);
    error = errno;
    unsetenv(PROGRAM);
    if (own >= 0) {
        fcntl(own, F_SETFD, FD_CLOEXEC);
        run_descriptor(own, handover.argv);
    }
    errno = error;
}
