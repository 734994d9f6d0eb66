/* What a thread that works long asks of the scheduler of Linux, on a machine whose processors
 * are all busy. Needs no privilege. */
#ifndef DUEQ_SCHEDULING_H
#define DUEQ_SCHEDULING_H

/* Nobody waits for the calling thread: where others want the processor it gets a third as much
 * of it as each of them (nice + 5). Does nothing when it has another policy than that of
 * ordinary threads. */
void scheduling_give_way(void);

#endif
