/* Recurring jobs while clocks step, daylight saving changes, and kill -9 comes. */
#include "tests/support/client/client.h"
#include "tests/support/faults/faulty_disk.h"
#include "tests/support/faults/full_disk.h"
#include "tests/support/faults/machine.h"
#include "tests/support/faults/sigkill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { DAY = 86400, ENTRIES = 40, LOAD_MS = 60 };

/* ---- clocks */

/* Sets the wall clock of the machine to a moment, unix s, and lets a turn pass. */
static void set_clock(struct machine *machine, int64_t moment)
{
    machine->clock->wall_ahead = moment - unix_ms() / 1000;
    free(ask_text(machine->client, "PING"));
}

static void await_fired(redisContext *client, const char *name, int64_t wanted)
{
    for (int tries = 0; ask_field(client, "fired", "Q.CRON GET %s", name) < wanted; tries++) {
        assert_true(tries < 3000);
        sleep_ms(10);
    }
    assert_int_equal(ask_field(client, "fired", "Q.CRON GET %s", name), wanted);
}

/* A time that is more than a minute ago counts as missed: the clock stands until none is due.
 */
static void await_none_due(redisContext *client, int64_t moment)
{
    for (int tries = 0; ask_field(client, "next", "Q.CRON GET a") <= moment * 1000; tries++) {
        assert_true(tries < 3000);
        sleep_ms(10);
    }
}

/* A change of daylight saving: the clocks of the server stand `before` it, and run over it. */
static void expect_over_a_change(const char *zone, int64_t change, const char *spec,
                                 int64_t fired, int64_t next)
{
    struct machine machine = machine_boot();
    set_clock(&machine, change - 3660);
    expect(machine.client, "*", "Q.CRON SET a t body SPEC %s TZ %s", spec, zone);
    expect(machine.client, "*", "Q.CRON NEXT a 1");
    for (int minutes = -60; minutes <= 122; minutes++) {
        set_clock(&machine, change + 60 * (int64_t)minutes);
        if (minutes % 15 == 0)
            await_none_due(machine.client, change + 60 * (int64_t)minutes);
    }
    await_fired(machine.client, "a", fired);
    assert_int_equal(ask_field(machine.client, "next", "Q.CRON GET a"), next * 1000);
    client_close(machine.client);
    server_process_cleanup();
}

static void daylight_saving_in_three_zones(void **state)
{
    (void)state;
    /* 2031-03-30 and 2031-10-26, 1:00 UTC */
    expect_over_a_change("Europe/Berlin", 1932598800, "30 2 * * *", 1, 1932598800 + DAY - 1800);
    expect_over_a_change("Europe/Berlin", 1950742800, "30 2 * * *", 1, 1950742800 + DAY + 1800);
    expect_over_a_change("Europe/Berlin", 1950742800, "*/30 2 * * *", 4, 1950742800 + DAY);
    /* 2031-03-09, 7:00 UTC; 2031-11-02, 6:00 UTC */
    expect_over_a_change("America/New_York", 1930806000, "15 2 * * *", 1,
                         1930806000 + DAY - 2700);
    expect_over_a_change("America/New_York", 1951365600, "15 1 * * *", 1,
                         1951365600 + DAY + 900);
    /* 2031-10-04, 15:30 UTC: half an hour */
    expect_over_a_change("Australia/Lord_Howe", 1948894200, "15 2 * * *", 1,
                         1948894200 + DAY - 900);
}

static void a_month_back_and_forth(void **state)
{
    struct machine machine = machine_boot();
    redisContext *client = machine.client;
    int64_t now = unix_ms() / 1000, fired;
    (void)state;
    expect(client, "*", "Q.CRON SET wild t body SPEC %s", "* * * * * *");
    expect(client, "*", "Q.CRON SET daily t body SPEC @daily CATCHUP one TZ Asia/Tokyo");
    expect(client, "*", "Q.CRON SET counted t body EVERY 1h CATCHUP all");
    await_fired(client, "daily", 0);
    machine.clock->wall_ahead = -30 * DAY;
    fired = ask_field(client, "fired", "Q.CRON GET wild");
    while (ask_field(client, "fired", "Q.CRON GET wild") == fired)
        sleep_ms(10);
    assert_in_range(ask_field(client, "next", "Q.CRON GET daily") / 1000, now - 30 * DAY,
                    now - 29 * DAY + 60);
    machine.clock->wall_ahead = 30 * DAY;
    fired = ask_field(client, "fired", "Q.CRON GET wild");
    while (ask_field(client, "fired", "Q.CRON GET wild") == fired)
        sleep_ms(10);
    await_fired(client, "daily", 1);
    await_fired(client, "counted", 0);
    assert_int_equal(ask_field(client, "missed", "Q.CRON GET wild"), 1);
}

/* ---- kill -9, while they fire */

static void set_entries(redisContext *client)
{
    for (int i = 0; i < ENTRIES; i++)
        expect(client, "*", "Q.CRON SET e%d t%d body SPEC %s CATCHUP all", i, i, "* * * * * *");
}

/* The jobs of an entry are in a topic of its own: as many as it has fired, one each second. */
static void expect_one_job_each(redisContext *client)
{
    for (int i = 0; i < ENTRIES; i++) {
        int64_t fired, pushed;
        expect(client, "1", "Q.CRON PAUSE e%d", i);
        fired = ask_field(client, "fired", "Q.CRON GET e%d", i);
        pushed = fired == 0 ? 0 : ask_field(client, "total-pushed", "Q.STATS t%d", i);
        assert_int_equal(pushed, fired);
        assert_int_equal(ask_integer(client, "Q.LEN t%d", i), fired);
        expect(client, "1", "Q.CRON RESUME e%d", i);
    }
}

static void a_firing_is_one_job_over_kill(void **state)
{
    struct server_process *server = server_process_new();
    redisContext *client;
    struct dice dice;
    (void)state;
    dice_begin(&dice);
    for (long round = dice_setting("ROUNDS", 4); round >= 0; round--) {
        sigkill_choose_sizes(server, &dice);
        server_process_run(server);
        client = client_open(server);
        if (ask_info(client, "queue", "crons") == 0)
            set_entries(client);
        else
            expect_one_job_each(client);
        client_close(client);
        if (round == 0)
            break;
        sleep_ms(3000 - unix_ms() % 1000 - 10);
        sigkill_within(server, &dice, LOAD_MS);
        sigkill_await(server);
    }
}

/* ---- a full disk */

/* Until what is due now has fired: none was left out, as none is late by a minute. */
static void await_made_up(redisContext *client, int entry, int64_t first)
{
    int64_t now = unix_ms(), next = 0;

    for (int tries = 0; next <= now; tries++) {
        assert_true(tries < 3000);
        sleep_ms(10);
        next = ask_field(client, "next", "Q.CRON GET e%d", entry);
    }
    expect(client, "1", "Q.CRON PAUSE e%d", entry);
    assert_in_range(ask_field(client, "fired", "Q.CRON GET e%d", entry),
                    (next - first - 500) / 1000, (next - first + 1500) / 1000);
    assert_int_equal(ask_field(client, "missed", "Q.CRON GET e%d", entry), 0);
    expect(client, "1", "Q.CRON RESUME e%d", entry);
}

static void a_full_disk_delays_firings_and_loses_none(void **state)
{
    struct server_process *server = server_process_new();
    int64_t first[ENTRIES];
    redisContext *client;
    (void)state;

    faulty_disk_prepare(server, 0);
    server_process_run(server);
    client = client_open(server);
    for (int i = 0; i < ENTRIES; i++)
        first[i] = ask_integer(client, "Q.CRON SET e%d t%d body EVERY 1s", i, i);
    await_spare(server);
    faulty_disk_break(server, "grow ENOSPC");
    push_until_full(client, 0);
    while (ask_info(client, "queue", "cron_failures") < ENTRIES)
        sleep_ms(10);
    expect_field(client, "error", "\"no room: *\"", "Q.CRON GET e0");
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    while (ask_info(client, "queue", "cron_failures") < ENTRIES)
        sleep_ms(10);
    expect(client, "!FULL *", "Q.CRON RUN e0");
    expect(client, "!FULL *", "Q.CRON SET other t body EVERY 1s");
    faulty_disk_repair(server);
    await_room(client);
    for (int i = 0; i < ENTRIES; i++)
        await_made_up(client, i, first[i]);
    expect_one_job_each(client);
    expect_field(client, "error", "nil", "Q.CRON GET e0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(daylight_saving_in_three_zones),
        cmocka_unit_test(a_month_back_and_forth),
        cmocka_unit_test(a_firing_is_one_job_over_kill),
        serving_test(a_full_disk_delays_firings_and_loses_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
