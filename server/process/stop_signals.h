/* SIGTERM and SIGINT. The first one is told to the loop; a second one ends the process at once,
 * wherever it is: in a slow command, in a checkpoint, waiting for a disk. What that loses is
 * what kill -9 loses: nothing that was acknowledged. One for the process. */
#ifndef DUEQ_STOP_SIGNALS_H
#define DUEQ_STOP_SIGNALS_H

/* A descriptor that becomes readable with the first signal. -1: errno says why. */
int stop_signals_open(void);
/* From here on the signals do what they do by default. */
void stop_signals_close(void);
/* The number of the first; 0: none has come. */
int stop_signals_caught(void);

#endif
