"""Runs one sequence against two servers side by side and finds the first difference."""

import re
import time
from dataclasses import dataclass, replace

import comparison
import resp
from connection import NoReply
from sequence import CRASH, RAW, RECONNECT

DATABASES = 16
SCANS = ("SCAN", "SSCAN", "HSCAN", "ZSCAN")
WAITERS = {"BLPOP": -1, "BRPOP": -1, "BLMOVE": -1, "BRPOPLPUSH": -1, "BZPOPMIN": -1, "BZPOPMAX": -1,
           "BLMPOP": 1, "BZMPOP": 1}
LISTENING = ("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")
LEXICAL = ("ZRANGEBYLEX", "ZREVRANGEBYLEX", "ZLEXCOUNT", "ZREMRANGEBYLEX")
LEAST_WAIT, SHORT_WAIT = 0.001, 0.1
ENDLESS = 1e6
NO_KEY = "no key of this name is ever made"
GRACE = 0.02
LONG_SCAN = 100000
ONE_KEY_ORDERED = ("HGETALL", "HKEYS", "HVALS", "HSCAN", "SMEMBERS", "SSCAN")
MANY_KEYS_ORDERED = ("SUNION", "SINTER", "SDIFF")
ORDERED = (b"listpack", b"intset")  # encodings that have an order
ZSET_ENCODINGS = {b"listpack", b"skiplist"}
DUMP_COMMANDS = {b"string": (b"GET", b""), b"list": (b"LRANGE", b"0 -1"), b"set": (b"SMEMBERS", b""),
                 b"zset": (b"ZRANGE", b"0 -1 WITHSCORES"), b"hash": (b"HGETALL", b"")}


@dataclass
class Mismatch:
    kind: str  # reply, event, waiting, state, crash or death
    step: object
    reference: str
    candidate: str

    def signature(self):
        """What a smaller sequence must still show."""
        return self.kind, self.step.name() if self.step and self.kind != "state" else ""

    def fingerprint(self):
        """What makes it another difference: the command, and how the replies begin, numbers aside."""
        return self.signature() + tuple(re.sub(r"\d+|'.*", "", text)[:40] for text in (self.reference, self.candidate))


class Side:
    """One server during one sequence."""

    def __init__(self, server, protocol):
        self.server = server
        self.protocol = protocol
        self.connections = {}
        self.ids = {}
        self.control = server.connect()

    def reopen(self, crashed):
        """Without the clients there were, and the settings that a restart loses."""
        self.close()
        self.connections.clear()
        if crashed and self.server.durable():
            self.server.crash()
        self.control = self.server.connect()
        self.control.call("CONFIG", "SET", "notify-keyspace-events", "")

    def close(self):
        for connection in [*self.connections.values(), self.control]:
            connection.close()

    def clear(self):
        for command in (["CLIENT", "UNPAUSE"], ["FLUSHALL"], ["CONFIG", "SET", "notify-keyspace-events", ""],
                        ["CONFIG", "SET", "requirepass", ""], ["ACL", "SETUSER", "default", "on", "nopass"],
                        ["ACL", "LOG", "RESET"]):
            self.control.call(*command)
        users = self.control.call("ACL", "USERS")[1]
        others = [name for _, name in users if name != b"default"]
        if others:
            self.control.call("ACL", "DELUSER", *others)

    def connection(self, number):
        if number not in self.connections:
            connection = self.server.connect()
            if self.protocol == 3:
                connection.call("HELLO", 3)
            self.ids[number] = connection.call("CLIENT", "ID")[1]
            self.connections[number] = connection
        return self.connections[number]

    def hang_up(self, number):
        connection = self.connections.pop(number, None)
        if connection:
            connection.close()
            self.settle()

    def send(self, step, arguments):
        connection = self.connection(step.connection)
        connection.send(b"".join(arguments) if step.kind == RAW else resp.encode(arguments))

    def resolve(self, argument, now):
        if b"@" not in argument:
            return argument
        argument = re.sub(rb"@x(\d+):", lambda run: b"x" * int(run.group(1)), argument)
        client = re.fullmatch(rb"@id(\d)", argument)
        if client:
            self.connection(int(client.group(1)))
            return self.ids[int(client.group(1))]
        later = re.fullmatch(rb"@(m?s)\+(\d+)", argument)
        if later:
            return b"%d" % (int(now * (1000 if later.group(1) == b"ms" else 1)) + int(later.group(2)))
        return argument

    def receive(self, number):
        try:
            return self.connection(number).receive()
        except NoReply as silence:
            return "?", str(silence).encode()

    def ask(self, number, *arguments):
        """A question of our own on a connection that is used by the sequence."""
        self.connection(number).send(resp.encode([self.resolve(argument, 0) for argument in arguments]))
        while True:
            reply = self.receive(number)
            if reply[0] != ">":
                return reply

    def settle(self):
        """When this returns, all that earlier commands brought about has arrived."""
        for _ in range(2):
            self.control.call("DBSIZE")  # waits for the records before it; a PING does not

    def arrived(self):
        return {number: replies for number, connection in self.connections.items()
                if (replies := connection.drain())}

    def finish_scan(self, number, arguments, reply):
        """The whole scan as one reply with cursor 0."""
        name, items, rounds = arguments[0].upper(), [], 0
        place = 1 if name == b"SCAN" else 2
        while isinstance(reply[1], list) and len(reply[1]) == 2 and rounds < LONG_SCAN:
            cursor, found = reply[1]
            items += found[1]
            if cursor[1] == b"0":
                return reply[0], [cursor, (found[0], items)]
            arguments = arguments[:place] + [cursor[1]] + arguments[place + 1 :]
            reply, rounds = self.ask(number, *arguments), rounds + 1
        return reply


class Duel:
    def __init__(self, reference, candidate, protocol=2):
        self.servers = (reference, candidate)
        self.protocol = protocol

    def run(self, steps):
        """The first Mismatch, or None."""
        run = _Run(self.servers, self.protocol)
        try:
            mismatch = run.play(steps)
            suspicious = mismatch is not None and "?" in (mismatch.reference[:1], mismatch.candidate[:1])
        except (NoReply, OSError, resp.BrokenReply) as error:
            mismatch, suspicious = Mismatch("death", run.current, "", str(error)), True
        dead = [suspicious and server.has_died() for server in self.servers]
        if any(dead):
            words = [server.last_words() if gone else "alive" for server, gone in zip(self.servers, dead)]
            mismatch = Mismatch("death", run.current, *words)
        for server, gone in zip(self.servers, dead):
            if gone:
                server.start()
        return mismatch


class _Run:
    def __init__(self, servers, protocol):
        self.sides = [Side(server, protocol) for server in servers]
        self.waiting = {}
        self.queued = {}
        self.listening = False
        self.muted = set()
        self.sorted = False
        self.longest = 0.0
        self.current = None

    def play(self, steps):
        try:
            for side in self.sides:
                side.clear()
            for step in steps:
                self.current = step
                mismatch = self._step(step)
                if mismatch:
                    return mismatch
            return self._compare_states()
        finally:
            for side in self.sides:
                side.close()

    def _slack(self):
        return 5 + 2000 * self.longest

    def _step(self, step):
        if step.kind == RECONNECT:
            return self._reconnect(step)
        if step.kind == CRASH:
            return self._crash(step)
        if step.connection in self.waiting or self._order_is_open(step) or self._would_wait_long(step):
            return None
        if step.name() in ("SORT", "SORT_RO"):
            self.sorted = True
            self._clear_errno()
        now, begun = time.time(), time.monotonic()
        sent = []
        for side in self.sides:
            sent.append([side.resolve(argument, now) for argument in step.arguments])
        for side, arguments in zip(self.sides, sent):
            side.send(step, arguments)
        patient = self._expects_reply(step)
        firsts = [[side.receive(step.connection)] if patient else [] for side in self.sides]
        self.longest = max(self.longest, time.monotonic() - begun)
        if step.name() in LISTENING:
            self.listening = True
        if step.pause:
            time.sleep(step.pause)
        return self._judge(step, sent, firsts, patient)

    def _clear_errno(self):
        """Redis' SORT takes an overflow in an earlier command for one of its own; a number read well ends that."""
        for side in self.sides:
            side.control.call("ZUNION", 1, NO_KEY, "WEIGHTS", 1)

    def _would_wait_long(self, step):
        """A wait that ends by itself some time later cannot be compared with anything."""
        seconds = _timeout(step)
        return seconds is not None and SHORT_WAIT < seconds < ENDLESS and step.connection not in self.queued

    def _order_is_open(self, step):
        """Ranges by name in a zset of different scores: what Redis finds depends on its dice."""
        if step.name() not in LEXICAL and b"BYLEX" not in map(bytes.upper, step.arguments):
            return False
        place = 2 if step.name() == "ZRANGESTORE" else 1
        if step.connection in self.queued or len(step.arguments) <= place:
            return True
        members = self.sides[0].ask(step.connection, b"ZRANGE", step.arguments[place], b"0", b"-1", b"WITHSCORES")
        return not resp.is_error(members) and len(set(_scores(members[1]))) > 1

    def _order_is_settled(self, step):
        """Whether Redis keeps the elements in an order: small hashes and sets of integers."""
        if step.connection in self.queued or step.kind == RAW:
            return False
        if step.name() in ONE_KEY_ORDERED:
            return self._encodings(step, step.arguments[1:2]) <= set(ORDERED)
        if step.name() in MANY_KEYS_ORDERED:
            return self._encodings(step, step.arguments[1:]) <= {b"intset"}
        return False

    def _encodings(self, step, keys):
        replies = [self.sides[0].ask(step.connection, b"OBJECT", b"ENCODING", key) for key in keys]
        return {payload for _, payload in replies if payload is not None}

    def _expects_reply(self, step):
        """False where a reply may rightly not come; what has come is then collected."""
        name = step.name()
        if step.kind == RAW or step.connection in self.muted:
            return False
        if name == "CLIENT" and len(step.arguments) == 3 and step.arguments[1].upper() == b"REPLY":
            if step.arguments[2].upper() in (b"OFF", b"SKIP"):
                self.muted.add(step.connection)
                return False
        if name not in WAITERS or step.connection in self.queued:
            return True
        seconds = _timeout(step)
        return seconds is not None and 0 < seconds <= SHORT_WAIT

    def _judge(self, step, sent, firsts, patient):
        number = step.connection
        if not patient or self.listening or self.waiting:
            for side in self.sides:
                side.settle()
        arrived = [side.arrived() for side in self.sides]
        if not patient and not any(number in there for there in arrived):
            self._grant_grace(arrived)
        own = [first + there.pop(number, []) for first, there in zip(firsts, arrived)]
        if not patient and (step.kind != RAW and number not in self.muted):
            mismatch = self._judge_waiting(step, own)
            if mismatch or number in self.waiting:
                return mismatch or self._judge_events(step, arrived)
        own = [self._whole(side, step, arguments, replies)
               for side, arguments, replies in zip(self.sides, sent, own)]
        if not self._agree_own(step, own) or (own[0] != own[1] and self._order_is_settled(step)):
            return Mismatch("reply", step, *map(_text_of_all, own))
        mismatch = self._settle_random(step, own)
        self._follow_transaction(step, own[0])
        return mismatch or self._judge_events(step, arrived)

    def _judge_waiting(self, step, own):
        if bool(own[0]) != bool(own[1]):
            return Mismatch("waiting", step, *[_text_of_all(replies) or "waits" for replies in own])
        if not own[0]:
            self.waiting[step.connection] = step
        return None

    def _grant_grace(self, arrived):
        """On a busy machine even what has been sent may take a moment to arrive."""
        time.sleep(GRACE)
        for side, there in zip(self.sides, arrived):
            for number, replies in side.arrived().items():
                there.setdefault(number, []).extend(replies)

    def _judge_events(self, step, arrived):
        for number in sorted(set(arrived[0]) | set(arrived[1])):
            left, right = (there.setdefault(number, []) for there in arrived)
            if not self._agree_here((), left, right):
                self._grant_grace(arrived)
            if not self._agree_here((), left, right):
                return Mismatch("event", step, f"{number}> {_text_of_all(left)}", f"{number}> {_text_of_all(right)}")
            self.waiting.pop(number, None)
        return None

    def _whole(self, side, step, arguments, replies):
        if step.name() not in SCANS or step.connection in self.queued or len(replies) != 1:
            return replies
        place = 1 if step.name() == "SCAN" else 2
        if arguments[place : place + 1] != [b"0"]:
            return replies
        return [side.finish_scan(step.connection, arguments, replies[0])]

    def _agree_own(self, step, own):
        queued = self.queued.get(step.connection)
        if step.name() == "EXEC" and queued is not None and len(own[0]) == 1 == len(own[1]):
            return self._agree_exec(queued, own[0][0], own[1][0])
        return self._agree_here(step.arguments, own[0], own[1])

    def _agree_here(self, arguments, references, candidates):
        """Where a command tells its own connection of the change is open: Redis does it even in mid-reply."""
        if comparison.agree_all(arguments, references, candidates, self._slack()):
            return True
        if len(references) == 1 == len(candidates) and self._agree_sorted(references[0], candidates[0]):
            return True
        apart = _messages_apart(references)
        return bool(apart[1]) and apart == _messages_apart(candidates)

    def _agree_exec(self, queued, left, right):
        if left == right:
            return True
        both_lists = isinstance(left[1], list) and isinstance(right[1], list)
        if left[0] != right[0] or not both_lists or len(left[1]) != len(right[1]):
            return False
        commands = queued if len(queued) == len(left[1]) else [()] * len(left[1])
        return all(comparison.agree(command, a, b, self._slack()) or self._agree_sorted(a, b)
                   for command, a, b in zip(commands, left[1], right[1]))

    def _agree_sorted(self, left, right):
        """SORT, also SORT_RO, makes a small zset a large one in Redis; reading changes nothing here."""
        return (self.sorted and (left[0], right[0]) == ("$", "$")
                and {left[1], right[1]} == ZSET_ENCODINGS)

    def _follow_transaction(self, step, replies):
        number, name, reply = step.connection, step.name(), replies[0] if replies else None
        if reply == ("+", b"QUEUED") and number in self.queued:
            self.queued[number].append(step.arguments)
        elif name == "MULTI" and reply == ("+", b"OK"):
            self.queued[number] = []
        elif name in ("EXEC", "DISCARD", "RESET") and len(step.arguments) == 1:
            self.queued.pop(number, None)

    def _reconnect(self, step):
        for side in self.sides:
            side.hang_up(step.connection)
        self.waiting.pop(step.connection, None)
        self.queued.pop(step.connection, None)
        self.muted.discard(step.connection)
        return self._judge_events(step, [side.arrived() for side in self.sides])

    def _crash(self, step):
        for side, crashed in zip(self.sides, (False, True)):
            side.reopen(crashed)
        for state in (self.waiting, self.queued, self.muted):
            state.clear()
        self.listening = False
        mismatch = self._compare_states()
        return mismatch and replace(mismatch, kind="crash", step=step)

    # Random picks: each must be a member for the reference, and what was popped is made equal again.

    def _settle_random(self, step, own):
        if step.connection in self.queued or len(own[0]) != 1 or own[0][0] == own[1][0]:
            return None
        name, reply = step.name(), own[1][0]
        if name == "SPOP":
            return self._repair_pop(step, own)
        if name in PICKS and not all(self._is_member(step, name, pick) for pick in _picks(step, reply)):
            return Mismatch("reply", step, "members", resp.text_of(reply))
        return None

    def _is_member(self, step, name, pick):
        arguments = [PICKS[name], pick] if name == "RANDOMKEY" else [PICKS[name], step.arguments[1], pick]
        answer = self.sides[0].ask(step.connection, *arguments)
        return answer[1] is not None and answer != (":", b"0")

    def _repair_pop(self, step, own):
        popped = [_picks(step, replies[0]) for replies in own]
        key = step.arguments[1]
        if not all(self._was_member(step, pick, popped[0]) for pick in popped[1]):
            return Mismatch("reply", step, "members", _text_of_all(own[1]))
        if sorted(popped[0]) != sorted(popped[1]):
            for side, mine in zip(self.sides, popped):
                side.ask(step.connection, b"SADD", key, *mine)
                side.ask(step.connection, b"SREM", key, *popped[0])
            arrived = []
            for side in self.sides:
                side.settle()
                arrived.append(side.arrived())
            return self._judge_events(step, arrived)
        return None

    def _was_member(self, step, pick, popped):
        return pick in popped or self._is_member(step, "SRANDMEMBER", pick)

    # The state at the end, by type.

    def _compare_states(self):
        for side in self.sides:
            side.settle()
        states = [dump_keys(side.control, self.sorted) for side in self.sides]
        for key in sorted(set(states[0]) | set(states[1])):
            left, right = (state.get(key) for state in states)
            if left is None or right is None or left[:2] != right[:2] or not self._same_time(left[2], right[2]):
                return Mismatch("state", None, f"{key}: {left}", f"{key}: {right}")
        return None

    def _same_time(self, left, right):
        return left == right or (left >= 0 and right >= 0 and abs(left - right) <= self._slack())


PICKS = {"SRANDMEMBER": b"SISMEMBER", "HRANDFIELD": b"HEXISTS", "ZRANDMEMBER": b"ZSCORE", "RANDOMKEY": b"EXISTS"}


def _timeout(step):
    """Of a command that may wait, in seconds; None if it has none that can be read."""
    if step.name() not in WAITERS or len(step.arguments) < 2:
        return None
    text = step.arguments[WAITERS[step.name()]]
    try:
        return float(text) or (LEAST_WAIT if text.strip(b"+-0.") else 0.0)
    except ValueError:
        return None


def _scores(members):
    nested = members and isinstance(members[0][1], list)
    return [pair[1][1] for pair in members] if nested else members[1::2]


def _picks(step, reply):
    """The picked members: of a bulk, of a list, of a list with values beside or nested."""
    if reply[1] is None:
        return []
    if not isinstance(reply[1], list):
        return [reply[1]]
    if reply[1] and isinstance(reply[1][0][1], list):
        return [pair[1][0][1] for pair in reply[1]]
    return [item[1] for item in reply[1][:: 2 if len(step.arguments) > 3 else 1]]


def _messages_apart(replies):
    """The scalars of the replies, and the messages that came before, between or inside of them."""
    scalars, messages = [], []
    for reply in replies:
        if reply[0] == ">":
            messages.append(reply)
        elif isinstance(reply[1], list):
            inner = _messages_apart(reply[1])
            scalars += inner[0]
            messages += inner[1]
        else:
            scalars.append(reply)
    return scalars, messages


def _text_of_all(replies):
    return "  ".join(resp.text_of(reply) for reply in replies)


def dump_keys(control, after_sort):
    """Of all databases: type, encoding with content, and expiry of each key."""
    state = {}
    for database in range(DATABASES):
        control.call("SELECT", database)
        if control.call("DBSIZE") == (":", b"0"):
            continue
        keys = control.call("KEYS", "*")
        for _, key in keys[1] if isinstance(keys[1], list) else []:
            state[database, key] = _dump_key(control, key, after_sort)
    control.call("SELECT", 0)
    return state


def _dump_key(control, key, after_sort):
    kind = control.call("TYPE", key)[1]
    command, rest = DUMP_COMMANDS.get(kind, (b"EXISTS", b""))
    reply = control.call(command, key, *rest.split())
    if kind == b"zset":
        reply = comparison.without_negative_zero(reply)
    encoding = control.call("OBJECT", "ENCODING", key)[1]
    if kind == b"zset" and after_sort:
        encoding = None
    if kind == b"set" and encoding not in ORDERED:
        reply = sorted(reply[1])
    elif kind == b"hash" and encoding not in ORDERED:
        reply = sorted(zip(reply[1][0::2], reply[1][1::2]))
    return kind, (encoding, reply), int(control.call("PEXPIRETIME", key)[1])
