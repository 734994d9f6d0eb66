/* Reads replies of RESP2 and RESP3 as they come. The hiredis of Debian 12 knows no RESP3; its
 * type of a reply is kept, with the numbers that later versions of it have for the new kinds.
 */
#ifndef DUEQ_RESP3_REPLY_H
#define DUEQ_RESP3_REPLY_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef REDIS_REPLY_DOUBLE
enum {
    REDIS_REPLY_DOUBLE = 7,
    REDIS_REPLY_BOOL,
    REDIS_REPLY_MAP, /* names and values, as elements */
    REDIS_REPLY_SET,
    REDIS_REPLY_ATTR,
    REDIS_REPLY_PUSH,
    REDIS_REPLY_BIGNUM,
    REDIS_REPLY_VERB, /* without the three letters of its kind */
};
#endif

struct resp3_reader;
struct resp3_reader *resp3_reader_new(void);         /* ends the program when memory is out */
void resp3_reader_free(struct resp3_reader *reader); /* NULL is fine */
/* Where the next bytes go, `room` of them at least; tell how many came with resp3_came. */
char *resp3_room(struct resp3_reader *reader, size_t room);
void resp3_came(struct resp3_reader *reader, size_t size);
/* False: this is not RESP. *ret_reply: NULL while it is incomplete; free it with resp3_free.
 * A text is followed by a zero byte. Linear in the bytes, however they come. */
bool resp3_next(struct resp3_reader *reader, redisReply **ret_reply);
void resp3_free(redisReply *reply); /* NULL is fine */

#endif
