"""Differential test: the same commands to a redis-server and to dueq, every reply compared.

Usage: run [BINARY] [OPTIONS]        BINARY: build/dueq; redis-server compares Redis with itself
"""

import argparse
import os
import random
import re
import sys
import textwrap
import time
from dataclasses import replace

import resp
from connection import NoReply
from duel import Duel
from generator import Generator
from grammar import CONTAINERS, read_forms
from sequence import read_sequences, text_of
from server import Server
from shrinker import Shrinker

HERE = os.path.dirname(os.path.abspath(__file__))
FORMS = os.path.join(HERE, "forms.txt")
STEPS_PER_SEQUENCE = 300


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", default="build/dueq")
    parser.add_argument("--against", default="redis-server", help="the reference")
    parser.add_argument("--seed", type=int, default=os.environ.get("SEED"), help="or SEED=; default: of the time")
    parser.add_argument("--steps", type=int, default=os.environ.get("STEPS", 6000), help="or STEPS=; per protocol")
    parser.add_argument("--rounds", type=int, help="sequences per protocol, instead of --steps")
    parser.add_argument("--protocol", type=int, choices=[2, 3], help="one of them; default: both")
    parser.add_argument("--commands", default="", help="regular expression: only commands whose name matches")
    parser.add_argument("--only-type", default="", help="one theme of forms.txt: keys, lists, zsets, ...")
    parser.add_argument("--cases", default="", help="regular expression: only files of cases/ whose name matches")
    parser.add_argument("--no-cases", action="store_true")
    parser.add_argument("--keep-going", type=int, default=1, metavar="N", help="stop after N differences")
    options = parser.parse_args()
    options.seed = int(options.seed) if options.seed is not None else int(time.time())
    options.steps = int(options.steps)
    return options


class Tester:
    def __init__(self, options):
        self.options = options
        self.reference = Server(options.against)
        self.candidate = Server(options.binary)
        self.differences = []
        self.flickers = 0
        self.seen = set()
        self.steps = 0
        self.sequences = 0

    def stop(self):
        for server in (self.reference, self.candidate):
            server.stop()

    def missing(self, forms):
        """The commands that the candidate does not know, asked one by one."""
        wanted = {(form.name(), form.subcommand()) for form in forms if form.name()}
        return {names for names in wanted if self._lacks(self.candidate, names) > self._lacks(self.reference, names)}

    def _lacks(self, server, names):
        connection = server.connect()
        try:
            reply = connection.call(*[name for name in names if name])
            return resp.is_error(reply) and reply[1].lower().startswith(b"err unknown")
        except NoReply as silence:
            self.differences.append(names)
            print(f"DEATH of {server.name} at {names}: {silence}\n{server.last_words()}")
            server.start()
            return True
        finally:
            connection.close()

    def can_notify(self):
        connection = self.candidate.connect()
        reply = connection.call("CONFIG", "SET", "notify-keyspace-events", "")
        connection.close()
        return not resp.is_error(reply)

    def enough(self):
        return len(self.differences) >= self.options.keep_going

    def compare(self, steps, protocol, origin):
        self.steps += len(steps)
        self.sequences += 1
        duel = Duel(self.reference, self.candidate, protocol)
        mismatch = duel.run(steps)
        if not mismatch or mismatch.fingerprint() in self.seen:
            return
        signature = mismatch.signature()
        again = duel.run(steps)
        if not again or again.signature() != signature:
            self.flickers += 1
            print(f"seen once and not again ({origin}): {_describe(mismatch)}")
            return

        def fails(candidate):
            found = duel.run(candidate)
            return found is not None and found.signature() == signature

        small = Shrinker(fails).shrink(steps)
        final = duel.run(small) or mismatch
        self.seen.update((mismatch.fingerprint(), final.fingerprint()))
        self.differences.append(signature)
        print(f"\nDIFFERENCE in RESP{protocol}, {origin}")
        for step in small:
            print("    " + text_of(step).replace("\n", "\n    "))
        print(f"  {_describe(final)}\n", flush=True)


def _describe(mismatch):
    where = f" at {text_of(replace(mismatch.step, pause=0))}" if mismatch.step else ""
    return f"{mismatch.kind}{where}\n  reference: {mismatch.reference}\n  candidate: {mismatch.candidate}"


def known(steps, missing):
    """The steps that the candidate can be asked for."""
    return [step for step in steps if (step.name(), None) not in missing
            and (step.name(), step.subcommand()) not in missing]


def run_cases(tester, protocols, missing):
    pattern = re.compile(tester.options.cases)
    for name in sorted(os.listdir(os.path.join(HERE, "cases"))):
        if not name.endswith(".txt") or not pattern.search(name):
            continue
        with open(os.path.join(HERE, "cases", name), encoding="utf-8") as file:
            sequences = read_sequences(file.read())
        for protocol in protocols:
            for number, steps in enumerate(sequences, 1):
                if not tester.enough():
                    tester.compare(known(steps, missing), protocol, f"cases/{name}, sequence {number}")


def run_random(tester, forms, protocols):
    options = tester.options
    notifications = tester.can_notify()
    rounds = options.rounds or max(1, options.steps // STEPS_PER_SEQUENCE)
    for protocol in protocols:
        for number in range(rounds):
            if tester.enough():
                return
            seed = f"{options.seed}.{protocol}.{number}"
            generator = Generator(forms, random.Random(seed), notifications)
            tester.compare(generator.sequence(STEPS_PER_SEQUENCE), protocol,
                           f"seed {options.seed}, round {number}")


def choose_forms(options):
    forms = read_forms(FORMS)
    pattern = re.compile(options.commands, re.IGNORECASE)
    return [form for form in forms if pattern.search(form.name()) and options.only_type in ("", form.theme)]


def report(tester, missing):
    if missing:
        names = sorted(" ".join(filter(None, names)) for names in missing)
        print(textwrap.fill(f"not compared, unknown to {tester.candidate.name}: " + ", ".join(names), 100))
    if tester.flickers:
        print(f"{tester.flickers} differences did not show again")
    print(f"{tester.steps} steps, {len(missing)} commands unknown, {len(tester.differences)} differences")
    failed = len(tester.differences)
    print(f"sequences: {tester.sequences - failed} passed, {failed} failed")


def main():
    sys.stdout.reconfigure(line_buffering=True)
    options = read_options()
    print(f"differential: {options.binary} against {options.against}, SEED={options.seed}")
    tester = Tester(options)
    protocols = [options.protocol] if options.protocol else [2, 3]
    try:
        forms = choose_forms(options)
        missing = tester.missing(read_forms(FORMS))
        forms = [form for form in forms
                 if (form.name(), form.subcommand()) not in missing and (form.name(), None) not in missing]
        if not options.no_cases:
            run_cases(tester, protocols, missing)
        run_random(tester, forms, protocols)
    finally:
        tester.stop()
    report(tester, missing)
    return 1 if tester.differences or tester.flickers else 0


if __name__ == "__main__":
    sys.exit(main())
