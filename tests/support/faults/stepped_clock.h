/* Runs a server on a machine whose clocks step on command
 * (tests/fault/preload/preload_stepped_clock.c). */
#ifndef DUEQ_STEPPED_CLOCK_H
#define DUEQ_STEPPED_CLOCK_H

#include "tests/support/client/server_process.h"

#include <stdint.h>

/* What the preload reads: seconds that it adds to the real clocks. tests/restarts/still.py
 * writes it, too. */
struct stepped_clock {
    int64_t wall_ahead, boot_ahead;
    int64_t boot;      /* which boot of the machine */
    int64_t stands_at; /* 0: the clocks run; else usec that both read before what is added */
};

/* For the next runs of the server; its clocks are right at first. The result is valid while the
 * test program runs; a change of it has effect at once. */
struct stepped_clock *stepped_clock_prepare(struct server_process *server);

/* Reboots the machine while the server is down: its clock since boot starts again. */
void stepped_clock_reboot(struct stepped_clock *clock);

#endif
