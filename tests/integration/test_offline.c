/* Subcommands that work on the directory of a stopped server: what they find, print and exit
 * with. tests/unit/storage/test_verify.c has what a check finds. */
#include "tests/support/client/client.h"
#include "tests/support/dice.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static char output[20000];

static int tear_down(void **state)
{
    (void)state;
    client_cleanup();
    server_process_cleanup();
    return 0;
}

static struct server_process *fill_server(const char *options)
{
    struct server_process *server = server_process_start(options);
    redisContext *client = client_open(server);

    for (int i = 0; i < 100; i++)
        expect(client, "*", "Q.PUSH mail body-number-%d-%0900d ID job-%d DELAY 1h", i, i, i);
    expect(client, "OK", "SET key value EX 1000");
    expect(client, "3", "ZADD scores 1 a 2 b 3 c");
    client_close(client);
    return server;
}

static int check(const char *data)
{
    return run_shell(output, sizeof(output), "%s check %s", server_binary(), data);
}

/* Flips a bit where that text is. Returns whether the file has it. */
static bool damage_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "r+e");
    static char bytes[8 << 20];
    size_t size;
    char *at;

    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    at = memmem(bytes, size, text, strlen(text));
    if (at != NULL) {
        assert_int_equal(fseek(file, at - bytes, SEEK_SET), 0);
        assert_int_equal(fputc(*at ^ 4, file), *at ^ 4);
    }
    assert_int_equal(fclose(file), 0);
    return at != NULL;
}

static void damage_journal(const char *data, const char *text)
{
    char path[PATH_MAX], file[PATH_MAX * 2];
    bool damaged = false;
    struct dirent *found;
    DIR *journal;

    snprintf(path, sizeof(path), "%s/journal", data);
    journal = opendir(path);
    assert_non_null(journal);
    while (!damaged && (found = readdir(journal)) != NULL) {
        snprintf(file, sizeof(file), "%s/%s", path, found->d_name);
        damaged = strstr(found->d_name, ".seg") != NULL && damage_file(file, text);
    }
    closedir(journal);
    assert_true(damaged);
}

/* ---- check */

static void a_sound_directory_is_called_sound(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    server_process_stop(server);
    assert_int_equal(check(server->data), 0);
    expect_said(output, "is sound");
    server_process_run(server);
    server_process_kill(server);
    assert_int_equal(check(server->data), 0); /* what a kill left in the journal too */
}

static void what_cannot_be_checked_is_no_damage(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    assert_int_equal(check(server->data), 2);
    expect_said(output, "in use");
    assert_int_equal(check("/nonexistent"), 2);
    expect_said(output, "holds no store");
    assert_int_equal(check(""), 2);
    expect_said(output, "check takes a directory");
}

static void a_damaged_page_is_named(void **state)
{
    struct server_process *server = fill_server("");
    char path[PATH_MAX];

    (void)state;
    server_process_stop(server);
    snprintf(path, sizeof(path), "%s/data.mdb", server->data);
    assert_true(damage_file(path, "body-number-50"));
    assert_int_equal(check(server->data), 1);
    expect_said(output, "page");
    expect_said(output, "topic \"mail\"");
}

static void a_damaged_journal_is_named(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    server_process_kill(server);
    damage_journal(server->data, "body-number-50");
    assert_int_equal(check(server->data), 1);
    expect_said(output, ".seg");
}

/* The sizes of the journal's files, each once. */
static void list_journal(const char *data, char *text, size_t size)
{
    assert_int_equal(
        run_shell(text, size, "cd %s/journal && stat -c %%s *.seg | sort -u", data), 0);
}

/* A server with small files may be on a small disk; its spares are what it needs when the disk
 * is full. */
static void a_check_keeps_to_the_size_of_the_segments(void **state)
{
    struct server_process *server = fill_server("");
    char before[2000], after[2000];

    (void)state;
    server_process_stop(server);
    list_journal(server->data, before, sizeof(before));
    assert_string_equal(before, "1048576\n");
    assert_int_equal(check(server->data), 0);
    list_journal(server->data, after, sizeof(after));
    assert_string_equal(after, before);
    assert_int_equal(run_shell(output, sizeof(output),
                               "ls %s/journal | grep -c -E 'spare|reserve'", server->data),
                     0);
}

/* ---- dump and load */

static struct dice dice;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A word of any bytes; its address is valid until the second call after this one. */
static const char *any_word(size_t *ret_size)
{
    static char words[2][40];
    static int turn;
    char *word = words[turn++ % 2];

    *ret_size = 1 + dice_roll(&dice, sizeof(words[0]) - 1);
    for (size_t i = 0; i < *ret_size; i++)
        word[i] = dice_once_in(&dice, 3) ? (char)dice_bits(&dice) : "ab0-"[dice_roll(&dice, 4)];
    return word;
}

static void change_key(redisContext *client)
{
    static const char *const formats[] = {
        "SET s%d %b",      "RPUSH l%d %b",      "SADD e%d %b",      "HSET h%d %b value",
        "ZADD z%d 0.1 %b", "SETRANGE s%d 3 %b", "ZADD z%d -inf %b", "APPEND s%d %b",
        "LPUSH l%d %b",    "ZADD z%d 3 %b"};
    int key = (int)dice_roll(&dice, 4);
    size_t size;
    const char *word = any_word(&size);

    freeReplyObject(redisCommand(client, "SELECT %d", (int)dice_roll(&dice, 2)));
    freeReplyObject(
        redisCommand(client, formats[dice_roll(&dice, COUNT(formats))], key, word, size));
    freeReplyObject(redisCommand(client, "SADD i%d %d", key, (int)dice_roll(&dice, 1000)));
    freeReplyObject(redisCommand(client, "INCR n%d", key));
    if (dice_once_in(&dice, 10))
        freeReplyObject(redisCommand(client, "EXPIRE l%d 1000", key));
    if (dice_once_in(&dice, 10))
        freeReplyObject(redisCommand(client, "EXPIREAT h%d 4000000000", key));
}

/* Claims a job and ends the claim in some way, or not at all. */
static void claim_job(redisContext *client, int topic)
{
    static const char *const ends[] = {
        "Q.ACK t%d %b %lld", "Q.ACK t%d %b %lld RESULT r", "Q.NACK t%d %b %lld ERROR why",
        "Q.NACK t%d %b %lld DEAD", "Q.EXTEND t%d %b %lld 1h PROGRESS half"};
    uint64_t end = dice_roll(&dice, COUNT(ends) + 1);
    redisReply *reply = redisCommand(client, "Q.CLAIM t%d", topic), *job;

    assert_non_null(reply);
    job = reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 ? reply->element[0] : NULL;
    if (job != NULL && end < COUNT(ends))
        freeReplyObject(redisCommand(client, ends[end], topic, job->element[0]->str,
                                     job->element[0]->len, job->element[1]->integer));
    if (job != NULL &&
        end == 5) /* it takes the place of the claimed one, if that has such an id */
        freeReplyObject(redisCommand(client, "Q.PUSH t%d later ID %b ONDUP REPLACE", topic,
                                     job->element[0]->str, job->element[0]->len));
    freeReplyObject(reply);
}

static void change_job(redisContext *client)
{
    static const char *const formats[] = {
        "Q.PUSH t%d %b DELAY 1h",
        "Q.PUSH t%d %b TTL 1d PRIORITY 3",
        "Q.PUSH t%d %b AT 4000000000000 RETRIES 3 BACKOFF STEPS 1s 2s",
        "Q.PUSH t%d body ID %b WINDOW 1h",
        "Q.PUSH t%d body ID %b",
        "Q.PUSH t%d %b LEASE 1d JITTER 3"};
    int topic = (int)dice_roll(&dice, 3);
    size_t size;
    const char *word = any_word(&size);

    freeReplyObject(
        redisCommand(client, formats[dice_roll(&dice, COUNT(formats))], topic, word, size));
    if (dice_once_in(&dice, 2))
        claim_job(client, topic);
    if (dice_once_in(&dice, 300))
        freeReplyObject(redisCommand(client, "Q.PAUSE t%d", topic));
    if (dice_once_in(&dice, 100))
        freeReplyObject(redisCommand(client, "Q.CONFIG SET t%d* lease 5000 retries 3", topic));
}

static char *dump_path(const struct server_process *server, const char *data, const char *name)
{
    char *path = server_process_path(server, name);

    assert_int_equal(
        run_shell(output, sizeof(output), "%s dump %s > %s", server_binary(), data, path), 0);
    return path;
}

static void compare_dumps(struct server_process *server)
{
    char *first = dump_path(server, server->data, "first"), *second,
         *loaded = server_process_path(server, "loaded");

    assert_int_equal(
        run_shell(output, sizeof(output), "%s load %s < %s", server_binary(), loaded, first),
        0);
    assert_int_equal(check(loaded), 0);
    second = dump_path(server, loaded, "second");
    if (run_shell(output, sizeof(output), "cmp %s %s", first, second) != 0)
        fail_msg("%s", output);
    free(first);
    free(second);
    free(loaded);
}

static void a_dump_of_what_was_loaded_is_the_same(void **state)
{
    (void)state;
    dice_begin(&dice);
    for (long rounds = dice_setting("ROUNDS", 3); rounds > 0; rounds--) {
        struct server_process *server =
            server_process_start("zset-max-listpack-entries 20, hash-max-listpack-entries 30");
        redisContext *client = client_open(server);

        for (int i = 0; i < 1500; i++) {
            change_key(client);
            change_job(client);
        }
        client_close(client);
        server_process_stop(server);
        compare_dumps(server);
        server_process_cleanup();
    }
}

/* As the server of a small device does. */
static void a_load_needs_no_disk_for_large_segments(void **state)
{
    struct server_process *server = fill_server("");
    char *dump, *loaded = server_process_path(server, "loaded");

    (void)state;
    server_process_stop(server);
    dump = dump_path(server, server->data, "dump");
    assert_int_equal(
        run_shell(output, sizeof(output), "%s load %s < %s", server_binary(), loaded, dump), 0);
    assert_int_equal(run_shell(output, sizeof(output), "find %s/journal -size +4096k", loaded),
                     0);
    assert_string_equal(output, "");
    free(dump);
    free(loaded);
}

/* What a client sees is the same, too. */
static void a_server_goes_on_with_what_was_loaded(void **state)
{
    struct server_process *server = fill_server("");
    redisContext *client = client_open(server);
    char *before, *after, *dump;

    (void)state;
    expect(client, "*", "Q.PUSH claimed body ID c");
    expect(client, "*", "Q.CLAIM claimed LEASE 1h");
    before = ask_text(client, "Q.GET claimed c");
    client_close(client);
    server_process_stop(server);
    dump = dump_path(server, server->data, "dump");
    assert_int_equal(run_shell(output, sizeof(output), "rm -r %s && %s load %s < %s",
                               server->data, server_binary(), server->data, dump),
                     0);
    server_process_run(server);
    client = client_open(server);
    after = ask_text(client, "Q.GET claimed c");
    expect_same_job(before, after);
    expect(client, "100", "Q.LEN mail");
    expect(client, "1", "Q.ACK claimed c 1");
    expect(client, "[\"a\" \"b\" \"c\"]", "ZRANGE scores 0 -1");
    free(before);
    free(after);
    free(dump);
}

/* The dump is of the epoch 3. A directory without a journal is a copy: it begins the epoch 4.
 */
static void what_was_loaded_keeps_the_epoch(void **state)
{
    struct server_process *server = fill_server("");
    char *dump, *loaded = server_process_path(server, "loaded");

    (void)state;
    server_process_stop(server);
    dump = dump_path(server, server->data, "dump");
    assert_int_equal(
        run_shell(output, sizeof(output),
                  "sed '1s/\"topics\":{/&\"next_token\":3298534883329/' %s | %s load %s", dump,
                  server_binary(), loaded),
        0);
    assert_int_equal(run_shell(output, sizeof(output),
                               "rm -r %s/journal && %s dump %s | sed -n 1p", loaded,
                               server_binary(), loaded),
                     0);
    assert_non_null(strstr(output, "\"next_token\":4398046511105"));
    free(loaded);
    free(dump);
}

/* Nothing is left in its place. */
static void load_fails(struct server_process *server, const char *filter, const char *wanted)
{
    char *dump = server_process_path(server, "dump"),
         *loaded = server_process_path(server, "no");

    assert_int_equal(run_shell(output, sizeof(output), "rm -rf %s.loading; %s %s | %s load %s",
                               loaded, filter, dump, server_binary(), loaded),
                     1);
    expect_said(output, wanted);
    assert_int_equal(access(loaded, F_OK), -1);
    free(dump);
    free(loaded);
}

static void a_damaged_dump_is_refused(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    server_process_stop(server);
    free(dump_path(server, server->data, "dump"));
    load_fails(server, "head -n -1", "line 106: the dump is cut off");
    load_fails(server, "sed 5d", "line 106: lines are missing");
    load_fails(server, "sed '5s/,/;/'", "line 5: this is no line of JSON");
    load_fails(server, "sed '5s/\"seq\":3/\"seq\":2/'", "line 5: the id is already present");
    load_fails(server, "sed '5s/\"seq\":3/\"seq\":3000/'", "line 5: argument out of range");
    load_fails(server, "sed 1d", "line 1: the first line is not that of a dump");
    load_fails(server, "sed '5s/\"due\":/\"due\":499999/'", "line 5: argument out of range");
}

static void a_dump_that_cannot_be_read_is_not_called_damaged(void **state)
{
    struct server_process *server = fill_server("");
    char *loaded = server_process_path(server, "no");

    (void)state;
    assert_int_equal(
        run_shell(output, sizeof(output), "%s load %s < /", server_binary(), loaded), 2);
    expect_said(output, "Is a directory");
    expect_said(output, "the dump cannot be read");
    assert_int_equal(run_shell(output, sizeof(output), "ls -d %s*", loaded), 2);
    free(loaded);
}

/* With those numbers new topics begin. */
static void a_head_with_numbers_that_no_store_has_is_refused(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    server_process_stop(server);
    free(dump_path(server, server->data, "dump"));
    load_fails(server, "sed '1s/\"topics\":{/&\"next_seq\":0/'",
               "line 1: argument out of range");
    load_fails(server, "sed '1s/\"topics\":{/&\"next_token\":0/'",
               "line 1: argument out of range");
    load_fails(server, "sed '1s/\"topics\":{/&\"next_seq\":9223372036854775807/'",
               "line 1: argument out of range");
    load_fails(server, "sed '1s/\"topics\":{/&\"next_token\":9223372036854775807/'",
               "line 1: argument out of range");
    load_fails(server, "sed '1s/\"ahead\":-*[0-9]*/\"ahead\":9223372036854775807/'",
               "line 1: the first line");
    load_fails(server, "sed '1s/\"since_boot\":-*[0-9]*/\"since_boot\":-9223372036854775807/'",
               "line 1: the first line");
}

static int load(const char *dir, const char *dump)
{
    return run_shell(output, sizeof(output), "%s load %s < %s", server_binary(), dir, dump);
}

static mode_t mode_of(const char *dir)
{
    struct stat found;

    assert_int_equal(stat(dir, &found), 0);
    return found.st_mode & 07777;
}

static void an_empty_directory_is_filled_and_keeps_its_mode(void **state)
{
    struct server_process *server = fill_server("");
    char *dir = server_process_path(server, "new"),
         *slashes = server_process_path(server, "new//"),
         *link = server_process_path(server, "link"), *dump;

    (void)state;
    server_process_stop(server);
    dump = dump_path(server, server->data, "dump");
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 02750), 0);
    assert_int_equal(load(slashes, "/dev/null"), 1);
    expect_said(output, "the dump is cut off");
    assert_int_equal(mode_of(dir), 02750);
    assert_int_equal(load(slashes, dump), 0);
    assert_int_equal(mode_of(dir), 02750);
    assert_int_equal(check(dir), 0);
    assert_int_equal(load(slashes, dump), 2);
    expect_said(output, "not empty");
    assert_int_equal(run_shell(output, sizeof(output), "rm -r %s", dir), 0);
    assert_int_equal(symlink(dir, link), 0);
    assert_int_equal(load(link, dump), 2);
    assert_int_equal(load(slashes, dump), 0);
    assert_int_equal(mode_of(dir), 0700);
    free(dir);
    free(slashes);
    free(link);
    free(dump);
}

/* The owner of another can be kept by root only. */
static void the_owner_of_an_empty_directory_stays(void **state)
{
    struct server_process *server = fill_server("");
    char *dir = server_process_path(server, "owned"), *dump;
    struct stat found;

    (void)state;
    server_process_stop(server);
    dump = dump_path(server, server->data, "dump");
    assert_int_equal(mkdir(dir, 0700), 0);
    if (chown(dir, 12345, 23456) == 0) {
        assert_int_equal(load(dir, dump), 0);
        assert_int_equal(stat(dir, &found), 0);
        assert_int_equal(found.st_uid, 12345);
        assert_int_equal(found.st_gid, 23456);
        assert_int_equal(
            run_shell(output, sizeof(output), "find %s ! -user 12345 -o ! -group 23456", dir),
            0);
        assert_string_equal(output, "");
    }
    free(dir);
    free(dump);
}

static void dump_and_load_take_no_directory_in_use(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    assert_int_equal(
        run_shell(output, sizeof(output), "%s dump %s", server_binary(), server->data), 2);
    expect_said(output, "in use");
    assert_int_equal(run_shell(output, sizeof(output), "%s load %s </dev/null", server_binary(),
                               server->data),
                     2);
    expect_said(output, "not empty");
    server_process_stop(server);
    assert_int_equal(run_shell(output, sizeof(output), "%s dump %s >/dev/full", server_binary(),
                               server->data),
                     2);
    expect_said(output, "cannot be written");
}

/* ---- repair */

static int repair(const char *from, const char *to)
{
    return run_shell(output, sizeof(output), "%s repair %s %s", server_binary(), from, to);
}

/* Everything that is in the directory, with its bytes. */
static void print_state(const char *data, char *text, size_t size)
{
    assert_int_equal(run_shell(text, size,
                               "cd %s && find . | sort && find . -type f | sort | "
                               "xargs cat | sha256sum",
                               data),
                     0);
}

static void a_damaged_directory_is_salvaged_into_a_new_one(void **state)
{
    struct server_process *server = fill_server("");
    char path[PATH_MAX], *made = server_process_path(server, "made");
    static char before[4000], after[4000];

    (void)state;
    server_process_stop(server);
    snprintf(path, sizeof(path), "%s/data.mdb", server->data);
    assert_int_equal(run_shell(output, sizeof(output), "rm %s/journal/*", server->data), 0);
    assert_true(damage_file(path, "body-number-50"));
    print_state(server->data, before, sizeof(before));
    assert_int_equal(repair(server->data, made), 1);
    expect_said(output, "damaged: data.mdb: page");
    expect_said(output, "lost: topic \"mail\", job \"job-50\" (seq 51): its body is lost");
    expect_said(output, "1 topics, 99 jobs, 2 keys");
    print_state(server->data, after, sizeof(after));
    assert_string_equal(before, after);
    assert_int_equal(check(made), 0);
    assert_int_equal(run_shell(output, sizeof(output), "ls -d %s.*", made), 2);
    free(made);
}

static void a_sound_directory_is_copied_by_a_repair(void **state)
{
    struct server_process *server = fill_server("");
    char *made = server_process_path(server, "made");

    (void)state;
    server_process_kill(server);
    assert_int_equal(repair(server->data, made), 0);
    expect_said(output, "nothing is lost");
    assert_int_equal(check(made), 0);
    free(made);
}

/* To open one, or to read from it, would take for ever. */
static void a_repair_does_not_wait_for_pipes(void **state)
{
    struct server_process *server = fill_server("");
    char *made = server_process_path(server, "made");

    (void)state;
    server_process_stop(server);
    assert_int_equal(run_shell(output, sizeof(output),
                               "cd %s && rm FORMAT && "
                               "mkfifo FORMAT journal/00000000000000ff.seg",
                               server->data),
                     0);
    assert_int_equal(repair(server->data, made), 1);
    expect_said(output, "damaged: FORMAT is damaged");
    expect_said(output, "00000000000000ff.seg: Invalid argument");
    expect_said(output, "1 topics, 100 jobs, 2 keys");
    assert_int_equal(run_shell(output, sizeof(output),
                               "rm -r %s && cd %s && rm data.mdb && mkfifo data.mdb", made,
                               server->data),
                     0);
    assert_int_equal(repair(server->data, made), 1);
    expect_said(output, "data.mdb is not a regular file");
    assert_int_equal(run_shell(output, sizeof(output), "ls -d %s*", made), 2);
    free(made);
}

/* A user for whom the rights of files count: not root. */
static int run_as_user(const char *command, const char *data, const char *more)
{
    return run_shell(output, sizeof(output), "%s timeout 60 %s %s %s %s",
                     geteuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups" : "",
                     server_binary(), command, data, more);
}

/* Nothing is called damaged, or made. */
static void expect_refusal(int status, int wanted)
{
    assert_int_equal(status, wanted);
    expect_said(output, "cannot open ");
    expect_said(output, ": Permission denied");
    assert_null(strstr(output, "damage"));
    assert_null(strstr(output, "no store"));
}

/* Without the rights of that file of the directory, which gets them back. */
static void expect_refusals_without(const struct server_process *server, const char *file)
{
    const char *data = server->data;
    char *made = server_process_path(server, "made"), port[32];

    snprintf(port, sizeof(port), "--port %d", free_port());
    assert_int_equal(run_shell(output, sizeof(output), "chmod 0 %s/%s", data, file), 0);
    expect_refusal(run_as_user("check", data, ""), 2);
    expect_refusal(run_as_user("dump", data, ""), 2);
    expect_refusal(run_as_user("repair", data, made), 2);
    expect_refusal(run_as_user("server --dir", data, port), 1);
    assert_int_equal(run_shell(output, sizeof(output), "ls -d %s*", made), 2);
    assert_int_equal(run_shell(output, sizeof(output), "chmod 700 %s/%s", data, file), 0);
    free(made);
}

static void what_this_user_may_not_read_is_not_called_damaged(void **state)
{
    struct server_process *server = fill_server("");

    (void)state;
    server_process_kill(server);
    assert_int_equal(run_shell(output, sizeof(output), "chmod 777 %s", server->directory), 0);
    if (geteuid() == 0)
        assert_int_equal(
            run_shell(output, sizeof(output), "chown -R 65534:65534 %s", server->data), 0);
    expect_refusals_without(server, "journal/0*.seg");
    expect_refusals_without(server, "journal");
    expect_refusals_without(server, "data.mdb");
    expect_refusals_without(server, "FORMAT");
    expect_refusals_without(server, "");
    assert_int_equal(check(server->data), 0);
}

static void a_repair_overwrites_nothing(void **state)
{
    struct server_process *server = fill_server("");
    char *made = server_process_path(server, "made"), inside[PATH_MAX];

    (void)state;
    assert_int_equal(repair(server->data, made), 2);
    expect_said(output, "in use");
    server_process_stop(server);
    assert_int_equal(repair(server->data, server->data), 2);
    expect_said(output, "not empty");
    snprintf(inside, sizeof(inside), "%s/made", server->data);
    assert_int_equal(repair(server->data, inside), 2);
    expect_said(output, "does not write into the directory that it reads");
    assert_int_equal(repair("/nonexistent", made), 2);
    assert_int_equal(repair(server->data, ""), 2);
    expect_said(output, "repair takes two directories");
    assert_int_equal(run_shell(output, sizeof(output), "ls -d %s*", made), 2);
    free(made);
}

static void what_a_killed_repair_left_is_named(void **state)
{
    static const char *const left[] = {".repairing", ".repairing.read"};
    struct server_process *server = fill_server("");
    char *made = server_process_path(server, "made");

    (void)state;
    server_process_stop(server);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            run_shell(output, sizeof(output), "mkdir -p %s%s/journal", made, left[i]), 0);
        assert_int_equal(repair(server->data, made), 2);
        expect_said(output, left[i]);
        expect_said(output, " is left over from another repair: remove it");
        assert_int_equal(run_shell(output, sizeof(output), "rm -r %s%s", made, left[i]), 0);
    }
    assert_int_equal(repair(server->data, made), 0);
    free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_sound_directory_is_called_sound, tear_down),
        cmocka_unit_test_teardown(what_cannot_be_checked_is_no_damage, tear_down),
        cmocka_unit_test_teardown(a_damaged_page_is_named, tear_down),
        cmocka_unit_test_teardown(a_damaged_journal_is_named, tear_down),
        cmocka_unit_test_teardown(a_check_keeps_to_the_size_of_the_segments, tear_down),
        cmocka_unit_test_teardown(a_dump_of_what_was_loaded_is_the_same, tear_down),
        cmocka_unit_test_teardown(a_load_needs_no_disk_for_large_segments, tear_down),
        cmocka_unit_test_teardown(a_server_goes_on_with_what_was_loaded, tear_down),
        cmocka_unit_test_teardown(a_damaged_dump_is_refused, tear_down),
        cmocka_unit_test_teardown(a_dump_that_cannot_be_read_is_not_called_damaged, tear_down),
        cmocka_unit_test_teardown(a_head_with_numbers_that_no_store_has_is_refused, tear_down),
        cmocka_unit_test_teardown(an_empty_directory_is_filled_and_keeps_its_mode, tear_down),
        cmocka_unit_test_teardown(the_owner_of_an_empty_directory_stays, tear_down),
        cmocka_unit_test_teardown(what_was_loaded_keeps_the_epoch, tear_down),
        cmocka_unit_test_teardown(dump_and_load_take_no_directory_in_use, tear_down),
        cmocka_unit_test_teardown(a_damaged_directory_is_salvaged_into_a_new_one, tear_down),
        cmocka_unit_test_teardown(a_sound_directory_is_copied_by_a_repair, tear_down),
        cmocka_unit_test_teardown(a_repair_does_not_wait_for_pipes, tear_down),
        cmocka_unit_test_teardown(what_this_user_may_not_read_is_not_called_damaged, tear_down),
        cmocka_unit_test_teardown(a_repair_overwrites_nothing, tear_down),
        cmocka_unit_test_teardown(what_a_killed_repair_left_is_named, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
