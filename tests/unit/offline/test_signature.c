/* Signatures of webhooks, compared with those of openssl dgst -sha256 -hmac. */
#include "tools/forward/signature.h"

#include "tests/support/text.h"

#include <string.h>

#include "tests/support/cmocka.h"

static void a_signature_is_that_of_openssl(void **state)
{
    char text_[SIGNATURE_TEXT], secret[100];

    (void)state;
    signature_write(text("key"), 1700000000, text("hello"), text_);
    assert_string_equal(
        text_,
        "t=1700000000,v1=4d583a269f4f276a3fa80ff31b5a01879a848096983222a17893d198418939aa");
    signature_write(text("key"), 1700000000, text(""), text_);
    assert_string_equal(
        text_,
        "t=1700000000,v1=0f1cc1f811f42fd12af9618acf321769899fa521fe07a642f70a61785e130770");
    memset(secret, 'k', sizeof(secret)); /* longer than a block */
    signature_write(dueq_slice(secret, sizeof(secret)), 1, text("hello"), text_);
    assert_string_equal(
        text_, "t=1,v1=3af279821aea1d990a56cef10467a325374e4ca595e0f2f5aaabf28d1ca06c39");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_signature_is_that_of_openssl)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
