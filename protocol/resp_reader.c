#include "protocol/resp_reader.h"

#include "protocol/buffer.h"
#include "protocol/number.h"
#include "protocol/words.h"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>
#include <hiredis/sds.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* hiredis was written to trust a server. So each header line is checked here, against Redis'
 * own rules and the limits, before hiredis sees it; hiredis then does the parsing proper of
 * bytes that are known to be a request. As Redis does, the two bytes behind an argument are
 * taken for CRLF unseen. */

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

enum {
    FIRST_ARGUMENTS = 8,
    FEED_STEP = 64 * 1024,  /* bytes of an unfinished request handed to hiredis at once */
    KEEP_BYTES = 16 * 1024, /* memory kept between requests */
    KEEP_ARGUMENTS = 64,
    HEADER_LINE_MAX = 64 * 1024
};

enum scan_state { SCAN_START, SCAN_ARGUMENT, SCAN_PAYLOAD };

struct span {
    size_t offset, size;
};

struct resp_reader {
    struct resp_limits limits;
    redisReader *redis;
    struct buffer input;
    enum scan_state state;
    size_t scanned;      /* bytes of input known to belong to the current request */
    size_t expected;     /* arguments still to come */
    size_t payload;      /* bytes of the current argument still to come, CRLF included */
    size_t taken;        /* bytes of the current request already given to hiredis */
    struct buffer block; /* the arguments' bytes */
    struct span *spans;  /* where they are in the block */
    struct argument *arguments;
    size_t count, capacity;
    bool out_of_memory;
    bool failed;
    char error[192];
};

/* ---- what hiredis builds: arguments in the block */

static bool make_room_for_argument(struct resp_reader *reader)
{
    size_t capacity = reader->capacity == 0 ? FIRST_ARGUMENTS : reader->capacity * 2;
    struct argument *arguments;
    struct span *spans;

    if (reader->count < reader->capacity)
        return true;
    spans = realloc(reader->spans, capacity * sizeof(*spans));
    if (spans == NULL)
        return false;
    reader->spans = spans;
    arguments = realloc(reader->arguments, capacity * sizeof(*arguments));
    if (arguments == NULL)
        return false;
    reader->arguments = arguments;
    reader->capacity = capacity;
    return true;
}

static bool add_argument(struct resp_reader *reader, const char *data, size_t size)
{
    char *space = buffer_reserve(&reader->block, size + 1);

    if (space == NULL || !make_room_for_argument(reader)) {
        reader->out_of_memory = true;
        return false;
    }
    memcpy(space, data, size);
    space[size] = '\0';
    reader->spans[reader->count++] = (struct span){buffer_size(&reader->block), size};
    buffer_commit(&reader->block, size + 1);
    return true;
}

static void *create_string(const redisReadTask *task, char *data, size_t size)
{
    struct resp_reader *reader = task->privdata;

    return add_argument(reader, data, size) ? reader : NULL;
}

static void *create_array(const redisReadTask *task, element_count count)
{
    (void)count;
    return task->parent == NULL ? task->privdata : NULL;
}

/* Never called: the scanner lets only arrays of bulk strings through. */
static void *create_integer(const redisReadTask *task, long long number)
{
    (void)task;
    (void)number;
    return NULL;
}

static void *create_nil(const redisReadTask *task)
{
    (void)task;
    return NULL;
}

static void free_object(void *object)
{
    (void)object; /* the block is the reader's */
}

static redisReplyObjectFunctions object_functions = {
    .createString = create_string,
    .createArray = create_array,
    .createInteger = create_integer,
    .createNil = create_nil,
    .freeObject = free_object,
};

static redisReader *redis_reader(struct resp_reader *reader)
{
    if (reader->redis == NULL) {
        reader->redis = redisReaderCreateWithFunctions(&object_functions);
        if (reader->redis != NULL)
            reader->redis->privdata = reader;
    }
    return reader->redis;
}

/* ---- life */

struct resp_reader *resp_reader_new(const struct resp_limits *limits)
{
    struct resp_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL)
        return NULL;
    buffer_init(&reader->input, SIZE_MAX / 2);
    buffer_init(&reader->block, SIZE_MAX / 2);
    resp_reader_set_limits(reader, limits);
    return reader;
}

void resp_reader_free(struct resp_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->redis != NULL)
        redisReaderFree(reader->redis);
    buffer_release(&reader->input);
    buffer_release(&reader->block);
    free(reader->spans);
    free(reader->arguments);
    free(reader);
}

void resp_reader_set_limits(struct resp_reader *reader, const struct resp_limits *limits)
{
    reader->limits = *limits;
}

const char *resp_reader_error(const struct resp_reader *reader)
{
    return reader->error;
}

size_t resp_reader_unread(const struct resp_reader *reader)
{
    return buffer_size(&reader->input);
}

void resp_reader_measure(const struct resp_reader *reader, struct resp_memory *ret_memory)
{
    size_t taken = reader->redis == NULL ? 0 : reader->redis->len - reader->redis->pos;
    size_t space = reader->redis == NULL ? 0 : sdsalloc(reader->redis->buf);
    size_t input = buffer_size(&reader->input);

    ret_memory->input = input + taken;
    ret_memory->input_free = reader->input.capacity - input + space - taken;
    ret_memory->arguments = buffer_size(&reader->block);
    ret_memory->total =
        sizeof(*reader) + (space == 0 ? 0 : sizeof(*reader->redis) + space) +
        reader->input.capacity + reader->block.capacity +
        reader->capacity * (sizeof(*reader->spans) + sizeof(*reader->arguments));
}

static enum resp_read fail(struct resp_reader *reader, const char *why)
{
    snprintf(reader->error, sizeof(reader->error), "ERR Protocol error: %s", why);
    reader->failed = true;
    return RESP_ERROR;
}

bool resp_reader_feed(struct resp_reader *reader, const char *data, size_t size)
{
    size_t held = buffer_size(&reader->input) + reader->taken;

    if (reader->failed)
        return false;
    if (size > reader->limits.query_bytes || held > reader->limits.query_bytes - size) {
        fail(reader, "query buffer limit exceeded");
        return false;
    }
    buffer_append(&reader->input, data, size);
    if (reader->input.overflowed) {
        fail(reader, "out of memory");
        return false;
    }
    return true;
}

/* hiredis keeps its buffer until the next bytes come. */
static void shrink_redis(struct resp_reader *reader, size_t keep)
{
    if (reader->redis == NULL || reader->redis->pos < reader->redis->len ||
        sdsalloc(reader->redis->buf) <= keep)
        return;
    redisReaderFree(reader->redis);
    reader->redis = NULL;
}

static void shrink_arguments(struct resp_reader *reader, size_t keep)
{
    if (reader->capacity <= keep)
        return;
    free(reader->spans);
    free(reader->arguments);
    reader->spans = NULL;
    reader->arguments = NULL;
    reader->capacity = 0;
}

/* Starts the next request; the last one's memory is kept when it is small. */
static void clear(struct resp_reader *reader)
{
    buffer_clear(&reader->block);
    buffer_shrink(&reader->block, KEEP_BYTES);
    buffer_shrink(&reader->input, KEEP_BYTES);
    shrink_arguments(reader, KEEP_ARGUMENTS);
    reader->count = 0;
    reader->taken = 0;
}

void resp_reader_rest(struct resp_reader *reader)
{
    if (reader->state != SCAN_START || buffer_size(&reader->input) > 0)
        return;
    clear(reader);
    shrink_redis(reader, 0);
    buffer_release(&reader->block);
    buffer_release(&reader->input);
    shrink_arguments(reader, 0);
}

/* ---- scanning */

/* The line at `scanned`, without its type byte and CRLF. False: not there yet, or too long,
 * which `too_big` names. */
static bool header_line(struct resp_reader *reader, const char *too_big, const char **ret_text,
                        size_t *ret_size)
{
    const char *line = buffer_content(&reader->input) + reader->scanned;
    size_t left = buffer_size(&reader->input) - reader->scanned;
    const char *end = memchr(line, '\r', left);

    if (end == NULL) {
        if (left > HEADER_LINE_MAX)
            fail(reader, too_big);
        return false;
    }
    if ((size_t)(end - line) + 2 > left)
        return false;
    *ret_text = line + 1;
    *ret_size = end == line ? 0 : (size_t)(end - line) - 1;
    return true;
}

/* Redis also accepts any count below 1 and skips it. */
static void scan_count(struct resp_reader *reader)
{
    const char *text;
    size_t size;
    int64_t count;

    if (!header_line(reader, "too big mbulk count string", &text, &size))
        return;
    if (!number_parse_integer(text, size, &count) || count > INT32_MAX ||
        (count > 0 && (uint64_t)count > reader->limits.arguments)) {
        fail(reader, reader->limits.before_login && size > 0 && count > 0
                         ? "unauthenticated multibulk length"
                         : "invalid multibulk length");
        return;
    }
    if (count <= 0) {
        buffer_consume(&reader->input, size + 3);
        return;
    }
    reader->scanned = size + 3;
    reader->expected = (size_t)count;
    reader->state = SCAN_ARGUMENT;
}

static void scan_argument(struct resp_reader *reader)
{
    const char *text;
    size_t size;
    int64_t length;
    char why[64];

    if (!header_line(reader, "too big bulk count string", &text, &size))
        return;
    if (text[-1] != '$') {
        snprintf(why, sizeof(why), "expected '$', got '%c'", text[-1]);
        fail(reader, why);
        return;
    }
    if (!number_parse_integer(text, size, &length) || length < 0 ||
        (uint64_t)length > reader->limits.bulk_bytes) {
        fail(reader, reader->limits.before_login && length > 0 ? "unauthenticated bulk length"
                                                               : "invalid bulk length");
        return;
    }
    reader->scanned += size + 3;
    reader->payload = (size_t)length + 2;
    reader->state = SCAN_PAYLOAD;
}

static void scan_payload(struct resp_reader *reader)
{
    size_t left = buffer_size(&reader->input) - reader->scanned;
    size_t step = left < reader->payload ? left : reader->payload;

    reader->scanned += step;
    reader->payload -= step;
    if (reader->payload > 0)
        return;
    reader->expected--;
    reader->state = reader->expected == 0 ? SCAN_START : SCAN_ARGUMENT;
}

/* ---- handing over */

static enum resp_read feed_redis(struct resp_reader *reader)
{
    redisReader *redis = redis_reader(reader);

    if (redis == NULL ||
        redisReaderFeed(redis, buffer_content(&reader->input), reader->scanned) != REDIS_OK)
        return fail(reader, "out of memory");
    reader->taken += reader->scanned;
    buffer_consume(&reader->input, reader->scanned);
    reader->scanned = 0;
    return RESP_MORE;
}

static enum resp_read parse_redis(struct resp_reader *reader, bool *ret_whole)
{
    void *object = NULL;

    if (feed_redis(reader) == RESP_ERROR)
        return RESP_ERROR;
    if (redisReaderGetReply(reader->redis, &object) != REDIS_OK)
        return fail(reader, reader->out_of_memory ? "out of memory"
                                                  : redisReaderGetError(reader->redis));
    *ret_whole = object != NULL;
    if (*ret_whole)
        shrink_redis(reader, KEEP_BYTES);
    return RESP_MORE;
}

static enum resp_read hand_out(struct resp_reader *reader, struct request *ret_request)
{
    size_t bytes = 0;

    for (size_t i = 0; i < reader->count; i++) {
        reader->arguments[i] = (struct argument){
            buffer_content(&reader->block) + reader->spans[i].offset, reader->spans[i].size};
        bytes += reader->spans[i].size;
    }
    *ret_request = (struct request){reader->count, reader->arguments, bytes};
    return RESP_REQUEST;
}

/* ---- inline commands */

static enum resp_read read_inline(struct resp_reader *reader, struct request *ret_request)
{
    const char *line = buffer_content(&reader->input);
    size_t left = buffer_size(&reader->input), size;
    const char *end = memchr(line, '\n', left);
    struct argument *words;
    char *space;
    int count;

    if (end == NULL)
        return left > reader->limits.inline_bytes ? fail(reader, "too big inline request")
                                                  : RESP_MORE;
    size = (size_t)(end - line);
    if (size > 0 && line[size - 1] == '\r')
        size--;
    space = malloc(size * 2 + 1);
    words = malloc((size / 2 + 1) * sizeof(*words));
    count = space == NULL || words == NULL
                ? 0
                : words_split(line, size, space, words, size / 2 + 1);
    for (int i = 0; i < count; i++)
        add_argument(reader, words[i].data, words[i].size);
    buffer_consume(&reader->input, (size_t)(end - line) + 1);
    if (space == NULL || words == NULL || reader->out_of_memory)
        count = -2;
    free(space);
    free(words);
    if (count < 0)
        return fail(reader, count == -2 ? "out of memory" : "unbalanced quotes in request");
    return count == 0 ? RESP_MORE : hand_out(reader, ret_request);
}

/* ---- the whole */

/* Scans as far as the input goes. True: a whole request is scanned. */
static bool scan(struct resp_reader *reader)
{
    for (;;) {
        size_t before = reader->scanned;
        enum scan_state state = reader->state;

        if (state == SCAN_START)
            scan_count(reader);
        else if (buffer_size(&reader->input) == reader->scanned)
            return false;
        else if (state == SCAN_ARGUMENT)
            scan_argument(reader);
        else
            scan_payload(reader);
        if (reader->failed || (state == SCAN_START && reader->state == SCAN_START))
            return false;
        if (state == SCAN_PAYLOAD && reader->state == SCAN_START)
            return true;
        if (reader->scanned == before)
            return false;
    }
}

static enum resp_read read_resp(struct resp_reader *reader, struct request *ret_request)
{
    bool whole = false;

    if (scan(reader)) {
        if (parse_redis(reader, &whole) == RESP_ERROR)
            return RESP_ERROR;
        reader->taken = 0;
        return whole ? hand_out(reader, ret_request)
                     : fail(reader, "unexpected end of request");
    }
    if (reader->failed)
        return RESP_ERROR;
    if (reader->scanned >= FEED_STEP)
        return parse_redis(reader, &whole);
    return RESP_MORE;
}

enum resp_read resp_reader_next(struct resp_reader *reader, struct request *ret_request)
{
    bool fresh = reader->state == SCAN_START;

    if (reader->failed)
        return RESP_ERROR;
    if (fresh)
        clear(reader);
    while (buffer_size(&reader->input) > 0 || !fresh) {
        size_t before = buffer_size(&reader->input);
        enum resp_read read;

        if (!fresh || *buffer_content(&reader->input) == '*')
            read = read_resp(reader, ret_request);
        else
            read = read_inline(reader, ret_request);
        if (read != RESP_MORE || reader->state != SCAN_START ||
            buffer_size(&reader->input) == before)
            return read;
    }
    return RESP_MORE;
}
