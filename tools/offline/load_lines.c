/* `dueq load`: makes a data directory from what `dueq dump` wrote. It is made beside its place
 * and renamed when it is whole, so that no half of it is ever taken for all. */
#include "server/subcommands.h"
#include "storage/keys/keys_restore.h"
#include "storage/kv/kv_begin.h"
#include "storage/queue/core/counters.h"
#include "storage/store.h"
#include "tools/offline/job_json.h"
#include "tools/offline/json_bytes.h"
#include "tools/offline/new_directory.h"
#include "tools/offline/offline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COMMIT_BYTES = 1024 * 1024,
    SEGMENT_BYTES = 4 * COMMIT_BYTES /* nobody goes on in this journal */
};

struct load {
    struct new_directory directory;
    struct dueq *store;
    struct dueq_time time;
    uint64_t line;
    bool ended;
    const char *wrong;        /* with the line; NULL: nothing */
    enum dueq_status status;  /* of the store; it says what is wrong, unless `wrong` does */
    struct keys_restored key; /* that lines add to */
    uint8_t history[JOB_RECORD_HISTORY_MAX];
};

static bool refuse(struct load *load, const char *wrong)
{
    load->wrong = wrong;
    return false;
}

/* It is not the dump that is wrong. */
static bool fail(struct load *load, const char *what)
{
    load->status = DUEQ_IO;
    return refuse(load, what);
}

static bool check(struct load *load, enum dueq_status status)
{
    load->status = status;
    return status == DUEQ_OK;
}

/* ---- the store */

/* The store goes on in the epoch of the one that was dumped: a copy of it begins a later one,
 * and gives no number that it gives. */
static bool open_for(struct load *load, const json_t *object, const struct whole_topic *numbers)
{
    const json_t *time = json_object_get(object, "time"),
                 *seed = json_object_get(object, "seed");
    struct dueq_options options;
    struct dueq_error error = {""};

    if (!json_is_integer(time) || json_integer_value(time) < 0 ||
        json_integer_value(time) > SAFE_TIME_MAX || !json_is_integer(seed))
        return refuse(load, "the first line is not that of a dump");
    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE; /* it is synced as a whole, at the end */
    options.segment_bytes = SEGMENT_BYTES;
    options.disk_reserve_bytes = 0; /* nobody has acks to write while it is made */
    options.seed = (uint64_t)json_integer_value(seed);
    load->time.now = load->time.wall = load->time.ceiling = json_integer_value(time);
    if (kv_begin(load->directory.path, &options,
                 counters_epoch(numbers->next_seq, numbers->next_token), &error) != DUEQ_OK) {
        fprintf(stderr, "dueq: %s\n", error.text);
        return fail(load, "the store cannot be made");
    }
    if (offline_open(load->directory.path, true, &options, load->time, &load->store) !=
        OFFLINE_DONE)
        return fail(load, "the store cannot be made");
    return true;
}

static bool load_head(struct load *load, json_t *object)
{
    json_t *clock = json_object_get(object, "timeline");
    struct whole_topic numbers;
    struct dueq_timeline line;

    if (load->store != NULL || json_integer_value(json_object_get(object, "dueq_dump")) != 1 ||
        !job_json_read_topic(json_object_get(object, "topics"), &numbers) ||
        (clock != NULL && !job_json_read_timeline(clock, &line)))
        return refuse(load, "the first line is not that of a dump this version knows");
    if (!open_for(load, object, &numbers))
        return false;
    if (clock != NULL)
        dueq_keep_timeline(load->store, &line);
    return check(load, queue_set_outliving(load->store->queue, &numbers));
}

static bool load_settings(struct load *load, json_t *object, struct dueq_slice scope)
{
    struct dueq_settings settings;

    if (!job_json_read_settings(object, &settings))
        return refuse(load, "these are no settings");
    return check(load, dueq_put_settings(load->store, scope, &settings));
}

static bool load_cron(struct load *load, const json_t *object, struct dueq_slice name)
{
    struct cron cron;

    if (!job_json_read_cron(object, &cron))
        return refuse(load, "this is no recurring job");
    return check(load, queue_restore_cron(load->store->queue, name, &cron));
}

static bool load_topic(struct load *load, json_t *object, struct dueq_slice name)
{
    struct whole_topic topic;

    if (!job_json_read_topic(object, &topic))
        return refuse(load, "this is no topic");
    return check(load, queue_restore_topic(load->store->queue, name, &topic));
}

static bool load_job(struct load *load, json_t *object, struct dueq_slice topic)
{
    struct whole_job job;

    if (!job_json_read_job(object, load->history, &job))
        return refuse(load, "this is no job");
    return check(load, queue_restore_job(load->store->queue, topic, &job, load->time));
}

static bool load_bucket(struct load *load, json_t *object, struct dueq_slice topic)
{
    struct whole_bucket bucket;

    if (!job_json_read_bucket(object, &bucket))
        return refuse(load, "this is no bucket of a group");
    return check(load, queue_restore_bucket(load->store->queue, topic, &bucket));
}

static bool load_edge(struct load *load, const json_t *object, struct dueq_slice topic)
{
    struct whole_edge edge;

    if (!job_json_read_edge(object, &edge))
        return refuse(load, "this is no job that waits for another");
    return check(load, queue_restore_edge(load->store->queue, topic, &edge, load->time));
}

/* All that was waited for is there by now. */
static bool release_waiting(struct load *load)
{
    char bytes[DUEQ_NAME_MAX];
    struct dueq_slice name = {bytes, 0}, next;

    while (dueq_topic_after(load->store, name, &next) == DUEQ_OK) {
        memcpy(bytes, next.data, next.size);
        name.size = next.size;
        if (!check(load, queue_restore_waiting(load->store->queue, name, load->time)))
            return false;
    }
    return true;
}

/* ---- keys */

static bool read_words(struct load *load, const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type")),
               *encoding = json_string_value(json_object_get(object, "encoding"));
    bool known = false;

    load->key.type = KEYS_NONE;
    for (int i = KEYS_STRING; type != NULL && i <= KEYS_HASH; i++)
        if (strcmp(type, keys_type_name((enum keys_type)i)) == 0)
            load->key.type = (enum keys_type)i;
    for (int i = KEYS_RAW; encoding != NULL && i <= KEYS_SKIPLIST && !known; i++) {
        load->key.encoding = (enum keys_encoding)i;
        known = strcmp(encoding, keys_encoding_name(load->key.encoding)) == 0;
    }
    return load->key.type != KEYS_NONE && known;
}

static bool read_expiry(struct load *load, const json_t *object)
{
    const json_t *wall = json_object_get(object, "expires_wall"),
                 *queue = json_object_get(object, "expires");
    int64_t at = json_integer_value(wall != NULL ? wall : queue);

    load->key.expires = DUEQ_NEVER;
    if (wall != NULL)
        load->key.expires = expiry_at(at);
    else if (queue != NULL && at > -EXPIRY_REACH && at < EXPIRY_REACH)
        load->key.expires = EXPIRY_MIDDLE + at;
    return (wall == NULL || json_is_integer(wall)) &&
           (queue == NULL || load->key.expires != DUEQ_NEVER);
}

static bool load_key(struct load *load, json_t *object)
{
    if (!read_words(load, object) || !read_expiry(load, object))
        return refuse(load, "this is no key");
    keys_restore_begin(store_keys(load->store), &load->key);
    return true;
}

static bool read_score(const json_t *value, double *ret_score)
{
    const char *text = json_string_value(value);

    *ret_score = json_number_value(value);
    if (text != NULL)
        *ret_score = text[0] == '-' ? -INFINITY : INFINITY;
    return json_is_number(value) ||
           (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0));
}

/* `second`: the value of a field, the score of a member. */
static bool add_one(struct load *load, const struct keys_view *view, struct dueq_slice name,
                    struct dueq_slice element, json_t *second)
{
    struct dueq_slice value = dueq_slice(NULL, 0);
    double score = 0;

    if (load->key.type == KEYS_HASH && !json_read_bytes(second, &value))
        return refuse(load, "a field has no value");
    if (load->key.type == KEYS_ZSET && !read_score(second, &score))
        return refuse(load, "a member has no score");
    return check(load, keys_restore_add(view, name, &load->key, element, value, score));
}

static bool commit(struct load *load)
{
    uint64_t lsn;

    if (!check(load, dueq_commit(load->store, load->time, &lsn)))
        return false;
    dueq_maintain(load->store, false);
    return true;
}

static bool commit_some(struct load *load)
{
    return dueq_batch_bytes(load->store) < COMMIT_BYTES || commit(load);
}

static bool load_elements(struct load *load, json_t *object, struct dueq_slice name)
{
    json_t *elements = json_object_get(object, "elements"),
           *database = json_object_get(object, "db");
    size_t step = load->key.type == KEYS_HASH || load->key.type == KEYS_ZSET ? 2 : 1;
    struct keys_view view =
        keys_restore_view(store_keys(load->store), (unsigned)json_integer_value(database));

    if (load->key.type == KEYS_NONE || !json_is_array(elements) || !json_is_integer(database) ||
        json_integer_value(database) < 0 || json_integer_value(database) >= KEYS_DATABASES_MAX)
        return refuse(load, "these are no elements of a key");
    for (size_t i = 0; i < json_array_size(elements); i += step) {
        struct dueq_slice element;

        if (!json_read_bytes(json_array_get(elements, i), &element))
            return refuse(load, "an element does not read");
        if (!add_one(load, &view, name, element, json_array_get(elements, i + 1)) ||
            !commit_some(load))
            return false;
    }
    return check(load, keys_restore_end(&view, name, &load->key));
}

/* ---- lines */

static bool load_end(struct load *load, const json_t *count)
{
    load->ended = true;
    if (json_integer_value(count) != (json_int_t)load->line - 1)
        return refuse(load, "lines are missing");
    return release_waiting(load);
}

static bool load_object(struct load *load, json_t *object)
{
    const char *what = json_object_iter_key(json_object_iter(object));
    struct dueq_slice name;
    json_t *first = what == NULL ? NULL : json_object_get(object, what);

    if (what == NULL || load->ended)
        return refuse(load, "there is no such line in a dump");
    if (strcmp(what, "dueq_dump") == 0)
        return load_head(load, object);
    if (load->store == NULL)
        return refuse(load, "the first line is not that of a dump");
    if (strcmp(what, "end") == 0)
        return load_end(load, first);
    if (!json_read_bytes(first, &name))
        return refuse(load, "a name does not read");
    if (strcmp(what, "settings") == 0)
        return load_settings(load, object, name);
    if (strcmp(what, "cron") == 0)
        return load_cron(load, object, name);
    if (strcmp(what, "topic") == 0)
        return load_topic(load, object, name);
    if (strcmp(what, "job") == 0)
        return load_job(load, object, name);
    if (strcmp(what, "bucket") == 0)
        return load_bucket(load, object, name);
    if (strcmp(what, "after") == 0)
        return load_edge(load, object, name);
    if (strcmp(what, "key") == 0)
        return load_key(load, object);
    if (strcmp(what, "add") == 0)
        return load_elements(load, object, name);
    return refuse(load, "there is no such line in a dump");
}

static bool load_line(struct load *load, const char *text, size_t size)
{
    json_t *object = json_loadb(text, size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    bool loaded;

    load->line++;
    if (load->line % 10000 == 0)
        offline_show("load", load->line);
    if (!json_is_object(object)) {
        json_decref(object);
        return refuse(load, "this is no line of JSON");
    }
    loaded = load_object(load, object) && commit_some(load);
    json_decref(object);
    return loaded;
}

static bool load_lines(struct load *load)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t size;
    bool loaded = true;

    while (loaded && (size = getline(&text, &room, stdin)) >= 0)
        loaded = load_line(load, text, (size_t)size);
    if (loaded && !load->ended && !feof(stdin)) {
        fprintf(stderr, "dueq: standard input: %s\n", strerror(errno));
        loaded = fail(load, "the dump cannot be read");
    }
    free(text);
    return loaded && (load->ended || refuse(load, "the dump is cut off"));
}

/* ---- the directory */

static bool close_store(struct load *load)
{
    enum dueq_status status = DUEQ_OK;

    dueq_set_durability(load->store, DUEQ_SYNC_ALWAYS, 0);
    status = dueq_close(load->store); /* syncs, and writes a checkpoint */
    load->store = NULL;
    if (status != DUEQ_OK)
        fprintf(stderr, "dueq: %s: %s\n", load->directory.path, dueq_status_text(status));
    return status == DUEQ_OK;
}

static int report(const struct load *load)
{
    const char *why = load->wrong != NULL ? load->wrong : dueq_status_text(load->status);

    offline_show("", 0);
    fprintf(stderr, "dueq: line %llu: %s\n", (unsigned long long)load->line, why);
    return load->status == DUEQ_OK || load->status == DUEQ_INVALID ||
                   load->status == DUEQ_DUPLICATE || load->status == DUEQ_NOTFOUND
               ? OFFLINE_DAMAGED
               : OFFLINE_FAILED;
}

int load_main(const char *dir)
{
    struct load load = {.line = 0};
    int result = OFFLINE_FAILED;

    if (!new_directory_begin(&load.directory, dir, "load"))
        return OFFLINE_FAILED;
    if (!load_lines(&load) || !commit(&load))
        result = report(&load);
    else if (close_store(&load) && new_directory_put(&load.directory))
        result = OFFLINE_DONE;
    dueq_abandon(load.store);
    if (result != OFFLINE_DONE && rmdir(load.directory.path) != 0)
        fprintf(stderr, "dueq: what was loaded so far is in %s\n", load.directory.path);
    offline_show("", 0);
    return result;
}
