#include "tests/support/faults/sigkill.h"

#include <signal.h>
#include <sys/time.h>

#include "tests/support/cmocka.h"

enum { START_MS = 30 };

static volatile sig_atomic_t victim;

static void strike(int signal_number)
{
    (void)signal_number;
    if (victim > 0)
        kill(victim, SIGKILL);
}

void sigkill_within(struct server_process *server, struct dice *dice, unsigned ms)
{
    struct sigaction action = {.sa_handler = strike, .sa_flags = SA_RESTART};
    long usec = 1 + (long)dice_roll(dice, ms * 1000);
    /* A second and more in tv_usec is refused, and nobody would be killed. */
    struct itimerval timer = {
        .it_value = {.tv_sec = usec / 1000000, .tv_usec = usec % 1000000}};
    sigaction(SIGALRM, &action, NULL);
    victim = server->pid;
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

void sigkill_await(struct server_process *server)
{
    int status = server_process_wait(server);
    victim = 0;
    assert_int_equal(status, 128 + SIGKILL); /* anything else is a crash of its own */
}

void sigkill_choose_sizes(struct server_process *server, struct dice *dice)
{
    static const char *const memtables[] = {"256kb", "512kb", "1mb", "4mb", "64mb"};
    static const char *const journals[] = {"2mb", "3mb", "8mb", "64mb"};
    static const char *const segments[] = {"1mb", "1mb", "2mb"};
    server_process_option(server, "memtable-size", memtables[dice_roll(dice, 5)]);
    server_process_option(server, "journal-size", journals[dice_roll(dice, 4)]);
    server_process_option(server, "segment-size", segments[dice_roll(dice, 3)]);
}

void sigkill_recovery(struct server_process *server, struct dice *dice)
{
    while (dice_once_in(dice, 3)) {
        server_process_launch(server);
        sigkill_within(server, dice, START_MS);
        sigkill_await(server);
    }
}
