/* A few hundred large elements are as much work as thousands of small ones: each command that
 * reads, writes or removes them takes several slices, and answers what it would answer in one
 * step. */
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/session.h"
#include "server/session/waiters.h"
#include "storage/store.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT = 250, /* elements of one command */
    SIZE = 16 * 1024,
    ALL = COUNT * SIZE, /* twice what is done at once */
    LEAST = 3,          /* slices */
    WORDS = 4 * COUNT + 16
};

/* ---- requests */

static char elements[COUNT][SIZE];

static struct argument element(int number)
{
    return (struct argument){elements[number], SIZE};
}

static int make_elements(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char head[16];

        snprintf(head, sizeof(head), "%06d:", i);
        memset(elements[i], 'x', SIZE);
        memcpy(elements[i], head, 7);
    }
    return 0;
}

struct words {
    struct argument words[WORDS];
    size_t count;
    char text[WORDS][24];
};

static void add(struct words *words, const char *text)
{
    char *place = words->text[words->count];

    snprintf(place, sizeof(words->text[0]), "%s", text);
    words->words[words->count++] = (struct argument){place, strlen(place)};
}

/* '#' becomes the number, '@' the large element of that number. */
static void add_each(struct words *words, const char *word, int number)
{
    char text[24];
    const char *mark = strchr(word, '#');

    if (strcmp(word, "@") == 0) {
        words->words[words->count++] = element(number);
        return;
    }
    snprintf(text, sizeof(text), "%s", word);
    if (mark != NULL)
        snprintf(text + (mark - word), sizeof(text) - (size_t)(mark - word), "%d", number);
    add(words, text);
}

static void add_words(struct words *words, char *line)
{
    for (char *word; (word = strtok_r(line, " ", &line)) != NULL;)
        add(words, word);
}

/* The words before the first bar and after the second one once, those between them for each
 * number. */
static struct words *make_words(const char *line)
{
    struct words *words = calloc(1, sizeof(*words));
    char copy[160], *rest = copy, *each, *word;

    assert_non_null(words);
    snprintf(copy, sizeof(copy), "%s", line);
    add_words(words, strsep(&rest, "|"));
    each = strsep(&rest, "|");
    for (int i = 0; each != NULL && i < COUNT; i++) {
        char again[64], *at = again;

        snprintf(again, sizeof(again), "%s", each);
        while ((word = strtok_r(at, " ", &at)) != NULL)
            add_each(words, word, i);
    }
    if (rest != NULL)
        add_words(words, rest);
    return words;
}

/* The words are gone when it has run for the first time, as those of a reader. */
static void begin(struct command_runner *runner, struct connection *client, const char *line)
{
    struct words *words = make_words(line);
    struct request request = {words->count, words->words, 0};

    for (size_t i = 0; i < words->count; i++)
        request.bytes += words->words[i].size;
    runner->by_slices = true;
    connection_run(client, &request, NULL, false);
    memset(words, 0, sizeof(*words));
    free(words);
    waiters_serve(&runner->server);
}

static unsigned finish(struct command_runner *runner)
{
    unsigned slices = 0;

    while (runner_slice(runner))
        slices++;
    return slices;
}

/* ---- replies */

static struct buffer *output_of(struct command_runner *runner)
{
    return &runner->clients[0]->output;
}

/* The reply begins so and contains each element once, in order or in any order. */
static void has_all(struct command_runner *runner, const char *head, bool in_order)
{
    const char *at = buffer_content(output_of(runner));
    size_t left = buffer_size(output_of(runner)), found = 0;
    bool seen[COUNT] = {false};

    assert_true(left >= strlen(head));
    assert_memory_equal(at, head, strlen(head));
    for (const char *begin; (begin = memchr(at, ':', left)) != NULL;) {
        int number = atoi(begin - 6);

        assert_in_range(number, 0, COUNT - 1);
        assert_memory_equal(begin - 6, elements[number], SIZE);
        assert_false(seen[number]);
        assert_true(!in_order || number == (int)found);
        seen[number] = true;
        found++;
        left -= (size_t)(begin - 6 + SIZE - at);
        at = begin - 6 + SIZE;
    }
    assert_int_equal(found, COUNT);
    buffer_clear(output_of(runner));
}

static void reply_is(struct command_runner *runner, const char *bytes)
{
    assert_int_equal(strlen(bytes), buffer_size(output_of(runner)));
    assert_memory_equal(bytes, buffer_content(output_of(runner)), strlen(bytes));
    buffer_clear(output_of(runner));
}

/* ---- each command */

/* REMOVED: as EXACT, but nothing is copied, so one slice is enough. */
enum shape { EXACT, REMOVED, ORDERED, ANY_ORDER };

struct large_case {
    const char *line, *reply; /* the whole reply, or what it begins with */
    enum shape shape;
};

/* In this order: what one writes the next ones read. */
static const struct large_case cases[] = {
    {"MSET |k# @", "+OK\r\n", EXACT},
    {"MGET |k#", "*250\r\n$16384\r\n000000:", ORDERED},
    {"HSET h |f# @", ":250\r\n", EXACT},
    {"HMGET h |f#", "*250\r\n$16384\r\n000000:", ORDERED},
    {"HGETALL h", "*500\r\n", ANY_ORDER},
    {"HVALS h", "*250\r\n", ANY_ORDER},
    {"HRANDFIELD h 250 WITHVALUES", "*500\r\n", ANY_ORDER},
    {"RPUSH l |@", ":250\r\n", EXACT},
    {"LRANGE l 0 -1", "*250\r\n$16384\r\n000000:", ORDERED},
    {"SORT l BY nosort", "*250\r\n$16384\r\n000000:", ORDERED},
    {"SORT l ALPHA", "*250\r\n$16384\r\n000000:", ORDERED},
    {"SORT l ALPHA DESC STORE l2", ":250\r\n", EXACT},
    {"COPY l l3", ":1\r\n", EXACT},
    {"SORT nums BY nosort GET k*", "*250\r\n$16384\r\n000000:", ORDERED},
    {"SORT nums BY k* ALPHA GET k*", "*250\r\n$16384\r\n000000:", ORDERED},
    {"LPOP l 250", "*250\r\n$16384\r\n000000:", ORDERED},
    {"RPOP l2 250", "*250\r\n$16384\r\n000000:", ORDERED},
    {"LMPOP 1 l3 LEFT COUNT 250", "*2\r\n$2\r\nl3\r\n*250\r\n", ORDERED},
    {"SADD s |@", ":250\r\n", EXACT},
    {"SMEMBERS s", "*250\r\n", ANY_ORDER},
    {"SRANDMEMBER s 250", "*250\r\n", ANY_ORDER},
    {"SUNION s none", "*250\r\n", ANY_ORDER},
    {"SUNIONSTORE s2 s", ":250\r\n", EXACT},
    {"SINTERSTORE s3 s s2", ":250\r\n", EXACT},
    {"SDIFF s none", "*250\r\n", ANY_ORDER},
    {"SINTERCARD 2 s s2", ":250\r\n", EXACT},
    {"SPOP s 250", "*250\r\n", ANY_ORDER},
    {"SREM s2 |@", ":250\r\n", EXACT},
    {"ZADD z |# @", ":250\r\n", EXACT},
    {"ZRANGE z 0 -1", "*250\r\n$16384\r\n000000:", ORDERED},
    {"ZRANGESTORE z2 z 0 -1", ":250\r\n", EXACT},
    {"ZUNIONSTORE z3 1 z WEIGHTS -1", ":250\r\n", EXACT},
    {"ZPOPMIN z 250", "*500\r\n$16384\r\n000000:", ORDERED},
    {"ZMPOP 1 z2 MIN COUNT 250", "*2\r\n$2\r\nz2\r\n*250\r\n", ORDERED},
    {"ZPOPMAX z3 250", "*500\r\n$16384\r\n000000:", ORDERED},
    {"SPOP s3 250", "*250\r\n", ANY_ORDER},
    {"ZADD z |# @", ":250\r\n", EXACT},
    {"ZREMRANGEBYRANK z 0 -1", ":250\r\n", REMOVED},
    {"ZADD z |# @", ":250\r\n", EXACT},
    {"ZREMRANGEBYSCORE z -inf +inf", ":250\r\n", REMOVED},
};

static void each_takes_slices(void **state)
{
    struct command_runner *runner = *state;

    begin(runner, runner->clients[0], "RPUSH nums |#");
    buffer_clear(output_of(runner));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct large_case *large = &cases[i];
        unsigned slices;

        begin(runner, runner->clients[0], large->line);
        slices = finish(runner);
        if (slices < (large->shape == REMOVED ? 1 : LEAST))
            fail_msg("%s took %u slices: %.60s", large->line, slices,
                     buffer_content(output_of(runner)));
        if (large->shape <= REMOVED)
            reply_is(runner, large->reply);
        else
            has_all(runner, large->reply, large->shape == ORDERED);
    }
    runner_expect(runner, "252", "DBSIZE"); /* k#, h and nums */
}

/* Of a part of them, each is a member or is popped. */
static void a_part_is_popped_in_slices(void **state)
{
    struct command_runner *runner = *state;

    begin(runner, runner->clients[0], "SADD s |@");
    finish(runner);
    reply_is(runner, ":250\r\n");
    begin(runner, runner->clients[0], "SPOP s 200");
    assert_true(finish(runner) >= 1); /* as many as the clock allows */
    assert_in_range(buffer_size(output_of(runner)), 200 * SIZE, 201 * SIZE);
    assert_memory_equal(buffer_content(output_of(runner)), "*200\r\n", 6);
    buffer_clear(output_of(runner));
    runner_expect(runner, "50", "SCARD s");
}

/* COUNT is a hint: a scan ends when it has replied enough. */
static void a_scan_ends_early(void **state)
{
    static const char *const lines[][2] = {
        {"HSET s |f# @", "HSCAN"}, {"SADD s |@", "SSCAN"}, {"ZADD s |# @", "ZSCAN"}};
    struct command_runner *runner = *state;

    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        unsigned long long cursor = 0;
        size_t bytes = 0, scans = 0;

        begin(runner, runner->clients[0], lines[i][0]);
        finish(runner);
        buffer_clear(output_of(runner));
        do {
            char line[64];

            snprintf(line, sizeof(line), "%s s %llu COUNT 4000", lines[i][1], cursor);
            runner_run(runner, runner->clients[0], line);
            assert_in_range(buffer_size(output_of(runner)), 1, ALL * 3 / 4);
            bytes += buffer_size(output_of(runner));
            cursor = strtoull(
                strchr(buffer_content(output_of(runner)), '\n') + strlen("\n$1\r"), NULL, 10);
            buffer_clear(output_of(runner));
            scans++;
        } while (cursor != 0);
        assert_in_range(scans, 2, 4);
        assert_in_range(bytes, ALL, ALL + ALL / 8);
        runner_expect(runner, "1", "DEL s");
    }
}

/* ---- jobs */

static uint64_t records(const struct command_runner *runner)
{
    struct dueq_stats stats;

    dueq_get_stats(runner->server.store, &stats);
    return stats.lsn;
}

/* *ret_size: the reply. */
static int claim(struct command_runner *runner, const char *line, size_t *ret_size)
{
    int jobs;

    runner_run(runner, runner->clients[0], line);
    *ret_size = buffer_size(output_of(runner));
    jobs = atoi(buffer_content(output_of(runner)) + 1);
    buffer_clear(output_of(runner));
    return jobs;
}

static void many_large_jobs_are_pushed_in_slices(void **state)
{
    struct command_runner *runner = *state;
    uint64_t before = records(runner);
    struct connection *other = runner_connect(runner);

    begin(runner, runner->clients[0], "Q.MPUSH t 250 |@");
    assert_true(alone_runs(&runner->server));
    runner_slice(runner);
    runner_expect_of(runner, other, "PONG", "PING");
    assert_int_equal(records(runner), before);
    assert_true(finish(runner) >= LEAST);
    assert_false(alone_runs(&runner->server));
    assert_memory_equal(buffer_content(output_of(runner)), "*250\r\n", 6);
    buffer_clear(output_of(runner));
    runner_commit(runner);
    assert_int_equal(records(runner), before + 1);
    runner_expect(runner, "250", "Q.LEN t");
}

static void each_with_its_own_options(void **state)
{
    struct command_runner *runner = *state;
    size_t size;

    begin(runner, runner->clients[0], "Q.MPUSH t EACH 250 |id# 1000 # @");
    assert_true(finish(runner) >= LEAST);
    assert_memory_equal(buffer_content(output_of(runner)), "*250\r\n$3\r\nid0\r\n", 15);
    buffer_clear(output_of(runner));
    runner_expect(runner, "[]", "Q.CLAIM t");
    runner_pass(runner, 1001);
    assert_in_range(claim(runner, "Q.CLAIM t COUNT 3", &size), 3, 3);
    runner_expect(runner, "[[\"id3\" * *", "Q.CLAIM t");
}

static void none_is_pushed_when_one_is_refused(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "\"id249\"", "Q.PUSH t body ID id249");
    begin(runner, runner->clients[0], "Q.MPUSH t EACH 250 |id# 0 # @");
    finish(runner);
    assert_int_equal(*buffer_content(output_of(runner)), '-');
    buffer_clear(output_of(runner));
    runner_expect(runner, "1", "Q.LEN t");
    begin(runner, runner->clients[0], "Q.MPUSH none EACH 250 |id 0 # @");
    finish(runner);
    assert_int_equal(*buffer_content(output_of(runner)), '-');
    buffer_clear(output_of(runner));
    runner_expect(runner, "0", "Q.LEN none");
    assert_false(alone_runs(&runner->server));
}

/* Large bodies that are there already are read, however small those that come are. */
static void what_is_there_is_read_in_slices(void **state)
{
    static const char *const ways[] = {"REPLACE", "IGNORE", "DEBOUNCE"};
    struct command_runner *runner = *state;

    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        char line[96];

        begin(runner, runner->clients[0], "Q.MPUSH t EACH 250 |id# 1h # @| ONDUP REPLACE");
        finish(runner);
        buffer_clear(output_of(runner));
        snprintf(line, sizeof(line), "Q.MPUSH t EACH 250 |id# 2h # x| ONDUP %s", ways[i]);
        begin(runner, runner->clients[0], line);
        if (finish(runner) < LEAST)
            fail_msg("%s took too few slices", line);
        assert_memory_equal(buffer_content(output_of(runner)), "*250\r\n$3\r\nid0\r\n", 15);
        buffer_clear(output_of(runner));
        runner_expect(runner, "250", "Q.LEN t");
        runner_expect(runner, i == 0 ? "[*\"body\" \"x\"*" : "[*\"body\" \"000007:*",
                      "Q.GET t id7");
    }
}

static void jobs_that_wait_are_pushed_in_slices(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "\"first\"", "Q.PUSH w body ID first");
    begin(runner, runner->clients[0], "Q.MPUSH t 250 |@| ON-DEAD run AFTER w:first");
    assert_true(finish(runner) >= LEAST);
    assert_memory_equal(buffer_content(output_of(runner)), "*250\r\n", 6);
    buffer_clear(output_of(runner));
    runner_expect(runner, "250", "Q.LEN t waiting");
    runner_expect(runner, "[[\"first\" *", "Q.POP w");
    runner_pass(runner, 1);
    runner_expect(runner, "250", "Q.LEN t ready");
}

/* The right to read each topic that a name may mean is asked for first. */
static void who_may_not_read_all_is_told_so(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0];

    runner_expect(runner, "\"a:b\"", "Q.PUSH w body ID a:b");
    runner_expect(runner, "\"s\"", "Q.PUSH secret body ID s");
    runner_expect(runner, "OK", "ACL SETUSER u on nopass +@all ~t %R~w");
    runner_expect(runner, "OK", "AUTH u x");
    begin(runner, client, "Q.MPUSH t 250 |@| AFTER secret:s");
    finish(runner);
    assert_memory_equal(buffer_content(output_of(runner)), "-NOPERM", 7);
    buffer_clear(output_of(runner));
    begin(runner, client, "Q.MPUSH t 250 |@| AFTER w:a:b");
    assert_true(finish(runner) >= LEAST);
    assert_memory_equal(buffer_content(output_of(runner)), "*250\r\n", 6);
    buffer_clear(output_of(runner));
    runner_expect(runner, "250", "Q.LEN t waiting");
    assert_false(alone_runs(&runner->server));
}

static void a_job_hands_over_to_large_ones_in_slices(void **state)
{
    struct command_runner *runner = *state;
    uint64_t before;

    runner_expect(runner, "\"a\"", "Q.PUSH t body ID a");
    runner_expect(runner, "[[\"a\" 1 *", "Q.CLAIM t");
    runner_commit(runner);
    before = records(runner);
    begin(runner, runner->clients[0], "Q.ACK t a 2 |THEN PUSH u @|");
    finish(runner);
    assert_memory_equal(buffer_content(output_of(runner)), "-STALE", 6);
    buffer_clear(output_of(runner));
    begin(runner, runner->clients[0], "Q.ACK t a 1 |THEN PUSH u @| ID x THEN PUSH u y ID x");
    finish(runner);
    assert_memory_equal(buffer_content(output_of(runner)), "-DUPLICATE", 10);
    buffer_clear(output_of(runner));
    runner_expect(runner, "1", "Q.LEN t claimed");
    runner_expect(runner, "[\"t\"]", "Q.TOPICS");
    begin(runner, runner->clients[0],
          "Q.ACK t a 1 RESULT done KEEP 1h |THEN PUSH u @| AFTER t:a");
    assert_true(alone_runs(&runner->server));
    assert_true(finish(runner) >= LEAST);
    assert_memory_equal(buffer_content(output_of(runner)), "*250\r\n", 6);
    buffer_clear(output_of(runner));
    runner_commit(runner);
    assert_int_equal(records(runner), before + 1);
    runner_expect(runner, "250", "Q.LEN u ready");
    runner_expect(runner, "[*\"result\" \"done\"*", "Q.GET t a");
}

static void a_hand_over_goes_on_when_the_client_goes(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "\"a\"", "Q.PUSH t body ID a");
    runner_expect(runner, "[[\"a\" 1 *", "Q.CLAIM t");
    begin(runner, runner->clients[0], "Q.ACK t a 1 |THEN PUSH u @|");
    runner_slice(runner);
    waiters_cancel(&runner->server, &runner->clients[0]->session);
    buffer_clear(output_of(runner));
    runner_commit(runner);
    alone_settled(&runner->server);
    runner_expect(runner, "250", "Q.LEN u");
    runner_expect(runner, "0", "Q.LEN t");
}

static void the_rest_is_pushed_when_the_client_goes(void **state)
{
    struct command_runner *runner = *state;

    begin(runner, runner->clients[0], "Q.MPUSH t 250 |@");
    runner_slice(runner);
    waiters_cancel(&runner->server, &runner->clients[0]->session);
    assert_false(alone_runs(&runner->server));
    buffer_clear(output_of(runner));
    runner_commit(runner);
    alone_settled(&runner->server);
    runner_expect(runner, "250", "Q.LEN t");
}

/* As when the store fails. What is known of the push is freed after its store. */
static void a_push_that_is_dropped_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;

    begin(runner, runner_connect(runner), "Q.MPUSH t 250 |@");
    runner_slice(runner);
    alone_drop(&runner->server);
    runner_abandon(runner);
    runner_expect(runner, "0", "Q.LEN t");
}

/* The same while they are being checked. */
static void a_check_that_is_dropped_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;

    begin(runner, runner->clients[0], "Q.MPUSH t EACH 250 |id# 1h # @|");
    finish(runner);
    buffer_clear(output_of(runner));
    runner_commit(runner);
    begin(runner, runner_connect(runner), "Q.MPUSH t EACH 250 |id# 1h # x| ONDUP REPLACE");
    runner_slice(runner);
    alone_drop(&runner->server);
    runner_abandon(runner);
    runner_expect(runner, "250", "Q.LEN t");
    runner_expect(runner, "[*\"body\" \"000007:*", "Q.GET t id7");
}

/* Beside a batch of the same transaction, on whose jobs it comes. */
static void in_a_transaction_they_are_checked_in_slices(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MULTI");
    begin(runner, runner->clients[0], "Q.MPUSH t EACH 250 |id# 0 # @|");
    reply_is(runner, "+QUEUED\r\n");
    begin(runner, runner->clients[0], "Q.MPUSH t EACH 250 |id# 0 # x| ONDUP REPLACE");
    reply_is(runner, "+QUEUED\r\n");
    begin(runner, runner->clients[0], "Q.MPUSH t EACH 250 |new# 0 # @| AFTER id1");
    reply_is(runner, "+QUEUED\r\n");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_true(finish(runner) >= 3 * LEAST);
    assert_memory_equal(buffer_content(output_of(runner)), "*3\r\n*250\r\n", 10);
    buffer_clear(output_of(runner));
    runner_expect(runner, "500", "Q.LEN t");
    runner_expect(runner, "[*\"body\" \"x\"*", "Q.GET t id7");
}

static void in_a_transaction_pushes_are_slices_of_that(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MULTI");
    begin(runner, runner->clients[0], "Q.MPUSH t 250 |@");
    reply_is(runner, "+QUEUED\r\n");
    begin(runner, runner->clients[0], "Q.MPUSH t 250 |@");
    reply_is(runner, "+QUEUED\r\n");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_true(finish(runner) >= 2 * LEAST);
    assert_memory_equal(buffer_content(output_of(runner)), "*2\r\n*250\r\n", 10);
    buffer_clear(output_of(runner));
    runner_expect(runner, "500", "Q.LEN t");
}

/* Large sets in a transaction are as many steps as they have bytes. */
static void a_transaction_of_large_values_takes_slices(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "MULTI");
    for (int i = 0; i < COUNT; i++) {
        struct argument words[] = {{"SET", 3}, {elements[i], 6}, element(i)};
        struct request request = {3, words, 9 + SIZE};

        connection_run(runner->clients[0], &request, NULL, false);
    }
    buffer_clear(output_of(runner));
    runner->by_slices = true;
    runner_run(runner, runner->clients[0], "EXEC");
    assert_true(finish(runner) >= LEAST);
    buffer_clear(output_of(runner));
    runner_expect(runner, "250", "DBSIZE");
}

/* A claim takes no more jobs than fit a reply. */
static void a_claim_takes_what_fits(void **state)
{
    struct command_runner *runner = *state;
    size_t size;
    int jobs;

    begin(runner, runner->clients[0], "Q.MPUSH t 250 |@");
    finish(runner);
    buffer_clear(output_of(runner));
    jobs = claim(runner, "Q.CLAIM t COUNT 1000", &size);
    assert_in_range(jobs, 100, 140);
    assert_in_range(size, (size_t)jobs * SIZE, (size_t)(jobs + 1) * SIZE);
    jobs += claim(runner, "Q.POP t COUNT 1000", &size);
    jobs += claim(runner, "Q.POP t COUNT 1000", &size);
    assert_int_equal(jobs, COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(each_takes_slices),
        runner_test(a_part_is_popped_in_slices),
        runner_test(a_scan_ends_early),
        runner_test(many_large_jobs_are_pushed_in_slices),
        runner_test(each_with_its_own_options),
        runner_test(none_is_pushed_when_one_is_refused),
        runner_test(what_is_there_is_read_in_slices),
        runner_test(jobs_that_wait_are_pushed_in_slices),
        runner_test(who_may_not_read_all_is_told_so),
        runner_test(a_job_hands_over_to_large_ones_in_slices),
        runner_test(a_hand_over_goes_on_when_the_client_goes),
        runner_test(the_rest_is_pushed_when_the_client_goes),
        runner_test(a_push_that_is_dropped_leaves_nothing),
        runner_test(a_check_that_is_dropped_leaves_nothing),
        runner_test(in_a_transaction_they_are_checked_in_slices),
        runner_test(in_a_transaction_pushes_are_slices_of_that),
        runner_test(a_transaction_of_large_values_takes_slices),
        runner_test(a_claim_takes_what_fits),
    };

    return cmocka_run_group_tests(tests, make_elements, NULL);
}
