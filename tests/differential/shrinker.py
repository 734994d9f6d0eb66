"""Makes a failing sequence small: fewer steps first, then fewer and simpler arguments."""

import time
from dataclasses import replace

SIMPLE = [b"a", b"1", b"0"]


class Shrinker:
    def __init__(self, fails, budget=60.0):
        """`fails` runs a sequence and tells whether it still shows the same difference."""
        self.fails = fails
        self.deadline = time.monotonic() + budget
        self.budget = budget

    def shrink(self, steps):
        steps = self._fewer_steps(steps)
        steps = self._simpler_steps(steps)
        return self._fewer_steps(steps)

    def _in_time(self):
        return time.monotonic() < self.deadline

    def _fewer_steps(self, steps):
        size = max(1, len(steps) // 2)
        while self._in_time():
            kept = self._without_chunks(steps, size)
            if kept == steps and size == 1:
                return steps
            size, steps = max(1, min(size, len(kept)) // 2), kept
        return steps

    def _without_chunks(self, steps, size):
        start = 0
        while start < len(steps) and self._in_time():
            shorter = steps[:start] + steps[start + size :]
            if shorter and self.fails(shorter):
                steps = shorter
            else:
                start += size
        return steps

    def _simpler_steps(self, steps):
        for place in range(len(steps)):
            for simpler in self._simpler(steps[place]):
                if not self._in_time():
                    return steps
                candidate = steps[:place] + [simpler(steps[place])] + steps[place + 1 :]
                if candidate[place] != steps[place] and self.fails(candidate):
                    steps = candidate
        return steps

    def _simpler(self, step):
        """Changes to try one after the other, each on what the ones before left."""
        changes = [lambda now: replace(now, connection=0)]
        for place in range(len(step.arguments) - 1, 0, -1):
            changes.append(lambda now, place=place: _without(now, place))
            changes += [lambda now, place=place, value=value: _with(now, place, value) for value in SIMPLE]
        return changes


def _without(step, place):
    arguments = step.arguments
    return replace(step, arguments=arguments[:place] + arguments[place + 1 :])


def _with(step, place, value):
    arguments = step.arguments
    if place >= len(arguments) or len(arguments[place]) <= len(value):
        return step
    return replace(step, arguments=arguments[:place] + (value,) + arguments[place + 1 :])
