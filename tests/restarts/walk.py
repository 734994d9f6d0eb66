"""Random walks: commands that change something, steps of the clock, checkpoints and restarts."""

import os
from dataclasses import replace

from grammar import Mood, read_forms
from queue_pools import TOPICS
from sequence import Step
from still import ENDINGS

HERE = os.path.dirname(os.path.abspath(__file__))
THEMES = ("keys", "sort", "strings", "hashes", "lists", "sets", "zsets")
# What picks at random, waits, chooses another database for good, or has cursors of its own.
LEFT_OUT = ("SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "RANDOMKEY", "WAIT", "OBJECT", "SELECT",
            "SCAN", "SSCAN", "HSCAN", "ZSCAN", "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BLMPOP", "BZPOPMIN",
            "BZPOPMAX", "BZMPOP")
ADVANCE, CHECKPOINT, RESTART = "advance", "checkpoint", "restart"
SPANS = [1, 10, 900, 1000, 5000, 20000, 60000, 600000]  # milliseconds
LONG_SPANS = [3600000, 3 * 3600000, 2 * 86400000]


def _redis_forms():
    forms = read_forms(os.path.join(HERE, "..", "differential", "forms.txt"))
    return [form for form in forms if form.theme in THEMES and form.name() not in LEFT_OUT]


class Walk:
    def __init__(self, dice):
        self.dice = dice
        self.queue = read_forms(os.path.join(HERE, "queue_forms.txt"))
        self.settings = [form for form in self.queue if "CONFIG SET <scope>" in form.text]
        self.redis = _redis_forms()

    def steps(self, count):
        steps = []
        while len(steps) < count:
            steps += self._scene()
        return steps + [self._restart()]

    def _scene(self):
        roll = self.dice.random()
        if roll < 0.02:
            return [Step((), kind=CHECKPOINT), self._restart()]
        if roll < 0.05:
            return [self._restart()]
        if roll < 0.06:
            return [Step((), kind=CHECKPOINT)]
        if roll < 0.18:
            return [Step((b"%d" % self._span(),), kind=ADVANCE)]
        if roll < 0.20:
            return [Step((b"MULTI",)), *(self._command() for _ in range(self.dice.randint(1, 5))), Step((b"EXEC",))]
        if roll < 0.22:
            return self._setting()
        return [self._command()]

    def _setting(self):
        """One that comes, counts and goes, and maybe comes again, with little else in between."""
        there = self._form(self.settings)
        topic = self.dice.choice(TOPICS[:3])
        there = replace(there, arguments=(*there.arguments[:2], topic, *there.arguments[3:]))
        push = Step((b"Q.PUSH", topic, b"hello", b"GROUP", b"g1"))
        claim = Step((b"Q.CLAIM", topic, b"COUNT", b"20"))
        gone = Step((b"Q.CONFIG", b"RESET", topic, there.arguments[3]))
        steps = [there, *[push] * self.dice.randint(0, 2), claim, gone]
        return steps + ([there] if self.dice.random() < 0.7 else []) + [self._restart()]

    def _command(self):
        return self._form(self.queue if self.dice.random() < 0.75 else self.redis)

    def _form(self, forms):
        form = self.dice.choices(forms, [form.weight for form in forms])[0]
        return Step(tuple(form.make(self.dice, Mood(may_pause=False))))

    def _restart(self):
        """How it ends, and how long it is away."""
        away = self._span() if self.dice.random() < 0.4 else 0
        return Step((self.dice.choice(ENDINGS).encode(), b"%d" % away), kind=RESTART)

    def _span(self):
        return self.dice.choice(LONG_SPANS if self.dice.random() < 0.06 else SPANS)
