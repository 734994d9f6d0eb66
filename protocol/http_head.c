#include "protocol/http_head.h"

#include <string.h>
#include <strings.h>

/* ---- text */

bool http_part_is(struct http_part part, const char *text)
{
    return part.data != NULL && part.size == strlen(text) &&
           strncasecmp(part.data, text, part.size) == 0;
}

static struct http_part trim(struct http_part part)
{
    while (part.size > 0 && (part.data[0] == ' ' || part.data[0] == '\t')) {
        part.data++;
        part.size--;
    }
    while (part.size > 0 &&
           (part.data[part.size - 1] == ' ' || part.data[part.size - 1] == '\t'))
        part.size--;
    return part;
}

/* Cuts off what is before the first `mark`, and the mark. Without a mark: all of it. */
static struct http_part split(struct http_part *rest, char mark)
{
    const char *at =
        rest->data == NULL || rest->size == 0 ? NULL : memchr(rest->data, mark, rest->size);
    struct http_part first = *rest;

    if (at != NULL)
        first.size = (size_t)(at - rest->data);
    rest->data += first.size + (at != NULL);
    rest->size -= first.size + (at != NULL);
    return first;
}

static bool is_in_list(struct http_part list, const char *word)
{
    while (list.size > 0)
        if (http_part_is(trim(split(&list, ',')), word))
            return true;
    return false;
}

bool http_type_is(struct http_part part, const char *type)
{
    return part.data != NULL && http_part_is(trim(split(&part, ';')), type);
}

/* "0", "0.", "0.0", ...: not wanted. */
static bool is_zero(struct http_part quality)
{
    for (size_t i = 0; i < quality.size; i++)
        if (quality.data[i] != '0' && quality.data[i] != '.')
            return false;
    return quality.size > 0;
}

static bool has_quality(struct http_part parameters)
{
    while (parameters.size > 0) {
        struct http_part value = trim(split(&parameters, ';')), name = split(&value, '=');

        if (http_part_is(trim(name), "q") && is_zero(trim(value)))
            return false;
    }
    return true;
}

bool http_takes_encoding(struct http_part list, const char *encoding)
{
    bool takes_any = list.data == NULL;

    while (list.size > 0) {
        struct http_part one = split(&list, ','), name = trim(split(&one, ';'));

        if (http_part_is(name, encoding))
            return has_quality(one);
        takes_any |= http_part_is(name, "*") && has_quality(one);
    }
    return takes_any;
}

struct http_part http_cookie(struct http_part cookies, const char *name)
{
    while (cookies.size > 0) {
        struct http_part value = trim(split(&cookies, ';')), its_name = split(&value, '=');

        if (its_name.size == strlen(name) && memcmp(its_name.data, name, its_name.size) == 0)
            return value;
    }
    return (struct http_part){NULL, 0};
}

struct http_part http_host_name(struct http_part host)
{
    const char *end;

    if (host.size > 0 && host.data[0] == '[') {
        end = memchr(host.data, ']', host.size);
        host.size = end == NULL ? 0 : (size_t)(end - host.data) - 1;
        host.data++;
        return host;
    }
    return split(&host, ':');
}

/* ---- encodings */

static int digit_of(char text)
{
    if (text >= '0' && text <= '9')
        return text - '0';
    text |= 0x20;
    return text >= 'a' && text <= 'f' ? text - 'a' + 10 : -1;
}

bool http_decode(struct http_part part, bool is_query, char *to, size_t *ret_size)
{
    size_t size = 0;

    for (size_t i = 0; i < part.size; i++) {
        char byte = part.data[i];

        if (byte == '%') {
            if (part.size - i < 3 || digit_of(part.data[i + 1]) < 0 ||
                digit_of(part.data[i + 2]) < 0)
                return false;
            byte = (char)(digit_of(part.data[i + 1]) << 4 | digit_of(part.data[i + 2]));
            i += 2;
        } else if (byte == '+' && is_query) {
            byte = ' ';
        }
        to[size++] = byte;
    }
    *ret_size = size;
    return true;
}

static int sextet_of(char text)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = text == '\0' ? NULL : strchr(digits, text);

    return at == NULL ? -1 : (int)(at - digits);
}

bool http_read_base64(struct http_part part, char *to, size_t *ret_size)
{
    size_t size = 0, digits = part.size;
    unsigned bits = 0;

    if (part.size % 4 != 0)
        return false;
    while (digits > 0 && part.size - digits < 2 && part.data[digits - 1] == '=')
        digits--;
    for (size_t i = 0; i < digits; i++) {
        int sextet = sextet_of(part.data[i]);

        if (sextet < 0)
            return false;
        bits = bits << 6 | (unsigned)sextet;
        if (i % 4 != 0)
            to[size++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    *ret_size = size;
    return true;
}

/* ---- the request line */

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};

static bool is_graph(char byte)
{
    return (unsigned char)byte > ' ' && (unsigned char)byte < 0x7f;
}

static bool is_token(struct http_part part)
{
    for (size_t i = 0; i < part.size; i++)
        if (!is_graph(part.data[i]) || strchr("\"(),/:;<=>?@[\\]{}", part.data[i]) != NULL)
            return false;
    return part.size > 0;
}

static enum http_method method_of(struct http_part word)
{
    for (unsigned i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (word.size == strlen(methods[i]) && memcmp(word.data, methods[i], word.size) == 0)
            return (enum http_method)i;
    return HTTP_OTHER;
}

static bool is_printable(struct http_part part)
{
    for (size_t i = 0; i < part.size; i++)
        if (!is_graph(part.data[i]))
            return false;
    return true;
}

static int read_line(struct http_part line, struct http_head *head)
{
    struct http_part method = split(&line, ' '), target = split(&line, ' ');

    if (!is_token(method) || target.size == 0 || !is_printable(target) || line.size != 8 ||
        memcmp(line.data, "HTTP/", 5) != 0 || line.data[6] != '.')
        return 400;
    if (line.data[5] != '1' || (line.data[7] != '0' && line.data[7] != '1'))
        return 505;
    if (target.data[0] != '/')
        return 400;
    head->is_1_1 = line.data[7] == '1';
    head->keeps = head->is_1_1;
    head->method = method_of(method);
    head->path = split(&target, '?');
    head->query = target;
    return 0;
}

/* ---- fields */

static int read_length(struct http_part value, struct http_head *head)
{
    if (head->has_length || value.size == 0)
        return 400;
    head->has_length = true;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return 400;
        if (head->length > (UINT64_MAX >> 8) / 10)
            return 413;
        head->length = head->length * 10 + (uint64_t)(value.data[i] - '0');
    }
    return 0;
}

static int read_connection(struct http_part value, struct http_head *head)
{
    if (is_in_list(value, "close"))
        head->keeps = false;
    return 0;
}

static int read_expect(struct http_part value, struct http_head *head)
{
    head->expects = http_part_is(value, "100-continue");
    return head->expects ? 0 : 417;
}

static int read_encoding(struct http_part value, struct http_head *head)
{
    (void)value;
    head->is_chunked = true;
    return 0;
}

static const struct {
    const char *name;
    size_t part;     /* where its value is kept; 0: `read` reads it */
    bool may_repeat; /* then the first one counts */
    int (*read)(struct http_part value, struct http_head *head);
} fields[] = {{"Host", offsetof(struct http_head, host), false, NULL},
              {"Origin", offsetof(struct http_head, origin), false, NULL},
              {"Authorization", offsetof(struct http_head, authorization), false, NULL},
              {"Accept", offsetof(struct http_head, accept), true, NULL},
              {"Content-Type", offsetof(struct http_head, content_type), false, NULL},
              {"Sec-Fetch-Site", offsetof(struct http_head, fetch_site), false, NULL},
              {"Cookie", offsetof(struct http_head, cookie), false, NULL},
              {"X-CSRF-Token", offsetof(struct http_head, csrf_token), false, NULL},
              {"Accept-Encoding", offsetof(struct http_head, accept_encoding), true, NULL},
              {"If-None-Match", offsetof(struct http_head, if_none_match), true, NULL},
              {"Content-Length", 0, false, read_length},
              {"Connection", 0, false, read_connection},
              {"Expect", 0, false, read_expect},
              {"Transfer-Encoding", 0, false, read_encoding}};

static int keep(struct http_part value, struct http_part *ret_part, bool may_repeat)
{
    if (ret_part->data != NULL)
        return may_repeat ? 0 : 400;
    *ret_part = value;
    return 0;
}

static int take_field(struct http_part name, struct http_part value, struct http_head *head)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (!http_part_is(name, fields[i].name))
            continue;
        if (fields[i].read != NULL)
            return fields[i].read(value, head);
        return keep(value, (struct http_part *)(void *)((char *)head + fields[i].part),
                    fields[i].may_repeat);
    }
    return 0;
}

static int read_field(struct http_part line, struct http_head *head)
{
    bool has_colon = line.size > 0 && memchr(line.data, ':', line.size) != NULL;
    struct http_part name = split(&line, ':');

    if (!has_colon || !is_token(name))
        return 400;
    for (size_t i = 0; i < line.size; i++) {
        unsigned char byte = (unsigned char)line.data[i];

        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return 400;
    }
    return take_field(name, trim(line), head);
}

/* ---- the head */

size_t http_head_size(const char *bytes, size_t size)
{
    const char *end = size < 4 ? NULL : memmem(bytes, size, "\r\n\r\n", 4);

    return end == NULL ? 0 : (size_t)(end - bytes) + 4;
}

/* Lines end with CR LF: either of them alone is refused, as a byte that is no text. */
static struct http_part next_line(struct http_part *rest)
{
    struct http_part line = split(rest, '\n');

    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    else
        line.data = NULL;
    return line;
}

int http_head_read(const char *bytes, size_t size, struct http_head *ret_head)
{
    struct http_part rest = {bytes, size}, line = next_line(&rest);
    int status;

    *ret_head = (struct http_head){.method = HTTP_OTHER};
    status = line.data == NULL ? 400 : read_line(line, ret_head);
    while (status == 0) {
        line = next_line(&rest);
        if (line.data == NULL)
            return 400;
        if (line.size == 0)
            break;
        status = read_field(line, ret_head);
    }
    if (status == 0 && ret_head->is_chunked)
        return ret_head->has_length ? 400 : 411;
    return status;
}
