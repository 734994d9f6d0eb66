/* The reader of options: each kind of value, and what counts as unknown. */
#include "protocol/buffer.h"
#include "server/dispatch/argument_options.h"
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

enum { ARGUMENTS = 32 };

struct form {
    bool flag;
    unsigned bits;
    enum { NEAR, FAR } where;
    int64_t number, pause;
    int small;
    double share;
    enum { SUM, LEAST, GREATEST } merge;
    struct dueq_slice name, bytes;
    size_t index;
    struct argument_limit limit;
};

static bool read_twice(struct context *context, size_t *at,
                       const struct argument_option *option, void *form)
{
    struct form *into = form;

    assert_string_equal(option->name, "twice");
    if (!arguments_integer(context, (*at)++, NULL, &into->number))
        return false;
    into->number *= option->number;
    return true;
}

static const char *const merges[] = {"sum", "min", "max", NULL};

static const struct argument_option options[] = {
    {"flag", OPTION_FLAG(struct form, flag)},
    {"one", OPTION_ADDS(struct form, bits), .number = 1},
    {"four", OPTION_ADDS(struct form, bits), .number = 4},
    {"near", OPTION_SETS(struct form, where), .number = NEAR, .group = 1},
    {"far", OPTION_SETS(struct form, where), .number = FAR, .group = 1, .once = true},
    {"number", OPTION_INTEGER(struct form, number)},
    {"bounded", OPTION_INTEGER(struct form, number), .rule = INTEGER_OR(1, 5, "ERR one to 5")},
    {"small", OPTION_INT(struct form, small), .rule = INTEGER_WITHIN(0, 255)},
    {"share", OPTION_FLOAT(struct form, share)},
    {"pause", OPTION_DURATION(struct form, pause)},
    {"merge", OPTION_CHOICE(struct form, merge), .words = merges},
    {"name", OPTION_NAME(struct form, name, "id")},
    {"bytes", OPTION_BYTES(struct form, bytes)},
    {"index", OPTION_INDEX(struct form, index)},
    {"limit", OPTION_LIMIT(struct form, limit)},
    {"twice", OPTION_CUSTOM, .values = 1, .read = read_twice, .number = 2},
    {.name = NULL}};

/* The words of a text, each up to one space. */
static size_t split(char *text, struct argument *ret_arguments)
{
    size_t count = 0;

    for (char *word = text, *end; word != NULL; word = end) {
        end = strchr(word, ' ');
        if (end != NULL)
            *end++ = '\0';
        ret_arguments[count++] = (struct argument){word, strlen(word)};
    }
    return count;
}

static bool read_one_by_one(struct context *context, struct form *form)
{
    size_t at = 1;

    while (at < context_count(context))
        if (!argument_options_read_one(context, &at, options, form))
            return false;
    assert_int_equal(at, context_count(context));
    return true;
}

static bool one_by_one; /* how the next lines are read */

/* Reads the words of a line, each up to one space. Returns the error without its line end, or
 * "" when all are options; *at as in argument_options_read_leading, unless it is NULL. */
static const char *read_line(const char *line, size_t *at, struct form *form)
{
    static char error[256], text[256]; /* the form points into the text */
    struct argument arguments[ARGUMENTS];
    struct request request = {.arguments = arguments};
    struct buffer out;
    struct resp_writer reply = {.out = &out, .version = 2};
    struct context context = {.request = &request, .reply = &reply};
    bool good;

    snprintf(text, sizeof(text), "%s", line);
    request.count = split(text, arguments);
    buffer_init(&out, 1 << 16);
    *form = (struct form){.where = NEAR};
    if (one_by_one)
        good = read_one_by_one(&context, form);
    else
        good = at == NULL ? argument_options_read(&context, 1, options, form)
                          : argument_options_read_leading(&context, at, options, form);
    assert_int_equal(good, buffer_size(&out) == 0);
    error[0] = '\0';
    if (!good)
        snprintf(error, sizeof(error), "%.*s", (int)buffer_size(&out) - 3,
                 buffer_content(&out) + 1);
    buffer_release(&out);
    return error;
}

static void each_kind_fills_its_field(void **state)
{
    struct form form;

    (void)state;
    assert_string_equal("", read_line("CMD", NULL, &form));
    assert_string_equal("", read_line("CMD Flag FOUR one number -7 small 255 share 0.5 "
                                      "pause 3s merge MAX limit 3 4",
                                      NULL, &form));
    assert_true(form.flag);
    assert_int_equal(form.bits, 5);
    assert_int_equal(form.number, -7);
    assert_int_equal(form.small, 255);
    assert_true(form.share == 0.5);
    assert_int_equal(form.pause, 3000);
    assert_int_equal(form.merge, GREATEST);
    assert_int_equal(form.limit.offset, 3);
    assert_int_equal(form.limit.count, 4);
    assert_string_equal("", read_line("CMD twice 21 flag", NULL, &form));
    assert_int_equal(form.number, 42);
    assert_true(form.flag);
    assert_string_equal("", read_line("CMD far name n bytes b index i bounded 5", NULL, &form));
    assert_int_equal(form.where, FAR);
    assert_int_equal(form.number, 5);
    assert_int_equal(form.index, 7);
    assert_int_equal(form.name.size, 1);
    assert_memory_equal(form.name.data, "n", 1);
    assert_memory_equal(form.bytes.data, "b", 1);
}

static void the_last_of_equal_ones_wins(void **state)
{
    struct form form;

    (void)state;
    assert_string_equal("", read_line("CMD number 1 near near number 2", NULL, &form));
    assert_int_equal(form.number, 2);
}

static void what_is_unknown_is_a_syntax_error(void **state)
{
    static const char *const lines[] = {
        "CMD flags",    "CMD flag 1",        "CMD number",   "CMD flag number",
        "CMD limit 1",  "CMD twice",         "CMD near far", "CMD far far",
        "CMD far near", "CMD merge average", "CMD ",
    };
    struct form form;

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_string_equal("ERR syntax error", read_line(lines[i], NULL, &form));
}

static void a_bad_value_has_its_own_error(void **state)
{
    struct form form;

    (void)state;
    assert_string_equal("ERR value is not an integer or out of range",
                        read_line("CMD number x", NULL, &form));
    assert_string_equal("ERR one to 5", read_line("CMD bounded 6", NULL, &form));
    assert_string_equal("ERR value is out of range, value must between 0 and 255",
                        read_line("CMD small 256", NULL, &form));
    assert_string_equal("ERR value is not a valid float",
                        read_line("CMD share half", NULL, &form));
    assert_string_equal("ERR id must be 1 to 255 bytes long",
                        read_line("CMD name ", NULL, &form));
    assert_string_equal("ERR value is not an integer or out of range",
                        read_line("CMD limit 1 all", NULL, &form));
    /* values are read in their order: the first error counts */
    assert_string_equal("ERR value is not a valid float",
                        read_line("CMD share x unknown", NULL, &form));
}

static void leading_options_end_at_the_first_other_argument(void **state)
{
    size_t at = 1;
    struct form form;

    (void)state;
    assert_string_equal("", read_line("CMD flag number 3 1.5 flag", &at, &form));
    assert_int_equal(at, 4);
    at = 2;
    assert_string_equal("", read_line("CMD key flag", &at, &form));
    assert_int_equal(at, 3);
    at = 1;
    assert_string_equal("", read_line("CMD flag number", &at, &form));
    assert_int_equal(at, 2);
    at = 5;
    assert_string_equal("", read_line("CMD", &at, &form));
    assert_int_equal(at, 5);
}

static void one_by_one_they_are_the_same(void **state)
{
    one_by_one = true;
    each_kind_fills_its_field(state);
    the_last_of_equal_ones_wins(state);
    a_bad_value_has_its_own_error(state);
    one_by_one = false;
}

static size_t found_at(const char *line, const char *name)
{
    struct argument arguments[ARGUMENTS];
    struct request request = {.arguments = arguments};
    char text[256];

    snprintf(text, sizeof(text), "%s", line);
    request.count = split(text, arguments);
    return argument_options_find(&request, 1, options, name);
}

static void an_option_is_found_behind_the_values_of_others(void **state)
{
    (void)state;
    assert_int_equal(found_at("CMD twice 3", "twice"), 1);
    assert_int_equal(found_at("CMD flag TWICE 3", "twice"), 2);
    assert_int_equal(found_at("CMD number twice flag twice 3", "twice"), 4);
    assert_int_equal(found_at("CMD limit twice twice one twice 3", "twice"), 5);
    assert_int_equal(found_at("CMD what twice 3", "twice"), 2);
    assert_int_equal(found_at("CMD number twice", "twice"), 3);
    assert_int_equal(found_at("CMD limit", "twice"), 2);
    assert_int_equal(found_at("CMD", "twice"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_fills_its_field),
        cmocka_unit_test(the_last_of_equal_ones_wins),
        cmocka_unit_test(what_is_unknown_is_a_syntax_error),
        cmocka_unit_test(a_bad_value_has_its_own_error),
        cmocka_unit_test(leading_options_end_at_the_first_other_argument),
        cmocka_unit_test(one_by_one_they_are_the_same),
        cmocka_unit_test(an_option_is_found_behind_the_values_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
