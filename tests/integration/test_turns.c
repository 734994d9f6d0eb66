/* What thousands of connections need at once is spread over several turns of the loop, so that
 * others are served in between. */
#include "tests/support/client/client.h"

#include <signal.h>
#include <stdlib.h>

#include <setjmp.h>
#include <cmocka.h>

enum { MANY = 400, SENDS_MOST = 128, CLOSES_MOST = 64 };

static redisContext *many[MANY];

static void open_many(void **state)
{
    for (int i = 0; i < MANY; i++)
        many[i] = client_open(served_server(state));
}

static int64_t turns(redisContext *client)
{
    return ask_info(client, "stats", "turns");
}

/* Each with a message that is there already, and none with two. */
static void all_get(const char *pattern)
{
    for (int i = 0; i < MANY; i++)
        expect_reply(many[i], pattern);
}

static void messages_to_many_leave_in_several_turns(void **state)
{
    redisContext *client = served_client(state);
    open_many(state);
    for (int i = 0; i < MANY; i++)
        expect(many[i], "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
    int64_t before = turns(client);
    expect(client, "400", "PUBLISH c hello");
    all_get("[\"message\" \"c\" \"hello\"]");
    assert_true(turns(client) - before >= MANY / SENDS_MOST + 2);
}

static void who_leaves_together_is_closed_in_several_turns(void **state)
{
    redisContext *client = served_client(state);
    pid_t pid = served_server(state)->pid;
    open_many(state);
    int64_t before = turns(client);
    kill(pid, SIGSTOP);
    for (int i = 0; i < MANY; i++)
        client_close(many[i]);
    kill(pid, SIGCONT);
    while (ask_info(client, "clients", "connected_clients") > 1)
        sleep_ms(1);
    assert_true(turns(client) - before >= MANY / CLOSES_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(messages_to_many_leave_in_several_turns),
        served_test(who_leaves_together_is_closed_in_several_turns),
    };

    return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
