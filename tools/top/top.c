/* `dueq top`: the topics of a running server on the whole terminal, live. */
#include "tools/client/client_call.h"
#include "tools/terminal/end_signals.h"
#include "tools/top/frame.h"
#include "tools/top/top_once.h"
#include "tools/top/top_state.h"
#include "tools/top/top_view.h"
#include "tools/top/topic_details.h"
#include "tools/top/topic_sample.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INTERVAL_MS = 2000,
    INTERVAL_LEAST = 100,
    INTERVAL_MOST = 3600000,
    PATIENCE_MS = 5000,   /* a server that is silent for so long is away */
    OTHERS = 500,         /* topics that nobody sees, at each look */
    NAMES_AT_ONCE = 2000, /* more of them are listed at each tenth look only */
    LOOKS_A_LIST = 10,
    REPAINT = 12, /* Ctrl-L */
};

struct top {
    struct client_call *call;
    struct top_state state;
    int64_t interval;
    uint64_t looks, listed; /* the look at which the names were asked for last */
};

/* ---- looks at the server */

/* The failure is shown until a look succeeds. */
static bool fail(struct top *top, bool refused)
{
    struct client_call *call = top->call;

    snprintf(top->state.message, sizeof(top->state.message), "%s: %s; trying again",
             refused ? "the server refuses" : "no connection", call->why);
    top->state.connected = false;
    online_close(call->client);
    call->client = NULL;
    return false;
}

static bool connect_again(struct top *top)
{
    struct client_call *call = top->call;

    if (call->client != NULL)
        return true;
    call->client = online_connect(&call->where, call->why);
    if (call->client == NULL)
        return fail(top, false);
    top->listed = 0;
    return true;
}

static bool list_names(struct top *top, bool *ret_refused)
{
    if (top->listed != 0 && top->state.rows.count > NAMES_AT_ONCE &&
        top->looks - top->listed < LOOKS_A_LIST)
        return true;
    top->listed = top->looks;
    return sample_names(top->call, &top->state.rows, ret_refused);
}

static bool look_at_topics(struct top *top)
{
    struct top_state *state = &top->state;
    size_t room = top_state_room(state), count;
    struct top_topic **chosen = client_allocate(NULL, (room + OTHERS) * sizeof(*chosen));
    bool done;

    count = top_topics_choose(&state->rows, state->first, room, OTHERS, chosen);
    done = sample_topics(top->call, chosen, count);
    free(chosen);
    top_topics_arrange(&state->rows);
    return done;
}

static void look(struct top *top)
{
    struct top_state *state = &top->state;
    bool refused = false;

    top->looks++;
    if (!connect_again(top))
        return;
    if (!sample_server(top->call, &state->server, &refused) || !list_names(top, &refused) ||
        (refused = false, !look_at_topics(top)) ||
        (state->page == TOP_DETAILS &&
         !topic_details_ask(top->call, state->subject, state->subject_size, &state->lines))) {
        fail(top, refused);
        return;
    }
    if (!state->connected)
        state->message[0] = '\0';
    state->connected = true;
}

static void set_pause(struct top *top, bool pauses)
{
    struct top_state *state = &top->state;
    const char *words[] = {pauses ? "Q.PAUSE" : "Q.RESUME", state->subject};
    const size_t sizes[] = {strlen(words[0]), state->subject_size};
    redisReply *reply = NULL;

    if (connect_again(top))
        reply = online_ask_sized(top->call->client, 2, words, sizes, top->call->why);
    else
        return;
    if (reply == NULL) {
        fail(top, false);
        return;
    }
    snprintf(state->message, sizeof(state->message), "%s",
             reply->type == REDIS_REPLY_ERROR ? reply->str
             : pauses                         ? "The topic is paused."
                                              : "The pause has ended.");
    if (reply->type != REDIS_REPLY_ERROR)
        state->subject_paused = pauses;
    freeReplyObject(reply);
}

/* ---- the terminal */

static void draw(struct top *top)
{
    struct frame frame;
    int rows, columns;

    screen_size(&rows, &columns);
    top_state_fit(&top->state, rows, columns);
    frame_begin(&frame, rows, columns);
    top_view_draw(&top->state, &frame);
    screen_clear();
    for (size_t i = 0; i < frame.count; i++)
        screen_put(frame.pieces[i].row, frame.pieces[i].column, frame.pieces[i].style,
                   frame.pieces[i].text);
    screen_show();
    frame_release(&frame);
}

/* The keys that have been typed so far. False: the last one ends the program. *ret_look: the
 * server is to be asked at once. */
static bool take_keys(struct top *top, bool *ret_look)
{
    int key;

    while ((key = screen_key()) != SCREEN_NO_KEY) {
        enum top_action action = TOP_REFRESH;

        if (key == REPAINT)
            screen_repaint();
        else
            action = top_state_key(&top->state, key);
        if (action == TOP_QUIT)
            return false;
        if (action == TOP_PAUSE || action == TOP_RESUME)
            set_pause(top, action == TOP_PAUSE);
        *ret_look = *ret_look || action != TOP_NOTHING;
    }
    return true;
}

/* Waits for keys, a signal or the next look. False: the program ends. */
static bool await(struct top *top, int64_t next_look, bool *ret_look)
{
    struct pollfd keys = {STDIN_FILENO, POLLIN, 0};
    int64_t left = next_look - top_clock();
    int ready = signals_poll(&keys, 1, left > 0 ? (int)left : 0, false);

    for (enum signals_heard heard; (heard = signals_take()) != HEARD_NOTHING;) {
        if (heard == HEARD_END || heard == HEARD_INTERRUPT)
            return false;
        screen_resize();
    }
    if (ready > 0 && keys.revents != POLLIN) /* the terminal is gone */
        return false;
    *ret_look = top_clock() >= next_look;
    return ready <= 0 || take_keys(top, ret_look);
}

static void watch(struct top *top)
{
    int64_t next_look = 0;
    bool looks = true;

    do {
        if (looks) {
            look(top);
            next_look = top_clock() + top->interval;
        }
        draw(top);
    } while (await(top, next_look, &looks));
}

static void name_server(struct top *top)
{
    const struct online_options *where = &top->call->where;

    if (where->unix_path != NULL)
        snprintf(top->state.where, sizeof(top->state.where), "%.150s", where->unix_path);
    else
        snprintf(top->state.where, sizeof(top->state.where), "%.100s:%.20s", where->host,
                 where->port);
}

static int run_on_terminal(struct client_call *call, int64_t interval)
{
    struct top top = {.call = call, .interval = interval};
    int status = client_connect(call);

    if (status != CLIENT_DONE)
        return status;
    setlocale(LC_CTYPE, "");
    signals_catch();
    top_state_begin(&top.state);
    name_server(&top);
    if (!screen_open(call->why, sizeof(call->why))) {
        client_complain(call, call->why);
        fputs("dueq top --once prints the topics without it.\n", stderr);
        status = CLIENT_REFUSED;
    } else {
        screen_size(&top.state.height, &top.state.width);
        watch(&top);
        screen_close();
    }
    top_state_release(&top.state);
    if (signals_end() != 0) { /* as if it had not been caught */
        signal(signals_end(), SIG_DFL);
        raise(signals_end());
    }
    return status;
}

int client_top(struct client_call *call)
{
    bool once = call->json || client_option(call, "once") != NULL;
    int64_t interval;

    if (!client_duration(call, "interval", once ? 0 : INTERVAL_MS, INTERVAL_LEAST,
                         INTERVAL_MOST, &interval))
        return CLIENT_USAGE;
    if (!once && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return client_misused(call->command, "this is no terminal; --once prints the topics");
    call->where.patience_ms = PATIENCE_MS;
    return once ? top_once(call, interval) : run_on_terminal(call, interval);
}
