#include "server/commands/zsets/zset_bounds.h"

#include "protocol/number.h"
#include "storage/keys/zset/zset.h"

#include <math.h>
#include <stdlib.h>

/* Like Redis, reads bounds with strtod: leading spaces, the empty string and what comes after a
 * NUL are allowed, too. */
static bool parse_bound(const char *text, size_t size, double *ret_score)
{
    char *end;

    if (number_parse_double(text, size, ret_score))
        return true;
    *ret_score = strtod(text, &end);
    return *end == '\0' && !isnan(*ret_score);
}

static bool parse_score(struct argument argument, struct zset_bound *ret_bound)
{
    bool exclusive = argument.data[0] == '(';
    double score;

    if (!parse_bound(argument.data + exclusive, argument.size - exclusive, &score))
        return false;
    *ret_bound =
        (struct zset_bound){.kind = ZSET_SCORE, .score = score, .exclusive = exclusive};
    return true;
}

bool zset_bounds_scores(struct context *context, size_t least, size_t most,
                        struct zset_range *ret_range)
{
    struct zset_range range = {.reverse = false};

    if (!parse_score(context_argument(context, least), &range.least) ||
        !parse_score(context_argument(context, most), &range.most)) {
        resp_error(context->reply, "ERR min or max is not a float");
        return false;
    }
    *ret_range = range;
    return true;
}

static bool parse_lex(struct argument argument, struct zset_bound *ret_bound)
{
    struct zset_bound bound = {.kind = ZSET_LEX, .exclusive = argument.data[0] == '('};

    switch (argument.data[0]) {
    case '+':
    case '-':
        if (argument.data[1] != '\0')
            return false;
        bound.kind = argument.data[0] == '+' ? ZSET_LAST : ZSET_FIRST;
        break;
    case '(':
    case '[':
        bound.member = dueq_slice(argument.data + 1, argument.size - 1);
        break;
    default:
        return false;
    }
    *ret_bound = bound;
    return true;
}

bool zset_bounds_members(struct context *context, size_t least, size_t most,
                         struct zset_range *ret_range)
{
    struct zset_range range = {.reverse = false};

    if (!parse_lex(context_argument(context, least), &range.least) ||
        !parse_lex(context_argument(context, most), &range.most)) {
        resp_error(context->reply, "ERR min or max not valid string range item");
        return false;
    }
    *ret_range = range;
    return true;
}
