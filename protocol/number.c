#include "protocol/number.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CENTURY_MS ((int64_t)100 * 366 * 24 * 3600 * 1000)

enum { DIGITS_MOST = 19 }; /* of an int64_t; a uint64_t takes any number of so many */

/* Reads decimal digits without a sign. False: another character, no digit, or above `limit`,
 * which has no more than DIGITS_MOST. */
static bool parse_digits(const char *text, size_t size, uint64_t limit, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (size == 0 || size > DIGITS_MOST || (text[0] == '0' && size > 1))
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)(text[i] - '0');

        if (digit > 9)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return number <= limit;
}

bool number_parse_integer(const char *text, size_t size, int64_t *ret_number)
{
    bool negative = size > 0 && text[0] == '-';
    uint64_t magnitude;

    if (negative) {
        if (!parse_digits(text + 1, size - 1, (uint64_t)INT64_MAX + 1, &magnitude) ||
            magnitude == 0)
            return false;
        *ret_number = (int64_t)(0 - magnitude);
        return true;
    }
    if (!parse_digits(text, size, INT64_MAX, &magnitude))
        return false;
    *ret_number = (int64_t)magnitude;
    return true;
}

/* Copies the text for strtod, which needs a NUL at the end. False: too long, or it begins with
 * a space, which strtod would skip. */
static bool prepare_float(const char *text, size_t size, char *copy, size_t room)
{
    if (size == 0 || size >= room || isspace((unsigned char)text[0]))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return strlen(copy) == size;
}

/* Most scores: integers that a double holds exactly, read in a tenth of strtod's time. */
static bool parse_small_integer(const char *text, size_t size, double *ret_number)
{
    size_t sign = size > 0 && text[0] == '-';
    double number = 0;

    if (size == sign || size > DBL_DIG)
        return false;
    for (size_t i = sign; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (text[i] - '0');
    }
    *ret_number = sign ? -number : number;
    return true;
}

bool number_parse_double(const char *text, size_t size, double *ret_number)
{
    char copy[512], *end;
    double number;

    if (parse_small_integer(text, size, ret_number))
        return true;
    if (!prepare_float(text, size, copy, sizeof(copy)))
        return false;
    errno = 0;
    number = strtod(copy, &end);
    if (*end != '\0' || isnan(number) ||
        (errno == ERANGE && (number == HUGE_VAL || number == -HUGE_VAL || number == 0)))
        return false;
    *ret_number = number;
    return true;
}

bool number_parse_long_double(const char *text, size_t size, long double *ret_number)
{
    char copy[5 * 1024], *end;
    long double number;

    if (!prepare_float(text, size, copy, sizeof(copy)))
        return false;
    errno = 0;
    number = strtold(copy, &end);
    if (*end != '\0' || isnan(number) ||
        (errno == ERANGE && (number == HUGE_VALL || number == -HUGE_VALL || number == 0)))
        return false;
    *ret_number = number;
    return true;
}

/* Two digits for each division. */
size_t number_format_integer(char *text, int64_t number)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    char digits[DIGITS_MOST + 1];
    size_t at = sizeof(digits), sign = number < 0;

    for (; magnitude >= 100; magnitude /= 100)
        memcpy(digits + (at -= 2), pairs + magnitude % 100 * 2, 2);
    if (magnitude >= 10)
        memcpy(digits + (at -= 2), pairs + magnitude * 2, 2);
    else
        digits[--at] = (char)('0' + magnitude);
    text[0] = '-';
    memcpy(text + sign, digits + at, sizeof(digits) - at);
    text[sign + sizeof(digits) - at] = '\0';
    return sign + sizeof(digits) - at;
}

/* Below 10^17 integers look the same with %lld and %.17g. The limit here is lower: up to it a
 * double is exact. */
size_t number_format_double(char *text, double number)
{
    if (isnan(number))
        return (size_t)sprintf(text, "nan");
    if (isinf(number))
        return (size_t)sprintf(text, number > 0 ? "inf" : "-inf");
    if (number == 0)
        return (size_t)sprintf(text, signbit(number) ? "-0" : "0");
    if (number > -4503599627370495.0 && number < 4503599627370496.0 &&
        number == (double)(int64_t)number)
        return number_format_integer(text, (int64_t)number);
    return (size_t)snprintf(text, NUMBER_TEXT_MAX, "%.17g", number);
}

size_t number_format_long_double(char *text, long double number)
{
    char wide[5 * 1024];
    int size;

    if (isinf(number))
        return (size_t)sprintf(text, number > 0 ? "inf" : "-inf");
    size = snprintf(wide, sizeof(wide), "%.17Lf", number);
    if (strchr(wide, '.') != NULL) {
        while (wide[size - 1] == '0')
            size--;
        if (wide[size - 1] == '.')
            size--;
    }
    if (size == 2 && wide[0] == '-' && wide[1] == '0') {
        wide[0] = '0';
        size = 1;
    }
    if (size >= NUMBER_LONG_TEXT_MAX)
        size = NUMBER_LONG_TEXT_MAX - 1;
    memcpy(text, wide, (size_t)size);
    text[size] = '\0';
    return (size_t)size;
}

bool number_parse_duration(const char *text, size_t size, int64_t *ret_ms)
{
    static const struct {
        const char *suffix;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}, {"d", 86400000}};
    uint64_t number;

    if (size > 0 && isdigit((unsigned char)text[size - 1])) { /* programs send ms */
        if (!parse_digits(text, size, CENTURY_MS, &number))
            return false;
        *ret_ms = (int64_t)number;
        return true;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t suffix = strlen(units[i].suffix);

        if (size <= suffix || strncasecmp(text + size - suffix, units[i].suffix, suffix) != 0)
            continue;
        if (!parse_digits(text, size - suffix, CENTURY_MS / units[i].ms, &number))
            continue;
        *ret_ms = (int64_t)(number * units[i].ms);
        return true;
    }
    return false;
}

bool number_parse_bytes(const char *text, size_t size, uint64_t *ret_bytes)
{
    static const struct {
        const char *suffix;
        uint64_t bytes;
    } units[] = {{"kb", 1 << 10},           {"mb", 1 << 20}, {"gb", 1 << 30},
                 {"tb", 1ULL << 40},        {"k", 1000},     {"m", 1000 * 1000},
                 {"g", 1000 * 1000 * 1000}, {"b", 1},        {"", 1}};
    uint64_t number;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t suffix = strlen(units[i].suffix);

        if (size <= suffix || strncasecmp(text + size - suffix, units[i].suffix, suffix) != 0)
            continue;
        if (!parse_digits(text, size - suffix, INT64_MAX / units[i].bytes, &number))
            continue;
        *ret_bytes = number * units[i].bytes;
        return true;
    }
    return false;
}
