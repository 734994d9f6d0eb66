#include "server/statistics/turn_watch.h"

#include "storage/spans.h"

#include <string.h>

void turn_watch_begin(struct turn_watch *watch, uint64_t now, uint64_t cpu)
{
    watch->began = watch->marked = now;
    watch->cpu_began = cpu;
}

void turn_watch_mark(struct turn_watch *watch, enum turn_part part, uint64_t now)
{
    watch->now.parts[part] += now - watch->marked;
    watch->marked = now;
}

void turn_watch_begin_row(struct turn_watch *watch, uint64_t now)
{
    watch->seen = now;
    watch->in_row = true;
}

void turn_watch_end_row(struct turn_watch *watch)
{
    watch->in_row = false;
}

void turn_watch_command(struct turn_watch *watch, const struct command *command, uint64_t usec,
                        uint64_t now)
{
    watch->seen = now;
    watch->now.commands++;
    if (watch->now.command != NULL && usec <= watch->now.command_usec)
        return;
    watch->now.command = command;
    watch->now.command_usec = usec;
}

void turn_watch_end(struct turn_watch *watch, uint64_t cpu)
{
    watch->now.cpu_usec = cpu - watch->cpu_began;
    watch->now.usec = watch->marked - watch->began;
    spans_note(&watch->took, watch->now.usec);
    watch->long_turns += watch->now.usec >= TURN_LONG_USEC;
    watch->busy_turns += watch->now.cpu_usec >= TURN_LONG_USEC;
    if (watch->now.usec > watch->longest.usec)
        watch->longest = watch->now;
    if (watch->now.cpu_usec > watch->busiest.cpu_usec)
        watch->busiest = watch->now;
    memset(&watch->now, 0, sizeof(watch->now));
    watch->began = 0;
}

void turn_watch_reset(struct turn_watch *watch)
{
    memset(&watch->longest, 0, sizeof(watch->longest));
    memset(&watch->busiest, 0, sizeof(watch->busiest));
    watch->long_turns = watch->busy_turns = 0;
}

enum turn_part turn_longest_part(const struct turn *turn)
{
    enum turn_part longest = TURN_EVENTS;

    for (int part = 0; part < TURN_PARTS; part++)
        if (turn->parts[part] > turn->parts[longest])
            longest = (enum turn_part)part;
    return longest;
}

const char *turn_part_name(enum turn_part part)
{
    static const char *const names[TURN_PARTS] = {"events", "second",  "resumed", "works",
                                                  "tick",   "waiters", "commit",  "release",
                                                  "fill",   "store"};

    return names[part];
}
