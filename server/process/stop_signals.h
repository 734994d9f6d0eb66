/* SIGTERM and SIGINT. The first one wakes the loop. As in Redis a SIGINT after that, who
 * presses Control-C again, ends the process at once, also in a slow command, in a checkpoint or
 * while it waits for a disk. That loses what kill -9 loses: nothing that was acknowledged. One
 * for the process. */
#ifndef DUEQ_STOP_SIGNALS_H
#define DUEQ_STOP_SIGNALS_H

/* A descriptor that becomes readable with the first signal. -1: errno says why. */
int stop_signals_open(void);
/* The signals have their default effect from now on. */
void stop_signals_close(void);
/* The number of the first signal; 0: none has come. */
int stop_signals_caught(void);
/* The next one is the first again. */
void stop_signals_forget(void);

#endif
