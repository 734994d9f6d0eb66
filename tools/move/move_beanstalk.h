/* Jobs of a beanstalkd into the topics of a dueq. */
#ifndef DUEQ_MOVE_BEANSTALK_H
#define DUEQ_MOVE_BEANSTALK_H

#include "tools/move/move.h"
#include "tools/move/place.h"

/* Uses move->to only. Returns the exit status. */
int move_beanstalk(struct move *move, const struct place *place);

/* 0 to 4,294,967,295 as 0 to 255, in the same order; 1,024 is 128, the defaults. */
int beanstalk_priority(uint64_t priority);

#endif
