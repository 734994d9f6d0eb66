/* Wall clocks that step while the server runs, while it is stopped, and across boots of the
 * machine. Measured from outside: nothing comes early. */
#include "tests/support/client/client.h"
#include "tests/support/faults/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <cmocka.h>

enum { HOUR = 3600, DAY = 24 * HOUR };
#define YEAR (INT64_C(365) * DAY)

static const int64_t steps[] = {HOUR, 10 * DAY, 30 * DAY, -HOUR, -10 * DAY, -30 * DAY};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void stop(struct machine *machine, bool kill)
{
    client_close(machine->client);
    if (kill)
        server_process_kill(machine->server);
    else
        server_process_stop(machine->server);
}

static void run(struct machine *machine)
{
    server_process_run(machine->server);
    machine->client = client_open(machine->server);
}

/* The wall clock of the machine, unix ms. */
static int64_t machine_ms(const struct machine *machine)
{
    return unix_ms() + machine->clock->wall_ahead * 1000;
}

static void put_dead(redisContext *client, const char *topic, const char *id)
{
    expect(client, "*", "Q.PUSH %s body ID %s", topic, id);
    expect(client, "\"dead\"", "Q.NACK %s %s %lld FATAL", topic, id,
           (long long)claim(client, topic, id));
}

/* The same for what is kept, paused, or spread over time. */
static void put_kept_things(redisContext *client)
{
    expect(client, "\"windowed\"", "Q.PUSH once body ID windowed WINDOW 2h");
    expect(client, "[[\"windowed\" 1 *]]", "Q.CLAIM once");
    expect(client, "1", "Q.ACK once windowed 1");
    expect(client, "\"result\"", "Q.PUSH kept body ID result");
    expect(client, "[[\"result\" 1 *]]", "Q.CLAIM kept");
    expect(client, "1", "Q.ACK kept result 1 RESULT 42 KEEP 2h");
    expect(client, "OK", "Q.CONFIG SET grave dead-keep 2h");
    put_dead(client, "grave", "dead");
    put_dead(client, "slow", "first");
    put_dead(client, "slow", "second");
    expect(client, "[2 0]", "Q.DEAD slow REDRIVE RATE 1 2h");
    expect(client, "\"mortal\"", "Q.PUSH paused body ID mortal TTL 2h");
    expect(client, "OK", "Q.PAUSE paused OUT FOR 2h");
    expect(client, "OK", "Q.CONFIG SET rated rate 1/2h");
    expect(client, "OK", "Q.CONFIG SET shared group-rate 1/2h");
    expect(client, "[* *]", "Q.MPUSH rated 2 x y");
    expect(client, "[* *]", "Q.MPUSH shared 2 x y GROUP g");
    expect(client, "[[* \"x\"]]", "Q.POP rated COUNT 2");
    expect(client, "[[* \"x\"]]", "Q.POP shared COUNT 2");
}

/* What makes jobs wait for others, fire again, and tell of themselves. */
static void put_flowing_things(redisContext *client)
{
    expect(client, "OK", "Q.CONFIG SET serial group-mode serial");
    expect(client, "[* *]", "Q.MPUSH serial 2 x y GROUP g");
    expect(client, "[[* 1 \"x\" 1]]", "Q.CLAIM serial LEASE 2h");
    expect(client, "OK", "Q.CONFIG SET single concurrency 1");
    expect(client, "\"held\"", "Q.PUSH single x ID held");
    expect(client, "[[\"held\" 1 *]]", "Q.CLAIM single LEASE 2h");
    expect(client, "\"other\"", "Q.PUSH single y ID other PRIORITY 200");
    expect(client, "OK", "Q.CONFIG SET aged age-after 1m");
    expect(client, "\"old\"", "Q.PUSH aged x ID old PRIORITY 100");
    expect(client, "\"new\"", "Q.PUSH aged y ID new PRIORITY 50");
    expect(client, "OK", "Q.CONFIG SET told events 10");
    expect(client, "\"a\"", "Q.PUSH told body ID a DELAY 2h");
    expect(client, "*", "Q.CRON SET again fired body EVERY 2h CATCHUP one");
}

static void expect_flowing_things(redisContext *client, bool there)
{
    int64_t token = claim(client, "aged", there ? "new" : "old");

    expect(client, "\"ready\"", "Q.NACK aged %s %lld SILENT DELAY 0", there ? "new" : "old",
           (long long)token);
    expect(client, there ? "[]" : "[[* \"x\"]]", "Q.POP serial");
    expect(client, there ? "[]" : "[[\"held\" *]]", "Q.POP single");
    expect(client, "[[1 \"pushed\" * \"a\" 0]]", "Q.EVENTS told FROM 0 COUNT 1");
    expect(client, there ? "nil" : "[[2 \"due\" * \"a\" 0]]", "Q.EVENTS told FROM 1 BLOCK %s",
           there ? "1ms" : "1m");
    expect(client, there ? "nil" : "[*]", "Q.CLAIM fired BLOCK %s", there ? "1ms" : "1m");
}

static void expect_kept_things(redisContext *client, bool there)
{
    expect(client, there ? "[\"windowed\" \"ignored\"]" : "[\"windowed\" \"created\"]",
           "Q.PUSH once body ID windowed ONDUP IGNORE WITHSTATUS");
    expect(client, there ? "[[\"result\" \"done\" \"42\"]]" : "[[\"result\" nil nil]]",
           "Q.WAIT kept result");
    expect(client, there ? "1" : "0", "Q.LEN grave dead");
    expect(client, "0", "Q.DEAD grave COUNT OLDER 1h");
    expect(client, there ? "1" : "0", "Q.LEN slow delayed");
    expect_field(client, "paused", there ? "\"out\"" : "nil", "Q.STATS paused");
    expect_field(client, "state", there ? "\"ready\"" : "\"dead\"", "Q.GET paused mortal");
    expect_field(client, "reason", there ? "\"paused\"" : "\"dead\"",
                 "Q.EXPLAIN paused mortal");
    expect(client, there ? "[]" : "[[* \"y\"]]", "Q.POP rated");
    expect(client, there ? "[]" : "[[* \"y\"]]", "Q.POP shared");
}

/* Two hours begin with the end of the first one; the last one has not begun. */
static void put_chain(redisContext *client)
{
    expect(client, "\"first\"", "Q.PUSH chain body ID first");
    expect(client, "\"next\"", "Q.PUSH chain body ID next DELAY 2h AFTER first");
    expect(client, "\"last\"", "Q.PUSH chain body ID last TTL 1s AFTER next");
    expect(client, "[[\"first\" *]]", "Q.POP chain");
}

static void expect_chain(redisContext *client, bool there)
{
    expect_field(client, "state", there ? "\"delayed\"" : "\"ready\"", "Q.GET chain next");
    expect_field(client, "state", "\"waiting\"", "Q.GET chain last");
}

/* Starts waits of two hours of each kind. */
static void put_long_things(const struct machine *machine)
{
    redisContext *client = machine->client;
    put_kept_things(client);
    put_chain(client);
    put_flowing_things(client);
    expect(client, "\"delayed\"", "Q.PUSH mail body ID delayed DELAY 2h");
    expect(client, "\"claimed\"", "Q.PUSH other body ID claimed");
    expect(client, "[[\"claimed\" 1 *]]", "Q.CLAIM other LEASE 2h");
    expect(client, "OK", "SET ttl v EX 7200");
}

static void expect_things(const struct machine *machine, bool there)
{
    redisContext *client = machine->client;
    expect_kept_things(client, there);
    expect_chain(client, there);
    expect_flowing_things(client, there);
    expect_field(client, "state", there ? "\"delayed\"" : "\"ready\"", "Q.GET mail delayed");
    expect_field(client, "state", there ? "\"claimed\"" : "\"ready\"", "Q.GET other claimed");
    expect(client, there ? "1" : "0", "EXISTS ttl");
    if (there)
        assert_in_range(ask_integer(client, "PTTL ttl"), 7000 * 1000, 7200 * 1000);
}

/* ---- one boot */

/* The moment counts when it is free, by the wall clock of then. */
static void a_waiting_job_is_due_at_its_moment(void **state)
{
    static const int64_t by[] = {30 * DAY, -30 * DAY};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct machine machine = machine_boot();
        long long moment = machine_ms(&machine) + DAY * 1000LL;

        expect(machine.client, "\"a\"", "Q.PUSH at body ID a");
        expect(machine.client, "\"b\"", "Q.PUSH at body ID b AT %lld AFTER a", moment);
        machine.clock->wall_ahead += by[i];
        stop(&machine, i == 0);
        run(&machine);
        expect(machine.client, "[[\"a\" *]]", "Q.POP at");
        expect_field(machine.client, "state", by[i] > 0 ? "\"ready\"" : "\"delayed\"",
                     "Q.GET at b");
        machine.clock->wall_ahead += 31 * DAY;
        claim(machine.client, "at", "b");
        client_close(machine.client);
        server_process_cleanup();
    }
}

static void a_step_and_a_restart_move_nothing(bool while_running, bool kill)
{
    for (size_t i = 0; i < STEPS; i++) {
        struct machine machine = machine_boot();
        put_long_things(&machine);
        if (while_running) {
            machine.clock->wall_ahead += steps[i];
            expect_things(&machine, true);
        }
        stop(&machine, kill);
        if (!while_running)
            machine.clock->wall_ahead += steps[i];
        run(&machine);
        expect_things(&machine, true);
        client_close(machine.client);
        server_process_cleanup();
    }
}

static void a_step_before_a_stop_moves_nothing(void **state)
{
    (void)state;
    a_step_and_a_restart_move_nothing(true, false);
}

static void a_step_before_a_kill_moves_nothing(void **state)
{
    (void)state;
    a_step_and_a_restart_move_nothing(true, true);
}

static void a_step_while_it_is_down_moves_nothing(void **state)
{
    (void)state;
    a_step_and_a_restart_move_nothing(false, true);
}

/* ---- several boots */

static void time_away_counts_by_the_wall_clock(void **state)
{
    (void)state;
    for (int kill = 0; kill < 2; kill++) {
        struct machine machine = machine_boot();
        machine.clock->wall_ahead =
            30 * DAY; /* the wall clock of another boot does not count */
        put_long_things(&machine);
        stop(&machine, kill);
        machine.clock->wall_ahead += HOUR;
        stepped_clock_reboot(machine.clock);
        run(&machine);
        expect_field(machine.client, "state", "\"delayed\"", "Q.GET mail delayed");
        assert_in_range(ask_integer(machine.client, "PTTL ttl"), 3500 * 1000, 3600 * 1000);
        stop(&machine, kill);
        machine.clock->wall_ahead += 2 * HOUR;
        stepped_clock_reboot(machine.clock);
        run(&machine);
        expect_things(&machine, false);
        client_close(machine.client);
        server_process_cleanup();
    }
}

static void a_wall_clock_set_back_across_a_boot_counts_for_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        struct machine machine = machine_boot();
        if (steps[i] > 0)
            continue;
        put_long_things(&machine);
        stop(&machine, true);
        machine.clock->wall_ahead += steps[i];
        stepped_clock_reboot(machine.clock);
        run(&machine);
        expect_things(&machine, true);
        client_close(machine.client);
        server_process_cleanup();
    }
}

/* NTP then sets the clock, and another boot follows. */
static void a_device_that_boots_in_1970_keeps_what_waits(void **state)
{
    struct machine machine = machine_boot();
    (void)state;
    put_long_things(&machine);
    stop(&machine, true);
    machine.clock->wall_ahead = -unix_ms() / 1000 + 10;
    stepped_clock_reboot(machine.clock);
    run(&machine);
    expect_things(&machine, true);
    expect(machine.client, "OK", "SET later v EX 7200");
    machine.clock->wall_ahead = 0;
    expect_things(&machine, true);
    stop(&machine, true);
    run(&machine);
    expect_things(&machine, true);
    assert_in_range(ask_integer(machine.client, "PTTL later"), 7000 * 1000, 7200 * 1000);
    stop(&machine, true);
    stepped_clock_reboot(machine.clock);
    run(&machine);
    expect_things(&machine, true);
    expect(machine.client, "1", "EXISTS later");
}

/* Commands that take a time of the wall clock follow that clock. */
static void expect_moments(const struct machine *machine)
{
    redisContext *client = machine->client;
    long long soon = machine_ms(machine) + HOUR * 1000LL;
    redisReply *time = ask(client, "TIME");
    assert_in_range(atoll(time->element[0]->str), soon / 1000 - HOUR - 1,
                    machine_ms(machine) / 1000);
    freeReplyObject(time);
    expect(client, "\"at\"", "Q.PUSH at body ID at AT %lld", soon);
    expect_field(client, "state", "\"delayed\"", "Q.GET at at");
    assert_int_equal(ask_field(client, "due", "Q.GET at at"), soon);
    expect(client, "[]", "Q.CLAIM at");
    expect(client, "1", "Q.DEL at at");
    expect(client, "OK", "SET moment v");
    expect(client, "1", "PEXPIREAT moment %lld", soon);
    assert_int_equal(ask_integer(client, "PEXPIRETIME moment"), soon);
    assert_in_range(ask_integer(client, "PTTL moment"), 3500 * 1000, 3600 * 1000);
    expect(client, "OK", "SET ttl v EX 100");
    assert_in_range(ask_integer(client, "PTTL ttl"), 50 * 1000, 100 * 1000);
}

static void a_wrong_year_is_healed_by_the_right_one(void **state)
{
    struct machine machine = machine_boot();
    (void)state;
    expect_moments(&machine);
    stop(&machine, false);
    machine.clock->wall_ahead = 74 * YEAR;
    stepped_clock_reboot(machine.clock);
    run(&machine);
    expect_moments(&machine);
    stop(&machine, false);
    machine.clock->wall_ahead = 0;
    run(&machine); /* in the same boot; NTP set the clock while the server was down */
    expect_moments(&machine);
    stop(&machine, true);
    stepped_clock_reboot(machine.clock);
    run(&machine);
    expect_moments(&machine);
    machine.clock->wall_ahead = 74 * YEAR; /* while it runs */
    expect_moments(&machine);
    machine.clock->wall_ahead = 0;
    expect_moments(&machine);
}

/* ---- while much is at work */

static void fill_large(redisContext *client)
{
    enum { STEP = 1000, PARTS = 60 };
    static char texts[STEP][16];
    const char *words[STEP + 2] = {"SADD", "large"};
    for (int step = 0; step < PARTS; step++) {
        for (int i = 0; i < STEP; i++) {
            snprintf(texts[i], sizeof(texts[i]), "%d", step * STEP + i);
            words[i + 2] = texts[i];
        }
        redisAppendCommandArgv(client, STEP + 2, words, NULL);
        expect_reply(client, "1000");
    }
}

/* Copies in parts whose source has an expiry by the queue's clock, or by the wall clock, while
 * the wall clock goes by years, back to 1970, and home again. */
static void a_step_in_the_middle_of_a_copy_changes_nothing_of_it(void **state)
{
    const int64_t years[] = {74 * YEAR, 0, -20 * YEAR, 0, -unix_ms() / 1000 + 10, 0};
    struct machine machine = machine_boot();
    redisContext *client = machine.client, *copier = client_open(machine.server);
    (void)state;
    fill_large(client);
    expect(client, "1", "PEXPIRE large 7200000");
    put_long_things(&machine);
    for (size_t i = 0; i < sizeof(years) / sizeof(years[0]); i++) {
        say(copier, "COPY large copy REPLACE");
        expect(client, "PONG", "PING"); /* it has begun */
        machine.clock->wall_ahead = years[i];
        expect(client, "PONG", "PING");
        expect_reply(copier, "1");
        expect(client, "60000", "SCARD copy");
        assert_in_range(ask_integer(client, "PTTL copy"), 7000 * 1000, 7200 * 1000);
        expect_things(&machine, true);
    }
    expect(client, "1", "DEL copy");
    expect(client, "1", "PEXPIREAT large %lld", (long long)machine_ms(&machine) + DAY * 1000LL);
    say(copier, "COPY large copy REPLACE");
    expect(client, "PONG", "PING");
    machine.clock->wall_ahead = YEAR; /* the source has expired */
    expect_reply(copier, "*");
    expect(client, "0", "EXISTS large copy");
    machine.clock->wall_ahead = 0;
    expect_things(&machine, true);
    client_close(copier);
    stop(&machine, true);
    server_process_check(machine.server);
    run(&machine);
    expect_things(&machine, true);
}

/* ---- a device that has never known the time */

enum { OF_RUN, OF_KILL, OF_BOOT, WAYS };

/* Its first start is in 1970. */
static struct machine boot_in_1970(void)
{
    struct machine machine = {.server = server_process_new()};
    machine.clock = stepped_clock_prepare(machine.server);
    machine.clock->wall_ahead = -unix_ms() / 1000 + 10;
    run(&machine);
    return machine;
}

/* NTP sets the clock while the server runs, while it is down, or before the next boot. */
static void learn_the_time(struct machine *machine, int way)
{
    if (way != OF_RUN)
        stop(machine, true);
    machine->clock->wall_ahead = 0;
    if (way == OF_BOOT)
        stepped_clock_reboot(machine->clock);
    if (way != OF_RUN)
        run(machine);
}

/* Of the right clock, unix ms: `late` is to come, `early` has been; `own` is to come by the
 * clock of 1970. */
struct moments {
    long long late, early, own;
};

static void expect_all_wait(redisContext *client, const struct moments *moments)
{
    static const char *const ids[] = {"late", "early", "own", "moved", "delay"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        expect_field(client, "state", "\"delayed\"", "Q.GET at %s", ids[i]);
    assert_int_equal(ask_field(client, "due", "Q.GET at late"), moments->late);
    expect(client, "[]", "Q.CLAIM at");
    expect(client, "3", "EXISTS late early own");
}

static void put_moments(redisContext *client, const struct moments *moments)
{
    expect(client, "\"late\"", "Q.PUSH at body ID late AT %lld", moments->late);
    expect(client, "\"early\"", "Q.PUSH at body ID early AT %lld", moments->early);
    expect(client, "\"own\"", "Q.PUSH at body ID own AT %lld", moments->own);
    expect(client, "\"moved\"", "Q.PUSH at body ID moved DELAY 1s");
    expect(client, "*", "Q.RESCHEDULE at moved AT %lld", moments->late + 1);
    expect(client, "\"delay\"", "Q.PUSH at body ID delay DELAY 12h");
    expect(client, "OK", "SET late v PXAT %lld", moments->late);
    expect(client, "OK", "SET early v PXAT %lld", moments->early);
    expect(client, "OK", "SET own v PXAT %lld", moments->own);
    expect_all_wait(client, moments);
}

static void expect_right_moments(redisContext *client, const struct moments *moments)
{
    claim(client, "at", "own");
    claim(client, "at", "early");
    expect(client, "[]", "Q.CLAIM at");
    assert_int_equal(ask_field(client, "due", "Q.GET at late"), moments->late);
    assert_int_equal(ask_field(client, "due", "Q.GET at moved"), moments->late + 1);
    expect(client, "1", "EXISTS late");
    expect(client, "0", "EXISTS early own");
    assert_int_equal(ask_integer(client, "PEXPIRETIME late"), moments->late);
}

static void moments_given_in_1970_are_of_the_right_clock(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        struct machine machine = boot_in_1970();
        struct moments moments = {unix_ms() + 6 * HOUR * 1000LL, unix_ms() - HOUR * 1000LL,
                                  machine_ms(&machine) + HOUR * 1000LL};
        put_moments(machine.client, &moments);
        learn_the_time(&machine, way);
        expect_right_moments(machine.client, &moments);
        machine.clock->wall_ahead = 7 * HOUR; /* only the wall clock: the delay holds */
        claim(machine.client, "at", "late");
        claim(machine.client, "at", "moved");
        expect(machine.client, "0", "EXISTS late");
        expect(machine.client, "[]", "Q.CLAIM at");
        expect_field(machine.client, "state", "\"delayed\"", "Q.GET at delay");
        client_close(machine.client);
        server_process_cleanup();
    }
}

/* The clock falls back to 1970 without a boot: what is to come waits as before. */
static void a_clock_that_is_lost_makes_nothing_early(void **state)
{
    struct machine machine = boot_in_1970();
    struct moments moments = {unix_ms() + 6 * HOUR * 1000LL, unix_ms() - HOUR * 1000LL,
                              machine_ms(&machine) + HOUR * 1000LL};
    (void)state;
    put_moments(machine.client, &moments);
    for (int i = 0; i < 3; i++) {
        int64_t lost = machine.clock->wall_ahead;
        learn_the_time(&machine, OF_RUN);
        expect_field(machine.client, "state", "\"ready\"", "Q.GET at early");
        expect_field(machine.client, "state", "\"delayed\"", "Q.GET at late");
        machine.clock->wall_ahead = lost;
        expect_field(machine.client, "state", "\"delayed\"", "Q.GET at early");
        expect(machine.client, "[]", "Q.CLAIM at");
    }
    learn_the_time(&machine, OF_KILL);
    claim(machine.client, "at", "own");
    claim(machine.client, "at", "early");
    expect(machine.client, "[]", "Q.CLAIM at");
}

/* ---- exact to the client's own clock */

static int64_t unix_usec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void what_is_shown_is_the_wall_clock(void **state)
{
    (void)state;
    for (int start = 0; start < 5; start++) {
        struct server_process *server = server_process_start("");
        redisContext *client = client_open(server);
        expect(client, "OK", "SET k v");
        for (int i = 0; i < 200; i++) {
            int64_t before = unix_usec();
            redisReply *time = ask(client, "TIME");
            int64_t shown =
                atoll(time->element[0]->str) * 1000000 + atoll(time->element[1]->str);
            assert_in_range(shown, before, unix_usec());
            freeReplyObject(time);
            int64_t wanted = unix_ms() + 10000;
            expect(client, "\"v\"", "GETEX k PXAT %lld", (long long)wanted);
            assert_true(ask_integer(client, "PTTL k") <= 10000);
            assert_int_equal(ask_integer(client, "PEXPIRETIME k"), wanted);
            before = unix_ms();
            expect(client, "OK", "SET k v PX 10000");
            assert_true(ask_integer(client, "PTTL k") <= 10000);
            assert_in_range(ask_integer(client, "PEXPIRETIME k"), before + 10000,
                            unix_ms() + 10000);
        }
        client_close(client);
        server_process_cleanup();
    }
}

/* ---- never early: usec between the request and its effect */

enum { WAIT_MS = 7, ROUNDS = 60 };

static int64_t steady_usec(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Waits for another part of a ms in each round. Returns the present time, usec. */
static int64_t begin_round(int round)
{
    struct timespec part = {0, 100000 + round * 17000};
    nanosleep(&part, NULL);
    return steady_usec();
}

static void await_claim(redisContext *client, bool block)
{
    for (bool got = false; !got;) {
        redisReply *reply = block ? ask(client, "Q.CLAIM mail LEASE 7 BLOCK 60s")
                                  : ask(client, "Q.CLAIM mail LEASE 7");
        got = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0;
        freeReplyObject(reply);
    }
}

static void expect_waited(int64_t since)
{
    int64_t waited = steady_usec() - since;
    if (waited < WAIT_MS * 1000)
        fail_at(__FILE__, __LINE__, "early by %lld usec", (long long)(WAIT_MS * 1000 - waited));
}

static void delays_and_leases_are_not_short(void **state)
{
    redisContext *client = served_client(state);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t since = begin_round(round);
        expect(client, "\"a\"", "Q.PUSH mail body ID a DELAY 7");
        await_claim(client, round % 2 == 0);
        expect_waited(since);
        expect(client, "1", "Q.DEL mail a");
        expect(client, "\"b\"", "Q.PUSH mail body ID b RETRIES 100");
        since = begin_round(round);
        await_claim(client, false);
        await_claim(client, round % 2 == 0);
        expect_waited(since);
        expect(client, "1", "Q.DEL mail b");
    }
}

static void times_to_live_and_timeouts_are_not_short(void **state)
{
    redisContext *client = served_client(state);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t since = begin_round(round);
        expect(client, "OK", "SET k v PX 7");
        while (ask_integer(client, "EXISTS k") == 1)
            continue;
        expect_waited(since);
        since = begin_round(round);
        expect(client, "nil", "BLPOP nothing 0.007");
        expect_waited(since);
        since = begin_round(round);
        expect(client, "nil", "Q.CLAIM nothing BLOCK 7");
        expect_waited(since);
    }
}

static void restarts_make_nothing_early(void **state)
{
    struct server_process *server = server_process_start("");
    (void)state;
    for (int round = 0; round < 8; round++) {
        redisContext *client = client_open(server);
        struct timespec part = {0, 100000 + round * 117000};
        nanosleep(&part, NULL);
        int64_t since = steady_usec();
        expect(client, "\"a\"", "Q.PUSH mail body ID a DELAY 400");
        client_close(client);
        if (round % 2 == 0)
            server_process_kill(server);
        else
            server_process_stop(server);
        server_process_run(server);
        client = client_open(server);
        await_claim(client, round % 4 < 2);
        assert_true(steady_usec() - since >= 400000);
        expect(client, "1", "Q.DEL mail a");
        client_close(client);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        serving_test(a_waiting_job_is_due_at_its_moment),
        serving_test(a_step_before_a_stop_moves_nothing),
        serving_test(a_step_before_a_kill_moves_nothing),
        serving_test(a_step_while_it_is_down_moves_nothing),
        serving_test(time_away_counts_by_the_wall_clock),
        serving_test(a_wall_clock_set_back_across_a_boot_counts_for_none),
        serving_test(a_device_that_boots_in_1970_keeps_what_waits),
        serving_test(a_wrong_year_is_healed_by_the_right_one),
        serving_test(a_step_in_the_middle_of_a_copy_changes_nothing_of_it),
        serving_test(moments_given_in_1970_are_of_the_right_clock),
        serving_test(a_clock_that_is_lost_makes_nothing_early),
        serving_test(what_is_shown_is_the_wall_clock),
        served_test(delays_and_leases_are_not_short),
        served_test(times_to_live_and_timeouts_are_not_short),
        serving_test(restarts_make_nothing_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
