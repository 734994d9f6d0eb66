"""Random sequences: single commands, and the scenes in which connections depend on each other."""

from grammar import Mood, spoil
from sequence import CRASH, RECONNECT, Step

MISTAKES = 0.04
MAIN, OTHER, SUBSCRIBER, LISTENER = 0, 1, 2, 3
GROWING = ("SET", "HSET", "RPUSH", "SADD", "ZADD")
BLOCKING = ("BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP")
FEEDING = ("LPUSH", "RPUSH", "ZADD", "RENAME", "RPOPLPUSH", "LMOVE", "COPY", "ZINCRBY", "SORT", "LINSERT",
           "ZUNIONSTORE", "MOVE", "SWAPDB", "DEL")
# What cannot be compared inside EXEC: the random removal is not repaired there, the replies of
# subscriptions stand outside of its array, and Redis' SORT depends on what came before it.
UNQUEUEABLE = ("SPOP", "SORT", "SORT_RO", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE")
# What changes a connection's own state, or the state of all: kept off the connection that does the work.
UNSETTLING = ("RESET", "HELLO", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MULTI", "EXEC", "DISCARD")


class Generator:
    def __init__(self, forms, dice, notifications):
        self.forms = forms
        self.dice = dice
        self.notifications = notifications
        self.growing = [form for form in forms if form.name() in GROWING and form.weight >= 2]
        self.blocking = [form for form in forms if form.name() in BLOCKING]
        self.feeding = [form for form in forms if form.name() in FEEDING]
        self.queueable = [form for form in forms if form.name() not in UNQUEUEABLE + UNSETTLING]
        self.names = {form.name() for form in forms}
        self.in_transaction = set()

    def sequence(self, length):
        self.in_transaction = set()
        steps = []
        if self.notifications and self.dice.random() < 0.3:
            steps.append(Step((b"CONFIG", b"SET", b"notify-keyspace-events", b"KEAn")))
            steps.append(Step((b"PSUBSCRIBE", b"__key*"), LISTENER))
        if self.growing:
            steps += [self._single(self.growing, MAIN) for _ in range(12)]
        while len(steps) < length:
            steps += self._scene()
        return steps

    def _scene(self):
        roll = self.dice.random()
        if roll < 0.03 and "EXEC" in self.names:
            return self._transaction()
        if roll < 0.06 and self.blocking and self.feeding:
            return self._block()
        if roll < 0.07 and "SUBSCRIBE" in self.names:
            return self._conversation()
        if roll < 0.075 and "COMMAND" in self.names:
            return [self._question()]
        if roll < 0.077 and self.growing:
            self.in_transaction.clear()
            return [Step((), kind=CRASH)]
        return [self._any()]

    def _any(self):
        form = self._choose(self.forms)
        connection = self.dice.choice([MAIN] * 7 + [OTHER] * 2 + [SUBSCRIBER])
        if form.name() in UNSETTLING:
            connection = OTHER if form.theme == "transactions" else SUBSCRIBER
        if connection in self.in_transaction and form.name() in UNQUEUEABLE:
            connection = MAIN
        step = self._make(form, connection)
        self._follow(step)
        return step

    def _question(self):
        """What the server knows about a command: its entry, or the keys in its arguments."""
        command = self._single(self.forms, MAIN).arguments
        if self.dice.random() < 0.3:
            return Step((b"COMMAND", b"INFO", command[0]))
        return Step((b"COMMAND", self.dice.choice([b"GETKEYS", b"GETKEYSANDFLAGS"])) + command)

    def _follow(self, step):
        if step.name() == "MULTI":
            self.in_transaction.add(step.connection)
        elif step.name() in ("EXEC", "DISCARD", "RESET") and len(step.arguments) == 1:
            self.in_transaction.discard(step.connection)

    def _choose(self, forms):
        return self.dice.choices(forms, [form.weight for form in forms])[0]

    def _single(self, forms, connection):
        return self._make(self._choose(forms), connection)

    def _make(self, form, connection):
        mood = Mood(may_pause=connection not in self.in_transaction)
        arguments = form.make(self.dice, mood)
        if self.dice.random() < MISTAKES:
            arguments = spoil(arguments, self.dice, form.careful)
        return Step(tuple(arguments), connection, mood.pause)

    def _transaction(self):
        """WATCH, a change by somebody else now or later, MULTI, some commands, EXEC or DISCARD."""
        me = self.dice.choice([MAIN, OTHER])
        else_where = OTHER if me == MAIN else MAIN
        steps = []
        if self.dice.random() < 0.6 and "WATCH" in self.names:
            key = self._single(self.queueable, me).arguments[1:2]
            steps.append(Step((b"WATCH",) + (key or (b"s1",)), me))
            if self.dice.random() < 0.5:
                steps.append(self._single(self.queueable, self.dice.choice([me, else_where])))
        steps.append(Step((b"MULTI",), me))
        self.in_transaction.add(me)
        for _ in range(self.dice.randint(0, 5)):
            steps.append(self._single(self.queueable, me))
            if self.dice.random() < 0.15:
                steps.append(self._single(self.queueable, else_where))
        self.in_transaction.discard(me)
        steps.append(Step((b"EXEC" if self.dice.random() < 0.9 else b"DISCARD",), me))
        return steps

    def _block(self):
        """One or two connections wait; others feed them; who still waits is let go or hangs up."""
        steps, waiting = [], self.dice.sample([OTHER, SUBSCRIBER], self.dice.choice([1, 2]))
        for connection in waiting:
            form = self._choose(self.blocking)
            arguments = form.make(self.dice, Mood())
            place = 1 if form.name() in ("BLMPOP", "BZMPOP") else len(arguments) - 1
            arguments[place] = b"0"
            steps.append(Step(tuple(arguments), connection))
        for _ in range(self.dice.randint(1, 4)):
            steps.append(self._single(self.feeding, MAIN))
        together = [form for form in self.feeding if form in self.queueable]
        if self.dice.random() < 0.2 and together and "EXEC" in self.names:
            steps.append(Step((b"MULTI",)))
            steps += [self._single(together, MAIN) for _ in range(3)]
            steps.append(Step((b"EXEC",)))
        for connection in waiting:
            steps += self._let_go(connection)
        return steps

    def _let_go(self, connection):
        steps = []
        if self.dice.random() < 0.5:
            how = self.dice.choice([(), (b"TIMEOUT",), (b"ERROR",)])
            steps.append(Step((b"CLIENT", b"UNBLOCK", b"@id%d" % connection) + how))
        self.in_transaction.discard(connection)
        return steps + [Step((), connection, kind=RECONNECT)]

    def _conversation(self):
        """Somebody listens, others talk, nobody listens any more."""
        subscribing = [form for form in self.forms if form.name() in ("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE")]
        talking = [form for form in self.forms if form.theme == "pubsub" and form.name() in
                   ("PUBLISH", "SPUBLISH", "PUBSUB")]
        leaving = [form for form in self.forms if form.name() in
                   ("UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "PING", "GET", "RESET")]
        steps = [self._single(subscribing, SUBSCRIBER) for _ in range(self.dice.randint(1, 3))]
        steps += [self._single(talking, MAIN) for _ in range(self.dice.randint(1, 4))]
        steps += [self._single(leaving, SUBSCRIBER) for _ in range(self.dice.randint(1, 3))]
        steps += [self._single(talking, MAIN)]
        self.in_transaction.discard(SUBSCRIBER)
        return steps + [Step((), SUBSCRIBER, kind=RECONNECT)]
