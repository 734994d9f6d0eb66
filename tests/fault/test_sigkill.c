/* kill -9 under load, hundreds of times (ROUNDS): whatever was replied is there after the next
 * start, and what was not may be either way. Small journals and memtables, so that checkpoints
 * and the recycling of segments are always under way. */
#include "tests/support/job_load.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include <setjmp.h>
#include <cmocka.h>

enum {
    CHAIN = 40, /* rounds on one directory */
    LOAD_MS = 300,
    START_MS = 30
};

static volatile sig_atomic_t victim;

static void strike(int signal_number)
{
    (void)signal_number;
    if (victim > 0)
        kill(victim, SIGKILL);
}

/* SIGKILL in a random moment of the time to come. */
static void kill_within(struct server_process *server, struct dice *dice, unsigned ms)
{
    struct sigaction action = {.sa_handler = strike, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value.tv_usec = 1 + (long)dice_roll(dice, ms * 1000)};
    sigaction(SIGALRM, &action, NULL);
    victim = server->pid;
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void await_kill(struct server_process *server)
{
    int status = server_process_wait(server);
    victim = 0;
    assert_int_equal(status, 128 + SIGKILL); /* anything else is a crash of its own */
}

static void choose_sizes(struct server_process *server, struct dice *dice)
{
    static const char *const memtables[] = {"256kb", "512kb", "1mb", "4mb", "64mb"};
    static const char *const journals[] = {"2mb", "3mb", "8mb", "64mb"};
    static const char *const segments[] = {"1mb", "1mb", "2mb"};
    server_process_option(server, "memtable-size", memtables[dice_roll(dice, 5)]);
    server_process_option(server, "journal-size", journals[dice_roll(dice, 4)]);
    server_process_option(server, "segment-size", segments[dice_roll(dice, 3)]);
}

/* Dies while it recovers, now and then several times in a row. */
static void disturb_recovery(struct server_process *server, struct dice *dice)
{
    while (dice_once_in(dice, 3)) {
        server_process_launch(server);
        kill_within(server, dice, START_MS);
        await_kill(server);
    }
}

static void live_and_die(struct server_process *server, struct job_load *load)
{
    choose_sizes(server, load->dice);
    disturb_recovery(server, load->dice);
    server_process_run(server);
    redisContext *checker = client_open(server);
    job_model_check(load->model, checker);
    client_close(checker);
    job_load_open(load, server);
    kill_within(server, load->dice, LOAD_MS);
    while (job_load_step(load))
        ;
    await_kill(server);
    job_load_finish(load);
}

static void run_chain(struct dice *dice, const char *durability, long rounds,
                      struct job_load *ret_load)
{
    struct job_model model;
    struct server_process *server = server_process_new();
    job_model_init(&model);
    *ret_load = (struct job_load){.model = &model, .dice = dice, .population = 3000};
    server_process_option(server, "durability", durability);
    for (long round = 0; round < rounds; round++)
        live_and_die(server, ret_load);
    server_process_run(server);
    job_model_check(&model, client_open(server));
    server_process_stop(server);
    job_model_release(&model);
    client_cleanup();
    server_process_cleanup();
}

static void nothing_replied_is_lost_over_hundreds_of_kills(void **state)
{
    static const char *const durability[] = {"always", "always", "interval 50", "always",
                                             "none"};
    long rounds = dice_setting("ROUNDS", 300);
    uint64_t replies = 0;
    struct dice dice;
    (void)state;
    dice_begin(&dice);
    for (long done = 0, chain = 0; done < rounds; done += CHAIN, chain++) {
        struct job_load load;
        long now = rounds - done < CHAIN ? rounds - done : CHAIN;
        run_chain(&dice, durability[chain % 5], now, &load);
        replies += load.replies;
    }
    print_message("%ld rounds, %llu replies\n", rounds, (unsigned long long)replies);
    assert_true(replies > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(nothing_replied_is_lost_over_hundreds_of_kills),
    };
    return cmocka_run_group_tests_name("sigkill", tests, NULL, NULL);
}
