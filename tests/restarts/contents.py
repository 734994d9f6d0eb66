"""All that can be read from a server and outlives it, as answers by question."""

import resp
from duel import dump_keys
from queue_pools import CRONS, TOPICS

STATES = ("delayed", "ready", "claimed", "dead", "done", "waiting")
TOGETHER = 100  # questions on their way at a time
MOST = 1000  # entries of one reply
IN_MEMORY = (b"wait", b"run", b"lateness", b"measured-since")  # fields of Q.STATS that begin anew
OF_WORKERS = (b"name", b"held", b"oldest-lease")  # those that do not


def read(connection):
    answers = ask(connection, [("Q.TOPICS",), ("Q.CONFIG", "LIST"), ("Q.CRON", "LIST", "COUNT", MOST)])
    scopes = {*_words(answers["Q.CONFIG", "LIST"])}
    answers |= ask(connection, [("Q.CONFIG", "GET", scope) for scope in sorted(scopes | set(TOPICS))])
    answers |= ask(connection, [("Q.CRON", "NEXT", name, 3) for name in CRONS])
    for topic in sorted({*_words(answers["Q.TOPICS",]), *TOPICS}):
        answers |= _read_topic(connection, topic)
    for place, content in dump_keys(connection, False).items():
        answers["key", *place] = content
    return answers


def ask(connection, questions):
    answers = {}
    for first in range(0, len(questions), TOGETHER):
        part = questions[first : first + TOGETHER]
        connection.send(b"".join(resp.encode([_bytes(word) for word in question]) for question in part))
        for question in part:
            answers[question] = connection.receive()
    return answers


def jobs_in(answers):
    """Topic and id of each job."""
    return [question[1:3] for question in answers if question[0] == "Q.GET"]


def _read_topic(connection, topic):
    answers = ask(connection, [
        ("Q.STATS", topic), ("Q.PEEK", topic, "COUNT", MOST, "WITHBODY"), ("Q.WORKERS", topic),
        *(("Q.PEEK", topic, "STATE", state, "COUNT", MOST) for state in STATES),
        ("Q.FORECAST", topic, "BUCKET", "30s", "COUNT", MOST), ("Q.DEAD", topic, "LIST", "LIMIT", MOST),
        ("Q.EVENTS", topic, "FROM", 0, "COUNT", MOST)])
    answers["Q.STATS", topic] = _without(answers["Q.STATS", topic], IN_MEMORY)
    events = ("Q.EVENTS", topic, "FROM", 0, "COUNT", MOST)
    answers[events] = _in_any_order(answers[events])
    answers["Q.WORKERS", topic] = [_only(worker, OF_WORKERS) for worker in answers["Q.WORKERS", topic][1]]
    ids = _scan(connection, topic)
    answers["Q.SCAN", topic] = ids
    answers |= ask(connection, [("Q.GET", topic, name, "WITHAFTER") for name in ids])
    return answers | ask(connection, [("Q.EXPLAIN", topic, name) for name in ids])


def _in_any_order(reply):
    """The numbers, and the events by their times: which of one moment come first is open when they come from
    other topics. So those of the first moment may be other ones when some before them are gone."""
    if resp.is_error(reply):
        return reply
    told = [[value for _, value in event[1]] for event in reply[1]]
    numbers = [event[0] for event in told]
    gone = [event for event in told if event[1] == b"dropped"]
    events = sorted((time, what, *job) for _, what, time, *job in told if what != b"dropped")
    return numbers, gone, [event for event in events if not gone or event[0] != events[0][0]]


def _scan(connection, topic):
    cursor, ids = b"0", []
    while True:
        reply = connection.call("Q.SCAN", topic, cursor, "COUNT", MOST)
        cursor = reply[1][0][1]
        ids += [_fields(job)[b"id"][1] for job in reply[1][1][1]]
        if cursor == b"0":
            return sorted(set(ids))


def _fields(reply):
    return dict(zip((name for _, name in reply[1][0::2]), reply[1][1::2]))


def _without(reply, names):
    return {name: value for name, value in _fields(reply).items() if name not in names}


def _only(reply, names):
    return {name: value for name, value in _fields(reply).items() if name in names}


def _words(reply):
    return [word for _, word in reply[1]]


def _bytes(word):
    return word if isinstance(word, bytes) else str(word).encode()
