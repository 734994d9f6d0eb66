#include "server/http/overview.h"

#include "server/http/dashboard.h"
#include "server/http/http_reply.h"
#include "server/http/fields.h"
#include "server/http/topic_row.h"
#include "server/http/web_rights.h"
#include "server/http/web_view.h"
#include "storage/glob.h"
#include "storage/store.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { LOOKS = 8, MATCHES = 32, WRITES = 16, PAST_MS = 60 * 1000, FIRST_ROOM = 256 };

enum sort {
    BY_NAME,
    BY_READY,
    BY_DELAYED,
    BY_CLAIMED,
    BY_DEAD,
    BY_WAITING,
    BY_OLDEST,
    BY_DUE,
    BY_IN,
    BY_OUT,
    SORTS
};

static const char *const sort_names[SORTS] = {"name",    "ready",  "delayed", "claimed", "dead",
                                              "waiting", "oldest", "due",     "in",      "out"};

/* What a list is narrowed to. */
enum only {
    ONLY_PAUSED,
    ONLY_LIMITED,
    ONLY_READY,
    ONLY_DELAYED,
    ONLY_CLAIMED,
    ONLY_DEAD,
    ONLY_WAITING,
    ONLY_ALL
};

static const char *const only_names[ONLY_ALL] = {"paused",  "limited", "ready",  "delayed",
                                                 "claimed", "dead",    "waiting"};

struct named_row {
    size_t name_at; /* in the names of the table */
    uint8_t name_size;
    struct topic_row row;
};

/* What is kept of the table before, for rates. */
struct past_row {
    size_t name_at;
    uint8_t name_size;
    uint64_t pushed, ended;
};

struct overview_request {
    struct overview *overview;
    struct http_connection *connection;
    uint64_t login;   /* number of its web_session */
    int64_t asked_at; /* monotonic ms */
    char *match;      /* NULL: all */
    size_t match_size;
    enum only only;
    enum sort sort;
    bool is_descending;
    size_t offset, limit;
    size_t next;    /* row that is looked at next */
    size_t total;   /* rows that match so far */
    uint32_t *heap; /* the first offset + limit of them so far, the last one on top */
    size_t heap_size;
    uint32_t *page; /* NULL: not all are looked at; the rows of the reply */
    size_t page_size, written;
    struct buffer out;
    struct overview_request *prev, *next_request;
};

struct overview {
    struct server *server;
    struct event *again, *end;
    struct named_row *rows;
    size_t count, room;
    char *names;
    size_t names_size, names_room;
    struct past_row *past;
    size_t past_count, past_next;
    char *past_names;
    int64_t past_at, began_at, taken_at; /* monotonic ms; taken_at 0: there is no table */
    bool runs, failed;
    char after[DUEQ_NAME_MAX];
    size_t after_size;
    struct overview_request *requests; /* (utlist) */
    size_t request_count;
};

static struct dueq_slice name_of(const struct overview *overview, size_t row)
{
    return dueq_slice(overview->names + overview->rows[row].name_at,
                      overview->rows[row].name_size);
}

static void run_again(struct overview *overview)
{
    static const struct timeval at_once = {0, 0};

    event_add(overview->again, &at_once);
}

/* ---- the table */

static void drop_past(struct overview *overview)
{
    free(overview->past);
    free(overview->past_names);
    overview->past = NULL;
    overview->past_names = NULL;
    overview->past_count = overview->past_next = 0;
}

static void drop_rows(struct overview *overview)
{
    free(overview->rows);
    free(overview->names);
    overview->rows = NULL;
    overview->names = NULL;
    overview->count = overview->room = overview->names_size = overview->names_room = 0;
    overview->taken_at = 0;
}

/* The table becomes the past. Without memory there are no rates. */
static void keep_past(struct overview *overview)
{
    drop_past(overview);
    if (overview->taken_at == 0 ||
        overview->server->clock.last.monotonic - overview->began_at > PAST_MS)
        return;
    overview->past = calloc(overview->count + 1, sizeof(*overview->past));
    for (size_t i = 0; overview->past != NULL && i < overview->count; i++) {
        const struct named_row *row = &overview->rows[i];

        overview->past[i] =
            (struct past_row){row->name_at, row->name_size, row->row.stats.pushed,
                              topic_row_ended(&row->row.stats)};
    }
    overview->past_count = overview->past == NULL ? 0 : overview->count;
    overview->past_names = overview->names;
    overview->past_at = overview->began_at;
    overview->names = NULL;
}

static void begin_table(struct overview *overview)
{
    keep_past(overview);
    drop_rows(overview);
    overview->runs = true;
    overview->failed = false;
    overview->after_size = 0;
    overview->began_at = overview->server->clock.last.monotonic;
}

/* Both are in the order of the names. */
static const struct past_row *find_past(struct overview *overview, struct dueq_slice name)
{
    while (overview->past_next < overview->past_count) {
        const struct past_row *past = &overview->past[overview->past_next];
        int order = dueq_slice_compare(
            dueq_slice(overview->past_names + past->name_at, past->name_size), name);

        if (order >= 0)
            return order == 0 ? past : NULL;
        overview->past_next++;
    }
    return NULL;
}

/* False: out of memory. */
static bool make_room(struct overview *overview)
{
    size_t room = overview->room == 0 ? FIRST_ROOM : 2 * overview->room;

    if (overview->count == overview->room) {
        struct named_row *rows = realloc(overview->rows, room * sizeof(*rows));

        if (rows == NULL)
            return false;
        overview->rows = rows;
        overview->room = room;
    }
    if (overview->names_room - overview->names_size < DUEQ_NAME_MAX) {
        char *names = realloc(overview->names, 2 * overview->names_room + FIRST_ROOM * 16);

        if (names == NULL)
            return false;
        overview->names = names;
        overview->names_room = 2 * overview->names_room + FIRST_ROOM * 16;
    }
    return true;
}

static void add_row(struct overview *overview, struct dueq_slice name, struct topic_row *row)
{
    const struct past_row *past = find_past(overview, name);

    if (past != NULL)
        topic_row_measure(row, past->pushed, past->ended,
                          overview->began_at - overview->past_at);
    memcpy(overview->names + overview->names_size, name.data, name.size);
    overview->rows[overview->count++] =
        (struct named_row){overview->names_size, (uint8_t)name.size, *row};
    overview->names_size += name.size;
}

/* False: that was the last one. */
static bool look_at_next(struct overview *overview)
{
    struct server *server = overview->server;
    struct dueq_slice name;
    struct topic_row row;

    if (server->store == NULL || overview->count == OVERVIEW_TOPICS_MAX ||
        dueq_topic_after(server->store, dueq_slice(overview->after, overview->after_size),
                         &name) != DUEQ_OK)
        return false;
    memcpy(overview->after, name.data, name.size);
    overview->after_size = name.size;
    overview->failed = !make_room(overview);
    name = dueq_slice(overview->after, overview->after_size);
    if (!overview->failed && topic_row_take(server, name, &row))
        add_row(overview, name, &row);
    return !overview->failed;
}

static void look(struct overview *overview)
{
    bool more = true;

    for (int i = 0; i < LOOKS && more; i++)
        more = look_at_next(overview);
    if (overview->server->store != NULL)
        store_settle(overview->server->store);
    if (more)
        return;
    overview->runs = false;
    overview->taken_at = overview->server->clock.last.monotonic;
}

/* ---- order */

static double value_of(const struct topic_row *row, enum sort sort)
{
    switch (sort) {
    case BY_READY:
        return (double)row->stats.counts[DUEQ_READY];
    case BY_DELAYED:
        return (double)row->stats.counts[DUEQ_DELAYED];
    case BY_CLAIMED:
        return (double)row->stats.counts[DUEQ_CLAIMED];
    case BY_DEAD:
        return (double)row->stats.counts[DUEQ_DEAD];
    case BY_WAITING:
        return (double)row->stats.counts[DUEQ_WAITING];
    case BY_DUE:
        return (double)row->stats.next_due;
    case BY_OLDEST:
        return (double)row->stats.oldest_ready_age;
    case BY_IN:
        return row->in_rate;
    case BY_OUT:
        return row->out_rate;
    case BY_NAME:
    case SORTS:
        break;
    }
    return 0;
}

/* Such topics are the last ones in both directions: nobody asks for what is never due. */
static bool is_without_due(const struct named_row *row)
{
    return row->row.stats.next_due == DUEQ_NEVER;
}

/* The rows are in the order of their names, which decides between equal ones. */
static bool comes_before(const struct overview_request *request, uint32_t one, uint32_t other)
{
    const struct named_row *rows = request->overview->rows;
    double a = value_of(&rows[one].row, request->sort),
           b = value_of(&rows[other].row, request->sort);

    if (request->sort == BY_NAME)
        return request->is_descending ? one > other : one < other;
    if (request->sort == BY_DUE && is_without_due(&rows[one]) != is_without_due(&rows[other]))
        return is_without_due(&rows[other]);
    if (a < b || a > b)
        return request->is_descending ? a > b : a < b;
    return one < other;
}

static void sift_down(struct overview_request *request, size_t at)
{
    uint32_t *heap = request->heap, moved = heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= request->heap_size)
            break;
        if (child + 1 < request->heap_size &&
            comes_before(request, heap[child], heap[child + 1]))
            child++;
        if (!comes_before(request, moved, heap[child]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void sift_up(struct overview_request *request, size_t at)
{
    uint32_t *heap = request->heap, moved = heap[at];

    while (at > 0 && comes_before(request, heap[(at - 1) / 2], moved)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = moved;
}

static void add_to_heap(struct overview_request *request, uint32_t row)
{
    if (request->heap_size < request->offset + request->limit) {
        request->heap[request->heap_size] = row;
        sift_up(request, request->heap_size++);
    } else if (comes_before(request, row, request->heap[0])) {
        request->heap[0] = row;
        sift_down(request, 0);
    }
}

static uint32_t take_last(struct overview_request *request)
{
    uint32_t last = request->heap[0];

    request->heap[0] = request->heap[--request->heap_size];
    if (request->heap_size > 0)
        sift_down(request, 0);
    return last;
}

/* ---- requests */

static const struct timeval kept = {OVERVIEW_KEPT_MS / 1000, 0};

static void free_request(struct overview_request *request)
{
    struct overview *overview = request->overview;

    DL_DELETE2(overview->requests, request, prev, next_request);
    if (--overview->request_count == 0)
        event_add(overview->end, &kept);
    buffer_release(&request->out);
    free(request->match);
    free(request->heap);
    free(request->page);
    free(request);
}

static void on_gone(void *served)
{
    free_request(served);
}

static void refuse(struct overview_request *request, int status, const char *error)
{
    struct http_connection *connection = request->connection;

    free_request(request);
    http_reply_error(connection, status, error);
}

/* NULL: it is refused. Other turns have passed since it was let in. */
static const struct acl_user *user_of(struct overview_request *request)
{
    struct server *server = request->overview->server;
    const struct web_session *session =
        web_sessions_of(&server->dashboard->sessions, request->login, server->acl,
                        server->clock.last.monotonic);

    if (session == NULL)
        refuse(request, 401, "NOAUTH the session has ended: log in again");
    return session == NULL ? NULL : web_session_user(session, server->acl);
}

static bool is_one_of(const struct topic_row *row, enum only only)
{
    static const enum dueq_state states[ONLY_ALL] = {[ONLY_READY] = DUEQ_READY,
                                                     [ONLY_DELAYED] = DUEQ_DELAYED,
                                                     [ONLY_CLAIMED] = DUEQ_CLAIMED,
                                                     [ONLY_DEAD] = DUEQ_DEAD,
                                                     [ONLY_WAITING] = DUEQ_WAITING};

    if (only == ONLY_ALL)
        return true;
    if (only == ONLY_PAUSED)
        return row->stats.paused_in || row->stats.paused_out;
    return only == ONLY_LIMITED ? row->is_limited : row->stats.counts[states[only]] > 0;
}

static bool is_wanted(const struct overview_request *request, const struct acl_user *user,
                      size_t row)
{
    struct dueq_slice name = name_of(request->overview, row);

    return is_one_of(&request->overview->rows[row].row, request->only) &&
           (request->match == NULL ||
            glob_match(request->match, request->match_size, name.data, name.size, false)) &&
           web_rights_allow_topic(user, name);
}

/* False: out of memory. */
static bool make_page(struct overview_request *request)
{
    size_t first = request->offset < request->heap_size ? request->offset : request->heap_size;

    request->page = calloc(OVERVIEW_LIMIT_MAX + 1, sizeof(*request->page));
    if (request->page == NULL)
        return false;
    request->page_size = request->heap_size - first;
    for (size_t i = request->page_size; i > 0; i--)
        request->page[i - 1] = take_last(request);
    fields_open(&request->out, NULL, '{');
    fields_open(&request->out, "topics", '[');
    return true;
}

static void look_at_rows(struct overview_request *request)
{
    const struct overview *overview = request->overview;
    const struct acl_user *user = user_of(request);

    if (user == NULL)
        return;
    for (int i = 0; i < MATCHES && request->next < overview->count; i++, request->next++) {
        if (!is_wanted(request, user, request->next))
            continue;
        request->total++;
        add_to_heap(request, (uint32_t)request->next);
    }
    if (request->next == overview->count && !make_page(request))
        refuse(request, 503, "ERR out of memory");
}

static void finish(struct overview_request *request)
{
    struct http_connection *connection = request->connection;
    const struct overview *overview = request->overview;
    struct buffer *out = &request->out, whole;

    fields_close(out, ']');
    fields_count(out, "total", request->total);
    fields_number(out, "age_ms", overview->server->clock.last.monotonic - overview->taken_at);
    fields_flag(out, "truncated", overview->count == OVERVIEW_TOPICS_MAX);
    fields_close(out, '}');
    whole = *out;
    *out = (struct buffer){0};
    free_request(request);
    web_view_reply(connection, &whole);
}

static void write_rows(struct overview_request *request)
{
    for (int i = 0; i < WRITES && request->written < request->page_size; i++) {
        uint32_t row = request->page[request->written++];

        fields_open(&request->out, NULL, '{');
        topic_row_write(&request->overview->rows[row].row, name_of(request->overview, row),
                        &request->out);
        fields_close(&request->out, '}');
    }
    if (request->written == request->page_size)
        finish(request);
}

/* A request that has not begun gets a table that was fresh when it was asked. Others may always
 * wait behind it: to await a moment without them would keep the table for ever. */
static bool is_too_old(const struct overview *overview, const struct overview_request *request)
{
    return request->next == 0 && request->page == NULL &&
           (overview->taken_at == 0 ||
            request->asked_at - overview->taken_at >= OVERVIEW_FRESH_MS);
}

/* The first request is served, the others wait. */
static void step(struct overview *overview)
{
    struct overview_request *request = overview->requests;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): what was freed is in the list no more */
    if (overview->runs)
        look(overview);
    else if (is_too_old(overview, request))
        begin_table(overview);
    else if (overview->failed)
        refuse(request, 503, "ERR out of memory");
    else if (request->page == NULL)
        look_at_rows(request);
    else
        write_rows(request);
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct overview *overview = arg;

    (void)fd;
    (void)what;
    server_begin_turn(overview->server);
    while (overview->runs || overview->requests != NULL) {
        step(overview);
        if (!server_has_time(overview->server))
            break;
    }
    if (overview->runs || overview->requests != NULL)
        run_again(overview);
}

/* ---- life */

static void on_end(evutil_socket_t fd, short what, void *arg)
{
    struct overview *overview = arg;

    (void)fd;
    (void)what;
    server_begin_turn(overview->server);
    if (overview->runs)
        event_add(overview->end, &kept);
    if (overview->requests != NULL || overview->runs)
        return;
    drop_past(overview);
    drop_rows(overview);
}

void overview_free(struct overview *overview)
{
    if (overview == NULL)
        return;
    while (overview->requests != NULL)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): each time it is another one */
        refuse(overview->requests, 503, "ERR the dashboard is off");
    drop_past(overview);
    drop_rows(overview);
    if (overview->again != NULL)
        event_free(overview->again);
    if (overview->end != NULL)
        event_free(overview->end);
    free(overview);
}

static struct overview *overview_of(struct server *server)
{
    struct overview *overview = server->dashboard->overview;

    if (overview != NULL)
        return overview;
    overview = calloc(1, sizeof(*overview));
    if (overview == NULL)
        return NULL;
    overview->server = server;
    overview->again = evtimer_new(server->base, on_again, overview);
    overview->end = evtimer_new(server->base, on_end, overview);
    if (overview->again == NULL || overview->end == NULL) {
        overview_free(overview);
        return NULL;
    }
    return server->dashboard->overview = overview;
}

/* ---- asking */

static bool read_sort(struct http_connection *connection, const json_t *params,
                      struct overview_request *request)
{
    size_t size;
    const char *sort = web_view_text(params, "sort", &size),
               *order = web_view_text(params, "order", &size);
    unsigned at = 0;

    while (sort != NULL && at < SORTS && strcmp(sort, sort_names[at]) != 0)
        at++;
    request->sort = (enum sort)at;
    request->is_descending = order != NULL && strcmp(order, "desc") == 0;
    if (at < SORTS && (order == NULL || request->is_descending || strcmp(order, "asc") == 0))
        return true;
    http_reply_error(connection, 400,
                     "ERR 'sort' must be name, ready, delayed, claimed, dead, waiting, oldest, "
                     "due, in or out, and 'order' asc or desc");
    return false;
}

static bool read_only(struct http_connection *connection, const json_t *params,
                      struct overview_request *request)
{
    size_t size;
    const char *only = web_view_text(params, "only", &size);
    unsigned at = only == NULL ? ONLY_ALL : 0;

    while (at < ONLY_ALL && strcmp(only, only_names[at]) != 0)
        at++;
    request->only = (enum only)at;
    if (only == NULL || at < ONLY_ALL)
        return true;
    http_reply_error(connection, 400,
                     "ERR 'only' must be paused, limited, ready, delayed, claimed, dead or "
                     "waiting");
    return false;
}

static bool read_params(struct http_connection *connection, const json_t *params,
                        struct overview_request *request)
{
    int64_t offset = 0, limit = 100;

    if (!read_sort(connection, params, request) || !read_only(connection, params, request) ||
        !web_view_number(connection, params, "offset", 0, OVERVIEW_TOPICS_MAX, &offset) ||
        !web_view_number(connection, params, "limit", 1, OVERVIEW_LIMIT_MAX, &limit))
        return false;
    request->offset = (size_t)offset;
    request->limit = (size_t)limit;
    return true;
}

/* False: out of memory. */
static bool add_request(struct overview *overview, const struct overview_request *form,
                        const char *match)
{
    struct overview_request *request = malloc(sizeof(*request));
    char *copy = match == NULL || request == NULL ? NULL : malloc(form->match_size + 1);
    uint32_t *heap =
        request == NULL ? NULL : malloc((form->offset + form->limit) * sizeof(*heap));

    if (request == NULL || heap == NULL || (match != NULL && copy == NULL)) {
        free(request);
        free(copy);
        free(heap);
        return false;
    }
    *request = *form;
    request->match = copy;
    request->heap = heap;
    if (copy != NULL)
        memcpy(copy, match, form->match_size);
    buffer_init(&request->out, SIZE_MAX / 2);
    DL_APPEND2(overview->requests, request, prev, next_request);
    overview->request_count++;
    event_del(overview->end);
    return true;
}

static const struct http_hooks hooks = {.on_gone = on_gone};

void overview_serve(struct http_connection *connection, const struct web_session *session,
                    const json_t *params)
{
    struct server *server = connection->server;
    struct overview *overview = overview_of(server);
    struct overview_request form = {.overview = overview,
                                    .connection = connection,
                                    .login = session->number,
                                    .asked_at = server->clock.last.monotonic};
    const char *match = web_view_text(params, "match", &form.match_size);

    if (!read_params(connection, params, &form))
        return;
    if (overview == NULL || overview->request_count == OVERVIEW_WAITING_MAX ||
        !add_request(overview, &form, match)) {
        http_reply_error(connection, 503, "ERR too many ask, or no memory");
        return;
    }
    http_connection_served_by(connection, &hooks, overview->requests->prev);
    connection->deadline = 0;
    run_again(overview);
}
