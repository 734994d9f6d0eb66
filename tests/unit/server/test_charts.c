/* The history behind the dashboard's charts: its rings, and the file that keeps them. */
#include "server/http/charts_file.h"
#include "storage/dueq.h"

#include "tests/support/temp_dir.h"

#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <cmocka.h>

#define NOW INT64_C(1700000000000)

struct scene {
    struct server server; /* only what charts look at; without a store */
    struct charts *charts;
    char *dir;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL)
        return -1;
    *state = scene;
    scene->server.base = event_base_new();
    scene->dir = temp_dir_new();
    scene->server.config.dir = scene->dir;
    scene->server.clock.last.wall = NOW;
    scene->charts = charts_new(&scene->server);
    return scene->charts == NULL;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    charts_free(scene->charts);
    event_base_free(scene->server.base);
    temp_dir_remove(scene->dir);
    free(scene);
    return 0;
}

static struct charts_point point_at(uint32_t slot, uint32_t pushed)
{
    struct charts_point point = {.slot = slot};

    for (int i = 0; i < CHARTS_COLUMNS; i++)
        point.of[i] = CHARTS_UNKNOWN;
    point.of[CHARTS_PUSHED] = pushed;
    return point;
}

static char *show(struct charts *charts, const char *topic, enum charts_range range)
{
    struct buffer out;
    char *text;

    buffer_init(&out, SIZE_MAX / 2);
    charts_write(charts, dueq_slice(topic, strlen(topic)), range, &out);
    buffer_append(&out, "", 1);
    assert_false(out.overflowed);
    text = strdup(buffer_content(&out));
    assert_non_null(text);
    buffer_release(&out);
    return text;
}

static void expect_point(struct charts *charts, const char *topic, enum charts_range range,
                         const char *wanted, bool is_there)
{
    char *text = show(charts, topic, range);

    if ((strstr(text, wanted) != NULL) != is_there)
        fail_msg("%s: %.3000s", wanted, text);
    free(text);
}

static uint32_t slot_now(enum charts_range range)
{
    return (uint32_t)(NOW / charts_step_ms(range));
}

static void points_have_their_time(void **state)
{
    struct scene *scene = *state;
    struct charts_point now = point_at(slot_now(CHARTS_DAY), 7),
                        old = point_at(slot_now(CHARTS_DAY) - 144, 8);

    charts_restore(scene->charts, dueq_slice("", 0), CHARTS_DAY, &now);
    charts_restore(scene->charts, dueq_slice("", 0), CHARTS_DAY, &old); /* has the same place */
    expect_point(scene->charts, "", CHARTS_DAY, "[1699999800000,7,null,", true);
    expect_point(scene->charts, "", CHARTS_DAY, ",8,null", false);
    expect_point(scene->charts, "", CHARTS_DAY, "{\"step_ms\":600000,\"columns\":[\"time\",",
                 true);
    expect_point(scene->charts, "", CHARTS_HOURS, ",7,null", false);
    expect_point(scene->charts, "unknown", CHARTS_DAY, ",7,null", false);
    scene->server.clock.last.wall += 144 * charts_step_ms(CHARTS_DAY);
    expect_point(scene->charts, "", CHARTS_DAY, ",7,null", false);
}

static void a_file_keeps_them(void **state)
{
    struct scene *scene = *state;
    struct charts_point point = point_at(slot_now(CHARTS_HOURS), 5),
                        day = point_at(slot_now(CHARTS_DAY), 6),
                        later = point_at(slot_now(CHARTS_DAY), 9);
    struct charts *other;

    charts_restore(scene->charts, dueq_slice("mail", 4), CHARTS_HOURS, &point);
    charts_restore(scene->charts, dueq_slice("", 0), CHARTS_DAY, &day);
    assert_true(charts_file_write(scene->charts, scene->dir));
    charts_restore(scene->charts, dueq_slice("", 0), CHARTS_DAY, &later);
    assert_true(charts_file_add(scene->charts, scene->dir, later.slot));
    scene->server.config.dashboard_history = 1;
    other = charts_new(&scene->server);
    scene->server.config.dashboard_history = 0;
    assert_non_null(other);
    expect_point(other, "mail", CHARTS_HOURS, ",5,null", true);
    expect_point(other, "", CHARTS_DAY, ",9,null", true);
    charts_free(other);
}

/* Another server reads it, and ends without a word. */
static void expect_kept(struct scene *scene, const char *wanted)
{
    struct charts *other = charts_new(&scene->server);

    assert_non_null(other);
    charts_file_read(other, scene->dir);
    expect_point(other, "", CHARTS_DAY, wanted, true);
    charts_free(other);
}

static void add_to_file(struct scene *scene, uint32_t slot, uint32_t pushed, bool is_good)
{
    struct charts_point point = point_at(slot, pushed);

    charts_restore(scene->charts, dueq_slice("", 0), CHARTS_DAY, &point);
    assert_int_equal(charts_file_add(scene->charts, scene->dir, slot), is_good);
}

/* A power cut tears the end of the file. */
static void what_is_added_after_a_torn_end_is_kept(void **state)
{
    struct scene *scene = *state;
    uint32_t slot = slot_now(CHARTS_DAY);
    char path[600];
    FILE *file;

    add_to_file(scene, slot - 1, 5, true);
    snprintf(path, sizeof(path), "%s/dashboard.history", scene->dir);
    file = fopen(path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite("torn", 1, 4, file), 4);
    fclose(file);
    expect_kept(scene, ",5,null");
    add_to_file(scene, slot, 6, true);
    expect_kept(scene, ",5,null");
    expect_kept(scene, ",6,null");
}

/* There is room for a part of a record only. */
static void what_is_added_after_a_full_disk_is_kept(void **state)
{
    struct scene *scene = *state;
    uint32_t slot = slot_now(CHARTS_DAY);
    struct rlimit before, small;

    add_to_file(scene, slot - 2, 5, true);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = sizeof(struct charts_point) + 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    add_to_file(scene, slot - 1, 6, false);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    add_to_file(scene, slot, 7, true);
    expect_kept(scene, ",5,null");
    expect_kept(scene, ",7,null");
}

/* Whatever is in the file, what is damaged and what follows it is left out. */
static void a_damaged_file_is_no_harm(void **state)
{
    struct scene *scene = *state;
    char path[600], bytes[4096];
    size_t size;
    FILE *file;

    for (uint32_t i = 0; i < 10; i++) {
        struct charts_point point = point_at(slot_now(CHARTS_DAY) - i, 100 + i);

        charts_restore(scene->charts, dueq_slice("mail", 4), CHARTS_DAY, &point);
    }
    assert_true(charts_file_write(scene->charts, scene->dir));
    snprintf(path, sizeof(path), "%s/dashboard.history", scene->dir);
    file = fopen(path, "r");
    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    assert_in_range(size, 100, sizeof(bytes) - 1);
    for (size_t i = 0; i < size; i += 3) {
        struct charts *other;

        bytes[i] = (char)(bytes[i] ^ 0x41);
        file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, size - i % 7, file), size - i % 7);
        fclose(file);
        bytes[i] = (char)(bytes[i] ^ 0x41);
        scene->server.config.dashboard_history = 1;
        other = charts_new(&scene->server);
        scene->server.config.dashboard_history = 0;
        assert_non_null(other);
        charts_free(other);
    }
}

static void topics_are_few(void **state)
{
    struct scene *scene = *state;

    for (uint32_t i = 0; i < 100; i++) {
        struct charts_point point = point_at(slot_now(CHARTS_DAY), 3);
        char name[16];

        snprintf(name, sizeof(name), "t%u", i);
        charts_restore(scene->charts, dueq_slice(name, strlen(name)), CHARTS_DAY, &point);
    }
    expect_point(scene->charts, "t31", CHARTS_DAY, ",3,null", true);
    expect_point(scene->charts, "t32", CHARTS_DAY, ",3,null", false);
}

/* ---- who keeps a place */

enum { MANY = 100, MINUTE = 60 * 1000, HOUR = 60 * MINUTE };

static struct dueq_slice numbered(char *name, char kind, unsigned number)
{
    return dueq_slice(name, (size_t)sprintf(name, "%c%u", kind, number));
}

/* A store that has the topics a0 to a99 and b0 to b99. */
static void open_store(struct scene *scene)
{
    struct dueq_time time = {NOW, NOW, NOW};
    struct dueq_options options;
    struct dueq_push push;
    struct dueq_slice id;
    char name[16];

    dueq_options_init(&options);
    options.durability = DUEQ_SYNC_NONE;
    options.segment_bytes = 1 << 20;
    options.disk_reserve_bytes = 0;
    assert_int_equal(dueq_open(scene->dir, &options, time, &scene->server.store, NULL),
                     DUEQ_OK);
    dueq_push_init(&push);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        push.topic = numbered(name, i < MANY ? 'a' : 'b', i % MANY);
        assert_int_equal(dueq_push(scene->server.store, &push, time, &id), DUEQ_OK);
    }
    scene->server.now = time;
    scene->server.clock.last.monotonic = 10 * HOUR;
}

static void close_store(struct scene *scene)
{
    dueq_abandon(scene->server.store);
    scene->server.store = NULL;
}

/* In such topics something has just happened, with which they have a point. */
static void make_busy(struct scene *scene, char kind, unsigned count)
{
    struct charts_point point = point_at(slot_now(CHARTS_DAY), 3);
    char name[16];

    for (unsigned i = 0; i < count; i++)
        charts_restore(scene->charts, numbered(name, kind, i), CHARTS_DAY, &point);
}

static bool has_point(struct scene *scene, char kind, unsigned number)
{
    char name[16], *text;
    bool has_point;

    numbered(name, kind, number);
    text = show(scene->charts, name, CHARTS_DAY);
    has_point = strstr(text, ",3,null") != NULL;
    free(text);
    return has_point;
}

/* Asks for that many topics in which nothing happens, and lets so much time pass after each. */
static void ask_for(struct scene *scene, char kind, unsigned count, int64_t ms)
{
    for (unsigned i = 0; i < count; i++) {
        has_point(scene, kind, i);
        scene->server.clock.last.monotonic += ms;
    }
}

static unsigned count_kept(struct scene *scene, char kind)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < CHARTS_TOPICS_MAX; i++)
        kept += has_point(scene, kind, i);
    return kept;
}

static void whoever_asks_for_many_leaves_half_to_the_busy_ones(void **state)
{
    struct scene *scene = *state;

    for (int64_t ms = 0; ms <= MINUTE / 2; ms += MINUTE / 4) {
        open_store(scene);
        make_busy(scene, 'a', CHARTS_TOPICS_MAX);
        ask_for(scene, 'b', MANY, ms);
        assert_in_range(count_kept(scene, 'a'), CHARTS_TOPICS_MAX / 2, CHARTS_TOPICS_MAX - 1);
        close_store(scene);
        charts_free(scene->charts);
        scene->charts = charts_new(&scene->server);
        assert_non_null(scene->charts);
    }
}

static void what_somebody_looks_at_keeps_its_place(void **state)
{
    struct scene *scene = *state;

    open_store(scene);
    make_busy(scene, 'a', CHARTS_TOPICS_MAX);
    for (int i = 0; i < 10; i++) {
        assert_true(has_point(scene, 'a', 0));
        ask_for(scene, 'b', MANY, 0);
        scene->server.clock.last.monotonic += MINUTE / 2;
    }
    assert_true(has_point(scene, 'a', 0));
    close_store(scene);
}

/* They had no place at first: others were asked for. */
static void busy_topics_get_half_of_the_places_back(void **state)
{
    struct scene *scene = *state;

    open_store(scene);
    ask_for(scene, 'b', CHARTS_TOPICS_MAX, 0);
    make_busy(scene, 'a', CHARTS_TOPICS_MAX);
    assert_int_equal(count_kept(scene, 'a'), 0);
    scene->server.clock.last.monotonic += 2 * MINUTE;
    make_busy(scene, 'a', CHARTS_TOPICS_MAX);
    assert_int_equal(count_kept(scene, 'a'), CHARTS_TOPICS_MAX / 2);
    close_store(scene);
}

static void quiet_topics_that_nobody_asks_for_make_way(void **state)
{
    struct scene *scene = *state;

    open_store(scene);
    make_busy(scene, 'a', CHARTS_TOPICS_MAX);
    scene->server.clock.last.monotonic += HOUR;
    make_busy(scene, 'b', CHARTS_TOPICS_MAX);
    assert_int_equal(count_kept(scene, 'b'), CHARTS_TOPICS_MAX);
    close_store(scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(points_have_their_time),
                                       TEST(a_file_keeps_them),
                                       TEST(what_is_added_after_a_torn_end_is_kept),
                                       TEST(what_is_added_after_a_full_disk_is_kept),
                                       TEST(a_damaged_file_is_no_harm),
                                       TEST(topics_are_few),
                                       TEST(whoever_asks_for_many_leaves_half_to_the_busy_ones),
                                       TEST(what_somebody_looks_at_keeps_its_place),
                                       TEST(busy_topics_get_half_of_the_places_back),
                                       TEST(quiet_topics_that_nobody_asks_for_make_way)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
