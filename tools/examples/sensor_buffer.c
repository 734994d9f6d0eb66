/* Buffers the readings of a sensor on the disk and forwards them to a collector, in order.
 * Power cuts, kills and a collector that is away lose no reading that was said to be kept.
 *
 *   some-sensor | sensor_buffer DIRECTORY ADDRESS PORT
 *
 * Input: a reading is a line of at most 500 bytes; a longer one becomes several. Output: "kept
 * N" when the first N readings of this run are on the disk; a sensor that can repeat a reading
 * repeats from there. The collector (IPv4, TCP) gets a line "ID READING" for each, and answers
 * with the line "ID" once it has stored it. What it has not answered comes again after a
 * reconnection, with the same id, and in the same order: a collector keeps a reading whose id
 * is greater than the last one that it has. The program ends when its input has ended and
 * everything is forwarded.
 *
 *   cc sensor_buffer.c -o sensor_buffer $(pkg-config --cflags --libs dueq)
 *
 * How it uses the store: a reading is a job. It is pushed, and deleted when the collector has
 * it. It is not claimed, because this program is the only worker: a claim would outlive a crash
 * until its lease ends, and later readings would overtake it. */
#define _GNU_SOURCE /* clock_gettime and others, also with -std=c11 */
#include <dueq/dueq.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    READING_MAX = 500,
    LINE_MAX_BYTES = DUEQ_NAME_MAX + READING_MAX + 2,
    WINDOW = 32,          /* readings on their way to the collector at a time */
    RETRY_MS = 1000,      /* between two attempts to reach the collector */
    KEPT_MOST = 1000000,  /* then the oldest readings make room */
    READINGS_AT_ONCE = 64 /* for each sync of the disk */
};

/* Bytes that were received and not used yet. */
struct lines {
    int fd;
    char bytes[READINGS_AT_ONCE * 64];
    size_t size;
    bool ended;
};

struct buffer {
    struct dueq *store;
    int64_t start; /* the queue's clock minus the monotonic one, ms */
    struct lines input;
    uint64_t taken; /* readings of this run */
    struct sockaddr_in address;
    struct lines replies; /* fd -1: there is no connection */
    int64_t retry_at;     /* monotonic ms */
    char output[WINDOW * LINE_MAX_BYTES];
    size_t output_size, output_sent;
    unsigned unanswered; /* of the readings in the output */
};

static const struct dueq_slice topic = {(const uint8_t *)"readings", 8};

_Noreturn static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "sensor_buffer: %s: %s\n", what, why);
    exit(1); /* the store is as after a power cut; the next start goes on */
}

static void must(enum dueq_status status, const char *what)
{
    if (status != DUEQ_OK)
        give_up(what, dueq_status_text(status));
}

/* ---- time */

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The queue's clock goes on where it was, whatever the wall clock says: a device may start in
 * 1970, and the order of readings is that of their pushes. */
static struct dueq_time now(const struct buffer *buffer)
{
    return (struct dueq_time){.now = buffer->start + clock_ms(CLOCK_MONOTONIC),
                              .wall = clock_ms(CLOCK_REALTIME)};
}

/* ---- lines */

/* Reads what is there. False: the other side has closed, or failed. */
static bool lines_read(struct lines *lines)
{
    ssize_t got =
        read(lines->fd, lines->bytes + lines->size, sizeof(lines->bytes) - lines->size);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    lines->size += (size_t)got;
    return got > 0;
}

/* The next whole line, without its end; the last one may have none. One that is too long
 * becomes several. The slice is valid until lines_drop. */
static bool lines_next(const struct lines *lines, size_t *at, struct dueq_slice *ret_line)
{
    const char *begin = lines->bytes + *at;
    size_t size = lines->size - *at;
    const char *end = memchr(begin, '\n', size);

    if (end != NULL)
        size = (size_t)(end - begin);
    else if (size <= READING_MAX && !(lines->ended && size > 0))
        return false;
    if (size > READING_MAX)
        size = READING_MAX;
    *ret_line = dueq_slice(begin, size);
    *at += size + (begin + size == end);
    return true;
}

static void lines_drop(struct lines *lines, size_t used)
{
    lines->size -= used;
    memmove(lines->bytes, lines->bytes + used, lines->size);
}

/* ---- the store */

static void open_store(struct buffer *buffer, const char *dir)
{
    struct dueq_time time = {.now = DUEQ_DEFAULT, .wall = clock_ms(CLOCK_REALTIME)};
    struct dueq_settings settings;
    struct dueq_options options;
    struct dueq_error error;

    dueq_options_init(&options);
    options.memtable_bytes = 256 << 10; /* as the server's `profile edge` */
    options.segment_bytes = 1 << 20;
    options.journal_bytes = 4 << 20;
    options.map_bytes = 512 << 20;
    options.disk_reserve_bytes = 8 << 20;
    options.drop_pages = true;
    if (dueq_open(dir, &options, time, &buffer->store, &error) != DUEQ_OK)
        give_up(dir, error.text);
    time.now = dueq_time_floor(buffer->store);
    if (time.now < time.wall && time.now == 0)
        time.now = time.wall;
    buffer->start = time.now - clock_ms(CLOCK_MONOTONIC);
    dueq_settings_init(&settings);
    settings.numbers[DUEQ_SET_MAX_LENGTH] = KEPT_MOST;
    settings.numbers[DUEQ_SET_OVERFLOW] = DUEQ_OVERFLOW_DROP_OLDEST;
    must(dueq_put_settings(buffer->store, topic, &settings), "settings");
}

static void keep(struct buffer *buffer, struct dueq_slice reading)
{
    struct dueq_push job;
    struct dueq_slice id;

    dueq_push_init(&job);
    job.topic = topic;
    job.body = reading;
    must(dueq_push(buffer->store, &job, now(buffer), &id), "push");
    buffer->taken++;
}

/* All that happened in this turn is on the disk afterwards, by one sync. */
static void settle(struct buffer *buffer)
{
    static uint64_t said;
    uint64_t lsn;

    while (dueq_tick(buffer->store, now(buffer), 1000))
        continue;
    must(dueq_commit(buffer->store, now(buffer), &lsn), "commit");
    must(dueq_wait(buffer->store, lsn), "sync");
    dueq_maintain(buffer->store, false);
    if (buffer->taken > said) {
        said = buffer->taken;
        printf("kept %llu\n", (unsigned long long)said);
        fflush(stdout);
    }
}

/* A full disk: the input waits until the collector has taken something. */
static bool has_room(const struct buffer *buffer)
{
    return dueq_room(buffer->store, sizeof(buffer->input.bytes) * 4) == DUEQ_OK;
}

static bool is_empty(const struct buffer *buffer)
{
    struct dueq_topic_stats stats;

    return dueq_topic_stats(buffer->store, topic, now(buffer), &stats) != DUEQ_OK ||
           stats.counts[DUEQ_READY] == 0;
}

static void take_readings(struct buffer *buffer)
{
    struct dueq_slice line;
    size_t used = 0;

    buffer->input.ended = !lines_read(&buffer->input);
    while (lines_next(&buffer->input, &used, &line))
        keep(buffer, line);
    lines_drop(&buffer->input, used);
}

/* ---- the collector */

static void disconnect(struct buffer *buffer)
{
    close(buffer->replies.fd);
    buffer->replies.fd = -1;
    buffer->retry_at = clock_ms(CLOCK_MONOTONIC) + RETRY_MS;
}

static void reconnect(struct buffer *buffer)
{
    const struct sockaddr *address = (const struct sockaddr *)&buffer->address;

    if (clock_ms(CLOCK_MONOTONIC) < buffer->retry_at)
        return;
    buffer->replies.size = buffer->output_size = buffer->output_sent = 0;
    buffer->unanswered = 0;
    buffer->replies.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (buffer->replies.fd < 0)
        give_up("socket", strerror(errno));
    if (connect(buffer->replies.fd, address, sizeof(buffer->address)) != 0 &&
        errno != EINPROGRESS)
        disconnect(buffer);
}

static void add_bytes(struct buffer *buffer, const void *bytes, size_t size)
{
    memcpy(buffer->output + buffer->output_size, bytes, size);
    buffer->output_size += size;
}

/* dueq_job_fn: adds the reading to the output. */
static bool add_to_output(void *arg, const struct dueq_job *job)
{
    struct buffer *buffer = arg;

    add_bytes(buffer, job->id.data, job->id.size);
    add_bytes(buffer, " ", 1);
    add_bytes(buffer, job->body.data, job->body.size);
    add_bytes(buffer, "\n", 1);
    buffer->unanswered++;
    return true;
}

/* The next readings go out when the last ones are answered. All of them are on the disk. */
static void forward(struct buffer *buffer)
{
    struct dueq_peek first = {.topic = topic, .state = DUEQ_READY, .count = WINDOW};
    ssize_t sent;

    if (buffer->unanswered == 0) {
        buffer->output_size = buffer->output_sent = 0;
        dueq_peek(buffer->store, &first, now(buffer), add_to_output, buffer);
    }
    if (buffer->output_sent == buffer->output_size)
        return;
    sent = send(buffer->replies.fd, buffer->output + buffer->output_sent,
                buffer->output_size - buffer->output_sent, MSG_NOSIGNAL);
    if (sent > 0)
        buffer->output_sent += (size_t)sent;
    else if (errno != EAGAIN && errno != EINTR)
        disconnect(buffer);
}

/* A reading may be gone already: when the oldest ones had to make room. */
static void take_replies(struct buffer *buffer)
{
    bool open = lines_read(&buffer->replies);
    struct dueq_slice id;
    size_t used = 0;

    while (lines_next(&buffer->replies, &used, &id)) {
        enum dueq_status status = dueq_del(buffer->store, topic, id, now(buffer));

        if (status != DUEQ_NOTFOUND)
            must(status, "delete");
        buffer->unanswered -= buffer->unanswered > 0;
    }
    lines_drop(&buffer->replies, used);
    if (!open)
        disconnect(buffer);
}

/* ---- turns */

static int wait_ms(const struct buffer *buffer)
{
    int64_t left = buffer->retry_at - clock_ms(CLOCK_MONOTONIC);

    if (buffer->replies.fd >= 0)
        return -1;
    return left < 0 ? 0 : (int)left;
}

/* Sleeps until there is a reading, a reply, room for output, or a connection to try. */
static void turn(struct buffer *buffer)
{
    bool listens = !buffer->input.ended && has_room(buffer);
    bool has_output = buffer->output_sent < buffer->output_size;
    struct pollfd polled[2] = {
        {.fd = listens ? buffer->input.fd : -1, .events = POLLIN},
        {.fd = buffer->replies.fd, .events = has_output ? POLLIN | POLLOUT : POLLIN},
    };

    if (poll(polled, 2, wait_ms(buffer)) < 0 && errno != EINTR)
        give_up("poll", strerror(errno));
    if (polled[0].revents != 0)
        take_readings(buffer);
    if (polled[1].revents & (POLLIN | POLLERR | POLLHUP))
        take_replies(buffer);
    settle(buffer);
    if (buffer->replies.fd < 0)
        reconnect(buffer);
    if (buffer->replies.fd >= 0)
        forward(buffer);
}

int main(int argc, char **argv)
{
    static struct buffer buffer = {.input.fd = STDIN_FILENO, .replies.fd = -1};

    if (argc != 4)
        give_up("usage", "sensor_buffer DIRECTORY ADDRESS PORT");
    buffer.address.sin_family = AF_INET;
    buffer.address.sin_port = htons((uint16_t)atoi(argv[3]));
    if (inet_pton(AF_INET, argv[2], &buffer.address.sin_addr) != 1)
        give_up(argv[2], "not an IPv4 address");
    open_store(&buffer, argv[1]);
    while (!buffer.input.ended || !is_empty(&buffer))
        turn(&buffer);
    must(dueq_close(buffer.store), "close");
    return 0;
}
