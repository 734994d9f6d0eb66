#include "storage/glob.h"

#include <ctype.h>

struct pattern {
    const char *at, *end;
};

static int fold(char byte, bool ignore_case)
{
    return ignore_case ? tolower((unsigned char)byte) : (unsigned char)byte;
}

/* Matches one byte against [..] and advances the pattern past the closing bracket. As in Redis,
 * a class without closing bracket ends with the pattern. */
static bool match_class(struct pattern *pattern, char byte, bool ignore_case)
{
    int c = fold(byte, ignore_case);
    bool negated, found = false;

    pattern->at++;
    negated = pattern->at < pattern->end && *pattern->at == '^';
    pattern->at += negated;
    while (pattern->at < pattern->end && *pattern->at != ']') {
        const char *p = pattern->at;

        if (*p == '\\' && pattern->end - p >= 2) {
            found |= fold(p[1], ignore_case) == c;
            pattern->at += 2;
        } else if (pattern->end - p >= 3 && p[1] == '-') {
            int low = fold(p[0], ignore_case), high = fold(p[2], ignore_case);

            found |= low <= high ? low <= c && c <= high : high <= c && c <= low;
            pattern->at += 3;
        } else {
            found |= fold(*p, ignore_case) == c;
            pattern->at++;
        }
    }
    if (pattern->at < pattern->end)
        pattern->at++;
    return found != negated;
}

/* Matches one byte against the next element of the pattern, which is not a star. */
static bool match_one(struct pattern *pattern, char byte, bool ignore_case)
{
    switch (*pattern->at) {
    case '?':
        pattern->at++;
        return true;
    case '[':
        return match_class(pattern, byte, ignore_case);
    case '\\':
        if (pattern->end - pattern->at >= 2)
            pattern->at++;
        break;
    default:
        break;
    }
    return fold(*pattern->at++, ignore_case) == fold(byte, ignore_case);
}

/* After a mismatch only the last star takes more text: what an earlier star could match, the
 * last one can match too. */
bool glob_match(const char *pattern, size_t pattern_size, const char *text, size_t text_size,
                bool ignore_case)
{
    struct pattern at = {pattern, pattern + pattern_size}, after_star = {0};
    const char *byte = text, *end = text + text_size, *retry = NULL;

    if (text_size == 0)
        return pattern_size == 0; /* as in Redis: then even "*" does not match */
    while (byte < end) {
        struct pattern here = at;

        if (at.at < at.end && *at.at == '*') {
            at.at++;
            if (at.at == at.end)
                return true; /* it takes all that is left */
            after_star = at;
            retry = byte;
            continue;
        }
        if (at.at < at.end && match_one(&here, *byte, ignore_case)) {
            at = here;
            byte++;
            continue;
        }
        if (retry == NULL)
            return false;
        at = after_star;
        byte = ++retry;
    }
    while (at.at < at.end && *at.at == '*')
        at.at++;
    return at.at == at.end;
}
