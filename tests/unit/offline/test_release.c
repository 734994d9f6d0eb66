/* Data directories that releases have left (tests/fixtures) are read for ever: their dump is
 * the one that was stored with them, byte for byte; a check finds nothing; they go on; and what
 * only reads them changes no byte of theirs. */
#include "storage/kv/kv_recovery.h"
#include "storage/salvage.h"
#include "tests/fuzz/load_check.h"
#include "tests/support/store/kept_files.h"
#include "tests/support/temp_dir.h"
#include "tests/support/text.h"

#include <endian.h>
#include <glob.h>

#include "tests/support/cmocka.h"

static struct {
    glob_t releases;
    const char *release;
    char *work;
    char data[PATH_MAX], made[PATH_MAX];
    char *dump; /* as stored */
    size_t dump_size;
} test;

static void run_shell(const char *command)
{
    assert_int_equal(system(command), 0);
}

static void read_dump(void)
{
    char path[PATH_MAX];
    FILE *file, *copy = open_memstream(&test.dump, &test.dump_size);
    int byte;

    snprintf(path, sizeof(path), "%s/dump", test.work);
    file = fopen(path, "re");
    assert_true(file != NULL && copy != NULL);
    while ((byte = fgetc(file)) != EOF)
        fputc(byte, copy);
    fclose(file);
    fclose(copy);
}

static void unpack(void)
{
    char command[PATH_MAX * 2];

    test.work = temp_dir_new();
    snprintf(command, sizeof(command), "tar -xzf '%s' -C '%s'", test.release, test.work);
    run_shell(command);
    snprintf(test.data, sizeof(test.data), "%s/data", test.work);
    snprintf(test.made, sizeof(test.made), "%s/made", test.work);
    read_dump();
}

static void remove_all(void)
{
    temp_dir_remove(test.work);
    free(test.dump);
}

static void each_release(void (*look)(void))
{
    for (size_t i = 0; i < test.releases.gl_pathc; i++) {
        test.release = test.releases.gl_pathv[i];
        unpack();
        look();
        remove_all();
    }
}

/* The line in which the texts first differ, for the message. */
static void fail_difference(const char *text, size_t size)
{
    size_t at = 0, line = 0;

    while (at < size && at < test.dump_size && text[at] == test.dump[at]) {
        if (text[at] == '\n')
            line = at + 1;
        at++;
    }
    fail_msg("%s: the dump was\n%.200s\nand is\n%.200s", test.release, test.dump + line,
             text + line);
}

static void expect_dump(const char *dir)
{
    size_t size = 0;
    char *text = load_dump(dir, &size);

    assert_non_null(text);
    if (size != test.dump_size || memcmp(text, test.dump, size) != 0)
        fail_difference(text, size);
    free(text);
}

/* ---- */

static void look_at_dump(void)
{
    expect_dump(test.data);
    expect_dump(test.data); /* the first one has opened it */
}

static void the_dump_is_as_it_was(void **state)
{
    (void)state;
    each_release(look_at_dump);
}

static void look_at_check(void)
{
    assert_int_equal(check_main(test.data), OFFLINE_DONE);
}

static void a_check_finds_nothing(void **state)
{
    (void)state;
    each_release(look_at_check);
}

static void commit(struct dueq *store, struct dueq_time time)
{
    uint64_t lsn;

    assert_int_equal(dueq_commit(store, time, &lsn), DUEQ_OK);
}

/* All that is due now falls due, expires and is erased. */
static void pass_years(struct dueq *store, struct dueq_time time)
{
    for (int turn = 0; turn < 100000; turn++) {
        bool more = dueq_tick(store, time, 1000);

        commit(store, time);
        dueq_maintain(store, false);
        if (!more)
            return;
    }
    fail_msg("%s: ticks have no end", test.release);
}

/* Who waited for a job that had ended has heard of it. */
static void expect_all_are_told(void)
{
    size_t size = 0;
    char *text = load_dump(test.data, &size);

    assert_non_null(text);
    assert_null(strstr(text, "\"end\":\""));
    free(text);
}

static void look_at_life(void)
{
    struct dueq_time time = offline_time();
    struct dueq_verify verify = {.on_finding = NULL};
    struct dueq_push push;
    struct dueq_error error;
    struct dueq_slice id;
    struct dueq *store;

    dueq_push_init(&push);
    push.topic = text("release");
    if (dueq_open(test.data, NULL, time, &store, &error) != DUEQ_OK)
        fail_msg("%s: %s", test.release, error.text);
    assert_int_equal(dueq_push(store, &push, time, &id), DUEQ_OK);
    commit(store, time);
    pass_years(store, time);
    assert_int_equal(dueq_verify(store, &verify), DUEQ_OK);
    assert_int_equal(dueq_close(store), DUEQ_OK);
    assert_int_equal(check_main(test.data), OFFLINE_DONE);
    expect_all_are_told();
}

static void it_goes_on(void **state)
{
    (void)state;
    each_release(look_at_life);
}

/* ---- what only reads */

static void expect_unchanged(const struct kept_files *before)
{
    struct kept_files now = {.count = 0};

    kept_files_take(&now, test.data);
    assert_int_equal(now.count, before->count);
    for (size_t i = 0; i < before->count; i++) {
        const struct kept_file *file = kept_files_find(&now, before->files[i].name);

        assert_non_null(file);
        assert_int_equal(file->size, before->files[i].size);
        assert_memory_equal(file->bytes, before->files[i].bytes, file->size);
    }
    kept_files_release(&now);
}

static void no_finding(void *arg, enum salvage_finding finding, const char *what)
{
    (void)arg;
    fail_msg("%s: %d %s", test.release, (int)finding, what);
}

/* A repair also counts from the events on that there are: the next token of topics that come,
 * in the first line, may be greater than it was. */
static void forget_next_token(char *text, size_t *size)
{
    char *at = strstr(text, "\"next_token\":"), *line_end = strchr(text, '\n'), *end;

    if (at == NULL || at > line_end)
        return;
    end = strchr(at, ',') + 1;
    memmove(at, end, *size - (size_t)(end - text) + 1);
    *size -= (size_t)(end - at);
}

static size_t count(const char *text, const char *what)
{
    size_t times = 0;

    while ((text = strstr(text, what)) != NULL) {
        times++;
        text++;
    }
    return times;
}

/* The dump becomes that of what a load makes of it. It is the same, but for jobs that nobody
 * had told yet of an end that they waited for: a load tells them. */
static void load_and_dump_again(void)
{
    size_t dead = count(test.dump, " is dead\""), said;
    bool any_untold = strstr(test.dump, "\"end\":\"dead\"") != NULL;
    char loaded[PATH_MAX];

    snprintf(loaded, sizeof(loaded), "%s/loaded", test.work);
    assert_int_equal(load_from(loaded, test.dump, test.dump_size, &said), OFFLINE_DONE);
    free(test.dump);
    test.dump = load_dump(loaded, &test.dump_size);
    assert_non_null(test.dump);
    assert_null(strstr(test.dump, "\"end\":\""));
    assert_true(count(test.dump, " is dead\"") > dead || !any_untold);
}

static void expect_repaired_dump(const char *dir)
{
    size_t size = 0;
    char *text = load_dump(dir, &size);

    assert_non_null(text);
    load_and_dump_again();
    forget_next_token(text, &size);
    forget_next_token(test.dump, &test.dump_size);
    if (size != test.dump_size || memcmp(text, test.dump, size) != 0)
        fail_difference(text, size);
    free(text);
}

static void look_at_repair(void)
{
    struct salvage salvage = {.on_finding = no_finding};
    struct kept_files before = {.count = 0};
    char scratch[PATH_MAX];
    struct dueq_error error;

    kept_files_take(&before, test.data);
    snprintf(scratch, sizeof(scratch), "%s/scratch", test.work);
    if (salvage_store(test.data, scratch, test.made, &salvage, &error) != DUEQ_OK)
        fail_msg("%s: %s", test.release, error.text);
    expect_unchanged(&before);
    kept_files_release(&before);
    expect_repaired_dump(test.made);
}

static void a_repair_reads_all_of_it(void **state)
{
    (void)state;
    each_release(look_at_repair);
}

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 0;

    for (size_t at = 0; at < size; at++)
        lines += text[at] == '\n';
    return lines;
}

/* It begins a history, with greater numbers to come; all else is the same. */
static void look_at_restore(void)
{
    struct dueq_recovery recovery = {
        .backup = test.data, .dir = test.made, .to_lsn = UINT64_MAX, .to_time = INT64_MAX};
    struct kept_files before = {.count = 0};
    struct dueq_error error;
    size_t size;
    char *text;

    kept_files_take(&before, test.data);
    if (recovery_run(&recovery, &error) != DUEQ_OK)
        fail_msg("%s: %s", test.release, error.text);
    expect_unchanged(&before);
    kept_files_release(&before);
    assert_int_equal(check_main(test.made), OFFLINE_DONE);
    text = load_dump(test.made, &size);
    assert_non_null(text);
    assert_int_equal(count_lines(text, size), count_lines(test.dump, test.dump_size));
    free(text);
}

static void a_restore_takes_it_for_a_backup(void **state)
{
    (void)state;
    each_release(look_at_restore);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dump_is_as_it_was), cmocka_unit_test(a_check_finds_nothing),
        cmocka_unit_test(it_goes_on), cmocka_unit_test(a_repair_reads_all_of_it),
        cmocka_unit_test(a_restore_takes_it_for_a_backup)};
    bool is_at_home = SIZE_MAX > UINT32_MAX && BYTE_ORDER == LITTLE_ENDIAN;

    if (!is_at_home) {
        printf("data.mdb is of other machines: test_format expects its refusal\n");
        return 0;
    }
    if (glob("tests/fixtures/release-*.tar.gz", 0, NULL, &test.releases) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
