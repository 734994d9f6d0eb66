/* A program that embeds dueq: an outbox with retries and an inbox, two stores in one process.
 * It is built against the installed library, like a user's program.
 *
 *   two_stores DIRECTORY
 *
 * The program sets the time itself, so a retry in two minutes needs no waiting. */
#include <dueq/dueq.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START INT64_C(1700000000000) /* unix ms */

/* Prints the line and the condition, and ends the program. */
#define must(condition) ((condition) ? (void)0 : give_up(__LINE__, #condition))
static void give_up(int line, const char *what)
{
    fprintf(stderr, "two_stores.c:%d: not so: %s\n", line, what);
    exit(1);
}

static struct dueq_slice text(const char *string)
{
    return dueq_slice(string, strlen(string));
}

static struct dueq_time at(int64_t ms)
{
    return (struct dueq_time){.now = START + ms, .wall = START + ms};
}

/* With the options of a small device. */
static struct dueq *open_store(const char *parent, const char *name, int64_t ms)
{
    struct dueq_options options;
    struct dueq_error error;
    struct dueq *store;
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", parent, name);
    dueq_options_init(&options);
    options.memtable_bytes = (size_t)4 << 20;
    options.segment_bytes = (size_t)1 << 20;
    options.journal_bytes = (uint64_t)4 << 20;
    options.disk_reserve_bytes = 0;
    if (dueq_open(path, &options, at(ms), &store, &error) == DUEQ_OK)
        return store;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static void push(struct dueq *store, const char *topic, const char *id, int64_t delay,
                 int64_t ms)
{
    struct dueq_push job;
    struct dueq_slice given;

    dueq_push_init(&job);
    job.topic = text(topic);
    job.id = text(id);
    job.body = text("body");
    job.delay = delay;
    must(dueq_push(store, &job, at(ms), &given) == DUEQ_OK);
    must(dueq_slice_equal(given, text(id)));
}

/* Waits until the commit is durable. Only then may a result be reported. */
static void settle(struct dueq *store, int64_t ms)
{
    uint64_t lsn;

    must(dueq_commit(store, at(ms), &lsn) == DUEQ_OK);
    must(dueq_wait(store, lsn) == DUEQ_OK);
    must(dueq_durable_lsn(store) >= lsn);
}

/* Claims that job and returns the token. */
static int64_t claim(struct dueq *store, const char *topic, const char *id, int64_t ms)
{
    struct dueq_job job;

    must(dueq_claim(store, text(topic), 30000, at(ms), &job) == DUEQ_OK);
    must(dueq_slice_equal(job.id, text(id)));
    must(dueq_slice_equal(job.body, text("body")));
    return job.token;
}

static int64_t ready(struct dueq *store, const char *topic, int64_t ms)
{
    struct dueq_topic_stats stats;

    must(dueq_topic_stats(store, text(topic), at(ms), &stats) == DUEQ_OK);
    return (int64_t)stats.counts[DUEQ_READY];
}

/* Gives a message back that was refused; it is due again in two minutes. */
static void fail_to_send(struct dueq *outbox)
{
    struct dueq_nack later = {.delay = 120000, .error = text("451 try later")};
    enum dueq_state state;
    int64_t token;

    push(outbox, "mail", "order-17", 0, 0);
    token = claim(outbox, "mail", "order-17", 10);
    must(dueq_nack(outbox, text("mail"), text("order-17"), token, &later, at(20), &state) ==
         DUEQ_OK);
    must(state == DUEQ_DELAYED);
    must(dueq_next_tick(outbox, at(20)) <= 120000);
    settle(outbox, 20);
}

static void send_again(struct dueq *outbox)
{
    struct dueq_slice topic;
    int64_t token;

    while (dueq_tick(outbox, at(120020), 100))
        continue;
    must(dueq_next_signal(outbox, &topic) == DUEQ_OK);
    must(dueq_slice_equal(topic, text("mail")));
    token = claim(outbox, "mail", "order-17", 120020);
    must(dueq_ack(outbox, text("mail"), text("order-17"), token - 1, at(120030)) == DUEQ_STALE);
    must(dueq_ack(outbox, text("mail"), text("order-17"), token, at(120030)) == DUEQ_OK);
    settle(outbox, 120030);
    must(ready(outbox, "mail", 120030) == 0);
}

int main(int argc, char **argv)
{
    struct dueq *outbox, *inbox;

    must(argc == 2);
    outbox = open_store(argv[1], "outbox", 0);
    inbox = open_store(argv[1], "inbox", 0);
    fail_to_send(outbox);
    push(inbox, "mail", "order-17", 0, 5);
    settle(inbox, 5);
    must(dueq_close(outbox) == DUEQ_OK);

    outbox = open_store(argv[1], "outbox", 60000);
    must(dueq_time_floor(outbox) >= START + 20);
    must(ready(outbox, "mail", 60000) == 0);
    must(ready(inbox, "mail", 60000) == 1);
    send_again(outbox);
    must(ready(inbox, "mail", 120030) == 1);
    must(dueq_close(outbox) == DUEQ_OK);
    must(dueq_close(inbox) == DUEQ_OK);
    puts(dueq_status_text(DUEQ_OK));
    return 0;
}
