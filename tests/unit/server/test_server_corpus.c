/* Replays the inputs that fuzzing has kept: commands, configuration, users, HTTP, its API, the
 * history of the dashboard. */
#include "tests/fuzz/api_check.h"
#include "tests/fuzz/charts_check.h"
#include "tests/fuzz/command_check.h"
#include "tests/fuzz/config_check.h"
#include "tests/fuzz/http_check.h"
#include "tests/fuzz/users_check.h"
#include "tests/support/corpus.h"

#include "tests/support/cmocka.h"

static void every_kept_list_of_commands_gets_whole_replies(void **state)
{
    (void)state;
    corpus_replay("command", commands_hold_up, 5);
}

static void every_kept_configuration_is_taken_or_refused(void **state)
{
    (void)state;
    corpus_replay("config", config_holds_up, 4);
}

static void every_kept_list_of_users_is_taken_or_refused(void **state)
{
    (void)state;
    corpus_replay("users", users_hold_up, 4);
}

static void every_kept_http_request_gets_a_whole_reply(void **state)
{
    (void)state;
    corpus_replay("http", http_holds_up, 5);
    http_end();
}

static void every_kept_request_of_the_api_is_taken_or_refused(void **state)
{
    (void)state;
    corpus_replay("api", api_holds_up, 15);
}

static void every_kept_history_is_read_or_left_out(void **state)
{
    (void)state;
    corpus_replay("charts", charts_hold_up, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kept_list_of_commands_gets_whole_replies),
        cmocka_unit_test(every_kept_configuration_is_taken_or_refused),
        cmocka_unit_test(every_kept_list_of_users_is_taken_or_refused),
        cmocka_unit_test(every_kept_http_request_gets_a_whole_reply),
        cmocka_unit_test(every_kept_request_of_the_api_is_taken_or_refused),
        cmocka_unit_test(every_kept_history_is_read_or_left_out)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
