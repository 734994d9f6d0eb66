"""Reads forms.txt and turns a form into the arguments of a command."""

import re

import pools

TOKEN = re.compile(r"\s*([#=&]?[\[({]|[\])}]|\||<[a-z-]+>|[^\s\[\](){}|<>#=&]+)")
MANY = 40
CLOSING = {"[": "]", "(": ")", "{": "}"}


class Mood:
    """What the generator allows while a command is made, and what the command asks for then."""

    def __init__(self, may_pause=True):
        self.may_pause = may_pause
        self.pause = 0.0
        self.times = 1


class Word:
    def __init__(self, text):
        self.text = text.encode()

    def make(self, dice, mood):
        roll = dice.random()
        if roll < 0.9:
            return [self.text]
        return [self.text.lower() if roll < 0.97 else self.text.capitalize()]


class Pool:
    def __init__(self, name):
        self.choose = pools.POOLS[name]

    def make(self, dice, mood):
        return [self.choose(dice, mood)]


class Sequence:
    def __init__(self, parts, shuffled=False):
        self.parts = parts
        self.shuffled = shuffled

    def make(self, dice, mood):
        parts = list(self.parts)
        if self.shuffled:
            dice.shuffle(parts)
        return [argument for part in parts for argument in part.make(dice, mood)]


class Choice:
    def __init__(self, options, needed):
        self.options = options
        self.needed = needed

    def make(self, dice, mood):
        if not self.needed and dice.random() < 0.6:
            return []
        return dice.choice(self.options).make(dice, mood)


class Repeat:
    def __init__(self, body, counted=False, again=False):
        self.body = body
        self.counted = counted
        self.again = again

    def make(self, dice, mood):
        if not self.again:
            mood.times = dice.choice([1, 1, 1, 2, 2, 3, 4]) if dice.random() < 0.98 else MANY
        times = mood.times
        arguments = [b"%d" % times] if self.counted else []
        for _ in range(times):
            arguments += self.body.make(dice, mood)
        mood.times = times
        return arguments


class Form:
    def __init__(self, theme, text):
        self.theme = theme
        self.text = text
        self.careful = text.startswith("!")
        text = text.lstrip("! ")
        weight = re.match(r"[\d.]+ ", text)
        self.weight = float(weight.group()) if weight else 1.0
        self.body = _Parser(text[weight.end() :] if weight else text).form()
        self.words = [part.text for part in self.body.parts if isinstance(part, Word)]

    def name(self):
        first = self.body.parts[0]
        return first.text.decode() if isinstance(first, Word) else ""

    def subcommand(self):
        """The second word of CLIENT LIST and its like; None elsewhere."""
        if self.name() not in CONTAINERS or len(self.body.parts) < 2:
            return None
        second = self.body.parts[1]
        return second.text.decode() if isinstance(second, Word) else None

    def make(self, dice, mood):
        return self.body.make(dice, mood)


CONTAINERS = ["OBJECT", "CLIENT", "CONFIG", "COMMAND", "PUBSUB", "MEMORY", "SLOWLOG", "LATENCY", "ACL", "DEBUG"]


class _Parser:
    def __init__(self, text):
        self.text = text
        self.tokens = TOKEN.findall(text)
        if "".join(self.tokens) != re.sub(r"\s+", "", text):
            raise ValueError(f"form not understood: {text}")
        self.position = 0

    def form(self):
        body = self._sequence(None)
        if self.position != len(self.tokens):
            raise ValueError(f"form not understood: {self.text}")
        return body

    def _peek(self):
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _next(self):
        self.position += 1
        return self.tokens[self.position - 1]

    def _sequence(self, closing):
        parts = []
        while self._peek() not in (None, "|", closing):
            parts.append(self._part(self._next()))
        return Sequence(parts)

    def _options(self, closing):
        options = [self._sequence(closing)]
        while self._peek() == "|":
            self._next()
            options.append(self._sequence(closing))
        if self._peek() != closing:
            raise ValueError(f"{closing} is missing: {self.text}")
        self._next()
        return options

    def _part(self, token):
        bracket = token[-1]
        if token.startswith("<"):
            return Pool(token[1:-1])
        if bracket not in CLOSING:
            return Word(token)
        options = self._options(CLOSING[bracket])
        if token == "&(":
            return Sequence(options[0].parts, shuffled=True)
        if bracket == "{":
            return Repeat(Choice(options, True), counted=token[0] == "#", again=token[0] == "=")
        return Choice(options, needed=bracket == "(")


def read_forms(path):
    forms, theme = [], None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line.startswith("=="):
                theme = line[2:].strip()
            elif line and not line.startswith("#"):
                forms.append(Form(theme, line))
    return forms


def spoil(arguments, dice, careful):
    """One mistake: an argument too few, too many, in the wrong place, or nonsense."""
    spoilt = list(arguments)
    place = dice.randrange(1, len(spoilt) + 1)
    junk = pools.HARMLESS_JUNK if careful else pools.JUNK
    kind = dice.choice(["drop", "add", "replace", "replace", "swap", "repeat"])
    if kind == "add" or place == len(spoilt):
        spoilt.insert(place, dice.choice(junk))
    elif kind == "drop":
        del spoilt[place]
    elif kind == "replace":
        spoilt[place] = dice.choice(junk)
    elif kind == "swap" and not careful:
        other = dice.randrange(1, len(spoilt))
        spoilt[place], spoilt[other] = spoilt[other], spoilt[place]
    else:
        spoilt.insert(place, spoilt[place])
    return spoilt
