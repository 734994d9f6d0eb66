/* The rights that the names of AFTER need: each colon of a name is one at which a topic may end
 * that the user may read, or not. And those to the topics of the jobs for which one waits, when
 * it is shown. Fifty thousand of them and thousands of patterns take seconds, so they are
 * gathered and asked for in slices, before the command does anything. */
#ifndef DUEQ_AFTER_RIGHTS_H
#define DUEQ_AFTER_RIGHTS_H

#include "server/acl/acl_check.h"
#include "server/containers/gathered.h"
#include "server/dispatch/context.h"

/* What was done in earlier slices. Zero when it begins, or begins again. */
struct after_progress {
    unsigned slices;
    struct dueq_time began;
    size_t mark; /* of the array, from the beginning of the reply */
    uint64_t count;
    struct dueq_awaited_place place;
};

/* Zero at first. */
struct after_rights {
    const struct acl_user *user; /* whose rights they are, ... */
    uint64_t version;            /* ... under the rules of then */
    struct acl_head *heads;
    size_t known, count, capacity; /* the first `known` are answered and in order */
    size_t listed;                 /* argument whose colons were added last; 0: none */
    struct acl_heads_pace pace;
    struct gathered topics; /* of after_rights_show: their score is the number of the head */
    struct after_progress progress;
    bool needs_slices; /* all that has to be asked for is known from an earlier look */
    void *work;        /* of after_rights_keep; NULL: none */
    void (*free_work)(void *);
};

/* Reads the command, with after_rights_cover or after_rights_show, and if it is good and
 * after_rights_known, does what it says. OUTCOME_WAIT, if it only shows: there is more, and it
 * runs again with its progress. It shows one moment nevertheless: the last time it does all of
 * it alone with the store. If it changes something, it answers that only before the first
 * change, or with a state that after_rights_keep has. */
typedef enum outcome (*after_rights_fn)(struct context *context, struct after_rights *rights,
                                        void *arg);

/* Calls fn, and again when rights that were unknown are known; in between the command takes
 * turns, as a long work. What fn has replied with unknown rights is taken back. */
enum outcome after_rights_run(struct context *context, after_rights_fn fn, void *arg);

/* May the user read the topic that is the first `size` bytes of the argument? False, too, when
 * that is unknown. fn asks in the order of arguments. */
bool after_rights_cover(struct context *context, struct after_rights *rights, size_t argument,
                        size_t size);
/* The same, but true when it is unknown. False: NOPERM is written, counted and logged. */
bool after_rights_allow(struct context *context, struct after_rights *rights, size_t argument,
                        size_t size);
/* May the user read the topic, which was found in the data? False, too, when that is unknown. A
 * command that asks so asks for nothing else. */
bool after_rights_show(struct context *context, struct after_rights *rights,
                       struct dueq_slice topic);
/* Is the command alone with the store, in a slice of its own? If not, it is from the next slice
 * on, if there is one: fn answers OUTCOME_WAIT. */
bool after_rights_is_alone(struct context *context);
/* For fn of such a command, before it answers OUTCOME_WAIT: from the next slice on it goes on
 * with the state `work`, under the rights of now. free_work frees it. */
void after_rights_keep(struct after_rights *rights, void *work, void (*free_work)(void *));
/* Is the answer to all that was asked known? Else the command is not to do anything. */
bool after_rights_known(const struct after_rights *rights);

#endif
