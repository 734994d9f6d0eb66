/* What is true for any bytes as `dashboard.history`: they are read or left out, what is shown
 * of them is JSON with a point for each step, and what is written of them is read again as the
 * same. The fuzzer and the test that replays the corpus share this.
 *
 * Input: flags (1 byte; 1: sums are as they stand, else they are put right first, so that more
 * than the first record is looked at), the clock (1 byte; 0: 1970), the file. */
#ifndef DUEQ_CHARTS_CHECK_H
#define DUEQ_CHARTS_CHECK_H

#include "server/http/charts_file.h"
#include "tests/support/temp_dir.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CHARTS_RECORD_HEAD = 8 + sizeof(struct charts_point), CHARTS_NAME_SIZE_AT = 6 };

/* Each record gets the sum that its bytes have. */
static inline void charts_put_sums(uint8_t *file, size_t size)
{
    for (size_t at = 0; size - at >= CHARTS_RECORD_HEAD;) {
        uint8_t *record = file + at;
        size_t name_size = record[CHARTS_NAME_SIZE_AT];
        uint32_t sum;

        at += CHARTS_RECORD_HEAD;
        if (size - at < name_size)
            return;
        sum = (uint32_t)XXH3_64bits_withSeed(record + CHARTS_RECORD_HEAD, name_size,
                                             XXH3_64bits(record + 4, CHARTS_RECORD_HEAD - 4));
        memcpy(record, &sum, sizeof(sum));
        at += name_size;
    }
}

static inline void charts_save(const char *dir, const uint8_t *bytes, size_t size)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/dashboard.history", dir);
    file = fopen(path, "w");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

/* A server without a store: nobody's topics are known but those of the file. */
static inline struct server *charts_server(uint8_t clock)
{
    struct server *server = calloc(1, sizeof(*server));

    if (server == NULL || (server->base = event_base_new()) == NULL)
        abort();
    server->clock.last.wall = clock == 0 ? 0 : INT64_C(1700000000000) + clock * INT64_C(600000);
    return server;
}

/* What is shown of a topic. "": it is no JSON. The caller frees it. */
static inline char *charts_show(struct charts *charts, struct dueq_slice topic,
                                enum charts_range range)
{
    struct buffer out;
    json_t *value;
    char *text;

    buffer_init(&out, SIZE_MAX / 2);
    charts_write(charts, topic, range, &out);
    value = json_loadb(buffer_content(&out), buffer_size(&out), 0, NULL);
    text = value != NULL &&
                   json_array_size(json_object_get(value, "points")) == charts_length(range)
               ? strndup(buffer_content(&out), buffer_size(&out))
               : strdup("");
    if (text == NULL)
        abort();
    json_decref(value);
    buffer_release(&out);
    return text;
}

static inline bool charts_show_same(struct charts *one, struct charts *other,
                                    struct dueq_slice topic)
{
    bool good = true;

    for (int range = 0; range < CHARTS_RANGES; range++) {
        char *text = charts_show(one, topic, (enum charts_range)range),
             *again = charts_show(other, topic, (enum charts_range)range);

        if (text[0] == '\0' || strcmp(text, again) != 0) {
            fprintf(stderr, "shown: %s\nand after it was written and read: %s\n", text, again);
            good = false;
        }
        free(text);
        free(again);
    }
    return good;
}

/* Of the server and of the topic of the first record. */
static inline bool charts_are_same(struct charts *one, struct charts *other,
                                   const uint8_t *file, size_t size)
{
    size_t room = size < CHARTS_RECORD_HEAD ? 0 : size - CHARTS_RECORD_HEAD, name_size = 0;

    if (room > 0)
        name_size = file[CHARTS_NAME_SIZE_AT] < room ? file[CHARTS_NAME_SIZE_AT] : room;
    return charts_show_same(one, other, dueq_slice("", 0)) &&
           (name_size == 0 ||
            charts_show_same(one, other, dueq_slice(file + CHARTS_RECORD_HEAD, name_size)));
}

static inline bool charts_file_holds_up(struct server *server, const uint8_t *file, size_t size)
{
    char *dir = temp_dir_new();
    struct charts *one = charts_new(server), *other = charts_new(server);
    bool good;

    if (one == NULL || other == NULL)
        abort();
    charts_save(dir, file, size);
    charts_file_read(one, dir);
    if (!charts_file_write(one, dir))
        abort();
    charts_file_read(other, dir);
    good = charts_are_same(one, other, file, size) &&
           charts_file_add(one, dir, (uint32_t)(server->clock.last.wall / 600000));
    charts_free(one);
    charts_free(other);
    temp_dir_remove(dir);
    return good;
}

static inline bool charts_hold_up(const uint8_t *data, size_t size)
{
    struct server *server;
    uint8_t *file;
    bool good;

    if (size < 2)
        return true;
    file = malloc(size);
    if (file == NULL)
        abort();
    memcpy(file, data + 2, size - 2);
    if (!(data[0] & 1))
        charts_put_sums(file, size - 2);
    server = charts_server(data[1]);
    good = charts_file_holds_up(server, file, size - 2);
    event_base_free(server->base);
    free(server);
    free(file);
    return good;
}

#endif
