/* What is true for a data directory that somebody has changed: an opening refuses it with
 * words, or the store answers commands with whole replies, some of them errors, and nothing
 * crashes or hangs. For fuzz_table.c and fuzz_pages.c, and the tests that replay their inputs.
 *
 * The directory has every kind of record (full_store.h), all in data.mdb. */
#ifndef DUEQ_STORE_CHECK_H
#define DUEQ_STORE_CHECK_H

#include "storage/kv/cursor.h"
#include "tests/fuzz/command_check.h"
#include "tests/support/store/full_store.h"
#include "tests/support/store/store_fixture.h"

#include <limits.h>
#include <stdio.h>

struct store_record {
    struct dueq_slice key, value; /* the caller's, for ever */
};

/* Made once, and the same in each process. */
struct store_pattern {
    uint8_t *format, *data; /* the files FORMAT and data.mdb */
    size_t format_size, data_size;
    struct store_record *records; /* in the order of their keys */
    size_t count;
};

static inline void store_path(char *path, const char *dir, const char *name)
{
    snprintf(path, PATH_MAX, "%s/%s", dir, name);
}

static inline uint8_t *store_load(const char *dir, const char *name, size_t *ret_size)
{
    char path[PATH_MAX];
    uint8_t *bytes = NULL;
    size_t room;
    FILE *file, *copy = open_memstream((char **)&bytes, &room);
    int byte;

    store_path(path, dir, name);
    file = fopen(path, "re");
    if (file == NULL || copy == NULL)
        abort();
    while ((byte = fgetc(file)) != EOF)
        fputc(byte, copy);
    fclose(file);
    fclose(copy);
    *ret_size = room;
    return bytes;
}

static inline void store_save(const char *dir, const char *name, const uint8_t *bytes,
                              size_t size)
{
    char path[PATH_MAX];
    FILE *file;

    store_path(path, dir, name);
    file = fopen(path, "we");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static inline struct dueq_slice store_copy(struct dueq_slice bytes)
{
    void *copy = malloc(bytes.size + 1);

    if (copy == NULL)
        abort();
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    return dueq_slice(copy, bytes.size);
}

static inline void store_list_records(struct store_pattern *pattern, struct kv *kv)
{
    struct kv_cursor *cursor = kv_cursor_new(kv);
    enum dueq_status status = kv_cursor_seek(cursor, dueq_slice("\1", 1));

    for (; status == DUEQ_OK; status = kv_cursor_next(cursor)) {
        pattern->records =
            realloc(pattern->records, (pattern->count + 1) * sizeof(*pattern->records));
        if (pattern->records == NULL)
            abort();
        pattern->records[pattern->count++] = (struct store_record){
            store_copy(kv_cursor_key(cursor)), store_copy(kv_cursor_value(cursor))};
    }
    kv_cursor_free(cursor);
}

static inline const struct store_pattern *store_pattern(void)
{
    static struct store_pattern pattern;
    struct store_fixture fixture;

    if (pattern.count > 0)
        return &pattern;
    store_fixture_init(&fixture);
    fixture.options.seed = 42;
    store_fixture_open(&fixture);
    full_store_fill(&fixture);
    store_fixture_checkpoint(&fixture);
    store_list_records(&pattern, fixture.store->kv);
    store_fixture_close(&fixture);
    pattern.format = store_load(fixture.dir, "FORMAT", &pattern.format_size);
    pattern.data = store_load(fixture.dir, "data.mdb", &pattern.data_size);
    store_fixture_release(&fixture);
    return &pattern;
}

/* ---- commands, on what full_store_fill has made */

static const char store_lines[] =
    "aQ.TOPICS\naQ.STATS mail\naQ.STATS paused\naQ.CONFIG LIST\naQ.CONFIG GET mail\n"
    "aQ.PEEK mail 5\naQ.SCAN mail 0 COUNT 100\naQ.GET mail id1\naQ.GET mail id78\n"
    "aQ.GET done d\naQ.GET dead e\naQ.GET retried r\naQ.EXPLAIN mail id3\naQ.FORECAST mail 1h\n"
    "aQ.DEAD LIST dead\naQ.CLAIM mail COUNT 3\naQ.PUSH mail x ID id1\naQ.PUSH mail y\n"
    "aQ.UPDATE mail id5 body\naQ.CANCEL mail id7\naQ.ACK claimed c 1\naQ.EXTEND claimed c 1 "
    "5s\n"
    "aQ.RESUME paused\naQ.CLAIM paused\naQ.DEAD REDRIVE dead\naQ.WAIT done d\naQ.LEN mail\n"
    "+70000\naDBSIZE\naGET number\naGET expires\naAPPEND large x\naINCR number\naTTL at\n"
    "aHGETALL hash\naHSET hash member3 x\naHDEL hash-small member1\naHSCAN hash 0\n"
    "aLRANGE list 0 -1\naLINSERT list BEFORE member5 x\naLPOP list 3\naLRANGE list-small 0 -1\n"
    "aLREM list-small 0 member1\naSMEMBERS set\naSADD set-small x\naSPOP set\naSREM set "
    "member9\n"
    "aZRANGE zset 0 -1 WITHSCORES\naZADD zset 5 member7\naZRANGEBYSCORE zset 1 9\n"
    "aZRANK zset member70\naZPOPMIN zset 2\naZREM zset-small member2\naZADD zset-small 7 q\n"
    "aSCAN 0 COUNT 1000\naOBJECT ENCODING zset\naMEMORY USAGE hash\naRENAME list list2\n"
    "aCOPY hash hash2\naSELECT 3\naSCAN 0 COUNT 100\naHLEN hash-other\naDEL zset-other\n"
    "aSELECT 0\n=\naQ.PURGE mail STATE delayed\naQ.DROP retried\naFLUSHDB\naQ.TOPICS\n+100000\n"
    "aINFO\naQ.FLUSH\naFLUSHALL\n+1000\n";

static inline bool store_runs(char *dir)
{
    struct dueq_options options = command_options();
    struct command_check check = {.runner = runner_new(dir, &options), .sound = true};
    struct dueq_verify verify = {.on_finding = NULL};
    void *state = check.runner;

    if (check.runner == NULL)
        return true;
    check.runner->by_slices = true;
    dueq_verify(check.runner->server.store, &verify);
    command_lines(&check, store_lines);
    command_end_clients(&check);
    runner_teardown(&state);
    return check.sound;
}

#endif
