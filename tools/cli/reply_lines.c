#include "tools/cli/reply_lines.h"

#include "tools/client/columns.h"
#include "tools/client/reply_json.h"
#include "tools/offline/json_bytes.h"

#include <stdlib.h>
#include <string.h>

/* ---- with types */

static void print_quoted(FILE *to, const char *bytes, size_t size)
{
    static const char plain[] = "\\\"\n\r\t\a\b", names[] = "\\\"nrtab";

    fputc('"', to);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        const char *found = byte == 0 ? NULL : strchr(plain, byte);

        if (found != NULL)
            fprintf(to, "\\%c", names[found - plain]);
        else if (byte >= 0x20 && byte < 0x7f)
            fputc(byte, to);
        else
            fprintf(to, "\\x%02x", byte);
    }
    fputc('"', to);
}

/* A text of the server's own, which may quote bytes of others. */
static void print_plain(FILE *to, const redisReply *reply)
{
    columns_write_bytes(to, reply->str, reply->len, reply->type == REDIS_REPLY_VERB);
}

static void print_single(FILE *to, const redisReply *reply)
{
    static const char *const heads[] = {[REDIS_REPLY_ERROR] = "(error) ",
                                        [REDIS_REPLY_DOUBLE] = "(double) ",
                                        [REDIS_REPLY_BIGNUM] = "(big number) "};

    switch (reply->type) {
    case REDIS_REPLY_NIL:
        fputs("(nil)", to);
        break;
    case REDIS_REPLY_INTEGER:
        fprintf(to, "(integer) %lld", reply->integer);
        break;
    case REDIS_REPLY_BOOL:
        fputs(reply->integer ? "(true)" : "(false)", to);
        break;
    case REDIS_REPLY_STRING:
        print_quoted(to, reply->str, reply->len);
        break;
    default:
        if ((size_t)reply->type < sizeof(heads) / sizeof(heads[0]) &&
            heads[reply->type] != NULL)
            fputs(heads[reply->type], to);
        print_plain(to, reply);
    }
    fputc('\n', to);
}

static bool is_list(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY || reply->type == REDIS_REPLY_SET ||
           reply->type == REDIS_REPLY_MAP || reply->type == REDIS_REPLY_PUSH ||
           reply->type == REDIS_REPLY_ATTR;
}

static bool is_map(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_MAP || reply->type == REDIS_REPLY_ATTR;
}

static size_t members_of(const redisReply *list)
{
    return list->elements / (is_map(list) ? 2 : 1);
}

/* Does it take more than one line? */
static bool is_tall(const redisReply *reply)
{
    while (is_list(reply) && members_of(reply) == 1)
        reply = reply->element[reply->elements - 1];
    return is_list(reply) && members_of(reply) > 1;
}

static int digits_of(size_t number)
{
    int digits = 1;

    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

static void print_typed(FILE *to, const redisReply *reply, int margin);

static void print_list(FILE *to, const redisReply *reply, int margin)
{
    size_t step = is_map(reply) ? 2 : 1, count = members_of(reply);
    char mark = reply->type == REDIS_REPLY_SET ? '~' : is_map(reply) ? '#' : ')';
    int digits = digits_of(count), inner = margin + digits + 2;

    for (size_t i = 0; i < count; i++) {
        const redisReply *const *element = (const redisReply *const *)&reply->element[i * step];

        fprintf(to, "%*s%*zu%c ", i == 0 ? 0 : margin, "", digits, i + 1, mark);
        if (is_map(reply) && is_list(element[0])) {
            print_typed(to, element[0], inner);
            fprintf(to, "%*s=> ", inner, "");
        } else if (is_map(reply)) {
            print_quoted(to, element[0]->str, element[0]->len);
            fputs(" => ", to);
        }
        if (is_map(reply) && is_tall(element[1]))
            fprintf(to, "\n%*s", inner, "");
        print_typed(to, element[step - 1], inner);
    }
}

static void print_typed(FILE *to, const redisReply *reply, int margin)
{
    if (!is_list(reply))
        print_single(to, reply);
    else if (reply->elements > 0)
        print_list(to, reply, margin);
    else
        fprintf(to, "(empty %s)\n",
                reply->type == REDIS_REPLY_SET    ? "set"
                : is_map(reply)                   ? "hash"
                : reply->type == REDIS_REPLY_PUSH ? "push"
                                                  : "array");
}

/* ---- raw */

static void print_raw(FILE *to, const redisReply *reply, bool terminal)
{
    if (is_list(reply)) {
        for (size_t i = 0; i < reply->elements; i++) {
            if (i > 0)
                fputc(is_map(reply) && i % 2 == 1 ? ' ' : '\n', to);
            print_raw(to, reply->element[i], terminal);
        }
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        fprintf(to, "%lld", reply->integer);
    } else if (reply->type == REDIS_REPLY_BOOL) {
        fputs(reply->integer ? "(true)" : "(false)", to);
    } else if (terminal) {
        columns_write_bytes(to, reply->str, reply->len, true);
    } else if (reply->len > 0) {
        fwrite(reply->str, 1, reply->len, to);
    }
}

/* ---- JSON */

static json_t *json_of(const redisReply *reply);

static json_t *json_list(const redisReply *reply)
{
    json_t *list = json_array();

    for (size_t i = 0; i < reply->elements; i++)
        json_array_append_new(list, json_of(reply->element[i]));
    return list;
}

/* The name of a member is a text; what is none is escaped. */
static char *name_of(const redisReply *reply)
{
    char *name = NULL;
    size_t size;
    FILE *memory = open_memstream(&name, &size);

    if (memory == NULL)
        return NULL;
    if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)
        columns_write_bytes(memory, reply->str, reply->len, true);
    else
        print_raw(memory, reply, true);
    fclose(memory);
    return name;
}

static json_t *json_map(const redisReply *reply)
{
    json_t *map = json_object();

    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        char *name = name_of(reply->element[i]);

        if (name != NULL)
            json_object_set_new(map, name, json_of(reply->element[i + 1]));
        free(name);
    }
    return map;
}

static json_t *json_of(const redisReply *reply)
{
    json_t *number;

    if (is_list(reply))
        return is_map(reply) ? json_map(reply) : json_list(reply);
    switch (reply->type) {
    case REDIS_REPLY_BOOL:
        return json_boolean(reply->integer != 0);
    case REDIS_REPLY_DOUBLE:
        number = json_real(strtod(reply->str, NULL)); /* NULL: it is infinite */
        return number != NULL ? number : json_string(reply->str);
    case REDIS_REPLY_ERROR:
        return json_pack("{s:o}", "error", json_bytes(dueq_slice(reply->str, reply->len)));
    default:
        return reply_json(reply);
    }
}

static void print_json(FILE *to, const redisReply *reply)
{
    json_t *json = json_of(reply);

    json_dumpf(json, to, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    fputc('\n', to);
}

void reply_lines_print(FILE *to, const redisReply *reply, enum reply_form form, bool terminal)
{
    if (form == REPLY_FOR_PEOPLE) {
        print_typed(to, reply, 0);
    } else if (form == REPLY_AS_JSON) {
        print_json(to, reply);
    } else {
        print_raw(to, reply, terminal);
        fputc('\n', to);
    }
}
