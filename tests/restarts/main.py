"""Restart equivalence: two servers get the same commands under clocks that stand still; one is restarted all the time.

After each restart all that can be read must be equal on both. Usage: run [OPTIONS]
"""

import argparse
import os
import random
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "differential"))

from sequence import text_of  # noqa: E402  (commands, replies and servers are those of the differential test)
from shrinker import Shrinker  # noqa: E402
from pair import Pair  # noqa: E402
from walk import RESTART, Walk  # noqa: E402

WIDTH = 600  # of a reply that differs
LAST_STEPS = 15


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default=os.environ.get("SEED"), help="or SEED=; default: of the time")
    parser.add_argument("--steps", type=int, default=os.environ.get("STEPS", 500), help="or STEPS=; of each walk")
    parser.add_argument("--walks", type=int, default=os.environ.get("WALKS", 1), help="or WALKS=")
    parser.add_argument("--first", type=int, default=0, help="begin with this walk of the seed")
    parser.add_argument("--shrink", type=float, default=60.0, metavar="SECONDS", help="to make a failure small; 0: leave it")
    options = parser.parse_args()
    options.seed = options.seed or str(int(time.time()))
    return options


def server_options(dice):
    """The modes of the journal; with little memory there are many checkpoints."""
    return ["--durability", dice.choice(["always", "interval", "none"]),
            "--memtable-size", dice.choice(["64kb", "256kb"])]


def first_difference(steps, options):
    pair = Pair(os.environ.get("DUEQ_BINARY", "build/dueq"), options)
    try:
        return pair.run(steps)
    finally:
        pair.stop()


def report(steps, difference, most):
    for step in steps[: difference.number + 1][-most:]:
        print("    " + text_of(step))
    print(f"  differs: {difference.question}")
    print(f"  calm:      {shorten(difference.calm, difference.restarted)}")
    print(f"  restarted: {shorten(difference.restarted, difference.calm)}", flush=True)


def shorten(value, other):
    """From a little before the place where it differs."""
    text, other = (words if isinstance(words, str) else repr(words) for words in (value, other))
    same = len(os.path.commonprefix([text, other]))
    begin = max(0, same - WIDTH // 2)
    return ("..." if begin else "") + text[begin : begin + WIDTH]


def make_small(steps, options, difference, budget):
    def fails(candidate):
        found = first_difference(candidate, options)
        return found is not None and found.signature() == difference.signature()

    small = Shrinker(fails, budget).shrink(steps[: difference.number + 1])
    found = first_difference(small, options)
    if found:
        print(f"made small ({' '.join(options)}):")
        report(small, found, len(small))


def main():
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # its servers end with it
    options = read_options()
    print(f"restarts: SEED={options.seed} STEPS={options.steps} WALKS={options.walks}")
    restarts = 0
    for number in range(options.first, options.first + options.walks):
        dice = random.Random(f"{options.seed}.{number}")
        own = server_options(dice)
        steps = Walk(dice).steps(options.steps)
        difference = first_difference(steps, own)
        if difference:
            print(f"DIFFERENCE in walk {number} of SEED={options.seed}, step {difference.number} ({' '.join(own)}); "
                  f"--first {number} --walks 1 repeats it")
            report(steps, difference, LAST_STEPS)
            if options.shrink > 0:
                make_small(steps, own, difference, options.shrink)
            return 1
        restarts += sum(step.kind == RESTART for step in steps)
    print(f"{options.walks} walks, {restarts} restarts: no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
