"""The two servers of a walk: the calm one, and the one that is restarted. Finds the first difference."""

import re
import time
from dataclasses import dataclass, replace
from subprocess import TimeoutExpired

import comparison
import contents
import resp
from connection import NoReply
from queue_pools import TOPICS
from sequence import COMMAND
from still import ENDINGS, StillServer
from walk import ADVANCE, CHECKPOINT, RESTART

BEGIN = 1805716799999500  # microseconds: the day before Europe's summer time of 2027 begins
PATIENCE = 3.0  # for background work: a difference that stays so long is one
CLAIMS_KEPT = 30
BATCHES = ("Q.MPUSH", "Q.ACK", "EXEC")
NOBODY = (b"mail", b"a", b"1")


@dataclass
class Difference:
    step: object
    number: int
    question: tuple
    calm: object
    restarted: object

    def signature(self):
        """What a smaller walk must still show."""
        return self.step.kind, self.question[:2]


class Pair:
    def __init__(self, binary, options):
        self.now = BEGIN
        self.claims, self.jobs = [], []
        self.in_transaction = False
        calm = StillServer(binary, self.now, options)
        self.servers = [calm]
        calm.kill()
        self.servers.append(StillServer(binary, self.now, options, twin=calm))
        calm.go_on()
        self.connections = [server.connect() for server in self.servers]

    def stop(self):
        for server in self.servers:
            server.stop()

    def run(self, steps):
        """The first Difference, or None."""
        for number, step in enumerate(steps):
            try:
                found = self._take(step)
            except (NoReply, OSError, SystemExit, TimeoutExpired) as error:
                found = "death", *(f"{error}\n{server.last_words()}" for server in self.servers)
            if found:
                return Difference(step, number, *found)
        return None

    def _take(self, step):
        if step.kind == ADVANCE:
            self._advance(_number(step, 0))
            self._settle()
        elif step.kind == CHECKPOINT:
            self._checkpoint()
        elif step.kind == RESTART:
            return self._restart(step)
        else:
            return self._command(step)
        return None

    def _checkpoint(self):
        if not self.in_transaction:
            self.connections[1].call("SAVE")

    def _advance(self, milliseconds):
        self.now += milliseconds * 1000
        for server in self.servers:
            server.clock.set(self.now)

    def _settle(self):
        """What is due by now has happened on both."""
        for connection in self.connections:
            for _ in range(2):
                connection.call("PING")

    def _command(self, step):
        arguments = self._resolve(step.arguments)
        for connection in self.connections:
            connection.send(resp.encode(arguments))
        replies = [connection.receive() for connection in self.connections]
        if not comparison.agree(arguments, *replies):
            return (step.name(), *arguments[1:]), *replies
        if step.name() in ("MULTI", "EXEC"):
            self.in_transaction = step.name() == "MULTI"
        elif not self.in_transaction:
            self._remember(step.name(), arguments, replies[0])
        if step.name() in BATCHES and "LIMIT " in resp.text_of(replies[0]):
            self._save_numbers()
        return None

    def _save_numbers(self):
        """A batch that is refused has taken numbers for ids, which are never used (push_batch.c). A restart gives
        them anew if nothing else has changed the topic: a pause does, here."""
        for connection in self.connections:
            for topic in TOPICS:
                connection.call("Q.PAUSE", topic, "IN", "FOR", 1)

    def _restart(self, step):
        if self.in_transaction:
            self._command(replace(step, arguments=(b"EXEC",), kind=COMMAND))
        how = step.arguments[0].decode() if step.arguments else ""
        how = how if how in ENDINGS else ENDINGS[0]  # a walk that is made small has any word here
        self.connections[1] = self.servers[1].restart(how, self.connections[1], self._advance, _number(step, 1))
        self._settle()
        return self._difference()

    def _difference(self):
        deadline = time.monotonic() + PATIENCE
        while True:
            found = self._compare()
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def _compare(self):
        calm, restarted = (contents.read(connection) for connection in self.connections)
        self.jobs = contents.jobs_in(calm)
        for question in [*calm, *restarted]:
            if calm.get(question) != restarted.get(question):
                return question, calm.get(question), restarted.get(question)
        return None

    # What stands for something that is known now only.

    def _resolve(self, arguments):
        return [word for argument in arguments for word in self._words(argument)]

    def _words(self, argument):
        named = re.fullmatch(rb"@(job|claim)/(\d+)", argument)
        if named:
            known, width = (self.jobs, 2) if named[1] == b"job" else (self.claims, 3)
            return known[int(named[2]) % len(known)] if known else NOBODY[:width]
        argument = re.sub(rb"@x(\d+):", lambda run: b"x" * int(run[1]), argument)
        later = re.fullmatch(rb"@(m?s)\+(\d+)", argument)
        if later:
            return [b"%d" % (self.now // (1000 if later[1] == b"ms" else 1000000) + int(later[2]))]
        return [argument]

    def _remember(self, name, arguments, reply):
        if resp.is_error(reply) or not isinstance(reply[1], list):
            return
        if name == "Q.CLAIM":
            self.claims += [(arguments[1], job[1][0][1], job[1][1][1]) for job in reply[1]]
        elif name == "Q.MCLAIM":
            self.claims += [tuple(part[1] for part in job[1][:3]) for job in reply[1]]
        del self.claims[:-CLAIMS_KEPT]


def _number(step, place):
    text = step.arguments[place] if len(step.arguments) > place else b""
    return int(text) if text.isdigit() else 0
