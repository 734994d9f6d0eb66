"""A store whose map is nearly full all the time: jobs of all sizes come and go at random, and each fourth round it is killed.

Nothing accepted may be lost, nothing deleted may come back, and a store of which half is free takes jobs again.
Usage: run [OPTIONS]
"""

import argparse
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "differential"))

import resp  # noqa: E402
from server import Server  # noqa: E402

TOPIC = b"mail"
MIB = 1 << 20
LARGEST = 30000  # bytes of a body
TOGETHER = 10  # commands on their way at a time
OWN_PAGES = 2000  # bytes from which a value has pages of its own
PAGE = 4096
REFUSED = 300  # pushes of a round that are refused
PER_JOB = 400  # bytes that a job takes besides its body, at most
PATIENCE = 60.0  # seconds without room, though half of the map is free: it is stuck
LOOKED_AT = 50  # jobs after a crash


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default=os.environ.get("SEED"), help="or SEED=; default: of the time")
    parser.add_argument("--rounds", type=int, default=os.environ.get("ROUNDS", 16), help="or ROUNDS=; on each map")
    parser.add_argument("--maps", type=int, default=os.environ.get("MAPS", 1), help="or MAPS=")
    parser.add_argument("--first", type=int, default=0, help="begin with this map of the seed")
    options = parser.parse_args()
    options.seed = options.seed or str(int(time.time()))
    return options


class Fault(Exception):
    """A job is lost or came back, or room that there is cannot be used."""


class Attack:
    def __init__(self, dice):
        self.dice = dice
        self.megabytes = dice.randint(10, 40)
        self.high_water = dice.randint(85, 95)
        self.bodies = {}  # size of the body by id
        self.pushed = self.refused = self.retries = self.compactions = 0
        self.server = Server(os.environ.get("DUEQ_BINARY", "build/dueq"), [
            "--map-size", f"{self.megabytes}mb", "--high-water-percent", str(self.high_water),
            "--durability", "none"])
        self.connection = self.server.connect()

    def round(self, number):
        self.push_until_full()
        self.delete(self.dice.uniform(0.10, 0.95))
        if number % 4 == 3:
            self.count()
            self.server.crash()
            self.connection = self.server.connect()
            self.look_at_some()
        self.expect_count()
        self.await_room()

    def push_until_full(self):
        until = self.refused + REFUSED
        while self.refused < until:
            names = [b"%d" % (self.pushed + at) for at in range(TOGETHER)]
            sizes = [self.size() for _ in names]
            replies = self.ask([
                (b"Q.PUSH", TOPIC, b"x" * size, b"ID", name, b"DELAY", b"%ds" % self.dice.randint(3600, 360000))
                for name, size in zip(names, sizes)])
            self.pushed += TOGETHER
            for name, size, reply in zip(names, sizes, replies):
                if resp.is_error(reply):
                    self.be_refused(reply)
                else:
                    self.bodies[name] = size
            if self.dice.random() < 0.2:
                self.delete(0.01)

    def size(self):
        return self.dice.randint(20, 100 if self.dice.random() < 0.5 else LARGEST)

    def be_refused(self, reply):
        if not reply[1].startswith(b"FULL "):
            raise Fault(f"an error: {reply[1]!r}")
        self.refused += 1

    def delete(self, share):
        names = self.dice.sample(list(self.bodies), int(len(self.bodies) * share))
        for first in range(0, len(names), TOGETHER):
            part = names[first : first + TOGETHER]
            for name, reply in zip(part, self.ask([(b"Q.DEL", TOPIC, name) for name in part])):
                if reply != (":", b"1"):
                    raise Fault(f"deletion of {name!r}: {reply}")
                del self.bodies[name]

    def look_at_some(self):
        names = self.dice.sample(list(self.bodies), min(LOOKED_AT, len(self.bodies)))
        for name, reply in zip(names, self.ask([(b"Q.GET", TOPIC, name) for name in names])):
            if ("$", b"x" * self.bodies[name]) not in reply[1]:
                raise Fault(f"job {name!r} is lost: {str(reply)[:200]}")

    def expect_count(self):
        [(_, count)] = self.ask([(b"Q.LEN", TOPIC)])
        if int(count) != len(self.bodies):
            raise Fault(f"{int(count)} jobs instead of {len(self.bodies)}")

    def await_room(self):
        deadline = time.monotonic() + PATIENCE
        while self.held() < self.megabytes * MIB / 2:
            name = b"%d" % self.pushed
            [reply] = self.ask([(b"Q.PUSH", TOPIC, b"x", b"ID", name, b"DELAY", b"1h")])
            self.pushed += 1
            if not resp.is_error(reply):
                self.bodies[name] = 1
                return
            if time.monotonic() > deadline:
                raise Fault(f"no room, though {self.held()} bytes of {self.megabytes} MiB are held")
            time.sleep(0.05)

    def held(self):
        """Bytes that the jobs take, at most."""
        return sum(PER_JOB + (size if size < OWN_PAGES else (size // PAGE + 1) * PAGE) for size in self.bodies.values())

    def drain(self):
        self.delete(1.0)
        self.await_room()
        self.count()

    def count(self):
        fields = self.info()
        self.retries += int(fields["checkpoint_retries"])
        self.compactions += int(fields["compactions"])

    def info(self):
        [(_, text)] = self.ask([(b"INFO",)])
        return dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line)

    def ask(self, commands):
        self.connection.send(b"".join(resp.encode(command) for command in commands))
        return [self.connection.receive() for _ in commands]


def run(seed, map_number, rounds):
    """None, or what is wrong."""
    attack = Attack(random.Random(f"{seed} {map_number}"))
    print(f"map {map_number} of seed {seed}: {attack.megabytes} MiB, high water {attack.high_water}", flush=True)
    try:
        for number in range(rounds):
            attack.round(number)
        attack.drain()
        print(f"  {attack.pushed} pushes, {attack.refused} refused; {attack.retries} retries of checkpoints, "
              f"{attack.compactions} compactions", flush=True)
    except Fault as fault:
        fields = attack.info()
        seen = {name: fields[name] for name in ("checkpoint_running", "checkpoint_retries", "map_used_bytes", "compactions")}
        return f"  round {number}: {fault}\n  {seen}\n{attack.server.last_words()}"
    finally:
        attack.server.stop()
    return None


def main():
    options = read_options()
    for map_number in range(options.first, options.first + options.maps):
        fault = run(options.seed, map_number, options.rounds)
        if fault:
            print(fault)
            sys.exit(1)


main()
