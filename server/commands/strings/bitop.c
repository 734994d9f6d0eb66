/* BITOP: strings combined bit by bit. That of hundreds of strings is alone with the store
 * (server/dispatch/alone.h) and takes one string after the other; that of few takes all of them
 * a piece at a time (string_build.h). */
#include "server/commands/database.h"
#include "server/commands/string_value.h"
#include "server/commands/strings/string_build.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "storage/keys/large_copy.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SOURCE = 3,
    LOOK_BYTES = 2048, /* that are combined in the time of a search for a key */
    SLICE_BYTES = ALONE_STEPS * LOOK_BYTES
};

enum bit_operation { BIT_AND, BIT_OR, BIT_XOR, BIT_NOT };

static bool parse_operation(struct context *context, enum bit_operation *ret_operation)
{
    static const char *const words[] = {
        [BIT_AND] = "and", [BIT_OR] = "or", [BIT_XOR] = "xor", [BIT_NOT] = "not", NULL};

    if (!arguments_choice(context, 1, words, ret_operation))
        return false;
    if (*ret_operation != BIT_NOT || context_count(context) == 4)
        return true;
    resp_error(context->reply, "ERR BITOP NOT must be called with a single source key.");
    return false;
}

/* Combines `size` bytes with `with`, of which the first `held` are there; zeros follow. */
static void combine(uint8_t *bytes, size_t size, const uint8_t *with, size_t held,
                    enum bit_operation operation)
{
    size_t both = held < size ? held : size;

    if (operation == BIT_AND) {
        for (size_t i = 0; i < both; i++)
            bytes[i] &= with[i];
        memset(bytes + both, 0, size - both);
    } else if (operation == BIT_XOR) {
        for (size_t i = 0; i < both; i++)
            bytes[i] ^= with[i];
    } else {
        for (size_t i = 0; i < both; i++)
            bytes[i] |= with[i];
    }
}

static void invert(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)~bytes[i];
}

static enum outcome store_bits(struct context *context, void *arg, struct dueq_slice value)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 2);

    (void)arg;
    if (value.size == 0) {
        if (keys_del(&view, name) == DUEQ_OK)
            database_notify(context, EVENT_GENERIC, "del", name);
    } else if (!string_value_write(context, name, value, DUEQ_NEVER, STRING_EDITED, "set")) {
        return OUTCOME_DONE;
    }
    return context_reply_integer(context, (int64_t)value.size);
}

/* ---- few strings */

static bool fill_combined(struct context *context, void *arg, uint8_t *bytes, size_t from,
                          size_t to)
{
    enum bit_operation operation = *(const enum bit_operation *)arg;
    struct dueq_slice value;

    memset(bytes + from, 0, to - from);
    for (size_t i = FIRST_SOURCE; i < context_count(context); i++) {
        if (!string_value_read(context, context_slice(context, i), &value, NULL))
            return false;
        combine(bytes + from, to - from,
                value.size > from ? (const uint8_t *)value.data + from : NULL,
                value.size > from ? value.size - from : 0,
                i == FIRST_SOURCE ? BIT_OR : operation);
    }
    if (operation == BIT_NOT)
        invert(bytes + from, to - from);
    return true;
}

/* The length of the longest source. False: the error is written. */
static bool longest_source(struct context *context, size_t *ret_size)
{
    struct dueq_slice value;

    *ret_size = 0;
    for (size_t i = FIRST_SOURCE; i < context_count(context); i++) {
        if (!string_value_read(context, context_slice(context, i), &value, NULL))
            return false;
        if (value.size > *ret_size)
            *ret_size = value.size;
    }
    return true;
}

static enum outcome combine_few(struct context *context, enum bit_operation operation)
{
    static const struct string_build_form form = {fill_combined, store_bits};
    size_t size;

    if (!longest_source(context, &size))
        return OUTCOME_DONE;
    return string_build(context, &form, &operation, size,
                        context_count(context) - FIRST_SOURCE);
}

/* ---- many strings */

struct many {
    enum bit_operation operation;
    size_t source;  /* argument that is next */
    uint8_t *bytes; /* of the result; NULL: its size is not known yet */
    size_t size;    /* of the longest source so far */
    size_t at;      /* bytes that are combined with the source */
};

static void free_many(void *state)
{
    struct many *many = state;

    free(many->bytes);
    free(many);
}

static bool read_source(struct context *context, const struct many *many,
                        struct dueq_slice *ret_value)
{
    return string_value_read(context, context_slice(context, many->source), ret_value, NULL);
}

static bool is_at_end(const struct context *context, const struct many *many)
{
    return many->source == context_count(context);
}

/* False: the error is written. */
static bool measure(struct context *context, struct many *many, size_t budget)
{
    struct dueq_slice value;

    for (; budget > 0 && !is_at_end(context, many); many->source++, budget--) {
        if (!read_source(context, many, &value))
            return false;
        if (value.size > many->size)
            many->size = value.size;
    }
    return true;
}

/* All sources are measured. False: the error is written. */
static bool begin_combining(struct context *context, struct many *many)
{
    many->source = FIRST_SOURCE;
    many->bytes = large_copy_memory(many->size);
    return context_check_status(context, many->bytes == NULL ? DUEQ_NOMEM : DUEQ_OK);
}

/* Combines a part of the source, of `most` bytes at most. */
static size_t combine_part(struct many *many, struct dueq_slice value, size_t most)
{
    size_t left = many->size - many->at, part = left < most ? left : most;
    bool is_first = many->source == FIRST_SOURCE;

    if (is_first)
        memset(many->bytes + many->at, 0, part);
    combine(many->bytes + many->at, part,
            value.size > many->at ? (const uint8_t *)value.data + many->at : NULL,
            value.size > many->at ? value.size - many->at : 0,
            is_first ? BIT_OR : many->operation);
    many->at += part;
    return part;
}

/* False: the error is written. */
static bool combine_some(struct context *context, struct many *many)
{
    struct dueq_slice value;
    size_t spent = 0;

    while (spent < SLICE_BYTES && !is_at_end(context, many)) {
        if (!read_source(context, many, &value))
            return false;
        spent += LOOK_BYTES + combine_part(many, value, SLICE_BYTES);
        if (many->at == many->size) {
            many->source++;
            many->at = 0;
        }
    }
    return true;
}

/* True: the reply or the error is written. */
static bool advance(struct context *context, struct many *many, size_t budget)
{
    if (many->bytes == NULL) {
        if (!measure(context, many, budget))
            return true;
        return is_at_end(context, many) && !begin_combining(context, many);
    }
    if (!combine_some(context, many))
        return true;
    if (!is_at_end(context, many))
        return false;
    string_build_store(context, store_bits, NULL, &many->bytes, many->size);
    return true;
}

static enum outcome go_on(struct context *context, struct many *many)
{
    if (alone_gives_up(context) || advance(context, many, ALONE_STEPS))
        return OUTCOME_DONE;
    long_work_state_holds(context, many->size);
    return OUTCOME_WAIT;
}

static enum outcome combine_at_once(struct context *context, struct many *many)
{
    while (!advance(context, many, SIZE_MAX))
        ;
    free(many->bytes);
    return OUTCOME_DONE;
}

static enum outcome combine_many(struct context *context, enum bit_operation operation)
{
    struct many many = {.operation = operation, .source = FIRST_SOURCE};

    if (alone_put_off(context, &many, sizeof(many), free_many))
        return OUTCOME_WAIT;
    return combine_at_once(context, &many);
}

/* ---- command */

static enum outcome run_bitop(struct context *context)
{
    struct many *many = long_work_state_of(context, free_many);
    enum bit_operation operation;

    if (many != NULL)
        return go_on(context, many);
    if (!parse_operation(context, &operation))
        return OUTCOME_DONE;
    if (context_count(context) - FIRST_SOURCE > ALONE_STEPS)
        return combine_many(context, operation);
    return combine_few(context, operation);
}

static const struct command entries[] = {
    {.name = "bitop",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_READS_ANEW,
     .keys = {2, -1, 1},
     .key_specs = "OW,update@2/r0:1:0 RO,access@3/r-1:1:0",
     .group = "bitmap",
     .since = "2.6.0",
     .summary = "Perform bitwise operations between strings",
     .complexity = "O(N)",
     .syntax = "operation destkey key [key ...]",
     .categories = "bitmap",
     .run = run_bitop},
    {.name = NULL}};

COMMANDS(bitop, entries)
