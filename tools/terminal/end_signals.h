/* Signals that a program which holds the terminal must hear of, to give it back first. */
#ifndef DUEQ_END_SIGNALS_H
#define DUEQ_END_SIGNALS_H

#include <poll.h>
#include <stdbool.h>

enum signals_heard {
    HEARD_NOTHING,
    HEARD_INTERRUPT, /* Ctrl-C */
    HEARD_RESIZE,    /* the terminal has another size */
    HEARD_CONTINUE,  /* after Ctrl-Z */
    HEARD_END,       /* SIGTERM, SIGHUP, SIGQUIT */
};

/* From now on they set what signals_take tells; calls of the system end with EINTR. */
void signals_catch(void);
/* What was heard and not taken yet; HEARD_END stays for ever. */
enum signals_heard signals_take(void);
/* Is there anything to take? An end or an interrupt only, if `urgent`. */
bool signals_are_there(bool urgent);
/* The signal of HEARD_END. */
int signals_end(void);
/* poll that also ends, with -1 and EINTR, when a signal came before it: no signal is slept
 * over. */
int signals_poll(struct pollfd *fds, nfds_t count, int timeout_ms, bool urgent);

#endif
