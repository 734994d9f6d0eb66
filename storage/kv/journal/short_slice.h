/* Asks the kernel to let a thread run as soon as it wakes up. For the thread that syncs: it
 * works for some 10 usec at a time, three times a sync, and all clients wait for it. Where all
 * processors are busy, the scheduler of Linux 6.6 and later lets it wait for the end of another
 * thread's slice, milliseconds, unless its own slice is shorter. */
#ifndef DUEQ_SHORT_SLICE_H
#define DUEQ_SHORT_SLICE_H

/* Gives the calling thread a slice of 0.1 ms; it gets as much of the processor as before. Needs
 * no privilege. Does nothing before Linux 6.12, or when the thread has another policy than that
 * of ordinary ones. */
void short_slice_ask(void);

#endif
