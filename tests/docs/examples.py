"""Runs the examples of documents against the real server and compares every reply.

    DUEQ_BINARY=build/dueq tests/docs/examples.py DOCUMENT ...

An example is a fenced block ```redis (or ```redis resp3). Each starts on an empty server of its own
and has one client, a real redis-cli. A line "> COMMAND" or "127.0.0.1:6379> COMMAND" is sent; the lines
up to the next one are the reply, as redis-cli prints it. Two spaces and a # begin a comment. <name>
stands for a word that varies: its first use takes what the reply has there, and each later use, in
commands too, means the same word.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "differential"))

from server import Server  # noqa: E402  (the server is started as in the differential test)

PATIENCE = 60
PROMPT = re.compile(r"(?:127\.0\.0\.1:6379(?:\(TX\))?)?> (.*)")
SHELL_PROMPT = re.compile(r"\$ (.*)")
COMMENT = re.compile(r"(?:\s{2,}# .*|\s+)$")
PLACEHOLDER = re.compile(r"<([a-z][a-z0-9-]*)>")
ELAPSED = re.compile(r"\(\d+\.\d\ds\)\n")
# redis-cli answers a line with an odd quote itself: that marks the end of the reply before it.
MARK, MARK_ANSWER = '"\n', "Invalid argument(s)\n"


class Step:
    """A command with the reply that the document shows."""

    def __init__(self, line, command):
        self.line = line
        self.command = command
        self.reply = ""


class Example:
    def __init__(self, fence):
        self.resp3 = "resp3" in fence
        self.is_shell = fence[0] == "console"
        self.steps = []

    def add(self, number, line):
        prompt = (SHELL_PROMPT if self.is_shell else PROMPT).fullmatch(line)
        if prompt:
            self.steps.append(Step(number, prompt[1]))
        elif not self.steps:
            raise ValueError(f"line {number}: an example begins with a command")
        elif line:
            self.steps[-1].reply += line + "\n"


def read_examples(text):
    """The examples of a document. ValueError: commands in a block that no test would run."""
    examples, fence, example = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fence = line[3:].split() if fence is None else None
            example = Example(fence) if fence and fence[0] in ("redis", "console") else None
            if example:
                examples.append(example)
        elif example:
            example.add(number, COMMENT.sub("", line))
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


class Shell:
    """Runs each command in a shell of its own."""

    def __init__(self, port, binary):
        self.folder = tempfile.mkdtemp(prefix="examples-")
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        os.symlink(os.path.abspath(binary), os.path.join(self.folder, "dueq"))
        path = self.folder + os.pathsep + os.environ["PATH"]
        self.environment = {**os.environ, "PATH": path, "DUEQ_PORT": str(port), "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def call(self, command):
        done = subprocess.run(["sh", "-c", command], env=self.environment, cwd=self.work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
        return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines() if line.strip())

    def close(self):
        shutil.rmtree(self.folder)


def run_steps(example, client):
    """What is wrong with the first reply that differs; None: all are as shown."""
    words = {}
    for step in example.steps:
        command = PLACEHOLDER.sub(lambda name: words.get(name[1], name[0]), step.command)
        reply = client.call(command)
        if not agrees(step.reply, reply, words):
            return f"line {step.line}: {command}\n--- shown\n{step.reply}--- reply\n{reply}"
    return None


def run_example(example, binary):
    server = Server(binary)
    try:
        client = Shell(server.port, binary) if example.is_shell else Client(server.port, example.resp3)
        try:
            return run_steps(example, client)
        finally:
            client.close()
    finally:
        server.stop()


def check_document(path, binary):
    """Runs all examples of a document; the number of those that failed."""
    with open(path, encoding="utf-8") as document:
        examples = read_examples(document.read())
    failures = [failure for failure in (run_example(example, binary) for example in examples) if failure]
    for failure in failures:
        print(f"{path}, {failure}")
    print(f"{path}: {len(examples)} examples, {len(failures)} wrong")
    return len(failures) if examples else 1


def main():
    binary = os.environ.get("DUEQ_BINARY", "build/dueq")
    sys.exit(1 if sum(check_document(path, binary) for path in sys.argv[1:]) else 0)


if __name__ == "__main__":
    main()
