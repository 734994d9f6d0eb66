/* Failed logins by the peer's network, so that guessing becomes slow: the replies to them come
 * late, and of a network that fails often only so many passwords are looked at in a time,
 * however many connections it has. A login that succeeds does not count for that. */
#ifndef DUEQ_LOGIN_FAILURES_H
#define DUEQ_LOGIN_FAILURES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LOGIN_FAILURES_FREE = 3,           /* of one network, before its failures are to be slow */
    LOGIN_FAILURES_MEMORY = 60 * 1000, /* ms after the last one until they are forgotten */
    LOGIN_FAILURES_NETWORKS = 256,     /* that are remembered: those that failed last */
    LOGIN_AT_ONCE =
        8, /* passwords of a network that fails often, looked at in one auth-delay */
    LOGIN_PUT_OFF_MOST = 10 * 1000 /* ms: what would have to wait longer has no place */
};

/* Zeros: none. */
struct login_failures {
    struct {
        uint64_t network; /* a hash */
        int64_t last;     /* monotonic ms */
        uint64_t count;   /* 0: unused */
        int64_t full;     /* monotonic us: until then the places are taken */
    } of[LOGIN_FAILURES_NETWORKS];
};

/* Counts a failure. True: its network has used up those that are free. `address`: as in struct
 * session; its network is one address of IPv4, a /64 of IPv6, or the unix socket. O(networks).
 */
bool login_failures_note(struct login_failures *failures, const char *address, int64_t now);

/* Takes a place for one look at a password. Returns in how many ms that may be: 0 at once, and
 * always for a network that does not fail often. More than LOGIN_PUT_OFF_MOST: there is no
 * place now. delay: auth-delay, ms; 0: no look waits. O(networks). */
int64_t login_failures_take_place(struct login_failures *failures, const char *address,
                                  int64_t now, int64_t delay);
/* The login has succeeded: another one may have the place. */
void login_failures_give_back(struct login_failures *failures, const char *address,
                              int64_t delay);

/* Is the next failure one that is not free? O(networks). */
bool login_failures_are_many(const struct login_failures *failures, const char *address,
                             int64_t now);

#endif
