#include "tools/terminal/screen.h"

#include "tools/terminal/library.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- what is used of libncursesw.so.6, as its curses.h tells it */

typedef struct curses_window WINDOW;
typedef struct curses_screen SCREEN;
enum { NO_CHARACTER = -1, ESCAPE_WAIT_MS = 50 };
enum { A_BOLD = 1 << 21, A_REVERSE = 1 << 18 };
enum { KEY_DOWN = 0402, KEY_UP, KEY_LEFT, KEY_RIGHT, KEY_HOME, KEY_BACKSPACE };
enum { KEY_NEXT_PAGE = 0522, KEY_PREVIOUS_PAGE = 0523, KEY_ENTER = 0527, KEY_END = 0550 };
enum { KEY_NEW_SIZE = 0632 };
enum { COLOR_RED = 1, COLOR_GREEN = 2, COLOR_YELLOW = 3, COLOR_CYAN = 6, DEFAULT_COLOR = -1 };

static struct {
    WINDOW **standard; /* stdscr */
    SCREEN *(*new_terminal)(const char *type, FILE *out, FILE *in);
    void (*delete_screen)(SCREEN *);
    int (*end)(void);
    int (*break_mode)(void);
    int (*no_echo)(void);
    int (*keypad)(WINDOW *, bool);
    void (*timeout)(WINDOW *, int ms);
    int (*get)(WINDOW *);
    int (*move)(WINDOW *, int row, int column);
    int (*add)(WINDOW *, const char *text, int size);
    int (*attributes)(WINDOW *, unsigned int attributes, short pair, void *none);
    int (*erase)(WINDOW *);
    int (*refresh)(WINDOW *);
    int (*show)(void);
    int (*clear)(WINDOW *, bool);
    int (*cursor)(int visible);
    int (*resize)(int rows, int columns);
    int (*escape_delay)(int ms);
    bool (*has_colors)(void);
    int (*start_color)(void);
    int (*default_colors)(void);
    int (*pair)(short number, short text, short ground);
} lib;

static SCREEN *screen;
static bool colors;

static bool load(char *why, size_t size)
{
    const struct library_function functions[] = {{"stdscr", &lib.standard},
                                                 {"newterm", &lib.new_terminal},
                                                 {"delscreen", &lib.delete_screen},
                                                 {"endwin", &lib.end},
                                                 {"cbreak", &lib.break_mode},
                                                 {"noecho", &lib.no_echo},
                                                 {"keypad", &lib.keypad},
                                                 {"wtimeout", &lib.timeout},
                                                 {"wgetch", &lib.get},
                                                 {"wmove", &lib.move},
                                                 {"waddnstr", &lib.add},
                                                 {"wattr_set", &lib.attributes},
                                                 {"werase", &lib.erase},
                                                 {"wnoutrefresh", &lib.refresh},
                                                 {"doupdate", &lib.show},
                                                 {"clearok", &lib.clear},
                                                 {"curs_set", &lib.cursor},
                                                 {"resizeterm", &lib.resize},
                                                 {"set_escdelay", &lib.escape_delay},
                                                 {"has_colors", &lib.has_colors},
                                                 {"start_color", &lib.start_color},
                                                 {"use_default_colors", &lib.default_colors},
                                                 {"init_pair", &lib.pair}};

    return library_open("libncursesw.so.6", "libncursesw6", functions,
                        sizeof(functions) / sizeof(functions[0]), why, size);
}

/* ---- the terminal */

static void choose_colors(void)
{
    static const short of_style[][2] = {{SCREEN_GOOD, COLOR_GREEN},
                                        {SCREEN_BUSY, COLOR_YELLOW},
                                        {SCREEN_WAIT, COLOR_CYAN},
                                        {SCREEN_BAD, COLOR_RED}};
    const char *none = getenv("NO_COLOR");

    colors = (none == NULL || none[0] == '\0') && lib.has_colors();
    if (!colors)
        return;
    lib.start_color();
    lib.default_colors();
    for (size_t i = 0; i < sizeof(of_style) / sizeof(of_style[0]); i++)
        lib.pair(of_style[i][0], of_style[i][1], DEFAULT_COLOR);
}

bool screen_open(char *why, size_t size)
{
    if (!load(why, size))
        return false;
    screen = lib.new_terminal(NULL, stdout, stdin);
    if (screen == NULL) {
        snprintf(why, size, "the terminal's type, in TERM, is not known here: try TERM=xterm");
        return false;
    }
    lib.break_mode();
    lib.no_echo();
    lib.escape_delay(ESCAPE_WAIT_MS);
    lib.keypad(*lib.standard, true);
    lib.timeout(*lib.standard, 0);
    lib.cursor(0);
    choose_colors();
    return true;
}

void screen_close(void)
{
    if (screen == NULL)
        return;
    lib.end();
    lib.delete_screen(screen);
    screen = NULL;
}

void screen_size(int *ret_rows, int *ret_columns)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;

    *ret_rows = known && size.ws_row > 0 ? size.ws_row : 24;
    *ret_columns = known && size.ws_col > 0 ? size.ws_col : 80;
}

void screen_resize(void)
{
    int rows, columns;

    screen_size(&rows, &columns);
    lib.resize(rows, columns);
}

void screen_clear(void)
{
    lib.erase(*lib.standard);
}

void screen_put(int row, int column, enum screen_style style, const char *text)
{
    unsigned int attributes = style == SCREEN_HEAD     ? A_BOLD
                              : style == SCREEN_MARKED ? A_REVERSE
                                                       : 0;

    lib.attributes(*lib.standard, attributes, colors && style >= SCREEN_GOOD ? (short)style : 0,
                   NULL);
    if (lib.move(*lib.standard, row, column) == 0)
        lib.add(*lib.standard, text, -1);
}

void screen_show(void)
{
    lib.refresh(*lib.standard);
    lib.show();
}

void screen_repaint(void)
{
    lib.clear(*lib.standard, true);
}

int screen_key(void)
{
    static const struct {
        int theirs, ours;
    } keys[] = {{KEY_UP, SCREEN_UP},
                {KEY_DOWN, SCREEN_DOWN},
                {KEY_LEFT, SCREEN_LEFT},
                {KEY_RIGHT, SCREEN_RIGHT},
                {KEY_PREVIOUS_PAGE, SCREEN_PAGE_UP},
                {KEY_NEXT_PAGE, SCREEN_PAGE_DOWN},
                {KEY_HOME, SCREEN_BEGIN},
                {KEY_END, SCREEN_END},
                {KEY_ENTER, SCREEN_ENTER},
                {'\r', SCREEN_ENTER},
                {'\n', SCREEN_ENTER},
                {KEY_BACKSPACE, SCREEN_BACKSPACE},
                {'\b', SCREEN_BACKSPACE},
                {0x7f, SCREEN_BACKSPACE}};
    int key;

    do
        key = lib.get(*lib.standard);
    while (key == KEY_NEW_SIZE); /* of screen_resize(): nobody has typed it */
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (key == keys[i].theirs)
            return keys[i].ours;
    if (key == NO_CHARACTER)
        return SCREEN_NO_KEY;
    return key > 0 && key < 0x100 ? key : SCREEN_OTHER_KEY;
}
