#include "server/http/fields.h"

#include "protocol/json_text.h"
#include "protocol/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put(struct buffer *out, const char *text)
{
    buffer_append(out, text, strlen(text));
}

static void begin(struct buffer *out, const char *name)
{
    char last = buffer_size(out) == 0 ? '{' : buffer_content(out)[buffer_size(out) - 1];

    if (last != '{' && last != '[')
        put(out, buffer_size(out) == 0 ? "" : ",");
    if (name == NULL)
        return;
    put(out, "\"");
    put(out, name);
    put(out, "\":");
}

void fields_open(struct buffer *out, const char *name, char bracket)
{
    begin(out, name);
    buffer_append(out, &bracket, 1);
}

void fields_close(struct buffer *out, char bracket)
{
    buffer_append(out, &bracket, 1);
}

void fields_number(struct buffer *out, const char *name, int64_t number)
{
    char text[NUMBER_TEXT_MAX];

    begin(out, name);
    buffer_append(out, text, number_format_integer(text, number));
}

void fields_count(struct buffer *out, const char *name, uint64_t number)
{
    fields_number(out, name, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

void fields_fraction(struct buffer *out, const char *name, double number)
{
    char text[64];

    snprintf(text, sizeof(text), "%.2f", number < 1e15 ? number : 1e15);
    begin(out, name);
    put(out, text);
}

void fields_flag(struct buffer *out, const char *name, bool flag)
{
    begin(out, name);
    put(out, flag ? "true" : "false");
}

void fields_none(struct buffer *out, const char *name)
{
    begin(out, name);
    put(out, "null");
}

void fields_string(struct buffer *out, const char *name, const char *text)
{
    begin(out, name);
    if (text == NULL)
        put(out, "null");
    else
        json_write_text(out, text, strlen(text));
}

void fields_bytes(struct buffer *out, const char *name, const void *bytes, size_t size)
{
    begin(out, name);
    json_write_bytes(out, bytes, size);
}

void fields_known(struct buffer *out, const char *name, int64_t number, bool is_known)
{
    if (is_known)
        fields_number(out, name, number);
    else
        fields_none(out, name);
}
