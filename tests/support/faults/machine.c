#include "tests/support/faults/machine.h"

struct machine machine_boot(void)
{
    struct machine machine = {.server = server_process_new()};

    machine.clock = stepped_clock_prepare(machine.server);
    server_process_run(machine.server);
    machine.client = client_open(machine.server);
    return machine;
}
