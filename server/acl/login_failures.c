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

bool login_failures_are_many(const struct login_failures *failures, const char *address,
                             int64_t now)
{
    uint64_t network = network_of(address);
    size_t i = place_of(failures, network);

    return failures->of[i].network == network &&
           now - failures->of[i].last <= LOGIN_FAILURES_MEMORY &&
           failures->of[i].count >= LOGIN_FAILURES_FREE;
}

bool login_failures_note(struct login_failures *failures, const char *address, int64_t now)
{
    uint64_t network = network_of(address);
    size_t i = place_of(failures, network);

    if (failures->of[i].network != network ||
        now - failures->of[i].last > LOGIN_FAILURES_MEMORY)
        failures->of[i].count = 0;
    failures->of[i].network = network;
    failures->of[i].last = now;
    return ++failures->of[i].count > LOGIN_FAILURES_FREE;
}
