/* `dueq dump`: everything in a data directory as lines of JSON. */
#include "server/subcommands.h"
#include "storage/keys/hash.h"
#include "storage/keys/keys.h"
#include "storage/keys/list.h"
#include "storage/keys/keys_restore.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "storage/kv/kv.h"
#include "storage/store.h"
#include "tools/offline/job_json.h"
#include "tools/offline/json_bytes.h"
#include "tools/offline/offline.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE_ELEMENTS = 2000,   /* of a line; a collection may take several */
    LINE_BYTES = 256 * 1024 /* of their elements, beyond which a line ends */
};

struct dump {
    struct dueq *store;
    uint64_t lines;
    bool failed; /* out of memory, or the output takes no more */
};

/* Writes the object as a line and frees it. */
static bool write_line(struct dump *dump, json_t *object, bool complete)
{
    if (!complete || object == NULL || json_dumpf(object, stdout, JSON_COMPACT) != 0 ||
        putchar('\n') == EOF)
        dump->failed = true;
    json_decref(object);
    dump->lines++;
    if (dump->lines % 10000 == 0)
        offline_show("dump", dump->lines);
    return !dump->failed;
}

/* An object of one name and its bytes; the first in a line says what the line is. */
static json_t *named(const char *what, struct dueq_slice name)
{
    json_t *object = json_object();

    if (json_object_set_new(object, what, json_bytes(name)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

/* ---- the store */

static bool dump_head(struct dump *dump)
{
    struct whole_topic numbers;
    struct dueq_timeline line;
    json_t *outliving = json_object(), *object = json_object(), *clock = json_object();
    bool complete;

    queue_get_outliving(dump->store->queue, &numbers);
    complete =
        json_object_set_new(object, "dueq_dump", json_integer(1)) == 0 &&
        json_object_set_new(object, "time", json_integer(dueq_time_floor(dump->store))) == 0 &&
        json_object_set_new(object, "seed",
                            json_integer((json_int_t)kv_seed(dump->store->kv))) == 0 &&
        job_json_write_topic(outliving, &numbers) &&
        json_object_set(object, "topics", outliving) == 0;
    if (dueq_get_timeline(dump->store, &line))
        complete = complete && job_json_write_timeline(clock, &line) &&
                   json_object_set(object, "timeline", clock) == 0;
    json_decref(outliving);
    json_decref(clock);
    return write_line(dump, object, complete);
}

static enum dueq_status dump_settings(struct dump *dump)
{
    char name[DUEQ_NAME_MAX];
    struct dueq_slice scope = {name, 0}, next;
    struct dueq_settings settings;

    while (dueq_settings_after(dump->store, scope, &next) == DUEQ_OK) {
        enum dueq_status status;
        json_t *object;

        memcpy(name, next.data, next.size);
        scope.size = next.size;
        status = dueq_get_settings(dump->store, scope, &settings);
        if (status != DUEQ_OK)
            return status;
        object = named("settings", scope);
        if (!write_line(dump, object,
                        object != NULL && job_json_write_settings(object, &settings)))
            break;
    }
    return DUEQ_OK;
}

static enum dueq_status dump_crons(struct dump *dump)
{
    struct dueq_slice name = {NULL, 0};
    enum dueq_status found, status;
    struct cron cron;

    while ((found = dueq_cron_after(dump->store, name, &name)) == DUEQ_OK) {
        json_t *object = named("cron", name);

        status = cron_load(dump->store->queue, name, &cron);
        if (status != DUEQ_OK) {
            json_decref(object);
            return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
        }
        if (!write_line(dump, object, object != NULL && job_json_write_cron(object, &cron)))
            break;
    }
    return found == DUEQ_NOTFOUND ? DUEQ_OK : found;
}

/* ---- topics */

struct topic_dump {
    struct dump *dump;
    struct dueq_slice name;
};

static bool dump_job(void *arg, const struct whole_job *job)
{
    struct topic_dump *topic = arg;
    json_t *object = named("job", topic->name);

    return write_line(topic->dump, object, object != NULL && job_json_write_job(object, job));
}

static bool dump_bucket(void *arg, const struct whole_bucket *bucket)
{
    struct topic_dump *topic = arg;
    json_t *object = named("bucket", topic->name);

    return write_line(topic->dump, object,
                      object != NULL && job_json_write_bucket(object, bucket));
}

static enum dueq_status dump_topic(struct dump *dump, struct dueq_slice name)
{
    struct topic_dump topic = {dump, name};
    struct whole_topic whole;
    enum dueq_status status = queue_whole_topic(dump->store->queue, name, &whole);
    json_t *object;

    if (status != DUEQ_OK)
        return status;
    object = named("topic", name);
    if (!write_line(dump, object, object != NULL && job_json_write_topic(object, &whole)))
        return DUEQ_OK;
    status = queue_each_whole_job(dump->store->queue, name, dump_job, &topic);
    return status == DUEQ_OK && !dump->failed
               ? queue_each_whole_bucket(dump->store->queue, name, dump_bucket, &topic)
               : status;
}

static bool dump_edge(void *arg, const struct whole_edge *edge)
{
    struct topic_dump *topic = arg;
    json_t *object = named("after", topic->name);

    return write_line(topic->dump, object, object != NULL && job_json_write_edge(object, edge));
}

static enum dueq_status dump_edges(struct dump *dump, struct dueq_slice name)
{
    struct topic_dump topic = {dump, name};

    return queue_each_whole_edge(dump->store->queue, name, dump_edge, &topic);
}

static enum dueq_status dump_topics(struct dump *dump,
                                    enum dueq_status (*fn)(struct dump *dump,
                                                           struct dueq_slice name))
{
    char name[DUEQ_NAME_MAX];
    struct dueq_slice topic = {name, 0}, next;
    enum dueq_status status = DUEQ_OK, found;

    while (status == DUEQ_OK && !dump->failed) {
        found = dueq_topic_after(dump->store, topic, &next);
        if (found != DUEQ_OK)
            return found == DUEQ_NOTFOUND ? DUEQ_OK : found;
        memcpy(name, next.data, next.size);
        topic.size = next.size;
        status = fn(dump, topic);
    }
    return status;
}

/* ---- keys */

struct key_dump {
    struct dump *dump;
    const struct keys_view *view;
    enum dueq_status status;
    struct dueq_slice name; /* of the key that is dumped */
    json_t *elements;       /* of the line that is being made */
    size_t bytes;
};

/* The elements so far, in a line that adds them to the key. */
static bool write_elements(struct key_dump *key)
{
    json_t *object = named("add", key->name);
    bool complete = object != NULL &&
                    json_object_set_new(object, "db", json_integer(key->view->database)) == 0 &&
                    json_object_set(object, "elements", key->elements) == 0;

    json_decref(key->elements);
    key->elements = json_array();
    key->bytes = 0;
    return write_line(key->dump, object, complete);
}

static bool add_element(struct key_dump *key, json_t *element, size_t bytes)
{
    if (json_array_append_new(key->elements, element) != 0) {
        key->dump->failed = true;
        return false;
    }
    key->bytes += bytes;
    return true;
}

static bool end_element(struct key_dump *key)
{
    if (json_array_size(key->elements) >= LINE_ELEMENTS || key->bytes >= LINE_BYTES)
        return write_elements(key);
    return true;
}

static bool dump_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    (void)value;
    return add_element(arg, json_bytes(element), element.size) && end_element(arg);
}

static bool dump_field(void *arg, struct dueq_slice field, struct dueq_slice value)
{
    return add_element(arg, json_bytes(field), field.size) &&
           add_element(arg, json_bytes(value), value.size) && end_element(arg);
}

/* JSON has no infinite numbers. */
static bool dump_scored(void *arg, const struct zset_entry *entry)
{
    json_t *score = isinf(entry->score) ? json_string(entry->score < 0 ? "-inf" : "inf")
                                        : json_real(entry->score);

    return add_element(arg, json_bytes(entry->member), entry->member.size) &&
           add_element(arg, score, 8) && end_element(arg);
}

static enum dueq_status dump_string(struct key_dump *key)
{
    struct dueq_slice value;
    enum dueq_status status = string_get(key->view, key->name, &value);

    if (status == DUEQ_OK)
        dump_element(key, value, value);
    return status;
}

static enum dueq_status dump_value(struct key_dump *key, enum keys_type type)
{
    switch (type) {
    case KEYS_STRING:
        return dump_string(key);
    case KEYS_LIST:
        return list_each(key->view, key->name, 0, LIST_TAIL, dump_element, key);
    case KEYS_SET:
        return set_each(key->view, key->name, dump_element, key);
    case KEYS_HASH:
        return hash_each(key->view, key->name, dump_field, key);
    default:
        return zset_each_from(key->view, key->name, 0, false, dump_scored, key);
    }
}

static bool add_expiry(json_t *object, int64_t expires)
{
    return expires == DUEQ_NEVER ||
           json_object_set_new(object, expiry_on_wall(expires) ? "expires_wall" : "expires",
                               json_integer(expiry_time(expires))) == 0;
}

static bool dump_key(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    struct key_dump *key = arg;
    json_t *object = named("key", name);
    bool complete =
        object != NULL &&
        json_object_set_new(object, "db", json_integer(key->view->database)) == 0 &&
        json_object_set_new(object, "type", json_string(keys_type_name(info->type))) == 0 &&
        json_object_set_new(object, "encoding",
                            json_string(keys_encoding_name(info->encoding))) == 0 &&
        add_expiry(object, info->expires);

    if (!write_line(key->dump, object, complete))
        return false;
    key->name = name;
    key->status = dump_value(key, info->type);
    if (json_array_size(key->elements) > 0)
        write_elements(key);
    return key->status == DUEQ_OK && !key->dump->failed;
}

/* At a time at which nothing has expired: what has, and is not deleted yet, is dumped too. */
static enum dueq_status dump_database(struct dump *dump, unsigned database)
{
    struct keys_view view = keys_restore_view(store_keys(dump->store), database);
    struct key_dump key = {.dump = dump, .view = &view, .elements = json_array()};
    enum dueq_status status;
    uint64_t cursor = 0;

    do {
        status = keys_scan(&view, cursor, 1000, dump_key, &key, &cursor);
        if (key.status != DUEQ_OK)
            status = key.status;
    } while (status == DUEQ_OK && cursor != 0 && !dump->failed);
    json_decref(key.elements);
    return status;
}

/* ---- all */

static enum dueq_status dump_all(struct dump *dump)
{
    enum dueq_status status = DUEQ_OK;

    if (dump_head(dump))
        status = dump_settings(dump);
    if (status == DUEQ_OK && !dump->failed)
        status = dump_crons(dump);
    if (status == DUEQ_OK)
        status = dump_topics(dump, dump_topic);
    if (status == DUEQ_OK)
        status = dump_topics(dump, dump_edges);
    for (unsigned i = 0; i < KEYS_DATABASES_MAX && status == DUEQ_OK && !dump->failed; i++)
        status = dump_database(dump, i);
    if (status == DUEQ_OK && !dump->failed)
        write_line(dump, json_pack("{s:I}", "end", (json_int_t)dump->lines), true);
    return status;
}

int dump_main(const char *dir)
{
    struct dump dump = {NULL, 0, false};
    struct dueq_time time = {DUEQ_DEFAULT, offline_time().wall, DUEQ_DEFAULT};
    int result = offline_open(dir, false, NULL, time, &dump.store);
    enum dueq_status status;

    if (result != OFFLINE_DONE)
        return result;
    status = dump_all(&dump);
    offline_show("", 0);
    if (status != DUEQ_OK) {
        fprintf(stderr, "dueq: %s: %s\n", dir, offline_reason(dump.store, status));
        result = status == DUEQ_CORRUPT ? OFFLINE_DAMAGED : OFFLINE_FAILED;
    } else if (dump.failed || fflush(stdout) != 0) {
        fprintf(stderr, "dueq: the dump cannot be written: %s\n", strerror(errno));
        result = OFFLINE_FAILED;
    }
    dueq_abandon(dump.store);
    return result;
}
