/* cmocka.h needs these headers before it. */
#ifndef DUEQ_CMOCKA_H
#define DUEQ_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
