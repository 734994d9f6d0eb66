/* The handlers of Redis' commands, by theme: named after them, registered in the tables beside
 * this file. Semantics, replies and error texts are those of Redis 7.0. */
#ifndef DUEQ_SERVER_HANDLERS_H
#define DUEQ_SERVER_HANDLERS_H

#include "server/command.h"

/* keys of any type */
enum outcome run_del(struct context *context);
enum outcome run_unlink(struct context *context);
enum outcome run_exists(struct context *context);
enum outcome run_type(struct context *context);
enum outcome run_touch(struct context *context);
enum outcome run_rename(struct context *context);
enum outcome run_renamenx(struct context *context);
enum outcome run_copy(struct context *context);
enum outcome run_keys(struct context *context);
enum outcome run_scan(struct context *context);
enum outcome run_randomkey(struct context *context);
enum outcome run_expire(struct context *context);
enum outcome run_pexpire(struct context *context);
enum outcome run_expireat(struct context *context);
enum outcome run_pexpireat(struct context *context);
enum outcome run_ttl(struct context *context);
enum outcome run_pttl(struct context *context);
enum outcome run_expiretime(struct context *context);
enum outcome run_pexpiretime(struct context *context);
enum outcome run_persist(struct context *context);
enum outcome run_object_idletime(struct context *context);
enum outcome run_object_help(struct context *context);
enum outcome run_object_encoding(struct context *context);
enum outcome run_object_freq(struct context *context);
enum outcome run_object_refcount(struct context *context);
enum outcome run_move(struct context *context);
enum outcome run_swapdb(struct context *context);
enum outcome run_flushdb(struct context *context);
enum outcome run_sort(struct context *context);
enum outcome run_sort_ro(struct context *context);
enum outcome run_wait(struct context *context);

/* strings */
enum outcome run_set(struct context *context);
enum outcome run_get(struct context *context);
enum outcome run_getdel(struct context *context);
enum outcome run_getex(struct context *context);
enum outcome run_getset(struct context *context);
enum outcome run_setnx(struct context *context);
enum outcome run_setex(struct context *context);
enum outcome run_psetex(struct context *context);
enum outcome run_mset(struct context *context);
enum outcome run_msetnx(struct context *context);
enum outcome run_mget(struct context *context);
enum outcome run_append(struct context *context);
enum outcome run_strlen(struct context *context);
enum outcome run_incr(struct context *context);
enum outcome run_decr(struct context *context);
enum outcome run_incrby(struct context *context);
enum outcome run_decrby(struct context *context);
enum outcome run_incrbyfloat(struct context *context);
enum outcome run_getrange(struct context *context);
enum outcome run_substr(struct context *context);
enum outcome run_setrange(struct context *context);

/* bits of strings, and LCS */
enum outcome run_setbit(struct context *context);
enum outcome run_getbit(struct context *context);
enum outcome run_bitcount(struct context *context);
enum outcome run_bitpos(struct context *context);
enum outcome run_bitop(struct context *context);
enum outcome run_lcs(struct context *context);

/* hashes */
enum outcome run_hset(struct context *context);
enum outcome run_hsetnx(struct context *context);
enum outcome run_hmset(struct context *context);
enum outcome run_hget(struct context *context);
enum outcome run_hmget(struct context *context);
enum outcome run_hgetall(struct context *context);
enum outcome run_hdel(struct context *context);
enum outcome run_hexists(struct context *context);
enum outcome run_hlen(struct context *context);
enum outcome run_hkeys(struct context *context);
enum outcome run_hvals(struct context *context);
enum outcome run_hstrlen(struct context *context);
enum outcome run_hincrby(struct context *context);
enum outcome run_hincrbyfloat(struct context *context);
enum outcome run_hrandfield(struct context *context);
enum outcome run_hscan(struct context *context);

/* lists */
enum outcome run_lpush(struct context *context);
enum outcome run_rpush(struct context *context);
enum outcome run_lpushx(struct context *context);
enum outcome run_rpushx(struct context *context);
enum outcome run_lpop(struct context *context);
enum outcome run_rpop(struct context *context);
enum outcome run_llen(struct context *context);
enum outcome run_lrange(struct context *context);
enum outcome run_lindex(struct context *context);
enum outcome run_lset(struct context *context);
enum outcome run_linsert(struct context *context);
enum outcome run_lrem(struct context *context);
enum outcome run_ltrim(struct context *context);
enum outcome run_lpos(struct context *context);
enum outcome run_lmove(struct context *context);
enum outcome run_rpoplpush(struct context *context);
enum outcome run_lmpop(struct context *context);
enum outcome run_blpop(struct context *context);
enum outcome run_brpop(struct context *context);
enum outcome run_blmove(struct context *context);
enum outcome run_brpoplpush(struct context *context);
enum outcome run_blmpop(struct context *context);

/* sets */
enum outcome run_sadd(struct context *context);
enum outcome run_srem(struct context *context);
enum outcome run_scard(struct context *context);
enum outcome run_sismember(struct context *context);
enum outcome run_smismember(struct context *context);
enum outcome run_smembers(struct context *context);
enum outcome run_spop(struct context *context);
enum outcome run_srandmember(struct context *context);
enum outcome run_smove(struct context *context);
enum outcome run_sinter(struct context *context);
enum outcome run_sintercard(struct context *context);
enum outcome run_sunion(struct context *context);
enum outcome run_sdiff(struct context *context);
enum outcome run_sinterstore(struct context *context);
enum outcome run_sunionstore(struct context *context);
enum outcome run_sdiffstore(struct context *context);
enum outcome run_sscan(struct context *context);

/* sorted sets */
enum outcome run_zadd(struct context *context);
enum outcome run_zrem(struct context *context);
enum outcome run_zscore(struct context *context);
enum outcome run_zmscore(struct context *context);
enum outcome run_zincrby(struct context *context);
enum outcome run_zcard(struct context *context);
enum outcome run_zcount(struct context *context);
enum outcome run_zlexcount(struct context *context);
enum outcome run_zrank(struct context *context);
enum outcome run_zrevrank(struct context *context);
enum outcome run_zrange(struct context *context);
enum outcome run_zrangestore(struct context *context);
enum outcome run_zrangebyscore(struct context *context);
enum outcome run_zrevrangebyscore(struct context *context);
enum outcome run_zrangebylex(struct context *context);
enum outcome run_zrevrangebylex(struct context *context);
enum outcome run_zrevrange(struct context *context);
enum outcome run_zremrangebyrank(struct context *context);
enum outcome run_zremrangebyscore(struct context *context);
enum outcome run_zremrangebylex(struct context *context);
enum outcome run_zpopmin(struct context *context);
enum outcome run_zpopmax(struct context *context);
enum outcome run_zmpop(struct context *context);
enum outcome run_bzpopmin(struct context *context);
enum outcome run_bzpopmax(struct context *context);
enum outcome run_bzmpop(struct context *context);
enum outcome run_zrandmember(struct context *context);
enum outcome run_zunion(struct context *context);
enum outcome run_zinter(struct context *context);
enum outcome run_zintercard(struct context *context);
enum outcome run_zdiff(struct context *context);
enum outcome run_zunionstore(struct context *context);
enum outcome run_zinterstore(struct context *context);
enum outcome run_zdiffstore(struct context *context);
enum outcome run_zscan(struct context *context);

/* transactions */
enum outcome run_multi(struct context *context);
enum outcome run_exec(struct context *context);
enum outcome run_discard(struct context *context);
enum outcome run_watch(struct context *context);
enum outcome run_unwatch(struct context *context);

/* publish and subscribe */
enum outcome run_subscribe(struct context *context);
enum outcome run_psubscribe(struct context *context);
enum outcome run_unsubscribe(struct context *context);
enum outcome run_punsubscribe(struct context *context);
enum outcome run_publish(struct context *context);
enum outcome run_pubsub_numsub(struct context *context);
enum outcome run_pubsub_channels(struct context *context);
enum outcome run_pubsub_help(struct context *context);
enum outcome run_pubsub_numpat(struct context *context);
enum outcome run_pubsub_shardchannels(struct context *context);
enum outcome run_pubsub_shardnumsub(struct context *context);
enum outcome run_ssubscribe(struct context *context);
enum outcome run_sunsubscribe(struct context *context);
enum outcome run_spublish(struct context *context);

/* looking into the server, and what Redis has for replication and access control */
enum outcome run_monitor(struct context *context);
enum outcome run_slowlog_len(struct context *context);
enum outcome run_slowlog_help(struct context *context);
enum outcome run_slowlog_get(struct context *context);
enum outcome run_slowlog_reset(struct context *context);
enum outcome run_latency_help(struct context *context);
enum outcome run_latency_doctor(struct context *context);
enum outcome run_latency_history(struct context *context);
enum outcome run_latency_graph(struct context *context);
enum outcome run_latency_histogram(struct context *context);
enum outcome run_latency_reset(struct context *context);
enum outcome run_latency_latest(struct context *context);
enum outcome run_memory_doctor(struct context *context);
enum outcome run_memory_purge(struct context *context);
enum outcome run_memory_help(struct context *context);
enum outcome run_memory_usage(struct context *context);
enum outcome run_debug(struct context *context);
enum outcome run_debug_object(struct context *context); /* object.c */
enum outcome run_lastsave(struct context *context);
enum outcome run_save(struct context *context);
enum outcome run_bgsave(struct context *context);
enum outcome run_role(struct context *context);
enum outcome run_replicaof(struct context *context);
enum outcome run_slaveof(struct context *context);
enum outcome run_acl_list(struct context *context);
enum outcome run_acl_help(struct context *context);
enum outcome run_acl_getuser(struct context *context);
enum outcome run_acl_cat(struct context *context);
enum outcome run_acl_whoami(struct context *context);
enum outcome run_acl_users(struct context *context);

#endif
