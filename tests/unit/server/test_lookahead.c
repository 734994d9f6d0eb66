/* Who is looked at for what a pipeline will need, and who is left alone. */
#include "server/dispatch/lookahead.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const struct resp_limits limits = {1024 * 1024, 512 << 20, 65536, 1 << 30, false, 0};

/* The client sends so many requests of two words; '#' in the second one stands for a number. */
static void look(struct command_runner *runner, struct lookahead *lookahead_of,
                 const char *name, const char *argument, int requests)
{
    struct resp_reader *reader = resp_reader_new(&limits);
    char request[128];

    for (int i = 0; i < requests; i++) {
        char word[32];

        snprintf(word, sizeof(word), "%s", argument);
        if (strchr(word, '#') != NULL)
            *strchr(word, '#') = (char)('A' + i);
        snprintf(request, sizeof(request), "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(name),
                 name, strlen(word), word);
        resp_reader_feed(reader, request, strlen(request));
    }
    lookahead(lookahead_of, &runner->server, &runner->clients[0]->session, reader,
              LOOKAHEAD_MOST);
    assert_int_equal(resp_reader_unread(reader), (size_t)requests * strlen(request));
    resp_reader_free(reader);
}

/* Looks that have fetched nothing, after this one. */
static unsigned in_vain(struct command_runner *runner, const char *name, const char *argument,
                        int requests)
{
    struct lookahead ahead = {0};

    look(runner, &ahead, name, argument, requests);
    return ahead.in_vain;
}

static void only_names_of_several_values_are_fetched(void **state)
{
    struct command_runner *runner = *state;

    assert_int_equal(in_vain(runner, "GET", "key#", 2), 0);
    assert_int_equal(in_vain(runner, "hgetall", "key#", LOOKAHEAD_MOST + 5), 0);
    assert_int_equal(in_vain(runner, "GET", "key#", 1), 1);
    assert_int_equal(in_vain(runner, "GET", "key", 20), 1);
    assert_int_equal(in_vain(runner, "GET", "", 20), 1);
    assert_int_equal(in_vain(runner, "ECHO", "key#", 20), 1);
    assert_int_equal(in_vain(runner, "Q.PEEK", "topic#", 20), 1);
    assert_int_equal(in_vain(runner, "NONSENSE", "key#", 20), 1);
}

static void open_keys_are_not_fetched(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MSET keyA 1 keyB 2 keyC 3");
    assert_int_equal(in_vain(runner, "GET", "key#", 3), 1);
    assert_int_equal(in_vain(runner, "GET", "key#", 5), 0);
}

static void who_is_looked_at_in_vain_is_looked_at_seldom(void **state)
{
    struct command_runner *runner = *state;
    struct lookahead ahead = {0};
    int looks = 0;

    for (int i = 0; i < 10; i++)
        look(runner, &ahead, "PING", "x", 20);
    while (ahead.in_vain > 0 && looks++ < 100)
        look(runner, &ahead, "GET", "key#", 20);
    assert_in_range(looks, 2, 16);
    look(runner, &ahead, "PING", "x", 20);
    look(runner, &ahead, "GET", "key#", 20);
    assert_int_equal(ahead.in_vain, 0);
}

static void nobody_is_looked_at_before_login_or_without_a_store(void **state)
{
    struct command_runner *runner = *state;
    struct dueq *store = runner->server.store;

    runner->clients[0]->session.authenticated = false;
    assert_int_equal(in_vain(runner, "PING", "x", 20), 0);
    runner->clients[0]->session.authenticated = true;
    runner->server.store = NULL;
    assert_int_equal(in_vain(runner, "GET", "key#", 20), 0);
    runner->server.store = store;
    assert_int_equal(in_vain(runner, "PING", "x", 20), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(only_names_of_several_values_are_fetched),
        runner_test(open_keys_are_not_fetched),
        runner_test(who_is_looked_at_in_vain_is_looked_at_seldom),
        runner_test(nobody_is_looked_at_before_login_or_without_a_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
