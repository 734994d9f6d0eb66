/* ACL, and what users may do. The texts are those of redis-server 7.0.15. */
#include "server/acl/acl.h"
#include "server/acl/acl_check.h"
#include "server/acl/hasher.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "tests/support/client/command_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define NO_KEY                                                                                 \
    "!NOPERM this user has no permissions to access one of the keys used as arguments"
#define NO_CHANNEL                                                                             \
    "!NOPERM this user has no permissions to access one of the channels used as arguments"
#define NO_COMMAND(name)    "!NOPERM this user has no permissions to run the '" name "' command"
#define MODIFIER(rule, why) "!ERR Error in ACL SETUSER modifier '" rule "': " why

/* ---- rules */

static void every_rule_is_shown_as_redis_shows_it(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "ACL SETUSER x"},
        {"[\"user default on nopass ~* &* +@all\" \"user x off resetchannels -@all\"]",
         "ACL LIST"},
        {"OK", "ACL SETUSER x on >x ~a* %R~b* %W~c* %RW~d &ch (+get ~z) (+@read %R~y &q)"},
        {"[* \"user x on "
         "#2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 ~a* %R~b* %W~c* ~d "
         "resetchannels &ch -@all (~z resetchannels -@all +get) "
         "(%R~y resetchannels &q -@all +@read)\"]",
         "ACL LIST"},
        {"[\"flags\" [\"on\"] \"passwords\" "
         "[\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\"] \"commands\" "
         "\"-@all\" \"keys\" \"~a* %R~b* %W~c* ~d\" \"channels\" \"&ch\" \"selectors\" "
         "[[\"commands\" \"-@all +get\" \"keys\" \"~z\" \"channels\" \"\"] "
         "[\"commands\" \"-@all +@read\" \"keys\" \"%R~y\" \"channels\" \"&q\"]]]",
         "ACL GETUSER x"},
        {"OK", "ACL SETUSER x reset"},
        {"[* \"user x off sanitize-payload resetchannels -@all\"]", "ACL LIST"},
        {"OK", "ACL SETUSER x ALLKEYS ALLCHANNELS ALLCOMMANDS NOPASS ON skip-sanitize-payload"},
        {"[* \"user x on nopass skip-sanitize-payload ~* &* +@all\"]", "ACL LIST"},
        {"OK", "ACL SETUSER x resetkeys resetchannels nocommands resetpass off %R~k %W~k"},
        {"[* \"user x off skip-sanitize-payload ~k resetchannels -@all\"]", "ACL LIST"},
        {"OK", "ACL SETUSER x reset +config|GET +SELECT|aB +client|list -client|kill"},
        {"[* \"user x off sanitize-payload resetchannels -@all +config|get +select|aB "
         "+client|list\"]",
         "ACL LIST"},
        {"OK", "ACL SETUSER x -config +select (  )"},
        {"[* \"user x off sanitize-payload resetchannels -@all +client|list +select "
         "(resetchannels -@all)\"]",
         "ACL LIST"},
        {"OK", "ACL SETUSER x clearselectors +@all -config|set +@queue -q.drop"},
        {"[* \"user x off sanitize-payload resetchannels +@all -config|set +@queue "
         "-q.drop\"]",
         "ACL LIST"},
        {"OK", "ACL SETUSER x +@all"},
        {"[* \"user x off sanitize-payload resetchannels +@all\"]", "ACL LIST"},
        {"OK", "ACL SETUSER a"},
        {"[\"a\" \"default\" \"x\"]", "ACL USERS"},
        {"nil", "ACL GETUSER nosuch"},
        {"2", "ACL DELUSER a x nosuch"},
        {"!ERR The 'default' user cannot be removed", "ACL DELUSER a default"},
        {"\"default\"", "ACL WHOAMI"}};
    runner_expect_all((struct command_runner *)*state, cases);
}

static void every_bad_rule_is_redis_error(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "ACL SETUSER x ~a"},
        {MODIFIER("%X~a", "Syntax error"), "ACL SETUSER x %X~a"},
        {MODIFIER("%~a", "Syntax error"), "ACL SETUSER x %~a"},
        {MODIFIER("%RR~a", "Syntax error"), "ACL SETUSER x %RR~a"},
        {MODIFIER("%", "Syntax error"), "ACL SETUSER x %"},
        {MODIFIER("~a b", "Syntax error"), "ACL SETUSER x \"~a b\""},
        {MODIFIER("&a b", "Syntax error"), "ACL SETUSER x \"&a b\""},
        {MODIFIER("~ ", "Syntax error"), "ACL SETUSER x \"~\\n\""},
        {MODIFIER("bogus", "Syntax error"), "ACL SETUSER x bogus"},
        {MODIFIER("+get|", "Syntax error"), "ACL SETUSER x +get|"},
        {MODIFIER("+get|a b", "Syntax error"), "ACL SETUSER x \"+get|a b\""},
        {MODIFIER("(on)", "Syntax error"), "ACL SETUSER x (on)"},
        {MODIFIER("(>x)", "Syntax error"), "ACL SETUSER x (>x)"},
        {MODIFIER("(~x) +get)", "Syntax error"), "ACL SETUSER x \"(~x) +get)\""},
        {MODIFIER("(~\"a'b\")", "Syntax error"), "ACL SETUSER x \"(~\\\"a'b\\\")\""},
        {MODIFIER("(~a \")", "Syntax error"), "ACL SETUSER x \"(~a \\\")\""},
        {MODIFIER("+nosuch", "Unknown command or category name in ACL"),
         "ACL SETUSER x +nosuch"},
        {MODIFIER("-get|x", "Unknown command or category name in ACL"), "ACL SETUSER x -get|x"},
        {MODIFIER("+@nosuch", "Unknown command or category name in ACL"),
         "ACL SETUSER x +@nosuch"},
        {MODIFIER("+config|nosuch", "Unknown command or category name in ACL"),
         "ACL SETUSER x +config|nosuch"},
        {MODIFIER("+@all|x", "Unknown command or category name in ACL"),
         "ACL SETUSER x +@all|x"},
        {MODIFIER("+", "Unknown command or category name in ACL"), "ACL SETUSER x +"},
        {MODIFIER("+|", "Unknown command or category name in ACL"), "ACL SETUSER x +|"},
        {MODIFIER("+@", "Unknown command or category name in ACL"), "ACL SETUSER x +@"},
        {MODIFIER("(+nosuch)", "Unknown command or category name in ACL"),
         "ACL SETUSER x (+nosuch)"},
        {MODIFIER("+config|get|x", "Allowing first-arg of a subcommand is not supported"),
         "ACL SETUSER x +config|get|x"},
        {MODIFIER("<a", "The password you are trying to remove from the user does not exist"),
         "ACL SETUSER x <a"},
        {MODIFIER("#ab", "The password hash must be exactly 64 characters and contain only "
                         "lowercase hexadecimal characters"),
         "ACL SETUSER x #ab"},
        {MODIFIER("~y",
                  "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid "
                  "and does not have any effect. Try 'resetkeys' to start with an empty list "
                  "of patterns"),
         "ACL SETUSER x ~* ~y"},
        {MODIFIER("&y",
                  "Adding a pattern after the * pattern (or the 'allchannels' flag) is not "
                  "valid and does not have any effect. Try 'resetchannels' to start with an "
                  "empty list of channels"),
         "ACL SETUSER x &* &y"},
        {"!ERR Unmatched parenthesis in acl selector starting at '(+get'.",
         "ACL SETUSER x on (+get ~z"},
        {"!ERR Usernames can't contain spaces or null characters", "ACL SETUSER \"a b\" on"},
        /* nothing of all that was kept */
        {"[* \"user x off ~a resetchannels -@all\"]", "ACL LIST"}};
    runner_expect_all((struct command_runner *)*state, cases);
}

static void a_pattern_has_a_longest_size(void **state)
{
    struct command_runner *runner = *state;
    char line[8192];
    snprintf(line, sizeof(line), "ACL SETUSER x ~%0*d", ACL_PATTERN_MAX, 0);
    runner_expect(runner, "OK", line);
    snprintf(line, sizeof(line), "ACL SETUSER x ~%0*d", ACL_PATTERN_MAX + 1, 0);
    runner_expect(runner, "!ERR * The rules of a user are too long or too many", line);
    snprintf(line, sizeof(line), "ACL SETUSER x &%0*d", ACL_PATTERN_MAX + 1, 0);
    runner_expect(runner, "!ERR * The rules of a user are too long or too many", line);
}

static void a_user_has_a_most_of_selectors_and_passwords(void **state)
{
    struct command_runner *runner = *state;
    char line[64];
    for (int i = 0; i < ACL_SELECTORS_MAX; i++)
        runner_expect(runner, "OK", "ACL SETUSER x ()");
    runner_expect(runner, "!ERR * too many", "ACL SETUSER x ()");
    for (int i = 0; i < ACL_PASSWORDS_MAX; i++) {
        snprintf(line, sizeof(line), "ACL SETUSER x >%d", i);
        runner_expect(runner, "OK", line);
    }
    runner_expect(runner, "OK", "ACL SETUSER x >0");
    runner_expect(runner, "!ERR * too many", "ACL SETUSER x >one-more");
}

/* A rule on a command looks at each of them. */
static void a_user_has_a_most_of_first_arguments(void **state)
{
    struct command_runner *runner = *state;
    char line[64];
    for (int i = 0; i < ACL_FIRSTS_MAX; i++) {
        snprintf(line, sizeof(line), "ACL SETUSER x +get|%d", i);
        runner_expect(runner, "OK", line);
    }
    runner_expect(runner, "!ERR * too many", "ACL SETUSER x +get|more");
    runner_expect(runner, "OK", "ACL SETUSER x +get|0");
    /* they count as rules, too, where they mean nothing more */
    for (int i = ACL_FIRSTS_MAX + 1; i < ACL_GIVEN_MAX; i++) {
        snprintf(line, sizeof(line), "ACL SETUSER x +@read -@read +get|%d", i);
        runner_expect(runner, "OK", line);
    }
    runner_expect(runner, "!ERR * too many", "ACL SETUSER x +@read -@read +get|more +@write");
    runner_expect(runner, "OK", "ACL SETUSER x -@all +@read +get|more");
}

/* The line of a file that defines it has the same bound. */
static void a_user_has_a_most_of_bytes(void **state)
{
    enum { SIZE = 4000, COUNT = ACL_RULES_BYTES / SIZE + 1 };
    struct command_runner *runner = *state;
    char line[SIZE + 64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(line, sizeof(line), "ACL SETUSER x ~%0*d", SIZE, i);
        runner_expect(runner, i < COUNT - 1 ? "OK" : "!ERR * too many", line);
    }
    runner_expect(runner, "OK", "ACL SETUSER x resetkeys");
}

/* As text both are the same, and after that text no pattern may follow. */
static void a_star_with_both_rights_is_all_keys(void **state)
{
    static const char *const rules[] = {"%RW~*", "%R~* %W~*", "~a %W~* %R~*"};
    struct command_runner *runner = *state;
    char line[64];
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        snprintf(line, sizeof(line), "ACL SETUSER x reset %s", rules[i]);
        runner_expect(runner, "OK", line);
        runner_expect(runner, "[* \"user x off sanitize-payload ~* resetchannels -@all\"]",
                      "ACL LIST");
        runner_expect(runner, "!ERR * Adding a pattern after the * pattern *",
                      "ACL SETUSER x ~y");
    }
}

/* ---- rights */

static struct connection *client_with(struct command_runner *runner, const char *rules)
{
    struct connection *client = runner_connect(runner);
    char line[1024];
    snprintf(line, sizeof(line), "ACL SETUSER u reset on nopass %s", rules);
    runner_expect(runner, "OK", line);
    runner_expect_of(runner, client, "OK", "AUTH u any");
    return client;
}

struct check {
    const char *reply, *line;
};

static void expect_checks(struct command_runner *runner, struct connection *client,
                          const struct check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        runner_expect_of(runner, client, checks[i].reply, checks[i].line);
}
#define CHECKS(runner, client, checks)                                                         \
    expect_checks((runner), (client), (checks), sizeof(checks) / sizeof((checks)[0]))

static void commands_are_refused_by_name(void **state)
{
    static const struct check checks[] = {
        {"nil", "GET a"},
        {NO_COMMAND("set"), "SET a b"},
        {NO_COMMAND("client|list"), "CLIENT LIST"},
        {"2", "CLIENT ID"},
        {NO_COMMAND("acl|whoami"), "ACL WHOAMI"},
        {"OK", "SELECT 0"},
        {NO_COMMAND("select"), "SELECT 1"},
        {"!ERR wrong number of arguments for 'set' command", "SET"},
        {"!ERR unknown command *", "NOSUCH"},
        {"!ERR unknown subcommand *", "CLIENT NOSUCH"},
        {"OK", "AUTH default any"},
        {"OK", "SELECT 1"}};
    struct command_runner *runner = *state;
    CHECKS(runner, client_with(runner, "~* +get +client|id +select|0"), checks);
}

static void keys_have_read_and_write_rights(void **state)
{
    static const struct check checks[] = {
        {"nil", "GET r1"},
        {NO_KEY, "SET r1 x"},
        {"OK", "SET w1 x"},
        {NO_KEY, "GET w1"},
        {NO_KEY, "SET w1 x GET"},
        {NO_KEY, "GETSET w1 x"},
        {"1", "EXISTS w1"},
        {NO_KEY, "EXISTS z"},
        {NO_KEY, "MGET r1 w1"},
        {"0", "COPY r1 w1"},
        {NO_KEY, "COPY w1 r1"},
        {NO_KEY, "RENAME r1 w1"},
        {NO_KEY, "SORT r1 STORE r2"},
        {"!ERR BY option of SORT denied due to insufficient ACL permissions.",
         "SORT r1 BY w_*"},
        {"!ERR GET option of SORT denied due to insufficient ACL permissions.",
         "SORT r1 GET w_*"},
        {"!ERR GET option of SORT denied due to insufficient ACL permissions.",
         "SORT_RO r1 GET #"},
        {"[]", "SORT r1 BY nosort"}};
    struct command_runner *runner = *state;
    CHECKS(runner, client_with(runner, "+@all %R~r* %W~w*"), checks);
}

static void topics_are_keys_wherever_they_are_named(void **state)
{
    static const struct check checks[] = {
        {"*", "Q.PUSH mine body ID j"},
        {NO_KEY, "Q.PUSH other body"},
        {NO_KEY, "Q.CLAIM other"},
        {NO_KEY, "Q.STATS other"},
        {NO_KEY, "Q.MOVE mine j other"},
        {NO_KEY, "Q.MOVE other j mine"},
        {NO_KEY, "Q.MCLAIM 2 mine other"},
        {NO_KEY, "Q.MCLAIM 1 mine ACK other j 1"},
        /* a topic, or a value, of the option's name hides nothing */
        {NO_KEY, "Q.MCLAIM 2 mine mine-ack ACK other j 1"},
        {NO_KEY, "Q.MCLAIM 2 mine ack ACK other j 1"},
        {NO_KEY, "Q.MCLAIM 1 mine COUNT ack ACK other j 1"},
        {NO_KEY, "Q.MCLAIM 1 mine ACK mine j 1 other j 1"},
        /* nor does an option without a value */
        {NO_KEY, "Q.MCLAIM 1 mine BOUND ACK other j 1"},
        {NO_KEY, "Q.MCLAIM 1 mine NOTIFY COUNT 1 BOUND bound ACK other j 1"},
        {NO_KEY, "Q.MCLAIM 1 mine WORKER bound ACK other j 1"},
        {NO_KEY, "Q.DEAD mine REDRIVE TO other"},
        {NO_KEY, "Q.DEAD mine REDRIVE MATCH to TO other"},
        {NO_KEY, "Q.DEAD mine REDRIVE DRYRUN TO other"},
        {NO_KEY, "Q.DEAD mine REDRIVE RATE 1 1s TO other"},
        {NO_KEY, "Q.DEAD mine REDRIVE TO other TO mine2"},
        {"[0 0]", "Q.DEAD mine REDRIVE MATCH to TO mine2"},
        {NO_KEY, "Q.ACK mine j 1 THEN PUSH other body"},
        {NO_KEY, "Q.ACK mine j 1 RESULT x THEN PUSH mine b THEN PUSH other b"},
        {NO_KEY, "Q.ACK mine j 1 THEN PUSH mine b ID k THEN PUSH other b"},
        {NO_KEY, "Q.ACK mine j 1 RESULT then THEN PUSH other b"},
        {NO_KEY, "Q.CONFIG SET mine dead-topic other"},
        {NO_KEY, "Q.CONFIG SET mine retries 1 dead-topic other"},
        {NO_KEY, "Q.CONFIG SET other retries 1"},
        {NO_KEY, "Q.CONFIG GET other"},
        /* a pattern must not reach further than the rights */
        {NO_KEY, "Q.CONFIG SET * retries 1"},
        {NO_KEY, "Q.CONFIG SET m*ne retries 1"},
        {NO_KEY, "Q.CONFIG SET [mo]* retries 1"},
        {NO_KEY, "Q.CONFIG RESET m*"},
        {"OK", "Q.CONFIG SET mine* retries 1"},
        {"OK", "Q.CONFIG SET mine dead-topic mine-dead"}};
    struct command_runner *runner = *state;
    CHECKS(runner, client_with(runner, "+@all ~mine* ~ack"), checks);
}

static void a_worker_reads_one_topic_and_writes_another(void **state)
{
    static const struct check checks[] = {{"*", "Q.PUSH out body"},
                                          {NO_KEY, "Q.GET out j"},
                                          {NO_KEY, "Q.CLAIM out"},
                                          {NO_KEY, "Q.PUSH in body"},
                                          {"0", "Q.LEN in"},
                                          {NO_KEY, "Q.POP in"},
                                          {NO_COMMAND("ping"), "PING"},
                                          {NO_COMMAND("get"), "GET in"}};
    struct command_runner *runner = *state;
    CHECKS(runner, client_with(runner, "+@queue %R~in %W~out"), checks);
}

static void selectors_are_alternatives(void **state)
{
    static const struct check checks[] = {{"nil", "GET a"},
                                          {NO_KEY, "GET b"},
                                          {"OK", "SET b x"},
                                          {NO_KEY, "SET a x"},
                                          {NO_COMMAND("del"), "DEL a"},
                                          {NO_KEY, "MGET a b"},
                                          {"!ERR BY option of SORT *", "SORT a BY x_*"}};
    struct command_runner *runner = *state;
    CHECKS(runner, client_with(runner, "+get +mget +sort ~a (+set ~b) (+sort_ro ~*)"), checks);
}

static void channels_are_checked(void **state)
{
    static const struct check checks[] = {{"0", "PUBLISH news.1 x"},
                                          {NO_CHANNEL, "PUBLISH other x"},
                                          {NO_CHANNEL, "SPUBLISH other x"},
                                          {NO_CHANNEL, "SUBSCRIBE news.1 other"},
                                          {NO_CHANNEL, "PSUBSCRIBE news.1"},
                                          {NO_CHANNEL, "PSUBSCRIBE *"},
                                          {NO_CHANNEL, "SSUBSCRIBE other"},
                                          {">*", "UNSUBSCRIBE other"},
                                          {NO_CHANNEL, "SUBSCRIBE __keyspace@0__:a"}};
    struct command_runner *runner = *state;
    struct connection *client = client_with(runner, "+@all ~* &news.*");
    runner_expect_of(runner, client, "{*}", "HELLO 3");
    CHECKS(runner, client, checks);
    runner_expect_of(runner, client, ">*", "PSUBSCRIBE news.*");
}

static void a_new_user_may_get_all_channels(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "CONFIG SET acl-pubsub-default allchannels"},
        {"OK", "ACL SETUSER x (+get)"},
        {"[* \"user x off &* -@all (&* -@all +get)\"]", "ACL LIST"},
        {"OK", "CONFIG SET acl-pubsub-default resetchannels"},
        {"OK", "ACL SETUSER x reset"},
        {"[* \"user x off sanitize-payload resetchannels -@all\"]", "ACL LIST"},
        {"!ERR CONFIG SET failed (possibly related to argument 'acl-pubsub-default') - "
         "argument(s) must be one of the following: allchannels, resetchannels",
         "CONFIG SET acl-pubsub-default x"}};
    runner_expect_all((struct command_runner *)*state, cases);
}

/* ---- changes */

static void an_exec_checks_again(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "ACL SETUSER u on nopass ~a* &c* +@all"},
        {'b', "OK", "AUTH u x"},
        {'b', "OK", "MULTI"},
        {'b', "QUEUED", "SET a1 1"},
        {'b', "QUEUED", "GET a1"},
        {'b', "QUEUED", "PUBLISH c1 x"},
        {'a', "OK", "ACL SETUSER u -set resetkeys resetchannels"},
        {'b',
         "[!NOPERM ACLs rules changed between the moment the transaction was accumulated and "
         "the EXEC call. This command is no longer allowed for the following reason: no "
         "permission to execute the command or subcommand "
         "!NOPERM ACLs rules changed between * reason: no permission to touch the specified "
         "keys "
         "!NOPERM ACLs rules changed between * reason: no permission to access one of the "
         "channels used as arguments]",
         "EXEC"},
        {'a', "nil", "GET a1"},
        {'b', "OK", "MULTI"},
        {'b', NO_COMMAND("set"), "SET a1 1"},
        {'b', "!EXECABORT Transaction discarded because of previous errors.", "EXEC"}};
    runner_follow((struct command_runner *)*state, steps);
}

/* What follows from a job must not be done when the job cannot be acked, and the error tells
 * nothing about the job. */
static void an_exec_without_the_right_to_ack_does_nothing(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "ACL SETUSER u on nopass ~* +@all"},
        {'b', "OK", "AUTH u x"},
        {'b', "OK", "MULTI"},
        {'b', "QUEUED", "SET k 1"},
        {'b', "QUEUED", "Q.ACK t no-such 1"},
        {'a', "OK", "ACL SETUSER u resetkeys ~k"},
        {'b',
         "!EXECABORT Transaction discarded because of: NOPERM ACLs rules changed between the "
         "moment the transaction was accumulated and the EXEC call. *: no permission to touch "
         "the specified keys",
         "EXEC"},
        {'a', "nil", "GET k"},
        {'b', "!ERR EXEC without MULTI", "EXEC"}};
    runner_follow((struct command_runner *)*state, steps);
}

static void a_wait_that_ends_with_its_time_is_checked(void **state)
{
    static const struct runner_step steps[] = {{'a', "OK", "ACL SETUSER u on nopass ~* +@all"},
                                               {'b', "OK", "AUTH u x"},
                                               {'a', "\"j\"", "Q.PUSH t body ID j"},
                                               {'b', "", "Q.WAIT t j BLOCK 50ms"},
                                               {'a', "OK", "ACL SETUSER u resetkeys"},
                                               {'+', NULL, "100"},
                                               {'b', NO_KEY, NULL}};
    runner_follow((struct command_runner *)*state, steps);
}

/* The names of options are values here: SORT reads its own way, and so do the rights. */
static void sort_stores_only_where_the_user_may_write(void **state)
{
    static const char *const lines[] = {
        "SORT mine STORE get STORE secret",   "SORT mine STORE limit STORE secret",
        "SORT mine STORE by STORE secret",    "SORT mine STORE store STORE secret",
        "SORT mine STORE secret STORE mine2", "SORT mine LIMIT 0 1 STORE STORE STORE secret"};
    struct command_runner *runner = *state;
    struct connection *client = client_with(runner, "+@all ~mine* ~get ~limit ~by ~store");
    runner_expect(runner, "1", "RPUSH mine 1");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        runner_expect_of(runner, client, NO_KEY, lines[i]);
    runner_expect_of(runner, client, "1", "SORT mine STORE get STORE mine2");
    runner_expect(runner, "nil", "GET secret");
    runner_expect(runner, "[\"mine\" \"get\" \"secret\"]",
                  "COMMAND GETKEYS SORT mine STORE get STORE secret");
    runner_expect(runner, "[\"mine\" \"d\"]",
                  "COMMAND GETKEYS SORT mine BY store GET store LIMIT store 1 STORE d");
}

/* As in Redis 7.0: a number of keys that is none may say which they are all the same. */
static void keys_that_are_counted_badly_are_keys(void **state)
{
    static const char *const cases[][2] = {
        {NO_KEY, "ZUNION 1e308 secret"},
        {NO_KEY, "ZUNION 1 secret"},
        {"!ERR value is not an integer or out of range", "ZUNION x secret"},
        {"!ERR syntax error", "ZUNION 9 secret"},
        {NO_KEY, "ZUNIONSTORE mine 1x secret"},
        {NO_KEY, "ZUNIONSTORE secret 1x mine"},
        {"!ERR value is not an integer or out of range", "ZUNIONSTORE secret x mine"},
    };
    struct command_runner *runner = *state;
    struct connection *client = client_with(runner, "+@all ~mine*");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        runner_expect_of(runner, client, cases[i][0], cases[i][1]);
}

static void a_blocked_client_is_checked_when_it_is_woken(void **state)
{
    static const struct runner_step steps[] = {{'a', "OK", "ACL SETUSER u on nopass ~* +@all"},
                                               {'b', "OK", "AUTH u x"},
                                               {'b', "", "BLPOP l 0"},
                                               {'c', "OK", "AUTH u x"},
                                               {'c', "", "Q.CLAIM t BLOCK 60s"},
                                               {'d', "", "BLPOP l 0"},
                                               {'a', "OK", "ACL SETUSER u resetkeys"},
                                               {'a', "1", "RPUSH l one"},
                                               {'b', NO_KEY, NULL},
                                               {'d', "[\"l\" \"one\"]", NULL},
                                               {'a', "*", "Q.PUSH t body"},
                                               {'c', NO_KEY, NULL},
                                               {'a', "1", "Q.LEN t ready"}};
    runner_follow((struct command_runner *)*state, steps);
}

static void a_deleted_users_clients_are_gone(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = client_with(runner, "+@all ~*");
    struct connection *waiting = runner_connect(runner);
    runner_expect_of(runner, waiting, "OK", "AUTH u x");
    runner_expect_of(runner, waiting, "", "BLPOP l 0");
    runner_expect(runner, "1", "ACL DELUSER u");
    assert_true(client->session.life == SESSION_GONE);
    assert_true(waiting->session.life == SESSION_GONE);
    assert_null(waiting->session.waiter);
    assert_true(client->session.user == acl_default(runner->server.acl));
    assert_false(client->session.authenticated);
    runner_expect(runner, "1", "RPUSH l x");
}

static void a_user_that_deletes_itself_gets_its_reply(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = client_with(runner, "+@all ~*");
    runner_expect_of(runner, client, "1", "ACL DELUSER u");
    assert_true(client->session.life == SESSION_CLOSING);
}

static void who_may_not_hear_a_channel_any_more_is_cut_off(void **state)
{
    struct command_runner *runner = *state;
    struct connection *one = client_with(runner, "+@all ~* &a &p*");
    struct connection *other = runner_connect(runner), *third = runner_connect(runner);
    runner_expect_of(runner, other, "OK", "AUTH u x");
    runner_expect_of(runner, third, "OK", "AUTH u x");
    runner_expect_of(runner, one, "[*]", "SUBSCRIBE a");
    runner_expect_of(runner, other, "[*]", "PSUBSCRIBE p*");
    runner_expect(runner, "OK", "ACL SETUSER u &b");
    assert_true(one->session.life == SESSION_OPEN);
    runner_expect(runner, "OK", "ACL SETUSER u resetchannels &p*");
    assert_true(one->session.life == SESSION_GONE);
    assert_true(other->session.life == SESSION_OPEN);
    runner_expect(runner, "OK", "ACL SETUSER u resetchannels (&a)");
    assert_true(other->session.life == SESSION_GONE);
    assert_true(third->session.life == SESSION_OPEN);
    runner_expect(runner, "0", "PUBLISH a x");
}

static bool may_get(struct command_runner *runner, const char *key, size_t size)
{
    struct argument arguments[] = {{"get", 3}, {key, size}};
    struct request request = {.arguments = arguments, .count = 2};
    struct acl_user *user = acl_find(runner->server.acl, dueq_slice("u", 1));
    assert_non_null(user);
    return acl_check(user, command_find_request(&request), &request).reason == ACL_ALLOWED;
}

static void a_huge_key_matches_no_pattern_but_a_prefix(void **state)
{
    struct command_runner *runner = *state;
    size_t most = ACL_MATCH_STEPS / strlen("*a*a*aa");
    char *key = malloc(most + 1);
    assert_non_null(key);
    memset(key, 'a', most + 1);
    runner_expect(runner, "OK", "ACL SETUSER u +get ~*a*a*aa");
    assert_true(may_get(runner, key, most));
    assert_false(may_get(runner, key, most + 1));
    runner_expect(runner, "OK", "ACL SETUSER u ~aab*");
    assert_false(may_get(runner, key, most + 1));
    runner_expect(runner, "OK", "ACL SETUSER u ~aaa*");
    assert_true(may_get(runner, key, most + 1));
    free(key);
}

/* ---- login */

static void users_log_in_with_any_of_their_passwords(void **state)
{
    static const struct check checks[] = {
        {"!WRONGPASS invalid username-password pair or user is disabled.", "AUTH u one"},
        {"\"default\"", "ACL WHOAMI"},
        {"!WRONGPASS *", "AUTH nosuch one"},
        {"!WRONGPASS *", "HELLO 2 AUTH u three"}};
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    runner_expect(runner, "OK", "CONFIG SET auth-delay 0");
    runner_expect(runner, "OK", "ACL SETUSER u >one >two +@all");
    CHECKS(runner, client, checks);
    runner_expect(runner, "OK", "ACL SETUSER u on");
    runner_expect_of(runner, client, "OK", "AUTH u two");
    runner_expect_of(runner, client, "\"u\"", "ACL WHOAMI");
    runner_expect_of(runner, client, "\"* user=u *\"", "CLIENT INFO");
    runner_expect(runner, "OK", "ACL SETUSER u <two");
    runner_expect_of(runner, client, "!WRONGPASS *", "AUTH u two");
    runner_expect_of(runner, client, "\"u\"", "ACL WHOAMI");
    runner_expect_of(runner, client, "RESET", "RESET");
    runner_expect_of(runner, client, "\"default\"", "ACL WHOAMI");
    runner_expect_of(runner, client, "OK", "AUTH u one");
    runner_expect(runner, "\"*acl_access_denied_auth:4*\"", "INFO stats");
    runner_expect(runner, "!ERR No such user 'v'", "CLIENT KILL USER v");
    runner_expect(runner, "1", "CLIENT KILL USER u");
    assert_true(client->session.life == SESSION_GONE);
}

static void requirepass_is_the_default_users_password(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET requirepass foo"},
        {'a',
         "[\"user default on "
         "#2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae ~* &* +@all\"]",
         "ACL LIST"},
        {'b', "!NOAUTH *", "PING"},
        {'a', "OK", "ACL SETUSER default nopass"},
        {'b', "PONG", "PING"},
        {'a', "OK", "ACL SETUSER default resetpass >bar"},
        {'c', "!NOAUTH *", "PING"},
        {'c', "!WRONGPASS *", "AUTH foo"},
        {'c', "OK", "AUTH bar"},
        {'c', "PONG", "PING"},
        {'a', "OK", "CONFIG SET requirepass \"\""},
        {'d', "PONG", "PING"},
        {'a', "OK", "ACL SETUSER default off"},
        {'e', "!NOAUTH *", "PING"},
        {'e', "!WRONGPASS *", "AUTH default x"}};
    runner_follow((struct command_runner *)*state, steps);
}

#define FAIL_THREE_TIMES                                                                       \
    {'b', "!WRONGPASS *", "AUTH u 1"}, {'b', "!WRONGPASS *", "AUTH u 2"},                      \
    {                                                                                          \
        'b', "!WRONGPASS *", "HELLO 3 AUTH u 3"                                                \
    }

static void who_fails_often_gets_the_reply_late(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET auth-delay 250"},
        {'a', "OK", "ACL SETUSER u on >x +@all ~*"},
        FAIL_THREE_TIMES,
        {'b', "", "AUTH u 4"},
        {'c', "", "HELLO 3 AUTH u 5"},
        {'d', "OK", "AUTH u x"},
        {'d', "nil", "GET a"},
        {'+', NULL, "249"},
        {'b', "", NULL},
        {'+', NULL, "2"},
        {'b', "!WRONGPASS invalid username-password pair or user is disabled.", NULL},
        {'c', "!WRONGPASS invalid username-password pair or user is disabled.", NULL},
        {'b', "\"default\"", "ACL WHOAMI"},
        {'b', "OK", "AUTH u x"},
        {'a', "\"*acl_access_denied_auth:5*acl_delayed_auth:2*\"", "INFO stats"},
        {'a', "OK", "CONFIG SET auth-delay 0"},
        {'b', "!WRONGPASS *", "AUTH u 6"}};
    runner_follow((struct command_runner *)*state, steps);
}

/* A password that becomes the right one meanwhile lets nobody in. */
static void a_late_reply_is_that_of_the_attempt(void **state)
{
    static const struct runner_step steps[] = {{'a', "OK", "ACL SETUSER u on >x +@all ~*"},
                                               FAIL_THREE_TIMES,
                                               {'b', "", "AUTH u 4"},
                                               {'a', "OK", "ACL SETUSER u >4"},
                                               {'+', NULL, "101"},
                                               {'b', "!WRONGPASS *", NULL},
                                               {'b', "\"default\"", "ACL WHOAMI"},
                                               {'b', "", "AUTH u 5"},
                                               {'a', "1", "CLIENT UNBLOCK 2"},
                                               {'b', "!WRONGPASS *", NULL},
                                               {'b', "\"default\"", "ACL WHOAMI"}};
    runner_follow((struct command_runner *)*state, steps);
}

static void failures_are_forgotten_after_a_minute(void **state)
{
    static const struct runner_step steps[] = {
        FAIL_THREE_TIMES, {'+', NULL, "60001"}, {'b', "!WRONGPASS *", "AUTH u 4"}};
    runner_follow((struct command_runner *)*state, steps);
}

static void in_exec_no_reply_is_late(void **state)
{
    static const struct runner_step steps[] = {FAIL_THREE_TIMES,
                                               {'b', "OK", "MULTI"},
                                               {'b', "QUEUED", "AUTH u 4"},
                                               {'b', "[!WRONGPASS *]", "EXEC"},
                                               {'b', "PONG", "PING"}};
    runner_follow((struct command_runner *)*state, steps);
}

/* Else a guesser sends its guesses in EXEC, and never waits. */
static void in_exec_who_fails_often_does_not_get_in(void **state)
{
    static const struct runner_step steps[] = {{'a', "OK", "ACL SETUSER u on >right +@all"},
                                               FAIL_THREE_TIMES,
                                               {'b', "OK", "MULTI"},
                                               {'b', "QUEUED", "AUTH u right"},
                                               {'b', "QUEUED", "HELLO 3 AUTH u right"},
                                               {'b', "[!WRONGPASS * !WRONGPASS *]", "EXEC"},
                                               {'b', "\"default\"", "ACL WHOAMI"},
                                               {'b', "OK", "AUTH u right"},
                                               {'a', "OK", "CONFIG SET auth-delay 0"},
                                               {'b', "OK", "MULTI"},
                                               {'b', "QUEUED", "AUTH u right"},
                                               {'b', "[OK]", "EXEC"}};
    runner_follow((struct command_runner *)*state, steps);
}

static void a_client_may_go_before_its_late_reply(void **state)
{
    static const struct runner_step steps[] = {FAIL_THREE_TIMES,
                                               {'b', "", "AUTH u 4"},
                                               {'a', "1", "CLIENT KILL ID 2"},
                                               {'+', NULL, "101"},
                                               {'a', "PONG", "PING"}};
    runner_follow((struct command_runner *)*state, steps);
}

/* ---- ACL LOG, secrets */

static void refusals_are_logged(void **state)
{
    static const struct check checks[] = {{NO_KEY, "GET b"},
                                          {NO_KEY, "GET b"},
                                          {NO_COMMAND("set"), "SET a x"},
                                          {"OK", "MULTI"},
                                          {NO_COMMAND("set"), "SET a x"},
                                          {"!EXECABORT *", "EXEC"},
                                          {"!WRONGPASS *", "AUTH v x"}};
    struct command_runner *runner = *state;
    CHECKS(runner, client_with(runner, "+get +multi +exec ~a"), checks);
    runner_expect(
        runner,
        "[[\"count\" 1 \"reason\" \"auth\" \"context\" \"toplevel\" \"object\" \"AUTH\" "
        "\"username\" \"v\" \"age-seconds\" \"0\" \"client-info\" \"id=2 *\"] "
        "[\"count\" 1 \"reason\" \"command\" \"context\" \"multi\" \"object\" \"set\" *] "
        "[\"count\" 1 \"reason\" \"command\" \"context\" \"toplevel\" \"object\" \"set\" *] "
        "[\"count\" 2 \"reason\" \"key\" \"context\" \"toplevel\" \"object\" \"b\" "
        "\"username\" \"u\" *]]",
        "ACL LOG");
    runner_expect(runner, "[[*] [*]]", "ACL LOG 2");
    runner_expect(runner, "[]", "ACL LOG -1");
    runner_expect(runner, "!ERR value is not an integer or out of range", "ACL LOG x");
    runner_expect(runner, "OK", "CONFIG SET acllog-max-len 1");
    runner_expect(runner, "[[*\"auth\"*]]", "ACL LOG 9");
    runner_expect(runner, "OK", "ACL LOG RESET");
    runner_expect(runner, "[]", "ACL LOG");
    runner_expect(runner, "\"*acl_access_denied_cmd:2*acl_access_denied_key:2*\"",
                  "INFO stats");
}

static void no_password_is_shown(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET slowlog-log-slower-than 0"},
        {'a', "OK", "ACL SETUSER u on >secret +@all"},
        {'a', "OK", "ACL DRYRUN u AUTH u secret"},
        {'b', "!WRONGPASS *", "AUTH u secret2"},
        {'a',
         "[* [\"AUTH\" \"(redacted)\" \"(redacted)\"] * [\"ACL\" \"DRYRUN\" \"(redacted)\" "
         "\"(redacted)\" \"(redacted)\" \"(redacted)\"] * [\"ACL\" \"SETUSER\" \"(redacted)\" "
         "\"(redacted)\" \"(redacted)\" \"(redacted)\"] *]",
         "SLOWLOG GET"}};
    runner_follow((struct command_runner *)*state, steps);
}

static void dryrun_runs_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "ACL SETUSER u +get +set +publish ~a*"},
        {"OK", "ACL DRYRUN u SET a x"},
        {"nil", "GET a"},
        {"\"This user has no permissions to access the 'b' key\"", "ACL DRYRUN u GET b"},
        {"\"This user has no permissions to access the 'b' channel\"",
         "ACL DRYRUN u PUBLISH b x"},
        {"\"This user has no permissions to run the 'config|get' command\"",
         "ACL DRYRUN u CONFIG GET x"},
        {"!ERR User 'v' not found", "ACL DRYRUN v GET a"},
        {"!ERR Command 'nosuch' not found", "ACL DRYRUN u nosuch"},
        {"!ERR Command 'config' not found", "ACL DRYRUN u config nosuch"},
        {"!ERR wrong number of arguments for 'get' command", "ACL DRYRUN u GET"}};
    runner_expect_all((struct command_runner *)*state, cases);
}

static void genpass_makes_digits(void **state)
{
    static const char *const cases[][2] = {
        {"\"*\"", "ACL GENPASS 5"},
        {"!ERR ACL GENPASS argument must be the number of bits for the output password, a "
         "positive number up to 4096",
         "ACL GENPASS 0"},
        {"!ERR ACL GENPASS argument must be *", "ACL GENPASS 4097"},
        {"!ERR value is not an integer or out of range", "ACL GENPASS x"},
        {"\"*\"", "ACL GENPASS 4096"},
        {"!ERR This Redis instance is not configured to use an ACL file. *", "ACL LOAD"},
        {"!ERR This Redis instance is not configured to use an ACL file. *", "ACL SAVE"}};
    runner_expect_all((struct command_runner *)*state, cases);
}

static void wake_nobody(void *arg)
{
    (void)arg;
}

static void write_users(const struct command_runner *runner, const char *path)
{
    static const char users[] = "user default on nopass ~* &* +@all\n";
    struct buffer content;
    struct hash_job *job;

    buffer_init(&content, SIZE_MAX);
    buffer_append(&content, users, sizeof(users) - 1);
    job = hash_job_new_write(path, &content, NULL);
    assert_non_null(job);
    assert_true(hasher_give(runner->server.hasher, job));
}

static void await_write(const struct command_runner *runner)
{
    struct hash_job *job;

    while ((job = hasher_next_done(runner->server.hasher)) == NULL)
        usleep(1000);
    assert_int_equal(job->error, 0);
    hasher_drop(runner->server.hasher, job);
}

/* The loop sleeps meanwhile. */
static void a_load_waits_for_the_file_and_does_not_spin(void **state)
{
    struct command_runner *runner = *state;
    struct connection *loader = runner_connect(runner);
    char path[4096];

    snprintf(path, sizeof(path), "%s/users.acl", runner->dir);
    runner->server.hasher = hasher_new(wake_nobody, NULL);
    free(runner->server.config.aclfile);
    runner->server.config.aclfile = strdup(path);
    write_users(runner, path);
    await_write(runner);
    runner->by_slices = true;
    write_users(runner, path);
    runner_run(runner, loader, "ACL LOAD");
    assert_true(runner_slice(runner));
    assert_int_equal(long_works_next(&runner->server), DUEQ_NEVER);
    await_write(runner);
    assert_int_equal(long_works_next(&runner->server), 0);
    while (loader->session.waiter != NULL && runner_slice(runner))
        continue;
    runner_expect_reply(loader, "OK");
    hasher_free(runner->server.hasher);
    runner->server.hasher = NULL;
}

/* ---- an EXEC with many users */

enum { USERS = 2000 };

static void begin_many(struct command_runner *runner)
{
    char line[4096];

    snprintf(line, sizeof(line), "%s/users.acl", runner->dir);
    runner->server.hasher = hasher_new(wake_nobody, NULL);
    free(runner->server.config.aclfile);
    runner->server.config.aclfile = strdup(line);
    for (int i = 0; i < USERS; i++) {
        snprintf(line, sizeof(line), "ACL SETUSER u%d on nopass ~t%d +get", i, i);
        runner_expect(runner, "OK", line);
    }
    runner->by_slices = true;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "ACL SETUSER one on nopass ~k +get");
    runner_expect(runner, "QUEUED", "ACL SAVE");
    runner_expect(runner, "QUEUED", "ACL SETUSER other");
    runner_expect(runner, "QUEUED", "ACL DELUSER u0 one");
    runner_expect(runner, "QUEUED", "ACL LIST");
    runner_expect(runner, "QUEUED", "ACL LOAD");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_true(alone_is(&runner->server, &runner->clients[0]->session));
}

/* The file has the users of its moment in the EXEC. */
static void expect_saved(struct command_runner *runner, struct connection *client)
{
    runner_expect_of(runner, client, "[*]", "ACL GETUSER one");
    runner_expect_of(runner, client, "[*]", "ACL GETUSER u0");
    runner_expect_of(runner, client, "[*]", "ACL GETUSER u1999");
    runner_expect_of(runner, client, "nil", "ACL GETUSER other");
    hasher_free(runner->server.hasher);
    runner->server.hasher = NULL;
}

static void an_exec_saves_and_loads_in_slices(void **state)
{
    struct command_runner *runner = *state;

    begin_many(runner);
    assert_in_range(runner_finish(runner, UINT64_MAX), USERS / 100, USERS / 10);
    runner_expect_reply(runner->clients[0], "[OK OK OK 2 [*] OK]");
    expect_saved(runner, runner->clients[0]);
}

static void an_exec_saves_and_loads_when_its_client_goes(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);

    begin_many(runner);
    for (int i = 0; i < 3; i++)
        runner_slice(runner);
    waiters_cancel(&runner->server, &runner->clients[0]->session);
    assert_false(alone_runs(&runner->server));
    expect_saved(runner, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(every_rule_is_shown_as_redis_shows_it),
        runner_test(every_bad_rule_is_redis_error),
        runner_test(a_pattern_has_a_longest_size),
        runner_test(a_user_has_a_most_of_selectors_and_passwords),
        runner_test(a_user_has_a_most_of_first_arguments),
        runner_test(a_user_has_a_most_of_bytes),
        runner_test(a_star_with_both_rights_is_all_keys),
        runner_test(commands_are_refused_by_name),
        runner_test(keys_have_read_and_write_rights),
        runner_test(topics_are_keys_wherever_they_are_named),
        runner_test(a_worker_reads_one_topic_and_writes_another),
        runner_test(selectors_are_alternatives),
        runner_test(channels_are_checked),
        runner_test(a_new_user_may_get_all_channels),
        runner_test(an_exec_checks_again),
        runner_test(an_exec_without_the_right_to_ack_does_nothing),
        runner_test(a_wait_that_ends_with_its_time_is_checked),
        runner_test(sort_stores_only_where_the_user_may_write),
        runner_test(keys_that_are_counted_badly_are_keys),
        runner_test(a_blocked_client_is_checked_when_it_is_woken),
        runner_test(a_deleted_users_clients_are_gone),
        runner_test(a_user_that_deletes_itself_gets_its_reply),
        runner_test(who_may_not_hear_a_channel_any_more_is_cut_off),
        runner_test(a_huge_key_matches_no_pattern_but_a_prefix),
        runner_test(users_log_in_with_any_of_their_passwords),
        runner_test(who_fails_often_gets_the_reply_late),
        runner_test(a_late_reply_is_that_of_the_attempt),
        runner_test(failures_are_forgotten_after_a_minute),
        runner_test(in_exec_no_reply_is_late),
        runner_test(in_exec_who_fails_often_does_not_get_in),
        runner_test(a_client_may_go_before_its_late_reply),
        runner_test(requirepass_is_the_default_users_password),
        runner_test(refusals_are_logged),
        runner_test(no_password_is_shown),
        runner_test(dryrun_runs_nothing),
        runner_test(genpass_makes_digits),
        runner_test(a_load_waits_for_the_file_and_does_not_spin),
        runner_test(an_exec_saves_and_loads_in_slices),
        runner_test(an_exec_saves_and_loads_when_its_client_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
