/* The history behind the dashboard's charts: its rings, and the file that keeps them. */
#include "server/http/charts_file.h"

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(points_have_their_time),
                                       TEST(a_file_keeps_them),
                                       TEST(what_is_added_after_a_torn_end_is_kept),
                                       TEST(what_is_added_after_a_full_disk_is_kept),
                                       TEST(a_damaged_file_is_no_harm),
                                       TEST(topics_are_few)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
