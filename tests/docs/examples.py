"""Runs the examples of documents against the real server and compares every reply.

    DUEQ_BINARY=build/dueq tests/docs/examples.py [--all] DOCUMENT ...

An example is a fenced block ```redis (or ```redis resp3). Each starts on an empty server of its own
and has one client, a real redis-cli. A line "> COMMAND" or "127.0.0.1:6379> COMMAND" is sent; the lines
up to the next one are the reply, as redis-cli prints it. Two spaces and a # begin a comment. <name>
stands for a word that varies: its first use takes what the reply has there, and each later use, in
commands too, means the same word.

A block ```console is one of a shell: "$ COMMAND". Its server has the HTTP port 9121, as far as the text goes, and makes backups
in the folder backup, where the shell is. ```console more, ```redis more go on with the example before. A block with a file name, as ```python worker.py, is that file
for the shells of its document. ```console needs=php-redis runs where that package is installed, and is counted as
left out elsewhere; with --all it is wrong then.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "differential"))

from server import Server, free_port  # noqa: E402  (the server is started as in the differential test)

PATIENCE = 60
HTTP_IN_TEXT = "127.0.0.1:9121"
PROMPT = re.compile(r"(?:127\.0\.0\.1:6379(?:\(TX\))?)?> (.*)")
SHELL_PROMPT = re.compile(r"\$ (.*)")
COMMENT = re.compile(r"(?:\s{2,}# .*|\s+)$")
PLACEHOLDER = re.compile(r"<([a-z][a-z0-9-]*)>")
ELAPSED = re.compile(r"\(\d+\.\d\ds\)\n")
# Where Debian's packages of libraries are, for programs of languages that look elsewhere too.
DEBIAN_LIBRARIES = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": os.path.abspath("build/go-cache"),
                    "NODE_PATH": "/usr/share/nodejs"}
# redis-cli answers a line with an odd quote itself: that marks the end of the reply before it.
MARK, MARK_ANSWER = '"\n', "Invalid argument(s)\n"


class Step:
    """A command with the reply that the document shows."""

    def __init__(self, line, command):
        self.line = line
        self.command = command
        self.reply = ""


class Example:
    def __init__(self, fence, files):
        self.resp3 = "resp3" in fence
        self.is_shell = fence[0] == "console"
        self.needs = [word[len("needs="):] for word in fence if word.startswith("needs=")]
        self.files = files  # of the whole document
        self.steps = []

    def add(self, number, line):
        prompt = (SHELL_PROMPT if self.is_shell else PROMPT).fullmatch(line)
        if prompt:
            self.steps.append(Step(number, prompt[1]))
        elif not self.steps:
            raise ValueError(f"line {number}: an example begins with a command")
        elif line:
            self.steps[-1].reply += line + "\n"


def begin_example(fence, files, examples):
    """The example that a block belongs to: a new one, or with the word `more` the one before."""
    if "more" not in fence:
        examples.append(Example(fence, files))
    elif not examples or examples[-1].is_shell != (fence[0] == "console"):
        raise ValueError("a block with `more` has no example before it that it goes on with")
    return examples[-1]


def read_examples(text):
    """The examples of a document. ValueError: commands in a block that no test would run."""
    examples, files, fence, example, name = [], {}, None, None, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fence = line[3:].split() if fence is None else None
            example = begin_example(fence, files, examples) if fence and fence[0] in ("redis", "console") else None
            name = fence[1] if fence and not example and len(fence) == 2 else None
        elif example:
            example.add(number, COMMENT.sub("", line))
        elif name:
            files[name] = files.get(name, "") + line + "\n"
        elif fence is not None and PROMPT.fullmatch(line):
            raise ValueError(f"line {number}: a block with commands begins with ```redis")
    return examples


def agrees(shown, reply, words):
    """Whether the reply is what the document shows; adds the words that it shows first to `words`."""
    names, pattern = [], ""
    for index, part in enumerate(PLACEHOLDER.split(shown)):
        if index % 2 == 0:
            pattern += re.escape(part)
        elif part in words:
            pattern += re.escape(words[part])
        elif part in names:
            pattern += f"(?:\\{names.index(part) + 1})"
        else:
            names.append(part)
            pattern += r'([^"\s]+)'
    found = re.fullmatch(pattern, reply)
    if found:
        words.update(zip(names, found.groups()))
    return found is not None


class Client:
    """A redis-cli. One that gets no reply in time is ended, so that no test hangs."""

    def __init__(self, port, resp3):
        command = ["redis-cli", "-p", str(port), "--no-raw"] + (["-3"] if resp3 else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.timer = threading.Timer(PATIENCE, self.process.kill)
        self.timer.start()

    def call(self, command):
        self.process.stdin.write(command + "\n" + MARK)
        self.process.stdin.flush()
        reply = ""
        for line in self.process.stdout:
            if line == MARK_ANSWER:
                return reply
            if line != "\n" and not ELAPSED.fullmatch(line):
                reply += line.rstrip(" \n") + "\n"  # a map in a map follows "=> "
        return reply + "no reply\n"

    def close(self):
        self.timer.cancel()
        self.process.kill()
        self.process.communicate()


def signalled(group, number):
    """Sends a signal to a group of processes; whether there is one."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


class Shell:
    """Runs each command in a shell of its own, in the folder `work`."""

    def __init__(self, folder, port, http_port, binary):
        self.work = os.path.join(folder, "work")
        self.groups = []  # of processes that may still run
        self.http = f"127.0.0.1:{http_port}"
        programs = os.path.join(folder, "programs")
        os.mkdir(programs)
        os.symlink(os.path.abspath(binary), os.path.join(programs, "dueq"))
        path = os.pathsep.join([programs, "/usr/bin", os.environ["PATH"]])  # Debian's programs, as its libraries
        self.environment = {**os.environ, **DEBIAN_LIBRARIES, "PATH": path, "DUEQ_PORT": str(port), "LC_ALL": "C.UTF-8",
                            "TZ": "UTC"}

    def call(self, command):
        command = command.replace(HTTP_IN_TEXT, self.http)
        process = subprocess.Popen(["sh", "-c", command], env=self.environment, cwd=self.work, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        self.groups.append(process.pid)
        try:
            output = process.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            return "no reply\n"
        self.groups = [group for group in self.groups if signalled(group, 0)]
        return "".join(line.rstrip() + "\n" for line in output.splitlines() if line.strip())

    def close(self):
        """Ends what the commands have left in the background."""
        for group in self.groups:
            signalled(group, signal.SIGKILL)


def run_steps(example, client):
    """What is wrong with the first reply that differs; None: all are as shown."""
    words = {}
    for step in example.steps:
        command = PLACEHOLDER.sub(lambda name: words.get(name[1], name[0]), step.command)
        reply = client.call(command)
        if not agrees(step.reply, reply, words):
            return f"line {step.line}: {command}\n--- shown\n{step.reply}--- reply\n{reply}"
    return None


def write_files(files, folder):
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o755)


def run_with(example, server, client):
    try:
        return run_steps(example, client)
    finally:
        client.close()
        server.stop()


def run_shell(example, binary):
    with tempfile.TemporaryDirectory(prefix="examples-") as folder:
        backups = os.path.join(folder, "work", "backup")
        os.makedirs(backups)
        write_files(example.files, os.path.join(folder, "work"))
        http_port = free_port()
        server = Server(binary, ["--http-port", str(http_port), "--http-api", "yes", "--backup-dir", backups])
        return run_with(example, server, Shell(folder, server.port, http_port, binary))


def run_example(example, binary):
    if example.is_shell:
        return run_shell(example, binary)
    server = Server(binary)
    return run_with(example, server, Client(server.port, example.resp3))


def is_installed(package):
    """Whether Debian's package is installed."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout == "installed"


def missing_packages(examples):
    return sorted({package for example in examples for package in example.needs if not is_installed(package)})


def check_document(path, binary, run_all=False):
    """Runs all examples of a document; the number of those that failed."""
    with open(path, encoding="utf-8") as document:
        examples = read_examples(document.read())
    missing = missing_packages(examples)
    able = [example for example in examples if not set(example.needs) & set(missing)]
    failures = [failure for failure in (run_example(example, binary) for example in able) if failure]
    for failure in failures:
        print(f"{path}, {failure}")
    left_out = f", {len(examples) - len(able)} left out: no {' '.join(missing)}" if missing else ""
    print(f"{path}: {len(able)} examples, {len(failures)} wrong{left_out}")
    return len(failures) + (run_all and len(missing)) if able else 1


def main():
    binary = os.environ.get("DUEQ_BINARY", "build/dueq")
    paths = [argument for argument in sys.argv[1:] if argument != "--all"]
    sys.exit(1 if sum(check_document(path, binary, "--all" in sys.argv) for path in paths) else 0)


if __name__ == "__main__":
    main()
