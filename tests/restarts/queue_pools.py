"""The values of queue_forms.txt, in addition to those of tests/differential/pools.py: few, so that commands meet.

What is known only when a command is sent stands in for it until then:
  @job/17      two arguments: topic and id of the 17th job that there is, counted round
  @claim/17    three arguments: topic, id and token of a claim, counted in the same way
  @ms+60       unix time in milliseconds, and 60
"""

import pools

TOPICS = [b"mail", b"mint", b"report", b"dead-mail", b"a topic\x00\xff"]
PATTERNS = [b"m*", b"*t", b"[mr]e*"]  # none of clock, which has the jobs of crons
IDS = [b"a", b"b", b"c", b"d", b"e", b"f", b"an id\r\n\xff"]
CRONS = [b"beat", b"nightly", b"c3"]
DURATIONS = [b"0", b"1", b"40", b"900", b"1s", b"5s", b"20s", b"1m", b"10m", b"1h", b"7h", b"3d"]
RATES = [b"1/1s", b"2/1m", b"3/1h", b"5/10s burst 1", b"2/1h burst 4"]


def _from(values):
    return lambda dice, mood: dice.choice(values)


def _numbered(word):
    return lambda dice, mood: b"@%b/%d" % (word, dice.randrange(1000))


QUEUE_POOLS = {
    "topic": _from(TOPICS + TOPICS[:2] * 3),
    "scope": _from(TOPICS + TOPICS[:2] + PATTERNS),
    "id": _from(IDS),
    "given-id": _from(IDS + [b""]),
    "other": _from(IDS + [topic + b":" + name for topic in TOPICS[:3] for name in IDS[:3]]),
    "job": _numbered(b"job"),
    "claim": _numbered(b"claim"),
    "body": _from([b"", b"hello", b"\x00\xff", b"@x40:", b"@x520:", b"@x3000:"]),
    "text": _from([b"smtp: 451", b"page 7", b""]),
    "duration": _from(DURATIONS),
    "span": _from(DURATIONS[4:]),
    "at": _from([b"@ms+0", b"@ms+1500", b"@ms+61000", b"@ms+7200000", b"1"]),
    "priority": _from([b"0", b"7", b"128", b"128", b"255"]),
    "few": _from([b"1", b"2", b"3", b"5", b"20"]),
    "weight": _from([b"1", b"2", b"10"]),
    "group": _from([b"g1", b"g2", b"g\xff"]),
    "worker": _from([b"ann", b"bob"]),
    "group-mode": _from([b"none", b"serial", b"fair", b"cap 1", b"cap 2"]),
    "backoff": _from([b"5s 1h", b"FIXED 10s", b"EXP 1s 1h JITTER 10", b"STEPS 2m 10m 1h"]),
    "rate": _from(RATES),
    "cron": _from(CRONS),
    "every": _from([b"7m", b"1h", b"5h"]),
    "spec": _from([b"@hourly", b"*/20 * * * *", b"30 2 * * *", b"15 6 * * mon-fri", b"0 0 L * *"]),
    "zone": _from([b"UTC", b"Europe/Berlin", b"America/New_York"]),
    "setting": _from([b"lease", b"retries", b"ttl", b"backoff", b"keep", b"max-length", b"group-mode", b"concurrency", b"rate",
                      b"group-rate", b"events", b"dead-topic", b"age-after"]),
}
pools.POOLS.update(QUEUE_POOLS)
