/* The commands of lists: forms, replies, errors, events, and which waiting client gets an
 * element. */
#include "tests/support/client/event_listener.h"

#include "server/session/waiters.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define WRONGTYPE   "!WRONGTYPE Operation against a key holding the wrong kind of value"
#define NOT_INTEGER "!ERR value is not an integer or out of range"

/* ---- growing and reading */

static void elements_are_pushed_at_either_end(void **state)
{
    static const char *const cases[][2] = {
        {"3", "RPUSH k a b c"},
        {"5", "LPUSH k y x"},
        {"[\"x\" \"y\" \"a\" \"b\" \"c\"]", "LRANGE k 0 -1"},
        {"5", "LLEN k"},
        {"0", "LLEN none"},
        {"6", "RPUSHX k d"},
        {"7", "LPUSHX k w"},
        {"0", "RPUSHX none d"},
        {"0", "LPUSHX none d e"},
        {"0", "EXISTS none"},
        {"list", "TYPE k"},
        {"!ERR wrong number of arguments for 'lpush' command", "LPUSH k"},
    };

    runner_expect_all(*state, cases);
}

static void ranges_are_clamped(void **state)
{
    static const char *const cases[][2] = {
        {"4", "RPUSH k a b c d"},
        {"[\"b\" \"c\"]", "LRANGE k 1 2"},
        {"[\"c\" \"d\"]", "LRANGE k -2 -1"},
        {"[\"a\" \"b\" \"c\" \"d\"]", "LRANGE k -100 100"},
        {"[]", "LRANGE k 3 2"},
        {"[]", "LRANGE k 4 9"},
        {"[]", "LRANGE k 0 -9223372036854775808"},
        {"[\"a\" \"b\" \"c\" \"d\"]", "LRANGE k -9223372036854775808 9223372036854775807"},
        {"[]", "LRANGE none 0 -1"},
        {NOT_INTEGER, "LRANGE none x 1"},
        {NOT_INTEGER, "LRANGE none 1 x"},
    };

    runner_expect_all(*state, cases);
}

static void an_index_from_the_tail_is_negative(void **state)
{
    static const char *const cases[][2] = {
        {"3", "RPUSH k a b c"},
        {"\"a\"", "LINDEX k 0"},
        {"\"c\"", "LINDEX k -1"},
        {"nil", "LINDEX k 3"},
        {"nil", "LINDEX k -4"},
        {"nil", "LINDEX k -9223372036854775808"},
        {"nil", "LINDEX none 0"},
        {"nil", "LINDEX none x"},
        {NOT_INTEGER, "LINDEX k x"},
        {"OK", "LSET k 1 B"},
        {"OK", "LSET k -1 C"},
        {"[\"a\" \"B\" \"C\"]", "LRANGE k 0 -1"},
        {"!ERR index out of range", "LSET k 3 x"},
        {"!ERR index out of range", "LSET k -4 x"},
        {"!ERR no such key", "LSET none x x"},
        {NOT_INTEGER, "LSET k x x"},
    };

    runner_expect_all(*state, cases);
}

/* ---- editing */

static void an_element_is_inserted_before_or_after_the_first_pivot(void **state)
{
    static const char *const cases[][2] = {
        {"5", "RPUSH k a b a c d"},
        {"6", "LINSERT k BEFORE a 1"},
        {"7", "LINSERT k after a 2"},
        {"8", "LINSERT k BEFORE d 3"},
        {"9", "LINSERT k AFTER d 4"},
        {"[\"1\" \"a\" \"2\" \"b\" \"a\" \"c\" \"3\" \"d\" \"4\"]", "LRANGE k 0 -1"},
        {"-1", "LINSERT k AFTER none x"},
        {"0", "LINSERT none AFTER a x"},
        {"!ERR syntax error", "LINSERT none NEAR a x"},
    };

    runner_expect_all(*state, cases);
}

static void equal_elements_are_removed_from_either_end(void **state)
{
    static const char *const cases[][2] = {
        {"9", "RPUSH k a b a c a d a e a"},
        {"1", "LREM k 1 a"},
        {"[\"b\" \"a\" \"c\" \"a\" \"d\" \"a\" \"e\" \"a\"]", "LRANGE k 0 -1"},
        {"2", "LREM k -2 a"},
        {"[\"b\" \"a\" \"c\" \"a\" \"d\" \"e\"]", "LRANGE k 0 -1"},
        {"2", "LREM k 0 a"},
        {"[\"b\" \"c\" \"d\" \"e\"]", "LRANGE k 0 -1"},
        {"0", "LREM k 0 a"},
        {"0", "LREM none 0 a"},
        {NOT_INTEGER, "LREM none x a"},
        {"3", "RPUSH only a a a"},
        {"3", "LREM only -9223372036854775808 a"},
        {"0", "EXISTS only"},
    };

    runner_expect_all(*state, cases);
}

static void a_list_is_trimmed_to_a_range(void **state)
{
    static const char *const cases[][2] = {
        {"6", "RPUSH k a b c d e f"},
        {"OK", "LTRIM k 1 -2"},
        {"[\"b\" \"c\" \"d\" \"e\"]", "LRANGE k 0 -1"},
        {"OK", "LTRIM k -100 100"},
        {"4", "LLEN k"},
        {"OK", "LTRIM k 2 1"},
        {"0", "EXISTS k"},
        {"OK", "LTRIM none 0 1"},
        {NOT_INTEGER, "LTRIM none x 1"},
        {NOT_INTEGER, "LTRIM none 1 x"},
    };

    runner_expect_all(*state, cases);
}

/* ---- LPOS */

static void positions_are_found_by_rank_count_and_length(void **state)
{
    static const char *const cases[][2] = {
        {"8", "RPUSH k a b c 1 2 3 c c"},
        {"2", "LPOS k c"},
        {"6", "LPOS k c RANK 2"},
        {"7", "LPOS k c RANK -1"},
        {"nil", "LPOS k c RANK 4"},
        {"[2 6]", "LPOS k c COUNT 2"},
        {"[2 6 7]", "LPOS k c COUNT 0"},
        {"[7 6]", "LPOS k c COUNT 2 RANK -1"},
        {"[6 7]", "LPOS k c COUNT 0 RANK 2"},
        {"[]", "LPOS k c COUNT 0 RANK 9"},
        {"[2]", "LPOS k c COUNT 0 MAXLEN 3"},
        {"[]", "LPOS k c COUNT 0 MAXLEN 2"},
        {"nil", "LPOS k c MAXLEN 2"},
        {"[7 6]", "LPOS k c RANK -1 COUNT 0 MAXLEN 3"},
        {"[2 6 7]", "LPOS k c COUNT 0 MAXLEN 0"},
        {"7", "LPOS k c RANK -9223372036854775808"},
        {"nil", "LPOS none c"},
        {"[]", "LPOS none c COUNT 0"},
    };

    runner_expect_all(*state, cases);
}

static void bad_options_of_lpos_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... "
         "or use negative to start from the end of the list",
         "LPOS k a RANK 0"},
        {NOT_INTEGER, "LPOS k a RANK x"},
        {"!ERR COUNT can't be negative", "LPOS k a COUNT -1"},
        {"!ERR COUNT can't be negative", "LPOS k a COUNT x"},
        {"!ERR MAXLEN can't be negative", "LPOS k a MAXLEN -1"},
        {"!ERR syntax error", "LPOS k a RANK"},
        {"!ERR syntax error", "LPOS k a FOO 1"},
    };

    runner_expect_all(*state, cases);
}

/* ---- taking */

static void elements_are_popped_one_or_many(void **state)
{
    static const char *const cases[][2] = {
        {"6", "RPUSH k a b c d e f"},
        {"\"a\"", "LPOP k"},
        {"\"f\"", "RPOP k"},
        {"[\"b\" \"c\"]", "LPOP k 2"},
        {"[]", "LPOP k 0"},
        {"[\"e\" \"d\"]", "RPOP k 9"},
        {"0", "EXISTS k"},
        {"nil", "LPOP k"},
        {"nil", "RPOP k 1"},
        {"!ERR value is out of range, must be positive", "LPOP k -1"},
        {"!ERR value is out of range, must be positive", "RPOP k x"},
        {"!ERR wrong number of arguments for 'lpop' command", "LPOP k 1 2"},
    };

    runner_expect_all(*state, cases);
}

static void a_missing_list_pops_the_null_of_what_was_asked_for(void **state)
{
    runner_expect_bytes(*state, "$-1\r\n", "LPOP k");
    runner_expect_bytes(*state, "*-1\r\n", "LPOP k 0");
    runner_expect_bytes(*state, "*-1\r\n", "LMPOP 1 k LEFT");
    runner_expect_bytes(*state, "$-1\r\n", "LMOVE k k LEFT LEFT");
    runner_expect_bytes(*state, "$-1\r\n", "RPOPLPUSH k k");
    free(runner_bytes(*state, "HELLO 3"));
    runner_expect_bytes(*state, "_\r\n", "LPOP k");
    runner_expect_bytes(*state, "_\r\n", "LPOP k 0");
    runner_expect_bytes(*state, "_\r\n", "LMPOP 1 k LEFT");
}

static void lmpop_takes_from_the_first_list_that_has_elements(void **state)
{
    static const char *const cases[][2] = {
        {"4", "RPUSH b 1 2 3 4"},
        {"2", "RPUSH c x y"},
        {"[\"b\" [\"1\"]]", "LMPOP 3 a b c LEFT"},
        {"[\"b\" [\"4\" \"3\"]]", "LMPOP 3 a b c right COUNT 2"},
        {"[\"b\" [\"2\"]]", "LMPOP 2 a b LEFT COUNT 9"},
        {"[\"c\" [\"y\"]]", "LMPOP 3 a b c RIGHT"},
        {"!ERR numkeys should be greater than 0", "LMPOP 0 a LEFT"},
        {"!ERR numkeys should be greater than 0", "LMPOP x a LEFT"},
        {"!ERR count should be greater than 0", "LMPOP 1 a LEFT COUNT 0"},
        {"!ERR count should be greater than 0", "LMPOP 1 a LEFT COUNT x"},
        {"!ERR syntax error", "LMPOP 2 a LEFT"},
        {"!ERR syntax error", "LMPOP 9223372036854775807 a LEFT"},
        {"!ERR syntax error", "LMPOP 1 a MIDDLE"},
        {"!ERR syntax error", "LMPOP 1 a LEFT COUNT"},
        {"!ERR syntax error", "LMPOP 1 a LEFT FOO 1"},
        {"!ERR syntax error", "LMPOP 1 a LEFT COUNT 1 COUNT 1"},
    };

    runner_expect_all(*state, cases);
}

static void elements_move_between_lists(void **state)
{
    static const char *const cases[][2] = {
        {"3", "RPUSH a 1 2 3"},
        {"\"3\"", "RPOPLPUSH a b"},
        {"\"1\"", "LMOVE a b LEFT RIGHT"},
        {"\"2\"", "LMOVE a b right left"},
        {"0", "EXISTS a"},
        {"[\"2\" \"3\" \"1\"]", "LRANGE b 0 -1"},
        {"\"1\"", "RPOPLPUSH b b"},
        {"[\"1\" \"2\" \"3\"]", "LRANGE b 0 -1"},
        {"\"1\"", "LMOVE b b LEFT LEFT"},
        {"[\"1\" \"2\" \"3\"]", "LRANGE b 0 -1"},
        {"!ERR syntax error", "LMOVE b b LEFT UP"},
        {"!ERR syntax error", "LMOVE b b UP LEFT"},
    };

    runner_expect_all(*state, cases);
}

static void a_list_turned_in_itself_keeps_its_expiry(void **state)
{
    static const char *const cases[][2] = {
        {"1", "RPUSH k a"}, {"1", "EXPIRE k 100"}, {"\"a\"", "RPOPLPUSH k k"},
        {"100", "TTL k"},   {"\"a\"", "LPOP k"},   {"1", "RPUSH k a"},
        {"-1", "TTL k"},
    };

    runner_expect_all(*state, cases);
}

static void keys_of_other_types_are_refused(void **state)
{
    static const char *const lines[] = {
        "LPUSH s a",
        "RPUSHX s a",
        "LLEN s",
        "LRANGE s 0 1",
        "LINDEX s x",
        "LSET s x a",
        "LINSERT s AFTER a b",
        "LREM s 0 a",
        "LTRIM s 0 1",
        "LPOS s a",
        "LPOP s",
        "RPOP s 0",
        "LMPOP 2 none s LEFT",
        "RPOPLPUSH s l",
        "RPOPLPUSH l s",
        "LMOVE l s LEFT LEFT",
        "BLPOP none s 0",
        "BLMOVE s l LEFT LEFT 0",
        "BLMOVE l s LEFT LEFT 0",
        "BRPOPLPUSH s l 0",
        "BLMPOP 0 1 s LEFT",
    };
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "SET s value");
    runner_expect(runner, "1", "RPUSH l a");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        runner_expect(runner, WRONGTYPE, lines[i]);
    runner_expect(runner, "[\"a\"]", "LRANGE l 0 -1");
    runner_expect(runner, "nil", "RPOPLPUSH none s");
}

/* ---- elements of any size */

static void long_elements_are_elements(void **state)
{
    struct command_runner *runner = *state;
    char element[2001], line[4096], pattern[4096];

    memset(element, 'x', sizeof(element) - 1);
    element[sizeof(element) - 1] = '\0';
    snprintf(line, sizeof(line), "RPUSH k a \"\" %s b", element);
    runner_expect(runner, "4", line);
    snprintf(line, sizeof(line), "LPOS k %s", element);
    runner_expect(runner, "2", line);
    snprintf(pattern, sizeof(pattern), "\"%s\"", element);
    runner_expect(runner, pattern, "LINDEX k 2");
    runner_expect(runner, "\"\"", "LINDEX k 1");
    snprintf(line, sizeof(line), "LREM k 0 %s", element);
    runner_expect(runner, "1", line);
    runner_expect(runner, "[\"a\" \"\" \"b\"]", "LRANGE k 0 -1");
}

/* ---- waiting */

static void who_waits_gets_the_next_element(void **state)
{
    struct command_runner *runner = *state;
    struct connection *left = runner_waiting(runner, "BLPOP none k 0");
    struct connection *right = runner_waiting(runner, "BRPOP k 10.5");

    runner_expect(runner, "3", "RPUSH k a b c");
    runner_expect_reply(left, "[\"k\" \"a\"]");
    runner_expect_reply(right, "[\"k\" \"c\"]");
    runner_expect(runner, "[\"b\"]", "LRANGE k 0 -1");
    assert_int_equal(waiters_count(runner->server.waiters), 0);
}

static void what_is_there_is_taken_without_waiting(void **state)
{
    static const char *const cases[][2] = {
        {"6", "RPUSH k a b c d e f"},
        {"[\"k\" \"a\"]", "BLPOP none k 0"},
        {"[\"k\" \"f\"]", "BRPOP k none 0.1"},
        {"[\"k\" [\"b\" \"c\"]]", "BLMPOP 0 2 none k LEFT COUNT 2"},
        {"\"e\"", "BRPOPLPUSH k other 0"},
        {"\"d\"", "BLMOVE k other LEFT RIGHT 0"},
        {"[\"e\" \"d\"]", "LRANGE other 0 -1"},
    };

    runner_expect_all(*state, cases);
}

static void a_wait_that_ran_out_is_a_null_array(void **state)
{
    static const char *const lines[] = {"BLPOP k 0.001", "BRPOP k 0.5", "BLMPOP 0.5 1 k LEFT",
                                        "BLMOVE k k LEFT LEFT 0.5", "BRPOPLPUSH k k 0.5"};
    struct command_runner *runner = *state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        runner_expect_bytes(runner, "", lines[i]);
        runner_pass(runner, 1000);
        assert_int_equal(buffer_size(&runner->clients[0]->output), 5);
        assert_memory_equal(buffer_content(&runner->clients[0]->output), "*-1\r\n", 5);
        buffer_clear(&runner->clients[0]->output);
    }
}

static void a_wait_ends_with_its_milliseconds_rounded_up(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_waiting(runner, "BLPOP k 0.0011");

    runner_pass(runner, 1);
    runner_expect_reply(client, "");
    runner_pass(runner, 1);
    runner_expect_reply(client, "nil");
}

static void who_waits_for_a_move_moves(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first = runner_waiting(runner, "BLMOVE a b LEFT RIGHT 0");
    struct connection *second = runner_waiting(runner, "BRPOPLPUSH b c 0");

    runner_expect(runner, "2", "RPUSH a 1 2");
    runner_expect_reply(first, "\"1\"");
    runner_expect_reply(second, "\"1\"");
    runner_expect(runner, "[\"2\"]", "LRANGE a 0 -1");
    runner_expect(runner, "0", "EXISTS b");
    runner_expect(runner, "[\"1\"]", "LRANGE c 0 -1");
}

static void who_waits_for_many_gets_what_there_is(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_waiting(runner, "BLMPOP 0 2 none k RIGHT COUNT 5");

    runner_expect(runner, "2", "RPUSH k a b");
    runner_expect_reply(client, "[\"k\" [\"b\" \"a\"]]");
}

static void a_key_of_another_type_keeps_waiting(void **state)
{
    struct command_runner *runner = *state;
    struct connection *pop = runner_waiting(runner, "BLPOP k 0");
    struct connection *move = runner_waiting(runner, "BLMOVE k l LEFT LEFT 0");

    runner_expect(runner, "OK", "SET k value");
    runner_expect_reply(pop, "");
    runner_expect_reply(move, "");
    runner_expect(runner, "1", "DEL k");
    runner_expect(runner, "2", "RPUSH k a b");
    runner_expect_reply(pop, "[\"k\" \"a\"]");
    runner_expect_reply(move, "\"b\"");
}

static void a_destination_of_another_type_ends_the_wait(void **state)
{
    struct command_runner *runner = *state;
    struct connection *move = runner_waiting(runner, "BLMOVE k l LEFT LEFT 0");

    runner_expect(runner, "OK", "SET l value");
    runner_expect(runner, "1", "RPUSH k a");
    runner_expect_reply(move, WRONGTYPE);
    runner_expect(runner, "[\"a\"]", "LRANGE k 0 -1");
}

static void who_waits_for_several_gets_of_the_first_that_came(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_waiting(runner, "BLPOP a b 0");
    struct connection *other = runner_waiting(runner, "BLMPOP 0 2 a b LEFT");

    free(runner_bytes(runner, "MULTI"));
    free(runner_bytes(runner, "RPUSH b 1"));
    free(runner_bytes(runner, "RPUSH a 2"));
    free(runner_bytes(runner, "EXEC"));
    runner_expect_reply(client, "[\"b\" \"1\"]");
    runner_expect_reply(other, "[\"a\" [\"2\"]]");
}

static void a_transaction_does_not_wait(void **state)
{
    struct command_runner *runner = *state;

    free(runner_bytes(runner, "MULTI"));
    free(runner_bytes(runner, "BLPOP k 0"));
    free(runner_bytes(runner, "BRPOPLPUSH k k 0"));
    free(runner_bytes(runner, "BLMOVE k k LEFT LEFT 0"));
    free(runner_bytes(runner, "BLMPOP 0 1 k LEFT"));
    runner_expect_bytes(runner, "*4\r\n*-1\r\n$-1\r\n$-1\r\n*-1\r\n", "EXEC");
}

static void bad_timeouts_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR timeout is not a float or out of range", "BLPOP k x"},
        {"!ERR timeout is not a float or out of range", "BRPOP k nan"},
        {"!ERR timeout is negative", "BLPOP k -1"},
        {"!ERR timeout is negative", "BLMOVE a b LEFT RIGHT inf"},
#if LDBL_MANT_DIG >= 64
        {"!ERR timeout is negative", "BRPOPLPUSH a b 1e400"},
#endif
        {"!ERR timeout is negative", "BLMPOP 9223372036854776 1 k LEFT"},
        {"!ERR syntax error", "BLMOVE a b LEFT UP x"},
        {"!ERR numkeys should be greater than 0", "BLMPOP x 0 k LEFT"},
    };

    runner_expect_all(*state, cases);
}

static void a_wait_may_be_longer_than_time(void **state)
{
    struct command_runner *runner = *state;
#if LDBL_MANT_DIG >= 64
    struct connection *longest = runner_waiting(runner, "BLPOP k 9223372036854775");
#else /* what a double can say */
    struct connection *longest = runner_waiting(runner, "BLPOP k 9007199254740992");
#endif
    struct connection *rounded = runner_waiting(runner, "BLPOP k -0.0001");

    runner_pass(runner, 1000);
    runner_expect(runner, "2", "RPUSH k a b");
    runner_expect_reply(longest, "[\"k\" \"a\"]");
    runner_expect_reply(rounded, "[\"k\" \"b\"]");
}

/* ---- events */

static void every_change_is_told(void **state)
{
    static const char *const cases[][2] = {
        {"RPUSH k a b c a", "rpush k"},
        {"LPUSH k a", "lpush k"},
        {"LPUSHX none a", ""},
        {"LSET k 0 b", "lset k"},
        {"LINSERT k AFTER c c", "linsert k"},
        {"LINSERT k AFTER none c", ""},
        {"LREM k 0 none", ""},
        {"LREM k 0 c", "lrem k"},
        {"LTRIM k 0 100", "ltrim k"},
        {"LPOP k", "lpop k"},
        {"RPOP k 0", ""},
        {"RPOP k 2", "rpop k"},
        {"LPOP k", "lpop k, del k"},
        {"RPUSH k a a", "rpush k"},
        {"LREM k 0 a", "lrem k, del k"},
        {"RPUSH k a", "rpush k"},
        {"LTRIM k 1 0", "ltrim k, del k"},
        {"RPUSH k a b c", "rpush k"},
        {"LMPOP 2 none k LEFT COUNT 2", "lpop k"},
        {"LMOVE k l LEFT RIGHT", "rpush l, lpop k, del k"},
        {"RPOPLPUSH l l", "lpush l, rpop l"},
        {"BRPOP l 0", "rpop l, del l"},
    };
    struct command_runner *runner = *state;
    struct connection *listener = event_listener_new(runner);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        free(runner_bytes(runner, cases[i][0]));
        event_listener_expect(listener, cases[i][1]);
    }
}

static void a_waiter_s_pop_is_told_after_the_push(void **state)
{
    struct command_runner *runner = *state;
    struct connection *listener = event_listener_new(runner);
    struct connection *client = runner_waiting(runner, "BLMOVE k l LEFT LEFT 0");

    runner_expect(runner, "1", "RPUSH k a");
    runner_expect_reply(client, "\"a\"");
    event_listener_expect(listener, "rpush k, lpush l, lpop k, del k");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(elements_are_pushed_at_either_end),
        runner_test(ranges_are_clamped),
        runner_test(an_index_from_the_tail_is_negative),
        runner_test(an_element_is_inserted_before_or_after_the_first_pivot),
        runner_test(equal_elements_are_removed_from_either_end),
        runner_test(a_list_is_trimmed_to_a_range),
        runner_test(positions_are_found_by_rank_count_and_length),
        runner_test(bad_options_of_lpos_are_refused),
        runner_test(elements_are_popped_one_or_many),
        runner_test(a_missing_list_pops_the_null_of_what_was_asked_for),
        runner_test(lmpop_takes_from_the_first_list_that_has_elements),
        runner_test(elements_move_between_lists),
        runner_test(a_list_turned_in_itself_keeps_its_expiry),
        runner_test(keys_of_other_types_are_refused),
        runner_test(long_elements_are_elements),
        runner_test(who_waits_gets_the_next_element),
        runner_test(what_is_there_is_taken_without_waiting),
        runner_test(a_wait_that_ran_out_is_a_null_array),
        runner_test(a_wait_ends_with_its_milliseconds_rounded_up),
        runner_test(who_waits_for_a_move_moves),
        runner_test(who_waits_for_many_gets_what_there_is),
        runner_test(a_key_of_another_type_keeps_waiting),
        runner_test(a_destination_of_another_type_ends_the_wait),
        runner_test(who_waits_for_several_gets_of_the_first_that_came),
        runner_test(a_transaction_does_not_wait),
        runner_test(bad_timeouts_are_refused),
        runner_test(a_wait_may_be_longer_than_time),
        runner_test(every_change_is_told),
        runner_test(a_waiter_s_pop_is_told_after_the_push),
    };
    return cmocka_run_group_tests_name("list commands", tests, NULL, NULL);
}
