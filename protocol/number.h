/* Numbers as Redis reads and prints them. Parsers take the whole text or nothing. */
#ifndef DUEQ_NUMBER_H
#define DUEQ_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for any integer or double as text, NUL included; and for any long double. */
enum { NUMBER_TEXT_MAX = 128, NUMBER_LONG_TEXT_MAX = 5120 };

/* Redis' string2ll: optional '-', no '+', no spaces, no leading zeros, within int64. */
bool number_parse_integer(const char *text, size_t size, int64_t *ret_number);

/* Redis' getDoubleFromObject: strtod over the whole text; inf, +inf, -inf, exponents, hex; no
 * leading space, no nan. */
bool number_parse_double(const char *text, size_t size, double *ret_number);
bool number_parse_long_double(const char *text, size_t size, long double *ret_number);

/* Writes decimal digits and a NUL; returns the length. */
size_t number_format_integer(char *text, int64_t number);

/* Redis' reply and score form: %.17g, integers without exponent while exactly representable,
 * "inf", "-inf", "nan", "-0". */
size_t number_format_double(char *text, double number);

/* Redis' LD_STR_HUMAN (INCRBYFLOAT): %.17Lf without trailing zeros. text: NUMBER_LONG_TEXT_MAX
 * bytes. */
size_t number_format_long_double(char *text, long double number);

/* Integer ms, or with a suffix ms s m h d ("1500", "30s", "2h"); 0 to 100 years; false else. */
bool number_parse_duration(const char *text, size_t size, int64_t *ret_ms);

/* Bytes as redis.conf has them: 1k 1kb 1m 1mb 1g 1gb (k = 1000, kb = 1024), case-free. */
bool number_parse_bytes(const char *text, size_t size, uint64_t *ret_bytes);

#endif
