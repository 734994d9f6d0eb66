/* `dueq top` without a server and a terminal: rows, order, filter, keys, layout. */
#include "tools/top/top_view.h"

#include "tests/support/dice.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static struct top_state state;

static int begin(void **unused)
{
    (void)unused;
    top_state_begin(&state);
    state.connected = true;
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    top_state_release(&state);
    return 0;
}

#define top_test(function) cmocka_unit_test_setup_teardown(function, begin, end)

/* Lists the topics of these words, and looks at the screen. */
static void list(const char *words)
{
    char text[1024], *rest = NULL;
    const char *names[64];
    size_t sizes[64], count = 0;

    snprintf(text, sizeof(text), "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        names[count] = word;
        sizes[count++] = strlen(word);
    }
    top_topics_list(&state.rows, names, sizes, count);
    top_state_fit(&state, state.height, state.width);
}

static struct top_topic *find(const char *name)
{
    for (size_t i = 0; i < state.rows.count; i++)
        if (strcmp(state.rows.all[i]->name, name) == 0)
            return state.rows.all[i];
    return NULL;
}

static void take(const char *name, int64_t ready, int64_t next_due, int64_t pushed, int64_t now)
{
    const struct topic_figures figures = {
        .ready = ready, .next_due = next_due, .pushed = pushed};

    assert_non_null(find(name));
    top_topic_take(find(name), &figures, now);
}

/* The topics that are shown, in their order; the selected one in brackets. */
static const char *shown(void)
{
    static char text[2048];

    text[0] = '\0';
    for (size_t i = 0; i < state.rows.shown_count; i++) {
        bool selected = state.rows.shown[i] == state.rows.selected;
        size_t size = strlen(text);

        snprintf(text + size, sizeof(text) - size, "%s%s%s%s", i > 0 ? " " : "",
                 selected ? "[" : "", state.rows.shown[i]->name, selected ? "]" : "");
    }
    return text;
}

/* A line of the screen as it would be seen. */
static const char *seen(int row)
{
    static char text[4096];
    struct frame frame;
    size_t size = 0;

    frame_begin(&frame, state.height, state.width);
    top_view_draw(&state, &frame);
    memset(text, ' ', sizeof(text));
    for (size_t i = 0; i < frame.count; i++) {
        const struct frame_piece *piece = &frame.pieces[i];

        assert_in_range(piece->row, 0, state.height - 1);
        assert_in_range(piece->column, 0, state.width - 1);
        if (piece->row != row)
            continue;
        memcpy(text + piece->column, piece->text, strlen(piece->text));
        if ((size_t)piece->column + strlen(piece->text) > size)
            size = (size_t)piece->column + strlen(piece->text);
    }
    while (size > 0 && text[size - 1] == ' ')
        size--;
    text[size] = '\0';
    frame_release(&frame);
    return text;
}

static enum top_action type(const char *keys)
{
    enum top_action action = TOP_NOTHING;

    for (; *keys != '\0'; keys++)
        action = top_state_key(&state, *keys == '\n' ? SCREEN_ENTER : (unsigned char)*keys);
    return action;
}

/* ---- topics */

static void topics_come_and_go_and_keep_what_is_known(void **unused)
{
    (void)unused;
    list("a c e");
    take("c", 7, -1, 0, 1000);
    list("a b c d e");
    assert_string_equal(shown(), "[a] b c d e");
    assert_int_equal(find("c")->now.ready, 7);
    list("c");
    assert_string_equal(shown(), "[c]");
    assert_int_equal(find("c")->now.ready, 7);
    list("");
    assert_string_equal(shown(), "");
    assert_null(state.rows.selected);
    list("x");
    assert_string_equal(shown(), "[x]");
}

static void a_rate_needs_two_looks_and_a_counter_that_grows(void **unused)
{
    (void)unused;
    list("a");
    take("a", 0, -1, 100, 1000);
    assert_true(find("a")->in < 0);
    take("a", 0, -1, 150, 3000);
    assert_true(find("a")->in == 25);
    take("a", 0, -1, 3, 5000); /* made anew */
    assert_true(find("a")->in < 0);
    take("a", 0, -1, 4, 5000); /* no time between */
    assert_true(find("a")->in < 0);
}

static void the_most_stand_above_and_equal_ones_by_name(void **unused)
{
    (void)unused;
    list("a b c d");
    take("b", 5, 2000, 0, 1);
    take("c", 9, 1000, 0, 1);
    take("d", 5, -1, 0, 1);
    type("r");
    assert_string_equal(shown(), "c b d [a]");
    type("R");
    assert_string_equal(shown(), "[a] b d c");
    type("R");
    type("u"); /* due next above; those without a next one below */
    assert_string_equal(shown(), "c b [a] d");
    type("n");
    assert_string_equal(shown(), "[a] b c d");
    type("<");
    assert_int_equal(state.rows.order, TOPIC_PAUSED);
    type(">>");
    assert_int_equal(state.rows.order, TOPIC_READY);
}

static void the_filter_finds_a_part_of_the_name(void **unused)
{
    (void)unused;
    list("Trail invoice mail mail2");
    type("/AI");
    assert_string_equal(shown(), "[Trail] mail mail2");
    type("l2\n");
    assert_string_equal(shown(), "[mail2]");
    type("/zzz");
    assert_string_equal(shown(), "");
    assert_null(state.rows.selected);
    type("\033"); /* gives the new one up */
    assert_string_equal(shown(), "[mail2]");
    assert_int_equal(state.prompt, TOP_NO_PROMPT);
    type("/");
    for (int i = 0; i < 200; i++)
        top_state_key(&state, SCREEN_BACKSPACE);
    type("\n");
    assert_int_equal(state.rows.shown_count, 4);
    type("/");
    for (int i = 0; i < 1000; i++)
        type("x");
    assert_int_equal(strlen(state.rows.filter), TOPIC_FILTER_MAX - 1);
}

static void a_topic_stays_selected_until_it_goes(void **unused)
{
    (void)unused;
    list("a b c d");
    type("jj");
    list("a aa b c d");
    assert_string_equal(shown(), "a aa b [c] d");
    list("a aa b d");
    assert_string_equal(shown(), "a aa b [d]");
    list("a");
    assert_string_equal(shown(), "[a]");
}

static void each_topic_is_asked_about_in_its_turn(void **unused)
{
    struct top_topic *chosen[8];

    (void)unused;
    list("a b c d e");
    assert_int_equal(top_topics_choose(&state.rows, 0, 2, 2, chosen), 2); /* they are seen */
    assert_int_equal(top_topics_choose(&state.rows, 0, 2, 2, chosen), 4);
    assert_string_equal(chosen[2]->name, "c");
    assert_string_equal(chosen[3]->name, "d");
    assert_int_equal(top_topics_choose(&state.rows, 4, 9, 2, chosen), 2);
    assert_string_equal(chosen[0]->name, "e");
    assert_string_equal(chosen[1]->name, "a");
    list("");
    assert_int_equal(top_topics_choose(&state.rows, 0, 2, 2, chosen), 0);
}

/* ---- keys */

static void a_pause_asks_first_and_means_the_topic_of_the_question(void **unused)
{
    (void)unused;
    list("a b");
    assert_int_equal(type("p"), TOP_NOTHING);
    assert_string_equal(seen(23), "pause? (y/n) a");
    list("b");
    assert_int_equal(type("y"), TOP_PAUSE);
    assert_string_equal(state.subject, "a");
    type("p");
    assert_int_equal(type("n"), TOP_NOTHING);
    strcpy(find("b")->now.paused, "all");
    type("p");
    assert_int_equal(type("y"), TOP_RESUME);
    list("");
    type("p");
    assert_int_equal(state.prompt, TOP_NO_PROMPT);
    assert_int_equal(type("\n"), TOP_NOTHING);
}

static void q_goes_back_and_then_ends(void **unused)
{
    (void)unused;
    list("a");
    assert_int_equal(type("\n"), TOP_REFRESH);
    assert_int_equal(state.page, TOP_DETAILS);
    assert_int_equal(type("q"), TOP_REFRESH);
    type("h");
    assert_string_equal(seen(0), "Keys of dueq top");
    assert_int_equal(type("q"), TOP_REFRESH);
    assert_int_equal(type("q"), TOP_QUIT);
}

static void the_selected_row_is_always_seen(void **unused)
{
    char words[512] = "";

    (void)unused;
    for (int i = 10; i < 60; i++)
        sprintf(words + strlen(words), "t%d ", i);
    list(words);
    type("G");
    assert_int_equal(state.first, 50 - top_state_room(&state));
    top_state_fit(&state, 5, 20);
    assert_string_equal(seen(3), "t59");
    top_state_key(&state, SCREEN_PAGE_UP);
    assert_string_equal(seen(1), "t56");
    top_state_fit(&state, 100, 300);
    assert_int_equal(state.first, 0);
    type("g");
    assert_int_equal(top_topics_selected(&state.rows), 0);
}

/* ---- what is seen */

static void columns_go_when_the_terminal_is_narrow(void **unused)
{
    (void)unused;
    list("mail");
    take("mail", 3, 61000, 0, 1);
    state.server.now = 1000;
    state.height = 24;
    state.width = 100;
    assert_string_equal(seen(2),
                        "TOPIC                   READY DELAYED WAITING CLAIMED    DEAD "
                        " OLDEST    NEXT    IN/S   OUT/S PAUSED");
    assert_string_equal(seen(3),
                        "mail                        3       0       0       0       0 "
                        "            60s");
    state.width = 60;
    assert_string_equal(seen(2),
                        "TOPIC                   READY DELAYED CLAIMED    DEAD PAUSED");
    state.width = 20;
    assert_string_equal(seen(2), "TOPIC          READY");
    state.width = 7;
    assert_string_equal(seen(3), "mail");
}

static void a_name_cannot_disturb_the_terminal(void **unused)
{
    static const char name[] = "a\033[2J\0\xff\xc2\x9b\xe2\x80\xae\xc3\xa9";
    const char *names[] = {name};
    const size_t sizes[] = {sizeof(name) - 1};

    (void)unused;
    setlocale(LC_CTYPE, "C.UTF-8");
    top_topics_list(&state.rows, names, sizes, 1);
    state.width = 150;
    assert_non_null(strstr(seen(3), "a\\x1b[2J\\x00\\xff\\xc2\\x9b\\xe2\\x80\\xae\xc3\xa9"));
    setlocale(LC_CTYPE, "C");
    assert_non_null(strstr(seen(3), "\\xae\\xc3\\xa9"));
    state.width = 16;
    assert_string_equal(seen(3), "a\\x1b[2>");
}

static void cells_fit_their_columns(void **unused)
{
    static const int64_t counts[] = {0,          9999999,         10000000, 999949999,
                                     1000000000, 999999999999999, INT64_MAX};
    static const char *const texts[] = {"0",    "9999999", "10.0M", "999.9M",
                                        "1.0G", "1.0P",    "9.2E"};
    struct top_topic row = {.asked = 1};
    char text[TOP_CELL];

    (void)unused;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        row.now.ready = row.now.oldest = row.now.next_due = counts[i];
        assert_string_equal(top_cell(&row, TOPIC_READY, 0, text), texts[i]);
        if (counts[i] < INT64_MAX)
            assert_true(strlen(top_cell(&row, TOPIC_OLDEST, 0, text)) <= 10);
    }
    row.now.oldest = 90 * 1000;
    assert_string_equal(top_cell(&row, TOPIC_OLDEST, 0, text), "90s");
    row.now.oldest = 2 * 3600 * 1000;
    assert_string_equal(top_cell(&row, TOPIC_OLDEST, 0, text), "2h00m");
    row.now.next_due = -1;
    assert_string_equal(top_cell(&row, TOPIC_NEXT, 0, text), "");
}

/* Keys and sizes at random: it draws inside of the frame, and reads nothing outside (ASan). */
static void any_keys_and_any_size_are_fine(void **unused)
{
    struct dice dice;

    (void)unused;
    dice_begin(&dice);
    for (int i = 0; i < 3000; i++) {
        int key = (int)dice_roll(&dice, 4) == 0 ? (int)(SCREEN_UP + dice_roll(&dice, 11))
                                                : (int)(1 + dice_roll(&dice, 255));

        if (dice_roll(&dice, 20) == 0)
            list(dice_roll(&dice, 2) == 0 ? "a b c d e f" : "aa b ee f g h i j k l m n");
        if (dice_roll(&dice, 10) == 0)
            top_state_fit(&state, 1 + (int)dice_roll(&dice, 40),
                          1 + (int)dice_roll(&dice, 120));
        top_state_key(&state, key);
        seen(0);
    }
}

static void the_figures_of_the_server_are_read(void **unused)
{
    struct server_figures figures;

    (void)unused;
    server_figures_read(&figures,
                        "# Server\r\ndueq_version:1.2\r\nserver_time_usec:5000999\r\n"
                        "\r\nuptime_in_seconds:7\r\npressure:1000\r\nx\r\njournal_bytes"
                        ":99999999999999999999\r\nused_memory_rss:5");
    assert_string_equal(figures.version, "1.2");
    assert_int_equal(figures.now, 5000);
    assert_int_equal(figures.uptime, 7);
    assert_int_equal(figures.pressure, 1000);
    assert_int_equal(figures.journal, 0);
    assert_int_equal(figures.memory, 5);
    server_figures_read(&figures, "");
    assert_int_equal(figures.now, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        top_test(topics_come_and_go_and_keep_what_is_known),
        top_test(a_rate_needs_two_looks_and_a_counter_that_grows),
        top_test(the_most_stand_above_and_equal_ones_by_name),
        top_test(the_filter_finds_a_part_of_the_name),
        top_test(a_topic_stays_selected_until_it_goes),
        top_test(each_topic_is_asked_about_in_its_turn),
        top_test(a_pause_asks_first_and_means_the_topic_of_the_question),
        top_test(q_goes_back_and_then_ends),
        top_test(the_selected_row_is_always_seen),
        top_test(columns_go_when_the_terminal_is_narrow),
        top_test(a_name_cannot_disturb_the_terminal),
        top_test(cells_fit_their_columns),
        top_test(any_keys_and_any_size_are_fine),
        top_test(the_figures_of_the_server_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
