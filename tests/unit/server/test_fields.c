/* JSON field by field. */
#include "server/http/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void commas_come_where_they_belong(void **state)
{
    struct buffer out;

    (void)state;
    buffer_init(&out, 4096);
    fields_open(&out, NULL, '{');
    fields_number(&out, "a", -1);
    fields_count(&out, "b", UINT64_MAX);
    fields_open(&out, "c", '[');
    fields_number(&out, NULL, 1);
    fields_open(&out, NULL, '{');
    fields_flag(&out, "d", true);
    fields_close(&out, '}');
    fields_none(&out, NULL);
    fields_close(&out, ']');
    fields_fraction(&out, "e", 0.125);
    fields_string(&out, "f", "\"[");
    fields_string(&out, "g", NULL);
    fields_bytes(&out, "h", "\xff{", 2);
    fields_known(&out, "i", 7, false);
    fields_known(&out, "j", 7, true);
    fields_close(&out, '}');
    buffer_append(&out, "", 1);
    assert_string_equal(buffer_content(&out),
                        "{\"a\":-1,\"b\":9223372036854775807,\"c\":[1,{\"d\":true},null],"
                        "\"e\":0.12,\"f\":\"\\\"[\",\"g\":null,\"h\":{\"base64\":\"/3s=\"},"
                        "\"i\":null,\"j\":7}");
    buffer_release(&out);
}

static void out_of_room_is_noticed(void **state)
{
    struct buffer out;

    (void)state;
    buffer_init(&out, 4);
    fields_open(&out, NULL, '{');
    fields_number(&out, "long", 1);
    fields_close(&out, '}');
    assert_true(out.overflowed);
    buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(commas_come_where_they_belong),
                                       cmocka_unit_test(out_of_room_is_noticed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
