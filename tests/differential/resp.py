"""RESP2 and RESP3 on the wire: requests out, replies in.

A reply is a tuple (type, payload): the type is the byte that stood on the wire, the payload is
bytes, None (a null of RESP2) or, for aggregates, a list. A map's list is flat. Nothing is
converted, so two replies are equal exactly when their bytes are.
"""

import re

LINES = b"+-:,_#("
BULKS = b"$=!"
AGGREGATES = b"*~%>"


class BrokenReply(Exception):
    """What the server sent is not RESP."""


def encode(arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        parts.append(b"$%d\r\n%b\r\n" % (len(argument), argument))
    return b"".join(parts)


def parse(data, start=0):
    """The reply at `start` and where the next begins, or None if it is not all there."""
    end = data.find(b"\r\n", start)
    if end < 0:
        return None
    kind, line, position = data[start : start + 1], bytes(data[start + 1 : end]), end + 2
    if kind in LINES and kind:
        return (kind.decode(), line), position
    if kind in BULKS and kind:
        return _parse_bulk(kind.decode(), data, _length(line), position)
    if kind in AGGREGATES and kind:
        return _parse_aggregate(kind.decode(), data, _length(line), position)
    raise BrokenReply(f"no reply begins like this: {bytes(data[start:end])[:80]!r}")


def _length(line):
    try:
        return int(line)
    except ValueError:
        raise BrokenReply(f"not a length: {line[:40]!r}") from None


def _parse_bulk(kind, data, length, position):
    if length < 0:
        return (kind, None), position
    end = position + length
    if len(data) < end + 2:
        return None
    if data[end : end + 2] != b"\r\n":
        raise BrokenReply(f"a string of {length} bytes does not end there")
    return (kind, bytes(data[position:end])), end + 2


def _parse_aggregate(kind, data, length, position):
    if length < 0:
        return (kind, None), position
    items = []
    for _ in range(length * 2 if kind == "%" else length):
        parsed = parse(data, position)
        if parsed is None:
            return None
        item, position = parsed
        items.append(item)
    return (kind, items), position


def is_error(reply):
    return reply is not None and reply[0] in "-!"


def text_of(reply, width=400):
    """One line for people, close to what redis-cli prints but with the types in it."""
    kind, payload = reply
    if payload is None:
        return f"{kind}null"
    if isinstance(payload, list):
        inner = " ".join(text_of(item, width) for item in payload)
        text = f"{kind}{len(payload)}[{inner}]"
    else:
        text = kind + (repr(payload)[1:] if kind in BULKS.decode() else payload.decode("latin-1"))
    text = re.sub("x{60,}", lambda run: f"@x{len(run.group())}:", text)
    return text if len(text) <= width else text[:width] + "..."
