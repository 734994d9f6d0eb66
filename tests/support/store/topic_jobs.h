/* Jobs of topic "t" of a store_fixture, by their ids: for tests about which job a claim gets.
 * What fails fails the test. */
#ifndef DUEQ_TOPIC_JOBS_H
#define DUEQ_TOPIC_JOBS_H

#include "tests/support/store/store_fixture.h"

/* Its body is the id. group: "", none. */
void topic_jobs_push(struct store_fixture *fixture, const char *id, const char *group,
                     int64_t weight);
/* The id of the job that a claim gets, valid until the next call; "": there is none.
 * *ret_token, unless that is NULL: its token. */
const char *topic_jobs_claim(struct store_fixture *fixture, int64_t lease, int64_t *ret_token);
void topic_jobs_ack(struct store_fixture *fixture, const char *id); /* it is claimed */

/* Takes all signals. False: there was none. */
bool topic_jobs_are_signalled(struct store_fixture *fixture);
/* Time passes, and what falls due is done. */
void topic_jobs_pass(struct store_fixture *fixture, int64_t ms);
/* All topics are as a check wants them. */
void topic_jobs_check(struct store_fixture *fixture);

#endif
