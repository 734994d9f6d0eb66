/* The text of metrics: names, labels of any bytes, numbers, histograms; and which format a
 * client prefers. */
#include "server/http/http_reply.h"
#include "server/http/metric_text.h"
#include "tests/support/dice.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MS = 1000, ROUNDS = 20000 };

struct made {
    struct buffer out;
    struct metric_text text;
};

static void begin(struct made *made, bool is_open)
{
    buffer_init(&made->out, 1 << 20);
    metric_text_init(&made->text, &made->out, is_open);
}

static void expect(struct made *made, const char *wanted)
{
    buffer_append(&made->out, "", 1);
    assert_string_equal(buffer_content(&made->out), wanted);
    buffer_release(&made->out);
}

static void a_counter_ends_with_total(void **state)
{
    struct made made;

    (void)state;
    begin(&made, false);
    metric_one(&made.text, METRIC_COUNTER, "a", "What.", UINT64_MAX);
    metric_end(&made.text);
    expect(&made,
           "# HELP a_total What.\n# TYPE a_total counter\na_total 18446744073709551615\n");
    begin(&made, true);
    metric_one(&made.text, METRIC_COUNTER, "a", "What.", 0);
    metric_end(&made.text);
    expect(&made, "# HELP a What.\n# TYPE a counter\na_total 0\n# EOF\n");
}

static void fractions_have_all_digits(void **state)
{
    struct made made;

    (void)state;
    begin(&made, false);
    metric_family(&made.text, METRIC_GAUGE, "g", "G.");
    metric_start(&made.text);
    metric_label(&made.text, "a", "1");
    metric_label(&made.text, "b", "2");
    metric_fraction(&made.text, 1234, MS);
    metric_start(&made.text);
    metric_fraction(&made.text, 7, 1000000);
    metric_start(&made.text);
    metric_fraction(&made.text, 7, 1);
    expect(&made, "# HELP g G.\n# TYPE g gauge\ng{a=\"1\",b=\"2\"} 1.234\ng 0.000007\ng 7\n");
}

static void expect_label(const char *bytes, size_t size, const char *wanted)
{
    struct made made;
    char line[4096];

    begin(&made, false);
    metric_label_bytes(&made.text, "t", dueq_slice(bytes, size));
    snprintf(line, sizeof(line), "{t=\"%s\"", wanted);
    expect(&made, line);
}

static void labels_take_any_bytes(void **state)
{
    (void)state;
    expect_label("plain", 5, "plain");
    expect_label("a\"b", 3, "a\\\"b");
    expect_label("a\\b", 3, "a\\\\\\\\b");
    expect_label("a\nb", 3, "a\\\\x0ab");
    expect_label("\0\x7f", 2, "\\\\x00\\\\x7f");
    expect_label("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87", 9,
                 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87");
    expect_label("\xc3", 1, "\\\\xc3");                       /* cut off */
    expect_label("\xc0\x80", 2, "\\\\xc0\\\\x80");            /* too long for a zero */
    expect_label("\xe0\x80\xaf", 3, "\\\\xe0\\\\x80\\\\xaf"); /* too long for a slash */
    expect_label("\xed\xa0\x80", 3, "\\\\xed\\\\xa0\\\\x80"); /* a surrogate */
    expect_label("\xf4\x90\x80\x80", 4, "\\\\xf4\\\\x90\\\\x80\\\\x80"); /* above the last */
    expect_label("\xff", 1, "\\\\xff");
    expect_label("\\xff", 4, "\\\\\\\\xff"); /* is not the byte */
}

/* Undoes the escaping of the format, then that of the bytes. Returns the size. */
static size_t read_back(const char *text, size_t size, uint8_t *bytes)
{
    char plain[2048] = "";
    size_t length = 0, count = 0;

    for (size_t i = 0; i < size; i++) {
        assert_true(text[i] != '\n' && (text[i] != '"' || (i > 0 && text[i - 1] == '\\')));
        if (text[i] == '\\')
            i++;
        plain[length++] = text[i];
    }
    for (size_t i = 0; i < length; i++) {
        unsigned code = (uint8_t)plain[i];

        if (plain[i] == '\\' && plain[i + 1] == 'x') {
            assert_int_equal(sscanf(plain + i + 2, "%2x", &code), 1);
            i += 3;
        } else if (plain[i] == '\\') {
            assert_int_equal(plain[++i], '\\');
        }
        bytes[count++] = (uint8_t)code;
    }
    return count;
}

static void random_labels_come_back(void **state)
{
    static const char letters[] = "\\x\"\n{},=0f\xc3\xa9\xe2\x82\xac\xff\xed\xa0\x80 a";
    struct dice dice;

    (void)state;
    dice_begin(&dice);
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t bytes[256], back[2048];
        size_t size = dice_roll(&dice, 40);
        struct made made;

        for (size_t i = 0; i < size; i++)
            bytes[i] = dice_roll(&dice, 2) == 0
                           ? (uint8_t)letters[dice_roll(&dice, sizeof(letters))]
                           : (uint8_t)dice_roll(&dice, 256);
        begin(&made, false);
        metric_label_bytes(&made.text, "t", dueq_slice(bytes, size));
        assert_int_equal(
            read_back(buffer_content(&made.out) + 4, buffer_size(&made.out) - 5, back), size);
        assert_memory_equal(back, bytes, size);
        buffer_release(&made.out);
    }
}

static void a_histogram_adds_up(void **state)
{
    struct dueq_spans spans = {.count = 6, .sum = 1000005};
    struct made made;
    const char *text;

    (void)state;
    spans.buckets[0] = 2;
    spans.buckets[10] = 3;
    spans.buckets[DUEQ_SPAN_BUCKETS - 1] = 1;
    begin(&made, true);
    metric_family(&made.text, METRIC_HISTOGRAM, "h", "H.");
    metric_spans(&made.text, &spans, 1000);
    buffer_append(&made.out, "", 1);
    text = buffer_content(&made.out);
    assert_non_null(strstr(text, "# TYPE h histogram\nh_bucket{le=\"0.001\"} 2\n"
                                 "h_bucket{le=\"0.002\"} 2\n"));
    assert_non_null(strstr(text, "h_bucket{le=\"0.512\"} 2\nh_bucket{le=\"1.024\"} 5\n"));
    assert_non_null(strstr(text, "h_bucket{le=\"67108.864\"} 5\nh_bucket{le=\"+Inf\"} 6\n"
                                 "h_sum 1000.005\nh_count 6\n"));
    buffer_release(&made.out);
}

static void accept_decides_the_format(void **state)
{
    (void)state;
    assert_false(http_wants_open_metrics(NULL));
    assert_false(http_wants_open_metrics(""));
    assert_false(http_wants_open_metrics("*/*"));
    assert_false(http_wants_open_metrics("text/html, ,,;q=, ;"));
    assert_true(http_wants_open_metrics("application/openmetrics-text"));
    assert_true(http_wants_open_metrics(
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
        "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
    assert_true(
        http_wants_open_metrics("text/plain;q=0.5, Application/OpenMetrics-Text; q=0.7"));
    assert_false(http_wants_open_metrics("application/openmetrics-text;q=0.2,text/plain"));
    assert_false(http_wants_open_metrics("application/openmetrics-text;q=0"));
    assert_false(http_wants_open_metrics("application/openmetrics-text;q=0.000"));
    assert_false(http_wants_open_metrics("application/openmetrics-textual"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_counter_ends_with_total),
                                       cmocka_unit_test(fractions_have_all_digits),
                                       cmocka_unit_test(labels_take_any_bytes),
                                       cmocka_unit_test(random_labels_come_back),
                                       cmocka_unit_test(a_histogram_adds_up),
                                       cmocka_unit_test(accept_decides_the_format)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
