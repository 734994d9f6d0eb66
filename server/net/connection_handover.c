/* A client of a program that another one replaces: its connection stays open. What the client
 * sends meanwhile waits in its socket. */
#include "server/net/connection.h"

#include "server/acl/acl.h"
#include "server/process/handover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CAN_LOGGED_IN = 1, CAN_NO_EVICT = 2, CAN_NO_TOUCH = 4, CAN_UNIX = 8, TEXT_ROOM = 1024 };

#define KIND "client"
/* The replies that clients have not read, one after the other in a file in memory. */
#define OUTPUT "output"

static struct {
    int fd; /* 0: none is left */
    off_t size;
} outputs;

/* ---- leaving */

/* TLS has keys, subscriptions and transactions have contents: these clients connect again. */
bool connection_may_stay(const struct connection *connection)
{
    const struct session *session = &connection->session;

    return connection->server->upgrading && connection->tls == NULL && !session->is_inside &&
           session->life == SESSION_OPEN && !session->is_late && !session->awaits_stop &&
           !session->monitors && !session_is_silent(session) &&
           session_subscriptions(session) == 0 && session->transaction == NULL &&
           session->watcher == NULL && !connection->is_killed && !connection->has_ended;
}

bool connection_is_portable(const struct connection *connection)
{
    return connection_may_stay(connection) && connection->session.waiter == NULL &&
           connection->hold == HOLD_NONE && !connection->has_backlog &&
           connection_is_settled(connection) &&
           (connection->reader == NULL || resp_reader_is_empty(connection->reader));
}

static const char *word(const char *text)
{
    return text == NULL ? "" : text;
}

static bool write_whole(int fd, off_t offset, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = pwrite(fd, bytes, size, offset);

        if (put <= 0)
            return false;
        bytes += put;
        offset += put;
        size -= (size_t)put;
    }
    return true;
}

/* The descriptor is the next program's. -1: errno says why. */
static int make_file(void)
{
    int fd = memfd_create("dueq-output", MFD_CLOEXEC);

    if (fd < 0 || handover_give(OUTPUT, "", 0, fd))
        return fd;
    close(fd);
    return -1;
}

/* False: no memory or descriptor. */
static bool leave_output(const struct connection *connection)
{
    size_t size = buffer_size(&connection->output);

    if (size == 0)
        return true;
    if (outputs.fd == 0)
        outputs.fd = make_file();
    if (outputs.fd < 0 ||
        !write_whole(outputs.fd, outputs.size, buffer_content(&connection->output), size))
        return false;
    outputs.size += (off_t)size;
    return true;
}

void connection_hand_over(struct connection *connection)
{
    const struct session *session = &connection->session;
    unsigned can = (session->authenticated ? CAN_LOGGED_IN : 0) |
                   (session->no_evict ? CAN_NO_EVICT : 0) |
                   (session->no_touch ? CAN_NO_TOUCH : 0) | (session->is_unix ? CAN_UNIX : 0);
    uint64_t offset = (uint64_t)outputs.size;
    char text[TEXT_ROOM];
    int size = snprintf(
        text, sizeof(text), "%" PRIu64 "\t%u\t%d\t%u\t%" PRIu64 "\t%zu\t%s\t%s\t%s\t%s\t%s\t%s",
        session->id, session->database, session->protocol, can, offset,
        buffer_size(&connection->output), session->address, session->local_address,
        word(session->name), word(session->library_name), word(session->library_version),
        session->user->name);

    connection->is_handed = size < (int)sizeof(text) && leave_output(connection) &&
                            handover_give(KIND, text, 0, session->fd);
}

/* ---- taking over */

/* Words are separated by tabs, which names of clients and users cannot have. A path can: then
 * there are too many words, and the client connects again. */
enum left_word {
    LEFT_ID,
    LEFT_DATABASE,
    LEFT_PROTOCOL,
    LEFT_CAN,
    LEFT_OFFSET,
    LEFT_OUTPUT,
    LEFT_ADDRESS,
    LEFT_LOCAL_ADDRESS,
    LEFT_NAME,
    LEFT_LIBRARY_NAME,
    LEFT_LIBRARY_VERSION,
    LEFT_USER,
    LEFT_WORDS
};

struct left {
    char text[TEXT_ROOM];
    const char *words[LEFT_WORDS];
    unsigned can;
};

static bool read_left(const char *text, struct left *ret_left)
{
    char *rest = ret_left->text;
    size_t count = 0;

    if (snprintf(ret_left->text, sizeof(ret_left->text), "%s", text) >= TEXT_ROOM)
        return false;
    for (; rest != NULL && count < LEFT_WORDS; count++)
        ret_left->words[count] = strsep(&rest, "\t");
    if (rest != NULL || count < LEFT_WORDS)
        return false;
    ret_left->can = (unsigned)strtoul(ret_left->words[LEFT_CAN], NULL, 10);
    return true;
}

/* False: out of memory. */
static bool own_text(char **ret_text, const char *text)
{
    if (text[0] == '\0')
        return true;
    *ret_text = strdup(text);
    return *ret_text != NULL;
}

/* False: its user is gone, or must not log in any more; or there is no memory. */
static bool restore(struct server *server, struct session *session, const struct left *left)
{
    const char *name = left->words[LEFT_USER];
    struct acl_user *user = acl_find(server->acl, dueq_slice(name, strlen(name)));

    if (user == NULL || ((left->can & CAN_LOGGED_IN) && !user->enabled))
        return false;
    if ((left->can & CAN_LOGGED_IN) != 0) {
        session->user = user;
        session->authenticated = true;
    }
    session->database = (unsigned)strtoul(left->words[LEFT_DATABASE], NULL, 10);
    session->protocol = strcmp(left->words[LEFT_PROTOCOL], "3") == 0 ? 3 : 2;
    session->no_evict = (left->can & CAN_NO_EVICT) != 0;
    session->no_touch = (left->can & CAN_NO_TOUCH) != 0;
    return own_text(&session->name, left->words[LEFT_NAME]) &&
           own_text(&session->library_name, left->words[LEFT_LIBRARY_NAME]) &&
           own_text(&session->library_version, left->words[LEFT_LIBRARY_VERSION]);
}

/* output: the descriptor of what was left. */
static bool restore_output(struct session *session, const struct left *left, int output)
{
    size_t size = strtoull(left->words[LEFT_OUTPUT], NULL, 10);

    return size == 0 ||
           connection_restore_output(connection_of(session), output,
                                     (off_t)strtoull(left->words[LEFT_OFFSET], NULL, 10), size);
}

static void adopt(struct server *server, int fd, const char *text, int output)
{
    struct accepted accepted = {.fd = fd};
    struct left left;
    uint64_t last = server->next_session;
    struct session *session;

    if (!read_left(text, &left)) {
        close(fd);
        return;
    }
    accepted.is_unix = (left.can & CAN_UNIX) != 0;
    snprintf(accepted.address, sizeof(accepted.address), "%s", left.words[LEFT_ADDRESS]);
    snprintf(accepted.local_address, sizeof(accepted.local_address), "%s",
             left.words[LEFT_LOCAL_ADDRESS]);
    connection_accept(server, &accepted);
    session = server->sessions == NULL ? NULL : server->sessions->prev;
    if (session == NULL || session->id <= last)
        return; /* it is not the new one: that was turned away */
    if (restore(server, session, &left) && restore_output(session, &left, output))
        connection_limit_input(connection_of(session));
    else
        connection_doom(connection_of(session));
}

/* Their numbers are new, and are those of no client before: CLIENT UNBLOCK of an old number
 * finds nobody. */
void connections_adopt(struct server *server)
{
    const char *text;
    size_t at = 0;
    int output = handover_look(OUTPUT, &at) == NULL ? -1 : handover_keep(at);

    for (at = 0; (text = handover_look(KIND, &at)) != NULL; at++)
        adopt(server, handover_keep(at), text, output);
    if (output >= 0)
        close(output);
}

uint64_t connections_last_id(void)
{
    uint64_t last = 0;
    const char *text;

    for (size_t at = 0; (text = handover_look(KIND, &at)) != NULL; at++)
        if (strtoull(text, NULL, 10) > last)
            last = strtoull(text, NULL, 10);
    return last;
}
