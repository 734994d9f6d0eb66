"""The values that commands are made of: few, so that operations meet, and some of them nasty.

A few arguments stand for what is known only when they are sent, or differs between the servers:
  @id1       the id of connection 1             @ms+60    now in milliseconds, and 60
  @x520:     520 times x, anywhere              @s+100    now in seconds, and 100
"""

LONG = b"@x520:"
FAR_SECONDS = [b"100", b"1000", b"86400", b"10000000"]
FAR_MILLISECONDS = [b"100000", b"123456", b"86400000", b"10000000000"]
NEAR_LIMITS = [b"9223372036854775807", b"-9223372036854775808", b"9223372036854775806",
               b"4611686018427387904", b"-9223372036854775807"]
TOO_LARGE = [b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616"]

NAMES = {
    "string": [b"s1", b"s2", b"s3"],
    "counter": [b"n1", b"n2"],
    "list": [b"l1", b"l2", b"l3"],
    "set": [b"t1", b"t2", b"t3"],
    "zset": [b"z1", b"z2", b"z3"],
    "hash": [b"h1", b"h2", b"h3"],
    "lexset": [b"y1", b"y2"],
    "weight-key": [b"w1", b"w2", b"w3", b"wa", b"wb"],
}
ODD_NAMES = [b"", b"k1", b"k2", b"a key\x00\xff\r\n", LONG + b"1", LONG + b"2", b"k*[a]\\"]

MEMBERS = [b"a", b"b", b"c", b"d", b"e", b"1", b"2", b"3", b"10", b"-5", b"aa", b"ab", b"B"]
ODD_MEMBERS = [b"", b"\x00", b"\xff\xfe", b"a\r\nb", LONG + b"1", LONG + b"2", LONG, b"1.5", b"007",
               b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"nan",
               b"\xc3\xa9", b"a b", b"@x70:"]
FLOATS = [b"0", b"1", b"-1", b"0.1", b"2.5", b"-3.75", b"1e3", b"1e-7", b"3.14159265358979", b"1e17",
          b"123456789012345678", b"0.30000000000000004", b"5e20", b"1e21", b"-0", b"+7"]
ODD_FLOATS = [b"inf", b"-inf", b"+inf", b"nan", b"1e308", b"-1e308", b"1e309", b"1e-400", b"5e-324", b"",
              b" 1", b"1 ", b"0x10", b"0x1p3", b"infinity", b"-Infinity", b"1e", b"abc", b".5", b"5.",
              b"9007199254740993", b"1795230826.0690765", b"2.2250738585072014e-308"]
WORDS = [b"nosuch", b"", b"a\x00b", b"NX", b"LIMIT", b"COUNT", b"*", b"help"]
PATTERNS = [b"*", b"*1", b"[a-c]*", b"?", b"a*", b"*[^1]", b"[lz]?", b"nomatch", b"\\*", b"x*2", b"",
            b"[", b"h[1-2]", b"[^a]*", b"*a*b*"]
CHANNELS = [b"c1", b"c2", b"c3", b"news.a", b"news.b", b""]


def _mostly(dice, usual, odd, share=0.1):
    return dice.choice(odd if dice.random() < share else usual)


def _member(odd_share):
    """Now and then one of many, so that some collections grow beyond the small encodings."""
    return lambda dice, mood: (b"m%d" % dice.randrange(300) if dice.random() < 0.15
                               else _mostly(dice, MEMBERS, ODD_MEMBERS, odd_share))


def _name(kind):
    def choose(dice, mood):
        roll = dice.random()
        if roll < 0.88:
            return dice.choice(NAMES[kind])
        return dice.choice(ODD_NAMES) if roll < 0.94 else _any_name(dice, mood)
    return choose


def _any_name(dice, mood):
    return _name(dice.choice(sorted(NAMES)))(dice, mood) if dice.random() < 0.9 else dice.choice(ODD_NAMES)


def _from(usual, odd=None, share=0.1):
    return lambda dice, mood: _mostly(dice, usual, odd, share) if odd else dice.choice(usual)


def _small_number(low, high, odd):
    return lambda dice, mood: dice.choice(odd) if dice.random() < 0.07 else b"%d" % dice.randint(low, high)


def _value(dice, mood):
    roll = dice.random()
    if roll < 0.5:
        return _member(0.2)(dice, mood)
    if roll < 0.7:
        return dice.choice(FLOATS + ODD_FLOATS)
    return dice.choice([b"hello world", b"foobar", b"ohmytext", b"mynewtext", b"\x0f\xf0\xff\x00", b"@x1040:"])


def _integer(dice, mood):
    roll = dice.random()
    if roll < 0.75:
        return b"%d" % dice.randint(-100, 100)
    return dice.choice(NEAR_LIMITS) if roll < 0.92 else dice.choice(TOO_LARGE + [b"1.0", b"", b" 1", b"+1", b"01"])


def _seconds(dice, mood):
    return _mostly(dice, FAR_SECONDS, [b"0", b"-1", b"-100", b"9223372036854775807", b"9223372036854775", b"x"])


def _milliseconds(dice, mood):
    if mood.may_pause and dice.random() < 0.2:
        mood.pause = 0.12
        return b"%d" % dice.randint(1, 15)
    return _mostly(dice, FAR_MILLISECONDS, [b"0", b"-1", b"9223372036854775807", b"x", b"9223372036854775808"])


PAST = [b"0", b"-1", b"1"]
FUTURE = [b"@s+100", b"@s+1000", b"4102444800"]
FUTURE_MILLISECONDS = [b"@ms+100000", b"@ms+1000000", b"4102444800000"]


def _moment(future):
    """A time to come; a time gone by only where one may wait until the key is gone."""
    def choose(dice, mood):
        roll = dice.random()
        if roll < 0.85 or not mood.may_pause:
            return dice.choice(future)
        if roll < 0.9:
            return b"9223372036854775807"
        mood.pause = 0.12
        return dice.choice(PAST)
    return choose


_unix_seconds = _moment(FUTURE)


def _unix_milliseconds(dice, mood):
    if mood.may_pause and dice.random() < 0.1:
        mood.pause = 0.2
        return b"@ms+80"
    return _moment(FUTURE_MILLISECONDS)(dice, mood)


def _score_bound(dice, mood):
    bound = _mostly(dice, FLOATS + [b"inf", b"-inf", b"+inf"], ODD_FLOATS, 0.05)
    return b"(" + bound if dice.random() < 0.25 else bound


def _score_end(end):
    return lambda dice, mood: end if dice.random() < 0.4 else _score_bound(dice, mood)


def _lex(dice, mood):
    roll = dice.random()
    if roll < 0.3:
        return dice.choice([b"-", b"+"])
    if roll < 0.95:
        return dice.choice([b"[", b"("]) + _mostly(dice, MEMBERS, ODD_MEMBERS)
    return dice.choice([b"a", b"", b"--", b"++", b"-x"])


def _lex_end(end):
    return lambda dice, mood: end if dice.random() < 0.5 else _lex(dice, mood)


def _timeout(dice, mood):
    return _mostly(dice, [b"0.01", b"0.02", b"0.001"], [b"-1", b"x", b"", b"inf", b"nan", b"1e400", b"-0.5"], 0.08)


POOLS = {
    **{kind: _name(kind) for kind in NAMES},
    "key": _any_name,
    "member": _member(0.15),
    "field": _from(MEMBERS[:8], ODD_MEMBERS, 0.15),
    "value": _value,
    "integer": _integer,
    "float": _from(FLOATS, ODD_FLOATS, 0.2),
    "score": _from(FLOATS, ODD_FLOATS, 0.15),
    "score-bound": _score_bound,
    "score-min": _score_end(b"-inf"),
    "score-max": _score_end(b"+inf"),
    "lex": _lex,
    "lex-min": _lex_end(b"-"),
    "lex-max": _lex_end(b"+"),
    "index": _small_number(-8, 8, NEAR_LIMITS + [b"x", b"", b"1.5", b"-0", b"1000"]),
    "count": _small_number(0, 5, [b"-1", b"100", b"9223372036854775807", b"x", b"", b"-9223372036854775808"]),
    "random-count": _small_number(-6, 6, [b"100", b"x", b"", b"9223372036854775808", b"-9223372036854775808"]),
    "rank": _small_number(-3, 3, [b"x", b"-9223372036854775808", b"9223372036854775807"]),
    "small": _small_number(0, 4, [b"-1", b"x"]),
    "scan-count": _small_number(1, 5, [b"0", b"-1", b"x", b"1000", b""]),
    "offset": _small_number(0, 12, [b"-1", b"536870912", b"9223372036854775807", b"x", b"100"]),
    "bit-offset": _small_number(0, 40, [b"-1", b"4294967296", b"x", b"800", b"9223372036854775807"]),
    "bit": _from([b"0", b"1"], [b"2", b"-1", b"x"], 0.06),
    "cursor": _from([b"0"], [b"x", b"-1", b"", b"18446744073709551616"], 0.06),
    "db": _from([b"0", b"0", b"1", b"2", b"15"], [b"16", b"-1", b"x", b"4294967296"], 0.1),
    "type": _from([b"string", b"list", b"set", b"zset", b"hash"], [b"stream", b"nosuch", b"ZSET"], 0.2),
    "pattern": _from(PATTERNS),
    "sort-by": _from([b"w*", b"nosort", b"h*->a", b"h*->1", b"nosuch_*"], [b"*", b"w*->", b"", b"w*->a"], 0.1),
    "sort-get": _from([b"#", b"w*", b"h*->a", b"s*"], [b"nosuch", b"", b"*->", b"h*->"], 0.1),
    "channel": _from(CHANNELS),
    "channel-pattern": _from([b"c*", b"c?", b"news.*", b"*", b"c[12]"]),
    "client-name": _from([b"me", b"worker-1", b""], [b"a b", b"a\nb", b"\xff"], 0.2),
    "client-id": _from([b"999999999"], [b"x", b"0", b"-1", b"9223372036854775808"], 0.3),
    "info-section": _from([b"server", b"clients", b"replication", b"keyspace", b"nosuch", b"all", b"default"]),
    "seconds": _seconds,
    "milliseconds": _milliseconds,
    "unix-seconds": _unix_seconds,
    "unix-milliseconds": _unix_milliseconds,
    "timeout": _timeout,
    "word": _from(WORDS),
}

# What a mistake puts in the place of an argument: anything, or what costs nothing anywhere.
JUNK = TOO_LARGE + NEAR_LIMITS + ODD_FLOATS + WORDS + [b"0", b"-1", b"1", LONG + b"1"]
HARMLESS_JUNK = WORDS + [b"abc", b"1.5", b" 1"]
