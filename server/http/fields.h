/* Writes objects of JSON field by field. A comma comes where it belongs: the writers look at
 * the last byte. */
#ifndef DUEQ_FIELDS_H
#define DUEQ_FIELDS_H

#include "protocol/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* name: NULL in a list, and for the first object. Text is written as it is between the
 * quotation marks' escapes; it must be UTF-8, and what is not is left out. */
void fields_open(struct buffer *out, const char *name, char bracket); /* '{' or '[' */
void fields_close(struct buffer *out, char bracket);                  /* '}' or ']' */
void fields_number(struct buffer *out, const char *name, int64_t number);
void fields_count(struct buffer *out, const char *name, uint64_t number);
/* With two digits after the point. */
void fields_fraction(struct buffer *out, const char *name, double number);
void fields_flag(struct buffer *out, const char *name, bool flag);
void fields_none(struct buffer *out, const char *name);
void fields_string(struct buffer *out, const char *name, const char *text); /* NULL: null */
/* As json_write_bytes: any bytes. */
void fields_bytes(struct buffer *out, const char *name, const void *bytes, size_t size);
/* null unless it is known. */
void fields_known(struct buffer *out, const char *name, int64_t number, bool is_known);

#endif
