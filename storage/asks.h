/* When a change counts as durable. Most changes follow the mode of the store (enum
 * dueq_durability); those of a topic with a durability of its own follow that. */
#ifndef DUEQ_ASKS_H
#define DUEQ_ASKS_H

/* What a record of the journal asks for: a sum of these. */
enum asks {
    ASKS_MODE = 1,     /* what the mode says */
    ASKS_ALWAYS = 2,   /* in every mode a sync at once; it is durable after that */
    ASKS_INTERVAL = 4, /* in every mode a sync within the interval; durable when written */
};

#endif
