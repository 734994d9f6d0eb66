/* Flips one bit of data.mdb: a later read is right, or an error says that the file is damaged.
 * A read is never wrong, and no read or checkpoint ends in a signal. Half of the bits are in
 * the structure: meta pages, page headers, pointers to other pages.
 *
 * The seed is fixed; SEED= sets another, STEPS= scales. */
#include "storage/dueq.h"
#include "storage/io.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "tests/support/dice.h"
#include "tests/support/faults/lmdb_disk.h"
#include "tests/support/temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { KEYS = 2600, PAGE = 4096, HEAD = 200, LARGE = 9000 };

static struct {
    struct dice dice;
    char *dir;
    char path[PATH_MAX];
    uint8_t *bytes; /* of the undamaged file */
    size_t size;
    bool present[KEYS];
    size_t bit; /* the bit that is flipped */
    unsigned long found, harmless;
} test;

/* Keys of all lengths, so that the tree is deep; ascending with i. In tables that have runs
 * (Q, U) and in another. */
static struct dueq_slice key_of(int i, char *space)
{
    size_t size = (size_t)sprintf(space, "%c%05d", "QUk"[i / (KEYS / 3 + 1)], i),
           longer = i % 7 == 0 ? KV_KEY_MAX : 40;

    memset(space + size, 'x', longer - size);
    return dueq_slice(space, i % 3 == 0 ? longer : size);
}

static struct dueq_slice value_of(int i)
{
    static uint8_t value[LARGE];
    size_t size = i % 50 == 9 ? LARGE - (size_t)i % 100 : (size_t)i % 90;

    for (size_t at = 0; at < size; at++)
        value[at] = (uint8_t)dice_hash((uint64_t)i * 7919 + at / 8);
    return dueq_slice(value, size);
}

/* ---- the undamaged file */

static int sync_no_names(void *arg, const char *path)
{
    (void)arg;
    (void)path;
    return 0;
}

static enum dueq_status open_space(struct kv **ret_kv)
{
    static struct dueq_io io;
    struct dueq_options options;
    struct dueq_error error = {""};
    enum dueq_status status;

    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE;
    options.memtable_bytes = 1 << 20;
    options.segment_bytes = 1 << 20;
    options.map_bytes = 64 << 20;
    options.disk_reserve_bytes = 0;
    options.seed = 42;
    io = io_system;
    io.fsync_dir = sync_no_names;
    options.io = &io;
    status = kv_open(test.dir, &options, ret_kv, &error);
    if (status != DUEQ_OK)
        assert_true(error.text[0] != '\0');
    return status;
}

static void change(struct kv *kv, int i, bool present)
{
    char space[KV_KEY_MAX + 1];
    uint64_t lsn;

    if (present)
        kv_put(kv, key_of(i, space), value_of(i), false);
    else
        kv_del(kv, key_of(i, space));
    assert_int_equal(kv_commit(kv, 1, &lsn), DUEQ_OK);
}

static void load_file(void)
{
    struct stat stats = {0};
    int fd = open(test.path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0 && fstat(fd, &stats) == 0 && stats.st_size > 0);
    test.size = (size_t)stats.st_size;
    test.bytes = malloc(test.size + 1); /* not 0, for the analyser */
    assert_non_null(test.bytes);
    assert_int_equal(read(fd, test.bytes, test.size), test.size);
    close(fd);
}

static void change_some(struct kv *kv, unsigned one_in)
{
    for (int i = 0; i < KEYS; i++)
        if (dice_once_in(&test.dice, one_in)) {
            test.present[i] = !dice_once_in(&test.dice, 3);
            change(kv, i, test.present[i]);
        }
    assert_int_equal(kv_checkpoint(kv), DUEQ_OK);
}

/* Few changes make a run; the file has some. */
static void make_file(void)
{
    struct dueq_stats stats;
    struct kv *kv;

    test.dir = temp_dir_new();
    snprintf(test.path, sizeof(test.path), "%s/data.mdb", test.dir);
    assert_int_equal(open_space(&kv), DUEQ_OK);
    for (int round = 0; round < 4; round++)
        change_some(kv, 2);
    for (int round = 0; round < 3; round++)
        change_some(kv, 40);
    kv_get_stats(kv, &stats);
    assert_true(stats.runs > 1);
    assert_int_equal(kv_close(kv), DUEQ_OK);
    load_file();
}

static void put_file_back(void)
{
    int fd = open(test.path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, test.bytes, test.size, 0), test.size);
    assert_int_equal(ftruncate(fd, (off_t)test.size), 0);
    close(fd);
}

/* ---- reading. False: the store has reported that the file is damaged. */

static bool is_damage(enum dueq_status status)
{
    return status == DUEQ_CORRUPT || status == DUEQ_IO || status == DUEQ_FORMAT;
}

static bool read_keys(struct kv *kv)
{
    bool sound = true;

    for (int i = 0; i < KEYS; i++) {
        char space[KV_KEY_MAX + 1];
        struct dueq_slice value;
        enum dueq_status status = kv_get(kv, key_of(i, space), &value);

        if (is_damage(status)) {
            sound = false;
            continue;
        }
        if (status != (test.present[i] ? DUEQ_OK : DUEQ_NOTFOUND) ||
            (status == DUEQ_OK && !dueq_slice_equal(value, value_of(i))))
            fail_msg("bit %zu of page %zu, key %d: %s", test.bit % (8 * PAGE),
                     test.bit / (8 * PAGE), i, dueq_status_text(status));
    }
    return sound;
}

static bool walk_keys(struct kv *kv, bool onward)
{
    struct kv_cursor *cursor = kv_cursor_new(kv);
    enum dueq_status status = onward ? kv_cursor_seek(cursor, dueq_slice("\1", 1))
                                     : kv_cursor_seek_last(cursor, dueq_slice("z", 1));
    char space[KV_KEY_MAX + 1];

    for (int n = 0; n < KEYS && !is_damage(status); n++) {
        int i = onward ? n : KEYS - 1 - n;

        if (!test.present[i])
            continue;
        assert_int_equal(status, DUEQ_OK);
        assert_true(dueq_slice_equal(kv_cursor_key(cursor), key_of(i, space)));
        assert_true(dueq_slice_equal(kv_cursor_value(cursor), value_of(i)));
        status = onward ? kv_cursor_next(cursor) : kv_cursor_prev(cursor);
    }
    kv_cursor_free(cursor);
    if (!is_damage(status))
        assert_int_equal(status, DUEQ_NOTFOUND);
    return !is_damage(status);
}

/* Makes a checkpoint that changes the whole tree, and reads it afterwards. */
static bool rewrite(struct kv *kv)
{
    enum dueq_status status;

    for (int i = 0; i < KEYS; i += 1 + (int)dice_roll(&test.dice, 40))
        change(kv, i, test.present[i]);
    status = kv_checkpoint(kv);
    if (status != DUEQ_OK) {
        if (!is_damage(status))
            fail_msg("bit %zu, the checkpoint: %s", test.bit, dueq_status_text(status));
        assert_true(kv_failure(kv)[0] != '\0');
        return false;
    }
    return read_keys(kv);
}

static bool live_with_it(void)
{
    struct kv *kv;
    enum dueq_status status = open_space(&kv);
    uint64_t records;
    bool sound;

    if (status != DUEQ_OK) {
        if (!is_damage(status))
            fail_msg("bit %zu, opening: %s", test.bit, dueq_status_text(status));
        return false;
    }
    sound = read_keys(kv);
    sound = walk_keys(kv, true) && sound;
    sound = walk_keys(kv, false) && sound;
    if (kv_check(kv, &records) == DUEQ_OK)
        assert_true(sound); /* a check of the whole finds all that reads find */
    else
        assert_true(kv_damage(kv)[0] != '\0');
    sound = rewrite(kv) && sound;
    kv_abandon(kv);
    return sound;
}

/* ---- the flips */

static size_t choose_bit(void)
{
    uint64_t pages = test.size / PAGE, face = dice_roll(&test.dice, 8);

    if (face == 0)
        return dice_roll(&test.dice, 2) * PAGE * 8 + dice_roll(&test.dice, (size_t)HEAD * 8);
    if (face < 4) { /* the header of a page */
        uint64_t page = dice_roll(&test.dice, pages);

        return page * PAGE * 8 + dice_roll(&test.dice, (size_t)HEAD * 8);
    }
    for (int tries = 0; face < 6 && tries < 1000; tries++) {
        uint64_t page = dice_roll(&test.dice, pages);

        if (test.bytes[page * PAGE + 10] == 1) /* a branch */
            return page * PAGE * 8 + dice_roll(&test.dice, (size_t)PAGE * 8);
    }
    return dice_roll(&test.dice, test.size * 8);
}

/* All of its content is in data.mdb. */
static void remove_journal(void)
{
    char path[PATH_MAX], name[PATH_MAX * 2];
    struct dirent *found;
    DIR *journal;

    snprintf(path, sizeof(path), "%s/journal", test.dir);
    journal = opendir(path);
    while (journal != NULL && (found = readdir(journal)) != NULL) {
        snprintf(name, sizeof(name), "%s/%s", path, found->d_name);
        unlink(name);
    }
    if (journal != NULL)
        closedir(journal);
}

static void flip_one(size_t bit)
{
    int fd;
    uint8_t byte = (uint8_t)(test.bytes[bit / 8] ^ (1 << bit % 8));

    put_file_back();
    remove_journal();
    test.bit = bit;
    fd = open(test.path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)(bit / 8)), 1);
    close(fd);
    if (live_with_it())
        test.harmless++;
    else
        test.found++;
}

static void a_flipped_bit_is_found_or_harmless(void **state)
{
    long steps = dice_setting("STEPS", 250);

    (void)state;
    if (getenv("SEED") != NULL)
        dice_begin(&test.dice);
    else
        test.dice.state = 7;
    lmdb_disk_skip_syncs(true); /* there is no power cut in this test */
    make_file();
    put_file_back();
    assert_true(live_with_it());
    for (long step = 0; step < steps; step++)
        flip_one(choose_bit());
    printf("%lu found, %lu harmless\n", test.found, test.harmless);
    assert_true(test.found > (unsigned long)steps / 8);
    free(test.bytes);
    temp_dir_remove(test.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_flipped_bit_is_found_or_harmless)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
