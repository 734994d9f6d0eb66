#include "protocol/http_head.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static int read_head(const char *text, struct http_head *ret_head)
{
    assert_int_equal(http_head_size(text, strlen(text)), strlen(text));
    return http_head_read(text, strlen(text), ret_head);
}

static void assert_part(struct http_part part, const char *text)
{
    assert_non_null(part.data);
    assert_int_equal(part.size, strlen(text));
    assert_memory_equal(part.data, text, part.size);
}

static void a_head_has_its_parts(void **state)
{
    struct http_head head;

    (void)state;
    assert_int_equal(read_head("POST /v1/a%2Fb?x=1&y HTTP/1.1\r\nHost: a:80\r\n"
                               "content-length:  12 \r\nContent-Type:application/json\r\n"
                               "Expect: 100-Continue\r\nConnection: x, Close\r\n\r\n",
                               &head),
                     0);
    assert_int_equal(head.method, HTTP_POST);
    assert_part(head.path, "/v1/a%2Fb");
    assert_part(head.query, "x=1&y");
    assert_part(head.host, "a:80");
    assert_part(head.content_type, "application/json");
    assert_null(head.origin.data);
    assert_true(head.has_length && head.length == 12 && head.expects && head.is_1_1);
    assert_false(head.keeps);
    assert_int_equal(read_head("GET / HTTP/1.0\r\n\r\n", &head), 0);
    assert_false(head.is_1_1 || head.keeps || head.has_length);
    assert_int_equal(read_head("BREW / HTTP/1.1\r\n\r\n", &head), 0);
    assert_int_equal(head.method, HTTP_OTHER);
}

static void a_head_ends_with_an_empty_line(void **state)
{
    (void)state;
    assert_int_equal(http_head_size("GET / HTTP/1.1\r\n\r", 17), 0);
    assert_int_equal(http_head_size("GET / HTTP/1.1\r\n\r\nmore", 22), 18);
    assert_int_equal(http_head_size("", 0), 0);
}

static void odd_heads_are_refused(void **state)
{
    static const struct {
        const char *text;
        int status;
    } odd[] = {
        {"GET\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\n\r\n", 505},
        {"GET / HTTP/1.2\r\n\r\n", 505},
        {"GET  / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\n\r\n", 400},
        {"GET x HTTP/1.1\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\n\r\n", 400},
        {"GET /\x01 HTTP/1.1\r\n\r\n", 400},
        {"GET /\xc3\xa4 HTTP/1.1\r\n\r\n", 400},
        {"G\xc3T / HTTP/1.1\r\n\r\n", 400},
        {" GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\n\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n folded: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
        {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nExpect: more\r\n\r\n", 417}};
    struct http_head head;

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        if (read_head(odd[i].text, &head) != odd[i].status)
            fail_msg("%d was expected for %s", odd[i].status, odd[i].text);
}

static struct http_part part(const char *text)
{
    return (struct http_part){text, strlen(text)};
}

static void escapes_are_undone(void **state)
{
    char to[32];
    size_t size;

    (void)state;
    assert_true(http_decode(part("a%2Fb%00%c3%A4+"), false, to, &size));
    assert_int_equal(size, 7);
    assert_memory_equal(to, "a/b\0\xc3\xa4+", 7);
    assert_true(http_decode(part("a+b"), true, to, &size));
    assert_memory_equal(to, "a b", 3);
    assert_false(http_decode(part("a%2"), false, to, &size));
    assert_false(http_decode(part("a%zz"), false, to, &size));
}

static void base64_is_read(void **state)
{
    static const char *const bad[] = {
        "Y", "YQ", "YQ=", "Y===", "====", "Y=Q=", "YQ==YQ==", "YQ-="};
    char to[32];
    size_t size;

    (void)state;
    assert_true(http_read_base64(part("YTpi"), to, &size) && size == 3);
    assert_memory_equal(to, "a:b", 3);
    assert_true(http_read_base64(part("YWI6Yw=="), to, &size) && size == 4);
    assert_memory_equal(to, "ab:c", 4);
    assert_true(http_read_base64(part("/+8="), to, &size) && size == 2);
    assert_memory_equal(to, "\xff\xef", 2);
    assert_true(http_read_base64(part(""), to, &size) && size == 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(http_read_base64(part(bad[i]), to, &size));
}

static void hosts_and_types_are_found(void **state)
{
    (void)state;
    assert_part(http_host_name(part("a.b:80")), "a.b");
    assert_part(http_host_name(part("a.b")), "a.b");
    assert_part(http_host_name(part("[::1]:80")), "::1");
    assert_int_equal(http_host_name(part("[::1")).size, 0);
    assert_true(http_type_is(part("Application/JSON; charset=utf-8"), "application/json"));
    assert_false(http_type_is(part("application/jsonp"), "application/json"));
    assert_false(http_type_is((struct http_part){NULL, 0}, "application/json"));
}

static void encodings_are_taken_or_not(void **state)
{
    static const struct {
        const char *list;
        bool takes;
    } cases[] = {{"gzip", true},
                 {"br, GZIP;q=0.5", true},
                 {"gzip;q=0", false},
                 {"gzip; q=0.000", false},
                 {"*", true},
                 {"*;q=0", false},
                 {"gzip;q=0, *", false},
                 {"br", false},
                 {"identity", false},
                 {"", false},
                 {",;,=", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(http_takes_encoding(part(cases[i].list), "gzip"), cases[i].takes);
    assert_true(http_takes_encoding((struct http_part){NULL, 0}, "gzip"));
}

static void cookies_are_found(void **state)
{
    (void)state;
    assert_part(http_cookie(part("a=1; b=2;c=3"), "b"), "2");
    assert_part(http_cookie(part("a=1; b=2;c=3"), "c"), "3");
    assert_part(http_cookie(part("b=x=y"), "b"), "x=y");
    assert_part(http_cookie(part("b="), "b"), "");
    assert_null(http_cookie(part("a=b=2; ab=1; B=1"), "b").data);
    assert_null(http_cookie(part(";;="), "b").data);
    assert_null(http_cookie((struct http_part){NULL, 0}, "b").data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_head_has_its_parts),
                                       cmocka_unit_test(a_head_ends_with_an_empty_line),
                                       cmocka_unit_test(odd_heads_are_refused),
                                       cmocka_unit_test(escapes_are_undone),
                                       cmocka_unit_test(base64_is_read),
                                       cmocka_unit_test(hosts_and_types_are_found),
                                       cmocka_unit_test(encodings_are_taken_or_not),
                                       cmocka_unit_test(cookies_are_found)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
