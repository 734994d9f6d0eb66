"""Runs tools/examples/sensor_buffer between a sensor and a collector that are both unreliable.

  sensor.py PROGRAM DIRECTORY      SEED=, ROUNDS=

In each round the program gets readings and is killed at some moment. The sensor goes on after the last
reading that was said to be kept; the collector closes connections before it answers. At the end the
program may finish: then the collector has each reading, and has them in order.
"""

import os
import random
import socket
import subprocess
import sys
import threading

ROUND_READINGS = 200


class Collector(threading.Thread):
    """Keeps the readings whose id is greater than the last one, as the example says."""

    def __init__(self, dice):
        super().__init__(daemon=True)
        self.dice = dice
        self.readings = []
        self.last_id = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.reliable = False

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            try:
                with connection, connection.makefile("rb") as lines:
                    self.serve(connection, lines)
            except OSError:
                pass  # the program was killed

    def serve(self, connection, lines):
        for line in lines:
            if not line.endswith(b"\n"):
                return  # cut short: it comes again
            job, reading = line[:-1].split(b" ", 1)
            if job > self.last_id:
                self.last_id = job
                self.readings.append(int(reading))
            if not self.reliable and self.dice.random() < 0.02:
                return
            connection.sendall(job + b"\n")


def feed(program, numbers):
    """Writes the numbers; stops quietly when the program is killed."""
    try:
        for number in numbers:
            program.stdin.write(b"%d\n" % number)
            program.stdin.flush()
    except OSError:
        pass


def start(arguments, numbers):
    program = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    feeder = threading.Thread(target=feed, args=(program, numbers))
    feeder.start()
    return program, feeder


def kept(line):
    return int(line.split()[1])


def run_and_kill(arguments, first, wanted):
    """Kills the program once `wanted` readings are kept. Returns the first that must be repeated."""
    program, feeder = start(arguments, range(first, first + ROUND_READINGS))
    seen = 0
    for line in program.stdout:
        seen = kept(line)
        if seen >= wanted:
            break
    program.kill()
    rest = program.stdout.read().splitlines()
    program.wait()
    feeder.join()
    return first + (kept(rest[-1]) if rest else seen)


def run_to_the_end(arguments, first):
    program, feeder = start(arguments, range(first, first + ROUND_READINGS))
    feeder.join()
    program.stdin.close()
    *_, last = program.stdout
    assert kept(last) == ROUND_READINGS, last
    assert program.wait() == 0, program.returncode
    return first + ROUND_READINGS


def first_sights(numbers):
    return list(dict.fromkeys(numbers))


def main():
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    print("SEED=%d" % seed)
    dice = random.Random(seed)
    collector = Collector(random.Random(seed + 1))
    collector.start()
    arguments = [sys.argv[1], sys.argv[2], "127.0.0.1", str(collector.port)]
    total = 0
    for _ in range(int(os.environ.get("ROUNDS", 12))):
        total = run_and_kill(arguments, total, dice.randrange(1, ROUND_READINGS))
    collector.reliable = True
    total = run_to_the_end(arguments, total)
    assert first_sights(collector.readings) == list(range(total)), collector.readings


main()
