"""The two servers under comparison, as processes of our own on free ports."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

from connection import Connection, NoReply

START_PATIENCE = 30.0
DYING = 2.0
# Little room, so that checkpoints and journal changes happen all the time, and a start is quick.
SMALL = ["--memtable-size", "256kb", "--segment-size", "1mb", "--journal-size", "4mb"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A binary, its directory and its process."""

    def __init__(self, binary, options=(), environment=None):
        self.binary = binary
        self.options = list(options)
        self.environment = environment or {}
        self.name = os.path.basename(binary).split("-")[0]
        self.directory = tempfile.mkdtemp(prefix="differential-")
        self.process = None
        self.start()

    def start(self):
        self.data = tempfile.mkdtemp(dir=self.directory)
        self.go_on()

    def crash(self, options=(), environment=None, until_loaded=True):
        """Ends it as a power cut would, as far as a process can, and starts it on what it left."""
        self.process.kill()
        self.process.wait()
        self.go_on(options, environment, until_loaded)

    def go_on(self, options=(), environment=None, until_loaded=True):
        """Starts it on the data that it left."""
        self.port = free_port()
        with open(self.log_path(), "ab") as log:
            self.process = subprocess.Popen(
                self._command_line() + self.options + list(options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C", **self.environment, **(environment or {})},
            )
        self._wait_until_it_answers(until_loaded)

    def log_path(self):
        return os.path.join(self.directory, "log")

    def last_words(self, lines=15):
        with open(self.log_path(), "rb") as log:
            return "\n".join(log.read().decode("latin-1").splitlines()[-lines:])

    def durable(self):
        """Whether it keeps what it has acknowledged; the reference keeps nothing, and so is never killed."""
        return self.name != "redis"

    def alive(self):
        return self.process.poll() is None

    def has_died(self):
        """Of one that hung up: it may take a moment to be gone."""
        try:
            self.process.wait(DYING)
        except subprocess.TimeoutExpired:
            return False
        return True

    def connect(self):
        return Connection(self.port)

    def stop(self):
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _command_line(self):
        if self.name == "redis":
            return [self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.data,
                    "--save", "", "--enable-debug-command", "yes", "--appendonly", "no", "--hz", "500", "--dynamic-hz", "no"]
        return [self.binary, "server", "--port", str(self.port), "--bind", "127.0.0.1",
                "--dir", self.data, "--disk-reserve", "0", "--auth-delay", "0",
                "--enable-debug-command", "yes", *SMALL]

    def _wait_until_it_answers(self, until_loaded):
        deadline = time.monotonic() + START_PATIENCE
        while time.monotonic() < deadline and self.alive():
            try:
                connection = self.connect()
                reply = connection.call("PING")
                connection.close()
                if not until_loaded or not reply[1].startswith(b"LOADING "):
                    return
            except (OSError, NoReply):
                pass
            time.sleep(0.02)
        raise SystemExit(f"{self.binary} does not start:\n{self.last_words()}")
