"""Servers on clocks that stand still until the test moves them, and the ways in which a server can end."""

import mmap
import os
import shutil
import signal
import tempfile
import time

import resp
from server import START_PATIENCE, Server

FIELDS = 4  # of struct stepped_clock in tests/support/faults/stepped_clock.h, 64 bits each
BOOT_AHEAD, BOOT, STANDS_AT = 1, 2, 3
UP_SINCE = 30  # seconds, when a machine has just been booted
READY, STOPPING = b"Ready to accept connections on port", b"shutting down"
GRACE = 100  # milliseconds of its clock for which a server that is told to stop serves its clients


class Clock:
    """The clocks of one machine. Times are microseconds."""

    def __init__(self, directory, now):
        self.path = os.path.join(directory, "clock")
        with open(self.path, "w+b") as file:
            file.write(bytes(8 * FIELDS))
            file.flush()
            self.fields = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        self.fields[BOOT] = 1
        self.set(now)

    def set(self, now):
        self.fields[STANDS_AT] = now  # a single store: the server may read it now

    def boot_again(self):
        self.fields[BOOT] += 1
        self.fields[BOOT_AHEAD] = UP_SINCE - self.fields[STANDS_AT] // 1000000


class StillServer(Server):
    def __init__(self, binary, now, options=(), twin=None):
        """`twin`: one that has ended, on a copy of whose data this one begins: the seed of the hashes, which decide
        some orders, is the same."""
        self.twin = twin
        self.place = tempfile.TemporaryDirectory(prefix="restarts-")
        self.clock = Clock(self.place.name, now)
        library = os.path.join(os.path.dirname(binary), "tests/fault/preload/preload_stepped_clock.so")
        super().__init__(binary, options, {"LD_PRELOAD": os.path.abspath(library), "STEPPED_CLOCK": self.clock.path,
                                           "ASAN_OPTIONS": "verify_asan_link_order=0"})

    def start(self):
        if self.twin is None:
            super().start()
        else:
            self.data = shutil.copytree(self.twin.data, os.path.join(self.directory, "data"))
            self.go_on()

    def stop(self):
        self.kill()  # its clock stands: it would wait for its clients without end
        super().stop()
        self.place.cleanup()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self, how, connection, advance, away):
        """Ends it in that way and starts it again on what it left, so many milliseconds later. Returns the
        connection to go on with. `advance` moves the clocks of all servers."""
        if how == "upgrade":
            advance(away)
            self._signal(signal.SIGUSR2, READY)
            return connection
        self._end(how, connection, advance)
        advance(0 if how == "term" else away)
        if how == "reboot":
            self.clock.boot_again()
        self.go_on()
        return self.connect()

    def _end(self, how, connection, advance):
        if how == "term":
            self._signal(signal.SIGTERM, STOPPING)
            advance(GRACE)
        elif how == "shutdown":
            connection.send(resp.encode([b"SHUTDOWN"]))
        else:
            self.kill()
        self.process.wait(START_PATIENCE)
        connection.close()

    def _signal(self, number, words):
        """Returns when the words are in the log once more."""
        before, deadline = self._count(words), time.monotonic() + START_PATIENCE
        self.process.send_signal(number)
        while self._count(words) == before:
            if time.monotonic() > deadline or not self.alive():
                raise SystemExit(f"after signal {number} not in the log: {words}\n{self.last_words()}")
            time.sleep(0.005)

    def _count(self, words):
        with open(self.log_path(), "rb") as log:
            return log.read().count(words)


ENDINGS = ("kill", "term", "shutdown", "upgrade", "reboot")
