"""When two replies say the same. Equal bytes do; the rest is what Redis itself leaves open."""

import resp

SECONDS, MILLISECONDS = 1000, 1


def agree(arguments, reference, candidate, slack=0.0):
    """`slack`: milliseconds by which the two servers may have been apart."""
    if reference == candidate:
        return True
    if "?" in (reference[0], candidate[0]):
        return False
    if _name(arguments) == "DEBUG":
        return True  # what can be debugged is each server's own
    if resp.is_error(reference) or resp.is_error(candidate):
        return False
    if _has_scores(arguments) and without_negative_zero(reference) == without_negative_zero(candidate):
        return True
    return _rule(arguments)(arguments, reference, candidate, slack)


def agree_all(arguments, references, candidates, slack=0.0):
    """For what one step brought to one connection."""
    if len(references) != len(candidates):
        return False
    if all(agree(arguments, a, b, slack) for a, b in zip(references, candidates)):
        return True
    if _name(arguments) in UNSUBSCRIBES and len(arguments) == 1:
        return _counts(references) == _counts(candidates) and _same_items(
            [_channel(reply) for reply in references], [_channel(reply) for reply in candidates])
    # Patterns that match the same message are told in the order of a hash table.
    patterns = {_channel(reply) for reply in references if _is_message(reply, b"pmessage")}
    return len(patterns) > 1 and _same_items(references, candidates)


def _name(arguments):
    return arguments[0].upper().decode("latin-1") if arguments else ""


def _has_scores(arguments):
    return _name(arguments).startswith(("Z", "BZ"))


def without_negative_zero(reply):
    """Redis keeps the sign of a score 0 only in its large encoding."""
    kind, payload = reply
    if isinstance(payload, list):
        return kind, [without_negative_zero(item) for item in payload]
    return kind, b"0" if payload == b"-0" else payload


def _rule(arguments):
    name = _name(arguments)
    if name in SUBCOMMAND_RULES and len(arguments) > 1:
        return SUBCOMMAND_RULES[name].get(arguments[1].upper().decode("latin-1"), _exactly)
    return RULES.get(name, _exactly)


def _exactly(arguments, reference, candidate, slack):
    return False


def _same_type(arguments, reference, candidate, slack):
    return reference[0] == candidate[0] and (reference[1] is None) == (candidate[1] is None)


def _acl_log(arguments, reference, candidate, slack):
    """All but the age and what the client looks like."""
    left, right = _items(reference), _items(candidate)
    if left is None or right is None or len(left) != len(right):
        return False
    return all(a[0] == b[0] and a[1][:10] == b[1][:10] for a, b in zip(left, right))


def _items(reply):
    return reply[1] if isinstance(reply[1], list) else None


def _command_info(arguments, reference, candidate, slack):
    if len(arguments) == 2 or not (_items(reference) and _items(candidate)):
        return len(arguments) == 2 and _same_type(arguments, reference, candidate, slack)
    return len(reference[1]) == len(candidate[1]) and all(map(_same_entry, reference[1], candidate[1]))


def _same_entry(reference, candidate):
    """Subcommands come in any order, and each server has some that the other has not."""
    left, right = _items(reference), _items(candidate)
    if not left or not right:
        return reference == candidate
    both = [{entry[1][0]: entry for entry in _items(items[-1]) or []} for items in (left, right)]
    return left[:-1] == right[:-1] and all(both[0][name] == both[1][name] for name in both[0].keys() & both[1].keys())


def _same_items(left, right):
    return sorted(map(repr, left)) == sorted(map(repr, right))


def _pairs(items):
    return list(zip(items[0::2], items[1::2]))


def _any_order(arguments, reference, candidate, slack):
    if reference[0] != candidate[0] or _items(reference) is None or _items(candidate) is None:
        return False
    return _same_items(_items(reference), _items(candidate))


def _pairs_any_order(arguments, reference, candidate, slack):
    if reference[0] != candidate[0] or _items(reference) is None or _items(candidate) is None:
        return False
    return _same_items(_pairs(_items(reference)), _pairs(_items(candidate)))


def _same_shape(arguments, reference, candidate, slack):
    """Random picks: the types and how many. Whether they are members is asked by the duel."""
    if not _same_type(arguments, reference, candidate, slack):
        return False
    left, right = _items(reference), _items(candidate)
    if left is None or right is None:
        return left is None and right is None
    return len(left) == len(right) and all(
        _same_shape(arguments, a, b, slack) for a, b in zip(left, right))


def _near(unit):
    def compare(arguments, reference, candidate, slack):
        if reference[0] != ":" or candidate[0] != ":":
            return False
        left, right = int(reference[1]), int(candidate[1])
        if left < 0 or right < 0:
            return False
        return abs(left - right) * unit <= slack + (SECONDS if unit == SECONDS else 0)
    return compare


def _settings(arguments, reference, candidate, slack):
    if any(b"*" in pattern for pattern in arguments[2:]):
        return _same_type(arguments, reference, candidate, slack)
    return _pairs_any_order(arguments, reference, candidate, slack)


def _sorted_reply(arguments, reference, candidate, slack):
    """SORT leaves open the order of a set that is not sorted and of what is equal to strcoll."""
    words = [argument.upper() for argument in arguments[2:]]
    if b"BY" not in words and b"ALPHA" not in words:
        return False
    if b"BY" not in words and b"GET" not in words:
        return _same_shape(arguments, reference, candidate, slack) and all(
            a[1].split(b"\0")[0] == b[1].split(b"\0")[0] for a, b in zip(reference[1], candidate[1]))
    if b"LIMIT" in words:
        return reference[0] == candidate[0] and len(reference[1] or "") == len(candidate[1] or "")
    return _any_order(arguments, reference, candidate, slack)


def _scan(cursor_place, with_values):
    """A whole scan, as the duel makes of one that begins at 0; a cursor out of the air may find anything."""
    def compare(arguments, reference, candidate, slack):
        if not (_is_scan(reference) and _is_scan(candidate)):
            return False
        if arguments[cursor_place] != b"0" or reference[1][0][1] != b"0" or candidate[1][0][1] != b"0":
            return True
        left, right = reference[1][1][1], candidate[1][1][1]
        if with_values:
            left, right = _pairs(left), _pairs(right)
        if _name(arguments) == "ZSCAN":
            left, right = _with_numbers(left), _with_numbers(right)
        return set(map(repr, left)) == set(map(repr, right))
    return compare


def _with_numbers(pairs):
    """Redis prints a large whole score with all its digits here, if the zset is small."""
    return [(member, float(score[1]) + 0.0) for member, score in pairs]


def _is_scan(reply):
    items = _items(reply)
    return items is not None and len(items) == 2 and _items(items[1]) is not None


def _hello(arguments, reference, candidate, slack):
    if reference[0] != candidate[0] or _items(reference) is None or _items(candidate) is None:
        return False
    left, right = _pairs(_items(reference)), _pairs(_items(candidate))
    return [name for name, _ in left] == [name for name, _ in right] and all(
        a == b or name[1] in (b"id", b"version") for (name, a), (_, b) in zip(left, right))


def _is_message(reply, kind):
    return reply[0] in "*>" and bool(reply[1]) and reply[1][0][1] == kind


def _channel(reply):
    return repr(reply[1][1]) if reply[0] in "*>" and reply[1] and len(reply[1]) > 1 else repr(reply)


def _counts(replies):
    return [reply[1][-1] if reply[0] in "*>" and reply[1] else reply for reply in replies]


UNSUBSCRIBES = ("UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE")

RULES = {
    **dict.fromkeys(["SMEMBERS", "SINTER", "SUNION", "SDIFF", "KEYS", "HKEYS", "HVALS"], _any_order),
    "HGETALL": _pairs_any_order,
    **dict.fromkeys(["SPOP", "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER", "RANDOMKEY"], _same_shape),
    **dict.fromkeys(["TTL", "EXPIRETIME"], _near(SECONDS)),
    **dict.fromkeys(["PTTL", "PEXPIRETIME"], _near(MILLISECONDS)),
    **dict.fromkeys(["SORT", "SORT_RO"], _sorted_reply),
    "SCAN": _scan(1, with_values=False),
    "SSCAN": _scan(2, with_values=False),
    **dict.fromkeys(["HSCAN", "ZSCAN"], _scan(2, with_values=True)),
    **dict.fromkeys(["TIME", "LASTSAVE", "INFO", "ROLE", "COMMAND"], _same_type),
    "HELLO": _hello,
}

SUBCOMMAND_RULES = {
    "OBJECT": dict.fromkeys(["IDLETIME", "FREQ", "HELP"], _same_type),
    "CLIENT": dict.fromkeys(["ID", "LIST", "INFO", "HELP"], _same_type),
    "COMMAND": {**dict.fromkeys(["COUNT", "DOCS", "HELP", "LIST"], _same_type), "INFO": _command_info},
    "MEMORY": dict.fromkeys(["USAGE", "HELP", "STATS", "DOCTOR"], _same_type),
    "SLOWLOG": dict.fromkeys(["GET", "LEN", "HELP"], _same_type),
    "LATENCY": dict.fromkeys(["HELP", "DOCTOR", "LATEST"], _same_type),
    "PUBSUB": {"CHANNELS": _any_order, "SHARDCHANNELS": _any_order, "HELP": _same_type},
    "CONFIG": {"GET": _settings, "HELP": _same_type},
    "ACL": {**dict.fromkeys(["CAT", "HELP", "GENPASS"], _same_type), "LOG": _acl_log},
    "DEBUG": {"HELP": _same_type},
}
