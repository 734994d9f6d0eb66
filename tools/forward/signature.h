/* How a receiver knows that a body is ours: HMAC-SHA256 (RFC 2104) with a secret that both
 * have.
 */
#ifndef DUEQ_SIGNATURE_H
#define DUEQ_SIGNATURE_H

#include "storage/slice.h"

#include <stdint.h>

enum { SIGNATURE_TEXT = 128 };

/* "t=UNIX,v1=HEX", of "UNIX.BODY"; text: SIGNATURE_TEXT bytes. O(size of the body). */
void signature_write(struct dueq_slice secret, int64_t unix_seconds, struct dueq_slice body,
                     char *text);

#endif
