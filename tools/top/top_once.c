#include "tools/top/top_once.h"

#include "tools/client/columns.h"
#include "tools/client/reply_json.h"
#include "tools/offline/json_bytes.h"
#include "tools/top/top_view.h"
#include "tools/top/topic_sample.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static json_t *number_or_null(bool known, int64_t number)
{
    return known ? json_integer(number) : json_null();
}

/* Rounded to a thousandth, so that no digit is noise. */
static json_t *rate_or_null(double rate)
{
    return rate < 0 ? json_null() : json_real(round(rate * 1000) / 1000);
}

static int print_object(const struct top_topic *row)
{
    const struct topic_figures *now = &row->now;

    return reply_json_print(json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "topic",
        json_bytes(dueq_slice(row->name, row->size)), "ready", (json_int_t)now->ready,
        "delayed", (json_int_t)now->delayed, "waiting", (json_int_t)now->waiting, "claimed",
        (json_int_t)now->claimed, "dead", (json_int_t)now->dead, "oldest-ready-age",
        (json_int_t)now->oldest, "next-due", number_or_null(now->next_due >= 0, now->next_due),
        "in-per-second", rate_or_null(row->in), "out-per-second", rate_or_null(row->out),
        "paused", now->paused[0] == '\0' ? json_null() : json_string(now->paused)));
}

static void begin_table(struct columns *columns, bool rates)
{
    *columns = (struct columns){0};
    columns_add(columns, "TOPIC", false);
    columns_add(columns, "READY", true);
    columns_add(columns, "DELAYED", true);
    columns_add(columns, "WAITING", true);
    columns_add(columns, "CLAIMED", true);
    columns_add(columns, "DEAD", true);
    columns_add(columns, "OLDEST", true);
    columns_add(columns, "NEXT", true);
    if (rates) {
        columns_add(columns, "IN/S", true);
        columns_add(columns, "OUT/S", true);
    }
    columns_add(columns, "PAUSED", false);
}

static void put_row(struct columns *columns, const struct top_topic *row, int64_t now,
                    bool rates)
{
    char text[TOP_CELL];

    columns_put(columns, row->name, row->size, PAINT_NONE);
    columns_put_number(columns, row->now.ready);
    columns_put_number(columns, row->now.delayed);
    columns_put_number(columns, row->now.waiting);
    columns_put_number(columns, row->now.claimed);
    columns_put_number(columns, row->now.dead);
    columns_put_text(columns, top_cell(row, TOPIC_OLDEST, now, text));
    columns_put_text(columns, top_cell(row, TOPIC_NEXT, now, text));
    if (rates) {
        columns_put_text(columns, top_cell(row, TOPIC_IN, now, text));
        columns_put_text(columns, top_cell(row, TOPIC_OUT, now, text));
    }
    columns_put_text(columns, top_cell(row, TOPIC_PAUSED, now, text));
}

static int print_rows(const struct client_call *call, const struct top_topics *rows,
                      int64_t now, bool rates)
{
    struct columns columns;
    int status = CLIENT_DONE;

    begin_table(&columns, rates);
    for (size_t i = 0; i < rows->shown_count && status == CLIENT_DONE; i++) {
        const struct top_topic *row = rows->shown[i];

        if (row->asked == 0) /* the user may not read it */
            continue;
        if (call->json)
            status = print_object(row);
        else
            put_row(&columns, row, now, rates);
    }
    if (!call->json)
        columns_print(&columns);
    columns_release(&columns);
    return status;
}

/* CLIENT_DONE, or another status after it has said why. */
static int look(struct client_call *call, struct top_topics *rows,
                struct server_figures *figures)
{
    bool refused = false;

    if (sample_names(call, rows, &refused) && sample_topics(call, rows->all, rows->count) &&
        sample_server(call, figures, &refused))
        return CLIENT_DONE;
    client_complain(call, call->why);
    return refused ? CLIENT_REFUSED : CLIENT_UNREACHABLE;
}

int top_once(struct client_call *call, int64_t interval)
{
    struct timespec pause = {interval / 1000, interval % 1000 * 1000000};
    struct top_topics rows = {0};
    struct server_figures figures;
    int status = client_connect(call);

    if (status == CLIENT_DONE)
        status = look(call, &rows, &figures);
    if (status == CLIENT_DONE && interval > 0) {
        nanosleep(&pause, NULL);
        status = look(call, &rows, &figures);
    }
    if (status == CLIENT_DONE) {
        top_topics_arrange(&rows);
        status = print_rows(call, &rows, figures.now, interval > 0);
    }
    top_topics_release(&rows);
    return status;
}
