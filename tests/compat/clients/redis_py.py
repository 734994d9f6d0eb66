"""A round of redis-py; see ../README.md for what the checks are and who calls this."""

import os
import signal
import threading
import time

import redis
from redis.backoff import ConstantBackoff
from redis.exceptions import BusyLoadingError
from redis.retry import Retry

PORT, LOCKED, PASSWORD = int(os.environ["PORT"]), int(os.environ["LOCKED_PORT"]), os.environ["PASSWORD"]
LOADING = int(os.environ["LOADING_PORT"])
BINARY = bytes(range(256))


def connect(port=PORT, **options):
    return redis.Redis(port=port, **options)


def refused(port, **options):
    try:
        connect(port, **options).ping()
    except redis.RedisError:
        return True
    return False


def plain():
    client = connect()
    client.set("plain", BINARY)
    assert client.ping() and client.get("plain") == BINARY


def password():
    assert connect(LOCKED, password=PASSWORD).ping()
    assert refused(LOCKED) and refused(LOCKED, password="wrong")


def user():
    assert connect(LOCKED, username="default", password=PASSWORD).ping()
    assert refused(LOCKED, username="nobody", password=PASSWORD)


def rights():
    admin = connect()
    admin.acl_setuser("app", enabled=True, passwords=["+first", "+second"], keys=["app:*"], commands=["+get", "+set"])
    assert "app" in admin.acl_users() and admin.acl_getuser("app")["flags"] == ["on"]
    client = connect(username="app", password="second")
    assert client.set("app:1", "x") and client.get("app:1") == b"x"
    for refuse in (lambda: client.get("other"), lambda: client.delete("app:1")):
        try:
            refuse()
            raise AssertionError("it was allowed")
        except redis.exceptions.NoPermissionError:
            pass
    assert admin.acl_log()[0]["reason"] == "command" and admin.acl_deluser("app") == 1
    assert refused(PORT, username="app", password="first")


def database():
    connect(db=5).set("database", "five")
    assert connect(db=5).get("database") == b"five" and connect().get("database") is None
    assert refused(PORT, db=99)


def name():
    client = connect(client_name="worker-7")
    assert client.client_getname() == "worker-7"
    assert "worker-7" in [entry["name"] for entry in client.client_list()]


def pipeline():
    pipe = connect().pipeline(transaction=False)
    for _ in range(1000):
        pipe.incr("pipeline")
    assert pipe.execute() == list(range(1, 1001))


def transaction():
    client, other = connect(), connect()
    with client.pipeline() as pipe:
        assert pipe.zadd("transaction", {"job": 2.5}).zscore("transaction", "job").execute() == [1, 2.5]
        pipe.watch("transaction")
        other.zadd("transaction", {"job": 3})
        pipe.multi()
        pipe.delete("transaction")
        try:
            pipe.execute()
        except redis.WatchError:
            assert client.zscore("transaction", "job") == 3
            return
    raise AssertionError("EXEC was not aborted")


def blocked_clients(client):
    return client.info("clients")["blocked_clients"]


def wait_for(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited for nothing")


def blocking():
    client, waiter = connect(), connect(single_connection_client=True)
    assert client.blpop("blocking", 0.05) is None
    taken = []
    thread = threading.Thread(target=lambda: taken.append(waiter.brpop(["blocking", "other"], 0)))
    thread.start()
    wait_for(lambda: blocked_clients(client) == 1)
    client.lpush("blocking", "job")
    thread.join()
    assert taken == [(b"blocking", b"job")]
    waiter.connection.send_command("BLPOP", "blocking", 0)
    wait_for(lambda: blocked_clients(client) == 1)
    waiter.connection.disconnect()
    wait_for(lambda: blocked_clients(client) == 0)
    assert client.rpush("blocking", "kept") == 1 and client.lpop("blocking") == b"kept"


def pubsub():
    client = connect()
    listener = client.pubsub()
    listener.subscribe("news")
    listener.psubscribe("n*")
    seen = []
    while len(seen) < 2:
        seen.append(listener.get_message(timeout=5)["type"])
    assert seen == ["subscribe", "psubscribe"]
    assert client.publish("news", "hello") == 2
    messages = [listener.get_message(timeout=5) for _ in range(2)]
    assert [(m["type"], m["data"]) for m in messages] == [("message", b"hello"), ("pmessage", b"hello")]
    listener.unsubscribe()
    listener.punsubscribe()
    listener.close()


def scan():
    client = connect()
    keys = {f"scan:{number}": number for number in range(500)}
    client.mset(keys)
    client.hset("scan-hash", mapping=keys)
    client.sadd("scan-set", *keys)
    client.zadd("scan-zset", keys)
    wanted = {key.encode() for key in keys}
    assert set(client.scan_iter("scan:*", count=50)) == wanted
    assert {key for key, _ in client.hscan_iter("scan-hash")} == wanted
    assert set(client.sscan_iter("scan-set")) == wanted
    assert {member for member, _ in client.zscan_iter("scan-zset")} == wanted


def tls():
    options = {"port": int(os.environ["TLS_PORT"]), "ssl": True}
    client = redis.Redis(ssl_ca_certs=os.environ["AUTHORITY"], **options)
    large = BINARY * 4096 * 10
    client.set("tls", large)
    assert client.ping() and client.get("tls") == large
    try:
        redis.Redis(**options).ping()
    except redis.RedisError:
        return
    raise AssertionError("a certificate that nobody knows was trusted")


def loading():
    try:
        connect(LOADING, retry=Retry(ConstantBackoff(0), 0)).get("loaded")
        raise AssertionError("it was not loading")
    except BusyLoadingError:
        pass
    patient = connect(LOADING, retry=Retry(ConstantBackoff(0.05), 1000), retry_on_error=[BusyLoadingError])
    assert patient.get("loaded") == b"yes"


def runs(client):
    """How often the server has been started: its number changes with each program."""
    return client.info("server")["run_id"]


def upgrade():
    """Elements are pushed, and others are waited for, while the server is replaced three times."""
    port, pushed, ends, waits, errors = int(os.environ["UPGRADE_PORT"]), 0, threading.Event(), [], []
    client = connect(port)

    def wait():
        try:
            while not ends.is_set():
                waits.append(connect(port).blpop("nothing", 1))
        except redis.RedisError as error:
            errors.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    for _ in range(3):
        before = runs(client)
        os.kill(int(os.environ["UPGRADE_PID"]), signal.SIGUSR2)
        while runs(client) == before:
            pushed += 1
            assert client.rpush("upgraded", "x") == pushed
    ends.set()
    waiting.join()
    assert client.llen("upgraded") == pushed and waits and not any(waits) and not errors, errors


def ends_with(error, wait):
    """How long a call took that has to end with this error."""
    began = time.monotonic()
    try:
        wait()
    except error:
        return time.monotonic() - began
    raise AssertionError(f"it did not end with {error.__name__}")


def given(client, name, reply, attempts):
    """This job was claimed, that often; it is acked."""
    [[id_, token, body, times]] = reply
    assert (id_, body, times) == (name, b"job", attempts), reply
    assert client.execute_command("Q.ACK", "jobs", id_, token) == 1


def claim():
    """No limit as delivered. A job arrives during a wait; a worker with a socket_timeout has a shorter BLOCK."""
    client, worker, hasty, jobs = connect(), connect(), connect(socket_timeout=1), []
    assert worker.execute_command("Q.CLAIM", "jobs", "BLOCK", "6s") is None
    assert hasty.execute_command("Q.CLAIM", "jobs", "BLOCK", "500ms") is None
    waiting = threading.Thread(target=lambda: jobs.append(worker.execute_command("Q.CLAIM", "jobs", "BLOCK", "60s")))
    waiting.start()
    wait_for(lambda: blocked_clients(client) == 1)
    name = client.execute_command("Q.PUSH", "jobs", "job")
    waiting.join()
    given(client, name, jobs[0], 1)


def cut():
    """socket_timeout is how long it waits for any reply. Then it closes the connection; the claim has no job."""
    client, hasty = connect(), connect(socket_timeout=1)
    took = ends_with(redis.exceptions.TimeoutError, lambda: hasty.execute_command("Q.CLAIM", "jobs", "BLOCK", "60s"))
    assert 0.9 < took < 5, took
    wait_for(lambda: blocked_clients(client) == 0)
    name = client.execute_command("Q.PUSH", "jobs", "job")
    given(client, name, hasty.execute_command("Q.CLAIM", "jobs", "BLOCK", "500ms"), 1)


def lease():
    """A connection that ends: the wait is an error, the next command connects again. A job comes back."""
    client, worker, errors = connect(), connect(), []
    client.execute_command("Q.PUSH", "jobs", "job", "LEASE", "500ms")
    [[name, token, *_]] = worker.execute_command("Q.CLAIM", "jobs")
    waiting = threading.Thread(target=lambda: errors.append(ends_with(
        redis.exceptions.ConnectionError, lambda: worker.execute_command("Q.CLAIM", "nothing", "BLOCK", "60s"))))
    waiting.start()
    wait_for(lambda: blocked_clients(client) == 1)
    client.execute_command("CLIENT", "KILL", "TYPE", "normal")
    waiting.join()
    assert errors
    reply = worker.execute_command("Q.CLAIM", "jobs", "BLOCK", "60s")
    ends_with(redis.exceptions.ResponseError, lambda: worker.execute_command("Q.ACK", "jobs", name, token))
    given(client, name, reply, 2)


print("version", redis.__version__)
for check in (plain, password, user, rights, database, name, pipeline, transaction, blocking, pubsub, scan,
              tls, loading, upgrade, claim, cut, lease):
    if check in (upgrade, claim, cut, lease) and "UPGRADE_PID" not in os.environ:
        print("skip", check.__name__)
        continue
    try:
        print(check() or "ok", check.__name__)
    except Exception as error:  # every failure is a line in the table
        print("FAIL", check.__name__, repr(error))
