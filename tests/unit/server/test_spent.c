/* server/containers/spent: what is large is freed in several calls. */
#include "server/containers/spent.h"
#include "protocol/grown_memory.h"
#include "server/net/client_memory.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static unsigned free_all(void)
{
    unsigned calls = 0;

    for (; spent_any(); calls++)
        spent_free_some();
    return calls;
}

static void small_memory_is_freed_at_once(void **state)
{
    (void)state;
    spent_memory(NULL, 0);
    spent_memory(NULL, 1 << 30);
    spent_memory(malloc(100), 100);
    assert_false(spent_any());
}

static void large_memory_is_freed_bit_by_bit(void **state)
{
    size_t size = 64 << 20;
    char *memory = malloc(size), *other = malloc(size / 2 + 7);

    (void)state;
    assert_non_null(memory);
    assert_non_null(other);
    memset(memory, 1, size);
    memset(other, 1, size / 2 + 7);
    spent_memory(memory, size);
    spent_memory(other, size / 2 + 7);
    assert_in_range(free_all(), 40, 60);
}

static void grown_memory_is_unmapped_bit_by_bit(void **state)
{
    size_t size = (64 << 20) + 7;
    char *memory = grown_memory_resize(NULL, 0, size);
    unsigned char resident[1];

    (void)state;
    assert_non_null(memory);
    memset(memory, 1, size);
    spent_grown_memory(grown_memory_resize(NULL, 0, 100), 100);
    spent_grown_memory(grown_memory_resize(NULL, 0, GROWN_MAPPED), GROWN_MAPPED);
    spent_grown_memory(NULL, size);
    assert_false(spent_any());
    spent_grown_memory(memory, size);
    assert_in_range(free_all(), 30, 40);
    assert_int_equal(mincore(memory, 1, resident), -1);
}

/* Of an EXEC that was discarded, and of a client that leaves. */
static void a_long_transaction_is_freed_bit_by_bit(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    for (int round = 0; round < 2; round++) {
        runner_expect_of(runner, client, "OK", "MULTI");
        for (int i = 0; i < 2 * SPENT_PARTS; i++)
            runner_run(runner, client, "SET k v");
        buffer_clear(&client->output);
        if (round == 0)
            runner_expect_of(runner, client, "OK", "DISCARD");
        else
            session_leave(&runner->server, &client->session);
        assert_true(spent_any());
        assert_in_range(free_all(), 1, 2);
    }
    runner_expect(runner, "0", "EXISTS k");
}

/* At 8 MiB, and then not before some ms have passed; the rest once a second. */
static void what_clients_leave_is_given_back_bit_by_bit(void **state)
{
    struct command_runner *runner = *state;
    struct server *server = &runner->server;
    const struct connection_memory memory = {.total = 5 << 20};

    for (int i = 1; i <= 4; i++)
        client_memory_note(runner_connect(runner), &memory);
    server->clock.last.monotonic += 1000;
    client_memory_forget(runner->clients[1]);
    assert_false(client_memory_turn(server));
    client_memory_forget(runner->clients[2]);
    assert_true(client_memory_turn(server));
    client_memory_forget(runner->clients[3]);
    client_memory_forget(runner->clients[4]);
    assert_false(client_memory_turn(server));
    server->clock.last.monotonic += 4;
    assert_true(client_memory_turn(server));
    assert_false(client_memory_turn(server));
    assert_true(server->client_memory.gives_the_rest);
    client_memory_tick(server);
    assert_false(server->client_memory.gives_the_rest);
}

/* Ten thousand short connections a second need no walk over the heap. */
static void clients_that_come_and_go_leave_nothing_to_give_back(void **state)
{
    struct command_runner *runner = *state;
    struct server *server = &runner->server;
    const struct connection_memory memory = {.total = 1 << 20};

    client_memory_tick(server);
    for (int i = 0; i < 100; i++) {
        server->clock.last.monotonic += 10;
        client_memory_note(runner->clients[0], &memory);
        client_memory_forget(runner->clients[0]);
        assert_false(client_memory_turn(server));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_memory_is_freed_at_once),
        cmocka_unit_test(large_memory_is_freed_bit_by_bit),
        cmocka_unit_test(grown_memory_is_unmapped_bit_by_bit),
        runner_test(a_long_transaction_is_freed_bit_by_bit),
        runner_test(what_clients_leave_is_given_back_bit_by_bit),
        runner_test(clients_that_come_and_go_leave_nothing_to_give_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
