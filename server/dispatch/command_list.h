/* Every file of server/commands/ that contains commands, in the order in which COMMAND shows
 * them. A file ends with COMMANDS(name, entries); one that is missing here, or here and nowhere
 * else, does not compile or link. */
#ifndef DUEQ_COMMAND_LIST_H
#define DUEQ_COMMAND_LIST_H

#include "server/dispatch/command.h"

#define COMMAND_LIST(X)                                                                        \
    X(queue_ack)                                                                               \
    X(queue_change)                                                                            \
    X(queue_claim)                                                                             \
    X(queue_config)                                                                            \
    X(queue_cron)                                                                              \
    X(queue_dead)                                                                              \
    X(queue_events)                                                                            \
    X(queue_explain)                                                                           \
    X(queue_forecast)                                                                          \
    X(queue_look)                                                                              \
    X(queue_pause)                                                                             \
    X(queue_purge)                                                                             \
    X(queue_push)                                                                              \
    X(queue_push_many)                                                                         \
    X(queue_read)                                                                              \
    X(queue_wait)                                                                              \
    X(queue_workers)                                                                           \
    X(copy)                                                                                    \
    X(database)                                                                                \
    X(expire)                                                                                  \
    X(key_names)                                                                               \
    X(object)                                                                                  \
    X(sort)                                                                                    \
    X(wait)                                                                                    \
    X(bits)                                                                                    \
    X(bitop)                                                                                   \
    X(lcs)                                                                                     \
    X(string_numbers)                                                                          \
    X(string_ranges)                                                                           \
    X(strings)                                                                                 \
    X(hash_numbers)                                                                            \
    X(hashes)                                                                                  \
    X(list_edits)                                                                              \
    X(list_moves)                                                                              \
    X(list_pops)                                                                               \
    X(list_push)                                                                               \
    X(lists)                                                                                   \
    X(set_algebra)                                                                             \
    X(sets)                                                                                    \
    X(spop)                                                                                    \
    X(zset_add)                                                                                \
    X(zset_combine)                                                                            \
    X(zset_pop)                                                                                \
    X(zset_range)                                                                              \
    X(zset_read)                                                                               \
    X(zset_remove)                                                                             \
    X(client)                                                                                  \
    X(connection)                                                                              \
    X(login)                                                                                   \
    X(pubsub)                                                                                  \
    X(transaction)                                                                             \
    X(acl)                                                                                     \
    X(backup)                                                                                  \
    X(command)                                                                                 \
    X(config)                                                                                  \
    X(debug)                                                                                   \
    X(latency)                                                                                 \
    X(memory)                                                                                  \
    X(monitor)                                                                                 \
    X(role)                                                                                    \
    X(save)                                                                                    \
    X(script)                                                                                  \
    X(server)                                                                                  \
    X(slowlog)

#define COMMANDS_DECLARE(name) const struct command *name##_commands(void);
COMMAND_LIST(COMMANDS_DECLARE)

/* Makes the entries of a file known; they end with one that has no name. */
#define COMMANDS(name, entries)                                                                \
    const struct command *name##_commands(void)                                                \
    {                                                                                          \
        return entries;                                                                        \
    }

#endif
