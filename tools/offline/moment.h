/* A moment as an operator writes it. */
#ifndef DUEQ_MOMENT_H
#define DUEQ_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

enum { MOMENT_TEXT = 64 };

/* YYYY-MM-DD, T or a blank, hh:mm or hh:mm:ss or hh:mm:ss.mmm, and the zone: Z, +hh:mm or
 * -hh:mm; or @ and unix seconds, with decimals if need be. Without a zone nobody would know
 * what is meant. *ret_ms: unix ms. False: it is no such text. */
bool moment_parse(const char *text, int64_t *ret_ms);
/* Writes the first form in UTC into MOMENT_TEXT bytes. Returns them. */
const char *moment_format(int64_t ms, char *text);

#endif
