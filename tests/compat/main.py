"""Runs real client libraries and whole queue programs against dueq and against redis-server.

Usage: run [BINARY] [clients|queues|moves] [--only REGEX]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "differential"))

from server import Server, free_port  # noqa: E402  (the servers are started as in the differential test)
from moves import run_moves  # noqa: E402

PASSWORD = "secret"
PATIENCE = 120
CHECKS = ["plain", "password", "user", "rights", "database", "name", "resp3", "pipeline", "transaction", "blocking",
          "pubsub", "scan", "tls", "loading", "upgrade", "claim", "cut", "lease"]
RETRY = ["redis-py", "ioredis 4", "ioredis 5", "ioredis 6"]  # when the server is loading
KEYS_LOADED = 2000


class Builder:
    """Compiles what needs it into a directory of our own."""

    def __init__(self, directory):
        self.directory = directory

    def c(self, source):
        program = self._program(source)
        self._run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source, "-lhiredis"])
        return [program]

    def go(self, *sources):
        program = self._program(sources[-1])
        self._run(["go", "build", "-o", program, *sources], GO111MODULE="off", GOPATH="/usr/share/gocode",
                  GOCACHE=os.path.join(self.directory, "go-cache"))
        return [program]

    def npm(self, name, script):
        modules = os.path.join(self.directory, "node_modules")
        if not os.path.isdir(modules):
            shutil.copy("package.json", self.directory)
            self._run(["npm", "install", "--prefix", self.directory, "--no-audit", "--no-fund", "--no-package-lock",
                       "--silent"])
        return ["node", script, os.path.join(modules, name)]

    def _program(self, source):
        return os.path.join(self.directory, os.path.splitext(os.path.basename(source))[0])

    def _run(self, command, **environment):
        subprocess.run(command, check=True, env={**os.environ, **environment})


def debian(package):
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return re.sub(r"^\d+:|[-+~].*$", "", shown.stdout)


CLIENTS = {
    "redis-cli": lambda build: ["./redis_cli.sh"],
    "hiredis": lambda build: build.c("hiredis.c"),
    "redis-py": lambda build: ["/usr/bin/python3", "redis_py.py"],
    "ioredis 4": lambda build: build.npm("ioredis4", "ioredis.js"),
    "ioredis 5": lambda build: build.npm("ioredis5", "ioredis.js"),
    "ioredis 6": lambda build: build.npm("ioredis6", "ioredis.js"),
    "node-redis 4": lambda build: build.npm("redis4", "node_redis.js"),
    "node-redis 5": lambda build: build.npm("redis5", "node_redis.js"),
    "node-redis 6": lambda build: build.npm("redis6", "node_redis.js"),
    "phpredis": lambda build: ["php", "phpredis.php"],
    "predis": lambda build: ["php", "predis.php"],
    "Perl Redis": lambda build: ["perl", "perl_redis.pl"],
    "redis-rb": lambda build: ["ruby", "redis_rb.rb"],
    "redigo": lambda build: build.go("go/round.go", "go/redigo.go"),
    "go-redis 5": lambda build: build.go("go/round.go", "go/goredis.go"),
}
# Clients that do not tell their own version.
PACKAGES = {"redigo": "golang-github-gomodule-redigo-dev", "go-redis 5": "golang-gopkg-redis.v5-dev"}


def run_program(command, environment):
    """What it printed; a program that does not end is ended, and that is a failure of its own."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", env={**os.environ, **environment},
                               start_new_session=True)
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, errors = process.communicate()
        return output + f"FAIL end it did not end in {PATIENCE} s\n"
    return output + (f"FAIL end {errors.strip()[:300]}\n" if process.returncode else "")


class Certificate:
    """Of the server, signed by itself."""

    def __init__(self, directory):
        self.file, self.key = os.path.join(directory, "server.crt"), os.path.join(directory, "server.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                        "-keyout", self.key, "-out", self.file], check=True, capture_output=True)

    def options(self, port):
        return ["--tls-port", str(port), "--tls-cert-file", self.file, "--tls-key-file", self.key,
                "--tls-auth-clients", "no"]


class LoadingServer(Server):
    """A server that is loading `loaded`, and many other keys, until it has refused three requests."""

    def __init__(self, binary):
        super().__init__(binary)
        connection = self.connect()
        connection.call("MSET", "loaded", "yes", *(f"key:{i // 2}" for i in range(2 * KEYS_LOADED)))
        self.trigger = os.path.join(self.directory, "trigger")
        if self.name == "redis":
            connection.call("SAVE")
            self.crash(["--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024"],
                       until_loaded=False)
        else:
            self.crash(environment=self._held_disk(binary), until_loaded=False)
        self.before = self._refusals()
        self.ended = threading.Event()
        self.watch = threading.Thread(target=self._release_when_refused)
        self.watch.start()

    def stop(self):
        self.ended.set()
        self.watch.join()
        super().stop()

    def _held_disk(self, binary):
        """The journal is not replayed while the trigger says so."""
        with open(self.trigger, "w") as trigger:
            trigger.write("replay HOLD\n")
        library = os.path.join(os.path.dirname(binary), "tests/fault/preload/preload_faulty_disk.so")
        return {"LD_PRELOAD": library, "FAULTY_DISK_PATH": self.data, "FAULTY_DISK_TRIGGER": self.trigger,
                "FAULTY_DISK_COUNTDOWN": "0"}

    def _refusals(self):
        refused = re.search(rb"errorstat_LOADING:count=(\d+)", self.connect().call("INFO", "errorstats")[1])
        return int(refused[1]) if refused else 0

    def _release_when_refused(self):
        while self._refusals() < self.before + 3 and not self.ended.wait(0.05):
            pass
        if self.name == "redis":
            self.connect().call("CONFIG", "SET", "key-load-delay", "0")
        else:
            os.unlink(self.trigger)


class Servers:
    """A server that is open, also by TLS, one that wants a password, one that is upgraded, and one that is loading."""

    def __init__(self, binary, certificate, loading):
        self.certificate, self.tls_port = certificate, free_port()
        self.servers = [Server(binary, certificate.options(self.tls_port)),
                        Server(binary, ["--requirepass", PASSWORD])]
        self.name = self.servers[0].name
        self.upgraded = Server(binary) if self.name != "redis" else None
        if loading:
            self.servers.append(LoadingServer(binary))

    def environment(self):
        names = ("PORT", "LOCKED_PORT", "LOADING_PORT")
        upgraded = {"UPGRADE_PORT": str(self.upgraded.port),
                    "UPGRADE_PID": str(self.upgraded.process.pid)} if self.upgraded else {}
        return {**upgraded, "PASSWORD": PASSWORD, "TLS_PORT": str(self.tls_port), "AUTHORITY": self.certificate.file,
                **{name: str(server.port) for name, server in zip(names, self.servers)}}

    def stop(self):
        for server in self.servers + ([self.upgraded] if self.upgraded else []):
            server.stop()


def results_of(output):
    """The version and the results by check: ok, skip, or why it failed."""
    version, results = "", {}
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "version":
            version = rest
        elif word in ("ok", "skip"):
            results[rest] = word
        elif word == "FAIL":
            name, _, why = rest.partition(" ")
            results[name] = why[:200] or "failed"
    return version, results


def run_clients(binaries, build, only):
    os.chdir(os.path.join(HERE, "clients"))
    passed, failures = 0, []
    certificate = Certificate(build.directory)
    print(f"{'client':<13} {'version':<8} {'server':<6} " + " ".join(f"{name:<11}" for name in CHECKS))
    for client in (client for client in CLIENTS if only.search(client)):
        command = CLIENTS[client](build)
        for binary in binaries:
            servers = Servers(binary, certificate, client in RETRY)
            try:
                version, results = results_of(run_program(command, servers.environment()))
            finally:
                servers.stop()
            version = version or debian(PACKAGES.get(client, ""))
            cells = [{"ok": "yes", "skip": "-", None: "-"}.get(results.get(name), "NO") for name in CHECKS]
            print(f"{client:<13} {version:<8} {servers.name:<6} " + " ".join(f"{cell:<11}" for cell in cells))
            failures += [f"{client} on {servers.name}: {name}: {why}"
                         for name, why in results.items() if why not in ("ok", "skip")]
            passed += sum(1 for result in results.values() if result == "ok")
            if not results:
                failures.append(f"{client} on {servers.name}: ran no check")
    return passed, failures


QUEUES = {
    "partitioned (Go)": lambda build: build.go("tally.go", "partitioned_queue.go"),
    "unacked (Java)": lambda build: ["java", "UnackedQueue.java"],
    "migrating (Go)": lambda build: build.go("tally.go", "migrating_queue.go"),
    "reserved (phpredis)": lambda build: ["php", "reserved_queue.php"],
    "racing (predis)": lambda build: ["php", "racing_queue.php"],
}


def run_queue(command, binary, variant):
    server = Server(binary)
    try:
        return run_program(command, {"PORT": str(server.port), "VARIANT": variant})
    finally:
        server.stop()


def run_queues(binaries, build, only):
    """The outcome on redis-server is the measure; dueq has to have it twice, by both kinds of commands."""
    os.chdir(os.path.join(HERE, "queues"))
    redis, dueq = binaries
    passed, failures = 0, []
    print(f"{'queue':<20} {'same commands':<15} {'Q. commands':<15} outcome on redis-server")
    for name in (name for name in QUEUES if only.search(name)):
        command = QUEUES[name](build)
        wanted = run_queue(command, redis, "plain")
        if not wanted or "FAIL" in wanted:
            failures.append(f"{name} on redis: {wanted}")
        cells = []
        for variant in ("plain", "q"):
            got = run_queue(command, dueq, variant)
            cells.append("same" if got == wanted else "DIFFERENT")
            passed += got == wanted
            if got != wanted:
                failures.append(f"{name} on dueq, {variant} commands:\n{got}")
        print(f"{name:<20} {cells[0]:<15} {cells[1]:<15} {', '.join(wanted.split(chr(10))[:-1])}")
    return passed, failures


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", default="build/dueq")
    parser.add_argument("what", nargs="?", choices=["clients", "queues", "moves", "all"], default="all")
    parser.add_argument("--only", default="", help="regular expression: only these clients or queues")
    return parser.parse_args()


def main():
    sys.stdout.reconfigure(line_buffering=True)
    options = read_options()
    binaries = ["redis-server", os.path.abspath(options.binary)]
    only = re.compile(options.only, re.IGNORECASE)
    passed, failures = 0, []
    with tempfile.TemporaryDirectory(prefix="compat-") as directory:
        for name, run in (("clients", run_clients), ("queues", run_queues), ("moves", run_moves)):
            if options.what in (name, "all"):
                more, wrong = run(binaries, Builder(directory), only)
                passed, failures = passed + more, failures + wrong
    print("\n".join(failures))
    print(f"compat: {passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
