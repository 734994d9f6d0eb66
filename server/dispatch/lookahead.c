#include "server/dispatch/lookahead.h"

#include "server/dispatch/command.h"
#include "server/server.h"
#include "storage/keys/keys.h"
#include "storage/store.h"

enum { IN_VAIN_MOST = 4, TRY_EACH = 16 };

/* Is its first argument the key of a value? */
static bool names_value(struct argument name)
{
    const struct command *command = command_find(name);

    return command != NULL && command->keys.first == 1 && command_needs_store(command) &&
           strcmp(command->group, "queue") != 0;
}

/* Names that come one after the other again and again need to be found once. Returns their
 * number. */
static size_t gather_names(const struct resp_ahead *ahead, size_t count,
                           struct dueq_slice *ret_names)
{
    size_t names = 0;

    for (size_t i = 0; i < count; i++) {
        struct dueq_slice name = dueq_slice(ahead[i].first.data, ahead[i].first.size);

        if (name.size > 0 && names_value(ahead[i].name) &&
            (names == 0 || !dueq_slice_equal(ret_names[names - 1], name)))
            ret_names[names++] = name;
    }
    return names;
}

/* False: there was nothing to fetch. */
static bool fetch(const struct server *server, const struct session *session,
                  const struct resp_reader *reader, size_t most)
{
    struct keys_view view = {.keys = store_keys(server->store), .database = session->database};
    struct resp_ahead ahead[LOOKAHEAD_MOST];
    struct dueq_slice names[LOOKAHEAD_MOST];
    size_t count = resp_reader_look_ahead(reader, ahead, most);

    static_assert(LOOKAHEAD_MOST <= (int)KEYS_PREFETCH_MOST, "");
    return count > 1 && keys_prefetch(&view, names, gather_names(ahead, count, names));
}

void lookahead(struct lookahead *lookahead, const struct server *server,
               const struct session *session, const struct resp_reader *reader, size_t most)
{
    bool seldom = lookahead->in_vain >= IN_VAIN_MOST;

    if (server->store == NULL || !session->authenticated)
        return;
    if ((!seldom || lookahead->in_vain % TRY_EACH == 0) && fetch(server, session, reader, most))
        lookahead->in_vain = 0;
    else
        lookahead->in_vain++;
}
