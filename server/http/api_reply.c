#include "server/http/api_reply.h"

#include "protocol/json_text.h"
#include "protocol/number.h"

#include <string.h>

enum { LINE_MAX = 64 * 1024 };

/* The bytes of a call. */
struct input {
    const char *bytes;
    size_t size, used, wanted;
    struct buffer *out;
};

void api_reply_init(struct api_reply *json, const struct reply_shape *shape)
{
    *json = (struct api_reply){.shape = shape};
}

static void put(struct input *in, const char *text)
{
    buffer_append(in->out, text, strlen(text));
}

/* ---- levels */

static struct reply_level *top(struct api_reply *json)
{
    return json->depth == 0 ? NULL : &json->levels[json->depth - 1];
}

static bool is_key(const struct reply_level *level)
{
    return level != NULL && level->is_map && level->done % 2 == 0;
}

static void write_name(const char *const *fields, struct input *in, uint64_t index)
{
    char text[NUMBER_TEXT_MAX];
    uint64_t i = 0;

    while (i < index && fields[i] != NULL)
        i++;
    if (fields[i] == NULL) {
        number_format_integer(text, (int64_t)index);
        json_write_text(in->out, text, strlen(text));
    } else {
        json_write_text(in->out, fields[i], strlen(fields[i]));
    }
    put(in, ":");
}

/* Before a value. */
static void begin_value(struct api_reply *json, struct input *in)
{
    const struct reply_level *level = top(json);

    if (!json->has_begun && json->shape->wrap != NULL) {
        put(in, "{");
        json_write_text(in->out, json->shape->wrap, strlen(json->shape->wrap));
        put(in, ":");
    }
    json->has_begun = true;
    if (level == NULL)
        return;
    if (level->is_map && level->done % 2 == 1)
        put(in, ":");
    else if (level->done > 0)
        put(in, ",");
    if (level->fields != NULL)
        write_name(level->fields, in, level->done);
}

/* After a value: the levels that it is the last of end with it. */
static void end_value(struct api_reply *json, struct input *in)
{
    struct reply_level *level;

    while ((level = top(json)) != NULL) {
        level->done++;
        if (--level->left > 0)
            return;
        put(in, level->is_map || level->fields != NULL ? "}" : "]");
        json->depth--;
    }
    if (json->shape->wrap != NULL)
        put(in, "}");
    json->has_ended = true;
}

/* The names of an array's elements. NULL: they have none. */
static const char *const *find_fields(const struct api_reply *json, uint64_t count)
{
    const struct reply_shape *shape = json->shape;
    uint64_t size = 0;

    if (shape->fields == NULL || shape->depth != json->depth)
        return NULL;
    while (shape->short_fields != NULL && shape->short_fields[size] != NULL)
        size++;
    return size > 0 && size == count ? shape->short_fields : shape->fields;
}

static bool open_level(struct api_reply *json, struct input *in, bool is_map, uint64_t count)
{
    const char *const *fields = is_map ? NULL : find_fields(json, count);
    bool is_object = is_map || fields != NULL;

    if (json->depth == REPLY_DEPTH_MAX || is_key(top(json)) || count > UINT32_MAX)
        return false;
    begin_value(json, in);
    put(in, is_object ? "{" : "[");
    if (count == 0) {
        put(in, is_object ? "}" : "]");
        end_value(json, in);
        return true;
    }
    json->levels[json->depth++] =
        (struct reply_level){is_map, fields, is_map ? 2 * count : count, 0};
    return true;
}

/* ---- values */

static void write_plain(struct api_reply *json, struct input *in, const char *text, size_t size)
{
    bool is_name = is_key(top(json));

    begin_value(json, in);
    if (is_name)
        json_write_text(in->out, text, size);
    else
        buffer_append(in->out, text, size);
    end_value(json, in);
}

static void write_string(struct api_reply *json, struct input *in, const char *text,
                         size_t size)
{
    bool is_name = is_key(top(json));

    begin_value(json, in);
    if (is_name)
        json_write_text(in->out, text, size);
    else
        json_write_bytes(in->out, text, size);
    end_value(json, in);
}

static void write_null(struct api_reply *json, struct input *in)
{
    json->is_null = json->is_null || json->depth == 0;
    write_plain(json, in, json->depth == 0 && json->shape->null_is_empty ? "[]" : "null",
                json->depth == 0 && json->shape->null_is_empty ? 2 : 4);
}

static bool write_integer(struct api_reply *json, struct input *in, const char *text,
                          size_t size)
{
    int64_t number;

    if (!number_parse_integer(text, size, &number))
        return false;
    json->is_zero = json->is_zero || (json->depth == 0 && number == 0);
    write_plain(json, in, text, size);
    return true;
}

static size_t count_digits(const char *text, size_t size)
{
    size_t count = 0;

    while (count < size && text[count] >= '0' && text[count] <= '9')
        count++;
    return count;
}

/* As JSON has it: "-1.5e+300", and no ".5", "1." or "01". */
static bool is_number(const char *text, size_t size)
{
    size_t sign = size > 0 && text[0] == '-', at = sign,
           digits = count_digits(text + at, size - at);

    if (digits == 0 || (digits > 1 && text[at] == '0'))
        return false;
    at += digits;
    if (at < size && text[at] == '.') {
        digits = count_digits(text + at + 1, size - at - 1);
        if (digits == 0)
            return false;
        at += 1 + digits;
    }
    if (at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < size && (text[at] == '+' || text[at] == '-');
        digits = count_digits(text + at, size - at);
        if (digits == 0 || digits > 3)
            return false;
        at += digits;
    }
    return at == size;
}

/* inf and nan are no numbers of JSON. */
static void write_double(struct api_reply *json, struct input *in, const char *text,
                         size_t size)
{
    if (is_number(text, size))
        write_plain(json, in, text, size);
    else
        write_string(json, in, text, size);
}

/* ---- strings with a size */

/* Too long for a string of JSON: it becomes base64, in parts. */
static bool begin_long(struct api_reply *json, struct input *in, uint64_t size)
{
    if (is_key(top(json)))
        return false;
    begin_value(json, in);
    put(in, "{\"base64\":\"");
    json->is_in_string = true;
    json->string_left = size;
    return true;
}

static enum reply_step go_on_long(struct api_reply *json, struct input *in)
{
    size_t size = in->size - in->used;

    if (json->string_left == 0) {
        in->wanted = 2;
        if (size < 2)
            return REPLY_MORE;
        in->used += 2;
        put(in, "\"}");
        json->is_in_string = false;
        end_value(json, in);
        return REPLY_AGAIN;
    }
    size = size < REPLY_PART / 2 ? size : REPLY_PART / 2;
    if (size < json->string_left)
        size -= size % 3;
    else
        size = (size_t)json->string_left;
    in->wanted = 3;
    if (size == 0)
        return REPLY_MORE;
    json_write_base64(in->out, in->bytes + in->used, size);
    in->used += size;
    json->string_left -= size;
    return REPLY_AGAIN;
}

static enum reply_step read_string(struct api_reply *json, struct input *in, size_t line,
                                   int64_t size)
{
    size_t whole = line + (size_t)size + 2;

    if (size > JSON_STRING_MAX) {
        in->used += line;
        return begin_long(json, in, (uint64_t)size) ? REPLY_AGAIN : REPLY_BROKEN;
    }
    in->wanted = whole;
    if (in->size - in->used < whole)
        return REPLY_MORE;
    write_string(json, in, in->bytes + in->used + line, (size_t)size);
    in->used += whole;
    return REPLY_AGAIN;
}

/* ---- lines */

static enum reply_step read_sized(struct api_reply *json, struct input *in, char kind,
                                  size_t line, int64_t size)
{
    if (size == -1 && (kind == '$' || kind == '*')) {
        in->used += line;
        write_null(json, in);
        return REPLY_AGAIN;
    }
    if (size < 0)
        return REPLY_BROKEN;
    if (kind == '$')
        return read_string(json, in, line, size);
    in->used += line;
    return open_level(json, in, kind == '%', (uint64_t)size) ? REPLY_AGAIN : REPLY_BROKEN;
}

static enum reply_step read_value(struct api_reply *json, struct input *in, const char *text,
                                  size_t size, size_t line)
{
    int64_t number;

    if (strchr("$*%~", text[-1]) != NULL)
        return number_parse_integer(text, size, &number)
                   ? read_sized(json, in, text[-1], line, number)
                   : REPLY_BROKEN;
    in->used += line;
    switch (text[-1]) {
    case '+':
    case '-':
    case '(':
        write_string(json, in, text, size);
        return REPLY_AGAIN;
    case ':':
        return write_integer(json, in, text, size) ? REPLY_AGAIN : REPLY_BROKEN;
    case ',':
        write_double(json, in, text, size);
        return REPLY_AGAIN;
    case '_':
        write_null(json, in);
        return REPLY_AGAIN;
    case '#':
        write_plain(json, in, size == 1 && text[0] == 't' ? "true" : "false",
                    size == 1 && text[0] == 't' ? 4 : 5);
        return REPLY_AGAIN;
    default:
        return REPLY_BROKEN;
    }
}

static enum reply_step step(struct api_reply *json, struct input *in)
{
    const char *at = in->bytes + in->used, *end;
    size_t left = in->size - in->used;

    if (json->has_ended)
        return REPLY_DONE;
    if (json->is_in_string)
        return go_on_long(json, in);
    end = left == 0 ? NULL : memchr(at, '\n', left < LINE_MAX ? left : LINE_MAX);
    in->wanted = left + 1;
    if (end == NULL)
        return left < LINE_MAX ? REPLY_MORE : REPLY_BROKEN;
    if (end - at < 2 || end[-1] != '\r' || at[0] == '\0')
        return REPLY_BROKEN;
    return read_value(json, in, at + 1, (size_t)(end - at) - 2, (size_t)(end - at) + 1);
}

enum reply_step api_reply_run(struct api_reply *json, const char *bytes, size_t size,
                              struct buffer *out, size_t *ret_used, size_t *ret_wanted)
{
    struct input in = {.bytes = bytes, .size = size, .out = out};
    size_t before = buffer_size(out);
    enum reply_step result;

    do {
        result = step(json, &in);
    } while (result == REPLY_AGAIN && !out->overflowed &&
             buffer_size(out) - before < REPLY_PART);
    *ret_used = in.used;
    *ret_wanted = in.wanted;
    return out->overflowed ? REPLY_BROKEN : result;
}
