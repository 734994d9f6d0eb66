#include "server/config/keyspace_events.h"

#include <string.h>

/* The letter of each bit, from bit 0 on. */
static const char letters_of_bits[] = "g$lshzxetdnKEm";

bool keyspace_events_parse(const char *letters, size_t count, unsigned *ret_events)
{
    unsigned events = 0;

    for (size_t i = 0; i < count; i++) {
        const char *found = letters[i] == '\0' ? NULL : strchr(letters_of_bits, letters[i]);

        if (letters[i] == 'A')
            events |= EVENT_ALL;
        else if (found == NULL)
            return false;
        else
            events |= 1U << (found - letters_of_bits);
    }
    *ret_events = events;
    return true;
}

/* After an A Redis does not print the n, although A does not include it. Clients compare with
 * what Redis prints. */
void keyspace_events_format(unsigned events, char *text)
{
    if ((events & EVENT_ALL) == EVENT_ALL) {
        events &= ~(unsigned)(EVENT_ALL | EVENT_NEW);
        *text++ = 'A';
    }
    for (unsigned bit = 0; letters_of_bits[bit] != '\0'; bit++)
        if (events & 1U << bit)
            *text++ = letters_of_bits[bit];
    *text = '\0';
}
