/* What will be read soon is loaded meanwhile. Changes nothing, whatever the address. */
#ifndef DUEQ_PREFETCH_H
#define DUEQ_PREFETCH_H

/* GCC takes a function that does nothing else for one without effect, and removes its calls.
 * The empty statement is an effect that costs nothing. libdueq-small prefers small code. */
static inline void prefetch(const void *address)
{
#ifdef DUEQ_SMALL
    (void)address;
#else
    __builtin_prefetch(address);
    __asm__ volatile("");
#endif
}

#endif
