/* How often each command ran, for INFO commandstats. */
#ifndef DUEQ_SERVER_COMMAND_STATS_H
#define DUEQ_SERVER_COMMAND_STATS_H

#include "server/command.h"

struct command_stats {
    uint64_t calls, rejected;
};

void command_stats_called(const struct command *command);
void command_stats_rejected(const struct command *command);
struct command_stats command_stats_of(const struct command *command);
void command_stats_reset(void);

#endif
