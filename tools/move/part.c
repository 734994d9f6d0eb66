#include "tools/move/part.h"

#include "server/process/random.h"

#include <inttypes.h>
#include <stdio.h>

enum { HOLD_MS = 3600000 };

void part_make_name(char *name)
{
    snprintf(name, PART_NAME, "dueq:import:part:%016" PRIx64, random_number());
}

void part_hold(struct peer *to, const char *part)
{
    peer_begin(to, 3);
    peer_text(to, "PEXPIRE");
    peer_text(to, part);
    peer_number(to, HOLD_MS);
}

void part_place(struct peer *to, const char *part, struct dueq_slice key, int64_t expires,
                bool replace)
{
    peer_begin(to, expires != 0 ? 3 : 2);
    peer_text(to, expires != 0 ? "PEXPIREAT" : "PERSIST");
    peer_text(to, part);
    if (expires != 0)
        peer_number(to, expires);
    peer_say(to, 3,
             (struct dueq_slice[]){text_slice(replace ? "RENAME" : "RENAMENX"),
                                   text_slice(part), key});
    peer_say_text(to, "DEL", part, (const char *)NULL); /* of a key that was there */
}
