/* A slot of `dueq work`: its connection, claims, and what it tells the server. */
#include "tools/client/work.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { BLOCK_MS = 1000, PAUSE_LEAST = 100, PAUSE_MOST = 10000, LATER = 75, DEAD = 100 };
enum { NUMBER_TEXT = 32, ERROR_TEXT = WORK_TAIL + 64, WORDS_MOST = 16 };

/* ---- the connection */

/* Sleeps until the worker is to stop, or if it is already, until it is to give back. */
static void slot_wait(const struct slot *slot, int64_t ms)
{
    const struct work *work = slot->work;
    struct pollfd event = {.events = POLLIN,
                           .fd =
                               atomic_load(&work->stopping) ? work->abandon_fd : work->stop_fd};

    poll(&event, 1, (int)ms);
}

static void disconnect(struct slot *slot)
{
    online_close(slot->client);
    slot->client = NULL;
}

/* Doubles, with a part by chance: thousands of slots do not come back at one moment. */
static void lengthen_pause(struct slot *slot)
{
    slot->pause_ms = slot->pause_ms == 0 ? PAUSE_LEAST : 2 * slot->pause_ms;
    if (slot->pause_ms > PAUSE_MOST)
        slot->pause_ms = PAUSE_MOST;
    slot->pause_ms -= rand_r(&slot->random) % (slot->pause_ms / 4);
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static void give_up(struct slot *slot, const char *why)
{
    if (!atomic_exchange(&slot->work->failed, true))
        client_log("%s", why);
    work_stop(slot->work);
}

static bool slot_connect(struct slot *slot)
{
    if (slot->client != NULL)
        return true;
    slot->client = online_connect(&slot->work->where, slot->why);
    if (slot->client != NULL) {
        if (slot->told)
            client_log("connected again");
        slot->told = false;
        return true;
    }
    if (client_is_final(slot->why))
        give_up(slot, slot->why);
    else if (!slot->told)
        client_log("%s; trying again", slot->why);
    slot->told = true;
    lengthen_pause(slot);
    return false;
}

/* One try. NULL: the connection is lost. */
static redisReply *slot_ask(struct slot *slot, int count, const char **words,
                            const size_t *sizes)
{
    redisReply *reply = NULL;

    if (!slot_connect(slot))
        return NULL;
    reply = online_ask_sized(slot->client, count, words, sizes, slot->why);
    if (reply != NULL) {
        slot->pause_ms = 0;
        return reply;
    }
    disconnect(slot);
    lengthen_pause(slot);
    return NULL;
}

/* ---- words of a command */

struct words {
    const char *words[WORDS_MOST];
    size_t sizes[WORDS_MOST];
    int count;
    char numbers[4][NUMBER_TEXT];
    int number_count;
};

static void add(struct words *words, const char *word, size_t size)
{
    words->words[words->count] = word;
    words->sizes[words->count++] = size;
}

static void say(struct words *words, const char *word)
{
    add(words, word, strlen(word));
}

static void say_number(struct words *words, int64_t number)
{
    char *text = words->numbers[words->number_count++];

    snprintf(text, NUMBER_TEXT, "%" PRId64, number);
    say(words, text);
}

static void say_job(struct words *words, const struct slot *slot, const char *command,
                    const struct held_job *job)
{
    say(words, command);
    add(words, slot->work->topic, slot->work->topic_size);
    add(words, job->id.data, job->id.size);
    say_number(words, job->token);
}

/* ---- a job that is held */

static enum held_state state_of(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return HELD_OK;
    if (begins(reply->str, "CANCELLED"))
        return HELD_CANCELLED;
    if (begins(reply->str, "STALE") || begins(reply->str, "NOJOB") ||
        client_is_final(reply->str))
        return HELD_LOST;
    return HELD_UNKNOWN; /* LOADING, MISCONF, FULL */
}

enum held_state slot_extend(struct slot *slot, const struct held_job *job)
{
    struct words words = {.count = 0};
    enum held_state state = HELD_UNKNOWN;
    redisReply *reply;

    say_job(&words, slot, "Q.EXTEND", job);
    say_number(&words, slot->work->lease_ms);
    reply = slot_ask(slot, words.count, words.words, words.sizes);
    if (reply != NULL) {
        state = state_of(reply);
        freeReplyObject(reply);
    }
    return state;
}

/* Until the server has heard it. While the worker stops no longer than the lease, in which
 * nobody else can have the job anyway. */
static void tell(struct slot *slot, const struct words *words, const struct held_job *job)
{
    const struct work *work = slot->work;
    int64_t end = client_monotonic() + work->lease_ms;

    for (;;) {
        struct words copy = *words;
        redisReply *reply = slot_ask(slot, copy.count, copy.words, copy.sizes);
        enum held_state state = reply == NULL ? HELD_UNKNOWN : state_of(reply);

        if (state == HELD_LOST)
            client_log("%.*s: %s", (int)job->id.size, job->id.data, reply->str);
        if (reply != NULL)
            freeReplyObject(reply);
        if (state != HELD_UNKNOWN)
            return;
        if (atomic_load(&work->abandoning) ||
            (atomic_load(&work->stopping) && client_monotonic() > end)) {
            client_log("%.*s: the server was not told; the lease will end", (int)job->id.size,
                       job->id.data);
            return;
        }
        slot_wait(slot, slot->pause_ms == 0 ? PAUSE_LEAST : slot->pause_ms);
    }
}

/* ---- what came of a command */

static void describe(const struct run_result *result, const struct work *work, char *text)
{
    const char *tail = result->tail;
    size_t size = result->tail_size;
    int signal = WIFSIGNALED(result->status) ? WTERMSIG(result->status) : 0, used;

    if (result->status == -1)
        used = snprintf(text, ERROR_TEXT, "not started");
    else if (result->by == ENDED_BY_LIMIT)
        used = snprintf(text, ERROR_TEXT, "killed after %" PRId64 " ms", work->limit_ms);
    else if (signal != 0)
        used = snprintf(text, ERROR_TEXT, "signal %d (%.32s)", signal, strsignal(signal));
    else
        used = snprintf(text, ERROR_TEXT, "exit %d", WEXITSTATUS(result->status));
    while (size > 0 && strchr(" \r\n\t", tail[size - 1]) != NULL)
        size--;
    for (; size > 0 && ((unsigned char)tail[0] & 0xc0) == 0x80; tail++) /* cut in a character */
        size--;
    if (size > 0)
        snprintf(text + used, (size_t)(ERROR_TEXT - used), ": %.*s", (int)size, tail);
}

static bool is_later(const struct run_result *result)
{
    return result->status == -1 ||
           (WIFEXITED(result->status) && WEXITSTATUS(result->status) == LATER);
}

static void say_failure(struct words *words, const struct slot *slot,
                        const struct run_result *result, char *error)
{
    describe(result, slot->work, error);
    say(words, "ERROR");
    say(words, error);
    if (result->by == ENDED_BY_LIMIT)
        return;
    if (is_later(result)) {
        say(words, "SILENT");
        say(words, "DELAY");
        say_number(words, slot->work->later_ms);
    } else if (WIFEXITED(result->status) && WEXITSTATUS(result->status) == DEAD) {
        say(words, "FATAL");
    }
}

static void give_back(struct slot *slot, const struct held_job *job)
{
    struct words words = {.count = 0};

    say_job(&words, slot, "Q.NACK", job);
    say(&words, "SILENT");
    tell(slot, &words, job);
}

static bool is_done(const struct run_result *result)
{
    return result->by == ENDED_ITSELF && result->status != -1 && WIFEXITED(result->status) &&
           WEXITSTATUS(result->status) == 0;
}

static void report(struct slot *slot, const struct held_job *job,
                   const struct run_result *result)
{
    struct words words = {.count = 0};
    char error[ERROR_TEXT] = "done";
    bool done = is_done(result);

    say_job(&words, slot, done ? "Q.ACK" : "Q.NACK", job);
    if (!done)
        say_failure(&words, slot, result, error);
    if (!done || slot->work->verbose)
        client_log("%.*s, attempt %lld: %s", (int)job->id.size, job->id.data, job->attempt,
                   error);
    tell(slot, &words, job);
}

static void do_job(struct slot *slot, const struct held_job *job)
{
    struct run_result result;

    slot_run_command(slot, job, &result);
    if (result.by == ENDED_BY_LOSS)
        client_log("%.*s: somebody else has it now", (int)job->id.size, job->id.data);
    else if (result.by == ENDED_BY_STOP || result.by == ENDED_BY_CANCEL)
        give_back(slot, job); /* a cancelled one is removed then */
    else
        report(slot, job, &result);
}

/* ---- claims */

static redisReply *claim(struct slot *slot)
{
    const struct work *work = slot->work;
    struct words words = {.count = 0};

    say(&words, "Q.CLAIM");
    add(&words, work->topic, work->topic_size);
    say(&words, "LEASE");
    say_number(&words, work->lease_ms);
    if (!work->drains) {
        say(&words, "BLOCK"); /* short: a claim cannot be called back */
        say_number(&words, BLOCK_MS);
    }
    say(&words, "WORKER");
    say(&words, work->name);
    say(&words, "BOUND");
    return slot_ask(slot, words.count, words.words, words.sizes);
}

static bool read_job(const redisReply *reply, struct held_job *ret_job)
{
    const redisReply *job;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0 ||
        reply->element[0]->elements != 4)
        return false;
    job = reply->element[0];
    ret_job->id = (struct dueq_bytes){job->element[0]->str, job->element[0]->len};
    ret_job->token = job->element[1]->integer;
    ret_job->body = (struct dueq_bytes){job->element[2]->str, job->element[2]->len};
    ret_job->attempt = job->element[3]->integer;
    return true;
}

/* False: the slot has nothing to do any more. */
static bool serve(struct slot *slot, const redisReply *reply)
{
    struct held_job job;

    if (reply->type == REDIS_REPLY_ERROR) {
        if (client_is_final(reply->str))
            give_up(slot, reply->str);
        else
            slot_wait(slot, BLOCK_MS);
        return true;
    }
    if (!read_job(reply, &job))
        return !slot->work->drains;
    if (atomic_load(&slot->work->stopping))
        give_back(slot, &job);
    else
        do_job(slot, &job);
    return true;
}

void *slot_main(void *arg)
{
    struct slot *slot = arg;
    bool goes_on = true;

    while (goes_on && !atomic_load(&slot->work->stopping)) {
        redisReply *reply = claim(slot);

        if (reply != NULL) {
            goes_on = serve(slot, reply);
            freeReplyObject(reply);
        } else {
            slot_wait(slot, slot->pause_ms);
        }
    }
    disconnect(slot);
    return NULL;
}
