/* Failed logins by the peer's network, so that guessing becomes slow. Who knows the password
 * does not wait, and is not refused for them but inside EXEC. */
#ifndef DUEQ_LOGIN_FAILURES_H
#define DUEQ_LOGIN_FAILURES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LOGIN_FAILURES_FREE = 3,           /* of one network, before its failures are to be slow */
    LOGIN_FAILURES_MEMORY = 60 * 1000, /* ms after the last one until they are forgotten */
    LOGIN_FAILURES_NETWORKS = 256      /* that are remembered: those that failed last */
};

/* Zeros: none. */
struct login_failures {
    struct {
        uint64_t network; /* a hash */
        int64_t last;     /* monotonic ms */
        uint64_t count;   /* 0: unused */
    } of[LOGIN_FAILURES_NETWORKS];
};

/* Counts a failure. True: its network has used up those that are free. `address`: as in struct
 * session; its network is one address of IPv4, a /64 of IPv6, or the unix socket. O(networks).
 */
bool login_failures_note(struct login_failures *failures, const char *address, int64_t now);

/* Is the next failure one that is not free? O(networks). */
bool login_failures_are_many(const struct login_failures *failures, const char *address,
                             int64_t now);

#endif
