/* A disk whose syncs or writes fail: the server acknowledges nothing that is not on it, reports
 * the failure, and continues from what is on disk once the disk works again. */
#include "tests/support/faults/faulty_disk.h"
#include "tests/support/models/job_load.h"

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

/* A kernel that finds a fault in a file system makes it read-only. */
#define READ_ONLY "write EROFS\ngrow EROFS\nfdatasync EROFS"

static const char *const failures[] = {"fdatasync EIO", "write EIO", "fdatasync ENOSPC",
                                       "write ENOSPC", READ_ONLY};

static struct server_process *server_on_faulty_disk(long countdown)
{
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, countdown);
    server_process_run(server);
    return server;
}

/* Pushes a job. Returns "ok", the first word of the error, or "closed". */
static const char *try_push(const struct server_process *server, int number)
{
    static char word[32];
    redisContext *client = client_open(server);
    redisReply *reply = redisCommand(client, "Q.PUSH mail body ID %d", number);
    snprintf(word, sizeof(word), "closed");
    if (reply && reply->type == REDIS_REPLY_ERROR)
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(reply->str, " "), reply->str);
    else if (reply)
        snprintf(word, sizeof(word), "ok");
    freeReplyObject(reply);
    client_close(client);
    return word;
}

/* Pushes until a push gets that answer. */
static void await_push(const struct server_process *server, const char *wanted, int *number)
{
    for (int waited = 0; waited < 12000; waited++) {
        if (strcmp(try_push(server, ++*number), wanted) == 0)
            return;
        sleep_ms(5);
    }
    fail_at(__FILE__, __LINE__, "no push ever got '%s'", wanted);
}

static void fail_and_recover(const char *failure)
{
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *client = client_open(server);
    int number = 1000;
    for (int i = 0; i < 100; i++)
        expect(client, "*", "Q.PUSH mail body ID %d", i);
    int64_t token = claim(client, "mail", "0");

    faulty_disk_break(server, failure);
    assert_string_not_equal(try_push(server, ++number), "ok");
    await_push(server, "MISCONF", &number);
    redisContext *other = client_open(server);
    expect(other, "PONG", "PING");
    expect(other, "!MISCONF *", "Q.CLAIM mail");
    expect(other, "!MISCONF *", "Q.ACK mail 0 %lld", (long long)token);
    expect(other, "\"*# Server*\"", "INFO server");
    char *log = server_process_log(server);
    assert_non_null(strstr(log, server->data)); /* it names the file */
    free(log);

    faulty_disk_repair(server);
    await_push(server, "ok", &number);
    client = client_open(server);
    for (int i = 0; i < 100; i++)
        expect_field(client, "body", "\"body\"", "Q.GET mail %d", i);
    expect(client, "1", "Q.ACK mail 0 %lld", (long long)token);
    claim(client, "mail", "1");
    client_cleanup();
    server_process_stop(server);
    server_process_run(server);
    expect(client_open(server), "nil", "Q.GET mail 0");
    client_cleanup();
    server_process_cleanup();
}

static void a_failing_disk_is_said_and_survived(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        fail_and_recover(failures[i]);
}

/* With or without a change that failed before. The status says whether a replay is needed. */
static void stop_on_read_only_disk(bool push)
{
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *client = client_open(server);
    for (int i = 0; i < 100; i++)
        expect(client, "*", "Q.PUSH mail body ID %d", i);
    faulty_disk_break(server, READ_ONLY);
    if (push)
        assert_string_not_equal(try_push(server, 1000), "ok");
    kill(server->pid, SIGTERM);
    assert_in_range(server_process_wait(server), 0, 1);
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "dueq is down, bye bye"));
    free(log);
    faulty_disk_repair(server);
    server_process_run(server);
    client = client_open(server);
    expect(client, "100", "Q.LEN mail");
    client_cleanup();
    server_process_cleanup();
}

static void a_server_on_a_disk_that_turns_read_only_ends_cleanly(void **state)
{
    (void)state;
    stop_on_read_only_disk(false);
    stop_on_read_only_disk(true);
}

static char mounted[PATH_MAX]; /* "": nothing */

/* ext4 in a file, at the server's directory. */
static bool mount_ext4(const struct server_process *server)
{
    char output[1024];
    if (geteuid() != 0 ||
        run_shell(output, sizeof(output),
                  "cd '%s' && mkdir data && truncate -s 64M disk && mkfs.ext4 -q disk && "
                  "mount -o loop,errors=remount-ro disk data && chmod 700 data",
                  server->directory) != 0)
        return false;
    snprintf(mounted, sizeof(mounted), "%s", server->data);
    return true;
}

static int unmount_and_tear_down(void **state)
{
    if (mounted[0] != '\0')
        umount2(mounted, MNT_DETACH);
    mounted[0] = '\0';
    return served_teardown(state);
}

/* Tells the kernel that the file system has a fault. */
static bool make_read_only(const struct server_process *server)
{
    char output[1024];
    return run_shell(output, sizeof(output),
                     "device=$(losetup -nO NAME -j '%s/disk') && "
                     "echo 1 >/sys/fs/ext4/${device#/dev/}/trigger_fs_error",
                     server->directory) == 0;
}

/* The file system is mounted. False: the kernel knows no way to make a fault. */
static bool live_on_ext4(struct server_process *server)
{
    server_process_option(server, "profile", "edge");
    server_process_run(server);
    redisContext *client = client_open(server);
    for (int i = 0; i < 100; i++)
        expect(client, "\"*\"", "Q.PUSH mail body ID %d", i);
    if (!make_read_only(server))
        return false;
    assert_string_not_equal(try_push(server, 100), "ok");
    client = client_open(server);
    expect(client, "PONG", "PING");
    sleep_ms(1200); /* it is opened anew each second */
    expect(client, "!MISCONF *Read-only file system*", "Q.LEN mail");
    kill(server->pid, SIGTERM);
    assert_in_range(server_process_wait(server), 0, 1);
    client_cleanup();
    return true;
}

static void expect_said_and_kept(struct server_process *server)
{
    char output[1024];
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "Read-only file system"));
    assert_non_null(strstr(log, "dueq is down, bye bye"));
    free(log);
    assert_int_equal(umount2(server->data, 0), 0);
    assert_in_range(
        run_shell(output, sizeof(output), "e2fsck -fy '%s/disk'", server->directory), 0, 1);
    assert_int_equal(run_shell(output, sizeof(output), "mount -o loop '%s/disk' '%s'",
                               server->directory, server->data),
                     0);
    server_process_run(server);
    expect(client_open(server), "100", "Q.LEN mail");
}

/* By the kernel, as it does when it finds a fault. */
static void a_file_system_that_turns_read_only_loses_nothing(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    if (!mount_ext4(server) || !live_on_ext4(server)) {
        print_message("skipped: needs root, loop devices and ext4's trigger_fs_error\n");
        skip();
    }
    expect_said_and_kept(server);
}

static void await_recovery(const struct server_process *server)
{
    int number = 1;
    faulty_disk_repair(server);
    await_push(server, "ok", &number);
}

static void run_into_failure(struct dice *dice)
{
    struct job_model model;
    struct job_load load = {
        .model = &model, .dice = dice, .population = 1000, .refusals = true};
    struct server_process *server = server_on_faulty_disk((long)dice_roll(dice, 60));
    job_model_init(&model);
    for (int round = 0; round < 3; round++) {
        job_load_open(&load, server);
        for (int step = (int)dice_roll(dice, 20); step > 0 && job_load_step(&load); step--)
            ;
        faulty_disk_break(server, failures[dice_roll(dice, 4)]);
        for (int step = 0; step < 200 && job_load_step(&load); step++)
            ;
        job_load_finish(&load);
        await_recovery(server);
        redisContext *checker = client_open(server);
        job_model_check(&model, checker);
        client_close(checker);
    }
    server_process_stop(server);
    server_process_run(server);
    job_model_check(&model, client_open(server));
    job_model_release(&model);
    client_cleanup();
    server_process_cleanup();
}

static void a_disk_that_fails_at_any_call_loses_nothing_replied(void **state)
{
    struct dice dice;
    (void)state;
    dice_begin(&dice);
    for (long round = dice_setting("ROUNDS", 100) / 10; round > 0; round--)
        run_into_failure(&dice);
}

static void a_kill_on_a_failing_disk_loses_nothing_replied(void **state)
{
    int number = 100;
    (void)state;
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *client = client_open(server);
    for (int i = 0; i < 100; i++)
        expect(client, "*", "Q.PUSH mail body ID %d", i);
    faulty_disk_break(server, "fdatasync EIO");
    assert_string_not_equal(try_push(server, ++number), "ok");
    server_process_kill(server);
    faulty_disk_repair(server);
    server_process_run(server);
    client = client_open(server);
    for (int i = 0; i < 100; i++)
        expect_field(client, "body", "\"body\"", "Q.GET mail %d", i);
}

/* "ok", the first word of the error, or "closed". */
static const char *outcome_of(redisContext *client)
{
    static char word[32];
    redisReply *reply = NULL;
    if (redisGetReply(client, (void **)&reply) != REDIS_OK)
        return "closed";
    snprintf(word, sizeof(word), "%.*s",
             reply->type == REDIS_REPLY_ERROR ? (int)strcspn(reply->str, " ") : 2,
             reply->type == REDIS_REPLY_ERROR ? reply->str : "ok");
    freeReplyObject(reply);
    return word;
}

/* Jobs of a topic, all of the batch or none. */
static bool is_whole(redisContext *client, const char *topic, int batch)
{
    int64_t jobs = ask_integer(client, "Q.LEN %s", topic);
    assert_true(jobs == 0 || jobs == batch);
    return jobs > 0;
}

static void fail_batches(const char *failure, bool kills)
{
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *client = client_open(server), *batch = client_open(server),
                 *exec = client_open(server);
    int number = 1;
    expect(client, "*", "Q.PUSH work body ID a");
    long long token = claim(client, "work", "a");
    faulty_disk_break(server, failure);
    say(client, "Q.ACK work a %lld THEN PUSH next one THEN PUSH next two", token);
    say(batch, "Q.MPUSH many 3 one two three");
    for (int i = 0; i < 3; i++) {
        static const char *const lines[] = {"MULTI", "Q.MPUSH other 2 one two", "EXEC"};
        say(exec, lines[i]);
    }
    assert_string_not_equal(outcome_of(client), "ok");
    assert_string_not_equal(outcome_of(batch), "ok");
    outcome_of(exec);
    outcome_of(exec);
    assert_string_not_equal(outcome_of(exec), "ok");
    if (kills)
        server_process_kill(server);
    faulty_disk_repair(server);
    if (kills)
        server_process_run(server);
    else
        await_push(server, "ok", &number);
    client = client_open(server);
    bool handed_over = is_whole(client, "next", 2);
    expect(client, handed_over ? "0" : "1", "Q.LEN work");
    is_whole(client, "many", 3);
    is_whole(client, "other", 2);
    client_cleanup();
    server_process_cleanup();
}

/* Nothing of it is acknowledged, and what is found later is there as a whole. */
static void batches_whose_sync_fails_are_not_acknowledged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        fail_batches(failures[i], i % 2);
}

/* Killed before the sync of what is written: no reply has left. */
static void batches_that_wait_for_their_sync_are_whole_after_a_kill(void **state)
{
    (void)state;
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *client = client_open(server), *batch = client_open(server);
    expect(client, "*", "Q.PUSH work body ID a");
    long long token = claim(client, "work", "a");
    faulty_disk_break(server, "fdatasync HOLD");
    say(batch, "Q.MPUSH many 3 one two three");
    say(client, "Q.ACK work a %lld THEN PUSH next one THEN PUSH next two", token);
    expect_silence(batch, 50);
    expect_silence(client, 50);
    server_process_kill(server);
    faulty_disk_repair(server);
    server_process_run(server);
    client = client_open(server);
    bool handed_over = is_whole(client, "next", 2);
    expect(client, handed_over ? "0" : "1", "Q.LEN work");
    is_whole(client, "many", 3);
}

static void waiters_do_not_hang_when_the_disk_fails(void **state)
{
    enum { WAITERS = 3 };
    static const char *const waits[WAITERS] = {"Q.CLAIM mail BLOCK 0", "Q.POP mail BLOCK 0",
                                               "Q.WAIT other a none BLOCK 0"};
    int number = 1;
    (void)state;
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *client = client_open(server), *waiting[WAITERS];
    expect(client, "*", "Q.PUSH other body ID a DELAY 1h");
    for (int i = 0; i < WAITERS; i++) {
        waiting[i] = client_open(server);
        say(waiting[i], waits[i]);
    }
    await_blocked(client, WAITERS);
    faulty_disk_break(server, "fdatasync EIO");
    await_push(server, "MISCONF", &number);
    faulty_disk_repair(server);
    await_push(server, "ok", &number);
    for (int i = 0; i < WAITERS; i++) {
        void *reply = NULL; /* it may be closed or served */
        (void)redisGetReply(waiting[i], &reply);
        freeReplyObject(reply);
    }
    await_blocked(client_open(server), 0);
}

/* A reply that shows no stored data does not wait for a sync. */
static void a_ping_is_answered_while_the_disk_takes_its_time(void **state)
{
    (void)state;
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *writer = client_open(server), *reader = client_open(server),
                 *bystander = client_open(server);
    faulty_disk_break(server, "fdatasync HOLD");
    say(writer, "SET key value");
    expect_silence(writer, 50);
    expect(bystander, "PONG", "PING");
    say(reader, "GET key");
    expect_silence(reader, 50);
    say(reader, "PING"); /* after the reply before it */
    expect_silence(reader, 50);
    expect(bystander, "PONG", "PING");
    faulty_disk_repair(server);
    expect_reply(writer, "OK");
    expect_reply(reader, "\"value\"");
    expect_reply(reader, "PONG");
}

enum { WRITERS = 20, OTHERS = 10 };

/* The loop waits for others a moment when many wait for a sync, and not until that ends. */
static void a_ping_is_answered_while_many_wait_for_the_disk(void **state)
{
    (void)state;
    struct server_process *server = server_on_faulty_disk(0);
    redisContext *writers[WRITERS], *others[OTHERS];
    for (int i = 0; i < WRITERS; i++)
        writers[i] = client_open(server);
    for (int i = 0; i < OTHERS; i++)
        others[i] = client_open(server);
    faulty_disk_break(server, "fdatasync HOLD");
    for (int i = 0; i < WRITERS; i++) {
        say(writers[i], "INCR count");
        expect(others[i % OTHERS], "PONG", "PING");
    }
    for (int i = 0; i < WRITERS; i++)
        expect_silence(writers[i], 1);
    faulty_disk_repair(server);
    for (int i = 0; i < WRITERS; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", i + 1);
        expect_reply(writers[i], number);
    }
}

static size_t count_in_log(const struct server_process *server, const char *text)
{
    char *log = server_process_log(server);
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, text)) != NULL; at++)
        count++;
    free(log);
    return count;
}

/* The server tries to open the store every second, perhaps for days. */
static void a_store_that_stays_closed_is_said_once(void **state)
{
    enum { TRIES_MS = 3500 };
    int number = 1;
    (void)state;
    struct server_process *server = server_on_faulty_disk(0);
    for (int failure = 1; failure <= 2; failure++) {
        faulty_disk_break(server, "fdatasync EIO");
        await_push(server, "MISCONF", &number);
        sleep_ms(TRIES_MS);
        assert_int_equal(count_in_log(server, "Cannot open the store"), failure);
        faulty_disk_repair(server);
        await_push(server, "ok", &number);
    }
}

/* The next program could not open the store, nor could this one as it starts again. */
static void a_store_that_failed_is_no_place_for_an_upgrade(void **state)
{
    int number = 1;
    (void)state;
    if (getenv("DUEQ_SANDBOX")) /* then it is refused for another reason */
        return;
    struct server_process *server = server_on_faulty_disk(0);
    faulty_disk_break(server, "fdatasync EIO");
    await_push(server, "MISCONF", &number);
    assert_int_equal(kill(server->pid, SIGUSR2), 0);
    while (count_in_log(server, "pgrade: ") == 0)
        sleep_ms(1);
    assert_int_equal(count_in_log(server, "No upgrade: the store has failed"), 1);
    faulty_disk_repair(server);
    await_push(server, "ok", &number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(a_failing_disk_is_said_and_survived),
        serving_test(a_server_on_a_disk_that_turns_read_only_ends_cleanly),
        cmocka_unit_test_teardown(a_file_system_that_turns_read_only_loses_nothing,
                                  unmount_and_tear_down),
        serving_test(a_disk_that_fails_at_any_call_loses_nothing_replied),
        serving_test(a_kill_on_a_failing_disk_loses_nothing_replied),
        serving_test(batches_whose_sync_fails_are_not_acknowledged),
        serving_test(batches_that_wait_for_their_sync_are_whole_after_a_kill),
        serving_test(waiters_do_not_hang_when_the_disk_fails),
        serving_test(a_ping_is_answered_while_the_disk_takes_its_time),
        serving_test(a_ping_is_answered_while_many_wait_for_the_disk),
        serving_test(a_store_that_stays_closed_is_said_once),
        serving_test(a_store_that_failed_is_no_place_for_an_upgrade),
    };
    return cmocka_run_group_tests_name("failing disk", tests, NULL, NULL);
}
