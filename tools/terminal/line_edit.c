#include "tools/terminal/line_edit.h"

#include "tools/terminal/end_signals.h"
#include "tools/terminal/library.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { HINT_ROOM = 256, INSERT_ROOM = 256, REMEMBERED = 1000, INTERRUPT = 3, BACKGROUND = 1 };

/* ---- what is used of libedit.so.2, as its histedit.h tells it */

typedef struct editline EditLine;
typedef struct history History;
struct history_event {
    int number;
    const char *text;
};
struct edited_line {
    const char *begin, *cursor, *end;
};
enum { EL_PROMPT = 0, EL_EDITOR = 2, EL_SIGNAL = 3, EL_BIND = 4, EL_ADDFN = 9, EL_HIST = 10 };
enum { EL_GETCFN = 13, EL_CLIENTDATA = 14, EL_PREP_TERM = 16, EL_REFRESH = 20 };
enum { EL_RPROMPT_ESC = 22 };
enum { CC_NEWLINE = 1, CC_EOF = 2, CC_REFRESH = 4, CC_ERROR = 6, CC_REDISPLAY = 8 };
enum { H_SETSIZE = 1, H_ENTER = 10, H_SETUNIQUE = 20 };

static struct {
    EditLine *(*init)(const char *program, FILE *in, FILE *out, FILE *errors);
    void (*end)(EditLine *);
    int (*set)(EditLine *, int, ...);
    int (*get)(EditLine *, int, ...);
    const char *(*gets)(EditLine *, int *);
    const struct edited_line *(*line)(EditLine *);
    int (*insert)(EditLine *, const char *);
    void (*resize)(EditLine *);
    History *(*history_new)(void);
    void (*history_end)(History *);
    int (*history)(History *, struct history_event *, int, ...);
} lib;

static bool load(void)
{
    const struct library_function functions[] = {{"el_init", &lib.init},
                                                 {"el_end", &lib.end},
                                                 {"el_set", &lib.set},
                                                 {"el_get", &lib.get},
                                                 {"el_gets", &lib.gets},
                                                 {"el_line", &lib.line},
                                                 {"el_insertstr", &lib.insert},
                                                 {"el_resize", &lib.resize},
                                                 {"history_init", &lib.history_new},
                                                 {"history_end", &lib.history_end},
                                                 {"history", &lib.history}};

    char why[256]; /* nobody is told: lines can be typed without it */

    return library_open("libedit.so.2", "libedit2", functions,
                        sizeof(functions) / sizeof(functions[0]), why, sizeof(why));
}

/* ---- what libedit calls */

struct line_edit {
    struct line_edit_hooks hooks;
    EditLine *libedit; /* NULL: there is none */
    History *history;
    bool interrupted;
    char hint[HINT_ROOM + 16];
    char *line;
    size_t room;
};

static struct line_edit *of(EditLine *libedit)
{
    void *edit = NULL;

    lib.get(libedit, EL_CLIENTDATA, &edit);
    return edit;
}

static char *give_prompt(EditLine *libedit)
{
    struct line_edit *edit = of(libedit);

    return (char *)(uintptr_t)edit->hooks.prompt(edit->hooks.context);
}

static size_t columns(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* At the right end, in grey; \001 tells libedit where what is not seen begins and ends. */
static char *give_hint(EditLine *libedit)
{
    struct line_edit *edit = of(libedit);
    const struct edited_line *line = lib.line(libedit);
    size_t typed = (size_t)(line->end - line->begin), width = columns(), room;
    char text[HINT_ROOM];

    room = strlen(edit->hooks.prompt(edit->hooks.context)) + typed + 4;
    room = room < width ? width - room : 0;
    edit->hint[0] = '\0';
    if (line->cursor != line->end || room < 4)
        return edit->hint;
    edit->hooks.hint(edit->hooks.context, line->begin, typed, text,
                     room < sizeof(text) ? room : sizeof(text));
    if (text[0] != '\0')
        snprintf(edit->hint, sizeof(edit->hint), "\001\033[90m\001%s\001\033[0m\001", text);
    return edit->hint;
}

/* A word is complete: the hint changes, for which the line is drawn anew. */
static unsigned char insert_blank(EditLine *libedit, int key)
{
    (void)key;
    return lib.insert(libedit, " ") == 0 ? CC_REFRESH : CC_ERROR;
}

static unsigned char complete(EditLine *libedit, int key)
{
    struct line_edit *edit = of(libedit);
    const struct edited_line *line = lib.line(libedit);
    char insert[INSERT_ROOM];
    bool printed = false;
    size_t size = edit->hooks.complete(edit->hooks.context, line->begin,
                                       (size_t)(line->cursor - line->begin), insert,
                                       sizeof(insert) - 1, &printed);

    (void)key;
    insert[size] = '\0';
    if (size > 0 && lib.insert(libedit, insert) != 0)
        return CC_ERROR;
    return printed ? CC_REDISPLAY : size > 0 ? CC_REFRESH : CC_ERROR;
}

static unsigned char interrupt(EditLine *libedit, int key)
{
    (void)key;
    of(libedit)->interrupted = true;
    return CC_NEWLINE;
}

/* ---- keys */

/* False: the program is to end. */
static bool obey_signals(EditLine *libedit, wchar_t *ret_key)
{
    switch (signals_take()) {
    case HEARD_INTERRUPT:
        *ret_key = INTERRUPT;
        return true;
    case HEARD_RESIZE:
        lib.resize(libedit);
        return true;
    case HEARD_CONTINUE: /* the shell has set the terminal as it likes it */
        lib.set(libedit, EL_PREP_TERM, 0);
        lib.set(libedit, EL_PREP_TERM, 1);
        lib.set(libedit, EL_REFRESH);
        return true;
    case HEARD_END:
        return false;
    case HEARD_NOTHING:
        break;
    }
    return true;
}

/* -1: no byte has come, but a signal; 0: there will be none. */
static int read_byte(char *ret_byte)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    ssize_t got;

    if (signals_poll(&input, 1, -1, false) < 0)
        return errno == EINTR ? -1 : 0;
    got = read(STDIN_FILENO, ret_byte, 1);
    return got < 0 && errno == EINTR ? -1 : got > 0;
}

static int read_key(EditLine *libedit, wchar_t *ret_key)
{
    mbstate_t state = {0};

    for (;;) {
        char byte;
        int got = read_byte(&byte);
        size_t used;

        if (got == 0)
            return 0;
        *ret_key = 0;
        if (got < 0) {
            if (!obey_signals(libedit, ret_key))
                return 0;
            if (*ret_key != 0)
                return 1;
            continue;
        }
        used = mbrtowc(ret_key, &byte, 1, &state);
        if (used == (size_t)-1)
            memset(&state, 0, sizeof(state)); /* a byte that is no text is not typed */
        else if (used != (size_t)-2)
            return 1;
    }
}

/* ---- the editor */

/* UTF-8 also where no language is set. */
static void choose_locale(void)
{
    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static void bind_keys(EditLine *libedit)
{
    lib.set(libedit, EL_EDITOR, "emacs");
    lib.set(libedit, EL_ADDFN, "dueq-blank", "insert a blank", insert_blank);
    lib.set(libedit, EL_ADDFN, "dueq-complete", "complete a word", complete);
    lib.set(libedit, EL_ADDFN, "dueq-interrupt", "drop the line", interrupt);
    lib.set(libedit, EL_BIND, " ", "dueq-blank", NULL);
    lib.set(libedit, EL_BIND, "^I", "dueq-complete", NULL);
    lib.set(libedit, EL_BIND, "^C", "dueq-interrupt", NULL);
    lib.set(libedit, EL_BIND, "^R", "em-inc-search-prev", NULL);
}

static void start(struct line_edit *edit)
{
    struct history_event event;

    choose_locale();
    edit->libedit = lib.init("dueq", stdin, stdout, stderr);
    edit->history = lib.history_new();
    if (edit->libedit == NULL || edit->history == NULL)
        return;
    lib.history(edit->history, &event, H_SETSIZE, (int)REMEMBERED);
    lib.history(edit->history, &event, H_SETUNIQUE, 1);
    lib.set(edit->libedit, EL_CLIENTDATA, edit);
    lib.set(edit->libedit, EL_PROMPT, give_prompt);
    lib.set(edit->libedit, EL_RPROMPT_ESC, give_hint, '\001');
    lib.set(edit->libedit, EL_SIGNAL, 0);
    lib.set(edit->libedit, EL_HIST, lib.history, edit->history);
    lib.set(edit->libedit, EL_GETCFN, read_key);
    bind_keys(edit->libedit);
}

struct line_edit *line_edit_new(const struct line_edit_hooks *hooks)
{
    struct line_edit *edit = calloc(1, sizeof(*edit));

    if (edit == NULL)
        return NULL;
    edit->hooks = *hooks;
    signals_catch();
    if (load())
        start(edit);
    return edit;
}

bool line_edit_is_full(const struct line_edit *edit)
{
    return edit->libedit != NULL;
}

void line_edit_remember(struct line_edit *edit, const char *line)
{
    struct history_event event;

    if (edit->history != NULL)
        lib.history(edit->history, &event, H_ENTER, line);
}

void line_edit_free(struct line_edit *edit)
{
    if (edit == NULL)
        return;
    if (edit->history != NULL)
        lib.history_end(edit->history);
    if (edit->libedit != NULL)
        lib.end(edit->libedit);
    free(edit->line);
    free(edit);
}

/* ---- reading */

/* Room for a line of that size. */
static bool reserve(struct line_edit *edit, size_t size)
{
    char *grown;

    if (size < edit->room)
        return true;
    grown = realloc(edit->line, 2 * size + 1);
    if (grown == NULL)
        return false;
    edit->line = grown;
    edit->room = 2 * size + 1;
    return true;
}

static enum line_outcome read_edited(struct line_edit *edit)
{
    const char *line;
    size_t size;
    int count = 0;

    edit->interrupted = false;
    line = lib.gets(edit->libedit, &count);
    if (edit->interrupted)
        return LINE_INTERRUPTED;
    if (line == NULL || count <= 0)
        return LINE_ENDED;
    size = strcspn(line, "\n");
    if (!reserve(edit, size))
        return LINE_ENDED;
    memcpy(edit->line, line, size);
    edit->line[size] = '\0';
    return LINE_READ;
}

/* The terminal itself has backspace, at least. */
static enum line_outcome read_plain(struct line_edit *edit)
{
    size_t size = 0;
    int got;
    char byte;

    fputs(edit->hooks.prompt(edit->hooks.context), stdout);
    fflush(stdout);
    while (reserve(edit, size) && (got = read_byte(&byte)) != 0) {
        enum signals_heard heard = got < 0 ? signals_take() : HEARD_NOTHING;

        if (heard == HEARD_INTERRUPT || heard == HEARD_END) {
            putchar('\n');
            return heard == HEARD_END ? LINE_ENDED : LINE_INTERRUPTED;
        }
        if (got < 0)
            continue;
        edit->line[size] = '\0';
        if (byte == '\n')
            return LINE_READ;
        edit->line[size++] = byte;
    }
    return LINE_ENDED;
}

enum line_outcome line_edit_read(struct line_edit *edit, const char **ret_line)
{
    enum line_outcome outcome = edit->libedit != NULL ? read_edited(edit) : read_plain(edit);

    *ret_line = edit->line;
    return outcome;
}
