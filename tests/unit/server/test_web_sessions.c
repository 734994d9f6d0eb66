/* The logins of the dashboard: when they end, and how many there are. */
#include "server/http/web_sessions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define TIME INT64_C(1000000)

struct scene {
    struct acl *acl;
    struct web_sessions sessions;
    char cookie[WEB_SECRET_SIZE + 1];
};

static int set_up(void **state)
{
    static struct scene scene;

    scene = (struct scene){.acl = acl_new()};
    *state = &scene;
    return scene.acl == NULL;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    web_sessions_release(&scene->sessions);
    acl_free(scene->acl);
    return 0;
}

static struct http_part part(const char *text)
{
    return (struct http_part){text, strlen(text)};
}

static struct web_session *add(struct scene *scene, const struct acl_user *user, int64_t now)
{
    struct web_session *session = web_sessions_add(&scene->sessions, user, now, scene->cookie);

    assert_non_null(session);
    return session;
}

static bool is_there(struct scene *scene, const char *cookie, int64_t now)
{
    return web_sessions_find(&scene->sessions, part(cookie), scene->acl, now) != NULL;
}

static void a_cookie_is_found(void **state)
{
    struct scene *scene = *state;
    struct web_session *session = add(scene, acl_default(scene->acl), TIME);
    char other[WEB_SECRET_SIZE + 1];

    assert_ptr_equal(web_sessions_find(&scene->sessions, part(scene->cookie), scene->acl, TIME),
                     session);
    assert_ptr_equal(web_session_user(session, scene->acl), acl_default(scene->acl));
    assert_true(web_session_has_csrf(session, part(session->csrf)));
    strcpy(other, scene->cookie);
    other[0] = other[0] == 'a' ? 'b' : 'a';
    assert_false(is_there(scene, other, TIME));
    assert_false(is_there(scene, "", TIME));
    assert_false(web_session_has_csrf(session, part(scene->cookie)));
    assert_false(web_session_has_csrf(session, part("")));
    assert_false(web_session_has_csrf(session, (struct http_part){NULL, 0}));
    assert_string_not_equal(session->csrf, scene->cookie);
}

static void one_that_is_unused_ends(void **state)
{
    struct scene *scene = *state;

    add(scene, acl_default(scene->acl), TIME);
    assert_true(is_there(scene, scene->cookie, TIME + WEB_IDLE_MS - 1));
    assert_true(is_there(scene, scene->cookie, TIME + 2 * (int64_t)WEB_IDLE_MS - 2));
    assert_false(is_there(scene, scene->cookie, TIME + 3 * (int64_t)WEB_IDLE_MS - 2));
    assert_int_equal(scene->sessions.count, 0);
}

static void one_that_is_used_ends_too(void **state)
{
    struct scene *scene = *state;
    int64_t now = TIME;

    add(scene, acl_default(scene->acl), TIME);
    for (; now < TIME + WEB_LIFE_MS; now += WEB_IDLE_MS / 2)
        assert_true(is_there(scene, scene->cookie, now));
    assert_false(is_there(scene, scene->cookie, now));
}

static void it_ends_with_what_its_user_logged_in_by(void **state)
{
    struct scene *scene = *state;
    struct acl_user *user = acl_user_new(dueq_slice("u", 1), ACL_NO_CHANNELS), *copy;

    assert_true(acl_add(scene->acl, user));
    add(scene, user, TIME);
    assert_false(is_there(scene, scene->cookie, TIME)); /* it is off */
    copy = acl_user_copy(user);
    assert_int_equal(acl_user_apply(copy, dueq_slice("on", 2), ACL_NO_CHANNELS), ACL_GOOD);
    acl_user_take(user, copy);
    add(scene, user, TIME);
    assert_int_equal(acl_user_apply(copy, dueq_slice("on", 2), ACL_NO_CHANNELS), ACL_GOOD);
    acl_user_take(user, copy); /* the same */
    assert_true(is_there(scene, scene->cookie, TIME));
    acl_user_free(copy);
    acl_bury(scene->acl, user);
    assert_false(is_there(scene, scene->cookie, TIME));
}

static void they_are_few(void **state)
{
    struct scene *scene = *state;
    struct acl_user *user = acl_user_new(dueq_slice("u", 1), ACL_NO_CHANNELS);
    char first[WEB_SECRET_SIZE + 1], second[WEB_SECRET_SIZE + 1];

    assert_int_equal(acl_user_apply(user, dueq_slice("on", 2), ACL_NO_CHANNELS), ACL_GOOD);
    assert_true(acl_add(scene->acl, user));
    add(scene, user, TIME);
    strcpy(first, scene->cookie);
    add(scene, acl_default(scene->acl), TIME);
    strcpy(second, scene->cookie);
    for (int i = 0; i < WEB_SESSIONS_OF_USER_MAX; i++)
        add(scene, acl_default(scene->acl), TIME);
    assert_int_equal(scene->sessions.count, WEB_SESSIONS_OF_USER_MAX + 1);
    assert_false(is_there(scene, second, TIME));
    assert_true(is_there(scene, first, TIME));
    for (int i = 0; i < 2 * WEB_SESSIONS_MAX; i++) {
        char name[16];
        struct acl_user *other;

        snprintf(name, sizeof(name), "u%d", i);
        other = acl_user_new(dueq_slice(name, strlen(name)), ACL_NO_CHANNELS);
        assert_true(acl_add(scene->acl, other));
        add(scene, other, TIME);
    }
    assert_int_equal(scene->sessions.count, WEB_SESSIONS_MAX);
    assert_false(is_there(scene, first, TIME));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cookie_is_found), TEST(one_that_is_unused_ends), TEST(one_that_is_used_ends_too),
        TEST(it_ends_with_what_its_user_logged_in_by), TEST(they_are_few)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
