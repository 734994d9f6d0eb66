/* The states of jobs as words of a request, for options and arguments_choice. */
#ifndef DUEQ_STATE_WORDS_H
#define DUEQ_STATE_WORDS_H

#include "storage/types.h"

/* By enum dueq_state, as dueq_state_name says. */
static const char *const state_words[] = {"delayed", "ready",   "claimed", "dead",
                                          "done",    "waiting", NULL};
_Static_assert(sizeof(state_words) / sizeof(*state_words) == DUEQ_STATES + 1,
               "a state has no word");

#endif
