/* kill -9 under load, hundreds of times (ROUNDS): everything that was replied is there after
 * the next start; a request without a reply may have been done or not. Small journals and
 * memtables, so that checkpoints and the recycling of segments are always in progress. */
#include "tests/support/models/job_load.h"
#include "tests/support/faults/sigkill.h"

#include "tests/support/cmocka.h"

enum {
    CHAIN = 40, /* rounds on one directory */
    LOAD_MS = 300
};

static void live_and_die(struct server_process *server, struct job_load *load)
{
    sigkill_choose_sizes(server, load->dice);
    sigkill_recovery(server, load->dice);
    server_process_run(server);
    redisContext *checker = client_open(server);
    job_model_check(load->model, checker);
    client_close(checker);
    job_load_open(load, server);
    sigkill_within(server, load->dice, LOAD_MS);
    while (job_load_step(load))
        ;
    sigkill_await(server);
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
