/* A server on a machine whose clocks do as they are told:
 * tests/fault/preload/preload_stepped_clock.c, steered. */
#ifndef DUEQ_STEPPED_CLOCK_H
#define DUEQ_STEPPED_CLOCK_H

#include "tests/support/server_process.h"

#include <stdint.h>

/* What the preload reads. Seconds beyond the truth. */
struct stepped_clock {
    int64_t wall_ahead, boot_ahead;
    int64_t boot; /* which boot of the machine */
};

/* For the next runs of the server: its clocks are right for now. The result is valid as long as
 * the test program runs; what is written there holds at once. */
struct stepped_clock *stepped_clock_prepare(struct server_process *server);

/* The machine starts anew while the server is down; its clock since boot begins again. */
void stepped_clock_reboot(struct stepped_clock *clock);

#endif
