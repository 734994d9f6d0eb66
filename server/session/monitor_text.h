/* What a line of MONITOR shows of a request: its arguments, quoted as redis-cli does, with
 * passwords removed. To quote 16 MiB takes 100 ms, so the text of a large request is made in
 * slices before the request runs. Whose the request is has a pointer to the text; NULL: there
 * is nothing of it. */
#ifndef DUEQ_MONITOR_TEXT_H
#define DUEQ_MONITOR_TEXT_H

#include "server/dispatch/command.h"

struct buffer;
struct monitor_text;

enum { MONITOR_TEXT_LARGE = 256 * 1024 }; /* bytes of a request */

bool monitor_text_is_shown(const struct command *command);

/* Makes a slice of it; the text of another request is dropped. True: no call is needed any
 * more, as it is complete or longer than `most` bytes, the request will not be shown, or there
 * is no memory. O(128 KiB). */
bool monitor_text_prepare(struct monitor_text **text, const struct request *request,
                          size_t most);
/* Makes what is missing. The line, which the caller may take over, has no end yet, and has
 * overflowed when it is longer than `most`; valid until the text is dropped. NULL: out of
 * memory. O(bytes that are missing). */
struct buffer *monitor_text_complete(struct monitor_text **text, const struct command *command,
                                     const struct request *request, size_t most);
/* Frees it, later when that takes long. */
void monitor_text_drop(struct monitor_text **text);

size_t monitor_text_bytes(const struct monitor_text *text); /* of memory; NULL: 0 */

#endif
