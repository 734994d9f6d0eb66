/* Reads and prints numbers as Redis does. A parser reads the whole text; if it cannot, it
 * returns false and *ret_... is untouched. O(size). */
#ifndef DUEQ_NUMBER_H
#define DUEQ_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that any integer or double needs as text, with its NUL; and any long double. */
enum { NUMBER_TEXT_MAX = 128, NUMBER_LONG_TEXT_MAX = 5120 };

/* A limit of at least 0 as one of memory: where a machine with 32 bits has no such size, there
 * is no limit. O(1). */
static inline size_t number_as_size(int64_t limit)
{
    return (uint64_t)limit < SIZE_MAX ? (size_t)limit : SIZE_MAX;
}

/* As Redis' string2ll: digits without leading zeros, '-' allowed, no '+', no spaces; within
 * int64. */
bool number_parse_integer(const char *text, size_t size, int64_t *ret_number);

/* As Redis' getDoubleFromObject: what strtod reads, so also inf, +inf, -inf, exponents and hex;
 * no leading space, no nan. */
bool number_parse_double(const char *text, size_t size, double *ret_number);
bool number_parse_long_double(const char *text, size_t size, long double *ret_number);

/* The following write text and a NUL, and return the length without the NUL. This one: decimal
 * digits. text: NUMBER_TEXT_MAX bytes. */
size_t number_format_integer(char *text, int64_t number);

/* The form of scores and of doubles in replies: %.17g, but integers that a double represents
 * exactly have no exponent; "inf", "-inf", "nan", "-0". text: NUMBER_TEXT_MAX bytes. */
size_t number_format_double(char *text, double number);

/* The form of INCRBYFLOAT (LD_STR_HUMAN): %.17Lf without trailing zeros. text:
 * NUMBER_LONG_TEXT_MAX bytes. */
size_t number_format_long_double(char *text, long double number);

/* A duration from 0 to 100 years: an integer with a suffix ms, s, m, h or d, or without one in
 * ms ("1500", "30s", "2h"). */
bool number_parse_duration(const char *text, size_t size, int64_t *ret_ms);

/* A number of bytes as in redis.conf: 1k 1kb 1m 1mb 1g 1gb (k = 1000, kb = 1024), in upper or
 * lower case. */
bool number_parse_bytes(const char *text, size_t size, uint64_t *ret_bytes);

#endif
