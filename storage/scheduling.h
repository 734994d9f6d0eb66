/* What a thread asks of the scheduler of Linux, on a machine whose processors are all busy.
 * Needs no privilege. Each of these does nothing when the thread has another policy than that
 * of ordinary ones. */
#ifndef DUEQ_SCHEDULING_H
#define DUEQ_SCHEDULING_H

/* Nobody waits for the calling thread: where others want the processor it gets a third as much
 * of it as each of them (nice + 5). */
void scheduling_give_way(void);

/* All clients wait for the calling thread, which works for some 10 usec at a time: it runs as
 * soon as it wakes up, and gets as much of the processor as before. The scheduler of Linux 6.6
 * and later lets it wait for the end of another thread's slice, milliseconds, unless its own is
 * shorter: it gets one of 0.1 ms. Does nothing before Linux 6.12. */
void scheduling_run_at_once(void);

#endif
