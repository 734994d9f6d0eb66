"""What is sent, step by step, and its text: the format of cases/*.txt and of printed failures.

  SET k "v\\x00"          a command, quoted as for redis-cli
  1> BLPOP l 0           on connection 1; without a number it is connection 0
  !sleep 50              waits 50 ms after the step before
  1> !reconnect          closes connection 1 and opens it again
  !raw "PING\\r\\n"        bytes as they are
  !crash                 dueq is killed and started again; the reference lives, its clients do not
  ---                    another sequence begins, with empty servers
"""

import re
from dataclasses import dataclass, replace

COMMAND, RAW, RECONNECT, CRASH = "command", "raw", "reconnect", "crash"
PLAIN = re.compile(rb"[A-Za-z0-9_.:*?@+()\[\]<>=/,^-]+\Z")
ESCAPES = {"n": 10, "r": 13, "t": 9, "a": 7, "b": 8}


@dataclass(frozen=True)
class Step:
    arguments: tuple
    connection: int = 0
    pause: float = 0.0
    kind: str = COMMAND

    def name(self):
        return self._word(0)

    def subcommand(self):
        return self._word(1)

    def _word(self, place):
        return self.arguments[place].upper().decode("latin-1") if len(self.arguments) > place else ""


def quote(argument):
    if PLAIN.match(argument) and not argument.startswith(b"!"):
        return argument.decode()
    text = []
    for byte in argument:
        character = chr(byte)
        if character in '"\\':
            text.append("\\" + character)
        elif 32 <= byte < 127:
            text.append(character)
        else:
            text.append(f"\\x{byte:02x}")
    return '"' + "".join(text) + '"'


def text_of(step):
    prefix = f"{step.connection}> " if step.connection else ""
    words = " ".join(quote(argument) for argument in step.arguments)
    if step.kind != COMMAND:
        words = f"!{step.kind} {words}".rstrip()
    pause = f"\n!sleep {step.pause * 1000:g}" if step.pause else ""
    return prefix + words + pause


def read_sequences(text):
    sequences, steps = [], []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("---"):
            sequences.append(steps)
            steps = []
        elif line.startswith("!sleep"):
            steps[-1] = replace(steps[-1], pause=float(line.split()[1]) / 1000)
        elif line and not line.startswith("#"):
            steps.append(_read_step(line))
    return [steps for steps in sequences + [steps] if steps]


def _read_step(line):
    connection = 0
    numbered = re.match(r"(\d)> ?", line)
    if numbered:
        connection, line = int(numbered.group(1)), line[numbered.end() :]
    arguments = split(line)
    if arguments[0] in (b"!raw", b"!reconnect", b"!crash"):
        return Step(tuple(arguments[1:]), connection, kind=arguments[0][1:].decode())
    return Step(tuple(arguments), connection)


def split(line):
    """The arguments of a line, by redis-cli's rules for quotes."""
    arguments, position = [], 0
    while True:
        while position < len(line) and line[position].isspace():
            position += 1
        if position == len(line):
            return arguments
        argument, position = _read_argument(line, position)
        arguments.append(argument)


def _read_argument(line, position):
    quote_mark = line[position] if line[position] in "\"'" else None
    if quote_mark is None:
        end = position
        while end < len(line) and not line[end].isspace():
            end += 1
        return line[position:end].encode("utf-8"), end
    result, position = bytearray(), position + 1
    while position < len(line) and line[position] != quote_mark:
        if line[position] == "\\" and quote_mark == '"':
            byte, position = _read_escape(line, position + 1)
            result.append(byte)
        else:
            result += line[position].encode("utf-8")
            position += 1
    if position == len(line):
        raise ValueError(f"quotes do not balance: {line}")
    return bytes(result), position + 1


def _read_escape(line, position):
    if line[position] == "x":
        return int(line[position + 1 : position + 3], 16), position + 3
    return ESCAPES.get(line[position], ord(line[position])), position + 1
