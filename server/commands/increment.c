#include "server/commands/increment.h"

#include "protocol/number.h"

#include <math.h>

bool increment_sum(struct context *context, long double number, long double amount, char *text,
                   struct dueq_slice *ret_sum)
{
    number += amount;
    if (isnan(number) || isinf(number)) {
        resp_error(context->reply, "ERR increment would produce NaN or Infinity");
        return false;
    }
    *ret_sum = dueq_slice(text, number_format_long_double(text, number));
    return true;
}
