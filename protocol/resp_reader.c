#include "protocol/resp_reader.h"

#include "protocol/buffer.h"
#include "protocol/grown_memory.h"
#include "protocol/number.h"
#include "protocol/tokens.h"

#include <hiredis/hiredis.h>
#include <hiredis/read.h>
#include <hiredis/sds.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* hiredis trusts what it parses. So this file checks each header line against Redis' rules and
 * the limits before hiredis gets it; hiredis then parses only bytes that are known to be a
 * request. As in Redis, the two bytes after an argument count as CRLF, whatever they are.
 *
 * Most requests are short and have arrived as a whole. Then the check has seen all that there
 * is to parse, and hiredis is not asked. */

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

enum {
    FIRST_ARGUMENTS = 8,
    FEED_STEP = 64 * 1024,  /* bytes of an incomplete request that hiredis gets at once */
    KEEP_BYTES = 16 * 1024, /* bytes of memory kept between requests */
    KEEP_ARGUMENTS = 64,
    HEADER_LINE_MAX = 64 * 1024,
    SHORT_LINE = 8,
    PAGE = 4096,
    HUGE_PAGE = 2 * 1024 * 1024,
    SMALL_PAGES = 4 * HUGE_PAGE /* first bytes of a large argument, in small pages */
};

enum scan_state { SCAN_START, SCAN_ARGUMENT, SCAN_PAYLOAD, SCAN_LARGE };

struct resp_reader {
    struct resp_limits limits;
    redisReader *redis;
    struct buffer input;
    enum scan_state state;
    size_t scanned;      /* bytes of input known to belong to the current request */
    size_t expected;     /* arguments not yet scanned */
    size_t payload;      /* bytes of the current argument not yet received, CRLF included */
    size_t taken;        /* bytes of the current request already given to hiredis */
    struct buffer block; /* the arguments' bytes, one argument after the other */
    struct argument *arguments; /* until the request is whole, only their sizes */
    size_t count, capacity;
    size_t bytes; /* of all arguments: to add a million sizes in the end takes 1 ms */
    struct resp_large *large; /* of the current request; the last one may be incomplete */
    size_t large_count;
    bool whole; /* hiredis has seen the end of the current request */
    bool out_of_memory;
    bool failed;
    char error[192];
};

/* ---- hiredis' objects: arguments in the block */

static bool make_room_for_argument(struct resp_reader *reader)
{
    size_t capacity = reader->capacity == 0 ? FIRST_ARGUMENTS : reader->capacity * 2;
    struct argument *arguments;

    if (reader->count < reader->capacity)
        return true;
    arguments = grown_memory_resize(reader->arguments, reader->capacity * sizeof(*arguments),
                                    capacity * sizeof(*arguments));
    if (arguments == NULL)
        return false;
    reader->arguments = arguments;
    reader->capacity = capacity;
    return true;
}

static void free_arguments(struct resp_reader *reader)
{
    grown_memory_free(reader->arguments, reader->capacity * sizeof(*reader->arguments));
    reader->arguments = NULL;
    reader->capacity = 0;
}

static void list_argument(struct resp_reader *reader, struct argument argument)
{
    reader->arguments[reader->count++] = argument;
    reader->bytes += argument.size;
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
    list_argument(reader, (struct argument){NULL, size});
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

/* Never called: the scanner accepts only arrays of bulk strings. */
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

/* ---- large arguments */

static void release_large(struct resp_reader *reader)
{
    for (size_t i = 0; i < reader->large_count; i++)
        free(reader->large[i].memory);
    free(reader->large);
    reader->large = NULL;
    reader->large_count = 0;
}

/* The first SMALL_PAGES bytes are in small pages, so that a client takes as much memory as it
 * has sent; the others are in huge pages, so that the kernel maps and unmaps hundreds of pages
 * and not a hundred thousand. */
static void choose_pages(char *memory, size_t space)
{
    size_t small = space < SMALL_PAGES ? space / PAGE * PAGE : SMALL_PAGES;
    size_t huge = (space - small) / HUGE_PAGE * HUGE_PAGE;

    if (small > 0)
        madvise(memory, small, MADV_NOHUGEPAGE);
    if (huge > 0)
        madvise(memory + small, huge, MADV_HUGEPAGE);
}

/* Address space for the whole argument; only received bytes take memory. NULL: there is none.
 */
static void *reserve(size_t space)
{
    void *memory = NULL;

    if (space < HUGE_PAGE)
        return malloc(space);
    if (posix_memalign(&memory, HUGE_PAGE, space) != 0)
        return NULL;
    choose_pages(memory, space);
    return memory;
}

static bool is_large(const struct resp_reader *reader, size_t size)
{
    return reader->limits.large_bytes > 0 && size >= reader->limits.large_bytes;
}

static bool add_large(struct resp_reader *reader, size_t size)
{
    struct resp_large *grown =
        realloc(reader->large, (reader->large_count + 1) * sizeof(*grown));
    size_t space = RESP_LARGE_BEFORE + size + 2;
    struct resp_large large = {.size = size, .index = reader->count};

    if (grown == NULL)
        return false;
    reader->large = grown;
    large.memory = reserve(space);
    if (large.memory == NULL)
        return false;
    large.data = (char *)large.memory + RESP_LARGE_BEFORE;
    grown[reader->large_count++] = large;
    reader->bytes += size;
    return true;
}

struct resp_large *resp_reader_large(struct resp_reader *reader, size_t *ret_count)
{
    *ret_count = reader->large_count;
    return reader->large;
}

/* Copies the bytes that belong to the incomplete large argument. Returns how many these are. */
static size_t take_large(struct resp_reader *reader, const char *bytes, size_t size)
{
    struct resp_large *large = &reader->large[reader->large_count - 1];
    size_t wanted = large->size + 2 - large->got;

    if (size > wanted)
        size = wanted;
    memcpy(large->data + large->got, bytes, size);
    large->got += size;
    reader->taken += size;
    return size;
}

/* Bytes of memory that the argument takes. */
static size_t held_by(const struct resp_large *large)
{
    size_t used = RESP_LARGE_BEFORE + large->got;
    size_t step = used <= SMALL_PAGES ? PAGE : HUGE_PAGE;

    return large->memory == NULL ? 0 : (used + step - 1) / step * step;
}

static size_t large_held(const struct resp_reader *reader)
{
    size_t held = 0;

    for (size_t i = 0; i < reader->large_count; i++)
        held += held_by(&reader->large[i]);
    return held;
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
    release_large(reader);
    buffer_release(&reader->input);
    buffer_release(&reader->block);
    free_arguments(reader);
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

bool resp_reader_is_empty(const struct resp_reader *reader)
{
    return reader->state == SCAN_START && buffer_size(&reader->input) == 0;
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
    size_t large = large_held(reader), coming = 0, coming_held = 0;

    if (reader->state == SCAN_LARGE) {
        coming = reader->large[reader->large_count - 1].got;
        coming_held = held_by(&reader->large[reader->large_count - 1]);
    }
    ret_memory->input = input + taken + coming;
    ret_memory->input_free =
        reader->input.capacity - input + space - taken + coming_held - coming;
    ret_memory->arguments = buffer_size(&reader->block) + large - coming_held;
    ret_memory->total = sizeof(*reader) + large + reader->large_count * sizeof(*reader->large) +
                        (space == 0 ? 0 : sizeof(*reader->redis) + space) +
                        reader->input.capacity + reader->block.capacity +
                        reader->capacity * sizeof(*reader->arguments);
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
    if (reader->state == SCAN_LARGE && buffer_size(&reader->input) == 0) {
        size_t used = take_large(reader, data, size);

        data += used;
        size -= used;
    }
    buffer_append(&reader->input, data, size);
    if (reader->input.overflowed) {
        fail(reader, "out of memory");
        return false;
    }
    return true;
}

/* hiredis frees its buffer only when it gets the next bytes. */
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
    free_arguments(reader);
}

bool resp_reader_has(const struct resp_reader *reader, const struct request *request)
{
    return reader->arguments == request->arguments;
}

void resp_reader_give(struct resp_reader *reader, struct resp_given *ret_given)
{
    *ret_given =
        (struct resp_given){.block = reader->block.data,
                            .block_bytes = reader->block.capacity,
                            .arguments = reader->arguments,
                            .argument_bytes = reader->capacity * sizeof(*reader->arguments),
                            .large = reader->large,
                            .large_count = reader->large_count};
    reader->block = (struct buffer){.maximum = reader->block.maximum};
    reader->arguments = NULL;
    reader->large = NULL;
    reader->count = reader->capacity = reader->large_count = reader->bytes = 0;
}

/* Starts the next request. Keeps the memory of the last one if it is small. */
static void clear(struct resp_reader *reader)
{
    release_large(reader);
    buffer_clear(&reader->block);
    buffer_shrink(&reader->block, KEEP_BYTES);
    buffer_shrink(&reader->input, KEEP_BYTES);
    shrink_arguments(reader, KEEP_ARGUMENTS);
    reader->count = 0;
    reader->bytes = 0;
    reader->taken = 0;
    reader->whole = false;
}

void resp_reader_shrink(struct resp_reader *reader)
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

/* Lines of small numbers are shorter than a call of memchr. */
static char *find_cr(char *line, size_t left)
{
    for (size_t i = 0; i < left && i < SHORT_LINE; i++)
        if (line[i] == '\r')
            return line + i;
    return memchr(line, '\r', left);
}

/* Finds the line at `scanned`, without its type byte and CRLF. False: it is incomplete, or too
 * long; then the error is `too_big`. */
static bool header_line(struct resp_reader *reader, const char *too_big, const char **ret_text,
                        size_t *ret_size)
{
    char *line = buffer_content(&reader->input) + reader->scanned;
    size_t left = buffer_size(&reader->input) - reader->scanned;
    char *end = find_cr(line, left);

    if (end == NULL) {
        if (left > HEADER_LINE_MAX)
            fail(reader, too_big);
        return false;
    }
    if ((size_t)(end - line) + 2 > left)
        return false;
    end[1] = '\n'; /* Redis skips it unread, hiredis looks for it */
    *ret_text = line + 1;
    *ret_size = end == line ? 0 : (size_t)(end - line) - 1;
    return true;
}

/* Skips a count below 1, as Redis does. */
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

static bool feed_redis(struct resp_reader *reader, const char *bytes, size_t size)
{
    redisReader *redis = redis_reader(reader);

    if (redis != NULL && redisReaderFeed(redis, bytes, size) == REDIS_OK)
        return true;
    fail(reader, "out of memory");
    return false;
}

/* Gives the scanned bytes to hiredis. */
static bool parse_redis(struct resp_reader *reader)
{
    void *object = NULL;

    if (!feed_redis(reader, buffer_content(&reader->input), reader->scanned))
        return false;
    reader->taken += reader->scanned;
    buffer_consume(&reader->input, reader->scanned);
    reader->scanned = 0;
    if (!reader->whole && redisReaderGetReply(reader->redis, &object) != REDIS_OK) {
        fail(reader,
             reader->out_of_memory ? "out of memory" : redisReaderGetError(reader->redis));
        return false;
    }
    reader->whole = reader->whole || object != NULL;
    if (reader->whole)
        shrink_redis(reader, KEEP_BYTES);
    return true;
}

/* hiredis gets an empty argument instead. */
static void begin_large(struct resp_reader *reader, size_t header, size_t length)
{
    static const char empty[] = "$0\r\n\r\n";

    if (!parse_redis(reader))
        return;
    if (!add_large(reader, length)) {
        fail(reader, "out of memory");
        return;
    }
    buffer_consume(&reader->input, header);
    if (feed_redis(reader, empty, sizeof(empty) - 1) && parse_redis(reader))
        reader->state = SCAN_LARGE;
}

static void end_argument(struct resp_reader *reader)
{
    reader->expected--;
    reader->state = reader->expected == 0 ? SCAN_START : SCAN_ARGUMENT;
}

static void scan_payload(struct resp_reader *reader)
{
    size_t left = buffer_size(&reader->input) - reader->scanned;
    size_t step = left < reader->payload ? left : reader->payload;

    reader->scanned += step;
    reader->payload -= step;
    if (reader->payload == 0)
        end_argument(reader);
}

static void scan_large(struct resp_reader *reader)
{
    const struct resp_large *large = &reader->large[reader->large_count - 1];

    buffer_consume(&reader->input, take_large(reader, buffer_content(&reader->input),
                                              buffer_size(&reader->input)));
    if (large->got < large->size + 2)
        return;
    large->data[large->size] = '\0';
    end_argument(reader);
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
    if (is_large(reader, (size_t)length)) {
        begin_large(reader, size + 3, (size_t)length);
        return;
    }
    reader->scanned += size + 3;
    reader->payload = (size_t)length + 2;
    reader->state = SCAN_PAYLOAD;
}

/* ---- a whole request */

enum { WHOLE_ARGUMENTS = 1024, LENGTH_DIGITS = 5 };

/* A line such as "$12". NULL: it is none, incomplete, or longer. */
static const char *skip_number(const char *at, const char *end, char kind, size_t *ret_number)
{
    const char *first;
    size_t number = 0;

    if (at == end || *at != kind)
        return NULL;
    first = ++at;
    while (at < end && at - first < LENGTH_DIGITS && *at >= '0' && *at <= '9')
        number = number * 10 + (size_t)(*at++ - '0');
    *ret_number = number;
    if (at == first || end - at < 2 || *at != '\r' || (*first == '0' && at - first > 1))
        return NULL;
    return at + 2;
}

static const char *skip_argument(const char *at, const char *end, struct argument *ret_argument)
{
    size_t size;

    at = skip_number(at, end, '$', &size);
    if (at == NULL || (size_t)(end - at) < size + 2)
        return NULL;
    *ret_argument = (struct argument){at, size};
    return at + size + 2;
}

/* Lists the arguments where they lie in the input. Returns their end; NULL: the request is not
 * whole, or nothing for here, and the scanner says what it is. */
static const char *list_arguments(struct resp_reader *reader, const char *at, const char *end,
                                  size_t count)
{
    while (at != NULL && reader->count < count) {
        struct argument argument;

        at = skip_argument(at, end, &argument);
        if (at == NULL || argument.size > reader->limits.bulk_bytes ||
            is_large(reader, argument.size) || !make_room_for_argument(reader))
            at = NULL;
        else
            list_argument(reader, argument);
    }
    return at;
}

/* Moves the arguments' bytes, from `first` to `end`, to the block. */
static bool move_arguments(struct resp_reader *reader, const char *first, const char *end)
{
    size_t size = (size_t)(end - first);
    char *space = buffer_reserve(&reader->block, size);

    if (space == NULL)
        return false;
    memcpy(space, first, size);
    for (size_t i = 0; i < reader->count; i++) {
        struct argument *argument = &reader->arguments[i];
        char *data = space + (argument->data - first);

        data[argument->size] = '\0';
        argument->data = data;
    }
    buffer_commit(&reader->block, size);
    return true;
}

/* False: nothing has changed. */
static bool take_whole(struct resp_reader *reader)
{
    const char *begin = buffer_content(&reader->input), *first, *at,
               *end = begin + buffer_size(&reader->input);
    size_t count;

    first = skip_number(begin, end, '*', &count);
    if (first == NULL || count == 0 || count > WHOLE_ARGUMENTS ||
        count > reader->limits.arguments)
        return false;
    at = list_arguments(reader, first, end, count);
    if (at == NULL || !move_arguments(reader, first, at)) {
        reader->count = 0;
        reader->bytes = 0;
        return false;
    }
    buffer_consume(&reader->input, (size_t)(at - begin));
    return true;
}

/* ---- looking ahead */

enum { AHEAD_ARGUMENTS = 8 };

/* NULL: the request is long, or incomplete. */
static const char *skip_request(const char *at, const char *end, struct resp_ahead *ret_ahead)
{
    struct argument arguments[AHEAD_ARGUMENTS] = {{NULL, 0}};
    size_t count;

    at = skip_number(at, end, '*', &count);
    if (at == NULL || count == 0 || count > AHEAD_ARGUMENTS)
        return NULL;
    for (size_t i = 0; i < count && at != NULL; i++)
        at = skip_argument(at, end, &arguments[i]);
    *ret_ahead = (struct resp_ahead){arguments[0], arguments[1]};
    return at;
}

size_t resp_reader_look_ahead(const struct resp_reader *reader, struct resp_ahead *ret_ahead,
                              size_t most)
{
    const char *at, *end;
    size_t count = 0;

    if (reader->state != SCAN_START || resp_reader_is_empty(reader))
        return 0;
    at = buffer_content(&reader->input);
    end = at + buffer_size(&reader->input);
    while (count < most && (at = skip_request(at, end, &ret_ahead[count])) != NULL)
        count++;
    return count;
}

/* ---- the finished request */

static enum resp_read hand_out(struct resp_reader *reader, struct request *ret_request)
{
    *ret_request = (struct request){reader->count, reader->arguments, reader->bytes};
    return RESP_REQUEST;
}

/* The block lies still now, and the large arguments are there. */
static enum resp_read place_arguments(struct resp_reader *reader, struct request *ret_request)
{
    const char *at = buffer_content(&reader->block);

    for (size_t i = 0; i < reader->count; i++) {
        reader->arguments[i].data = at;
        at += reader->arguments[i].size + 1;
    }
    for (size_t i = 0; i < reader->large_count; i++) {
        const struct resp_large *large = &reader->large[i];

        reader->arguments[large->index] = (struct argument){large->data, large->size};
    }
    return hand_out(reader, ret_request);
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
                : tokens_split(line, size, space, words, size / 2 + 1);
    for (int i = 0; i < count; i++)
        add_argument(reader, words[i].data, words[i].size);
    buffer_consume(&reader->input, (size_t)(end - line) + 1);
    if (space == NULL || words == NULL || reader->out_of_memory)
        count = -2;
    free(space);
    free(words);
    if (count < 0)
        return fail(reader, count == -2 ? "out of memory" : "unbalanced quotes in request");
    return count == 0 ? RESP_MORE : place_arguments(reader, ret_request);
}

/* ---- feeding and reading */

static void scan_one(struct resp_reader *reader)
{
    switch (reader->state) {
    case SCAN_START:
        scan_count(reader);
        break;
    case SCAN_ARGUMENT:
        scan_argument(reader);
        break;
    case SCAN_PAYLOAD:
        scan_payload(reader);
        break;
    case SCAN_LARGE:
        scan_large(reader);
        break;
    }
}

/* Scans the input. True: a whole request is scanned. */
static bool scan(struct resp_reader *reader)
{
    for (;;) {
        size_t scanned = reader->scanned, left = buffer_size(&reader->input);
        enum scan_state state = reader->state;

        if ((state == SCAN_ARGUMENT || state == SCAN_PAYLOAD) && left == scanned)
            return false;
        scan_one(reader);
        if (reader->failed || (state == SCAN_START && reader->state == SCAN_START))
            return false;
        if (state >= SCAN_PAYLOAD && reader->state == SCAN_START)
            return true;
        if (reader->scanned == scanned && buffer_size(&reader->input) == left &&
            reader->state == state)
            return false;
    }
}

static enum resp_read read_resp(struct resp_reader *reader, struct request *ret_request)
{
    bool complete;

    if (reader->state == SCAN_START && take_whole(reader))
        return hand_out(reader, ret_request);
    complete = scan(reader);
    if (reader->failed)
        return RESP_ERROR;
    if ((complete || reader->scanned >= FEED_STEP) && !parse_redis(reader))
        return RESP_ERROR;
    if (!complete)
        return RESP_MORE;
    reader->taken = 0;
    return reader->whole ? place_arguments(reader, ret_request)
                         : fail(reader, "unexpected end of request");
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
