/* This version reads data directories that earlier versions wrote. */
#include "storage/keys/record/entry_record.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/topic.h"
#include "tests/support/store/old_jobs.h"
#include "tests/support/temp_dir.h"

#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static void unpack(const char *archive, const char *dir)
{
    char command[1024];

    snprintf(command, sizeof(command), "tar -xzf tests/fixtures/%s -C '%s'", archive, dir);
    assert_int_equal(system(command), 0);
}

static void check_directory(const char *dir, bool replays)
{
    struct dueq_time time = {.now = 1, .wall = 1};
    struct dueq_error error = {""};
    struct dueq_options options;
    struct dueq_stats stats;
    struct dueq *store;

    old_jobs_options(&options);
    options.seed = 1; /* ignored: the directory has a seed */
    if (dueq_open(dir, &options, time, &store, &error) != DUEQ_OK)
        fail_msg("dueq_open: %s", error.text);
    dueq_get_stats(store, &stats);
    assert_int_equal(stats.replayed_records > 0, replays);
    old_jobs_check(store);
    assert_int_equal(dueq_close(store), DUEQ_OK);
}

/* The archives are of a 64-bit, little-endian machine. */
static void expect_refusal(const char *dir)
{
    struct dueq_time time = {.now = 1, .wall = 1};
    struct dueq_error error = {""};
    struct dueq_options options;
    struct dueq *store;

    old_jobs_options(&options);
    assert_int_equal(dueq_open(dir, &options, time, &store, &error), DUEQ_FORMAT);
    assert_non_null(strstr(error.text, "(64-bit, little-endian; this one is "));
}

static void check_archive(const char *archive)
{
    bool is_at_home = SIZE_MAX > UINT32_MAX && BYTE_ORDER == LITTLE_ENDIAN;
    char *dir = temp_dir_new();

    unpack(archive, dir);
    if (is_at_home)
        check_directory(dir, true);
    else
        expect_refusal(dir);
    temp_dir_remove(dir);
}

static void a_directory_of_format_1_is_read(void **state)
{
    (void)state;
    check_archive("format-1.tar.gz");
}

static void topics_of_version_2_are_read(void **state)
{
    (void)state;
    check_archive("format-1-topic-2.tar.gz");
}

/* FORMAT says 1, as it does now; no release has written such a directory. */
static void a_build_before_checksums_is_refused_in_words(void **state)
{
    bool is_at_home = SIZE_MAX > UINT32_MAX && BYTE_ORDER == LITTLE_ENDIAN;
    struct dueq_time time = {.now = 1, .wall = 1};
    struct dueq_error error = {""};
    struct dueq_options options;
    char *dir = temp_dir_new();
    struct dueq *store;

    (void)state;
    unpack("before-checksums.tar.gz", dir);
    old_jobs_options(&options);
    if (is_at_home) {
        assert_int_equal(dueq_open(dir, &options, time, &store, &error), DUEQ_CORRUPT);
        assert_non_null(strstr(error.text, "a build from before 0.1.0 wrote"));
    } else {
        expect_refusal(dir);
    }
    temp_dir_remove(dir);
}

static void a_directory_made_now_is_read_the_same(void **state)
{
    char *dir = temp_dir_new();

    (void)state;
    old_jobs_make(dir);
    check_directory(dir, true);
    temp_dir_remove(dir);
}

/* ---- of a later version: not read at all, rather than as something else */

static void an_unknown_flag_of_a_state_is_refused(void **state)
{
    struct job_state written = {.expires = DUEQ_NEVER, .size = DUEQ_DEFAULT}, read;
    uint8_t bytes[JOB_RECORD_STATE_MAX];
    size_t size = job_record_write_state(bytes, &written);

    (void)state;
    assert_true(job_record_read_state(dueq_slice(bytes, size), &read));
    for (uint8_t flag = 64; flag > 0; flag = (uint8_t)(flag << 1)) {
        bytes[2] ^= flag;
        assert_false(job_record_read_state(dueq_slice(bytes, size), &read));
        bytes[2] ^= flag;
    }
    bytes[0]++;
    assert_false(job_record_read_state(dueq_slice(bytes, size), &read));
}

static void an_unknown_flag_of_a_body_is_refused(void **state)
{
    struct job_body written = {.window = 1000, .throttle = true}, read;
    uint8_t bytes[JOB_RECORD_HEAD_MAX], flags = 4 + 8 * 2 + 2;
    size_t size = job_record_write_head(bytes, &written);

    (void)state;
    assert_true(job_record_read_body(dueq_slice(bytes, size), &read));
    for (flags = 4; bytes[flags] != 1; flags++) /* size of the options, then their flags */
        assert_true(flags < size);
    assert_true(read.throttle);
    bytes[flags] |= 8;
    assert_false(job_record_read_body(dueq_slice(bytes, size), &read));
    bytes[flags] = 1;
    bytes[0]++;
    assert_false(job_record_read_body(dueq_slice(bytes, size), &read));
}

static void an_unknown_flag_of_a_topic_is_refused(void **state)
{
    struct topic *topic = topic_new(7), *read = topic_new(0);
    uint8_t bytes[TOPIC_RECORD_MAX];
    size_t size;

    (void)state;
    assert_true(topic != NULL && read != NULL);
    size = topic_write(topic, bytes);
    assert_int_equal(topic_read(read, dueq_slice(bytes, size)), DUEQ_OK);
    for (uint8_t flag = 32; flag > 0; flag = (uint8_t)(flag << 1)) {
        bytes[1] ^= flag;
        assert_int_equal(topic_read(read, dueq_slice(bytes, size)), DUEQ_CORRUPT);
        bytes[1] ^= flag;
    }
    bytes[0]++;
    assert_int_equal(topic_read(read, dueq_slice(bytes, size)), DUEQ_CORRUPT);
    topic_free(topic);
    topic_free(read);
}

static void an_unknown_flag_of_a_key_is_refused(void **state)
{
    static const uint8_t key[ENTRY_RECORD_KEY_FIXED + 1] = "k";
    uint8_t bytes[] = {1, KEYS_STRING, KEYS_RAW, 4, 1, 'v'};
    struct dueq_slice name = dueq_slice(key, sizeof(key)),
                      record = dueq_slice(bytes, sizeof(bytes));
    struct entry_record read;

    (void)state;
    assert_true(entry_record_read(name, record, &read));
    bytes[3] |= 8;
    assert_false(entry_record_read(name, record, &read));
    bytes[3] = 4;
    bytes[0] = 2;
    assert_false(entry_record_read(name, record, &read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_of_format_1_is_read),
        cmocka_unit_test(topics_of_version_2_are_read),
        cmocka_unit_test(a_build_before_checksums_is_refused_in_words),
        cmocka_unit_test(a_directory_made_now_is_read_the_same),
        cmocka_unit_test(an_unknown_flag_of_a_state_is_refused),
        cmocka_unit_test(an_unknown_flag_of_a_body_is_refused),
        cmocka_unit_test(an_unknown_flag_of_a_topic_is_refused),
        cmocka_unit_test(an_unknown_flag_of_a_key_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
