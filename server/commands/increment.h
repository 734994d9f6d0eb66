/* The sum of INCRBYFLOAT and HINCRBYFLOAT. */
#ifndef DUEQ_INCREMENT_H
#define DUEQ_INCREMENT_H

#include "server/dispatch/context.h"

/* Formats number + amount as Redis prints it into `text` (NUMBER_LONG_TEXT_MAX bytes), which
 * *ret_sum then points to. False: the sum is not finite and the error is written. */
bool increment_sum(struct context *context, long double number, long double amount, char *text,
                   struct dueq_slice *ret_sum);

#endif
