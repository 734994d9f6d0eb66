/* The LMDB level alone: snapshot renewals that fail, its list of free pages, and files of other
 * machines. */
#include "storage/kv/lmdb_store.h"
#include "storage/kv/pages/page_layout.h"
#include "tests/support/faults/lmdb_disk.h"
#include "tests/support/dice.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static struct {
    char *dir;
    struct dueq_io io;
    bool broken;                 /* true: no page can be read */
    _Atomic(bool) slow, is_slow; /* the next page takes long; it has begun */
    off_t disk_end;              /* of the room for data.mdb */
    struct lmdb_store *store;
} test;

static ssize_t fail_pread(void *arg, int fd, void *data, size_t size, off_t offset)
{
    const struct timespec long_time = {0, 200 * 1000 * 1000};

    (void)arg;
    if (test.slow) {
        test.slow = false;
        test.is_slow = true;
        nanosleep(&long_time, NULL);
    }
    if (!test.broken)
        return pread(fd, data, size, offset);
    errno = EIO;
    return -1;
}

static void put(const char *key)
{
    struct lmdb_txn *txn;

    assert_int_equal(lmdb_begin(test.store, &txn), DUEQ_OK);
    assert_int_equal(lmdb_put(txn, text(key), text("value")), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
}

static enum dueq_status get(const char *key)
{
    struct dueq_slice value;

    return lmdb_get(test.store, text(key), &value);
}

static int set_up(void **state)
{
    struct dueq_error error;

    (void)state;
    test.dir = temp_dir_new();
    test.io = io_system;
    test.io.pread = fail_pread;
    test.broken = false;
    test.slow = false;
    test.is_slow = false;
    assert_int_equal(lmdb_store_create(test.dir, &test.io, text("mark"), text("value"), &error),
                     DUEQ_OK);
    assert_int_equal(lmdb_store_open(test.dir, 1 << 26, &test.io, &test.store, &error),
                     DUEQ_OK);
    put("one");
    put("two");
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmdb_store_close(test.store);
    temp_dir_remove(test.dir);
    return 0;
}

/* The new list of free pages could not be read, so the view of the old pages must stay. */
static void a_renewal_that_fails_shows_what_was_shown(void **state)
{
    struct lmdb_census census;

    (void)state;
    put("three");
    test.broken = true;
    lmdb_release_snapshot(test.store);
    lmdb_renew_released(test.store);
    test.broken = false;
    assert_int_equal(get("two"), DUEQ_OK);
    assert_int_equal(get("three"), DUEQ_NOTFOUND);
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    assert_int_equal(get("three"), DUEQ_OK);
    assert_int_equal(lmdb_check(test.store, &census), DUEQ_OK);
}

static void the_owner_meets_what_the_renewal_met(void **state)
{
    (void)state;
    put("three");
    test.broken = true;
    lmdb_release_snapshot(test.store);
    lmdb_renew_released(test.store);
    assert_int_equal(lmdb_renew(test.store), DUEQ_IO);
}

static void *renew_released(void *arg)
{
    lmdb_renew_released(test.store);
    return arg;
}

static int64_t processor_usec(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* The thread that renews is a nice one: it may wait for the processor that a spinning owner
 * has. */
static void the_owner_sleeps_while_the_snapshot_is_renewed(void **state)
{
    pthread_t thread;
    int64_t began;

    (void)state;
    put("three");
    lmdb_release_snapshot(test.store);
    test.slow = true;
    assert_int_equal(pthread_create(&thread, NULL, renew_released, NULL), 0);
    while (!test.is_slow)
        sched_yield();
    began = processor_usec();
    assert_int_equal(get("three"), DUEQ_OK);
    assert_in_range(processor_usec() - began, 0, 20 * 1000);
    pthread_join(thread, NULL);
}

/* The checkpoint thread may unmap and free the file of a released snapshot after a compaction.
 */
static void dropping_pages_pins_what_is_shown(void **state)
{
    uint64_t before = lmdb_generation(test.store);

    (void)state;
    lmdb_release_snapshot(test.store);
    lmdb_drop(test.store);
    lmdb_renew_released(test.store);
    assert_int_equal(lmdb_generation(test.store), before);
    lmdb_release_snapshot(test.store);
    lmdb_renew_released(test.store);
    assert_int_equal(lmdb_generation(test.store), before + 1);
}

/* lmdb_damage reports what the last read has found. */
static void damage_is_forgotten(void **state)
{
    (void)state;
    assert_string_equal(lmdb_damage(test.store), "");
    put("three");
    test.broken = true;
    assert_int_equal(lmdb_renew(test.store), DUEQ_IO);
    assert_non_null(strstr(lmdb_damage(test.store), "cannot read page"));
    test.broken = false;
    lmdb_forget_damage(test.store);
    assert_int_equal(get("nothing"), DUEQ_NOTFOUND);
    assert_string_equal(lmdb_damage(test.store), "");
}

static const char *data_path(char *path)
{
    snprintf(path, PATH_MAX, "%s/data.mdb", test.dir);
    return path;
}

static uint8_t *read_data(size_t *ret_size)
{
    char path[PATH_MAX];
    int fd = open(data_path(path), O_RDONLY);
    uint8_t *bytes;

    assert_true(fd >= 0);
    *ret_size = (size_t)lseek(fd, 0, SEEK_END);
    bytes = malloc(*ret_size);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, *ret_size, 0), *ret_size);
    close(fd);
    return bytes;
}

static void write_data(const uint8_t *bytes, size_t size)
{
    char path[PATH_MAX];
    int fd = open(data_path(path), O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, 0), size);
    close(fd);
}

static unsigned get_u16(const uint8_t *bytes)
{
    uint16_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

static void cut_number(uint8_t *bytes, size_t by)
{
    size_t number;

    memcpy(&number, bytes, sizeof(number));
    number -= by;
    memcpy(bytes, &number, sizeof(number));
}

/* Both meta pages claim a transaction that was never run. */
static void change_metas(void)
{
    size_t txnid = 1 << 20;
    char path[PATH_MAX];
    int fd = open(data_path(path), O_RDWR);

    assert_true(fd >= 0);
    for (off_t page = 0; page < 2; page++)
        assert_int_equal(pwrite(fd, &txnid, sizeof(txnid),
                                page * sysconf(_SC_PAGESIZE) + PAGE_HEADER + META_TXNID),
                         sizeof(txnid));
    close(fd);
}

static void metas_that_change_are_met_once(void **state)
{
    (void)state;
    put("three");
    change_metas();
    alarm(20); /* a mistake would make it try for ever */
    assert_int_equal(lmdb_renew(test.store), DUEQ_CORRUPT);
    alarm(0);
    assert_non_null(strstr(lmdb_error_text(test.store), "page"));
}

/* ---- the list of free pages */

/* A page of the list has as many numbers as words, and this is two pages full of them. */
enum { LIST_PAGES = 3, LARGE = (LIST_PAGES - 1) * 4096 / PAGE_WORD * 4096, CUT = 600 };

/* Makes a list of free pages with a record of three pages, and closes the store. */
static uint8_t *free_many(size_t *ret_size, size_t *ret_list)
{
    static const uint8_t large[LARGE];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
    struct lmdb_txn *txn;
    uint8_t *bytes;

    assert_int_equal(lmdb_begin(test.store, &txn), DUEQ_OK);
    assert_int_equal(lmdb_put(txn, text("large"), dueq_slice(large, LARGE)), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    assert_int_equal(lmdb_begin(test.store, &txn), DUEQ_OK);
    assert_int_equal(lmdb_del(txn, text("large")), DUEQ_OK);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    lmdb_store_close(test.store);
    test.store = NULL;
    bytes = read_data(&size);
    for (size_t at = 2; at < size / page; at++)
        if (get_u16(bytes + at * page + PAGE_KIND) == PAGE_OVERFLOW &&
            page_u32(bytes + at * page + PAGE_PAGES) == LIST_PAGES)
            *ret_list = at;
    *ret_size = size;
    return bytes;
}

static enum dueq_status open_again(struct dueq_error *error)
{
    return lmdb_store_open(test.dir, 1 << 26, &test.io, &test.store, error);
}

static void a_list_that_the_file_cuts_off_is_no_signal(void **state)
{
    size_t size, list = 0;
    struct dueq_error error;
    char path[PATH_MAX];

    (void)state;
    if (sysconf(_SC_PAGESIZE) != 4096)
        skip();
    free(free_many(&size, &list));
    assert_int_not_equal(list, 0);
    assert_int_equal(truncate(data_path(path), (off_t)(list + 1) * 4096), 0);
    assert_int_equal(open_again(&error), DUEQ_CORRUPT);
    assert_non_null(strstr(error.text, "page"));
}

/* LMDB overwrites a record of the list that gets shorter in place, and keeps all its pages. */
static void a_list_with_pages_to_spare_is_sound(void **state)
{
    size_t size, list = 0, nodes = 0;
    struct lmdb_census census;
    struct dueq_error error;
    uint8_t *bytes;

    (void)state;
    if (sysconf(_SC_PAGESIZE) != 4096)
        skip();
    bytes = free_many(&size, &list);
    assert_int_not_equal(list, 0);
    for (size_t at = 2 * 4096; at + 24 <= size; at += 2) {
        const uint8_t *value = bytes + at + NODE_HEADER + PAGE_WORD;
        uint32_t length;

        if (page_word(value) != list || get_u16(bytes + at + NODE_FLAGS) != NODE_BIG ||
            get_u16(bytes + at + NODE_KEY_SIZE) != PAGE_WORD)
            continue;
        memcpy(&length, bytes + at, sizeof(length)); /* both halves, in this machine's order */
        length -= CUT * PAGE_WORD;
        memcpy(bytes + at, &length, sizeof(length));
        nodes++;
    }
    assert_int_equal(nodes, 1);
    cut_number(bytes + list * 4096 + PAGE_HEADER, CUT);
    write_data(bytes, size);
    free(bytes);
    if (open_again(&error) != DUEQ_OK)
        fail_msg("%s", error.text);
    if (lmdb_check(test.store, &census) != DUEQ_OK)
        fail_msg("%s", lmdb_error_text(test.store));
    put("three");
}

/* ---- addresses */

/* Addresses of maps of data.mdb, in MiB. */
static unsigned mapped_mib(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128], path[PATH_MAX];
    uintptr_t from, to;
    unsigned mib = 0;

    assert_non_null(maps);
    data_path(path);
    while (fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, path) != NULL &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
            mib += (unsigned)((to - from) >> 20);
    fclose(maps);
    return mib;
}

/* A machine with 32 bits has no addresses for two maps of a file, and a compaction. */
static void a_store_maps_its_file_once(void **state)
{
    (void)state;
    assert_int_equal(mapped_mib(), 64);
    assert_int_equal(get("two"), DUEQ_OK);
    lmdb_drop(test.store);
    assert_int_equal(get("one"), DUEQ_OK);
    assert_int_equal(mapped_mib(), 64);
}

/* ---- other machines */

/* Its magic number comes after a header of that size, its bytes in that order. */
static void expect_refusal_of(size_t header, bool swapped, const char *name)
{
    static const uint8_t nothing[PAGE_MACHINE_BYTES];
    uint32_t magic = swapped ? 0xDEC0EFBE : 0xBEEFC0DE;
    struct dueq_error error = {""};
    char path[PATH_MAX];
    int fd = open(data_path(path), O_RDWR);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, nothing, sizeof(nothing), 0), sizeof(nothing));
    assert_int_equal(pwrite(fd, &magic, sizeof(magic), (off_t)header), sizeof(magic));
    close(fd);
    assert_int_equal(open_again(&error), DUEQ_FORMAT);
    if (strstr(error.text, name) == NULL || strstr(error.text, "dueq dump") == NULL)
        fail_msg("not of a %s machine: %s", name, error.text);
}

/* LMDB would read other numbers from it. */
static void a_file_of_another_machine_is_refused_in_words(void **state)
{
    bool little = BYTE_ORDER == LITTLE_ENDIAN;
    size_t other = PAGE_WORD == 8 ? 12 : 16;

    (void)state;
    lmdb_store_close(test.store);
    test.store = NULL;
    expect_refusal_of(other, false, PAGE_WORD == 8 ? "(32-bit" : "(64-bit");
    expect_refusal_of(PAGE_HEADER, true, little ? "big-endian;" : "little-endian;");
    expect_refusal_of(other, true, little ? "big-endian;" : "little-endian;");
}

/* ---- appending in the middle */

enum { BODIES = 4000, OTHERS = 40, BODY = 270 };

static void begin(struct lmdb_txn **ret_txn)
{
    assert_int_equal(lmdb_begin(test.store, ret_txn), DUEQ_OK);
}

static void put_in(struct lmdb_txn *txn, const char *table, int number, const char *value,
                   size_t size)
{
    char key[32];

    snprintf(key, sizeof(key), "%s%06d", table, number);
    assert_int_equal(lmdb_put(txn, text(key), dueq_slice(value, size)), DUEQ_OK);
}

static void del_in(struct lmdb_txn *txn, const char *table, int number)
{
    char key[32];

    snprintf(key, sizeof(key), "%s%06d", table, number);
    assert_int_equal(lmdb_del(txn, text(key)), DUEQ_OK);
}

static void expect(const char *table, int number, const char *value)
{
    struct dueq_slice found;
    char key[32];

    snprintf(key, sizeof(key), "%s%06d", table, number);
    if (value == NULL) {
        assert_int_equal(lmdb_get(test.store, text(key), &found), DUEQ_NOTFOUND);
        return;
    }
    assert_int_equal(lmdb_get(test.store, text(key), &found), DUEQ_OK);
    assert_memory_equal(found.data, value, strlen(value));
}

/* 0: it is not there. */
static void expect_size(const char *table, int number, size_t size)
{
    struct dueq_slice found;
    char key[32];

    snprintf(key, sizeof(key), "%s%06d", table, number);
    assert_int_equal(lmdb_get(test.store, text(key), &found),
                     size == 0 ? DUEQ_NOTFOUND : DUEQ_OK);
    if (size > 0)
        assert_int_equal(found.size, size);
}

static void put_others(void)
{
    struct lmdb_txn *txn;

    begin(&txn);
    for (int i = 0; i < OTHERS; i++)
        put_in(txn, "c", i, "other", 5);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
}

static int used_pages(void)
{
    struct lmdb_census census;

    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    assert_int_equal(lmdb_check(test.store, &census), DUEQ_OK);
    return (int)(census.pages - census.free_pages);
}

/* Bodies come before what stands in the same leaf. A page has place for 14 of them. */
static void appended_bodies_fill_their_pages(void **state)
{
    struct lmdb_txn *txn;
    char body[BODY] = "body";

    (void)state;
    put_others();
    for (int i = 0; i < BODIES;) {
        begin(&txn);
        do
            put_in(txn, "b", i, body, sizeof(body));
        while (++i % 1000 != 0);
        assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    }
    assert_true(used_pages() < BODIES / 12);
    for (int i = 0; i < BODIES; i++)
        expect("b", i, "body");
    for (int i = 0; i < OTHERS; i++)
        expect("c", i, "other");
}

/* The first keys of the leaf come between others, up to the place where the rest is appended.
 */
static void bodies_between_others_fill_their_pages(void **state)
{
    struct lmdb_txn *txn;
    char body[BODY] = "body", table[16];

    (void)state;
    put_others();
    begin(&txn);
    for (int i = 0; i < 37; i++) {
        snprintf(table, sizeof(table), "c%06dx", i);
        put_in(txn, table, 0, "short", 5);
    }
    for (int i = 0; i < BODIES; i++)
        put_in(txn, "c000037x", i, body, sizeof(body));
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    assert_true(used_pages() < BODIES / 11);
    for (int i = 0; i < BODIES; i++)
        expect("c000037x", i, "body");
    for (int i = 0; i < OTHERS; i++)
        expect("c", i, "other");
}

/* Some fill most of a page, and the largest have pages of their own. */
static size_t any_size(int number, size_t most)
{
    return 4 + dice_hash((uint64_t)number) % most;
}

static void bodies_of_any_size_fill_their_pages(void **state)
{
    static const size_t most[] = {40, 400, 1500, 4000};
    static const int pages[] = {28, 140, 620, 1500};
    char body[4004] = "body";

    (void)state;
    put_others();
    for (int round = 0; round < 4; round++) {
        char table[16];
        struct lmdb_txn *txn;
        int before = used_pages();

        snprintf(table, sizeof(table), "b%d", round);
        begin(&txn);
        for (int i = 0; i < 2000; i++) {
            put_in(txn, table, i, body, any_size(i, most[round]));
            if (i % 100 == 99) /* a leaf may be filled from the one before */
                del_in(txn, table, i - 1);
        }
        assert_int_equal(lmdb_commit(txn), DUEQ_OK);
        print_message("up to %d bytes: %d pages\n", (int)most[round], used_pages() - before);
        assert_true(used_pages() - before < pages[round]);
        for (int i = 0; i < 2000; i++)
            expect_size(table, i, i % 100 == 98 ? 0 : any_size(i, most[round]));
        for (int i = 0; i < OTHERS; i++)
            expect("c", i, "other");
    }
}

/* They are deleted, changed and joined by others in the same transaction. */
static void what_has_stepped_aside_is_changed(void **state)
{
    struct lmdb_txn *txn;
    char body[BODY] = "body";

    (void)state;
    put_others();
    begin(&txn);
    del_in(txn, "c", 7);
    for (int i = 0; i < 100; i++)
        put_in(txn, "b", i, body, sizeof(body));
    del_in(txn, "c", 0);
    put_in(txn, "c", 1, "changed", 7);
    for (int i = 0; i < 100; i++)
        put_in(txn, "c000001x", i, body, sizeof(body));
    del_in(txn, "c", 3);
    put_in(txn, "d", 1, "new", 3);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    begin(&txn);
    for (int i = 100; i < 200; i++)
        put_in(txn, "b", i, body, sizeof(body));
    lmdb_abort(txn);
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    for (int i = 0; i < 200; i++)
        expect("b", i, i < 100 ? "body" : NULL);
    for (int i = 0; i < 100; i++)
        expect("c000001x", i, "body");
    for (int i = 2; i < OTHERS; i++)
        expect("c", i, i == 3 || i == 7 ? NULL : "other");
    expect("c", 0, NULL);
    expect("c", 1, "changed");
    expect("d", 1, "new");
}

/* ---- keys that follow each other */

enum { NUMBERS = 6000, STEP = 3 };

/* Every third number is there. */
static void expect_number(const char *table, int number, int changed_from)
{
    expect(table, number,
           number % STEP != 0                          ? NULL
           : number >= changed_from && number % 2 == 0 ? NULL
                                                       : "value");
}

/* Two tables in turn: in order, in reverse, at random; and again when some are deleted. */
static void neighbours_are_found_as_any_key(void **state)
{
    struct lmdb_txn *txn;

    (void)state;
    begin(&txn);
    for (int i = 0; i < NUMBERS; i += STEP)
        put_in(txn, "Q", i, "value", 5);
    for (int i = 0; i < NUMBERS; i += STEP)
        put_in(txn, "y", i, "value", 5); /* its first byte falls together with that of Q */
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    for (int changed_from = NUMBERS; changed_from >= 0; changed_from -= NUMBERS / 2) {
        begin(&txn);
        for (int i = changed_from; i < NUMBERS; i += 2) {
            del_in(txn, "Q", i);
            del_in(txn, "y", i);
        }
        put_in(txn, "z", changed_from, "z", 1);
        assert_int_equal(lmdb_commit(txn), DUEQ_OK);
        assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
        for (int i = 0; i < NUMBERS; i++)
            expect_number("Q", i, changed_from);
        for (int i = NUMBERS; i-- > 0;) {
            expect_number("y", i, changed_from);
            expect_number("Q", i / 2, changed_from);
        }
        for (int i = 0; i < NUMBERS; i++) {
            int at = (int)(dice_hash((uint64_t)i) % NUMBERS);

            expect_number(i % 5 < 2 ? "y" : "Q", at, changed_from);
            expect_number("Q", at == 0 ? 0 : at - 1, changed_from);
        }
    }
}

/* ---- a full disk */

static int fallocate_on_full(void *arg, int fd, off_t offset, off_t size)
{
    (void)arg;
    if (offset + size <= test.disk_end)
        return fallocate(fd, 0, offset, size);
    errno = ENOSPC;
    return -1;
}

/* What LMDB writes goes beyond the blocks that were set aside, and a part of it fits. */
static void a_disk_that_gets_full_within_a_write_is_not_broken(void **state)
{
    char path[PATH_MAX], value[2000] = "";
    struct lmdb_txn *txn;
    struct stat stats;

    (void)state;
    test.io.fallocate = fallocate_on_full;
    assert_int_equal(stat(data_path(path), &stats), 0);
    test.disk_end = stats.st_size + 1000000;
    lmdb_disk_set_end(test.disk_end);
    begin(&txn);
    for (int i = 0; i < BODIES; i++)
        put_in(txn, "b", i, value, sizeof(value));
    assert_int_equal(lmdb_commit(txn), DUEQ_FULL);
    lmdb_disk_set_end(0);
    put("three");
}

/* ---- pages for the next transaction */

static enum dueq_status leave_spare(const char *key)
{
    struct lmdb_txn *txn;
    enum dueq_status status;

    assert_int_equal(lmdb_begin(test.store, &txn), DUEQ_OK);
    assert_int_equal(lmdb_put(txn, text(key), text("value")), DUEQ_OK);
    status = lmdb_leaves_spare(txn);
    if (status == DUEQ_OK)
        assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    else
        lmdb_abort(txn);
    return status;
}

static void the_file_has_room_for_the_next_transaction(void **state)
{
    struct lmdb_room before, after;
    struct lmdb_census census;
    char path[PATH_MAX];
    struct stat stats;

    (void)state;
    lmdb_get_room(test.store, &before);
    test.io.fallocate = fallocate_on_full;
    assert_int_equal(stat(data_path(path), &stats), 0);
    test.disk_end = stats.st_size + (LMDB_SPARE / 2) * sysconf(_SC_PAGESIZE);
    assert_int_equal(leave_spare("three"), DUEQ_FULL);
    test.disk_end = stats.st_size + LMDB_SPARE * 2 * sysconf(_SC_PAGESIZE);
    assert_int_equal(leave_spare("three"), DUEQ_OK);
    lmdb_get_room(test.store, &after);
    assert_true(after.used <= before.used + 2 * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_true(after.file >= after.end + (LMDB_SPARE - 8) * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    assert_int_equal(get("three"), DUEQ_OK);
    assert_int_equal(lmdb_check(test.store, &census), DUEQ_OK);
    assert_int_equal(census.records, 4);
}

/* The first key of many lies in another leaf than the last one. */
static void damage_elsewhere_stops_no_transaction(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
    struct lmdb_txn *txn;
    struct dueq_error error;
    uint8_t *bytes, *first;

    (void)state;
    begin(&txn);
    for (int i = 0; i < 20000; i++)
        put_in(txn, "k", i, "value", 5);
    assert_int_equal(lmdb_commit(txn), DUEQ_OK);
    lmdb_store_close(test.store);
    test.store = NULL;
    bytes = read_data(&size);
    first = memmem(bytes + 2 * page, size - 2 * page, "k000000", 7);
    assert_non_null(first);
    memset(bytes + (size_t)(first - bytes) / page * page, 0xff, page);
    write_data(bytes, size);
    free(bytes);
    if (open_again(&error) != DUEQ_OK)
        fail_msg("%s", error.text);
    assert_int_equal(leave_spare("z"), DUEQ_OK);
    assert_int_equal(lmdb_renew(test.store), DUEQ_OK);
    assert_int_equal(get("k000000"), DUEQ_CORRUPT);
    assert_int_equal(get("z"), DUEQ_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_renewal_that_fails_shows_what_was_shown, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_owner_meets_what_the_renewal_met, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_owner_sleeps_while_the_snapshot_is_renewed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(dropping_pages_pins_what_is_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(metas_that_change_are_met_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_that_the_file_cuts_off_is_no_signal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_list_with_pages_to_spare_is_sound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_maps_its_file_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_another_machine_is_refused_in_words, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(appended_bodies_fill_their_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bodies_between_others_fill_their_pages, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(bodies_of_any_size_fill_their_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(neighbours_are_found_as_any_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_stepped_aside_is_changed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disk_that_gets_full_within_a_write_is_not_broken,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_file_has_room_for_the_next_transaction, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(damage_elsewhere_stops_no_transaction, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
