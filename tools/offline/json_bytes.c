#include "tools/offline/json_bytes.h"

#include <stdlib.h>
#include <string.h>

/* ---- bytes */

static json_t *hex_of(struct dueq_slice bytes)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes.data;
    char *text = malloc(2 * bytes.size + 1);
    json_t *value;

    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < bytes.size; i++) {
        text[2 * i] = digits[from[i] >> 4];
        text[2 * i + 1] = digits[from[i] & 15];
    }
    value = json_pack("{s:s#}", "hex", text, (int)(2 * bytes.size));
    free(text);
    return value;
}

json_t *json_bytes(struct dueq_slice bytes)
{
    json_t *text = json_stringn(bytes.size == 0 ? "" : bytes.data, bytes.size);

    return text != NULL ? text : hex_of(bytes);
}

static int digit_of(char text)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = text == '\0' ? NULL : strchr(digits, text);

    return at == NULL ? -1 : (int)(at - digits);
}

/* Two digits become one byte, at or before where they are. */
static bool read_hex(char *text, size_t size)
{
    if (size % 2 != 0)
        return false;
    for (size_t i = 0; i < size; i += 2) {
        int high = digit_of(text[i]), low = digit_of(text[i + 1]);

        if (high < 0 || low < 0)
            return false;
        text[i / 2] = (char)(high << 4 | low);
    }
    return true;
}

bool json_read_bytes(json_t *value, struct dueq_slice *ret_bytes)
{
    const json_t *hex = json_object_get(value, "hex");
    const char *text = json_string_value(hex != NULL ? hex : value);
    size_t size = json_string_length(hex != NULL ? hex : value);

    if (text == NULL)
        return false;
    if (hex != NULL) {
        if (!read_hex((char *)(uintptr_t)text, size))
            return false;
        size /= 2;
    }
    *ret_bytes = dueq_slice(text, size);
    return true;
}

/* ---- fields */

static json_t *value_of(const struct json_field *field, const void *at)
{
    switch (field->kind) {
    case JSON_INT64:
        return json_integer(*(const int64_t *)at);
    case JSON_UINT64:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case JSON_BYTE:
        return json_integer(*(const uint8_t *)at);
    case JSON_BOOL:
        return json_boolean(*(const bool *)at);
    case JSON_SLICE:
        break;
    }
    return json_bytes(*(const struct dueq_slice *)at);
}

static bool is_absent(const struct json_field *field, const void *at)
{
    switch (field->kind) {
    case JSON_INT64:
    case JSON_UINT64:
        return *(const int64_t *)at == field->otherwise;
    case JSON_BYTE:
        return *(const uint8_t *)at == field->otherwise;
    case JSON_BOOL:
        return *(const bool *)at == (field->otherwise != 0);
    case JSON_SLICE:
        break;
    }
    return ((const struct dueq_slice *)at)->size == 0;
}

bool json_set_fields(json_t *object, const struct json_field *fields, size_t count,
                     const void *from)
{
    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)from + fields[i].offset;

        if (!is_absent(&fields[i], at) &&
            json_object_set_new(object, fields[i].name, value_of(&fields[i], at)) != 0)
            return false;
    }
    return true;
}

static bool set_absent(const struct json_field *field, void *at)
{
    if (field->kind == JSON_SLICE)
        *(struct dueq_slice *)at = dueq_slice("", 0);
    else if (field->kind == JSON_BYTE)
        *(uint8_t *)at = (uint8_t)field->otherwise;
    else if (field->kind == JSON_BOOL)
        *(bool *)at = field->otherwise != 0;
    else
        *(int64_t *)at = field->otherwise;
    return true;
}

static bool read_value(const struct json_field *field, json_t *value, void *at)
{
    if (field->kind == JSON_SLICE)
        return json_read_bytes(value, at);
    if (field->kind == JSON_BOOL) {
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    }
    if (!json_is_integer(value))
        return false;
    if (field->kind == JSON_BYTE) {
        *(uint8_t *)at = (uint8_t)json_integer_value(value);
        return json_integer_value(value) >= 0 && json_integer_value(value) <= UINT8_MAX;
    }
    *(int64_t *)at = json_integer_value(value);
    return field->kind == JSON_INT64 || json_integer_value(value) >= 0;
}

bool json_get_fields(const json_t *object, const struct json_field *fields, size_t count,
                     void *to)
{
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_object_get(object, fields[i].name);
        void *at = (char *)to + fields[i].offset;

        if (value == NULL ? !set_absent(&fields[i], at) : !read_value(&fields[i], value, at))
            return false;
    }
    return true;
}
