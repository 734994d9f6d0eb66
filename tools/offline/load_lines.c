/* `dueq load`: makes a data directory from what `dueq dump` wrote. It is made beside its place
 * and renamed when it is whole, so that no half of it is ever taken for all. */
#include "server/subcommands.h"
#include "storage/keys/hash.h"
#include "storage/keys/keys.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "storage/store.h"
#include "tools/offline/job_json.h"
#include "tools/offline/json_bytes.h"
#include "tools/offline/offline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMIT_BYTES = 1024 * 1024 };

struct load {
    const char *dir;      /* where it is made */
    bool replaces;        /* an empty directory: */
    struct stat replaced; /* its owner and mode stay */
    struct dueq *store;
    struct dueq_time time;
    uint64_t line;
    bool ended;
    const char *wrong;       /* with the line; NULL: nothing */
    enum dueq_status status; /* of the store; it says what is wrong, unless `wrong` does */
    enum keys_type type;     /* of the key that lines add to */
    enum keys_encoding encoding;
    int64_t expires;
    uint8_t history[JOB_RECORD_HISTORY_MAX];
};

static bool refuse(struct load *load, const char *wrong)
{
    load->wrong = wrong;
    return false;
}

static bool check(struct load *load, enum dueq_status status)
{
    load->status = status;
    return status == DUEQ_OK;
}

/* ---- the store */

static bool open_for(struct load *load, const json_t *object)
{
    const json_t *time = json_object_get(object, "time"),
                 *seed = json_object_get(object, "seed");
    struct dueq_options options;

    if (!json_is_integer(time) || json_integer_value(time) < 0 ||
        json_integer_value(time) > SAFE_TIME_MAX || !json_is_integer(seed))
        return refuse(load, "the first line is not that of a dump");
    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE; /* it is synced as a whole, at the end */
    options.seed = (uint64_t)json_integer_value(seed);
    load->time.now = load->time.wall = load->time.ceiling = json_integer_value(time);
    if (offline_open(load->dir, true, &options, load->time, &load->store) != OFFLINE_DONE)
        return refuse(load, "the store cannot be made");
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
    if (!open_for(load, object))
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

/* ---- keys */

static bool read_words(struct load *load, const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type")),
               *encoding = json_string_value(json_object_get(object, "encoding"));
    bool known = false;

    load->type = KEYS_NONE;
    for (int i = KEYS_STRING; type != NULL && i <= KEYS_HASH; i++)
        if (strcmp(type, keys_type_name((enum keys_type)i)) == 0)
            load->type = (enum keys_type)i;
    for (int i = KEYS_RAW; encoding != NULL && i <= KEYS_SKIPLIST && !known; i++) {
        load->encoding = (enum keys_encoding)i;
        known = strcmp(encoding, keys_encoding_name(load->encoding)) == 0;
    }
    return load->type != KEYS_NONE && known;
}

/* Within limits without an end a value stays compact; above limits of 0 it never is. */
static void set_limits(struct load *load)
{
    bool compact = load->encoding == KEYS_LISTPACK || load->encoding == KEYS_INTSET;
    uint64_t most = compact ? UINT64_MAX : 0;
    struct keys_limits limits = {most, most, most, most, most, UINT64_MAX};

    keys_set_limits(store_keys(load->store), &limits);
}

static bool read_expiry(struct load *load, const json_t *object)
{
    const json_t *wall = json_object_get(object, "expires_wall"),
                 *queue = json_object_get(object, "expires");
    int64_t at = json_integer_value(wall != NULL ? wall : queue);

    load->expires = DUEQ_NEVER;
    if (wall != NULL)
        load->expires = expiry_at(at);
    else if (queue != NULL && at > -EXPIRY_REACH && at < EXPIRY_REACH)
        load->expires = EXPIRY_MIDDLE + at;
    return (wall == NULL || json_is_integer(wall)) &&
           (queue == NULL || load->expires != DUEQ_NEVER);
}

static bool load_key(struct load *load, json_t *object)
{
    if (!read_words(load, object) || !read_expiry(load, object))
        return refuse(load, "this is no key");
    set_limits(load);
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

static enum dueq_status add_string(struct load *load, const struct keys_view *view,
                                   struct dueq_slice name, struct dueq_slice value)
{
    enum string_origin origin = load->encoding == KEYS_INT   ? STRING_GIVEN
                                : load->encoding == KEYS_RAW ? STRING_EDITED
                                                             : STRING_MADE;

    return string_set(view, name, value, load->expires, origin);
}

/* `second`: the value of a field, the score of a member. */
static bool add_one(struct load *load, const struct keys_view *view, struct dueq_slice name,
                    struct dueq_slice element, json_t *second)
{
    const struct zset_rule rule = {.if_absent = false};
    struct dueq_slice value;
    enum zset_effect effect;
    double score;
    bool added;

    switch (load->type) {
    case KEYS_STRING:
        return check(load, add_string(load, view, name, element));
    case KEYS_LIST:
        return check(load, list_push(view, name, LIST_TAIL, element));
    case KEYS_SET:
        return check(load, set_add(view, name, element, &added));
    case KEYS_HASH:
        return json_read_bytes(second, &value)
                   ? check(load, hash_set(view, name, element, value, &added))
                   : refuse(load, "a field has no value");
    default:
        return read_score(second, &score)
                   ? check(load, zset_add(view, name, element, &rule, &score, &effect))
                   : refuse(load, "a member has no score");
    }
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
    size_t step = load->type == KEYS_HASH || load->type == KEYS_ZSET ? 2 : 1;
    struct keys_view view = {store_keys(load->store), (unsigned)json_integer_value(database),
                             EXPIRY_LONG_AGO};

    if (load->type == KEYS_NONE || !json_is_array(elements) || !json_is_integer(database) ||
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
    if (load->expires != DUEQ_NEVER && load->type != KEYS_STRING)
        return check(load, keys_expire(&view, name, load->expires));
    return true;
}

/* ---- lines */

static bool load_end(struct load *load, const json_t *count)
{
    load->ended = true;
    if (json_integer_value(count) != (json_int_t)load->line - 1)
        return refuse(load, "lines are missing");
    return true;
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
    if (strcmp(what, "topic") == 0)
        return load_topic(load, object, name);
    if (strcmp(what, "job") == 0)
        return load_job(load, object, name);
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
    free(text);
    return loaded && (load->ended || refuse(load, "the dump is cut off"));
}

/* ---- the directory */

static bool complain(const char *what, const char *path)
{
    fprintf(stderr, "dueq: %s %s: %s\n", what, path, strerror(errno));
    return false;
}

/* The name without slashes at its end; of a directory that is there, without links.
 * ret_name: PATH_MAX bytes. */
static bool find_name(const char *dir, char *ret_name)
{
    size_t size = strlen(dir);

    if (realpath(dir, ret_name) != NULL)
        return true;
    while (size > 1 && dir[size - 1] == '/')
        size--;
    if (errno != ENOENT || size == 0 || size >= PATH_MAX)
        return complain("load makes a directory:", dir);
    memcpy(ret_name, dir, size);
    ret_name[size] = '\0';
    return true;
}

/* Sets errno when it is not. */
static bool is_empty(const char *dir)
{
    DIR *entries = opendir(dir);
    const struct dirent *entry;

    if (entries == NULL)
        return false;
    errno = 0;
    while ((entry = readdir(entries)) != NULL && errno == 0)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            errno = ENOTEMPTY;
    closedir(entries);
    return errno == 0;
}

/* Rename puts a directory in the place of an empty one, but not of a mount point. */
static bool can_be_replaced(struct load *load, const char *dir)
{
    struct statx more;

    if (lstat(dir, &load->replaced) != 0)
        return errno == ENOENT;
    load->replaces = true;
    if (statx(AT_FDCWD, dir, AT_SYMLINK_NOFOLLOW, 0, &more) == 0 &&
        (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
        errno = EBUSY;
        return false;
    }
    return is_empty(dir);
}

/* Of an earlier load nothing may be left but an empty directory. */
static bool make_beside(const struct load *load)
{
    if ((rmdir(load->dir) != 0 && errno != ENOENT) || mkdir(load->dir, 0700) != 0)
        return complain("load makes the directory", load->dir);
    if (!load->replaces || chown(load->dir, load->replaced.st_uid, load->replaced.st_gid) == 0)
        return true;
    complain("the owner of the empty directory cannot be kept by", load->dir);
    rmdir(load->dir);
    return false;
}

static uid_t owner; /* for give, to which nftw hands no argument */
static gid_t group;

static int give(const char *path, const struct stat *found, int type, struct FTW *at)
{
    (void)found;
    (void)type;
    (void)at;
    return lchown(path, owner, group);
}

/* The files get the owner too: those who start a service see to it only when the directory has
 * another one. */
static bool keep_owner_and_mode(const struct load *load)
{
    const struct stat *kept = &load->replaced;
    bool done;
    int fd;

    if (!load->replaces)
        return true;
    owner = kept->st_uid;
    group = kept->st_gid;
    fd = open(load->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    done = fd >= 0 && nftw(load->dir, give, 8, FTW_PHYS) == 0 &&
           fchmod(fd, kept->st_mode & 07777) == 0 && syncfs(fd) == 0;
    if (!done)
        complain("owner and mode of the empty directory cannot be kept by", load->dir);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Its syncs and its rename, so that a power cut afterwards leaves all of it. */
static bool put_in_place(struct load *load, const char *dir)
{
    char parent[PATH_MAX + sizeof("/..")];
    int fd;

    if (rename(load->dir, dir) != 0) {
        fprintf(stderr, "dueq: rename %s to %s: %s\n", load->dir, dir, strerror(errno));
        return false;
    }
    snprintf(parent, sizeof(parent), "%s/..", dir);
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        fprintf(stderr, "dueq: sync %s: %s\n", parent, strerror(errno));
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool close_store(struct load *load)
{
    enum dueq_status status = DUEQ_OK;

    dueq_set_durability(load->store, DUEQ_SYNC_ALWAYS, 0);
    status = dueq_close(load->store); /* syncs, and writes a checkpoint */
    load->store = NULL;
    if (status != DUEQ_OK)
        fprintf(stderr, "dueq: %s: %s\n", load->dir, dueq_status_text(status));
    return status == DUEQ_OK;
}

static int report(const struct load *load)
{
    const char *why = load->wrong != NULL ? load->wrong : dueq_status_text(load->status);

    offline_show("", 0);
    fprintf(stderr, "dueq: line %llu: %s\n", (unsigned long long)load->line, why);
    return load->wrong != NULL || load->status == DUEQ_INVALID ||
                   load->status == DUEQ_DUPLICATE || load->status == DUEQ_NOTFOUND
               ? OFFLINE_DAMAGED
               : OFFLINE_FAILED;
}

/* name, path: PATH_MAX bytes; the directory, and the one that is made beside it. */
static bool prepare(struct load *load, const char *dir, char *name, char *path)
{
    if (!find_name(dir, name))
        return false;
    if (snprintf(path, PATH_MAX, "%s.loading", name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return complain("load makes a directory:", name);
    }
    if (!can_be_replaced(load, name))
        return complain("load makes a directory, or fills an empty one:", name);
    return make_beside(load);
}

int load_main(const char *dir)
{
    char name[PATH_MAX], path[PATH_MAX];
    struct load load = {.dir = path};
    int result = OFFLINE_FAILED;

    if (!prepare(&load, dir, name, path))
        return OFFLINE_FAILED;
    if (load_lines(&load) && commit(&load)) {
        if (close_store(&load) && keep_owner_and_mode(&load) && put_in_place(&load, name))
            result = OFFLINE_DONE;
    } else {
        result = report(&load);
    }
    dueq_abandon(load.store);
    if (result != OFFLINE_DONE && rmdir(path) != 0)
        fprintf(stderr, "dueq: what was loaded so far is in %s\n", path);
    offline_show("", 0);
    return result;
}
