/* Replies as JSON, a line each. */
#ifndef DUEQ_REPLY_JSON_H
#define DUEQ_REPLY_JSON_H

#include <hiredis/hiredis.h>
#include <jansson.h>

/* Text as a string, what is no UTF-8 as {"hex": "00ff"}, a null as null, an array as an array.
 */
json_t *reply_json(const redisReply *reply);
/* A map of RESP2: names and values. Values that are maps themselves, as Q.STATS and Q.GET have
 * them, are known by name. */
json_t *reply_json_map(const redisReply *reply);
/* Prints it on a line of its own and frees it. Returns the exit status. */
int reply_json_print(json_t *json);

/* The value under a name of such a map; NULL: there is none, or it is null. */
const redisReply *reply_member(const redisReply *map, const char *name);

/* What the values of these names are. */
enum member_kind { MEMBER_PLAIN, MEMBER_MAP_OF_MAPS, MEMBER_LIST_OF_MAPS };
enum member_kind reply_member_kind(const char *name);

#endif
