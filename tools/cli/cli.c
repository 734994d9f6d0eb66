/* `dueq cli`: commands of the server as they are, typed, in arguments, or in lines of a file.
 */
#include "tools/cli/cli_session.h"
#include "tools/cli/command_hints.h"
#include "tools/cli/history_file.h"
#include "tools/client/columns.h"
#include "tools/terminal/end_signals.h"
#include "tools/terminal/line_edit.h"

#include "protocol/number.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct cli {
    struct cli_session session;
    struct command_hints *hints; /* NULL: there are none yet */
    struct line_edit *edit;
    char prompt[160];
    int64_t repeat; /* -1: for ever */
    double pause;   /* s, between two */
};

/* ---- one command */

static void wait_between(const struct cli *cli)
{
    struct timespec pause = {(time_t)cli->pause,
                             (long)((cli->pause - floor(cli->pause)) * 1e9)};

    fflush(stdout);
    if (cli->pause > 0)
        nanosleep(&pause, NULL);
}

static int run_repeatedly(struct cli *cli, const struct words *words, int64_t times)
{
    int status = CLIENT_DONE;

    for (int64_t i = 0; times < 0 || i < times; i++) {
        if (i > 0)
            wait_between(cli);
        status = cli_run(&cli->session, words);
        if (status == CLIENT_UNREACHABLE || ferror(stdout) ||
            (cli->session.interactive && signals_are_there(true)))
            break;
    }
    return status;
}

/* The exit status of several commands tells of the first that failed. */
static int worse(int before, int now)
{
    return before != CLIENT_DONE ? before : now;
}

/* ---- commands in arguments */

static int run_arguments(struct cli *cli)
{
    struct client_call *call = cli->session.call;
    struct words words = {
        .texts = (char **)call->words, .sizes = call->sizes, .count = call->count};

    if (client_option(call, "x") != NULL) {
        call->words[call->count++] = "-";
        if (!client_read_body(call, call->count - 1))
            return CLIENT_REFUSED;
        words.count = call->count;
    }
    return run_repeatedly(cli, &words, cli->repeat);
}

/* ---- commands in lines */

static bool is_comment(const struct words *words)
{
    return words->count == 0 || words->texts[0][0] == '#';
}

static int run_line(struct cli *cli, const char *line, size_t size)
{
    struct words words;
    int status = CLIENT_DONE;

    if (!words_split(line, size, &words)) {
        fputs("dueq cli: a line has a quote without an end, or without a blank behind it\n",
              stderr);
        return CLIENT_USAGE;
    }
    if (!is_comment(&words))
        status = run_repeatedly(cli, &words, cli->repeat);
    words_release(&words);
    return status;
}

static int run_lines(struct cli *cli)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int status = CLIENT_DONE, now = CLIENT_DONE;

    while (now != CLIENT_UNREACHABLE && !ferror(stdout) &&
           (size = getline(&line, &room, stdin)) > 0) {
        now = run_line(cli, line, (size_t)size);
        status = worse(status, now);
    }
    free(line);
    return status;
}

/* ---- what a person types: hooks of the editor */

static const char *make_prompt(void *context)
{
    struct cli *cli = context;
    const struct cli_session *session = &cli->session;
    const struct online_options *where = &session->call->where;
    char database[32] = "";

    if (session->database != 0)
        snprintf(database, sizeof(database), "[%lld]", (long long)session->database);
    if (session->call->client == NULL)
        snprintf(cli->prompt, sizeof(cli->prompt), "not connected> ");
    else if (where->unix_path != NULL)
        snprintf(cli->prompt, sizeof(cli->prompt), "%.80s%s%s> ", where->unix_path, database,
                 session->in_multi ? "(TX)" : "");
    else
        snprintf(cli->prompt, sizeof(cli->prompt), "%.60s:%.10s%s%s> ", where->host,
                 where->port, database, session->in_multi ? "(TX)" : "");
    return cli->prompt;
}

static void show_hint(void *context, const char *line, size_t size, char *hint, size_t room)
{
    const struct cli *cli = context;

    command_hints_show(cli->hints, line, size, hint, room);
}

struct choices {
    char common[80]; /* how all of them begin */
    size_t count;
    bool prints;
};

static void take_choice(void *context, const char *name)
{
    struct choices *choices = context;
    size_t same = 0;

    if (choices->prints)
        printf("%s  ", name);
    if (choices->count++ == 0)
        snprintf(choices->common, sizeof(choices->common), "%s", name);
    while (choices->common[same] != '\0' && choices->common[same] == name[same])
        same++;
    choices->common[same] = '\0';
}

/* As the person writes: in small letters, if the word began so. */
static size_t insert_rest(const char *common, const char *word, size_t typed, char *insert,
                          size_t room)
{
    size_t size = strlen(common), count = 0;
    bool small = typed > 0 && word[typed - 1] >= 'a' && word[typed - 1] <= 'z';

    for (size_t i = typed; i < size && count < room; i++)
        insert[count++] =
            small && common[i] >= 'A' && common[i] <= 'Z' ? (char)(common[i] + 32) : common[i];
    return count;
}

static size_t complete(void *context, const char *line, size_t size, char *insert, size_t room,
                       bool *ret_printed)
{
    const struct cli *cli = context;
    struct choices choices = {.count = 0};
    size_t typed = 0, inserted;

    while (typed < size && line[size - typed - 1] != ' ')
        typed++;
    command_hints_complete(cli->hints, line, size, take_choice, &choices);
    if (choices.count == 0)
        return 0;
    inserted = insert_rest(choices.common, line + size - typed, typed, insert, room);
    if (choices.count == 1 && inserted < room)
        insert[inserted++] = ' ';
    *ret_printed = inserted == 0;
    if (*ret_printed) {
        choices = (struct choices){.prints = true};
        putchar('\n');
        command_hints_complete(cli->hints, line, size, take_choice, &choices);
        putchar('\n');
        fflush(stdout);
    }
    return inserted;
}

/* ---- what a person types: lines */

static void load_hints(struct cli *cli)
{
    const char *words[] = {"COMMAND", "DOCS"};
    redisReply *reply;

    if (cli->hints != NULL || cli->session.call->client == NULL)
        return;
    reply = cli_ask_quietly(&cli->session, 2, words);
    cli->hints = command_hints_new(reply);
    resp3_free(reply);
}

static const char general_help[] =
    "Commands are sent to the server as they are typed: Q.PUSH mail hello DELAY 5m. Words "
    "with\n"
    "blanks stand in \"...\", where \\n, \\x00 and the like are known, or in '...'. Tab "
    "completes, "
    "the\n"
    "arrow keys and Ctrl-R find what was typed before, Ctrl-C ends a wait, Ctrl-D ends all.\n"
    "\n"
    "  help COMMAND     what the server says about a command: help q.push\n"
    "  help @GROUP      all of a group: @queue @string @hash @list @set @sorted-set @server\n"
    "  N COMMAND ...    the command N times\n"
    "  clear            the screen\n"
    "  quit\n";

/* A command of this program. False: it is one of the server's. */
static bool run_own(struct cli *cli, const struct words *words)
{
    if (words_is(words, 0, "clear") && words->count == 1) {
        fputs("\033[H\033[2J", stdout);
        return true;
    }
    if (!words_is(words, 0, "help") && !words_is(words, 0, "?"))
        return false;
    load_hints(cli);
    if (words->count == 1)
        fputs(general_help, stdout);
    else if (!command_hints_help(cli->hints, words, 1))
        puts("The server knows no such command; `help` alone tells more.");
    return true;
}

static bool ends(const struct words *words)
{
    return words->count == 1 && (words_is(words, 0, "quit") || words_is(words, 0, "exit"));
}

/* "5 PING" runs it five times. */
static void run_typed(struct cli *cli, struct words *words)
{
    struct words command = *words;
    int64_t times = cli->repeat;

    if (words->count > 1 && number_parse_integer(words->texts[0], words->sizes[0], &times) &&
        times > 0)
        command = (struct words){words->texts + 1, words->sizes + 1, words->count - 1};
    else
        times = cli->repeat;
    run_repeatedly(cli, &command, times);
}

/* False: it was the last one. */
static bool take_line(struct cli *cli, const char *line)
{
    struct words words;
    bool goes_on = true;

    if (!words_split(line, strlen(line), &words)) {
        puts("A quote has no end, or no blank behind it.");
        return true;
    }
    if (words.count > 0 && !words_are_secret(&words)) {
        line_edit_remember(cli->edit, line);
        history_file_add(line);
    }
    if (ends(&words))
        goes_on = false;
    else if (words.count > 0 && !run_own(cli, &words))
        run_typed(cli, &words);
    words_release(&words);
    return goes_on;
}

static void remember(void *context, const char *line)
{
    line_edit_remember(context, line);
}

static void converse(struct cli *cli)
{
    enum line_outcome outcome = LINE_READ;
    const char *line;
    bool goes_on = true;

    while (goes_on && outcome != LINE_ENDED) {
        if (cli->session.call->client != NULL)
            load_hints(cli);
        fflush(stdout);
        outcome = line_edit_read(cli->edit, &line);
        if (outcome == LINE_READ)
            goes_on = take_line(cli, line);
        if (signals_take() == HEARD_END)
            goes_on = false;
    }
    if (outcome == LINE_ENDED)
        putchar('\n');
}

static int run_interactive(struct cli *cli)
{
    const struct line_edit_hooks hooks = {
        .context = cli, .prompt = make_prompt, .hint = show_hint, .complete = complete};

    cli->session.interactive = true;
    cli->edit = line_edit_new(&hooks);
    if (cli->edit == NULL)
        return CLIENT_REFUSED;
    if (!line_edit_is_full(cli->edit))
        fputs("Lines are plain, without editing: the package libedit2 is not installed.\n",
              stderr);
    history_file_read(remember, cli->edit);
    cli_connect(&cli->session);
    converse(cli);
    line_edit_free(cli->edit);
    if (signals_end() != 0) { /* as if it had not been caught */
        signal(signals_end(), SIG_DFL);
        raise(signals_end());
    }
    return CLIENT_DONE;
}

/* ---- options */

static bool read_options(struct cli *cli)
{
    struct client_call *call = cli->session.call;
    const char *repeat = client_option(call, "r"), *pause = client_option(call, "i");
    char *end = NULL;

    cli->repeat = 1;
    if (repeat != NULL &&
        (!number_parse_integer(repeat, strlen(repeat), &cli->repeat) || cli->repeat == 0)) {
        client_misused(call->command, "-r takes a number, -1 for ever: %s", repeat);
        return false;
    }
    if (pause != NULL) {
        cli->pause = strtod(pause, &end);
        if (end == pause || *end != '\0' || !(cli->pause >= 0 && cli->pause < 1e6)) {
            client_misused(call->command, "-i takes seconds: %s", pause);
            return false;
        }
    }
    if (call->count == 0 && client_option(call, "x") != NULL) {
        client_misused(call->command, "-x needs a command, whose last argument is read");
        return false;
    }
    return true;
}

static void choose_form(struct cli_session *session)
{
    struct client_call *call = session->call;

    session->terminal = isatty(STDOUT_FILENO);
    session->protocol = client_option(call, "3") != NULL || call->json ? 3 : 2;
    session->form = call->json                              ? REPLY_AS_JSON
                    : client_option(call, "raw") != NULL    ? REPLY_RAW
                    : client_option(call, "no-raw") != NULL ? REPLY_FOR_PEOPLE
                    : session->terminal                     ? REPLY_FOR_PEOPLE
                                                            : REPLY_RAW;
}

int client_cli(struct client_call *call)
{
    struct cli cli = {.session = {.call = call}};
    int status;

    if (!read_options(&cli))
        return CLIENT_USAGE;
    choose_form(&cli.session);
    status = call->count > 0                                 ? run_arguments(&cli)
             : isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? run_interactive(&cli)
                                                             : run_lines(&cli);
    command_hints_free(cli.hints);
    cli_session_release(&cli.session);
    return status;
}
