"""Tests of the differential tester itself, without servers: python3 -m unittest discover tests/differential"""

import os
import random
import unittest

import comparison
import resp
from generator import Generator
from grammar import Mood, read_forms
from sequence import Step, read_sequences, split, text_of
from shrinker import Shrinker

HERE = os.path.dirname(os.path.abspath(__file__))
FORMS = read_forms(os.path.join(HERE, "forms.txt"))
SUBSET = """
DEL UNLINK EXISTS TYPE TOUCH RENAME RENAMENX COPY KEYS SCAN RANDOMKEY DBSIZE EXPIRE PEXPIRE EXPIREAT PEXPIREAT
TTL PTTL EXPIRETIME PEXPIRETIME PERSIST OBJECT MOVE SWAPDB SELECT FLUSHDB FLUSHALL SORT SORT_RO WAIT
SET GET GETDEL GETEX GETSET SETNX SETEX PSETEX MSET MSETNX MGET APPEND STRLEN INCR DECR INCRBY DECRBY INCRBYFLOAT
GETRANGE SUBSTR SETRANGE LCS SETBIT GETBIT BITCOUNT BITPOS BITOP
HSET HSETNX HMSET HGET HMGET HGETALL HDEL HEXISTS HLEN HKEYS HVALS HSTRLEN HINCRBY HINCRBYFLOAT HRANDFIELD HSCAN
LPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LLEN LRANGE LINDEX LSET LINSERT LREM LTRIM LPOS LMOVE RPOPLPUSH LMPOP
BLPOP BRPOP BLMOVE BRPOPLPUSH BLMPOP
SADD SREM SCARD SISMEMBER SMISMEMBER SMEMBERS SPOP SRANDMEMBER SMOVE SINTER SINTERCARD SUNION SDIFF SINTERSTORE
SUNIONSTORE SDIFFSTORE SSCAN
ZADD ZREM ZSCORE ZMSCORE ZINCRBY ZCARD ZCOUNT ZLEXCOUNT ZRANK ZREVRANK ZRANGE ZRANGESTORE ZRANGEBYSCORE
ZREVRANGEBYSCORE ZRANGEBYLEX ZREVRANGEBYLEX ZREVRANGE ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX ZPOPMIN
ZPOPMAX ZMPOP BZPOPMIN BZPOPMAX BZMPOP ZRANDMEMBER ZUNION ZINTER ZINTERCARD ZDIFF ZUNIONSTORE ZINTERSTORE
ZDIFFSTORE ZSCAN
MULTI EXEC DISCARD WATCH UNWATCH
SUBSCRIBE PSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE PUBLISH PUBSUB SSUBSCRIBE SUNSUBSCRIBE SPUBLISH
CLIENT SLOWLOG LATENCY MEMORY DEBUG CONFIG INFO COMMAND LASTSAVE ROLE REPLICAOF ACL
""".split()


class FormsTest(unittest.TestCase):
    def test_every_command_of_the_subset_has_a_form(self):
        self.assertEqual(set(SUBSET) - {form.name() for form in FORMS}, set())

    def test_every_form_makes_commands(self):
        dice = random.Random(1)
        for form in FORMS:
            for _ in range(20):
                arguments = form.make(dice, Mood())
                self.assertTrue(all(isinstance(argument, bytes) for argument in arguments), form.text)

    def test_a_counted_group_says_how_many(self):
        form = next(form for form in FORMS if form.name() == "LMPOP")
        for seed in range(50):
            arguments = form.make(random.Random(seed), Mood())
            side = arguments[2 + int(arguments[1])]
            self.assertIn(side.upper(), (b"LEFT", b"RIGHT"))

    def test_a_seed_makes_the_same_sequence_again(self):
        first, second = [Generator(FORMS, random.Random("7"), True).sequence(500) for _ in range(2)]
        self.assertEqual(first, second)


class RespTest(unittest.TestCase):
    def test_a_reply_is_parsed_only_when_it_is_whole(self):
        wire = b"%1\r\n$1\r\na\r\n*3\r\n,1.5\r\n_\r\n$-1\r\n"
        for cut in range(len(wire)):
            self.assertIsNone(resp.parse(wire[:cut]))
        expected = ("%", [("$", b"a"), ("*", [(",", b"1.5"), ("_", b""), ("$", None)])])
        self.assertEqual(resp.parse(wire), (expected, len(wire)))

    def test_what_is_no_reply_is_refused(self):
        for wire in (b"hello\r\n", b"$x\r\n", b"$1\r\nabc"):
            with self.assertRaises(resp.BrokenReply):
                resp.parse(wire)


class SequenceTest(unittest.TestCase):
    def test_text_reads_back_as_what_was_written(self):
        steps = [Step((b"SET", b"k y\x00", b"\xff\r\n\"\\'")), Step((b"BLPOP", b"", b"0"), 1, 0.05),
                 Step((), 2, kind="reconnect"), Step((b"PING\r\n",), kind="raw"), Step((b"ECHO", b"!sleep"))]
        self.assertEqual(read_sequences("\n".join(map(text_of, steps))), [steps])

    def test_quotes_are_those_of_redis_cli(self):
        self.assertEqual(split(r'''SET "a\x00\n\"" 'b\n' c'''), [b"SET", b'a\x00\n"', b"b\\n", b"c"])


def reply(wire):
    return resp.parse(wire)[0]


class ComparisonTest(unittest.TestCase):
    def agrees(self, command, reference, candidate, slack=0):
        return comparison.agree(split(command), reply(reference), reply(candidate), slack)

    def test_lists_keep_their_order_and_sets_do_not(self):
        forward, backward = b"*2\r\n$1\r\na\r\n$1\r\nb\r\n", b"*2\r\n$1\r\nb\r\n$1\r\na\r\n"
        self.assertFalse(self.agrees("LRANGE l 0 -1", forward, backward))
        self.assertTrue(self.agrees("SMEMBERS s", forward, backward))
        self.assertFalse(self.agrees("HGETALL h", forward, backward))

    def test_types_and_errors_are_compared_to_the_letter(self):
        self.assertFalse(self.agrees("GET k", b"$-1\r\n", b"*-1\r\n"))
        self.assertFalse(self.agrees("SMEMBERS s", b"*0\r\n", b"~0\r\n"))
        self.assertFalse(self.agrees("TTL k", b"-ERR a\r\n", b"-ERR b\r\n"))

    def test_times_may_differ_by_the_slack_and_no_more(self):
        self.assertTrue(self.agrees("PTTL k", b":1000\r\n", b":990\r\n", slack=10))
        self.assertFalse(self.agrees("PTTL k", b":1000\r\n", b":989\r\n", slack=10))
        self.assertFalse(self.agrees("PTTL k", b":0\r\n", b":-1\r\n", slack=10))

    def test_random_picks_agree_by_number(self):
        one, two = b"*1\r\n$1\r\na\r\n", b"*2\r\n$1\r\nb\r\n$1\r\na\r\n"
        self.assertFalse(self.agrees("SRANDMEMBER s 2", one, two))
        self.assertTrue(self.agrees("SRANDMEMBER s 1", one, b"*1\r\n$1\r\nz\r\n"))

    def test_a_scan_may_repeat_but_not_omit(self):
        once, twice = [("*", [("$", b"0"), ("*", [("$", b"a")] * times)]) for times in (1, 2)]
        none = ("*", [("$", b"0"), ("*", [])])
        self.assertTrue(comparison.agree([b"SCAN", b"0"], once, twice))
        self.assertFalse(comparison.agree([b"SCAN", b"0"], once, none))


class ShrinkerTest(unittest.TestCase):
    def test_only_the_steps_that_matter_are_left(self):
        noise = [Step((b"SET", b"k%d" % number, b"v")) for number in range(100)]
        guilty = [Step((b"HSET", b"hash", b"field", b"long value")), Step((b"HGET", b"hash", b"field"), 2)]

        def fails(steps):
            names = [step.name() for step in steps]
            return "HSET" in names and "HGET" in names[names.index("HSET") :]

        small = Shrinker(fails).shrink(noise[:40] + guilty[:1] + noise[40:] + guilty[1:])
        self.assertEqual([step.name() for step in small], ["HSET", "HGET"])
        self.assertEqual([step.connection for step in small], [0, 0])
        self.assertEqual(small[1].arguments, (b"HGET",))


if __name__ == "__main__":
    unittest.main()
