/* server/acl/acl_check: a check in slices says what one at once says. */
#include "server/acl/acl_check.h"
#include "tests/support/dice.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { NAMES_MOST = 12, RULES_MOST = 8, WORD = 48, HEADS_MOST = 64 };

struct words {
    char texts[NAMES_MOST + 1][WORD];
    struct argument arguments[NAMES_MOST + 1];
    struct request request;
};

static void add_word(struct words *words, const char *text)
{
    char *copy = words->texts[words->request.count];

    snprintf(copy, WORD, "%s", text);
    words->arguments[words->request.count++] = (struct argument){copy, strlen(copy)};
}

/* Names of few letters, so that patterns match now and then. */
static void throw_name(struct dice *dice, char *ret_name)
{
    size_t size = 1 + (size_t)dice_roll(dice, 3);

    for (size_t i = 0; i < size; i++)
        ret_name[i] = (char)('a' + dice_roll(dice, 2));
    ret_name[size] = '\0';
}

static void throw_request(struct dice *dice, struct words *ret_words)
{
    static const char *const commands[] = {"mget",       "del",         "mset",    "subscribe",
                                           "psubscribe", "sunionstore", "publish", "rename"};
    const char *command = commands[dice_roll(dice, sizeof(commands) / sizeof(commands[0]))];
    size_t names = strcmp(command, "publish") == 0 || strcmp(command, "rename") == 0
                       ? 2
                       : 2 + (size_t)dice_roll(dice, NAMES_MOST - 2);
    char name[WORD / 2];

    *ret_words = (struct words){0};
    ret_words->request.arguments = ret_words->arguments;
    add_word(ret_words, command);
    for (size_t i = 0; i < names; i++) {
        throw_name(dice, name);
        add_word(ret_words, name);
    }
}

static void apply(struct acl_user *user, const char *rule)
{
    assert_int_equal(acl_user_apply(user, dueq_slice(rule, strlen(rule)), ACL_NO_CHANNELS),
                     ACL_GOOD);
}

static void throw_rule(struct dice *dice, char *ret_rule)
{
    static const char *const kinds[] = {"~", "%R~", "%W~", "&"};
    char name[WORD / 2];

    throw_name(dice, name);
    snprintf(ret_rule, WORD, "%s%.8s%s", kinds[dice_roll(dice, 4)], name,
             dice_roll(dice, 2) == 0 ? "*" : "");
}

static struct acl_user *throw_user(struct dice *dice)
{
    struct acl_user *user = acl_user_new(dueq_slice("u", 1), ACL_NO_CHANNELS);
    char rule[WORD], selector[2 * WORD];

    assert_non_null(user);
    if (dice_roll(dice, 4) > 0)
        apply(user, "+@all");
    for (uint64_t i = dice_roll(dice, RULES_MOST); i > 0; i--) {
        throw_rule(dice, rule);
        apply(user, rule);
    }
    for (uint64_t i = dice_roll(dice, 3); i > 0; i--) {
        throw_rule(dice, rule);
        snprintf(selector, sizeof(selector), "(+@all ~a* &a* %.16s)", rule);
        apply(user, selector);
    }
    return user;
}

/* Returns how many slices were not the last. */
static unsigned expect_same(struct dice *dice, const struct acl_user *user,
                            const struct request *request)
{
    const struct command *command = command_find_request(request);
    struct acl_verdict whole = acl_check(user, command, request), verdict;
    struct acl_pace pace = {0};
    unsigned slices = 0;

    for (;; slices++) {
        assert_true(slices < 10000);
        pace.steps = 1 + (size_t)dice_roll(dice, 100);
        verdict = acl_check_some(user, command, request, &pace);
        if (verdict.reason != ACL_UNDECIDED)
            break;
    }
    assert_int_equal(verdict.reason, whole.reason);
    assert_int_equal(verdict.argument, whole.argument);
    return slices;
}

static void slices_say_what_the_whole_says(void **state)
{
    unsigned slices = 0, reasons[ACL_REASONS] = {0};
    struct words words;
    struct dice dice;
    (void)state;

    dice_begin(&dice);
    for (long i = dice_setting("STEPS", 20000); i > 0; i--) {
        struct acl_user *user = throw_user(&dice);

        throw_request(&dice, &words);
        slices += expect_same(&dice, user, &words.request);
        reasons[acl_check(user, command_find_request(&words.request), &words.request).reason]++;
        acl_user_free(user);
    }
    if (dice_setting("STEPS", 20000) < 1000)
        return;
    assert_true(slices > 0);
    assert_true(reasons[ACL_ALLOWED] > 0 && reasons[ACL_DENIED_COMMAND] > 0);
    assert_true(reasons[ACL_DENIED_KEY] > 0 && reasons[ACL_DENIED_CHANNEL] > 0);
}

static const char *text_of(const void *arg, size_t number)
{
    return ((const struct request *)arg)->arguments[number].data;
}

/* Keys that begin an argument: the same as one after the other. */
static unsigned expect_same_heads(struct dice *dice, const struct acl_user *user,
                                  const struct request *request)
{
    const struct command *command = command_find_request(request);
    struct acl_head items[HEADS_MOST];
    struct acl_heads heads = {.items = items, .text = text_of, .arg = request};
    struct acl_heads_pace pace = {0};
    size_t count = 0;
    unsigned slices = 0;

    for (size_t i = 1; i < request->count && count < HEADS_MOST; i++)
        for (size_t size = 1; size <= request->arguments[i].size && count < HEADS_MOST; size++)
            items[count++] = (struct acl_head){.text = (uint32_t)i, .size = (uint16_t)size};
    heads.count = count;
    do {
        assert_true(slices < 10000);
        pace.pace.steps = 1 + (size_t)dice_roll(dice, 100);
        slices++;
    } while (!acl_check_heads(user, command, request, "RO,access", &heads, &pace));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            items[i].allowed,
            acl_check_key(user, command, request,
                          dueq_slice(request->arguments[items[i].text].data, items[i].size),
                          "RO,access"));
    return slices - 1;
}

static void heads_in_slices_are_what_each_of_them_is(void **state)
{
    unsigned slices = 0;
    struct words words;
    struct dice dice;
    (void)state;

    dice_begin(&dice);
    for (long i = dice_setting("STEPS", 20000); i > 0; i--) {
        struct acl_user *user = throw_user(&dice);

        throw_request(&dice, &words);
        slices += expect_same_heads(&dice, user, &words.request);
        acl_user_free(user);
    }
    assert_true(dice_setting("STEPS", 20000) < 1000 || slices > 0);
}

/* A slice ends in the middle of the patterns of one name, too. */
static void one_name_and_many_patterns_take_many_slices(void **state)
{
    struct acl_user *user = acl_user_new(dueq_slice("u", 1), ACL_NO_CHANNELS);
    struct words words = {.request.arguments = words.arguments};
    struct acl_pace pace = {0};
    unsigned slices = 1;
    char rule[WORD];
    (void)state;

    assert_non_null(user);
    apply(user, "+get");
    for (int i = 0; i < 1000; i++) {
        snprintf(rule, sizeof(rule), "~x%d*y", i);
        apply(user, rule);
    }
    apply(user, "~last");
    add_word(&words, "get");
    add_word(&words, "last");
    for (;; slices++) {
        pace.steps = 1;
        if (acl_check_some(user, command_find_request(&words.request), &words.request, &pace)
                .reason != ACL_UNDECIDED)
            break;
    }
    assert_int_equal(slices, 1001);
    acl_user_free(user);
}

/* The patterns of PSUBSCRIBE, of which a request may have a million, are names like others. */
static void many_patterns_of_channels_take_many_slices(void **state)
{
    struct acl_user *user = acl_user_new(dueq_slice("u", 1), ACL_NO_CHANNELS);
    struct words words = {.request.arguments = words.arguments};
    struct acl_pace pace = {0};
    unsigned slices = 1;
    (void)state;

    assert_non_null(user);
    apply(user, "+psubscribe");
    apply(user, "&a");
    apply(user, "(+psubscribe &a &b*)");
    add_word(&words, "psubscribe");
    for (int i = 0; i < NAMES_MOST - 1; i++)
        add_word(&words, "a");
    add_word(&words, "b*");
    for (;; slices++) {
        assert_true(slices < 100);
        pace.steps = 1;
        if (acl_check_some(user, command_find_request(&words.request), &words.request, &pace)
                .reason != ACL_UNDECIDED)
            break;
    }
    assert_int_equal(slices, 2 * NAMES_MOST); /* one for each pattern and set of rules */
    acl_user_free(user);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_say_what_the_whole_says),
        cmocka_unit_test(heads_in_slices_are_what_each_of_them_is),
        cmocka_unit_test(one_name_and_many_patterns_take_many_slices),
        cmocka_unit_test(many_patterns_of_channels_take_many_slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
