#include "server/acl/login_failures.h"

#include "server/containers/seeded_table.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NETWORK_BYTES = 8 }; /* of an address of IPv6: whoever has one has all that begin so */

/* "1.2.3.4:5" and "[::1]:5" without the port; a path stays as it is, but for a number. */
static uint64_t network_of(const char *address)
{
    const char *port = strrchr(address, ':');
    size_t size = port == NULL ? strlen(address) : (size_t)(port - address);
    char host[INET6_ADDRSTRLEN];
    struct in6_addr six;

    if (address[0] != '[' || size < 2)
        return seeded_table_hash(address, size);
    snprintf(host, sizeof(host), "%.*s", (int)size - 2, address + 1);
    if (inet_pton(AF_INET6, host, &six) != 1)
        return seeded_table_hash(address, size);
    return seeded_table_hash(&six, NETWORK_BYTES);
}

/* The place of the network, or else the one that was not used for the longest time. */
static size_t place_of(const struct login_failures *failures, uint64_t network)
{
    size_t oldest = 0;

    for (size_t i = 0; i < LOGIN_FAILURES_NETWORKS; i++) {
        if (failures->of[i].count > 0 && failures->of[i].network == network)
            return i;
        if (failures->of[i].count == 0 || (failures->of[oldest].count > 0 &&
                                           failures->of[i].last < failures->of[oldest].last))
            oldest = i;
    }
    return oldest;
}

static bool is_many(const struct login_failures *failures, size_t i, uint64_t network,
                    int64_t now)
{
    return failures->of[i].network == network &&
           now - failures->of[i].last <= LOGIN_FAILURES_MEMORY &&
           failures->of[i].count >= LOGIN_FAILURES_FREE;
}

bool login_failures_are_many(const struct login_failures *failures, const char *address,
                             int64_t now)
{
    uint64_t network = network_of(address);

    return is_many(failures, place_of(failures, network), network, now);
}

static int64_t usec_of_place(int64_t delay)
{
    return delay * 1000 / LOGIN_AT_ONCE;
}

/* LOGIN_AT_ONCE places may be taken ahead of time. */
int64_t login_failures_take_place(struct login_failures *failures, const char *address,
                                  int64_t now, int64_t delay)
{
    uint64_t network = network_of(address);
    size_t i = place_of(failures, network);
    int64_t *full = &failures->of[i].full, wait;

    if (delay == 0 || !is_many(failures, i, network, now))
        return 0;
    if (*full < now * 1000)
        *full = now * 1000;
    wait = (*full + usec_of_place(delay) - now * 1000 + 999) / 1000 - delay;
    if (wait <= LOGIN_PUT_OFF_MOST)
        *full += usec_of_place(delay);
    return wait > 0 ? wait : 0;
}

void login_failures_give_back(struct login_failures *failures, const char *address,
                              int64_t delay)
{
    uint64_t network = network_of(address);
    size_t i = place_of(failures, network);

    if (failures->of[i].network == network)
        failures->of[i].full -= usec_of_place(delay);
}

bool login_failures_note(struct login_failures *failures, const char *address, int64_t now)
{
    uint64_t network = network_of(address);
    size_t i = place_of(failures, network);

    if (failures->of[i].network != network ||
        now - failures->of[i].last > LOGIN_FAILURES_MEMORY)
        failures->of[i].count = 0;
    if (failures->of[i].network != network)
        failures->of[i].full = 0;
    failures->of[i].network = network;
    failures->of[i].last = now;
    return ++failures->of[i].count > LOGIN_FAILURES_FREE;
}
