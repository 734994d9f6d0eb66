/* kill -9 under a load of Redis' types (ROUNDS): everything that was replied is there after the
 * next start; of the requests without a reply, a first part of each client's; a transaction
 * whole or not at all. */
#include "tests/support/models/keys_load.h"
#include "tests/support/faults/sigkill.h"

#include "tests/support/cmocka.h"

enum {
    CHAIN = 50, /* rounds on one directory */
    LOAD_MS = 150
};

static void check(struct server_process *server, struct keys_load *load)
{
    redisContext *checker = client_open(server);

    keys_load_check(load, checker);
    client_close(checker);
}

static void live_and_die(struct server_process *server, struct keys_load *load)
{
    sigkill_choose_sizes(server, load->dice);
    sigkill_recovery(server, load->dice);
    server_process_run(server);
    check(server, load);
    keys_load_open(load, server);
    sigkill_within(server, load->dice, LOAD_MS);
    while (keys_load_step(load))
        continue;
    sigkill_await(server);
    keys_load_finish(load);
}

static uint64_t run_chain(struct dice *dice, const char *durability, long rounds)
{
    struct server_process *server = server_process_new();
    struct keys_load load = {.dice = dice};

    server_process_option(server, "durability", durability);
    for (long round = 0; round < rounds; round++)
        live_and_die(server, &load);
    server_process_run(server);
    check(server, &load);
    server_process_stop(server);
    client_cleanup();
    server_process_cleanup();
    return load.steps;
}

static void nothing_replied_of_any_type_is_lost(void **state)
{
    static const char *const durability[] = {"always", "always", "interval 50", "none"};
    long rounds = dice_setting("ROUNDS", 100);
    uint64_t steps = 0;
    struct dice dice;

    (void)state;
    dice_begin(&dice);
    for (long done = 0, chain = 0; done < rounds; done += CHAIN, chain++)
        steps += run_chain(&dice, durability[chain % 4],
                           rounds - done < CHAIN ? rounds - done : CHAIN);
    print_message("%ld rounds, %llu replies\n", rounds, (unsigned long long)steps);
    assert_true(steps > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(nothing_replied_of_any_type_is_lost),
    };
    return cmocka_run_group_tests_name("sigkill of keys", tests, NULL, NULL);
}
